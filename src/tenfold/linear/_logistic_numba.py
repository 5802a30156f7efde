"""Compiled loops over rows with one linear score: logistic and probit loss with their gradients."""

from __future__ import annotations

import numpy as np
from numba import njit

from tenfold._compiled.likelihoods import neg_log_normal_cdf

MAX_PRODUCT = 1e290  # a product of numbers from 1 to 2 that is ready for its logarithm
SUM_FASTMATH = {"reassoc", "contract", "nsz"}  # sums may be taken in any order that a machine likes


@njit(cache=True, nogil=True, fastmath=SUM_FASTMATH)
def row_dots(X, w, b):  # noqa: ANN001, ANN202  (n, d), (d,), number -> (n,)
    """X . w + b for each row."""
    n, d = X.shape
    z = np.empty(n, X.dtype)
    for i in range(n):
        s = b
        for j in range(d):
            s += X[i, j] * w[j]
        z[i] = s
    return z


@njit(cache=True, nogil=True, fastmath=SUM_FASTMATH)
def logistic_gradient_sums(X, y, weights, w, b):  # noqa: ANN001, ANN202  -> loss, (d,), slope in b
    """Logistic loss and its slope over the rows in one go: X is read once, and stays in the cache.

    y are 0 or 1; weights are empty where all rows weigh 1. Of rows of weight 1 the logarithms are
    taken together, as that of a product.
    """
    n, d = X.shape
    g = np.zeros(d, X.dtype)
    loss, total, product = 0.0, 0.0, 1.0
    for i in range(n):
        s = b
        for j in range(d):
            s += X[i, j] * w[j]
        margin = s if y[i] == 1 else -s
        decay = np.exp(-abs(margin))
        wrong = (decay if margin >= 0 else 1.0) / (1.0 + decay)  # probability of the other sign
        own = weights[i] if len(weights) else 1.0
        loss -= own * min(margin, 0.0)
        if own == 1.0:
            product *= 1.0 + decay
        else:
            loss += own * np.log1p(decay)
        if product > MAX_PRODUCT:
            loss += np.log(product)
            product = 1.0
        r = X.dtype.type(own * (-wrong if y[i] == 1 else wrong))
        total += r
        for j in range(d):
            g[j] += r * X[i, j]
    return loss + np.log(product), g, total


@njit(cache=True, nogil=True, fastmath=SUM_FASTMATH)
def logistic_gradient_sums_at_points(X, y, weights, W, b):  # noqa: ANN001, ANN202  -> (m,), (m, d), (m,)
    """`logistic_gradient_sums` at m places, W (m, d) and b (m,), while each row is at hand.

    weights are empty where all rows weigh 1 at all places; else (m, n).
    """
    (n, d), m = X.shape, len(W)
    g = np.zeros((m, d), X.dtype)
    losses, totals, products = np.zeros(m), np.zeros(m), np.ones(m)
    for i in range(n):
        for k in range(m):
            own = weights[k, i] if len(weights) else 1.0
            if own == 0.0:
                continue
            s = b[k]
            for j in range(d):
                s += X[i, j] * W[k, j]
            margin = s if y[i] == 1 else -s
            decay = np.exp(-abs(margin))
            wrong = (decay if margin >= 0 else 1.0) / (1.0 + decay)
            losses[k] -= own * min(margin, 0.0)
            if own == 1.0:
                products[k] *= 1.0 + decay
            else:
                losses[k] += own * np.log1p(decay)
            if products[k] > MAX_PRODUCT:
                losses[k] += np.log(products[k])
                products[k] = 1.0
            r = X.dtype.type(own * (-wrong if y[i] == 1 else wrong))
            totals[k] += r
            for j in range(d):
                g[k, j] += r * X[i, j]
    return losses + np.log(products), g, totals


@njit(cache=True, nogil=True, fastmath=SUM_FASTMATH)
def probit_gradient_sums(X, y, weights, w, b):  # noqa: ANN001, ANN202  -> loss, (d,), slope in b
    """Probit loss and its slope over the rows in one go, as `logistic_gradient_sums`."""
    n, d = X.shape
    g = np.zeros(d, X.dtype)
    loss, total = 0.0, 0.0
    for i in range(n):
        s = b
        for j in range(d):
            s += X[i, j] * w[j]
        value, slope = neg_log_normal_cdf(float(s if y[i] == 1 else -s))
        own = weights[i] if len(weights) else 1.0
        loss += own * value
        r = X.dtype.type(own * (slope if y[i] == 1 else -slope))
        total += r
        for j in range(d):
            g[j] += r * X[i, j]
    return loss, g, total


@njit(cache=True, nogil=True)
def class_weight_sums(y, weights, k):  # noqa: ANN001, ANN202  -> (k,)
    """Weight of each of k classes; weights are empty where all rows weigh 1."""
    by_class = np.zeros(k)
    for i in range(len(y)):
        by_class[y[i]] += weights[i] if len(weights) else 1.0
    return by_class
