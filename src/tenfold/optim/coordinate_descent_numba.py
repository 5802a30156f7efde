"""Compiled loops of coordinate descent on a quadratic: cyclic and random sweeps, duality gap.

The problem is to minimise 1/2 w'Qw - c'w + sum_j l1_j |w_j| + l2_j/2 w_j^2. All loops keep the
negative gradient g = c - Qw beside w, so that a step along one coordinate costs one row of Q.
"""

from __future__ import annotations

import numpy as np
from numba import njit

ROUNDING_STEP_RATIO = 5e-16  # of the largest coefficient: a shorter step is rounding


@njit(cache=True, nogil=True)
def soft_threshold(rho, l1, positive):
    """Soft threshold of rho at l1; one-sided if the coefficient must not be negative."""
    if rho > l1:
        return rho - l1
    if rho < -l1 and not positive:
        return rho + l1
    return 0.0


@njit(cache=True, nogil=True)
def coordinate_step(Q, l1, l2, positive, j, w, g):
    """Minimize along coordinate j; returns the length of the step. No curvature: stays at zero."""
    curvature = Q[j, j] + l2[j]
    old = w[j]
    new = (
        soft_threshold(g[j] + Q[j, j] * old, l1[j], positive) / curvature
        if curvature > 0.0
        else 0.0
    )
    change = new - old
    if change != 0.0:
        w[j] = new
        for i in range(len(w)):
            g[i] -= change * Q[j, i]
    return abs(change)


@njit(cache=True, nogil=True)
def cyclic_sweep(Q, l1, l2, positive, w, g):
    """A step along every coordinate, in order; returns the longest step."""
    longest = 0.0
    for j in range(len(w)):
        longest = max(longest, coordinate_step(Q, l1, l2, positive, j, w, g))
    return longest


@njit(cache=True, nogil=True)
def random_sweep(Q, l1, l2, positive, w, g, seed):
    """As many steps along random coordinates; returns the longest step and the next seed."""
    longest = 0.0
    for _ in range(len(w)):
        seed ^= seed << np.uint64(13)  # Marsaglia's xorshift
        seed ^= seed >> np.uint64(7)
        seed ^= seed << np.uint64(17)
        j = np.int64(seed % np.uint64(len(w)))
        longest = max(longest, coordinate_step(Q, l1, l2, positive, j, w, g))
    return longest, seed


@njit(cache=True, nogil=True)
def kkt_violation(l1, l2, positive, w, g):
    """Largest entry of the shortest subgradient; zero at the minimum."""
    worst = 0.0
    for j in range(len(w)):
        residual = g[j] - l2[j] * w[j]
        if w[j] > 0.0:
            violation = abs(residual - l1[j])
        elif w[j] < 0.0:
            violation = abs(residual + l1[j])
        else:
            violation = (residual if positive else abs(residual)) - l1[j]
        worst = max(worst, violation)
    return worst


@njit(cache=True, nogil=True)
def descend_to_tolerance(Q, l1, l2, positive, w, g, tol, max_iter):
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
def duality_gap(c, curvature, yy, l1, l2, positive, w, g):
    """Duality gap of a lasso objective (with yy/2 added): a bound on its excess over the minimum.

    The dual point is the residual, scaled until no column correlates with it by more than l1.
    Without l1 there is a dual if l2 > 0, else none: then the sum of the gains of single steps.
    """
    cw = gw = ww = size = worst = squares = gains = 0.0
    for j in range(len(w)):
        cw += c[j] * w[j]
        gw += g[j] * w[j]
        ww += w[j] * w[j]
        size += abs(w[j])
        residual_correlation = g[j] - l2 * w[j]
        worst = max(worst, residual_correlation if positive else abs(residual_correlation))
        free = max(g[j], 0.0) if positive else g[j]
        squares += free * free
        if curvature[j] > 0.0 and not (positive and w[j] == 0.0 and g[j] < 0.0):
            gains += g[j] * g[j] / curvature[j]
    residual, along = yy - cw - gw, yy - cw
    if l1 > 0.0:
        shrink = l1 / worst if worst > l1 else 1.0
        primal = 0.5 * (residual + l2 * ww) + l1 * size
        return primal + 0.5 * shrink * shrink * (residual + l2 * ww) - shrink * along
    if l2 > 0.0:
        return residual + 0.5 * l2 * ww - along + squares / (2.0 * l2)
    return 0.5 * gains


@njit(cache=True, nogil=True)
def max_abs(w):
    """Largest absolute entry."""
    size = 0.0
    for j in range(len(w)):
        size = max(size, abs(w[j]))
    return size


@njit(cache=True, nogil=True)
def descend_to_gap(Q, c, yy, l1, l2, positive, w, g, short, tol, max_iter, seed):
    """Sweep until steps and duality gap are small, or steps are rounding; changes w and g.

    A step is small up to `tol` times the largest coefficient, a gap up to `tol` times yy; `short`
    states whether the step before was small. A seed other than zero draws random coordinates.
    Returns the number of sweeps, and the longest step of the last one.
    """
    m = len(w)
    l1s, l2s, curvature = np.empty(m), np.empty(m), np.empty(m)
    for j in range(m):
        l1s[j], l2s[j], curvature[j] = l1, l2, Q[j, j]
    state, done, longest = np.uint64(seed), 0, np.inf
    while done < max_iter and longest > ROUNDING_STEP_RATIO * max_abs(w):
        if short and duality_gap(c, curvature, yy, l1, l2, positive, w, g) <= tol * yy:
            break
        if seed:
            longest, state = random_sweep(Q, l1s, l2s, positive, w, g, state)
        if not seed or longest <= ROUNDING_STEP_RATIO * max_abs(
            w
        ):  # perhaps not drawn: look at all
            longest = cyclic_sweep(Q, l1s, l2s, positive, w, g)
        short = longest <= tol * max_abs(w)
        done += 1
    return done, longest
