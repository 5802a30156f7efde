"""One node of a tree: its value and impurity, the best split among drawn columns, the partition.

Columns are drawn by a hash of the path to the node, so that a tree does not depend on the order in
which nodes are split, and equal columns have equal chances.
"""

# ruff: noqa: ARG001, ARG005 - the forms of an overload have the same arguments
from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numba.extending import overload

from tenfold._compiled.row_hash import mix_bits
from tenfold.tree._cart_criterion_numba import (
    ABSOLUTE,
    EDGES,
    ENTROPY,
    GINI,
    HEAVIER,
    KIND,
    LEFT,
    MEDIAN_RULES,
    MISSING,
    MONOTONE,
    NO_CRITERION,
    NODE,
    POISSON,
    RANDOM_RULES,
    RIGHT,
    SQUARED,
    TARGETS,
    WEIGHT,
    GiniRules,
    SquaredRules,
    scan_gini,
    scan_squared,
    scan_sums,
    side_score,
)
from tenfold.tree._cart_median_numba import rank_targets, scan_absolute
from tenfold.tree._cart_random_numba import code_value, search_random
from tenfold.tree._cart_sort_numba import key_code, key_row, make_key, sort_keys
from tenfold.tree._cart_sums_numba import sum_rows
from tenfold.tree._compile_options import HOT, HOT_OVERLOAD, INNER, INNER_OVERLOAD

# A node while its tree grows: `feature` -1 is a leaf; `start`, `end` are its rows in the list of
# rows; `low`, `high` bound its value; `frontier` and `pending` are lists of node numbers.
GROWING_NODE = np.dtype(
    [
        ("feature", np.int32),
        ("left", np.int32),
        ("missing_left", np.int32),
        ("n_rows", np.int32),
        ("threshold", np.float64),
        ("weight", np.float64),
        ("impurity", np.float64),
        ("gain", np.float64),
        ("start", np.int64),
        ("end", np.int64),
        ("depth", np.int64),
        ("n_left", np.int64),
        ("seed", np.uint64),
        ("low", np.float64),
        ("high", np.float64),
        ("frontier", np.int64),
        ("pending", np.int64),
    ]
)


class Scratch(NamedTuple):
    """Memory of one thread that grows trees."""

    keys: np.ndarray  # (2, n) uint64
    codes: np.ndarray  # (columns, n) uint32: of the node's rows, for some columns
    held: np.ndarray  # (2, n): weights of the node's rows, and their one class or target
    counts: np.ndarray  # digits of the sort
    sums: np.ndarray  # (3, width) int64: node, left, right
    draws: np.ndarray  # (2, n_features) int64: columns in some order, swaps of the draw
    buffer: np.ndarray  # (n,) int32
    medians: object  # MedianScratch for absolute error, else 0


class NodeFacts(NamedTuple):
    """The node under work."""

    weight: Any  # int64
    squares: Any  # int64, of the class weights
    score: float
    low: float
    high: float


def _measure_medians(data, rules, rows, start, end, values, at, scratch) -> Any:
    """Set the medians of a node as its value; minus its loss."""


@overload(_measure_medians, jit_options=INNER_OVERLOAD)
def _overload_measure_medians(data, rules, rows, start, end, values, at, scratch):
    if rules.instance_class not in MEDIAN_RULES:
        return lambda data, rules, rows, start, end, values, at, scratch: 0.0

    def measure(data, rules, rows, start, end, values, at, scratch):
        total = 0.0
        for k in range(rules.n_outputs):
            median, loss = rank_targets(
                data, rules, rows, start, end, k, scratch.keys, scratch.counts, scratch.medians
            )
            values[at, k] = median
            total += loss * rules.units[k]
        return -total

    return measure


@njit(**HOT)
def measure_node(data, rules, rows, nodes, values, at, scratch):
    """Set value and impurity of a node; its facts, and whether all its targets are equal."""
    node, sums = nodes[at], scratch.sums
    weight, moment, is_pure = sum_rows(data, rules, rows, node.start, node.end, sums, scratch.held)
    w = np.float64(weight)
    score, squares = side_score(sums, NODE, w, rules), np.int64(0)
    for c in range(sums.shape[1]):
        values[at, c] = np.float64(sums[NODE, c]) / w
        if rules.criterion == GINI:
            squares += sums[NODE, c] * sums[NODE, c]  # wraps around unless the rules need it
    if rules.criterion == ABSOLUTE:
        score = _measure_medians(data, rules, rows, node.start, node.end, values, at, scratch)
    impurity = -score / w / rules.n_outputs
    if rules.criterion == GINI:
        impurity += 1.0
    elif rules.criterion in (SQUARED, POISSON):
        impurity += np.float64(moment) * rules.moment_unit / w / rules.n_outputs
    node.impurity = 0.0 if is_pure or impurity < 0.0 else impurity
    node.weight, node.n_rows = w, node.end - node.start
    if rules.has_monotone:
        if values[at, 0] < node.low:  # noqa: PLR1730 - less to compile
            values[at, 0] = node.low
        if values[at, 0] > node.high:  # noqa: PLR1730
            values[at, 0] = node.high
        if rules.criterion <= ENTROPY and sums.shape[1] > 1:
            values[at, 1] = 1.0 - values[at, 0]
    facts = NodeFacts(weight, squares, score, node.low, node.high)
    return facts, is_pure and rules.criterion != NO_CRITERION


def _scan(data, rules, keys, m, n, facts, sign, missing_left, least, scratch) -> Any:
    """The best cut of sorted keys by the scan that suits the rules.

    Cuts whose score is not above `least` may be passed over.
    """


@overload(_scan, jit_options=INNER_OVERLOAD)
def _overload_scan(data, rules, keys, m, n, facts, sign, missing_left, least, scratch):
    kind = rules.instance_class
    if kind is GiniRules:
        return lambda data, rules, keys, m, n, facts, sign, missing_left, least, scratch: scan_gini(
            rules, keys, m, n, scratch.sums, facts.weight, facts.squares, missing_left, least
        )
    if kind is SquaredRules:
        return lambda data, rules, keys, m, n, facts, sign, missing_left, least, scratch: (
            scan_squared(scratch.held, rules, keys, m, n, scratch.sums, facts.weight, missing_left)
        )
    if kind in MEDIAN_RULES:
        return lambda data, rules, keys, m, n, facts, sign, missing_left, least, scratch: (
            scan_absolute(data, rules, keys, m, n, facts, sign, missing_left, scratch.medians)
        )
    return lambda data, rules, keys, m, n, facts, sign, missing_left, least, scratch: scan_sums(
        data, rules, keys, m, n, scratch.sums, facts, sign, missing_left
    )


def _held_by_key(held, i, row, rules) -> Any:
    """What the key of a row, the i-th of its node, holds beside its code."""


@overload(_held_by_key, jit_options=INNER_OVERLOAD)
def _overload_held_by_key(held, i, row, rules):
    if rules.instance_class is GiniRules:
        return lambda held, i, row, rules: np.int64(held[1, i]) << 16 | np.int64(held[0, i])
    if rules.instance_class is SquaredRules:
        return lambda held, i, row, rules: np.int64(i)
    return lambda held, i, row, rules: np.int64(row)


@njit(**INNER)
def _fill_keys(data, rules, rows, start, end, feature, codes, keys, held):
    """Keys of the rows start:end of a node; those of missing values come last.

    Returns the number of keys with a value, their least and their largest code.
    """
    low, high, missing = np.int64(1) << 32, np.int64(-1), data.columns[MISSING, feature]
    m, last = 0, end - start
    for i in range(end - start):
        code = np.int64(codes[i])
        key = make_key(code, _held_by_key(held, i, rows[start + i], rules))
        if code == missing:
            last -= 1
            keys[0, last] = key
        else:
            keys[0, m] = key
            m += 1
            low = code if code < low else low  # noqa: FURB136 - less to compile
            high = code if code > high else high  # noqa: FURB136
    return m, low, high


def _held_in_order(data, scratch, i, row, rules) -> Any:
    """What the i-th key in the order of a column holds beside its code."""


@overload(_held_in_order, jit_options=HOT_OVERLOAD)
def _overload_held_in_order(data, scratch, i, row, rules):
    if rules.instance_class is GiniRules:
        return lambda data, scratch, i, row, rules: np.int64(data.labels[row])
    if rules.instance_class is SquaredRules:

        def hold(data, scratch, i, row, rules):
            scratch.held[0, i] = data.table[row, WEIGHT]
            scratch.held[1, i] = data.table[row, TARGETS]
            return np.int64(i)

        return hold
    return lambda data, scratch, i, row, rules: np.int64(row)


@njit(**INNER)
def _copy_sorted_keys(data, rules, start, end, feature, scratch):
    """Keys of a node in the order of a column that is known; the number of those with a value."""
    order, keys, missing = data.order[feature], scratch.keys, data.columns[MISSING, feature]
    m = n = end - start
    for i in range(n):
        key = order[start + i]
        held = _held_in_order(data, scratch, i, key_row(key), rules)
        keys[0, i] = make_key(key_code(key), held)
    while m > 0 and key_code(keys[0, m - 1]) == missing:
        m -= 1
    return m


@njit(**INNER)
def _partition_order(data, rows, start, left, end, buffer):
    """Put the keys of the rows start:left first in the order of each column."""
    sides = data.sides
    for i in range(start, end):
        sides[rows[i]] = i < left
    for f in range(data.order.shape[0]):
        order, place, others = data.order[f], start, np.int64(0)
        for i in range(start, end):
            key = order[i]
            goes = np.int64(sides[key_row(key)])
            order[place] = key
            buffer[others] = key
            place += goes
            others += 1 - goes
        for i in range(others):
            order[place + i] = buffer[i]


@njit(**INNER)
def _threshold_between(data, feature, code, next_code):
    """Threshold between two neighboring codes of a column: the middle, or the edge of a bin."""
    a = code_value(data, feature, code)
    if data.columns[KIND, feature] == EDGES:
        return a
    b = code_value(data, feature, next_code)
    middle = a / 2.0 + b / 2.0
    return middle if a <= middle < b else a


def _search_best(data, rules, rows, start, end, feature, codes, seed, facts, least, scratch):
    """Best cut of a column: (varies, score, code, direction of missing values, threshold).

    The score is -inf if none is above `least`.
    """
    keys, n, direction = scratch.keys, end - start, RIGHT
    if len(data.order) > 0:
        m = _copy_sorted_keys(data, rules, start, end, feature, scratch)
        low, high = key_code(keys[0, 0]), key_code(keys[0, m - 1 if m > 0 else 0])
    else:
        m, low, high = _fill_keys(data, rules, rows, start, end, feature, codes, keys, scratch.held)
    if m == 0 or (low == high and m == n):
        return False, -np.inf, np.int64(0), RIGHT, 0.0
    if len(data.order) == 0:
        sort_keys(keys, m, low, high, scratch.counts)
    score, cut, sign = least, -1, data.columns[MONOTONE, feature]
    for side in range(1 if m == n else 2):
        other, cut_other = _scan(data, rules, keys, m, n, facts, sign, side == 1, score, scratch)
        if other > score:
            score, cut, direction = other, cut_other, LEFT if side == 1 else RIGHT
    if cut < 0:
        return True, -np.inf, np.int64(0), RIGHT, 0.0
    code = key_code(keys[0, cut - 1])
    if cut == m:
        return True, score, code, RIGHT, np.inf
    threshold = _threshold_between(data, feature, code, key_code(keys[0, cut]))
    return True, score, code, HEAVIER if m == n else direction, threshold


def _search(data, rules, rows, start, end, feature, codes, seed, facts, least, scratch) -> Any:
    """The best cut of a column, or a random one, as the rules say."""


@overload(_search, jit_options=HOT_OVERLOAD)
def _overload_search(data, rules, rows, start, end, feature, codes, seed, facts, least, scratch):
    return search_random if rules.instance_class in RANDOM_RULES else _search_best


@njit(**HOT)
def _draw_columns(draws, first, end, seed):
    """Draw the columns number first to end - 1 of a node, each among those that are left."""
    p = draws.shape[1]
    for drawn in range(first, end):
        bits = mix_bits(seed + np.uint64(drawn))
        other = drawn + np.int64((bits >> np.uint64(32)) % np.uint64(p - drawn))
        feature = draws[0, other]
        draws[1, drawn] = other
        draws[0, other] = draws[0, drawn]
        draws[0, drawn] = feature


@njit(**HOT)
def _put_back(draws, drawn):
    """Undo the swaps of a draw."""
    for i in range(drawn - 1, -1, -1):
        feature = draws[0, i]
        draws[0, i] = draws[0, draws[1, i]]
        draws[0, draws[1, i]] = feature


@njit(**HOT)
def _gather_codes(data, rows, start, end, draws, first, count, codes):
    """Set the codes of the rows of a node for some drawn columns: a row lies in few cache lines."""
    for i in range(start, end):
        row = np.uintp(rows[i])
        for j in range(count):
            codes[j, i - start] = data.codes[row, np.uintp(draws[0, first + j])]


@njit(**HOT)
def find_split(data, rules, rows, nodes, at, facts, scratch):
    """Set feature, threshold and direction of the best split of a node.

    Returns the score, the code, and the place of the column in `scratch.codes`, or -1; the score
    is -inf if no split is allowed.
    """
    node, draws, p, group = nodes[at], scratch.draws, data.codes.shape[1], len(scratch.codes)
    start, end, seed = node.start, node.end, node.seed
    drawn, useful, best, best_code, place = np.int64(0), 0, -np.inf, np.int64(0), -1
    while drawn < p and (drawn < rules.max_features or useful == 0):
        count = rules.max_features - drawn
        count = group if count > group else count  # noqa: FURB136 - less to compile
        count = 1 if count < 1 else count  # noqa: FURB136
        _draw_columns(draws, drawn, drawn + count, seed)
        if len(data.order) == 0:
            _gather_codes(data, rows, start, end, draws, drawn, count, scratch.codes)
        place = -1
        for j in range(count):
            feature = draws[0, drawn + j]
            varies, score, code, direction, threshold = _search(
                data, rules, rows, start, end, feature, scratch.codes[j], seed, facts, best, scratch
            )
            useful += varies
            if score > best:
                best, best_code, place = score, code, j if len(data.order) == 0 else -1
                node.feature, node.threshold, node.missing_left = feature, threshold, direction
        drawn += count
    _put_back(draws, drawn)
    return best, best_code, place


@njit(**HOT)
def partition_rows(data, rows, nodes, at, code, place, splits_again, scratch):
    """Put the rows of the left child of the measured node first, in their order.

    If no value is missing here, missing values will go to the side with more weight.
    `splits_again` says whether a child may be split.
    """
    node = nodes[at]
    codes = scratch.codes[place if place > 0 else 0]  # noqa: FURB136 - less to compile
    start, end, feature = node.start, node.end, node.feature
    if place < 0:
        for i in range(start, end):
            codes[i - start] = data.codes[rows[i], feature]
    missing = data.columns[MISSING, feature]
    skip = missing if node.missing_left == LEFT else np.int64(-1)
    left, others, surplus = start, np.int64(0), np.int64(0)
    buffer, weights = scratch.buffer, scratch.held[0]
    if len(data.order) > 0:  # `held` is in the order of the last column
        for i in range(start, end):
            weights[i - start] = data.table[rows[i], WEIGHT]
    for i in range(start, end):  # without a branch that nobody can predict
        row = rows[i]
        here = np.int64(codes[i - start])
        goes = np.int64(here <= code) | np.int64(here == skip)
        surplus += (2 * goes - 1) * np.int64(weights[i - start])
        rows[left] = row
        buffer[others] = row
        left += goes
        others += 1 - goes
    for i in range(others):
        rows[left + i] = buffer[i]
    if len(data.order) > 0 and splits_again:
        _partition_order(data, rows, start, left, end, scratch.keys[0])
    node.n_left = left - start
    if node.missing_left == HEAVIER:
        node.missing_left = LEFT if surplus > 0 else RIGHT
