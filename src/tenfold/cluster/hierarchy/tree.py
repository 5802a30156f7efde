"""A tree of clusters from rows, its numbering, and its cuts.

The matrix Z of a tree is scipy's: row t joins the clusters Z[t, 0] and Z[t, 1] at the height
Z[t, 2] into cluster n + t of Z[t, 3] rows; the rows themselves are the clusters 0 to n - 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from tenfold.cluster.hierarchy.centres import centre_joins
from tenfold.cluster.hierarchy.chain import AVERAGE, CENTROID, COMPLETE, MEDIAN, WARD, chain_joins
from tenfold.cluster.hierarchy.neighbours import nearest_joins
from tenfold.cluster.hierarchy.pairs import EUCLIDEAN, pair_matrix, refuse_endless
from tenfold.cluster.hierarchy.spanning import spanning_joins, spanning_squares
from tenfold.cluster.hierarchy.ward import ward_joins

CODES = {
    "complete": COMPLETE,
    "average": AVERAGE,
    "ward": WARD,
    "centroid": CENTROID,
    "median": MEDIAN,
}
OF_SQUARES = {"ward", "centroid", "median"}  # linkages of means, updated in squared distances
WITHOUT_MATRIX = 32  # columns up to which trees of means are grown from coordinates


def tree(X: Any, linkage: str = "ward", metric: Any = "euclidean", **params: Any) -> np.ndarray:
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
        Any of `tenfold.maths.distances.distances`; "euclidean" for "ward", and (or distances of
        Euclidean space, "precomputed") for "centroid" and "median".
    **params :
        Parameters of the metric.

    Examples
    --------
    The four points of the notes: 0, 1, 3, 7.

    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [3.0], [7.0]])
    >>> tree(X, "single")[:, 2].tolist(), tree(X, "complete")[:, 2].tolist()
    ([1.0, 2.0, 4.0], [1.0, 3.0, 7.0])
    """
    X = np.asarray(X, np.float64)
    if len(X) < 2:
        raise ValueError(f"a tree needs at least 2 rows, and there is {len(X)}")
    refuse_endless(X)
    euclidean = isinstance(metric, str) and metric in EUCLIDEAN
    if euclidean and linkage == "single":
        return numbered(*rooted(*spanning_squares(X.T.copy())))
    if euclidean and linkage in OF_SQUARES and X.shape[1] <= WITHOUT_MATRIX:
        if linkage == "ward":
            return numbered(*rooted(*ward_joins(X.T.copy())))
        return numbered(*rooted(*centre_joins(X.T.copy(), CODES[linkage])), sort=False)
    D = pair_matrix(X, "sqeuclidean" if euclidean and linkage in OF_SQUARES else metric, params)
    if linkage in OF_SQUARES and not euclidean:
        np.square(D, out=D)
    if linkage == "single":
        return numbered(*spanning_joins(D))
    grow = nearest_joins if linkage in {"centroid", "median"} else chain_joins
    pairs, heights = grow(D, CODES[linkage])
    found = rooted(pairs, heights) if linkage in OF_SQUARES else (pairs, heights)
    return numbered(*found, sort=grow is chain_joins)


def rooted(pairs: np.ndarray, squares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Joins with heights instead of their squares; rounding leaves none below zero."""
    return pairs, np.sqrt(np.maximum(squares, 0.0))


def numbered(pairs: np.ndarray, heights: np.ndarray, *, sort: bool = True) -> np.ndarray:
    """The tree's matrix from joins that name clusters by one of their rows; low joins first."""
    if sort:
        order = np.argsort(heights, kind="stable")
        pairs, heights = pairs[order], heights[order]
    Z = np.empty((len(heights), 4))
    Z[:, 2] = heights
    number_joins(pairs, Z)
    return Z


@njit(cache=True, nogil=True)
def number_joins(pairs, Z):  # noqa: ANN001, ANN201  (n - 1, 2) -> writes (n - 1, 4)
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


def cut(Z: np.ndarray, *, n_clusters: int | None = None, height: float | None = None) -> np.ndarray:
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
    >>> Z = tree(np.array([[0.0], [1.0], [3.0], [7.0]]), "single")
    >>> cut(Z, n_clusters=2).tolist(), cut(Z, height=1.5).tolist()
    ([0, 0, 0, 1], [0, 0, 1, 2])
    """
    n = len(Z) + 1
    if (n_clusters is None) == (height is None):
        raise ValueError("say either n_clusters or height, and not both")
    children = Z[:, :2].astype(np.int64)
    if n_clusters is not None:
        if not 1 <= n_clusters <= n:
            raise ValueError(f"n_clusters={n_clusters} must lie between 1 and {n}, the rows")
        return labels_below(children, np.arange(n - 1) < n - n_clusters, n)
    return labels_below(children, tops(children, Z[:, 2]) < height, n)


@njit(cache=True, nogil=True)
def tops(children, heights):  # noqa: ANN001, ANN201  (n - 1, 2), (n - 1,) -> (n - 1,)
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
def labels_below(children, joined, n):  # noqa: ANN001, ANN201  (t, 2), (t,) -> (n,)
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
