"""Rows of a node in the order of a column: gather the codes of the column, sort them.

A key is a code in the upper and a row number in the lower 32 bits. Keys are sorted by counting,
digit by digit, over the bits in which the codes of the node differ; few keys by insertion.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tenfold.tree._compile_options import HOT, INNER

_INSERTION_ROWS = 32  # keys that are sorted by insertion
_DIGIT_BITS = 8  # of a digit; more streams of writing than 256 fall out of the cache
MAX_DIGIT_VALUES = 1 << _DIGIT_BITS  # entries of the table of counts
_ROW_MASK = np.uint64(0xFFFFFFFF)
_SHIFT = np.uint64(32)


@njit(**HOT)
def key_row(key):
    """Row number (or whatever else its lower half holds) of a key."""
    return np.int64(key & _ROW_MASK)


@njit(**HOT)
def key_code(key):
    """Code of a key."""
    return np.int64(key >> _SHIFT)


@njit(**HOT)
def make_key(code, row):
    """The key of a row."""
    return (np.uint64(code) << _SHIFT) | np.uint64(row)


@njit(**INNER)
def _insertion_sort(keys, m):
    for i in range(1, m):
        key = keys[0, i]
        j = i - 1
        while j >= 0 and keys[0, j] > key:
            keys[0, j + 1] = keys[0, j]
            j -= 1
        keys[0, j + 1] = key


@njit(**INNER)
def _sort_digit(keys, source, m, low, shift, mask, counts):
    """Sort keys stably by one digit of (code - low), from one row of `keys` to the other."""
    for d in range(mask + 1):
        counts[d] = 0
    for i in range(m):
        counts[((key_code(keys[source, i]) - low) >> shift) & mask] += 1
    total = 0
    for d in range(mask + 1):
        here = counts[d]
        counts[d] = total
        total += here
    for i in range(m):
        d = ((key_code(keys[source, i]) - low) >> shift) & mask
        keys[1 - source, counts[d]] = keys[source, i]
        counts[d] += 1


@njit(**INNER)
def sort_keys(keys, m, low, high, counts):
    """Sort the first m keys by their codes, which lie in [low, high]; the second row is spare."""
    if m <= _INSERTION_ROWS:
        _insertion_sort(keys, m)
        return
    span, bits = high - low, 0
    while span >> bits > 0:
        bits += 1
    passes = (bits + _DIGIT_BITS - 1) // _DIGIT_BITS if bits > 0 else 1
    width = (bits + passes - 1) // passes
    for digit in range(passes):
        _sort_digit(keys, digit & 1, m, low, digit * width, (1 << width) - 1, counts)
    if passes & 1:
        for i in range(m):
            keys[0, i] = keys[1, i]
