"""CSV files: what a file looks like, record batches of its columns, and errors that name the line.

`inspect_csv` detects delimiter, encoding and header once for every reader; `read_csv_batches` is
the one place where pyarrow reads text. Numeric sources ask for float64, tables for strings,
`Documents` for one column.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from tenfold.engine.validation import format_names
from tenfold.io._header import HeaderGuess, detect_header, make_unique_names
from tenfold.io._type_inference import MISSING_MARKERS
from tenfold.io.columnar import TableError, unreadable_file_error
from tenfold.io.number_formats import arrow_compute

STRING_BLOCK_BYTES = 2**21  # bytes of CSV text that are converted to strings at once
_DELIMITERS = ",;\t|"
_SEPARATOR_LINE = re.compile(r"^sep=(.)\r?\n?$", re.IGNORECASE)  # Excel's own first line
_MAX_FIELD = 2**30  # characters; Python's csv stops at 2**17 by default, which long texts exceed
_HEAD_BYTES = 2**16  # read to tell text from other files
_DIALECT_LINES = 50  # that the delimiter is detected from
_HEADER_LINES = 1000  # that the first line is compared with, unless they are long
_HEADER_CHARACTERS = 2**18  # of the first `_DIALECT_LINES` that are long
csv.field_size_limit(max(csv.field_size_limit(), _MAX_FIELD))


class CsvFile(NamedTuple):
    """A CSV file and how to read it.

    Attributes
    ----------
    path, shown : where it lies, and how the caller named it
    delimiter, encoding : of the text
    fields : the first line that is not empty, without blanks about the fields
    names : of the columns: the fields made unique, or x0, x1, ... without a header
    skipped_lines : before the first row
    has_padding : whether there are blanks about the fields
    notes : what was decided on the way, in sentences
    has_header : whether the first line holds names
    """

    path: str
    shown: str
    delimiter: str
    encoding: str
    fields: list[str]
    names: list[str]
    skipped_lines: int
    has_padding: bool
    notes: list[str]
    has_header: bool

    def batches(self) -> Iterator[Any]:
        """Record batches of all columns as strings."""
        return _string_batches(self)

    def place(self, row: int) -> tuple[str, int]:
        """What a row is called in the file, and its number as an editor counts."""
        return "line", line_number(self, row)


@contextmanager
def open_text(path: str, encoding: str) -> Iterator[io.TextIOWrapper]:
    """The text of a file, decompressed if its name ends in .gz or .bz2."""
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
    *,
    shown: str | None = None,
) -> CsvFile:
    """Detect how a file is to be read from its first lines, where that is not given."""
    shown, where = shown or str(path), str(path.absolute())
    head = _read_head(where, shown)
    encoding = encoding or _detect_encoding(head)
    with open_text(where, encoding) as lines:
        first = "".join(islice(lines, _DIALECT_LINES))
        more = _HEADER_LINES - _DIALECT_LINES if len(first) < _HEADER_CHARACTERS else 0
        text = first + "".join(islice(lines, more))
    _check_is_text(head, first, shown)
    stated = _SEPARATOR_LINE.match(text[: text.find("\n") + 1])
    if stated:
        first, text = (part[stated.end() :] for part in (first, text))
    if not delimiter:
        delimiter = str(stated[1]) if stated else _detect_delimiter(first, path)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    fields = next((row for row in reader if row), [])
    if not fields:
        raise TableError(f"{shown} is empty. It needs a line of column names, and rows below it.")
    header_end = reader.line_num + (1 if stated else 0)
    rows = _valid_rows(reader)
    guess = detect_header(fields, rows) if header is None else HeaderGuess(header)
    names, notes = make_unique_names(fields, shown) if guess.is_header else _default_names(fields)
    return CsvFile(
        path=where,
        shown=shown,
        delimiter=delimiter,
        encoding=encoding,
        fields=[field.strip() for field in fields],
        names=names,
        skipped_lines=header_end - (0 if guess.is_header else 1),
        has_padding=any(field != field.strip() for row in rows for field in row),
        notes=notes + ([f"{shown}: {guess.note}."] if guess.note else []),
        has_header=guess.is_header,
    )


def _valid_rows(reader: Any) -> list[list[str]]:
    """Rows before the first that is not valid CSV; reading the file raises the error."""
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


def _check_is_text(head: bytes, text: str, shown: str) -> None:
    if "\0" in text:
        raise TableError(
            f"{shown} is no text: it holds bytes that are no characters. Save the table as CSV, "
            "Parquet or Excel (.xlsx) and give that file."
        )
    if not head.strip():
        raise TableError(f"{shown} is empty. It needs a line of column names, and rows below it.")


def _detect_delimiter(text: str, path: Path) -> str:
    """The delimiter that gives the most columns, the same number in all of the first lines."""
    if ".tsv" in path.name.lower() and "\t" in text:
        return "\t"
    if _column_count(text, ";")[0]:  # commas, though there may be more of them, are decimal then
        return ";"
    return max(_DELIMITERS, key=lambda delimiter: _column_count(text, delimiter))


def _column_count(text: str, delimiter: str) -> tuple[bool, int]:
    """Whether the lines have one number of fields above 1, and that of the first line."""
    complete = text if text.endswith("\n") else text.rpartition("\n")[0] or text
    rows = csv.reader(io.StringIO(complete, newline=""), delimiter=delimiter)
    try:
        widths = [len(row) for row in rows if row]
    except csv.Error:
        return False, 0
    first = widths[0] if widths else 0
    return first > 1 and len(set(widths)) == 1, first


class NotUtf8Error(Exception):
    """The text is in another encoding."""


def read_csv_batches(
    file: CsvFile,
    types: Mapping[str, Any],
    *,
    block_bytes: int,
    missing: list[str] | None = None,
    use_threads: bool = False,
) -> Any:
    """A stream of record batches.

    Parameters
    ----------
    file : CsvFile
        The file.
    types : dict, name -> Arrow type
        The columns to read; empty for all, with types inferred from the first block.
    block_bytes : int
        Text that is converted at once.
    missing : list of str, optional
        Texts that stand for missing values; pyarrow's by default.
    use_threads : bool
        Whether columns are converted in parallel.
    """
    from pyarrow import csv as arrow

    convert = arrow.ConvertOptions(
        column_types=types, include_columns=list(types), strings_can_be_null=True
    )
    if missing is not None:
        convert.null_values = missing
    return arrow.open_csv(
        file.path,
        arrow.ReadOptions(
            column_names=file.names,
            skip_rows=file.skipped_lines,
            block_size=max(block_bytes, 64 * len(file.names)),  # a line must fit
            encoding=file.encoding,
            use_threads=use_threads,
        ),
        arrow.ParseOptions(delimiter=file.delimiter, newlines_in_values=True),
        convert,
    )


def _string_batches(file: CsvFile) -> Iterator[Any]:
    import pyarrow as pa

    types, rows = dict.fromkeys(file.names, pa.string()), 0
    try:
        for batch in read_csv_batches(
            file,
            types,
            block_bytes=STRING_BLOCK_BYTES,
            missing=MISSING_MARKERS,
            use_threads=True,
        ):
            yield _strip_fields(batch) if file.has_padding else batch
            rows += batch.num_rows
    except (pa.ArrowException, OSError, UnicodeError) as problem:
        raise diagnose_csv_error(file, {}, rows, problem) from problem


def _strip_fields(batch: Any) -> Any:
    """A batch without the blanks about its fields; some are missing values then."""
    import pyarrow as pa

    pc = arrow_compute()
    columns = [pc.utf8_trim_whitespace(column) for column in batch.columns]
    missing = [pc.is_in(column, pa.array(MISSING_MARKERS)) for column in columns]
    null = pa.scalar(None, pa.string())
    stripped = [pc.if_else(no, null, column) for no, column in zip(missing, columns, strict=True)]
    return pa.RecordBatch.from_arrays(stripped, names=batch.schema.names)


class FieldCheck(NamedTuple):
    """What the fields of a column must be."""

    passes: Callable[[str], bool]
    expected: str  # in words


def diagnose_csv_error(
    file: CsvFile, checks: Mapping[str, FieldCheck], row: int, problem: Any
) -> Exception:
    """The error about a file that cannot be read; its first `row` rows are known to be valid."""
    message = str(problem)
    if "UTF8" in message or "UTF-8" in message or isinstance(problem, UnicodeError):
        return NotUtf8Error(message)
    if "Empty CSV file" in message or "Could not skip initial" in message:
        return TableError(
            f"{file.shown} has column names but no rows. Give at least one row; if the first line "
            "is one, say so with --no-header (header=False)."
        )
    try:
        fault = _find_invalid_row(file, checks, row)
    except (OSError, EOFError, csv.Error):  # the compressed file itself is damaged
        fault = None
    return TableError(fault) if fault else unreadable_file_error(file.shown, problem)


def _find_invalid_row(file: CsvFile, checks: Mapping[str, FieldCheck], row: int) -> str | None:
    """What is wrong in the first invalid row from `row` on; None if no row is."""
    checked = [(j, name, checks[name]) for j, name in enumerate(file.names) if name in checks]
    for line, fields in islice(_iterate_rows(file), row, None):
        place = f"{file.shown}, line {line}"
        if len(fields) != len(file.names):
            return (
                f"{place}: {len(fields)} fields, but there are {len(file.names)} columns "
                f"({format_names(file.names, 3)}). Correct the line; a field that holds the "
                "delimiter needs quotes."
            )
        for j, name, check in checked:
            if not check.passes(fields[j].strip(" \t")):
                return (
                    f"{place}, column {name!r}: {fields[j]!r} is not {check.expected}. Correct it; "
                    "or, if the column holds text, encode it "
                    "(sklearn.preprocessing.OneHotEncoder) or leave it out: columns=[...]."
                )
    return None


def line_number(file: CsvFile, row: int) -> int:
    """The line on which a row begins, counted from 1."""
    return next(islice(_iterate_rows(file), row, None))[0]


def _iterate_rows(file: CsvFile) -> Iterator[tuple[int, list[str]]]:
    """Line number and fields of every row; empty lines are none."""
    with open_text(file.path, file.encoding) as lines:
        for _ in range(file.skipped_lines):
            next(lines, None)
        reader = csv.reader(lines, delimiter=file.delimiter)
        line = file.skipped_lines + 1
        for fields in reader:
            if fields:
                yield line, fields
            line = file.skipped_lines + reader.line_num + 1
