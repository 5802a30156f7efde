r"""Maximum likelihood where means of logs say all: Newton's method on digamma functions.

Data without spread have no most likely parameter: it grows for ever. It stops at `_MAX_SHAPE`, a density
with a relative spread of about 1e-5.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gammaln, polygamma, psi

TINY = float(np.finfo(np.float64).tiny)
_MAX_SHAPE = 1e10
_RELATIVE_TOLERANCE = 1e-12  # relative change of a parameter that is none
_MAX_ITERATIONS = 200


def safe_log(x: Any) -> np.ndarray:
    """Log of a number that may be zero: that of the smallest one."""
    return np.log(np.maximum(x, TINY))


def solve_gamma_shape(gap: np.ndarray) -> np.ndarray:
    r"""The k with :math:`\log k - \psi(k)` = gap, entry by entry (Minka 2002).

    Examples
    --------
    >>> k = solve_gamma_shape(np.array([0.1, 5.0]))
    >>> bool(np.allclose(np.log(k) - psi(k), [0.1, 5.0]))
    True
    """
    gap = np.maximum(gap, 0.5 / _MAX_SHAPE)
    k = (3 - gap + np.sqrt((gap - 3) ** 2 + 24 * gap)) / (12 * gap)
    for _ in range(_MAX_ITERATIONS):
        slope = 1 / k - polygamma(1, k)
        new = 1 / (1 / k + (np.log(k) - psi(k) - gap) / (k**2 * slope))
        still = np.abs(new - k) <= _RELATIVE_TOLERANCE * k
        k = np.minimum(np.where(new > 0, new, k / 2), _MAX_SHAPE)
        if still.all():
            break
    return k


def fit_dirichlet_concentration(mean_logs: np.ndarray) -> np.ndarray:
    r"""The most likely Dirichlet parameters, given the mean log of each share (k,).

    Maximises :math:`\log\Gamma(\sum_j a_j) - \sum_j \log\Gamma(a_j) + \sum_j (a_j - 1)\,
    \overline{\log x_j}`, which is concave. The Hessian is diagonal plus rank one, so that a step
    costs as much as a slope.

    Examples
    --------
    >>> a = np.array([0.5, 2.0, 30.0])
    >>> fit_dirichlet_concentration(psi(a) - psi(a.sum())).round(6).tolist()
    [0.5, 2.0, 30.0]
    """
    a = np.ones_like(mean_logs)
    for _ in range(_MAX_ITERATIONS):
        new = _backtrack(a, _newton_step(a, mean_logs), mean_logs)
        still = np.abs(new - a).max() <= _RELATIVE_TOLERANCE * a.max()
        a = new
        if still or a.sum() >= _MAX_SHAPE:
            break
    return a


def _newton_step(a: np.ndarray, mean_logs: np.ndarray) -> np.ndarray:
    """Where Newton's method would go from a."""
    slope = psi(a.sum()) - psi(a) + mean_logs
    diagonal = -polygamma(1, a)
    common = (slope / diagonal).sum() / (1 / polygamma(1, a.sum()) + (1 / diagonal).sum())
    return -(slope - common) / diagonal


def _backtrack(a: np.ndarray, step: np.ndarray, mean_logs: np.ndarray) -> np.ndarray:
    """The first of the steps 1, 1/2, 1/4, ... that stays positive and climbs; a if none does."""
    here = _dirichlet_log_likelihood(a, mean_logs)
    for _ in range(60):
        new = np.maximum(a + step, a / 10)
        if _dirichlet_log_likelihood(new, mean_logs) >= here:
            return new
        step = step / 2
    return a


def _dirichlet_log_likelihood(a: np.ndarray, mean_logs: np.ndarray) -> float:
    """Mean log-likelihood of Dirichlet parameters."""
    return float(gammaln(a.sum()) - gammaln(a).sum() + (a - 1) @ mean_logs)
