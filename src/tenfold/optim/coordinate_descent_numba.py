"""Compiled loops of coordinate descent on a quadratic: cyclic and random sweeps, duality gap.

The problem is to minimise 1/2 w'Qw - c'w + sum_j l1_j |w_j| + l2_j/2 w_j^2. All loops keep the
slope g = c - Qw beside w, so that a step along one coordinate costs one row of Q.
"""

from __future__ import annotations

import numpy as np
from numba import njit

ROUNDING_STEP_RATIO = (
    5e-16  # a step that is no longer, as a share of the largest coefficient, is no step
)


@njit(cache=True, nogil=True)
def soft_threshold(rho, l1, positive):  # noqa: ANN001, ANN201
    """The soft threshold of rho; from one side alone if the coefficient must not be negative."""
    if rho > l1:
        return rho - l1
    if rho < -l1 and not positive:
        return rho + l1
    return 0.0


@njit(cache=True, nogil=True)
def coordinate_step(Q, l1, l2, positive, j, w, g):  # noqa: ANN001, ANN201  -> changes w and g
    """Minimise along coordinate j; how far it moved. Without curvature it stays at zero."""
    bend = Q[j, j] + l2[j]
    old = w[j]
    new = soft_threshold(g[j] + Q[j, j] * old, l1[j], positive) / bend if bend > 0.0 else 0.0
    change = new - old
    if change != 0.0:
        w[j] = new
        for i in range(len(w)):
            g[i] -= change * Q[j, i]
    return abs(change)


@njit(cache=True, nogil=True)
def cyclic_sweep(Q, l1, l2, positive, w, g):  # noqa: ANN001, ANN201  -> changes w and g
    """A step along every coordinate, in order; the longest step."""
    longest = 0.0
    for j in range(len(w)):
        longest = max(longest, coordinate_step(Q, l1, l2, positive, j, w, g))
    return longest


@njit(cache=True, nogil=True)
def random_sweep(Q, l1, l2, positive, w, g, seed):  # noqa: ANN001, ANN201  -> changes w and g
    """As many steps along coordinates drawn by chance; the longest step, and the next seed."""
    longest = 0.0
    for _ in range(len(w)):
        seed ^= seed << np.uint64(13)  # Marsaglia's xorshift
        seed ^= seed >> np.uint64(7)
        seed ^= seed << np.uint64(17)
        j = np.int64(seed % np.uint64(len(w)))
        longest = max(longest, coordinate_step(Q, l1, l2, positive, j, w, g))
    return longest, seed


@njit(cache=True, nogil=True)
def kkt_violation(l1, l2, positive, w, g):  # noqa: ANN001, ANN201
    """The largest entry of the shortest subgradient: zero at the minimum."""
    worst = 0.0
    for j in range(len(w)):
        fall = g[j] - l2[j] * w[j]
        if w[j] > 0.0:
            wrong = abs(fall - l1[j])
        elif w[j] < 0.0:
            wrong = abs(fall + l1[j])
        else:
            wrong = (fall if positive else abs(fall)) - l1[j]
        worst = max(worst, wrong)
    return worst


@njit(cache=True, nogil=True)
def descend_to_tolerance(Q, l1, l2, positive, w, g, tol, max_iter):  # noqa: ANN001, ANN201
    """Sweep until the violation is at most `tol`; changes w and g."""
    worst = kkt_violation(l1, l2, positive, w, g)
    done = 0
    while worst > tol and done < max_iter:
        longest = cyclic_sweep(Q, l1, l2, positive, w, g)
        worst = kkt_violation(l1, l2, positive, w, g)
        done += 1
        if longest == 0.0:
            break
    return done, worst


@njit(cache=True, nogil=True)
def duality_gap(c, bend, yy, l1, l2, positive, w, g):  # noqa: ANN001, ANN201
    """How far the objective of a lasso, with yy/2 added, can be above its minimum.

    The residual, shrunk until no column correlates with it by more than l1, is a dual point. With
    no l1 there is a dual for l2 > 0, and none at all without: then what single steps would gain.
    """
    cw = gw = ww = size = worst = squares = gains = 0.0
    for j in range(len(w)):
        cw += c[j] * w[j]
        gw += g[j] * w[j]
        ww += w[j] * w[j]
        size += abs(w[j])
        fall = g[j] - l2 * w[j]
        worst = max(worst, fall if positive else abs(fall))
        free = max(g[j], 0.0) if positive else g[j]
        squares += free * free
        if bend[j] > 0.0 and not (positive and w[j] == 0.0 and g[j] < 0.0):
            gains += g[j] * g[j] / bend[j]
    residual, along = yy - cw - gw, yy - cw
    if l1 > 0.0:
        shrink = l1 / worst if worst > l1 else 1.0
        primal = 0.5 * (residual + l2 * ww) + l1 * size
        return primal + 0.5 * shrink * shrink * (residual + l2 * ww) - shrink * along
    if l2 > 0.0:
        return residual + 0.5 * l2 * ww - along + squares / (2.0 * l2)
    return 0.5 * gains


@njit(cache=True, nogil=True)
def max_abs(w):  # noqa: ANN001, ANN201
    """The largest entry, without signs."""
    size = 0.0
    for j in range(len(w)):
        size = max(size, abs(w[j]))
    return size


@njit(cache=True, nogil=True)
def descend_to_gap(Q, c, yy, l1, l2, positive, w, g, short, tol, max_iter, seed):  # noqa: ANN001, ANN201
    """Sweep until steps and duality gap are small, or nothing moves but by rounding; changes w, g.

    Small are a step of `tol` times the largest coefficient and a gap of `tol` times yy; `short`
    says whether the step before was small. Coordinates are drawn by chance if the seed is not zero.
    Returns the number of sweeps, and the longest step of the last one.
    """
    m = len(w)
    each_l1, each_l2, bend = np.empty(m), np.empty(m), np.empty(m)
    for j in range(m):
        each_l1[j], each_l2[j], bend[j] = l1, l2, Q[j, j]
    state, done, longest = np.uint64(seed), 0, np.inf
    while done < max_iter and longest > ROUNDING_STEP_RATIO * max_abs(w):
        if short and duality_gap(c, bend, yy, l1, l2, positive, w, g) <= tol * yy:
            break
        if seed:
            longest, state = random_sweep(Q, each_l1, each_l2, positive, w, g, state)
        else:
            longest = cyclic_sweep(Q, each_l1, each_l2, positive, w, g)
        short = longest <= tol * max_abs(w)
        done += 1
    return done, longest
