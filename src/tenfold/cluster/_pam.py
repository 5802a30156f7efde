"""Partitioning around medoids: BUILD and k-medoids++ initialization, PAM and FasterPAM swaps.

The cost is the sum over the rows of the distance to the nearest medoid. To evaluate a candidate row
c in place of each medoid at once, a row needs only its nearest and second nearest medoid: without
its nearest medoid it falls back on the second nearest, or on c. One pass along the distances of c
evaluates all k swaps.

References
----------
L. Kaufman and P. J. Rousseeuw (1990), Finding Groups in Data.

E. Schubert and P. J. Rousseeuw (2021), Fast and eager k-medoids clustering.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from tenfold.cluster.initialization import draw_weighted
from tenfold.optim.convergence import until_converged

_MIN_RELATIVE_GAIN = 1e-12  # of the sum of second distances; smaller gains are rounding
_SCAN_BLOCK = 32  # rows that are skipped together if the candidate is nearest to none; not swept


@njit(cache=True, nogil=True)
def assign_to_medoids(D, medoids, nearest, first, second):  # noqa: ANN001, ANN202  (n, n), (k,) -> writes (n,)
    """Write the nearest medoid of each row, its distance, and that of the second nearest."""
    n, k = len(D), len(medoids)
    for i in range(n):
        first[i] = second[i] = np.inf
    for j in range(k):
        row = D[medoids[j]]
        for i in range(n):
            d = row[i]
            if d < first[i]:
                second[i], first[i], nearest[i] = first[i], d, j
            elif d < second[i]:
                second[i] = d
    for j in range(k):  # a medoid is its own nearest, even if another has the same coordinates
        i = medoids[j]
        if nearest[i] != j:
            second[i], nearest[i] = first[i], j
            first[i] = D[i, i]


@njit(cache=True, nogil=True)
def removal_losses(nearest, first, second, k):  # noqa: ANN001, ANN202  (n,) -> (k,)
    """Increase of the cost if each of the medoids is removed."""
    loss = np.zeros(k)
    for i in range(len(nearest)):
        loss[nearest[i]] += second[i] - first[i]
    return loss


@njit(cache=True, nogil=True)
def best_swap(row, nearest, first, second, loss, change):  # noqa: ANN001, ANN202  -> int, float
    """The medoid that a candidate replaces best, and the change of the cost."""
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
                change[nearest[i]] += first[i] - second[i]
            elif d < second[i]:
                change[nearest[i]] += d - second[i]
    best = 0
    for j in range(1, len(loss)):
        if change[j] < change[best]:
            best = j
    return best, change[best] + gain


@njit(cache=True, nogil=True)
def _is_medoid(row, medoids, nearest):  # noqa: ANN001, ANN202  int, (k,), (n,) -> bool
    """Whether a row is a medoid, and so its own nearest."""
    return medoids[nearest[row]] == row


@njit(cache=True, nogil=True)
def _fasterpam_iteration(D, medoids, nearest, first, second, failures):  # noqa: ANN001, ANN202  -> int, int
    """FasterPAM: each row as a candidate once, swapped in at once if the cost falls; in place.

    Returns the number of swaps, and the number of consecutive candidates that did not lower the
    cost: when these are all rows, the medoids are a local optimum.
    """
    n, k = len(D), len(medoids)
    change, swaps = np.empty(k), 0
    loss, least = removal_losses(nearest, first, second, k), _MIN_RELATIVE_GAIN * second.sum()
    for c in range(n):
        if failures >= n:
            break
        failures += 1
        if _is_medoid(c, medoids, nearest):
            continue
        place, gain = best_swap(D[c], nearest, first, second, loss, change)
        if gain < -least:
            medoids[place] = c
            assign_to_medoids(D, medoids, nearest, first, second)
            loss = removal_losses(nearest, first, second, k)
            swaps, failures = swaps + 1, 0
    return swaps, failures


@njit(cache=True, nogil=True)
def _pam_iteration(D, medoids, nearest, first, second):  # noqa: ANN001, ANN202  -> int
    """PAM: the swap, of all medoids and rows, that lowers the cost most; in place."""
    n, k = len(D), len(medoids)
    change, loss = np.empty(k), removal_losses(nearest, first, second, k)
    best, row, place = -_MIN_RELATIVE_GAIN * second.sum(), -1, -1
    for c in range(n):
        if _is_medoid(c, medoids, nearest):
            continue
        j, gain = best_swap(D[c], nearest, first, second, loss, change)
        if gain < best:
            best, row, place = gain, c, j
    if row < 0:
        return 0
    medoids[place] = row
    assign_to_medoids(D, medoids, nearest, first, second)
    return 1


@njit(cache=True, nogil=True)
def _alternate_iteration(D, medoids, nearest, first, second):  # noqa: ANN001, ANN202  -> int
    """Alternate: move each medoid to the member of its cluster with the least sum of distances.

    References
    ----------
    H.-S. Park and C.-H. Jun (2009), A simple and fast algorithm for k-medoids clustering.
    """
    n, k = len(D), len(medoids)
    order, ends = np.argsort(nearest, kind="mergesort"), np.zeros(k + 1, np.int64)
    for i in range(n):
        ends[nearest[i] + 1] += 1
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
    assign_to_medoids(D, medoids, nearest, first, second)
    return moved


def random_medoids(D: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """K distinct random rows."""
    return rng.choice(len(D), k, replace=False)


def kmedoids_plusplus(D: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """Greedy k-means++ with distances: draw rows by distance to the nearest chosen one.

    k-means++ uses squared distances, because its cost is one of squares.

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
        weights = reach * free
        if not weights.any():  # fewer distinct rows than k
            weights = free
        candidates = draw_weighted(weights, tries, rng)
        reaches = np.minimum(D[candidates], reach)
        best = int(reaches.sum(axis=1).argmin())
        chosen = np.append(chosen, candidates[best])
        reach = reaches[best]
    return chosen


def pam_build(D: np.ndarray, k: int, _: np.random.Generator) -> np.ndarray:
    """BUILD of PAM: the most central row, then each time the row that lowers the cost most.

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
    """Medoids of one initialization."""

    medoids: np.ndarray  # (k,) row numbers
    labels: np.ndarray  # (n,) number of the nearest medoid
    cost: float
    report: dict[str, Any]


def find_medoids(D: np.ndarray, start: np.ndarray, method: str, max_iter: int) -> MedoidSolution:
    """Medoids that no iteration of a method improves.

    Parameters
    ----------
    D : (n_samples, n_samples) array
        Symmetric distances.
    start : (n_clusters,) array
        Row numbers of the initial medoids.
    method : {"fasterpam", "pam", "alternate"}
        Swap as soon as the cost falls; the best swap of all; or alternate between assignment and
        the most central member of each cluster.
    max_iter : int
        Maximum iterations.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([0.0, 1.0, 2.0, 9.0, 10.0, 11.0])
    >>> found = find_medoids(np.abs(x[:, None] - x), np.array([0, 1]), "fasterpam", 10)
    >>> sorted(found.medoids.tolist()), found.cost
    ([1, 4], 4.0)
    """
    n = len(D)
    nearest, first, second = np.zeros(n, np.int32), np.empty(n), np.empty(n)  # sums in float64
    state = np.array(start, np.int64), 0
    loop: until_converged[tuple[np.ndarray, int]] = until_converged(state, tol=0, max_iter=max_iter)
    for medoids, failures in loop:
        medoids = medoids.copy()
        assign_to_medoids(D, medoids, nearest, first, second)
        before = first.sum()
        if len(medoids) == n:
            moved = 0
        elif method == "alternate":
            moved = _alternate_iteration(D, medoids, nearest, first, second)
        elif len(medoids) == 1:  # there is no second nearest
            moved = _update_single_medoid(D, medoids)
        elif method == "pam":
            moved = _pam_iteration(D, medoids, nearest, first, second)
        else:
            moved, failures = _fasterpam_iteration(
                D, medoids, nearest, first, second, int(failures)
            )
            moved = 0 if failures >= n else moved
        loop.update((medoids, failures), objective=before, change=moved)
    medoids = loop.state[0]
    assign_to_medoids(D, medoids, nearest, first, second)
    return MedoidSolution(medoids, nearest, float(first.sum()), loop.report)


def _update_single_medoid(D: np.ndarray, medoids: np.ndarray) -> int:
    """Move the only medoid to the most central row; 1 if it moved."""
    totals = D.sum(axis=1, dtype=np.float64)
    moved = totals.min() < totals[medoids[0]]
    if moved:
        medoids[0] = totals.argmin()
    return int(moved)
