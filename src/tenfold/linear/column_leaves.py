r"""Coordinate descent on cross-entropy itself, column by column of sparse rows.

Along one coefficient the loss is a sum of logistic curves, whose third derivative is at most
M = max |x_j| times the second. So h/M^2 (e^{Md} - Md - 1) bounds from above what a step d adds
beside its slope, and the step log(1 + M|g|/h) / M, the minimum of the bound, always descends: no
line search is needed.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def sweep(heads, rows, values, largest, work, theta, E, S, own, w, l1, ridge, n):  # noqa: ANN001, ANN201
    """A step along every (class, column) of `work`; changes theta, E and S.

    Columns are values[heads[j]:heads[j + 1]] at `rows`, the last one the constant. E (m, rows) are
    exponentials of scores, S their sums (with the reference class, if there is one), own the class
    of each row. Gives the largest violation that was met.
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
        if wrong == 0.0 or largest[j] == 0.0:
            continue
        new = stepped(old, wrong, bend, largest[j])
        theta[c, j] = new
        for at in range(heads[j], heads[j + 1]):
            i = rows[at]
            grown = E[c, i] * np.exp((new - old) * values[at])
            S[i] += grown - E[c, i]
            E[c, i] = grown
    return worst


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
