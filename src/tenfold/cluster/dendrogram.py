"""The linkage matrix of a hierarchical clustering, and its cuts.

A linkage matrix Z is scipy's: row t merges the clusters Z[t, 0] and Z[t, 1] at the height Z[t, 2]
into cluster n + t of Z[t, 3] rows; the rows themselves are the clusters 0 to n - 1.
"""

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
# Columns up to which distances from differences are as fast as from products; not swept.
_MAX_COLUMNS_FOR_DIFFERENCES = 32


def _check_magnitude(X: np.ndarray) -> None:
    """Raise an error if squared distances would overflow."""
    if not np.abs(X).max(initial=0.0) < _LARGEST_VALUE:
        raise ValueError(
            f"a value is NaN, infinite or above {_LARGEST_VALUE:g}, so that squared distances "
            "overflow: drop such rows, or scale the columns"
        )


def _distance_matrix(X: np.ndarray, metric: Any, params: dict[str, Any]) -> np.ndarray:
    """Distances of all pairs in a new array, symmetric and infinite on the diagonal."""
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
    """Write Euclidean distances (`root`) or their squares; roots while a row is in the cache."""
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
# Columns up to which linkages of means compute distances from coordinates instead of a matrix,
# which saves memory; not swept.
_MAX_COLUMNS_WITHOUT_MATRIX = 32


def linkage_matrix(
    X: Any, linkage: str = "ward", metric: Any = "euclidean", **params: Any
) -> np.ndarray:
    """Linkage matrix of agglomerative clustering, (n_samples - 1, 4), as in scipy.

    Start with each row as a cluster, merge the two clusters at the least distance, and repeat until
    one is left.

    Parameters
    ----------
    X : (n_samples, n_features) array, or (n_samples, n_samples) array of distances
        The rows; distances for "precomputed", of which the upper triangle is read.
    linkage : {"single", "complete", "average", "centroid", "median", "ward"}
        Distance of two clusters: of the nearest members, of the farthest members, the mean over
        all pairs, of the means, of the midpoints of what was merged, or the increase of the sum of
        squares.
    metric : str or callable
        Any of `tenfold.math.distances.pairwise_distances`; "euclidean" for "ward", and "euclidean"
        or "precomputed" Euclidean distances for "centroid" and "median".
    **params :
        Parameters of the metric.

    See Also
    --------
    cut_tree : Flat clusters of a linkage matrix.
    AgglomerativeClustering : The estimator.

    References
    ----------
    D. Müllner (2011), Modern hierarchical, agglomerative clustering algorithms.

    Examples
    --------
    Four points on a line:

    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [3.0], [7.0]])
    >>> linkage_matrix(X, "single")[:, 2].tolist(), linkage_matrix(X, "complete")[:, 2].tolist()
    ([1.0, 2.0, 4.0], [1.0, 3.0, 7.0])
    """
    X = np.asarray(X, np.float64)
    if len(X) < 2:
        raise ValueError(f"hierarchical clustering needs at least 2 rows, not {len(X)}")
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
    link = generic_linkage if linkage in {"centroid", "median"} else nn_chain_linkage
    pairs, heights = link(D, _LINKAGE_CODES[linkage])
    merges = (
        _take_root_of_heights(pairs, heights) if linkage in SQUARED_LINKAGES else (pairs, heights)
    )
    return build_linkage_matrix(*merges, sort=link is nn_chain_linkage)


def _take_root_of_heights(pairs: np.ndarray, squares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Merges with heights instead of their squares; negative ones are rounding errors."""
    return pairs, np.sqrt(np.maximum(squares, 0.0))


def build_linkage_matrix(
    pairs: np.ndarray, heights: np.ndarray, *, sort: bool = True
) -> np.ndarray:
    """Linkage matrix from merges that name clusters by one of their rows, in order of height."""
    if sort:
        order = np.argsort(heights, kind="stable")
        pairs, heights = pairs[order], heights[order]
    Z = np.empty((len(heights), 4))
    Z[:, 2] = heights
    _number_clusters(pairs, Z)
    return Z


@njit(cache=True, nogil=True)
def _number_clusters(pairs, Z):  # noqa: ANN001, ANN202  (n - 1, 2) -> writes (n - 1, 4)
    """Replace rows by the numbers of their clusters (union-find), and count members."""
    n = len(pairs) + 1
    parent, size, roots = np.arange(2 * n - 1), np.ones(2 * n - 1), np.empty(2, np.int64)
    for t in range(n - 1):
        for side in range(2):
            root = pairs[t, side]
            while parent[root] != root:
                parent[root] = parent[parent[root]]
                root = parent[root]
            roots[side] = root
        a, b = roots[0], roots[1]
        parent[a] = parent[b] = n + t
        size[n + t] = size[a] + size[b]
        Z[t, 0], Z[t, 1], Z[t, 3] = min(a, b), max(a, b), size[n + t]


def cut_tree(
    Z: np.ndarray, *, n_clusters: int | None = None, height: float | None = None
) -> np.ndarray:
    """Labels (n_samples,) of the flat clusters at a number of clusters or at a height.

    At a height, all merges below it are made: clusters are at least that far apart. Where heights
    fall, as they may for centroids, a merge counts with the greatest height of its subtree.
    Clusters are numbered by their first row. Cuts are nested.

    Parameters
    ----------
    Z : (n_samples - 1, 4) array
        Linkage matrix.
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
        raise ValueError("give either n_clusters or height, and not both")
    children = Z[:, :2].astype(np.int64)
    if n_clusters is not None:
        if not 1 <= n_clusters <= n:
            raise ValueError(f"n_clusters={n_clusters} must lie between 1 and {n}, the rows")
        return flat_labels(children, np.arange(n - 1) < n - n_clusters, n)
    return flat_labels(children, subtree_heights(children, Z[:, 2]) < height, n)


@njit(cache=True, nogil=True)
def subtree_heights(children, heights):  # noqa: ANN001, ANN201  (n - 1, 2), (n - 1,) -> (n - 1,)
    """The greatest height in the subtree of each merge."""
    n = len(heights) + 1
    highest = heights.copy()
    for t in range(n - 1):
        for side in range(2):
            child = children[t, side] - n
            if child >= 0:
                highest[t] = max(highest[t], highest[child])
    return highest


@njit(cache=True, nogil=True)
def flat_labels(children, made, n):  # noqa: ANN001, ANN201  (t, 2), (t,) -> (n,)
    """Labels of the rows if only the merges `made`, a set closed under subtrees, are made."""
    root = np.arange(n + len(children))
    for t in range(len(children) - 1, -1, -1):
        if made[t]:
            root[children[t, 0]] = root[children[t, 1]] = root[n + t]
    number, labels, count = np.full(len(root), -1), np.empty(n, np.int64), 0
    for i in range(n):
        if number[root[i]] < 0:
            number[root[i]] = count
            count += 1
        labels[i] = number[root[i]]
    return labels
