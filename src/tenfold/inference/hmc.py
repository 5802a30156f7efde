"""Hamiltonian Monte Carlo with leapfrog integration and dual-averaging step-size adaptation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tenfold.inference.chains import Chains, ChainState, init_chains, record_draws

LogDensityAndGradient = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]

_INITIAL_STEP_SIZE = 0.1  # in units of the scale of each coordinate
_MAX_LEAPFROG_STEPS = 200  # per trajectory
_STEP_SIZE_JITTER = 0.2  # relative; avoids periodic trajectories


def hamiltonian_monte_carlo(
    log_density: LogDensityAndGradient,
    x0: np.ndarray,
    *,
    draws: int = 1000,
    warmup: int = 500,
    thin: int = 1,
    path: float = 1.5,
    accept: float = 0.8,
    seed: int = 0,
) -> Chains:
    """Hamiltonian Monte Carlo with leapfrog steps, for all chains at once.

    During warm-up, dual averaging tunes the step size to the acceptance probability asked for, and
    all chains together estimate the scale of each coordinate.

    Parameters
    ----------
    log_density : callable
        Points (n_chains, n_params) to the log-density (n_chains,), up to a constant, and its
        gradient (n_chains, n_params).
    x0 : array of shape (n_chains, n_params)
        Initial point of each chain.
    draws, warmup : int
        Draws to keep, and trajectories before the first.
    thin : int
        Trajectories per draw.
    path : float
        Length of a trajectory in standard deviations; a quarter of a period, pi / 2, is good.
    accept : float
        Target of the mean acceptance probability.
    seed : int
        Seed of all random numbers.

    Returns
    -------
    Chains

    See Also
    --------
    metropolis : Random walk, without gradients.
    ensemble_sampler : Affine-invariant, without gradients.

    References
    ----------
    R. M. Neal (2011), "MCMC using Hamiltonian dynamics".

    M. D. Hoffman and A. Gelman (2014), "The No-U-Turn sampler", Journal of Machine Learning
    Research 15.

    Examples
    --------
    >>> import numpy as np
    >>> wide = np.array([1.0, 30.0])
    >>> f = lambda t: (-0.5 * ((t / wide) ** 2).sum(axis=1), -t / wide**2)
    >>> chains = hamiltonian_monte_carlo(f, np.ones((4, 2)), draws=500)
    >>> bool((chains.r_hat < 1.02).all()), bool((chains.effective_sample_size > 1000).all())
    (True, True)
    """
    rng = np.random.default_rng(seed)
    state = init_chains(lambda points: log_density(points)[0], x0)
    scale, step = np.ones(state.points.shape[1]), DualAveraging.initial(_INITIAL_STEP_SIZE)
    past: list[np.ndarray] = []
    for i in range(warmup):
        state, probability = _hmc_transition(
            log_density, state, step.current, scale, path=path, rng=rng
        )
        step = step.update(float(probability.mean()), accept)
        past.append(state.points)
        if i + 1 in {warmup // 4, warmup // 2, 3 * warmup // 4}:
            recent = np.concatenate(past[len(past) // 2 :])
            scale = np.maximum(recent.std(axis=0), 1e-8 * scale)
            step = DualAveraging.initial(_INITIAL_STEP_SIZE)
    step_size = step.averaged if warmup else step.current

    def advance(state: ChainState) -> ChainState:
        return _hmc_transition(log_density, state, step_size, scale, path=path, rng=rng)[0]

    return record_draws(advance, state, draws, thin, step_size)


class DualAveraging(NamedTuple):
    """Dual averaging of the log step size (Hoffman and Gelman 2014, section 3.2).

    Attributes
    ----------
    center : log step size that the iterates shrink to
    t : number of updates
    error : running mean of target minus observed acceptance
    current, averaged : step size to try next, and average of the step sizes
    """

    center: float
    t: int
    error: float
    current: float
    averaged: float

    @classmethod
    def initial(cls, step: float) -> DualAveraging:
        return cls(float(np.log(10 * step)), 0, 0.0, step, step)

    def update(self, observed: float, target: float) -> DualAveraging:
        """The state after a trajectory with acceptance probability `observed`."""
        t = self.t + 1
        error = self.error + (target - observed - self.error) / (t + 10)
        log_step = self.center - np.sqrt(t) / 0.05 * error
        weight = t**-0.75
        log_averaged = weight * log_step + (1 - weight) * np.log(self.averaged)
        return DualAveraging(
            self.center, t, error, float(np.exp(log_step)), float(np.exp(log_averaged))
        )


def _hmc_transition(
    log_density: LogDensityAndGradient,
    state: ChainState,
    step: float,
    scale: np.ndarray,
    *,
    path: float,
    rng: np.random.Generator,
) -> tuple[ChainState, np.ndarray]:
    """The chains after one trajectory each, and their acceptance probabilities."""
    m, d = state.points.shape
    momentum = rng.standard_normal((m, d))
    steps = int(np.clip(np.ceil(path / step), 1, _MAX_LEAPFROG_STEPS))
    step_vector = step * (1 + _STEP_SIZE_JITTER * rng.uniform(-1, 1)) * scale
    with np.errstate(over="ignore", invalid="ignore"):  # too long a step overflows
        proposal, density, end_momentum = leapfrog(
            log_density, state.points, momentum, step_vector, steps
        )
        log_ratio = density - state.log_density + 0.5 * (momentum**2 - end_momentum**2).sum(axis=1)
    log_ratio = np.where(np.isnan(log_ratio), -np.inf, log_ratio)
    accepted = np.log(rng.random(m)) < log_ratio
    return state.accept(proposal, density, accepted), np.exp(np.minimum(log_ratio, 0.0))


def leapfrog(
    log_density: LogDensityAndGradient,
    points: np.ndarray,
    momentum: np.ndarray,
    step_vector: np.ndarray,
    steps: int,
) -> tuple[np.ndarray, Any, np.ndarray]:
    """Leapfrog integrator: symplectic and time-reversible."""
    density, gradient = log_density(points)
    momentum = momentum + 0.5 * step_vector * gradient
    for i in range(steps):
        points = points + step_vector * momentum
        density, gradient = log_density(points)
        momentum = momentum + (1.0 if i + 1 < steps else 0.5) * step_vector * gradient
    return points, density, momentum
