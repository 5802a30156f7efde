"""Distances between rows and a few centres, in blocks that stay in the cache."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.maths.leaves import nearest

CLOSE = {4: 1e-3, 8: 1e-7}  # squared distance over squared norms that products do not know well
PRODUCTS = 2**16  # products of rows and centres that are held at once


def nearest_centres(X: Any, centres: np.ndarray) -> np.ndarray:
    """Number of the nearest centre of each row, the first one on a tie.

    Examples
    --------
    >>> import numpy as np
    >>> nearest_centres(np.array([[0.0], [1.0], [9.0]]), np.array([[1.0], [8.0]])).tolist()
    [0, 0, 1]
    """
    half = (0.5 * np.einsum("ij,ij->i", centres, centres)).astype(centres.dtype)
    labels = np.empty(X.shape[0], np.int32)
    step = max(PRODUCTS // len(centres), 1024)
    best = np.empty(min(step, X.shape[0]), centres.dtype)
    space = np.empty((len(centres), step), centres.dtype) if X.shape[0] >= step else None
    for start in range(0, X.shape[0], step):
        part = labels[start : start + step]
        products = class_major(X[start : start + step], centres, space)
        nearest(products, half, part, best[: len(part)])
    return labels


def class_major(X: Any, centres: np.ndarray, space: np.ndarray | None) -> np.ndarray:
    """Products of all centres with all rows, (k, n), written to `space` if they fill it."""
    if not isinstance(X, np.ndarray):
        return np.ascontiguousarray((X @ centres.T).T)
    fits = space is not None and space.shape[1] == len(X)
    return np.matmul(centres, X.T, out=space if fits else None)


def squared_distances(X: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Squared Euclidean distances (n, k), from differences where rounding would show.

    Examples
    --------
    >>> import numpy as np
    >>> squared_distances(np.array([[3.0, 4.0]]), np.zeros((1, 2))).tolist()
    [[25.0]]
    """
    xx = np.einsum("ij,ij->i", X, X)[:, None]
    cc = np.einsum("ij,ij->i", centres, centres)
    squares = xx - 2 * (X @ centres.T) + cc
    close = squares < CLOSE[X.dtype.itemsize] * (xx + cc)
    for column in np.flatnonzero(close.any(axis=0)):
        rows = np.flatnonzero(close[:, column])
        difference = np.take(X, rows, axis=0) - centres[column]
        squares[rows, column] = np.einsum("ij,ij->i", difference, difference)
    return squares
