"""Compiled steps of sequential minimal optimization, and sums of kernel columns.

Arrays are flat and nothing is allocated: most of the time of compilation is spent on types of
arrays.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tenfold._compiled.gemm import ENTRY_OPTIONS, INNER_OPTIONS

CURVATURE_FLOOR = 1e-12  # of a pair, where the kernel has none or is not positive semi-definite


@njit(**ENTRY_OPTIONS)
def run_steps(K, n, row, diagonal, lower, upper, group, n_groups, beta, f, change, tol, most):
    """Move pairs of variables until none violates by more than `tol`, in place.

    Parameters
    ----------
    K, n : (n * n,) kernel values, and number of rows
    row, diagonal : (m,) row of K of each variable, and kernel value of the row with itself
    lower, upper, group, n_groups : (m,) bounds and groups, and number of groups
    beta, f : (m,) variables and their gradient
    change : (n,) sum of the changes of the variables of each row
    tol, most : largest violation at which to stop, most steps

    Returns
    -------
    steps, whether no pair violates any more, least curvature of a pair that was moved
    """
    least = np.inf
    for done in range(most):
        i, j = _choose_pair(K, n, row, diagonal, lower, upper, group, n_groups, beta, f, tol)
        if j < 0:
            return done, True, least
        first, second = row[i] * n, row[j] * n
        curvature = diagonal[i] + diagonal[j] - 2.0 * K[first + row[j]]
        least = min(least, curvature)
        room_i, room_j = upper[i] - beta[i], beta[j] - lower[j]
        step = min((f[j] - f[i]) / max(curvature, CURVATURE_FLOOR), room_i, room_j)
        beta[i] = upper[i] if step == room_i else beta[i] + step
        beta[j] = lower[j] if step == room_j else beta[j] - step
        change[row[i]] += step
        change[row[j]] -= step
        for t in range(len(f)):
            f[t] += step * (K[first + row[t]] - K[second + row[t]])
    return most, False, least


@njit(**INNER_OPTIONS)
def _choose_pair(K, n, row, diagonal, lower, upper, group, n_groups, beta, f, tol):
    """The pair to move: i that rises, j that falls; j = -1 if none violates by more than tol."""
    best_i, best_j, gain, violates = -1, -1, -1.0, False
    for g in range(n_groups):
        i, low, high = -1, np.inf, -np.inf
        for t in range(len(f)):
            v = f[t]
            if v < low and beta[t] < upper[t] and group[t] == g:
                low, i = v, t
            if v > high and beta[t] > lower[t] and group[t] == g:
                high = v
        violates = violates or (i >= 0 and high - low > tol)
        if i < 0 or high <= low:
            continue
        own, first = diagonal[i], row[i] * n
        for t in range(len(f)):
            b = f[t] - low
            if b > 0.0 and beta[t] > lower[t] and group[t] == g:
                c = max(own + diagonal[t] - 2.0 * K[first + row[t]], CURVATURE_FLOOR)
                if b * b > gain * c:
                    best_i, best_j, gain = i, t, b * b / c
    return best_i, best_j if violates else -1


@njit(**ENTRY_OPTIONS)
def add_columns(F, cache, width, slots, delta, start, stop):
    """F[start:stop] += sum over s of delta[s] column[slots[s]][start:stop], in the order of s.

    `cache` is flat: the columns, of `width` values each, one after the other.
    """
    s, count = 0, len(slots)
    while s < count:
        if s + 4 <= count:
            a, b = slots[s] * width, slots[s + 1] * width
            c, d = slots[s + 2] * width, slots[s + 3] * width
            for r in range(start, stop):
                F[r] += (delta[s] * cache[a + r] + delta[s + 1] * cache[b + r]) + (
                    delta[s + 2] * cache[c + r] + delta[s + 3] * cache[d + r]
                )
            s += 4
        else:
            a = slots[s] * width
            for r in range(start, stop):
                F[r] += delta[s] * cache[a + r]
            s += 1


@njit(**ENTRY_OPTIONS)
def gather_square(cache, width, slots, places, out):
    """out[s, t] = column[slots[s]][places[t]], with a flat cache and a flat output."""
    for s in range(len(slots)):
        first, line = slots[s] * width, s * len(places)
        for t in range(len(places)):
            out[line + t] = cache[first + places[t]]
