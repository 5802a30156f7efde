"""A column of text in files of any size, document by document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tenfold.rows.files.asked import listing
from tenfold.rows.files.csvlines import dialect
from tenfold.rows.files.folders import files

AT_ONCE = 1024  # rows of Parquet that are unpacked together
BLOCK = 2**24  # bytes of CSV that are read at once; a row must fit


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
        self.kind, self.paths = files(where)
        for path in self.paths:
            names = NAMES[self.kind](path)
            if column not in names:
                raise ValueError(f"{path} has no column {column!r}; it has {listing(names)}")

    def __iter__(self) -> Iterator[str]:
        for path in self.paths:
            for batch in BATCHES[self.kind](path, self.column):
                texts = batch.column(0)
                yield from (text or "" for text in texts.cast("string").to_pylist())

    def __repr__(self) -> str:
        return f"Documents({str(self.where)!r}, {self.column!r})"


def _csv(path: Any, column: str) -> Iterator[Any]:
    import pyarrow as pa
    from pyarrow import csv

    with csv.open_csv(
        str(path),
        csv.ReadOptions(block_size=BLOCK, use_threads=False),
        csv.ParseOptions(delimiter=dialect(path).delimiter, newlines_in_values=True),
        csv.ConvertOptions(include_columns=[column], column_types={column: pa.string()}),
    ) as reader:
        yield from reader


def _parquet(path: Any, column: str) -> Iterator[Any]:
    from pyarrow.parquet import ParquetFile

    with ParquetFile(path) as file:
        yield from file.iter_batches(AT_ONCE, columns=[column], use_threads=False)


def _ipc(path: Any, column: str) -> Iterator[Any]:
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


def _no_names(path: Any) -> list[str]:
    raise ValueError(f"{path} is a .npy file, which has no columns of text")


BATCHES = {"csv": _csv, "parquet": _parquet, "ipc": _ipc}
NAMES = {
    "csv": lambda path: dialect(path).names,
    "parquet": _parquet_names,
    "ipc": _ipc_names,
    "npy": _no_names,
}
