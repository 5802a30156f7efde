"""Beta and Dirichlet distributions: one share between 0 and 1, or several that sum to 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import betaln, gammaln, xlog1py, xlogy

from tenfold.distributions._gamma_mle import TINY, fit_dirichlet_concentration, safe_log
from tenfold.distributions._joint_cdf import dirichlet_cdf
from tenfold.distributions.base import (
    ColumnwiseDistribution,
    FittableDistribution,
    WeightedSums,
    as_rows,
    column_means,
    scalar_if_single,
    weighted_sums,
)

PROBABILITY_SUM_TOLERANCE = 1e-8  # of the sum of probabilities that is taken for 1
_SHARE_SUM_TOLERANCE = 1e-6  # of the sum of a row of shares, which may be of float32


@dataclass(frozen=True)
class Beta(ColumnwiseDistribution):
    r"""Beta distribution of a share between 0 and 1; the conjugate prior of a success probability.

    .. math:: f(x) = x^{a - 1} (1 - x)^{b - 1} / B(a, b)

    The weighted maximum-likelihood fit is by Newton's method.

    Parameters
    ----------
    a, b : float or (n_columns,) arrays
        Positive; the mean is a / (a + b).

    Examples
    --------
    >>> prior = Beta(8, 4)
    >>> round(prior.mean, 4), prior.mode, round(prior.variance, 4)
    (0.6667, 0.7, 0.0171)
    """

    support = "shares from 0 to 1"
    fitted_parameters = ("a", "b")
    a: Any = 1.0
    b: Any = 1.0

    def in_support(self, X: np.ndarray) -> np.ndarray:
        return (X >= 0) & (X <= 1)

    def log_density_entries(self, X: np.ndarray) -> np.ndarray:
        a, b = np.asarray(self.a, np.float64), np.asarray(self.b, np.float64)
        inside = self.in_support(X)
        X = np.where(inside, X, 0.5)
        with np.errstate(divide="ignore"):
            logs = xlogy(a - 1, X) + xlog1py(b - 1, -X) - betaln(a, b)
        return np.where(inside, logs, -np.inf)

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return rng.beta(self.a, self.b, (n, np.size(np.asarray(self.a) + np.asarray(self.b))))

    def statistic(self, X: Any, w: Any = None) -> WeightedSums:
        """Sums of log x and log (1 - x)."""
        X, w = self.check_rows(X, w)
        return weighted_sums(w, safe_log(X), safe_log(1 - X))

    def fit_statistic(self, statistic: WeightedSums) -> Beta:
        if not np.any(statistic.n > 0):
            return self
        logs = column_means(statistic, np.full((2, 1), -1.0))  # of a uniform share
        a, b = np.array([fit_dirichlet_concentration(m) for m in logs.T]).T
        return Beta(scalar_if_single(a), scalar_if_single(b))

    def to_scipy(self) -> Any:
        from scipy.stats import beta

        return beta(self.a, self.b)

    @property
    def mean(self) -> Any:
        return self.a / (self.a + self.b)

    @property
    def variance(self) -> Any:
        return self.mean * (1 - self.mean) / (self.a + self.b + 1)

    @property
    def mode(self) -> Any:
        """The mode; an end if the density grows towards it, the mean if there is no single mode."""
        left, right = np.maximum(np.subtract(self.a, 1), 0), np.maximum(np.subtract(self.b, 1), 0)
        total = left + right
        return scalar_if_single(np.where(total > 0, left / np.maximum(total, TINY), self.mean))


@dataclass(frozen=True)
class Dirichlet(FittableDistribution):
    r"""Dirichlet distribution of rows of shares that sum to 1.

    .. math:: f(x) = \frac{\Gamma(\sum_j a_j)}{\prod_j \Gamma(a_j)} \prod_j x_j^{a_j - 1}

    With two shares it is `Beta`; it is the conjugate prior of category probabilities. The weighted
    maximum-likelihood fit is by Newton's method (Minka, 2000, Estimating a Dirichlet distribution).

    Parameters
    ----------
    a : (n_categories,) array
        Positive concentrations; a_j - 1 acts as a count of category j.

    Examples
    --------
    >>> prior = Dirichlet(np.array([3.0, 2.0, 1.0]))
    >>> prior.mean.round(3).tolist(), prior.mode.round(3).tolist()
    ([0.5, 0.333, 0.167], [0.667, 0.333, 0.0])
    """

    support = "rows of shares from 0 to 1 that sum to 1"
    a: Any

    def in_support(self, X: np.ndarray) -> np.ndarray:
        return (X >= 0).all(axis=1) & (np.abs(X.sum(axis=1) - 1) <= _SHARE_SUM_TOLERANCE)

    def log_density(self, X: Any) -> np.ndarray:
        """Log-density of each row; minus infinity for rows that do not sum to 1."""
        X, a = as_rows(X), np.asarray(self.a, np.float64)
        inside = self.in_support(X)
        X = np.where(inside[:, None], X, 1.0)
        with np.errstate(divide="ignore"):
            logs = xlogy(a - 1, X).sum(axis=1) + gammaln(a.sum()) - gammaln(a).sum()
        return np.where(inside, logs, -np.inf)

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return rng.dirichlet(self.a, n)

    def statistic(self, X: Any, w: Any = None) -> WeightedSums:
        """Sums of the logs of the shares."""
        X, w = self.check_rows(X, w)
        return weighted_sums(w, safe_log(X))

    def fit_statistic(self, statistic: WeightedSums) -> Dirichlet:
        if not statistic.n > 0:
            return self
        return Dirichlet(fit_dirichlet_concentration(statistic.total / statistic.n))

    def cdf(self, X: Any) -> np.ndarray:
        """Joint distribution function at each row, (n_rows,): by numerical integration.

        With more than three shares, the fraction of 65,536 draws with a fixed seed.
        """
        return dirichlet_cdf(as_rows(X), np.asarray(self.a, np.float64))

    @property
    def n_parameters(self) -> int:
        """Number of free parameters that a fit estimates, for AIC and BIC."""
        return len(self.a)

    @property
    def mean(self) -> np.ndarray:
        return self.a / np.sum(self.a)

    @property
    def variance(self) -> np.ndarray:
        return self.mean * (1 - self.mean) / (np.sum(self.a) + 1)

    @property
    def mode(self) -> np.ndarray:
        """The mode; shares with a_j < 1 are 0 there; the mean if there is no single mode."""
        above = np.maximum(np.asarray(self.a) - 1, 0)
        return above / above.sum() if above.sum() > 0 else self.mean
