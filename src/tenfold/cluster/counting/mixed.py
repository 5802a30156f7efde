"""Distances of rows with numbers and categories."""

from __future__ import annotations

from typing import Any

import numpy as np


def gower(X: Any, Y: Any = None, *, categorical: Any = (), ranges: Any = None) -> np.ndarray:
    """Gower's distance for mixed columns: the mean over the columns of a distance in [0, 1].

    A number counts by its difference over the range of its column, a category by whether it
    differs. A column in which one of two rows has no value (NaN) is left out for them. Models take
    the matrix with `metric="precomputed"`.

    Parameters
    ----------
    X, Y : (n, p) and (m, p) arrays
        The rows; Y is X if it is not given.
    categorical : sequence of int
        Numbers of the columns that hold categories.
    ranges : (p,) array, optional
        Greatest less least value of each column; those of X and Y together by default.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[20.0, 0], [30.0, 1], [40.0, 1]])  # age, and whether married
    >>> gower(X, categorical=[1]).tolist()
    [[0.0, 0.75, 1.0], [0.75, 0.0, 0.25], [1.0, 0.25, 0.0]]
    """
    X = np.asarray(X, np.float64)
    Y = X if Y is None else np.asarray(Y, np.float64)
    ranges = column_ranges(np.concatenate([X, Y])) if ranges is None else np.asarray(ranges)
    total, known = np.zeros((len(X), len(Y))), np.zeros((len(X), len(Y)))
    for d in range(X.shape[1]):
        apart = np.abs(X[:, d, None] - Y[:, d])
        seen = ~np.isnan(apart)
        apart = apart > 0 if d in categorical else apart / (ranges[d] if ranges[d] > 0 else 1.0)
        total += np.where(seen, apart, 0.0)
        known += seen
    return np.divide(total, known, out=np.full_like(total, np.nan), where=known > 0)


def column_ranges(X: np.ndarray) -> np.ndarray:
    """Greatest less least value of each column, NaN left out; 0 where there is no value."""
    low = np.where(np.isnan(X), np.inf, X).min(axis=0)
    high = np.where(np.isnan(X), -np.inf, X).max(axis=0)
    return np.maximum(high - low, 0.0)
