"""Trees of single linkage: the edges of a shortest spanning tree, from short to long.

Prim's algorithm: what is joined grows by the row nearest to it. From coordinates it needs no matrix
of distances.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tenfold.cluster.hierarchy.chain import least_slot, nearest_slot
from tenfold.cluster.hierarchy.columns import squares_from


@njit(cache=True, nogil=True)
def spanning_joins(D):  # noqa: ANN001, ANN201  (n, n) -> (n - 1, 2), (n - 1,)
    """The edges of a shortest spanning tree, and their lengths."""
    n = len(D)
    edges, lengths = np.empty((n - 1, 2), np.int64), np.empty(n - 1)
    reach, joined, last = np.full(n, np.inf), np.zeros(n), 0
    for k in range(n - 1):
        joined[last] = np.inf
        row = D[last]
        for i in range(n):
            reach[i] = min(reach[i], row[i])
        edges[k, 0] = last
        last, lengths[k] = nearest_slot(reach, joined, 0, n, 0, np.inf)
        edges[k, 1] = last
    return edges, lengths


@njit(cache=True, nogil=True)
def spanning_squares(columns):  # noqa: ANN001, ANN201  (p, n) -> (n - 1, 2), (n - 1,)
    """The same from coordinates, used up here, for squared Euclidean distances."""
    n = columns.shape[1]
    edges, squares = np.empty((n - 1, 2), np.int64), np.empty(n - 1)
    reach, near = np.full(n, np.inf), np.empty(n)
    name = np.arange(n)
    slot, m = 0, n
    for k in range(n - 1):
        point = columns[:, slot].copy()
        edges[k, 0] = name[slot]
        m -= 1  # the last row takes the place of the one that has joined
        columns[:, slot], reach[slot], name[slot] = columns[:, m], reach[m], name[m]
        squares_from(columns, point, 0, m, near)
        for i in range(m):
            reach[i] = min(reach[i], near[i])
        slot, squares[k] = least_slot(reach, 0, m, 0, np.inf)
        edges[k, 1] = name[slot]
    return edges, squares
