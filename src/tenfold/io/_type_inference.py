"""Types of text columns, inferred over all rows: numbers, truth values, dates or text."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

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


def to_string_batch(names: list[str], columns: Iterable[Iterable[Any]]) -> Any:
    """Columns of any Python values as a batch of strings."""
    import pyarrow as pa

    return pa.RecordBatch.from_arrays([to_strings(column) for column in columns], names=names)


def to_strings(column: Iterable[Any]) -> Any:
    """Any Python values as an array of strings; null for None and for signs of nothing."""
    import pyarrow as pa

    return pa.array(map(_to_string, column), pa.string())


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
    small = pc.utf8_lower(column)
    if not pc.all(pc.is_in(small, pa.array(["true", "false", None]))).as_py():
        raise ValueError("not true or false")
    return pc.equal(small, "true").cast(pa.float64())


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
    """Whether no 31st of February became a day of March."""
    pc = arrow_compute()
    at = [part for part in "dmY" if part in form]
    at.sort(key=form.index)
    day = pc.list_element(pc.split_pattern_regex(column, r"\D+", max_splits=3), at.index("d"))
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
_PARSER_OF_FORMAT = {PLAIN: _PLAIN_NUMBER} | {
    style.name: number for number, style in enumerate(NUMBER_FORMATS, 1)
}

_FORMAT_OF_PARSER = {number: name for name, number in _PARSER_OF_FORMAT.items()}
_PROBED_VALUES = 64  # values that are tried first


class NonNumericValues(NamedTuple):
    """Values of a column that are no numbers: how many of how many, and the first."""

    found: int = 0
    of: int = 0
    row: int = -1
    value: str = ""
    counting: bool = True

    def seen(self, column: Any, first: int) -> NonNumericValues:
        """With those of a further batch; a column of words is given up."""
        pc = arrow_compute()
        odd = pc.invert(
            pc.match_substring_regex(column, f"{_NUMBER_PATTERN}|{ANY_FORMAT_PATTERN}")
        ).fill_null(False)
        here, values = int(pc.sum(odd).as_py() or 0), len(column) - column.null_count
        if 2 * here > values:
            return self._replace(counting=False)
        row, value = self.row, self.value
        if here and not self.found:
            place = pc.index(odd, value=True).as_py()
            row, value = first + place, column[place].as_py()
        return NonNumericValues(self.found + here, self.of + values, row, value)

    @property
    def few(self) -> bool:
        """Whether the column would be one of numbers but for less than one in a hundred."""
        return self.counting and 0 < 100 * self.found < self.of


class TypeInference:
    """What the columns of a text table are, as far as they were read.

    Parameters
    ----------
    names : the columns
    known : dict, name -> type of columns that have one; of these, text may still be dates
    styles : dict, name -> name of the style of its numbers, for columns that must have this one

    Attributes
    ----------
    at : dict, name -> number of the reading that has made sense so far
    marked : dict, name -> style of its numbers, and the first cell that shows it
    seen : names of the columns that had a value
    changed : whether a value forced another reading on rows that were stored before
    """

    def __init__(
        self,
        names: list[str],
        known: dict[str, str] | None = None,
        styles: dict[str, str] | None = None,
    ) -> None:
        self.names = names
        self.asked = {name: _PARSER_OF_FORMAT[style] for name, style in (styles or {}).items()}
        known = known or {}
        self.known = {name: kind for name, kind in known.items() if kind != "text"}
        self.loose = [name for name in names if name not in known]
        start = {name: _DATE if name in known else _PLAIN_NUMBER for name in names}
        self.at = start | {name: at for name, at in self.asked.items() if name in self.loose}
        self.agreed = False
        self.instead: dict[str, int] = {}  # readings of columns on trial for another
        self.begin()

    def begin(self) -> None:
        """Start to read from the first row."""
        self.seen: set[str] = set()
        self.marked: dict[str, tuple[NumberFormat, str]] = {}
        self.odd = dict.fromkeys(self.loose, NonNumericValues())
        self.numbers: dict[str, int] = dict.fromkeys(self.loose, 0)
        self.changed, self.rows = False, 0

    @property
    def types(self) -> dict[str, str]:
        """Type of each column; one without values counts as numbers."""
        seen = {n: _PARSERS[self.at[n]].type if n in self.seen else "number" for n in self.names}
        return seen | self.known

    @property
    def styles(self) -> dict[str, str]:
        """How the numbers of each column are written; nothing if all are plain."""
        if not self.marked:
            return {}
        at = {name: self.at[name] for name in self.loose if self.types[name] == "number"}
        return {
            name: _FORMAT_OF_PARSER[number]
            for name, number in at.items()
            if number in _FORMAT_OF_PARSER
        }

    def mixed(self, line: Callable[[int], int]) -> dict[str, tuple[int, str, int]]:
        """Columns of numbers but for a few values: line and text of the first, and how many."""
        types = self.types
        few = {n: o for n, o in self.odd.items() if types[n] == "text" and o.few}
        return {name: (line(odd.row), odd.value, odd.found) for name, odd in few.items()}

    def read(self, batch: Any) -> Any:
        """A batch of strings as a batch of numbers, dates and strings."""
        import pyarrow as pa

        columns = [self._column(name, batch.column(j)) for j, name in enumerate(self.names)]
        self.rows += batch.num_rows
        return pa.RecordBatch.from_arrays(columns, names=self.names)

    def _column(self, name: str, column: Any) -> Any:
        import pyarrow as pa

        if name in self.known:
            return column
        before = self.at[name]
        if column.null_count == len(column):
            parsed = _null_column(len(column), _PARSERS[before].type)
        else:
            self.at[name], parsed = _first_valid_parse(column, self._readings(name))
            self._count_odd(name, column)
            self._mark(name, column)
            stored = name in self.seen or _physical_type(self.at[name]) != _physical_type(before)
            self.changed |= self.rows > 0 and self.at[name] != before and stored
            self.seen.add(name)
        return parsed.combine_chunks() if isinstance(parsed, pa.ChunkedArray) else parsed

    def _readings(self, name: str) -> Iterable[int]:
        """Readings that may still make sense, in their order."""
        at = self.at[name]
        if name in self.asked:
            return (at, _TEXT)
        if name in self.instead and at == _DECIMAL_COMMA:
            return (at, self.instead[name])
        return range(at, len(_PARSERS))

    def _mark(self, name: str, column: Any) -> None:
        style = _PARSERS[self.at[name]].style
        if style is None:
            self.marked.pop(name, None)
        elif name not in self.marked and (cell := find_format_evidence(column, style)) is not None:
            self.marked[name] = style, cell

    def agree(self) -> bool:
        """Try decimal commas on all columns of numbers, once, if one has them for certain."""
        if self.agreed or _DECIMAL_COMMA not in [self.at[name] for name in self.loose]:
            return False
        self.agreed = True
        self.instead = {
            name: self.at[name]
            for name in self.loose
            if self.at[name] < _DECIMAL_COMMA and name in self.seen and name not in self.asked
        }
        self.at |= dict.fromkeys(self.instead, _DECIMAL_COMMA)
        return bool(self.instead)

    def _count_odd(self, name: str, column: Any) -> None:
        if name not in self.odd:
            return
        if self.at[name] <= _DECIMAL_COMMA:
            self.numbers[name] += len(column) - column.null_count
            return
        odd = self.odd[name]
        if odd.counting:
            if not odd.of:  # all so far were numbers
                odd = odd._replace(of=self.numbers[name])
            self.odd[name] = odd.seen(column, self.rows)


def _first_valid_parse(column: Any, readings: Iterable[int]) -> tuple[int, Any]:
    """The first reading that makes sense; of most others a few values tell that they do not."""
    import pyarrow as pa

    head = column.slice(0, _PROBED_VALUES).drop_null()
    for number in readings:
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
