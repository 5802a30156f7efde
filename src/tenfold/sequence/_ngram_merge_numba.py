"""Compiled merge of two sorted tables of n-grams."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _compare_rows(a, i, b, j):
    """-1, 0 or 1 as row i of a comes before, equals or follows row j of b."""
    for column in range(a.shape[1]):
        if a[i, column] != b[j, column]:
            return -1 if a[i, column] < b[j, column] else 1
    return 0


@njit(cache=True, nogil=True)
def merge_tables(a, a_counts, b, b_counts):
    """Rows of both tables in lexicographic order, and their counts; equal rows are added up.

    Nothing but the result is allocated.
    """
    n, m, total = len(a), len(b), 0
    i = j = 0
    while i < n or j < m:
        side = 1 if i == n else -1 if j == m else _compare_rows(a, i, b, j)
        i += side <= 0
        j += side >= 0
        total += 1
    rows, counts = np.empty((total, a.shape[1]), a.dtype), np.zeros(total, np.int64)
    i = j = 0
    for at in range(total):
        side = 1 if i == n else -1 if j == m else _compare_rows(a, i, b, j)
        if side <= 0:
            rows[at] = a[i]
            counts[at] += a_counts[i]
            i += 1
        if side >= 0:
            rows[at] = b[j]
            counts[at] += b_counts[j]
            j += 1
    return rows, counts
