"""Counts of pairs of categories within classes, and scores of trees of features."""

# ruff: noqa: ANN001, ANN202

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
from numba import njit

from tenfold.engine.chunk import Chunk
from tenfold.naive_bayes._column_distributions import check_category_range, column_extremes
from tenfold.stats.class_moments import expand_to_classes


class PairCounts(NamedTuple):
    """Weights of categories and of pairs of them in each of k classes.

    Attributes
    ----------
    n : (k,) weight of each class
    sizes : (p,) categories of each column
    singles : (k, sum of sizes)
    pairs : (k, sum of products of sizes) of columns (0, 1), (0, 2), ..., (1, 2), ...
    """

    n: np.ndarray
    sizes: np.ndarray
    singles: np.ndarray
    pairs: np.ndarray

    def merge(self, other: PairCounts) -> PairCounts:
        sizes = np.maximum(self.sizes, other.sizes)
        a, b = self.pad_to(sizes), other.pad_to(sizes)
        return PairCounts(a.n + b.n, sizes, a.singles + b.singles, a.pairs + b.pairs)

    def pad_to(self, sizes: np.ndarray) -> PairCounts:
        """The same counts with zeros for more categories."""
        if np.array_equal(sizes, self.sizes):
            return self
        padded = PairCounts(
            self.n,
            sizes,
            np.zeros((len(self.n), single_starts(sizes)[-1])),
            np.zeros((len(self.n), pair_starts(sizes)[-1])),
        )
        p = len(sizes)
        for j in range(p):
            old = self.single(j)
            padded.single(j)[:, : old.shape[1]] = old
        for i, j in combinations(range(p), 2):
            old = self.pair(i, j)
            padded.pair(i, j)[:, : old.shape[1], : old.shape[2]] = old
        return padded

    def expand_to_classes(self, positions: np.ndarray, k: int) -> PairCounts:
        """The same statistic among k classes, of which these are at `positions`."""
        parts = (expand_to_classes(a, positions, k) for a in (self.n, self.singles, self.pairs))
        n, singles, pairs = parts
        return PairCounts(n, self.sizes, singles, pairs)

    def single(self, j: int) -> np.ndarray:
        """Weights of the categories of a column, (k, m); a view."""
        start = single_starts(self.sizes)
        return self.singles[:, start[j] : start[j + 1]]

    def pair(self, i: int, j: int) -> np.ndarray:
        """Weights of the pairs of categories of two columns, (k, m_i, m_j)."""
        if i > j:
            return self.pair(j, i).transpose(0, 2, 1)
        at = pair_number(i, j, len(self.sizes))
        start = pair_starts(self.sizes)
        cells = self.pairs[:, start[at] : start[at + 1]]
        return cells.reshape(len(self.n), self.sizes[i], self.sizes[j])


def single_starts(sizes: np.ndarray) -> np.ndarray:
    """Where the categories of each column begin."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def pair_starts(sizes: np.ndarray) -> np.ndarray:
    """Where the pairs of each two columns begin."""
    cells = [int(sizes[i]) * int(sizes[j]) for i, j in combinations(range(len(sizes)), 2)]
    return np.cumsum([0, *cells]).astype(np.int64)


def pair_number(i: int, j: int, p: int) -> int:
    """Place of the pair of columns i < j among all."""
    return i * p - i * (i + 1) // 2 + j - i - 1


class CategorySizes(NamedTuple):
    """Categories of each column; two of them merge by the larger."""

    sizes: np.ndarray

    def merge(self, other: CategorySizes) -> CategorySizes:
        return CategorySizes(np.maximum(self.sizes, other.sizes))


def chunk_category_sizes(chunk: Chunk, model_name: str) -> CategorySizes:
    """Number of categories of each column in a chunk."""
    low, high = column_extremes(chunk.X, chunk.weights().astype(np.float64))
    check_category_range(low, high, model_name)
    return CategorySizes(high.astype(np.int64) + 1)


def count_pairs(chunk: Chunk, k: int, sizes: np.ndarray) -> PairCounts:
    """Weights of categories and pairs in each class; numbers are truncated to integers."""
    w = chunk.weights().astype(np.float64)
    starts = single_starts(sizes), pair_starts(sizes)
    n, singles, pairs = _accumulate_pairs(chunk.X, chunk.y, w, k, sizes, *starts)
    return PairCounts(n, sizes, singles, pairs)


@njit(cache=True, nogil=True)
def _accumulate_pairs(X, y, w, k, sizes, single_start, pair_start):
    n, p = X.shape
    weight = np.zeros(k)
    singles, pairs = np.zeros((k, single_start[-1])), np.zeros((k, pair_start[-1]))
    codes = np.empty(p, np.int64)
    for i in range(n):
        if not w[i] > 0:
            continue
        c = y[i]
        weight[c] += w[i]
        for j in range(p):
            codes[j] = -1 if np.isnan(X[i, j]) else np.int64(X[i, j])
            if codes[j] >= 0:
                singles[c, single_start[j] + codes[j]] += w[i]
        at = 0
        for a in range(p):
            for b in range(a + 1, p):
                if codes[a] >= 0 and codes[b] >= 0:
                    pairs[c, pair_start[at] + codes[a] * sizes[b] + codes[b]] += w[i]
                at += 1
    return weight, singles, pairs


@njit(cache=True, nogil=True)
def score_tree(X, offset, logs, start, sizes, parents, order):  # noqa: C901, PLR0912
    """Log of prior times probability of each row in each class, (n, k), in float64.

    `logs` holds for each column j log-probabilities (class, category of its parent, category), from
    start[j] on; `order` has parents before children. Missing and unknown categories are summed
    out, exactly.
    """
    n, p = X.shape
    k = len(offset)
    widest = sizes.max()
    scores = np.empty((n, k), X.dtype)
    codes = np.empty(p, np.int64)
    below = np.empty((p, widest))  # messages of the children of each column, for its categories
    for i in range(n):
        complete = True
        for j in range(p):
            x = X[i, j]
            codes[j] = -1 if np.isnan(x) or x >= sizes[j] else np.int64(x)
            complete = complete and codes[j] >= 0
        for c in range(k):
            total = offset[c]
            if complete:
                for j in range(p):
                    up = parents[j]
                    rows = 1 if up < 0 else sizes[up]
                    above = 0 if up < 0 else codes[up]
                    total += logs[start[j] + (c * rows + above) * sizes[j] + codes[j]]
                scores[i, c] = total
                continue
            below[:] = 0.0
            for t in range(p - 1, -1, -1):
                j = order[t]
                up = parents[j]
                rows = 1 if up < 0 else sizes[up]
                for above in range(rows):
                    if up >= 0 and codes[up] >= 0 and codes[up] != above:
                        continue
                    cell = start[j] + (c * rows + above) * sizes[j]
                    if codes[j] >= 0:
                        value = logs[cell + codes[j]] + below[j, codes[j]]
                    else:
                        top = -np.inf
                        for m in range(sizes[j]):
                            top = max(top, logs[cell + m] + below[j, m])
                        value = 0.0
                        if top > -np.inf:
                            for m in range(sizes[j]):
                                value += np.exp(logs[cell + m] + below[j, m] - top)
                            value = top + np.log(value)
                        else:
                            value = -np.inf
                    if up < 0:
                        total += value
                    else:
                        below[up, above] += value
            scores[i, c] = total
    return scores
