"""Growth of a tree: depth first, or the node with the largest gain first.

Depth-first growth sets nodes of few rows aside (`pending`). Each of them is grown later by itself,
from a copy of its rows that stays in the cache, and by any thread: `tenfold.tree._cart_grower` puts
the parts together in a fixed order. Memory comes from Python (`tenfold.tree._cart_memory`).
Children of a node have neighboring numbers, above its own.
"""

# ruff: noqa: ARG001, ARG005 - the forms of an overload have the same arguments
from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numba.extending import overload

from tenfold.tree._cart_criterion_numba import LABEL_RULES, MONOTONE, SquaredRules
from tenfold.tree._cart_node_numba import find_split, measure_node, mix_bits, partition_rows
from tenfold.tree._compile_options import HOT, INNER, INNER_OVERLOAD, LOOP

# Entries of `state`: nodes, nodes in the frontier, pending nodes, leaves.
_COUNT, _FRONTIER, _PENDING, _LEAVES = 0, 1, 2, 3
_EPSILON = np.finfo(np.float64).eps


@njit(**HOT)
def _may_split(rules, n_rows, depth):
    return depth < rules.max_depth and n_rows >= rules.min_split and n_rows >= 2 * rules.min_leaf


@njit(**HOT)
def _evaluate(data, rules, rows, nodes, values, at, scratch):
    """Value and impurity of a node, and its split if it has one; whether it has."""
    node = nodes[at]
    node.feature, node.gain = -1, 0.0
    facts, is_pure = measure_node(data, rules, rows, nodes, values, at, scratch)
    allowed = _may_split(rules, node.end - node.start, node.depth)
    if is_pure or not allowed or node.weight < 2 * rules.min_leaf_weight:
        return False
    score, code, place = find_split(data, rules, rows, nodes, at, facts, scratch)
    gain = (score - facts.score) / rules.total_weight / rules.n_outputs
    if score == -np.inf or (rules.min_decrease > 0.0 and gain + _EPSILON < rules.min_decrease):
        node.feature = -1
        return False
    node.gain = 0.0 if gain < 0.0 else gain  # noqa: FURB136 - less to compile
    splits_again = node.depth + 1 < rules.max_depth
    partition_rows(data, rows, nodes, at, code, place, splits_again, scratch)
    return True


def _bound_both(data, rules, rows, nodes, values, at, left, scratch):
    """Bounds of the values of two children by the monotone constraint of their split."""
    sign = data.columns[MONOTONE, nodes[at].feature]
    if sign == 0:
        return
    for child in range(left, left + 2):
        measure_node(data, rules, rows, nodes, values, child, scratch)
    bound = values[left, 0] / 2.0 + values[left + 1, 0] / 2.0
    lower, upper = (left, left + 1) if sign > 0 else (left + 1, left)
    nodes[lower].high = bound
    nodes[upper].low = bound


def _bound_children(data, rules, rows, nodes, values, at, left, scratch) -> Any:
    """`_bound_both`, where rules know constraints."""


@overload(_bound_children, jit_options=INNER_OVERLOAD)
def _overload_bound_children(data, rules, rows, nodes, values, at, left, scratch):
    if rules.instance_class in (*LABEL_RULES, SquaredRules):
        return lambda data, rules, rows, nodes, values, at, left, scratch: None
    return _bound_both


@njit(**HOT)
def _add_children(data, rules, rows, nodes, values, state, at, scratch):
    """Make the two children of a node that has a split; the number of the left one."""
    node, left = nodes[at], state[_COUNT]
    state[_COUNT] += 2
    state[_LEAVES] += 1
    node.left = left
    middle = node.start + node.n_left
    for side in range(2):
        child = nodes[left + side]
        child.start = node.start if side == 0 else middle
        child.end = middle if side == 0 else node.end
        child.depth = node.depth + 1
        child.seed = mix_bits(node.seed ^ np.uint64(0xA5A5 + side))
        child.low, child.high = node.low, node.high
    if rules.has_monotone:
        _bound_children(data, rules, rows, nodes, values, at, left, scratch)
    return left


@njit(**LOOP)
def grow_depth_first(data, rules, rows, nodes, values, state, scratch, local_rows):
    """Split nodes of the frontier until it is empty; False if the table is full.

    Nodes of at most `local_rows` rows are left pending.
    """
    while state[_FRONTIER] > 0:
        if state[_COUNT] + 2 > len(nodes):
            return False
        state[_FRONTIER] -= 1
        at = nodes[state[_FRONTIER]].frontier
        n_rows = nodes[at].end - nodes[at].start
        if n_rows <= local_rows and _may_split(rules, n_rows, nodes[at].depth):
            nodes[state[_PENDING]].pending = at
            state[_PENDING] += 1
            continue
        if _evaluate(data, rules, rows, nodes, values, at, scratch):
            left = _add_children(data, rules, rows, nodes, values, state, at, scratch)
            nodes[state[_FRONTIER]].frontier = left + 1
            nodes[state[_FRONTIER] + 1].frontier = left
            state[_FRONTIER] += 2
    return True


@njit(**INNER)
def _is_before(nodes, a, b):
    """Whether node a is to be split before node b."""
    return nodes[a].gain > nodes[b].gain or (nodes[a].gain == nodes[b].gain and a < b)


@njit(**INNER)
def _push(nodes, state, at):
    """Put a node with a split into the heap."""
    i = state[_FRONTIER]
    state[_FRONTIER] += 1
    while i > 0 and _is_before(nodes, at, nodes[(i - 1) // 2].frontier):
        nodes[i].frontier = nodes[(i - 1) // 2].frontier
        i = (i - 1) // 2
    nodes[i].frontier = at


@njit(**INNER)
def _pop(nodes, state):
    """Take the node with the largest gain out of the heap."""
    top = nodes[0].frontier
    state[_FRONTIER] -= 1
    n, i = state[_FRONTIER], 0
    last = nodes[n].frontier
    while 2 * i + 1 < n:
        child = 2 * i + 1
        if child + 1 < n and _is_before(nodes, nodes[child + 1].frontier, nodes[child].frontier):
            child += 1
        if not _is_before(nodes, nodes[child].frontier, last):
            break
        nodes[i].frontier = nodes[child].frontier
        i = child
    nodes[i].frontier = last
    return top


@njit(**LOOP)
def grow_best_first(data, rules, rows, nodes, values, state, scratch):
    """Split the node with the largest gain until there are enough leaves; False if full."""
    at, end = np.int64(0), state[_COUNT]  # nodes from `at` to `end` wait for their evaluation
    if end == 1:
        state[_FRONTIER] = 0
    else:
        at = end
    while True:
        while at < end:
            if _evaluate(data, rules, rows, nodes, values, at, scratch):
                _push(nodes, state, at)
            at += 1
        if state[_FRONTIER] == 0 or state[_LEAVES] >= rules.max_leaves:
            break
        if end + 2 > len(nodes):
            return False
        _add_children(data, rules, rows, nodes, values, state, _pop(nodes, state), scratch)
        end += 2
    for i in range(state[_FRONTIER]):  # what might have been split is a leaf
        nodes[nodes[i].frontier].feature = -1
        nodes[nodes[i].frontier].gain = 0.0
    return True


@njit(**LOOP)
def copy_rows(data, rows, local, local_rows):
    """Copy some rows to the first places of other tables of codes and targets, and number them."""
    codes, table, has_labels = data.codes, data.table, len(data.labels) > 0
    for i in range(len(rows)):
        row = rows[i]
        local_rows[i] = i
        for f in range(codes.shape[1]):
            local.codes[i, f] = codes[row, f]
        for k in range(table.shape[1]):
            local.table[i, k] = table[row, k]
        if has_labels:
            local.labels[i] = data.labels[row]
