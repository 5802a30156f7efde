"""How often each category of each column occurs in each class; NaN is a missing value."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from tenfold.generative.bayes_rule import log
from tenfold.maths.class_moments import spread
from tenfold.rows import Chunk

MOST_CATEGORIES = 2**20  # of a column; more of them are a number or an identity, not a category


class CategoryCounts(NamedTuple):
    """Counts of categories, those of one column after those of another.

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
        counts = self.padded(sizes).counts + other.padded(sizes).counts
        return CategoryCounts(self.n + other.n, sizes, counts)

    def padded(self, sizes: np.ndarray) -> CategoryCounts:
        """The same with room for more categories."""
        if np.array_equal(sizes, self.sizes):
            return self
        counts = np.zeros((len(self.n), sizes.sum()))
        for old, new in zip(self.tables(), split(counts, sizes), strict=True):
            new[:, : old.shape[1]] = old
        return CategoryCounts(self.n, sizes, counts)

    def spread(self, places: np.ndarray, k: int) -> CategoryCounts:
        """The same among k classes, of which these are the ones at `places`."""
        return CategoryCounts(spread(self.n, places, k), self.sizes, spread(self.counts, places, k))

    def tables(self) -> list[np.ndarray]:
        """The counts of each column, (k, m)."""
        return split(self.counts, self.sizes)

    def log_probabilities(self, alpha: float) -> list[np.ndarray]:
        """Log of the smoothed shares of each column, (k, m)."""
        found = []
        for table in self.tables():
            total = table.sum(axis=1, keepdims=True) + alpha * table.shape[1]
            found.append(log(table + alpha) - np.log(np.where(total > 0, total, 1)))
        return found


def split(flat: np.ndarray, sizes: np.ndarray) -> list[np.ndarray]:
    """Views of the columns of each table."""
    return np.split(flat, np.cumsum(sizes)[:-1], axis=1) if len(sizes) else []


def wanted_sizes(sizes: np.ndarray, least: Any) -> np.ndarray:
    """Categories of each column, at least those that the user asked for."""
    if least is None:
        return sizes
    least = np.asarray(least)
    if not np.issubdtype(least.dtype, np.signedinteger):
        raise ValueError(f"'min_categories' should have integral type. Got {least.dtype} instead.")
    if least.ndim > 0 and least.shape != sizes.shape:
        raise ValueError(
            f"'min_categories' should have shape {sizes.shape} when an array-like is provided. "
            f"Got {least.shape} instead."
        )
    return np.maximum(sizes, least, dtype=np.int64)


def category_counts(chunk: Chunk, k: int, who: str) -> CategoryCounts:
    """Weight of each category of each column in each class; the whole part of a number counts."""
    X = chunk.X
    w = chunk.weights().astype(np.float64)
    low, high = extremes(X, w)
    refuse_no_category(low, high, who)
    sizes = high.astype(np.int64) + 1
    start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    n, counts = counted(X, chunk.y, w, k, start)
    return CategoryCounts(n, sizes, counts)


def refuse_no_category(low: np.ndarray, high: np.ndarray, who: str) -> None:
    """Raise an error if columns hold numbers that are no category."""
    if (low < 0).any():
        raise ValueError(
            f"Negative values in data passed to {who} (input X): column {np.argmax(low < 0)}. "
            "Categories are 0, 1, ...: number them with sklearn.preprocessing.OrdinalEncoder."
        )
    if (high >= MOST_CATEGORIES).any():
        j = int(np.argmax(high >= MOST_CATEGORIES))
        raise ValueError(
            f"column {j} of the data passed to {who} holds {high[j]:g}; categories are 0, 1, ... "
            f"below {MOST_CATEGORIES}: number them with sklearn.preprocessing.OrdinalEncoder."
        )


@njit(cache=True, nogil=True)
def extremes(X, w):  # noqa: ANN001, ANN201  -> (p,), (p,)
    """Smallest and largest number of each column, at most 0 and at least -1.

    NaN and rows that weigh nothing do not count.
    """
    n, p = X.shape
    low, high = np.zeros(p), np.full(p, -1.0)
    for i in range(n):
        for j in range(p):
            if w[i] > 0 and not np.isnan(X[i, j]):
                low[j], high[j] = min(low[j], X[i, j]), max(high[j], X[i, j])
    return low, high


@njit(cache=True, nogil=True)
def counted(X, y, w, k, start):  # noqa: ANN001, ANN201  -> (k,), (k, m)
    """Weight of each class, and of each category in it; those of column j begin at start[j]."""
    n, p = X.shape
    weight, counts = np.zeros(k), np.zeros((k, start[-1]))
    for i in range(n):
        weight[y[i]] += w[i]
        for j in range(p):
            if w[i] > 0 and not np.isnan(X[i, j]):
                counts[y[i], start[j] + np.int64(X[i, j])] += w[i]
    return weight, counts
