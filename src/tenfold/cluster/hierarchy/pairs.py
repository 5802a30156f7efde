"""Distances of all pairs of rows, as the chain takes them: symmetric, infinite on the diagonal."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from tenfold.cluster.hierarchy.columns import squares_from
from tenfold.maths.distances import distances, mirror

EUCLIDEAN = {"euclidean", "l2"}
LARGEST = 1e140  # squares, and their sums over all rows, are finite
NARROW = 32  # columns up to which differences are as fast as products


def refuse_endless(X: np.ndarray) -> None:
    """An error for rows whose squared distances are no numbers."""
    if not np.abs(X).max(initial=0.0) < LARGEST:
        raise ValueError(
            f"a number is NaN, infinite or above {LARGEST:g}, so that distances are no numbers: "
            "drop such rows, or scale the columns"
        )


def pair_matrix(X: np.ndarray, metric: Any, params: dict[str, Any]) -> np.ndarray:
    """Distances of all pairs, ours to overwrite, symmetric and infinite on the diagonal."""
    plain = isinstance(metric, str) and metric in {*EUCLIDEAN, "sqeuclidean"}
    if plain and X.shape[1] <= NARROW:
        D = np.empty((len(X), len(X)))
        write_pairs(np.ascontiguousarray(X.T), D, metric != "sqeuclidean")
        return D
    D = distances(X, metric=metric, **params)
    D = np.array(D, np.float64, order="C", copy=D is X or D.dtype != np.float64)
    if not plain:
        if not D.max() < np.inf:
            raise ValueError(f"some distances are NaN or infinite (metric {metric!r})")
        mirror(D)
    np.fill_diagonal(D, np.inf)
    return D


@njit(cache=True, nogil=True)
def write_pairs(columns, D, root):  # noqa: ANN001, ANN201  (p, n), writes (n, n)
    """Euclidean distances, or their squares; a row gets its root while it is in the cache."""
    n = len(D)
    for i in range(n):
        squares_from(columns, columns[:, i].copy(), i, n, D[i])
        part = D[i, i:]
        if root:
            for j in range(len(part)):
                part[j] = np.sqrt(part[j])
        part[0] = np.inf
    mirror(D)
