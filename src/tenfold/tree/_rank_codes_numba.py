"""Ranks of the values of a column, by sorting."""

from __future__ import annotations

import numpy as np
from numba import njit

from tenfold.tree._cart_sort_numba import MAX_DIGIT_VALUES, key_code, key_row, make_key, sort_keys


@njit(cache=True, nogil=True)
def rank_singles(x):
    """Codes and distinct values of a column of float32, by sorting the bits of its numbers."""
    n = len(x)
    keys, counts = np.empty((2, n), np.uint64), np.empty(MAX_DIGIT_VALUES, np.int64)
    bits = (x + np.float32(0.0)).view(np.uint32)  # -0 becomes 0
    m = 0
    for i in range(n):
        if x[i] == x[i]:
            b = np.int64(bits[i])
            ordered = b ^ 0x80000000 if b < 0x80000000 else b ^ 0xFFFFFFFF
            keys[0, m] = make_key(ordered, i)
            m += 1
    if m > 0:
        low, high = key_code(keys[0, 0]), key_code(keys[0, 0])
        for i in range(m):
            low, high = min(low, key_code(keys[0, i])), max(high, key_code(keys[0, i]))
        sort_keys(keys, m, low, high, counts)
    codes, values, k = np.empty(n, np.uint32), np.empty(m), -1
    for i in range(m):
        row = key_row(keys[0, i])
        if i == 0 or key_code(keys[0, i]) != key_code(keys[0, i - 1]):
            k += 1
            values[k] = np.float64(x[row]) + 0.0
        codes[row] = k
    for i in range(n):
        if x[i] != x[i]:
            codes[i] = k + 1
    return codes, values[: k + 1].copy()


@njit(cache=True, nogil=True)
def rank_sorted(x, order, m):
    """Codes and distinct values of a column whose first m values in an order ascend."""
    codes, values, k = np.empty(len(x), np.uint32), np.empty(m), -1
    for i in range(m):
        row = order[i]
        if i == 0 or x[row] != values[k]:
            k += 1
            values[k] = x[row] + 0.0
        codes[row] = k
    for i in range(m, len(x)):
        codes[order[i]] = k + 1
    return codes, values[: k + 1].copy()


@njit(cache=True, nogil=True)
def sort_column(codes, keys, counts):
    """Set the first row of `keys` (2, n) to the keys (code, row) of a column in their order."""
    n, low, high = len(codes), np.int64(1) << 32, np.int64(-1)
    for i in range(n):
        code = np.int64(codes[i])
        keys[0, i] = make_key(code, i)
        low, high = min(low, code), max(high, code)
    sort_keys(keys, n, low, high, counts)


@njit(cache=True, nogil=True)
def keep_weighted(order, weights, out):
    """The keys of the rows of positive weight, in their order."""
    for f in range(order.shape[0]):
        m = 0
        for i in range(order.shape[1]):
            key = order[f, i]
            if weights[key_row(key), 0] > 0:
                out[f, m] = key
                m += 1
