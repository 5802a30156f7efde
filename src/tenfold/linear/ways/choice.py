"""Ways to the minimum of an objective, which of them suits its parts, and which cannot.

Newton's way takes few rounds and makes a Hessian of all parameters. L-BFGS takes more and makes
none. Where there are many rows, it begins at the minimum on a sample and is told how the objective
bends there: rows are alike, so most of the way is as well known from a few thousand of them.
Penalties with kinks go by coordinates or by proximal steps, losses with kinks by sub-gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from tenfold.linear.ways.columns import l1_columns_minimum
from tenfold.linear.ways.objective import Objective, preconditioner
from tenfold.linear.ways.slopes import slope
from tenfold.linear.ways.working_sets import l1_minimum
from tenfold.maths.losses import Logistic, Softmax, Squared
from tenfold.maths.moments import Moments
from tenfold.maths.penalties import L1, NoPenalty, Penalty
from tenfold.rows import Chunk
from tenfold.solve.lbfgs import Minimum, lbfgs
from tenfold.solve.newton import newton
from tenfold.solve.second_moments import second_moments
from tenfold.solve.truncated import newton_cg

STEPPING = ("gd", "proximal", "sgd", "subgradient")  # solvers whose steps may be given
FINE = 0.01  # of the L1 penalty: how far at most a slope may be off at the end
SMOOTH_WAYS = ("auto", "lbfgs", "newton-cholesky", "newton-cg")
NEWTON_SIZE = 100_000  # rows x parameters up to which few costly rounds beat many cheap ones
NEWTON_WIDTH = 256  # parameters up to which Newton's Hessian is made
WIDEST_GRAM = 2000  # columns up to which L-BFGS is told how they correlate
SAMPLE = 16  # a sample is so much smaller than the data, where it pays
LEAST_SAMPLE, MOST_SAMPLE = 2_500, 20_000  # rows; more of them cost more than they save
CLOSER, SETTLED = 0.3, 1e-3  # how much flatter a warm start ends, unless it is this flat already
FINER = 0.5  # of the tolerance, for softmax on one chunk: small slopes hide gains, rounds are cheap
PER_PARAMETER = 20  # rows of a sample that knows the curvature well enough
MADE_FOR = {  # losses with kinks, and who minimises them exactly
    "Hinge": "LinearSVC(loss='hinge')",
    "Absolute": "QuantileRegressor()",
    "Quantile": "QuantileRegressor(quantile=q)",
    "PerceptronCriterion": "Perceptron",
}


class Way(NamedTuple):
    """How to go: the solver, when to stop, and what descent by steps needs beside."""

    solver: str
    tol: float
    max_iter: int
    rate: Any = None  # a number, a schedule of `tenfold.solve.rates`, or None for a good one
    batch_size: int = 32
    seed: int = 0

    @property
    def stop(self) -> dict[str, Any]:
        return {"tol": self.tol, "max_iter": self.max_iter}


class OnCoefficients(NamedTuple):
    """A penalty on the coefficients among all parameters, not on the constants."""

    penalty: Penalty
    shape: tuple[int, int]

    def value(self, w: np.ndarray) -> float:
        return self.penalty.value(w.reshape(self.shape)[:, :-1])

    def slope(self, theta: np.ndarray) -> np.ndarray:
        return self._with(theta, self.penalty.slope, np.zeros(self.shape))

    def prox(self, v: np.ndarray, step: float) -> np.ndarray:
        return self._with(v, lambda w: self.penalty.prox(w, step), v.reshape(self.shape))

    def _with(self, theta: np.ndarray, f: Callable, rest: np.ndarray) -> np.ndarray:
        made = rest.copy()
        made[:, :-1] = f(theta.reshape(self.shape)[:, :-1])
        return made.ravel()


def minimum(f: Objective, kinked: Penalty, start: np.ndarray, way: Way) -> Minimum:
    """The minimum of an objective plus a penalty with kinks, if there is one.

    The squares among the penalties are part of the objective.
    """
    smooth = isinstance(kinked, NoPenalty)
    solver = way.solver
    if solver == "auto":
        solver = "auto" if smooth else "coordinate" if isinstance(kinked, L1) else "proximal"
    _refuse_mismatch(f, kinked, solver, way.solver, rated=way.rate is not None)
    go = {
        "closed-form": lambda: newton(f.curve, start, tol=way.tol, max_iter=1),
        "coordinate": lambda: _by_coordinates(f, kinked, start, way),
        "gd": lambda: _by_gradients(f, start, way),
        "sgd": lambda: _by_batches(f, kinked, start, way),
        "proximal": lambda: _by_proximal_steps(f, kinked, start, way),
        "subgradient": lambda: _by_subgradients(f, kinked, start, way),
    }
    if solver in SMOOTH_WAYS:
        return smooth_minimum(f, start, solver=solver, **way.stop)
    return go[solver]()


WAYS = (*SMOOTH_WAYS, "closed-form", "coordinate", "gd", "proximal", "sgd", "subgradient")


def _refuse_mismatch(
    f: Objective, kinked: Penalty, solver: str, asked: str, *, rated: bool
) -> None:
    """Raise an error that names the cure if the solver cannot handle the parts."""
    loss = type(f.loss).__name__
    if not f.loss.smooth and solver not in ("sgd", "subgradient"):
        raise ValueError(
            f"solver={asked!r} follows slopes, and the loss {loss} has kinks. Choose "
            f"solver='subgradient' or 'sgd', or for an exact solution {MADE_FOR[loss]}."
        )
    if rated and solver not in STEPPING:
        raise ValueError(
            f"solver={asked!r} finds its own steps and has no use for a rate: leave `rate` out, or "
            f"choose one of {', '.join(STEPPING)}"
        )
    straight = isinstance(kinked, NoPenalty)
    if not straight and solver in (*SMOOTH_WAYS, "gd", "closed-form"):
        raise ValueError(
            f"solver={asked!r} needs a smooth penalty, and {type(kinked).__name__} has a kink at "
            "zero: choose solver='auto', 'coordinate' or 'proximal', or the penalty 'l2'"
        )
    if solver == "coordinate" and not isinstance(kinked, L1):
        raise ValueError(
            "solver='coordinate' is for penalties with an L1 part, and there is none: choose "
            + ("solver='auto', 'lbfgs' or 'newton-cholesky'" if straight else "solver='proximal'")
        )
    if solver == "closed-form" and not isinstance(f.loss, Squared):
        raise ValueError(
            f"there is a closed form for the squared loss alone, not for {loss}: choose "
            "solver='auto'"
        )


def smooth_minimum(
    f: Objective, start: np.ndarray, *, solver: str = "auto", tol: float, max_iter: int
) -> Minimum:
    """The minimum of a smooth objective.

    Parameters
    ----------
    f : Objective
        Mean loss with its square penalty.
    start : array
        Where to begin, flat.
    solver : {"auto", "lbfgs", "newton-cholesky", "newton-cg"}
        The way there.
    tol : float
        Converged when no entry of the gradient exceeds this.
    max_iter : int
        Most rounds.

    Returns
    -------
    Minimum
    """
    eps = float(np.finfo(f.rows.dtype).eps)
    settings = {"tol": _warm_tolerance(f, start, tol), "max_iter": max_iter}
    size = len(start)
    few_rows = size <= NEWTON_WIDTH and size * f.rows.n_rows <= NEWTON_SIZE
    narrow = size <= NEWTON_WIDTH and f.shape[0] == 1
    least = max(LEAST_SAMPLE, PER_PARAMETER * size)
    sample = f.rows.n_rows // SAMPLE
    if solver == "auto" and narrow and sample >= least and max_iter > 1:
        return _from_sample(f, start, min(sample, MOST_SAMPLE), precision=eps, **settings)
    by_newton = few_rows or (narrow and f.rows.sparse)
    if solver == "newton-cholesky" or (solver == "auto" and by_newton):
        return newton(f.curve, start, precision=eps, **settings)
    if solver == "newton-cg":
        return newton_cg(f.slope, f.bent, start, precision=eps, **settings)
    if f.rows.sparse or f.shape[1] > min(WIDEST_GRAM, f.rows.n_rows):
        return lbfgs(f.slope, start, precision=eps, **settings)
    s = second_moments(f.rows)
    settings |= {"precision": eps, "noise": distance_from_zero(s)}
    settings["tol"] *= FINER if f.shape[0] > 1 and f.rows.n_rows <= f.rows.source.grid else 1
    found = lbfgs(f.slope, start, precondition=preconditioner(f, s), **settings)
    found.report["converged_"] |= bool(np.abs(found.slope).max() <= tol)
    return found


def _warm_tolerance(f: Objective, start: np.ndarray, tol: float) -> float:
    """The tolerance; along a path finer: the end of the last fit may lie within it, or nearly."""
    if not (f.rows.along_a_path and start.any()):
        return tol
    steepest = float(np.abs(f.slope(start)[1]).max())
    return min(tol, CLOSER * steepest) if steepest > SETTLED * tol else tol


def distance_from_zero(s: Moments) -> float:
    """How many deviations the farthest column lies from zero, at least 1: scores lose as much."""
    deviation = np.sqrt(np.maximum(s.scatter.diagonal(), 0.0) / s.n)
    varies = deviation > 0
    return float((np.abs(s.mean[varies]) / deviation[varies]).max(initial=1.0))


def _from_sample(f: Objective, start: np.ndarray, k: int, **settings: Any) -> Minimum:
    """L-BFGS from the minimum on a sample of the rows, told how the objective bends there."""
    from scipy.linalg import cho_factor, cho_solve

    warm = start.any()  # the end of a fit to about these rows: better than that of a sample
    part = f.on_sample(k // 4 if warm else k, seed=0)
    x = start
    if not warm:
        x = newton(part.curve, start, tol=max(settings["tol"], 1e-3), max_iter=100).x
    H = part.curve(x)[2]
    del part  # many fits may walk at once
    H[np.diag_indices(len(H))] += 1e-10 * H.trace() / len(H)  # dependent columns
    factor = cho_factor(H, lower=True, check_finite=False)
    solve = lambda v: cho_solve(factor, v, check_finite=False)  # noqa: E731
    return lbfgs(f.slope, x, precondition=solve, **settings)


def _by_coordinates(f: Objective, kinked: Penalty, start: np.ndarray, way: Way) -> Minimum:
    strength = float(kinked.slope(np.ones(1))[0])
    way = way._replace(tol=min(way.tol, FINE * strength))
    kinks = np.append(np.full(f.shape[1] - 1, strength), 0.0)
    along_columns = f.rows.sparse and isinstance(f.loss, Logistic | Softmax)
    return (l1_columns_minimum if along_columns else l1_minimum)(f, kinks, start, **way.stop)


def _by_gradients(f: Objective, start: np.ndarray, way: Way) -> Minimum:
    from tenfold.solve.descent import gradient_descent

    return gradient_descent(f.slope, start, rate=way.rate or "backtracking", **way.stop)


def _by_proximal_steps(f: Objective, kinked: Penalty, start: np.ndarray, way: Way) -> Minimum:
    from tenfold.solve.proximal import proximal_gradient

    return proximal_gradient(
        f.slope, OnCoefficients(kinked, f.shape), start, rate=way.rate, **way.stop
    )


def _by_subgradients(f: Objective, kinked: Penalty, start: np.ndarray, way: Way) -> Minimum:
    from tenfold.solve.rates import Power
    from tenfold.solve.subgradient import subgradient_descent

    penalty = OnCoefficients(kinked, f.shape)

    def both(theta: np.ndarray) -> tuple[float, np.ndarray]:
        value, g = f.slope(theta)
        return value + penalty.value(theta), g + penalty.slope(theta)

    return subgradient_descent(
        both, start, rate=way.rate or Power(delta=0.5), max_iter=way.max_iter
    )


def _by_batches(f: Objective, kinked: Penalty, start: np.ndarray, way: Way) -> Minimum:
    from tenfold.solve.rates import Power
    from tenfold.solve.stochastic import sgd

    leaf = partial(batch_slope, f._replace(rows=None), OnCoefficients(kinked, f.shape))
    return sgd(
        leaf,
        start,
        f.rows,
        batch_size=way.batch_size,
        rate=way.rate or Power(delta=0.5),
        seed=way.seed,
        **way.stop,
    )


def batch_slope(
    f: Any, penalty: OnCoefficients, chunk: Chunk, theta: np.ndarray
) -> tuple[float, np.ndarray]:
    """Loss and slope of a batch, with its share of the penalty, summed over rows."""
    T = theta.reshape(f.shape)
    W, b = (part.astype(chunk.X.dtype) for part in (T[:, :-1], T[:, -1]))
    s = slope(chunk, f.loss, W, b, f.cost)
    g = np.column_stack([s.w, s.b]) + chunk.weight * f.ridge * T
    if not f.intercept:
        g[:, -1] = 0.0
    value = s.loss + chunk.weight * (0.5 * float((f.ridge * T**2).sum()) + penalty.value(theta))
    return value, g.ravel() + chunk.weight * penalty.slope(theta)
