"""Tables of mixed columns as sources, and their numeric encoding chunk by chunk."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from typing import Any

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.engine.source import Source
from tenfold.engine.validation import format_names
from tenfold.io.columnar import (
    Column,
    ColumnBatch,
    DateColumn,
    NumericColumn,
    TableError,
    TextColumn,
)
from tenfold.io.row_store import batch_rows

__all__ = [
    "Column",
    "ColumnBatch",
    "DateColumn",
    "NumericColumn",
    "TableError",
    "TableSource",
    "TextColumn",
]


class TableSource(Source):
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
        return self._limit_grid(batch_rows(self.n_features))

    def __len__(self) -> int:
        return self.n_rows

    def __repr__(self) -> str:
        return f"TableSource({self.n_rows} x {self.n_features}, {self.shown})"

    def chunks(self, run: range) -> Iterator[Chunk]:
        """Read the chunks of a run."""
        for number in run:
            first, end = self.span(number)
            yield Chunk(self.slice(first, end), first=first)

    def slice(self, first: int, end: int) -> ColumnBatch:
        """Rows first:end."""
        return self.store.slice(first, end).select(self.names)

    def take(self, rows: np.ndarray) -> Chunk:
        """The rows with these numbers, which must ascend."""
        rows = np.asarray(rows)
        if not len(rows):
            return Chunk(self.slice(0, 0))
        blocks = np.split(rows, np.flatnonzero(np.diff(rows // self.grid)) + 1)
        return Chunk(ColumnBatch.concatenate([self._some(block) for block in blocks]))

    def _some(self, rows: np.ndarray) -> ColumnBatch:
        first, end = int(rows[0]), int(rows[-1]) + 1
        cells = self.slice(first, end)
        return cells if end - first == len(rows) else cells[rows - first]

    def select(self, names: list[str]) -> TableSource:
        """The same rows with some of the columns."""
        for name in names:
            self.assert_column(name)
        return self._like(self.store, {name: self.types[name] for name in names}, self.place)

    def pick(self, rows: np.ndarray) -> TableSource:
        """Some of the rows, by their numbers, which must ascend."""
        rows = np.asarray(rows)
        return self._like(
            RowSubsetStore(self, rows), self.types, lambda row: self.where(int(rows[row]))
        )

    def _like(self, store: Any, types: dict[str, str], place: Any) -> TableSource:
        return TableSource(
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
            raise TableError(f"{self.shown} has no column {name!r}. {self.suggest_column(name)}")

    def suggest_column(self, name: str) -> str:
        """A question about the column that may be meant, or the columns that there are."""
        small = {other.lower(): other for other in self.names}
        close = get_close_matches(str(name).lower(), list(small), 1, 0.5)
        return (
            f"Did you mean {small[close[0]]!r}?" if close else f"It has {format_names(self.names)}."
        )


class RowSubsetStore:
    """Some rows of records, as a store."""

    def __init__(self, records: TableSource, rows: np.ndarray) -> None:
        self.records, self.rows, self.n_rows = records, rows, len(rows)

    def slice(self, first: int, end: int) -> ColumnBatch:
        """Rows first:end of those that were picked."""
        return self.records.take(self.rows[first:end]).X


def is_external_table(X: Any) -> bool:
    """Whether X lies elsewhere: records or paths, not a table in memory."""
    first = X[0] if isinstance(X, list | tuple) and X else X
    return isinstance(X, TableSource) or isinstance(first, str | os.PathLike)


class EncodedSource(Source):
    """Records, encoded chunk by chunk on the grid of the encoded width.

    So a fit on them has the bits of a fit on the encoded array.

    Parameters
    ----------
    records : Records
        The table.
    encode : callable (cells, first row) -> array or CSR array
        How rows become numbers.
    names : names of the columns that it makes
    dtype, sparse : of what it makes
    target : column that becomes y, optional
    """

    finite = True

    def __init__(
        self,
        records: Any,
        encode: Callable[[ColumnBatch, int], Any],
        names: list[str],
        *,
        dtype: np.dtype,
        sparse: bool,
        target: str | None = None,
    ) -> None:
        self.records, self.encode, self.target = records, encode, target
        self.names, self.n_rows, self.n_features = names, records.n_rows, len(names)
        self.dtype, self.sparse = np.dtype(dtype), sparse
        self.has_target = target is not None

    @property
    def streams(self) -> bool:
        """Whether a copy of the numbers pays for a model that reads them often."""
        return not self.sparse

    def chunks(self, run: range) -> Iterator[Chunk]:
        """Read and encode the chunks of a run."""
        for number in run:
            first, end = self.span(number)
            yield self._encode(self.records.slice(first, end), first)._replace(first=first)

    def take(self, rows: np.ndarray) -> Chunk:
        """The rows with these numbers."""
        return self._encode(self.records.take(rows).X, int(rows[0]) if len(rows) else 0)

    def where(self, row: int) -> str:
        """The place of a row in the table."""
        return self.records.where(row)

    def _encode(self, cells: ColumnBatch, first: int) -> Chunk:
        y = None if self.target is None else self._labels(cells, first)
        return Chunk(self.encode(cells, first), y)

    def _labels(self, cells: ColumnBatch, first: int) -> np.ndarray:
        column = cells[str(self.target)]
        missing = column.missing()
        if missing.any():
            place = self.records.where(first + int(np.argmax(missing)))
            raise TableError(
                f"{place}: the target {self.target!r} is missing. Leave such rows out: "
                "records.pick(rows)."
            )
        return target_values(column)


def target_values(column: Any) -> np.ndarray:
    """A column without missing values as a target: numbers, or words."""
    if isinstance(column, TextColumn):
        return np.array(column.values or [""], str)[column.codes]
    return column.values
