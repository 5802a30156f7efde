"""What boosting learns about its rows before the first tree: categories, held-out rows, targets."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.tree._binning import encode_categories
from tenfold.tree._growing_tree import mix_array
from tenfold.tree._nodes import TreeEnsemble
from tenfold.tree._predict_numba import ensemble_scores

_MAX_EXACT_ROWS = 2**20  # up to here exactly the wanted number of rows is held out


class CategoryWeights(NamedTuple):
    """The different values of some columns, ascending, and the weight of the rows of each."""

    values: tuple[np.ndarray, ...]
    weights: tuple[np.ndarray, ...]

    def merge(self, other: CategoryWeights) -> CategoryWeights:
        values = tuple(map(np.union1d, self.values, other.values))
        weights = []
        for i, known in enumerate(values):
            total = np.zeros(len(known))
            for part in (self, other):
                total[np.searchsorted(known, part.values[i])] += part.weights[i]
            weights.append(total)
        return CategoryWeights(values, tuple(weights))


def category_weights(chunk: Chunk, columns: list[int]) -> CategoryWeights:
    """Values and weights of the categories of some columns, without missing ones."""
    values, weights = [], []
    for j in columns:
        dense = isinstance(chunk.X, np.ndarray)
        column = chunk.X[:, j] if dense else chunk.X[:, [j]].toarray()[:, 0]
        there = ~np.isnan(column)
        known, at = np.unique(column[there].astype(np.float64), return_inverse=True)
        values.append(known)
        weights.append(np.bincount(at, chunk.weights()[there], minlength=len(known)))
    return CategoryWeights(tuple(values), tuple(weights))


def learn_categories(rows: Rows, is_categorical: np.ndarray, max_bins: int) -> tuple[tuple, tuple]:
    """Categories of all columns (None for numbers), and the bin of each category.

    If there are more than bins, the heaviest get a bin each and all others share the last one.
    """
    columns = np.flatnonzero(is_categorical).tolist()
    categories: list[Any] = [None] * rows.n_features
    bins: list[Any] = [None] * rows.n_features
    if not columns:
        return (), ()
    found = rows.total(category_weights, columns)
    for j, values, weights in zip(columns, found.values, found.weights, strict=True):
        categories[j] = values
        bins[j] = np.arange(len(values))
        if len(values) > max_bins:
            order = np.lexsort((values, -weights))
            bins[j][order] = np.minimum(np.arange(len(values)), max_bins - 1)
    return tuple(categories), tuple(bins)


class HeldOut(NamedTuple):
    """Rows that are held out: those whose number has a small hash."""

    key: int
    threshold: int

    @classmethod
    def of(cls, n_rows: int, fraction: float, key: int) -> HeldOut:
        """A share (or number, from 1 on) of the rows, at least one and not all."""
        if n_rows <= _MAX_EXACT_ROWS:
            draws = mix_bits_of(np.arange(n_rows, dtype=np.uint64), key)
            wanted = int(fraction) if fraction >= 1 else int(np.ceil(fraction * n_rows))
            wanted = min(max(wanted, 1), n_rows - 1)
            return cls(key, int(np.partition(draws, wanted)[wanted]))
        share = fraction / n_rows if fraction >= 1 else fraction
        return cls(key, int(share * 2.0**64))

    def mask(self, n_rows: int) -> np.ndarray:
        """Which of the rows from 0 on are held out."""
        draws = mix_bits_of(np.arange(n_rows, dtype=np.uint64), self.key)
        return draws < np.uint64(self.threshold)


def mix_bits_of(numbers: np.ndarray, key: int) -> np.ndarray:
    """Hashes of 64 bits of row numbers."""
    return mix_array(numbers * np.uint64(0x9E3779B97F4A7C15) + np.uint64(key))


def chunk_target(chunk: Chunk) -> np.ndarray:
    """Targets as a matrix of float64."""
    y = np.asarray(chunk.y, np.float64)
    return y.reshape(len(y), -1)


def chunk_weight(chunk: Chunk) -> np.ndarray:
    """Weights in float64."""
    return np.asarray(chunk.weights(), np.float64)


def boosted_scores(
    chunk: Chunk, trees: TreeEnsemble, start: np.ndarray, categories: tuple
) -> np.ndarray:
    """Scores of the rows of a chunk."""
    if categories:
        X = chunk.X if isinstance(chunk.X, np.ndarray) else chunk.X.toarray()
        chunk = chunk._replace(X=encode_categories(X, categories))
    return ensemble_scores(chunk, trees, start)


class TargetRange(NamedTuple):
    """Number of targets, and their least and largest value."""

    n_targets: int
    least: float
    most: float

    def merge(self, other: TargetRange) -> TargetRange:
        least, most = min(self.least, other.least), max(self.most, other.most)
        return TargetRange(self.n_targets, least, most)


def target_range(chunk: Chunk) -> TargetRange:
    """The range of the targets of a chunk."""
    y = chunk_target(chunk)
    return TargetRange(y.shape[1], float(y.min()), float(y.max()))


def class_counts(chunk: Chunk, n_classes: int) -> np.ndarray:
    """Number of rows of each class."""
    return np.bincount(np.asarray(chunk.y, np.int64), minlength=n_classes)
