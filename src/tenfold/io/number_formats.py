"""Number formats of text columns: thousands separators and decimal commas.

The formats are 1,234.5, 1 234.5 and 1.234,5.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from tenfold.engine.validation import format_names


def arrow_compute() -> Any:
    """`pyarrow.compute`; its functions are made at import, so that no type checker knows them."""
    import pyarrow.compute as pc

    return pc


PLAIN = "plain"
_BLANKS = "[ '’\u00a0\u2009\u202f]"
_INTEGER_PART = "(0|[1-9][0-9]*|[1-9][0-9]{{0,2}}({0}[0-9]{{3}})+)"
_EXPONENT = "([eE][+-]?[0-9]+)?"


class NumberFormat(NamedTuple):
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
        return (
            f"^[+-]?({_INTEGER_PART.format(self.groups)}({point}[0-9]*)?|{point}[0-9]+){_EXPONENT}$"
        )


THOUSANDS = NumberFormat("commas", "Numbers have commas between thousands", ",", ".", ",")
BLANK_THOUSANDS = NumberFormat(
    "blanks", "Numbers have blanks between thousands", _BLANKS, ".", _BLANKS
)
DECIMAL_COMMA_FORMAT = NumberFormat(
    "decimal comma", "Numbers have decimal commas", f"([.]|{_BLANKS})", ",", f"[.,]|{_BLANKS}"
)
NUMBER_FORMATS = [THOUSANDS, BLANK_THOUSANDS, DECIMAL_COMMA_FORMAT]
ANY_FORMAT_PATTERN = "|".join(style.pattern for style in NUMBER_FORMATS)


def parse_column(column: Any, style: NumberFormat) -> Any:
    """A column of strings as float64; a ValueError if some cell does not fit the style."""
    import pyarrow as pa

    pc = arrow_compute()
    cells = pc.utf8_trim_whitespace(column)
    if not pc.all(pc.match_substring_regex(cells, style.pattern)).as_py():
        raise ValueError(f"numbers of another style than {style.name}")
    bare = pc.replace_substring_regex(cells, style.groups, "")
    if style.decimal != ".":
        bare = pc.replace_substring(bare, style.decimal, ".")
    return bare.cast(pa.float64())


def find_format_evidence(column: Any, style: NumberFormat) -> str | None:
    """The first cell that shows the style; None if plain numbers are all there is."""
    pc = arrow_compute()
    index = pc.index(pc.match_substring_regex(column, style.marks), value=True).as_py()
    return None if index < 0 else column[index].as_py().strip()


def parse_number(text: str, name: str | None) -> float:
    """A number in the style of this name, or a plain one; NaN if it is none.

    Examples
    --------
    >>> (
    ...     parse_number("1.234,5", "decimal comma"),
    ...     parse_number("1,234", "commas"),
    ...     parse_number("5", None),
    ... )
    (1234.5, 1234.0, 5.0)
    """
    cell = text.strip()
    for style in NUMBER_FORMATS:
        if style.name == name and re.match(style.pattern, cell):
            bare = re.sub(style.groups, "", cell).replace(style.decimal, ".")
            return float(bare)
    try:
        return float("nan") if name not in {None, PLAIN} else float(cell)
    except ValueError:
        return float("nan")


def is_formatted_number(field: str) -> bool:
    """Whether a cell is a number in some style, though no plain one."""
    return re.match(ANY_FORMAT_PATTERN, field.strip()) is not None


def describe_formats(marked: dict[str, tuple[NumberFormat, str]]) -> list[str]:
    """A sentence for each style that some columns have."""
    sentences = []
    for style in NUMBER_FORMATS:
        names = [name for name, (own, _) in marked.items() if own is style]
        if names:
            cell = marked[names[0]][1]
            value = parse_number(cell, style.name)
            shown = f"{value:.0f}" if value.is_integer() else repr(value)
            where = format_names(names, 4)
            sentences.append(f"{style.said} in {where}: {cell!r} is read as {shown}.")
    return sentences


def is_plain_number(field: str) -> bool:
    """Whether pyarrow takes this text for a number."""
    try:
        float(field)
    except ValueError:
        return False
    return field.isascii() and "_" not in field
