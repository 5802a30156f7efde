r"""Compiled coordinate descent on L1-penalized cross-entropy, column by column of sparse rows.

Along one coefficient the loss is a sum of logistic curves, whose third derivative is at most
M = max |x_j| times the second. So h/M^2 (e^{Md} - Md - 1) is an upper bound of what a step d adds
to the linear term, and the step log(1 + M|g|/h) / M, the minimum of the bound, always descends: no
line search is needed.
"""

from __future__ import annotations

import numpy as np
from numba import njit

_MAX_SERIES_STEP = 5e-3  # exp(v) - 1 to full precision by five terms of its series


@njit(cache=True, nogil=True)
def column_products(starts, rows, values, R):
    """Every column times R (n, m): (columns, m)."""
    out = np.zeros((len(starts) - 1, R.shape[1]))
    for j in range(len(out)):
        for k in range(starts[j], starts[j + 1]):
            for c in range(R.shape[1]):
                out[j, c] += values[k] * R[rows[k], c]
    return out


@njit(cache=True, nogil=True)
def sweep_columns(
    starts, rows, values, largest, selected, active, theta, E, S, label, w, l1, ridge, n
):
    """A step along every selected (class, column); changes active, theta, E and S.

    The last column is the intercept. E (m, n) are exponentials of scores, S their sums (with the
    reference class, if there is one). Parameters that are zero and satisfy their optimality
    condition are no longer active. Returns the largest violation.
    """
    worst = 0.0
    for a in range(len(selected)):
        c, j = selected[a, 0], selected[a, 1]
        gradient = curvature = 0.0
        for k in range(starts[j], starts[j + 1]):
            i = rows[k]
            p = E[c, i] / S[i]
            xw = values[k] * w[i]
            gradient += xw * (p - (1.0 if label[i] == c else 0.0))
            curvature += xw * values[k] * p * (1.0 - p)
        old = theta[c, j]
        gradient = gradient / n + ridge[j] * old
        curvature = curvature / n + ridge[j]
        violation = _kkt_violation(old, gradient, l1[j])
        worst = max(worst, abs(violation))
        active[a] = old != 0.0 or violation != 0.0
        if violation == 0.0 or largest[j] == 0.0:
            continue
        theta[c, j] = _bounded_step(old, violation, curvature, largest[j])
        step = theta[c, j] - old
        short = abs(step) * largest[j] < _MAX_SERIES_STEP
        for k in range(starts[j], starts[j + 1]):
            i = rows[k]
            v = step * values[k]
            increase = E[c, i] * (_expm1_series(v) if short else np.exp(v) - 1.0)
            S[i] += increase
            E[c, i] += increase
    return worst


@njit(cache=True, nogil=True)
def _expm1_series(v):
    """exp(v) - 1 for a small v: most steps are small, and exponentials dominate a sweep."""
    return v * (1.0 + v / 2 * (1.0 + v / 3 * (1.0 + v / 4 * (1.0 + v / 5))))


@njit(cache=True, nogil=True)
def _kkt_violation(x, gradient, l1):
    """The shortest subgradient."""
    if x > 0.0:
        return gradient + l1
    if x < 0.0:
        return gradient - l1
    if gradient > l1:
        return gradient - l1
    if gradient < -l1:
        return gradient + l1
    return 0.0


@njit(cache=True, nogil=True)
def _bounded_step(old, violation, curvature, M):
    """Minimum of the upper bound; a coefficient stops at zero before it changes its sign."""
    length = np.log1p(M * abs(violation) / max(curvature, 1e-300)) / M
    length = min(length, 10.0 / M)  # no row's odds change by more than e^10 at once
    new = old - length if violation > 0.0 else old + length
    return 0.0 if new * old < 0.0 else new
