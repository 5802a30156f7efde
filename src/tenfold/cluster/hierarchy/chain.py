"""Trees of complete, average and Ward linkage: the nearest-neighbour chain.

d(A ∪ B, C) follows from d(A, C), d(B, C) and d(A, B) alone (Lance and Williams). Two clusters that
are each other's nearest may join at once, whoever else is nearer to each other: for these linkages
no later cluster comes closer than they are. So a chain from any cluster to its nearest, to that
one's nearest and so on ends in a pair that joins, and goes on from where it stood. Every step is a
look along one row of the matrix.

Read in order: `nearest_slot`, `join` (the update), `shrink` (room that joined clusters leave),
`chain_joins`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

COMPLETE, AVERAGE, WARD, CENTROID, MEDIAN = range(5)
BLOCK = 128  # entries of a row that are compared at once


@njit(cache=True, nogil=True)
def nearest_slot(row, gone, start, m):  # noqa: ANN001, ANN201  (m,), (m,) -> int, float
    """First slot of the least entry from `start` on; slots that are gone are infinitely far.

    Comparing many entries with the least so far is fast, and seldom is one of them less.
    """
    best, low = start, np.inf
    for first in range(start, m, BLOCK):
        part, away = row[first : min(first + BLOCK, m)], gone[first : min(first + BLOCK, m)]
        less = 0
        for i in range(len(part)):
            less += part[i] + away[i] < low
        if less > 0:
            for i in range(len(part)):
                if part[i] + away[i] < low:
                    best, low = first + i, part[i] + away[i]
    return best, low


@njit(cache=True, nogil=True, error_model="numpy")  # divisions side by side
def join(D, size, x, y, m, height, linkage):  # noqa: ANN001, ANN201  (m, m), (m,)
    """Put the union of the clusters x and y into slot y, with its distances.

    Where theory says that it lies no closer than the nearer of the two, rounding must not either.
    """
    a, b, nx, ny = D[x], D[y], size[x], size[y]
    n = nx + ny
    if linkage == COMPLETE:
        for i in range(m):
            b[i] = max(a[i], b[i])
    elif linkage == AVERAGE:
        for i in range(m):
            b[i] = max((nx * a[i] + ny * b[i]) / n, min(a[i], b[i]))
    elif linkage == WARD:
        for i in range(m):
            both = (size[i] + nx) * a[i] + (size[i] + ny) * b[i] - size[i] * height
            b[i] = max(both / (size[i] + n), min(a[i], b[i]))
    else:  # distances of means, or of middles
        u, v = (nx / n, ny / n) if linkage == CENTROID else (0.5, 0.5)
        for i in range(m):
            b[i] = u * a[i] + v * b[i] - u * v * height
    b[y] = np.inf
    for i in range(m):
        if size[i] > 0:
            D[i, y] = b[i]
    size[x], size[y] = 0.0, n


@njit(cache=True, nogil=True)
def kept_slots(size, m):  # noqa: ANN001, ANN201  (m,) -> (alive,), (m,)
    """The slots in use, and where each of them goes when the others are left out."""
    kept, place = np.empty(m, np.int64), np.full(m, -1)
    alive = 0
    for i in range(m):
        if size[i] > 0:
            kept[alive], place[i] = i, alive
            alive += 1
    return kept[:alive], place


@njit(cache=True, nogil=True)
def shrink(D, kept):  # noqa: ANN001, ANN201  (m, m), (alive,)
    """Move the rows and columns that are kept to the front, in their order."""
    for i in range(len(kept)):
        old, new = D[kept[i]], D[i]
        for j in range(len(kept)):
            new[j] = old[kept[j]]


@njit(cache=True, nogil=True)
def chain_joins(D, linkage):  # noqa: ANN001, ANN201  (n, n) -> (n - 1, 2), (n - 1,)
    """Which clusters join at what height, in the order of the chain; D is used up.

    A cluster is named by its member with the highest number. The diagonal of D is infinite.
    """
    n = m = len(D)
    pairs, heights = np.empty((n - 1, 2), np.int64), np.empty(n - 1)
    name, size, gone = np.arange(n), np.ones(n), np.zeros(n)
    chain, length = np.empty(n, np.int64), 0
    for k in range(n - 1):
        if 3 * (n - k) < 2 * m:
            kept, place = kept_slots(size, m)
            shrink(D, kept)
            m = len(kept)
            name[:m], size[:m], gone[:m] = name[kept], size[kept], 0.0
            for i in range(length):
                chain[i] = place[chain[i]]
        if length == 0:
            while gone[length] > 0:
                length += 1
            chain[0], length = length, 1
        while True:
            x = chain[length - 1]
            y, height = nearest_slot(D[x], gone, 0, m)
            if length > 1 and D[x, chain[length - 2]] <= height:  # the one before, on a tie
                y = chain[length - 2]
                break
            chain[length] = y
            length += 1
        length -= 2
        x, y = min(x, y), max(x, y)
        pairs[k, 0], pairs[k, 1], heights[k] = name[x], name[y], height
        join(D, size, x, y, m, height, linkage)
        gone[x] = np.inf
    return pairs, heights
