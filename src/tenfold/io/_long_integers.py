"""Whole numbers of so many digits that float64 would merge different ones: they are codes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tenfold.io.number_formats import arrow_compute

CODES = "codes"  # style of columns whose whole numbers are kept as text
_MAX_EXACT = 2**53  # float64 holds every whole number up to here
_LONG_PATTERN = r"^\s*[+-]?\d{16,}\s*$"
_MAX_DIGITS = 300  # a longer one is no float64 either
_MAX_REMEMBERED = 2**16


class RoundingCheck:
    """Whether two different whole numbers of a column would become one number.

    Attributes
    ----------
    example : the first whole number that would be taken for another; None if there is none
    """

    def __init__(self) -> None:
        self.example: str | None = None
        self._exact: dict[float, int] = {}

    def add_texts(self, column: Any, numbers: Any) -> bool:
        """Include a batch of strings, and the same as float64."""
        if not _is_large(numbers):
            return False
        pc = arrow_compute()
        return self._add(column.filter(pc.match_substring_regex(column, _LONG_PATTERN)).unique())

    def add_integers(self, column: Any) -> bool:
        """Include a batch of whole numbers of any Arrow type."""
        import pyarrow as pa

        kind = column.type
        is_whole = pa.types.is_integer(kind) and kind.bit_width == 64
        is_whole |= pa.types.is_decimal(kind) and kind.scale == 0
        if not is_whole or not _is_large(column):
            return False
        return self._add(column.unique().cast(pa.string()))

    def _add(self, texts: Any) -> bool:
        if len(self._exact) > _MAX_REMEMBERED:
            self._exact.clear()
        found = self._find_merged(text for text in texts.to_pylist() if text is not None)
        self.example = self.example or found
        return found is not None

    def _find_merged(self, texts: Iterable[str]) -> str | None:
        for text in texts:
            if len(text) > _MAX_DIGITS:
                continue
            exact = int(text)
            if self._exact.setdefault(float(exact), exact) != exact:
                return text.strip()
        return None


def _is_large(numbers: Any) -> bool:
    ends = arrow_compute().min_max(numbers).as_py()
    return ends["min"] is not None and (ends["max"] > _MAX_EXACT or ends["min"] < -_MAX_EXACT)


def describe_codes(examples: dict[str, str]) -> list[str]:
    """A sentence for each column whose whole numbers are kept as text."""
    return [
        f"{name!r} holds whole numbers of many digits, such as {example}, which rounding would "
        "make equal: it is read as text."
        for name, example in examples.items()
    ]
