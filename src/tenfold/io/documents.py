"""A column of text in files of any size, document by document."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tenfold.engine.validation import format_names
from tenfold.io.csv import inspect_csv, read_csv_batches
from tenfold.io.file_formats import resolve_files
from tenfold.io.parquet import ARROW_READERS

DOCUMENT_BATCH_ROWS = 1024  # documents of Parquet and Arrow files that are decoded at once
DOCUMENT_BLOCK_BYTES = 2**21  # bytes of CSV text that are converted at once
MAX_DOCUMENT_BYTES = 2**29  # of such a block, which grows where a document does not fit
_TOO_SMALL = "straddling object"  # Arrow's words for a line that is longer than a block


class Documents:
    r"""The documents in a column of CSV, Parquet or Arrow files; never all of them in memory.

    An iterable that can be iterated any number of times, for `WordCounts`, `TfIdf` and any other
    consumer of documents. Numbers come as text, a missing document as an empty one.

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
        if hasattr(where, "columns"):
            raise TypeError(
                f"a table is no file: give its column, table[{column!r}], instead of Documents"
            )
        self.where, self.column = where, column
        self.kind, self.paths = resolve_files(where)
        for path in self.paths:
            names = _column_names(path, self.kind)
            if column not in names:
                raise ValueError(f"{path} has no column {column!r}; it has {format_names(names)}")

    def __iter__(self) -> Iterator[str]:
        for path in self.paths:
            for batch in _read_batches(path, self.column, self.kind):
                documents = batch.column(0).cast("string").to_pylist()
                yield from (document or "" for document in documents)

    def __repr__(self) -> str:
        return f"Documents({str(self.where)!r}, {self.column!r})"


def _column_names(path: Path, kind: str) -> list[str]:
    if kind == "npy":
        raise ValueError(f"{path} is a .npy file, which has no columns of text")
    if kind == "csv":
        return inspect_csv(path, header=True).names
    return ARROW_READERS[kind][0](str(path)).names


def _read_batches(path: Path, column: str, kind: str) -> Iterator[Any]:
    """Record batches of one column."""
    if kind != "csv":
        return ARROW_READERS[kind][1](str(path), [column], DOCUMENT_BATCH_ROWS)
    return _read_csv(path, column)


def _read_csv(path: Path, column: str) -> Iterator[Any]:
    """The same of a CSV file, in blocks that grow where a document does not fit.

    The reader is up to 32 blocks ahead of a slow consumer, so that small ones save memory.
    """
    import pyarrow as pa

    file, types = inspect_csv(path, header=True), {column: pa.string()}
    block_bytes, n_read = DOCUMENT_BLOCK_BYTES, 0
    while True:
        skipped = 0
        try:
            for batch in read_csv_batches(file, types, block_bytes=block_bytes, missing=[]):
                known = min(n_read - skipped, batch.num_rows)
                skipped += known
                if known < batch.num_rows:
                    yield batch.slice(known)
                    n_read += batch.num_rows - known
                    skipped = n_read
        except pa.ArrowInvalid as error:
            if _TOO_SMALL not in str(error) or block_bytes >= MAX_DOCUMENT_BYTES:
                raise
            block_bytes *= 4
        else:
            return
