r"""Counts with missing entries: their statistic, and scores of rows that have any.

Independent columns (Bernoulli, Poisson): the likelihood of the observed entries is a product over
them, so that a missing one is left out of the sums and of the score.

Multinomial columns share a total, so that a missing count is not a zero. Given the total of the
observed columns O, their counts are multinomial with the probabilities :math:`\tau_{cj} / \sum_{j'
\in O} \tau_{cj'}`: a row is scored as if its missing columns did not exist. The estimate counts on
as many rows as the class has, :math:`N_{cj} n_c / n_{cj}`, where :math:`n_{cj}` rows of the
class have an entry in column j. This is the maximum-likelihood estimate for Poisson counts, whose
distribution given their total is the multinomial; without missing entries it is
:math:`N_{cj}`. Shapes use k classes and p features.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numba import njit

from tenfold.engine.chunk import Chunk
from tenfold.stats.class_moments import expand_to_classes

_BLOCK_ENTRIES = 2**22  # of rows with missing entries that are dense at a time


class ClassCounts(NamedTuple):
    """Sums of the rows of each of k classes, without missing entries.

    Attributes
    ----------
    n : (k,) weight of each class
    sums : (k, p) weighted sum of its rows
    """

    n: np.ndarray
    sums: np.ndarray

    def merge(self, other: ClassCounts | ObservedCounts) -> ClassCounts | ObservedCounts:
        if isinstance(other, ObservedCounts):
            return ObservedCounts(self.n, self.exposure, self.sums).merge(other)
        return ClassCounts(self.n + other.n, self.sums + other.sums)

    def expand_to_classes(self, positions: np.ndarray, k: int) -> ClassCounts:
        """The same statistic among k classes, of which these are at `positions`."""
        return ClassCounts(*(expand_to_classes(part, positions, k) for part in self))

    @property
    def exposure(self) -> np.ndarray:
        """Weight of the observed entries of each column, (k, 1): that of the class."""
        return self.n[:, None]

    @property
    def scaled_sums(self) -> np.ndarray:
        """Sums if all entries were observed, (k, p)."""
        return self.sums


class ObservedCounts(NamedTuple):
    """Sums of the observed entries of each of k classes.

    Attributes
    ----------
    n : (k,) weight of each class
    observed : (k, p) weight of its entries that are not missing
    sums : (k, p) their weighted sums
    """

    n: np.ndarray
    observed: np.ndarray
    sums: np.ndarray

    def merge(self, other: ClassCounts | ObservedCounts) -> ObservedCounts:
        n, sums = self.n + other.n, self.sums + other.sums
        return ObservedCounts(n, self.observed + other.exposure, sums)

    def expand_to_classes(self, positions: np.ndarray, k: int) -> ObservedCounts:
        """The same statistic among k classes, of which these are at `positions`."""
        return ObservedCounts(*(expand_to_classes(part, positions, k) for part in self))

    @property
    def exposure(self) -> np.ndarray:
        """Weight of the observed entries of each column, (k, p)."""
        return self.observed

    @property
    def scaled_sums(self) -> np.ndarray:
        """Sums if all entries were observed, (k, p).

        A class without entries of a column gets the mean entry of all classes.
        """
        total = self.observed.sum(axis=0)
        mean = self.sums.sum(axis=0) / np.where(total > 0, total, 1)
        empty = self.observed == 0
        factor = self.n[:, None] / np.where(empty, 1, self.observed)
        return np.where(empty, self.n[:, None] * mean, self.sums * factor)


def observed_class_totals(chunk: Chunk, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weight of each class (k,), of its observed entries (k, p), and their sums (k, p)."""
    X, w = chunk.X, chunk.weights().astype(np.float64)
    if isinstance(X, np.ndarray):
        return _dense_totals(X, chunk.y, w, k)
    n, missing, sums = _sparse_totals(X.data, X.indices, X.indptr, chunk.y, w, k, X.shape[1])
    return n, n[:, None] - missing, sums


@njit(cache=True, nogil=True)
def _dense_totals(X, y, w, k):  # noqa: ANN001, ANN202  -> (k,), (k, p), (k, p)
    """Weights of classes and of their entries that are not NaN, and the sums of these."""
    n, p = X.shape
    weight, observed, sums = np.zeros(k), np.zeros((k, p)), np.zeros((k, p))
    for i in range(n):
        c = y[i]
        weight[c] += w[i]
        for j in range(p):
            if not np.isnan(X[i, j]):
                observed[c, j] += w[i]
                sums[c, j] += w[i] * X[i, j]
    return weight, observed, sums


@njit(cache=True, nogil=True)
def _sparse_totals(data, indices, indptr, y, w, k, p):  # noqa: ANN001, ANN202
    """Weights of classes and of their stored NaN, and the sums of other entries."""
    weight, missing, sums = np.zeros(k), np.zeros((k, p)), np.zeros((k, p))
    for i in range(len(y)):
        c = y[i]
        weight[c] += w[i]
        for at in range(indptr[i], indptr[i + 1]):
            if np.isnan(data[at]):
                missing[c, indices[at]] += w[i]
            else:
                sums[c, indices[at]] += w[i] * data[at]
    return weight, missing, sums


class Marginal(Protocol):
    """How missing entries change the linear score of a row."""

    def log_joint(
        self, X: np.ndarray, observed: np.ndarray, W: np.ndarray, possible: np.ndarray
    ) -> np.ndarray:
        """Scores (n, k) less the offsets of complete rows.

        X has 0 and `observed` has 0 for missing entries; W (p, k) are the slopes, 0 where an
        entry is not `possible`.
        """
        ...


class PoissonMarginal(NamedTuple):
    """Independent columns: the rate of a missing one is taken out of the offset."""

    rates: np.ndarray  # (p, k)

    def log_joint(
        self, X: np.ndarray, observed: np.ndarray, W: np.ndarray, possible: np.ndarray
    ) -> np.ndarray:
        return X @ W + (1.0 - observed) @ self.rates


class BernoulliMarginal(NamedTuple):
    """Independent columns: the log of the probability of zero is taken out of the offset."""

    log_one: np.ndarray  # (p, k)

    def log_joint(
        self, X: np.ndarray, observed: np.ndarray, W: np.ndarray, possible: np.ndarray
    ) -> np.ndarray:
        finite = np.isfinite(self.log_one)
        log_zero = np.where(finite, self.log_one, 0.0) - np.where(finite, W, 0.0)
        return X @ W - (1.0 - observed) @ log_zero


class SharedTotalMarginal(NamedTuple):
    """Multinomial columns: the probabilities of the observed ones are divided by their sum.

    Attributes
    ----------
    sign : 1 if slopes are logarithms of probabilities, -1 if they are minus logarithms (the
        complement rule)
    """

    sign: int

    def log_joint(
        self, X: np.ndarray, observed: np.ndarray, W: np.ndarray, possible: np.ndarray
    ) -> np.ndarray:
        n, share = X.sum(axis=1, keepdims=True), observed @ (possible * np.exp(self.sign * W))
        return X @ W - self.sign * np.where(n > 0, n * finite_log(share), 0.0)


class NormalizedComplementMarginal(NamedTuple):
    """The complement rule with weights that are divided by their sum over the observed columns."""

    logs: np.ndarray  # (p, k), logarithms of the shares of the complements

    def log_joint(
        self, X: np.ndarray, observed: np.ndarray, W: np.ndarray, possible: np.ndarray
    ) -> np.ndarray:
        log_share = finite_log(observed @ np.exp(self.logs))
        score = X @ self.logs - X.sum(axis=1, keepdims=True) * log_share
        total = observed @ self.logs - observed.sum(axis=1, keepdims=True) * log_share
        return score / np.where(total == 0, 1.0, total)


def finite_log(p: np.ndarray) -> np.ndarray:
    """Logarithm; 0 of zero."""
    return np.log(np.where(p > 0, p, 1.0))


def score_incomplete_rows(
    X: Any,
    scores: np.ndarray,
    marginal: Marginal,
    W: np.ndarray,
    b: np.ndarray,
    forbidden: np.ndarray | None,
) -> None:
    """Write the scores of rows with missing entries into `scores`, (n, k)."""
    possible = np.ones_like(W) if forbidden is None else (forbidden <= 0).astype(W.dtype)
    rows = _incomplete_rows(X)
    size = max(_BLOCK_ENTRIES // max(X.shape[1], 1), 1)
    for start in range(0, len(rows), size):
        block = rows[start : start + size]
        part = np.take(X, block, axis=0) if isinstance(X, np.ndarray) else X[block].toarray()
        observed = (~np.isnan(part)).astype(np.float64)
        part = np.where(observed > 0, part, 0.0).astype(np.float64)
        values = b + marginal.log_joint(part, observed, W, possible)
        if forbidden is not None:
            values[part @ forbidden + observed @ (forbidden < 0) > 0] = -np.inf
        scores[block] = values


def _incomplete_rows(X: Any) -> np.ndarray:
    """Numbers of the rows with a missing entry."""
    if isinstance(X, np.ndarray):
        return np.flatnonzero(np.isnan(X.sum(axis=1)))
    return np.unique(np.searchsorted(X.indptr, np.flatnonzero(np.isnan(X.data)), "right") - 1)
