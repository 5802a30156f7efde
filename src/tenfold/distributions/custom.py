"""Maximum likelihood by numeric search, for any log-density that a user writes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from tenfold.distributions._mass_on_line import MassOnLine
from tenfold.distributions.base import FittableDistribution, as_rows, as_weights


class StoredRows(NamedTuple):
    """The rows themselves, the statistic of a distribution without a sufficient one."""

    X: np.ndarray
    w: np.ndarray

    def merge(self, other: StoredRows) -> StoredRows:
        return StoredRows(np.vstack([self.X, other.X]), np.concatenate([self.w, other.w]))


class MaximumLikelihoodEstimate(NamedTuple):
    """Maximum-likelihood parameters.

    Attributes
    ----------
    theta : (n_parameters,) parameters
    log_likelihood : weighted sum of the log-densities
    converged : whether the search met its tolerances
    """

    theta: np.ndarray
    log_likelihood: float
    converged: bool


def maximum_likelihood(
    log_density: Callable[[np.ndarray, np.ndarray], np.ndarray],
    X: Any,
    initial: Any,
    *,
    w: Any = None,
    bounds: Any = None,
) -> MaximumLikelihoodEstimate:
    r"""Maximum-likelihood parameters for weighted rows, by the Nelder-Mead simplex search.

    .. math:: \hat\theta = \arg\max_\theta \sum_i w_i \log f(x_i; \theta)

    Parameters
    ----------
    log_density : callable
        Maps rows (n_rows, n_columns) and parameters (n_parameters,) to log-densities (n_rows,).
    X : (n_rows, n_columns) or (n_rows,) array
        Rows.
    start : float or (d,) array
        Where the search starts; the log-density must be finite there.
    w : (n_rows,) array, optional
        Weights.
    bounds : (low, high) for each parameter, optional
        Bounds of the search; None is no bound.

    Examples
    --------
    The maximum-likelihood rate of waiting times is one over their mean.

    >>> f = lambda X, theta: np.log(theta[0]) - theta[0] * X[:, 0]
    >>> estimate = maximum_likelihood(f, [1.0, 2.0, 3.0], 1.0, bounds=[(1e-9, None)])
    >>> round(float(estimate.theta[0]), 5)
    0.5
    """
    from scipy.optimize import minimize

    X, w = as_rows(X), as_weights(X, w)
    X, w, initial = X[w > 0], w[w > 0], np.atleast_1d(np.asarray(initial, np.float64))
    scale = w.sum() or 1.0

    def cost(theta: np.ndarray) -> float:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            value = -float(w @ log_density(X, theta)) / scale
        return value if np.isfinite(value) else np.inf

    if not np.isfinite(cost(initial)):
        raise ValueError(f"the log-density is not finite at the start, {initial}")
    options = {"xatol": 1e-9, "fatol": 1e-13, "maxiter": 2000 * len(initial), "maxfev": 10**6}
    result = minimize(cost, initial, method="Nelder-Mead", bounds=bounds, options=options)
    for _ in range(2):  # a simplex may collapse early: restart where it ended
        result = minimize(cost, result.x, method="Nelder-Mead", bounds=bounds, options=options)
    return MaximumLikelihoodEstimate(result.x, -float(result.fun) * scale, bool(result.success))


@dataclass(frozen=True)
class CustomDistribution(FittableDistribution):
    """A distribution given by its log-density, fitted by numeric search.

    Its statistic is the rows themselves, so that mixtures and classifiers keep them in memory.

    Parameters
    ----------
    formula : callable
        Maps rows (n_rows, n_columns) and parameters (n_parameters,) to log-densities (n_rows,).
    theta : (n_parameters,) array
        Parameters; a fit starts from them.
    draw : callable, optional
        `draw(n, theta, rng)`, rows (n, n_columns).
    bounds : (low, high) for each parameter, optional
        Bounds of a fit.

    Examples
    --------
    >>> laplace = lambda X, t: -np.abs(X[:, 0] - t[0]) / t[1] - np.log(2 * t[1])
    >>> own = CustomDistribution(laplace, np.array([0.0, 1.0]), bounds=[(None, None), (1e-9, None)])
    >>> own.fit([1.0, 2.0, 6.0]).theta.round(4).tolist()
    [2.0, 1.6667]
    """

    formula: Callable[[np.ndarray, np.ndarray], np.ndarray]
    theta: Any
    draw: Callable[[int, np.ndarray, np.random.Generator], np.ndarray] | None = None
    bounds: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "theta", np.atleast_1d(np.asarray(self.theta, np.float64)))

    def log_density(self, X: Any) -> np.ndarray:
        return self.formula(as_rows(X), np.asarray(self.theta))

    def cdf(self, X: Any) -> np.ndarray:
        """Distribution function at each row of one column, (n_rows,): by numerical integration."""
        X, mass = as_rows(X), self._mass()
        return np.array([mass.integral(lambda _: 1.0, high=float(x)) for x in X[:, 0]])

    @property
    def mean(self) -> float:
        """Mean of one column, by numerical integration."""
        return self._mass().integral(lambda x: x)

    @property
    def variance(self) -> float:
        """Variance of one column, by numerical integration."""
        mass = self._mass()
        mean = mass.integral(lambda x: x)
        return mass.integral(lambda x: (x - mean) ** 2)

    @property
    def n_parameters(self) -> int:
        """Number of free parameters that a fit estimates, for AIC and BIC."""
        return np.size(self.theta)

    def _mass(self) -> MassOnLine:
        try:
            return MassOnLine(lambda x: float(self.log_density([[x]])[0]))
        except (IndexError, ValueError) as error:
            raise ValueError(
                "cdf, mean and variance are integrals over one column; the formula is of more: "
                "average over draws of `sample`"
            ) from error

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        if self.draw is None:
            raise ValueError(
                "this distribution cannot be sampled: give draw=, a function of (n, theta, rng)"
            )
        return as_rows(self.draw(n, np.asarray(self.theta), rng))

    def statistic(self, X: Any, w: Any = None) -> StoredRows:
        return StoredRows(*self.check_rows(X, w))

    def fit_statistic(self, statistic: StoredRows) -> CustomDistribution:
        if not statistic.w.sum() > 0:
            return self
        X, w = statistic
        estimate = maximum_likelihood(self.formula, X, self.theta, w=w, bounds=self.bounds)
        return replace(self, theta=estimate.theta)
