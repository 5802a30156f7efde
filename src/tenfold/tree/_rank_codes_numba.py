"""Ranks of the values of a column, by sorting."""

from __future__ import annotations

import numpy as np
from numba import njit

from tenfold.tree._cart_sort_numba import key_code, key_row, make_key, sort_keys
from tenfold.tree._compile_options import LOOP


@njit(**LOOP)
def rank_singles(x, bits, keys, counts, codes, values):
    """Set codes and distinct values of a column of float32 by sorting the bits of its numbers.

    Returns how many values there are. `keys` (2, n) and `counts` are scratch.
    """
    n, m = len(x), 0
    for i in range(n):
        if x[i] == x[i]:
            b = np.int64(bits[i])
            ordered = b ^ 0x80000000 if b < 0x80000000 else b ^ 0xFFFFFFFF
            keys[0, m] = make_key(ordered, i)
            m += 1
    if m > 0:
        low, high = key_code(keys[0, 0]), key_code(keys[0, 0])
        for i in range(m):
            code = key_code(keys[0, i])
            low = code if code < low else low  # noqa: FURB136 - less to compile
            high = code if code > high else high  # noqa: FURB136
        sort_keys(keys, m, low, high, counts)
    k = -1
    for i in range(m):
        row = key_row(keys[0, i])
        if i == 0 or key_code(keys[0, i]) != key_code(keys[0, i - 1]):
            k += 1
            values[k] = np.float64(x[row]) + 0.0
        codes[row] = k
    for i in range(n):
        if x[i] != x[i]:
            codes[i] = k + 1
    return k + 1


@njit(**LOOP)
def rank_sorted(x, order, m, codes, values):
    """Set codes and distinct values of a column whose first m values in an order ascend.

    Returns how many values there are.
    """
    k = -1
    for i in range(m):
        row = order[i]
        if i == 0 or x[row] != values[k]:
            k += 1
            values[k] = x[row] + 0.0
        codes[row] = k
    for i in range(m, len(x)):
        codes[order[i]] = k + 1
    return k + 1


@njit(**LOOP)
def sort_column(codes, keys, counts):
    """Set the first row of `keys` (2, n) to the keys (code, row) of a column in their order."""
    n, low, high = len(codes), np.int64(1) << 32, np.int64(-1)
    for i in range(n):
        code = np.int64(codes[i])
        keys[0, i] = make_key(code, i)
        low = code if code < low else low  # noqa: FURB136 - less to compile
        high = code if code > high else high  # noqa: FURB136
    sort_keys(keys, n, low, high, counts)


@njit(**LOOP)
def keep_weighted(order, weights, out):
    """The keys of the rows of positive weight, in their order."""
    for f in range(order.shape[0]):
        m = 0
        for i in range(order.shape[1]):
            key = order[f, i]
            if weights[key_row(key), 0] > 0:
                out[f, m] = key
                m += 1
