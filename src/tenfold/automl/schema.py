"""The columns that a model expects: whether a table has them, and its cells in their types."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np

from tenfold.automl.value_ranges import check_numbers, locate
from tenfold.engine.chunk import Chunk
from tenfold.io.columnar import (
    Column,
    ColumnBatch,
    DateColumn,
    NumericColumn,
    TableError,
    TextColumn,
)
from tenfold.io.number_formats import parse_number
from tenfold.io.row_store import MemoryStore
from tenfold.io.table import TableSource
from tenfold.io.table_opener import open_table


def cells_to_records(cells: ColumnBatch) -> TableSource:
    """Rows in memory as a table source."""
    return TableSource(MemoryStore(cells), dict(cells.types), shown="the table")


def to_records(table: Any, styles: dict[str, str] | None = None) -> TableSource:
    """A table source of any table; a dict of single values is one row."""
    if isinstance(table, ColumnBatch):
        return cells_to_records(table)
    if isinstance(table, dict) and all(np.ndim(value) == 0 for value in table.values()):
        table = [table]
    return open_table(table, styles=styles)


def encode_cells(encoder: Any, cells: ColumnBatch) -> Any:
    """Rows in memory, encoded by a fitted encoder: an array or CSR matrix."""
    rows = encoder.rows(cells_to_records(cells))
    return rows.gather().X if rows.sparse else rows.each(_chunk_matrix)


def _chunk_matrix(chunk: Chunk) -> np.ndarray:
    return chunk.X


_NUMERIC_TYPES = ("number", "bool")
_DEFAULT_NAME = re.compile(r"x\d+")  # default names of unnamed columns
_MAX_NAMED = 10  # missing columns that a message names
_STYLE_EXAMPLES = {
    "commas": " such as 1,234.5",
    "blanks": " such as 1 234.5",
    "decimal comma": " such as 1.234,5",
}


class ExpectedColumn(NamedTuple):
    """A column that a model was trained on.

    Attributes
    ----------
    type : "number", "text", "date" or "bool"
    kind : inferred kind, such as "category"
    examples : some of its values
    low, high : range of numbers
    """

    type: str
    kind: str
    examples: list[Any]
    low: float | None = None
    high: float | None = None


def missing_columns(expected: dict[str, ExpectedColumn], names: list[str]) -> list[str]:
    """A message that names all missing columns, with those that may be meant; none if none is.

    Examples
    --------
    >>> size, color = (ExpectedColumn("number", "number", []) for _ in range(2))
    >>> missing_columns({"size": size, "color": color, "day": color}, ["size", "colour"])
    ["there are no columns 'color' (rename 'colour'?), 'day'"]
    """
    unused = [name for name in names if name not in expected]
    missing = [name for name in expected if name not in names]
    if not missing:
        return []
    similar: list[str | None] = []
    for name in missing:
        close = get_close_matches(name, unused, 1, 0.6)
        similar.append(close[0] if close else None)
        unused = [other for other in unused if other not in close]  # each is suggested once
    problems = [_name_missing(missing, similar)]
    if all(_DEFAULT_NAME.fullmatch(name) for name in expected):
        problems.append("if the first line of the file is a row, use --no-header (header=False)")
    return problems


def _name_missing(missing: list[str], similar: list[str | None]) -> str:
    if len(missing) == 1:
        hint = f"; rename {similar[0]!r}?" if similar[0] else ""
        return f"there is no column {missing[0]!r}{hint}"
    shown = [
        f"{name!r} (rename {other!r}?)" if other else repr(name)
        for name, other in zip(missing, similar, strict=True)
    ]
    more = f" and {len(shown) - _MAX_NAMED} more" if len(shown) > _MAX_NAMED else ""
    return f"there are no columns {', '.join(shown[:_MAX_NAMED])}{more}"


def conform_cells(
    cells: ColumnBatch,
    expected: dict[str, ExpectedColumn],
    records: Any,
    first: int,
    styles: dict[str, str] | None = None,
) -> ColumnBatch:
    """The columns that a model was trained on, converted to the types of the training data.

    Parameters
    ----------
    cells : ColumnBatch
        Some rows.
    expected : dict
        Columns of the training data.
    records : TableSource
        Source of the rows, for error messages.
    first : int
        Index of the first row.
    styles : dict, optional
        Number formats of the columns of a text file.
    """
    origin = RowOrigin(records, first, styles or {})
    columns = {
        name: _convert_column(cells[name], column.type, name, origin)
        for name, column in expected.items()
    }
    for name, column in columns.items():
        if isinstance(column, NumericColumn):
            check_numbers(column.values, name, records, first)
    types = {name: column.type for name, column in expected.items()}
    return ColumnBatch(columns, types, cells.n_rows)


class RowOrigin(NamedTuple):
    """Source of rows and number formats of their columns."""

    records: Any
    first: int
    styles: dict[str, str]


def _convert_column(column: Column, want: str, name: str, origin: RowOrigin) -> Column:
    if want == "text":
        return column if isinstance(column, TextColumn) else _to_words(column)
    if isinstance(column, NumericColumn if want in _NUMERIC_TYPES else DateColumn):
        return column
    if column.missing().all():
        return _missing_column(want, len(column))
    if want in _NUMERIC_TYPES and isinstance(column, TextColumn):
        return _to_numbers(column, name, origin)
    raise _type_mismatch(column, want, name, origin, int(np.flatnonzero(~column.missing())[0]))


def _to_words(column: NumericColumn | DateColumn) -> TextColumn:
    """Numbers as text: for codes such as 1203 in a column that was text in training."""
    plain = column.plain()
    values = sorted({str(value) for value in plain if value is not None})
    index = {value: i for i, value in enumerate(values)}
    codes = [-1 if value is None else index[str(value)] for value in plain]
    return TextColumn(np.array(codes, np.int32), values)


def _to_numbers(column: TextColumn, name: str, origin: RowOrigin) -> NumericColumn:
    style = origin.styles.get(name)
    numbers = np.array([*(parse_number(value, style) for value in column.values), np.nan])
    values = numbers[column.codes]
    invalid = np.flatnonzero(np.isnan(values) & ~column.missing())
    if len(invalid):
        raise _type_mismatch(column, "number", name, origin, int(invalid[0]))
    return NumericColumn(values)


def _missing_column(want: str, rows: int) -> Column:
    if want in _NUMERIC_TYPES:
        return NumericColumn(np.full(rows, np.nan))
    return DateColumn(np.full(rows, np.datetime64("NaT"), "datetime64[us]"))


def _type_mismatch(column: Column, want: str, name: str, origin: RowOrigin, row: int) -> TableError:
    value = column.at([row]).plain()[0]
    expected = "numbers" if want in _NUMERIC_TYPES else "dates"
    example = _STYLE_EXAMPLES.get(origin.styles.get(name, ""), "")
    at = locate(origin.records, origin.first + row)
    return TableError(
        f"{at}: {name!r} is {str(value)!r}, but the model learned from "
        f"{expected}{example} there: correct it, or leave it empty"
    )
