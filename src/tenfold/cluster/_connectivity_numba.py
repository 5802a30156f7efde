"""Compiled agglomeration along the edges of a connectivity graph: a heap of possible merges."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from tenfold.cluster._linkage_numba import AVERAGE, WARD


@njit(cache=True, nogil=True, inline="always")
def _is_before(height, pair, other_height, other_pair, ordered):  # noqa: ANN001, ANN202
    """Whether one entry lies above another."""
    if ordered and height == other_height:
        return pair < other_pair
    return height < other_height


@njit(cache=True, nogil=True)
def _sift_up(heights, pairs, at, top, ordered):  # noqa: ANN001, ANN202  (m,), (m,)
    """Move an entry up to its place, not beyond `top`."""
    height, pair = heights[at], pairs[at]
    while at > top:
        above = (at - 1) >> 1
        if not _is_before(height, pair, heights[above], pairs[above], ordered):
            break
        heights[at], pairs[at] = heights[above], pairs[above]
        at = above
    heights[at], pairs[at] = height, pair


@njit(cache=True, nogil=True)
def _sift_down(heights, pairs, top, size, ordered):  # noqa: ANN001, ANN202  (m,), (m,)
    """Let the smaller entries below `top` move up until its own has a place at the bottom."""
    height, pair, at = heights[top], pairs[top], top
    while 2 * at + 1 < size:
        below = 2 * at + 1
        if below + 1 < size and not _is_before(
            heights[below], pairs[below], heights[below + 1], pairs[below + 1], ordered
        ):
            below += 1
        heights[at], pairs[at] = heights[below], pairs[below]
        at = below
    heights[at], pairs[at] = height, pair
    _sift_up(heights, pairs, at, top, ordered)


@njit(cache=True, nogil=True)
def _heapify(heights, pairs, size, ordered):  # noqa: ANN001, ANN202  (m,), (m,)
    """Put the first entries into the order of a heap."""
    for top in range(size // 2 - 1, -1, -1):
        _sift_down(heights, pairs, top, size, ordered)


@njit(cache=True, nogil=True)
def _heap_pop(heights, pairs, size, ordered):  # noqa: ANN001, ANN202  (m,), (m,) -> float, int
    """The top entry, which leaves the heap."""
    height, pair = heights[0], pairs[0]
    heights[0], pairs[0] = heights[size - 1], pairs[size - 1]
    if size > 1:
        _sift_down(heights, pairs, 0, size - 1, ordered)
    return height, pair


@njit(cache=True, nogil=True)
def _ensure_capacity(heights, pairs, needed):  # noqa: ANN001, ANN202  (m,), (m,) -> the same, longer
    """Arrays that can hold as many entries as needed."""
    if needed <= len(heights):
        return heights, pairs
    longer = np.empty(2 * needed, np.float64), np.empty(2 * needed, np.int64)
    longer[0][: len(heights)], longer[1][: len(pairs)] = heights, pairs
    return longer


class _HalfEdges(NamedTuple):
    """Half-links of the clusters; -1 is none."""

    first: np.ndarray  # (n,) of each cluster
    after: np.ndarray  # (2m,) the next of the same cluster
    before: np.ndarray  # (2m,)
    twin: np.ndarray  # (2m,) the same link at its other end
    other: np.ndarray  # (2m,) the cluster at the other end
    length: np.ndarray  # (2m,) distance of the two clusters


@njit(cache=True, nogil=True)
def build_half_edges(starts, others, length):  # noqa: ANN001, ANN202  (n + 1,), (2m,), (2m,) -> Links
    """Links of the rows, from the rows of a symmetric matrix whose columns are in order."""
    n, m = len(starts) - 1, len(others)
    first, after, before = np.full(n, -1), np.arange(1, m + 1), np.arange(-1, m - 1)
    twin, met = np.empty(m, np.int64), starts[:-1].astype(np.int64)
    for i in range(n):
        if starts[i] < starts[i + 1]:
            first[i] = starts[i]
            before[starts[i]] = after[starts[i + 1] - 1] = -1
        for e in range(starts[i], starts[i + 1]):  # rows come in order, so their twins do
            twin[e] = met[others[e]]
            met[others[e]] += 1
    return _HalfEdges(first, after, before, twin, others.astype(np.int64), length)


@njit(cache=True, nogil=True)
def _unlink_edge(links, e, owner):  # noqa: ANN001, ANN202
    """Take a half-link out of the list of its cluster."""
    before, after = links.before[e], links.after[e]
    if before < 0:
        links.first[owner] = after
    else:
        links.after[before] = after
    if after >= 0:
        links.before[after] = before


@njit(cache=True, nogil=True)
def _prepend_edge(links, e, x):  # noqa: ANN001, ANN202
    """Move a half-link to the front of the list of x."""
    top = links.first[x]
    links.other[links.twin[e]] = x
    links.after[e], links.before[e], links.first[x] = top, -1, e
    if top >= 0:
        links.before[top] = e


@njit(cache=True, nogil=True)
def _merge_edges(links, x, y, size, linkage, known):  # noqa: ANN001, ANN202  (n,), (n,)
    """Give cluster x the links of y; `known` is -1 everywhere, before and after."""
    e = links.first[x]
    while e >= 0:
        if links.other[e] == y:
            _unlink_edge(links, e, x)
        else:
            known[links.other[e]] = e
        e = links.after[e]
    e = links.first[y]
    while e >= 0:
        following, neighbour = links.after[e], links.other[e]
        both = known[neighbour]
        if neighbour != x and both < 0:
            _prepend_edge(links, e, x)
        elif neighbour != x:
            _unlink_edge(links, links.twin[e], neighbour)
            a, b = links.length[both], links.length[e]
            length = max(a, b)
            if linkage == AVERAGE:
                length = (size[x] * a + size[y] * b) / (size[x] + size[y])
            links.length[both] = links.length[links.twin[both]] = length
        e = following
    e = links.first[x]
    while e >= 0:
        known[links.other[e]] = -1
        e = links.after[e]


@njit(cache=True, nogil=True, error_model="numpy")
def _ward_increase(means, size, x, y):  # noqa: ANN001, ANN202  (n, p), (n,) -> float
    """By how much the sum of squares grows if the clusters x and y join."""
    a, b, squares = means[x], means[y], 0.0
    for d in range(len(a)):
        squares += (a[d] - b[d]) * (a[d] - b[d])
    return squares * ((size[x] * size[y]) / (size[x] + size[y]))


@njit(cache=True, nogil=True)
def _initial_heap(links, sums, size, ward):  # noqa: ANN001, ANN202  -> (m,), (m,)
    """The joins of all linked rows, as a heap."""
    n, m = len(links.first), len(links.other) // 2
    heights, pairs, filled = np.empty(2 * m + n), np.empty(2 * m + n, np.int64), 0
    for i in range(n):
        e = links.first[i]
        while e >= 0 and links.other[e] < i:
            j = links.other[e]
            heights[filled] = _ward_increase(sums, size, i, j) if ward else links.length[e]
            pairs[filled] = i * 2 * n + j
            filled += 1
            e = links.after[e]
    _heapify(heights, pairs, m, ward)
    return heights, pairs


@njit(cache=True, nogil=True, error_model="numpy")
def _merge_means(sums, means, size, x, y):  # noqa: ANN001, ANN202  (n, p), (n, p), (n,)
    """Sum and mean of the rows of x and y together, in the place of x."""
    for d in range(sums.shape[1]):
        sums[x, d] += sums[y, d]
        means[x, d] = sums[x, d] / (size[x] + size[y])


@njit(cache=True, nogil=True)
def _neighbor_distances(links, means, size, x, ward, toward, near):  # noqa: ANN001, ANN202  -> int
    """Count the neighbours of x; write their places to `near`, how far they are to `toward`."""
    many, e = 0, links.first[x]
    while e >= 0:
        c = links.other[e]
        toward[c] = _ward_increase(means, size, x, c) if ward else links.length[e]
        near[many] = c
        many += 1
        e = links.after[e]
    return many


@njit(cache=True, nogil=True)
def constrained_merges(links, X, linkage, joins):  # noqa: ANN001, ANN202  -> (joins, 2), (joins,)
    """Which clusters join at what height, and in what order.

    Clusters have the numbers of scipy's matrix. Heights of Ward's linkage are growths of the sum
    of squares, from the rows X; X has no columns for the others.
    """
    n, ward = len(links.first), linkage == WARD
    sums, means, size = X.copy(), X.copy(), np.ones(n)
    children, found = np.empty((joins, 2), np.int64), np.empty(joins)
    number, place = np.arange(n), np.full(n + joins, -1)  # of a place; of a cluster, -1 if gone
    place[:n] = number
    known, near, toward = np.full(n, -1), np.empty(n, np.int64), np.empty(n)
    heights, pairs = _initial_heap(links, means, size, ward)
    filled = len(links.other) // 2
    for k in range(n, n + joins):
        x = y = -1
        while x < 0 or y < 0:
            found[k - n], pair = _heap_pop(heights, pairs, filled, ward)
            filled -= 1
            x, y = place[pair // (2 * n)], place[pair % (2 * n)]
        children[k - n, 0], children[k - n, 1] = number[y], number[x]
        _merge_edges(links, x, y, size, linkage, known)
        _merge_means(sums, means, size, x, y)
        place[number[x]] = place[number[y]] = -1
        number[x], place[k], size[x] = k, x, size[x] + size[y]
        many = _neighbor_distances(links, means, size, x, ward, toward, near)
        joined = number[near[:many]]
        joined.sort()  # the order in which equal heights are put on the heap
        heights, pairs = _ensure_capacity(heights, pairs, filled + many)
        for c in joined:
            heights[filled], pairs[filled] = toward[place[c]], k * 2 * n + c
            _sift_up(heights, pairs, filled, 0, ward)
            filled += 1
    return children, found
