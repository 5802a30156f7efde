"""Sums of kernel values over rows of a fit, for many queries, as a statistic that merges.

The queries are the state, the rows of the fit the fold. Sums are kept relative to the largest
kernel value of each query, so that nothing under- or overflows: as the bandwidth goes to 0, only
the nearest row is left.
"""

from __future__ import annotations

from math import lgamma, log, pi
from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.kernel._block import TILE_COLUMNS, TILE_ROWS
from tenfold.kernel._tiles_numba import exponentiate_rows
from tenfold.kernel.stationary import distance_tile
from tenfold.math.distances import pairwise_distances

DENSITY_KERNELS = ("gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine")
_SINGULAR = 1e-9  # shares of the largest eigenvalue below which a direction has no slope
_ROUNDING = 1e-10  # shares of second moments about the origin below which there is no spread
_MAX_PRECISION = 1e200  # of a bandwidth of 0: beyond it differences of distances overflow


class Smoother(NamedTuple):
    """How rows are weighted by their distance to a query."""

    kernel: str
    bandwidths: np.ndarray  # (H,)
    metric: Any = "euclidean"
    metric_params: dict[str, Any] | None = None

    def log_weights(self, X: np.ndarray, Z: np.ndarray) -> list[np.ndarray]:
        """Logarithms of kernel values of all queries X with rows Z, for each bandwidth."""
        if self.metric in ("euclidean", "l2"):
            squares = distance_tile(X, Z, 1.0)
        else:
            squares = np.square(pairwise_distances(X, Z, self.metric, **(self.metric_params or {})))
        last = len(self.bandwidths) - 1
        return [
            self._of_squares(squares if k == last else squares.copy(), float(h))
            for k, h in enumerate(self.bandwidths)
        ]

    def _of_squares(self, squares: np.ndarray, h: float) -> np.ndarray:
        if self.kernel == "gaussian":
            squares *= -_MAX_PRECISION if h < _MAX_PRECISION**-0.5 else -0.5 / (h * h)
            return squares
        scaled = np.sqrt(squares, out=squares)
        scaled /= h
        if self.kernel == "exponential":
            return np.negative(scaled, out=scaled)
        inside = scaled < 1
        if self.kernel == "tophat":
            values = np.ones_like(scaled)
        elif self.kernel == "epanechnikov":
            values = 1 - scaled * scaled
        else:
            values = 1 - scaled if self.kernel == "linear" else np.cos(0.5 * pi * scaled)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(inside, np.log(values), -np.inf)


class LocalFit(NamedTuple):
    """What is summed for each row: nothing, targets (local means), or moments (local lines)."""

    degree: int | None  # None for nothing, 0 for means, 1 for lines
    n_targets: int
    classes: bool  # whether targets are numbers of classes
    origin: np.ndarray  # (p,) about which moments are taken

    def features(self, X: np.ndarray, y: Any) -> np.ndarray:
        """Targets of rows, and with degree 1 also x, x x' and x y'."""
        if self.degree is None:
            return np.empty((len(X), 0))
        if self.classes:
            Y = (np.asarray(y)[:, None] == np.arange(self.n_targets)).astype(np.float64)
        else:
            Y = np.asarray(y, np.float64).reshape(len(X), -1)
        if self.degree == 0:
            return Y
        A = X - self.origin
        i, j = np.triu_indices(A.shape[1])
        products = (A[:, :, None] * Y[:, None, :]).reshape(len(A), -1)
        return np.hstack([Y, A, A[:, i] * A[:, j], products])

    def values(self, found: KernelSums, queries: np.ndarray) -> np.ndarray:
        """Weighted means of targets (m, H, q), or the value of the weighted line at the query."""
        q, p = self.n_targets, queries.shape[1]
        with np.errstate(invalid="ignore", divide="ignore"):
            means = found.sums / found.mass[:, :, None]
        y = means[:, :, :q]
        if self.degree == 0:
            return y
        x = means[:, :, q : q + p]
        i, j = np.triu_indices(p)
        C = np.empty((*means.shape[:2], p, p))
        C[:, :, i, j] = C[:, :, j, i] = means[:, :, q + p : q + p + len(i)]
        size = np.einsum("mhpp->mh", C)[..., None]  # rounding errors are shares of it
        C -= x[..., :, None] * x[..., None, :]
        C[found.mass == 0] = 0.0  # of no rows there are no slopes
        c = means[:, :, q + p + len(i) :].reshape(*means.shape[:2], p, q)
        c = c - x[..., :, None] * y[..., None, :]
        values, vectors = np.linalg.eigh(C)
        known = values > np.maximum(_SINGULAR * values[..., -1:], _ROUNDING * size)
        inverse = np.divide(1.0, values, out=np.zeros_like(values), where=known)
        rotated = np.swapaxes(vectors, 2, 3) @ c
        slopes = vectors @ (inverse[..., None] * rotated)
        gap = (queries - self.origin)[:, None, :] - x
        return y + np.einsum("mhp,mhpq->mhq", gap, slopes)


class KernelSums(NamedTuple):
    """Weighted sums over rows, relative to the largest kernel value of each query."""

    top: np.ndarray  # (m, H) logarithm of the largest kernel value
    mass: np.ndarray  # (m, H) sum of kernel values / exp(top)
    sums: np.ndarray  # (m, H, t) the same of the features

    def merge(self, other: KernelSums) -> KernelSums:
        """The sums over both sets of rows."""
        top = np.maximum(self.top, other.top)
        a, b = (_ratios(part.top, top) for part in (self, other))
        return KernelSums(
            top,
            a * self.mass + b * other.mass,
            a[:, :, None] * self.sums + b[:, :, None] * other.sums,
        )


def _ratios(top: np.ndarray, best: np.ndarray) -> np.ndarray:
    """exp(top - best), 0 where there was nothing."""
    return np.exp(np.where(top > -np.inf, top - np.where(best > -np.inf, best, 0.0), -np.inf))


def kernel_sums(
    chunk: Chunk,
    queries: np.ndarray,
    smoother: Smoother,
    fit: LocalFit,
    numbers: np.ndarray | None,
) -> KernelSums:
    """Sums over the rows of a chunk, for all queries.

    `numbers` are row numbers of queries that are rows of the fit
    themselves: of their own weight, 1 is left out.
    """
    X = chunk.X.astype(np.float64)
    features = fit.features(X, chunk.y)
    shape = len(queries), len(smoother.bandwidths)
    found = KernelSums(
        np.full(shape, -np.inf), np.zeros(shape), np.zeros((*shape, features.shape[1]))
    )
    for first in range(0, len(queries), TILE_ROWS):
        some = slice(first, min(first + TILE_ROWS, len(queries)))
        own = None if numbers is None else numbers[some] - chunk.first
        for j in range(0, len(X), TILE_COLUMNS):
            rows = slice(j, min(j + TILE_COLUMNS, len(X)))
            logs = smoother.log_weights(queries[some], X[rows])
            weights = None if chunk.w is None else chunk.w[rows].astype(np.float64)
            for h, L in enumerate(logs):
                _weigh(L, weights, None if own is None else own - j)
                _add_tile(found, some, h, L, features[rows])
    return found


def _weigh(L: np.ndarray, weights: np.ndarray | None, own: np.ndarray | None) -> None:
    """Add logarithms of weights; rows with the numbers `own` count once less to themselves."""
    w = np.ones(L.shape[1]) if weights is None else weights
    own = np.zeros(0, np.int64) if own is None else own
    queries = np.flatnonzero((own >= 0) & (own < L.shape[1]))
    columns = own[queries]
    kept = L[queries, columns]
    with np.errstate(divide="ignore"):
        if weights is not None:
            L += np.log(w)
        L[queries, columns] = kept + np.log(np.maximum(w[columns] - 1, 0.0))


def _add_tile(found: KernelSums, some: slice, h: int, L: np.ndarray, features: np.ndarray) -> None:
    top, factor, mass = found.top[some, h].copy(), np.empty(len(L)), np.empty(len(L))
    exponentiate_rows(L, top, factor, mass)
    found.top[some, h] = top
    found.mass[some, h] = factor * found.mass[some, h] + mass
    if features.shape[1]:
        found.sums[some, h] = factor[:, None] * found.sums[some, h] + L @ features


def sum_over(
    training: Rows,
    queries: np.ndarray,
    smoother: Smoother,
    fit: LocalFit,
    numbers: np.ndarray | None = None,
) -> KernelSums:
    """The sums over all rows of the fit."""
    Q = np.ascontiguousarray(queries, np.float64)
    return training.total(kernel_sums, Q, smoother, fit, numbers)


def log_volume(kernel: str, h: float, d: int) -> float:
    """Logarithm of the integral of a kernel of bandwidth h over d dimensions."""
    ball = 0.5 * d * log(pi) - lgamma(0.5 * d + 1)
    if kernel == "gaussian":
        factor = 0.5 * d * log(2 * pi)
    elif kernel == "tophat":
        factor = ball
    elif kernel == "epanechnikov":
        factor = ball + log(2 / (d + 2))
    elif kernel == "exponential":
        factor = ball + lgamma(d + 1)
    elif kernel == "linear":
        factor = ball - log(d + 1)
    else:  # the integral of d r^(d - 1) cos(pi r / 2) over 0 <= r <= 1
        nodes, weights = np.polynomial.legendre.leggauss(128)
        r = 0.5 * (nodes + 1)
        factor = ball + log(0.5 * float(weights @ (d * r ** (d - 1) * np.cos(0.5 * pi * r))))
    return factor + d * log(h)
