"""Trees of clusters that may join only along the links of a graph.

Every cluster has a list of its links; each link is two half-links, one in the list of either end.
When clusters join, one list is hung into the other, two links to the same neighbour become one, and
the joins with all neighbours go to a heap. A join on top of the heap whose clusters have gone is
passed over. So the time grows with the links that joins touch, times the logarithm of their number.

Read in order: `Links`, `half_links`, `absorb` (two lists become one), `linked_joins`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from tenfold.cluster.hierarchy.chain import AVERAGE, WARD
from tenfold.cluster.hierarchy.heap import make_heap, rise, take_off, with_room


class Links(NamedTuple):
    """Half-links of the clusters; -1 is none."""

    first: np.ndarray  # (n,) of each cluster
    after: np.ndarray  # (2m,) the next of the same cluster
    before: np.ndarray  # (2m,)
    twin: np.ndarray  # (2m,) the same link at its other end
    other: np.ndarray  # (2m,) the cluster at the other end
    length: np.ndarray  # (2m,) distance of the two clusters


@njit(cache=True, nogil=True)
def half_links(starts, others, length):  # noqa: ANN001, ANN201  (n + 1,), (2m,), (2m,) -> Links
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
    return Links(first, after, before, twin, others.astype(np.int64), length)


@njit(cache=True, nogil=True)
def unlink(links, e, owner):  # noqa: ANN001, ANN201
    """Take a half-link out of the list of its cluster."""
    before, after = links.before[e], links.after[e]
    if before < 0:
        links.first[owner] = after
    else:
        links.after[before] = after
    if after >= 0:
        links.before[after] = before


@njit(cache=True, nogil=True)
def hang(links, e, x):  # noqa: ANN001, ANN201
    """Move a half-link to the front of the list of x."""
    top = links.first[x]
    links.other[links.twin[e]] = x
    links.after[e], links.before[e], links.first[x] = top, -1, e
    if top >= 0:
        links.before[top] = e


@njit(cache=True, nogil=True)
def absorb(links, x, y, size, linkage, known):  # noqa: ANN001, ANN201  (n,), (n,)
    """Give cluster x the links of y; `known` is -1 everywhere, before and after."""
    e = links.first[x]
    while e >= 0:
        if links.other[e] == y:
            unlink(links, e, x)
        else:
            known[links.other[e]] = e
        e = links.after[e]
    e = links.first[y]
    while e >= 0:
        following, neighbour = links.after[e], links.other[e]
        both = known[neighbour]
        if neighbour != x and both < 0:
            hang(links, e, x)
        elif neighbour != x:
            unlink(links, links.twin[e], neighbour)
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
def growth(means, size, x, y):  # noqa: ANN001, ANN201  (n, p), (n,) -> float
    """By how much the sum of squares grows if the clusters x and y join."""
    a, b, squares = means[x], means[y], 0.0
    for d in range(len(a)):
        squares += (a[d] - b[d]) * (a[d] - b[d])
    return squares * ((size[x] * size[y]) / (size[x] + size[y]))


@njit(cache=True, nogil=True)
def first_heap(links, sums, size, ward):  # noqa: ANN001, ANN201  -> (m,), (m,)
    """The joins of all linked rows, as a heap."""
    n, m = len(links.first), len(links.other) // 2
    heights, pairs, filled = np.empty(2 * m + n), np.empty(2 * m + n, np.int64), 0
    for i in range(n):
        e = links.first[i]
        while e >= 0 and links.other[e] < i:
            j = links.other[e]
            heights[filled] = growth(sums, size, i, j) if ward else links.length[e]
            pairs[filled] = i * 2 * n + j
            filled += 1
            e = links.after[e]
    make_heap(heights, pairs, m, ward)
    return heights, pairs


@njit(cache=True, nogil=True, error_model="numpy")
def add_sums(sums, means, size, x, y):  # noqa: ANN001, ANN201  (n, p), (n, p), (n,)
    """Sum and mean of the rows of x and y together, in the place of x."""
    for d in range(sums.shape[1]):
        sums[x, d] += sums[y, d]
        means[x, d] = sums[x, d] / (size[x] + size[y])


@njit(cache=True, nogil=True)
def look_around(links, means, size, x, ward, toward, near):  # noqa: ANN001, ANN201  -> int
    """Count the neighbours of x; write their places to `near`, how far they are to `toward`."""
    many, e = 0, links.first[x]
    while e >= 0:
        c = links.other[e]
        toward[c] = growth(means, size, x, c) if ward else links.length[e]
        near[many] = c
        many += 1
        e = links.after[e]
    return many


@njit(cache=True, nogil=True)
def linked_joins(links, X, linkage, joins):  # noqa: ANN001, ANN201  -> (joins, 2), (joins,)
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
    heights, pairs = first_heap(links, means, size, ward)
    filled = len(links.other) // 2
    for k in range(n, n + joins):
        x = y = -1
        while x < 0 or y < 0:
            found[k - n], pair = take_off(heights, pairs, filled, ward)
            filled -= 1
            x, y = place[pair // (2 * n)], place[pair % (2 * n)]
        children[k - n, 0], children[k - n, 1] = number[y], number[x]
        absorb(links, x, y, size, linkage, known)
        add_sums(sums, means, size, x, y)
        place[number[x]] = place[number[y]] = -1
        number[x], place[k], size[x] = k, x, size[x] + size[y]
        many = look_around(links, means, size, x, ward, toward, near)
        joined = number[near[:many]]
        joined.sort()  # the order in which equal heights are put on the heap
        heights, pairs = with_room(heights, pairs, filled + many)
        for c in joined:
            heights[filled], pairs[filled] = toward[place[c]], k * 2 * n + c
            rise(heights, pairs, filled, 0, ward)
            filled += 1
    return children, found
