"""Gaussian components: log-densities of rows, sufficient statistics, and the M-step."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.mixture import _covariance_types, _gaussian_numba
from tenfold.mixture._covariance_types import log_det_factors
from tenfold.mixture._missing_values import MissingValueComponents
from tenfold.mixture._moments import (
    LOG_2PI,
    MAX_SQUARED_DISTANCE,
    ApartMoments,
    ComponentMoments,
    DiagonalMoments,
    PackedMoments,
    TiedMoments,
    mixture_mean,
    moments_about_means,
    repeat_weights,
)


class _DiagonalView(NamedTuple):
    """Rows about the origin: beside their squares (n, 2 p), or as columns (p, n)."""

    squares: Any
    columns: Any


class _DiagonalComponents(NamedTuple):
    """Components whose columns are independent; entries may be missing (NaN)."""

    log_weights: np.ndarray  # (k,)
    means: np.ndarray  # (k, p), about the origin
    precisions: np.ndarray  # (k, p)
    constants: np.ndarray  # (k, p), what an entry adds to the score if it is there
    origin: np.ndarray  # (p,)
    offsets: np.ndarray  # (k,)
    table: np.ndarray  # (k, 2 p), what columns and their squares add to the scores
    near: bool  # whether the table is exact enough

    @property
    def numbers(self) -> int:
        return len(self.offsets) + self.table.shape[1]

    def view(self, X: np.ndarray) -> _DiagonalView:
        n, p = X.shape
        G = np.empty((n, 2 * p))
        D = np.subtract(X, self.origin, out=G[:, :p])
        if not self.near or np.isnan(D.sum()):
            return _DiagonalView(None, np.ascontiguousarray(D.T))
        np.multiply(D, D, out=G[:, p:])
        return _DiagonalView(G, None)

    def scores(self, view: _DiagonalView) -> np.ndarray:
        if view.squares is not None:
            scores = self.table @ view.squares.T
            scores += self.offsets[:, None]
            return scores
        F = view.columns
        scores = np.empty((len(self.means), F.shape[1]))
        if np.isnan(F).any():
            state = self.means, self.precisions, self.constants, self.log_weights
            _gaussian_numba.observed_scores(F, *state, scores)
        else:
            offsets = self.log_weights + self.constants.sum(axis=1)
            _gaussian_numba.diagonal_scores(F, self.means, self.precisions, offsets, scores)
        return scores

    def statistic(self, view: _DiagonalView, R: np.ndarray) -> DiagonalMoments:
        (k, p), M, n = self.means.shape, self.means, R.sum(axis=1)
        if view.squares is not None:
            total, many = R @ view.squares, n[:, None]
            squares = total[:, p:] - 2 * M * total[:, :p] + many * M**2
            both = np.stack([total[:, :p] - many * M, squares])
            return DiagonalMoments(n, repeat_weights(n, p), both)
        seen, both = np.zeros((k, p)), np.zeros((2, k, p))
        _gaussian_numba.add_observed_moments(view.columns, M, R, seen, *both)
        return DiagonalMoments(n, seen, both)


def _diagonal_components(
    log_weights: np.ndarray, means: np.ndarray, precisions: np.ndarray, origin: np.ndarray
) -> _DiagonalComponents:
    """Components with independent columns."""
    M = means - origin
    pull = precisions * M
    away = (pull * M).sum(axis=1)
    constants = 0.5 * (np.log(precisions) - LOG_2PI)
    offsets = log_weights + constants.sum(axis=1) - 0.5 * away
    table = np.hstack([pull, -0.5 * precisions])
    near = bool(away.max() <= MAX_SQUARED_DISTANCE)
    return _DiagonalComponents(log_weights, M, precisions, constants, origin, offsets, table, near)


_MAX_PACKED_COLUMNS = 40  # columns from which products of all pairs cost more than they save


class PackedComponents(NamedTuple):
    """Components with a covariance each: all at once, about an origin."""

    offsets: np.ndarray  # (k,)
    means: np.ndarray  # (k, p)
    origin: np.ndarray  # (p,)
    table: np.ndarray  # (k, p + p (p + 1) / 2), what columns and their products add to the scores

    @property
    def numbers(self) -> int:
        return len(self.offsets) + self.table.shape[1]

    def view(self, X: np.ndarray) -> np.ndarray:
        p, q = X.shape[1], self.table.shape[1]
        F = np.empty((q, len(X)))
        np.subtract(X.T, self.origin[:, None], out=F[:p])
        _gaussian_numba.pair_products(F[:p], F[p:])
        return F

    def scores(self, F: np.ndarray) -> np.ndarray:
        scores = self.table @ F
        scores += self.offsets[:, None]
        return scores

    def statistic(self, F: np.ndarray, R: np.ndarray) -> PackedMoments:
        return PackedMoments(R.sum(axis=1), R @ F.T)


class ApartComponents(NamedTuple):
    """Components with a covariance each, or a common one: one after the other."""

    offsets: np.ndarray  # (k,)
    means: np.ndarray  # (k, p)
    factors: np.ndarray  # (k, p, p)

    @property
    def numbers(self) -> int:
        return len(self.offsets) + 3 * self.means.shape[1]

    def view(self, X: np.ndarray) -> np.ndarray:
        return X

    def scores(self, X: np.ndarray) -> np.ndarray:
        scores = np.empty((len(self.offsets), len(X)))
        for k, (mean, factor) in enumerate(zip(self.means, self.factors, strict=True)):
            Y = (X - mean) @ factor
            scores[k] = self.offsets[k] - 0.5 * np.einsum("ij,ij->i", Y, Y)
        return scores

    def statistic(self, X: np.ndarray, R: np.ndarray) -> ApartMoments:
        k, p = self.means.shape
        both = np.empty((k, p, 1 + p))
        for c, mean in enumerate(self.means):
            D = X - mean
            Z = D * R[c][:, None]
            both[c, :, 0], both[c, :, 1:] = Z.sum(axis=0), Z.T @ D
        return ApartMoments(R.sum(axis=1), both)


class TiedComponents(NamedTuple):
    """Components that share a covariance: all at once, in the coordinates where it is 1."""

    offsets: np.ndarray  # (k,)
    means: np.ndarray  # (k, p)
    origin: np.ndarray  # (p,)
    factor: np.ndarray  # (p, p)

    @property
    def numbers(self) -> int:
        return len(self.offsets) + 3 * self.means.shape[1]

    def view(self, X: np.ndarray) -> np.ndarray:
        return X - self.origin

    def scores(self, D: np.ndarray) -> np.ndarray:
        Y, M = D @ self.factor, (self.means - self.origin) @ self.factor
        scores = M @ Y.T
        scores += (self.offsets - 0.5 * (M * M).sum(axis=1))[:, None]
        scores -= 0.5 * np.einsum("ij,ij->i", Y, Y)
        return scores

    def statistic(self, D: np.ndarray, R: np.ndarray) -> TiedMoments:
        squares = (D * R.sum(axis=0)[:, None]).T @ D
        return TiedMoments(R.sum(axis=1), np.vstack([R @ D, squares]))


def gaussian_components(
    weights: np.ndarray, means: np.ndarray, factors: np.ndarray, kind: str
) -> Any:
    """What leaves need of Gaussians, given the factors of their precisions."""
    k, p = means.shape
    origin = mixture_mean(weights, means)
    with np.errstate(divide="ignore"):
        log_weights = np.log(weights)
    if kind in ("diag", "spherical"):
        precisions = factors**2 if kind == "diag" else np.repeat(factors[:, None] ** 2, p, axis=1)
        return _diagonal_components(log_weights, means, precisions, origin)
    offsets = log_weights + log_det_factors(factors, kind, p) - 0.5 * p * LOG_2PI
    each = np.broadcast_to(factors, (k, p, p))
    inner = _correlated_components(offsets, means, factors, origin, kind)
    return MissingValueComponents(inner, offsets, means, each, origin)


def _correlated_components(
    offsets: np.ndarray, means: np.ndarray, factors: np.ndarray, origin: np.ndarray, kind: str
) -> Any:
    """Components with any correlations, for rows without gaps."""
    k, p = means.shape
    away = ((means - origin)[:, None, :] @ factors)[:, 0]
    if (away**2).sum(axis=1).max() > MAX_SQUARED_DISTANCE or (
        kind == "full" and p >= _MAX_PACKED_COLUMNS
    ):
        return ApartComponents(offsets, means, np.broadcast_to(factors, (k, p, p)))
    if kind == "tied":
        return TiedComponents(offsets, means, origin, factors)
    pull = (factors @ away[:, :, None])[:, :, 0]
    table = np.hstack([pull, _pack_precisions(factors @ np.swapaxes(factors, 1, 2))])
    return PackedComponents(offsets - 0.5 * (away**2).sum(axis=1), means, origin, table)


def _pack_precisions(precisions: np.ndarray) -> np.ndarray:
    """What products of pairs of columns add to the scores, (k, p (p + 1) / 2)."""
    a, b = np.triu_indices(precisions.shape[-1])
    return precisions[:, a, b] * np.where(a == b, -0.5, -1.0)


EMPTY_WEIGHT = 10 * np.finfo(np.float64).eps  # weight of a component that has lost its rows
_DIAGONAL_TYPES = ("diag", "spherical")  # shapes of covariances without correlations


class GaussianParameters(NamedTuple):
    """Weights (k,), means (k, p) and covariances of the components."""

    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray


class GaussianFamily(NamedTuple):
    """How Gaussian components learn.

    Attributes
    ----------
    kind : shape of the covariances
    reg_covar : added to the variances
    min_variance : variances are not smaller than this
    min_seen : a mean moves in a column if its component has seen this much of it
    """

    kind: str
    reg_covar: float = 0.0
    min_variance: float = 0.0
    min_seen: float = 0.0

    def initial_state(self, centres: np.ndarray) -> GaussianParameters:
        """Components about which the first rows are summed."""
        k = len(centres)
        return GaussianParameters(
            np.full(k, 1 / k),
            centres,
            _covariance_types.unit_covariances(self.kind, *centres.shape),
        )

    def components(self, g: GaussianParameters) -> Any:
        """What leaves need."""
        factors = _covariance_types.precision_factors(g.covariances, self.kind)
        return gaussian_components(g.weights, g.means, factors, self.kind)

    def log_prior(self, g: GaussianParameters) -> float:
        """Nothing: the likelihood alone counts."""
        return 0.0

    def m_step(self, g: GaussianParameters, s: Any) -> GaussianParameters:
        """The M-step: the most likely components of the rows as they were given to them."""
        s, n = moments_about_means(s, g.weights, g.means), s.n + EMPTY_WEIGHT
        means, covariances = (self._by_axis if self.kind in _DIAGONAL_TYPES else self._whole)(g, s)
        return GaussianParameters(n / n.sum(), means, covariances)

    def _whole(self, g: GaussianParameters, s: ComponentMoments) -> tuple[np.ndarray, np.ndarray]:
        """Means and covariances with any correlations."""
        there = np.where(s.n > EMPTY_WEIGHT, s.n, 1.0)
        shift = s.sums / there[:, None]
        if self.kind == "tied":
            squares = s.squares if s.squares.ndim == 2 else s.squares.sum(axis=0)
            return g.means + shift, self._regular((squares - s.sums.T @ shift) / s.n.sum())
        scatter = s.squares - s.sums[:, :, None] * shift[:, None, :]
        fitted = self._regular(scatter / there[:, None, None])
        alive = (s.n > EMPTY_WEIGHT)[:, None, None]
        return g.means + shift, np.where(alive, fitted, g.covariances)

    def _by_axis(self, g: GaussianParameters, s: ComponentMoments) -> tuple[np.ndarray, np.ndarray]:
        """Means and variances along the axes, from the entries that are there."""
        seen = s.seen
        moves = (seen > EMPTY_WEIGHT) & (seen >= self.min_seen)
        shift = np.where(moves, s.sums / np.where(moves, seen, 1.0), 0.0)
        squares = s.squares - 2 * shift * s.sums + shift**2 * seen
        if self.kind == "spherical":
            squares, seen = squares.sum(axis=1), seen.sum(axis=1)
        alive = seen > EMPTY_WEIGHT
        fitted = self._regular(np.maximum(squares, 0.0) / np.where(alive, seen, 1.0))
        return g.means + shift, np.where(alive, fitted, g.covariances)

    def _regular(self, covariances: np.ndarray) -> np.ndarray:
        p = covariances.shape[-1]
        ridge = self.reg_covar * (1.0 if self.kind in _DIAGONAL_TYPES else np.eye(p))
        return _covariance_types.clip_variances(covariances + ridge, self.kind, self.min_variance)
