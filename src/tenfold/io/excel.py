"""Excel files (.xlsx): one sheet, whose first row with anything in it holds the names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from tenfold.engine.validation import format_names
from tenfold.io._header import make_unique_names
from tenfold.io._tuning import TABLE_BATCH_ROWS
from tenfold.io._type_inference import to_string_batch
from tenfold.io.columnar import TableError, unreadable_file_error


class ExcelFile(NamedTuple):
    """One sheet of a file."""

    path: str
    shown: str
    sheet: str
    names: list[str]
    notes: list[str]

    def batches(self) -> Iterator[Any]:
        """Record batches of strings."""
        rows = (values for _, values in islice(_iterate_rows(self.path, self.sheet), 1, None))
        width = len(self.names)
        while batch := list(islice(rows, TABLE_BATCH_ROWS)):
            filled = [(*row[:width], *[None] * (width - len(row))) for row in batch]
            yield to_string_batch(self.names, zip(*filled, strict=True))

    def place(self, row: int) -> tuple[str, int]:
        """What a row is called in the file, and its number there."""
        return f"sheet {self.sheet!r}, row", next(
            islice(_iterate_rows(self.path, self.sheet), row + 1, None)
        )[0]


def inspect_excel(path: Path, sheet: str | int | None) -> ExcelFile:
    """Look for the sheet and its names."""
    shown = str(path)
    with closing(_open_workbook(shown)) as book:
        sheets = book.sheetnames
    name = _find_sheet(sheets, sheet, shown)
    _, fields = next(_iterate_rows(shown, name), (0, ()))
    while fields and fields[-1] is None:
        fields = fields[:-1]
    if not fields:
        raise TableError(f"{shown}: the sheet {name!r} is empty. Name another one: sheet=...")
    notes = []
    if sheet is None and len(sheets) > 1:
        notes = [f"{shown} has {len(sheets)} sheets; {name!r}, the first, was read."]
    names, more = make_unique_names(["" if f is None else str(f) for f in fields], shown)
    return ExcelFile(shown, shown, name, names, notes + more)


def _find_sheet(sheets: list[str], sheet: str | int | None, shown: str) -> str:
    if sheet is None:
        return sheets[0]
    if sheet in sheets:
        return str(sheet)
    number = int(sheet) if str(sheet).isdecimal() else -1
    if not 0 <= number < len(sheets):
        raise TableError(f"{shown} has no sheet {sheet!r}. It has {format_names(sheets)}.")
    return sheets[number]


def _iterate_rows(path: str, sheet: str) -> Iterator[tuple[int, tuple]]:
    """Number and values of the rows that are not empty."""
    with closing(_open_workbook(path)) as book:
        for number, values in enumerate(book[sheet].iter_rows(values_only=True), 1):
            if any(value is not None for value in values):
                yield number, values


def _open_workbook(path: str) -> Any:
    from openpyxl import load_workbook

    try:
        return load_workbook(path, read_only=True, data_only=True)
    except Exception as problem:
        raise unreadable_file_error(path, problem) from problem
