"""Columns of text in memory, which the engine for numbers does not know."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils._missing import is_pandas_na

from tenfold.rows import Chunk
from tenfold.rows.opening import is_rows_like


def holds_text(X: Any) -> bool:
    """Whether X is an array, list or table in memory with text in it."""
    if is_rows_like(X) or hasattr(X, "tocsr"):
        return False
    X = np.asarray(X, None if hasattr(X, "__array__") else object)
    return X.dtype.kind in "UT" or (
        X.dtype.kind == "O" and any(isinstance(value, str) for value in X.flat)
    )


class TextColumns:
    """Columns of numbers and of text beside each other, read as ``X[:, j]``."""

    dtype = np.dtype(np.float64)

    def __init__(self, X: np.ndarray) -> None:
        self.columns = [_plain(column) for column in X.T]
        self.shape = X.shape

    def __getitem__(self, place: tuple[slice, Any]) -> np.ndarray:
        rows, column = place
        return self.columns[column][rows]


def _plain(column: np.ndarray) -> np.ndarray:
    """Text with the empty text for what is missing, or float64 with NaN for it."""
    missing = [value is None or is_pandas_na(value) or value != value for value in column]  # noqa: PLR0124 - NaN
    if any(isinstance(value, str) for value in column):
        return np.array([_text(v, gone=m) for v, m in zip(column, missing, strict=True)], str)
    numbers = np.where(missing, np.nan, column)
    return numbers.astype(np.float64)


def _text(value: Any, *, gone: bool) -> str:
    return "" if gone else str(value)


class TextRows:
    """The verbs `total` and `each` of rows, for a table with text in memory."""

    dtype = TextColumns.dtype

    def __init__(self, X: np.ndarray, w: np.ndarray | None) -> None:
        self.chunk = Chunk(TextColumns(X), None, w)

    def total(self, f: Callable[..., Any], *state: Any) -> Any:
        return f(self.chunk, *state)

    def each(self, f: Callable[..., np.ndarray], *state: Any) -> np.ndarray:
        return f(self.chunk, *state)
