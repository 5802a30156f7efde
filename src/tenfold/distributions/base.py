"""What every density offers, and what those of independent columns share.

Rows are (n, p); a vector of n numbers is taken for n rows of one column. Parameters are numbers, or
arrays with an entry for each column. Zeros are safe: a value that cannot occur has the log-density
minus infinity, and 0 log 0 is 0.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np


class Distribution(Protocol):
    """The verbs of a density; any object that has them can be used in mixtures and classifiers."""

    def log_density(self, X: Any) -> np.ndarray:
        """Log of the density, or of the probability, of each row (n,)."""
        ...

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Draw n rows, (n, p)."""
        ...

    def statistic(self, X: Any, w: Any = None) -> Any:
        """All that weighted rows say about the parameters; two of them merge."""
        ...

    def fitted(self, statistic: Any) -> Distribution:
        """The most likely density; the most probable one if there is a prior."""
        ...


class WeightedSums(NamedTuple):
    """Weighted sums of rows; two parts merge by addition.

    Attributes
    ----------
    n : total weight
    total : sums, (p,) or several lines of them
    """

    n: float
    total: np.ndarray

    def merge(self, other: WeightedSums) -> WeightedSums:
        return WeightedSums(self.n + other.n, self.total + other.total)


class FittableDistribution:
    """Fitting from rows, and what follows from a conjugate prior."""

    prior: Any = None
    conjugate: ClassVar[tuple[type, ...]] = ()  # priors whose posterior is of the same kind

    def is_conjugate(self, prior: Any) -> bool:
        """Whether this prior has a posterior of the same kind."""
        return isinstance(prior, self.conjugate)

    def fit(self, X: Any, w: Any = None) -> Self:
        """The density fitted to rows with weights w (1 each by default)."""
        return self.fitted(self.statistic(X, w))

    def statistic(self, X: Any, w: Any = None) -> Any:
        raise NotImplementedError

    def fitted(self, statistic: Any) -> Self:
        raise NotImplementedError

    def log_density(self, X: Any) -> np.ndarray:
        raise NotImplementedError

    def posterior(self, statistic: Any) -> Any:
        """The belief about the parameter after the data: the prior, updated."""
        raise NotImplementedError

    def at(self, parameter: Any) -> Self:
        """The density with another parameter, the one that the prior is about."""
        raise NotImplementedError

    def learned(self, X: Any, w: Any = None) -> Self:
        """The same density with the posterior in the place of the prior: a sequential update."""
        return replace(self, prior=self.posterior(self.statistic(X, w)))  # type: ignore[type-var]

    def log_evidence(self, X: Any, w: Any = None) -> float:
        r"""Log of the probability of all rows, whatever the parameter is.

        .. math:: \log p(X) = \log p(X \mid \theta) + \log p(\theta) - \log p(\theta \mid X)

        The right side is the same for every parameter; the posterior mean is taken
        (the mode where that may not exist).
        """
        X, w = as_rows(X), as_weights(X, w)
        posterior = self.posterior(self.statistic(X, w))
        theta = self._inside(posterior)
        ratio = self.prior.log_density(as_parameter_row(theta)) - posterior.log_density(
            as_parameter_row(theta)
        )
        heavy = w > 0
        fit = w[heavy] @ self.at(theta).log_density(X[heavy])
        return float(fit + np.sum(ratio))

    def _inside(self, posterior: Any) -> Any:
        """A parameter that the posterior thinks possible."""
        return posterior.mean


class ColumnwiseDistribution(FittableDistribution):
    """Independent columns, each with its own parameter: log-densities add up."""

    def log_density(self, X: Any) -> np.ndarray:
        """Log-density of each row, (n,)."""
        return self.entry_logs(as_rows(X)).sum(axis=1)

    def entry_logs(self, X: np.ndarray) -> np.ndarray:
        """Log-density of each entry, (n, p)."""
        raise NotImplementedError

    def statistic(self, X: Any, w: Any = None) -> Any:
        """Weight of the rows and sum of each column, if the density does not ask for more."""
        X = as_rows(X)
        return weighted_sums(as_weights(X, w), X)

    def frozen(self) -> Any:
        """The same as a frozen distribution of scipy.stats: cdf, quantiles, higher moments."""
        raise NotImplementedError

    def cdf(self, X: Any) -> np.ndarray:
        """Probability that no entry exceeds that of the row, (n,)."""
        return self.frozen().cdf(as_rows(X)).prod(axis=1)


def as_rows(X: Any) -> np.ndarray:
    """Rows (n, p) in float64."""
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, np.float64)
    return X[:, None] if X.ndim == 1 else X


def as_weights(X: Any, w: Any) -> np.ndarray:
    """Weights of rows, 1 each by default."""
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    return np.ones(n) if w is None else np.asarray(w, np.float64)


def as_parameter_row(theta: Any) -> Any:
    """A parameter, number or vector, as a single row; several parameters stay as they are."""
    return theta if isinstance(theta, tuple) else np.atleast_2d(np.asarray(theta, np.float64))


def weighted_sums(w: np.ndarray, *lines: np.ndarray) -> WeightedSums:
    """Weighted sums of rows and of functions of them; rows without weight are not looked at."""
    heavy = w > 0
    totals = [w[heavy] @ line[heavy] for line in lines]
    return WeightedSums(float(w.sum()), totals[0] if len(totals) == 1 else np.stack(totals))


def scalar_if_single(values: Any) -> Any:
    """A parameter, that of a single column as a plain number."""
    return float(np.asarray(values).item()) if np.shape(values) in {(), (1,)} else values


def is_integer_between(x: Any, low: Any = 0, high: Any = np.inf) -> np.ndarray:
    """Whether entries are whole numbers from low to high."""
    return (x >= low) & (x <= high) & (x == np.floor(x))


def require_conjugate_prior(density: FittableDistribution, kinds: str) -> Any:
    """The prior of a density, if there is one that is conjugate."""
    if not density.is_conjugate(density.prior):
        found = type(density.prior).__name__
        raise ValueError(f"{type(density).__name__} needs prior={kinds}, got {found}")
    return density.prior
