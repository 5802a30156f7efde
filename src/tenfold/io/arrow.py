"""Sources on files of Arrow pieces (row groups, record batches), and Arrow IPC (Feather) files."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.arrays import as_weights, slice_column
from tenfold.engine.chunk import Chunk, chunk_numbers
from tenfold.engine.source import Source, concatenate_chunks
from tenfold.engine.thread_pool import n_threads
from tenfold.io._arrow_columns import ColumnSpec
from tenfold.io.column_roles import ColumnRoles

# Sizes that trade memory for speed (benchmarks/bigfiles.py and memory.py); not swept.
MIN_RUN_CHUNKS = 8  # chunks of a run at least: two runs may both decode the piece between them
READING_BYTES = 2**27  # bytes that all readers of Parquet files together may buffer
DECODED_BYTES = 2**22  # bytes of X that are decoded at once


class FileSummary(NamedTuple):
    """The footer of a file."""

    schema: Any
    rows: list[int]  # in each piece
    buffer_bytes: dict[str, int]  # bytes that a reader buffers for each column


class ArrowFileSource(Source):
    """One or several files with the same columns.

    Parameters
    ----------
    paths : list of Path
        The files, in the order of their rows.
    roles : ColumnRoles
        Which columns are the target, the weights and X.
    """

    shippable = True

    def __init__(self, paths: list[Path], roles: ColumnRoles) -> None:
        self.shown = [str(path) for path in paths]
        self.paths = [str(path.absolute()) for path in paths]
        heads = [self._head(*paths) for paths in zip(self.paths, self.shown, strict=True)]
        self.columns = ColumnSpec(data_columns(heads[0].schema), roles, self.shown[0])
        self.columns.resolve_types(self.shown, [head.schema for head in heads])
        self.dtype, self.names = self.columns.dtype, self.columns.X
        self.n_features = len(self.names)
        self.edges = [np.cumsum([0, *head.rows]) for head in heads]  # of pieces, file by file
        self.starts = np.cumsum([0, *(edges[-1] for edges in self.edges)])  # of files
        self.n_rows = int(self.starts[-1])
        self.y, self.w = roles.external_values(heads[0].schema.names, self.n_rows)
        self.data_files = tuple(self.paths) if self.y is None and self.w is None else ()
        self.data_columns = self.columns.X, self.columns.y, self.columns.w
        self.has_target = bool(self.columns.y) or self.y is not None
        self.has_weight = self.columns.w is not None or self.w is not None
        self.buffer_bytes = {
            name: max(head.buffer_bytes.get(name, 0) for head in heads)
            for name in self.columns.needed
        }

    @abstractmethod
    def inspect(self, path: str) -> FileSummary:
        """Read the head of a file."""

    @abstractmethod
    def decode(self, path: str, pieces: range, size: int) -> Iterator[Any]:
        """Record batches of at most `size` rows, with the needed columns, of these pieces."""

    def _head(self, path: str, shown: str) -> FileSummary:
        import pyarrow as pa

        try:
            return self.inspect(path)
        except (pa.ArrowException, OSError) as problem:
            raise ValueError(
                f"{shown} cannot be read; it is cut short, damaged or of another kind: {problem}"
            ) from problem

    def runs(self) -> Iterator[range]:
        """A few long runs for each thread, fewer if their readers would fill the memory."""
        total = len(chunk_numbers(self.n_rows, self.grid))
        fitting = max(READING_BYTES // max(sum(self.buffer_bytes.values()), 1), 1)
        min_chunks = max(MIN_RUN_CHUNKS, -(-total // min(2 * n_threads(), fitting)))
        cuts, start = self.cuts(), 0
        while start < total:
            end = int(cuts[np.searchsorted(cuts, min(start + min_chunks, total))])
            yield range(start, end)
            start = end

    def cuts(self) -> np.ndarray:
        """Chunks at which a run may begin: the first to begin in a piece. The last is the end."""
        files = zip(self.edges, self.starts[:-1], strict=True)
        edges = np.concatenate([edges + start for edges, start in files])
        return np.unique(-(-edges // self.grid))

    def chunks(self, run: range) -> Iterator[Chunk]:
        """Read the chunks of a run; target and weights may come from other files or arrays."""
        first, end = run.start * self.grid, min(run.stop * self.grid, self.n_rows)
        for chunk in regrid(self._parts(first, end), first, self.grid):
            begin, after = chunk.first, chunk.first + chunk.rows
            y = chunk.y if self.y is None else slice_column(self.y, begin, after)
            w = chunk.w if self.w is None else as_weights(slice_column(self.w, begin, after))
            yield chunk._replace(y=y, w=w)

    def where(self, row: int) -> str:
        """The file and the row in it, counted from 0."""
        file = self._file(row)
        return f"{self.shown[file]}, row {row - int(self.starts[file])}"

    def _file(self, row: int) -> int:
        return int(np.searchsorted(self.starts, row, "right")) - 1

    def _parts(self, first: int, end: int) -> Iterator[Chunk]:
        """Rows first:end, cut as they come."""
        import pyarrow as pa

        while first < end:
            file = self._file(first)
            start, stop = int(self.starts[file]), min(int(self.starts[file + 1]), end)
            try:
                for batch in self._batches(file, first - start, stop - start):
                    yield self.columns.chunk(batch, first, self.where)
                    first += batch.num_rows
            except (pa.ArrowException, OSError) as problem:
                raise self._damage_error(file, first - start, problem) from problem
            if first < stop:
                raise self._damage_error(file, first - start, "there are fewer rows than it says")

    def _batches(self, file: int, first: int, end: int) -> Iterator[Any]:
        """Record batches with exactly the rows first:end of a file."""
        path, edges = self.paths[file], self.edges[file]
        begin = int(np.searchsorted(edges, first, "right")) - 1
        stop = int(np.searchsorted(edges, end))
        complete = stop if edges[stop] == end else stop - 1
        size = self._batch_rows()
        parts = [self.decode(path, range(begin, complete), size)] if begin < complete else []
        if complete < stop:  # of the last piece, decode no more than is needed
            need = min(size, end - int(edges[complete]))
            parts.append(self.decode(path, range(complete, stop), need))
        return _trim_batches(chain.from_iterable(parts), first - int(edges[begin]), end - first)

    def _batch_rows(self) -> int:
        chunks = DECODED_BYTES // (self.grid * self.n_features * self.dtype.itemsize)
        return self.grid * min(max(chunks, 2), 4)

    def _damage_error(self, file: int, row: int, problem: Any) -> ValueError:
        edges = self.edges[file]
        begin = int(np.searchsorted(edges, row, "right")) - 1
        stop = int(np.searchsorted(edges[:-1], row + self._batch_rows()))
        culprits = (self.locate_damage(self.paths[file], piece) for piece in range(begin, stop))
        place = next((culprit for culprit in culprits if culprit), f"after row {row}")
        return ValueError(
            f"{self.shown[file]}, {place}: the file is damaged, write it again ({problem})"
        )

    def locate_damage(self, path: str, piece: int) -> str:
        """Where a piece is damaged, for an error message; empty if it is not."""
        return ""


def data_columns(schema: Any) -> list[str]:
    """The columns, without the index that pandas may have written beside them."""
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    return [name for name in schema.names if name not in index]


def _trim_batches(batches: Iterable[Any], skip: int, rows: int) -> Iterator[Any]:
    """Record batches without the first `skip` rows, and no more than `rows` of the rest."""
    for batch in batches:
        piece = batch.slice(skip, rows) if skip < batch.num_rows else None
        skip = max(skip - batch.num_rows, 0)
        if piece is not None and piece.num_rows:
            rows -= piece.num_rows
            yield piece
        if rows == 0:
            return


def regrid(parts: Iterable[Chunk], first: int, grid: int) -> Iterator[Chunk]:
    """Rows that come in parts of any size, cut at multiples of `grid`."""
    pending: list[Chunk] = []
    missing = grid
    for rows in parts:
        start = 0
        while start < rows.rows:
            pending.append(_slice_chunk(rows, start, start + missing))
            start, missing = start + pending[-1].rows, missing - pending[-1].rows
            if missing == 0:
                yield concatenate_chunks(pending)._replace(first=first)
                first, pending, missing = first + grid, [], grid
    if pending:
        yield concatenate_chunks(pending)._replace(first=first)


def _slice_chunk(chunk: Chunk, low: int, high: int) -> Chunk:
    X, y, w = (None if a is None else a[low:high] for a in chunk[:3])
    return Chunk(X, y, w)


class IpcSource(ArrowFileSource):
    """One or several Arrow IPC files; the pieces are record batches."""

    def inspect(self, path: str) -> FileSummary:
        """Read the schema, and the number of rows of each record batch."""
        schema = ipc_schema(path)
        narrow = _open_ipc(path, [0])  # one column is enough to count rows
        rows = [narrow.get_batch(i).num_rows for i in range(narrow.num_record_batches)]
        return FileSummary(schema, rows, {})

    def decode(self, path: str, pieces: range, size: int) -> Iterator[Any]:
        """Parts of record batches; uncompressed ones stay in the mapped file."""
        return ipc_batches(path, self.columns.needed, size, pieces=pieces)


def ipc_schema(path: str) -> Any:
    """The Arrow schema of a file."""
    return _open_ipc(path).schema


def ipc_batches(
    path: str,
    columns: list[str] | None,
    rows: int,
    *,
    pieces: range | None = None,
    memory_map: bool = True,
    use_threads: bool = False,
) -> Iterator[Any]:
    """Parts of at most `rows` rows of the record batches of a file, of all or of some of them.

    Mapped pages count as memory of the process: who reads a large file once maps nothing.
    """
    schema = ipc_schema(path)
    needed = None if columns is None else sorted(schema.get_field_index(name) for name in columns)
    reader = _open_ipc(path, needed, memory_map=memory_map, use_threads=use_threads)
    for number in range(reader.num_record_batches) if pieces is None else pieces:
        batch = reader.get_batch(number)
        for first in range(0, batch.num_rows, rows):
            yield batch.slice(first, rows)


def _open_ipc(
    path: str,
    fields: list[int] | None = None,
    *,
    memory_map: bool = True,
    use_threads: bool = False,
) -> Any:
    import pyarrow as pa

    options = pa.ipc.IpcReadOptions(use_threads=use_threads, included_fields=fields or [])
    return pa.ipc.open_file(pa.memory_map(path) if memory_map else pa.OSFile(path), options=options)
