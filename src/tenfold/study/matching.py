"""Whether a new table has the columns that a model learned from, and of the kinds it learned."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np

from tenfold.rows.cells import Cells, Column, Dates, Numbers, Words
from tenfold.rows.files.records.errors import TableError

NUMBERS = ("number", "bool")


class Expected(NamedTuple):
    """A column that a model learned from.

    Attributes
    ----------
    type : "number", "text", "date" or "bool"
    kind : what it was taken for, such as "category"
    examples : some of its values
    low, high : of numbers
    """

    type: str
    kind: str
    examples: list[Any]
    low: float | None = None
    high: float | None = None


def absent(expected: dict[str, Expected], names: list[str]) -> list[str]:
    """A sentence for each column that is not there."""
    problems = []
    for name in expected:
        if name not in names:
            unused = [other for other in names if other not in expected]
            near = get_close_matches(name, unused, 1, 0.6)
            hint = f"; rename {near[0]!r}?" if near else ""
            problems.append(f"there is no column {name!r}{hint}")
    return problems


def conformed(cells: Cells, expected: dict[str, Expected], records: Any, first: int) -> Cells:
    """The columns that a model learned from, in the types that it learned.

    Parameters
    ----------
    cells : Cells
        Some rows.
    expected : dict
        What the model learned from.
    records : Records
        Where the rows come from: it knows their places.
    first : int
        Number of the first of them.
    """
    columns = {
        name: _converted(cells[name], want.type, name, records, first)
        for name, want in expected.items()
    }
    return Cells(columns, {name: want.type for name, want in expected.items()}, cells.n_rows)


def _converted(column: Column, want: str, name: str, records: Any, first: int) -> Column:
    if want == "text":
        return column if isinstance(column, Words) else _as_words(column)
    if isinstance(column, Numbers if want in NUMBERS else Dates):
        return column
    if column.missing().all():
        return _empty(want, len(column))
    if want in NUMBERS and isinstance(column, Words):
        return _as_numbers(column, name, records, first)
    raise _unlike(column, want, name, records, first, int(np.flatnonzero(~column.missing())[0]))


def _as_words(column: Numbers | Dates) -> Words:
    """Text of numbers: a code such as 1203 that looked like a word in training."""
    plain = column.plain()
    values = sorted({str(value) for value in plain if value is not None})
    place = {value: i for i, value in enumerate(values)}
    codes = [-1 if value is None else place[str(value)] for value in plain]
    return Words(np.array(codes, np.int32), values)


def _as_numbers(column: Words, name: str, records: Any, first: int) -> Numbers:
    numbers = np.array([*(_number(value) for value in column.values), np.nan])
    values = numbers[column.codes]
    wrong = np.flatnonzero(np.isnan(values) & ~column.missing())
    if len(wrong):
        raise _unlike(column, "number", name, records, first, int(wrong[0]))
    return Numbers(values)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _empty(want: str, rows: int) -> Column:
    if want in NUMBERS:
        return Numbers(np.full(rows, np.nan))
    return Dates(np.full(rows, np.datetime64("NaT"), "datetime64[us]"))


def _unlike(column: Column, want: str, name: str, records: Any, first: int, row: int) -> TableError:
    value = column.at([row]).plain()[0]
    wanted = "numbers" if want in NUMBERS else "dates"
    return TableError(
        f"{records.shown}, {records.where(first + row)}: {name!r} is {str(value)!r}, but the model "
        f"learned from {wanted} there: correct it, or leave it empty"
    )
