"""Compiled steps of sequential minimal optimization, and sums of kernel columns.

Arrays are flat and nothing is allocated: most of the time of compilation is spent on types of
arrays. Extremes are kept for each of `LANES` places of a vector and then compared: LLVM has no
vectors for the extreme of a sequence, but does for those of lanes. Offsets are unsigned: numba
checks signed ones for wrap-around, and such loops are not vectorized. Comparisons stand where
`min` and `max` would care for NaN, for the same reason.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tenfold._compiled.gemm import ENTRY_OPTIONS, INNER_OPTIONS

LANES = 64  # to multiples of which the variables of a group are filled up
CURVATURE_FLOOR = 1e-12  # of a pair, where the kernel has none or is not positive semi-definite
_LANES, _ZERO = np.uint64(LANES), np.float32(0)


@njit(**ENTRY_OPTIONS)
def run_steps(
    K,
    n,
    row,
    n_own,
    edge,
    diagonal,
    scale,
    lower,
    upper,
    beta,
    f,
    work,
    lane,
    gains,
    change,
    tol,
    most,
):
    """Move pairs of variables until none violates by more than `tol`, in place.

    Parameters
    ----------
    K, n : (n * n,) kernel values, and number of rows
    row : (m,) row of K of each variable
    n_own : if above zero, the rows of so many variables are 0, 1, ..., and the others are fillers
    edge : where the second group begins; both groups end with fillers, which cannot move
    diagonal, scale : (m,) kernel value of the row of each variable with itself, the largest
    lower, upper, beta, f : (m,) bounds, variables and their gradient
    work, lane, gains : (5, m) and (LANES,) float64, (m + LANES,) float32; overwritten
    change : (n,) sum of the changes of the variables of each row
    tol, most : largest violation at which to stop, most steps

    Returns
    -------
    steps, whether no pair violates any more, least curvature of a pair that was moved
    """
    m, least = len(f), np.inf
    rise, fall, first, second, best = work[0], work[1], work[2], work[3], work[4]
    for t in range(m):
        _mark_bounds(beta, lower, upper, rise, fall, t)
    for done in range(most):
        i, j, gain, violates = 0, 0, -1.0, False
        for g in range(2):
            start, stop = (0, edge) if g == 0 else (edge, m)
            low, a = _lowest(f, rise, lane, start, stop)
            high = _highest(f, fall, lane, start, stop)
            if not high > low:
                continue
            violates = violates or high - low > tol
            _copy_line(K, n, row, n_own, a, first)
            b = _best_partner(f, fall, diagonal, first, a, low, high, scale, gains, start, stop)
            if b >= stop:  # gradients are not finite
                return most, False, least
            curvature = max(diagonal[a] + diagonal[b] - 2.0 * first[b], CURVATURE_FLOOR)
            if (f[b] - low) * (f[b] - low) > gain * curvature:
                i, j, gain = a, b, (f[b] - low) * (f[b] - low) / curvature
                first, best = best, first
        if not violates:
            return done, True, least
        _copy_line(K, n, row, n_own, j, second)
        curvature = diagonal[i] + diagonal[j] - 2.0 * best[j]
        least = min(least, curvature)
        step = _move_pair(beta, lower, upper, i, j, (f[j] - f[i]) / max(curvature, CURVATURE_FLOOR))
        _mark_bounds(beta, lower, upper, rise, fall, i)
        _mark_bounds(beta, lower, upper, rise, fall, j)
        change[row[i]] += step
        change[row[j]] -= step
        for t in range(m):
            f[t] += step * (best[t] - second[t])
    return most, False, least


@njit(**INNER_OPTIONS)
def _move_pair(beta, lower, upper, i, j, wanted):
    """Raise variable i and lower j as far as is wanted and bounds allow; returns the step."""
    room_i, room_j = upper[i] - beta[i], beta[j] - lower[j]
    step = min(wanted, room_i, room_j)
    beta[i] = upper[i] if step == room_i else beta[i] + step
    beta[j] = lower[j] if step == room_j else beta[j] - step
    return step


@njit(**INNER_OPTIONS)
def _mark_bounds(beta, lower, upper, rise, fall, t):
    """What is added to the gradient of a variable that may not rise, or may not fall."""
    rise[t] = 0.0 if beta[t] < upper[t] else np.inf
    fall[t] = 0.0 if beta[t] > lower[t] else -np.inf


@njit(**INNER_OPTIONS)
def _copy_line(K, n, row, n_own, i, out):
    """Kernel values of the row of variable i with the rows of all variables."""
    first = np.uint64(row[i] * n)
    if n_own > 0:
        for t in range(np.uint64(n_own)):
            out[t] = K[first + t]
    else:
        for t in range(np.uint64(len(out))):
            out[t] = K[first + np.uint64(row[t])]


@njit(**INNER_OPTIONS)
def _lowest(f, rise, lane, start, stop):
    """The smallest gradient of a variable that may rise, and the first that has it."""
    for p in range(_LANES):
        lane[p] = np.inf
    for s in range(np.uint64(start), np.uint64(stop), _LANES):
        for p in range(_LANES):
            value = f[s + p] + rise[s + p]
            lane[p] = value if value < lane[p] else lane[p]  # noqa: FURB136
    low, at = np.inf, stop
    for p in range(LANES):
        low = min(low, lane[p])
    for p in range(LANES):
        if lane[p] == low < np.inf:
            t = start + p
            while f[t] + rise[t] != low:
                t += LANES
            at = min(at, t)
    return low, at


@njit(**INNER_OPTIONS)
def _highest(f, fall, lane, start, stop):
    """The largest gradient of a variable that may fall."""
    for p in range(_LANES):
        lane[p] = -np.inf
    for s in range(np.uint64(start), np.uint64(stop), _LANES):
        for p in range(_LANES):
            value = f[s + p] + fall[s + p]
            lane[p] = value if value > lane[p] else lane[p]  # noqa: FURB136
    high = -np.inf
    for p in range(LANES):
        high = max(high, lane[p])
    return high


@njit(**INNER_OPTIONS)
def _best_partner(f, fall, diagonal, line, i, low, high, scale, gains, start, stop):
    """Which variable gains most by second order if it falls while i rises; the first such one.

    Gains are compared in float32, in units in which the largest gradient and `scale` are 1.
    """
    m, own, unit, inverse = np.uint64(len(f)), diagonal[i], 1.0 / (high - low), 1.0 / scale
    for p in range(_LANES):
        gains[m + p] = _ZERO
    for s in range(np.uint64(start), np.uint64(stop), _LANES):
        for p in range(_LANES):
            excess = np.float32((f[s + p] + fall[s + p] - low) * unit)
            excess = excess if excess > _ZERO else _ZERO  # noqa: FURB136
            curvature = own + diagonal[s + p] - 2.0 * line[s + p]
            curvature = curvature if curvature > CURVATURE_FLOOR else CURVATURE_FLOOR  # noqa: FURB136
            gain = excess * excess / np.float32(curvature * inverse)
            gains[s + p] = gain
            gains[m + p] = gain if gain > gains[m + p] else gains[m + p]  # noqa: FURB136
    top, at = _ZERO, stop
    for p in range(_LANES):
        top = max(top, gains[m + p])
    for p in range(LANES):
        if gains[len(f) + p] == top:
            t = start + p
            while t < stop and gains[t] != top:
                t += LANES
            at = min(at, t)
    return at


@njit(**ENTRY_OPTIONS)
def add_columns(F, cache, width, slots, delta, start, stop):
    """F[start:stop] += sum over s of delta[s] column[slots[s]][start:stop], in the order of s.

    `cache` is flat: the columns, of `width` values each, one after the other.
    """
    s, count, width = 0, len(slots), np.uint64(width)
    start, stop = np.uint64(start), np.uint64(stop)
    while s < count:
        a, p = np.uint64(slots[s]) * width, delta[s]
        if s + 4 <= count:
            b, c = np.uint64(slots[s + 1]) * width, np.uint64(slots[s + 2]) * width
            d, q, u, v = np.uint64(slots[s + 3]) * width, delta[s + 1], delta[s + 2], delta[s + 3]
            for r in range(start, stop):
                F[r] += (p * cache[a + r] + q * cache[b + r]) + (
                    u * cache[c + r] + v * cache[d + r]
                )
            s += 4
        else:
            for r in range(start, stop):
                F[r] += p * cache[a + r]
            s += 1


@njit(**ENTRY_OPTIONS)
def gather_square(cache, width, slots, places, out, start, stop):
    """out[s, t] = column[slots[s]][places[t]] for s from start to stop; cache and out are flat."""
    for s in range(start, stop):
        first, line = slots[s] * width, s * len(places)
        for t in range(len(places)):
            out[line + t] = cache[first + places[t]]
