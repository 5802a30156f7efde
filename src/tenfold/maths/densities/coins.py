"""Coins: one flip, or several."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import gammaln, xlog1py, xlogy

from tenfold.maths.densities.contract import Columns, Sums, entry, need_prior, whole
from tenfold.maths.densities.shares import Beta


@dataclass(frozen=True)
class Bernoulli(Columns):
    r"""Flips of coins: each entry is 1 with probability p, else 0.

    .. math:: \log p(x) = x \log p + (1 - x) \log (1 - p), \qquad \hat p = \bar x

    [000, 2.2; 001, A.2 and A.6; 002, 1.5; 003, unit 4]

    Parameters
    ----------
    p : float or (p,) array
        Probability of 1.
    prior : Beta, optional
        What is believed of p before the data; then `fitted` is the mode of the posterior.

    Examples
    --------
    >>> coin = Bernoulli().fit([1, 0, 1, 1])
    >>> coin.p, round(float(coin.log_density([1])[0]), 4)
    (0.75, -0.2877)
    >>> Bernoulli(prior=Beta(2, 2)).learned([1, 0, 1, 1]).prior
    Beta(a=5.0, b=3.0)
    """

    conjugate = (Beta,)
    p: Any = 0.5
    prior: Beta | None = None

    def __post_init__(self) -> None:
        check_probability(self.p)

    def entry_logs(self, X: np.ndarray) -> np.ndarray:
        possible = whole(X, 0, 1)
        X = np.where(possible, X, 0)
        logs = xlogy(X, self.p) + xlog1py(1 - X, np.negative(self.p))
        return np.where(possible, logs, -np.inf)

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return (rng.random((n, np.size(self.p))) < self.p).astype(np.float64)

    def fitted(self, statistic: Sums) -> Bernoulli:
        return most_likely_share(self, statistic, statistic.n)

    def posterior(self, statistic: Sums) -> Beta:
        return flipped(self, statistic.total, statistic.n)

    def at(self, parameter: Any) -> Bernoulli:
        return replace(self, p=parameter)

    def frozen(self) -> Any:
        from scipy.stats import bernoulli

        return bernoulli(self.p)

    @property
    def mean(self) -> Any:
        return self.p

    @property
    def variance(self) -> Any:
        return self.p * (1 - np.asarray(self.p))


@dataclass(frozen=True)
class Binomial(Columns):
    r"""Heads among `trials` flips of a coin.

    .. math:: p(x) = \binom{t}{x} p^x (1 - p)^{t - x}

    [001, A.3 and A.7; 003, unit 4]

    Parameters
    ----------
    trials : int or (p,) array
        Flips for each entry.
    p : float or (p,) array
        Probability of heads.
    prior : Beta, optional
        What is believed of p before the data.

    Examples
    --------
    >>> coin = Binomial(10).fit([7, 3])
    >>> coin.p, round(float(np.exp(coin.log_density([5])[0])), 4)
    (0.5, 0.2461)
    """

    conjugate = (Beta,)
    trials: Any
    p: Any = 0.5
    prior: Beta | None = None

    def __post_init__(self) -> None:
        check_probability(self.p)

    def entry_logs(self, X: np.ndarray) -> np.ndarray:
        t = np.asarray(self.trials, np.float64)
        possible = whole(X, 0, t)
        X = np.where(possible, X, 0)
        ways = gammaln(t + 1) - gammaln(X + 1) - gammaln(t - X + 1)
        logs = ways + xlogy(X, self.p) + xlog1py(t - X, np.negative(self.p))
        return np.where(possible, logs, -np.inf)

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        p = np.size(np.asarray(self.p) + np.asarray(self.trials))
        return rng.binomial(self.trials, self.p, (n, p)).astype(np.float64)

    def fitted(self, statistic: Sums) -> Binomial:
        return most_likely_share(self, statistic, statistic.n * np.asarray(self.trials))

    def posterior(self, statistic: Sums) -> Beta:
        return flipped(self, statistic.total, statistic.n * np.asarray(self.trials))

    def at(self, parameter: Any) -> Binomial:
        return replace(self, p=parameter)

    def frozen(self) -> Any:
        from scipy.stats import binom

        return binom(self.trials, self.p)

    @property
    def mean(self) -> Any:
        return np.asarray(self.trials) * self.p

    @property
    def variance(self) -> Any:
        return self.mean * (1 - np.asarray(self.p))


def flipped(coin: Columns, heads: np.ndarray, flips: Any) -> Beta:
    """Belief about a coin after some flips."""
    before = need_prior(coin, "Beta(a, b)")
    return Beta(entry(before.a + heads), entry(before.b + flips - heads))


def most_likely_share(density: Any, statistic: Sums, flips: Any) -> Any:
    """A coin with the most likely share of heads; unchanged by no flips at all."""
    if density.prior is not None:
        return density.at(density.posterior(statistic).mode)
    return density.at(entry(statistic.total / flips)) if np.all(flips > 0) else density


def check_probability(p: Any) -> None:
    """Complain about what is no probability."""
    if not np.all((np.asarray(p) >= 0) & (np.asarray(p) <= 1)):  # also true of NaN
        raise ValueError(f"probabilities lie between 0 and 1, got p={p}")
