"""Swaps of a medoid for another row that lower the cost: PAM and FasterPAM.

The cost is the sum over the rows of the distance to the nearest medoid. To judge a candidate row c
in place of *each* medoid at once, a row needs its nearest and its second nearest medoid only
(Schubert and Rousseeuw 2021): without its nearest medoid m a row falls back on the second nearest,
or on c. So one look along the distances of c is enough for all k swaps.

Read in order: `attach` (the two nearest), `best_swap` (a candidate against all medoids), then
`eager_round` (FasterPAM) and `steepest_swap` (PAM).
"""

from __future__ import annotations

import numpy as np
from numba import njit

EPSILON = 1e-12  # share of all second distances that a swap must gain: less is rounding
BLOCK = 32  # rows that are passed over together if the candidate is near to none


@njit(cache=True, nogil=True)
def attach(D, medoids, near, first, second):  # noqa: ANN001, ANN201  (n, n), (k,) -> writes (n,)
    """Place of the nearest medoid of each row, its distance, and that of the second nearest."""
    n, k = len(D), len(medoids)
    for i in range(n):
        first[i] = second[i] = np.inf
    for j in range(k):
        row = D[medoids[j]]
        for i in range(n):
            d = row[i]
            if d < first[i]:
                second[i], first[i], near[i] = first[i], d, j
            elif d < second[i]:
                second[i] = d
    for j in range(k):  # a medoid is its own, also where another lies at the same place
        i = medoids[j]
        if near[i] != j:
            second[i], near[i] = first[i], j
            first[i] = D[i, i]


@njit(cache=True, nogil=True)
def losses(near, first, second, k):  # noqa: ANN001, ANN201  (n,) -> (k,)
    """By how much the cost grows without each of the medoids."""
    loss = np.zeros(k)
    for i in range(len(near)):
        loss[near[i]] += second[i] - first[i]
    return loss


@njit(cache=True, nogil=True)
def best_swap(row, near, first, second, loss, change):  # noqa: ANN001, ANN201  -> int, float
    """Place of the medoid that a candidate replaces best, and the change of the cost."""
    n, gain = len(row), 0.0
    for j in range(len(loss)):
        change[j] = loss[j]
    for start in range(0, n, BLOCK):
        end = min(start + BLOCK, n)
        part, reach = row[start:end], second[start:end]
        closer = 0
        for i in range(len(part)):
            closer += part[i] < reach[i]
        if closer == 0:
            continue
        for i in range(start, end):
            d = row[i]
            if d < first[i]:
                gain += d - first[i]
                change[near[i]] += first[i] - second[i]
            elif d < second[i]:
                change[near[i]] += d - second[i]
    best = 0
    for j in range(1, len(loss)):
        if change[j] < change[best]:
            best = j
    return best, change[best] + gain


@njit(cache=True, nogil=True)
def is_medoid(row, medoids, near):  # noqa: ANN001, ANN201  int, (k,), (n,) -> bool
    """Whether a row is a medoid: then it is its own nearest."""
    return medoids[near[row]] == row


@njit(cache=True, nogil=True)
def eager_round(D, medoids, near, first, second, idle):  # noqa: ANN001, ANN201  -> int, int
    """Each row as a candidate once, swapped in as soon as the cost falls; medoids change in place.

    Gives the number of swaps, and how many candidates in a row have not lowered the cost: when all
    have not, this is a local optimum.
    """
    n, k = len(D), len(medoids)
    change, swaps = np.empty(k), 0
    loss, least = losses(near, first, second, k), EPSILON * second.sum()
    for c in range(n):
        if idle >= n:
            break
        idle += 1
        if is_medoid(c, medoids, near):
            continue
        place, gain = best_swap(D[c], near, first, second, loss, change)
        if gain < -least:
            medoids[place] = c
            attach(D, medoids, near, first, second)
            loss = losses(near, first, second, k)
            swaps, idle = swaps + 1, 0
    return swaps, idle


@njit(cache=True, nogil=True)
def steepest_swap(D, medoids, near, first, second):  # noqa: ANN001, ANN201  -> int
    """The one swap, of all medoids and rows, that lowers the cost most: PAM's round."""
    n, k = len(D), len(medoids)
    change, loss = np.empty(k), losses(near, first, second, k)
    best, row, place = -EPSILON * second.sum(), -1, -1
    for c in range(n):
        if is_medoid(c, medoids, near):
            continue
        j, gain = best_swap(D[c], near, first, second, loss, change)
        if gain < best:
            best, row, place = gain, c, j
    if row < 0:
        return 0
    medoids[place] = row
    attach(D, medoids, near, first, second)
    return 1


@njit(cache=True, nogil=True)
def central_rows(D, medoids, near, first, second):  # noqa: ANN001, ANN201  -> int
    """Move each medoid to the member of its cluster with the least sum of distances to the others.

    The other algorithm of the notes [003, 14.3]: assign, then choose again within the clusters.
    """
    n, k = len(D), len(medoids)
    order, ends = np.argsort(near, kind="mergesort"), np.zeros(k + 1, np.int64)
    for i in range(n):
        ends[near[i] + 1] += 1
    moved = 0
    for j in range(k):
        ends[j + 1] += ends[j]
        members = order[ends[j] : ends[j + 1]]
        best, least = medoids[j], 0.0
        for i in members:
            least += D[best, i]
        for c in members:
            total = 0.0
            for i in members:
                total += D[c, i]
            if total < least * (1 - EPSILON):
                best, least = c, total
        moved += best != medoids[j]
        medoids[j] = best
    attach(D, medoids, near, first, second)
    return moved
