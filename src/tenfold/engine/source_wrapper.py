"""A source that wraps another one, chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Self

from tenfold.engine.source import Source


class SourceWrapper(Source):
    """A source that wraps another one and has its grid."""

    source: Source

    @property
    def grid(self) -> int:
        """Rows per chunk."""
        return self.source.grid

    def with_chunk_rows(self, rows: int) -> Self:
        """The same rows in smaller chunks."""
        finer = super().with_chunk_rows(rows)
        finer.source = self.source.with_chunk_rows(rows)
        return finer

    @property
    def streams(self) -> bool:
        """Whether jumping to a chunk costs more than reading it."""
        return self.source.streams

    def runs(self) -> Iterator[range]:
        return self.source.runs()

    def where(self, row: int) -> str:
        return self.source.where(row)
