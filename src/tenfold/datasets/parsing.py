"""Text to rows: numbers, and records of words. A bad row is named."""

import csv
import io
from pathlib import Path

import numpy as np

from tenfold.datasets.cache import DataFileError


def decoded(path: Path, raw: bytes, encoding: str = "ascii") -> str:
    """Return the text of a file."""
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError as error:
        raise DataFileError(f"{path} is not the text it should be: {error}") from error


def numbers(path: Path, text: str, delimiter: str | None = ",") -> np.ndarray:
    """Return the numbers of a table without header, a row a line."""
    if not text.strip():  # numpy would warn
        return np.empty((0, 0))
    try:
        return np.loadtxt(io.StringIO(text), delimiter=delimiter, ndmin=2)
    except ValueError as error:  # says which row and column
        raise DataFileError(f"{path} is not a table of numbers: {error}") from error


def records(path: Path, text: str, delimiter: str, width: int, *, quoted: bool) -> list[list[str]]:
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


def columns(rows: list[list[str]], names: list[str], numeric: set[str]) -> dict[str, np.ndarray]:
    r"""Return named columns; a cell that is empty or \N is NaN in a numeric one, "" elsewhere."""
    cells = np.array(rows, dtype=object).T
    return {
        name: np.array([cell or "nan" for cell in column], dtype=float)
        if name in numeric
        else column.astype(str)
        for name, column in zip(names, np.where(cells == r"\N", "", cells), strict=True)
    }
