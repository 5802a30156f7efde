"""Compiled products of columns: all monomials of dense rows and of the nonzero entries of CSR rows.

Monomials of one degree stand in lexicographic order. Those that begin with column i are that column
times a contiguous range of the monomials one degree lower, so that a row takes one product for each
monomial.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def expand_dense(X, starts, step, skip, bias, out):
    """Write the monomials of each row to `out` (n, n_monomials).

    `starts` (degree + 1, p + 1): number, within its degree, of the first monomial that begins with
    column i or a later one. `step`: 1 if no column comes twice, else 0. `skip`: monomials of degree
    one and above that are not written; `bias`: columns of ones (0 or 1).
    """
    n, p = X.shape
    degree = starts.shape[0] - 1
    width = 0
    for d in range(1, degree + 1):
        width += starts[d, p]
    row = np.empty(width, X.dtype)
    for r in range(n):
        for j in range(bias):
            out[r, j] = 1
        below = 0
        at = 0
        if degree > 0:
            for i in range(p):
                row[i] = X[r, i]
            at = p
        for d in range(2, degree + 1):
            end = below + starts[d - 1, p]
            for i in range(p):
                first = below + starts[d - 1, i + step]
                x = X[r, i]
                for j in range(first, end):
                    row[at + j - first] = x * row[j]
                at += end - first
            below = end
        for j in range(skip, width):
            out[r, bias + j - skip] = row[j]


@njit(cache=True, nogil=True)
def _multiply_entries(x, move, local, step, below, end, value, column):
    """Monomials of the next degree of one row with nonzero entries x.

    Those of the last degree are numbers `below` to `end` of `value` and `column` (the number of a
    monomial within its degree); the new ones follow. `local` is to the nonzero columns what
    `starts` is to all. `move`: from the number of a monomial to that of its product with an entry.
    """
    m = len(x)
    following = np.empty(m + 1, np.int64)
    at = end
    for i in range(m):
        following[i] = at - end
        for j in range(below + local[i + step], end):
            value[at], column[at] = x[i] * value[j], column[j] + move[i]
            at += 1
    following[m] = at - end
    return following


@njit(cache=True, nogil=True)
def expand_sparse(data, indices, indptr, starts, base, step, lowest, bias, scratch, out):
    """Write the monomials of the nonzero entries of CSR rows with sorted indices.

    `base` (degree + 1,): output column of the first monomial of each degree; `lowest`: the least
    degree that is written; `scratch`: the most monomials of one row; `out`: data, indices and
    indptr of the result, of which the last is filled. Others as in `expand_dense`.
    """
    out_data, out_indices, out_indptr = out
    degree = starts.shape[0] - 1
    value = np.empty(scratch, data.dtype)
    column = np.empty(scratch, np.int64)
    for r in range(len(indptr) - 1):
        at = out_indptr[r]
        if bias:
            out_data[at], out_indices[at] = 1, 0
            at += 1
        x, c = data[indptr[r] : indptr[r + 1]], indices[indptr[r] : indptr[r + 1]]
        below, end, local = 0, len(x), np.arange(len(x) + 1)
        if degree > 0:
            value[:end], column[:end] = x, c
        for d in range(1, degree + 1):
            if d > 1:
                move = starts[d][c] - starts[d - 1][c + step]
                local = _multiply_entries(x, move, local, step, below, end, value, column)
                below, end = end, end + local[-1]
            if d >= lowest:
                for j in range(below, end):
                    out_data[at], out_indices[at] = value[j], base[d] + column[j]
                    at += 1
