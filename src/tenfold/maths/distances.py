"""Distances and similarities between rows: to a few centres in blocks, and of all pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from tenfold.maths.leaves import nearest

CLOSE = {4: 1e-3, 8: 1e-7}  # squared distance over squared norms that products do not know well
PRODUCTS = 2**16  # products of rows and centres that are held at once
NARROW = 32  # columns up to which differences are as fast as products
TILE = 64  # side of the squares in which a matrix is mirrored


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


def distances(X: Any, Y: Any = None, metric: Any = "euclidean", **params: Any) -> np.ndarray:
    """Distances of all rows of X to all rows of Y (of X without it), (n, m).

    Parameters
    ----------
    X, Y : (n, p) and (m, p) arrays
        The rows.
    metric : str or callable
        Any name that `sklearn.metrics.pairwise_distances` or `scipy.spatial.distance` knows, or
        `f(a, b)` of two rows. "precomputed" gives X back.
    **params :
        Parameters of the metric, such as `p` of "minkowski".

    Examples
    --------
    >>> import numpy as np
    >>> distances(np.array([[0.0, 0.0], [3.0, 4.0]])).tolist()
    [[0.0, 5.0], [5.0, 0.0]]
    """
    if isinstance(metric, str) and metric == "precomputed":
        return X
    plain = isinstance(X, np.ndarray) and X.dtype.kind == "f"
    if plain and isinstance(metric, str) and metric in {"euclidean", "l2", "sqeuclidean"}:
        squares = pair_squares(X) if Y is None else squared_distances(X, Y)
        return squares if metric == "sqeuclidean" else np.sqrt(squares, out=squares)
    from sklearn.metrics import pairwise_distances

    found = pairwise_distances(X, Y, metric=metric, **params)
    return found.astype(X.dtype, copy=False) if plain else found


def pair_squares(X: np.ndarray) -> np.ndarray:
    """Squared Euclidean distances of all pairs of rows, (n, n), exactly symmetric."""
    if X.shape[1] > NARROW:
        squares = X @ X.T
        complete_squares(X, np.einsum("ij,ij->i", X, X), squares, CLOSE[X.dtype.itemsize])
    else:
        squares = np.zeros((len(X), len(X)), X.dtype)
        add_pair_squares(np.ascontiguousarray(X.T), squares)
    mirror(squares)
    return squares


@njit(cache=True, nogil=True)
def complete_squares(X, norms, products, close):  # noqa: ANN001, ANN201  (n, p), (n,), (n, n)
    """Squared distances from products, above the diagonal; from differences for close pairs."""
    for i in range(len(X)):
        row, others, few = products[i, i:], norms[i:], 0
        for j in range(len(row)):
            whole = norms[i] + others[j]
            row[j] = whole - 2 * row[j]
            few += row[j] < close * whole
        if few > 0:
            for j in range(len(row)):
                if row[j] < close * (norms[i] + others[j]):
                    row[j] = ((X[i] - X[i + j]) ** 2).sum()


@njit(cache=True, nogil=True)
def add_pair_squares(columns, squares):  # noqa: ANN001, ANN201  (p, n), adds to (n, n)
    """Add the squared differences of all pairs above the diagonal."""
    p, n = columns.shape
    for i in range(n):
        row = squares[i, i:]
        for k in range(0, p - 1, 2):  # two columns at once: half the traffic
            a, b = columns[k, i:], columns[k + 1, i:]
            x, y = a[0], b[0]
            for j in range(len(row)):
                row[j] += (a[j] - x) * (a[j] - x) + (b[j] - y) * (b[j] - y)
        if p % 2:
            a = columns[p - 1, i:]
            x = a[0]
            for j in range(len(row)):
                row[j] += (a[j] - x) * (a[j] - x)


@njit(cache=True, nogil=True)
def mirror(square):  # noqa: ANN001, ANN201  (n, n)
    """Copy the upper triangle to the lower one, tile by tile."""
    n = len(square)
    for top in range(0, n, TILE):
        for left in range(0, top + 1, TILE):
            for i in range(top, min(top + TILE, n)):
                for j in range(left, min(left + TILE, i)):
                    square[i, j] = square[j, i]


def minkowski(X: np.ndarray, Y: np.ndarray, p: float = 2.0) -> np.ndarray:
    r""":math:`(\sum_d |x_d - y_d|^p)^{1/p}`: L1 at p = 1, Euclidean at 2, the largest at infinity.

    [003, unit 1; 004, 6.1, where the indices of the printed formula are garbled]

    Examples
    --------
    >>> import numpy as np
    >>> a, b = np.array([[0.0, 0.0]]), np.array([[3.0, 4.0]])
    >>> [float(minkowski(a, b, p)[0, 0]) for p in (1, 2, np.inf)]
    [7.0, 5.0, 4.0]
    """
    if p < 1:
        raise ValueError(f"p={p} gives no distance (the triangle inequality fails): use p >= 1")
    return np.linalg.norm(X[:, None, :] - Y, ord=p, axis=2)


def hamming(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Share of the columns in which two rows differ; for categories, of any type.

    Examples
    --------
    >>> import numpy as np
    >>> hamming(np.array([["red", "round"]]), np.array([["red", "long"]])).tolist()
    [[0.5]]
    """
    return (X[:, None, :] != Y).mean(axis=2)


def jaccard(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """1 - (both) / (either) of what two rows of zeros and ones hold; 0 for two empty rows.

    Examples
    --------
    >>> import numpy as np
    >>> jaccard(np.array([[1, 1, 0]]), np.array([[0, 1, 1]])).round(3).tolist()
    [[0.667]]
    """
    A, B = (np.asarray(Z, bool).astype(np.float64) for Z in (X, Y))
    both = A @ B.T
    either = A.sum(axis=1)[:, None] + B.sum(axis=1) - both
    return 1 - np.divide(both, either, out=np.ones_like(both), where=either > 0)


def cosine_similarity(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Cosine of the angle between rows: 1 for the same direction, whatever the lengths.

    The notes call this a distance [003, 13.6]; `cosine_distance` is one minus it. A row of zeros
    has no direction, and similarity 0 to all.

    Examples
    --------
    >>> import numpy as np
    >>> cosine_similarity(np.array([[1.0, 0.0]]), np.array([[9.0, 0.0], [0.0, 2.0]])).tolist()
    [[1.0, 0.0]]
    """
    return np.clip(directions(X) @ directions(Y).T, -1, 1)


def cosine_distance(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """1 - cosine: half the squared Euclidean distance of the rows scaled to length 1."""
    return 1 - cosine_similarity(X, Y)


def directions(X: np.ndarray) -> np.ndarray:
    """Rows scaled to length 1; rows of zeros stay."""
    length = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(length > 0, length, 1)
