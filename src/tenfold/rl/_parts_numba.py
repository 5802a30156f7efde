"""Compiled: sweeps and relaxation within a strongly connected part, whose states have an order.

States are numbered as they stand in the order. A group of actions leads to the four states `head`
with the rows of `head_weight` for its actions, and on to those of the tail from `tail[group]` on.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tenfold.rl._planning_numba import LANES, choose_lane

HEAD = 4  # next states that are summed without a loop
_MOST_FACTOR = 1.15  # of a step: larger ones diverge where most of an action leads to later states


@njit(cache=True, nogil=True)
def lay_out(starts, after, weight, own, values, low, high, order, rank):
    """The groups of actions of a part; values of states outside of it count as rewards."""
    groups = len(own) // len(values)
    n = (high - low) * groups
    tail = np.zeros(n + 1, np.int64)
    for g in range(n):
        there = order[low + g // groups] * groups + g % groups
        tail[g + 1] = tail[g] + max(starts[there + 1] - starts[there] - HEAD, 0)
    head, head_weight = np.empty((n, HEAD), np.int32), np.empty((n, HEAD, LANES))
    after_inside, weight_inside = np.empty(tail[-1], np.int32), np.empty((tail[-1], LANES))
    own_inside = np.empty((n, LANES))
    for g in range(n):
        there, m = order[low + g // groups] * groups + g % groups, np.uint64(0)
        own_inside[g] = own[there]
        for e in range(np.uint64(starts[there]), np.uint64(starts[there + 1])):
            state = np.uint64(after[e])
            t = rank[state] - low
            if t < 0:
                for a in range(LANES):
                    own_inside[g, a] += weight[e, a] * values[state]
            elif m < HEAD:
                _set_edge(head[g], head_weight[g], m, t, weight[e])
                m += np.uint64(1)
            else:
                at = np.uint64(tail[g]) + m - np.uint64(HEAD)
                _set_edge(after_inside, weight_inside, at, t, weight[e])
                m += np.uint64(1)
        for e in range(m, np.uint64(HEAD)):
            head[g, e], head_weight[g, e] = g // groups, 0.0
        for e in range(tail[g] + max(np.int64(m) - HEAD, 0), tail[g + 1]):
            after_inside[e], weight_inside[e] = g // groups, 0.0
    return head, head_weight, tail, after_inside, weight_inside, own_inside


@njit(cache=True, nogil=True)
def _set_edge(after, weight, at, state, weights):
    after[at] = state
    for a in range(LANES):
        weight[at, a] = weights[a]


@njit(cache=True, nogil=True)
def start_values(layout, values, policy, discount):
    """First values and policy, as if later states were worth as much as the state itself."""
    head, head_weight, tail, after, weight, own = layout
    groups, least = len(own) // len(values), 1.0 - discount
    values[:] = 0.0  # of later states, which count as stays
    for s in range(len(values)):
        best, chosen = -np.inf, 0
        for g in range(np.uint64(s * groups), np.uint64(s * groups + groups)):
            q0, q1, q2, q3 = own[g, 0], own[g, 1], own[g, 2], own[g, 3]
            r0 = r1 = r2 = r3 = 1.0
            for j in range(HEAD):
                t, w = np.uint64(head[g, j]), head_weight[g, j]
                v, later = values[t], 1.0 if head[g, j] > s else 0.0
                q0, q1, q2, q3 = q0 + w[0] * v, q1 + w[1] * v, q2 + w[2] * v, q3 + w[3] * v
                r0, r1 = r0 - w[0] * later, r1 - w[1] * later
                r2, r3 = r2 - w[2] * later, r3 - w[3] * later
            for e in range(np.uint64(tail[g]), np.uint64(tail[g + np.uint64(1)])):
                t, w = np.uint64(after[e]), weight[e]
                v, later = values[t], 1.0 if after[e] > s else 0.0
                q0, q1, q2, q3 = q0 + w[0] * v, q1 + w[1] * v, q2 + w[2] * v, q3 + w[3] * v
                r0, r1 = r0 - w[0] * later, r1 - w[1] * later
                r2, r3 = r2 - w[2] * later, r3 - w[3] * later
            q0, q1 = q0 / max(r0, least), q1 / max(r1, least)
            q2, q3 = q2 / max(r2, least), q3 / max(r3, least)
            top, lane = choose_lane(q0, q1, q2, q3)
            if top > best:
                best, chosen = top, LANES * (np.int64(g) - s * groups) + lane
        values[s], policy[s] = best, chosen


@njit(cache=True, nogil=True)
def sweep_actions(layout, values, policy):
    """Give the states their best values from the newest ones of others, one after the other.

    Returns the largest change.
    """
    head, head_weight, tail, after, weight, own = layout
    groups, change = np.uint64(len(own) // len(values)), 0.0
    for i in range(len(values)):
        s = np.uint64(i)
        best, chosen = -np.inf, 0
        for g in range(s * groups, s * groups + groups):
            v0, v1 = values[np.uint64(head[g, 0])], values[np.uint64(head[g, 1])]
            v2, v3 = values[np.uint64(head[g, 2])], values[np.uint64(head[g, 3])]
            w = head_weight[g]
            q0 = own[g, 0] + (w[0, 0] * v0 + w[1, 0] * v1) + (w[2, 0] * v2 + w[3, 0] * v3)
            q1 = own[g, 1] + (w[0, 1] * v0 + w[1, 1] * v1) + (w[2, 1] * v2 + w[3, 1] * v3)
            q2 = own[g, 2] + (w[0, 2] * v0 + w[1, 2] * v1) + (w[2, 2] * v2 + w[3, 2] * v3)
            q3 = own[g, 3] + (w[0, 3] * v0 + w[1, 3] * v1) + (w[2, 3] * v2 + w[3, 3] * v3)
            for e in range(np.uint64(tail[g]), np.uint64(tail[g + np.uint64(1)])):
                v = values[np.uint64(after[e])]
                q0 += weight[e, 0] * v
                q1 += weight[e, 1] * v
                q2 += weight[e, 2] * v
                q3 += weight[e, 3] * v
            top, lane = choose_lane(q0, q1, q2, q3)
            if top > best:
                best, chosen = top, LANES * np.int64(g - s * groups) + lane
        change = max(change, abs(best - values[s]))
        values[s], policy[s] = best, chosen
    return change


def empty_rows(n, m):
    """Room for the rows of n states with m next states in their tails, for `update_rows`."""
    heads = np.empty(n), np.empty(n), np.empty((n, HEAD), np.int32), np.empty((n, HEAD))
    tails = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(m, np.int32), np.empty(m)
    return heads + tails


@njit(cache=True, nogil=True)
def update_rows(layout, policy, actions, rows):
    """Keep the rows those of the linear system of a policy: V = own + weight V(after).

    `actions` are those whose rows are there; only the rows of others are written. Each has a factor
    for the steps of its value: later states are expected to change by as much. Returns how many
    new rows lead to later states, most likely.
    """
    head, head_weight, tail, after, weight, own = layout
    row_own, factor, row_head, row_weight, low, high, tail_after, tail_weight = rows
    groups, late = len(own) // len(policy), 0
    for s in range(len(policy)):
        if actions[s] == policy[s]:
            continue
        lane, g = np.uint64(policy[s] % LANES), s * groups + policy[s] // LANES
        actions[s], row_own[s], low[s] = policy[s], own[g, lane], tail[g]
        later = most = most_later = 0.0
        for j in range(HEAD):
            t, w = head[g, j], head_weight[g, j, lane]
            row_head[s, j], row_weight[s, j] = t, w
            to_later = w if t > s else 0.0
            later, most, most_later = later + to_later, max(most, w), max(most_later, to_later)
        m = tail[g]
        for e in range(tail[g], tail[g + 1]):
            if weight[e, lane] != 0.0:
                t, w = after[e], weight[e, lane]
                tail_after[m], tail_weight[m] = t, w
                to_later, m = w if t > s else 0.0, m + 1
                later, most, most_later = later + to_later, max(most, w), max(most_later, to_later)
        high[s] = m
        factor[s] = 1.0 / max(1.0 - later, 1.0 / _MOST_FACTOR)
        late += most_later > 0.0 and most_later == most
    return late


@njit(cache=True, nogil=True)
def relax(rows, values, change, most, is_trusted, may_shift):
    """Gauss-Seidel sweeps with over-relaxation, until no value changes by more than `change`.

    Where changes grow, steps are taken as they are, with which sweeps converge. Where after `most`
    sweeps all values still go in one direction, they are shifted, if they may be. Returns the
    number of sweeps and whether over-relaxation can still be trusted.
    """
    own, factor, head, weight, low, high, tail_after, tail_weight = rows
    last, rising = np.inf, 0
    for number in range(most):
        largest, rising = 0.0, 0
        for i in range(len(own)):
            s = np.uint64(i)
            v0, v1 = values[np.uint64(head[s, 0])], values[np.uint64(head[s, 1])]
            v2, v3 = values[np.uint64(head[s, 2])], values[np.uint64(head[s, 3])]
            q = own[s] + (weight[s, 0] * v0 + weight[s, 1] * v1)
            q += weight[s, 2] * v2 + weight[s, 3] * v3
            for e in range(np.uint64(low[s]), np.uint64(high[s])):
                q += tail_weight[e] * values[np.uint64(tail_after[e])]
            step = q - values[s]
            largest = max(largest, abs(step))
            rising += step > 0.0
            values[s] += (factor[s] if is_trusted else 1.0) * step
        if largest <= change:
            return number + 1, is_trusted
        if largest > last:
            is_trusted = False
        last = largest
    if may_shift and rising in (0, len(own)):
        _shift_level(rows, values)
    return most, is_trusted


@njit(cache=True, nogil=True)
def _shift_level(rows, values):
    """Raise or lower all values at once, so that the errors of the equations sum up to zero.

    A part that is hardly ever left keeps a common error of its values, which sweeps shrink by no
    more than the discount. Where errors are not alike, a shift may miss by far.
    """
    own, _, head, weight, low, high, tail_after, tail_weight = rows
    total = leaving = 0.0
    for s in range(len(own)):
        error, leaves = own[s] - values[s], 1.0
        for j in range(HEAD):
            error += weight[s, j] * values[head[s, j]]
            leaves -= weight[s, j]
        for e in range(low[s], high[s]):
            error += tail_weight[e] * values[tail_after[e]]
            leaves -= tail_weight[e]
        total, leaving = total + error, leaving + leaves
    if leaving > 0.0:
        for s in range(len(own)):
            values[s] += total / leaving


@njit(cache=True, nogil=True)
def improve(layout, values, policy, actions, rows, limits, is_trusted, is_discounted):
    """A sweep over all actions, and relaxation of the values under the best ones.

    `limits` are the change to stop at, the share of the sweep's change that relaxation leaves, and
    its most sweeps. Returns the change by the sweep, the sweeps of the relaxation, how many new
    rows lead to later states, and whether over-relaxation can be trusted.
    """
    change, left_over, most = limits
    largest = sweep_actions(layout, values, policy)
    if largest <= change or most == 0:
        return largest, 0, 0, is_trusted
    late = update_rows(layout, policy, actions, rows)
    goal = max(0.5 * change, left_over * largest)
    number, is_trusted = relax(rows, values, goal, most, is_trusted, is_discounted)
    return largest, number, late, is_trusted
