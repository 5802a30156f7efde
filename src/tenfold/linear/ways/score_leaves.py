"""Compiled loops over rows with one score: BLAS takes turns at thin products, these do not."""

from __future__ import annotations

import numpy as np
from numba import njit

SUMS = {"reassoc", "contract", "nsz"}  # sums may be taken in any order that a machine likes


@njit(cache=True, nogil=True, fastmath=SUMS)
def row_dots(X, w, b):  # noqa: ANN001, ANN201  (n, d), (d,), number -> (n,)
    """X . w + b for each row."""
    n, d = X.shape
    z = np.empty(n, X.dtype)
    for i in range(n):
        s = b
        for j in range(d):
            s += X[i, j] * w[j]
        z[i] = s
    return z


@njit(cache=True, nogil=True, fastmath=SUMS)
def logistic_sums(X, y, weights, w, b):  # noqa: ANN001, ANN201  -> loss, (d,), slope in b
    """Logistic loss and its slope over the rows in one go: X is read once, and stays in the cache.

    y are 0 or 1; weights are empty where all rows weigh 1.
    """
    n, d = X.shape
    g = np.zeros(d, X.dtype)
    loss, total = 0.0, 0.0
    for i in range(n):
        s = b
        for j in range(d):
            s += X[i, j] * w[j]
        margin = s if y[i] == 1 else -s
        decay = np.exp(-abs(margin))
        wrong = (decay if margin >= 0 else 1.0) / (1.0 + decay)  # probability of the other sign
        own = weights[i] if len(weights) else 1.0
        loss += own * (np.log1p(decay) - min(margin, 0.0))
        r = X.dtype.type(own * (-wrong if y[i] == 1 else wrong))
        total += r
        for j in range(d):
            g[j] += r * X[i, j]
    return loss, g, total


@njit(cache=True, nogil=True)
def label_weights(y, weights, k):  # noqa: ANN001, ANN201  -> (k,)
    """Weight of each of k classes; weights are empty where all rows weigh 1."""
    by_class = np.zeros(k)
    for i in range(len(y)):
        by_class[y[i]] += weights[i] if len(weights) else 1.0
    return by_class
