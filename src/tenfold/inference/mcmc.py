"""Markov chain Monte Carlo: random-walk Metropolis and the affine-invariant ensemble sampler.

Each sampler advances many chains at once. `metropolis` adapts the covariance of its proposals;
`ensemble_sampler` needs no tuning and is invariant under affine maps of the density; for many
parameters use `hamiltonian_monte_carlo`, which needs the gradient. A log-density maps points
(n_chains, n_params) to (n_chains,). The same seed gives the same draws.
"""

from __future__ import annotations

import numpy as np

from tenfold.inference.chains import Chains, ChainState, LogDensity, init_chains, record_draws

_INITIAL_SCALE = 0.1  # of the random walk, before adaptation
_ADAPTATION_DECAY = 0.6  # exponent of the decay of the adaptation


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

    During warm-up, the covariance of the proposals is estimated from all chains and their scale is
    tuned to the acceptance rate. Then both stay fixed.

    Parameters
    ----------
    log_density : callable
        Log of the density, up to a constant: points (m, d) to (m,). -inf where it is zero.
    x0 : array of shape (n_chains, n_params)
        Initial point of each chain.
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
    state = init_chains(log_density, x0)
    m, d = state.points.shape
    target = 0.44 if d == 1 else 0.234  # asymptotically optimal acceptance rate
    log_scale, root = np.log(_INITIAL_SCALE), np.eye(d)
    past = [state.points]

    def advance(state: ChainState) -> ChainState:
        proposal = state.points + np.exp(log_scale) * rng.standard_normal((m, d)) @ root.T
        density = log_density(proposal)
        return state.accept(proposal, density, np.log(rng.random(m)) < density - state.log_density)

    for i in range(warmup):
        accepted, state = state.accepted, advance(state)
        log_scale += (np.mean(state.accepted - accepted) - target) / (1 + i) ** _ADAPTATION_DECAY
        past.append(state.points)
        if i + 1 in _adaptation_iterations(warmup):
            root = _covariance_root(np.concatenate(past[len(past) // 2 :]))
            log_scale = np.log(2.38 / np.sqrt(d))
    return record_draws(advance, state, draws, thin, float(np.exp(log_scale)))


def _adaptation_iterations(warmup: int) -> set[int]:
    """Iterations that re-estimate the covariance; the last eighth only tunes the scale."""
    return {warmup // 8, warmup // 4, warmup // 2, 7 * warmup // 8} - {0}


def _covariance_root(points: np.ndarray) -> np.ndarray:
    """A square root of the covariance of some points; a floor keeps it of full rank."""
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
    """Affine-invariant ensemble sampler with the stretch move.

    Each walker moves along the line through another one, drawn from the other half of them, by a
    factor z of density 1/sqrt(z) on [1/a, a]; the move is accepted with probability
    min(1, z^(d-1) p(new) / p(old)).

    Parameters
    ----------
    log_density : callable
        Log of the density, up to a constant: points (m, d) to (m,). -inf where it is zero.
    x0 : array of shape (n_walkers, n_params)
        Initial points: an even number, at least 2 n_params, not in a common hyperplane.
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
        One chain per walker.

    References
    ----------
    J. Goodman and J. Weare (2010), "Ensemble samplers with affine invariance", Communications in
    Applied Mathematics and Computational Science 5.

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
    state = init_chains(log_density, x0)
    m, d = state.points.shape
    if m % 2 or m < 2 * d:
        raise ValueError(f"the ensemble needs an even number of at least {2 * d} walkers, not {m}")
    if np.linalg.matrix_rank(state.points - state.points.mean(axis=0)) < d:
        raise ValueError(
            "the initial points of the walkers lie in a common plane, which they could never leave"
        )
    halves = (np.arange(m) < m // 2, np.arange(m) >= m // 2)

    def advance(state: ChainState) -> ChainState:
        for moving, fixed in (halves, halves[::-1]):
            partner = state.points[fixed][rng.integers(m // 2, size=m // 2)]
            z = ((stretch - 1) * rng.random(m // 2) + 1) ** 2 / stretch
            proposal, log_ratio = state.points.copy(), np.full(m, -np.inf)
            proposal[moving] = partner + z[:, None] * (state.points[moving] - partner)
            density = state.log_density.copy()
            density[moving] = log_density(proposal[moving])
            log_ratio[moving] = (d - 1) * np.log(z) + density[moving] - state.log_density[moving]
            state = state.accept(proposal, density, np.log(rng.random(m)) < log_ratio)
        return state

    for _ in range(warmup):
        state = advance(state)
    return record_draws(advance, state, draws, thin, stretch)
