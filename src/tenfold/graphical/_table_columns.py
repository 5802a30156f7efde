"""Tables of discrete variables as numbered states, -1 where a value is missing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


def read_columns(X: Any, names: list[str]) -> dict[str, list[Any]]:
    """Columns of a data frame, a dictionary, a list of dictionaries or an array."""
    if isinstance(X, Mapping):
        columns = {str(name): list(values) for name, values in X.items()}
    elif hasattr(X, "columns") and not isinstance(X, np.ndarray):
        columns = {str(name): list(X[name]) for name in X.columns}
    elif isinstance(X, list) and X and isinstance(X[0], Mapping):
        columns = {name: [row.get(name) for row in X] for name in names}
    else:
        array = np.asarray(X)
        if array.ndim != 2 or array.shape[1] != len(names):
            raise ValueError(
                f"an array of shape {array.shape} for {len(names)} variables: give a column for "
                f"each of {names[:8]}, in this order, or a table with names"
            )
        columns = {name: array[:, at].tolist() for at, name in enumerate(names)}
    lengths = {len(values) for values in columns.values()}
    if len(lengths) > 1:
        raise ValueError(f"columns of different lengths: {sorted(lengths)}")
    return columns


def is_missing(value: Any) -> bool:
    """Whether a value is None or NaN."""
    return value is None or (isinstance(value, float) and value != value)  # noqa: PLR0124 - NaN


def find_states(values: list[Any]) -> tuple[Any, ...]:
    """The different values of a column, in ascending order."""
    found = {value for value in values if not is_missing(value)}
    try:
        return tuple(sorted(found))
    except TypeError:
        return tuple(sorted(found, key=lambda value: (type(value).__name__, repr(value))))


def encode_column(name: str, values: list[Any], states: tuple[Any, ...]) -> np.ndarray:
    """Numbers of the states of a column; -1 where it is missing."""
    numbers = {state: number for number, state in enumerate(states)}
    encoded = np.empty(len(values), np.int64)
    for row, value in enumerate(values):
        if is_missing(value):
            encoded[row] = -1
        elif value in numbers:
            encoded[row] = numbers[value]
        else:
            raise ValueError(
                f"row {row}: {name} is {value!r}, which is none of its states {list(states)[:8]}"
            )
    return encoded
