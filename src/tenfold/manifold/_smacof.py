r"""Scaling by majorization of the stress.

.. math:: \sigma(Z) = \sum_{i < j} w_{ij} (\delta_{ij} - \lVert z_i - z_j \rVert)^2

The Guttman transform :math:`Z \leftarrow V^+ B(Z) Z` never raises it; without weights it is the
step of length 1 / (2n) along the gradient :math:`2 (V Z - B(Z) Z)`. B(Z) Z and the stress are sums
over the rows of the matrix of dissimilarities: each iteration is a fold.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.csgraph import connected_components

from tenfold.engine.arrays import ArraySource
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.engine.tiled_cholesky import cholesky, solve_cholesky
from tenfold.manifold._smacof_numba import (
    guttman_sums,
    isotonic_values,
    pair_distances,
    weighted_guttman_sums,
)
from tenfold.optim.convergence import until_converged
from tenfold.optim.quasi_newton import lbfgs

CHUNK_ROWS = 128  # rows of distances per chunk: each meets all points


class StressSums(NamedTuple):
    """Sums over pairs for each point: B(Z) Z as columns, misfit, squared distances."""

    pull: np.ndarray  # (k, n)
    misfit: np.ndarray  # (n,)
    squares: np.ndarray  # (n,)

    @property
    def stress(self) -> float:
        """Sum over pairs of squared differences of distances."""
        return float(self.misfit.sum()) / 2

    @property
    def size(self) -> float:
        """Sum over pairs of squared distances of points."""
        return float(self.squares.sum()) / 2


def stress_sums(chunk: Chunk, Y: np.ndarray, W: np.ndarray | None, some: bool) -> StressSums:
    """The sums over rows of dissimilarities; Y are the points as columns.

    `some` says that NaN stands for missing dissimilarities.
    """
    D, n = chunk.X, Y.shape[1]
    sums = StressSums(np.zeros_like(Y), np.zeros(n), np.zeros(n))
    if W is None and not some:
        guttman_sums(D, Y, chunk.first, *sums)
    else:
        part = np.ones(D.shape) if W is None else W[chunk.first : chunk.first + len(D)]
        weighted_guttman_sums(D, np.ascontiguousarray(part), Y, chunk.first, *sums)
    return sums


class Dissimilarities(NamedTuple):
    """The rows of a matrix of dissimilarities, and what weighs them."""

    rows: Rows
    weights: np.ndarray | None = None  # (n, n), symmetric
    missing: bool = False  # whether NaN stands for missing entries
    factor: np.ndarray | None = None  # Cholesky factor of the Laplacian of the weights
    laplacian: np.ndarray | None = None

    def sums(self, Y: np.ndarray) -> StressSums:
        """The sums at points Y, (n, k)."""
        columns = np.ascontiguousarray(Y.T)
        return self.rows.total(stress_sums, columns, self.weights, self.missing)

    def guttman(self, sums: StressSums) -> np.ndarray:
        """The points that minimize the majorizing quadratic, (n, k)."""
        pull = sums.pull.T
        if self.factor is None:
            return pull / len(pull)
        moved = solve_cholesky(self.factor, np.ascontiguousarray(pull))
        return moved - moved.mean(axis=0)

    def gradient(self, Y: np.ndarray, sums: StressSums) -> np.ndarray:
        """Derivatives of the stress by the points."""
        spread = len(Y) * (Y - Y.mean(axis=0)) if self.laplacian is None else self.laplacian @ Y
        return 2.0 * (spread - sums.pull.T)


def from_matrix(D: np.ndarray, W: np.ndarray | None) -> Dissimilarities:
    """Dissimilarities in memory; NaN and weights of 0 say that a pair does not count."""
    rows = Rows(ArraySource(D, finite=True), allow_nan=True).with_chunk_rows(CHUNK_ROWS)
    missing = bool(np.isnan(D).any())
    if W is None and not missing:
        return Dissimilarities(rows)
    V = np.where(np.isnan(D), 0.0, 1.0 if W is None else W)
    np.fill_diagonal(V, 0.0)
    parts, labels = connected_components(V > 0, directed=False)
    if parts > 1:
        sizes = np.bincount(labels)
        raise ValueError(
            f"the known distances leave {parts} groups of rows that no distance links (the largest "
            f"has {sizes.max()} rows): their places relative to each other are not determined. Map "
            "each group by itself, or give a distance between them"
        )
    laplacian = -V
    laplacian[np.diag_indices(len(V))] = V.sum(axis=1)
    scale = laplacian.trace() / len(V) ** 2
    return Dissimilarities(rows, W, missing, cholesky(laplacian + scale), laplacian)


class Scaled(NamedTuple):
    """A map, its stress, and how the iteration ended."""

    points: np.ndarray
    stress: float  # sum of squares over pairs
    size: float  # sum of squared distances over pairs
    report: dict[str, Any]
    disparities: np.ndarray | None = None  # of all pairs, condensed


def minimize_stress(data: Dissimilarities, Y: np.ndarray, max_iter: int, eps: float) -> Scaled:
    """Metric scaling by the Guttman transform, from the points Y.

    It has converged when the stress falls by no more than `eps` of the sum of squared distances.
    """
    loop = until_converged((Y, tuple(data.sums(Y))), tol=eps, max_iter=max_iter)
    for _, state in loop:
        before = StressSums(*state)
        moved = data.guttman(before)
        after = data.sums(moved)
        first = loop.n_iter == 0  # any start is far off: its stress says nothing
        change = np.inf if first else (before.stress - after.stress) / max(after.size, 1e-300)
        loop.update((moved, tuple(after)), objective=after.stress, change=change)
    points, state = loop.state
    end = StressSums(*state)
    return Scaled(points, end.stress, end.size, loop.report)


def minimize_stress_by_gradient(
    data: Dissimilarities, Y: np.ndarray, max_iter: int, eps: float
) -> Scaled:
    """Metric scaling by L-BFGS on the stress itself, which needs fewer passes."""
    shape = Y.shape
    start = data.sums(Y)
    unit = max(start.size, 1e-300)  # the stress as a share: no entry of the gradient is large

    def value_and_gradient(flat: np.ndarray) -> tuple[float, np.ndarray]:
        Z = flat.reshape(shape)
        sums = data.sums(Z)
        return sums.stress / unit, data.gradient(Z, sums).ravel() / unit

    length = float(np.sqrt(start.size / len(Y) ** 2)) or 1.0  # of a typical distance
    found = lbfgs(value_and_gradient, Y.ravel(), tol=eps / length, max_iter=max_iter)
    points = found.x.reshape(shape)
    points = points - points.mean(axis=0)
    history = found.report["history_"]
    history = {**history, "objective": history["objective"] * unit}
    end = data.sums(points)
    return Scaled(points, end.stress, end.size, {**found.report, "history_": history})


class RankedPairs(NamedTuple):
    """Pairs of rows in the order of their dissimilarities; equal ones are a group."""

    rows: np.ndarray
    columns: np.ndarray
    weights: np.ndarray
    starts: np.ndarray  # of the groups, and the number of pairs
    values: np.ndarray  # dissimilarities, ascending

    @classmethod
    def of(cls, D: np.ndarray, W: np.ndarray | None) -> RankedPairs:
        rows, columns = np.triu_indices(len(D), 1)
        values = D[rows, columns].astype(np.float64)
        known = ~np.isnan(values) if W is None else ~np.isnan(values) & (W[rows, columns] > 0)
        rows, columns, values = rows[known], columns[known], values[known]
        order = np.argsort(values, kind="stable")
        rows, columns, values = rows[order], columns[order], values[order]
        weights = np.ones(len(values)) if W is None else W[rows, columns].astype(np.float64)
        starts = np.flatnonzero(np.r_[True, np.diff(values) > 0, True])
        return cls(rows, columns, weights, starts, values)

    def distances(self, Y: np.ndarray) -> np.ndarray:
        """Distances of the pairs between points."""
        found = np.empty(len(self.rows))
        pair_distances(Y, self.rows, self.columns, found)
        return found

    def disparities(self, distances: np.ndarray) -> np.ndarray:
        """The nearest numbers that do not fall with the dissimilarities, of mean square 1."""
        fitted = np.empty_like(distances)
        isotonic_values(distances, self.weights, self.starts, fitted)
        return self.normalize(fitted)

    def normalize(self, values: np.ndarray) -> np.ndarray:
        """Numbers scaled to a weighted mean square of 1."""
        size = float(self.weights @ (values * values)) / max(float(self.weights.sum()), 1e-300)
        return values / np.sqrt(size) if size > 0 else np.ones_like(values)


def minimize_ordinal_stress(
    D: np.ndarray, W: np.ndarray | None, Y: np.ndarray, max_iter: int, eps: float
) -> Scaled:
    """Non-metric scaling: only the order of the dissimilarities counts."""
    pairs = RankedPairs.of(D, W)
    data = from_matrix(D, W)
    target = np.full(D.shape, np.nan) if data.missing else np.zeros(D.shape)
    np.fill_diagonal(target, 0.0)
    data = data._replace(
        rows=Rows(ArraySource(target, finite=True), allow_nan=True).with_chunk_rows(CHUNK_ROWS)
    )
    first = pairs.normalize(pairs.values)
    loop = until_converged((Y, first, np.inf), tol=eps, max_iter=max_iter)
    for points, wanted, stress in loop:
        target[pairs.rows, pairs.columns] = target[pairs.columns, pairs.rows] = wanted
        moved = data.guttman(data.sums(points))
        distances = pairs.distances(moved)
        after = float(pairs.weights @ (wanted - distances) ** 2)
        size = float(pairs.weights @ (distances * distances))
        change = (stress - after) / max(size, 1e-300)
        following = pairs.disparities(distances)
        loop.update((moved, following, after), objective=after, change=change)
    points, _, stress = loop.state
    distances = pairs.distances(points)
    size = float(pairs.weights @ (distances * distances))
    return Scaled(points, stress, size, loop.report, pairs.disparities(distances))
