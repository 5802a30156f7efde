"""Trees of centroid and median linkage from coordinates: clusters are their centres.

As in `neighbours`, the nearest pair joins, and each cluster keeps a bound on the distance to its
nearest successor; but distances are found where they are asked for. Memory grows with the rows.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tenfold.cluster.hierarchy.chain import CENTROID, least_slot
from tenfold.cluster.hierarchy.columns import compact, squares_from


@njit(cache=True, nogil=True)
def nearest_successor(columns, i, m, away):  # noqa: ANN001, ANN201  (p, n), (n,) -> int, float
    """The slot after i whose centre is nearest; away is overwritten."""
    squares_from(columns, columns[:, i].copy(), i + 1, m, away)
    return least_slot(away, i + 1, m, i, np.inf)


@njit(cache=True, nogil=True)
def put_together(columns, x, y, share):  # noqa: ANN001, ANN201  (p, n)
    """Move the centre y to that of both; x goes infinitely far away."""
    for d in range(len(columns)):
        columns[d, y] += (columns[d, x] - columns[d, y]) * share
        columns[d, x] = np.inf


@njit(cache=True, nogil=True)
def tell_predecessors(away, x, y, other, bound, sure):  # noqa: ANN001, ANN201  five (n,)
    """Bounds of the slots before y, from their distances to the new centre there."""
    for i in range(y):
        if away[i] < bound[i]:
            other[i], bound[i], sure[i] = y, away[i], True
        elif other[i] == x or other[i] == y:
            sure[i] = False


@njit(cache=True, nogil=True)
def centre_joins(columns, linkage):  # noqa: ANN001, ANN201  (p, n) -> (n - 1, 2), (n - 1,)
    """Which clusters join at what squared height, nearest first; columns are used up.

    A cluster is named by its member with the highest number.
    """
    n = columns.shape[1]
    m, pairs, heights = n, np.empty((n - 1, 2), np.int64), np.empty(n - 1)
    name, size, away = np.arange(n), np.ones(n), np.empty(n)
    other, bound, sure = np.zeros(n, np.int64), np.empty(n), np.ones(n, np.bool_)
    for i in range(n):
        other[i], bound[i] = nearest_successor(columns, i, n, away)
    for k in range(n - 1):
        if 4 * (n - k) < 3 * m:
            kept, place = compact(columns, name, size, m)
            m = len(kept)
            other[:m], bound[:m], sure[:m] = place[other[kept]], bound[kept], sure[kept]
        x, height = least_slot(bound, 0, m, 0, np.inf)
        while not sure[x]:
            other[x], bound[x] = nearest_successor(columns, x, m, away)
            sure[x] = True
            x, height = least_slot(bound, 0, m, x, bound[x])
        y = other[x]
        pairs[k, 0], pairs[k, 1], heights[k] = name[x], name[y], height
        both = size[x] + size[y]
        put_together(columns, x, y, size[x] / both if linkage == CENTROID else 0.5)
        size[x], size[y], bound[x] = 0.0, both, np.inf
        squares_from(columns, columns[:, y].copy(), 0, y, away)
        tell_predecessors(away, x, y, other, bound, sure)
        other[y], bound[y] = nearest_successor(columns, y, m, away)
        sure[y] = True
    return pairs, heights
