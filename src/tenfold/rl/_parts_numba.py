"""Compiled: strongly connected parts of a process, and relaxation within a large one."""

from __future__ import annotations

import numpy as np
from numba import njit

from tenfold.rl._planning_numba import LANES

_HEAD = 4  # next states of a row that are summed without a loop


@njit(cache=True, nogil=True)
def strong_parts(starts, after, n):
    """Number of the part of each state; edges lead to parts of smaller or equal numbers.

    The algorithm of Tarjan (1972) with a stack of its own. `starts` has a fixed number of groups
    of edges for each state.
    """
    groups = (len(starts) - 1) // n
    number, lowest = np.zeros(n, np.int32), np.zeros(n, np.int32)
    label, edge = np.full(n, -1, np.int32), np.empty(n, np.int64)
    stack, path = np.empty(n, np.int32), np.empty(n, np.int32)
    found, top, parts = 0, 0, 0
    for root in range(n):
        if number[root] > 0:
            continue
        t, depth = root, 0
        while True:
            if number[t] == 0:
                found += 1
                number[t] = lowest[t] = found
                edge[t] = starts[t * groups]
                stack[top] = path[depth] = t
                top += 1
                depth += 1
            s = path[depth - 1]
            if edge[s] < starts[(s + 1) * groups]:
                t = after[edge[s]]
                edge[s] += 1
                if number[t] > 0 and label[t] < 0:
                    lowest[s] = min(lowest[s], number[t])
                continue
            if lowest[s] == number[s]:
                while label[s] < 0:
                    top -= 1
                    label[stack[top]] = parts
                parts += 1
            depth -= 1
            if depth == 0:
                break
            lowest[path[depth - 1]] = min(lowest[path[depth - 1]], lowest[s])
            t = s
    return label, parts


@njit(cache=True, nogil=True)
def sort_by_number(numbers, most):
    """Positions in the order of small numbers, equal ones as they stand; where each number ends."""
    ends = np.zeros(most + 1, np.int64)
    for number in numbers:
        ends[number + 1] += 1
    for i in range(most):
        ends[i + 1] += ends[i]
    place, order = ends.copy(), np.empty(len(numbers), np.int64)
    for i in range(len(numbers)):
        order[place[numbers[i]]] = i
        place[numbers[i]] += 1
    return order, ends[1:]


@njit(cache=True, nogil=True)
def depths(starts, after, weight, policy, states, place):
    """Steps from each of the states to where the policy leads, along the likeliest ones.

    A state at which such a path leaves the states, ends, or comes back to itself has depth 0. Also
    returns one more than the largest depth. `place` holds -1 for all states of the process, before
    and afterwards.
    """
    n, groups = len(states), (len(starts) - 1) // len(policy)
    main, depth = np.full(n, -1, np.int32), np.full(n, -1, np.int32)  # not yet known
    for i in range(n):
        place[states[i]] = i
    for i in range(n):
        s = states[i]
        likeliest, lane = 0.0, policy[s] % LANES
        group = s * groups + policy[s] // LANES
        for e in range(starts[group], starts[group + 1]):
            if weight[e, lane] > likeliest:
                likeliest, main[i] = weight[e, lane], place[after[e]]
    for i in range(n):
        place[states[i]] = -1
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
    return depth, most


@njit(cache=True, nogil=True)
def part_blocks(starts, after, weight, own, values, states, place):
    """Blocks of some states alone, numbered as they stand there; values of others are given.

    `place` is that of `depths`.
    """
    n, groups = len(states), len(own) // len(values)
    m = 0
    for i in range(n):
        place[states[i]] = i
        m += starts[(states[i] + 1) * groups] - starts[states[i] * groups]
    starts_inside, after_inside = np.empty(n * groups + 1, np.int64), np.empty(m, np.int32)
    weight_inside, own_inside = np.empty((m, LANES)), np.empty((n * groups, LANES))
    starts_inside[0] = m = 0
    for i in range(n):
        for b in range(groups):
            group = states[i] * groups + b
            for a in range(LANES):
                own_inside[i * groups + b, a] = own[group, a]
            for e in range(starts[group], starts[group + 1]):
                t = place[after[e]]
                if t < 0:
                    for a in range(LANES):
                        own_inside[i * groups + b, a] += weight[e, a] * values[after[e]]
                    continue
                after_inside[m] = t
                for a in range(LANES):
                    weight_inside[m, a] = weight[e, a]
                m += 1
            starts_inside[i * groups + b + 1] = m
    for i in range(n):
        place[states[i]] = -1
    return starts_inside, after_inside[:m], weight_inside[:m], own_inside


def empty_rows(n, m):
    """Room for the rows of n states with m next states in all, as `update_rows` fills them."""
    heads = np.empty(n), np.empty((n, _HEAD), np.int32), np.empty((n, _HEAD))
    tails = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(m, np.int32), np.empty(m)
    return heads + tails


@njit(cache=True, nogil=True)
def update_rows(blocks, policy, actions, rows):
    """Keep the rows those of the linear system of a policy: V = own + weight V(after).

    `actions` are those whose rows are there; only the rows of others are written. The first four
    states of a row stand in `head`, with weight zero where there are fewer, further ones from
    `low[s]` to `high[s]`.
    """
    starts, after, weight, own = blocks
    row_own, head, head_weight, low, high, row_after, row_weight = rows
    groups = len(own) // len(policy)
    for s in range(len(policy)):
        if actions[s] == policy[s]:
            continue
        lane, group = policy[s] % LANES, s * groups + policy[s] // LANES
        actions[s], row_own[s], m = policy[s], own[group, lane], starts[group]
        low[s] = m
        for i in range(_HEAD):
            head[s, i], head_weight[s, i] = s, 0.0
        i = 0
        for e in range(starts[group], starts[group + 1]):
            if weight[e, lane] == 0.0:
                continue
            if i < _HEAD:
                head[s, i], head_weight[s, i] = after[e], weight[e, lane]
                i += 1
            else:
                row_after[m], row_weight[m] = after[e], weight[e, lane]
                m += 1
        high[s] = m


@njit(cache=True, nogil=True)
def relax(rows, values, factor, change, most, may_shift):
    """Gauss-Seidel sweeps with over-relaxation, until no value changes by more than `change`.

    Where changes grow, the factor becomes 1, with which sweeps converge. Where after `most` sweeps
    all values still go in one direction, they are shifted, if they may be. Returns the number of
    sweeps and the factor.
    """
    own, head, head_weight, low, high, after, weight = rows
    last, rising = np.inf, 0
    for number in range(most):
        largest, rising = 0.0, 0
        for s in range(len(own)):
            first = head_weight[s, 0] * values[head[s, 0]] + head_weight[s, 1] * values[head[s, 1]]
            other = head_weight[s, 2] * values[head[s, 2]] + head_weight[s, 3] * values[head[s, 3]]
            q = own[s] + (first + other)
            for e in range(low[s], high[s]):
                q += weight[e] * values[after[e]]
            step = q - values[s]
            largest = max(largest, abs(step))
            rising += step > 0.0
            values[s] += factor * step
        if largest <= change:
            return number + 1, factor
        if largest > last:
            factor = 1.0
        last = largest
    if may_shift and rising in (0, len(own)):
        _shift_level(rows, values)
    return most, factor


@njit(cache=True, nogil=True)
def _shift_level(rows, values):
    """Raise or lower all values at once, so that the errors of the equations sum up to zero.

    A part that is hardly ever left keeps a common error of its values, which sweeps shrink by no
    more than the discount. Where errors are not alike, a shift may miss by far.
    """
    own, head, head_weight, low, high, after, weight = rows
    total = leaving = 0.0
    for s in range(len(own)):
        error, leaves = own[s] - values[s], 1.0
        for i in range(_HEAD):
            error += head_weight[s, i] * values[head[s, i]]
            leaves -= head_weight[s, i]
        for e in range(low[s], high[s]):
            error += weight[e] * values[after[e]]
            leaves -= weight[e]
        total, leaving = total + error, leaving + leaves
    if leaving > 0.0:
        for s in range(len(own)):
            values[s] += total / leaving
