"""Shared by loaders and generators: argument checks, the returned Bunch, parsing of text."""

import csv
import io
import math
import operator
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from tenfold.datasets.cache import DataFileError

Seed = int | np.random.Generator | np.random.RandomState | None


def check_count(name: str, value: int, least: int = 1) -> int:
    """Return an integer that is at least `least`."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, got {value!r}") from None
    if number < least:
        raise ValueError(f"{name} must be at least {least}, got {number}")
    return number


def check_scale(name: str, value: float) -> float:
    """Return a finite number that is not negative."""
    if not (math.isfinite(value) and value >= 0):
        raise ValueError(f"{name} must be finite and not negative, got {value!r}")
    return float(value)


def check_share(name: str, value: float) -> float:
    """Return a number between 0 and 1."""
    if not 0 <= value <= 1:
        raise ValueError(f"{name} must be between 0 and 1, got {value!r}")
    return float(value)


def check_choice(name: str, value: str, choices: Iterable[str]) -> str:
    """Return one of the allowed names."""
    offered = list(choices)
    if value not in offered:
        raise ValueError(f"{name} must be one of {offered}, got {value!r}")
    return value


LoadedData = Any  # a Bunch or a pair (X, y), as `return_X_y` says


def make_bunch(*, return_X_y: bool, data: Any, target: Any, **fields: Any) -> LoadedData:
    """Return the pair (data, target), or all fields under their names."""
    return (data, target) if return_X_y else Bunch(data=data, target=target, **fields)


def decode_text(path: Path, raw: bytes, encoding: str = "ascii") -> str:
    """Return the text of a file."""
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError as error:
        raise DataFileError(f"{path} is not the text it should be: {error}") from error


def parse_numbers(path: Path, text: str, delimiter: str | None = ",") -> np.ndarray:
    """Return the numbers of a table without header, a row a line."""
    if not text.strip():  # numpy would warn
        return np.empty((0, 0))
    try:
        return np.loadtxt(io.StringIO(text), delimiter=delimiter, ndmin=2)
    except ValueError as error:  # says which row and column
        raise DataFileError(f"{path} is not a table of numbers: {error}") from error


def parse_records(
    path: Path, text: str, delimiter: str, width: int, *, quoted: bool
) -> list[list[str]]:
    """Return rows of words, all of the given width; blank lines are passed over."""
    quoting = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, quoting=quoting))
    for number, row in enumerate(rows, start=1):
        if row and len(row) != width:
            raise DataFileError(
                f"{path}, row {number}: found {len(row)} columns, expected {width}. "
                "The file is truncated or another version."
            )
    return [row for row in rows if row]


def to_columns(rows: list[list[str]], names: list[str], numeric: set[str]) -> dict[str, np.ndarray]:
    r"""Return named columns; a cell that is empty or \N is NaN in a numeric one, "" elsewhere."""
    cells = np.array(rows, dtype=object).T
    return {
        name: np.array([cell or "nan" for cell in column], dtype=float)
        if name in numeric
        else column.astype(str)
        for name, column in zip(names, np.where(cells == r"\N", "", cells), strict=True)
    }
