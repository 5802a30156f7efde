"""Random numbers of rows by a hash of seed and row number: no state, any order, any engine."""

from __future__ import annotations

import numpy as np
from numba import njit

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


@njit(cache=True, nogil=True, inline="always")
def mix_bits(x):  # noqa: ANN001, ANN202 - numba infers types
    """A hash of 64 bits (the finalizer of splitmix64)."""
    x = np.uint64(x) + _GOLDEN
    x = (x ^ (x >> np.uint64(30))) * _MIX_1
    x = (x ^ (x >> np.uint64(27))) * _MIX_2
    return x ^ (x >> np.uint64(31))


@njit(cache=True, nogil=True)
def draw_counts(seed, first, thresholds, counts) -> None:  # noqa: ANN001
    """How many of the ascending `thresholds` the hash of each row first, first + 1, ... reaches."""
    start = mix_bits(seed)
    for i in range(len(counts)):
        bits = mix_bits(start + np.uint64(first + i))
        k = 0
        while k < len(thresholds) and bits >= thresholds[k]:
            k += 1
        counts[i] = k
