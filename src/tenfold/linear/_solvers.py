"""The solvers of penalized linear objectives: which one suits a loss and a penalty, and which cannot.

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

from tenfold.engine.chunk import Chunk
from tenfold.linear._loss_gradients import loss_gradient
from tenfold.linear._objective import LinearObjective
from tenfold.linear._prox_newton import minimize_l1
from tenfold.linear._smooth_solvers import SMOOTH_SOLVERS, minimize_smooth
from tenfold.linear._sparse_coordinate_descent import minimize_l1_cross_entropy
from tenfold.math.losses import LogisticLoss, SoftmaxLoss, SquaredLoss
from tenfold.math.penalties import L1Penalty, NoPenalty, Penalty
from tenfold.optim.convergence import Minimum
from tenfold.optim.newton_methods import newton

_STEP_SOLVERS = ("gd", "proximal", "sgd", "subgradient")  # solvers whose steps may be given
_L1_TOL_FRACTION = 0.01  # of the L1 penalty: how far at most a slope may be off at the end
_EXACT_MODELS = {  # losses with kinks, and who minimises them exactly
    "Hinge": "LinearSVC(loss='hinge')",
    "Absolute": "QuantileRegressor()",
    "Quantile": "QuantileRegressor(quantile=q)",
    "PerceptronCriterion": "Perceptron",
}


class SolverSettings(NamedTuple):
    """How to go: the solver, when to stop, and what descent by steps needs beside."""

    solver: str
    tol: float
    max_iter: int
    rate: Any = None  # a number, a schedule of `tenfold.optim.schedules`, or None for a good one
    batch_size: int = 32
    seed: int = 0

    @property
    def stop(self) -> dict[str, Any]:
        return {"tol": self.tol, "max_iter": self.max_iter}


class CoefficientPenalty(NamedTuple):
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


def minimize_penalized(
    f: LinearObjective, kinked: Penalty, start: np.ndarray, way: SolverSettings
) -> Minimum:
    """The minimum of an objective plus a penalty with kinks, if there is one.

    The squares among the penalties are part of the objective.
    """
    smooth = isinstance(kinked, NoPenalty)
    solver = way.solver
    if solver == "auto":
        solver = "auto" if smooth else "coordinate" if isinstance(kinked, L1Penalty) else "proximal"
    _check_compatible(f, kinked, solver, way.solver, rated=way.rate is not None)
    go = {
        "closed-form": lambda: newton(f.curve, start, tol=way.tol, max_iter=1),
        "coordinate": lambda: _run_coordinate_descent(f, kinked, start, way),
        "gd": lambda: _run_gradient_descent(f, start, way),
        "sgd": lambda: _run_sgd(f, kinked, start, way),
        "proximal": lambda: _run_proximal_gradient(f, kinked, start, way),
        "subgradient": lambda: _run_subgradient_descent(f, kinked, start, way),
    }
    if solver in SMOOTH_SOLVERS:
        return minimize_smooth(f, start, solver=solver, **way.stop)
    return go[solver]()


SOLVERS = (*SMOOTH_SOLVERS, "closed-form", "coordinate", "gd", "proximal", "sgd", "subgradient")


def _check_compatible(
    f: LinearObjective, kinked: Penalty, solver: str, asked: str, *, rated: bool
) -> None:
    """Raise an error that names the cure if the solver cannot handle the parts."""
    loss = type(f.loss).__name__
    if not f.loss.smooth and solver not in ("sgd", "subgradient"):
        raise ValueError(
            f"solver={asked!r} follows slopes, and the loss {loss} has kinks. Choose "
            f"solver='subgradient' or 'sgd', or for an exact solution {_EXACT_MODELS[loss]}."
        )
    if rated and solver not in _STEP_SOLVERS:
        raise ValueError(
            f"solver={asked!r} finds its own steps and has no use for a rate: leave `rate` out, or "
            f"choose one of {', '.join(_STEP_SOLVERS)}"
        )
    straight = isinstance(kinked, NoPenalty)
    if not straight and solver in (*SMOOTH_SOLVERS, "gd", "closed-form"):
        raise ValueError(
            f"solver={asked!r} needs a smooth penalty, and {type(kinked).__name__} has a kink at "
            "zero: choose solver='auto', 'coordinate' or 'proximal', or the penalty 'l2'"
        )
    if solver == "coordinate" and not isinstance(kinked, L1Penalty):
        raise ValueError(
            "solver='coordinate' is for penalties with an L1 part, and there is none: choose "
            + ("solver='auto', 'lbfgs' or 'newton-cholesky'" if straight else "solver='proximal'")
        )
    if solver == "closed-form" and not isinstance(f.loss, SquaredLoss):
        raise ValueError(
            f"there is a closed form for the squared loss alone, not for {loss}: choose "
            "solver='auto'"
        )


def _run_coordinate_descent(
    f: LinearObjective, kinked: Penalty, start: np.ndarray, way: SolverSettings
) -> Minimum:
    strength = float(kinked.slope(np.ones(1))[0])
    way = way._replace(tol=min(way.tol, _L1_TOL_FRACTION * strength))
    kinks = np.append(np.full(f.shape[1] - 1, strength), 0.0)
    along_columns = f.rows.sparse and isinstance(f.loss, LogisticLoss | SoftmaxLoss)
    return (minimize_l1_cross_entropy if along_columns else minimize_l1)(
        f, kinks, start, **way.stop
    )


def _run_gradient_descent(f: LinearObjective, start: np.ndarray, way: SolverSettings) -> Minimum:
    from tenfold.optim.gradient_methods import gradient_descent

    return gradient_descent(f.slope, start, learning_rate=way.rate or "backtracking", **way.stop)


def _run_proximal_gradient(
    f: LinearObjective, kinked: Penalty, start: np.ndarray, way: SolverSettings
) -> Minimum:
    from tenfold.optim.proximal import proximal_gradient

    return proximal_gradient(
        f.slope, CoefficientPenalty(kinked, f.shape), start, step_size=way.rate, **way.stop
    )


def _run_subgradient_descent(
    f: LinearObjective, kinked: Penalty, start: np.ndarray, way: SolverSettings
) -> Minimum:
    from tenfold.optim.gradient_methods import subgradient_descent
    from tenfold.optim.schedules import PowerDecay

    penalty = CoefficientPenalty(kinked, f.shape)

    def both(theta: np.ndarray) -> tuple[float, np.ndarray]:
        value, g = f.slope(theta)
        return value + penalty.value(theta), g + penalty.slope(theta)

    return subgradient_descent(
        both, start, learning_rate=way.rate or PowerDecay(delta=0.5), max_iter=way.max_iter
    )


def _run_sgd(
    f: LinearObjective, kinked: Penalty, start: np.ndarray, way: SolverSettings
) -> Minimum:
    from tenfold.optim.schedules import PowerDecay
    from tenfold.optim.stochastic import sgd

    leaf = partial(_batch_gradient, f._replace(rows=None), CoefficientPenalty(kinked, f.shape))
    return sgd(
        leaf,
        start,
        f.rows,
        batch_size=way.batch_size,
        learning_rate=way.rate or PowerDecay(delta=0.5),
        seed=way.seed,
        **way.stop,
    )


def _batch_gradient(
    f: Any, penalty: CoefficientPenalty, chunk: Chunk, theta: np.ndarray
) -> tuple[float, np.ndarray]:
    """Loss and slope of a batch, with its share of the penalty, summed over rows."""
    T = theta.reshape(f.shape)
    W, b = (part.astype(chunk.X.dtype) for part in (T[:, :-1], T[:, -1]))
    s = loss_gradient(chunk, f.loss, W, b, f.cost)
    g = np.column_stack([s.w, s.b]) + chunk.weight * f.ridge * T
    if not f.intercept:
        g[:, -1] = 0.0
    value = s.loss + chunk.weight * (0.5 * float((f.ridge * T**2).sum()) + penalty.value(theta))
    return value, g.ravel() + chunk.weight * penalty.slope(theta)
