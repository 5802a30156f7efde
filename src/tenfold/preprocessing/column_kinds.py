"""Semantic types of columns: number, category, text, date, identifier, constant."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from tenfold.preprocessing.column_profile import (
    ColumnProfile,
    DateProfile,
    NumberProfile,
    TableProfile,
    WordProfile,
    profile_table,
)

_KINDS = ("number", "category", "text", "date", "identifier", "constant")
_NUMBER_STYLES = {
    "commas": "read with commas between thousands",
    "blanks": "read with blanks between thousands",
    "decimal comma": "read with decimal commas",
}
_MIN_ROWS_FOR_IDENTIFIER = 20  # below this, values that are all different say little
_IDENTIFIER_DISTINCT_SHARE = 0.95  # of the values are different: an identifier
_MIN_TEXT_WORDS = 3.0  # words of a value, on average: text
_MAX_EXAMPLES = 5
_HEAD_ROWS = 2000  # rows from which examples are taken
_IDENTIFIER_NAME = re.compile(r"(^|[^a-z])(id|ids|uuid|guid|key|index|idx|nr|no|number|row|rowid)$")
_CAMEL_CASE_BREAK = re.compile(r"(?<=[a-z])(?=[A-Z])")


class ColumnKind(NamedTuple):
    """What a column is, and why.

    Attributes
    ----------
    name : of the column
    kind : "number", "category", "text", "date", "identifier" or "constant"
    missing : rows without a value
    distinct : different values; if `more`, an estimate that is at least the limit of the count
    why : a sentence
    examples : a few values
    low, high, mean : of numbers; of dates as text, such as "2024-02-29"; else None
    more : whether the different values are too many to have been counted one by one
    """

    name: str
    kind: str
    missing: int
    distinct: int
    why: str
    examples: list[Any]
    low: Any = None
    high: Any = None
    mean: Any = None
    more: bool = False


def infer_column_kinds(
    records: Any, target: str | None = None, kinds: dict[str, str] | None = None
) -> dict[str, ColumnKind]:
    """What each column of a table is, judged by one pass over all rows.

    Parameters
    ----------
    records : Records
        The table, `tenfold.io.open_table(...)`.
    target : str, optional
        The column to be predicted; it is never taken for an identifier.
    kinds : dict, name -> kind, optional
        Columns of which you know better.

    Examples
    --------
    >>> from tenfold.io import open_table
    >>> table = {"age": [31, 52, None, 31], "town": ["Bonn", "Köln", "Bonn", "Bonn"], "a": [1] * 4}
    >>> [f"{k.name}: {k.kind}" for k in infer_column_kinds(open_table(table)).values()]
    ['age: number', 'town: category', 'a: constant']
    """
    target = target or records.target
    asked = validate_kinds(kinds or {}, records)
    return kinds_from_profile(
        profile_table(records, reading_overrides(asked, records)), records, asked, target
    )


def validate_kinds(kinds: dict[str, Any], records: Any) -> dict[str, str]:
    """The kinds that the caller gave, as words; each must exist."""
    asked = {name: getattr(kind, "kind", kind) for name, kind in kinds.items()}
    for name, kind in asked.items():
        records.assert_column(name)
        if kind not in _KINDS:
            raise ValueError(
                f"column {name!r} cannot be a {kind!r}: give one of {', '.join(_KINDS)}"
            )
    return asked


def reading_overrides(asked: dict[str, str], records: Any) -> dict[str, str]:
    """Columns that are to be read as text, or as numbers, though they hold something else."""
    types = records.types
    words = {
        n: "text" for n, k in asked.items() if k in {"category", "text"} and types[n] != "text"
    }
    numbers = {n: "number" for n, k in asked.items() if k == "number" and types[n] == "text"}
    return words | numbers


def kinds_from_profile(
    found: TableProfile, records: Any, asked: dict[str, str], target: str | None
) -> dict[str, ColumnKind]:
    """Judge each column by its profile."""
    head = records.slice(0, min(_HEAD_ROWS, records.n_rows)).to_columns()
    judged = {
        name: _make_column_kind(
            name, one, _examples(head[name]), asked.get(name), is_target=name == target
        )
        for name, one in found.columns.items()
    }
    written = {
        name: _NUMBER_STYLES[style]
        for name, style in records.styles.items()
        if style in _NUMBER_STYLES
    }
    return {
        name: one._replace(why=f"{one.why}, {written[name]}") if name in written else one
        for name, one in judged.items()
    }


def _make_column_kind(
    name: str, one: ColumnProfile, examples: list[Any], asked: str | None, *, is_target: bool
) -> ColumnKind:
    kind, why = _infer_kind(name, one)
    if asked is not None:
        kind, why = _check_possible(name, asked, one), "as you said"
    elif is_target and kind == "identifier":
        kind = "number" if isinstance(one, NumberProfile) else "category"
        why = "it is to be predicted"
    different = one.different
    low, high, mean = _range(one)
    count = round(different.number)
    return ColumnKind(
        name, kind, one.missing, count, why, examples, low, high, mean, different.more
    )


def _check_possible(name: str, asked: str, one: ColumnProfile) -> str:
    wrong = (asked == "number" and not isinstance(one, NumberProfile)) or (
        asked == "date" and not isinstance(one, DateProfile)
    )
    if wrong:
        raise ValueError(
            f"column {name!r} cannot be a {asked}: it holds values that are none. Correct them, or "
            "take it as category or text."
        )
    return asked


def _infer_kind(name: str, one: ColumnProfile) -> tuple[str, str]:
    """The kind of a column, and why."""
    there, different = one.rows - one.missing, one.different.number
    if there == 0:
        return "constant", "every value is missing"
    if different == 1 and not one.missing:
        return "constant", "all rows have the same value"
    if isinstance(one, DateProfile):
        return "date", "all values are dates"
    if isinstance(one, NumberProfile):
        return _infer_number_kind(name, one, there, different)
    return _infer_word_kind(name, one, there, different)


def _infer_number_kind(
    name: str, one: NumberProfile, there: int, different: float
) -> tuple[str, str]:
    if (
        not one.whole
        or there < _MIN_ROWS_FOR_IDENTIFIER
        or different < _IDENTIFIER_DISTINCT_SHARE * there
    ):
        return "number", "all values are numbers"
    spread = one.spread
    if spread.low in {0, 1} and spread.high - spread.low == one.rows - 1:
        return "identifier", "it counts the rows"
    if is_identifier_name(name):
        return "identifier", "its values are all different, and its name says so"
    return "number", "all values are numbers"


def _infer_word_kind(name: str, one: WordProfile, there: int, different: float) -> tuple[str, str]:
    words = one.words / there
    unique = there >= _MIN_ROWS_FOR_IDENTIFIER and different >= _IDENTIFIER_DISTINCT_SHARE * there
    if words >= _MIN_TEXT_WORDS and (unique or different > max(50, 0.2 * there)):
        return "text", f"its values have {words:.0f} words on average and hardly repeat"
    if unique and words >= 2 and not is_identifier_name(name):
        return "text", "its values are several words, nearly all different"
    if unique:
        return "identifier", "nearly all values are different"
    count = "more than " if one.different.more else ""
    return "category", f"{count}{round(different):,} different values that repeat"


def is_identifier_name(name: str) -> bool:
    """Whether a name is that of an identifier.

    Examples
    --------
    >>> [is_identifier_name(name) for name in ("PassengerId", "user_id", "PID", "humid", "key")]
    [True, True, True, False, True]
    """
    if name.endswith("ID"):
        return True
    return _IDENTIFIER_NAME.search(_CAMEL_CASE_BREAK.sub("_", name.strip()).lower()) is not None


def _examples(values: list[Any]) -> list[Any]:
    there = dict.fromkeys(value for value in values if value is not None)
    return [_to_plain(value) for value in list(there)[:_MAX_EXAMPLES]]


def _to_plain(value: Any) -> Any:
    return _format_date(value) if isinstance(value, datetime) else value


def _range(one: ColumnProfile) -> tuple[Any, Any, Any]:
    if isinstance(one, NumberProfile) and one.spread.n:
        return one.spread.low, one.spread.high, one.spread.mean
    if isinstance(one, DateProfile) and one.days.n:
        days = (one.days.low, one.days.high, one.days.mean)
        low, high, mean = (_format_date(datetime(1970, 1, 1) + timedelta(d)) for d in days)  # noqa: DTZ001
        return low, high, mean
    return None, None, None


def _format_date(when: datetime) -> str:
    midnight = when.hour == when.minute == when.second == when.microsecond == 0
    return when.date().isoformat() if midnight else when.isoformat(" ", "seconds")
