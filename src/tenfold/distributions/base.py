"""The protocol of distributions, and base classes with what most of them share.

Rows are (n_rows, n_columns); a vector stands for rows of one column. Parameters are numbers, or
arrays with an entry for each column. Values outside of the support have log-density -inf, and
0 log 0 is 0.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np


class Distribution(Protocol):
    """What mixtures and generative classifiers need of a distribution."""

    def log_density(self, X: Any) -> np.ndarray:
        """Log of the density, or of the probability, of each row, (n_rows,)."""
        ...

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Draw n rows, (n, n_columns)."""
        ...

    def statistic(self, X: Any, w: Any = None) -> Any:
        """The sufficient statistic of weighted rows; statistics of two parts merge."""
        ...

    def fit_statistic(self, statistic: Any) -> Distribution:
        """The maximum-likelihood fit; with a prior, the posterior mode."""
        ...


class WeightedSums(NamedTuple):
    """Weighted sums of rows; two parts merge by addition.

    Attributes
    ----------
    n : total weight; (n_columns,) where entries may be missing
    total : sums, (n_columns,), or (n_sums, n_columns)
    """

    n: Any
    total: np.ndarray

    def merge(self, other: WeightedSums) -> WeightedSums:
        return WeightedSums(self.n + other.n, self.total + other.total)


class FittableDistribution:
    """Base class: fits from rows, and conjugate priors."""

    prior: Any = None
    conjugate_priors: ClassVar[tuple[type, ...]] = ()  # types of conjugate priors
    support: ClassVar[str] = "finite numbers"  # in words, for errors

    def __post_init__(self) -> None:
        """Store parameters that were given as lists as arrays."""
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if isinstance(value, list | tuple):
                object.__setattr__(self, field.name, np.asarray(value))

    def is_conjugate(self, prior: Any) -> bool:
        """Whether a prior is conjugate: its posterior is of the same family."""
        return isinstance(prior, self.conjugate_priors)

    def fit(self, X: Any, w: Any = None) -> Self:
        """The distribution fitted to rows with weights w (1 each by default)."""
        return self.fit_statistic(self.statistic(X, w))

    def statistic(self, X: Any, w: Any = None) -> Any:
        raise NotImplementedError

    def describe_support(self) -> str:
        """The possible values, in words."""
        return self.support

    def in_support(self, X: np.ndarray) -> np.ndarray:
        """Whether entries (n_rows, n_columns), or rows (n_rows,), are possible values."""
        return np.isfinite(X)

    def check_rows(self, X: Any, w: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Rows and weights; an error if a row of positive weight is outside of the support."""
        X = as_rows(X)
        w = as_weights(X, w)
        require_support(self, X, w, self.in_support(X))
        return X, w

    @property
    def n_parameters(self) -> int:
        """Number of free parameters that a fit estimates, for AIC and BIC."""
        raise NotImplementedError

    def fit_statistic(self, statistic: Any) -> Self:
        raise NotImplementedError

    def log_density(self, X: Any) -> np.ndarray:
        raise NotImplementedError

    def posterior(self, statistic: Any) -> Any:
        """The posterior distribution of the parameter."""
        raise NotImplementedError

    def with_parameter(self, parameter: Any) -> Self:
        """The distribution with another value of the parameter that the prior is about."""
        raise NotImplementedError

    def update(self, X: Any, w: Any = None) -> Self:
        """The same distribution with the posterior as its prior: a sequential update."""
        return replace(self, prior=self.posterior(self.statistic(X, w)))  # type: ignore[type-var]

    def log_evidence(self, X: Any, w: Any = None) -> float:
        r"""Log marginal likelihood of the rows: the parameter is integrated out.

        .. math:: \log p(X) = \log p(X \mid \theta) + \log p(\theta) - \log p(\theta \mid X)

        The right side is the same for every parameter; it is computed at the posterior mean (at
        the mode where the mean may not exist).
        """
        X, w = as_rows(X), as_weights(X, w)
        posterior = self.posterior(self.statistic(X, w))
        theta = self._interior_parameter(posterior)
        ratio = self.prior.log_density(as_parameter_row(theta)) - posterior.log_density(
            as_parameter_row(theta)
        )
        weighted = w > 0
        fit = w[weighted] @ self.with_parameter(theta).log_density(X[weighted])
        return float(fit + np.sum(ratio))

    def _interior_parameter(self, posterior: Any) -> Any:
        """A parameter in the support of the posterior."""
        return posterior.mean


class ColumnwiseDistribution(FittableDistribution):
    """Base class of independent columns with a parameter each: log-densities add up."""

    fitted_parameters: ClassVar[tuple[str, ...]] = ()  # names of those that a fit estimates

    @property
    def n_parameters(self) -> int:
        """Number of free parameters that a fit estimates, for AIC and BIC."""
        sizes = [np.size(getattr(self, name)) for name in self.fitted_parameters]
        return len(sizes) * max(sizes)

    def log_density(self, X: Any) -> np.ndarray:
        """Log-density of each row, (n_rows,)."""
        return self.log_density_entries(as_rows(X)).sum(axis=1)

    def log_density_entries(self, X: np.ndarray) -> np.ndarray:
        """Log-density of each entry, (n_rows, n_columns)."""
        raise NotImplementedError

    def statistic(self, X: Any, w: Any = None) -> Any:
        """Weight of the rows and weighted sum of each column."""
        X, w = self.check_rows(X, w)
        return weighted_sums(w, X)

    def observed_log_density(self, X: Any) -> np.ndarray:
        """Log-density of the entries of each row that are not missing (NaN), (n_rows,)."""
        X = as_rows(X)
        return np.where(np.isnan(X), 0.0, self.log_density_entries(X)).sum(axis=1)

    def observed_statistic(self, X: Any, w: Any = None) -> Any:
        """The statistic of the entries that are not missing (NaN), with a weight of each column."""
        X = as_rows(X)
        w, there = as_weights(X, w), ~np.isnan(X)
        parts = [
            self._column(j).statistic(X[there[:, j], j], w[there[:, j]]) for j in range(X.shape[1])
        ]
        n = np.array([part.n for part in parts])
        sums = zip(*(part[1:] for part in parts), strict=True)
        joined = (np.concatenate(arrays, axis=-1) for arrays in sums)
        return type(parts[0])(n, *joined)

    def _column(self, j: int) -> Self:
        """The distribution of one column."""
        own: Any = self
        names = [field.name for field in fields(own) if field.name != "prior"]
        arrays = {name: np.asarray(getattr(self, name)) for name in names}
        return replace(own, **{name: v[j] for name, v in arrays.items() if v.ndim == 1})

    def to_scipy(self) -> Any:
        """The same as a frozen distribution of scipy.stats, for quantiles and higher moments."""
        raise NotImplementedError

    def cdf(self, X: Any) -> np.ndarray:
        """Joint distribution function at each row, (n_rows,)."""
        return self.to_scipy().cdf(as_rows(X)).prod(axis=1)


def as_rows(X: Any) -> np.ndarray:
    """Rows (n_rows, n_columns) in float64; a vector is a column, a number one row of one column."""
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, np.float64)
    return X.reshape(-1, 1) if X.ndim < 2 else X


def as_weights(X: Any, w: Any) -> np.ndarray:
    """Weights of rows, 1 each by default."""
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if w is None:
        return np.ones(n)
    w = np.asarray(w, np.float64)
    if w.shape != (n,) or not ((w >= 0) & (w < np.inf)).all():
        raise ValueError(
            f"weights must be {n} finite numbers that are not negative, one for each row; got the "
            f"shape {w.shape}" + (f", from {w.min()} to {w.max()}" if w.size else "")
        )
    return w


def require_support(density: Any, X: Any, w: np.ndarray, inside: np.ndarray) -> None:
    """Raise an error that names a row of positive weight outside of the support."""
    if inside.all():
        return
    wrong = ~(inside.all(axis=1) if inside.ndim == 2 else inside) & (w > 0)
    if wrong.any():
        row = int(wrong.argmax())
        value = np.array2string(np.asarray(X[row]), threshold=6)
        raise ValueError(
            f"{type(density).__name__} is a distribution of {density.describe_support()}; row "
            f"{row} is {value}. Correct or remove such rows "
            f"({int(wrong.sum())} of {len(w)}), or choose a distribution that allows them"
        )


def as_parameter_row(theta: Any) -> Any:
    """A parameter, number or vector, as a single row; a tuple of parameters unchanged."""
    return theta if isinstance(theta, tuple) else np.atleast_2d(np.asarray(theta, np.float64))


def weighted_sums(w: np.ndarray, *arrays: np.ndarray) -> WeightedSums:
    """Weighted sums of arrays over rows; rows of weight 0 are left out."""
    weighted = w > 0
    totals = [w[weighted] @ array[weighted] for array in arrays]
    return WeightedSums(float(w.sum()), totals[0] if len(totals) == 1 else np.stack(totals))


def column_means(statistic: WeightedSums, default: Any) -> np.ndarray:
    """Sums over weights; the default in columns without any observed entry."""
    n = np.asarray(statistic.n, np.float64)
    return np.where(n > 0, statistic.total / np.where(n > 0, n, 1.0), default)


def takes_missing_values(density: Any) -> bool:
    """Whether a density has a marginal of the observed entries, and learns from them."""
    return hasattr(density, "observed_statistic") and hasattr(density, "observed_log_density")


def draw_rows(density: Any, n: int, rng: np.random.Generator) -> np.ndarray:
    """Rows from a density; an error that says what is missing if it cannot be sampled."""
    if not hasattr(density, "sample"):
        raise TypeError(
            f"{type(density).__name__} cannot be sampled: give it a method sample(n, rng) that "
            "returns n rows"
        )
    return density.sample(n, rng)


def scalar_if_single(values: Any) -> Any:
    """A parameter; that of a single column as a Python float."""
    return float(np.asarray(values).item()) if np.shape(values) in {(), (1,)} else values


def is_integer_between(x: Any, low: Any = 0, high: Any = np.inf) -> np.ndarray:
    """Whether entries are integers from low to high."""
    return (x >= low) & (x <= high) & (x == np.floor(x)) & np.isfinite(x)


def require_conjugate_prior(density: FittableDistribution, kinds: str) -> Any:
    """The prior of a distribution; an error if it is not conjugate."""
    if not density.is_conjugate(density.prior):
        given = type(density.prior).__name__
        raise ValueError(f"{type(density).__name__} needs prior={kinds}, got {given}")
    return density.prior
