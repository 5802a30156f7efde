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
    """Infer the kind of each column of a table, in one pass over all rows.

    Parameters
    ----------
    records : Records
        The table, `tenfold.io.open_table(...)`.
    target : str, optional
        The column to be predicted; it is never an identifier.
    kinds : dict, name -> kind, optional
        Kinds of some columns, instead of inferring them.

    Examples
    --------
    >>> from tenfold.io import open_table
    >>> table = {"age": [31, 52, None, 31], "town": ["Bonn", "Köln", "Bonn", "Bonn"], "a": [1] * 4}
    >>> [f"{k.name}: {k.kind}" for k in infer_column_kinds(open_table(table)).values()]
    ['age: number', 'town: category', 'a: constant']
    """
    target = target or records.target
    requested = validate_kinds(kinds or {}, records)
    return kinds_from_profile(
        profile_table(records, reading_overrides(requested, records)), records, requested, target
    )


def validate_kinds(kinds: dict[str, Any], records: Any) -> dict[str, str]:
    """Requested kinds as strings; each column and each kind must exist."""
    requested = {name: getattr(kind, "kind", kind) for name, kind in kinds.items()}
    for name, kind in requested.items():
        records.assert_column(name)
        if kind not in _KINDS:
            raise ValueError(
                f"column {name!r} cannot be a {kind!r}: give one of {', '.join(_KINDS)}"
            )
    return requested


def reading_overrides(requested: dict[str, str], records: Any) -> dict[str, str]:
    """Columns to read as "text" or "number" although their type is another."""
    types = records.types
    as_text = {
        n: "text" for n, k in requested.items() if k in {"category", "text"} and types[n] != "text"
    }
    as_numbers = {n: "number" for n, k in requested.items() if k == "number" and types[n] == "text"}
    return as_text | as_numbers


def kinds_from_profile(
    profiles: TableProfile, records: Any, requested: dict[str, str], target: str | None
) -> dict[str, ColumnKind]:
    """Infer the kind of each column from its profile."""
    first_rows = records.slice(0, min(_HEAD_ROWS, records.n_rows)).to_columns()
    kinds = {
        name: _make_column_kind(
            name,
            profile,
            _examples(first_rows[name]),
            requested.get(name),
            is_target=name == target,
        )
        for name, profile in profiles.columns.items()
    }
    styles = {
        name: _NUMBER_STYLES[style]
        for name, style in records.styles.items()
        if style in _NUMBER_STYLES
    }
    return {
        name: kind._replace(why=f"{kind.why}, {styles[name]}") if name in styles else kind
        for name, kind in kinds.items()
    }


def _make_column_kind(
    name: str,
    profile: ColumnProfile,
    examples: list[Any],
    requested: str | None,
    *,
    is_target: bool,
) -> ColumnKind:
    kind, why = _infer_kind(name, profile)
    if requested is not None:
        kind, why = _check_possible(name, requested, profile), "as you said"
    elif is_target and kind == "identifier":
        kind = "number" if isinstance(profile, NumberProfile) else "category"
        why = "it is to be predicted"
    distinct = profile.distinct
    low, high, mean = _range(profile)
    count = round(distinct.estimate)
    return ColumnKind(
        name, kind, profile.missing, count, why, examples, low, high, mean, distinct.is_estimate
    )


def _check_possible(name: str, requested: str, profile: ColumnProfile) -> str:
    impossible = (requested == "number" and not isinstance(profile, NumberProfile)) or (
        requested == "date" and not isinstance(profile, DateProfile)
    )
    if impossible:
        raise ValueError(
            f"column {name!r} cannot be a {requested}: it holds other values. Correct them, or "
            "take it as category or text."
        )
    return requested


def _infer_kind(name: str, profile: ColumnProfile) -> tuple[str, str]:
    """Kind of a column, and the reason."""
    n_present, n_distinct = profile.rows - profile.missing, profile.distinct.estimate
    if n_present == 0:
        return "constant", "every value is missing"
    if n_distinct == 1 and not profile.missing:
        return "constant", "all rows have the same value"
    if isinstance(profile, DateProfile):
        return "date", "all values are dates"
    if isinstance(profile, NumberProfile):
        return _infer_number_kind(name, profile, n_present, n_distinct)
    return _infer_word_kind(name, profile, n_present, n_distinct)


def _infer_number_kind(
    name: str, profile: NumberProfile, n_present: int, n_distinct: float
) -> tuple[str, str]:
    if (
        not profile.is_integer
        or n_present < _MIN_ROWS_FOR_IDENTIFIER
        or n_distinct < _IDENTIFIER_DISTINCT_SHARE * n_present
    ):
        return "number", "all values are numbers"
    summary = profile.summary
    if summary.low in {0, 1} and summary.high - summary.low == profile.rows - 1:
        return "identifier", "it counts the rows"
    if is_identifier_name(name):
        return "identifier", "its values are all different, and its name says so"
    return "number", "all values are numbers"


def _infer_word_kind(
    name: str, profile: WordProfile, n_present: int, n_distinct: float
) -> tuple[str, str]:
    words_per_value = profile.n_words / n_present
    unique = (
        n_present >= _MIN_ROWS_FOR_IDENTIFIER
        and n_distinct >= _IDENTIFIER_DISTINCT_SHARE * n_present
    )
    if words_per_value >= _MIN_TEXT_WORDS and (unique or n_distinct > max(50, 0.2 * n_present)):
        return "text", f"its values have {words_per_value:.0f} words on average and hardly repeat"
    if unique and words_per_value >= 2 and not is_identifier_name(name):
        return "text", "its values are several words, nearly all different"
    if unique:
        return "identifier", "nearly all values are different"
    count = "more than " if profile.distinct.is_estimate else ""
    return "category", f"{count}{round(n_distinct):,} different values that repeat"


def is_identifier_name(name: str) -> bool:
    """Whether a column name suggests an identifier.

    Examples
    --------
    >>> [is_identifier_name(name) for name in ("PassengerId", "user_id", "PID", "humid", "key")]
    [True, True, True, False, True]
    """
    if name.endswith("ID"):
        return True
    return _IDENTIFIER_NAME.search(_CAMEL_CASE_BREAK.sub("_", name.strip()).lower()) is not None


def _examples(values: list[Any]) -> list[Any]:
    distinct = dict.fromkeys(value for value in values if value is not None)
    return [_to_plain(value) for value in list(distinct)[:_MAX_EXAMPLES]]


def _to_plain(value: Any) -> Any:
    return _format_date(value) if isinstance(value, datetime) else value


def _range(profile: ColumnProfile) -> tuple[Any, Any, Any]:
    if isinstance(profile, NumberProfile) and profile.summary.n:
        return profile.summary.low, profile.summary.high, profile.summary.mean
    if isinstance(profile, DateProfile) and profile.days.n:
        days = (profile.days.low, profile.days.high, profile.days.mean)
        low, high, mean = (_format_date(datetime(1970, 1, 1) + timedelta(d)) for d in days)  # noqa: DTZ001
        return low, high, mean
    return None, None, None


def _format_date(when: datetime) -> str:
    midnight = when.hour == when.minute == when.second == when.microsecond == 0
    return when.date().isoformat() if midnight else when.isoformat(" ", "seconds")
