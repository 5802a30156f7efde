"""Softmax loss and its gradient in one compiled loop over blocks of rows.

BLAS needs thicker products than those of rows with a few classes: on MNIST in float32 it takes more
than twice as long. Here four rows meet two classes at a time, which is enough for the registers to
be busy.
Read in order: `softmax_gradient_sums` (the loop over blocks of rows), then its three steps.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tenfold._compiled.exponential import fast_exp
from tenfold.linear._losses_numba import MAX_PRODUCT, SUM_FASTMATH

BLOCK_ROWS = 32  # rows at a time, a multiple of four: they stay near while three steps need them


@njit(cache=True, nogil=True, fastmath=SUM_FASTMATH)
def softmax_gradient_sums(X, y, weights, W, b):
    """Loss and slopes of m classes over rows; weights are empty where all rows weigh 1."""
    n, m = len(X), len(W)
    even = m + m % 2
    G, g = np.zeros((even, X.shape[1]), X.dtype), np.zeros(m)
    Z, own = np.zeros((even, BLOCK_ROWS), X.dtype), np.ones(BLOCK_ROWS)
    loss = 0.0
    for first in range(0, n, BLOCK_ROWS):
        rows = X[first : first + BLOCK_ROWS]
        for i in range(len(rows) if len(weights) else 0):
            own[i] = weights[first + i]
        _fill_scores(rows, W, b, Z)
        loss += _replace_scores_by_gradients(Z, m, y[first : first + BLOCK_ROWS], own)
        for c in range(m):
            for i in range(len(rows)):
                g[c] += Z[c, i]
        _add_gradients(rows, Z, G)
    return loss, G[:m], g


@njit(cache=True, nogil=True, fastmath=SUM_FASTMATH)
def _fill_scores(X, W, b, Z):
    """Z = W X' + b, by two classes and four rows; beyond the last of them Z is anything."""
    (n, d), m = X.shape, len(W)
    for i in range(0, n, 4):
        x0, x1, x2, x3 = X[i], X[min(i + 1, n - 1)], X[min(i + 2, n - 1)], X[min(i + 3, n - 1)]
        for c in range(0, m, 2):
            u, v = W[c], W[min(c + 1, m - 1)]
            u0 = u1 = u2 = u3 = b[c]
            v0 = v1 = v2 = v3 = b[min(c + 1, m - 1)]
            for j in range(d):
                u0 += x0[j] * u[j]
                u1 += x1[j] * u[j]
                u2 += x2[j] * u[j]
                u3 += x3[j] * u[j]
                v0 += x0[j] * v[j]
                v1 += x1[j] * v[j]
                v2 += x2[j] * v[j]
                v3 += x3[j] * v[j]
            Z[c, i], Z[c, i + 1], Z[c, i + 2], Z[c, i + 3] = u0, u1, u2, u3
            Z[c + 1, i], Z[c + 1, i + 1], Z[c + 1, i + 2], Z[c + 1, i + 3] = v0, v1, v2, v3


@njit(cache=True, nogil=True, fastmath=SUM_FASTMATH)
def _add_gradients(X, R, G):
    """Add R X to G, which has an even number of lines; R is 0 beyond the rows."""
    n, d = X.shape
    for i in range(0, n, 4):
        x0, x1, x2, x3 = X[i], X[min(i + 1, n - 1)], X[min(i + 2, n - 1)], X[min(i + 3, n - 1)]
        for c in range(0, len(G), 2):
            u, v = G[c], G[c + 1]
            u0, u1, u2, u3 = R[c, i], R[c, i + 1], R[c, i + 2], R[c, i + 3]
            v0, v1, v2, v3 = R[c + 1, i], R[c + 1, i + 1], R[c + 1, i + 2], R[c + 1, i + 3]
            for j in range(d):
                u[j] += u0 * x0[j] + u1 * x1[j] + u2 * x2[j] + u3 * x3[j]
                v[j] += v0 * x0[j] + v1 * x1[j] + v2 * x2[j] + v3 * x3[j]


@njit(cache=True, nogil=True, fastmath=SUM_FASTMATH)
def _replace_scores_by_gradients(Z, m, y, weights):
    """Total loss of some rows, whose scores for m classes become its slopes; the rest of Z is 0.

    Of rows of weight 1 the logarithms are taken together, as that of a product.
    """
    n = len(y)
    _subtract_row_max(Z, m, n)
    loss, product = 0.0, 1.0
    for i in range(n):
        loss -= weights[i] * Z[y[i], i]
    total = _exponentiate(Z, m, n)
    for i in range(n):
        if weights[i] == 1.0:
            product *= total[i]
        else:
            loss += weights[i] * np.log(total[i])
        if product > MAX_PRODUCT:
            loss += np.log(product)
            product = 1.0
        total[i] = weights[i] / total[i]
    for c in range(len(Z)):
        for i in range(BLOCK_ROWS):
            Z[c, i] = Z[c, i] * total[i] if c < m and i < n else 0.0
    for i in range(n):
        Z[y[i], i] -= weights[i]
    return loss + np.log(product)


@njit(cache=True, nogil=True, fastmath=SUM_FASTMATH)
def _subtract_row_max(Z, m, n):
    """Subtract from the scores of each row the largest one."""
    best = Z[0].copy()
    for c in range(1, m):
        for i in range(n):
            best[i] = best[i] if best[i] > Z[c, i] else Z[c, i]  # noqa: FURB136 - max() is slow
    for c in range(m):
        for i in range(n):
            Z[c, i] -= best[i]


@njit(cache=True, nogil=True, fastmath=SUM_FASTMATH)
def _exponentiate(Z, m, n):
    """Replace scores by their exponentials; the sum of each row's."""
    total = np.zeros(BLOCK_ROWS)
    for c in range(m):
        for i in range(n):
            share = fast_exp(float(Z[c, i]))
            total[i] += share
            Z[c, i] = share
    return total
