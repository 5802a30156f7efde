"""Compiled loops of Gaussian mixtures.

Rows of the data are columns here, so that the inner loop runs along contiguous memory.
"""

from __future__ import annotations

import numpy as np
from numba import njit

_ROWS_PER_BLOCK = 64  # rows whose sums stay in the first-level cache; not swept


@njit(cache=True, nogil=True)
def pair_products(X, out):
    """Products of all pairs of columns, a column with itself included."""
    p, n = X.shape
    row = 0
    for a in range(p):
        for b in range(a, p):
            for i in range(n):
                out[row, i] = X[a, i] * X[b, i]
            row += 1


@njit(cache=True, nogil=True)
def diagonal_scores(X, means, precisions, offsets, scores):
    """Score offset - sum_j precision_j (x_j - mean_j)^2 / 2, from differences."""
    p, n = X.shape
    if means.shape != (len(offsets), p) or precisions.shape != (len(offsets), p):
        raise ValueError("means and variances are not those of the columns of X")
    q = np.zeros(_ROWS_PER_BLOCK)
    for s in range(0, n, _ROWS_PER_BLOCK):
        b = min(_ROWS_PER_BLOCK, n - s)
        for k in range(len(offsets)):
            q[:] = 0.0
            for a in range(p):
                mean, precision = means[k, a], precisions[k, a]
                for i in range(b):
                    d = X[a, s + i] - mean
                    q[i] += precision * d * d
            for i in range(b):
                scores[k, s + i] = offsets[k] - 0.5 * q[i]


@njit(cache=True, nogil=True)
def observed_scores(X, means, precisions, log_factors, offsets, scores):
    """Score offset + sum over observed entries of log_factor_j - precision_j d^2 / 2."""
    p, n = X.shape
    if means.shape != (len(offsets), p) or precisions.shape != (len(offsets), p):
        raise ValueError("means and variances are not those of the columns of X")
    for k in range(len(offsets)):
        scores[k, :] = offsets[k]
        for a in range(p):
            mean, half, log_factor = means[k, a], 0.5 * precisions[k, a], log_factors[k, a]
            for i in range(n):
                d = X[a, i] - mean
                scores[k, i] += 0.0 if np.isnan(d) else log_factor - half * d * d


@njit(cache=True, nogil=True)
def add_observed_moments(X, means, R, observed, sums, squares):
    """Add weights, sums and sums of squares about the means of the observed entries."""
    p, n = X.shape
    for k in range(len(means)):
        for a in range(p):
            mean = means[k, a]
            s = t = u = 0.0
            for i in range(n):
                d = X[a, i] - mean
                if not np.isnan(d):
                    r = R[k, i]
                    s += r
                    t += r * d
                    u += r * d * d
            observed[k, a] += s
            sums[k, a] += t
            squares[k, a] += u
