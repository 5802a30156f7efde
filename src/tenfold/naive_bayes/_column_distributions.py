r"""Class-conditional distributions of single columns: statistics and log-likelihoods.

.. math:: \log \pi_c + \sum_j \log p_j(x_j \mid c)

NaN is a missing value: statistics leave it out, and a prediction omits its term, which is the exact
marginal under independence. Shapes use k classes and p features.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from tenfold.base.bayes_rule import check_no_infinity, safe_log
from tenfold.engine.chunk import Chunk
from tenfold.stats.class_moments import expand_to_classes
from tenfold.stats.missing_values import ObservedMoments


def check_finite_moments(s: ObservedMoments) -> None:
    """Raise an error that names a column with an infinite value."""
    infinite = ~np.isfinite(s.mean).all(axis=0)
    if infinite.any():
        raise ValueError(
            "Input X contains infinity, or numbers too large for a sum: column "
            f"{np.argmax(infinite)}. Write NaN where a value is missing."
        )


_MAX_CATEGORIES = 2**20  # of a column; more of them are a measurement or an identifier


class CategoryCounts(NamedTuple):
    """Counts of categories, one column after the other.

    Attributes
    ----------
    n : (k,) weight of each class
    sizes : (p,) categories of each column
    counts : (k, sum of sizes) weight of each category in each class
    """

    n: np.ndarray
    sizes: np.ndarray
    counts: np.ndarray

    def merge(self, other: CategoryCounts) -> CategoryCounts:
        sizes = np.maximum(self.sizes, other.sizes)
        counts = self.pad_to(sizes).counts + other.pad_to(sizes).counts
        return CategoryCounts(self.n + other.n, sizes, counts)

    def pad_to(self, sizes: np.ndarray) -> CategoryCounts:
        """The same counts with zeros for more categories."""
        if np.array_equal(sizes, self.sizes):
            return self
        counts = np.zeros((len(self.n), sizes.sum()))
        for old, new in zip(self.tables(), split_tables(counts, sizes), strict=True):
            new[:, : old.shape[1]] = old
        return CategoryCounts(self.n, sizes, counts)

    def expand_to_classes(self, positions: np.ndarray, k: int) -> CategoryCounts:
        """The same statistic among k classes, of which these are at `positions`."""
        return CategoryCounts(
            expand_to_classes(self.n, positions, k),
            self.sizes,
            expand_to_classes(self.counts, positions, k),
        )

    def tables(self) -> list[np.ndarray]:
        """The counts of each column, (k, m)."""
        return split_tables(self.counts, self.sizes)

    def log_probabilities(self, alpha: float) -> list[np.ndarray]:
        """Log of the smoothed relative frequencies of each column, (k, m)."""
        logs = []
        for table in self.tables():
            total = table.sum(axis=1, keepdims=True) + alpha * table.shape[1]
            logs.append(safe_log(table + alpha) - np.log(np.where(total > 0, total, 1)))
        return logs


def split_tables(tables: np.ndarray, sizes: np.ndarray) -> list[np.ndarray]:
    """The table (k, m) of each column, as views of the tables side by side."""
    return np.split(tables, np.cumsum(sizes)[:-1], axis=1) if len(sizes) else []


def category_sizes(sizes: np.ndarray, min_categories: Any) -> np.ndarray:
    """Number of categories of each column, at least `min_categories`."""
    if min_categories is None:
        return sizes
    least = np.asarray(min_categories)
    if not np.issubdtype(least.dtype, np.signedinteger):
        raise ValueError(f"'min_categories' should have integral type. Got {least.dtype} instead.")
    if least.ndim > 0 and least.shape != sizes.shape:
        raise ValueError(
            f"'min_categories' should have shape {sizes.shape} when an array-like is provided. "
            f"Got {least.shape} instead."
        )
    return np.maximum(sizes, least, dtype=np.int64)


def count_categories(chunk: Chunk, k: int, model_name: str) -> CategoryCounts:
    """Weight of each category of each column in each class; numbers are truncated to integers."""
    X = chunk.X
    w = chunk.weights().astype(np.float64)
    low, high = column_extremes(X, w)
    check_category_range(low, high, model_name)
    sizes = high.astype(np.int64) + 1
    start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    n, counts = _accumulate_counts(X, chunk.y, w, k, start)
    return CategoryCounts(n, sizes, counts)


def check_category_range(low: np.ndarray, high: np.ndarray, model_name: str) -> None:
    """Raise an error if columns hold values that are not categories."""
    if (low < 0).any():
        raise ValueError(
            f"Negative values in data passed to {model_name} (input X): column "
            f"{np.argmax(low < 0)}. Categories are 0, 1, ...: number them with "
            "sklearn.preprocessing.OrdinalEncoder."
        )
    if (high >= _MAX_CATEGORIES).any():
        j = int(np.argmax(high >= _MAX_CATEGORIES))
        raise ValueError(
            f"column {j} of the data passed to {model_name} holds {high[j]:g}; categories are 0, "
            f"1, ... below {_MAX_CATEGORIES}: number them with "
            "sklearn.preprocessing.OrdinalEncoder."
        )


@njit(cache=True, nogil=True)
def column_extremes(X, w):  # noqa: ANN001, ANN202  -> (p,), (p,)
    """Smallest and largest value of each column, at most 0 and at least -1.

    NaN and rows of weight zero are ignored.
    """
    n, p = X.shape
    low, high = np.zeros(p), np.full(p, -1.0)
    for i in range(n):
        for j in range(p):
            if w[i] > 0 and not np.isnan(X[i, j]):
                low[j], high[j] = min(low[j], X[i, j]), max(high[j], X[i, j])
    return low, high


@njit(cache=True, nogil=True)
def _accumulate_counts(X, y, w, k, start):  # noqa: ANN001, ANN202  -> (k,), (k, m)
    """Weight of each class, and of each category in it; those of column j begin at start[j]."""
    n, p = X.shape
    weight, counts = np.zeros(k), np.zeros((k, start[-1]))
    for i in range(n):
        weight[y[i]] += w[i]
        for j in range(p):
            if w[i] > 0 and not np.isnan(X[i, j]):
                counts[y[i], start[j] + np.int64(X[i, j])] += w[i]
    return weight, counts


GAUSSIAN, BERNOULLI, POISSON, CATEGORICAL = range(4)


class ColumnDistributions(NamedTuple):
    """The distributions of p columns in k classes.

    Attributes
    ----------
    kind : (p,) code of the distribution
    a, b, c : (p, k) parameters. Gaussian: mean, precision, half the log of precision / 2 pi;
        Bernoulli: log probability of 1 and of 0; Poisson: log rate, rate
    table : (m, k) log probabilities of categories, one column after the other
    start : (p + 1,) where the categories of each column begin in the table
    """

    kind: np.ndarray
    a: np.ndarray
    b: np.ndarray
    c: np.ndarray
    table: np.ndarray
    start: np.ndarray

    def check_shapes(self, p: int, k: int) -> None:
        """Raise an error if these are not p columns in k classes: compiled code does not look."""
        square = {(p, k)} == {self.a.shape, self.b.shape, self.c.shape}
        rows = len(self.kind) == p and len(self.start) == p + 1
        if not (square and rows and self.table.shape == (self.start[-1], k)):
            raise ValueError("the distributions of the classes are not those of the columns of X")

    @classmethod
    def gaussian(cls, mean: np.ndarray, precision: np.ndarray) -> ColumnDistributions:
        """All columns Gaussian; mean and precision are (p, k)."""
        p, k = mean.shape
        log_factor = 0.5 * np.log(precision / (2 * np.pi))
        start = np.zeros(p + 1, np.int64)
        return cls(np.full(p, GAUSSIAN), mean, precision, log_factor, np.empty((0, k)), start)

    @classmethod
    def categorical(cls, tables: list[np.ndarray]) -> ColumnDistributions:
        """All columns categorical; for each the log probabilities (k, m)."""
        p, k = len(tables), len(tables[0])
        start = np.concatenate([[0], np.cumsum([t.shape[1] for t in tables])]).astype(np.int64)
        table = np.concatenate(tables, axis=1).T.astype(np.float64)
        unused = np.empty((p, k))
        return cls(np.full(p, CATEGORICAL), unused, unused, unused, table, start)


def column_log_joint(chunk: Chunk, offset: np.ndarray, columns: ColumnDistributions) -> np.ndarray:
    """Log of prior times density, (n, k), from the log priors `offset` and the columns."""
    check_no_infinity(chunk)
    columns.check_shapes(chunk.X.shape[1], len(offset))
    return _sum_column_log_likelihoods(chunk.X, offset, *columns)


@njit(cache=True, nogil=True)
def _sum_column_log_likelihoods(X, offset, kind, a, b, c, table, start):  # noqa: ANN001, ANN202, C901  -> (n, k)
    """Sum the log-likelihoods of the columns in each class, in float64."""
    n, p = X.shape
    k = len(offset)
    scores = np.empty((n, k), X.dtype)
    row = np.empty(k)
    for i in range(n):
        row[:] = offset
        for j in range(p):
            x = np.float64(X[i, j])
            if np.isnan(x):
                continue
            if kind[j] == GAUSSIAN:
                for m in range(k):
                    row[m] += c[j, m] - 0.5 * b[j, m] * (x - a[j, m]) ** 2
            elif kind[j] == BERNOULLI:
                for m in range(k):
                    row[m] += a[j, m] if x > 0 else b[j, m]
            elif kind[j] == POISSON:
                for m in range(k):
                    row[m] += x * a[j, m] - b[j, m] if x > 0 else -b[j, m]
            elif 0 <= x < start[j + 1] - start[j]:  # an unseen category is omitted
                category = start[j] + np.int64(x)
                for m in range(k):
                    row[m] += table[category, m]
        for m in range(k):
            scores[i, m] = row[m]
    return scores
