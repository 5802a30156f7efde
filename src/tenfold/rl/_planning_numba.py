"""Compiled planning: actions in lanes, Gauss-Seidel sweeps over them, and the check of a plan."""

from __future__ import annotations

import numpy as np
from numba import njit

LANES = 4  # actions whose values are computed at once
_ONE = np.uint64(1)
CERTAIN = 1e-12  # probability of leaving below which a state is never left


@njit(cache=True, nogil=True)
def action_blocks(indptr, next_state, probability, rewards, discount):
    """Rewards and discounted probabilities of leaving, with repeated stays summed up.

    Q(s, a) = (R(s, a) + discount sum_{t != s} T(s, a, t) V(t)) / (1 - discount T(s, a, s)). An
    action that never leaves, without discount, is worth 0 if it pays nothing and -inf if it costs.

    Actions come in groups of `LANES`, those of state s from `s * groups` on. A group leads to the
    states `after` from its `starts` on, each once, with a row of `weight` for its actions; its row
    of `own` is what the actions pay by themselves, -inf where there is none.
    """
    n, k = rewards.shape
    groups, room = (k + LANES - 1) // LANES, _most_edges(indptr, n, k)
    starts, own = np.empty(n * groups + 1, np.int64), np.full((n * groups, LANES), -np.inf)
    after, weight = np.empty(room, np.int32), np.empty((room, LANES))  # memory that is not touched
    slot = np.full(n, -1, np.int64)
    starts[0] = m = low = 0
    for pair in range(n * k):
        s, a = pair // k, pair % k
        if a % LANES == 0:
            low = m
        group, lane, stay = s * groups + a // LANES, np.uint64(a % LANES), 0.0
        for e in range(np.uint64(indptr[pair]), np.uint64(indptr[pair + 1])):
            t = np.uint64(next_state[e])
            if t == np.uint64(s):
                stay += probability[e]
                continue
            if slot[t] < low:
                slot[t], new = m, np.uint64(m)
                after[new] = t
                for i in range(LANES):
                    weight[new, i] = 0.0
                m += 1
            weight[np.uint64(slot[t]), lane] += discount * probability[e]
        own[group, lane], scale = _without_stays(rewards[s, a], discount, stay)
        if scale != 1.0:
            for e in range(np.uint64(low), np.uint64(m)):
                weight[e, lane] *= scale
        starts[group + 1] = m
    return starts, after[:m], weight[:m], own


@njit(cache=True, nogil=True)
def _most_edges(indptr, n, k):
    """A bound of the number of states that all groups of actions lead to."""
    most = 0
    for s in range(n):
        for first in range(s * k, s * k + k, LANES):
            most += min(n, indptr[min(first + LANES, s * k + k)] - indptr[first])
    return most


@njit(cache=True, nogil=True)
def _without_stays(reward, discount, stay):
    """Reward of an action until the state is left, and the factor of its other probabilities."""
    if reward == -np.inf:
        return -np.inf, 0.0
    if discount == 1.0 and 1.0 - stay < CERTAIN:
        return 0.0 if reward >= 0.0 else -np.inf, 0.0
    return reward / (1.0 - discount * stay), 1.0 / (1.0 - discount * stay)


@njit(cache=True, nogil=True)
def choose_lane(q0, q1, q2, q3):
    """The largest of four values, and the first lane that has it; without branches."""
    second, fourth = q1 > q0, q3 > q2
    left, right = q1 if second else q0, q3 if fourth else q2
    is_right = right > left
    lane = 2 + np.int64(fourth) if is_right else np.int64(second)
    return right if is_right else left, lane


@njit(cache=True, nogil=True)
def sweep(starts, after, weight, own, values, policy, order, forward):
    """Give the states their best values from the newest ones of others, one after the other.

    Returns the largest change, and how many states have another best action than before. Unsigned
    numbers save numba the question whether an index counts from the end.
    """
    n, groups = len(order), np.uint64(len(own) // len(values))
    change, switched = 0.0, 0
    for i in range(n):
        s = np.uint64(order[i] if forward else order[n - 1 - i])
        best, chosen = -np.inf, 0
        for g in range(s * groups, s * groups + groups):
            q0, q1, q2, q3 = own[g, 0], own[g, 1], own[g, 2], own[g, 3]
            for e in range(starts[g], starts[g + _ONE]):
                v = values[after[e]]
                q0 += weight[e, 0] * v
                q1 += weight[e, 1] * v
                q2 += weight[e, 2] * v
                q3 += weight[e, 3] * v
            top, lane = choose_lane(q0, q1, q2, q3)
            if top > best:
                best, chosen = top, LANES * np.int64(g - s * groups) + lane
        switched += policy[s] != chosen
        policy[s] = chosen
        change = max(change, abs(best - values[s]))
        values[s] = best
    return change, switched


@njit(cache=True, nogil=True)
def sweep_parts(starts, after, weight, own, values, policy, order, ends, position, limits):
    """Solve small parts, one after the other, until the changes are small or the budget is spent.

    `position` holds the part and the sweep to go on with, and the part to stop before; it is
    updated. `limits` are the change to stop at, updates of states to spend, and sweeps of one part,
    after which it is left to the caller. Returns the updates that were spent.
    """
    tol, budget, most = limits
    spent = 0.0
    while position[0] < position[2] and spent < budget:
        low = 0 if position[0] == 0 else ends[position[0] - 1]
        states = order[low : ends[position[0]]]
        forward = position[1] % 2 == 0
        change, _ = sweep(starts, after, weight, own, values, policy, states, forward)
        spent += len(states)
        position[1] += 1
        if change <= tol or len(states) == 1:
            position[0] += 1
            position[1] = 0
        elif position[1] >= most:
            break
    return spent


@njit(cache=True, nogil=True)
def least_best_reward(rewards):
    """The smallest over all states of the largest reward of an action."""
    least = np.inf
    for s in range(len(rewards)):
        best = -np.inf
        for a in range(rewards.shape[1]):
            best = max(best, rewards[s, a])
        least = min(least, best)
    return least


@njit(cache=True, nogil=True)
def look_ahead(indptr, next_state, probability, rewards, values, discount):
    """Values of actions, their largest of each state, and the largest finite size of any."""
    n, k = rewards.shape
    q, best = np.empty((n, k)), np.empty(n)
    size = 0.0
    for s in range(n):
        best[s] = -np.inf
        for a in range(k):
            total = 0.0
            for e in range(indptr[s * k + a], indptr[s * k + a + 1]):
                total += probability[e] * values[next_state[e]]
            q[s, a] = rewards[s, a] + discount * total
            best[s] = max(best[s], q[s, a])
            if np.isfinite(q[s, a]):
                size = max(size, abs(q[s, a]))
    return q, best, size


@njit(cache=True, nogil=True)
def choose_best(q, best, slack):
    """Which actions are best within `slack`, the first of them, and by how much it falls behind."""
    n, k = q.shape
    is_best, first, behind = np.empty((n, k), np.bool_), np.zeros(n, np.int64), 0.0
    for s in range(n):
        for a in range(k - 1, -1, -1):
            is_best[s, a] = q[s, a] >= best[s] - slack
            if is_best[s, a]:
                first[s] = a
        if np.isfinite(best[s]):
            behind = max(behind, best[s] - q[s, first[s]])
    return is_best, first, behind
