"""Gamma and exponential distributions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import gammaln, psi, xlogy

from tenfold.distributions._gamma_mle import safe_log, solve_gamma_shape
from tenfold.distributions.base import (
    ColumnwiseDistribution,
    WeightedSums,
    column_means,
    require_conjugate_prior,
    scalar_if_single,
    weighted_sums,
)

_MIN_MEAN = 1e-300  # a mean of zero would make the rate infinite


@dataclass(frozen=True)
class Gamma(ColumnwiseDistribution):
    r"""Gamma distribution of positive numbers.

    .. math:: \log f(x) = k \log \beta + (k - 1) \log x - \beta x - \log \Gamma(k)

    The maximum-likelihood shape solves :math:`\log k - \psi(k) = \log \bar x - \overline{\log x}`,
    found by Newton's method; the rate is k over the mean.

    Parameters
    ----------
    shape, rate : float or (n_columns,) arrays
        k and beta, both positive; the mean is their ratio.

    Examples
    --------
    >>> g = Gamma(2.0, 4.0)
    >>> g.mean, g.variance, g.mode
    (0.5, 0.125, 0.25)
    >>> round(Gamma().fit([1.0, 2.0, 3.0]).shape, 4)
    5.3752
    """

    support = "numbers that are not negative"
    fitted_parameters = ("shape", "rate")
    shape: Any = 1.0
    rate: Any = 1.0

    def in_support(self, X: np.ndarray) -> np.ndarray:
        return (X >= 0) & np.isfinite(X)

    def log_density_entries(self, X: np.ndarray) -> np.ndarray:
        k, rate = np.asarray(self.shape, np.float64), np.asarray(self.rate, np.float64)
        outside = (X < 0) | np.isinf(X)
        X = np.where(outside, 0, X)
        with np.errstate(divide="ignore"):
            logs = k * np.log(rate) + xlogy(k - 1, X) - rate * X - gammaln(k)
        return np.where(outside, -np.inf, logs)

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        p = np.size(np.asarray(self.shape) + np.asarray(self.rate))
        return rng.gamma(self.shape, 1 / np.asarray(self.rate), (n, p))

    def statistic(self, X: Any, w: Any = None) -> WeightedSums:
        """Sums of the entries and of their logs."""
        X, w = self.check_rows(X, w)
        return weighted_sums(w, X, safe_log(X))

    def fit_statistic(self, statistic: WeightedSums) -> Gamma:
        if not np.any(statistic.n > 0):
            return self
        own = [self.mean, psi(self.shape) - np.log(self.rate)]  # for columns without entries
        mean, logs = column_means(statistic, np.reshape(own, (2, -1)))
        shape = solve_gamma_shape(safe_log(mean) - logs)
        return Gamma(scalar_if_single(shape), scalar_if_single(shape / np.maximum(mean, _MIN_MEAN)))

    def to_scipy(self) -> Any:
        from scipy.stats import gamma

        return gamma(self.shape, scale=1 / np.asarray(self.rate))

    @property
    def mean(self) -> Any:
        return self.shape / self.rate

    @property
    def variance(self) -> Any:
        return self.shape / self.rate**2

    @property
    def mode(self) -> Any:
        return scalar_if_single(np.maximum(np.asarray(self.shape) - 1, 0) / self.rate)


@dataclass(frozen=True)
class Exponential(ColumnwiseDistribution):
    r"""Exponential distribution: the time until the next event at a constant rate.

    .. math:: f(x) = \lambda e^{-\lambda x}, \qquad \hat\lambda = 1 / \bar x

    Parameters
    ----------
    rate : float or (n_columns,) array
        Events per unit of time.
    prior : Gamma, optional
        Prior of the rate; `fit_statistic` then gives the posterior mode.

    Examples
    --------
    >>> Exponential().fit([1.0, 2.0, 3.0]).rate
    0.5
    >>> Exponential(prior=Gamma(1, 1)).update([1.0, 2.0, 3.0]).prior
    Gamma(shape=4.0, rate=7.0)
    """

    conjugate_priors = (Gamma,)
    support = "numbers that are not negative"
    fitted_parameters = ("rate",)
    rate: Any = 1.0
    prior: Gamma | None = None

    def in_support(self, X: np.ndarray) -> np.ndarray:
        return (X >= 0) & np.isfinite(X)

    def log_density_entries(self, X: np.ndarray) -> np.ndarray:
        return np.where(X < 0, -np.inf, np.log(self.rate) - self.rate * np.maximum(X, 0))

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return rng.exponential(1 / np.asarray(self.rate), (n, np.size(self.rate)))

    def fit_statistic(self, statistic: WeightedSums) -> Exponential:
        if self.prior is not None:
            return self.with_parameter(self.posterior(statistic).mode)
        if not np.any(statistic.n > 0):
            return self
        means = column_means(statistic, self.mean)
        return self.with_parameter(scalar_if_single(1 / np.maximum(means, _MIN_MEAN)))

    def posterior(self, statistic: WeightedSums) -> Gamma:
        prior = require_conjugate_prior(self, "Gamma(shape, rate)")
        return Gamma(prior.shape + statistic.n, scalar_if_single(prior.rate + statistic.total))

    def with_parameter(self, parameter: Any) -> Exponential:
        return replace(self, rate=parameter)

    def to_scipy(self) -> Any:
        from scipy.stats import expon

        return expon(scale=1 / np.asarray(self.rate))

    @property
    def mean(self) -> Any:
        return 1 / np.asarray(self.rate)

    @property
    def variance(self) -> Any:
        return 1 / np.asarray(self.rate) ** 2
