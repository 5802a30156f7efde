"""The best cut of a sorted column, or one random cut: what a node asks of each of its columns.

Sums of classes and of targets are whole numbers (weights and targets in fixed point), so they do
not depend on the order of the rows. Scores are float64 numbers computed from them. A score is
minus the weighted impurity of both children, up to a constant of the node; the best cut has the
largest, and the first of equal ones is taken.

    gini                 sum_c l_c^2 / W_l + sum_c r_c^2 / W_r
    entropy              sum_c l_c log2(l_c / W_l) + sum_c r_c log2(r_c / W_r)
    squared error        S_l^2 / W_l + S_r^2 / W_r
    Poisson deviance     S_l log(S_l / W_l) + S_r log(S_r / W_r)

Each class of rules below is compiled by itself, with the one scan that it needs.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from tenfold.tree._cart_sort_numba import key_code, key_row
from tenfold.tree._compile_options import HOT, INNER

GINI, ENTROPY, SQUARED, POISSON, ABSOLUTE, NO_CRITERION = range(6)

# Columns of `CodedRows.table`. Class numbers follow the weight. In a regression follow the weighted
# moment, the weighted targets (absolute error: the targets) and the identities of the targets:
# numbers that are equal for equal targets (absolute error: their ranks).
WEIGHT, LABELS, MOMENT, TARGETS = 0, 1, 1, 2

# Rows of `CodedRows.columns`: code of a missing value, where the values of the column begin, what
# codes are (see `tenfold.tree._rank_codes.ColumnCodes`), sign of a monotone constraint.
MISSING, FIRST_VALUE, KIND, MONOTONE = 0, 1, 2, 3
RANKS, EDGES, BITS = 0, 1, 2

# Rows of the table of sums: node, left child, right child. (Python's numbers would be types of
# their own, for each of which functions are compiled anew.)
NODE, LEFT, RIGHT = np.int64(0), np.int64(1), np.int64(2)
HEAVIER = np.int64(0)  # direction of missing values beside LEFT and RIGHT: not known from the rows


_BLOCK_KEYS = 128  # keys that are passed over together where none of their cuts can be the best
_SLACK = 1e-12  # share of the weight by which rounding may change a score, and much more


class CodedRows(NamedTuple):
    """Training rows as a grower reads them, all whole numbers.

    Attributes
    ----------
    codes : (n, n_features) array of rank codes
    columns : (4, n_features) int64: MISSING, FIRST_VALUE, KIND, MONOTONE
    table : (n, ...) int64: weight, then class numbers, or moment, targets and their identities
    values : float64, sorted values of all columns one after the other
    order : (n_features, ...) uint64: keys (code, row) of the rows of positive weight in the order
        of each column, those of a node side by side; empty where nodes sort their own
    labels : (n,) uint32, class and weight (16 bits each) of each row, for `LABEL_RULES`; without
        `order`, the table is empty then
    sides : (n,) uint8, memory for the side that each row goes to; empty without `order`
    """

    codes: np.ndarray
    columns: np.ndarray
    table: np.ndarray
    values: np.ndarray
    order: np.ndarray = np.zeros((0, 0), np.uint64)
    labels: np.ndarray = np.zeros(0, np.uint32)
    sides: np.ndarray = np.zeros(0, np.uint8)


class Rules(NamedTuple):
    """How a tree grows. Weights are in units; `bounds` says where the classes of outputs begin.

    A weighted target is `units` times its whole number; `moment_unit` belongs to the moments.
    `max_leaves` of 0 is no limit.
    """

    criterion: int
    has_monotone: bool
    max_features: int
    min_leaf: int
    min_split: int
    max_depth: int
    max_leaves: int
    min_leaf_weight: float
    min_decrease: float
    total_weight: float
    moment_unit: float
    n_outputs: int
    bounds: np.ndarray
    units: np.ndarray


class GiniRules(Rules):
    """Gini index, one output, weights whose squared sums are whole numbers of 62 bits.

    Keys hold class and weight (16 bits each) in place of the row number, so that the scan need not
    go to the rows.
    """


class RandomGiniRules(Rules):
    """`GiniRules`, one random cut for each column."""


class SquaredRules(Rules):
    """Squared error, one output."""


class SumRules(Rules):
    """Any criterion of sums, any number of outputs, monotone constraints."""


class MedianRules(Rules):
    """Absolute error."""


class RandomSumRules(Rules):
    """Any criterion of sums, one random cut for each column."""


class RandomMedianRules(Rules):
    """Absolute error, one random cut for each column."""


MEDIAN_RULES = (MedianRules, RandomMedianRules)
RANDOM_RULES = (RandomGiniRules, RandomSumRules, RandomMedianRules)
LABEL_RULES = (GiniRules, RandomGiniRules)


@njit(**HOT)
def _class_score(sums, side, weight, rules):
    """Score of class weights: Gini index or entropy."""
    score = 0.0
    for c in range(rules.bounds[rules.n_outputs]):
        count = np.float64(sums[side, c])
        if rules.criterion == GINI:
            score += count * count / weight
        elif count > 0.0:
            score += count * math.log2(count / weight)
    return score


@njit(**HOT)
def side_score(sums, side, weight, rules):
    """Score of one row of the table of sums; -inf where the criterion forbids it."""
    if rules.criterion <= ENTROPY:
        return _class_score(sums, side, weight, rules)
    score = 0.0
    for k in range(rules.n_outputs):
        total = np.float64(sums[side, k]) * rules.units[k]
        if rules.criterion == SQUARED:
            score += total * total / weight
        elif rules.criterion == POISSON:
            if total <= 0.0:
                return -np.inf
            score += total * math.log(total / weight)
    return score


@njit(**HOT)
def add_row(table, row, rules, sums, side):
    """Add a row to a row of the table of sums; its weight."""
    w = table[row, WEIGHT]
    if rules.criterion <= ENTROPY:
        for k in range(rules.n_outputs):
            sums[side, table[row, LABELS + k]] += w
    else:
        for k in range(rules.n_outputs):
            sums[side, k] += table[row, TARGETS + k]
    return w


@njit(**HOT)
def keeps_order(sign, left, right, low, high):
    """Whether the values of two children obey a monotone constraint."""
    if sign == 0:
        return True
    inside = min(left, right) >= low and max(left, right) <= high
    return inside and (left - right) * sign <= 0


@njit(**HOT)
def is_large_enough(rules, n_left, n_right, w_left, w_right):
    """Whether both children have enough rows and weight."""
    enough = n_left >= rules.min_leaf and n_right >= rules.min_leaf
    return enough and w_left >= rules.min_leaf_weight and w_right >= rules.min_leaf_weight


@njit(**HOT)
def score_sides(rules, sums, facts, w_left, sign):
    """Score of the children from the sums of the left one; -inf where order forbids it."""
    for c in range(sums.shape[1]):
        sums[RIGHT, c] = sums[NODE, c] - sums[LEFT, c]
    wl, wr = np.float64(w_left), np.float64(facts.weight - w_left)
    if rules.has_monotone:
        left, right = np.float64(sums[LEFT, 0]) / wl, np.float64(sums[RIGHT, 0]) / wr
        if not keeps_order(sign, left, right, facts.low, facts.high):
            return -np.inf
    return side_score(sums, LEFT, wl, rules) + side_score(sums, RIGHT, wr, rules)


@njit(**INNER)
def scan_sums(data, rules, keys, m, n, sums, facts, sign, missing_left):
    """Best cut of sorted keys for any criterion of sums: (score, keys with a value on the left).

    The first m of n keys have a value. Row NODE of `sums` holds the sums of all rows.
    """
    for c in range(sums.shape[1]):
        sums[LEFT, c] = 0
    w_left, offset, weight = np.int64(0), 0, facts.weight
    if missing_left:
        offset = n - m
        for i in range(m, n):
            w_left += add_row(data.table, key_row(keys[0, i]), rules, sums, LEFT)
    best, cut = -np.inf, -1
    last = m if m < n and not missing_left else m - 1
    for i in range(last):
        w_left += add_row(data.table, key_row(keys[0, i]), rules, sums, LEFT)
        if i + 1 < m and key_code(keys[0, i + 1]) == key_code(keys[0, i]):
            continue
        n_left = i + 1 + offset
        wl, wr = np.float64(w_left), np.float64(weight - w_left)
        if is_large_enough(rules, n_left, n - n_left, wl, wr):
            score = score_sides(rules, sums, facts, w_left, sign)
            if score > best:
                best, cut = score, i + 1
    return best, cut


@njit(**HOT)
def _scan_classes(rules, keys, m, n, sums, weight, squares, first, last, least):
    """`scan_gini` for any number of classes; keys below 0 are those of missing values."""
    squares_left, squares_right, w_left = np.int64(0), squares, np.int64(0)
    best, cut, offset = least, -1, 0 if first == 0 else n - m
    for c in range(sums.shape[1]):
        sums[LEFT, c] = 0
    for i in range(first, last):
        held = key_row(keys[0, i if i >= 0 else m - 1 - i])
        w, c = held & 0xFFFF, held >> 16
        before = sums[LEFT, c]
        w_left += w
        squares_left += w * (2 * before + w)
        squares_right += w * (w - 2 * (sums[NODE, c] - before))
        sums[LEFT, c] = before + w
        if i < 0 or (i + 1 < m and key_code(keys[0, i + 1]) == key_code(keys[0, i])):
            continue
        n_left = i + 1 + offset
        wl, wr = np.float64(w_left), np.float64(weight - w_left)
        if is_large_enough(rules, n_left, n - n_left, wl, wr):
            score = np.float64(squares_left) / wl + np.float64(squares_right) / wr
            if score > best:
                best, cut = score, i + 1
    return best, cut


@njit(**HOT)
def _scan_pair(rules, keys, m, n, total, weight, first, last, least):
    """`_scan_classes` for two classes, of which the second has weight `total` in the node."""
    w_left, second, i = np.int64(0), np.int64(0), first
    best, cut, offset = least, -1, 0 if first == 0 else n - m
    while i < last:
        stop = last
        if i >= 0 and last - i >= _BLOCK_KEYS:
            stop = i + _BLOCK_KEYS
            w_block, second_block = _sum_pairs(keys, i)
            if not _may_beat(best, w_left, second, w_block, second_block, weight, total):
                w_left += w_block
                second += second_block
                i = stop
        while i < stop:
            held = key_row(keys[0, i if i >= 0 else m - 1 - i])
            w_left += held & 0xFFFF
            second += held & 0xFFFF & -(held >> 16)
            i += 1
            if i <= 0 or (i < m and key_code(keys[0, i]) == key_code(keys[0, i - 1])):
                continue
            n_left = i + offset
            wl, wr = np.float64(w_left), np.float64(weight - w_left)
            if is_large_enough(rules, n_left, n - n_left, wl, wr):
                squares_left = _pair_squares(w_left, second)
                squares_right = _pair_squares(weight - w_left, total - second)
                score = np.float64(squares_left) / wl + np.float64(squares_right) / wr
                if score > best:
                    best, cut = score, i
    return best, cut


@njit(**INNER)
def scan_gini(rules, keys, m, n, sums, weight, squares, missing_left, least):
    """`scan_sums` for `GiniRules` and cuts whose score is above `least`.

    `squares` is the sum of the squared class weights.
    """
    first = m - n if missing_left else 0  # missing values first
    last = m if m < n and not missing_left else m - 1
    if sums.shape[1] == 2:
        return _scan_pair(rules, keys, m, n, sums[NODE, 1], weight, first, last, least)
    return _scan_classes(rules, keys, m, n, sums, weight, squares, first, last, least)


@njit(**HOT)
def _sum_pairs(keys, first):
    """Weight of a block of keys, and that of the second class."""
    weight, second = np.int64(0), np.int64(0)
    for i in range(first, first + _BLOCK_KEYS):
        held = key_row(keys[0, i])
        weight += held & 0xFFFF
        second += held & 0xFFFF & -(held >> 16)
    return weight, second


@njit(**HOT)
def _may_beat(best, w_left, second, w_block, second_block, weight, total):
    """Whether a cut within a block of keys may have a larger score than the best so far.

    With D = W s_l - S w_l, where S and s_l are the weights of the second class in the node and on
    the left, the score of a cut is the node's own score plus 2 D^2 / (W W_l W_r). D is largest
    if all keys of one class come first in the block, W_l W_r is least at an end of it.
    """
    begin = weight * second - total * w_left
    high = begin + (weight - total) * second_block
    low = begin - total * (w_block - second_block)
    far = np.float64(high if high > -low else -low)  # noqa: FURB136 - less to compile
    w_end, w = w_left + w_block, np.float64(weight)
    thin, thin_end = w_left * (weight - w_left), w_end * (weight - w_end)
    least = np.float64(thin if thin < thin_end else thin_end)  # noqa: FURB136
    own = np.float64(_pair_squares(weight, total)) / w
    return not 2.0 * far * far <= (best - own - _SLACK * w) * w * least


@njit(**HOT)
def _pair_squares(weight, second):
    """Sum of the squared weights of two classes."""
    first = weight - second
    return first * first + second * second


@njit(**INNER)
def scan_squared(held, rules, keys, m, n, sums, weight, missing_left):
    """`scan_sums` for `SquaredRules`, whose keys hold places in `Scratch.held`."""
    unit, total = rules.units[0], sums[NODE, 0]
    sum_left, w_left, offset = np.int64(0), np.int64(0), 0
    best, cut = -np.inf, -1
    last = m if m < n and not missing_left else m - 1
    begin = m - n if missing_left else 0  # missing values first
    if missing_left:
        offset = n - m
    for i in range(begin, last):
        place = key_row(keys[0, i if i >= 0 else m - 1 - i])
        sum_left += held[1, place]
        w_left += held[0, place]
        if i < 0 or (i + 1 < m and key_code(keys[0, i + 1]) == key_code(keys[0, i])):
            continue
        n_left = i + 1 + offset
        wl, wr = np.float64(w_left), np.float64(weight - w_left)
        if is_large_enough(rules, n_left, n - n_left, wl, wr):
            sl, sr = np.float64(sum_left) * unit, np.float64(total - sum_left) * unit
            score = sl * sl / wl + sr * sr / wr
            if score > best:
                best, cut = score, i + 1
    return best, cut
