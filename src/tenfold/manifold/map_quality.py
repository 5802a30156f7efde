"""How far neighbors in a map are neighbors in the data."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.math.distances import pairwise_distances
from tenfold.neighbors.nearest_neighbors import NearestNeighbors

_ROWS_AT_A_TIME = 512


def trustworthiness(
    X: Any, X_embedded: Any, *, n_neighbors: int = 5, metric: Any = "euclidean"
) -> float:
    r"""Trustworthiness of a map: 1 if all neighbors in it are neighbors in the data.

    .. math:: T(k) = 1 - \frac{2}{n k (2n - 3k - 1)} \sum_i \sum_{j \in N_i^k} \max(0, r(i, j) - k)

    :math:`N_i^k` are the k nearest points of i in the map, and r(i, j) is the rank of j among all
    rows by their distance from i. With the arguments exchanged it is the continuity of the map.

    Parameters
    ----------
    X : (n, p) array, or (n, n) array of distances if `metric` is "precomputed"
        The rows.
    X_embedded : (n, k) array
        Their points.
    n_neighbors : int
        k, less than half the rows.
    metric : str or callable
        Of the rows.

    Returns
    -------
    float between 0 and 1

    References
    ----------
    J. Venna and S. Kaski (2001), Neighborhood preservation in nonlinear projection methods.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(12.0).reshape(-1, 1)
    >>> trustworthiness(X, 2 * X)
    1.0
    """
    Y = np.asarray(X_embedded, np.float64)
    n, k = Y.shape[0], int(n_neighbors)
    if k >= n / 2:
        raise ValueError(f"n_neighbors ({k}) should be less than n_samples / 2 ({n / 2})")
    if not hasattr(X, "tocsr"):
        X = np.asarray(X)
        X = X if X.dtype.kind in "fOUST" else X.astype(np.float64)
    if X.shape[0] != n:
        raise ValueError(f"X has {X.shape[0]} rows, and the map {n} points")
    nearest = NearestNeighbors(n_neighbors=k).fit(Y).kneighbors(return_distance=False)
    excess = 0
    for first in range(0, n, _ROWS_AT_A_TIME):
        rows = np.arange(first, min(first + _ROWS_AT_A_TIME, n))
        precomputed = isinstance(metric, str) and metric == "precomputed"
        D = np.array(X[rows] if precomputed else pairwise_distances(X[rows], X, metric=metric))
        D[np.arange(len(rows)), rows] = np.inf
        order = np.argsort(D, axis=1, kind="stable")
        ranks = np.empty_like(order)
        np.put_along_axis(ranks, order, np.arange(1, n + 1)[None, :], axis=1)
        found = np.take_along_axis(ranks, nearest[rows], axis=1)
        excess += int(np.maximum(found - k, 0).sum())
    return float(1.0 - excess * (2.0 / (n * k * (2.0 * n - 3.0 * k - 1.0))))
