"""Compiled loops of Gaussian mixtures; rows are columns, so that a loop runs along many of them."""

from __future__ import annotations

import numpy as np
from numba import njit

_ROWS_PER_BLOCK = 64  # rows at once: they stay in the first-level cache


@njit(cache=True, nogil=True)
def pair_products(X, out):  # noqa: ANN001, ANN202  (p, n) -> (p (p + 1) / 2, n)
    """Products of all pairs of columns, a column with itself included."""
    p, n = X.shape
    row = 0
    for a in range(p):
        for b in range(a, p):
            for i in range(n):
                out[row, i] = X[a, i] * X[b, i]
            row += 1


@njit(cache=True, nogil=True)
def diagonal_scores(X, means, precisions, offsets, scores):  # noqa: ANN001, ANN202  X (p, n) -> (k, n)
    """Score offset - sum_j precision_j (x_j - mean_j)^2 / 2, from the differences themselves."""
    p, n = X.shape
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
def observed_scores(X, means, precisions, constants, offsets, scores):  # noqa: ANN001, ANN202  X (p, n)
    """Score offset + sum over entries that are there of constant_j - precision_j d^2 / 2."""
    p, n = X.shape
    for k in range(len(offsets)):
        scores[k, :] = offsets[k]
        for a in range(p):
            mean, half, constant = means[k, a], 0.5 * precisions[k, a], constants[k, a]
            for i in range(n):
                d = X[a, i] - mean
                scores[k, i] += 0.0 if np.isnan(d) else constant - half * d * d


@njit(cache=True, nogil=True)
def add_observed_moments(X, means, R, seen, sums, squares):  # noqa: ANN001, ANN202  adds to (k, p) each
    """Weights, sums and sums of squares about the means of the entries that are there."""
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
            seen[k, a] += s
            sums[k, a] += t
            squares[k, a] += u
