"""Gaussian components: where the statistics of a round move them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.generative.mixtures import shapes
from tenfold.generative.mixtures.components import components
from tenfold.generative.mixtures.moments import Moments, about_means

NOBODY = 10 * np.finfo(np.float64).eps  # weight of a component that has lost its rows
BY_AXIS = ("diag", "spherical")  # shapes of covariances without correlations


class Gaussians(NamedTuple):
    """Weights (k,), means (k, p) and covariances of the components."""

    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray


class Family(NamedTuple):
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

    def blank(self, centres: np.ndarray) -> Gaussians:
        """Components about which the first rows are summed."""
        k = len(centres)
        return Gaussians(np.full(k, 1 / k), centres, shapes.unit(self.kind, *centres.shape))

    def components(self, g: Gaussians) -> Any:
        """What leaves need."""
        factors = shapes.factors_of(g.covariances, self.kind)
        return components(g.weights, g.means, factors, self.kind)

    def log_prior(self, g: Gaussians) -> float:
        """Nothing: the likelihood alone counts."""
        return 0.0

    def moved(self, g: Gaussians, s: Any) -> Gaussians:
        """The M-step: the most likely components of the rows as they were given to them."""
        s, n = about_means(s, g.weights, g.means), s.n + NOBODY
        means, covariances = (self._by_axis if self.kind in BY_AXIS else self._whole)(g, s)
        return Gaussians(n / n.sum(), means, covariances)

    def _whole(self, g: Gaussians, s: Moments) -> tuple[np.ndarray, np.ndarray]:
        """Means and covariances with any correlations."""
        there = np.where(s.n > NOBODY, s.n, 1.0)
        shift = s.sums / there[:, None]
        if self.kind == "tied":
            squares = s.squares if s.squares.ndim == 2 else s.squares.sum(axis=0)
            return g.means + shift, self._regular((squares - s.sums.T @ shift) / s.n.sum())
        scatter = s.squares - s.sums[:, :, None] * shift[:, None, :]
        fitted = self._regular(scatter / there[:, None, None])
        alive = (s.n > NOBODY)[:, None, None]
        return g.means + shift, np.where(alive, fitted, g.covariances)

    def _by_axis(self, g: Gaussians, s: Moments) -> tuple[np.ndarray, np.ndarray]:
        """Means and variances along the axes, from the entries that are there."""
        seen = s.seen
        moves = (seen > NOBODY) & (seen >= self.min_seen)
        shift = np.where(moves, s.sums / np.where(moves, seen, 1.0), 0.0)
        squares = s.squares - 2 * shift * s.sums + shift**2 * seen
        if self.kind == "spherical":
            squares, seen = squares.sum(axis=1), seen.sum(axis=1)
        alive = seen > NOBODY
        fitted = self._regular(np.maximum(squares, 0.0) / np.where(alive, seen, 1.0))
        return g.means + shift, np.where(alive, fitted, g.covariances)

    def _regular(self, covariances: np.ndarray) -> np.ndarray:
        p = covariances.shape[-1]
        ridge = self.reg_covar * (1.0 if self.kind in BY_AXIS else np.eye(p))
        return shapes.at_least(covariances + ridge, self.kind, self.min_variance)
