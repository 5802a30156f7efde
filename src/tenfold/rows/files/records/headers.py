"""Whether the first line of a text table holds names or is a row like the others."""

from __future__ import annotations

import re
from typing import NamedTuple

from tenfold.rows.files.asked import listing
from tenfold.rows.files.csvlines import is_number
from tenfold.rows.files.records.number_styles import looks_like_number
from tenfold.rows.files.records.readings import MISSING

DATE = re.compile(r"^\d{1,4}([-/.])\d{1,2}\1\d{1,4}([ T]\d{1,2}:\d{2}.*)?$")
NUMBERED = "the columns are called x0, x1, ..."


class Look(NamedTuple):
    """What was made of the first line: whether it holds names, and a sentence if that is doubtful.

    Attributes
    ----------
    is_header : whether it holds names
    said : what to tell, or None
    """

    is_header: bool
    said: str | None = None


def look(fields: list[str], rows: list[list[str]]) -> Look:
    """Compare the first line with those below it.

    Words above numbers are names. Numbers alone are a row. Otherwise the line is a row if numbers
    with decimals, or dates, stand above their like, or if half of its words come again in their
    own columns; whole numbers may be names, such as years.

    Examples
    --------
    >>> rows = [["4.9", "Iris-setosa"], ["6.3", "Iris-virginica"]]
    >>> look(["length", "species"], rows).is_header
    True
    >>> look(["5.1", "Iris-setosa"], rows).is_header
    False
    """
    fields = [field.strip() for field in fields]
    own = [kind_of(field) for field in fields]
    if any(own) and not any(kind == "word" for kind in own) and "number" in own:
        return Look(is_header=False, said=f"the first line holds numbers, no names; {NUMBERED}")
    words_above = (j for j, kind in enumerate(own) if kind == "word")
    if any(_kind(_column(rows, j)) in {"number", "date"} for j in words_above):
        return Look(is_header=True)
    columns = [_column(rows, j) for j in range(len(fields))]
    pairs = list(zip(own, map(_kind, columns), strict=True))
    alike = [f for f, (one, other) in zip(fields, pairs, strict=True) if one == other != "word"]
    words = [j for j, (one, other) in enumerate(pairs) if one == "word" and other]
    again = [fields[j] for j in words if fields[j] in set(columns[j])]
    return _judged([f for f in alike if f], words=len(words), again=again, rows=len(rows))


def _judged(alike: list[str], *, words: int, again: list[str], rows: int) -> Look:
    certain = [field for field in alike if not field.lstrip("+-").isdigit()]
    if certain or (again and 2 * len(again) >= words):
        why = listing(certain + again, 2)
        said = (
            f"the first line looks like a row ({why} stand above their like), so {NUMBERED} "
            "(--header, or header=True, says that it holds names)"
        )
        return Look(is_header=False, said=said)
    doubtful = alike + again
    cure = "--no-header, or header=False, says that it is a row"
    if doubtful:
        return Look(
            is_header=True,
            said=f"the first line was taken for names, though {listing(doubtful, 2)} could stand "
            f"in a row ({cure})",
        )
    if words and rows:
        return Look(
            is_header=True,
            said=f"words stand in every column, so the first line was taken for names ({cure})",
        )
    return Look(is_header=True)


def kind_of(field: str) -> str:
    """The kind of a cell: "number", "date" or "word"; "" if it is missing."""
    if field in MISSING:
        return ""
    if is_number(field) or looks_like_number(field):
        return "number"
    return "date" if DATE.match(field) else "word"


def _column(rows: list[list[str]], j: int) -> list[str]:
    return [row[j].strip() for row in rows if j < len(row)]


def _kind(column: list[str]) -> str:
    """The kind of all cells of a column that are there; words if they are of several."""
    kinds = {kind_of(cell) for cell in column} - {""}
    return "" if not kinds else kinds.pop() if len(kinds) == 1 else "word"
