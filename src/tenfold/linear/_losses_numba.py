"""Compiled losses of one linear score: of a row (SGD), and summed over rows with their gradient.

`tenfold.math.losses` defines these losses for arrays of scores, and tests compare the two. BLAS is
slow at products with a single vector; one loop over rows reads X once, while it is in the cache.
"""

from __future__ import annotations

from math import log1p

import numpy as np
from numba import njit

from tenfold._compiled.likelihoods import neg_log_normal_cdf

MAX_PRODUCT = 1e290  # a product of factors in [1, 2] whose logarithm is due before it overflows
SUM_FASTMATH = {"reassoc", "contract", "nsz"}  # lets LLVM vectorize sums

MARGIN_LOSSES = ("hinge", "perceptron", "squared_hinge", "modified_huber", "log_loss", "probit")
RESIDUAL_LOSSES = (
    "squared_error",
    "huber",
    "epsilon_insensitive",
    "squared_epsilon_insensitive",
    "quantile",
)
LOSS_CODES = {name: code for code, name in enumerate(MARGIN_LOSSES + RESIDUAL_LOSSES)}
LOSS_CODES["absolute_error"] = LOSS_CODES["epsilon_insensitive"]  # with epsilon = 0

_HINGE, _PERCEPTRON, _SQUARED_HINGE, _MODIFIED_HUBER, _LOG_LOSS, _PROBIT = range(6)
_SQUARED_ERROR, _HUBER, _EPSILON_INSENSITIVE, _SQUARED_EPSILON_INSENSITIVE, _QUANTILE = range(6, 11)


@njit(cache=True, nogil=True, inline="always")
def _logistic_terms(margin):
    """exp(-|m|) and the probability 1 / (1 + exp(m)) of the other sign, without overflow.

    The logistic loss is log(1 + exp(-|m|)) - min(m, 0), its derivative minus that probability.
    """
    decay = np.exp(-abs(margin))
    return decay, (decay if margin >= 0 else 1.0) / (1.0 + decay)


# ---------------------------------------------------------------------------------- of one row
@njit(cache=True, nogil=True)
def loss_and_derivative(loss, epsilon, z, y):
    """Value and derivative in the score z; y is -1 or +1 for losses of the margin.

    At a kink this is the one-sided derivative that still updates, as in scikit-learn: a row on the
    margin counts as a violation.
    """
    if loss <= _PROBIT:
        value, derivative = _margin_loss(loss, y * z)
        return value, y * derivative
    return _residual_loss(loss, epsilon, z - y)


@njit(cache=True, nogil=True)
def _margin_loss(loss, m):
    """Value and derivative in the margin m = yz."""
    if loss == _HINGE:
        return (1.0 - m, -1.0) if m <= 1.0 else (0.0, 0.0)
    if loss == _PERCEPTRON:
        return (-m, -1.0) if m <= 0.0 else (0.0, 0.0)
    if loss == _LOG_LOSS:
        decay, wrong = _logistic_terms(m)
        return log1p(decay) + max(-m, 0.0), -wrong
    if loss == _PROBIT:
        return neg_log_normal_cdf(m)
    violation = 1.0 - m
    if violation <= 0.0:
        return 0.0, 0.0
    if loss == _MODIFIED_HUBER and m < -1.0:
        return -4.0 * m, -4.0
    return violation * violation, -2.0 * violation


@njit(cache=True, nogil=True)
def _residual_loss(loss, epsilon, r):
    """Value and derivative in the residual r = z - y; for quantiles epsilon is the level."""
    if loss == _SQUARED_ERROR:
        return 0.5 * r * r, r
    if loss == _QUANTILE:
        derivative = 1.0 - epsilon if r > 0.0 else (-epsilon if r < 0.0 else 0.0)
        return derivative * r, derivative
    sign = 1.0 if r > 0.0 else -1.0
    excess = abs(r) - epsilon
    if loss == _HUBER:
        inside = 0.5 * r * r, r
        return inside if excess <= 0.0 else (epsilon * (abs(r) - 0.5 * epsilon), epsilon * sign)
    if excess <= 0.0:
        return 0.0, 0.0
    if loss == _EPSILON_INSENSITIVE:
        return excess, sign
    return excess * excess, 2.0 * excess * sign


# ------------------------------------------------------------------------------ summed over rows
@njit(cache=True, nogil=True)
def weighted_loss_sum(loss, epsilon, z, y, weights):  # number, number, (n,), (n,), (n,) -> number
    """Weighted sum of the losses of scores z; rows of weight zero count for nothing."""
    total = 0.0
    for i in range(len(z)):
        if weights[i] > 0.0:
            total += weights[i] * loss_and_derivative(loss, epsilon, z[i], y[i])[0]
    return total


@njit(cache=True, nogil=True, fastmath=SUM_FASTMATH)
def row_dots(X, w, b):  # (n, d), (d,), number -> (n,)
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
def logistic_gradient_sums(X, y, weights, w, b):  # -> loss, (d,), derivative in b
    """Logistic loss and its gradient, summed over rows.

    y are 0 or 1; `weights` is empty where all rows weigh 1. The logarithms of rows of weight 1 are
    taken together, as the logarithm of a product.
    """
    n, d = X.shape
    g = np.zeros(d, X.dtype)
    loss, total, product = 0.0, 0.0, 1.0
    for i in range(n):
        s = b
        for j in range(d):
            s += X[i, j] * w[j]
        margin = s if y[i] == 1 else -s
        decay, wrong = _logistic_terms(margin)
        weight = weights[i] if len(weights) else 1.0
        loss -= weight * min(margin, 0.0)
        if weight == 1.0:
            product *= 1.0 + decay
        else:
            loss += weight * np.log1p(decay)
        if product > MAX_PRODUCT:
            loss += np.log(product)
            product = 1.0
        r = X.dtype.type(weight * (-wrong if y[i] == 1 else wrong))
        total += r
        for j in range(d):
            g[j] += r * X[i, j]
    return loss + np.log(product), g, total


@njit(cache=True, nogil=True, fastmath=SUM_FASTMATH)
def logistic_gradient_sums_at_points(X, y, weights, W, b):  # -> (m,), (m, d), (m,)
    """`logistic_gradient_sums` at m points, W (m, d) and b (m,), from one pass over the rows.

    `weights` is empty where all rows weigh 1 at all points; else (m, n).
    """
    (n, d), m = X.shape, len(W)
    g = np.zeros((m, d), X.dtype)
    losses, totals, products = np.zeros(m), np.zeros(m), np.ones(m)
    for i in range(n):
        for k in range(m):
            weight = weights[k, i] if len(weights) else 1.0
            if weight == 0.0:
                continue
            s = b[k]
            for j in range(d):
                s += X[i, j] * W[k, j]
            margin = s if y[i] == 1 else -s
            decay, wrong = _logistic_terms(margin)
            losses[k] -= weight * min(margin, 0.0)
            if weight == 1.0:
                products[k] *= 1.0 + decay
            else:
                losses[k] += weight * np.log1p(decay)
            if products[k] > MAX_PRODUCT:
                losses[k] += np.log(products[k])
                products[k] = 1.0
            r = X.dtype.type(weight * (-wrong if y[i] == 1 else wrong))
            totals[k] += r
            for j in range(d):
                g[k, j] += r * X[i, j]
    return losses + np.log(products), g, totals


@njit(cache=True, nogil=True, fastmath=SUM_FASTMATH)
def probit_gradient_sums(X, y, weights, w, b):  # -> loss, (d,), derivative in b
    """Probit loss and its gradient, summed over rows, as `logistic_gradient_sums`."""
    n, d = X.shape
    g = np.zeros(d, X.dtype)
    loss, total = 0.0, 0.0
    for i in range(n):
        s = b
        for j in range(d):
            s += X[i, j] * w[j]
        value, derivative = neg_log_normal_cdf(float(s if y[i] == 1 else -s))
        weight = weights[i] if len(weights) else 1.0
        loss += weight * value
        r = X.dtype.type(weight * (derivative if y[i] == 1 else -derivative))
        total += r
        for j in range(d):
            g[j] += r * X[i, j]
    return loss, g, total


@njit(cache=True, nogil=True)
def class_weight_sums(y, weights, k):  # -> (k,)
    """Total weight of each of k classes; `weights` is empty where all rows weigh 1."""
    sums = np.zeros(k)
    for i in range(len(y)):
        sums[y[i]] += weights[i] if len(weights) else 1.0
    return sums
