"""Log-densities and moments of Gaussian steps with a full covariance in each state.

Steps are columns, so that inner loops run along contiguous memory, a block of columns at a time.
BLAS would need the products of all pairs of columns in memory, and is slow where a matrix has as
few rows as there are states. Benchmark case: `hmm-full-200x250-K5`.

Columns of the data are padded to a multiple of `TILE` by zeros, and sums go through tiles of 2 x 4
entries, so that what was loaded is used several times.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tenfold._compiled.gemm import ENTRY_OPTIONS

TILE = 4
WIDTH = 128  # steps of a block
_W, _ZERO = np.uint64(WIDTH), np.uint64(0)
_1, _2, _3, _4 = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
_PRODUCT_OPTIONS = ENTRY_OPTIONS | {"fastmath": {"contract"}}
# Sums may be taken in any order, so that several run side by side; what is no number stays so.
_SUM_OPTIONS = ENTRY_OPTIONS | {"fastmath": {"reassoc", "contract", "nsz"}}


@njit(**_PRODUCT_OPTIONS)
def fill_full_log_densities(X, means, factors, offsets, log_B, D, Y):  # noqa: C901 - one nest
    """Log-densities, (K, n), of steps (p, n): offset - |F (x - mean)|^2 / 2.

    `factors`, (K, q, q), are the lower triangular F, padded to q columns; `D`, (q, WIDTH) and zero
    from row p on, and `Y`, (2, WIDTH), are memory.
    """
    p, n, q = X.shape[0], np.uint64(X.shape[1]), np.uint64(len(D))
    for first in range(_ZERO, n, _W):
        w = min(_W, n - first)
        for k in range(len(offsets)):
            for j in range(p):
                mean = means[k, j]
                for c in range(w):
                    D[j, c] = X[j, first + c] - mean
            for c in range(w):
                log_B[k, first + c] = offsets[k]
            for i in range(_ZERO, q, _2):
                for c in range(w):
                    Y[0, c] = Y[1, c] = 0.0
                for j in range(_ZERO, i + _2, _4):
                    a, b = factors[k, i, j], factors[k, i, j + _1]
                    e, f = factors[k, i, j + _2], factors[k, i, j + _3]
                    g, h = factors[k, i + _1, j], factors[k, i + _1, j + _1]
                    s, t = factors[k, i + _1, j + _2], factors[k, i + _1, j + _3]
                    for c in range(w):
                        u, v, x, y = D[j, c], D[j + _1, c], D[j + _2, c], D[j + _3, c]
                        Y[0, c] += a * u + b * v + e * x + f * y
                        Y[1, c] += g * u + h * v + s * x + t * y
                for c in range(w):
                    log_B[k, first + c] -= 0.5 * (Y[0, c] * Y[0, c] + Y[1, c] * Y[1, c])


@njit(**_SUM_OPTIONS)
def add_full_moments(X, means, gamma, weights, both, D, G):
    """Add weights (K,), and sums beside squares about the means, (K, q, 1 + q), of steps (p, n).

    Of the squares only entries on and above the diagonal, in whole tiles. `D` and `G`, (q, WIDTH)
    and zero from row p on, are memory.
    """
    p, n, q = X.shape[0], np.uint64(X.shape[1]), np.uint64(len(D))
    for first in range(_ZERO, n, _W):
        w = min(_W, n - first)
        for k in range(len(weights)):
            total = 0.0
            for c in range(w):
                total += gamma[k, first + c]
            weights[k] += total
            for j in range(p):
                mean, total = means[k, j], 0.0
                for c in range(w):
                    d = X[j, first + c] - mean
                    weighted = gamma[k, first + c] * d
                    D[j, c], G[j, c] = d, weighted
                    total += weighted
                both[k, j, 0] += total
            for i in range(_ZERO, q, _2):
                for j in range(i - i % _4, q, _4):
                    a = b = e = f = g = h = s = t = 0.0
                    for c in range(w):
                        left, right = G[i, c], G[i + _1, c]
                        u, v, x, y = D[j, c], D[j + _1, c], D[j + _2, c], D[j + _3, c]
                        a, b, e, f = a + left * u, b + left * v, e + left * x, f + left * y
                        g, h, s, t = g + right * u, h + right * v, s + right * x, t + right * y
                    both[k, i, j + _1] += a
                    both[k, i, j + _2] += b
                    both[k, i, j + _3] += e
                    both[k, i, j + _4] += f
                    both[k, i + _1, j + _1] += g
                    both[k, i + _1, j + _2] += h
                    both[k, i + _1, j + _3] += s
                    both[k, i + _1, j + _4] += t
