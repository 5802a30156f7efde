"""Markov chains side by side: where they are, what they left behind, and how well they mixed."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tenfold.solve.chain_diagnostics import autocorrelation_time, effective_size, split_r_hat

LogDensity = Callable[[np.ndarray], np.ndarray]


class Chains(NamedTuple):
    """Draws of several chains, and how well they mixed.

    Attributes
    ----------
    points : (chains, draws, d) the draws
    log_density : (chains, draws) log of the unnormalised density there
    acceptance : (chains,) share of proposals that were accepted
    step : float, size of the steps after the warm-up

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.solve.mcmc import ensemble
    >>> normal = lambda t: -0.5 * ((t - 3) ** 2).sum(axis=1)
    >>> start = np.random.default_rng(0).normal(size=(20, 1))
    >>> chains = ensemble(normal, start, draws=1000)
    >>> bool(abs(chains.mean[0] - 3) < 0.1), bool(chains.r_hat[0] < 1.05)
    (True, True)
    """

    points: np.ndarray
    log_density: np.ndarray
    acceptance: np.ndarray
    step: float

    @property
    def flat(self) -> np.ndarray:
        """All draws below each other, (chains * draws, d)."""
        return self.points.reshape(-1, self.points.shape[2])

    @property
    def mean(self) -> np.ndarray:
        return self.flat.mean(axis=0)

    @property
    def covariance(self) -> np.ndarray:
        return np.atleast_2d(np.cov(self.flat, rowvar=False))

    @property
    def best(self) -> np.ndarray:
        """The draw of the highest density."""
        return self.flat[self.log_density.argmax()]

    def central_moment(self, order: int) -> np.ndarray:
        """Mean of (theta - mean)^order, entry by entry, (d,)."""
        return ((self.flat - self.mean) ** order).mean(axis=0)

    def expectation(self, f: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Mean of f over all draws; f takes points (m, d) and returns m values or rows."""
        return np.asarray(f(self.flat)).mean(axis=0)

    @property
    def r_hat(self) -> np.ndarray:
        """Split R-hat of each coordinate: near 1 when the chains agree."""
        return split_r_hat(self.points)

    @property
    def effective_size(self) -> np.ndarray:
        """Number of independent draws that would say as much about each mean."""
        return effective_size(self.points)

    @property
    def autocorrelation_time(self) -> np.ndarray:
        """Draws after which a chain has forgotten where it was."""
        return autocorrelation_time(self.points)


class Walk(NamedTuple):
    """Where the chains are: points (m, d), their log-density (m,), accepted moves (m,)."""

    points: np.ndarray
    log_density: np.ndarray
    accepted: np.ndarray

    def moved(self, to: np.ndarray, density: np.ndarray, chosen: np.ndarray) -> Walk:
        """The chains that were `chosen` go where they proposed, the others stay."""
        return Walk(
            np.where(chosen[:, None], to, self.points),
            np.where(chosen, density, self.log_density),
            self.accepted + chosen,
        )


def started(log_density: LogDensity, start: np.ndarray) -> Walk:
    """The chains before their first step."""
    points = np.atleast_2d(np.asarray(start, np.float64))
    density = np.asarray(log_density(points), np.float64)
    if density.shape != (len(points),):
        raise ValueError(
            f"log_density of points {points.shape} must have the shape ({len(points)},), not "
            f"{density.shape}: it takes many points at once"
        )
    if not np.isfinite(density).all():
        raise ValueError("log_density must be finite at all points of `start`")
    return Walk(points, density, np.zeros(len(points), int))


def recorded(
    advance: Callable[[Walk], Walk], walk: Walk, draws: int, thin: int, step: float
) -> Chains:
    """Advance, and keep every `thin`-th state."""
    points = np.empty((len(walk.points), draws, walk.points.shape[1]))
    density = np.empty(points.shape[:2])
    walk = walk._replace(accepted=np.zeros(len(walk.points), int))
    for i in range(draws):
        for _ in range(thin):
            walk = advance(walk)
        points[:, i], density[:, i] = walk.points, walk.log_density
    return Chains(points, density, walk.accepted / (draws * thin), step)
