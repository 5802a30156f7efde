"""Markov chain draws and their diagnostics: R-hat, effective sample size, autocorrelation time."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np


def split_r_hat(points: np.ndarray) -> np.ndarray:
    """Spread of all draws over the spread within half chains, (d,): 1 when the halves agree.

    Examples
    --------
    >>> import numpy as np
    >>> draws = np.random.default_rng(0).normal(size=(4, 1000, 1))
    >>> apart = draws + np.arange(4)[:, None, None]
    >>> bool(split_r_hat(draws)[0] < 1.01), bool(split_r_hat(apart)[0] > 1.3)
    (True, True)
    """
    within, total = _within_and_total_variance(_split_chains(points))
    return np.sqrt(np.divide(total, within, out=np.ones_like(total), where=within > 0))


def effective_sample_size(points: np.ndarray) -> np.ndarray:
    """Independent draws that know each mean as well as these, (d,).

    Examples
    --------
    >>> import numpy as np
    >>> draws = np.random.default_rng(0).normal(size=(4, 1000, 1))
    >>> bool(3000 < effective_sample_size(draws)[0] < 5000)
    True
    """
    return points.shape[0] * points.shape[1] / autocorrelation_time(points)


def autocorrelation_time(points: np.ndarray) -> np.ndarray:
    """1 + twice the sum of the autocorrelations of all chains together, (d,).

    The sum ends where pairs of neighbours stop falling (Geyer's initial monotone sequence).

    Examples
    --------
    An autoregression with coefficient 0.5 forgets in (1 + 0.5) / (1 - 0.5) = 3 draws:

    >>> import numpy as np
    >>> from scipy.signal import lfilter
    >>> noise = np.random.default_rng(0).normal(size=(4, 20_000, 1))
    >>> round(float(autocorrelation_time(lfilter([1], [1, -0.5], noise, axis=1))[0]), 1)
    3.0
    """
    points = _split_chains(points)
    within, total = _within_and_total_variance(points)
    draws = points.shape[1]
    covariance = autocovariance(points).mean(axis=0) * draws / (draws - 1)
    lost = np.divide(
        within - covariance, total, out=np.zeros_like(covariance), where=total > 0
    )  # of what a draw knows about one that lies so many draws away
    rho = 1 - lost
    rho[0] = 1.0
    pairs = rho[: draws // 2 * 2].reshape(-1, 2, rho.shape[1]).sum(axis=1)
    falling = np.minimum.accumulate(np.maximum(pairs, 0.0), axis=0)
    least = 1 / np.log10(10 * points.shape[0] * draws)  # chains that overshoot: not below this
    return np.maximum(2 * falling.sum(axis=0) - 1, least)


def autocovariance(points: np.ndarray) -> np.ndarray:
    """Autocovariance of each chain at all lags, (chains, draws, d), by Fourier transforms."""
    draws = points.shape[1]
    size = 2 ** int(2 * draws - 1).bit_length()  # twice as long: nothing wraps around
    spectrum = np.fft.rfft(points - points.mean(axis=1, keepdims=True), size, axis=1)
    return np.fft.irfft(np.abs(spectrum) ** 2, size, axis=1)[:, :draws] / draws


def _split_chains(points: np.ndarray) -> np.ndarray:
    """Each chain as two chains of half the length: a chain that drifts then disagrees."""
    half = points.shape[1] // 2
    if half < 2:
        raise ValueError(f"at least 4 draws a chain are needed, not {points.shape[1]}")
    return np.concatenate([points[:, :half], points[:, -half:]])


def _within_and_total_variance(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Variance within chains, and an estimate of that of the density, both (d,)."""
    draws = points.shape[1]
    within = points.var(axis=1, ddof=1).mean(axis=0)
    between = points.mean(axis=1).var(axis=0, ddof=1)
    return within, within * (draws - 1) / draws + between


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
    >>> from tenfold.inference.mcmc import ensemble_sampler
    >>> normal = lambda t: -0.5 * ((t - 3) ** 2).sum(axis=1)
    >>> start = np.random.default_rng(0).normal(size=(20, 1))
    >>> chains = ensemble_sampler(normal, start, draws=1000)
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
    def effective_sample_size(self) -> np.ndarray:
        """Number of independent draws that would say as much about each mean."""
        return effective_sample_size(self.points)

    @property
    def autocorrelation_time(self) -> np.ndarray:
        """Draws after which a chain has forgotten where it was."""
        return autocorrelation_time(self.points)


class ChainState(NamedTuple):
    """Where the chains are: points (m, d), their log-density (m,), accepted moves (m,)."""

    points: np.ndarray
    log_density: np.ndarray
    accepted: np.ndarray

    def accept(self, to: np.ndarray, density: np.ndarray, chosen: np.ndarray) -> ChainState:
        """The chains that were `chosen` go where they proposed, the others stay."""
        return ChainState(
            np.where(chosen[:, None], to, self.points),
            np.where(chosen, density, self.log_density),
            self.accepted + chosen,
        )


def init_chains(log_density: LogDensity, start: np.ndarray) -> ChainState:
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
    return ChainState(points, density, np.zeros(len(points), int))


def record_draws(
    advance: Callable[[ChainState], ChainState],
    walk: ChainState,
    draws: int,
    thin: int,
    step: float,
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
