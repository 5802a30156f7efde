"""Numbers as people write them: 1,234.5 and 1 234.5 and 1.234,5.

A column has one style, and every cell must fit it. Three digits behind each comma of a column say
thousands, anything else a decimal comma. If some column of a table has decimal commas, then commas
are decimal, and dots set off thousands, in all columns in which every cell allows it.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from tenfold.rows.files.asked import listing
from tenfold.rows.files.records.computing import compute

PLAIN = "plain"
BLANKS = "[ '’\u00a0\u2009\u202f]"
WHOLE = "(0|[1-9][0-9]*|[1-9][0-9]{{0,2}}({0}[0-9]{{3}})+)"
POWER = "([eE][+-]?[0-9]+)?"


class Style(NamedTuple):
    """A way to write numbers.

    Attributes
    ----------
    name : for models that remember it
    said : for people
    groups : pattern of what sets off thousands
    decimal : what stands before the decimals
    marks : pattern of what a number in another style has not
    """

    name: str
    said: str
    groups: str
    decimal: str
    marks: str

    @property
    def pattern(self) -> str:
        """What every cell must look like."""
        point = re.escape(self.decimal)
        return f"^[+-]?({WHOLE.format(self.groups)}({point}[0-9]*)?|{point}[0-9]+){POWER}$"


THOUSANDS = Style("commas", "Numbers have commas between thousands", ",", ".", ",")
BLANK_THOUSANDS = Style("blanks", "Numbers have blanks between thousands", BLANKS, ".", BLANKS)
DECIMAL_COMMA = Style(
    "decimal comma", "Numbers have decimal commas", f"([.]|{BLANKS})", ",", f"[.,]|{BLANKS}"
)
STYLES = [THOUSANDS, BLANK_THOUSANDS, DECIMAL_COMMA]
ANY_STYLE = "|".join(style.pattern for style in STYLES)


def parsed(column: Any, style: Style) -> Any:
    """A column of strings as float64; a ValueError if some cell does not fit the style."""
    import pyarrow as pa

    pc = compute()
    cells = pc.utf8_trim_whitespace(column)
    if not pc.all(pc.match_substring_regex(cells, style.pattern)).as_py():
        raise ValueError(f"numbers of another style than {style.name}")
    bare = pc.replace_substring_regex(cells, style.groups, "")
    if style.decimal != ".":
        bare = pc.replace_substring(bare, style.decimal, ".")
    return bare.cast(pa.float64())


def first_marked(column: Any, style: Style) -> str | None:
    """The first cell that shows the style; None if plain numbers are all there is."""
    pc = compute()
    place = pc.index(pc.match_substring_regex(column, style.marks), value=True).as_py()
    return None if place < 0 else column[place].as_py().strip()


def number_in(text: str, name: str | None) -> float:
    """A number in the style of this name, or a plain one; NaN if it is none.

    Examples
    --------
    >>> number_in("1.234,5", "decimal comma"), number_in("1,234", "commas"), number_in("5", None)
    (1234.5, 1234.0, 5.0)
    """
    cell = text.strip()
    for style in STYLES:
        if style.name == name and re.match(style.pattern, cell):
            bare = re.sub(style.groups, "", cell).replace(style.decimal, ".")
            return float(bare)
    try:
        return float("nan") if name not in {None, PLAIN} else float(cell)
    except ValueError:
        return float("nan")


def looks_like_number(field: str) -> bool:
    """Whether a cell is a number in some style, though no plain one."""
    return re.match(ANY_STYLE, field.strip()) is not None


def told(marked: dict[str, tuple[Style, str]]) -> list[str]:
    """A sentence for each style that some columns have."""
    sentences = []
    for style in STYLES:
        names = [name for name, (own, _) in marked.items() if own is style]
        if names:
            cell = marked[names[0]][1]
            value = number_in(cell, style.name)
            shown = f"{value:.0f}" if value.is_integer() else repr(value)
            where = listing(names, 4)
            sentences.append(f"{style.said} in {where}: {cell!r} is read as {shown}.")
    return sentences
