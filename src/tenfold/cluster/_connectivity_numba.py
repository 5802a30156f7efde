"""Compiled agglomeration along the edges of a connectivity graph.

Every cluster has a linked list of its edges; each edge is two half-edges, one in the list of either
end. When clusters merge, one list is spliced into the other, two edges to the same neighbor become
one, and the merges with all neighbors go to a heap. Entries of the heap whose clusters no longer
exist are skipped. The time grows with the edges that merges touch, times the logarithm of their
number.

An entry of the heap is a height and a pair of clusters in one integer. Equal heights come out in
the order of Python's `heapq`, or by their pairs (`ordered`), so that trees with many ties are those
of scikit-learn.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from tenfold.cluster._linkage_numba import AVERAGE, WARD


@njit(cache=True, nogil=True, inline="always")
def _is_before(height, pair, other_height, other_pair, ordered):
    """Whether one entry of the heap precedes another."""
    if ordered and height == other_height:
        return pair < other_pair
    return height < other_height


@njit(cache=True, nogil=True)
def _sift_up(heights, pairs, at, top, ordered):
    """Move an entry up to its position, not beyond `top`."""
    height, pair = heights[at], pairs[at]
    while at > top:
        above = (at - 1) >> 1
        if not _is_before(height, pair, heights[above], pairs[above], ordered):
            break
        heights[at], pairs[at] = heights[above], pairs[above]
        at = above
    heights[at], pairs[at] = height, pair


@njit(cache=True, nogil=True)
def _sift_down(heights, pairs, top, size, ordered):
    """Move the entry at `top` down to a leaf along the smaller children, then up again."""
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
def _heapify(heights, pairs, size, ordered):
    """Rearrange the first entries into a heap."""
    for top in range(size // 2 - 1, -1, -1):
        _sift_down(heights, pairs, top, size, ordered)


@njit(cache=True, nogil=True)
def _heap_pop(heights, pairs, size, ordered):
    """Remove and return the first entry."""
    height, pair = heights[0], pairs[0]
    heights[0], pairs[0] = heights[size - 1], pairs[size - 1]
    if size > 1:
        _sift_down(heights, pairs, 0, size - 1, ordered)
    return height, pair


@njit(cache=True, nogil=True)
def _ensure_capacity(heights, pairs, needed):
    """Arrays with capacity for the needed entries."""
    if needed <= len(heights):
        return heights, pairs
    longer = np.empty(2 * needed, np.float64), np.empty(2 * needed, np.int64)
    longer[0][: len(heights)], longer[1][: len(pairs)] = heights, pairs
    return longer


class _HalfEdges(NamedTuple):
    """Half-edges of the clusters, in doubly linked lists; -1 is none."""

    first: np.ndarray  # (n,) of each cluster
    after: np.ndarray  # (2m,) the next of the same cluster
    before: np.ndarray  # (2m,)
    twin: np.ndarray  # (2m,) the same link at its other end
    other: np.ndarray  # (2m,) the cluster at the other end
    length: np.ndarray  # (2m,) distance of the two clusters


@njit(cache=True, nogil=True)
def build_half_edges(starts, others, length):
    """Half-edges of the rows, from a symmetric CSR matrix with sorted columns."""
    n, m = len(starts) - 1, len(others)
    first, after, before = np.full(n, -1), np.arange(1, m + 1), np.arange(-1, m - 1)
    twin, next_twin = np.empty(m, np.int64), starts[:-1].astype(np.int64)
    for i in range(n):
        if starts[i] < starts[i + 1]:
            first[i] = starts[i]
            before[starts[i]] = after[starts[i + 1] - 1] = -1
        for e in range(starts[i], starts[i + 1]):  # rows are in order, and so are their twins
            twin[e] = next_twin[others[e]]
            next_twin[others[e]] += 1
    return _HalfEdges(first, after, before, twin, others.astype(np.int64), length)


@njit(cache=True, nogil=True)
def _unlink_edge(edges, e, owner):
    """Remove a half-edge from the list of its cluster."""
    before, after = edges.before[e], edges.after[e]
    if before < 0:
        edges.first[owner] = after
    else:
        edges.after[before] = after
    if after >= 0:
        edges.before[after] = before


@njit(cache=True, nogil=True)
def _prepend_edge(edges, e, x):
    """Insert a half-edge at the front of the list of x."""
    top = edges.first[x]
    edges.other[edges.twin[e]] = x
    edges.after[e], edges.before[e], edges.first[x] = top, -1, e
    if top >= 0:
        edges.before[top] = e


@njit(cache=True, nogil=True)
def _merge_edges(edges, x, y, size, linkage, edge_to):
    """Splice the edges of y into the list of x; `edge_to` is -1 everywhere, before and after."""
    e = edges.first[x]
    while e >= 0:
        if edges.other[e] == y:
            _unlink_edge(edges, e, x)
        else:
            edge_to[edges.other[e]] = e
        e = edges.after[e]
    e = edges.first[y]
    while e >= 0:
        following, neighbor = edges.after[e], edges.other[e]
        existing = edge_to[neighbor]
        if neighbor != x and existing < 0:
            _prepend_edge(edges, e, x)
        elif neighbor != x:
            _unlink_edge(edges, edges.twin[e], neighbor)
            a, b = edges.length[existing], edges.length[e]
            length = max(a, b)
            if linkage == AVERAGE:
                length = (size[x] * a + size[y] * b) / (size[x] + size[y])
            edges.length[existing] = edges.length[edges.twin[existing]] = length
        e = following
    e = edges.first[x]
    while e >= 0:
        edge_to[edges.other[e]] = -1
        e = edges.after[e]


@njit(cache=True, nogil=True, error_model="numpy")
def _ward_increase(means, size, x, y):
    """Increase of the sum of squares if the clusters x and y merge."""
    a, b, squares = means[x], means[y], 0.0
    for d in range(len(a)):
        squares += (a[d] - b[d]) * (a[d] - b[d])
    return squares * ((size[x] * size[y]) / (size[x] + size[y]))


@njit(cache=True, nogil=True)
def _initial_heap(edges, sums, size, ward):
    """The merges along all edges, as a heap."""
    n, m = len(edges.first), len(edges.other) // 2
    heights, pairs, entries = np.empty(2 * m + n), np.empty(2 * m + n, np.int64), 0
    for i in range(n):
        e = edges.first[i]
        while e >= 0 and edges.other[e] < i:
            j = edges.other[e]
            heights[entries] = _ward_increase(sums, size, i, j) if ward else edges.length[e]
            pairs[entries] = i * 2 * n + j
            entries += 1
            e = edges.after[e]
    _heapify(heights, pairs, m, ward)
    return heights, pairs


@njit(cache=True, nogil=True, error_model="numpy")
def _merge_means(sums, means, size, x, y):
    """Write sum and mean of the union of x and y to x."""
    for d in range(sums.shape[1]):
        sums[x, d] += sums[y, d]
        means[x, d] = sums[x, d] / (size[x] + size[y])


@njit(cache=True, nogil=True)
def _neighbor_distances(edges, means, size, x, ward, distance, near):
    """Count the neighbors of x; write their slots to `near` and distances to `distance`."""
    count, e = 0, edges.first[x]
    while e >= 0:
        c = edges.other[e]
        distance[c] = _ward_increase(means, size, x, c) if ward else edges.length[e]
        near[count] = c
        count += 1
        e = edges.after[e]
    return count


@njit(cache=True, nogil=True)
def constrained_merges(edges, X, linkage, merges):
    """Merges and their heights, in order; clusters have the numbers of scipy's linkage matrix.

    Heights of Ward linkage are increases of the sum of squares, from the rows X; X has no columns
    for the others.
    """
    n, ward = len(edges.first), linkage == WARD
    sums, means, size = X.copy(), X.copy(), np.ones(n)
    children, merge_heights = np.empty((merges, 2), np.int64), np.empty(merges)
    number, slot = (
        np.arange(n),
        np.full(n + merges, -1),
    )  # cluster of a slot; slot of a cluster, -1 if merged
    slot[:n] = number
    edge_to, near, distance = np.full(n, -1), np.empty(n, np.int64), np.empty(n)
    heights, pairs = _initial_heap(edges, means, size, ward)
    entries = len(edges.other) // 2
    for k in range(n, n + merges):
        x = y = -1
        while x < 0 or y < 0:
            merge_heights[k - n], pair = _heap_pop(heights, pairs, entries, ward)
            entries -= 1
            x, y = slot[pair // (2 * n)], slot[pair % (2 * n)]
        children[k - n, 0], children[k - n, 1] = number[y], number[x]
        _merge_edges(edges, x, y, size, linkage, edge_to)
        _merge_means(sums, means, size, x, y)
        slot[number[x]] = slot[number[y]] = -1
        number[x], slot[k], size[x] = k, x, size[x] + size[y]
        count = _neighbor_distances(edges, means, size, x, ward, distance, near)
        neighbors = number[near[:count]]
        neighbors.sort()  # the order in which equal heights enter the heap
        heights, pairs = _ensure_capacity(heights, pairs, entries + count)
        for c in neighbors:
            heights[entries], pairs[entries] = distance[slot[c]], k * 2 * n + c
            _sift_up(heights, pairs, entries, 0, ward)
            entries += 1
    return children, merge_heights
