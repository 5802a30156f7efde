"""The linkage matrix of a hierarchical clustering, and its cuts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from tenfold.cluster._linkage_numba import (
    AVERAGE,
    CENTROID,
    COMPLETE,
    MEDIAN,
    WARD,
    centroid_linkage_vector,
    generic_linkage,
    mst_linkage,
    mst_linkage_vector,
    nn_chain_linkage,
    ward_linkage_vector,
    write_squared_distances,
)
from tenfold.math.distances import pairwise_distances, symmetrize

EUCLIDEAN_METRICS = {"euclidean", "l2"}
_LARGEST_VALUE = 1e140  # squares, and their sums over all rows, are finite
_MAX_COLUMNS_FOR_DIFFERENCES = 32  # columns up to which differences are as fast as products


def _check_magnitude(X: np.ndarray) -> None:
    """An error for rows whose squared distances are no numbers."""
    if not np.abs(X).max(initial=0.0) < _LARGEST_VALUE:
        raise ValueError(
            f"a number is NaN, infinite or above {_LARGEST_VALUE:g}, so that distances are no numbers: "
            "drop such rows, or scale the columns"
        )


def _distance_matrix(X: np.ndarray, metric: Any, params: dict[str, Any]) -> np.ndarray:
    """Distances of all pairs, ours to overwrite, symmetric and infinite on the diagonal."""
    plain = isinstance(metric, str) and metric in {*EUCLIDEAN_METRICS, "sqeuclidean"}
    if plain and X.shape[1] <= _MAX_COLUMNS_FOR_DIFFERENCES:
        D = np.empty((len(X), len(X)))
        _write_distances(np.ascontiguousarray(X.T), D, metric != "sqeuclidean")
        return D
    D = pairwise_distances(X, metric=metric, **params)
    D = np.array(D, np.float64, order="C", copy=D is X or D.dtype != np.float64)
    if not plain:
        if not D.max() < np.inf:
            raise ValueError(f"some distances are NaN or infinite (metric {metric!r})")
        symmetrize(D)
    np.fill_diagonal(D, np.inf)
    return D


@njit(cache=True, nogil=True)
def _write_distances(columns, D, root):  # noqa: ANN001, ANN202  (p, n), writes (n, n)
    """Euclidean distances, or their squares; a row gets its root while it is in the cache."""
    n = len(D)
    for i in range(n):
        write_squared_distances(columns, columns[:, i].copy(), i, n, D[i])
        part = D[i, i:]
        if root:
            for j in range(len(part)):
                part[j] = np.sqrt(part[j])
        part[0] = np.inf
    symmetrize(D)


_LINKAGE_CODES = {
    "complete": COMPLETE,
    "average": AVERAGE,
    "ward": WARD,
    "centroid": CENTROID,
    "median": MEDIAN,
}
SQUARED_LINKAGES = {"ward", "centroid", "median"}  # linkages of means, updated in squared distances
_MAX_COLUMNS_WITHOUT_MATRIX = 32  # columns up to which trees of means are grown from coordinates


def linkage_matrix(
    X: Any, linkage: str = "ward", metric: Any = "euclidean", **params: Any
) -> np.ndarray:
    """The tree that joining the two nearest clusters grows, as scipy's matrix (n - 1, 4).

    Start with each row as a cluster, join the two clusters at the least distance, and go on until
    one is left. [004, 6.3]

    Parameters
    ----------
    X : (n, p) array, or (n, n) array of distances
        The rows; distances for "precomputed", of which the upper triangle is read.
    linkage : {"single", "complete", "average", "centroid", "median", "ward"}
        Distance of two clusters: that of the nearest members, of the farthest members, the mean
        over all pairs, that of the means, that of the middles of what was joined, or the growth of
        the sum of squares.
    metric : str or callable
        Any of `tenfold.math.distances.pairwise_distances`; "euclidean" for "ward", and (or distances of
        Euclidean space, "precomputed") for "centroid" and "median".
    **params :
        Parameters of the metric.

    Examples
    --------
    The four points of the notes: 0, 1, 3, 7.

    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [3.0], [7.0]])
    >>> linkage_matrix(X, "single")[:, 2].tolist(), linkage_matrix(X, "complete")[:, 2].tolist()
    ([1.0, 2.0, 4.0], [1.0, 3.0, 7.0])
    """
    X = np.asarray(X, np.float64)
    if len(X) < 2:
        raise ValueError(f"a tree needs at least 2 rows, and there is {len(X)}")
    _check_magnitude(X)
    euclidean = isinstance(metric, str) and metric in EUCLIDEAN_METRICS
    if euclidean and linkage == "single":
        return build_linkage_matrix(*_take_root_of_heights(*mst_linkage_vector(X.T.copy())))
    if euclidean and linkage in SQUARED_LINKAGES and X.shape[1] <= _MAX_COLUMNS_WITHOUT_MATRIX:
        if linkage == "ward":
            return build_linkage_matrix(*_take_root_of_heights(*ward_linkage_vector(X.T.copy())))
        return build_linkage_matrix(
            *_take_root_of_heights(*centroid_linkage_vector(X.T.copy(), _LINKAGE_CODES[linkage])),
            sort=False,
        )
    D = _distance_matrix(
        X, "sqeuclidean" if euclidean and linkage in SQUARED_LINKAGES else metric, params
    )
    if linkage in SQUARED_LINKAGES and not euclidean:
        np.square(D, out=D)
    if linkage == "single":
        return build_linkage_matrix(*mst_linkage(D))
    grow = generic_linkage if linkage in {"centroid", "median"} else nn_chain_linkage
    pairs, heights = grow(D, _LINKAGE_CODES[linkage])
    found = (
        _take_root_of_heights(pairs, heights) if linkage in SQUARED_LINKAGES else (pairs, heights)
    )
    return build_linkage_matrix(*found, sort=grow is nn_chain_linkage)


def _take_root_of_heights(pairs: np.ndarray, squares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Joins with heights instead of their squares; rounding leaves none below zero."""
    return pairs, np.sqrt(np.maximum(squares, 0.0))


def build_linkage_matrix(
    pairs: np.ndarray, heights: np.ndarray, *, sort: bool = True
) -> np.ndarray:
    """The tree's matrix from joins that name clusters by one of their rows; low joins first."""
    if sort:
        order = np.argsort(heights, kind="stable")
        pairs, heights = pairs[order], heights[order]
    Z = np.empty((len(heights), 4))
    Z[:, 2] = heights
    _number_clusters(pairs, Z)
    return Z


@njit(cache=True, nogil=True)
def _number_clusters(pairs, Z):  # noqa: ANN001, ANN202  (n - 1, 2) -> writes (n - 1, 4)
    """Replace rows by the numbers of the clusters that they are in, and count members."""
    n = len(pairs) + 1
    above, size, ends = np.arange(2 * n - 1), np.ones(2 * n - 1), np.empty(2, np.int64)
    for t in range(n - 1):
        for side in range(2):
            top = pairs[t, side]
            while above[top] != top:
                above[top] = above[above[top]]
                top = above[top]
            ends[side] = top
        a, b = ends[0], ends[1]
        above[a] = above[b] = n + t
        size[n + t] = size[a] + size[b]
        Z[t, 0], Z[t, 1], Z[t, 3] = min(a, b), max(a, b), size[n + t]


def cut_tree(
    Z: np.ndarray, *, n_clusters: int | None = None, height: float | None = None
) -> np.ndarray:
    """Labels (n,) of the clusters of a tree, cut to a number of clusters or at a height.

    At a height, what has joined below it is together: clusters are at least that far apart. Where
    heights fall, as they may for centroids, what lies under a high join counts as high. Clusters
    are numbered by their first row. Cuts are nested. [004, 6.3]

    Parameters
    ----------
    Z : (n - 1, 4) array
        The tree.
    n_clusters : int, optional
        Number of clusters.
    height : float, optional
        Where to cut.

    Examples
    --------
    >>> import numpy as np
    >>> Z = linkage_matrix(np.array([[0.0], [1.0], [3.0], [7.0]]), "single")
    >>> cut_tree(Z, n_clusters=2).tolist(), cut_tree(Z, height=1.5).tolist()
    ([0, 0, 0, 1], [0, 0, 1, 2])
    """
    n = len(Z) + 1
    if (n_clusters is None) == (height is None):
        raise ValueError("say either n_clusters or height, and not both")
    children = Z[:, :2].astype(np.int64)
    if n_clusters is not None:
        if not 1 <= n_clusters <= n:
            raise ValueError(f"n_clusters={n_clusters} must lie between 1 and {n}, the rows")
        return flat_labels(children, np.arange(n - 1) < n - n_clusters, n)
    return flat_labels(children, subtree_heights(children, Z[:, 2]) < height, n)


@njit(cache=True, nogil=True)
def subtree_heights(children, heights):  # noqa: ANN001, ANN201  (n - 1, 2), (n - 1,) -> (n - 1,)
    """The greatest height in the part of the tree under each join."""
    n = len(heights) + 1
    highest = heights.copy()
    for t in range(n - 1):
        for side in range(2):
            child = children[t, side] - n
            if child >= 0:
                highest[t] = max(highest[t], highest[child])
    return highest


@njit(cache=True, nogil=True)
def flat_labels(children, joined, n):  # noqa: ANN001, ANN201  (t, 2), (t,) -> (n,)
    """Number of the cluster of each row when only some joins, with all below them, are made."""
    root = np.arange(n + len(children))
    for t in range(len(children) - 1, -1, -1):
        if joined[t]:
            root[children[t, 0]] = root[children[t, 1]] = root[n + t]
    number, labels, found = np.full(len(root), -1), np.empty(n, np.int64), 0
    for i in range(n):
        if number[root[i]] < 0:
            number[root[i]] = found
            found += 1
        labels[i] = number[root[i]]
    return labels
