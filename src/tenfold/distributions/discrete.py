"""Discrete distributions: Bernoulli, binomial, Poisson, categorical, multinomial."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import gammaln, xlog1py, xlogy

from tenfold.distributions._joint_cdf import multinomial_cdf
from tenfold.distributions.base import (
    ColumnwiseDistribution,
    FittableDistribution,
    WeightedSums,
    as_rows,
    as_weights,
    column_means,
    is_integer_between,
    require_conjugate_prior,
    require_support,
    scalar_if_single,
    weighted_sums,
)
from tenfold.distributions.dirichlet import PROBABILITY_SUM_TOLERANCE, Beta, Dirichlet
from tenfold.distributions.gamma import Gamma


@dataclass(frozen=True)
class Bernoulli(ColumnwiseDistribution):
    r"""Bernoulli distribution: each entry is 1 with probability p, else 0.

    .. math:: \log p(x) = x \log p + (1 - x) \log (1 - p), \qquad \hat p = \bar x

    Parameters
    ----------
    p : float or (n_columns,) array
        Probability of 1.
    prior : Beta, optional
        Prior of p; `fit_statistic` then gives the posterior mode.

    Examples
    --------
    >>> coin = Bernoulli().fit([1, 0, 1, 1])
    >>> coin.p, round(float(coin.log_density([1])[0]), 4)
    (0.75, -0.2877)
    >>> Bernoulli(prior=Beta(2, 2)).update([1, 0, 1, 1]).prior
    Beta(a=5.0, b=3.0)
    """

    conjugate_priors = (Beta,)
    support = "the numbers 0 and 1"
    fitted_parameters = ("p",)
    p: Any = 0.5
    prior: Beta | None = None

    def in_support(self, X: np.ndarray) -> np.ndarray:
        return is_integer_between(X, 0, 1)

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_probability(self.p)

    def log_density_entries(self, X: np.ndarray) -> np.ndarray:
        in_support = self.in_support(X)
        X = np.where(in_support, X, 0)
        logs = xlogy(X, self.p) + xlog1py(1 - X, np.negative(self.p))
        return np.where(in_support, logs, -np.inf)

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return (rng.random((n, np.size(self.p))) < self.p).astype(np.float64)

    def fit_statistic(self, statistic: WeightedSums) -> Bernoulli:
        return _fit_success_probability(self, statistic, statistic.n)

    def posterior(self, statistic: WeightedSums) -> Beta:
        return _beta_posterior(self, statistic.total, statistic.n)

    def with_parameter(self, parameter: Any) -> Bernoulli:
        return replace(self, p=parameter)

    def to_scipy(self) -> Any:
        from scipy.stats import bernoulli

        return bernoulli(self.p)

    @property
    def mean(self) -> Any:
        return self.p

    @property
    def variance(self) -> Any:
        return self.p * (1 - np.asarray(self.p))


@dataclass(frozen=True)
class Binomial(ColumnwiseDistribution):
    r"""Binomial distribution: the number of successes in `trials` independent trials.

    .. math:: p(x) = \binom{t}{x} p^x (1 - p)^{t - x}

    Parameters
    ----------
    trials : int or (n_columns,) array
        Number of trials.
    p : float or (n_columns,) array
        Probability of success.
    prior : Beta, optional
        Prior of p.

    Examples
    --------
    >>> coin = Binomial(10).fit([7, 3])
    >>> coin.p, round(float(np.exp(coin.log_density([5])[0])), 4)
    (0.5, 0.2461)
    """

    conjugate_priors = (Beta,)
    support = "integers from 0 to the number of trials"
    fitted_parameters = ("p",)
    trials: Any
    p: Any = 0.5
    prior: Beta | None = None

    def in_support(self, X: np.ndarray) -> np.ndarray:
        return is_integer_between(X, 0, np.asarray(self.trials, np.float64))

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_probability(self.p)

    def log_density_entries(self, X: np.ndarray) -> np.ndarray:
        t = np.asarray(self.trials, np.float64)
        in_support = self.in_support(X)
        X = np.where(in_support, X, 0)
        log_binomial = gammaln(t + 1) - gammaln(X + 1) - gammaln(t - X + 1)
        logs = log_binomial + xlogy(X, self.p) + xlog1py(t - X, np.negative(self.p))
        return np.where(in_support, logs, -np.inf)

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        p = np.size(np.asarray(self.p) + np.asarray(self.trials))
        return rng.binomial(self.trials, self.p, (n, p)).astype(np.float64)

    def fit_statistic(self, statistic: WeightedSums) -> Binomial:
        return _fit_success_probability(self, statistic, statistic.n * np.asarray(self.trials))

    def posterior(self, statistic: WeightedSums) -> Beta:
        return _beta_posterior(self, statistic.total, statistic.n * np.asarray(self.trials))

    def with_parameter(self, parameter: Any) -> Binomial:
        return replace(self, p=parameter)

    def to_scipy(self) -> Any:
        from scipy.stats import binom

        return binom(self.trials, self.p)

    @property
    def mean(self) -> Any:
        return np.asarray(self.trials) * self.p

    @property
    def variance(self) -> Any:
        return self.mean * (1 - np.asarray(self.p))


def _beta_posterior(density: ColumnwiseDistribution, successes: np.ndarray, trials: Any) -> Beta:
    """Posterior of a success probability."""
    prior = require_conjugate_prior(density, "Beta(a, b)")
    return Beta(
        scalar_if_single(prior.a + successes), scalar_if_single(prior.b + trials - successes)
    )


def _fit_success_probability(density: Any, statistic: WeightedSums, trials: Any) -> Any:
    """The density with the most likely success probability; unchanged without any trials."""
    if density.prior is not None:
        return density.with_parameter(density.posterior(statistic).mode)
    if not np.any(trials > 0):
        return density
    sums = WeightedSums(trials, statistic.total)
    return density.with_parameter(scalar_if_single(column_means(sums, density.p)))


def _check_probability(p: Any) -> None:
    """Raise an error unless all entries are probabilities."""
    if not np.all((np.asarray(p) >= 0) & (np.asarray(p) <= 1)):  # also true of NaN
        raise ValueError(f"probabilities lie between 0 and 1, got p={p}")


@dataclass(frozen=True)
class Poisson(ColumnwiseDistribution):
    r"""Poisson distribution: counts of independent events at a constant rate.

    .. math:: \log p(x) = x \log \lambda - \lambda - \log x!, \qquad \hat\lambda = \bar x

    Parameters
    ----------
    rate : float or (n_columns,) array
        Expected count.
    prior : Gamma, optional
        Prior of the rate; `fit_statistic` then gives the posterior mode.

    Examples
    --------
    >>> Poisson().fit([0, 2, 4]).rate
    2.0
    >>> Poisson(prior=Gamma(2, 1)).update([0, 2, 4]).prior
    Gamma(shape=8.0, rate=4.0)
    """

    conjugate_priors = (Gamma,)
    support = "counts: integers that are not negative"
    fitted_parameters = ("rate",)
    rate: Any = 1.0
    prior: Gamma | None = None

    def in_support(self, X: np.ndarray) -> np.ndarray:
        return is_integer_between(X)

    def log_density_entries(self, X: np.ndarray) -> np.ndarray:
        in_support = self.in_support(X)
        X = np.where(in_support, X, 0)
        return np.where(in_support, xlogy(X, self.rate) - self.rate - gammaln(X + 1), -np.inf)

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return rng.poisson(self.rate, (n, np.size(self.rate))).astype(np.float64)

    def fit_statistic(self, statistic: WeightedSums) -> Poisson:
        if self.prior is not None:
            return self.with_parameter(self.posterior(statistic).mode)
        if not np.any(statistic.n > 0):
            return self
        return self.with_parameter(scalar_if_single(column_means(statistic, self.rate)))

    def posterior(self, statistic: WeightedSums) -> Gamma:
        prior = require_conjugate_prior(self, "Gamma(shape, rate)")
        return Gamma(scalar_if_single(prior.shape + statistic.total), prior.rate + statistic.n)

    def with_parameter(self, parameter: Any) -> Poisson:
        return replace(self, rate=parameter)

    def to_scipy(self) -> Any:
        from scipy.stats import poisson

        return poisson(self.rate)

    @property
    def mean(self) -> Any:
        return self.rate

    @property
    def variance(self) -> Any:
        return self.rate


@dataclass(frozen=True)
class Categorical(FittableDistribution):
    r"""Categorical distribution: rows of one column with a category index, 0 to n_categories - 1.

    .. math:: \log p(x) = \log p_x, \qquad \hat p_j = n_j / n

    Parameters
    ----------
    p : (n_categories,) array
        Probabilities; before a fit, their number alone matters.
    prior : Dirichlet, optional
        Prior of p; `fit_statistic` then gives the posterior mode.

    Examples
    --------
    >>> Categorical(np.ones(3) / 3).fit([0, 2, 2, 2]).p.tolist()
    [0.25, 0.0, 0.75]
    >>> smoothed = Categorical(np.ones(3) / 3, Dirichlet(np.full(3, 2.0))).fit([0, 2, 2, 2])
    >>> smoothed.p.round(3).tolist()
    [0.286, 0.143, 0.571]
    """

    conjugate_priors = (Dirichlet,)
    p: Any
    prior: Dirichlet | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_probabilities(self.p)

    def log_density(self, X: Any) -> np.ndarray:
        X = as_rows(X)[:, 0]
        in_support = self.in_support(X)
        with np.errstate(divide="ignore"):
            logs = np.log(np.asarray(self.p, np.float64))
        return np.where(in_support, logs[np.where(in_support, X, 0).astype(np.intp)], -np.inf)

    def observed_log_density(self, X: Any) -> np.ndarray:
        """Log-probability of each row, 0 where it is missing (NaN)."""
        return np.where(np.isnan(as_rows(X)[:, 0]), 0.0, self.log_density(X))

    def observed_statistic(self, X: Any, w: Any = None) -> WeightedSums:
        """Weight of each category, without missing rows (NaN)."""
        X = as_rows(X)
        there = ~np.isnan(X[:, 0])
        return self.statistic(X[there], as_weights(X, w)[there])

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return rng.choice(len(self.p), n, p=self.p)[:, None].astype(np.float64)

    def statistic(self, X: Any, w: Any = None) -> WeightedSums:
        """Weight of each category."""
        X, w = self.check_rows(X, w)
        weighted = w > 0
        places = X[weighted, 0].astype(np.intp)
        return WeightedSums(float(w.sum()), np.bincount(places, w[weighted], len(self.p)))

    def fit_statistic(self, statistic: WeightedSums) -> Categorical:
        return _fit_category_probabilities(self, statistic)

    def posterior(self, statistic: WeightedSums) -> Dirichlet:
        return _dirichlet_posterior(self, statistic)

    def with_parameter(self, parameter: Any) -> Categorical:
        return replace(self, p=np.ravel(parameter))

    def in_support(self, X: np.ndarray) -> np.ndarray:
        return is_integer_between(X, 0, len(self.p) - 1)

    def describe_support(self) -> str:
        return f"categories, integers from 0 to {len(self.p) - 1}"

    def cdf(self, X: Any) -> np.ndarray:
        """Probability of the categories up to each row, (n_rows,)."""
        total = np.append(0.0, np.cumsum(self.p))
        return total[np.clip(np.floor(as_rows(X)[:, 0]) + 1, 0, len(self.p)).astype(np.intp)]

    @property
    def mean(self) -> float:
        """Mean of the category index."""
        return float(np.arange(len(self.p)) @ self.p)

    @property
    def variance(self) -> float:
        """Variance of the category index."""
        return float((np.arange(len(self.p)) - self.mean) ** 2 @ self.p)

    @property
    def n_parameters(self) -> int:
        """Number of free parameters that a fit estimates, for AIC and BIC."""
        return len(self.p) - 1


@dataclass(frozen=True)
class Multinomial(FittableDistribution):
    r"""Multinomial distribution: counts of words (or other categories) given their total.

    .. math:: p(x) = \frac{(\sum_j x_j)!}{\prod_j x_j!} \prod_j p_j^{x_j}

    For one sequence of words (`ordered`) the multinomial coefficient is left out. Rows may be
    sparse, and counts may be fractions.

    Parameters
    ----------
    p : (n_words,) array, optional
        Probability of each word; not needed for a fit.
    ordered : bool
        Whether a row stands for one sequence, not for all sequences with these counts.
    trials : int
        Words in each row that `sample` draws.
    prior : Dirichlet, optional
        Prior of p; `fit_statistic` then gives the posterior mode.

    Examples
    --------
    >>> cat_cat_dog = np.array([[2.0, 1.0]])
    >>> theirs = Multinomial([0.3, 0.7], ordered=True)
    >>> best = theirs.fit(cat_cat_dog)
    >>> [round(float(np.exp(m.log_density(cat_cat_dog)[0])), 6) for m in (theirs, best)]
    [0.063, 0.148148]
    """

    conjugate_priors = (Dirichlet,)
    support = "counts that are not negative"
    p: Any = None
    ordered: bool = False
    trials: int = 1
    prior: Dirichlet | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.p is not None:
            _check_probabilities(self.p)

    def log_density(self, X: Any) -> np.ndarray:
        X, p = _as_count_rows(X), np.asarray(self.p, np.float64)
        logs = X @ np.log(np.where(p > 0, p, 1.0))
        logs = np.where(X @ (p == 0).astype(np.float64) > 0, -np.inf, logs)
        logs = logs if self.ordered else logs + _log_multinomial_coefficient(X)
        entries = X if isinstance(X, np.ndarray) else X.data
        if self.in_support(entries).all():
            return logs
        return np.where(self.in_support(as_rows(X)).all(axis=1), logs, -np.inf)

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return rng.multinomial(self.trials, self.p, n).astype(np.float64)

    def sequence(self, length: int, rng: np.random.Generator) -> np.ndarray:
        """Draw a sequence of word indices, (length,)."""
        return rng.choice(len(self.p), length, p=self.p)

    def statistic(self, X: Any, w: Any = None) -> WeightedSums:
        """Weight of the rows, and weighted count of each word."""
        X = _as_count_rows(X)
        w = as_weights(X, w)
        entries = X if isinstance(X, np.ndarray) else X.data
        if not self.in_support(entries).all():  # zeros that are not stored are possible
            X = as_rows(X)
            require_support(self, X, w, self.in_support(X))
        return weighted_sums(w, X)

    def fit_statistic(self, statistic: WeightedSums) -> Multinomial:
        return _fit_category_probabilities(self, statistic)

    def posterior(self, statistic: WeightedSums) -> Dirichlet:
        return _dirichlet_posterior(self, statistic)

    def with_parameter(self, parameter: Any) -> Multinomial:
        return replace(self, p=np.ravel(parameter))

    def in_support(self, X: np.ndarray) -> np.ndarray:
        return (X >= 0) & np.isfinite(X)

    def cdf(self, X: Any) -> np.ndarray:
        """Joint distribution function of the counts of `trials` words at each row, (n_rows,)."""
        return multinomial_cdf(as_rows(X), self.trials, np.asarray(self.p, np.float64))

    @property
    def mean(self) -> np.ndarray:
        """Expected counts of `trials` words."""
        return self.trials * np.asarray(self.p, np.float64)

    @property
    def variance(self) -> np.ndarray:
        """Variance of each count of `trials` words."""
        return self.mean * (1 - np.asarray(self.p, np.float64))

    @property
    def n_parameters(self) -> int:
        """Number of free parameters that a fit estimates, for AIC and BIC."""
        return len(self.p) - 1


def _as_count_rows(X: Any) -> Any:
    """Rows of counts; sparse matrices stay sparse."""
    return X.tocsr() if hasattr(X, "tocsr") else as_rows(X)


def _log_multinomial_coefficient(X: Any) -> np.ndarray:
    """Log of the multinomial coefficient of each row, (n_rows,)."""
    total = np.asarray(X.sum(axis=1)).ravel()
    if not isinstance(X, np.ndarray):
        X = X.copy()
        X.data = gammaln(X.data.astype(np.float64) + 1)
        return gammaln(total + 1) - np.asarray(X.sum(axis=1)).ravel()
    return gammaln(total + 1) - gammaln(X + 1).sum(axis=1)


def multinomial_coefficient(counts: Any) -> np.ndarray:
    """Number of sequences with the counts of each row, (n_rows,).

    Examples
    --------
    The words of IT WILL RAIN IT WILL:

    >>> multinomial_coefficient([[2, 2, 1]]).round(6).tolist()
    [30.0]
    """
    return np.exp(_log_multinomial_coefficient(np.atleast_2d(np.asarray(counts, np.float64))))


def _dirichlet_posterior(density: FittableDistribution, statistic: WeightedSums) -> Dirichlet:
    """Posterior of category probabilities."""
    return Dirichlet(
        np.asarray(require_conjugate_prior(density, "Dirichlet(a)").a) + statistic.total
    )


def _fit_category_probabilities(density: Any, statistic: WeightedSums) -> Any:
    """The density with the most likely probabilities; unchanged without any counts."""
    if density.prior is not None:
        return density.with_parameter(density.posterior(statistic).mode)
    total = statistic.total.sum()
    return density.with_parameter(statistic.total / total) if total > 0 else density


def _check_probabilities(p: Any) -> None:
    """Raise an error unless p is a probability vector."""
    p = np.asarray(p, np.float64)
    if p.ndim != 1 or not (p >= 0).all() or abs(p.sum() - 1) > PROBABILITY_SUM_TOLERANCE:
        raise ValueError(f"probabilities must not be negative and must sum to 1, got {p}")
