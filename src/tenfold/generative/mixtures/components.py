r"""Gaussian components as leaves see them: scores of rows, and what rows say about them.

.. math:: \log \pi_k \mathcal N(x; \mu_k, \Sigma_k) = \log \pi_k + \log \lvert P_k\rvert
          - \tfrac12 p \log 2\pi - \tfrac12 \lVert P_k^\top (x - \mu_k) \rVert^2

Written out, the square is linear in the products of columns about a common origin: one product of
matrices gives the scores of all components, another the moments. That loses digits as the square
of the distance between origin and component, in standard deviations of the component. Where this is
far, or where rows are wide, differences are taken component by component.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.generative.mixtures import kernels
from tenfold.generative.mixtures.axes import axis_components
from tenfold.generative.mixtures.gaps import WithGaps
from tenfold.generative.mixtures.moments import (
    FAR,
    LOG_2PI,
    ApartMoments,
    PackedMoments,
    TiedMoments,
    origin_of,
)
from tenfold.generative.mixtures.shapes import log_roots

WIDE = 40  # columns from which products of all pairs cost more than they save


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
        kernels.pair_products(F[:p], F[p:])
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


def components(weights: np.ndarray, means: np.ndarray, factors: np.ndarray, kind: str) -> Any:
    """What leaves need of Gaussians, given the factors of their precisions."""
    k, p = means.shape
    origin = origin_of(weights, means)
    with np.errstate(divide="ignore"):
        log_weights = np.log(weights)
    if kind in ("diag", "spherical"):
        precisions = factors**2 if kind == "diag" else np.repeat(factors[:, None] ** 2, p, axis=1)
        return axis_components(log_weights, means, precisions, origin)
    offsets = log_weights + log_roots(factors, kind, p) - 0.5 * p * LOG_2PI
    each = np.broadcast_to(factors, (k, p, p))
    inner = correlated(offsets, means, factors, origin, kind)
    return WithGaps(inner, offsets, means, each, origin)


def correlated(
    offsets: np.ndarray, means: np.ndarray, factors: np.ndarray, origin: np.ndarray, kind: str
) -> Any:
    """Components with any correlations, for rows without gaps."""
    k, p = means.shape
    away = ((means - origin)[:, None, :] @ factors)[:, 0]
    if (away**2).sum(axis=1).max() > FAR or (kind == "full" and p >= WIDE):
        return ApartComponents(offsets, means, np.broadcast_to(factors, (k, p, p)))
    if kind == "tied":
        return TiedComponents(offsets, means, origin, factors)
    pull = (factors @ away[:, :, None])[:, :, 0]
    table = np.hstack([pull, packed(factors @ np.swapaxes(factors, 1, 2))])
    return PackedComponents(offsets - 0.5 * (away**2).sum(axis=1), means, origin, table)


def packed(precisions: np.ndarray) -> np.ndarray:
    """What products of pairs of columns add to the scores, (k, p (p + 1) / 2)."""
    a, b = np.triu_indices(precisions.shape[-1])
    return precisions[:, a, b] * np.where(a == b, -0.5, -1.0)
