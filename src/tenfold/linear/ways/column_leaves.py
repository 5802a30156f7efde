r"""Coordinate descent on cross-entropy itself, column by column of sparse rows.

Along one coefficient the loss is a sum of logistic curves, whose third derivative is at most
M = max |x_j| times the second. So h/M^2 (e^{Md} - Md - 1) bounds from above what a step d adds
beside its slope, and the step log(1 + M|g|/h) / M, the minimum of the bound, always descends: no
line search is needed.
"""

from __future__ import annotations

import numpy as np
from numba import njit

SHORT = 5e-3  # exp(v) to full precision by six terms of its series


@njit(cache=True, nogil=True)
def column_products(heads, rows, values, R):  # noqa: ANN001, ANN201
    """Every column times R (n, m): (columns, m)."""
    out = np.zeros((len(heads) - 1, R.shape[1]))
    for j in range(len(out)):
        for at in range(heads[j], heads[j + 1]):
            for c in range(R.shape[1]):
                out[j, c] += values[at] * R[rows[at], c]
    return out


@njit(cache=True, nogil=True)
def sweep(heads, rows, values, largest, work, awake, theta, E, S, own, w, l1, ridge, n):  # noqa: ANN001, ANN201
    """A step along every (class, column) of `work`; changes awake, theta, E and S.

    Columns are values[heads[j]:heads[j + 1]] at `rows`, the last one the constant. E (m, rows) are
    exponentials of scores, S their sums (with the reference class, if there is one), own the class
    of each row. Those that are zero and should be are no longer awake. Gives the largest violation
    that was met.
    """
    worst = 0.0
    for a in range(len(work)):
        c, j = work[a, 0], work[a, 1]
        slope = bend = 0.0
        for at in range(heads[j], heads[j + 1]):
            i = rows[at]
            p = E[c, i] / S[i]
            xw = values[at] * w[i]
            slope += xw * (p - (1.0 if own[i] == c else 0.0))
            bend += xw * values[at] * p * (1.0 - p)
        old = theta[c, j]
        slope = slope / n + ridge[j] * old
        bend = bend / n + ridge[j]
        wrong = violation(old, slope, l1[j])
        worst = max(worst, abs(wrong))
        awake[a] = old != 0.0 or wrong != 0.0
        if wrong == 0.0 or largest[j] == 0.0:
            continue
        theta[c, j] = stepped(old, wrong, bend, largest[j])
        step = theta[c, j] - old
        short = abs(step) * largest[j] < SHORT
        for at in range(heads[j], heads[j + 1]):
            i = rows[at]
            v = step * values[at]
            more = E[c, i] * (short_growth(v) if short else np.exp(v) - 1.0)
            S[i] += more
            E[c, i] += more
    return worst


@njit(cache=True, nogil=True)
def short_growth(v):  # noqa: ANN001, ANN201
    """exp(v) - 1 for a small v: most steps are, and exponentials are what a sweep costs."""
    return v * (1.0 + v / 2 * (1.0 + v / 3 * (1.0 + v / 4 * (1.0 + v / 5))))


@njit(cache=True, nogil=True)
def violation(x, slope, l1):  # noqa: ANN001, ANN201
    """The shortest subgradient."""
    if x > 0.0:
        return slope + l1
    if x < 0.0:
        return slope - l1
    if slope > l1:
        return slope - l1
    if slope < -l1:
        return slope + l1
    return 0.0


@njit(cache=True, nogil=True)
def stepped(old, wrong, bend, M):  # noqa: ANN001, ANN201
    """Where the bound is least; a coefficient stops at zero before it changes its sign."""
    length = np.log1p(M * abs(wrong) / max(bend, 1e-300)) / M
    length = min(length, 10.0 / M)  # no row's odds change by more than e^10 at once
    new = old - length if wrong > 0.0 else old + length
    return 0.0 if new * old < 0.0 else new
