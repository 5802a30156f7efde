"""One random cut of a column of a node: extremes, a threshold between them, the score of the cut.

The codes of the node's rows lie side by side; extremes and sums of the left child are loops over
neighboring numbers without branches.
"""

# ruff: noqa: ARG001 - the forms of an overload have the same arguments
from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numba.extending import overload

from tenfold._compiled.row_hash import mix_bits
from tenfold.tree._cart_criterion_numba import (
    BITS,
    ENTROPY,
    FIRST_VALUE,
    HEAVIER,
    KIND,
    LABELS,
    LEFT,
    MEDIAN_RULES,
    MISSING,
    MONOTONE,
    RIGHT,
    TARGETS,
    WEIGHT,
    RandomGiniRules,
    is_large_enough,
    score_sides,
)
from tenfold.tree._cart_median_numba import scan_absolute
from tenfold.tree._cart_sort_numba import make_key, sort_keys
from tenfold.tree._compile_options import HOT, HOT_OVERLOAD, INNER

_SIGN_BIT, _ALL_BITS = 0x80000000, 0xFFFFFFFF
_CUT_SALT = np.uint64(0xD6E8FEB86659FD93)


@njit(**HOT)
def uniform_from_bits(bits):
    """A number in [0, 1) from 64 random bits."""
    return np.float64(bits >> np.uint64(11)) * 2.0**-53


@njit(**HOT)
def code_value(data, feature, code):
    """The value of a code."""
    if data.columns[KIND, feature] != BITS:
        return data.values[data.columns[FIRST_VALUE, feature] + code]
    bits = code ^ _SIGN_BIT if code & _SIGN_BIT else code ^ _ALL_BITS
    return np.float64(np.uint32(bits).view(np.float32))


@njit(**HOT)
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


@njit(**HOT)
def _find_extremes(codes, n, missing):
    """Least and largest of n codes, and the number of missing values.

    The code of a missing value is larger than all others; the largest code is -1 if all are
    missing.
    """
    low, high, n_missing, skip = codes[0], np.uint32(0), np.uint32(0), np.uint32(missing)
    for i in range(n):  # of four bytes each, so that many are looked at side by side
        code = codes[i]
        value = np.uint32(0) if code == skip else code
        n_missing = np.uint32(n_missing + np.uint32(code == skip))
        low = code if code < low else low  # noqa: FURB136 - less to compile
        high = value if value > high else high  # noqa: FURB136
    if np.int64(n_missing) == n:
        return np.int64(low), np.int64(-1), np.int64(n_missing)
    return np.int64(low), np.int64(high), np.int64(n_missing)


@njit(**HOT)
def _random_cut(data, feature, seed, low, high):
    """A cut at random between two codes: (code, whether missing values go left, threshold)."""
    bits = mix_bits(seed ^ mix_bits(np.uint64(feature) + _CUT_SALT))
    a, b = code_value(data, feature, low), code_value(data, feature, high)
    u = uniform_from_bits(bits)
    threshold = a * (1.0 - u) + b * u
    if not a <= threshold < b:
        threshold = a
    code = _code_below(data, feature, low, high, threshold)
    return code, mix_bits(bits) & np.uint64(1) != 0, threshold


@njit(**HOT)
def _sum_pairs(codes, n, code, skip, held, sums):
    """`_sum_classes` for two classes and `LABEL_RULES`, in four bytes each."""
    last, other = np.uint32(code), np.uint32(code if skip < 0 else skip)
    w_left, second, n_left = np.uint32(0), np.uint32(0), np.uint32(0)
    for i in range(n):
        goes = np.uint32(codes[i] <= last) | np.uint32(codes[i] == other)
        weight = np.uint32(held[0, i] * goes)
        n_left = np.uint32(n_left + goes)
        w_left = np.uint32(w_left + weight)
        second = np.uint32(second + weight * held[1, i])
    sums[LEFT, 0], sums[LEFT, 1] = np.int64(w_left) - np.int64(second), second
    return np.int64(w_left), np.int64(n_left)


@njit(**HOT)
def _sum_classes(codes, n, code, skip, held, sums):
    """Sums of the left child for the classes of one output: (weight, rows)."""
    w_left, n_left = np.int64(0), np.int64(0)
    for i in range(n):
        here = np.int64(codes[i])
        goes = np.int64(here <= code) | np.int64(here == skip)
        weight = np.int64(held[0, i]) & -goes
        n_left += goes
        w_left += weight
        sums[LEFT, held[1, i]] += weight
    return w_left, n_left


@njit(**HOT)
def _sum_targets(codes, n, code, skip, held, sums):
    """Sums of the left child for one target: (weight, rows)."""
    w_left, total, n_left = np.int64(0), np.int64(0), np.int64(0)
    for i in range(n):
        here = np.int64(codes[i])
        goes = np.int64(here <= code) | np.int64(here == skip)
        n_left += goes
        w_left += held[0, i] & -goes
        total += held[1, i] & -goes
    sums[LEFT, 0] = total
    return w_left, n_left


@njit(**INNER)
def _sum_outputs(data, rules, rows, start, n, codes, code, skip, sums):
    """Sums of the left child for several outputs: (weight, rows)."""
    w_left, n_left, table = np.int64(0), np.int64(0), data.table
    is_class = rules.criterion <= ENTROPY
    for i in range(n):
        row = rows[start + i]
        here = np.int64(codes[i])
        goes = np.int64(here <= code) | np.int64(here == skip)
        n_left += goes
        w_left += goes * table[row, WEIGHT]
        for k in range(rules.n_outputs):
            if is_class:
                sums[LEFT, table[row, LABELS + k]] += goes * table[row, WEIGHT]
            else:
                sums[LEFT, k] += goes * table[row, TARGETS + k]
    return w_left, n_left


def _score_sums(data, rules, rows, start, n, feature, codes, code, skip, facts, scratch):
    """Score of a cut by sums of its left child; -inf where it is not allowed."""
    sums, held = scratch.sums, scratch.held
    for c in range(sums.shape[1]):
        sums[LEFT, c] = 0
    if rules.n_outputs > 1:
        w_left, n_left = _sum_outputs(data, rules, rows, start, n, codes, code, skip, sums)
    elif rules.criterion > ENTROPY:
        w_left, n_left = _sum_targets(codes, n, code, skip, held, sums)
    else:
        w_left, n_left = _sum_classes(codes, n, code, skip, held, sums)
    return _score_left(data, rules, n, feature, w_left, n_left, facts, sums)


def _score_labels(data, rules, rows, start, n, feature, codes, code, skip, facts, scratch):
    """`_score_sums` for `RandomGiniRules`."""
    sums, held = scratch.sums, scratch.held
    for c in range(sums.shape[1]):
        sums[LEFT, c] = 0
    if sums.shape[1] == 2:
        w_left, n_left = _sum_pairs(codes, n, code, skip, held, sums)
    else:
        w_left, n_left = _sum_classes(codes, n, code, skip, held, sums)
    return _score_left(data, rules, n, feature, w_left, n_left, facts, sums)


@njit(**HOT)
def _score_left(data, rules, n, feature, w_left, n_left, facts, sums):
    """Score of a cut from the sums of its left child; -inf where it is not allowed."""
    wl, wr = np.float64(w_left), np.float64(facts.weight - w_left)
    if not is_large_enough(rules, n_left, n - n_left, wl, wr):
        return -np.inf
    return score_sides(rules, sums, facts, w_left, data.columns[MONOTONE, feature])


def _score_cut(data, rules, rows, start, n, feature, codes, code, skip, facts, scratch) -> Any:
    """Score of the cut after a code; `skip` is a code that goes left too, or -1."""


def _score_medians(data, rules, rows, start, n, feature, codes, code, skip, facts, scratch):
    """Score of a cut by the distances from the medians of both children."""
    keys = scratch.keys
    for i in range(n):
        here = np.int64(codes[i])
        keys[0, i] = make_key(0 if here <= code or here == skip else 1, rows[start + i])
    sort_keys(keys, n, 0, 1, scratch.counts)
    sign = data.columns[MONOTONE, feature]
    return scan_absolute(data, rules, keys, n, n, facts, sign, False, scratch.medians)[0]


@overload(_score_cut, jit_options=HOT_OVERLOAD)
def _overload_score_cut(data, rules, rows, start, n, feature, codes, code, skip, facts, scratch):
    if rules.instance_class is RandomGiniRules:
        return _score_labels
    return _score_medians if rules.instance_class in MEDIAN_RULES else _score_sums


def search_random(data, rules, rows, start, end, feature, codes, seed, facts, least, scratch):
    """One random cut of a column: (varies, score, code, direction of missing values, threshold)."""
    n, missing = end - start, data.columns[MISSING, feature]
    low, high, n_missing = _find_extremes(codes, n, missing)
    if high < 0 or (low == high and n_missing == 0):
        return False, -np.inf, np.int64(0), RIGHT, 0.0
    code, missing_left, threshold = _random_cut(data, feature, seed, low, high)
    skip = missing if missing_left else np.int64(-1)
    score = _score_cut(data, rules, rows, start, n, feature, codes, code, skip, facts, scratch)
    direction = LEFT if missing_left else RIGHT
    return True, score, code, HEAVIER if n_missing == 0 else direction, threshold
