"""Markov chain Monte Carlo: random-walk Metropolis and the affine-invariant ensemble sampler.

Three samplers, each for many chains at once: `metropolis` (a random walk that learns its shape),
`ensemble_sampler` (walkers that stretch towards each other; no tuning, any linear map of the density is
sampled equally well) and `hamiltonian` (follows the slope; the one for many dimensions). A density
takes points (m, d) and returns its log at each, (m,). The same seed gives the same draws.
"""

from __future__ import annotations

import numpy as np

from tenfold.inference.chains import Chains, ChainState, LogDensity, init_chains, record_draws

_INITIAL_SCALE = 0.1  # of a random walk that knows nothing yet
_ADAPTATION_DECAY = 0.6  # of the changes of the scale while warming up


def metropolis(
    log_density: LogDensity,
    x0: np.ndarray,
    *,
    draws: int = 1000,
    warmup: int = 1000,
    thin: int = 1,
    seed: int = 0,
) -> Chains:
    """Random-walk Metropolis with Gaussian proposals.

    While warming up, the walk learns the covariance of the density from all chains, and the size
    of its steps from how often they are accepted. Then both stay fixed.

    Parameters
    ----------
    log_density : callable
        Log of the density, up to a constant: points (m, d) to (m,). -inf where it is zero.
    start : (m, d) array
        Where each of the m chains starts.
    draws, warmup : int
        Draws to keep, and steps before the first.
    thin : int
        Steps from one draw to the next.
    seed : int
        Seed of all random numbers.

    Returns
    -------
    Chains

    Examples
    --------
    >>> import numpy as np
    >>> chains = metropolis(lambda t: -0.5 * (t**2).sum(axis=1), np.zeros((4, 2)), seed=1)
    >>> chains.points.shape, bool((chains.r_hat < 1.05).all())
    ((4, 1000, 2), True)
    """
    rng = np.random.default_rng(seed)
    walk = init_chains(log_density, x0)
    m, d = walk.points.shape
    goal = 0.44 if d == 1 else 0.234  # the best share of accepted steps, known from theory
    log_scale, root = np.log(_INITIAL_SCALE), np.eye(d)
    past = [walk.points]

    def advance(walk: ChainState) -> ChainState:
        to = walk.points + np.exp(log_scale) * rng.standard_normal((m, d)) @ root.T
        density = log_density(to)
        return walk.accept(to, density, np.log(rng.random(m)) < density - walk.log_density)

    for i in range(warmup):
        before, walk = walk.accepted, advance(walk)
        log_scale += (np.mean(walk.accepted - before) - goal) / (1 + i) ** _ADAPTATION_DECAY
        past.append(walk.points)
        if i + 1 in _adaptation_iterations(warmup):
            root = _covariance_root(np.concatenate(past[len(past) // 2 :]))
            log_scale = np.log(2.38 / np.sqrt(d))
    return record_draws(advance, walk, draws, thin, float(np.exp(log_scale)))


def _adaptation_iterations(warmup: int) -> set[int]:
    """When the covariance is learned anew: the last eighth only tunes the size of the steps."""
    return {warmup // 8, warmup // 4, warmup // 2, 7 * warmup // 8} - {0}


def _covariance_root(points: np.ndarray) -> np.ndarray:
    """A root of the covariance of some points, with a floor so that no direction is lost."""
    C = np.atleast_2d(np.cov(points, rowvar=False))
    values, V = np.linalg.eigh(C)
    return V * np.sqrt(np.maximum(values, 1e-10 * max(values[-1], np.finfo(float).tiny)))


def ensemble_sampler(
    log_density: LogDensity,
    x0: np.ndarray,
    *,
    draws: int = 1000,
    warmup: int = 500,
    thin: int = 1,
    stretch: float = 2.0,
    seed: int = 0,
) -> Chains:
    """The affine-invariant ensemble sampler (Goodman and Weare 2010): the stretch move.

    Each walker moves along the line through another one, chosen from the other half of them, by a
    factor z of density 1/sqrt(z) on [1/a, a]; the move is accepted with probability
    min(1, z^(d-1) p(new) / p(old)).

    Parameters
    ----------
    log_density : callable
        Log of the density, up to a constant: points (m, d) to (m,). -inf where it is zero.
    start : (m, d) array
        Where the walkers start: an even number, at least 2 d, not in a common plane.
    draws, warmup : int
        Draws of each walker to keep, and steps before the first.
    thin : int
        Steps from one draw to the next.
    stretch : float
        The a of the move, above 1.
    seed : int
        Seed of all random numbers.

    Returns
    -------
    Chains
        One chain a walker.

    Examples
    --------
    >>> import numpy as np
    >>> thin = lambda t: -0.5 * (t[:, 0] ** 2 + (100 * t[:, 1]) ** 2)
    >>> start = np.random.default_rng(0).normal(size=(16, 2))
    >>> chains = ensemble_sampler(thin, start, draws=2000)
    >>> np.allclose(chains.covariance.diagonal() * [1, 1e4], 1, atol=0.2)
    True
    """
    rng = np.random.default_rng(seed)
    walk = init_chains(log_density, x0)
    m, d = walk.points.shape
    if m % 2 or m < 2 * d:
        raise ValueError(f"the ensemble needs an even number of at least {2 * d} walkers, not {m}")
    if np.linalg.matrix_rank(walk.points - walk.points.mean(axis=0)) < d:
        raise ValueError("the walkers start in a common plane and could never leave it")
    halves = (np.arange(m) < m // 2, np.arange(m) >= m // 2)

    def advance(walk: ChainState) -> ChainState:
        for moving, still in (halves, halves[::-1]):
            partner = walk.points[still][rng.integers(m // 2, size=m // 2)]
            z = ((stretch - 1) * rng.random(m // 2) + 1) ** 2 / stretch
            to, chance = walk.points.copy(), np.full(m, -np.inf)
            to[moving] = partner + z[:, None] * (walk.points[moving] - partner)
            density = walk.log_density.copy()
            density[moving] = log_density(to[moving])
            chance[moving] = (d - 1) * np.log(z) + density[moving] - walk.log_density[moving]
            walk = walk.accept(to, density, np.log(rng.random(m)) < chance)
        return walk

    for _ in range(warmup):
        walk = advance(walk)
    return record_draws(advance, walk, draws, thin, stretch)
