"""Compiled linkage algorithms: nearest-neighbor chain, generic linkage and minimum spanning tree, from a distance matrix or from coordinates."""

from __future__ import annotations

import numpy as np
from numba import njit

COMPLETE, AVERAGE, WARD, CENTROID, MEDIAN = range(5)
_SCAN_BLOCK = 64  # entries of a row that are compared at once


@njit(cache=True, nogil=True)
def _argmin_active_slot(row, gone, start, m, best, low):  # noqa: ANN001, ANN202  (m,), (m,) -> int, float
    """First slot of the least entry from `start` on, if it is below `low`, else `best` and `low`.

    Slots that are gone are infinitely far. Comparing many entries with the least so far is fast,
    and seldom is one of them less.
    """
    for first in range(start, m, _SCAN_BLOCK):
        part, away = (
            row[first : min(first + _SCAN_BLOCK, m)],
            gone[first : min(first + _SCAN_BLOCK, m)],
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
def _argmin_slot(row, start, m, best, low):  # noqa: ANN001, ANN202  (m,) -> int, float
    """The same where none is gone."""
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


@njit(cache=True, nogil=True, error_model="numpy")  # divisions side by side
def _lance_williams_update(D, size, x, y, m, height, linkage):  # noqa: ANN001, ANN202  (m, m), (m,)
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
def _refresh_row(D, x, births, since, now):  # noqa: ANN001, ANN202  (m, m), (n,)
    """Bring row x up to date with the clusters that were born since then and still live."""
    row = D[x]
    for t in range(since, now):
        c = births[t]
        if c >= 0:
            row[c] = D[c, x]


@njit(cache=True, nogil=True)
def _active_slots(size, m):  # noqa: ANN001, ANN202  (m,) -> (alive,), (m,)
    """The slots in use, and where each of them goes when the others are left out."""
    kept, place = np.empty(m, np.int64), np.full(m, -1)
    alive = 0
    for i in range(m):
        if size[i] > 0:
            kept[alive], place[i] = i, alive
            alive += 1
    return kept[:alive], place


@njit(cache=True, nogil=True)
def _compact_matrix(D, kept):  # noqa: ANN001, ANN202  (m, m), (alive,)
    """Move the rows and columns that are kept to the front, in their order."""
    for i in range(len(kept)):
        old, new = D[kept[i]], D[i]
        for j in range(len(kept)):
            new[j] = old[kept[j]]


@njit(cache=True, nogil=True)
def _relabel_slots(slots, many, place):  # noqa: ANN001, ANN202  (n,), (m,)
    """Where the first of these slots have gone; -1 is none."""
    for i in range(many):
        slots[i] = place[slots[i]] if slots[i] >= 0 else -1


@njit(cache=True, nogil=True)
def nn_chain_linkage(D, linkage):  # noqa: ANN001, ANN202  (n, n) -> (n - 1, 2), (n - 1,)
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
            kept, place = _active_slots(size, m)
            _compact_matrix(D, kept)
            m = len(kept)
            name[:m], size[:m], gone[:m] = name[kept], size[kept], 0.0
            born[:m], seen[:m] = born[kept], seen[kept]
            _relabel_slots(chain, length, place)
            _relabel_slots(births, k, place)
        if length == 0:
            while gone[length] > 0:
                length += 1
            chain[0], length = length, 1
        while True:
            x = chain[length - 1]
            _refresh_row(D, x, births, seen[x], k)
            seen[x] = k
            before = chain[length - 2] if length > 1 else -1
            low = D[x, before] if length > 1 else np.inf
            y, height = _argmin_active_slot(D[x], gone, 0, m, before, low)
            if y == before:  # on a tie too
                break
            chain[length] = y
            length += 1
        length -= 2
        _refresh_row(D, y, births, seen[y], k)
        x, y = min(x, y), max(x, y)
        pairs[k, 0], pairs[k, 1], heights[k] = name[x], name[y], height
        _lance_williams_update(D, size, x, y, m, height, linkage)
        gone[x] = np.inf
        for slot in (x, y):
            if born[slot] >= 0:
                births[born[slot]] = -1
        births[k], born[y], seen[y] = y, k, k + 1
    return pairs, heights


_DISTANCE_BLOCK = 128  # rows whose distances are found at once


@njit(cache=True, nogil=True)
def write_squared_distances(columns, point, start, m, out):  # noqa: ANN001, ANN202  (p, n), (p,) -> (m,)
    """Write squared distances of the rows from `start` to m to a point, some rows at a time."""
    p = len(columns)
    for first in range(start, m, _DISTANCE_BLOCK):
        end = min(first + _DISTANCE_BLOCK, m)
        part = out[first:end]
        part[:] = 0.0
        for d in range(0, p - 1, 2):  # two columns at once: half the traffic
            a, b, x, y = columns[d, first:end], columns[d + 1, first:end], point[d], point[d + 1]
            for i in range(len(part)):
                part[i] += (a[i] - x) * (a[i] - x) + (b[i] - y) * (b[i] - y)
        if p % 2:
            a, x = columns[p - 1, first:end], point[p - 1]
            for i in range(len(part)):
                part[i] += (a[i] - x) * (a[i] - x)


@njit(cache=True, nogil=True)
def _compact_columns(columns, name, size, m):  # noqa: ANN001, ANN202  (p, n), (n,), (n,) -> (alive,), (m,)
    """Move the clusters in use to the front; which these were, and where each slot has gone."""
    kept, place = _active_slots(size, m)
    alive = len(kept)
    for d in range(len(columns)):
        column = columns[d]
        for i in range(alive):  # whole arrays at once would take seconds to compile
            column[i] = column[kept[i]]
    for i in range(alive):
        name[i], size[i] = name[kept[i]], size[kept[i]]
    return kept, place


@njit(cache=True, nogil=True, error_model="numpy")  # divisions side by side
def _ward_distances(columns, size, x, m, out):  # noqa: ANN001, ANN202  (p, n), (n,) -> writes (m,)
    """Squared Ward distances of cluster x to the first m clusters; to itself it is infinite."""
    write_squared_distances(columns, columns[:, x].copy(), 0, m, out)
    mine = size[x]
    for i in range(m):
        out[i] *= 2 * mine * size[i] / (mine + size[i])
    out[x] = np.inf


@njit(cache=True, nogil=True)
def ward_linkage_vector(columns):  # noqa: ANN001, ANN202  (p, n) -> (n - 1, 2), (n - 1,)
    """Which clusters join at what squared height, in the order of the chain; columns are used up.

    A cluster is named by its member with the highest number.
    """
    p, n = columns.shape
    pairs, heights = np.empty((n - 1, 2), np.int64), np.empty(n - 1)
    name, size, gone, away = np.arange(n), np.ones(n), np.zeros(n), np.empty(n)
    chain, length, m = np.empty(n, np.int64), 0, n
    for k in range(n - 1):
        if 4 * (n - k) < 3 * m:
            kept, place = _compact_columns(columns, name, size, m)
            m = len(kept)
            gone[:m] = 0.0
            _relabel_slots(chain, length, place)
        if length == 0:
            while gone[length] > 0:
                length += 1
            chain[0], length = length, 1
        while True:
            x = chain[length - 1]
            _ward_distances(columns, size, x, m, away)
            before = chain[length - 2] if length > 1 else -1
            low = away[before] if length > 1 else np.inf
            y, height = _argmin_active_slot(away, gone, 0, m, before, low)
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


@njit(cache=True, nogil=True)
def _nearest_successor(columns, i, m, away):  # noqa: ANN001, ANN202  (p, n), (n,) -> int, float
    """The slot after i whose centre is nearest; away is overwritten."""
    write_squared_distances(columns, columns[:, i].copy(), i + 1, m, away)
    return _argmin_slot(away, i + 1, m, i, np.inf)


@njit(cache=True, nogil=True)
def _merge_centroids(columns, x, y, share):  # noqa: ANN001, ANN202  (p, n)
    """Move the centre y to that of both; x goes infinitely far away."""
    for d in range(len(columns)):
        columns[d, y] += (columns[d, x] - columns[d, y]) * share
        columns[d, x] = np.inf


@njit(cache=True, nogil=True)
def _update_predecessors(away, x, y, other, bound, sure):  # noqa: ANN001, ANN202  five (n,)
    """Bounds of the slots before y, from their distances to the new centre there."""
    for i in range(y):
        if away[i] < bound[i]:
            other[i], bound[i], sure[i] = y, away[i], True
        elif other[i] == x or other[i] == y:
            sure[i] = False


@njit(cache=True, nogil=True)
def centroid_linkage_vector(columns, linkage):  # noqa: ANN001, ANN202  (p, n) -> (n - 1, 2), (n - 1,)
    """Which clusters join at what squared height, nearest first; columns are used up.

    A cluster is named by its member with the highest number.
    """
    n = columns.shape[1]
    m, pairs, heights = n, np.empty((n - 1, 2), np.int64), np.empty(n - 1)
    name, size, away = np.arange(n), np.ones(n), np.empty(n)
    other, bound, sure = np.zeros(n, np.int64), np.empty(n), np.ones(n, np.bool_)
    for i in range(n):
        other[i], bound[i] = _nearest_successor(columns, i, n, away)
    for k in range(n - 1):
        if 4 * (n - k) < 3 * m:
            kept, place = _compact_columns(columns, name, size, m)
            m = len(kept)
            other[:m], bound[:m], sure[:m] = place[other[kept]], bound[kept], sure[kept]
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
def generic_linkage(D, linkage):  # noqa: ANN001, ANN202  (n, n) -> (n - 1, 2), (n - 1,)
    """Which clusters join at what height, nearest first; D is used up.

    A cluster is named by its member with the highest number. The diagonal of D is infinite.
    """
    n = m = len(D)
    pairs, heights = np.empty((n - 1, 2), np.int64), np.empty(n - 1)
    name, size, gone = np.arange(n), np.ones(n), np.zeros(n)
    other, bound = np.zeros(n, np.int64), np.full(n, np.inf)
    for i in range(n - 1):
        other[i], bound[i] = _argmin_active_slot(D[i], gone, i + 1, n, i, np.inf)
    for k in range(n - 1):
        if 3 * (n - k) < 2 * m:
            kept, place = _active_slots(size, m)
            _compact_matrix(D, kept)
            m = len(kept)
            name[:m], size[:m], gone[:m] = name[kept], size[kept], 0.0
            other[:m], bound[:m] = place[other[kept]], bound[kept]
        x, height = _argmin_active_slot(bound, gone, 0, m, 0, np.inf)
        while D[x, other[x]] != height:
            other[x], bound[x] = _argmin_active_slot(D[x], gone, x + 1, m, x, np.inf)
            x, height = _argmin_active_slot(bound, gone, 0, m, 0, np.inf)
        y = other[x]
        pairs[k, 0], pairs[k, 1], heights[k] = name[x], name[y], height
        _lance_williams_update(D, size, x, y, m, height, linkage)
        for i in range(m):
            D[i, y] = D[y, i]
        gone[x] = np.inf
        for i in range(y):
            if other[i] == x:
                other[i] = y
            if D[y, i] < bound[i]:
                other[i], bound[i] = y, D[y, i]
        if y < m - 1:
            other[y], bound[y] = _argmin_active_slot(D[y], gone, y + 1, m, y, np.inf)
        else:
            bound[y] = np.inf
    return pairs, heights


@njit(cache=True, nogil=True)
def mst_linkage(D):  # noqa: ANN001, ANN202  (n, n) -> (n - 1, 2), (n - 1,)
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
        last, lengths[k] = _argmin_active_slot(reach, joined, 0, n, 0, np.inf)
        edges[k, 1] = last
    return edges, lengths


@njit(cache=True, nogil=True)
def mst_linkage_vector(columns):  # noqa: ANN001, ANN202  (p, n) -> (n - 1, 2), (n - 1,)
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
        write_squared_distances(columns, point, 0, m, near)
        for i in range(m):
            reach[i] = min(reach[i], near[i])
        slot, squares[k] = _argmin_slot(reach, 0, m, 0, np.inf)
        edges[k, 1] = name[slot]
    return edges, squares
