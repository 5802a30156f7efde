"""Moments of columns within classes from the entries that are there: NaN is a missing value."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from tenfold.maths.class_moments import spread
from tenfold.maths.leaves import class_squares, class_sums
from tenfold.rows import Chunk


class ObservedMoments(NamedTuple):
    """Moments of each column within each of k classes.

    Attributes
    ----------
    n : (k,) weight of each class
    seen : (k, p) weight of the entries that are there
    mean : (k, p) their means
    scatter : (k, p) their weighted sums of squares about the means
    """

    n: np.ndarray
    seen: np.ndarray
    mean: np.ndarray
    scatter: np.ndarray

    def merge(self, other: ObservedMoments) -> ObservedMoments:
        seen = self.seen + other.seen
        delta, share = other.mean - self.mean, other.seen / np.where(seen > 0, seen, 1)
        scatter = self.scatter + other.scatter + delta**2 * (self.seen * share)
        return ObservedMoments(self.n + other.n, seen, self.mean + share * delta, scatter)

    def spread(self, places: np.ndarray, k: int) -> ObservedMoments:
        """The same among k classes, of which these are the ones at `places`."""
        return ObservedMoments(*(spread(part, places, k) for part in self))

    def columns(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of each column over all classes, (p,); 0 where nothing is there."""
        total = self.seen.sum(axis=0)
        share = self.seen / np.where(total > 0, total, 1)
        mean = (share * self.mean).sum(axis=0)
        between = (share * (self.mean - mean) ** 2).sum(axis=0)
        return mean, self.scatter.sum(axis=0) / np.where(total > 0, total, 1) + between

    def estimates(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance, (k, p).

        A class that never shows a column is given those of all classes, so that the column says
        nothing for or against it.
        """
        mean, variance = self.columns()
        blank = self.seen == 0
        own = self.scatter / np.where(blank, 1, self.seen)
        return np.where(blank, mean, self.mean), np.where(blank, variance, own)


def observed_moments(chunk: Chunk, k: int) -> ObservedMoments:
    """Moments of each column within each of k classes, without what is missing."""
    X, y, w = chunk.X, chunk.y, chunk.weights().astype(np.float64)
    n, sums = class_sums(X, y, w, k)
    if np.isnan(sums).any():
        seen, sums = seen_sums(X, y, w, k)
        mean = sums / np.where(seen > 0, seen, 1)
        return ObservedMoments(n, seen, mean, seen_squares(X, y, w, mean))
    seen = np.repeat(n[:, None], X.shape[1], axis=1)
    mean = sums / np.where(n > 0, n, 1)[:, None]
    return ObservedMoments(n, seen, mean, class_squares(X, y, w, mean))


def refuse_infinity(s: ObservedMoments) -> None:
    """Raise an error that names a column with an infinity in it."""
    bad = ~np.isfinite(s.mean).all(axis=0)
    if bad.any():
        raise ValueError(
            f"Input X contains infinity, or numbers too large for a sum: column {np.argmax(bad)}. "
            "Write NaN where a value is missing."
        )


@njit(cache=True, nogil=True)
def seen_sums(X, y, w, k):  # noqa: ANN001, ANN201  -> (k, d), (k, d)
    """Weight and weighted sum of the entries of each column in each class that are not NaN."""
    n, d = X.shape
    seen, sums = np.zeros((k, d)), np.zeros((k, d))
    for i in range(n):
        c = y[i]
        for j in range(d):
            if not np.isnan(X[i, j]):
                seen[c, j] += w[i]
                sums[c, j] += w[i] * X[i, j]
    return seen, sums


@njit(cache=True, nogil=True)
def seen_squares(X, y, w, mean):  # noqa: ANN001, ANN201  -> (k, d)
    """Weighted sum of squares about the means, without NaN."""
    n, d = X.shape
    squares = np.zeros(mean.shape)
    for i in range(n):
        c = y[i]
        for j in range(d):
            if not np.isnan(X[i, j]):
                difference = X[i, j] - mean[c, j]
                squares[c, j] += w[i] * difference * difference
    return squares
