"""Types of text columns, inferred over all rows: numbers, truth values, dates or text."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

from tenfold.io._long_integers import CODES, RoundingCheck
from tenfold.io.columnar import TableError
from tenfold.io.number_formats import (
    ANY_FORMAT_PATTERN,
    NUMBER_FORMATS,
    PLAIN,
    NumberFormat,
    arrow_compute,
    find_format_evidence,
    parse_column,
)
from tenfold.io.row_store import FileStore, MemoryStore, RowStoreWriter

TABLE_BATCH_ROWS = 8192  # rows of Parquet, Arrow, JSON and Excel files that are converted at once
PROBED_VALUES = 64  # values of a batch that rule out most types before all are parsed
MISSING_MARKERS = [
    "",
    "NA",
    "N/A",
    "n/a",
    "nan",
    "NaN",
    "NAN",
    "null",
    "NULL",
    "None",
    "none",
    "?",
    "-",
]
_SPREADSHEET_MISSING = frozenset(
    [*MISSING_MARKERS, "#N/A", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!"]
)
_NUMBER_PATTERN = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
_DATE_FORMATS = ["%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%Y/%m/%d", "%d-%m-%Y", "%m-%d-%Y"]
_DATE_FORMATS += ["%d %b %Y", "%b %d, %Y", "%d-%b-%Y", "%d %B %Y", "%B %d, %Y"]
_DATE_FORMATS = [form + time for form in _DATE_FORMATS for time in ("", " %H:%M", " %H:%M:%S")]


def to_string_batch(
    names: list[str], columns: Iterable[Iterable[Any]], where: Callable[[int], str]
) -> Any:
    """Columns of any Python values as a batch of strings; `where` names the place of a row."""
    import pyarrow as pa

    arrays = [to_strings(column, n, where) for n, column in zip(names, columns, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, names=names)


def to_strings(column: Iterable[Any], name: str, where: Callable[[int], str]) -> Any:
    """Any Python values as an array of strings; null for None and for signs of nothing."""
    import pyarrow as pa

    texts = [_to_string(value) for value in column]
    try:
        return pa.array(texts, pa.string())
    except UnicodeEncodeError:
        row = next(i for i, text in enumerate(texts) if text and has_lone_surrogate(text))
        raise TableError(
            f"{where(row)}, column {name!r}: {shorten_cell(texts[row])} holds half of a character "
            "(a lone surrogate). Correct it, or leave it empty."
        ) from None


def has_lone_surrogate(text: str) -> bool:
    """Whether a text holds half of a character, which no encoding can write."""
    return any("\ud800" <= char <= "\udfff" for char in text)


def shorten_cell(text: object) -> str:
    """A cell in quotes, at most 60 characters of it."""
    return repr(str(text)[:60])


def _to_string(value: Any) -> str | None:
    if isinstance(value, str):
        return None if value.strip() in _SPREADSHEET_MISSING else value
    if value is None or isinstance(value, bool):
        return None if value is None else str(value).lower()
    return json.dumps(value) if isinstance(value, list) else str(value)


class ColumnParser(NamedTuple):
    """A way to understand a column of text; `parse` raises a ValueError if it makes no sense."""

    type: str
    parse: Callable[[Any], Any]
    style: NumberFormat | None = None


def _parse_bools(column: Any) -> Any:
    import pyarrow as pa

    pc = arrow_compute()
    lower = pc.utf8_lower(column)
    if not pc.all(pc.is_in(lower, pa.array(["true", "false", None]))).as_py():
        raise ValueError("not true or false")
    return pc.equal(lower, "true").cast(pa.float64())


def _parse_numbers(column: Any) -> Any:
    import pyarrow as pa

    pc = arrow_compute()
    try:
        numbers = column.cast(pa.float64())
    except pa.ArrowInvalid:
        numbers = pc.utf8_trim_whitespace(column).cast(pa.float64())
    zeros = pc.starts_with(column, "0")
    if pc.any(zeros).as_py() and _has_leading_zeros(column.filter(zeros)):
        raise ValueError("numbers with leading zeros are codes")
    return numbers


def _has_leading_zeros(column: Any) -> bool:
    pc = arrow_compute()
    return bool(pc.any(pc.match_substring_regex(column, r"^0\d")).as_py())


def _parse_iso_dates(column: Any) -> Any:
    import pyarrow as pa

    try:
        return column.cast(pa.timestamp("us"))
    except pa.ArrowInvalid:
        return column.cast(pa.timestamp("us", "UTC")).cast(pa.timestamp("us"))


def _make_date_parser(form: str) -> Callable[[Any], Any]:
    def parse(column: Any) -> Any:
        pc = arrow_compute()
        dates = pc.strptime(column, form, "us")
        years = pc.min_max(pc.year(dates)).as_py()
        if years["min"] is not None and not 1000 <= years["min"] <= years["max"] < 3000:
            raise ValueError("no year of four digits")
        if "b" not in form.lower() and not _is_same_day(column, dates, form):
            raise ValueError("a day that does not exist")
        return dates

    return parse


def _is_same_day(column: Any, dates: Any, form: str) -> bool:
    """Whether each date has the day that was written: February 31 parses as a day of March."""
    pc = arrow_compute()
    order = [part for part in "dmY" if part in form]
    order.sort(key=form.index)
    day = pc.list_element(pc.split_pattern_regex(column, r"\D+", max_splits=3), order.index("d"))
    return bool(pc.all(pc.equal(day.cast("int64"), pc.day(dates))).as_py())


def _parse_text(column: Any) -> Any:
    return column


_PARSERS = [
    ColumnParser("number", _parse_numbers),
    *(
        ColumnParser("number", partial(parse_column, style=style), style)
        for style in NUMBER_FORMATS
    ),
    ColumnParser("bool", _parse_bools),
    ColumnParser("date", _parse_iso_dates),
    *(ColumnParser("date", _make_date_parser(form)) for form in _DATE_FORMATS),
    ColumnParser("text", _parse_text),
]
_PLAIN_NUMBER, _DECIMAL_COMMA, _DATE, _TEXT = 0, 3, 5, len(_PARSERS) - 1
_PARSER_OF_FORMAT = {PLAIN: _PLAIN_NUMBER, CODES: _TEXT} | {
    style.name: number for number, style in enumerate(NUMBER_FORMATS, 1)
}

_FORMAT_OF_PARSER = {number: name for name, number in _PARSER_OF_FORMAT.items()}


class NonNumericValues(NamedTuple):
    """Values of a column that are no numbers: how many of how many, and the first."""

    n_found: int = 0
    total: int = 0
    row: int = -1
    value: str = ""
    is_counting: bool = True

    def add_batch(self, column: Any, first: int) -> NonNumericValues:
        """Include a further batch; counting stops in a column of text."""
        pc = arrow_compute()
        non_numeric = pc.invert(
            pc.match_substring_regex(column, f"{_NUMBER_PATTERN}|{ANY_FORMAT_PATTERN}")
        ).fill_null(False)
        count, values = int(pc.sum(non_numeric).as_py() or 0), len(column) - column.null_count
        if 2 * count > values:
            return self._replace(is_counting=False)
        row, value = self.row, self.value
        if count and not self.n_found:
            index = pc.index(non_numeric, value=True).as_py()
            row, value = first + index, column[index].as_py()
        return NonNumericValues(self.n_found + count, self.total + values, row, value)

    @property
    def is_rare(self) -> bool:
        """Whether less than 1 % of the values are not numbers."""
        return self.is_counting and 0 < 100 * self.n_found < self.total


class TypeInference:
    """Types of the columns of a text table, from the rows that were read so far.

    Parameters
    ----------
    names : the columns
    given_types : dict, name -> type of columns that have one; text may still turn out as dates
    styles : dict, name -> name of the style of its numbers, for columns that must have this one

    Attributes
    ----------
    parser_of : dict, name -> index of the parser that is valid so far
    formats : dict, name -> format of its numbers, and the first cell that shows it
    codes : dict, name -> example of columns of whole numbers that are kept as text
    with_values : names of the columns that have had a value
    changed : whether a value has ruled out the parser of rows that were stored before
    """

    def __init__(
        self,
        names: list[str],
        given_types: dict[str, str] | None = None,
        styles: dict[str, str] | None = None,
    ) -> None:
        self.names = names
        self.requested = {name: _PARSER_OF_FORMAT[style] for name, style in (styles or {}).items()}
        given_types = given_types or {}
        self.given_types = {name: kind for name, kind in given_types.items() if kind != "text"}
        self.untyped = [name for name in names if name not in given_types]
        initial = {name: _DATE if name in given_types else _PLAIN_NUMBER for name in names}
        requested = {n: parser for n, parser in self.requested.items() if n in self.untyped}
        self.parser_of = initial | requested
        self.agreed = False
        self.codes: dict[str, str] = {}
        self.on_trial: dict[str, int] = {}  # parsers of columns on which decimal commas are tried
        self.begin()

    def begin(self) -> None:
        """Start to read from the first row."""
        self.with_values: set[str] = set()
        self.formats: dict[str, tuple[NumberFormat, str]] = {}
        self.non_numeric = dict.fromkeys(self.untyped, NonNumericValues())
        self.number_counts: dict[str, int] = dict.fromkeys(self.untyped, 0)
        self.rounding = {name: RoundingCheck() for name in self.untyped}
        self.changed, self.rows = False, 0

    @property
    def types(self) -> dict[str, str]:
        """Type of each column; one without values counts as numbers."""
        inferred = {
            n: _PARSERS[self.parser_of[n]].type if n in self.with_values else "number"
            for n in self.names
        }
        return inferred | self.given_types

    @property
    def styles(self) -> dict[str, str]:
        """How the numbers of each column are written; nothing if all are plain."""
        requested = {name for name, parser in self.requested.items() if parser == _TEXT}
        codes = dict.fromkeys([n for n in self.names if n in self.codes or n in requested], CODES)
        if not self.formats:
            return codes
        parsers = {n: self.parser_of[n] for n in self.untyped if self.types[n] == "number"}
        return codes | {
            name: _FORMAT_OF_PARSER[number]
            for name, number in parsers.items()
            if number in _FORMAT_OF_PARSER
        }

    def find_mixed_columns(self, line: Callable[[int], int]) -> dict[str, tuple[int, str, int]]:
        """Columns of numbers but for a few values: line and text of the first, and how many."""
        types = self.types
        rare = {n: v for n, v in self.non_numeric.items() if types[n] == "text" and v.is_rare}
        return {name: (line(v.row), v.value, v.n_found) for name, v in rare.items()}

    def read(self, batch: Any) -> Any:
        """A batch of strings as a batch of numbers, dates and strings."""
        import pyarrow as pa

        columns = [self._column(name, batch.column(j)) for j, name in enumerate(self.names)]
        self.rows += batch.num_rows
        return pa.RecordBatch.from_arrays(columns, names=self.names)

    def _column(self, name: str, column: Any) -> Any:
        import pyarrow as pa

        if name in self.given_types:
            return column
        before = self.parser_of[name]
        if column.null_count == len(column):
            parsed = _null_column(len(column), _PARSERS[before].type)
        else:
            self.parser_of[name], parsed = self._parse(name, column)
            self._count_non_numeric(name, column)
            self._note_format(name, column)
            stored = name in self.with_values or _physical_type(
                self.parser_of[name]
            ) != _physical_type(before)
            self.changed |= self.rows > 0 and self.parser_of[name] != before and stored
            self.with_values.add(name)
        return parsed.combine_chunks() if isinstance(parsed, pa.ChunkedArray) else parsed

    def _parse(self, name: str, column: Any) -> tuple[int, Any]:
        """Index of the first valid parser, and its result; numbers that it would merge are text."""
        number, parsed = _first_valid_parse(column, self._candidate_parsers(name))
        if number == _PLAIN_NUMBER and name in self.rounding:
            check = self.rounding[name]
            if check.add_texts(column, parsed):
                self.codes[name] = str(check.example)
                return _TEXT, column
        return number, parsed

    def _candidate_parsers(self, name: str) -> Iterable[int]:
        """Indices of the parsers that may still be valid, in order."""
        current = self.parser_of[name]
        if name in self.requested:
            return (current, _TEXT)
        if name in self.on_trial and current == _DECIMAL_COMMA:
            return (current, self.on_trial[name])
        return range(current, len(_PARSERS))

    def _note_format(self, name: str, column: Any) -> None:
        style = _PARSERS[self.parser_of[name]].style
        if style is None:
            self.formats.pop(name, None)
        elif name not in self.formats and (cell := find_format_evidence(column, style)) is not None:
            self.formats[name] = style, cell

    def agree(self) -> bool:
        """Try decimal commas on all columns of numbers, once, if one has them for certain."""
        if self.agreed or _DECIMAL_COMMA not in [self.parser_of[name] for name in self.untyped]:
            return False
        self.agreed = True
        self.on_trial = {
            name: self.parser_of[name]
            for name in self.untyped
            if self.parser_of[name] < _DECIMAL_COMMA
            and name in self.with_values
            and name not in self.requested
        }
        self.parser_of |= dict.fromkeys(self.on_trial, _DECIMAL_COMMA)
        return bool(self.on_trial)

    def _count_non_numeric(self, name: str, column: Any) -> None:
        if name not in self.non_numeric:
            return
        if self.parser_of[name] <= _DECIMAL_COMMA:
            self.number_counts[name] += len(column) - column.null_count
            return
        values = self.non_numeric[name]
        if values.is_counting:
            if not values.total:  # all so far were numbers
                values = values._replace(total=self.number_counts[name])
            self.non_numeric[name] = values.add_batch(column, self.rows)


def _first_valid_parse(column: Any, candidates: Iterable[int]) -> tuple[int, Any]:
    """The first parser that is valid, and its result; a few values rule out most others."""
    import pyarrow as pa

    head = column.slice(0, PROBED_VALUES).drop_null()
    for number in candidates:
        try:
            _PARSERS[number].parse(head)
            return number, _PARSERS[number].parse(column)
        except (ValueError, pa.ArrowException):
            continue
    raise AssertionError("text can always be read as text")


def _physical_type(number: int) -> str:
    return {"bool": "number"}.get(_PARSERS[number].type, _PARSERS[number].type)


def _null_column(rows: int, kind: str) -> Any:
    import pyarrow as pa

    arrow = {"text": pa.string(), "date": pa.timestamp("us")}.get(kind, pa.float64())
    return pa.nulls(rows, arrow)


def infer_and_store(
    inference: TypeInference, batches: Callable[[], Iterable[Any]], shown: str
) -> MemoryStore | FileStore:
    """Read batches of strings until every column has one type, a few times at most."""
    while True:
        inference.begin()
        store = RowStoreWriter(len(inference.names))
        for batch in batches():
            parsed = inference.read(batch)
            if not inference.changed:
                store.put(parsed)
        if not inference.rows:
            raise TableError(f"{shown} has column names but no rows. Give at least one row.")
        if not inference.changed and not inference.agree():
            return store.done(inference.types)
