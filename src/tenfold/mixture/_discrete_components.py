r"""Components of discrete distributions: log-densities that are linear in the row.

    Bernoulli     sum_j x_j log p_j + (1 - x_j) log (1 - p_j)
    multinomial   sum_j x_j log p_j + log (n! / prod x_j!)
    Poisson       sum_j x_j log r_j - r_j - log x_j!
    categorical   sum_j log p_j(x_j), linear in the indicators of the categories

Weight and sum of the rows of each component are sufficient for all of them.

Shapes use k components, p features and q parameters of each: p, or the number of all categories.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from tenfold.mixture._gaussian import EMPTY_WEIGHT
from tenfold.naive_bayes._column_distributions import split_tables

_MIN_PROBABILITY = (
    1e-10  # no probability is smaller: a single row must not make a component impossible
)


class DiscreteParameters(NamedTuple):
    """Weights (k,) of the components, their probabilities or rates (k, q), mean row sums (k,)."""

    weights: np.ndarray
    rates: np.ndarray
    lengths: np.ndarray


class _DiscreteSums(NamedTuple):
    """Weight (k,) and weighted sum (k, q) of the rows of each component."""

    n: np.ndarray
    sums: np.ndarray


class _DiscreteView(NamedTuple):
    """Rows as counts, binary or one-hot values, dense or CSR, and a term of each row."""

    X: Any
    log_factor: np.ndarray  # (n,) the part of the log-density that no component changes


class DiscreteFamily(NamedTuple):
    """The `MixtureFamily` of discrete components.

    Attributes
    ----------
    kind : "bernoulli", "multinomial", "poisson" or "categorical"
    alpha : added to each count
    sizes : (p,) categories of each column; for other kinds one for each column
    threshold : entries above it are a 1 (Bernoulli); None: they are 0 and 1 already
    model_name : for error messages
    """

    kind: str
    alpha: float
    sizes: np.ndarray
    threshold: float | None
    model_name: str

    def initial_state(self, centers: np.ndarray) -> DiscreteParameters:
        """Components without rows."""
        k, q = len(centers), int(self.sizes.sum())
        return DiscreteParameters(np.full(k, 1 / k), np.full((k, q), 0.5), np.zeros(k))

    def components(self, state: DiscreteParameters) -> DiscreteComponents:
        """Components with these parameters."""
        with np.errstate(divide="ignore"):
            offsets, coefficients = np.log(state.weights), np.log(state.rates)
        if self.kind == "bernoulli":
            # a probability that was saved as float32 may be rounded to 1
            log_zero = np.log1p(-np.minimum(state.rates, 1 - _MIN_PROBABILITY))
            offsets, coefficients = offsets + log_zero.sum(axis=1), coefficients - log_zero
        elif self.kind == "poisson":
            offsets = offsets - state.rates.sum(axis=1)
        return DiscreteComponents(
            offsets, coefficients, self.sizes, self.kind, self.threshold, self.model_name
        )

    def m_step(self, state: DiscreteParameters, statistic: _DiscreteSums) -> DiscreteParameters:
        """Maximum a posteriori parameters for the responsibilities of the E-step."""
        s, n = statistic, statistic.n + EMPTY_WEIGHT
        has_rows = (s.n > EMPTY_WEIGHT)[:, None]
        weight = np.where(has_rows, s.n[:, None], 1.0)
        rates = (s.sums + self.alpha) / self._totals(s.sums, weight)
        rates = np.maximum(rates, _MIN_PROBABILITY)
        rates = np.minimum(rates, 1 - _MIN_PROBABILITY) if self.kind == "bernoulli" else rates
        lengths = np.where(has_rows[:, 0], s.sums.sum(axis=1) / weight[:, 0], state.lengths)
        return DiscreteParameters(n / n.sum(), np.where(has_rows, rates, state.rates), lengths)

    def _totals(self, sums: np.ndarray, n: np.ndarray) -> np.ndarray:
        """Denominators of the counts, (k, q) or (k, 1)."""
        if self.kind == "poisson":
            return n
        if self.kind == "bernoulli":
            return n + 2 * self.alpha
        tables = [sums] if self.kind == "multinomial" else split_tables(sums, self.sizes)
        totals = [(t + self.alpha).sum(axis=1, keepdims=True) + 0 * t for t in tables]
        total = np.hstack(totals)
        return np.where(total > 0, total, 1.0)

    def log_prior(self, state: DiscreteParameters) -> float:
        """Log density of the prior that adds `alpha` to each count, up to a constant."""
        if self.alpha == 0.0:
            return 0.0
        log_zero = np.log1p(-state.rates).sum() if self.kind == "bernoulli" else 0.0
        return self.alpha * float(np.log(state.rates).sum() + log_zero)


class DiscreteComponents(NamedTuple):
    """Components with log-densities that are linear in the row."""

    offsets: np.ndarray  # (k,)
    coefficients: np.ndarray  # (k, q)
    sizes: np.ndarray  # (p,)
    kind: str
    threshold: float | None
    model_name: str

    @property
    def values_per_row(self) -> int:
        return len(self.offsets) + 2 * len(self.sizes)

    def prepare(self, X: Any) -> _DiscreteView:
        dense = isinstance(X, np.ndarray)
        X = X.astype(np.float64)
        zeros = np.zeros(X.shape[0])
        entries = X if dense else X.data
        if self.kind == "bernoulli":
            return _DiscreteView(_binarize(X, entries, self.threshold), zeros)
        if entries.size and entries.min() < 0:
            raise ValueError(f"Negative values in data passed to {self.model_name} (input X)")
        if self.kind == "categorical":
            return _DiscreteView(_one_hot_categories(X, self.sizes), zeros)
        log_factorials = X.copy()
        (log_factorials if dense else log_factorials.data)[:] = gammaln(entries + 1.0)
        log_factor = -np.asarray(log_factorials.sum(axis=1)).ravel()
        if self.kind == "multinomial":
            log_factor += gammaln(np.asarray(X.sum(axis=1)).ravel() + 1.0)
        return _DiscreteView(X, log_factor)

    def log_joint(self, view: _DiscreteView) -> np.ndarray:
        dense = isinstance(view.X, np.ndarray)
        scores = self.coefficients @ view.X.T if dense else (view.X @ self.coefficients.T).T.copy()
        scores += self.offsets[:, None]
        scores += view.log_factor
        return scores

    def statistic(self, view: _DiscreteView, R: np.ndarray) -> _DiscreteSums:
        dense = isinstance(view.X, np.ndarray)
        return _DiscreteSums(R.sum(axis=1), R @ view.X if dense else (view.X.T @ R.T).T.copy())


def _binarize(X: Any, entries: np.ndarray, threshold: float | None) -> Any:
    """Entries as 0 and 1; without a threshold they have to be."""
    if threshold is None:
        if ((entries != 0) & (entries != 1)).any():
            raise ValueError("X holds other values than 0 and 1: set binarize to a threshold")
        return X
    if isinstance(X, np.ndarray):
        return (threshold < X).astype(np.float64)
    binary = X.copy()
    binary.data = (entries > threshold).astype(np.float64)
    return binary


def _one_hot_categories(X: np.ndarray, sizes: np.ndarray) -> Any:
    """One-hot rows of all columns, CSR; zeros for a category that the fit has not seen."""
    from scipy.sparse import csr_array

    starts = np.concatenate([[0], np.cumsum(sizes)])
    codes = X.astype(np.int64)
    known = (codes < sizes).astype(np.float64).ravel()
    columns = (starts[:-1] + np.minimum(codes, sizes - 1)).ravel()
    indptr = np.arange(len(X) + 1) * X.shape[1]
    return csr_array((known, columns, indptr), shape=(len(X), starts[-1]))
