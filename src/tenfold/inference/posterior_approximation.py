"""Approximate posteriors: Laplace's method, Markov chain Monte Carlo, variational Gaussians.

Laplace's method and variational inference need unconstrained parameters (the log of a rate, the
log-odds of a probability): only then can a Gaussian be close to the posterior. Markov chains also
work on a bounded domain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tenfold.distributions.normal import LOG_2_PI, Gaussian
from tenfold.distributions.quadrature import (
    QuadratureNodes,
    quadrature_nodes,
    standard_normal_nodes,
)
from tenfold.inference.mcmc import ensemble_sampler

if TYPE_CHECKING:
    from tenfold.inference.bayesian_learner import BayesianLearner, LogDensity, WeightedPosterior

_COARSE_DIFFERENCE_STEP = 1e-4  # of the differences that estimate the Hessian, relative to 1 + |x|
_FINE_DIFFERENCE_STEP = 3e-3  # the same, in standard deviations of the posterior
_KINK_TEST_FACTOR = 10.0  # of the step: at a kink the differences fall by as much
_KINK_CURVATURE_RATIO = 0.5  # of the curvatures with the wide and the narrow step
_START_DRAWS = 4096  # of the prior, if its mean is impossible
_NO_PEAK_MESSAGE = "the posterior has no smooth peak at its mode {}: try method='mcmc'"
_MAX_SIMPLEX_PARAMETERS = (
    8  # up to so many parameters Nelder-Mead refines the mode, without gradients
)


def find_mode(learner: BayesianLearner, data: tuple) -> np.ndarray:
    """The mode of the posterior; also where it is not differentiable, as with an L1 prior."""
    from scipy.optimize import minimize

    f = learner.log_joint(*data)
    start = find_start(learner, f)

    def cost(theta: np.ndarray) -> float:
        return -float(f(theta[None])[0])

    with np.errstate(invalid="ignore", over="ignore"):
        x = minimize(cost, start, method="BFGS", jac="3-point").x
        if len(x) > _MAX_SIMPLEX_PARAMETERS:
            return x
        options = {
            "xatol": 1e-9,
            "fatol": 1e-12,
            "maxiter": 4000,
            "initial_simplex": _initial_simplex(x),
        }
        refined = minimize(cost, x, method="Nelder-Mead", options=options)
    return refined.x if refined.fun <= cost(x) else x


def find_start(learner: BayesianLearner, f: LogDensity) -> np.ndarray:
    """A possible point: `start`, the mean of the prior, or else the best of draws of the prior."""
    start = learner.start if learner.start is not None else getattr(learner.prior, "mean", None)
    if start is None:
        raise ValueError("the search for the mode needs an initial point: give start=")
    start = np.atleast_1d(np.asarray(start, np.float64))
    if np.isfinite(f(start[None])[0]):
        return start
    if learner.start is None and hasattr(learner.prior, "sample"):
        points = np.asarray(learner.prior.sample(_START_DRAWS, np.random.default_rng(0)))
        points = points.reshape(_START_DRAWS, -1).astype(np.float64)
        heights = f(points)
        heights = np.where(np.isfinite(heights), heights, -np.inf)
        if heights.max() > -np.inf:
            return points[heights.argmax()]
    raise ValueError(f"prior times likelihood is zero at the start, {start}: give start=")


def _initial_simplex(x: np.ndarray) -> np.ndarray:
    """A small simplex at x, (d + 1, d)."""
    return x + np.vstack([np.zeros(len(x)), 1e-3 * np.diag(1 + np.abs(x))])


def _negative_hessian(f: LogDensity, x: np.ndarray) -> np.ndarray:
    """Minus the Hessian of f at x, by differences in proportion to the width of the peak."""
    steps = _COARSE_DIFFERENCE_STEP * (1 + np.abs(x))
    curvature = _negative_second_differences(f, x, steps).diagonal()
    if not np.isfinite(curvature).all():
        raise ValueError(_NO_PEAK_MESSAGE.format(x))
    widths = 1 / np.sqrt(np.where(curvature > 0, curvature, 1 / steps**2))
    H = _negative_second_differences(f, x, _FINE_DIFFERENCE_STEP * widths)
    wider = _negative_second_differences(f, x, _KINK_TEST_FACTOR * _FINE_DIFFERENCE_STEP * widths)
    not_smooth = (
        wider.diagonal() < _KINK_CURVATURE_RATIO * H.diagonal()
    )  # falls as 1 / step at a kink
    if not_smooth.any():
        raise ValueError(_NO_PEAK_MESSAGE.format(x))
    return H


def _negative_second_differences(f: LogDensity, x: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Minus the second differences of f at x, (d, d)."""
    d, E = len(x), np.diag(steps)
    plus, minus = E[:, None] + E[None], E[:, None] - E[None]
    points = np.stack([x + plus, x + minus, x - minus, x - plus]).reshape(-1, d)
    a, b, c, e = f(points).reshape(4, d, d)
    with np.errstate(invalid="ignore"):  # impossible points have the value -inf
        return -(a - b - c + e) / (4 * np.multiply.outer(steps, steps))


def laplace(
    learner: BayesianLearner, data: tuple, *, nodes: int = 64, draws: int = 4096, seed: int = 0
) -> WeightedPosterior:
    """The Gaussian with the mode and the curvature of the posterior."""
    f, mode = learner.log_joint(*data), find_mode(learner, data)
    H = _negative_hessian(f, mode)
    try:
        volume = -2 * np.log(np.linalg.cholesky(H).diagonal()).sum()
    except np.linalg.LinAlgError as error:
        raise ValueError(_NO_PEAK_MESSAGE.format(mode)) from error
    evidence = float(f(mode[None])[0] + 0.5 * (len(mode) * LOG_2_PI + volume))
    distribution = Gaussian(mode, np.linalg.inv(H))
    nodes_and_weights = quadrature_nodes(distribution, nodes, draws, seed)
    return _gaussian_posterior(learner, data, distribution, mode, evidence, nodes_and_weights)


def _gaussian_posterior(
    learner: BayesianLearner,
    data: tuple,
    distribution: Gaussian,
    mode: np.ndarray,
    evidence: float,
    nodes_and_weights: QuadratureNodes,
) -> WeightedPosterior:
    """A Gaussian posterior, with quadrature nodes as points."""
    points, w = nodes_and_weights
    summary = learner.summarize(data, points, w, mode, evidence, distribution)
    return summary._replace(mean=distribution.center, covariance=distribution.covariance_matrix)


def variational(
    learner: BayesianLearner, data: tuple, *, nodes: int = 32, draws: int = 512, seed: int = 0
) -> WeightedPosterior:
    r"""The Gaussian with independent entries of the highest evidence lower bound.

    With fixed standard normal points z and weights w, the bound of N(m, s^2) is
    :math:`\sum_k w_k f(m + s z_k) + \sum_j \log s_j + \tfrac d2 \log 2\pi e`: a smooth function of
    m and log s. It is exact where f is quadratic.
    """
    from scipy.optimize import minimize

    f, mode = learner.log_joint(*data), find_mode(learner, data)
    d = len(mode)
    Z, w = standard_normal_nodes(d, nodes, draws, seed)
    curvature = _negative_hessian(f, mode).diagonal()
    scale = 1 / np.sqrt(np.where(curvature > 0, curvature, 1.0))

    def cost(q: np.ndarray) -> float:
        s = scale * np.exp(q[d:])
        expected = w @ f(mode + scale * q[:d] + s * Z)
        return -float(expected + np.log(s).sum() + 0.5 * d * (LOG_2_PI + 1))

    if not np.isfinite(cost(np.zeros(2 * d))):
        raise ValueError(
            "a Gaussian has mass on impossible parameters: use the log of a rate, the log-odds of "
            "a probability, or method='mcmc'"
        )
    solution = minimize(cost, np.zeros(2 * d), method="L-BFGS-B", jac="3-point", tol=1e-12)
    s = scale * np.exp(solution.x[d:])
    distribution = Gaussian(mode + scale * solution.x[:d], np.diag(s**2))
    nodes_and_weights = quadrature_nodes(distribution, nodes, draws, seed)
    posterior = _gaussian_posterior(
        learner, data, distribution, mode, -float(solution.fun), nodes_and_weights
    )
    report = {"converged": bool(solution.success), "n_iter": int(solution.nit)}
    return posterior._replace(report=report)


def mcmc(
    learner: BayesianLearner,
    data: tuple,
    *,
    draws: int = 1000,
    warmup: int = 500,
    walkers: int | None = None,
    seed: int = 0,
) -> WeightedPosterior:
    """Draws of an affine-invariant ensemble sampler, initialized about the mode."""
    f, mode = learner.log_joint(*data), find_mode(learner, data)
    m = walkers or max(4 * len(mode), 16)
    walkers_at = _initial_walkers(f, mode, find_start(learner, f), m, seed)
    chains = ensemble_sampler(f, walkers_at, draws=draws, warmup=warmup, seed=seed)
    points = chains.flat
    report: dict[str, Any] = {
        "acceptance": chains.acceptance,
        "effective_size": chains.effective_sample_size,
        "r_hat": chains.r_hat,
    }
    w = np.full(len(points), 1 / len(points))
    return learner.summarize(data, points, w, mode, float("nan"), None, report)


def _initial_walkers(
    f: LogDensity, mode: np.ndarray, start: np.ndarray, m: int, seed: int
) -> np.ndarray:
    """Possible points about the mode, at distances of the posterior deviation, (m, d).

    Impossible points are moved towards the mode. Where the mode is on the border of what is
    possible, that may not help: then they are drawn from the box between the mode and the start.
    """
    rng = np.random.default_rng(seed)
    curvature = _negative_second_differences(
        f, mode, _COARSE_DIFFERENCE_STEP * (1 + np.abs(mode))
    ).diagonal()
    curved = np.isfinite(curvature) & (curvature > 0)
    width = np.where(
        curved, 1 / np.sqrt(np.where(curved, curvature, 1.0)), 0.1 * (1 + np.abs(mode))
    )
    points = mode + width * rng.standard_normal((m, len(mode)))
    for _ in range(10):  # move towards the mode until all are possible
        outside = ~np.isfinite(f(points))
        if not outside.any():
            break
        points[outside] = mode + 0.7 * (points[outside] - mode)
    outside = ~np.isfinite(f(points))
    for attempt in range(60):
        if not outside.any():
            break
        share = rng.random((outside.sum(), len(mode) if attempt < 30 else 1))  # then on the line
        points[outside] = mode + share * (start - mode)
        outside = ~np.isfinite(f(points))
    return points
