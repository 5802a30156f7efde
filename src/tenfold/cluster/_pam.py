"""Partitioning around medoids: BUILD and k-medoids++ initialization, PAM and FasterPAM swaps."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from tenfold.cluster.initialization import draw_weighted
from tenfold.optim.convergence import until_converged

_MIN_RELATIVE_GAIN = 1e-12  # share of all second distances that a swap must gain: less is rounding
_SCAN_BLOCK = 32  # rows that are passed over together if the candidate is near to none


@njit(cache=True, nogil=True)
def assign_to_medoids(D, medoids, near, first, second):  # noqa: ANN001, ANN202  (n, n), (k,) -> writes (n,)
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
def removal_losses(near, first, second, k):  # noqa: ANN001, ANN202  (n,) -> (k,)
    """By how much the cost grows without each of the medoids."""
    loss = np.zeros(k)
    for i in range(len(near)):
        loss[near[i]] += second[i] - first[i]
    return loss


@njit(cache=True, nogil=True)
def best_swap(row, near, first, second, loss, change):  # noqa: ANN001, ANN202  -> int, float
    """Place of the medoid that a candidate replaces best, and the change of the cost."""
    n, gain = len(row), 0.0
    for j in range(len(loss)):
        change[j] = loss[j]
    for start in range(0, n, _SCAN_BLOCK):
        end = min(start + _SCAN_BLOCK, n)
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
def _is_medoid(row, medoids, near):  # noqa: ANN001, ANN202  int, (k,), (n,) -> bool
    """Whether a row is a medoid: then it is its own nearest."""
    return medoids[near[row]] == row


@njit(cache=True, nogil=True)
def _fasterpam_iteration(D, medoids, near, first, second, idle):  # noqa: ANN001, ANN202  -> int, int
    """Each row as a candidate once, swapped in as soon as the cost falls; medoids change in place.

    Gives the number of swaps, and how many candidates in a row have not lowered the cost: when all
    have not, this is a local optimum.
    """
    n, k = len(D), len(medoids)
    change, swaps = np.empty(k), 0
    loss, least = removal_losses(near, first, second, k), _MIN_RELATIVE_GAIN * second.sum()
    for c in range(n):
        if idle >= n:
            break
        idle += 1
        if _is_medoid(c, medoids, near):
            continue
        place, gain = best_swap(D[c], near, first, second, loss, change)
        if gain < -least:
            medoids[place] = c
            assign_to_medoids(D, medoids, near, first, second)
            loss = removal_losses(near, first, second, k)
            swaps, idle = swaps + 1, 0
    return swaps, idle


@njit(cache=True, nogil=True)
def _pam_iteration(D, medoids, near, first, second):  # noqa: ANN001, ANN202  -> int
    """The one swap, of all medoids and rows, that lowers the cost most: PAM's round."""
    n, k = len(D), len(medoids)
    change, loss = np.empty(k), removal_losses(near, first, second, k)
    best, row, place = -_MIN_RELATIVE_GAIN * second.sum(), -1, -1
    for c in range(n):
        if _is_medoid(c, medoids, near):
            continue
        j, gain = best_swap(D[c], near, first, second, loss, change)
        if gain < best:
            best, row, place = gain, c, j
    if row < 0:
        return 0
    medoids[place] = row
    assign_to_medoids(D, medoids, near, first, second)
    return 1


@njit(cache=True, nogil=True)
def _alternate_iteration(D, medoids, near, first, second):  # noqa: ANN001, ANN202  -> int
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
            if total < least * (1 - _MIN_RELATIVE_GAIN):
                best, least = c, total
        moved += best != medoids[j]
        medoids[j] = best
    assign_to_medoids(D, medoids, near, first, second)
    return moved


def random_medoids(D: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """As many different rows as there are clusters."""
    return rng.choice(len(D), k, replace=False)


def kmedoids_plusplus(D: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """Rows drawn in proportion to their distance to the nearest one so far; best of a few tries.

    k-means++ draws in proportion to squares because its cost is one of squares; this cost is one of
    distances.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.repeat([0.0, 10.0, 20.0], 5)
    >>> chosen = kmedoids_plusplus(np.abs(x[:, None] - x), 3, np.random.default_rng(0))
    >>> sorted(x[chosen].tolist())
    [0.0, 10.0, 20.0]
    """
    tries = 2 + int(np.log(k))
    chosen = rng.integers(len(D), size=1)
    reach = D[chosen[0]].astype(np.float64)
    for _ in range(1, k):
        free = np.ones(len(D))
        free[chosen] = 0
        pull = reach * free
        candidates = draw_weighted(
            pull if pull.any() else free, tries, rng
        )  # free: k different rows lack
        reaches = np.minimum(D[candidates], reach)
        best = int(reaches.sum(axis=1).argmin())
        chosen = np.append(chosen, candidates[best])
        reach = reaches[best]
    return chosen


def pam_build(D: np.ndarray, k: int, _: np.random.Generator) -> np.ndarray:
    """PAM's BUILD: the most central row, then each time the row that lowers the cost most.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([0.0, 1.0, 2.0, 10.0])
    >>> pam_build(np.abs(x[:, None] - x), 2, np.random.default_rng(0)).tolist()
    [1, 3]
    """
    return _pam_build_loop(D, k)


@njit(cache=True, nogil=True)
def _pam_build_loop(D, k):  # noqa: ANN001, ANN202  (n, n) -> (k,)
    """The rows of BUILD, the first on a tie."""
    n = len(D)
    chosen, taken = np.empty(k, np.int64), np.zeros(n, np.bool_)
    reach = np.full(n, np.inf)
    for j in range(k):
        best, least = -1, np.inf
        for c in range(n):
            if taken[c]:
                continue
            row, total = D[c], 0.0
            for i in range(n):
                total += min(row[i], reach[i])
            if total < least:
                best, least = c, total
        chosen[j], taken[best] = best, True
        for i in range(n):
            reach[i] = min(reach[i], D[best, i])
    return chosen


MEDOID_INITS = {"k-medoids++": kmedoids_plusplus, "random": random_medoids, "build": pam_build}


class MedoidSolution(NamedTuple):
    """Where one start has led."""

    medoids: np.ndarray  # (k,) row numbers
    labels: np.ndarray  # (n,) place of the nearest medoid
    cost: float
    report: dict[str, Any]


def find_medoids(D: np.ndarray, start: np.ndarray, method: str, max_iter: int) -> MedoidSolution:
    """Medoids that no round of a method improves.

    Parameters
    ----------
    D : (n, n) array
        Symmetric distances.
    start : (k,) array
        Row numbers of the first medoids.
    method : {"fasterpam", "pam", "alternate"}
        Swap as soon as the cost falls; only the best swap of all; or reassign rows and choose the
        most central member of each cluster in turns.
    max_iter : int
        Most rounds.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([0.0, 1.0, 2.0, 9.0, 10.0, 11.0])
    >>> found = find_medoids(np.abs(x[:, None] - x), np.array([0, 1]), "fasterpam", 10)
    >>> sorted(found.medoids.tolist()), found.cost
    ([1, 4], 4.0)
    """
    n = len(D)
    near, first, second = np.zeros(n, np.int32), np.empty(n), np.empty(n)  # sums in float64
    state = np.array(start, np.int64), 0
    loop: until_converged[tuple[np.ndarray, int]] = until_converged(state, tol=0, max_iter=max_iter)
    for medoids, idle in loop:
        medoids = medoids.copy()
        assign_to_medoids(D, medoids, near, first, second)
        before = first.sum()
        if len(medoids) == n:
            moved = 0
        elif method == "alternate":
            moved = _alternate_iteration(D, medoids, near, first, second)
        elif len(medoids) == 1:  # there is no second nearest
            moved = _update_single_medoid(D, medoids)
        elif method == "pam":
            moved = _pam_iteration(D, medoids, near, first, second)
        else:
            moved, idle = _fasterpam_iteration(D, medoids, near, first, second, int(idle))
            moved = 0 if idle >= n else moved
        loop.update((medoids, idle), objective=before, change=moved)
    medoids = loop.state[0]
    assign_to_medoids(D, medoids, near, first, second)
    return MedoidSolution(medoids, near, float(first.sum()), loop.report)


def _update_single_medoid(D: np.ndarray, medoids: np.ndarray) -> int:
    """The most central row of all, in place; whether it is another one."""
    totals = D.sum(axis=1, dtype=np.float64)
    moved = totals.min() < totals[medoids[0]]
    if moved:
        medoids[0] = totals.argmin()
    return int(moved)
