"""Digamma and log-gamma in steps that fit vector registers: Dirichlet expectations in inner loops.

With y = x + 8, the recurrence gives psi(x) = psi(y) - sum_i 1 / (x + i) and
lgamma(x) = lgamma(y) - log prod_i (x + i), and y is large enough for the asymptotic series. There
are no branches, and exp(psi(x)) needs no logarithm: y exp(-(log y - psi(x))).
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from tenfold._compiled.exponential import fast_exp

_SHIFT = 8.0
_MAX_ARGUMENT = 1e30  # beyond it the eighth power of x would overflow
_HALF_LOG_2_PI = 0.9189385332046727
LEAST_EXPONENT = -340.0  # the product of two such numbers is still above zero


@njit(cache=True, nogil=True, inline="always", error_model="numpy")
def log_minus_digamma(x):  # noqa: ANN001, ANN202 - numba infers types
    """log(x + 8) - psi(x) for x > 0; it is positive."""
    x = _MAX_ARGUMENT if x > _MAX_ARGUMENT else x  # noqa: FURB136 - max() would hide NaN
    # 1 / (x + i) + 1 / (x + 7 - i) = (2 x + 7) / (x (x + 7) + i (7 - i))
    s, q = 2.0 * x + 7.0, x * (x + 7.0)
    a, b, c, d = q, q + 6.0, q + 10.0, q + 12.0
    recurrence = s * ((a + b) * (c * d) + (c + d) * (a * b)) / ((a * b) * (c * d))
    r = 1.0 / (x + _SHIFT)
    z = r * r
    series = 691.0 / 32760.0 * z - 1.0 / 132.0
    series = series * z + 1.0 / 240.0
    series = series * z - 1.0 / 252.0
    series = series * z + 1.0 / 120.0
    series = 1.0 / 12.0 - series * z
    return recurrence + 0.5 * r + series * z


@njit(cache=True, nogil=True, error_model="numpy")
def digamma(x):  # noqa: ANN001, ANN202
    """The derivative of log Gamma at x > 0."""
    return math.log(x + _SHIFT) - log_minus_digamma(x)


@njit(cache=True, nogil=True, error_model="numpy")
def log_gamma(x):  # noqa: ANN001, ANN202
    """Log Gamma(x) for x > 0."""
    if x > _MAX_ARGUMENT:
        return x * (math.log(x) - 1.0)
    q = x * (x + 7.0)
    product = q * (q + 6.0) * ((q + 10.0) * (q + 12.0))
    y = x + _SHIFT
    r = 1.0 / y
    z = r * r
    series = -691.0 / 360360.0 * z + 1.0 / 1188.0
    series = series * z - 1.0 / 1680.0
    series = series * z + 1.0 / 1260.0
    series = series * z - 1.0 / 360.0
    series = series * z + 1.0 / 12.0
    return (y - 0.5) * math.log(y) - y + _HALF_LOG_2_PI + series * r - math.log(product)


@njit(cache=True, nogil=True, error_model="numpy")
def exp_digamma(x, out) -> float:  # noqa: ANN001
    """exp(psi(x_k)) up to a common factor into `out`; returns the log of that factor.

    The factor makes the largest entries of order one times x, so that nothing underflows where all
    x are tiny. Entries below exp(-340) of it are raised to that.
    """
    least = np.inf
    for k in range(len(x)):  # by itself: LLVM does not vectorize a loop that looks for the least
        out[k] = log_minus_digamma(x[k])
    for k in range(len(x)):
        least = min(least, out[k])
    for k in range(len(x)):
        exponent = least - out[k]
        exponent = LEAST_EXPONENT if exponent < LEAST_EXPONENT else exponent  # noqa: FURB136
        out[k] = (x[k] + _SHIFT) * fast_exp(exponent)
    return -least
