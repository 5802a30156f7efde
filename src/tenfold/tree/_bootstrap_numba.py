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
def _draw_index(seed, k, n, cumulated):
    """The row of draw number k; cumulated weights, if any, are the chances."""
    u = uniform_from_bits(mix_bits(seed + np.uint64(k)))
    if len(cumulated) == 0:
        return min(np.int64(u * n), n - 1)
    drawn, low, high = np.int64(u * cumulated[-1]), 0, n - 1
    while low < high:  # the first row whose cumulated weight is above
        middle = (low + high) // 2
        if cumulated[middle] > drawn:
            high = middle
        else:
            low = middle + 1
    return low


@njit(cache=True, nogil=True)
def draw_indices(seed, n, cumulated, indices):
    """Set the numbers of rows that are drawn."""
    for k in range(len(indices)):
        indices[k] = _draw_index(seed, k, n, cumulated)


@njit(cache=True, nogil=True)
def count_draws(seed, draws, cumulated, counts):
    """Count how often each row is drawn."""
    for k in range(draws):
        counts[_draw_index(seed, k, len(counts), cumulated)] += 1
