"""Compiled linkage algorithms, from a distance matrix or (names in `_vector`) from coordinates.

    nn_chain_linkage, ward_linkage_vector       nearest-neighbor chain (complete, average, Ward)
    generic_linkage, centroid_linkage_vector    nearest pair first (centroid, median)
    mst_linkage, mst_linkage_vector             minimum spanning tree (single)

All return merges: pairs of clusters, each named by its member with the highest number (for single
linkage by any member), and the heights of the merges. A slot is a row of the distance matrix, or a
column of coordinates, that holds one active cluster. The algorithms from coordinates need memory in
proportion to the rows alone.

References
----------
F. Murtagh (1983), A survey of recent advances in hierarchical clustering algorithms.

D. Müllner (2011), Modern hierarchical, agglomerative clustering algorithms.
"""

from __future__ import annotations

import numpy as np
from numba import njit

COMPLETE, AVERAGE, WARD, CENTROID, MEDIAN = range(5)
_SCAN_BLOCK = 64  # entries of a row that are compared at once; not swept


@njit(cache=True, nogil=True)
def _argmin_active_slot(row, removed, start, m, best, low):
    """First slot of the least entry from `start` on, if it is below `low`, else `best` and `low`.

    `removed` is infinite for removed slots and zero for others. A block is searched only if one of
    its entries is less than the least so far, which is rare.
    """
    for first in range(start, m, _SCAN_BLOCK):
        part, away = (
            row[first : min(first + _SCAN_BLOCK, m)],
            removed[first : min(first + _SCAN_BLOCK, m)],
        )
        less = 0
        for i in range(len(part)):
            less += part[i] + away[i] < low
        if less > 0:
            for i in range(len(part)):
                if part[i] + away[i] < low:
                    best, low = first + i, part[i] + away[i]
    return best, low


@njit(cache=True, nogil=True)
def _argmin_slot(row, start, m, best, low):
    """`_argmin_active_slot` for rows without removed slots."""
    for first in range(start, m, _SCAN_BLOCK):
        part = row[first : min(first + _SCAN_BLOCK, m)]
        less = 0
        for i in range(len(part)):
            less += part[i] < low
        if less > 0:
            for i in range(len(part)):
                if part[i] < low:
                    best, low = first + i, part[i]
    return best, low


@njit(cache=True, nogil=True, error_model="numpy")  # so that divisions vectorize
def _lance_williams_update(D, size, x, y, m, height, linkage):
    """Put the union of the clusters x and y into slot y, with its distances in row y.

    d(A ∪ B, C) follows from d(A, C), d(B, C) and d(A, B) alone. For complete, average and Ward
    linkage it is at least the smaller of the first two; max() ensures this in spite of rounding.

    References
    ----------
    G. N. Lance and W. T. Williams (1967), A general theory of classificatory sorting strategies.
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
    else:  # centroid, median
        u, v = (nx / n, ny / n) if linkage == CENTROID else (0.5, 0.5)
        for i in range(m):
            b[i] = u * a[i] + v * b[i] - u * v * height
    b[y] = np.inf
    size[x], size[y] = 0.0, n


@njit(cache=True, nogil=True)
def _refresh_row(D, x, formed, since, now):
    """Update row x with the clusters that were formed in steps `since` to `now` and still exist."""
    row = D[x]
    for t in range(since, now):
        c = formed[t]
        if c >= 0:
            row[c] = D[c, x]


@njit(cache=True, nogil=True)
def _active_slots(size, m):
    """The active slots, and the new slot of each when the others are dropped (-1: dropped)."""
    active, new_slot = np.empty(m, np.int64), np.full(m, -1)
    alive = 0
    for i in range(m):
        if size[i] > 0:
            active[alive], new_slot[i] = i, alive
            alive += 1
    return active[:alive], new_slot


@njit(cache=True, nogil=True)
def _compact_matrix(D, active):
    """Move the active rows and columns to the front, in their order."""
    for i in range(len(active)):
        old, new = D[active[i]], D[i]
        for j in range(len(active)):
            new[j] = old[active[j]]


@njit(cache=True, nogil=True)
def _relabel_slots(slots, count, new_slot):
    """Replace the first `count` slots by their new slots; -1 stays."""
    for i in range(count):
        slots[i] = new_slot[slots[i]] if slots[i] >= 0 else -1


@njit(cache=True, nogil=True)
def nn_chain_linkage(D, linkage):
    """Merges in the order of the chain; D is overwritten, its diagonal is infinite.

    Two clusters that are each other's nearest neighbors may merge at once: for reducible linkages
    no later cluster comes closer than they are. A chain from any cluster to its nearest, to that
    one's nearest and so on ends in such a pair; after the merge it continues from what is left.

    The distances of a new cluster are written to its row only, since a column lies in as many
    pages of memory as there are rows. `_refresh_row` updates another row before it is searched.
    """
    n = m = len(D)
    pairs, heights = np.empty((n - 1, 2), np.int64), np.empty(n - 1)
    name, size, removed = np.arange(n), np.ones(n), np.zeros(n)
    chain, length = np.empty(n, np.int64), 0
    formed, formed_at, updated_at = np.empty(n, np.int64), np.full(n, -1), np.zeros(n, np.int64)
    for k in range(n - 1):
        if 2 * (n - k) < m:
            active, new_slot = _active_slots(size, m)
            _compact_matrix(D, active)
            m = len(active)
            name[:m], size[:m], removed[:m] = name[active], size[active], 0.0
            formed_at[:m], updated_at[:m] = formed_at[active], updated_at[active]
            _relabel_slots(chain, length, new_slot)
            _relabel_slots(formed, k, new_slot)
        if length == 0:
            while removed[length] > 0:
                length += 1
            chain[0], length = length, 1
        while True:
            x = chain[length - 1]
            _refresh_row(D, x, formed, updated_at[x], k)
            updated_at[x] = k
            before = chain[length - 2] if length > 1 else -1
            low = D[x, before] if length > 1 else np.inf
            y, height = _argmin_active_slot(D[x], removed, 0, m, before, low)
            if y == before:  # on a tie too
                break
            chain[length] = y
            length += 1
        length -= 2
        _refresh_row(D, y, formed, updated_at[y], k)
        x, y = min(x, y), max(x, y)
        pairs[k, 0], pairs[k, 1], heights[k] = name[x], name[y], height
        _lance_williams_update(D, size, x, y, m, height, linkage)
        removed[x] = np.inf
        for slot in (x, y):
            if formed_at[slot] >= 0:
                formed[formed_at[slot]] = -1
        formed[k], formed_at[y], updated_at[y] = y, k, k + 1
    return pairs, heights


_DISTANCE_BLOCK = 128  # rows whose distances are found at once


@njit(cache=True, nogil=True)
def write_squared_distances(columns, point, start, m, out):
    """Write squared distances of the columns from `start` to m to a point, in blocks."""
    p = len(columns)
    for first in range(start, m, _DISTANCE_BLOCK):
        end = min(first + _DISTANCE_BLOCK, m)
        part = out[first:end]
        part[:] = 0.0
        for d in range(0, p - 1, 2):  # two coordinates at once: half the memory traffic
            a, b, x, y = columns[d, first:end], columns[d + 1, first:end], point[d], point[d + 1]
            for i in range(len(part)):
                part[i] += (a[i] - x) * (a[i] - x) + (b[i] - y) * (b[i] - y)
        if p % 2:
            a, x = columns[p - 1, first:end], point[p - 1]
            for i in range(len(part)):
                part[i] += (a[i] - x) * (a[i] - x)


@njit(cache=True, nogil=True)
def _compact_columns(columns, name, size, m):
    """Move the active clusters to the front; their old slots, and the new slot of each slot."""
    active, new_slot = _active_slots(size, m)
    alive = len(active)
    for d in range(len(columns)):
        column = columns[d]
        for i in range(alive):  # array expressions take seconds to compile
            column[i] = column[active[i]]
    for i in range(alive):
        name[i], size[i] = name[active[i]], size[active[i]]
    return active, new_slot


@njit(cache=True, nogil=True, error_model="numpy")  # so that divisions vectorize
def _ward_distances(columns, size, x, m, out):
    """Squared Ward distances 2 n m / (n + m) |mean - mean'|^2 of cluster x; infinite to itself."""
    write_squared_distances(columns, columns[:, x].copy(), 0, m, out)
    mine = size[x]
    for i in range(m):
        out[i] *= 2 * mine * size[i] / (mine + size[i])
    out[x] = np.inf


@njit(cache=True, nogil=True)
def ward_linkage_vector(columns):
    """Merges of Ward linkage with squared heights, in the order of the chain.

    Clusters are their means, in `columns`, which are overwritten.
    """
    p, n = columns.shape
    pairs, heights = np.empty((n - 1, 2), np.int64), np.empty(n - 1)
    name, size, removed, away = np.arange(n), np.ones(n), np.zeros(n), np.empty(n)
    chain, length, m = np.empty(n, np.int64), 0, n
    for k in range(n - 1):
        if 4 * (n - k) < 3 * m:
            active, new_slot = _compact_columns(columns, name, size, m)
            m = len(active)
            removed[:m] = 0.0
            _relabel_slots(chain, length, new_slot)
        if length == 0:
            while removed[length] > 0:
                length += 1
            chain[0], length = length, 1
        while True:
            x = chain[length - 1]
            _ward_distances(columns, size, x, m, away)
            before = chain[length - 2] if length > 1 else -1
            low = away[before] if length > 1 else np.inf
            y, height = _argmin_active_slot(away, removed, 0, m, before, low)
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
        size[x], size[y], removed[x] = 0.0, both, np.inf
    return pairs, heights


@njit(cache=True, nogil=True)
def _nearest_successor(columns, i, m, away):
    """The slot after i with the nearest centroid; `away` is overwritten."""
    write_squared_distances(columns, columns[:, i].copy(), i + 1, m, away)
    return _argmin_slot(away, i + 1, m, i, np.inf)


@njit(cache=True, nogil=True)
def _merge_centroids(columns, x, y, share):
    """Move centroid y to that of the union; x becomes infinite."""
    for d in range(len(columns)):
        columns[d, y] += (columns[d, x] - columns[d, y]) * share
        columns[d, x] = np.inf


@njit(cache=True, nogil=True)
def _update_predecessors(away, x, y, other, bound, sure):
    """Update the bounds of the slots before y with their distances to the new centroid there."""
    for i in range(y):
        if away[i] < bound[i]:
            other[i], bound[i], sure[i] = y, away[i], True
        elif other[i] == x or other[i] == y:
            sure[i] = False


@njit(cache=True, nogil=True)
def centroid_linkage_vector(columns, linkage):
    """Merges of centroid or median linkage with squared heights, nearest pair first.

    As `generic_linkage`, but distances are computed when needed; `columns` are overwritten.
    """
    n = columns.shape[1]
    m, pairs, heights = n, np.empty((n - 1, 2), np.int64), np.empty(n - 1)
    name, size, away = np.arange(n), np.ones(n), np.empty(n)
    other, bound, sure = np.zeros(n, np.int64), np.empty(n), np.ones(n, np.bool_)
    for i in range(n):
        other[i], bound[i] = _nearest_successor(columns, i, n, away)
    for k in range(n - 1):
        if 4 * (n - k) < 3 * m:
            active, new_slot = _compact_columns(columns, name, size, m)
            m = len(active)
            other[:m], bound[:m], sure[:m] = new_slot[other[active]], bound[active], sure[active]
        x, height = _argmin_slot(bound, 0, m, 0, np.inf)
        while not sure[x]:
            other[x], bound[x] = _nearest_successor(columns, x, m, away)
            sure[x] = True
            x, height = _argmin_slot(bound, 0, m, x, bound[x])
        y = other[x]
        pairs[k, 0], pairs[k, 1], heights[k] = name[x], name[y], height
        both = size[x] + size[y]
        _merge_centroids(columns, x, y, size[x] / both if linkage == CENTROID else 0.5)
        size[x], size[y], bound[x] = 0.0, both, np.inf
        write_squared_distances(columns, columns[:, y].copy(), 0, y, away)
        _update_predecessors(away, x, y, other, bound, sure)
        other[y], bound[y] = _nearest_successor(columns, y, m, away)
        sure[y] = True
    return pairs, heights


@njit(cache=True, nogil=True)
def generic_linkage(D, linkage):
    """Merges of the nearest pair first, for linkages whose heights may fall (centroid, median).

    Each cluster keeps a lower bound of the distance to its nearest successor. The least bound is
    examined first, and corrected if it was only a bound. D is overwritten; its diagonal is
    infinite.
    """
    n = m = len(D)
    pairs, heights = np.empty((n - 1, 2), np.int64), np.empty(n - 1)
    name, size, removed = np.arange(n), np.ones(n), np.zeros(n)
    other, bound = np.zeros(n, np.int64), np.full(n, np.inf)
    for i in range(n - 1):
        other[i], bound[i] = _argmin_active_slot(D[i], removed, i + 1, n, i, np.inf)
    for k in range(n - 1):
        if 3 * (n - k) < 2 * m:
            active, new_slot = _active_slots(size, m)
            _compact_matrix(D, active)
            m = len(active)
            name[:m], size[:m], removed[:m] = name[active], size[active], 0.0
            other[:m], bound[:m] = new_slot[other[active]], bound[active]
        x, height = _argmin_active_slot(bound, removed, 0, m, 0, np.inf)
        while D[x, other[x]] != height:
            other[x], bound[x] = _argmin_active_slot(D[x], removed, x + 1, m, x, np.inf)
            x, height = _argmin_active_slot(bound, removed, 0, m, 0, np.inf)
        y = other[x]
        pairs[k, 0], pairs[k, 1], heights[k] = name[x], name[y], height
        _lance_williams_update(D, size, x, y, m, height, linkage)
        for i in range(m):
            D[i, y] = D[y, i]
        removed[x] = np.inf
        for i in range(y):
            if other[i] == x:
                other[i] = y
            if D[y, i] < bound[i]:
                other[i], bound[i] = y, D[y, i]
        if y < m - 1:
            other[y], bound[y] = _argmin_active_slot(D[y], removed, y + 1, m, y, np.inf)
        else:
            bound[y] = np.inf
    return pairs, heights


@njit(cache=True, nogil=True)
def mst_linkage(D):
    """Edges of a minimum spanning tree and their lengths, by Prim's algorithm."""
    n = len(D)
    edges, lengths = np.empty((n - 1, 2), np.int64), np.empty(n - 1)
    reach, joined, last = np.full(n, np.inf), np.zeros(n), 0
    for k in range(n - 1):
        joined[last] = np.inf
        row = D[last]
        for i in range(n):
            reach[i] = min(reach[i], row[i])
        edges[k, 0] = last
        last, lengths[k] = _argmin_active_slot(reach, joined, 0, n, 0, np.inf)
        edges[k, 1] = last
    return edges, lengths


@njit(cache=True, nogil=True)
def mst_linkage_vector(columns):
    """The same from coordinates, which are overwritten, with squared Euclidean lengths."""
    n = columns.shape[1]
    edges, squares = np.empty((n - 1, 2), np.int64), np.empty(n - 1)
    reach, near = np.full(n, np.inf), np.empty(n)
    name = np.arange(n)
    slot, m = 0, n
    for k in range(n - 1):
        point = columns[:, slot].copy()
        edges[k, 0] = name[slot]
        m -= 1  # the last slot replaces the one that has joined the tree
        columns[:, slot], reach[slot], name[slot] = columns[:, m], reach[m], name[m]
        write_squared_distances(columns, point, 0, m, near)
        for i in range(m):
            reach[i] = min(reach[i], near[i])
        slot, squares[k] = _argmin_slot(reach, 0, m, 0, np.inf)
        edges[k, 1] = name[slot]
    return edges, squares
