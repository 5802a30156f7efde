"""The solvers of penalized linear objectives, and which losses and penalties each can handle.

Smooth losses with L2 penalties go to Newton's method or L-BFGS, L1 penalties to coordinate descent
or proximal Newton, other non-smooth penalties to proximal gradients, non-smooth losses to
sub-gradients.
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
from tenfold.math.losses import (
    AbsoluteLoss,
    HingeLoss,
    LogisticLoss,
    Loss,
    PerceptronLoss,
    PinballLoss,
    SoftmaxLoss,
    SquaredLoss,
)
from tenfold.math.penalties import L1Penalty, NoPenalty, Penalty
from tenfold.optim.convergence import Minimum
from tenfold.optim.newton_methods import newton

_L1_TOL_FRACTION = 0.01  # of the L1 penalty: largest error of the gradient at convergence
_EXACT_MODELS: dict[
    type[Loss], str
] = {  # non-smooth losses, and the models that solve them exactly
    HingeLoss: "LinearSVC(loss='hinge')",
    AbsoluteLoss: "QuantileRegressor()",
    PinballLoss: "QuantileRegressor(quantile=q)",
    PerceptronLoss: "Perceptron",
}


class SolverSettings(NamedTuple):
    """The solver, its stopping rule, and what stochastic and gradient methods need."""

    solver: str
    tol: float
    max_iter: int
    rate: Any = None  # a number, a schedule of `tenfold.optim.schedules`, or None for the default
    batch_size: int = 32
    seed: int = 0
    intercept_l1: float = 0.0  # L1 penalty of the intercepts; of solver="coordinate" alone

    @property
    def stop(self) -> dict[str, Any]:
        return {"tol": self.tol, "max_iter": self.max_iter}


class CoefficientPenalty(NamedTuple):
    """A penalty on the coefficients among all parameters, not on the intercepts."""

    penalty: Penalty
    shape: tuple[int, int]

    def value(self, w: np.ndarray) -> float:
        return self.penalty.value(w.reshape(self.shape)[:, :-1])

    def gradient(self, theta: np.ndarray) -> np.ndarray:
        return self._on_coefficients(theta, self.penalty.gradient, np.zeros(self.shape))

    def prox(self, v: np.ndarray, step: float) -> np.ndarray:
        return self._on_coefficients(v, lambda w: self.penalty.prox(w, step), v.reshape(self.shape))

    def _on_coefficients(self, theta: np.ndarray, f: Callable, rest: np.ndarray) -> np.ndarray:
        """Apply f to the coefficients; the intercepts are those of `rest`. Flat."""
        result = rest.copy()
        result[:, :-1] = f(theta.reshape(self.shape)[:, :-1])
        return result.ravel()


def minimize_penalized(
    f: LinearObjective, nonsmooth: Penalty, start: np.ndarray, settings: SolverSettings
) -> Minimum:
    """The minimum of an objective plus a non-smooth penalty, if there is one.

    L2 penalties are part of the objective.
    """
    solver = settings.solver
    if solver == "auto" and not isinstance(nonsmooth, NoPenalty):
        solver = "coordinate" if isinstance(nonsmooth, L1Penalty) else "proximal"
    _check_compatible(f.loss, nonsmooth, solver, settings)
    return _CAPABILITIES[solver].run(f, nonsmooth, start, settings._replace(solver=solver))


def _run_smooth(
    f: LinearObjective, _: Penalty, start: np.ndarray, settings: SolverSettings
) -> Minimum:
    return minimize_smooth(f, start, solver=settings.solver, **settings.stop)


def _run_closed_form(
    f: LinearObjective, _: Penalty, start: np.ndarray, settings: SolverSettings
) -> Minimum:
    return newton(f.value_gradient_hessian, start, tol=settings.tol, max_iter=1)


def _run_coordinate_descent(
    f: LinearObjective, nonsmooth: Penalty, start: np.ndarray, settings: SolverSettings
) -> Minimum:
    strength = float(nonsmooth.gradient(np.ones(1))[0])
    settings = settings._replace(tol=min(settings.tol, _L1_TOL_FRACTION * strength))
    l1 = np.append(np.full(f.shape[1] - 1, strength), settings.intercept_l1)
    by_columns = f.rows.sparse and isinstance(f.loss, LogisticLoss | SoftmaxLoss)
    minimize = minimize_l1_cross_entropy if by_columns else minimize_l1
    return minimize(f, l1, start, **settings.stop)


def _run_gradient_descent(
    f: LinearObjective, _: Penalty, start: np.ndarray, settings: SolverSettings
) -> Minimum:
    from tenfold.optim.gradient_methods import gradient_descent

    rate = settings.rate or "backtracking"
    return gradient_descent(f.value_and_gradient, start, learning_rate=rate, **settings.stop)


def _run_proximal_gradient(
    f: LinearObjective, nonsmooth: Penalty, start: np.ndarray, settings: SolverSettings
) -> Minimum:
    from tenfold.optim.proximal import proximal_gradient

    penalty = CoefficientPenalty(nonsmooth, f.shape)
    return proximal_gradient(
        f.value_and_gradient, penalty, start, step_size=settings.rate, **settings.stop
    )


def _run_subgradient_descent(
    f: LinearObjective, nonsmooth: Penalty, start: np.ndarray, settings: SolverSettings
) -> Minimum:
    from tenfold.optim.gradient_methods import subgradient_descent
    from tenfold.optim.schedules import PowerDecay

    penalty = CoefficientPenalty(nonsmooth, f.shape)

    def penalized_value_and_gradient(theta: np.ndarray) -> tuple[float, np.ndarray]:
        value, g = f.value_and_gradient(theta)
        return value + penalty.value(theta), g + penalty.gradient(theta)

    rate = settings.rate or PowerDecay(delta=0.5)
    return subgradient_descent(
        penalized_value_and_gradient, start, learning_rate=rate, max_iter=settings.max_iter
    )


def _run_sgd(
    f: LinearObjective, nonsmooth: Penalty, start: np.ndarray, settings: SolverSettings
) -> Minimum:
    from tenfold.optim.schedules import PowerDecay
    from tenfold.optim.stochastic import sgd

    penalty = CoefficientPenalty(nonsmooth, f.shape)
    return sgd(
        partial(_batch_gradient, f._replace(rows=None), penalty),
        start,
        f.rows,
        batch_size=settings.batch_size,
        learning_rate=settings.rate or PowerDecay(delta=0.5),
        seed=settings.seed,
        **settings.stop,
    )


def _batch_gradient(
    f: Any, penalty: CoefficientPenalty, chunk: Chunk, theta: np.ndarray
) -> tuple[float, np.ndarray]:
    """Loss and gradient of a batch, with its share of the penalty, summed over rows."""
    T = theta.reshape(f.shape)
    W, b = (part.astype(chunk.X.dtype) for part in (T[:, :-1], T[:, -1]))
    s = loss_gradient(chunk, f.loss, W, b, f.class_weight)
    g = np.column_stack([s.w, s.b]) + chunk.weight * f.ridge * T
    if not f.intercept:
        g[:, -1] = 0.0
    value = s.loss + chunk.weight * (0.5 * float((f.ridge * T**2).sum()) + penalty.value(theta))
    return value, g.ravel() + chunk.weight * penalty.gradient(theta)


class Capabilities(NamedTuple):
    """What a solver can minimize.

    Attributes
    ----------
    run : the solver itself
    penalties : the non-smooth penalty must be of this class; `NoPenalty`: there must be none
    losses : the loss must be of this class
    smooth_loss : whether the loss must be smooth
    takes_rate : whether step sizes may be given
    """

    run: Callable[[LinearObjective, Penalty, np.ndarray, SolverSettings], Minimum]
    penalties: type[Penalty] = NoPenalty
    losses: type[Loss] = Loss
    smooth_loss: bool = True
    takes_rate: bool = False

    def takes_penalty(self, nonsmooth: Penalty) -> bool:
        return isinstance(nonsmooth, self.penalties)

    def takes_loss(self, loss: Loss) -> bool:
        return isinstance(loss, self.losses)


_CAPABILITIES = {
    **dict.fromkeys(SMOOTH_SOLVERS, Capabilities(_run_smooth)),
    "closed-form": Capabilities(_run_closed_form, losses=SquaredLoss),
    "coordinate": Capabilities(_run_coordinate_descent, penalties=L1Penalty),
    "gd": Capabilities(_run_gradient_descent, takes_rate=True),
    "proximal": Capabilities(_run_proximal_gradient, penalties=Penalty, takes_rate=True),
    "sgd": Capabilities(_run_sgd, penalties=Penalty, smooth_loss=False, takes_rate=True),
    "subgradient": Capabilities(
        _run_subgradient_descent, penalties=Penalty, smooth_loss=False, takes_rate=True
    ),
}
SOLVERS = tuple(_CAPABILITIES)


def _check_compatible(
    loss: Loss, nonsmooth: Penalty, solver: str, settings: SolverSettings
) -> None:
    """Raise an error that names the cure if the solver cannot handle the loss or the penalty."""
    can, asked = _CAPABILITIES[solver], settings.solver
    if can.smooth_loss and not loss.smooth:
        exact = _EXACT_MODELS.get(type(loss))
        raise ValueError(
            f"solver={asked!r} needs a smooth loss, and {type(loss).__name__} is not. Choose "
            "solver='subgradient' or 'sgd'" + (f", or the exact {exact}" if exact else "")
        )
    if settings.rate is not None and not can.takes_rate:
        others = ", ".join(name for name, each in _CAPABILITIES.items() if each.takes_rate)
        raise ValueError(
            f"solver={asked!r} finds its own step sizes: leave `learning_rate` out, or choose one "
            f"of {others}"
        )
    if not can.takes_penalty(nonsmooth):
        raise ValueError(_penalty_error(nonsmooth, asked, can))
    if not can.takes_loss(loss):
        raise ValueError(
            f"solver={asked!r} is for the squared loss alone, not for {type(loss).__name__}: "
            "choose solver='auto'"
        )


def _penalty_error(nonsmooth: Penalty, asked: str, can: Capabilities) -> str:
    if can.penalties is NoPenalty:
        return (
            f"solver={asked!r} needs a smooth penalty, and {type(nonsmooth).__name__} is not "
            "smooth at zero: choose solver='auto', 'coordinate' or 'proximal', or the penalty 'l2'"
        )
    if isinstance(nonsmooth, NoPenalty):
        cure = "solver='auto', 'lbfgs' or 'newton-cholesky'"
    else:
        cure = "solver='proximal'"
    return f"solver={asked!r} is for penalties with an L1 part, and there is none: choose {cure}"
