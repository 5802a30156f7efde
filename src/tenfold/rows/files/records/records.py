"""Tables of mixed columns, wherever they lie: numbers, words and dates by the row.

Whatever the place, the rows are kept once in a form that can be read at any row: in memory if they
are few, else in a temporary file. See `records_store`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from typing import Any

import numpy as np

from tenfold.rows.cells import Cells, Column, Dates, Numbers, Words
from tenfold.rows.chunk import Chunk
from tenfold.rows.files.asked import listing
from tenfold.rows.files.records.errors import TableError
from tenfold.rows.files.records.store import batch_rows
from tenfold.rows.source import Source

__all__ = ["Cells", "Column", "Dates", "Numbers", "Records", "TableError", "Words", "open_records"]


class Records(Source):
    """Rows of a table of mixed columns, which can be read at any place.

    Attributes
    ----------
    n_rows, names : its size and its columns
    types : dict, name -> "number", "text", "date" or "bool"
    shown : the place in words
    target : name of the column to be predicted, or None
    notes : what was done to read it, in sentences
    mixed : dict, name -> (line, value, count) of the first value that is no number, in a column
        that holds hardly anything but numbers
    styles : dict, name -> how its numbers are written, if those of some column are not plain
    """

    def __init__(
        self,
        store: Any,
        types: dict[str, str],
        *,
        shown: str,
        target: str | None = None,
        notes: list[str] | None = None,
        mixed: dict[str, tuple[int, str, int]] | None = None,
        place: Callable[[int], str] | None = None,
        styles: dict[str, str] | None = None,
    ) -> None:
        self.store, self.types, self.shown = store, types, shown
        # all columns have names here
        self.names: list[str] = list(types)  # pyright: ignore[reportIncompatibleVariableOverride]
        self.n_rows, self.n_features = store.n_rows, len(types)
        self.dtype = np.dtype(np.float64)
        self.target = target
        self.notes, self.mixed = notes or [], mixed or {}
        self.place = place
        self.styles = styles or {}

    @property
    def grid(self) -> int:
        """Rows per chunk."""
        return batch_rows(self.n_features)

    def __len__(self) -> int:
        return self.n_rows

    def __repr__(self) -> str:
        return f"Records({self.n_rows} x {self.n_features}, {self.shown})"

    def chunks(self, run: range) -> Iterator[Chunk]:
        """Read the chunks of a run."""
        for number in run:
            first, end = self.span(number)
            yield Chunk(self.slice(first, end), first=first)

    def slice(self, first: int, end: int) -> Cells:
        """Rows first:end."""
        return self.store.slice(first, end).select(self.names)

    def take(self, rows: np.ndarray) -> Chunk:
        """The rows with these numbers, which must ascend."""
        rows = np.asarray(rows)
        if not len(rows):
            return Chunk(self.slice(0, 0))
        blocks = np.split(rows, np.flatnonzero(np.diff(rows // self.grid)) + 1)
        return Chunk(Cells.joined([self._some(block) for block in blocks]))

    def _some(self, rows: np.ndarray) -> Cells:
        first, end = int(rows[0]), int(rows[-1]) + 1
        cells = self.slice(first, end)
        return cells if end - first == len(rows) else cells[rows - first]

    def select(self, names: list[str]) -> Records:
        """The same rows with some of the columns."""
        for name in names:
            self.assert_column(name)
        return self._like(self.store, {name: self.types[name] for name in names}, self.place)

    def pick(self, rows: np.ndarray) -> Records:
        """Some of the rows, by their numbers, which must ascend."""
        rows = np.asarray(rows)
        return self._like(Picked(self, rows), self.types, lambda row: self.where(int(rows[row])))

    def _like(self, store: Any, types: dict[str, str], place: Any) -> Records:
        return Records(
            store,
            types,
            shown=self.shown,
            target=self.target,
            notes=self.notes,
            mixed=self.mixed,
            place=place,
            styles=self.styles,
        )

    def where(self, row: int) -> str:
        """The place of a row in words: for a text file its line."""
        return f"row {row}" if self.place is None else self.place(row)

    def assert_column(self, name: str) -> None:
        """Raise an error that names near names if there is no such column."""
        if name not in self.types:
            raise TableError(f"{self.shown} has no column {name!r}. {self.near(name)}")

    def near(self, name: str) -> str:
        """A question about the column that may be meant, or the columns that there are."""
        small = {other.lower(): other for other in self.names}
        close = get_close_matches(str(name).lower(), list(small), 1, 0.5)
        return f"Did you mean {small[close[0]]!r}?" if close else f"It has {listing(self.names)}."


class Picked:
    """Some rows of records, as a store."""

    def __init__(self, records: Records, rows: np.ndarray) -> None:
        self.records, self.rows, self.n_rows = records, rows, len(rows)

    def slice(self, first: int, end: int) -> Cells:
        """Rows first:end of those that were picked."""
        return self.records.take(self.rows[first:end]).X


def open_records(
    where: Any,
    *,
    target: str | None = None,
    sheet: str | int | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    styles: dict[str, str] | None = None,
    columns: list[str] | None = None,
) -> Records:
    """Open a table of mixed columns, wherever it lies.

    Parameters
    ----------
    where : path, list of paths, table or Records
        A CSV, TSV (also packed: .gz, .bz2), Parquet, Arrow, JSON lines or Excel file, a folder or
        a pattern of such files, a list of them, "-" for CSV from the standard input; a pandas or
        polars DataFrame, an Arrow table, an array, a dict of columns, a list of dicts, Cells.
    target : str, optional
        The column to be predicted; it must be there.
    sheet : str or int, optional
        Of an Excel file; the first by default.
    delimiter, encoding : str, optional
        Of a text file; found by looking at it by default.
    header : bool, optional
        Whether the first line of a CSV file holds names; found by comparing it with the others by
        default. Without names, columns are called x0, x1, ...
    styles : dict, name -> {"plain", "commas", "blanks", "decimal comma"}, optional
        How numbers are written in columns of text files: 1234.5, 1,234.5, 1 234.5 or 1.234,5.
        Found by looking at all cells by default.
    columns : list of str, optional
        Which columns to keep; all by default.

    Returns
    -------
    Records

    Raises
    ------
    TableError
        One sentence that says where the table is wrong, and what to do.

    Examples
    --------
    >>> records = open_records({"size": [1.5, None], "colour": ["red", "blue"]})
    >>> records, records.types
    (Records(2 x 2, the table), {'size': 'number', 'colour': 'text'})
    >>> records.slice(0, 2).row(1)
    {'size': None, 'colour': 'blue'}
    """
    from tenfold.rows.files.records.places import How, opened

    how = How(sheet, delimiter, encoding, header, styles)
    records = where if isinstance(where, Records) else opened(where, how)
    if columns is not None:
        records = records.select([*columns] if target is None else _with(columns, target))
    if target is not None:
        records.assert_column(target)
        records = records.select(records.names)
        records.target = target
    return records


def _with(columns: list[str], target: str) -> list[str]:
    return [*columns] if target in columns else [*columns, target]


def is_elsewhere(X: Any) -> bool:
    """Whether X lies elsewhere: records or paths, not a table in memory."""
    first = X[0] if isinstance(X, list | tuple) and X else X
    return isinstance(X, Records) or isinstance(first, str | os.PathLike)
