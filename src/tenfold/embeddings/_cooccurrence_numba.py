"""Compiled counts of words that occur near each other."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def sort_positions(tokens, size, starts, positions):
    """Positions of each word, one after the other; `starts` are the bounds of the words."""
    starts[:] = 0
    for p in range(len(tokens)):
        if tokens[p] >= 0:
            starts[tokens[p] + 1] += 1
    for word in range(size):
        starts[word + 1] += starts[word]
    at = starts[:-1].copy()
    for p in range(len(tokens)):
        word = tokens[p]
        if word >= 0:
            positions[at[word]] = p
            at[word] += 1


@njit(cache=True, nogil=True)
def count_neighbors(
    tokens, ends, positions, starts, first, last, weights, sums, columns, values, lengths
):  # fmt: skip
    """Weights of the words that follow each of the words first to last, within the window.

    `ends` is where the document of a token ends, weights[d] counts a word d places on. Entries are
    written from the place positions of the first word times the window; returns their number.
    """
    window, n = len(weights) - 1, 0
    touched = np.empty(len(sums), np.int32)
    for word in range(first, last):
        m = 0
        for occurrence in range(starts[word], starts[word + 1]):
            p = positions[occurrence]
            for q in range(p + 1, min(p + window + 1, ends[p])):
                other = tokens[q]
                if other >= 0:
                    if sums[other] == 0:
                        touched[m] = other
                        m += 1
                    sums[other] += weights[q - p]
        row = np.sort(touched[:m])
        for k in range(m):
            columns[n + k] = row[k]
            values[n + k] = sums[row[k]]
            sums[row[k]] = 0
        lengths[word] = m
        n += m
    return n
