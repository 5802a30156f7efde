r"""Maximum likelihood where means of logs say all: Newton's method on digamma functions.

Data without spread have no most likely parameter: it grows for ever. It stops at `MOST`, a density
with a relative spread of about 1e-5.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gammaln, polygamma, psi

TINY = float(np.finfo(np.float64).tiny)
MOST = 1e10
ENOUGH = 1e-12  # relative change of a parameter that is none
MOST_ROUNDS = 200


def safe_log(x: Any) -> np.ndarray:
    """Log of a number that may be zero: that of the smallest one."""
    return np.log(np.maximum(x, TINY))


def gamma_shape(gap: np.ndarray) -> np.ndarray:
    r"""The k with :math:`\log k - \psi(k)` = gap, entry by entry (Minka 2002).

    Examples
    --------
    >>> k = gamma_shape(np.array([0.1, 5.0]))
    >>> bool(np.allclose(np.log(k) - psi(k), [0.1, 5.0]))
    True
    """
    gap = np.maximum(gap, 0.5 / MOST)
    k = (3 - gap + np.sqrt((gap - 3) ** 2 + 24 * gap)) / (12 * gap)
    for _ in range(MOST_ROUNDS):
        slope = 1 / k - polygamma(1, k)
        new = 1 / (1 / k + (np.log(k) - psi(k) - gap) / (k**2 * slope))
        still = np.abs(new - k) <= ENOUGH * k
        k = np.minimum(np.where(new > 0, new, k / 2), MOST)
        if still.all():
            break
    return k


def dirichlet_weights(mean_logs: np.ndarray) -> np.ndarray:
    r"""The most likely Dirichlet parameters, given the mean log of each share (k,).

    Maximises :math:`\log\Gamma(\sum_j a_j) - \sum_j \log\Gamma(a_j) + \sum_j (a_j - 1)\,
    \overline{\log x_j}`, which is concave. The Hessian is diagonal plus rank one, so that a step
    costs as much as a slope.

    Examples
    --------
    >>> a = np.array([0.5, 2.0, 30.0])
    >>> dirichlet_weights(psi(a) - psi(a.sum())).round(6).tolist()
    [0.5, 2.0, 30.0]
    """
    a = np.ones_like(mean_logs)
    for _ in range(MOST_ROUNDS):
        new = climbed(a, newton_step(a, mean_logs), mean_logs)
        still = np.abs(new - a).max() <= ENOUGH * a.max()
        a = new
        if still or a.sum() >= MOST:
            break
    return a


def newton_step(a: np.ndarray, mean_logs: np.ndarray) -> np.ndarray:
    """Where Newton's method would go from a."""
    slope = psi(a.sum()) - psi(a) + mean_logs
    diagonal = -polygamma(1, a)
    common = (slope / diagonal).sum() / (1 / polygamma(1, a.sum()) + (1 / diagonal).sum())
    return -(slope - common) / diagonal


def climbed(a: np.ndarray, step: np.ndarray, mean_logs: np.ndarray) -> np.ndarray:
    """The first of the steps 1, 1/2, 1/4, ... that stays positive and climbs; a if none does."""
    here = dirichlet_height(a, mean_logs)
    for _ in range(60):
        new = np.maximum(a + step, a / 10)
        if dirichlet_height(new, mean_logs) >= here:
            return new
        step = step / 2
    return a


def dirichlet_height(a: np.ndarray, mean_logs: np.ndarray) -> float:
    """Mean log-likelihood of Dirichlet parameters."""
    return float(gammaln(a.sum()) - gammaln(a).sum() + (a - 1) @ mean_logs)
