"""What a piece of a sequence does to a message: products of transitions and densities.

Row i of the product of a piece is the message at its last step, if state i was the one before its
first step. The rows forget where they began: once they are multiples of each other, one of them is
carried on for all, and the product is one column of factors times one row. Sums of products (for
forward and backward messages) and maxima of sums (for best paths) have the same shape.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tenfold._compiled.lanes import LANES
from tenfold.sequence._hmm_numba import filter_lanes, follow_best

_WINDOW = 16  # steps between two looks whether the rows agree
_AGREE = 1e-12  # share of an entry by which two rows may differ: rounding
_AGREE_LOG = 1e-11  # the same of log-probabilities, which grow along a piece


@njit(cache=True, nogil=True)
def _first_rows(K, one, zero):
    """Rows of the product of no step: one for the own state, zero for the others."""
    rows = np.full((K, K * LANES), zero)
    for i in range(K):
        rows[i, i * LANES : (i + 1) * LANES] = one
    return rows


@njit(cache=True, nogil=True)
def _keep_last(table, end, row):
    """Copy the columns before `end` of a table of messages to a row."""
    K = len(row) // LANES
    n = len(table) // K
    for k in range(K):
        row[k * LANES : (k + 1) * LANES] = table[k * n + end - LANES : k * n + end]


@njit(cache=True, nogil=True)
def _choose_rows(current, factors):
    """The row with the largest factor, in each lane."""
    K = len(current)
    one = np.empty(K * LANES)
    for lane in range(LANES):
        best = np.argmax(factors[lane])
        for k in range(K):
            one[k * LANES + lane] = current[best, k * LANES + lane]
    return one


@njit(cache=True, nogil=True)
def _write_rows(current, one, agree, rows):
    """Write the rows of the products, (8, K, K)."""
    K = len(current)
    for lane in range(LANES):
        for i in range(K):
            source = one if agree[lane] else current[i]
            for k in range(K):
                rows[lane, i, k] = source[k * LANES + lane]


@njit(cache=True, nogil=True)
def multiply_lanes(B, codes, start, A, factors, constants, rows, floor):
    """Products of the lanes of a chunk; whether all rows of a lane agree.

    `factors`, (8, K), get the logarithms of the factors of the rows, and `constants`, (8,), what
    is to be added to all of a lane; `rows`, (8, K, K), get the rows, each with sum one, or NaN if
    its state is impossible. `floor` is that of `filter_lanes`.
    """
    K, n = len(start), len(codes)
    alpha, scale = np.empty(K * n), np.empty(n)
    current = _first_rows(K, 1.0, 0.0)
    factors[:], constants[:] = 0.0, 0.0
    agree, at = np.zeros(LANES, np.bool_), 0
    while at < n and not agree.all():
        end = min(at + _WINDOW * LANES, n)
        for i in range(K):
            filter_lanes(B, codes, start, A, current[i], alpha, scale, at, end, floor)
            _keep_last(alpha, end, current[i])
            for c in range(at, end):
                if factors[c % LANES, i] > -np.inf:
                    possible = scale[c] > 0
                    factors[c % LANES, i] += np.log(scale[c]) if possible else -np.inf
        at = end
        for lane in range(LANES):
            agree[lane] = _rows_agree(current, factors[lane], lane)
    one = _choose_rows(current, factors)
    if at < n:
        filter_lanes(B, codes, start, A, one, alpha, scale, at, n, floor)
        _keep_last(alpha, n, one)
        for c in range(at, n):
            constants[c % LANES] += np.log(scale[c]) if scale[c] > 0 else -np.inf
    _write_rows(current, one, agree, rows)
    return agree


@njit(cache=True, nogil=True)
def _rows_agree(current, factors, lane):
    """Whether the rows of all possible states are the same in each entry."""
    K = len(factors)
    best = np.argmax(factors)
    for i in range(K):
        if factors[i] == -np.inf:
            continue
        for k in range(K):
            a, b = current[best, k * LANES + lane], current[i, k * LANES + lane]
            if not abs(a - b) <= _AGREE * min(a, b):
                return False
    return True


@njit(cache=True, nogil=True)
def _copy_columns(source, target, first, end, K):
    """Copy columns first:end of a table."""
    n = len(source) // K
    for k in range(K):
        target[k * n + first : k * n + end] = source[k * n + first : k * n + end]


@njit(cache=True, nogil=True)
def maximize_lanes(log_B, codes, log_start, log_A, factors, rows):
    """Log-probabilities of the best ways through the lanes of a chunk; whether rows agree.

    As `multiply_lanes`, with maxima of sums; rows that agree differ by a constant, their factor.
    """
    K, n = len(log_start), len(codes)
    values, current = np.empty(K * n), _first_rows(K, 0.0, -np.inf)
    agree, at, joined = np.zeros(LANES, np.bool_), 0, True
    while at < n and not agree.all():
        end = min(at + _WINDOW * LANES, n)
        for i in range(K):
            _copy_columns(log_B, values, at, end, K)
            follow_best(values, codes, log_start, log_A, current[i], at, end, joined)
            _keep_last(values, end, current[i])
        at = end
        for lane in range(LANES):
            agree[lane] = _ways_agree(current, factors[lane], lane)
    one = _choose_rows(current, factors)
    for lane in range(LANES):
        best = factors[lane].max()
        for k in range(K):
            one[k * LANES + lane] -= best if best > -np.inf else 0.0
        if not agree[lane]:
            factors[lane] = 0.0
    if at < n:
        _copy_columns(log_B, values, at, n, K)
        follow_best(values, codes, log_start, log_A, one, at, n, joined)
        _keep_last(values, n, one)
    _write_rows(current, one, agree, rows)
    return agree


@njit(cache=True, nogil=True)
def _ways_agree(current, factors, lane):
    """Whether rows differ by a constant in all entries; `factors` get the largest of each row."""
    K = len(factors)
    for i in range(K):
        factors[i] = -np.inf
        for k in range(K):
            factors[i] = max(factors[i], current[i, k * LANES + lane])
    best = np.argmax(factors)
    for i in range(K):
        if factors[i] == -np.inf:
            continue
        for k in range(K):
            a = current[best, k * LANES + lane] - factors[best]
            b = current[i, k * LANES + lane] - factors[i]
            if a != b and not abs(a - b) <= _AGREE_LOG * (1.0 + abs(a) + abs(factors[i])):
                return False
    return True


@njit(cache=True, nogil=True)
def join_best(factors, rows, where, before, after):
    """States of the best path before and after each piece; its log-probability."""
    n, K = factors.shape
    value, source = np.zeros(K), np.zeros((n, K), np.int64)
    for p in range(n):
        single, reached = where[p + 1] - where[p] == 1, np.full(K, -np.inf)
        for i in range(K):
            row = rows[where[p] + (0 if single else i)]
            for k in range(K):
                candidate = value[i] + factors[p, i] + row[k]
                if candidate > reached[k]:
                    reached[k], source[p, k] = candidate, i
        value = reached
    state = np.argmax(value)
    for p in range(n - 1, -1, -1):
        after[p] = state
        state = source[p, state]
        before[p] = state
    return value.max()
