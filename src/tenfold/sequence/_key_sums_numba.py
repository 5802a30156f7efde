"""Compiled sums of counts by key: a radix sort, and one walk over the sorted keys.

Keys are packed n-grams, of far fewer bits than comparisons would assume. Benchmark case:
`ngrams-fit` (benchmarks/sequences.py), where `argsort` takes more than twice as long.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tenfold._compiled.gemm import ENTRY_OPTIONS

_MAX_DIGIT_BITS = 12  # counters of a digit stay in the first-level cache


def sum_by_key(keys: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different keys, which are not negative, in ascending order; the sum of counts of each.

    Examples
    --------
    >>> [part.tolist() for part in sum_by_key(np.array([7, 2, 7]), np.array([1, 5, 3]))]
    [[2, 7], [5, 4]]
    """
    bits = max(int(keys.max(initial=0)).bit_length(), 1)
    passes = -(-bits // _MAX_DIGIT_BITS)
    digit_bits = -(-bits // passes)
    places = np.empty(1 << digit_bits, np.int64)
    first, second = np.empty((2, 2, len(keys)), np.int64)
    keys, counts = (np.require(part, np.int64, ["C", "W"]) for part in (keys, counts))
    work = first[0], first[1], second[0], second[1], places
    found = _sort_and_sum(keys, counts, *work, passes, digit_bits)
    sorted_keys, sums = first if passes % 2 else second
    return sorted_keys[:found].copy(), sums[:found].copy()


@njit(**ENTRY_OPTIONS)
def _sort_and_sum(
    keys, counts, new_keys, new_counts, other_keys, other_counts, places, passes, digit_bits
):
    """Sort by one digit after the other, from the lowest on, then add up; the number of keys.

    The new arrays hold the result after an odd number of passes, the others after an even one.
    """
    n, mask, shift = len(keys), len(places) - 1, 0
    for turn in range(passes):
        for digit in range(len(places)):
            places[digit] = 0
        for i in range(n):
            places[(keys[i] >> shift) & mask] += 1
        total = 0
        for digit in range(len(places)):
            total += places[digit]
            places[digit] = total - places[digit]
        for i in range(n):
            digit = (keys[i] >> shift) & mask
            at = places[digit]
            places[digit] = at + 1
            new_keys[at], new_counts[at] = keys[i], counts[i]
        if turn == 0:  # what was given stays as it is
            keys, counts = other_keys, other_counts
        keys, counts, new_keys, new_counts = new_keys, new_counts, keys, counts
        shift += digit_bits
    found = 0
    for i in range(n):
        if found and keys[found - 1] == keys[i]:
            counts[found - 1] += counts[i]
        else:
            keys[found], counts[found] = keys[i], counts[i]
            found += 1
    return found
