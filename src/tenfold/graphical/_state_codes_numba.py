"""Compiled loops over tables of states: numbers of states, distinct values, counts of families."""

from __future__ import annotations

import numpy as np
from numba import njit

MISSING, UNKNOWN = -1, -2
MAX_WHOLE = 2**12  # whole numbers below this are looked up, others are searched


@njit(cache=True, nogil=True)
def mark_whole_numbers(X, w):
    """Which whole numbers occur in each column, (p, MAX_WHOLE), and which columns have others.

    Rows of weight zero are no rows.
    """
    n, p = X.shape
    seen = np.zeros((p, MAX_WHOLE), np.bool_)
    others = np.zeros(p, np.bool_)
    for i in range(n):
        if not w[i] > 0:
            continue
        for j in range(p):
            x = X[i, j]
            if x >= 0 and x < MAX_WHOLE and x == np.floor(x):
                seen[j, np.int64(x)] = True
            elif not np.isnan(x):
                others[j] = True
    return seen, others


@njit(cache=True, nogil=True)
def number_states(X, columns, lookup, lookup_start, values, codes, start):
    """Number of the state of each variable in each row, (variables, rows).

    Variable v stands in column columns[v], or nowhere (-1). Its whole values are looked up in
    lookup[lookup_start[v] : lookup_start[v + 1]]; where that is empty, values are searched in the
    ascending values[start[v] : start[v + 1]], whose states are `codes`.
    """
    n = len(X)
    d = len(columns)
    found = np.full((d, n), MISSING, np.int16)
    for v in range(d):
        j = columns[v]
        if j < 0:
            continue
        first, size = lookup_start[v], lookup_start[v + 1] - lookup_start[v]
        for i in range(n):
            x = X[i, j]
            if np.isnan(x):
                continue
            if size > 0:
                whole = np.int64(x) if x >= 0 and x < size else -1
                found[v, i] = lookup[first + whole] if whole == x else UNKNOWN
                continue
            at, end = start[v], start[v + 1]  # the first value that is not below x
            while at < end:
                middle = (at + end) // 2
                if values[middle] < x:
                    at = middle + 1
                else:
                    end = middle
            same = at < start[v + 1] and values[at] == x
            found[v, i] = codes[at] if same else UNKNOWN
    return found


@njit(cache=True, nogil=True)
def count_families(states, w, members, member_start, strides, sizes_start):
    """Weights of the combinations of states of each family, one family after the other.

    The members of family f are members[member_start[f] : member_start[f + 1]], with their strides;
    its cells begin at sizes_start[f]. A row counts where all members are known.
    """
    n = states.shape[1]
    counts = np.zeros(sizes_start[-1])
    cells = np.empty(n, np.int64)
    for f in range(len(member_start) - 1):
        cells[:] = sizes_start[f]
        known = True
        for m in range(member_start[f], member_start[f + 1]):
            column, stride = states[members[m]], strides[m]
            low = 0
            for i in range(n):
                cells[i] += column[i] * stride
                low = min(low, column[i])
            known = known and low >= 0
        if not known:
            for m in range(member_start[f], member_start[f + 1]):
                column = states[members[m]]
                for i in range(n):
                    if column[i] < 0:
                        cells[i] = -1
        for i in range(n):
            if cells[i] >= 0:
                counts[cells[i]] += w[i]
    return counts
