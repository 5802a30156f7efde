"""Counts of rare events."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import gammaln, xlogy

from tenfold.maths.densities.contract import Columns, Sums, entry, need_prior, whole
from tenfold.maths.densities.waiting import Gamma


@dataclass(frozen=True)
class Poisson(Columns):
    r"""Counts of events that come independently, at a constant rate.

    .. math:: \log p(x) = x \log \lambda - \lambda - \log x!, \qquad \hat\lambda = \bar x

    Parameters
    ----------
    rate : float or (p,) array
        Expected count.
    prior : Gamma, optional
        What is believed of the rate before the data; then `fitted` is the mode of the posterior.

    Examples
    --------
    >>> Poisson().fit([0, 2, 4]).rate
    2.0
    >>> Poisson(prior=Gamma(2, 1)).learned([0, 2, 4]).prior
    Gamma(shape=8.0, rate=4.0)
    """

    conjugate = (Gamma,)
    rate: Any = 1.0
    prior: Gamma | None = None

    def entry_logs(self, X: np.ndarray) -> np.ndarray:
        possible = whole(X)
        X = np.where(possible, X, 0)
        return np.where(possible, xlogy(X, self.rate) - self.rate - gammaln(X + 1), -np.inf)

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return rng.poisson(self.rate, (n, np.size(self.rate))).astype(np.float64)

    def fitted(self, statistic: Sums) -> Poisson:
        if self.prior is not None:
            return self.at(self.posterior(statistic).mode)
        return self.at(entry(statistic.total / statistic.n)) if statistic.n > 0 else self

    def posterior(self, statistic: Sums) -> Gamma:
        prior = need_prior(self, "Gamma(shape, rate)")
        return Gamma(entry(prior.shape + statistic.total), prior.rate + statistic.n)

    def at(self, parameter: Any) -> Poisson:
        return replace(self, rate=parameter)

    def frozen(self) -> Any:
        from scipy.stats import poisson

        return poisson(self.rate)

    @property
    def mean(self) -> Any:
        return self.rate

    @property
    def variance(self) -> Any:
        return self.rate
