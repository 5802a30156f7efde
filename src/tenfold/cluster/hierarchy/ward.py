"""The tree of Ward's linkage from coordinates: the chain with centres instead of a matrix.

Two clusters lie at 2 n m / (n + m) times the squared distance of their means, by which the sum of
squares grows, twice, if they join. Memory grows with the rows alone.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tenfold.cluster.hierarchy.chain import nearest_slot, rename
from tenfold.cluster.hierarchy.columns import compact, squares_from


@njit(cache=True, nogil=True, error_model="numpy")  # divisions side by side
def ward_squares(columns, size, x, m, out):  # noqa: ANN001, ANN201  (p, n), (n,) -> writes (m,)
    """Squared Ward distances of cluster x to the first m clusters; to itself it is infinite."""
    squares_from(columns, columns[:, x].copy(), 0, m, out)
    mine = size[x]
    for i in range(m):
        out[i] *= 2 * mine * size[i] / (mine + size[i])
    out[x] = np.inf


@njit(cache=True, nogil=True)
def ward_joins(columns):  # noqa: ANN001, ANN201  (p, n) -> (n - 1, 2), (n - 1,)
    """Which clusters join at what squared height, in the order of the chain; columns are used up.

    A cluster is named by its member with the highest number.
    """
    p, n = columns.shape
    pairs, heights = np.empty((n - 1, 2), np.int64), np.empty(n - 1)
    name, size, gone, away = np.arange(n), np.ones(n), np.zeros(n), np.empty(n)
    chain, length, m = np.empty(n, np.int64), 0, n
    for k in range(n - 1):
        if 4 * (n - k) < 3 * m:
            kept, place = compact(columns, name, size, m)
            m = len(kept)
            gone[:m] = 0.0
            rename(chain, length, place)
        if length == 0:
            while gone[length] > 0:
                length += 1
            chain[0], length = length, 1
        while True:
            x = chain[length - 1]
            ward_squares(columns, size, x, m, away)
            before = chain[length - 2] if length > 1 else -1
            low = away[before] if length > 1 else np.inf
            y, height = nearest_slot(away, gone, 0, m, before, low)
            if y == before:  # on a tie too
                break
            chain[length] = y
            length += 1
        length -= 2
        x, y = min(x, y), max(x, y)
        pairs[k, 0], pairs[k, 1], heights[k] = name[x], name[y], height
        both = size[x] + size[y]
        for d in range(p):
            columns[d, y] += (columns[d, x] - columns[d, y]) * (size[x] / both)
        size[x], size[y], gone[x] = 0.0, both, np.inf
    return pairs, heights
