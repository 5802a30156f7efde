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
    BITS,
    EDGES,
    ENTROPY,
    FIRST_VALUE,
    GINI,
    KIND,
    LABELS,
    LEFT,
    MISSING,
    MOMENT,
    MONOTONE,
    NO_CRITERION,
    NODE,
    POISSON,
    RIGHT,
    SQUARED,
    TARGETS,
    WEIGHT,
    GiniRules,
    MedianRules,
    RandomMedianRules,
    RandomSumRules,
    SquaredRules,
    add_row,
    scan_gini,
    scan_squared,
    scan_sums,
    score_cut,
    side_score,
)
from tenfold.tree._cart_median_numba import rank_targets, scan_absolute
from tenfold.tree._cart_sort_numba import INNER, key_code, make_key, sort_keys

_SIGN_BIT, _ALL_BITS = 0x80000000, 0xFFFFFFFF
_HEAVIER = 0  # direction of missing values beside LEFT and RIGHT: not known from the rows
MEDIAN_RULES = (MedianRules, RandomMedianRules)
_CUT_SALT = np.uint64(0xD6E8FEB86659FD93)

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


@njit(**INNER)
def uniform_from_bits(bits):
    """A number in [0, 1) from 64 random bits."""
    return np.float64(bits >> np.uint64(11)) * 2.0**-53


def _measure_medians(data, rules, rows, start, end, values, at, scratch) -> Any:
    """Set the medians of a node as its value; minus its loss."""


@overload(_measure_medians)
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


@njit(**INNER)
def _sum_rows(data, rules, rows, start, end, sums):
    """Sums of the rows of a node: (weight, moment, whether all targets are equal)."""
    table, first = data.table, rows[start]
    for c in range(sums.shape[1]):
        sums[NODE, c] = 0
    weight, moment, is_pure = np.int64(0), np.int64(0), True
    is_class = rules.criterion <= ENTROPY
    begin = LABELS if is_class else TARGETS + rules.n_outputs
    for i in range(start, end):
        row = rows[i]
        weight += add_row(table, row, rules, sums, NODE)
        if not is_class:
            moment += table[row, MOMENT]
        for k in range(begin, begin + rules.n_outputs):
            is_pure = is_pure and table[row, k] == table[first, k]
    return weight, moment, is_pure


@njit(**INNER)
def measure_node(data, rules, rows, nodes, values, at, scratch):
    """Set value and impurity of a node; its facts, and whether all its targets are equal."""
    node, sums = nodes[at], scratch.sums
    weight, moment, is_pure = _sum_rows(data, rules, rows, node.start, node.end, sums)
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
    node.impurity = 0.0 if is_pure else max(impurity, 0.0)
    node.weight, node.n_rows = w, node.end - node.start
    if rules.has_monotone:
        values[at, 0] = min(max(values[at, 0], node.low), node.high)
        if rules.criterion <= ENTROPY and sums.shape[1] > 1:
            values[at, 1] = 1.0 - values[at, 0]
    facts = NodeFacts(weight, squares, score, node.low, node.high)
    return facts, is_pure and rules.criterion != NO_CRITERION


def _scan(data, rules, keys, m, n, sums, facts, sign, missing_left, medians) -> Any:
    """The best cut of sorted keys by the scan that suits the rules."""


@overload(_scan)
def _overload_scan(data, rules, keys, m, n, sums, facts, sign, missing_left, medians):
    kind = rules.instance_class
    if kind is GiniRules:
        return lambda data, rules, keys, m, n, sums, facts, sign, missing_left, medians: scan_gini(
            rules, keys, m, n, sums, facts.weight, facts.squares, missing_left
        )
    if kind is SquaredRules:
        return lambda data, rules, keys, m, n, sums, facts, sign, missing_left, medians: (
            scan_squared(data, rules, keys, m, n, sums, facts.weight, missing_left)
        )
    if kind in MEDIAN_RULES:
        return lambda data, rules, keys, m, n, sums, facts, sign, missing_left, medians: (
            scan_absolute(
                data,
                rules,
                keys,
                m,
                n,
                facts.weight,
                sign,
                facts.low,
                facts.high,
                missing_left,
                medians,
            )
        )
    return lambda data, rules, keys, m, n, sums, facts, sign, missing_left, medians: scan_sums(
        data, rules, keys, m, n, sums, facts.weight, sign, facts.low, facts.high, missing_left
    )


def _held_by_key(table, row, rules) -> Any:
    """What the key of a row holds beside its code."""


@overload(_held_by_key)
def _overload_held_by_key(table, row, rules):
    if rules.instance_class is GiniRules:
        return lambda table, row, rules: (table[row, LABELS] << 16) | table[row, WEIGHT]
    return lambda table, row, rules: np.int64(row)


@njit(**INNER)
def _fill_keys(data, rules, rows, start, end, feature, keys):
    """Keys of the rows start:end of a node; those of missing values come last.

    Returns the number of keys with a value, their least and their largest code.
    """
    low, high, missing = np.int64(1) << 32, np.int64(-1), data.columns[MISSING, feature]
    m, last = 0, end - start
    for i in range(start, end):
        row = rows[i]
        code = np.int64(data.codes[feature, row])
        key = make_key(code, _held_by_key(data.table, row, rules))
        if code == missing:
            last -= 1
            keys[0, last] = key
        else:
            keys[0, m] = key
            m += 1
            low = min(low, code)
            high = max(high, code)
    return m, low, high


@njit(**INNER)
def _threshold_between(data, feature, code, next_code):
    """Threshold between two neighboring codes of a column: the middle, or the edge of a bin."""
    first = data.columns[FIRST_VALUE, feature]
    a = data.values[first + code]
    if data.columns[KIND, feature] == EDGES:
        return a
    b = data.values[first + next_code]
    middle = a / 2.0 + b / 2.0
    return middle if a <= middle < b else a


@njit(**INNER)
def _search_best(data, rules, rows, start, end, feature, facts, scratch):
    """Best cut of a column: (varies, score, code, direction of missing values, threshold)."""
    keys, n, direction = scratch.keys, end - start, RIGHT
    m, low, high = _fill_keys(data, rules, rows, start, end, feature, keys)
    if m == 0 or (low == high and m == n):
        return False, -np.inf, np.int64(0), RIGHT, 0.0
    sort_keys(keys, m, low, high, scratch.counts)
    score, cut, sign = -np.inf, -1, data.columns[MONOTONE, feature]
    for side in range(1 if m == n else 2):
        other, cut_other = _scan(
            data, rules, keys, m, n, scratch.sums, facts, sign, side == 1, scratch.medians
        )
        if other > score:
            score, cut, direction = other, cut_other, LEFT if side == 1 else RIGHT
    if cut < 0:
        return True, -np.inf, np.int64(0), RIGHT, 0.0
    code = key_code(keys[0, cut - 1])
    if cut == m:
        return True, score, code, RIGHT, np.inf
    threshold = _threshold_between(data, feature, code, key_code(keys[0, cut]))
    return True, score, code, _HEAVIER if m == n else direction, threshold


@njit(**INNER)
def _code_value(data, feature, code):
    """The value of a code."""
    if data.columns[KIND, feature] != BITS:
        return data.values[data.columns[FIRST_VALUE, feature] + code]
    bits = code ^ _SIGN_BIT if code & _SIGN_BIT else code ^ _ALL_BITS
    return np.float64(np.uint32(bits).view(np.float32))


@njit(**INNER)
def _code_below(data, feature, low, high, threshold):
    """Largest code of a column in [low, high) whose value is not above a threshold."""
    if data.columns[KIND, feature] == BITS:
        near = np.float32(threshold)
        bits = np.int64(near.view(np.uint32))
        code = bits ^ _ALL_BITS if bits & _SIGN_BIT else bits ^ _SIGN_BIT
        code -= np.int64(np.float64(near) > threshold)
        return max(min(code, high - 1), low)
    first = data.columns[FIRST_VALUE, feature]
    while low + 1 < high:
        middle = (low + high) // 2
        if data.values[first + middle] <= threshold:
            low = middle
        else:
            high = middle
    return low


@njit(**INNER)
def _random_cut(data, rows, start, end, feature, seed):
    """A cut at random between the extremes: (varies, code, missing_left, threshold, n_missing)."""
    missing = data.columns[MISSING, feature]
    low, high, n_missing = np.int64(1) << 32, np.int64(-1), 0
    for i in range(start, end):
        code = np.int64(data.codes[feature, rows[i]])
        if code == missing:
            n_missing += 1
        else:
            low, high = min(low, code), max(high, code)
    if high < 0 or (low == high and n_missing == 0):
        return False, np.int64(0), False, 0.0, n_missing
    bits = mix_bits(seed ^ mix_bits(np.uint64(feature) + _CUT_SALT))
    a, b = _code_value(data, feature, low), _code_value(data, feature, high)
    u = uniform_from_bits(bits)
    threshold = a * (1.0 - u) + b * u
    if not a <= threshold < b:
        threshold = a
    code = _code_below(data, feature, low, high, threshold)
    return True, code, mix_bits(bits) & np.uint64(1) != 0, threshold, n_missing


def _score_random(
    data, rules, rows, start, end, feature, code, missing_left, facts, scratch
) -> Any:
    """Score of the cut after a code, and the number of rows on the left."""


@overload(_score_random)
def _overload_score_random(
    data, rules, rows, start, end, feature, code, missing_left, facts, scratch
):
    if rules.instance_class not in MEDIAN_RULES:
        return lambda data, rules, rows, start, end, feature, code, missing_left, facts, scratch: (
            score_cut(
                data,
                rules,
                rows,
                start,
                end,
                feature,
                code,
                missing_left,
                scratch.sums,
                facts.weight,
                facts.low,
                facts.high,
            )
        )

    def score(data, rules, rows, start, end, feature, code, missing_left, facts, scratch):
        keys, n, missing = scratch.keys, end - start, data.columns[MISSING, feature]
        for i in range(start, end):
            here = np.int64(data.codes[feature, rows[i]])
            side = 0 if here <= code or (missing_left and here == missing) else 1
            keys[0, i - start] = make_key(side, rows[i])
        sort_keys(keys, n, 0, 1, scratch.counts)
        sign = data.columns[MONOTONE, feature]
        return _scan(data, rules, keys, n, n, scratch.sums, facts, sign, False, scratch.medians)

    return score


@njit(**INNER)
def _search_random(data, rules, rows, start, end, feature, seed, facts, scratch):
    """One random cut of a column, with the result of `_search_best`."""
    varies, code, missing_left, threshold, n_missing = _random_cut(
        data, rows, start, end, feature, seed
    )
    if not varies:
        return False, -np.inf, np.int64(0), RIGHT, 0.0
    score, _ = _score_random(
        data, rules, rows, start, end, feature, code, missing_left, facts, scratch
    )
    direction = LEFT if missing_left else RIGHT
    return True, score, code, _HEAVIER if n_missing == 0 else direction, threshold


def _search(data, rules, rows, start, end, feature, seed, facts, scratch) -> Any:
    """The best cut of a column, or a random one, as the rules say."""


@overload(_search)
def _overload_search(data, rules, rows, start, end, feature, seed, facts, scratch):
    if rules.instance_class in (RandomSumRules, RandomMedianRules):
        return lambda data, rules, rows, start, end, feature, seed, facts, scratch: _search_random(  # noqa: PLW0108
            data, rules, rows, start, end, feature, seed, facts, scratch
        )
    return lambda data, rules, rows, start, end, feature, seed, facts, scratch: _search_best(
        data, rules, rows, start, end, feature, facts, scratch
    )


@njit(**INNER)
def find_split(data, rules, rows, nodes, at, facts, scratch):
    """Set feature, threshold and direction of the best split of a node.

    Returns (score, code); the score is -inf if no split is allowed.
    """
    node, draws, p = nodes[at], scratch.draws, data.codes.shape[0]
    start, end, seed = node.start, node.end, node.seed
    drawn, useful, best, best_code = 0, 0, -np.inf, np.int64(0)
    while drawn < p and (drawn < rules.max_features or useful == 0):
        bits = mix_bits(seed + np.uint64(drawn))
        other = drawn + np.int64((bits >> np.uint64(32)) % np.uint64(p - drawn))
        draws[1, drawn] = other
        feature = draws[0, other]
        draws[0, other] = draws[0, drawn]
        draws[0, drawn] = feature
        drawn += 1
        varies, score, code, direction, threshold = _search(
            data, rules, rows, start, end, feature, seed, facts, scratch
        )
        useful += varies
        if score > best:
            best, best_code = score, code
            node.feature, node.threshold, node.missing_left = feature, threshold, direction
    for i in range(drawn - 1, -1, -1):
        feature = draws[0, i]
        draws[0, i] = draws[0, draws[1, i]]
        draws[0, draws[1, i]] = feature
    return best, best_code


@njit(**INNER)
def partition_rows(data, rows, nodes, at, code, buffer):
    """Put the rows of the left child first, in their order.

    If no value is missing here, missing values will go to the side with more weight.
    """
    node = nodes[at]
    start, end, feature = node.start, node.end, node.feature
    missing = data.columns[MISSING, feature]
    skip = missing if node.missing_left == LEFT else np.int64(-1)
    left, others, surplus = start, np.int64(0), np.int64(0)
    for i in range(start, end):  # without a branch that nobody can predict
        row = rows[i]
        here = np.int64(data.codes[feature, row])
        goes = np.int64(here <= code) | np.int64(here == skip)
        surplus += (2 * goes - 1) * data.table[row, WEIGHT]
        rows[left] = row
        buffer[others] = row
        left += goes
        others += 1 - goes
    for i in range(others):
        rows[left + i] = buffer[i]
    node.n_left = left - start
    if node.missing_left == _HEAVIER:
        node.missing_left = LEFT if surplus > 0 else RIGHT
