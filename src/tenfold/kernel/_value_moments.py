"""Looks at all rows of a fit: their number, and the variance that `gamma="scale"` depends on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenfold.engine.chunk import CHUNK_BYTES, Chunk


class ValueMoments(NamedTuple):
    """Weight, mean and variance of all values of X."""

    weight: float
    mean: float
    variance: float

    def merge(self, other: ValueMoments) -> ValueMoments:
        weight = self.weight + other.weight
        gap, share = other.mean - self.mean, other.weight / weight if weight > 0 else 0.0
        variance = (1 - share) * self.variance + share * other.variance
        variance += share * (1 - share) * gap * gap
        return ValueMoments(weight, self.mean + gap * share, variance)


def value_moments(chunk: Chunk) -> ValueMoments:
    """Moments of all values of a chunk, zeros of sparse rows included."""
    weight, w = chunk.weight, chunk.w
    if weight == 0:
        return ValueMoments(0.0, 0.0, 0.0)
    w = None if w is None or (w == w[0]).all() else w.astype(np.float64)
    X = chunk.X
    if hasattr(X, "tocsr") and X.shape[0] * X.shape[1] <= CHUNK_BYTES:
        X = X.toarray()
    mean = _mean_row(np.asarray(X.mean(axis=1, dtype=np.float64)).ravel(), w)
    gaps = X.astype(np.float64)
    if hasattr(X, "tocsr"):
        gaps.data = (gaps.data - mean) ** 2 - mean**2
        squares = np.asarray(gaps.mean(axis=1)).ravel() + mean**2
    else:
        gaps -= mean
        squares = np.einsum("ij,ij->i", gaps, gaps) / gaps.shape[1]
    return ValueMoments(weight, mean, _mean_row(squares, w))


def _mean_row(values: np.ndarray, w: np.ndarray | None) -> float:
    return float(values.mean() if w is None else w @ values / w.sum())


def count_rows(chunk: Chunk) -> int:
    """Number of rows: a pass that finds missing and infinite values, and nothing else."""
    return chunk.rows
