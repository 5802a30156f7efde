"""Growth of a tree: depth first, or the node with the largest gain first.

Depth-first growth sets nodes of few rows aside (`pending`). Each of them is grown later by itself,
from a copy of its rows that stays in the cache, and by any thread: `tenfold.tree._cart_grower` puts
the parts together in a fixed order. Children of a node have neighboring numbers, above its own.
"""

# ruff: noqa: ARG001, ARG005 - the forms of an overload have the same arguments
from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numba.extending import overload

from tenfold._compiled.work_counter import claim_item
from tenfold.tree._cart_criterion_numba import MEDIAN_RULES, MONOTONE, CodedRows
from tenfold.tree._cart_median_numba import make_median_scratch
from tenfold.tree._cart_node_numba import (
    GROWING_NODE,
    Scratch,
    find_split,
    measure_node,
    mix_bits,
    partition_rows,
)
from tenfold.tree._cart_sort_numba import ALLOCATING, ENTRY, INNER, MAX_DIGIT_VALUES

_COUNT, _FRONTIER, _PENDING, _LEAVES = 0, 1, 2, 3  # entries of `state`
_FIRST_CAPACITY = 512  # nodes
_GROUP = 16  # columns whose codes are gathered together
_EPSILON = np.finfo(np.float64).eps


@njit(**ALLOCATING)
def _enlarge(nodes, values, count):
    """The nodes and their values in tables of twice the size."""
    larger = np.empty(2 * len(nodes), GROWING_NODE)
    wider = np.empty((2 * len(nodes), values.shape[1]))
    for i in range(len(nodes)):
        larger[i] = nodes[i]
    for i in range(count):
        for k in range(values.shape[1]):
            wider[i, k] = values[i, k]
    return larger, wider


def _make_medians(rules, n) -> Any:
    """Memory of absolute error, 0 for other rules."""


@overload(_make_medians)
def _overload_make_medians(rules, n):
    if rules.instance_class in MEDIAN_RULES:
        return lambda rules, n: make_median_scratch(n, rules.n_outputs)
    return lambda rules, n: 0


def _make_codes(codes, n) -> Any:
    """Memory for the codes of n rows, in the order of other codes."""


@overload(_make_codes)
def _overload_make_codes(codes, n):
    if codes.layout == "F":
        return lambda codes, n: np.empty((n, codes.shape[0]), codes.dtype).T
    return lambda codes, n: np.empty((codes.shape[0], n), codes.dtype)  # a single column


@njit(**ALLOCATING)
def _make_scratch(rules, n, p, capacity):
    """Memory for growing trees of n rows, of numbers below `capacity`, and p columns."""
    draws, group = np.empty((2, p), np.int64), max(min(p, rules.max_features, _GROUP), 1)
    for f in range(p):
        draws[0, f] = f
    return Scratch(
        np.empty((2, n), np.uint64),
        np.empty((group, n), np.uint32),
        np.empty((2, n), np.int64),
        np.empty(MAX_DIGIT_VALUES, np.int64),
        np.empty((3, rules.bounds[rules.n_outputs]), np.int64),
        draws,
        np.empty(n, np.int32),
        _make_medians(rules, capacity),
    )


@njit(**INNER)
def _set_root(nodes, state, start, end, depth, seed, low, high):
    node = nodes[0]
    node.start, node.end, node.depth = start, end, depth
    node.seed, node.low, node.high, node.frontier = seed, low, high, 0
    state[_COUNT], state[_FRONTIER], state[_PENDING], state[_LEAVES] = 1, 1, 0, 1


@njit(**INNER)
def _may_split(rules, n_rows, depth):
    return depth < rules.max_depth and n_rows >= rules.min_split and n_rows >= 2 * rules.min_leaf


@njit(**INNER)
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
    node.gain = max(gain, 0.0)
    splits_again = node.depth + 1 < rules.max_depth
    partition_rows(data, rows, nodes, at, code, place, splits_again, scratch)
    return True


@njit(**INNER)
def _bound_children(data, rules, rows, nodes, values, at, left, scratch):
    """Bounds of the values of two children by the monotone constraint of their split."""
    sign = data.columns[MONOTONE, nodes[at].feature]
    if sign == 0:
        return
    measure_node(data, rules, rows, nodes, values, left, scratch)
    measure_node(data, rules, rows, nodes, values, left + 1, scratch)
    bound = values[left, 0] / 2.0 + values[left + 1, 0] / 2.0
    lower, upper = (left, left + 1) if sign > 0 else (left + 1, left)
    nodes[lower].high = bound
    nodes[upper].low = bound


@njit(**INNER)
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


@njit(**INNER)
def _grow_depth_first(data, rules, rows, nodes, values, state, scratch, local_rows):
    """Split nodes of the frontier until it is empty; False if the table is full."""
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


@njit(**INNER)
def _grow_best_first(data, rules, rows, nodes, values, state, scratch):
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


@njit(**ENTRY)
def grow_top(data, rules, rows, seed, local_rows):
    """Grow a tree depth first; nodes of at most `local_rows` rows are left pending.

    Returns nodes, values, the number of nodes, and how many are pending.
    """
    scratch = _make_scratch(rules, len(rows), data.codes.shape[0], data.table.shape[0])
    nodes = np.empty(_FIRST_CAPACITY, GROWING_NODE)
    values = np.empty((_FIRST_CAPACITY, scratch.sums.shape[1]))
    state = np.zeros(4, np.int64)
    _set_root(nodes, state, 0, len(rows), 0, seed, -np.inf, np.inf)
    while not _grow_depth_first(data, rules, rows, nodes, values, state, scratch, local_rows):
        nodes, values = _enlarge(nodes, values, state[_COUNT])
    return nodes, values, state[_COUNT], state[_PENDING]


@njit(**ENTRY)
def grow_best_first(data, rules, rows, seed):
    """Grow a tree of a limited number of leaves: nodes, values, number of nodes."""
    scratch = _make_scratch(rules, len(rows), data.codes.shape[0], data.table.shape[0])
    nodes = np.empty(_FIRST_CAPACITY, GROWING_NODE)
    values = np.empty((_FIRST_CAPACITY, scratch.sums.shape[1]))
    state = np.zeros(4, np.int64)
    _set_root(nodes, state, 0, len(rows), 0, seed, -np.inf, np.inf)
    while not _grow_best_first(data, rules, rows, nodes, values, state, scratch):
        nodes, values = _enlarge(nodes, values, state[_COUNT])
    return nodes, values, state[_COUNT]


@njit(**INNER)
def _copy_rows(data, rows, start, end, local):
    """Copy the rows start:end of a node to the first places of `local`."""
    for i in range(start, end):
        for f in range(data.codes.shape[0]):
            local.codes[f, i - start] = data.codes[f, rows[i]]
        for k in range(data.table.shape[1]):
            local.table[i - start, k] = data.table[rows[i], k]


@njit(**ENTRY)
def grow_pending(data, rules, rows, top, pending, local_rows, counters, items, me):
    """Grow pending nodes, one after the other as long as some are left for this thread.

    Row i of `items` becomes (thread, first node, number of nodes) of item i. Returns nodes and
    values of all items that this thread has grown, one item after the other.
    """
    p = data.codes.shape[0]
    scratch, state = _make_scratch(rules, local_rows, p, local_rows), np.zeros(4, np.int64)
    codes = _make_codes(data.codes, local_rows)
    table = np.empty((local_rows, data.table.shape[1]), np.int64)
    part = np.empty(local_rows, np.int32)
    local = CodedRows(codes, data.columns, table, data.values, data.order, data.labels, data.sides)
    arena = np.empty(_FIRST_CAPACITY, GROWING_NODE)
    arena_values = np.empty((_FIRST_CAPACITY, scratch.sums.shape[1]))
    nodes, values, used = arena.copy(), arena_values.copy(), 0
    item = claim_item(counters)
    while item < len(pending):
        node = top[pending[item]]
        if len(data.order) > 0:  # the rows of a node lie side by side already
            start, end, here, own = node.start, node.end, data, rows
        else:
            _copy_rows(data, rows, node.start, node.end, local)
            start, end, here, own = np.int64(0), node.end - node.start, local, part
            for i in range(end):
                part[i] = i
        _set_root(nodes, state, start, end, node.depth, node.seed, node.low, node.high)
        while not _grow_depth_first(here, rules, own, nodes, values, state, scratch, np.int64(0)):
            nodes, values = _enlarge(nodes, values, state[_COUNT])
        while used + state[_COUNT] > len(arena):
            arena, arena_values = _enlarge(arena, arena_values, used)
        for i in range(state[_COUNT]):
            arena[used + i] = nodes[i]
            for k in range(values.shape[1]):
                arena_values[used + i, k] = values[i, k]
        items[item, 0], items[item, 1], items[item, 2] = me, used, state[_COUNT]
        used += state[_COUNT]
        item = claim_item(counters)
    return arena, arena_values


@njit(**ENTRY)
def order_nodes(nodes, values, top_rows):
    """Nodes and values in their final order.

    Depth first, children side by side; nodes whose parent has more than `top_rows` rows come
    first. So numbers do not depend on how the growth of the tree was cut into parts.
    """
    n, n_top = len(nodes), 1
    for i in range(n):
        n_top += 2 * np.int64(nodes[i].feature >= 0 and nodes[i].n_rows > top_rows)
    stack, ordered, own = np.zeros(n, np.int64), nodes.copy(), values.copy()
    top, below, depth = 1, n_top, 1
    while depth > 0:
        depth -= 1
        node = ordered[stack[depth]]
        if node.feature < 0:
            continue
        child = top if node.n_rows > top_rows else below
        if node.n_rows > top_rows:
            top += 2
        else:
            below += 2
        for side in range(2):
            ordered[child + side] = nodes[node.left + side]
            for k in range(values.shape[1]):
                own[child + side, k] = values[node.left + side, k]
            stack[depth + 1 - side] = child + side
        node.left = child
        depth += 2
    return ordered, own
