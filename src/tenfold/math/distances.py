"""Distances and similarities between rows: to a few centers in blocks, and of all pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

_CANCELLATION_RATIO = {
    4: 1e-3,
    8: 1e-7,
}  # by bytes: ratio of squared distance to squared norms below which
# |x|^2 - 2 x.y + |y|^2 loses too many digits
_BLOCK_PRODUCTS = 2**16  # products of rows and centers in memory at once
_MAX_DIFFERENCE_COLUMNS = (
    32  # columns up to which differences are as fast as products; no sweep is recorded
)
_TILE_SIDE = 64  # of the blocks in which a matrix is mirrored


def nearest_centers(X: Any, centers: np.ndarray) -> np.ndarray:
    """Index of the nearest center of each row, the first one on a tie.

    Examples
    --------
    >>> import numpy as np
    >>> nearest_centers(np.array([[0.0], [1.0], [9.0]]), np.array([[1.0], [8.0]])).tolist()
    [0, 0, 1]
    """
    half = (0.5 * np.einsum("ij,ij->i", centers, centers)).astype(centers.dtype)
    labels = np.empty(X.shape[0], np.int32)
    step = max(_BLOCK_PRODUCTS // len(centers), 1024)
    best = np.empty(min(step, X.shape[0]), centers.dtype)
    space = np.empty((len(centers), step), centers.dtype) if X.shape[0] >= step else None
    for start in range(0, X.shape[0], step):
        part = labels[start : start + step]
        products = _center_products(X[start : start + step], centers, space)
        _argmin_distance(products, half, part, best[: len(part)])
    return labels


def _center_products(X: Any, centers: np.ndarray, space: np.ndarray | None) -> np.ndarray:
    """Products of all centers with all rows, (k, n), written to `space` if they fill it."""
    if not isinstance(X, np.ndarray):
        return np.ascontiguousarray((X @ centers.T).T)
    fits = space is not None and space.shape[1] == len(X)
    return np.matmul(centers, X.T, out=space if fits else None)


def squared_distances(X: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """Squared Euclidean distances (n_rows, n_centers), from differences where products cancel.

    Examples
    --------
    >>> import numpy as np
    >>> squared_distances(np.array([[3.0, 4.0]]), np.zeros((1, 2))).tolist()
    [[25.0]]
    """
    xx = np.einsum("ij,ij->i", X, X)[:, None]
    cc = np.einsum("ij,ij->i", centers, centers)
    squares = xx - 2 * (X @ centers.T) + cc
    close = squares < _CANCELLATION_RATIO[X.dtype.itemsize] * (xx + cc)
    for column in np.flatnonzero(close.any(axis=0)):
        rows = np.flatnonzero(close[:, column])
        difference = np.take(X, rows, axis=0) - centers[column]
        squares[rows, column] = np.einsum("ij,ij->i", difference, difference)
    return squares


def pairwise_distances(
    X: Any, Y: Any = None, metric: Any = "euclidean", **params: Any
) -> np.ndarray:
    """Distances of all rows of X to all rows of Y (of X without it), (n, m).

    Parameters
    ----------
    X, Y : (n, p) and (m, p) arrays
        The rows: numbers, or for "hamming" and callables objects of any type, such as text.
    metric : str or callable
        Any name that `sklearn.metrics.pairwise_distances` or `scipy.spatial.distance` knows, or
        `f(a, b)` of two rows, which are arrays of numbers, or tuples of objects. "precomputed"
        gives X back.
    **params :
        Parameters of the metric, such as `p` of "minkowski".

    Examples
    --------
    >>> import numpy as np
    >>> pairwise_distances(np.array([[0.0, 0.0], [3.0, 4.0]])).tolist()
    [[0.0, 5.0], [5.0, 0.0]]
    >>> pairwise_distances(np.array([["red", "round"], ["red", "long"]]), metric="hamming").tolist()
    [[0.0, 0.5], [0.5, 0.0]]
    """
    if isinstance(metric, str) and metric == "precomputed":
        return X
    if isinstance(X, np.ndarray) and X.dtype.kind in "OUST":
        return _object_distances(X, Y, metric, params)
    plain = isinstance(X, np.ndarray) and X.dtype.kind == "f"
    if plain and isinstance(metric, str) and metric in {"euclidean", "l2", "sqeuclidean"}:
        squares = pairwise_squared_distances(X) if Y is None else squared_distances(X, Y)
        return squares if metric == "sqeuclidean" else np.sqrt(squares, out=squares)
    from sklearn.metrics import pairwise_distances as sklearn_distances

    result = sklearn_distances(X, Y, metric=metric, **params)
    return result.astype(X.dtype, copy=False) if plain else result


def _object_distances(X: np.ndarray, Y: Any, metric: Any, params: dict[str, Any]) -> np.ndarray:
    """Distances of rows of objects; a callable gets each pair of rows once, without Y."""
    if isinstance(metric, str):
        if metric != "hamming":
            raise ValueError(
                f"metric={metric!r} needs numbers, but the rows hold {X.dtype}: take 'hamming', or "
                "a function f(a, b) of two rows"
            )
        return hamming_distances(X, X if Y is None else np.asarray(Y))
    rows = [tuple(row) for row in X.tolist()]
    if Y is not None:
        others = [tuple(row) for row in np.asarray(Y).tolist()]
        D = [[float(metric(a, b, **params)) for b in others] for a in rows]
        return np.array(D).reshape(len(rows), len(others))
    D = np.zeros((len(rows), len(rows)))
    for i, a in enumerate(rows):
        D[i, i:] = [float(metric(a, b, **params)) for b in rows[i:]]
    symmetrize(D)
    return D


def pairwise_squared_distances(X: np.ndarray) -> np.ndarray:
    """Squared Euclidean distances of all pairs of rows, (n, n), exactly symmetric."""
    if X.shape[1] > _MAX_DIFFERENCE_COLUMNS:
        squares = X @ X.T
        _distances_from_products(
            X, np.einsum("ij,ij->i", X, X), squares, _CANCELLATION_RATIO[X.dtype.itemsize]
        )
    else:
        squares = np.zeros((len(X), len(X)), X.dtype)
        _add_squared_differences(np.ascontiguousarray(X.T), squares)
    symmetrize(squares)
    return squares


@njit(cache=True, nogil=True)
def _distances_from_products(X, norms, products, close):  # noqa: ANN001, ANN202  (n, p), (n,), (n, n)
    """Squared distances from products, above the diagonal; from differences for close pairs."""
    for i in range(len(X)):
        row, others, n_close = products[i, i:], norms[i:], 0
        for j in range(len(row)):
            scale = norms[i] + others[j]
            row[j] = scale - 2 * row[j]
            n_close += row[j] < close * scale
        if n_close > 0:
            for j in range(len(row)):
                if row[j] < close * (norms[i] + others[j]):
                    row[j] = ((X[i] - X[i + j]) ** 2).sum()


@njit(cache=True, nogil=True)
def _add_squared_differences(columns, squares):  # noqa: ANN001, ANN202  (p, n), adds to (n, n)
    """Add the squared differences of all pairs above the diagonal."""
    p, n = columns.shape
    for i in range(n):
        row = squares[i, i:]
        for k in range(0, p - 1, 2):  # two columns at once: half the memory traffic
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
def symmetrize(square):  # noqa: ANN001, ANN201  (n, n)
    """Copy the upper triangle to the lower one, block by block."""
    n = len(square)
    for top in range(0, n, _TILE_SIDE):
        for left in range(0, top + 1, _TILE_SIDE):
            for i in range(top, min(top + _TILE_SIDE, n)):
                for j in range(left, min(left + _TILE_SIDE, i)):
                    square[i, j] = square[j, i]


def minkowski_distances(X: np.ndarray, Y: np.ndarray, p: float = 2.0) -> np.ndarray:
    r""":math:`(\sum_d |x_d - y_d|^p)^{1/p}`: L1 at p = 1, Euclidean at 2, the largest at infinity.

    Examples
    --------
    >>> import numpy as np
    >>> a, b = np.array([[0.0, 0.0]]), np.array([[3.0, 4.0]])
    >>> [float(minkowski_distances(a, b, p)[0, 0]) for p in (1, 2, np.inf)]
    [7.0, 5.0, 4.0]
    """
    if p < 1:
        raise ValueError(f"p={p} gives no distance (the triangle inequality fails): use p >= 1")
    return np.linalg.norm(X[:, None, :] - Y, ord=p, axis=2)


def hamming_distances(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Share of the columns in which two rows differ; for categories, of any type.

    Examples
    --------
    >>> import numpy as np
    >>> hamming_distances(np.array([["red", "round"]]), np.array([["red", "long"]])).tolist()
    [[0.5]]
    """
    different = np.zeros((len(X), len(Y)))
    for a, b in zip(X.T, Y.T, strict=True):
        different += a[:, None] != b
    return different / X.shape[1]


def jaccard_distances(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """One minus intersection over union of the sets that rows of zeros and ones stand for.

    Two empty sets have distance 0.

    Examples
    --------
    >>> import numpy as np
    >>> jaccard_distances(np.array([[1, 1, 0]]), np.array([[0, 1, 1]])).round(3).tolist()
    [[0.667]]
    """
    A, B = (np.asarray(Z, bool).astype(np.float64) for Z in (X, Y))
    intersection = A @ B.T
    union = A.sum(axis=1)[:, None] + B.sum(axis=1) - intersection
    return 1 - np.divide(intersection, union, out=np.ones_like(intersection), where=union > 0)


def cosine_similarities(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Cosine of the angle between rows: 1 for the same direction, whatever the lengths.

    A row of zeros has no direction, and similarity 0 to all.

    Examples
    --------
    >>> import numpy as np
    >>> cosine_similarities(np.array([[1.0, 0.0]]), np.array([[9.0, 0.0], [0.0, 2.0]])).tolist()
    [[1.0, 0.0]]
    """
    return np.clip(normalize_rows(X) @ normalize_rows(Y).T, -1, 1)


def cosine_distances(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """1 - cosine: half the squared Euclidean distance of the rows scaled to length 1."""
    return 1 - cosine_similarities(X, Y)


def normalize_rows(X: np.ndarray) -> np.ndarray:
    """Rows scaled to length 1; rows of zeros stay."""
    length = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(length > 0, length, 1)


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
    ranges = _column_ranges(np.concatenate([X, Y])) if ranges is None else np.asarray(ranges)
    total, count = np.zeros((len(X), len(Y))), np.zeros((len(X), len(Y)))
    for d in range(X.shape[1]):
        distance = np.abs(X[:, d, None] - Y[:, d])
        observed = ~np.isnan(distance)
        scale = ranges[d] if ranges[d] > 0 else 1.0
        distance = distance > 0 if d in categorical else distance / scale
        total += np.where(observed, distance, 0.0)
        count += observed
    return np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)


def _column_ranges(X: np.ndarray) -> np.ndarray:
    """Greatest less least value of each column, NaN left out; 0 where there is no value."""
    low = np.where(np.isnan(X), np.inf, X).min(axis=0)
    high = np.where(np.isnan(X), -np.inf, X).max(axis=0)
    return np.maximum(high - low, 0.0)


@njit(cache=True, nogil=True)
def _argmin_distance(products, half_norms, label, best):  # noqa: ANN001, ANN202  (k, n), (k,), (n,), (n,)
    """Number of the center with the least |c|^2/2 - c.x for each column; the first one on a tie."""
    k, n = products.shape
    for i in range(n):
        best[i] = half_norms[0] - products[0, i]
        label[i] = 0
    for j in range(1, k):
        half = half_norms[j]
        for i in range(n):
            distance = half - products[j, i]
            closer = distance < best[i]
            best[i] = distance if closer else best[i]
            label[i] = j if closer else label[i]


@njit(cache=True, nogil=True)
def squared_distances_to_assigned(X, label, centers):  # noqa: ANN001, ANN201  -> (n,)
    """Squared distance of each row to the center with its label, from differences, in float64."""
    n, d = X.shape
    squares = np.empty(n)
    for i in range(n):
        c = label[i]
        odd = even = 0.0
        for j in range(0, d - 1, 2):  # two sums: independent additions
            first = np.float64(X[i, j]) - np.float64(centers[c, j])
            second = np.float64(X[i, j + 1]) - np.float64(centers[c, j + 1])
            even += first * first
            odd += second * second
        if d % 2:
            last = np.float64(X[i, d - 1]) - np.float64(centers[c, d - 1])
            even += last * last
        squares[i] = even + odd
    return squares
