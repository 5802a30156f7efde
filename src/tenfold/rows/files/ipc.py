"""Rows in Arrow IPC files, also called Feather."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tenfold.rows.files.arrowfiles import ArrowFiles, Head


class IpcFiles(ArrowFiles):
    """One or several Arrow IPC files; the pieces are record batches."""

    def inspect(self, path: str) -> Head:
        """Read the schema, and the number of rows of each record batch."""
        schema = _opened(path).schema
        narrow = _opened(path, [0])  # one column is enough to count rows
        rows = [narrow.get_batch(i).num_rows for i in range(narrow.num_record_batches)]
        return Head(schema, rows, {})

    def decode(self, path: str, pieces: range, size: int) -> Iterator[Any]:
        """Parts of record batches; those that are not packed stay in the mapped file."""
        schema = _opened(path).schema
        needed = sorted(schema.get_field_index(name) for name in self.columns.needed)
        reader = _opened(path, needed)
        for number in pieces:
            batch = reader.get_batch(number)
            for first in range(0, batch.num_rows, size):
                yield batch.slice(first, size)


def _opened(path: str, fields: list[int] | None = None) -> Any:
    import pyarrow as pa

    options = pa.ipc.IpcReadOptions(use_threads=False, included_fields=fields or [])
    return pa.ipc.open_file(pa.memory_map(path), options=options)
