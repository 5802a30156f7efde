"""Whether a new table has the columns that a model learned from, and of the kinds it learned."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np

from tenfold.rows.cells import Cells, Column, Dates, Numbers, Words
from tenfold.rows.files.records.errors import TableError
from tenfold.rows.files.records.number_styles import number_in

NUMBERS = ("number", "bool")
NUMBERED = re.compile(r"x\d+")  # names of columns that had none
WRITTEN = {
    "commas": " such as 1,234.5",
    "blanks": " such as 1 234.5",
    "decimal comma": " such as 1.234,5",
}


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
    if problems and all(NUMBERED.fullmatch(name) for name in expected):
        problems.append("if the first line of the file is a row, say --no-header (header=False)")
    return problems


def conformed(
    cells: Cells,
    expected: dict[str, Expected],
    records: Any,
    first: int,
    styles: dict[str, str] | None = None,
) -> Cells:
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
    styles : dict, optional
        How numbers were written in the columns of a text file.
    """
    place = Place(records, first, styles or {})
    columns = {
        name: _converted(cells[name], want.type, name, place) for name, want in expected.items()
    }
    return Cells(columns, {name: want.type for name, want in expected.items()}, cells.n_rows)


class Place(NamedTuple):
    """Where rows come from, and how their numbers are written."""

    records: Any
    first: int
    styles: dict[str, str]


def _converted(column: Column, want: str, name: str, place: Place) -> Column:
    if want == "text":
        return column if isinstance(column, Words) else _as_words(column)
    if isinstance(column, Numbers if want in NUMBERS else Dates):
        return column
    if column.missing().all():
        return _empty(want, len(column))
    if want in NUMBERS and isinstance(column, Words):
        return _as_numbers(column, name, place)
    raise _unlike(column, want, name, place, int(np.flatnonzero(~column.missing())[0]))


def _as_words(column: Numbers | Dates) -> Words:
    """Text of numbers: a code such as 1203 that looked like a word in training."""
    plain = column.plain()
    values = sorted({str(value) for value in plain if value is not None})
    place = {value: i for i, value in enumerate(values)}
    codes = [-1 if value is None else place[str(value)] for value in plain]
    return Words(np.array(codes, np.int32), values)


def _as_numbers(column: Words, name: str, place: Place) -> Numbers:
    style = place.styles.get(name)
    numbers = np.array([*(number_in(value, style) for value in column.values), np.nan])
    values = numbers[column.codes]
    wrong = np.flatnonzero(np.isnan(values) & ~column.missing())
    if len(wrong):
        raise _unlike(column, "number", name, place, int(wrong[0]))
    return Numbers(values)


def _empty(want: str, rows: int) -> Column:
    if want in NUMBERS:
        return Numbers(np.full(rows, np.nan))
    return Dates(np.full(rows, np.datetime64("NaT"), "datetime64[us]"))


def _unlike(column: Column, want: str, name: str, place: Place, row: int) -> TableError:
    value = column.at([row]).plain()[0]
    wanted = "numbers" if want in NUMBERS else "dates"
    how = WRITTEN.get(place.styles.get(name, ""), "")
    shown, where = place.records.shown, place.records.where(place.first + row)
    at = where if where.startswith(shown) else f"{shown}, {where}"
    return TableError(
        f"{at}: {name!r} is {str(value)!r}, but the model learned from "
        f"{wanted}{how} there: correct it, or leave it empty"
    )
