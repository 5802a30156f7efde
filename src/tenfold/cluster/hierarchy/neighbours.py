"""Trees of centroid and median linkage, whose heights may fall: always the nearest pair joins.

The centre of two clusters may lie closer to a third than they lay to each other, so a pair may not
join before its turn. Each cluster keeps a bound on the distance to its nearest successor; the least
bound is looked at first, and put right if it was only a bound.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tenfold.cluster.hierarchy.chain import join, kept_slots, nearest_slot, shrink


@njit(cache=True, nogil=True)
def nearest_joins(D, linkage):  # noqa: ANN001, ANN201  (n, n) -> (n - 1, 2), (n - 1,)
    """Which clusters join at what height, nearest first; D is used up.

    A cluster is named by its member with the highest number. The diagonal of D is infinite.
    """
    n = m = len(D)
    pairs, heights = np.empty((n - 1, 2), np.int64), np.empty(n - 1)
    name, size, gone = np.arange(n), np.ones(n), np.zeros(n)
    other, bound = np.zeros(n, np.int64), np.full(n, np.inf)
    for i in range(n - 1):
        other[i], bound[i] = nearest_slot(D[i], gone, i + 1, n, i, np.inf)
    for k in range(n - 1):
        if 3 * (n - k) < 2 * m:
            kept, place = kept_slots(size, m)
            shrink(D, kept)
            m = len(kept)
            name[:m], size[:m], gone[:m] = name[kept], size[kept], 0.0
            other[:m], bound[:m] = place[other[kept]], bound[kept]
        x, height = nearest_slot(bound, gone, 0, m, 0, np.inf)
        while D[x, other[x]] != height:
            other[x], bound[x] = nearest_slot(D[x], gone, x + 1, m, x, np.inf)
            x, height = nearest_slot(bound, gone, 0, m, 0, np.inf)
        y = other[x]
        pairs[k, 0], pairs[k, 1], heights[k] = name[x], name[y], height
        join(D, size, x, y, m, height, linkage)
        for i in range(m):
            D[i, y] = D[y, i]
        gone[x] = np.inf
        for i in range(y):
            if other[i] == x:
                other[i] = y
            if D[y, i] < bound[i]:
                other[i], bound[i] = y, D[y, i]
        if y < m - 1:
            other[y], bound[y] = nearest_slot(D[y], gone, y + 1, m, y, np.inf)
        else:
            bound[y] = np.inf
    return pairs, heights
