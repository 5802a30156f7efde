"""Uniform distributions: on an interval, or on a range of whole numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tenfold.distributions.base import (
    ColumnwiseDistribution,
    is_integer_between,
    scalar_if_single,
)


class ColumnExtremes(NamedTuple):
    """Smallest and largest entry of each column, over rows of positive weight."""

    n: Any
    low: np.ndarray
    high: np.ndarray

    def merge(self, other: ColumnExtremes) -> ColumnExtremes:
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        return ColumnExtremes(self.n + other.n, low, high)


def _column_extremes(X: np.ndarray, w: np.ndarray) -> ColumnExtremes:
    """Extremes of rows."""
    X = X[w > 0]
    return ColumnExtremes(
        float(w.sum()), X.min(axis=0, initial=np.inf), X.max(axis=0, initial=-np.inf)
    )


def _ends(s: ColumnExtremes, default: Any) -> tuple[Any, Any]:
    """The extremes; the ends of the default in columns without any observed entry."""
    low = np.where(np.asarray(s.n) > 0, s.low, default.low)
    high = np.where(np.asarray(s.n) > 0, s.high, default.high)
    return scalar_if_single(low), scalar_if_single(high)


@dataclass(frozen=True)
class Uniform(ColumnwiseDistribution):
    """Uniform distribution from low to high; a fit takes the extremes of the data.

    Parameters
    ----------
    low, high : float or (n_columns,) arrays
        Ends. Where they are equal there is no density.

    Examples
    --------
    >>> Uniform().fit([2.0, 3.0, 6.0])
    Uniform(low=2.0, high=6.0)
    >>> Uniform(2.0, 6.0).log_density([1.0, 2.0]).round(4).tolist()
    [-inf, -1.3863]
    """

    fitted_parameters = ("low", "high")
    low: Any = 0.0
    high: Any = 1.0

    def log_density_entries(self, X: np.ndarray) -> np.ndarray:
        width = np.subtract(self.high, self.low)
        if not np.all(width > 0):
            raise ValueError(f"no density between {self.low} and {self.high}: the data do not vary")
        inside = np.greater_equal(X, self.low) & np.less_equal(X, self.high)
        return np.where(inside, -np.log(width), -np.inf)

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return rng.uniform(self.low, self.high, (n, np.size(np.subtract(self.high, self.low))))

    def statistic(self, X: Any, w: Any = None) -> ColumnExtremes:
        return _column_extremes(*self.check_rows(X, w))

    def fit_statistic(self, statistic: ColumnExtremes) -> Uniform:
        if not np.any(statistic.n > 0):
            return self
        return Uniform(*_ends(statistic, self))

    def to_scipy(self) -> Any:
        from scipy.stats import uniform

        return uniform(self.low, np.subtract(self.high, self.low))

    @property
    def mean(self) -> Any:
        return np.add(self.low, self.high) / 2

    @property
    def variance(self) -> Any:
        return np.subtract(self.high, self.low) ** 2 / 12


@dataclass(frozen=True)
class DiscreteUniform(ColumnwiseDistribution):
    """Uniform distribution on the integers from low to high.

    Parameters
    ----------
    low, high : int or (n_columns,) arrays
        Ends; both are included.

    Examples
    --------
    >>> die = DiscreteUniform(1, 6)
    >>> float(np.exp(die.log_density([3])[0]).round(4)), float(die.mean), float(die.variance)
    (0.1667, 3.5, 2.9166666666666665)
    """

    support = "integers"
    fitted_parameters = ("low", "high")
    low: Any = 0
    high: Any = 1

    def in_support(self, X: np.ndarray) -> np.ndarray:
        return is_integer_between(X, -np.inf)

    def log_density_entries(self, X: np.ndarray) -> np.ndarray:
        return np.where(is_integer_between(X, self.low, self.high), -np.log(self._count), -np.inf)

    @property
    def _count(self) -> np.ndarray:
        return np.subtract(self.high, self.low) + 1.0

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        low, high = np.asarray(self.low, np.int64), np.asarray(self.high, np.int64)
        p = np.size(low + high)
        return rng.integers(low, high, (n, p), endpoint=True).astype(np.float64)

    def statistic(self, X: Any, w: Any = None) -> ColumnExtremes:
        return _column_extremes(*self.check_rows(X, w))

    def fit_statistic(self, statistic: ColumnExtremes) -> DiscreteUniform:
        if not np.any(statistic.n > 0):
            return self
        return DiscreteUniform(*_ends(statistic, self))

    def to_scipy(self) -> Any:
        from scipy.stats import randint

        return randint(self.low, np.add(self.high, 1))

    @property
    def mean(self) -> Any:
        return np.add(self.low, self.high) / 2

    @property
    def variance(self) -> Any:
        return (self._count**2 - 1) / 12
