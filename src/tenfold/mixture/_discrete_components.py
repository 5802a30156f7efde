r"""Components for flips, counts and categories: scores that are linear in the row.

    Bernoulli     sum_j x_j log p_j + (1 - x_j) log (1 - p_j)
    multinomial   sum_j x_j log p_j + log (n! / prod x_j!)
    Poisson       sum_j x_j log r_j - r_j - log x_j!
    categorical   sum_j log p_j(x_j), linear in the indicators of the categories

Weights and sums of the rows of each component suffice for all of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

_MIN_PROBABILITY = (
    1e-10  # no probability is smaller: a single row must not make a component impossible
)
_EMPTY_WEIGHT = 10 * np.finfo(np.float64).eps  # weight of a component that has lost its rows


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
    """Rows as counts, flips or indicators, dense or CSR, and what each adds to all scores."""

    X: Any
    base: np.ndarray


class DiscreteFamily(NamedTuple):
    """How components of counts learn.

    Attributes
    ----------
    kind : "bernoulli", "multinomial", "poisson" or "categorical"
    alpha : added to each count
    sizes : (p,) categories of each column; for other kinds one for each column
    threshold : entries above it are a 1 (Bernoulli); None: they are 0 and 1 already
    who : name of the model, for messages
    """

    kind: str
    alpha: float
    sizes: np.ndarray
    threshold: float | None
    who: str

    def initial_state(self, centres: np.ndarray) -> DiscreteParameters:
        """Components that have learned nothing."""
        k, q = len(centres), int(self.sizes.sum())
        return DiscreteParameters(np.full(k, 1 / k), np.full((k, q), 0.5), np.zeros(k))

    def components(self, g: DiscreteParameters) -> DiscreteComponents:
        """What leaves need."""
        with np.errstate(divide="ignore"):
            offsets, logs = np.log(g.weights), np.log(g.rates)
        if self.kind == "bernoulli":
            misses = np.log1p(-np.minimum(g.rates, 1 - _MIN_PROBABILITY))  # float32 rounds it to 1
            offsets, logs = offsets + misses.sum(axis=1), logs - misses
        elif self.kind == "poisson":
            offsets = offsets - g.rates.sum(axis=1)
        return DiscreteComponents(offsets, logs, self.sizes, self.kind, self.threshold, self.who)

    def m_step(self, g: DiscreteParameters, s: _DiscreteSums) -> DiscreteParameters:
        """The most probable components of the rows as they were given to them."""
        n, alive = s.n + _EMPTY_WEIGHT, (s.n > _EMPTY_WEIGHT)[:, None]
        there = np.where(alive, s.n[:, None], 1.0)
        rates = (s.sums + self.alpha) / self._wholes(s.sums, there)
        rates = np.maximum(rates, _MIN_PROBABILITY)
        rates = np.minimum(rates, 1 - _MIN_PROBABILITY) if self.kind == "bernoulli" else rates
        lengths = np.where(alive[:, 0], s.sums.sum(axis=1) / there[:, 0], g.lengths)
        return DiscreteParameters(n / n.sum(), np.where(alive, rates, g.rates), lengths)

    def _wholes(self, sums: np.ndarray, n: np.ndarray) -> np.ndarray:
        """What the counts are shares of, (k, q) or (k, 1)."""
        if self.kind == "poisson":
            return n
        if self.kind == "bernoulli":
            return n + 2 * self.alpha
        tables = [sums] if self.kind == "multinomial" else split_tables(sums, self.sizes)
        totals = [(t + self.alpha).sum(axis=1, keepdims=True) + 0 * t for t in tables]
        wholes = np.hstack(totals)
        return np.where(wholes > 0, wholes, 1.0)

    def log_prior(self, g: DiscreteParameters) -> float:
        """Log density of the prior that adds `alpha` to each count, but for a constant."""
        if self.alpha == 0.0:
            return 0.0
        misses = np.log1p(-g.rates).sum() if self.kind == "bernoulli" else 0.0
        return self.alpha * float(np.log(g.rates).sum() + misses)


class DiscreteComponents(NamedTuple):
    """Components with scores that are linear in the row."""

    offsets: np.ndarray  # (k,)
    slopes: np.ndarray  # (k, q)
    sizes: np.ndarray  # (p,)
    kind: str
    threshold: float | None
    who: str

    @property
    def numbers(self) -> int:
        return len(self.offsets) + 2 * len(self.sizes)

    def view(self, X: Any) -> _DiscreteView:
        dense = isinstance(X, np.ndarray)
        X = X.astype(np.float64)
        none = np.zeros(X.shape[0])
        entries = X if dense else X.data
        if self.kind == "bernoulli":
            return _DiscreteView(_binarize(X, entries, self.threshold), none)
        if entries.size and entries.min() < 0:
            raise ValueError(f"Negative values in data passed to {self.who} (input X)")
        if self.kind == "categorical":
            return _DiscreteView(_one_hot_categories(X, self.sizes), none)
        ways = X.copy()
        (ways if dense else ways.data)[:] = gammaln(entries + 1.0)
        base = -np.asarray(ways.sum(axis=1)).ravel()
        if self.kind == "multinomial":
            base += gammaln(np.asarray(X.sum(axis=1)).ravel() + 1.0)
        return _DiscreteView(X, base)

    def scores(self, view: _DiscreteView) -> np.ndarray:
        dense = isinstance(view.X, np.ndarray)
        scores = self.slopes @ view.X.T if dense else (view.X @ self.slopes.T).T.copy()
        scores += self.offsets[:, None]
        scores += view.base
        return scores

    def statistic(self, view: _DiscreteView, R: np.ndarray) -> _DiscreteSums:
        dense = isinstance(view.X, np.ndarray)
        return _DiscreteSums(R.sum(axis=1), R @ view.X if dense else (view.X.T @ R.T).T.copy())


def _binarize(X: Any, entries: np.ndarray, threshold: float | None) -> Any:
    """Entries as 0 and 1."""
    if threshold is None:
        if ((entries != 0) & (entries != 1)).any():
            raise ValueError("X holds other numbers than 0 and 1: set binarize to a threshold")
        return X
    if isinstance(X, np.ndarray):
        return (threshold < X).astype(np.float64)
    flipped = X.copy()
    flipped.data = (entries > threshold).astype(np.float64)
    return flipped


def _one_hot_categories(X: np.ndarray, sizes: np.ndarray) -> Any:
    """A 1 for the category of each column; none for one that the fit has not seen."""
    from scipy.sparse import csr_array

    starts = np.concatenate([[0], np.cumsum(sizes)])
    codes = X.astype(np.int64)
    seen = (codes < sizes).astype(np.float64).ravel()
    places = (starts[:-1] + np.minimum(codes, sizes - 1)).ravel()
    rows = np.arange(len(X) + 1) * X.shape[1]
    return csr_array((seen, places, rows), shape=(len(X), starts[-1]))


def split_tables(flat: np.ndarray, sizes: np.ndarray) -> list[np.ndarray]:
    """The columns (k, m) of each table."""
    return np.split(flat, np.cumsum(sizes)[:-1], axis=1)
