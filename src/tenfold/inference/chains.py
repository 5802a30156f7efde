"""Markov chain draws and their diagnostics: R-hat, effective sample size, autocorrelation time.

Points have the shape (n_chains, n_draws, n_params) everywhere. Definitions follow A. Gelman et al.
(2013), "Bayesian Data Analysis", sections 11.4 and 11.5.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np


def split_r_hat(points: np.ndarray) -> np.ndarray:
    """Split R-hat of each coordinate, (n_params,): 1 when the half chains agree.

    Infinite where every half chain stands still, at different places.

    Examples
    --------
    >>> import numpy as np
    >>> draws = np.random.default_rng(0).normal(size=(4, 1000, 1))
    >>> apart = draws + np.arange(4)[:, None, None]
    >>> bool(split_r_hat(draws)[0] < 1.01), bool(split_r_hat(apart)[0] > 1.3)
    (True, True)
    """
    within, total = _within_and_total_variance(_split_chains(points))
    stuck = np.where(total > 0, np.inf, 1.0)
    return np.sqrt(np.divide(total, within, out=stuck, where=within > 0))


def effective_sample_size(points: np.ndarray) -> np.ndarray:
    """Effective sample size of each coordinate, (n_params,).

    Examples
    --------
    >>> import numpy as np
    >>> draws = np.random.default_rng(0).normal(size=(4, 1000, 1))
    >>> bool(3000 < effective_sample_size(draws)[0] < 5000)
    True
    """
    return points.shape[0] * points.shape[1] / autocorrelation_time(points)


def autocorrelation_time(points: np.ndarray) -> np.ndarray:
    """Integrated autocorrelation time of each coordinate, (n_params,), over all chains.

    The sum 1 + 2 sum_t rho_t is truncated by Geyer's initial monotone sequence.

    Examples
    --------
    That of an autoregression with coefficient 0.5 is (1 + 0.5) / (1 - 0.5) = 3 draws:

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
    decorrelation = np.divide(
        within - covariance, total, out=np.zeros_like(covariance), where=total > 0
    )
    rho = 1 - decorrelation
    rho[0] = 1.0
    pairs = rho[: draws // 2 * 2].reshape(-1, 2, rho.shape[1]).sum(axis=1)
    monotone = np.minimum.accumulate(np.maximum(pairs, 0.0), axis=0)
    lower_bound = 1 / np.log10(10 * points.shape[0] * draws)  # lower bound for antithetic chains
    return np.maximum(2 * monotone.sum(axis=0) - 1, lower_bound)


def autocovariance(points: np.ndarray) -> np.ndarray:
    """Autocovariance of each chain at all lags, (n_chains, n_draws, n_params), by FFT."""
    draws = points.shape[1]
    size = 2 ** int(2 * draws - 1).bit_length()  # zero-padded: no circular wrap-around
    spectrum = np.fft.rfft(points - points.mean(axis=1, keepdims=True), size, axis=1)
    return np.fft.irfft(np.abs(spectrum) ** 2, size, axis=1)[:, :draws] / draws


def _split_chains(points: np.ndarray) -> np.ndarray:
    """Each chain as two of half the length, so that drift shows as disagreement."""
    half = points.shape[1] // 2
    if half < 2:
        raise ValueError(f"at least 4 draws a chain are needed, not {points.shape[1]}")
    return np.concatenate([points[:, :half], points[:, -half:]])


def _within_and_total_variance(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Variance within chains, and the pooled estimate of the variance, both (n_params,)."""
    draws = points.shape[1]
    within = points.var(axis=1, ddof=1).mean(axis=0)
    between = points.mean(axis=1).var(axis=0, ddof=1)
    return within, within * (draws - 1) / draws + between


LogDensity = Callable[[np.ndarray], np.ndarray]


class Chains(NamedTuple):
    """Draws of several chains, and how well they mixed.

    Attributes
    ----------
    points : (n_chains, n_draws, n_params) the draws
    log_density : (n_chains, n_draws) log of the unnormalized density there
    acceptance : (n_chains,) share of accepted proposals
    step : float, step size after the warm-up

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
        """All draws as rows, (n_chains * n_draws, n_params)."""
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
        """Central moment of each coordinate, (n_params,)."""
        return ((self.flat - self.mean) ** order).mean(axis=0)

    def expectation(self, f: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Mean of f over all draws; f maps points (m, n_params) to m values or rows."""
        return np.asarray(f(self.flat)).mean(axis=0)

    @property
    def r_hat(self) -> np.ndarray:
        """Split R-hat of each coordinate: near 1 when the chains agree."""
        return split_r_hat(self.points)

    @property
    def effective_sample_size(self) -> np.ndarray:
        """Number of independent draws that would estimate each mean as precisely."""
        return effective_sample_size(self.points)

    @property
    def autocorrelation_time(self) -> np.ndarray:
        """Integrated autocorrelation time of each coordinate, in draws."""
        return autocorrelation_time(self.points)


class ChainState(NamedTuple):
    """Current points (m, d) of m chains, their log-density (m,), and accepted proposals (m,)."""

    points: np.ndarray
    log_density: np.ndarray
    accepted: np.ndarray

    def accept(self, proposal: np.ndarray, density: np.ndarray, accepted: np.ndarray) -> ChainState:
        """Move the `accepted` chains to their proposals; the others stay."""
        return ChainState(
            np.where(accepted[:, None], proposal, self.points),
            np.where(accepted, density, self.log_density),
            self.accepted + accepted,
        )


def init_chains(log_density: LogDensity, x0: np.ndarray) -> ChainState:
    """The chains at their initial points."""
    points = np.atleast_2d(np.asarray(x0, np.float64))
    density = np.asarray(log_density(points), np.float64)
    if density.shape != (len(points),):
        raise ValueError(
            f"log_density of points {points.shape} must have the shape ({len(points)},), not "
            f"{density.shape}: it is evaluated at many points at once"
        )
    if not np.isfinite(density).all():
        raise ValueError("log_density must be finite at all initial points")
    return ChainState(points, density, np.zeros(len(points), int))


def record_draws(
    advance: Callable[[ChainState], ChainState],
    state: ChainState,
    draws: int,
    thin: int,
    step: float,
) -> Chains:
    """Advance the chains and record every `thin`-th state."""
    points = np.empty((len(state.points), draws, state.points.shape[1]))
    density = np.empty(points.shape[:2])
    state = state._replace(accepted=np.zeros(len(state.points), int))
    for i in range(draws):
        for _ in range(thin):
            state = advance(state)
        points[:, i], density[:, i] = state.points, state.log_density
    return Chains(points, density, state.accepted / (draws * thin), step)
