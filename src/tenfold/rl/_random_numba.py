"""Random numbers that belong to an episode and a step: no state, so any episode can be redone."""

from __future__ import annotations

import numpy as np
from numba import njit

from tenfold._compiled.row_hash import mix_bits

_TO_UNIT = 2.0**-53


@njit(cache=True, nogil=True)
def episode_seed(seed, episode):
    """A seed of 31 bits for an episode."""
    return np.int64(mix_bits(mix_bits(seed) + np.uint64(episode)) >> np.uint64(33))


@njit(cache=True, nogil=True)
def uniform(seed, counter):
    """A number in [0, 1) that belongs to a seed and a counter."""
    bits = mix_bits(mix_bits(seed) + np.uint64(counter))
    return np.float64(bits >> np.uint64(11)) * _TO_UNIT


@njit(cache=True, nogil=True)
def draw_index(weights, u):
    """The index that a number in [0, 1) draws with probabilities proportional to the weights."""
    total = 0.0
    for weight in weights:
        total += weight
    left, last = u * total, 0
    for i in range(len(weights)):
        if weights[i] > 0.0:
            left -= weights[i]
            last = i
            if left < 0.0:
                return i
    return last
