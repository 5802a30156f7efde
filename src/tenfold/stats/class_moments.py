"""Moments of classes that merge: weights, means, scatters, and sums of fourth order.

Everything is summed about the class means of the chunk itself, in float64: classes may lie
anywhere, and columns that do not vary within a class have a scatter of exactly zero. Parts merge by
the rule of Chan, Golub and LeVeque, class by class; for sums of fourth order it is the binomial
rule.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold._compiled.reductions import class_sums
from tenfold.stats.decorators import propagates_nan


def expand_to_classes(values: np.ndarray, indices: np.ndarray, k: int) -> np.ndarray:
    """An array with an entry for each of k classes, from those of some; zero for the others.

    Examples
    --------
    >>> expand_to_classes(np.array([5.0, 7.0]), np.array([0, 2]), 3).tolist()
    [5.0, 0.0, 7.0]
    """
    expanded = np.zeros((k, *values.shape[1:]), values.dtype)
    expanded[indices] = values
    return expanded


def merge_means(a: Any, b: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights and means of classes of two parts, and the roots of the scatter between the parts.

    The scatter of class c grows by the outer product of row c of the roots with itself (Chan, Golub
    and LeVeque, 1983).
    """
    n = a.n + b.n
    share = (b.n / np.where(n > 0, n, 1))[:, None]
    delta = b.mean - a.mean
    return n, a.mean + share * delta, delta * np.sqrt(a.n[:, None] * share)


class ClassScatters(NamedTuple):
    """Moments of rows within k classes.

    Attributes
    ----------
    n : (n_classes,) weight of each class
    mean : (n_classes, n_features) means
    scatter : (n_classes, n_features, n_features) sums of outer products about the means; the first
        axis has length 1 for the scatter of all classes together
    rows : (n_classes,) rows of positive weight in each class
    """

    n: np.ndarray
    mean: np.ndarray
    scatter: np.ndarray
    rows: np.ndarray

    def merge(self, other: ClassScatters) -> ClassScatters:
        if not isinstance(other, ClassScatters):  # moments of rows with missing entries
            return other.merge_after(self)
        n, mean, root = merge_means(self, other)
        scatter = self.scatter + other.scatter
        if len(scatter) < len(n):
            scatter[0] += root.T @ root
        else:
            for c in np.flatnonzero(root.any(axis=1)):
                scatter[c] += np.multiply.outer(root[c], root[c])
        return ClassScatters(n, mean, scatter, self.rows + other.rows)

    def expand_to_classes(self, indices: np.ndarray, k: int) -> ClassScatters:
        """The same for k classes, of which these are the ones at `indices`."""
        per_class = len(self.scatter) == len(self.n)
        scatter = expand_to_classes(self.scatter, indices, k) if per_class else self.scatter
        n, mean, rows = (
            expand_to_classes(part, indices, k) for part in (self.n, self.mean, self.rows)
        )
        return ClassScatters(n, mean, scatter, rows)

    def covariances(self) -> np.ndarray:
        """Maximum-likelihood covariances, of each class or pooled, in the shape of `scatter`."""
        n = self.n if len(self.scatter) == len(self.n) else self.n.sum(keepdims=True)
        return self.scatter / np.where(n > 0, n, 1)[:, None, None]

    def within(self) -> np.ndarray:
        """Within-class scatter, (n_features, n_features)."""
        return self.scatter.sum(axis=0)

    def total(self) -> np.ndarray:
        """Total scatter about the mean of all rows, (n_features, n_features)."""
        root = np.sqrt(self.n)[:, None] * (self.mean - (self.n / self.n.sum()) @ self.mean)
        return self.within() + root.T @ root


class ClassFourthMoments(NamedTuple):
    """Moments of rows within k classes, with sums of third and fourth order.

    Attributes
    ----------
    n, mean, scatter, rows : as in `ClassScatters`, a scatter for each class
    third : (n_classes, n_features, n_features) sums of d_i^2 d_j, d a row less its class mean
    fourth : (n_classes, n_features, n_features) sums of d_i^2 d_j^2
    """

    n: np.ndarray
    mean: np.ndarray
    scatter: np.ndarray
    third: np.ndarray
    fourth: np.ndarray
    rows: np.ndarray

    def about(self, mean: np.ndarray) -> ClassFourthMoments:
        """The same sums about other means, (n_classes, n_features)."""
        n, e = self.n[:, None, None], self.mean - mean
        i, j = e[:, :, None], e[:, None, :]
        S, T, Q = self.scatter, self.third, self.fourth
        squares = np.einsum("cii->ci", S)
        s_i, s_j = squares[:, :, None], squares[:, None, :]
        transposed = np.swapaxes(T, 1, 2)
        fourth = Q + 2 * (j * T + i * transposed) + j**2 * s_i + i**2 * s_j + 4 * i * j * S
        return self._replace(
            mean=np.broadcast_to(mean, self.mean.shape).copy(),
            scatter=S + n * i * j,
            third=T + j * s_i + 2 * i * S + n * i**2 * j,
            fourth=fourth + n * (i * j) ** 2,
        )

    def merge(self, other: ClassFourthMoments) -> ClassFourthMoments:
        n, mean, _ = merge_means(self, other)
        a, b = self.about(mean), other.about(mean)
        sums = (x + y for x, y in zip(a[2:], b[2:], strict=True))
        return ClassFourthMoments(n, mean, *sums)

    def expand_to_classes(self, indices: np.ndarray, k: int) -> ClassFourthMoments:
        """The same for k classes, of which these are the ones at `indices`."""
        return ClassFourthMoments(*(expand_to_classes(part, indices, k) for part in self))

    def together(self) -> ClassFourthMoments:
        """The moments of all rows, as one class."""
        mean = (self.n / self.n.sum())[None, :] @ self.mean
        shifted = self.about(mean)
        sums = [part.sum(axis=0, keepdims=True) for part in (shifted.n, *shifted[2:])]
        return ClassFourthMoments(sums[0], mean, *sums[1:])


class ClassResiduals(NamedTuple):
    """Rows less their class mean, with those means."""

    n: np.ndarray  # (k,)
    mean: np.ndarray  # (k, p)
    D: np.ndarray  # (rows, p), float64
    rows: np.ndarray  # (k,)


def class_residuals(rows: Any, k: int) -> ClassResiduals:
    """Rows less their class mean; exactly zero in columns that are constant in a class."""
    y, w = rows.y, rows.weights().astype(np.float64)
    first = np.zeros(k, np.int64)
    first[y[::-1]] = np.arange(len(y))[::-1]  # the last assignment to an index wins
    origin = np.take(rows.X, first, axis=0).astype(np.float64)
    D = rows.X - np.take(origin, y, axis=0)
    n, sums = class_sums(D, y, w, k)
    shift = sums / np.where(n > 0, n, 1)[:, None]
    D -= np.take(shift, y, axis=0)
    counts, _ = class_sums(np.empty((len(y), 0)), y, (w > 0).astype(np.float64), k)
    return ClassResiduals(n, np.where(n[:, None] > 0, origin + shift, 0.0), D, counts)


def sort_by_class(y: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The stable order of rows by class, and where each class begins, (n_classes + 1,)."""
    order = np.argsort(y, kind="stable")
    return order, np.searchsorted(np.take(y, order), np.arange(k + 1))


@propagates_nan
@np.errstate(over="ignore", invalid="ignore")  # the engine reports where a value is not finite
def class_scatters(rows: Any, k: int, per_class: bool) -> ClassScatters:
    """Moments of classes, with a scatter of each class or one for all.

    Examples
    --------
    >>> from tenfold.engine import Chunk
    >>> rows = Chunk(np.array([[1.0], [3.0], [10.0]]), np.array([0, 0, 1]))
    >>> class_scatters(rows, 2, True).scatter.ravel().tolist()
    [2.0, 0.0]
    """
    n, mean, D, counts = class_residuals(rows, k)
    D = D if rows.w is None else D * np.sqrt(rows.w)[:, None]
    if not per_class:
        return ClassScatters(n, mean, (D.T @ D)[None], counts)
    order, start = sort_by_class(rows.y, k)
    D = np.take(D, order, axis=0)
    parts = [D[start[c] : start[c + 1]] for c in range(k)]
    return ClassScatters(n, mean, np.stack([part.T @ part for part in parts]), counts)


@propagates_nan
@np.errstate(over="ignore", invalid="ignore")  # the engine reports where a value is not finite
def class_fourth_moments(rows: Any, k: int) -> ClassFourthMoments:
    """Moments of classes up to those of fourth order that covariance shrinkage needs."""
    n, mean, D, counts = class_residuals(rows, k)
    order, start = sort_by_class(rows.y, k)
    D = np.take(D, order, axis=0)
    w = np.take(rows.weights().astype(np.float64), order)[:, None]
    scatter, third, fourth = (np.zeros((k, D.shape[1], D.shape[1])) for _ in range(3))
    for c in range(k):
        part = D[start[c] : start[c + 1]]
        weighted = part * w[start[c] : start[c + 1]]
        squares, weighted_squares = part * part, (weighted * part).T
        scatter[c] = weighted.T @ part
        third[c], fourth[c] = weighted_squares @ part, weighted_squares @ squares
    return ClassFourthMoments(n, mean, scatter, third, fourth, counts)
