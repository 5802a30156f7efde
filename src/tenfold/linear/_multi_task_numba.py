"""Compiled loops of block coordinate descent: all targets of a column move together.

The problem is to minimize 1/2 <W, QW> - <C, W> + l1 sum_j |W_j| + l2/2 |W|^2 over (p, q) matrices,
where |W_j| is the Euclidean norm of row j. All loops keep the negative gradient G = C - QW.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tenfold.optim.coordinate_descent_numba import ROUNDING_STEP_RATIO


@njit(cache=True, nogil=True)
def block_step(Q, l1, l2, j, W, G, step):
    """Minimize along row j, with `step` as workspace; returns the largest change of an entry."""
    q, curvature, norm = W.shape[1], Q[j, j], 0.0
    if curvature + l2 <= 0.0:
        return 0.0
    for t in range(q):
        step[t] = G[j, t] + curvature * W[j, t]
        norm += step[t] * step[t]
    norm = np.sqrt(norm)
    shrink = (1.0 - l1 / norm) / (curvature + l2) if norm > l1 else 0.0
    largest = 0.0
    for t in range(q):
        step[t] = shrink * step[t] - W[j, t]
        largest = max(largest, abs(step[t]))
    if largest > 0.0:
        for t in range(q):
            W[j, t] += step[t]
        for i in range(len(W)):
            for t in range(q):
                G[i, t] -= Q[j, i] * step[t]
    return largest


@njit(cache=True, nogil=True)
def multi_task_gap(C, curvature, yy, l1, l2, W, G):
    """Duality gap with yy/2 added to the objective, as `duality_gap` of the lasso.

    The dual point is the residual, scaled until no column correlates with it by more than l1.
    """
    cw = gw = ww = size = worst = squares = gains = 0.0
    for j in range(len(W)):
        norm = correlation = steepness = 0.0
        for t in range(W.shape[1]):
            cw += C[j, t] * W[j, t]
            gw += G[j, t] * W[j, t]
            norm += W[j, t] * W[j, t]
            steepness += G[j, t] * G[j, t]
            correlation += (G[j, t] - l2 * W[j, t]) ** 2
        ww += norm
        size += np.sqrt(norm)
        worst = max(worst, np.sqrt(correlation))
        squares += steepness
        if curvature[j] > 0.0:
            gains += steepness / curvature[j]
    residual, along = yy - cw - gw, yy - cw
    if l1 > 0.0:
        shrink = l1 / worst if worst > l1 else 1.0
        primal = 0.5 * (residual + l2 * ww) + l1 * size
        return primal + 0.5 * shrink * shrink * (residual + l2 * ww) - shrink * along
    if l2 > 0.0:
        return residual + 0.5 * l2 * ww - along + squares / (2.0 * l2)
    return 0.5 * gains


@njit(cache=True, nogil=True)
def largest_entry(W):
    """Largest absolute entry."""
    size = 0.0
    for j in range(len(W)):
        for t in range(W.shape[1]):
            size = max(size, abs(W[j, t]))
    return size


@njit(cache=True, nogil=True)
def descend_blocks(Q, C, yy, l1, l2, W, G, short, tol, max_iter, seed):
    """Sweep until steps and gap are small, or steps are rounding; changes W and G.

    As `descend_to_gap` of the lasso: returns the number of sweeps, and the longest step of the
    last one. A seed other than zero draws random rows.
    """
    p, step = len(W), np.empty(W.shape[1])
    curvature = np.empty(p)
    for j in range(p):
        curvature[j] = Q[j, j]
    state, done, longest = np.uint64(seed), 0, np.inf
    while done < max_iter and longest > ROUNDING_STEP_RATIO * largest_entry(W):
        if short and multi_task_gap(C, curvature, yy, l1, l2, W, G) <= tol * yy:
            break
        longest = 0.0
        if seed:
            for _ in range(p):
                state ^= state << np.uint64(13)  # Marsaglia's xorshift
                state ^= state >> np.uint64(7)
                state ^= state << np.uint64(17)
                j = np.int64(state % np.uint64(p))
                longest = max(longest, block_step(Q, l1, l2, j, W, G, step))
        if longest <= ROUNDING_STEP_RATIO * largest_entry(W):  # cyclic, or perhaps not drawn
            for j in range(p):
                longest = max(longest, block_step(Q, l1, l2, j, W, G, step))
        short = longest <= tol * largest_entry(W)
        done += 1
    return done, longest
