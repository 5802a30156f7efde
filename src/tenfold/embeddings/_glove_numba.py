"""Compiled AdaGrad steps of GloVe on groups of entries that share no row and no column."""

from __future__ import annotations

import numpy as np
from numba import njit

from tenfold._compiled.dot_product import dot_product
from tenfold._compiled.prefetch import prefetch

_AHEAD = 4  # entries until a vector is needed, when it is fetched into the cache
_LINE = 16  # float32 numbers


@njit(cache=True, nogil=True, error_model="numpy")
def train_entries(rows, columns, targets, weights, a, b, vectors, contexts, squares, others, rate):
    """Steps of entries a to b; returns the weighted squared error before them.

    A vector has its bias in the column after its last number; the other side has a one there. The
    arrays `squares` and `others` hold sums of squared gradients, like vectors and contexts.
    """
    width = vectors.shape[1]
    flat, flat_of, flat_c, flat_oc = (
        vectors.reshape(-1),
        squares.reshape(-1),
        contexts.reshape(-1),
        others.reshape(-1),
    )
    loss, size = 0.0, np.uint64(width)
    for s in range(a, b):
        if s + _AHEAD < b:
            ahead, ahead_row = columns[s + _AHEAD] * width, rows[s + _AHEAD] * width
            for line in range(0, width, _LINE):
                prefetch(flat_c, ahead + line)
                prefetch(flat_oc, ahead + line)
                prefetch(flat, ahead_row + line)
                prefetch(flat_of, ahead_row + line)
        at, to = np.uint64(rows[s] * width), np.uint64(columns[s] * width)
        error = dot_product(flat, np.int64(at), flat_c, np.int64(to), width) - targets[s]
        loss += weights[s] * error * error
        slope = weights[s] * error
        for k in range(size):
            left, right = flat[at + k], flat_c[to + k]
            of_left, of_right = slope * right, slope * left
            flat[at + k] = left - rate * of_left / np.sqrt(flat_of[at + k])
            flat_c[to + k] = right - rate * of_right / np.sqrt(flat_oc[to + k])
            flat_of[at + k] += of_left * of_left
            flat_oc[to + k] += of_right * of_right
    return loss
