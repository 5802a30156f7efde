"""The interface between the engine and a data source."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from copy import copy
from typing import Any, NamedTuple, Self

import numpy as np

from tenfold.engine.chunk import SPARSE_CHUNK_ROWS, Chunk, chunk_numbers, chunk_rows


class Source(ABC):
    """Rows that can be read, chunk by chunk on the grid, by several threads at once.

    A source is random access when `runs` are single chunks, and a stream when a run is many chunks
    that are read in order (the row groups of a Parquet file). Sources that another process can
    open by themselves (files) set `shippable`.
    """

    n_rows: int
    n_features: int
    dtype: np.dtype  # of the computation: float32 or float64
    names: list[str] | None = None  # of the columns of X
    sparse = False
    shippable = False
    finite = False  # known to hold no NaN and no infinity
    has_target = False
    has_weight = False
    max_chunk_rows: int | None = None  # a finer grid than the usual one: see `with_chunk_rows`
    direct = False  # whether any rows can be had at once, in place: see `between`
    origin: Source | None = None  # the source that this one is a copy of
    data_files: tuple[str, ...] = ()  # paths, where all of it is read from files
    data_columns: Any = None  # which columns of these files are X, y and w

    @property
    def grid(self) -> int:
        """Rows per chunk."""
        usual = SPARSE_CHUNK_ROWS if self.sparse else chunk_rows(self.n_features, self.dtype)
        return self._limit_grid(usual)

    def _limit_grid(self, rows: int) -> int:
        return rows if self.max_chunk_rows is None else min(rows, self.max_chunk_rows)

    def with_chunk_rows(self, rows: int) -> Self:
        """The same rows in chunks of at most so many: for statistics that are large per chunk.

        The finer grid is the same in every engine and file, and with it every bit of a result.
        """
        if rows < 1:
            raise ValueError(f"with_chunk_rows({rows}): a chunk needs at least one row")
        finer = copy(self)
        finer.max_chunk_rows = rows
        return finer

    @property
    def row_bytes(self) -> int:
        """Memory of a row, about."""
        return self.n_features * self.dtype.itemsize

    @property
    def streams(self) -> bool:
        """Whether jumping to a chunk costs more than reading it."""
        return type(self).runs is not Source.runs

    def runs(self) -> Iterator[range]:
        """Ranges of chunk numbers; a worker reads one range in order."""
        return (range(number, number + 1) for number in chunk_numbers(self.n_rows, self.grid))

    @abstractmethod
    def chunks(self, run: range) -> Iterator[Chunk]:
        """Read the chunks of a run, C-contiguous and in the dtype of the source."""

    def between(self, first: int, end: int) -> Chunk:
        """The rows from one number up to another."""
        raise NotImplementedError(f"{type(self).__name__} has no rows in place")

    def span(self, number: int) -> tuple[int, int]:
        """First row of a chunk and the row after its last."""
        return number * self.grid, min((number + 1) * self.grid, self.n_rows)

    def take(self, rows: np.ndarray) -> Chunk:
        """The rows with these numbers, which must ascend."""
        parts = [
            select_rows(chunk, rows) for run in self.runs() for chunk in self._needed(run, rows)
        ]
        return concatenate_chunks(parts)

    def _needed(self, run: range, rows: np.ndarray) -> Iterator[Chunk]:
        wanted = np.unique(rows // self.grid)
        wanted = wanted[(wanted >= run.start) & (wanted < run.stop)]
        if len(wanted):
            inner = range(int(wanted[0]), int(wanted[-1]) + 1)
            yield from (c for c in self.chunks(inner) if c.first // self.grid in wanted)

    def where(self, row: int) -> str:
        """The place of a row in words, for error messages."""
        return f"row {row}"

    def column(self, j: int) -> str:
        """The name of a column in words, for error messages."""
        return repr(self.names[j]) if self.names else str(j)


def select_rows(chunk: Chunk, rows: np.ndarray) -> Chunk:
    """Those of the given global rows that lie in a chunk, as copies."""
    low, high = np.searchsorted(rows, [chunk.first, chunk.first + chunk.rows])
    local = rows[low:high] - chunk.first
    return Chunk(*(None if a is None else a[local] for a in chunk[:3]), first=int(low))


def concatenate_chunks(parts: list[Chunk]) -> Chunk:
    """Chunks below each other."""
    if len(parts) == 1:
        return parts[0]._replace(first=0)
    X, y, w = (_concatenate([p[i] for p in parts]) for i in range(3))
    return Chunk(X, y, w)


def _concatenate(parts: list[Any]) -> Any:
    if parts[0] is None:
        return None
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    if hasattr(parts[0], "concatenate"):
        return parts[0].concatenate(parts)
    from scipy import sparse

    return sparse.vstack(parts, format="csr")


class ColumnPositions(NamedTuple):
    """Positions of the columns."""

    X: list[int]
    y: int | list[int] | None = None  # a list: several targets, y has two dimensions
    w: int | None = None

    def is_all(self, width: int) -> bool:
        """Whether X is all columns in their order."""
        return list(range(width)) == self.X
