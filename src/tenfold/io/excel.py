"""Excel files (.xlsx): one sheet, whose first row with anything in it holds the names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from tenfold.engine.validation import format_names
from tenfold.io._header import make_unique_names
from tenfold.io._type_inference import TABLE_BATCH_ROWS, to_string_batch
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
        rows, width = self._rows(), len(self.names)
        while batch := list(islice(rows, TABLE_BATCH_ROWS)):
            numbers, cells = zip(*batch, strict=True)
            filled = [(*row, *[None] * (width - len(row))) for row in cells]
            yield to_string_batch(
                self.names,
                zip(*filled, strict=True),
                lambda row, numbers=numbers: f"{self.shown}, {self._unit} {numbers[row]}",
            )

    def place(self, row: int) -> tuple[str, int]:
        """What a row is called in the file, and its number there."""
        return self._unit, next(islice(self._rows(), row, None))[0]

    @property
    def _unit(self) -> str:
        return f"sheet {self.sheet!r}, row"

    def _rows(self) -> Iterator[tuple[int, tuple]]:
        """Number and cells of the rows below the names; cells beside the columns are left out."""
        width = len(self.names)
        for number, values in islice(_iterate_rows(self.path, self.sheet), 1, None):
            inside = values[:width]
            if any(map(_has_value, values[width:])):
                self._note_stray_cell(number)
            if any(map(_has_value, inside)):
                yield number, inside

    def _note_stray_cell(self, row: int) -> None:
        start = f"{self.shown}: there is a cell beside the {len(self.names)} named columns"
        if not any(note.startswith(start) for note in self.notes):
            self.notes.append(f"{start}, in row {row}; such cells are left out.")


def inspect_excel(path: Path, sheet: str | int | None) -> ExcelFile:
    """Look for the sheet and its names."""
    shown = str(path)
    with closing(_open_workbook(shown)) as book:
        sheets = [sheet.title for sheet in book.worksheets]  # others hold charts alone
    if not sheets:
        raise TableError(f"{shown} has no sheet of cells. Give a file with a table.")
    name = _find_sheet(sheets, sheet, shown)
    _, fields = next(_iterate_rows(shown, name), (0, ()))
    while fields and not _has_value(fields[-1]):
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
        rows = book[sheet]
        rows.reset_dimensions()  # or a stray cell far away would fill all rows up to its column
        try:
            for number, values in enumerate(rows.iter_rows(values_only=True), 1):
                if any(map(_has_value, values)):
                    yield number, values
        except Exception as problem:  # its XML is damaged
            raise unreadable_file_error(path, problem) from problem


def _has_value(value: Any) -> bool:
    return value is not None and not (isinstance(value, str) and not value.strip())


def _open_workbook(path: str) -> Any:
    from openpyxl import load_workbook

    try:
        return load_workbook(path, read_only=True, data_only=True)
    except Exception as problem:
        raise unreadable_file_error(path, problem) from problem
