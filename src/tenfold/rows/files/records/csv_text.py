"""CSV files of mixed columns: what is between the fields, the names, the letters, the faults."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from tenfold.rows.files.asked import listing
from tenfold.rows.files.records.computing import compute
from tenfold.rows.files.records.errors import TableError, unreadable
from tenfold.rows.files.records.headers import Look, look
from tenfold.rows.files.records.naming import named
from tenfold.rows.files.records.readings import MISSING

DELIMITERS = ",;\t|"
BLOCK = 2**21  # bytes of text converted at once
HEAD = 2**16  # bytes that are looked at to see what a file is
SNIFFED = 50  # lines that tell what separates fields
COMPARED = 1000  # lines that the first is compared with, if they are not long
LETTERS = 2**18  # of these lines


class CsvFile(NamedTuple):
    """One file: where, how to read it, what its columns are called."""

    path: str
    shown: str
    delimiter: str
    encoding: str
    names: list[str]
    skip: int  # lines before the first row
    spaced: bool  # whether there are blanks about the fields
    notes: list[str]
    has_header: bool

    def batches(self) -> Iterator[Any]:
        """Record batches of strings."""
        return _batches(self)

    def place(self, row: int) -> tuple[str, int]:
        """What a row is called in the file, and its number as an editor counts."""
        return "line", next(islice(_records(self), row, None))[0]


@contextmanager
def text(path: str, encoding: str) -> Iterator[io.TextIOWrapper]:
    """The text of a file, unpacked if its name ends in .gz or .bz2."""
    import pyarrow as pa

    plain = "utf-8-sig" if encoding == "utf8" else encoding
    with pa.input_stream(path) as stream:
        yield io.TextIOWrapper(
            io.BufferedReader(stream), encoding=plain, errors="replace", newline=""
        )


def csv_file(
    path: Path,
    delimiter: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
) -> CsvFile:
    """Look at the first lines of a file."""
    shown, where = str(path), str(path.absolute())
    head = _head(where, shown)
    encoding = encoding or _encoding(head)
    with text(where, encoding) as lines:
        some = "".join(islice(lines, SNIFFED))
        more = "".join(islice(lines, COMPARED - SNIFFED)) if len(some) < LETTERS else ""
    _assert_text(head, some, shown)
    delimiter = delimiter or _delimiter(some, path)
    reader = csv.reader(io.StringIO(some + more, newline=""), delimiter=delimiter)
    fields = next((row for row in reader if row), [])
    if not fields:
        raise TableError(f"{shown} is empty. It needs a line of column names, and rows below it.")
    first = reader.line_num
    rows = _whole_rows(reader)
    seen = look(fields, rows) if header is None else Look(header)
    names, notes = named(fields, shown) if seen.is_header else _numbered(fields)
    notes += [f"{shown}: {seen.said}."] if seen.said else []
    spaced = any(field != field.strip() for row in rows for field in row)
    skip = first - (0 if seen.is_header else 1)
    return CsvFile(where, shown, delimiter, encoding, names, skip, spaced, notes, seen.is_header)


def _whole_rows(reader: Any) -> list[list[str]]:
    """Rows until the first that is no CSV; that one is told when the file is read."""
    rows: list[list[str]] = []
    with suppress(csv.Error):
        rows.extend(row for row in reader if row)
    return rows


def _numbered(fields: list[str]) -> tuple[list[str], list[str]]:
    return [f"x{j}" for j in range(len(fields))], []


def _head(path: str, shown: str) -> bytes:
    import pyarrow as pa

    try:
        with pa.input_stream(path) as stream:
            return stream.read(HEAD)
    except (OSError, pa.ArrowException) as problem:
        raise unreadable(shown, problem) from problem


def _encoding(head: bytes) -> str:
    marks = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
    return marks.get(head[:2], "utf8")


def _assert_text(head: bytes, some: str, shown: str) -> None:
    if "\0" in some:
        raise TableError(
            f"{shown} is no text: it holds bytes that stand for no letters. Save the table as CSV, "
            "Parquet or Excel (.xlsx) and give that file."
        )
    if not head.strip():
        raise TableError(f"{shown} is empty. It needs a line of column names, and rows below it.")


def _delimiter(some: str, path: Path) -> str:
    """The separator that gives the most columns, the same in all of the first lines."""
    if ".tsv" in path.name.lower() and "\t" in some:
        return "\t"
    if _columns(some, ";")[0]:  # then commas, though there may be more of them, are decimal
        return ";"
    return max(DELIMITERS, key=lambda d: _columns(some, d))


def _columns(some: str, delimiter: str) -> tuple[bool, int]:
    """Whether the first lines have one width, and that of the first line."""
    whole = some if some.endswith("\n") else some.rpartition("\n")[0] or some
    try:
        widths = [
            len(r) for r in csv.reader(io.StringIO(whole, newline=""), delimiter=delimiter) if r
        ]
    except csv.Error:
        return False, 0
    first = widths[0] if widths else 0
    return first > 1 and len(set(widths)) == 1, first


def _batches(file: CsvFile) -> Iterator[Any]:
    import pyarrow as pa

    rows = 0
    try:
        for batch in _opened(file):
            yield _trimmed(batch) if file.spaced else batch
            rows += batch.num_rows
    except (pa.ArrowException, OSError, UnicodeError) as problem:
        raise _explained(file, rows, problem) from problem


def _trimmed(batch: Any) -> Any:
    """A batch without the blanks about its fields; some then turn out to be missing."""
    import pyarrow as pa

    pc = compute()
    columns = [pc.utf8_trim_whitespace(column) for column in batch.columns]
    gone = [pc.is_in(column, pa.array(MISSING)) for column in columns]
    nothing = pa.scalar(None, pa.string())
    kept = [pc.if_else(no, nothing, column) for no, column in zip(gone, columns, strict=True)]
    return pa.RecordBatch.from_arrays(kept, names=batch.schema.names)


class NotUtf8(Exception):  # noqa: N818 - a message to the caller, who tries again
    """The text is in another encoding."""


def _opened(file: CsvFile) -> Any:
    import pyarrow as pa
    from pyarrow import csv as arrow

    return arrow.open_csv(
        file.path,
        arrow.ReadOptions(
            column_names=file.names,
            skip_rows=file.skip,
            block_size=max(BLOCK, 64 * len(file.names)),
            encoding=file.encoding,
        ),
        arrow.ParseOptions(delimiter=file.delimiter, newlines_in_values=True),
        arrow.ConvertOptions(
            column_types=dict.fromkeys(file.names, pa.string()),
            null_values=MISSING,
            strings_can_be_null=True,
        ),
    )


def _explained(file: CsvFile, row: int, problem: Exception) -> Exception:
    """The error for a file that cannot be read; the first `row` rows are known to be fine."""
    words = str(problem)
    if "UTF8" in words or "UTF-8" in words or isinstance(problem, UnicodeError):
        return NotUtf8(words)
    if "Empty CSV file" in words or "Could not skip initial" in words:
        return TableError(
            f"{file.shown} has column names but no rows. Give at least one row; if the first line "
            "is one, say so with --no-header (header=False)."
        )
    try:
        found = _fault(file, row)
    except (OSError, EOFError, csv.Error):
        found = None
    return TableError(found) if found else unreadable(file.shown, problem)


def _records(file: CsvFile) -> Iterator[tuple[int, list[str]]]:
    """Line number and fields of every row; empty lines are none."""
    with text(file.path, file.encoding) as lines:
        for _ in range(file.skip):
            next(lines, None)
        reader = csv.reader(lines, delimiter=file.delimiter)
        line = file.skip + 1
        for fields in reader:
            if fields:
                yield line, fields
            line = file.skip + reader.line_num + 1


def _fault(file: CsvFile, row: int) -> str | None:
    for line, fields in islice(_records(file), row, None):
        if len(fields) != len(file.names):
            return (
                f"{file.shown}, line {line}: {len(fields)} fields, but there are "
                f"{len(file.names)} columns ({listing(file.names, 3)}). Correct the line; a field "
                "that holds the separator needs quotes."
            )
    return None
