"""Excel files (.xlsx): one sheet, whose first row with anything in it holds the names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from tenfold.rows.files.asked import listing
from tenfold.rows.files.records.errors import TableError, unreadable
from tenfold.rows.files.records.naming import named
from tenfold.rows.files.records.readings import string_batch

ROWS = 8192  # read at once


class ExcelFile(NamedTuple):
    """One sheet of a file."""

    path: str
    shown: str
    sheet: str
    names: list[str]
    notes: list[str]

    def batches(self) -> Iterator[Any]:
        """Record batches of strings."""
        rows = (values for _, values in islice(_rows(self.path, self.sheet), 1, None))
        width = len(self.names)
        while some := list(islice(rows, ROWS)):
            filled = [(*row[:width], *[None] * (width - len(row))) for row in some]
            yield string_batch(self.names, zip(*filled, strict=True))

    def place(self, row: int) -> tuple[str, int]:
        """What a row is called in the file, and its number there."""
        return f"sheet {self.sheet!r}, row", next(
            islice(_rows(self.path, self.sheet), row + 1, None)
        )[0]


def excel_file(path: Path, sheet: str | int | None) -> ExcelFile:
    """Look for the sheet and its names."""
    shown = str(path)
    with closing(_opened(shown)) as book:
        sheets = book.sheetnames
    found = _sheet(sheets, sheet, shown)
    _, fields = next(_rows(shown, found), (0, ()))
    while fields and fields[-1] is None:
        fields = fields[:-1]
    if not fields:
        raise TableError(f"{shown}: the sheet {found!r} is empty. Name another one: sheet=...")
    notes = []
    if sheet is None and len(sheets) > 1:
        notes = [f"{shown} has {len(sheets)} sheets; {found!r}, the first, was read."]
    names, more = named(["" if f is None else str(f) for f in fields], shown)
    return ExcelFile(shown, shown, found, names, notes + more)


def _sheet(sheets: list[str], sheet: str | int | None, shown: str) -> str:
    if sheet is None:
        return sheets[0]
    if sheet in sheets:
        return str(sheet)
    number = int(sheet) if str(sheet).isdecimal() else -1
    if not 0 <= number < len(sheets):
        raise TableError(f"{shown} has no sheet {sheet!r}. It has {listing(sheets)}.")
    return sheets[number]


def _rows(path: str, sheet: str) -> Iterator[tuple[int, tuple]]:
    """Number and values of the rows that are not empty."""
    with closing(_opened(path)) as book:
        for number, values in enumerate(book[sheet].iter_rows(values_only=True), 1):
            if any(value is not None for value in values):
                yield number, values


def _opened(path: str) -> Any:
    from openpyxl import load_workbook

    try:
        return load_workbook(path, read_only=True, data_only=True)
    except Exception as problem:
        raise unreadable(path, problem) from problem
