"""Rows in Parquet files."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from functools import lru_cache
from pathlib import Path
from typing import Any

from tenfold.engine.file_matrix import ColumnBlockMatrix
from tenfold.engine.spool import MatrixFileSource, copy_names, spool_source
from tenfold.io.arrow import (
    READING_BYTES,
    ArrowFileSource,
    FileSummary,
    ipc_batches,
    ipc_schema,
)

MAX_COLUMN_BYTES = 5 * 2**19  # bytes of a page and a dictionary of usual size, both decompressed


class ParquetSource(ArrowFileSource):
    """One or several Parquet files; the pieces are row groups."""

    def inspect(self, path: str) -> FileSummary:
        """Read the footer: schema, rows of each row group, sizes in the largest of them."""
        metadata = _read_metadata(path, Path(path).stat().st_mtime_ns)
        rows = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
        buffer_bytes = _reader_bytes(metadata.row_group(rows.index(max(rows)))) if rows else {}
        return FileSummary(metadata.schema.to_arrow_schema(), rows, buffer_bytes)

    def decode(self, path: str, pieces: range, size: int) -> Iterator[Any]:
        """Read row groups one after the other; a batch may reach over their edges."""
        return parquet_batches(path, self.columns.needed, size, row_groups=list(pieces))

    def locate_damage(self, path: str, piece: int) -> str:
        """The first column of a row group that cannot be read."""
        with _open_parquet(path) as file:
            names = (name for name in self.columns.needed if not _is_readable(file, piece, name))
            name = next(names, None)
        first = sum(file.metadata.row_group(i).num_rows for i in range(piece))
        return f"row {first} or after (row group {piece}), column {name!r}" if name else ""

    @property
    def exceeds_buffer(self) -> bool:
        """Whether a reader of all columns would buffer too much memory."""
        return sum(self.buffer_bytes.values()) > READING_BYTES

    def only(self, names: list[str]) -> ParquetSource:
        """The same rows with fewer columns."""
        narrow = copy(self)
        narrow.columns, narrow.names, narrow.n_features = (
            self.columns.only(names),
            names,
            len(names),
        )
        narrow.buffer_bytes = {name: self.buffer_bytes[name] for name in narrow.columns.needed}
        return narrow


def spool_wide_file(source: ParquetSource) -> MatrixFileSource:
    """Copy a wide file to a raw one, some columns at a time.

    A reader keeps a page and a dictionary of each column. In a wide file with large row groups
    this is a gigabyte and more, however few rows are asked for.
    """
    copies = [spool_source(source.only(names)) for names in _column_blocks(source)]
    matrix = ColumnBlockMatrix([copy.matrix for copy in copies])
    return copy_names(source, MatrixFileSource(matrix, None, copies[0].y, copies[0].w))


def _column_blocks(source: ParquetSource) -> Iterator[list[str]]:
    """Neighbouring columns that can be read together."""
    block: list[str] = []
    for name in source.columns.X:
        if block and sum(source.buffer_bytes[n] for n in [*block, name]) > READING_BYTES // 2:
            yield block
            block = []
        block.append(name)
    yield block


def parquet_schema(path: str) -> Any:
    """The Arrow schema of a file."""
    return _read_metadata(path, Path(path).stat().st_mtime_ns).schema.to_arrow_schema()


def parquet_batches(
    path: str,
    columns: list[str] | None,
    rows: int,
    *,
    row_groups: list[int] | None = None,
    memory_map: bool = True,
    use_threads: bool = False,
) -> Iterator[Any]:
    """Record batches of at most `rows` rows, of all row groups or of some.

    Mapped pages count as memory of the process: who reads a large file once maps nothing.
    """
    with _open_parquet(path, memory_map=memory_map) as file:
        yield from file.iter_batches(
            rows, row_groups=row_groups, columns=columns, use_threads=use_threads
        )


def _open_parquet(path: str, *, memory_map: bool = True) -> Any:
    from pyarrow.parquet import ParquetFile

    metadata = _read_metadata(path, Path(path).stat().st_mtime_ns)  # 30 ms for 50,000 column chunks
    return ParquetFile(path, metadata=metadata, memory_map=memory_map, pre_buffer=False)


@lru_cache(maxsize=4)
def _read_metadata(path: str, changed: int) -> Any:  # noqa: ARG001 - a changed file is another one
    from pyarrow.parquet import read_metadata

    return read_metadata(path, memory_map=True)


def _reader_bytes(group: Any) -> dict[str, int]:
    """Bytes that a reader keeps per column: its dictionary and a page, unless they are mapped."""
    columns = [group.column(j) for j in range(group.num_columns)]
    return {
        column.path_in_schema: min(column.total_uncompressed_size * 7 // 5, MAX_COLUMN_BYTES)
        for column in columns
        if column.has_dictionary_page or column.compression != "UNCOMPRESSED"
    }


def _is_readable(file: Any, piece: int, name: str) -> bool:
    import pyarrow as pa

    try:
        file.read_row_group(piece, columns=[name], use_threads=False)
    except (pa.ArrowException, OSError):
        return False
    return True


# Schema and record batches of a file, by its format.
ARROW_READERS: dict[str, tuple[Any, Any]] = {
    "parquet": (parquet_schema, parquet_batches),
    "ipc": (ipc_schema, ipc_batches),
}
