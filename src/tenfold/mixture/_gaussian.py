r"""Gaussian components: log-densities of rows, sufficient statistics, and the M-step.

.. math:: \log \pi_k \mathcal N(x; \mu_k, \Sigma_k) = \log \pi_k + \log \lvert P_k\rvert
          - \tfrac12 p \log 2\pi - \tfrac12 \lVert P_k^\top (x - \mu_k) \rVert^2

Expanded, the square is linear in the products of columns about a common origin: one matrix product
gives the log-densities of all components, another the moments. This loses digits as the square of
the distance between origin and component, in standard deviations of the component. Where that
distance is large, or where rows are wide, differences are taken component by component.

Shapes use k components, p features and n rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenfold.mixture import _covariance_types, _gaussian_numba
from tenfold.mixture._covariance_types import DIAGONAL_TYPES, log_det_factors
from tenfold.mixture._missing_values import CompleteComponents, MissingValueComponents
from tenfold.mixture._moments import (
    LOG_2PI,
    MAX_SQUARED_DISTANCE,
    ComponentMoments,
    ComponentSums,
    DiagonalMoments,
    PackedMoments,
    SeparateMoments,
    TiedMoments,
    mixture_mean,
    moments_about_means,
    moments_about_origin,
    repeat_weights,
)
from tenfold.mixture._thresholds import MAX_PACKED_COLUMNS, MAX_SINGLE_COLUMNS

EMPTY_WEIGHT = 10 * np.finfo(np.float64).eps  # a component with less weight has lost its rows


class _DiagonalView(NamedTuple):
    """Rows about the origin: beside their squares (n, 2 p), or as columns (p, n)."""

    with_squares: np.ndarray | None
    columns: np.ndarray


class DiagonalComponents(NamedTuple):
    """Components whose columns are independent; entries may be missing (NaN)."""

    log_weights: np.ndarray  # (k,)
    means: np.ndarray  # (k, p), about the origin
    precisions: np.ndarray  # (k, p)
    log_factors: np.ndarray  # (k, p), log of the normalizing factor of each column
    origin: np.ndarray  # (p,)
    offsets: np.ndarray  # (k,)
    coefficients: np.ndarray  # (k, 2 p), of columns and their squares in `log_joint`
    expands: bool  # whether the expanded square is exact enough

    @property
    def values_per_row(self) -> int:
        return len(self.offsets) + self.coefficients.shape[1]

    def prepare(self, X: np.ndarray) -> _DiagonalView:
        n, p = X.shape
        F = np.empty((n, 2 * p))
        D = F[:, :p]
        # Loops of numpy go along the columns, which is slow where they are few.
        parts = [slice(j, j + 1) for j in range(p)] if p <= MAX_SINGLE_COLUMNS else [slice(p)]
        for part in parts:
            np.subtract(X[:, part], self.origin[part], out=D[:, part])
        if not self.expands or np.isnan(D.sum()):
            return _DiagonalView(None, np.ascontiguousarray(D.T))
        for part in parts:
            np.multiply(D[:, part], D[:, part], out=F[:, p:][:, part])
        return _DiagonalView(F, D.T)

    def log_joint(self, view: _DiagonalView) -> np.ndarray:
        if view.with_squares is not None:
            scores = self.coefficients @ view.with_squares.T
            scores += self.offsets[:, None]
            return scores
        F = view.columns
        scores = np.empty((len(self.means), F.shape[1]))
        if np.isnan(F).any():
            state = self.means, self.precisions, self.log_factors, self.log_weights
            _gaussian_numba.observed_scores(F, *state, scores)
        else:
            offsets = self.log_weights + self.log_factors.sum(axis=1)
            _gaussian_numba.diagonal_scores(F, self.means, self.precisions, offsets, scores)
        return scores

    def statistic(self, view: _DiagonalView, R: np.ndarray) -> DiagonalMoments:
        (k, p), M, n = self.means.shape, self.means, R.sum(axis=1)
        if view.with_squares is not None:
            total, weight = R @ view.with_squares, n[:, None]
            squares = total[:, p:] - 2 * M * total[:, :p] + weight * M**2
            both = np.stack([total[:, :p] - weight * M, squares])
            return DiagonalMoments(n, repeat_weights(n, p), both)
        observed, both = np.zeros((k, p)), np.zeros((2, k, p))
        _gaussian_numba.add_observed_moments(view.columns, M, R, observed, *both)
        return DiagonalMoments(n, observed, both)

    def subtract(self, penalty: np.ndarray) -> DiagonalComponents:
        """Components with `log_joint` lower by `penalty`, (k,)."""
        log_weights, offsets = self.log_weights - penalty, self.offsets - penalty
        return self._replace(log_weights=log_weights, offsets=offsets)


def _diagonal_components(
    log_weights: np.ndarray, means: np.ndarray, precisions: np.ndarray, origin: np.ndarray
) -> DiagonalComponents:
    """Components with independent columns."""
    M = means - origin
    linear = precisions * M
    distances = (linear * M).sum(axis=1)
    log_factors = 0.5 * (np.log(precisions) - LOG_2PI)
    offsets = log_weights + log_factors.sum(axis=1) - 0.5 * distances
    coefficients = np.hstack([linear, -0.5 * precisions])
    expands = bool(distances.max() <= MAX_SQUARED_DISTANCE)
    return DiagonalComponents(
        log_weights, M, precisions, log_factors, origin, offsets, coefficients, expands
    )


class PackedComponents(NamedTuple):
    """Components with a covariance each: all at once, by the expanded square."""

    offsets: np.ndarray  # (k,)
    means: np.ndarray  # (k, p)
    origin: np.ndarray  # (p,)
    coefficients: np.ndarray  # (k, p + p (p + 1) / 2), of columns and their products in `log_joint`

    @property
    def values_per_row(self) -> int:
        return len(self.offsets) + self.coefficients.shape[1]

    def prepare(self, X: np.ndarray) -> np.ndarray:
        p, q = X.shape[1], self.coefficients.shape[1]
        F = np.empty((q, len(X)))
        np.subtract(X.T, self.origin[:, None], out=F[:p])
        _gaussian_numba.pair_products(F[:p], F[p:])
        return F

    def log_joint(self, view: np.ndarray) -> np.ndarray:
        scores = self.coefficients @ view
        scores += self.offsets[:, None]
        return scores

    def statistic(self, view: np.ndarray, R: np.ndarray) -> PackedMoments:
        return PackedMoments(R.sum(axis=1), R @ view.T)

    def statistic_from_moments(
        self, n: np.ndarray, sums: np.ndarray, squares: np.ndarray
    ) -> PackedMoments:
        """The statistic from moments about the means."""
        sums, squares = moments_about_origin(n, sums, squares, self.means - self.origin)
        a, b = np.triu_indices(len(self.origin))
        return PackedMoments(n, np.hstack([sums, squares[:, a, b]]))

    def subtract(self, penalty: np.ndarray) -> PackedComponents:
        """Components with `log_joint` lower by `penalty`, (k,)."""
        return self._replace(offsets=self.offsets - penalty)


class SeparateComponents(NamedTuple):
    """Components with a covariance each, or a common one: one after the other."""

    offsets: np.ndarray  # (k,)
    means: np.ndarray  # (k, p)
    factors: np.ndarray  # (k, p, p)

    @property
    def values_per_row(self) -> int:
        return len(self.offsets) + 3 * self.means.shape[1]

    def prepare(self, X: np.ndarray) -> np.ndarray:
        return X

    def log_joint(self, view: np.ndarray) -> np.ndarray:
        scores = np.empty((len(self.offsets), len(view)))
        for k, (mean, factor) in enumerate(zip(self.means, self.factors, strict=True)):
            Y = (view - mean) @ factor
            scores[k] = self.offsets[k] - 0.5 * np.einsum("ij,ij->i", Y, Y)
        return scores

    def statistic(self, view: np.ndarray, R: np.ndarray) -> SeparateMoments:
        k, p = self.means.shape
        both = np.empty((k, p, 1 + p))
        for c, mean in enumerate(self.means):
            D = view - mean
            Z = D * R[c][:, None]
            both[c, :, 0], both[c, :, 1:] = Z.sum(axis=0), Z.T @ D
        return SeparateMoments(R.sum(axis=1), both)

    def statistic_from_moments(
        self, n: np.ndarray, sums: np.ndarray, squares: np.ndarray
    ) -> SeparateMoments:
        """The statistic from moments about the means."""
        return SeparateMoments(n, np.concatenate([sums[:, :, None], squares], axis=2))

    def subtract(self, penalty: np.ndarray) -> SeparateComponents:
        """Components with `log_joint` lower by `penalty`, (k,)."""
        return self._replace(offsets=self.offsets - penalty)


class TiedComponents(NamedTuple):
    """Components that share a covariance: all at once, in whitened coordinates."""

    offsets: np.ndarray  # (k,)
    means: np.ndarray  # (k, p)
    origin: np.ndarray  # (p,)
    factor: np.ndarray  # (p, p)

    @property
    def values_per_row(self) -> int:
        return len(self.offsets) + 3 * self.means.shape[1]

    def prepare(self, X: np.ndarray) -> np.ndarray:
        return X - self.origin

    def log_joint(self, view: np.ndarray) -> np.ndarray:
        Y, M = view @ self.factor, (self.means - self.origin) @ self.factor
        scores = M @ Y.T
        scores += (self.offsets - 0.5 * (M * M).sum(axis=1))[:, None]
        scores -= 0.5 * np.einsum("ij,ij->i", Y, Y)
        return scores

    def statistic(self, view: np.ndarray, R: np.ndarray) -> TiedMoments:
        squares = (view * R.sum(axis=0)[:, None]).T @ view
        return TiedMoments(R.sum(axis=1), np.vstack([R @ view, squares]))

    def statistic_from_moments(
        self, n: np.ndarray, sums: np.ndarray, squares: np.ndarray
    ) -> TiedMoments:
        """The statistic from moments about the means."""
        sums, squares = moments_about_origin(n, sums, squares, self.means - self.origin)
        return TiedMoments(n, np.vstack([sums, squares.sum(axis=0)]))

    def subtract(self, penalty: np.ndarray) -> TiedComponents:
        """Components with `log_joint` lower by `penalty`, (k,)."""
        return self._replace(offsets=self.offsets - penalty)


def gaussian_components(
    weights: np.ndarray, means: np.ndarray, factors: np.ndarray, kind: str
) -> DiagonalComponents | MissingValueComponents:
    """Gaussian components from the triangular factors of their precisions."""
    k, p = means.shape
    origin = mixture_mean(weights, means)
    with np.errstate(divide="ignore"):
        log_weights = np.log(weights)
    if kind in DIAGONAL_TYPES:
        precisions = factors**2 if kind == "diag" else np.repeat(factors[:, None] ** 2, p, axis=1)
        return _diagonal_components(log_weights, means, precisions, origin)
    offsets = log_weights + log_det_factors(factors, kind, p) - 0.5 * p * LOG_2PI
    complete = _correlated_components(offsets, means, factors, origin, kind)
    return MissingValueComponents(complete, offsets, means, np.broadcast_to(factors, (k, p, p)))


def _correlated_components(
    offsets: np.ndarray, means: np.ndarray, factors: np.ndarray, origin: np.ndarray, kind: str
) -> CompleteComponents:
    """Components with any correlations, for rows without missing entries."""
    k, p = means.shape
    offset = ((means - origin)[:, None, :] @ factors)[:, 0]
    distances = (offset**2).sum(axis=1)
    far = distances.max() > MAX_SQUARED_DISTANCE
    if far or (kind == "full" and p >= MAX_PACKED_COLUMNS):
        return SeparateComponents(offsets, means, np.broadcast_to(factors, (k, p, p)))
    if kind == "tied":
        return TiedComponents(offsets, means, origin, factors)
    linear = (factors @ offset[:, :, None])[:, :, 0]
    quadratic = _pack_precisions(factors @ np.swapaxes(factors, 1, 2))
    coefficients = np.hstack([linear, quadratic])
    return PackedComponents(offsets - 0.5 * distances, means, origin, coefficients)


def _pack_precisions(precisions: np.ndarray) -> np.ndarray:
    """Coefficients of the products of pairs of columns in `log_joint`, (k, p (p + 1) / 2)."""
    a, b = np.triu_indices(precisions.shape[-1])
    return precisions[:, a, b] * np.where(a == b, -0.5, -1.0)


class GaussianParameters(NamedTuple):
    """Weights (k,), means (k, p) and covariances of the components."""

    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray


class GaussianFamily(NamedTuple):
    """The `MixtureFamily` of Gaussian components.

    Attributes
    ----------
    kind : covariance type
    reg_covar : added to the variances
    min_variance : lower bound of the variances
    min_seen : a mean moves in a column if its component has observed this much weight there
    fixed_weights, fixed_covariances : whether these stay as they begin
    """

    kind: str
    reg_covar: float = 0.0
    min_variance: float = 0.0
    min_seen: float = 0.0
    fixed_weights: bool = False
    fixed_covariances: bool = False

    def initial_state(self, centers: np.ndarray) -> GaussianParameters:
        """Components of unit variance at the centers."""
        k = len(centers)
        covariances = _covariance_types.unit_covariances(self.kind, *centers.shape)
        return GaussianParameters(np.full(k, 1 / k), centers, covariances)

    def components(self, state: GaussianParameters) -> DiagonalComponents | MissingValueComponents:
        """Components with these parameters."""
        factors = _covariance_types.precision_factors(state.covariances, self.kind)
        return gaussian_components(state.weights, state.means, factors, self.kind)

    def log_prior(self, state: GaussianParameters) -> float:
        """Zero: maximum likelihood."""
        return 0.0

    def m_step(self, state: GaussianParameters, statistic: ComponentSums) -> GaussianParameters:
        """Maximum-likelihood parameters for the responsibilities of the E-step."""
        s = moments_about_means(statistic, state.weights, state.means)
        n = statistic.n + EMPTY_WEIGHT
        update = self._update_diagonal if self.kind in DIAGONAL_TYPES else self._update_correlated
        means, covariances = update(state, s)
        return GaussianParameters(
            state.weights if self.fixed_weights else n / n.sum(),
            means,
            state.covariances if self.fixed_covariances else covariances,
        )

    def _update_correlated(
        self, state: GaussianParameters, s: ComponentMoments
    ) -> tuple[np.ndarray, np.ndarray]:
        """Means, and covariances with any correlations."""
        weight = np.where(s.n > EMPTY_WEIGHT, s.n, 1.0)
        shift = s.sums / weight[:, None]
        if self.kind == "tied":
            squares = s.squares if s.squares.ndim == 2 else s.squares.sum(axis=0)
            return state.means + shift, self._regularize((squares - s.sums.T @ shift) / s.n.sum())
        scatter = s.squares - s.sums[:, :, None] * shift[:, None, :]
        covariances = self._regularize(scatter / weight[:, None, None])
        has_rows = (s.n > EMPTY_WEIGHT)[:, None, None]
        return state.means + shift, np.where(has_rows, covariances, state.covariances)

    def _update_diagonal(
        self, state: GaussianParameters, s: ComponentMoments
    ) -> tuple[np.ndarray, np.ndarray]:
        """Means, and variances along the axes, from the observed entries."""
        observed = s.observed
        moves = (observed > EMPTY_WEIGHT) & (observed >= self.min_seen)
        shift = np.where(moves, s.sums / np.where(moves, observed, 1.0), 0.0)
        squares = s.squares - 2 * shift * s.sums + shift**2 * observed
        if self.kind == "spherical":
            squares, observed = squares.sum(axis=1), observed.sum(axis=1)
        has_rows = observed > EMPTY_WEIGHT
        variances = self._regularize(np.maximum(squares, 0.0) / np.where(has_rows, observed, 1.0))
        return state.means + shift, np.where(has_rows, variances, state.covariances)

    def _regularize(self, covariances: np.ndarray) -> np.ndarray:
        p = covariances.shape[-1]
        ridge = self.reg_covar * (1.0 if self.kind in DIAGONAL_TYPES else np.eye(p))
        return _covariance_types.clip_variances(covariances + ridge, self.kind, self.min_variance)
