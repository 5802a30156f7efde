"""Rows of a table of mixed columns in memory: numbers, text and dates as numpy arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np


class NumericColumn(NamedTuple):
    """A column of numbers (truth values are 0 and 1); NaN: missing."""

    values: np.ndarray

    def __len__(self) -> int:
        return len(self.values)

    def at(self, rows: Any) -> NumericColumn:
        """Some of the rows."""
        return NumericColumn(self.values[rows])

    def missing(self) -> np.ndarray:
        """Which rows have no value."""
        return np.isnan(self.values)

    def plain(self) -> list[Any]:
        """Python's numbers, whole ones as int; None where there is none."""
        return [_python_number(value) for value in self.values.tolist()]


class TextColumn(NamedTuple):
    """A column of text: the number of each row's text in `values`; -1: missing."""

    codes: np.ndarray
    values: list[str]

    def __len__(self) -> int:
        return len(self.codes)

    def at(self, rows: Any) -> TextColumn:
        """Some of the rows, with only their texts if there are many others."""
        codes = self.codes[rows]
        if len(self.values) <= 2 * len(codes) + 64:
            return TextColumn(codes, self.values)
        used, inverse = np.unique(codes, return_inverse=True)
        n_missing = int(len(used) > 0 and used[0] < 0)
        values = [self.values[code] for code in used[n_missing:].tolist()]
        return TextColumn((inverse - n_missing).astype(np.int32), values)

    def missing(self) -> np.ndarray:
        """Which rows have no value."""
        return self.codes < 0

    def plain(self) -> list[Any]:
        """The texts; None where there is none."""
        return [self.values[code] if code >= 0 else None for code in self.codes.tolist()]


class DateColumn(NamedTuple):
    """A column of times, datetime64[us]; NaT: missing."""

    values: np.ndarray

    def __len__(self) -> int:
        return len(self.values)

    def at(self, rows: Any) -> DateColumn:
        """Some of the rows."""
        return DateColumn(self.values[rows])

    def missing(self) -> np.ndarray:
        """Which rows have no value."""
        return np.isnat(self.values)

    def plain(self) -> list[Any]:
        """Python's datetimes; None where there is none."""
        return self.values.astype("datetime64[us]").tolist()


Column = NumericColumn | TextColumn | DateColumn


class ColumnBatch:
    """Some rows of a table: a column by its name, rows by their numbers.

    Parameters
    ----------
    columns : dict, name -> NumericColumn, TextColumn or DateColumn
    types : dict, name -> "number", "text", "date" or "bool"
    rows : number of rows, where there are no columns

    Examples
    --------
    >>> import numpy as np
    >>> age, town = (
    ...     NumericColumn(np.array([31.0, np.nan])),
    ...     TextColumn(np.array([0, 0], np.int32), ["Bonn"]),
    ... )
    >>> cells = ColumnBatch({"age": age, "town": town}, {"age": "number", "town": "text"})
    >>> cells.shape, cells.row(1)
    ((2, 2), {'age': None, 'town': 'Bonn'})
    >>> cells[:1].to_columns()
    {'age': [31], 'town': ['Bonn']}
    """

    def __init__(
        self, columns: dict[str, Column], types: dict[str, str], rows: int | None = None
    ) -> None:
        self.columns, self.types = columns, types
        self.n_rows = len(next(iter(columns.values()))) if columns else rows or 0

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.n_rows, len(self.columns)

    @property
    def names(self) -> list[str]:
        """The columns."""
        return list(self.columns)

    @property
    def dtype(self) -> np.dtype:
        """Of the numbers."""
        return np.dtype(np.float64)

    def __len__(self) -> int:
        return self.n_rows

    def __repr__(self) -> str:
        return f"ColumnBatch({self.n_rows} rows: {', '.join(self.columns)})"

    def __getitem__(self, which: Any) -> Any:
        """A column by its name; rows by a slice, a mask or a list of numbers."""
        if isinstance(which, str):
            return self.columns[which]
        columns = {name: column.at(which) for name, column in self.columns.items()}
        rows = None if columns else len(np.arange(self.n_rows)[which])
        return ColumnBatch(columns, self.types, rows)

    def take(self, rows: np.ndarray) -> ColumnBatch:
        """The rows with these numbers."""
        return self[np.asarray(rows)]

    def select(self, names: Iterable[str]) -> ColumnBatch:
        """Some of the columns."""
        chosen = {name: self.columns[name] for name in names}
        return ColumnBatch(chosen, {name: self.types[name] for name in chosen}, self.n_rows)

    def row(self, i: int) -> dict[str, Any]:
        """One row as plain Python values; None for what is missing."""
        return {name: values[0] for name, values in self[[i]].to_columns().items()}

    def to_columns(self) -> dict[str, list[Any]]:
        """All rows as lists of plain Python values."""
        return {
            name: _python_bools(column.plain()) if self.types[name] == "bool" else column.plain()
            for name, column in self.columns.items()
        }

    @staticmethod
    def concatenate(parts: Sequence[ColumnBatch]) -> ColumnBatch:
        """The rows of all parts, one after the other."""
        if len(parts) == 1:
            return parts[0]
        first = parts[0]
        columns = {
            name: _concatenate_columns([part[name] for part in parts]) for name in first.columns
        }
        return ColumnBatch(columns, first.types, sum(len(part) for part in parts))


def _python_number(value: float) -> int | float | None:
    if value != value:  # noqa: PLR0124 - NaN
        return None
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def _python_bools(values: list[Any]) -> list[bool | None]:
    return [None if value is None else bool(value) for value in values]


def _concatenate_columns(columns: list[Any]) -> Column:
    if not isinstance(columns[0], TextColumn):
        return type(columns[0])(np.concatenate([column.values for column in columns]))
    if all(column.values is columns[0].values for column in columns):
        return TextColumn(np.concatenate([column.codes for column in columns]), columns[0].values)
    code_of: dict[str, int] = {}
    codes = [_recode(column, code_of) for column in columns]
    return TextColumn(np.concatenate(codes), list(code_of))


def _recode(column: TextColumn, code_of: dict[str, int]) -> np.ndarray:
    """Codes in a dictionary that grows; the last entry of the table maps -1 to -1."""
    codes = [code_of.setdefault(value, len(code_of)) for value in column.values]
    return np.array([*codes, -1], np.int32)[column.codes]


class TableError(ValueError):
    """A table that cannot be read as it is: where, why, and what to do."""


def unreadable_file_error(shown: str, problem: object) -> TableError:
    """The error about a file that is damaged, or that must not be read."""
    if isinstance(problem, PermissionError):
        return TableError(
            f"no permission to read {shown}: change its permissions, or ask who owns it."
        )
    return TableError(
        f"{shown} cannot be read; it is cut short, damaged or of another kind: write or fetch it "
        f"again ({problem})."
    )
