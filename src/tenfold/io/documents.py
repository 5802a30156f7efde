"""A column of text in files of any size, document by document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tenfold.engine.validation import format_names
from tenfold.io._paths import resolve_files
from tenfold.io.csv import read_dialect

_BATCH_ROWS = 1024  # rows of Parquet that are unpacked together
_BLOCK_BYTES = 2**24  # bytes of CSV that are read at once; a row must fit


class Documents:
    r"""The documents in a column of CSV, Parquet or Arrow files; never all of them in memory.

    An iterable that can be walked over as often as one likes, for `WordCounts`, `TfIdf` and
    whatever else takes documents one after the other. Numbers come as text, a missing document as
    an empty one.

    Parameters
    ----------
    where : path, folder, pattern or list of paths
        The files, in the order of their names.
    column : str
        The column with the documents.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from tenfold import Documents, WordCounts
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "mails.csv")
    ...     _ = file.write_text('text,label\n"dear, dear sir",1\nmoney,0\n')
    ...     WordCounts().fit(Documents(file, "text")).vocabulary_
    {'dear': 0, 'money': 1, 'sir': 2}
    """

    def __init__(self, where: Any, column: str) -> None:
        self.where, self.column = where, column
        self.kind, self.paths = resolve_files(where)
        for path in self.paths:
            names = _NAME_READERS[self.kind](path)
            if column not in names:
                raise ValueError(f"{path} has no column {column!r}; it has {format_names(names)}")

    def __iter__(self) -> Iterator[str]:
        for path in self.paths:
            for batch in _BATCH_READERS[self.kind](path, self.column):
                texts = batch.column(0)
                yield from (text or "" for text in texts.cast("string").to_pylist())

    def __repr__(self) -> str:
        return f"Documents({str(self.where)!r}, {self.column!r})"


def _csv_batches(path: Any, column: str) -> Iterator[Any]:
    import pyarrow as pa
    from pyarrow import csv

    with csv.open_csv(
        str(path),
        csv.ReadOptions(block_size=_BLOCK_BYTES, use_threads=False),
        csv.ParseOptions(delimiter=read_dialect(path).delimiter, newlines_in_values=True),
        csv.ConvertOptions(include_columns=[column], column_types={column: pa.string()}),
    ) as reader:
        yield from reader


def _parquet_batches(path: Any, column: str) -> Iterator[Any]:
    from pyarrow.parquet import ParquetFile

    with ParquetFile(path) as file:
        yield from file.iter_batches(_BATCH_ROWS, columns=[column], use_threads=False)


def _ipc_batches(path: Any, column: str) -> Iterator[Any]:
    import pyarrow as pa

    with pa.memory_map(str(path)) as mapped:
        reader = pa.ipc.open_file(mapped)
        for number in range(reader.num_record_batches):
            yield reader.get_batch(number).select([column])


def _parquet_names(path: Any) -> list[str]:
    from pyarrow.parquet import read_schema

    return read_schema(path).names


def _ipc_names(path: Any) -> list[str]:
    import pyarrow as pa

    with pa.memory_map(str(path)) as mapped:
        return pa.ipc.open_file(mapped).schema.names


def _refuse_npy(path: Any) -> list[str]:
    raise ValueError(f"{path} is a .npy file, which has no columns of text")


_BATCH_READERS = {"csv": _csv_batches, "parquet": _parquet_batches, "ipc": _ipc_batches}
_NAME_READERS = {
    "csv": lambda path: read_dialect(path).names,
    "parquet": _parquet_names,
    "ipc": _ipc_names,
    "npy": _refuse_npy,
}
