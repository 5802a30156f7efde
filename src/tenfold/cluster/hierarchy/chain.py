"""Trees of complete, average and Ward linkage: the nearest-neighbour chain.

d(A ∪ B, C) follows from d(A, C), d(B, C) and d(A, B) alone (Lance and Williams). Two clusters that
are each other's nearest may join at once, whoever else is nearer to each other: for these linkages
no later cluster comes closer than they are. So a chain from any cluster to its nearest, to that
one's nearest and so on ends in a pair that joins, and goes on from where it stood. Every step is a
look along one row of the matrix.

The distances of a new cluster are written to its row alone: a column would lie in as many pages of
memory as there are rows. A row gets them when it is looked at.

Read in order: `nearest_slot`, `join` (the update), `catch_up` (what a row has missed), `shrink`
(room that joined clusters leave), `chain_joins`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

COMPLETE, AVERAGE, WARD, CENTROID, MEDIAN = range(5)
LOOK = 64  # entries of a row that are compared at once


@njit(cache=True, nogil=True)
def nearest_slot(row, gone, start, m, best, low):  # noqa: ANN001, ANN201  (m,), (m,) -> int, float
    """First slot of the least entry from `start` on, if it is below `low`, else `best` and `low`.

    Slots that are gone are infinitely far. Comparing many entries with the least so far is fast,
    and seldom is one of them less.
    """
    for first in range(start, m, LOOK):
        part, away = row[first : min(first + LOOK, m)], gone[first : min(first + LOOK, m)]
        less = 0
        for i in range(len(part)):
            less += part[i] + away[i] < low
        if less > 0:
            for i in range(len(part)):
                if part[i] + away[i] < low:
                    best, low = first + i, part[i] + away[i]
    return best, low


@njit(cache=True, nogil=True)
def least_slot(row, start, m, best, low):  # noqa: ANN001, ANN201  (m,) -> int, float
    """The same where none is gone."""
    for first in range(start, m, LOOK):
        part = row[first : min(first + LOOK, m)]
        less = 0
        for i in range(len(part)):
            less += part[i] < low
        if less > 0:
            for i in range(len(part)):
                if part[i] < low:
                    best, low = first + i, part[i]
    return best, low


@njit(cache=True, nogil=True, error_model="numpy")  # divisions side by side
def join(D, size, x, y, m, height, linkage):  # noqa: ANN001, ANN201  (m, m), (m,)
    """Put the union of the clusters x and y into slot y, with its distances in row y.

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
    size[x], size[y] = 0.0, n


@njit(cache=True, nogil=True)
def catch_up(D, x, births, since, now):  # noqa: ANN001, ANN201  (m, m), (n,)
    """Bring row x up to date with the clusters that were born since then and still live."""
    row = D[x]
    for t in range(since, now):
        c = births[t]
        if c >= 0:
            row[c] = D[c, x]


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
def rename(slots, many, place):  # noqa: ANN001, ANN201  (n,), (m,)
    """Where the first of these slots have gone; -1 is none."""
    for i in range(many):
        slots[i] = place[slots[i]] if slots[i] >= 0 else -1


@njit(cache=True, nogil=True)
def chain_joins(D, linkage):  # noqa: ANN001, ANN201  (n, n) -> (n - 1, 2), (n - 1,)
    """Which clusters join at what height, in the order of the chain; D is used up.

    A cluster is named by its member with the highest number. The diagonal of D is infinite.
    """
    n = m = len(D)
    pairs, heights = np.empty((n - 1, 2), np.int64), np.empty(n - 1)
    name, size, gone = np.arange(n), np.ones(n), np.zeros(n)
    chain, length = np.empty(n, np.int64), 0
    births, born, seen = np.empty(n, np.int64), np.full(n, -1), np.zeros(n, np.int64)
    for k in range(n - 1):
        if 2 * (n - k) < m:
            kept, place = kept_slots(size, m)
            shrink(D, kept)
            m = len(kept)
            name[:m], size[:m], gone[:m] = name[kept], size[kept], 0.0
            born[:m], seen[:m] = born[kept], seen[kept]
            rename(chain, length, place)
            rename(births, k, place)
        if length == 0:
            while gone[length] > 0:
                length += 1
            chain[0], length = length, 1
        while True:
            x = chain[length - 1]
            catch_up(D, x, births, seen[x], k)
            seen[x] = k
            before = chain[length - 2] if length > 1 else -1
            low = D[x, before] if length > 1 else np.inf
            y, height = nearest_slot(D[x], gone, 0, m, before, low)
            if y == before:  # on a tie too
                break
            chain[length] = y
            length += 1
        length -= 2
        catch_up(D, y, births, seen[y], k)
        x, y = min(x, y), max(x, y)
        pairs[k, 0], pairs[k, 1], heights[k] = name[x], name[y], height
        join(D, size, x, y, m, height, linkage)
        gone[x] = np.inf
        for slot in (x, y):
            if born[slot] >= 0:
                births[born[slot]] = -1
        births[k], born[y], seen[y] = y, k, k + 1
    return pairs, heights
