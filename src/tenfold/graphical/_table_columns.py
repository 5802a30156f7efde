"""Columns of tables in memory: their values, their states, and the numbers of these."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

_MISSING_TYPES = {"NAType", "NaTType"}


def read_columns(X: Any, names: list[str] | None) -> dict[str, np.ndarray]:
    """Columns of a data frame, a dictionary, a list of dictionaries or an array.

    Parameters
    ----------
    X : table
        The rows.
    names : list of str or None
        Names of the columns of an array; by default x0, x1, ...
    """
    if isinstance(X, Mapping):
        columns = {str(name): as_column(values) for name, values in X.items()}
    elif hasattr(X, "columns") and not isinstance(X, np.ndarray):
        columns = {str(name): as_column(X[name]) for name in X.columns}
    elif isinstance(X, list) and X and isinstance(X[0], Mapping):
        found = list(dict.fromkeys(name for row in X for name in row))
        columns = {str(n): as_column([row.get(n) for row in X]) for n in found}
    else:
        columns = _array_columns(X, names)
    lengths = {len(values) for values in columns.values()}
    if len(lengths) > 1:
        raise ValueError(f"columns of different lengths: {sorted(lengths)}")
    if not columns or lengths == {0}:
        raise ValueError("the table has no rows: give at least one row and one column")
    return columns


def _array_columns(X: Any, names: list[str] | None) -> dict[str, np.ndarray]:
    array = X if isinstance(X, np.ndarray) else np.array(X, dtype=object)
    if array.dtype.names:
        return {name: as_column(array[name]) for name in array.dtype.names}
    if array.ndim != 2 or (names is not None and array.shape[1] != len(names)):
        shown = (
            f" for {len(names)} variables: give a column for each of {names[:8]}" if names else ""
        )
        raise ValueError(
            f"an array of shape {array.shape}{shown}: give rows and columns, in the order of the "
            "variables, or a table with names"
        )
    names = names or [f"x{j}" for j in range(array.shape[1])]
    return {name: as_column(array[:, at]) for at, name in enumerate(names)}


def as_column(values: Any) -> np.ndarray:
    """A column as an array of numbers, truth values or text; otherwise of objects."""
    if isinstance(values, np.ndarray):
        array = values
    elif hasattr(values, "to_numpy"):
        array = np.asarray(values.to_numpy())
    else:
        array = np.empty(len(values), dtype=object)
        array[:] = list(values)
    if array.ndim != 1:
        raise ValueError(f"a column of shape {array.shape}: a variable has one value in each row")
    if array.dtype.kind == "O":
        kinds = {type(value) for value in array.tolist()}
        if kinds <= {int} or kinds <= {bool}:
            return array.astype(np.int64 if kinds == {int} else bool)
        if kinds <= {int, float, type(None)} and float in kinds:
            return array.astype(np.float64)
    return array


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, or what pandas calls missing."""
    if value is None or type(value).__name__ in _MISSING_TYPES:
        return True
    return isinstance(value, float) and value != value  # noqa: PLR0124 - NaN


def find_states(values: Any) -> tuple[Any, ...]:
    """The different values of a column, in ascending order; whole numbers as int."""
    column = as_column(values)
    if column.dtype.kind in "iufb":
        known = column[~np.isnan(column)] if column.dtype.kind == "f" else column
        return plain_numbers(np.unique(known))
    return sort_states({value for value in column.tolist() if not is_missing(value)})


def sort_states(found: set[Any]) -> tuple[Any, ...]:
    """States in ascending order, or by their type and text where they cannot be compared."""
    try:
        return tuple(sorted(found))
    except TypeError:
        return tuple(sorted(found, key=lambda value: (type(value).__name__, repr(value))))


def plain_numbers(values: np.ndarray) -> tuple[Any, ...]:
    """Python's numbers; whole ones as int."""
    if values.dtype.kind == "f":
        return tuple(int(v) if v.is_integer() else v for v in values.tolist())
    return tuple(values.tolist())


def encode_column(name: str, values: Any, states: tuple[Any, ...], first: int = 0) -> np.ndarray:
    """Numbers of the states of a column, float32; NaN where it is missing.

    `first` is the number of the first row, for errors.
    """
    column = as_column(values)
    numbers = {state: number for number, state in enumerate(states)}
    if column.dtype.kind in "UiufbS":  # few different values: the dictionary sees each once
        known, inverse = np.unique(column, return_inverse=True)
        each = np.array([_number_of(v, numbers) for v in known.tolist()], np.float32)
        codes = each[inverse]
    else:
        codes = np.array([_number_of(v, numbers) for v in column.tolist()], np.float32)
    if (codes < 0).any():
        row = int(np.argmax(codes < 0))
        value = column[row].item() if isinstance(column[row], np.generic) else column[row]
        raise ValueError(
            f"row {first + row}: {name} is {value!r}, which is none of its states "
            f"{list(states)[:8]}"
        )
    return codes


def _number_of(value: Any, numbers: dict[Any, int]) -> float:
    if is_missing(value):
        return np.nan
    try:
        return numbers.get(value, -1)
    except TypeError:  # a list or a dictionary is no state
        return -1
