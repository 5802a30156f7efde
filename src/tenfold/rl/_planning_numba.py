"""Compiled planning: Gauss-Seidel sweeps over strongly connected parts, self-loops eliminated."""

from __future__ import annotations

import numpy as np
from numba import njit

_CERTAIN = 1e-12  # 1 - probability of staying below which a state is never left


@njit(cache=True, nogil=True)
def eliminate_self_loops(indptr, next_state, probability, rewards, discount):
    """Rewards and discounted probabilities of leaving, with repeated stays summed up.

    Q(s, a) = (R(s, a) + discount sum_{t != s} T(s, a, t) V(t)) / (1 - discount T(s, a, s)). An
    action that never leaves, without discount, is worth 0 if it pays nothing and -inf if it costs.
    """
    n, k = rewards.shape
    starts, after = np.empty(len(indptr), np.int64), np.empty(len(next_state), np.int32)
    weight, own = np.empty(len(next_state)), np.empty((n, k))
    m = 0
    starts[0] = 0
    for s in range(n):
        for a in range(k):
            row = s * k + a
            stay = 0.0
            for e in range(indptr[row], indptr[row + 1]):
                if next_state[e] == s:
                    stay += probability[e]
            leaves = 1.0 - discount * stay
            scale = 0.0 if leaves < _CERTAIN else 1.0 / leaves
            own[s, a] = rewards[s, a] * scale
            if scale == 0.0:
                own[s, a] = 0.0 if rewards[s, a] >= 0.0 else -np.inf
            elif rewards[s, a] == -np.inf:
                own[s, a] = -np.inf
            for e in range(indptr[row], indptr[row + 1]):
                if next_state[e] != s and scale > 0.0:
                    after[m] = next_state[e]
                    weight[m] = discount * probability[e] * scale
                    m += 1
            starts[row + 1] = m
    return starts, after[:m].copy(), weight[:m].copy(), own


@njit(cache=True, nogil=True, inline="always")
def _backup(s, a, starts, after, weight, own, values):
    """Value of an action from the values of the next states."""
    q = own[s, a]
    row = s * own.shape[1] + a
    for e in range(starts[row], starts[row + 1]):
        q += weight[e] * values[after[e]]
    return q


@njit(cache=True, nogil=True)
def sweep_parts(starts, after, weight, own, values, policy, order, ends, position, limits):
    """Solve part after part until the changes are small or the budget is spent.

    A sweep over all actions is followed by sweeps over the best ones alone, in directions that
    alternate. `position` holds the part and the sweep to go on with, and is updated; `limits` are
    the change to stop at, updates of states to spend, and sweeps of best actions. Returns the
    updates that were spent.
    """
    k = own.shape[1]
    tol, budget, repeats = limits
    spent = 0.0
    while position[0] < len(ends) and spent < budget:
        low = 0 if position[0] == 0 else ends[position[0] - 1]
        size = ends[position[0]] - low
        forward = position[1] % 2 == 0
        change = 0.0
        for i in range(size):
            s = order[low + i] if forward else order[low + size - 1 - i]
            best, chosen = -np.inf, policy[s]
            for a in range(k):
                q = _backup(s, a, starts, after, weight, own, values)
                is_better = q > best  # no branch: which action is best cannot be foreseen
                best, chosen = q if is_better else best, a if is_better else chosen
            policy[s] = chosen
            change = max(change, abs(best - values[s]))
            values[s] = best
        spent += size
        position[1] += 1
        if change <= tol or size == 1:
            position[0] += 1
            position[1] = 0
            continue
        for _ in range(int(repeats)):
            forward = not forward
            change = 0.0
            for i in range(size):
                s = order[low + i] if forward else order[low + size - 1 - i]
                q = _backup(s, policy[s], starts, after, weight, own, values)
                change = max(change, abs(q - values[s]))
                values[s] = q
            spent += size / k
            if change <= 0.5 * tol:
                break
    return spent
