"""Posteriors without a formula: about the mode, by Markov chains, or the closest simple Gaussian.

Parameters should be free to take any value (the log of a rate, the log-odds of a share): then a
Gaussian can be close to the posterior. Only Markov chains do not mind borders.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.distributions.normal import LOG_2_PI, Gaussian
from tenfold.distributions.quadrature import quadrature_nodes, standard_normal_nodes
from tenfold.inference.bayesian_learner import BayesianLearner, LogDensity, WeightedPosterior
from tenfold.inference.mcmc import ensemble_sampler

_COARSE_DIFFERENCE_STEP = 1e-4  # of the differences that measure the curvature
_FINE_DIFFERENCE_STEP = 3e-3  # the same, in deviations of the posterior
_NO_PEAK_MESSAGE = "the posterior has no smooth peak at its mode {}: try method='mcmc'"
_MAX_SIMPLEX_PARAMETERS = 8  # parameters for which a simplex polishes the mode: it needs no slope


def find_mode(learner: BayesianLearner, data: tuple) -> np.ndarray:
    """The most probable parameters; also where the posterior has an edge, as with an L1 prior."""
    from scipy.optimize import minimize

    f = learner.unnormalised(*data)
    start = learner.start if learner.start is not None else getattr(learner.prior, "mean", None)
    if start is None:
        raise ValueError("where does the search for the mode begin? give start=")
    start = np.atleast_1d(np.asarray(start, np.float64))

    def cost(theta: np.ndarray) -> float:
        return -float(f(theta[None])[0])

    if not np.isfinite(cost(start)):
        raise ValueError(f"prior times likelihood is zero at the start, {start}: give start=")
    with np.errstate(invalid="ignore", over="ignore"):
        x = minimize(cost, start, method="BFGS", jac="3-point").x
        if len(x) > _MAX_SIMPLEX_PARAMETERS:
            return x
        fine = {
            "xatol": 1e-9,
            "fatol": 1e-12,
            "maxiter": 4000,
            "initial_simplex": _initial_simplex(x),
        }
        found = minimize(cost, x, method="Nelder-Mead", options=fine)
    return found.x if found.fun <= cost(x) else x


def _initial_simplex(x: np.ndarray) -> np.ndarray:
    """A small simplex at x, (d + 1, d)."""
    return x + np.vstack([np.zeros(len(x)), 1e-3 * np.diag(1 + np.abs(x))])


def _negative_hessian(f: LogDensity, x: np.ndarray) -> np.ndarray:
    """Minus the Hessian of f at x, from differences that suit the width of the peak."""
    steps = _COARSE_DIFFERENCE_STEP * (1 + np.abs(x))
    rough = _negative_second_differences(f, x, steps).diagonal()
    if not np.isfinite(rough).all():
        raise ValueError(_NO_PEAK_MESSAGE.format(x))
    widths = 1 / np.sqrt(np.where(rough > 0, rough, 1 / steps**2))
    return _negative_second_differences(f, x, _FINE_DIFFERENCE_STEP * widths)


def _negative_second_differences(f: LogDensity, x: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Minus the second differences of f at x, (d, d)."""
    d, E = len(x), np.diag(steps)
    plus, minus = E[:, None] + E[None], E[:, None] - E[None]
    points = np.stack([x + plus, x + minus, x - minus, x - plus]).reshape(-1, d)
    a, b, c, e = f(points).reshape(4, d, d)
    return -(a - b - c + e) / (4 * np.multiply.outer(steps, steps))


def laplace(
    learner: BayesianLearner, data: tuple, *, nodes: int = 64, draws: int = 4096
) -> WeightedPosterior:
    """The Gaussian with the mode and the curvature of the posterior."""
    f, mode = learner.unnormalised(*data), find_mode(learner, data)
    H = _negative_hessian(f, mode)
    try:
        volume = -2 * np.log(np.linalg.cholesky(H).diagonal()).sum()
    except np.linalg.LinAlgError as error:
        raise ValueError(_NO_PEAK_MESSAGE.format(mode)) from error
    evidence = float(f(mode[None])[0] + 0.5 * (len(mode) * LOG_2_PI + volume))
    return _gaussian_posterior(
        learner, data, Gaussian(mode, np.linalg.inv(H)), mode, evidence, nodes, draws
    )


def _gaussian_posterior(
    learner: BayesianLearner,
    data: tuple,
    belief: Gaussian,
    mode: np.ndarray,
    evidence: float,
    nodes: int,
    draws: int,
) -> WeightedPosterior:
    """A posterior that is a Gaussian."""
    points, w = quadrature_nodes(belief, nodes, draws)
    found = learner.summed(data, points, w, mode, evidence, belief)
    return found._replace(mean=belief.centre, covariance=belief.matrix)


def variational(
    learner: BayesianLearner, data: tuple, *, nodes: int = 32, draws: int = 512
) -> WeightedPosterior:
    r"""The Gaussian with independent entries of the highest evidence bound.

    With fixed standard normal points z and weights w, the bound of N(m, s^2) is
    :math:`\sum_k w_k f(m + s z_k) + \sum_j \log s_j + \tfrac d2 \log 2\pi e`: a smooth function of
    m and log s. It is exact where f is quadratic.
    """
    from scipy.optimize import minimize

    f, mode = learner.unnormalised(*data), find_mode(learner, data)
    d = len(mode)
    Z, w = standard_normal_nodes(d, nodes, draws)
    rough = _negative_hessian(f, mode).diagonal()
    scale = 1 / np.sqrt(np.where(rough > 0, rough, 1.0))

    def cost(q: np.ndarray) -> float:
        s = scale * np.exp(q[d:])
        height = w @ f(mode + scale * q[:d] + s * Z)
        return -float(height + np.log(s).sum() + 0.5 * d * (LOG_2_PI + 1))

    if not np.isfinite(cost(np.zeros(2 * d))):
        raise ValueError(
            "a Gaussian reaches parameters that are impossible: use the log of a rate, the "
            "log-odds of a share"
        )
    found = minimize(cost, np.zeros(2 * d), method="L-BFGS-B", jac="3-point", tol=1e-12)
    s = scale * np.exp(found.x[d:])
    belief = Gaussian(mode + scale * found.x[:d], np.diag(s**2))
    done = _gaussian_posterior(learner, data, belief, mode, -float(found.fun), nodes, draws)
    return done._replace(report={"converged": bool(found.success), "n_iter": int(found.nit)})


def mcmc(
    learner: BayesianLearner,
    data: tuple,
    *,
    draws: int = 1000,
    warmup: int = 500,
    walkers: int | None = None,
    seed: int = 0,
) -> WeightedPosterior:
    """Draws of an affine-invariant ensemble that starts about the mode."""
    f, mode = learner.unnormalised(*data), find_mode(learner, data)
    m = walkers or max(4 * len(mode), 16)
    chains = ensemble_sampler(
        f, _initial_walkers(f, mode, m, seed), draws=draws, warmup=warmup, seed=seed
    )
    points = chains.flat
    report: dict[str, Any] = {
        "acceptance": chains.acceptance,
        "effective_size": chains.effective_sample_size,
        "r_hat": chains.r_hat,
    }
    w = np.full(len(points), 1 / len(points))
    return learner.summed(data, points, w, mode, float("nan"), None, report)


def _initial_walkers(f: LogDensity, mode: np.ndarray, m: int, seed: int) -> np.ndarray:
    """Possible points about the mode, as far from it as the posterior is wide, (m, d)."""
    rng = np.random.default_rng(seed)
    rough = _negative_second_differences(
        f, mode, _COARSE_DIFFERENCE_STEP * (1 + np.abs(mode))
    ).diagonal()
    known = np.isfinite(rough) & (rough > 0)
    width = np.where(known, 1 / np.sqrt(np.where(known, rough, 1.0)), 0.1 * (1 + np.abs(mode)))
    points = mode + width * rng.standard_normal((m, len(mode)))
    for _ in range(60):  # towards the mode, until all are possible
        out = ~np.isfinite(f(points))
        if not out.any():
            break
        points[out] = mode + 0.7 * (points[out] - mode)
    return points
