"""Compiled: strongly connected parts of a process, and orders of the states of a part.

`order` holds all states in the order in which they are solved, `rank` the position of each state in
it. Edges from a part lead to itself or to parts before it.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tenfold.rl._planning_numba import CERTAIN, LANES

_DONE = 2**31 - 1  # number of a state whose part is known
_NEAR_BEST = 0.25  # of the range of what states pay, by which goals may pay less than the best


@njit(cache=True, nogil=True)
def strong_parts(starts, after, n):
    """Number of the part of each state; edges lead to parts of smaller or equal numbers.

    The algorithm of Tarjan (1972) with a stack of its own. `starts` has a fixed number of groups
    of edges for each state.
    """
    groups = (len(starts) - 1) // n
    number, label = np.zeros(n, np.int32), np.empty(n, np.int32)
    stack, path = np.empty(n, np.int32), np.empty(n, np.int32)  # not in a part yet; on the way
    edges, lows = np.empty(n, np.int64), np.empty(n, np.int64)  # of the states on the way
    found, top, parts, low = 0, 0, 0, 0
    for root in range(n):
        s, depth = (root, 0) if number[root] == 0 else (0, -1)
        while depth >= 0:
            if number[s] == 0:
                found += 1
                number[s] = low = found
                stack[top], edge = s, starts[s * groups]
                top += 1
            else:
                edge, low = edges[depth], min(lows[depth], low)
            end, child = starts[(s + 1) * groups], -1
            while edge < end and child < 0:
                t = np.uint64(after[np.uint64(edge)])
                edge += 1
                if number[t] == 0:
                    child = np.int64(t)
                else:
                    low = min(low, np.int64(number[t]))
            if child >= 0:
                edges[depth], lows[depth], path[depth] = edge, low, s
                s, depth = child, depth + 1
                continue
            if low == number[s]:
                while number[s] != _DONE:
                    top -= 1
                    label[stack[top]], number[stack[top]] = parts, _DONE
                parts += 1
            depth -= 1
            s = np.int64(path[max(depth, 0)])
    return label, parts


@njit(cache=True, nogil=True)
def sort_by_number(numbers, most):
    """Positions in the order of small numbers, equal ones as they stand.

    Also returns the rank of each position, and where each number ends.
    """
    ends = np.zeros(most + 1, np.int64)
    for number in numbers:
        ends[number + 1] += 1
    for i in range(most):
        ends[i + 1] += ends[i]
    place, rank = ends.copy(), np.empty(len(numbers), np.int64)
    order = np.empty(len(numbers), np.int64)
    for i in range(len(numbers)):
        rank[i] = place[numbers[i]]
        order[rank[i]] = i
        place[numbers[i]] += 1
    return order, rank, ends[1:]


@njit(cache=True, nogil=True)
def order_parts(starts, after, n):
    """All states, part by part, those that others lead to first; ranks, and where parts end."""
    labels, parts = strong_parts(starts, after, n)
    return sort_by_number(labels, parts)


@njit(cache=True, nogil=True)
def set_order(states, low, order, rank):
    """Let the states of a part, which stand from `low` on, come in this order."""
    for i in range(len(states)):
        order[low + i] = states[i]
        rank[states[i]] = low + i


@njit(cache=True, nogil=True)
def order_by_distance(starts, after, weight, own, values, low, high, order, rank):
    """Order the states of a part by their steps to those that pay best, nearest first."""
    n, groups, states = high - low, len(own) // len(values), order[low:high]
    pays, ends = _pays(starts, after, weight, own, values, states, rank, low)
    before = _predecessors(starts, after, groups, states, rank, low, ends)
    best = pays.max()
    least, found = best - _NEAR_BEST * (best - pays.min()), 0
    known, queue = np.zeros(n, np.bool_), np.empty(n, np.int64)
    for i in range(n):
        if not pays[i] < least:
            known[i], queue[found] = True, i
            found += 1
    for position in range(n):
        i = np.uint64(queue[position])
        queue[position] = states[i]
        for e in range(np.uint64(ends[i]), np.uint64(ends[i + np.uint64(1)])):
            t = np.uint64(before[e])
            if not known[t]:
                known[t], queue[found] = True, t
                found += 1
    set_order(queue, low, order, rank)


@njit(cache=True, nogil=True)
def _pays(starts, after, weight, own, values, states, rank, low):
    """What each state is worth if all others of its part are worth as much as itself.

    Also returns the number of edges in the part to each state, two places behind it.
    """
    n, groups = len(states), len(own) // len(values)
    pays, edges = np.full(n, -np.inf), np.zeros(n + 2, np.int64)
    for i in range(n):
        for group in range(np.uint64(states[i] * groups), np.uint64((states[i] + 1) * groups)):
            q0, q1, q2, q3 = own[group, 0], own[group, 1], own[group, 2], own[group, 3]
            r0 = r1 = r2 = r3 = 1.0
            for e in range(np.uint64(starts[group]), np.uint64(starts[group + np.uint64(1)])):
                s = np.uint64(after[e])
                t = rank[s] - low
                if t >= 0:
                    edges[np.uint64(t + 2)] += 1
                    r0, r1 = r0 - weight[e, 0], r1 - weight[e, 1]
                    r2, r3 = r2 - weight[e, 2], r3 - weight[e, 3]
                else:
                    q0, q1 = q0 + weight[e, 0] * values[s], q1 + weight[e, 1] * values[s]
                    q2, q3 = q2 + weight[e, 2] * values[s], q3 + weight[e, 3] * values[s]
            first, second = _pay(q0, r0), _pay(q1, r1)
            third, fourth = _pay(q2, r2), _pay(q3, r3)
            pays[i] = max(pays[i], first, second, third, fourth)
    return pays, edges


@njit(cache=True, nogil=True)
def _pay(reward, leaves):
    """Worth of an action until it leaves; -inf if it never does."""
    return reward / max(leaves, CERTAIN) if leaves > CERTAIN else -np.inf


@njit(cache=True, nogil=True)
def _predecessors(starts, after, groups, states, rank, low, ends):
    """Positions of the predecessors of each state of a part.

    `ends` holds their numbers as `_pays` gives them; those of position i then stand from `ends[i]`
    to `ends[i + 1]`.
    """
    n = len(states)
    for i in range(n):
        ends[i + 2] += ends[i + 1]
    before = np.empty(ends[n + 1], np.int32)
    for i in range(n):
        s = states[i]
        for e in range(np.uint64(starts[s * groups]), np.uint64(starts[(s + 1) * groups])):
            t = rank[np.uint64(after[e])] - low
            if t >= 0:
                at = np.uint64(t + 1)
                before[np.uint64(ends[at])] = i
                ends[at] += 1
    return before


@njit(cache=True, nogil=True)
def order_by_policy(starts, after, weight, policy, low, high, order, rank):
    """Order the states of a part by the steps that the policy takes, along the likeliest ones.

    Steps count to where such a path leaves the part, ends, or comes back to itself.
    """
    n, groups = high - low, (len(starts) - 1) // len(policy)
    main, depth = np.full(n, -1, np.int32), np.full(n, -1, np.int32)  # not yet known
    for i in range(n):
        s = order[low + i]
        likeliest, lane = 0.0, policy[s] % LANES
        group = s * groups + policy[s] // LANES
        for e in range(starts[group], starts[group + 1]):
            if weight[e, lane] > likeliest:
                likeliest, main[i] = weight[e, lane], max(rank[after[e]] - low, -1)
    path, most = np.empty(n, np.int32), 0
    for first in range(n):
        i, m = first, 0
        while i >= 0 and depth[i] == -1:
            path[m], depth[i] = i, -2  # on the way
            m += 1
            i = main[i]
        d = depth[i] + 1 if i >= 0 and depth[i] >= 0 else 0
        for j in range(m - 1, -1, -1):
            depth[path[j]] = d
            d += 1
        most = max(most, d)
    set_order(order[low:high][sort_by_number(depth, most)[0]], low, order, rank)
