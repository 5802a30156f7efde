"""Column names: whether the first line of a text table is a header, and unique names."""

from __future__ import annotations

import re
from typing import NamedTuple

from tenfold.engine.validation import format_names
from tenfold.io._type_inference import MISSING_MARKERS
from tenfold.io.columnar import TableError
from tenfold.io.number_formats import is_formatted_number, is_plain_number


def make_unique_names(fields: list[str], shown: str) -> tuple[list[str], list[str]]:
    """Names without blanks and duplicates, and notes about those that were changed."""
    names: dict[str, None] = {}
    notes = []
    for j, field in enumerate(fields):
        name = field.strip() or f"column {j + 1}"
        number, unique = 1, name
        while unique in names:
            number += 1
            unique = f"{name} ({number})"
        if unique != field.strip():
            why = "has no name" if not field.strip() else "has the name of another"
            notes.append(f"{shown}: column {j + 1} {why}; it is called {unique!r} here.")
        names[unique] = None
    return list(names), notes


def check_same_columns(shown: str, names: list[str], others: list[str], first: str) -> None:
    """Raise an error if a further file lacks a column of the first."""
    missing = [name for name in names if name not in others]
    if missing:
        raise TableError(
            f"{shown} has no column {missing[0]!r}, which {first} has. Files that are read "
            "together need the same columns."
        )


_DATE_PATTERN = re.compile(r"^\d{1,4}([-/.])\d{1,2}\1\d{1,4}([ T]\d{1,2}:\d{2}.*)?$")
_DEFAULT_NAMES_NOTE = "the columns are called x0, x1, ..."


class HeaderGuess(NamedTuple):
    """Whether the first line holds names, and a note if that is doubtful.

    Attributes
    ----------
    is_header : whether it holds names
    note : the note, or None
    """

    is_header: bool
    note: str | None = None


def detect_header(fields: list[str], rows: list[list[str]]) -> HeaderGuess:
    """Compare the first line with those below it.

    Words above numbers are names. Numbers alone are a row. Otherwise the line is a row if numbers
    with decimals, or dates, stand above values of the same kind, or if half of its words occur
    again in their columns; whole numbers may be names, such as years.

    Examples
    --------
    >>> rows = [["4.9", "Iris-setosa"], ["6.3", "Iris-virginica"]]
    >>> detect_header(["length", "species"], rows).is_header
    True
    >>> detect_header(["5.1", "Iris-setosa"], rows).is_header
    False
    """
    fields = [field.strip() for field in fields]
    kinds = [cell_type(field) for field in fields]
    if any(kinds) and not any(kind == "word" for kind in kinds) and "number" in kinds:
        return HeaderGuess(
            is_header=False, note=f"the first line holds numbers, no names; {_DEFAULT_NAMES_NOTE}"
        )
    words_above = (j for j, kind in enumerate(kinds) if kind == "word")
    if any(_column_type(_column_cells(rows, j)) in {"number", "date"} for j in words_above):
        return HeaderGuess(is_header=True)
    columns = [_column_cells(rows, j) for j in range(len(fields))]
    pairs = list(zip(kinds, map(_column_type, columns), strict=True))
    alike = [f for f, (one, other) in zip(fields, pairs, strict=True) if one == other != "word"]
    words = [j for j, (one, other) in enumerate(pairs) if one == "word" and other]
    again = [fields[j] for j in words if fields[j] in set(columns[j])]
    return _guess_from_evidence(
        [f for f in alike if f], words=len(words), again=again, rows=len(rows)
    )


def _guess_from_evidence(
    alike: list[str], *, words: int, again: list[str], rows: int
) -> HeaderGuess:
    certain = [field for field in alike if not field.lstrip("+-").isdigit()]
    if certain or (again and 2 * len(again) >= words):
        why = format_names(certain + again, 2)
        note = (
            f"the first line looks like a row, not a header ({why} match the values below), so "
            f"{_DEFAULT_NAMES_NOTE} (--header, or header=True, says that it holds names)"
        )
        return HeaderGuess(is_header=False, note=note)
    doubtful = alike + again
    cure = "--no-header, or header=False, says that it is a row"
    if doubtful:
        return HeaderGuess(
            is_header=True,
            note="the first line was taken for names, though "
            f"{format_names(doubtful, 2)} could stand in a row ({cure})",
        )
    if words and rows:
        return HeaderGuess(
            is_header=True,
            note=f"words stand in every column, so the first line was taken for names ({cure})",
        )
    return HeaderGuess(is_header=True)


def cell_type(field: str) -> str:
    """The kind of a cell: "number", "date" or "word"; "" if it is missing."""
    if field in MISSING_MARKERS:
        return ""
    if is_plain_number(field) or is_formatted_number(field):
        return "number"
    return "date" if _DATE_PATTERN.match(field) else "word"


def _column_cells(rows: list[list[str]], j: int) -> list[str]:
    return [row[j].strip() for row in rows if j < len(row)]


def _column_type(column: list[str]) -> str:
    """The kind of all cells of a column that are there; words if they are of several."""
    kinds = {cell_type(cell) for cell in column} - {""}
    return "" if not kinds else kinds.pop() if len(kinds) == 1 else "word"
