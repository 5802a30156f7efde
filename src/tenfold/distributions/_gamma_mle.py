r"""Maximum likelihood of gamma and Dirichlet parameters from means of logs, by Newton's method.

For data that do not vary, the likelihood has no maximum. Iterations stop at `_MAX_SHAPE`, a
distribution with a relative standard deviation of about 1e-5.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gammaln, polygamma, psi

TINY = float(np.finfo(np.float64).tiny)
_MAX_SHAPE = 1e10
_RELATIVE_TOLERANCE = 1e-12  # relative change of parameters at convergence
_MAX_ITERATIONS = 200


def safe_log(x: Any) -> np.ndarray:
    """Log of nonnegative numbers; zero counts as the smallest positive number."""
    return np.log(np.maximum(x, TINY))


def solve_gamma_shape(target: np.ndarray) -> np.ndarray:
    r"""The k with :math:`\log k - \psi(k)` = target, entry by entry.

    References
    ----------
    T. Minka (2002), Estimating a gamma distribution.

    Examples
    --------
    >>> k = solve_gamma_shape(np.array([0.1, 5.0]))
    >>> bool(np.allclose(np.log(k) - psi(k), [0.1, 5.0]))
    True
    """
    target = np.maximum(target, 0.5 / _MAX_SHAPE)
    k = (3 - target + np.sqrt((target - 3) ** 2 + 24 * target)) / (12 * target)
    for _ in range(_MAX_ITERATIONS):
        derivative = 1 / k - polygamma(1, k)
        new = 1 / (1 / k + (np.log(k) - psi(k) - target) / (k**2 * derivative))
        converged = np.abs(new - k) <= _RELATIVE_TOLERANCE * k
        k = np.minimum(np.where(new > 0, new, k / 2), _MAX_SHAPE)
        if converged.all():
            break
    return k


def fit_dirichlet_concentration(mean_logs: np.ndarray) -> np.ndarray:
    r"""Maximum-likelihood Dirichlet parameters, from the mean log of each share (n_categories,).

    Maximises :math:`\log\Gamma(\sum_j a_j) - \sum_j \log\Gamma(a_j) + \sum_j (a_j - 1)\,
    \overline{\log x_j}`, which is concave. The Hessian is diagonal plus rank one, so that a
    Newton step costs as much as a gradient.

    Examples
    --------
    >>> a = np.array([0.5, 2.0, 30.0])
    >>> fit_dirichlet_concentration(psi(a) - psi(a.sum())).round(6).tolist()
    [0.5, 2.0, 30.0]
    """
    a = np.ones_like(mean_logs)
    if len(a) == 1:  # the only share is always one, whatever the parameter
        return a
    for _ in range(_MAX_ITERATIONS):
        new = _backtrack(a, _newton_step(a, mean_logs), mean_logs)
        converged = np.abs(new - a).max() <= _RELATIVE_TOLERANCE * a.max()
        a = new
        if converged or a.sum() >= _MAX_SHAPE:
            break
    return a


def _newton_step(a: np.ndarray, mean_logs: np.ndarray) -> np.ndarray:
    """The Newton step from a."""
    gradient = psi(a.sum()) - psi(a) + mean_logs
    diagonal = -polygamma(1, a)
    common = (gradient / diagonal).sum() / (1 / polygamma(1, a.sum()) + (1 / diagonal).sum())
    return -(gradient - common) / diagonal


def _backtrack(a: np.ndarray, step: np.ndarray, mean_logs: np.ndarray) -> np.ndarray:
    """The first of the steps 1, 1/2, 1/4, ... that does not decrease the likelihood; a if none."""
    value = _dirichlet_log_likelihood(a, mean_logs)
    for _ in range(60):
        new = np.maximum(a + step, a / 10)
        if _dirichlet_log_likelihood(new, mean_logs) >= value:
            return new
        step = step / 2
    return a


def _dirichlet_log_likelihood(a: np.ndarray, mean_logs: np.ndarray) -> float:
    """Mean log-likelihood of Dirichlet parameters."""
    return float(gammaln(a.sum()) - gammaln(a).sum() + (a - 1) @ mean_logs)


def fit_symmetric_concentration(mean_log: float, n_categories: int) -> float:
    r"""Maximum-likelihood parameter of a symmetric Dirichlet, from the mean log of all shares.

    Maximises :math:`\log\Gamma(na) - n\log\Gamma(a) + n(a - 1)\,\overline{\log x}` by Newton's
    method in log a.

    Examples
    --------
    >>> a, n = 0.3, 50
    >>> round(fit_symmetric_concentration(psi(a) - psi(n * a), n), 9)
    0.3
    """
    n, t = n_categories, 0.0
    if mean_log >= -np.log(n):  # shares that do not vary
        return _MAX_SHAPE
    for _ in range(_MAX_ITERATIONS):
        a = np.exp(t)
        slope = psi(n * a) - psi(a) + mean_log
        curvature = a * (n * polygamma(1, n * a) - polygamma(1, a))
        step = np.clip(-slope / curvature, -2.0, 2.0)  # the slope decreases in log a
        t += step
        if abs(step) <= _RELATIVE_TOLERANCE:
            break
    return float(min(np.exp(t), _MAX_SHAPE))
