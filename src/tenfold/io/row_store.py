"""Storage of the rows of a table: in memory if they are few, else in a temporary file.

The file is an unnamed, uncompressed Arrow IPC file of batches with the same number of rows. It is
read, not mapped: mapped pages count as memory of the process.
"""

from __future__ import annotations

import errno
import tempfile
import threading
import weakref
from collections import OrderedDict
from typing import Any

import numpy as np

from tenfold.io.columnar import ColumnBatch, DateColumn, NumericColumn, TextColumn

# Not swept (benchmarks/tables.py and encoding.py show their effect).
MAX_MEMORY_BYTES = 2**26  # bytes of columns in memory; larger tables go to a temporary file
STORED_BATCH_BYTES = 2**20  # bytes of a batch in that file
CACHED_BATCHES = 4  # batches of that file that stay decoded


def batch_rows(width: int) -> int:
    """Rows of a batch of a table with so many columns."""
    return int(np.clip(STORED_BATCH_BYTES // (16 * max(width, 1)), 64, 8192))


class SpillFile:
    """An unnamed temporary file, closed with its last reader."""

    def __init__(self) -> None:
        self.file = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the rows
        weakref.finalize(self, self.file.close)


class RowStoreWriter:
    """Collects record batches of one schema in order; `done` returns a store with random access."""

    def __init__(self, width: int) -> None:
        self.size = batch_rows(width)
        self.pending: list[Any] = []
        self.bytes = 0
        self.rows = 0
        self.spill: SpillFile | None = None
        self.writer: Any = None

    def put(self, batch: Any) -> None:
        """Take a batch."""
        self.pending.append(batch)
        self.bytes += batch.nbytes
        self.rows += batch.num_rows
        if self.writer is not None or self.bytes > MAX_MEMORY_BYTES:
            self._write(last=False)

    def done(self, types: dict[str, str]) -> MemoryStore | FileStore:
        """All rows."""
        import pyarrow as pa

        if self.spill is None:
            return MemoryStore(to_column_batch(pa.Table.from_batches(self.pending), types))
        self._write(last=True)
        self.writer.close()
        self.pending = []
        pa.default_memory_pool().release_unused()
        return FileStore(self.spill, self.rows, self.size, types)

    def _write(self, *, last: bool) -> None:
        import pyarrow as pa

        table = pa.Table.from_batches(self.pending)
        complete = table.num_rows if last else table.num_rows - table.num_rows % self.size
        if self.writer is None:
            self.spill = SpillFile()
            self.writer = pa.ipc.new_file(pa.PythonFile(self.spill.file, "w"), table.schema)
        try:
            for first in range(0, complete, self.size):  # one by one: no second copy of all of them
                for batch in table.slice(first, self.size).combine_chunks().to_batches():
                    self.writer.write_batch(batch)
        except OSError as problem:
            raise _disk_full_error(problem) from problem
        self.pending = table.slice(complete).combine_chunks().to_batches()


def _disk_full_error(problem: OSError) -> OSError:
    if problem.errno != errno.ENOSPC:
        return problem
    folder = tempfile.gettempdir()
    return OSError(
        errno.ENOSPC, f"no room in {folder} for a copy of the table; set TMPDIR to a larger disk"
    )


class MemoryStore:
    """All rows as cells."""

    def __init__(self, cells: ColumnBatch) -> None:
        self.cells, self.n_rows = cells, len(cells)

    def slice(self, first: int, end: int) -> ColumnBatch:
        """Rows first:end."""
        return self.cells[first:end]


class FileStore:
    """Rows in an IPC file of equal batches."""

    def __init__(self, spill: SpillFile, rows: int, size: int, types: dict[str, str]) -> None:
        import pyarrow as pa

        self.n_rows, self.size, self.types = rows, size, types
        self.spill = spill
        self.reader = pa.ipc.open_file(pa.PythonFile(spill.file, "r"))
        self.lock = threading.Lock()
        self.recent: OrderedDict[int, ColumnBatch] = OrderedDict()

    def slice(self, first: int, end: int) -> ColumnBatch:
        """Rows first:end."""
        first, end = min(first, self.n_rows), min(end, self.n_rows)
        if first >= end:
            return self._batch(0)[:0]
        numbers = range(first // self.size, -(-end // self.size))
        return ColumnBatch.concatenate([self._cut(number, first, end) for number in numbers])

    def _cut(self, number: int, first: int, end: int) -> ColumnBatch:
        start = number * self.size
        cells = self._batch(number)
        low, high = max(first - start, 0), min(end - start, len(cells))
        return cells if high - low == len(cells) else cells[low:high]

    def _batch(self, number: int) -> ColumnBatch:
        with self.lock:
            if number in self.recent:
                return self.recent[number]
            batch = self.reader.get_batch(number)
        cells = to_column_batch(batch, self.types)
        with self.lock:
            self.recent[number] = cells
            while len(self.recent) > CACHED_BATCHES:
                self.recent.popitem(last=False)
        return cells


def to_column_batch(table: Any, types: dict[str, str]) -> ColumnBatch:
    """A table or record batch of float64, strings and times as cells."""
    make: dict[str, Any] = {
        "number": _numeric_column,
        "bool": _numeric_column,
        "date": _date_column,
        "text": _text_column,
    }
    names = table.schema.names
    columns = {name: make[types[name]](table.column(j)) for j, name in enumerate(names)}
    return ColumnBatch(columns, types, table.num_rows)


def _numeric_column(column: Any) -> NumericColumn:
    return NumericColumn(np.asarray(column.to_numpy(zero_copy_only=False), np.float64))


def _date_column(column: Any) -> DateColumn:
    return DateColumn(column.to_numpy(zero_copy_only=False).astype("datetime64[us]"))


def _text_column(column: Any) -> TextColumn:
    import pyarrow as pa

    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(whole, pa.ChunkedArray):
        whole = pa.concat_arrays(whole.chunks) if whole.num_chunks else pa.array([], pa.string())
    coded = whole if pa.types.is_dictionary(whole.type) else whole.dictionary_encode()
    codes = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32)
    return TextColumn(codes, coded.dictionary.to_pylist())
