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


def expand_to_classes(part: np.ndarray, places: np.ndarray, k: int) -> np.ndarray:
    """An array with the classes as first axis among k classes, zero for the others.

    Examples
    --------
    >>> expand_to_classes(np.array([5.0, 7.0]), np.array([0, 2]), 3).tolist()
    [5.0, 0.0, 7.0]
    """
    wide = np.zeros((k, *part.shape[1:]), part.dtype)
    wide[places] = part
    return wide


def merge_means(a: Any, b: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weight and mean of classes of two parts together, and the roots of what lies between them.

    The scatter of class c grows by the outer product of row c of the roots with itself.
    """
    n = a.n + b.n
    share = (b.n / np.where(n > 0, n, 1))[:, None]
    delta = b.mean - a.mean
    return n, a.mean + share * delta, delta * np.sqrt(a.n[:, None] * share)


class ClassScatters(NamedTuple):
    """Moments of rows within k classes.

    Attributes
    ----------
    n : (k,) weight of each class
    mean : (k, p) means
    scatter : (k, p, p) sums of outer products about the means; (1, p, p) for all classes together
    rows : (k,) rows of each class that weigh anything
    """

    n: np.ndarray
    mean: np.ndarray
    scatter: np.ndarray
    rows: np.ndarray

    def merge(self, other: ClassScatters) -> ClassScatters:
        n, mean, root = merge_means(self, other)
        scatter = self.scatter + other.scatter
        if len(scatter) < len(n):
            scatter[0] += root.T @ root
        else:
            for c in np.flatnonzero(root.any(axis=1)):
                scatter[c] += np.multiply.outer(root[c], root[c])
        return ClassScatters(n, mean, scatter, self.rows + other.rows)

    def expand_to_classes(self, places: np.ndarray, k: int) -> ClassScatters:
        """The same among k classes, of which these are the ones at `places`."""
        own = len(self.scatter) == len(self.n)
        scatter = expand_to_classes(self.scatter, places, k) if own else self.scatter
        n, mean, rows = (
            expand_to_classes(part, places, k) for part in (self.n, self.mean, self.rows)
        )
        return ClassScatters(n, mean, scatter, rows)

    def covariances(self) -> np.ndarray:
        """The biased covariance of each class (k, p, p), or of all about their means (1, p, p)."""
        n = self.n if len(self.scatter) == len(self.n) else self.n.sum(keepdims=True)
        return self.scatter / np.where(n > 0, n, 1)[:, None, None]

    def within(self) -> np.ndarray:
        """Scatter of all rows about the means of their classes, (p, p)."""
        return self.scatter.sum(axis=0)

    def total(self) -> np.ndarray:
        """Scatter of all rows about their common mean, (p, p)."""
        root = np.sqrt(self.n)[:, None] * (self.mean - (self.n / self.n.sum()) @ self.mean)
        return self.within() + root.T @ root


class ClassFourthMoments(NamedTuple):
    """Moments of rows within k classes, with sums of third and fourth order.

    Attributes
    ----------
    n, mean, scatter, rows : as in `ClassScatters`, a scatter for each class
    third : (k, p, p) sums of d_i^2 d_j, d a row less the mean of its class
    fourth : (k, p, p) sums of d_i^2 d_j^2
    """

    n: np.ndarray
    mean: np.ndarray
    scatter: np.ndarray
    third: np.ndarray
    fourth: np.ndarray
    rows: np.ndarray

    def about(self, mean: np.ndarray) -> ClassFourthMoments:
        """The same sums about other means, (k, p)."""
        n, e = self.n[:, None, None], self.mean - mean
        i, j = e[:, :, None], e[:, None, :]
        S, T, Q = self.scatter, self.third, self.fourth
        squares = np.einsum("cii->ci", S)
        own, other = squares[:, :, None], squares[:, None, :]
        crossed = np.swapaxes(T, 1, 2)
        fourth = Q + 2 * (j * T + i * crossed) + j**2 * own + i**2 * other + 4 * i * j * S
        return self._replace(
            mean=np.broadcast_to(mean, self.mean.shape).copy(),
            scatter=S + n * i * j,
            third=T + j * own + 2 * i * S + n * i**2 * j,
            fourth=fourth + n * (i * j) ** 2,
        )

    def merge(self, other: ClassFourthMoments) -> ClassFourthMoments:
        n, mean, _ = merge_means(self, other)
        a, b = self.about(mean), other.about(mean)
        sums = (x + y for x, y in zip(a[2:], b[2:], strict=True))
        return ClassFourthMoments(n, mean, *sums)

    def expand_to_classes(self, places: np.ndarray, k: int) -> ClassFourthMoments:
        """The same among k classes, of which these are the ones at `places`."""
        return ClassFourthMoments(*(expand_to_classes(part, places, k) for part in self))

    def together(self) -> ClassFourthMoments:
        """All classes as one."""
        mean = (self.n / self.n.sum())[None, :] @ self.mean
        moved = self.about(mean)
        sums = [part.sum(axis=0, keepdims=True) for part in (moved.n, *moved[2:])]
        return ClassFourthMoments(sums[0], mean, *sums[1:])


class ClassResiduals(NamedTuple):
    """Rows less the mean of their class, with those means."""

    n: np.ndarray  # (k,)
    mean: np.ndarray  # (k, p)
    D: np.ndarray  # (rows, p), float64
    rows: np.ndarray  # (k,)


def class_residuals(rows: Any, k: int) -> ClassResiduals:
    """Rows less the mean of their class; exactly zero in columns that are constant in a class."""
    y, w = rows.y, rows.weights().astype(np.float64)
    first = np.zeros(k, np.int64)
    first[y[::-1]] = np.arange(len(y))[::-1]  # of equal places the last is kept
    origin = np.take(rows.X, first, axis=0).astype(np.float64)
    D = rows.X - np.take(origin, y, axis=0)
    n, sums = class_sums(D, y, w, k)
    shift = sums / np.where(n > 0, n, 1)[:, None]
    D -= np.take(shift, y, axis=0)
    counts, _ = class_sums(np.empty((len(y), 0)), y, (w > 0).astype(np.float64), k)
    return ClassResiduals(n, np.where(n[:, None] > 0, origin + shift, 0.0), D, counts)


def sort_by_class(y: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The order that puts rows of a class together, and where the classes begin, (k + 1,)."""
    order = np.argsort(y, kind="stable")
    return order, np.searchsorted(np.take(y, order), np.arange(k + 1))


@propagates_nan
@np.errstate(over="ignore", invalid="ignore")  # the engine says where a number is bad
def class_scatters(rows: Any, k: int, own: bool) -> ClassScatters:
    """Moments of classes; `own` asks for a scatter of each class, else one for all.

    Examples
    --------
    >>> from tenfold.engine import Chunk
    >>> rows = Chunk(np.array([[1.0], [3.0], [10.0]]), np.array([0, 0, 1]))
    >>> class_scatters(rows, 2, True).scatter.ravel().tolist()
    [2.0, 0.0]
    """
    n, mean, D, counts = class_residuals(rows, k)
    D = D if rows.w is None else D * np.sqrt(rows.w)[:, None]
    if not own:
        return ClassScatters(n, mean, (D.T @ D)[None], counts)
    order, start = sort_by_class(rows.y, k)
    D = np.take(D, order, axis=0)
    parts = [D[start[c] : start[c + 1]] for c in range(k)]
    return ClassScatters(n, mean, np.stack([part.T @ part for part in parts]), counts)


@propagates_nan
@np.errstate(over="ignore", invalid="ignore")  # the engine says where a number is bad
def class_fourth_moments(rows: Any, k: int) -> ClassFourthMoments:
    """Moments of classes up to the fourth order, as far as the shrinkage of covariances needs."""
    n, mean, D, counts = class_residuals(rows, k)
    order, start = sort_by_class(rows.y, k)
    D = np.take(D, order, axis=0)
    w = np.take(rows.weights().astype(np.float64), order)[:, None]
    scatter, third, fourth = (np.zeros((k, D.shape[1], D.shape[1])) for _ in range(3))
    for c in range(k):
        part = D[start[c] : start[c + 1]]
        weighed = part * w[start[c] : start[c + 1]]
        squares, lines = part * part, (weighed * part).T
        scatter[c], third[c], fourth[c] = weighed.T @ part, lines @ part, lines @ squares
    return ClassFourthMoments(n, mean, scatter, third, fourth, counts)
