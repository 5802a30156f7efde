"""Compiled log-likelihoods: scores of diagonal Gaussians, and -log Phi of the normal cdf.

Benchmark cases: `naive-bayes-f4` (benchmarks/large.py) and `probit` (benchmarks/glm.py).
"""

from __future__ import annotations

from math import erfc, exp, log, log1p, pi, sqrt

import numpy as np
from numba import njit

_CONTINUED_FRACTION_BELOW = -30.0  # where the tail is computed by its continued fraction


@njit(cache=True, nogil=True)
def diagonal_gaussian_scores(X, offset, mean, precision):  # noqa: ANN001, ANN202  means (d, k) -> (n, k)
    """offset_c - 1/2 sum_j precision_jc (x_j - mean_jc)^2, summed in float64."""
    n, d = X.shape
    k = len(offset)
    if mean.shape != (d, k) or precision.shape != (d, k):
        raise ValueError("means and variances are not those of the columns of X")
    scores = np.empty((n, k), X.dtype)
    row = np.empty(k)
    for i in range(n):
        row[:] = 0.0
        for j in range(d):
            x = X[i, j]
            for c in range(k):
                difference = x - mean[j, c]
                row[c] += precision[j, c] * difference * difference
        for c in range(k):
            scores[i, c] = offset[c] - 0.5 * row[c]
    return scores


@njit(cache=True, nogil=True)
def neg_log_normal_cdf(m):  # noqa: ANN001, ANN202
    """-log Phi(m) and its derivative -phi(m) / Phi(m), also where Phi(m) underflows."""
    if m < _CONTINUED_FRACTION_BELOW:
        ratio = 1.0 / (-m + 2.0 / (-m - 3.0 / m)) - m
        return 0.5 * m * m + 0.5 * log(2.0 * pi) + log(ratio), -ratio
    below = 0.5 * erfc(-m / sqrt(2.0))
    value = -log1p(-0.5 * erfc(m / sqrt(2.0))) if m > 0.0 else -log(below)
    return value, -exp(-0.5 * m * m) / (sqrt(2.0 * pi) * below)
