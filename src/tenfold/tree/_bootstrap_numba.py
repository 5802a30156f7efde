"""Draws with replacement by hash."""

from __future__ import annotations

import numpy as np
from numba import njit

from tenfold._compiled.row_hash import mix_bits
from tenfold.tree._cart_random_numba import uniform_from_bits


@njit(cache=True, nogil=True)
def mix_seed(seed, t):
    """A seed from a seed and a number."""
    return mix_bits(mix_bits(seed) ^ mix_bits(t + np.uint64(1)))


@njit(cache=True, nogil=True)
def draw_indices(seed, n, draws, cumulated, indices):
    """Set the numbers of rows that are drawn; cumulated weights, if any, are their chances."""
    for k in range(draws):
        u = uniform_from_bits(mix_bits(seed + np.uint64(k)))
        if len(cumulated) == 0:
            indices[k] = min(np.int64(u * n), n - 1)
        else:
            drawn, low, high = np.int64(u * cumulated[-1]), 0, n - 1
            while low < high:  # the first row whose cumulated weight is above
                middle = (low + high) // 2
                if cumulated[middle] > drawn:
                    high = middle
                else:
                    low = middle + 1
            indices[k] = low
