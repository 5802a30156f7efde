"""The ways to read a column of text: as numbers, truth values, dates, or text."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

from tenfold.rows.files.records.computing import compute
from tenfold.rows.files.records.number_styles import PLAIN, STYLES, Style, parsed

MISSING = ["", "NA", "N/A", "n/a", "nan", "NaN", "NAN", "null", "NULL", "None", "none", "?", "-"]
NOTHING = frozenset([*MISSING, "#N/A", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!"])
IS_NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
FORMATS = ["%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%Y/%m/%d", "%d-%m-%Y", "%m-%d-%Y"]
FORMATS += ["%d %b %Y", "%b %d, %Y", "%d-%b-%Y", "%d %B %Y", "%B %d, %Y"]
FORMATS = [form + time for form in FORMATS for time in ("", " %H:%M", " %H:%M:%S")]


def string_batch(names: list[str], columns: Iterable[Iterable[Any]]) -> Any:
    """Columns of any Python values as a batch of strings."""
    import pyarrow as pa

    return pa.RecordBatch.from_arrays([strings(column) for column in columns], names=names)


def strings(column: Iterable[Any]) -> Any:
    """Any Python values as an array of strings; null for None and for signs of nothing."""
    import pyarrow as pa

    return pa.array(map(_string, column), pa.string())


def _string(value: Any) -> str | None:
    if isinstance(value, str):
        return None if value.strip() in NOTHING else value
    if value is None or isinstance(value, bool):
        return None if value is None else str(value).lower()
    return json.dumps(value) if isinstance(value, list) else str(value)


class Reading(NamedTuple):
    """A way to understand a column of text; `parse` raises a ValueError if it makes no sense."""

    type: str
    parse: Callable[[Any], Any]
    style: Style | None = None


def _truths(column: Any) -> Any:
    import pyarrow as pa

    pc = compute()
    small = pc.utf8_lower(column)
    if not pc.all(pc.is_in(small, pa.array(["true", "false", None]))).as_py():
        raise ValueError("not true or false")
    return pc.equal(small, "true").cast(pa.float64())


def _numbers(column: Any) -> Any:
    import pyarrow as pa

    pc = compute()
    try:
        numbers = column.cast(pa.float64())
    except pa.ArrowInvalid:
        numbers = pc.utf8_trim_whitespace(column).cast(pa.float64())
    zeros = pc.starts_with(column, "0")
    if pc.any(zeros).as_py() and _codes(column.filter(zeros)):
        raise ValueError("numbers with leading zeros are codes")
    return numbers


def _codes(column: Any) -> bool:
    pc = compute()
    return bool(pc.any(pc.match_substring_regex(column, r"^0\d")).as_py())


def _iso_dates(column: Any) -> Any:
    import pyarrow as pa

    try:
        return column.cast(pa.timestamp("us"))
    except pa.ArrowInvalid:
        return column.cast(pa.timestamp("us", "UTC")).cast(pa.timestamp("us"))


def _dates(form: str) -> Callable[[Any], Any]:
    def parse(column: Any) -> Any:
        pc = compute()
        dates = pc.strptime(column, form, "us")
        years = pc.min_max(pc.year(dates)).as_py()
        if years["min"] is not None and not 1000 <= years["min"] <= years["max"] < 3000:
            raise ValueError("no year of four digits")
        if "b" not in form.lower() and not _same_day(column, dates, form):
            raise ValueError("a day that does not exist")
        return dates

    return parse


def _same_day(column: Any, dates: Any, form: str) -> bool:
    """Whether no 31st of February became a day of March."""
    pc = compute()
    at = [part for part in "dmY" if part in form]
    at.sort(key=form.index)
    day = pc.list_element(pc.split_pattern_regex(column, r"\D+", max_splits=3), at.index("d"))
    return bool(pc.all(pc.equal(day.cast("int64"), pc.day(dates))).as_py())


def _text(column: Any) -> Any:
    return column


READINGS = [
    Reading("number", _numbers),
    *(Reading("number", partial(parsed, style=style), style) for style in STYLES),
    Reading("bool", _truths),
    Reading("date", _iso_dates),
    *(Reading("date", _dates(form)) for form in FORMATS),
    Reading("text", _text),
]
NUMBER, DECIMAL_COMMA, DATE, TEXT = 0, 3, 5, len(READINGS) - 1
STYLED = {PLAIN: NUMBER} | {style.name: number for number, style in enumerate(STYLES, 1)}
