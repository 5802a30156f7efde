r"""Components of discrete distributions: log-densities that are linear in the row.

    Bernoulli     sum_j x_j log p_j + (1 - x_j) log (1 - p_j)
    multinomial   sum_j x_j log p_j + log (n! / prod x_j!)
    Poisson       sum_j x_j log r_j - r_j - log x_j!
    categorical   sum_j log p_j(x_j), linear in the indicators of the categories

Weight and sum of the rows of each component are sufficient for all of them. NaN is a missing entry:
its term is left out, and the M-step divides by the weight of the observed entries. Counts of a
multinomial share a total; given that of the observed columns O they are multinomial with the
probabilities p_j / sum_O p, and EM fills in the expected counts n_O p_j / sum_O p of the missing
columns.

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

    def merge(self, other: _DiscreteSums | _ObservedSums) -> _DiscreteSums | _ObservedSums:
        if isinstance(other, _ObservedSums):
            observed = np.repeat(self.n[:, None], self.sums.shape[1], axis=1)
            return _ObservedSums(self.n, observed, self.sums).merge(other)
        return _DiscreteSums(self.n + other.n, self.sums + other.sums)

    def exposure(self, weight: np.ndarray) -> np.ndarray:
        """Weight of the observed entries, (k, 1): that of the rows, 1 for empty components."""
        return weight


class _ObservedSums(NamedTuple):
    """The same, and the weight (k, q) of the entries that are not missing."""

    n: np.ndarray
    observed: np.ndarray
    sums: np.ndarray

    def merge(self, other: _DiscreteSums | _ObservedSums) -> _ObservedSums:
        observed = other.observed if isinstance(other, _ObservedSums) else other.n[:, None]
        return _ObservedSums(self.n + other.n, self.observed + observed, self.sums + other.sums)

    def exposure(self, weight: np.ndarray) -> np.ndarray:
        """Weight of the observed entries, (k, q); 1 for empty components and columns."""
        return np.where(self.observed > EMPTY_WEIGHT, self.observed, 1.0)


class _DiscreteView(NamedTuple):
    """Rows as counts, binary or one-hot values, dense or CSR, and a term of each row."""

    X: Any  # 0 where an entry is missing
    log_factor: np.ndarray  # (n,) the part of the log-density that no component changes
    missing: np.ndarray | None = None  # (n, q), 1.0 where an entry is missing


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
        constants = np.zeros((0, 0))
        if self.kind == "bernoulli":
            # a probability that was saved as float32 may be rounded to 1
            constants = np.log1p(-np.minimum(state.rates, 1 - _MIN_PROBABILITY))
            offsets, coefficients = offsets + constants.sum(axis=1), coefficients - constants
        elif self.kind == "poisson":
            constants = -state.rates
            offsets = offsets - state.rates.sum(axis=1)
        settings = self.sizes, self.kind, self.threshold, self.model_name
        return DiscreteComponents(offsets, coefficients, constants, *settings)

    def m_step(
        self, state: DiscreteParameters, statistic: _DiscreteSums | _ObservedSums
    ) -> DiscreteParameters:
        """Maximum a posteriori parameters for the responsibilities of the E-step."""
        s, n = statistic, statistic.n + EMPTY_WEIGHT
        has_rows = (s.n > EMPTY_WEIGHT)[:, None]
        weight = np.where(has_rows, s.n[:, None], 1.0)
        rates = (s.sums + self.alpha) / self._totals(s.sums, s.exposure(weight))
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
    constants: np.ndarray  # (k, q), the part of the offsets of each column, or none
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
        X, missing = self._fill_missing(X) if dense else (X, None)
        entries = X if dense else X.data
        zeros = np.zeros(X.shape[0])
        if not np.isfinite(entries.sum()):
            raise ValueError(
                f"Input X passed to {self.model_name} contains infinity, or NaN in sparse rows"
            )
        if self.kind == "bernoulli":
            binary = _binarize(X, entries, self.threshold)
            if missing is not None:
                binary = np.where(missing > 0, 0.0, binary)
            return _DiscreteView(binary, zeros, missing)
        if entries.size and entries.min() < 0:
            raise ValueError(f"Negative values in data passed to {self.model_name} (input X)")
        if self.kind == "categorical":
            return _DiscreteView(_one_hot_categories(X, self.sizes, missing), zeros)
        log_factorials = X.copy()
        (log_factorials if dense else log_factorials.data)[:] = gammaln(entries + 1.0)
        log_factor = -np.asarray(log_factorials.sum(axis=1)).ravel()
        if self.kind == "multinomial":
            log_factor += gammaln(np.asarray(X.sum(axis=1)).ravel() + 1.0)
        return _DiscreteView(X, log_factor, missing)

    def _fill_missing(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Rows with 0 for missing entries, and where these are; None if there are none."""
        if not np.isnan(X.sum()):
            return X, None
        missing = np.isnan(X)
        return np.where(missing, 0.0, X), missing.astype(np.float64)

    def log_joint(self, view: _DiscreteView) -> np.ndarray:
        dense = isinstance(view.X, np.ndarray)
        scores = self.coefficients @ view.X.T if dense else (view.X @ self.coefficients.T).T.copy()
        scores += self.offsets[:, None]
        scores += view.log_factor
        if view.missing is not None:
            if self.kind == "multinomial":
                scores -= view.X.sum(axis=1) * np.log(self._observed_share(view.missing))
            else:
                scores -= self.constants @ view.missing.T
        return scores

    def _observed_share(self, missing: np.ndarray) -> np.ndarray:
        """Probability of the observed columns in each component, (k, n); 1 if there are none."""
        share = np.exp(self.coefficients) @ (1.0 - missing).T
        return np.where(share > 0, share, 1.0)

    def statistic(self, view: _DiscreteView, R: np.ndarray) -> _DiscreteSums | _ObservedSums:
        dense = isinstance(view.X, np.ndarray)
        sums = R @ view.X if dense else (view.X.T @ R.T).T.copy()
        n = R.sum(axis=1)
        if view.missing is None:
            return _DiscreteSums(n, sums)
        if self.kind == "multinomial":  # expected counts of the missing columns
            per_unit = R * view.X.sum(axis=1) / self._observed_share(view.missing)
            return _DiscreteSums(n, sums + np.exp(self.coefficients) * (per_unit @ view.missing))
        return _ObservedSums(n, R @ (1.0 - view.missing), sums)


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


def _one_hot_categories(X: np.ndarray, sizes: np.ndarray, missing: np.ndarray | None) -> Any:
    """One-hot rows of all columns, CSR; zeros for categories that are missing or unseen."""
    from scipy.sparse import csr_array

    starts = np.concatenate([[0], np.cumsum(sizes)])
    codes = X.astype(np.int64)
    known = (codes < sizes).astype(np.float64).ravel()
    if missing is not None:
        known *= 1.0 - missing.ravel()
    columns = (starts[:-1] + np.minimum(codes, sizes - 1)).ravel()
    indptr = np.arange(len(X) + 1) * X.shape[1]
    return csr_array((known, columns, indptr), shape=(len(X), starts[-1]))
