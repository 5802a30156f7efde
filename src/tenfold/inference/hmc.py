"""Hamiltonian Monte Carlo with leapfrog integration and dual-averaging step-size adaptation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tenfold.inference.chains import Chains, ChainState, init_chains, record_draws

LogDensityAndGradient = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]

_INITIAL_STEP_SIZE = 0.1  # in units of the scale of each coordinate
_MAX_LEAPFROG_STEPS = 200  # of one path
_STEP_SIZE_JITTER = 0.2  # share by which the step varies, so that no path closes on itself


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

    While warming up, dual averaging (Hoffman and Gelman 2014) finds the step that is accepted as
    often as asked, and all chains together learn the scale of each coordinate.

    Parameters
    ----------
    log_density : callable
        Points (m, d) to the log-density (m,), up to a constant, and its slope (m, d).
    start : (m, d) array
        Where each of the m chains starts.
    draws, warmup : int
        Draws to keep, and paths before the first.
    thin : int
        Paths from one draw to the next.
    path : float
        Length of a path in standard deviations; a quarter of a turn, pi / 2, is good.
    accept : float
        Mean probability of acceptance that the step is tuned for.
    seed : int
        Seed of all random numbers.

    Returns
    -------
    Chains

    Examples
    --------
    >>> import numpy as np
    >>> wide = np.array([1.0, 30.0])
    >>> f = lambda t: (-0.5 * ((t / wide) ** 2).sum(axis=1), -t / wide**2)
    >>> chains = hamiltonian_monte_carlo(f, np.ones((4, 2)), draws=500)
    >>> bool((chains.r_hat < 1.02).all()), bool((chains.effective_size > 1000).all())
    (True, True)
    """
    rng = np.random.default_rng(seed)
    walk = init_chains(lambda points: log_density(points)[0], x0)
    scale, step = np.ones(walk.points.shape[1]), DualAveraging.first(_INITIAL_STEP_SIZE)
    past: list[np.ndarray] = []
    for i in range(warmup):
        walk, chance = _hmc_transition(log_density, walk, step.now, scale, path=path, rng=rng)
        step = step.update(float(chance.mean()), accept)
        past.append(walk.points)
        if i + 1 in {warmup // 4, warmup // 2, 3 * warmup // 4}:
            seen = np.concatenate(past[len(past) // 2 :])
            scale, step = (
                np.maximum(seen.std(axis=0), 1e-8 * scale),
                DualAveraging.first(_INITIAL_STEP_SIZE),
            )
    settled = step.settled if warmup else step.now

    def advance(walk: ChainState) -> ChainState:
        return _hmc_transition(log_density, walk, settled, scale, path=path, rng=rng)[0]

    return record_draws(advance, walk, draws, thin, settled)


class DualAveraging(NamedTuple):
    """Dual averaging of the log of the step: quick at first, then settling to an average."""

    centre: float
    round: int
    lack: float  # running mean of (wanted - seen) acceptance
    now: float
    settled: float

    @classmethod
    def first(cls, step: float) -> DualAveraging:
        return cls(float(np.log(10 * step)), 0, 0.0, step, step)

    def update(self, seen: float, wanted: float) -> DualAveraging:
        """The tuning after a path that was accepted with probability `seen`."""
        t = self.round + 1
        lack = self.lack + (wanted - seen - self.lack) / (t + 10)
        log_step = self.centre - np.sqrt(t) / 0.05 * lack
        share = t**-0.75
        settled = share * log_step + (1 - share) * np.log(self.settled)
        return DualAveraging(self.centre, t, lack, float(np.exp(log_step)), float(np.exp(settled)))


def _hmc_transition(
    log_density: LogDensityAndGradient,
    walk: ChainState,
    step: float,
    scale: np.ndarray,
    *,
    path: float,
    rng: np.random.Generator,
) -> tuple[ChainState, np.ndarray]:
    """The chains after one path each, and the probabilities with which they took it."""
    m, d = walk.points.shape
    momentum = rng.standard_normal((m, d))
    steps = int(np.clip(np.ceil(path / step), 1, _MAX_LEAPFROG_STEPS))
    stride = step * (1 + _STEP_SIZE_JITTER * rng.uniform(-1, 1)) * scale
    with np.errstate(over="ignore", invalid="ignore"):  # too long a step leaves all numbers behind
        to, density, end = leapfrog(log_density, walk.points, momentum, stride, steps)
        gain = density - walk.log_density + 0.5 * (momentum**2 - end**2).sum(axis=1)
    gain = np.where(np.isnan(gain), -np.inf, gain)
    chosen = np.log(rng.random(m)) < gain
    return walk.accept(to, density, chosen), np.exp(np.minimum(gain, 0.0))


def leapfrog(
    log_density: LogDensityAndGradient,
    points: np.ndarray,
    momentum: np.ndarray,
    stride: np.ndarray,
    steps: int,
) -> tuple[np.ndarray, Any, np.ndarray]:
    """Half a push, then slides and pushes in turn: reversible, and it keeps volumes."""
    density, slope = log_density(points)
    momentum = momentum + 0.5 * stride * slope
    for i in range(steps):
        points = points + stride * momentum
        density, slope = log_density(points)
        momentum = momentum + (1.0 if i + 1 < steps else 0.5) * stride * slope
    return points, density, momentum
