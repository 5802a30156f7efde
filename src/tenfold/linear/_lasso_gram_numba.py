"""Compiled sums for the Gram matrix of the lasso."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def products_and_squares(factors, X):
    """Products of the factors with X, and of the first with the squares of X, in float64."""
    n, p = X.shape
    products, squares = np.zeros((len(factors), p)), np.zeros(p)
    for i in range(n):
        for j in range(p):
            x = np.float64(X[i, j])
            squares[j] += factors[0, i] * x * x
        for q in range(len(factors)):
            factor = factors[q, i]
            for j in range(p):
                products[q, j] += factor * X[i, j]
    return products, squares


@njit(cache=True, nogil=True)
def add_products(indptr, indices, data, w, left, right, out):
    """Add w x_a x_b of every row to out[left[a], right[b]]; positions of -1 are skipped."""
    for i in range(len(indptr) - 1):
        for a in range(indptr[i], indptr[i + 1]):
            row = left[indices[a]]
            if row >= 0:
                factor = np.float64(w[i]) * data[a]
                for b in range(indptr[i], indptr[i + 1]):
                    column = right[indices[b]]
                    if column >= 0:
                        out[row, column] += factor * data[b]
