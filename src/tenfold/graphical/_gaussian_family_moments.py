"""Moments of families of numbers, for each state of their discrete parents; they merge."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.graphical._gaussian_inference import LinearGaussian


class GroupMoments(NamedTuple):
    """Moments of rows within groups.

    Attributes
    ----------
    n : (q,) weights
    mean : (q, m)
    scatter : (q, m, m) sums of outer products about the means
    """

    n: np.ndarray
    mean: np.ndarray
    scatter: np.ndarray

    def merge(self, other: GroupMoments) -> GroupMoments:
        n = self.n + other.n
        share = other.n / np.where(n > 0, n, 1)
        delta = other.mean - self.mean
        between = np.einsum("qa,qb->qab", delta, delta) * (self.n * share)[:, None, None]
        mean = self.mean + share[:, None] * delta
        return GroupMoments(n, mean, self.scatter + other.scatter + between)


class NetworkMoments(NamedTuple):
    """What a mixed network learns from: counts of discrete families, moments of the others."""

    counts: tuple[np.ndarray, ...]
    groups: tuple[GroupMoments, ...]

    def merge(self, other: NetworkMoments) -> NetworkMoments:
        counts = tuple(a + b for a, b in zip(self.counts, other.counts, strict=True))
        groups = tuple(a.merge(b) for a, b in zip(self.groups, other.groups, strict=True))
        return NetworkMoments(counts, groups)


class FamilyColumns(NamedTuple):
    """Columns of a family: the discrete ones with their sizes, and the numbers (itself last)."""

    discrete: tuple[int, ...]
    sizes: tuple[int, ...]
    numbers: tuple[int, ...]


def network_moments(chunk: Chunk, families: tuple[FamilyColumns, ...]) -> NetworkMoments:
    """Statistics of a chunk whose discrete columns are numbers of states; NaN is missing."""
    X, w = chunk.X.astype(np.float64), chunk.weights().astype(np.float64)
    counts, groups = [], []
    for family in families:
        known = w > 0
        for at in (*family.discrete, *family.numbers):
            known = known & ~np.isnan(X[:, at])
        rows, weight = X[known], w[known]
        cells = np.zeros(len(rows), np.int64)
        for at, size in zip(family.discrete, family.sizes, strict=True):
            cells = cells * size + rows[:, at].astype(np.int64)
        q = int(np.prod(family.sizes))
        if family.numbers:
            groups.append(_group_moments(rows[:, family.numbers], weight, cells, q))
        else:
            counts.append(np.bincount(cells, weight, q).reshape(family.sizes))
    return NetworkMoments(tuple(counts), tuple(groups))


def _group_moments(X: np.ndarray, w: np.ndarray, cells: np.ndarray, q: int) -> GroupMoments:
    m = X.shape[1]
    n, mean, scatter = np.bincount(cells, w, q), np.zeros((q, m)), np.zeros((q, m, m))
    for cell in np.flatnonzero(n > 0):
        inside = cells == cell
        part, weight = X[inside], w[inside]
        mean[cell] = weight @ part / n[cell]
        centered = part - mean[cell]
        scatter[cell] = (centered * weight[:, None]).T @ centered
    return GroupMoments(n, mean, scatter)


def regress(moments: GroupMoments, shape: tuple[int, ...], floor: float) -> LinearGaussian:
    """Least squares of the last column on the others, in each group; empty groups take all rows."""
    whole = GroupMoments(*(part[:1] for part in moments))
    for at in range(1, len(moments.n)):
        whole = whole.merge(GroupMoments(*(part[at : at + 1] for part in moments)))
    fits = []
    for cell in range(len(moments.n)):
        chosen, at = (moments, cell) if moments.n[cell] > 0 else (whole, 0)
        fits.append(_fit_cell(chosen.n[at], chosen.mean[at], chosen.scatter[at], floor))
    intercept, coef, variance = (np.array(part) for part in zip(*fits, strict=True))
    width = moments.mean.shape[1] - 1
    return LinearGaussian(
        intercept.reshape(shape), coef.reshape(*shape, width), variance.reshape(shape)
    )


def _fit_cell(
    n: float, mean: np.ndarray, scatter: np.ndarray, floor: float
) -> tuple[float, np.ndarray, float]:
    coef = np.linalg.lstsq(scatter[:-1, :-1], scatter[:-1, -1], rcond=1e-12)[0]
    left = scatter[-1, -1] - coef @ scatter[:-1, -1]
    variance = max(left / n if n > 0 else 0.0, floor)
    return float(mean[-1] - coef @ mean[:-1]), coef, float(variance)
