"""Tables of moves: columns of states, actions, rewards and next states from files and memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.io.columnar import TextColumn
from tenfold.io.table_opener import open_table

_BATCH = 1 << 20  # rows that are decoded at a time


def open_moves(table: Any, required: list[str], optional: list[str]) -> dict[str, np.ndarray]:
    """Columns of a table as arrays: numbers, or words as objects."""
    source = open_table(table)
    for name in required:
        source.assert_column(name)
    names = required + [name for name in optional if name in source.names]
    chosen = source.select(names)
    parts: list[dict[str, np.ndarray]] = []
    for first in range(0, len(source), _BATCH):
        cells = chosen.slice(first, min(first + _BATCH, len(source)))
        parts.append({name: _plain_array(cells[name]) for name in names})
        for name in names:
            missing = _missing(parts[-1][name])
            if missing.any():
                place = source.where(first + int(np.flatnonzero(missing)[0]))
                raise ValueError(f"{place}: column {name!r} has no value")
    if not parts:
        raise ValueError(f"{source.shown} has no rows: nothing to learn from")
    return {name: np.concatenate([part[name] for part in parts]) for name in names}


def move_columns(cells: Any, columns: tuple[str, ...], first: int) -> list[np.ndarray]:
    """Columns of a batch of a table as arrays; a column that is not there is False."""
    arrays = []
    for name in columns:
        values = _plain_array(cells[name]) if name in cells.names else np.zeros(len(cells), bool)
        if (missing := _missing(values)).any():
            row = first + int(np.flatnonzero(missing)[0])
            raise ValueError(f"row {row}: column {name!r} has no value")
        arrays.append(values)
    return arrays


def as_numbers(values: np.ndarray, name: str, first: int = 0) -> np.ndarray:
    """Values of a column of moves, from a row on, as finite float64."""
    if values.dtype == object:
        raise ValueError(f"column {name!r} holds words such as {values[0]!r}: expected numbers")
    numbers = values.astype(np.float64)
    if not np.isfinite(numbers).all():
        row = int(np.flatnonzero(~np.isfinite(numbers))[0])
        raise ValueError(f"row {first + row}: column {name!r} is {numbers[row]}, not finite")
    return numbers


def as_booleans(values: np.ndarray, name: str, first: int = 0) -> np.ndarray:
    """Values of a column of moves, from a row on, as booleans: true, yes, 1 or false, no, 0."""
    known = {"true": 1.0, "yes": 1.0, "1": 1.0, "false": 0.0, "no": 0.0, "0": 0.0}
    found = values
    if values.dtype == object:
        found = np.array([known.get(str(value).lower(), np.nan) for value in values])
    strange = ~np.isin(found, (0, 1))
    if strange.any():
        row = int(np.flatnonzero(strange)[0])
        raise ValueError(
            f"row {first + row}: column {name!r} is {values[row]}: expected true, false"
        )
    return found.astype(bool)


def _plain_array(column: Any) -> np.ndarray:
    if isinstance(column, TextColumn):
        return np.array(column.plain(), dtype=object)
    return np.asarray(column.values)


def _missing(values: np.ndarray) -> np.ndarray:
    if values.dtype == object:
        return np.array([value is None for value in values])
    return np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), bool)


def column_codes(columns: list[np.ndarray]) -> tuple[list[np.ndarray], list]:
    """Numbers of the values of some columns in the sorted list of all their values, and this list.

    Whole numbers that were read as floats are whole numbers again.
    """
    together = np.concatenate(columns)
    values, codes = np.unique(together, return_inverse=True)
    names = values.tolist()
    if values.dtype.kind == "f" and (values == np.floor(values)).all():
        names = [int(value) for value in names]
    return np.split(codes.ravel(), np.cumsum([len(c) for c in columns])[:-1]), names
