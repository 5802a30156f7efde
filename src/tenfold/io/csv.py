"""CSV files: delimiter, encoding and header detection, batches of strings, and errors that name the line."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from tenfold.engine.validation import format_names
from tenfold.io._header import HeaderGuess, detect_header, make_unique_names
from tenfold.io._type_inference import MISSING_MARKERS
from tenfold.io.columnar import TableError, unreadable_file_error
from tenfold.io.number_formats import arrow_compute, is_plain_number


class CsvDialect(NamedTuple):
    """A CSV file: where, what stands between its fields, the names in its first line."""

    path: str
    shown: str  # as the caller named it
    delimiter: str
    names: list[str]


@contextmanager
def _open_utf8_text(path: str) -> Iterator[io.TextIOWrapper]:
    """The text of a file, unpacked if its name ends in .gz or .bz2."""
    import pyarrow as pa

    with pa.input_stream(path) as stream:
        yield io.TextIOWrapper(
            io.BufferedReader(stream), encoding="utf-8-sig", errors="replace", newline=""
        )


def read_dialect(file: Path) -> CsvDialect:
    """Read the names in the first line: between tabs in a .tsv file, else between `,` or `;`."""
    path, shown = str(file.absolute()), str(file)
    with _open_utf8_text(path) as lines:
        first = next((line for line in lines if line.strip("\r\n")), "")
        comma = ";" if ";" in first and "," not in first else ","
        delimiter = "\t" if ".tsv" in file.name.lower() else comma
        fields = next(csv.reader(chain([first], lines), delimiter=delimiter), [])
    if not fields:
        raise ValueError(f"{shown} is empty. It needs a line of column names.")
    if all(is_plain_number(name) for name in fields):
        raise ValueError(
            f"{shown}: the first line holds numbers ({format_names(fields, 3)}). It needs column names: "
            "add such a line."
        )
    return CsvDialect(path, shown, delimiter, fields)


def _iterate_rows(file: CsvDialect) -> Iterator[tuple[int, list[str]]]:
    """Line number and fields of every row; empty lines are none."""
    with _open_utf8_text(file.path) as lines:
        reader = csv.reader(lines, delimiter=file.delimiter)
        line = 1
        rows = ((reader.line_num, fields) for fields in reader)
        for last, fields in rows:
            if fields:
                yield line, fields
            line = last + 1


def find_line(file: CsvDialect, row: int) -> int:
    """The line of a row, counted from 1; the names are a line too."""
    return next(islice(_iterate_rows(file), row + 1, None))[0]


class FieldCheck(NamedTuple):
    """What a field must be."""

    passes: Callable[[str], bool]
    words: str


def find_invalid_field(file: CsvDialect, tests: dict[str, FieldCheck], row: int) -> str | None:
    """What is wrong in the first wrong row from `row` on; a field must pass its column's test."""
    places = [(j, name, tests[name]) for j, name in enumerate(file.names) if name in tests]
    for line, fields in islice(_iterate_rows(file), row + 1, None):
        at = f"{file.shown}, line {line}"
        if len(fields) != len(file.names):
            return (
                f"{at}: {len(fields)} fields, but the first line names {len(file.names)} columns. "
                "Correct the line (a field that holds the separator needs quotes)."
            )
        for j, name, test in places:
            if not test.passes(fields[j].strip(" \t")):
                return (
                    f"{at}, column {name!r}: {fields[j]!r} is not {test.words}. Correct it; or, if "
                    "the column is one of words, encode it (sklearn.preprocessing.OneHotEncoder) "
                    "or leave it out: columns=[...]."
                )
    return None


_DELIMITERS = ",;\t|"
_BLOCK_BYTES = 2**21  # bytes of text converted at once
_HEAD_BYTES = 2**16  # bytes that are looked at to see what a file is
_DIALECT_LINES = 50  # lines that tell what separates fields
_HEADER_LINES = 1000  # lines that the first is compared with, if they are not long
_HEADER_CHARACTERS = 2**18  # of these lines


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
        return _read_batches(self)

    def place(self, row: int) -> tuple[str, int]:
        """What a row is called in the file, and its number as an editor counts."""
        return "line", next(islice(_iterate_table_rows(self), row, None))[0]


@contextmanager
def open_text(path: str, encoding: str) -> Iterator[io.TextIOWrapper]:
    """The text of a file, unpacked if its name ends in .gz or .bz2."""
    import pyarrow as pa

    plain = "utf-8-sig" if encoding == "utf8" else encoding
    with pa.input_stream(path) as stream:
        yield io.TextIOWrapper(
            io.BufferedReader(stream), encoding=plain, errors="replace", newline=""
        )


def inspect_csv(
    path: Path,
    delimiter: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
) -> CsvFile:
    """Look at the first lines of a file."""
    shown, where = str(path), str(path.absolute())
    head = _read_head(where, shown)
    encoding = encoding or _detect_encoding(head)
    with open_text(where, encoding) as lines:
        some = "".join(islice(lines, _DIALECT_LINES))
        more = (
            "".join(islice(lines, _HEADER_LINES - _DIALECT_LINES))
            if len(some) < _HEADER_CHARACTERS
            else ""
        )
    _check_is_text(head, some, shown)
    delimiter = delimiter or _detect_delimiter(some, path)
    reader = csv.reader(io.StringIO(some + more, newline=""), delimiter=delimiter)
    fields = next((row for row in reader if row), [])
    if not fields:
        raise TableError(f"{shown} is empty. It needs a line of column names, and rows below it.")
    first = reader.line_num
    rows = _valid_rows(reader)
    seen = detect_header(fields, rows) if header is None else HeaderGuess(header)
    names, notes = make_unique_names(fields, shown) if seen.is_header else _default_names(fields)
    notes += [f"{shown}: {seen.said}."] if seen.said else []
    spaced = any(field != field.strip() for row in rows for field in row)
    skip = first - (0 if seen.is_header else 1)
    return CsvFile(where, shown, delimiter, encoding, names, skip, spaced, notes, seen.is_header)


def _valid_rows(reader: Any) -> list[list[str]]:
    """Rows until the first that is no CSV; that one is told when the file is read."""
    rows: list[list[str]] = []
    with suppress(csv.Error):
        rows.extend(row for row in reader if row)
    return rows


def _default_names(fields: list[str]) -> tuple[list[str], list[str]]:
    return [f"x{j}" for j in range(len(fields))], []


def _read_head(path: str, shown: str) -> bytes:
    import pyarrow as pa

    try:
        with pa.input_stream(path) as stream:
            return stream.read(_HEAD_BYTES)
    except (OSError, pa.ArrowException) as problem:
        raise unreadable_file_error(shown, problem) from problem


def _detect_encoding(head: bytes) -> str:
    marks = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
    return marks.get(head[:2], "utf8")


def _check_is_text(head: bytes, some: str, shown: str) -> None:
    if "\0" in some:
        raise TableError(
            f"{shown} is no text: it holds bytes that stand for no letters. Save the table as CSV, "
            "Parquet or Excel (.xlsx) and give that file."
        )
    if not head.strip():
        raise TableError(f"{shown} is empty. It needs a line of column names, and rows below it.")


def _detect_delimiter(some: str, path: Path) -> str:
    """The separator that gives the most columns, the same in all of the first lines."""
    if ".tsv" in path.name.lower() and "\t" in some:
        return "\t"
    if _column_count(some, ";")[0]:  # then commas, though there may be more of them, are decimal
        return ";"
    return max(_DELIMITERS, key=lambda d: _column_count(some, d))


def _column_count(some: str, delimiter: str) -> tuple[bool, int]:
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


def _read_batches(file: CsvFile) -> Iterator[Any]:
    import pyarrow as pa

    rows = 0
    try:
        for batch in _open_csv(file):
            yield _trim_fields(batch) if file.spaced else batch
            rows += batch.num_rows
    except (pa.ArrowException, OSError, UnicodeError) as problem:
        raise _diagnose(file, rows, problem) from problem


def _trim_fields(batch: Any) -> Any:
    """A batch without the blanks about its fields; some then turn out to be missing."""
    import pyarrow as pa

    pc = arrow_compute()
    columns = [pc.utf8_trim_whitespace(column) for column in batch.columns]
    gone = [pc.is_in(column, pa.array(MISSING_MARKERS)) for column in columns]
    nothing = pa.scalar(None, pa.string())
    kept = [pc.if_else(no, nothing, column) for no, column in zip(gone, columns, strict=True)]
    return pa.RecordBatch.from_arrays(kept, names=batch.schema.names)


class NotUtf8Error(Exception):
    """The text is in another encoding."""


def _open_csv(file: CsvFile) -> Any:
    import pyarrow as pa
    from pyarrow import csv as arrow

    return arrow.open_csv(
        file.path,
        arrow.ReadOptions(
            column_names=file.names,
            skip_rows=file.skip,
            block_size=max(_BLOCK_BYTES, 64 * len(file.names)),
            encoding=file.encoding,
        ),
        arrow.ParseOptions(delimiter=file.delimiter, newlines_in_values=True),
        arrow.ConvertOptions(
            column_types=dict.fromkeys(file.names, pa.string()),
            null_values=MISSING_MARKERS,
            strings_can_be_null=True,
        ),
    )


def _diagnose(file: CsvFile, row: int, problem: Exception) -> Exception:
    """The error for a file that cannot be read; the first `row` rows are known to be fine."""
    words = str(problem)
    if "UTF8" in words or "UTF-8" in words or isinstance(problem, UnicodeError):
        return NotUtf8Error(words)
    if "Empty CSV file" in words or "Could not skip initial" in words:
        return TableError(
            f"{file.shown} has column names but no rows. Give at least one row; if the first line "
            "is one, say so with --no-header (header=False)."
        )
    try:
        found = _find_malformed_line(file, row)
    except (OSError, EOFError, csv.Error):
        found = None
    return TableError(found) if found else unreadable_file_error(file.shown, problem)


def _iterate_table_rows(file: CsvFile) -> Iterator[tuple[int, list[str]]]:
    """Line number and fields of every row; empty lines are none."""
    with open_text(file.path, file.encoding) as lines:
        for _ in range(file.skip):
            next(lines, None)
        reader = csv.reader(lines, delimiter=file.delimiter)
        line = file.skip + 1
        for fields in reader:
            if fields:
                yield line, fields
            line = file.skip + reader.line_num + 1


def _find_malformed_line(file: CsvFile, row: int) -> str | None:
    for line, fields in islice(_iterate_table_rows(file), row, None):
        if len(fields) != len(file.names):
            return (
                f"{file.shown}, line {line}: {len(fields)} fields, but there are "
                f"{len(file.names)} columns ({format_names(file.names, 3)}). Correct the line; a field "
                "that holds the separator needs quotes."
            )
    return None
