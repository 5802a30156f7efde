"""Independent columns with distributions of different families."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tenfold.distributions.base import FittableDistribution, as_rows, as_weights


class ColumnStatistics(NamedTuple):
    """The statistic of each column."""

    parts: tuple

    def merge(self, other: ColumnStatistics) -> ColumnStatistics:
        return ColumnStatistics(
            tuple(a.merge(b) for a, b in zip(self.parts, other.parts, strict=True))
        )


@dataclass(frozen=True)
class Independent(FittableDistribution):
    """Independent columns with a distribution each: naive Bayes with any family per column.

    `GenerativeClassifier(Independent(...))` is naive Bayes with any density for each feature. Its
    rows may have missing entries (NaN): a column learns from its observed entries, and a missing
    one is left out of the likelihood. `fit` and `log_density` themselves take complete rows.

    Parameters
    ----------
    columns : tuple of distributions
        One for each column; each is fitted to rows of one column.

    Examples
    --------
    >>> from tenfold.distributions import Bernoulli, Poisson
    >>> both = Independent((Bernoulli(), Poisson())).fit([[1, 4], [0, 6]])
    >>> both.columns[0].p, both.columns[1].rate
    (0.5, 5.0)
    """

    columns: tuple

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))

    def log_density(self, X: Any) -> np.ndarray:
        X = self._validate(X)
        return np.sum([d.log_density(X[:, [j]]) for j, d in enumerate(self.columns)], axis=0)

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return np.hstack([d.sample(n, rng) for d in self.columns])

    def statistic(self, X: Any, w: Any = None) -> ColumnStatistics:
        X = self._validate(X)
        return ColumnStatistics(
            tuple(d.statistic(X[:, [j]], w) for j, d in enumerate(self.columns))
        )

    def observed_log_density(self, X: Any) -> np.ndarray:
        """Log-density of the entries of each row that are not missing (NaN), (n_rows,)."""
        X = self._validate(X)
        total = np.zeros(len(X))
        for j, density in enumerate(self.columns):
            there = ~np.isnan(X[:, j])
            total[there] += density.log_density(X[there][:, [j]])
        return total

    def observed_statistic(self, X: Any, w: Any = None) -> ColumnStatistics:
        """The statistic of the entries of each column that are not missing (NaN)."""
        X = self._validate(X)
        w, there = as_weights(X, w), ~np.isnan(X)
        return ColumnStatistics(
            tuple(
                d.statistic(X[there[:, j]][:, [j]], w[there[:, j]])
                for j, d in enumerate(self.columns)
            )
        )

    def fit_statistic(self, statistic: ColumnStatistics) -> Independent:
        pairs = zip(self.columns, statistic.parts, strict=True)
        return Independent(tuple(d.fit_statistic(part) for d, part in pairs))

    def cdf(self, X: Any) -> np.ndarray:
        """Joint distribution function at each row, (n_rows,)."""
        X = self._validate(X)
        return np.prod([d.cdf(X[:, [j]]) for j, d in enumerate(self.columns)], axis=0)

    @property
    def mean(self) -> np.ndarray:
        return np.concatenate([np.ravel(d.mean) for d in self.columns])

    @property
    def variance(self) -> np.ndarray:
        return np.concatenate([np.ravel(d.variance) for d in self.columns])

    @property
    def n_parameters(self) -> int:
        """Number of free parameters that a fit estimates, for AIC and BIC."""
        return sum(d.n_parameters for d in self.columns)

    def _validate(self, X: Any) -> np.ndarray:
        X = as_rows(X)
        if len(self.columns) != X.shape[1]:
            raise ValueError(f"{len(self.columns)} densities for {X.shape[1]} columns")
        return X
