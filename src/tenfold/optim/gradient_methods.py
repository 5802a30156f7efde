"""Gradient descent with any schedule, optimizer and stopping rule, and subgradient descent."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tenfold.optim.convergence import (
    DivergenceError,
    Minimum,
    ValueAndGradient,
    as_point,
    has_diverged,
    suggest_learning_rate,
    until_converged,
)
from tenfold.optim.line_search import SUFFICIENT_DECREASE, is_below_rounding
from tenfold.optim.optimizers import SGD, Optimizer, apply_update, init_state
from tenfold.optim.schedules import PowerDecay, Schedule, as_schedule

_MAX_HALVINGS = 60
_EPS = float(np.finfo(np.float64).eps)
_INVERSE_SQRT = PowerDecay(delta=0.5)


class DescentState(NamedTuple):
    """State of gradient descent: all that the next iteration needs."""

    x: np.ndarray
    value: float
    gradient: np.ndarray
    memory: Any = ()  # of the optimizer
    rate: float = 1.0  # of the last step; with backtracking, the first trial of the next one
    points: tuple = ()  # all iterates, if they are kept
    stopped: str = "max_iter"  # the stopping rule that is nearest to being met


def gradient_descent(
    f: ValueAndGradient,
    x0: np.ndarray,
    *,
    learning_rate: Schedule | float | str = 0.01,
    optimizer: Optimizer | None = None,
    max_iter: int = 1000,
    tol: float | None = 1e-6,
    tol_step: float | None = None,
    tol_value: float | None = None,
    ascent: bool = False,
    clip: Callable[[np.ndarray], np.ndarray] | None = None,
    keep_points: bool = False,
) -> Minimum:
    """Minimize (or maximize) a smooth function by steps against (or along) its gradient.

    Parameters
    ----------
    f : callable
        Returns (value, gradient) at a flat point.
    x0 : array of shape (n_params,)
        Initial point.
    learning_rate : float, callable or "backtracking"
        Length of step t = 1, 2, ... per unit of gradient; see `tenfold.optim.schedules`.
        Backtracking halves the step until the decrease is sufficient, and starts the next iteration
        with twice that step.
    optimizer : Optimizer, optional
        Momentum, Adam, ...: see `tenfold.optim.optimizers`. Plain gradient steps by default.
    max_iter : int
        Maximum number of iterations.
    tol, tol_step, tol_value : float or None
        Stop when the Euclidean norm of the gradient, that of the step, or the change of the value
        is at most this. None disables a rule. `report["stopped_"]` names the rule that was met:
        "gradient", "step", "value"; else "max_iter", or "rounding" if backtracking found no step
        that lowers the value or the gradient in floating point.
    ascent : bool
        Maximize instead of minimize.
    clip : callable, optional
        Clips the gradient before the step, for example `lambda g: clip_norm(g, 1.0)`.
    keep_points : bool
        Keep all iterates in `report["history_"]["points"]`, (n_iter + 1, n_params).

    Returns
    -------
    Minimum
        Point, value, gradient and report.

    Raises
    ------
    DivergenceError
        If the value or the gradient diverges. Its attribute `rate` is a learning rate that
        converges from this initial point.

    Warns
    -----
    RuntimeWarning
        If the last value is worse than the first.

    Examples
    --------
    >>> import numpy as np
    >>> bowl = lambda x: (x @ x, 2 * x)
    >>> result = gradient_descent(bowl, np.array([3.0, -4.0]), learning_rate=0.25, max_iter=2)
    >>> result.x.tolist(), result.report["history_"]["objective"].tolist()
    ([0.75, -1.0], [6.25, 1.5625])
    >>> try:
    ...     gradient_descent(bowl, np.ones(2), learning_rate=1.5)
    ... except DivergenceError as error:
    ...     print(round(error.rate, 6))
    0.5
    """
    sign, f = (-1.0, _negate(f)) if ascent else (1.0, f)
    optimizer = optimizer or SGD()
    step = _make_step(f, learning_rate, optimizer, clip)
    x0 = as_point(x0)
    points = (x0,) if keep_points else ()
    initial = DescentState(x0, *f(x0), init_state(optimizer, x0), points=points)
    initial_norm = float(np.linalg.norm(initial.gradient))
    is_minimum = tol is not None and initial_norm <= tol
    loop = until_converged(initial, tol=1.0, max_iter=0 if is_minimum else max_iter)
    loop.converged = is_minimum
    for current in loop:
        new = step(current, loop.n_iter + 1)
        if has_diverged(new.value, new.gradient, initial_norm):
            raise _divergence_error(f, x0, sign * new.value, loop.n_iter + 1)
        ratio, name = _nearest_stopping_rule(current, new, tol, tol_step, tol_value)
        points = (*current.points, new.x) if keep_points else ()
        new = new._replace(points=points, stopped=name)
        loop.update(new, objective=sign * new.value, change=ratio, stuck=new.x is current.x)
    last = loop.state
    if last.value > initial.value:
        _warn_of_increase(f, x0, sign * initial.value, sign * last.value)
    stopped = last.stopped if loop.n_iter else "gradient"
    unfinished = "rounding" if loop.stuck else "max_iter"
    report = {**loop.report, "stopped_": stopped if loop.converged else unfinished}
    if keep_points:
        report["history_"]["points"] = np.array(last.points)
    return Minimum(last.x, sign * last.value, sign * last.gradient, report)


def _negate(f: ValueAndGradient) -> ValueAndGradient:
    """The function -f and its gradient."""

    def minus(x: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = f(x)
        return -value, -gradient

    return minus


def _nearest_stopping_rule(
    current: DescentState, new: DescentState, *tols: float | None
) -> tuple[float, str]:
    """The least ratio of a criterion to its tolerance, and the name of that criterion."""
    if new.rate == 0:  # log(t)/sqrt(t) starts with a step of length 0, which is not convergence
        return np.inf, "max_iter"
    sizes = {
        "gradient": float(np.linalg.norm(new.gradient)),
        "step": float(np.linalg.norm(new.x - current.x)),
        "value": abs(new.value - current.value),
    }
    ratios = [
        (_relative_to_tolerance(size, tol), name)
        for (name, size), tol in zip(sizes.items(), tols, strict=True)
    ]
    return min(ratios)


def _relative_to_tolerance(criterion: float, tol: float | None) -> float:
    if tol is None:
        return np.inf
    return criterion / tol if tol > 0 else (0.0 if criterion == 0 else np.inf)


def _make_step(
    f: ValueAndGradient, rate: Schedule | float | str, optimizer: Optimizer, clip: Callable | None
) -> Callable:
    if not isinstance(rate, str):
        return _scheduled_step(f, optimizer, as_schedule(rate), clip)
    if rate != "backtracking":
        raise ValueError(f"learning_rate={rate!r}: give a number, a callable or 'backtracking'")
    if clip is not None or not isinstance(optimizer, SGD):
        raise ValueError(
            "learning_rate='backtracking' takes plain steps: omit `optimizer` and `clip`"
        )
    return _backtracking_step(f)


def _scheduled_step(
    f: ValueAndGradient, optimizer: Optimizer, rate: Schedule, clip: Callable | None
) -> Callable:
    """A step of the optimizer with the learning rate of the schedule."""

    def step(current: DescentState, t: int) -> DescentState:
        gradient = current.gradient if clip is None else clip(current.gradient)
        with np.errstate(over="ignore", invalid="ignore"):  # divergence raises its own error
            x, memory = apply_update(optimizer, current.x, gradient, current.memory, rate(t))
            return DescentState(x, *f(x), memory, rate(t))

    return step


def _backtracking_step(f: ValueAndGradient) -> Callable:
    """The first of the steps t, t/2, t/4, ... with sufficient decrease; the next starts at 2t."""

    def step(current: DescentState, _: int) -> DescentState:
        rate, squared_norm = current.rate, float(current.gradient @ current.gradient)
        for _ in range(_MAX_HALVINGS):
            x = current.x - rate * current.gradient
            value, gradient = f(x)
            decrease = SUFFICIENT_DECREASE * rate * squared_norm
            sufficient = value <= current.value - decrease
            if is_below_rounding(decrease, current.value, _EPS, stuck=True):
                sufficient = float(gradient @ gradient) < squared_norm  # values cannot tell
            if sufficient:
                return DescentState(x, value, gradient, rate=2 * rate)
            rate /= 2
        return current  # neither the value nor the gradient decreases any more

    return step


def _divergence_error(f: ValueAndGradient, x0: np.ndarray, value: float, t: int) -> DivergenceError:
    rate, advice = suggest_learning_rate(f, x0)
    return DivergenceError(f"diverged: the value is {value:.4g} after {t} steps. {advice}", rate)


def _warn_of_increase(f: ValueAndGradient, x0: np.ndarray, first: float, last: float) -> None:
    advice = suggest_learning_rate(f, x0)[1]
    message = f"the last value is worse than the first: {first:.6g}, then {last:.6g}. {advice}"
    warnings.warn(message, RuntimeWarning, stacklevel=3)


def subgradient_descent(
    f: ValueAndGradient,
    x0: np.ndarray,
    *,
    learning_rate: Schedule | float = _INVERSE_SQRT,
    max_iter: int = 1000,
    project: Callable[[np.ndarray], np.ndarray] | None = None,
    normalize: bool = False,
) -> Minimum:
    """Minimize a convex function that need not be smooth; returns the best iterate.

    A step against a subgradient need not lower the value, but short ones lower the distance to
    the minimum. With a learning rate that goes to zero and whose sum diverges, the best value
    converges to the minimum.

    Parameters
    ----------
    f : callable
        Returns (value, any subgradient) at a flat point.
    x0 : array of shape (n_params,)
        Initial point.
    learning_rate : float or callable
        Length of step t = 1, 2, ...; 1/sqrt(t) by default.
    max_iter : int
        Number of iterations; only a subgradient of zero counts as convergence and ends it earlier.
    project : callable, optional
        Projection onto a convex set, see `tenfold.optim.projections`.
    normalize : bool
        Scale subgradients to length 1, so that the learning rate is the length of the step.

    Returns
    -------
    Minimum
        The best iterate; "objective" in the history is the best value so far.

    Examples
    --------
    >>> import numpy as np
    >>> f = lambda x: (abs(x[0] - 1) + 2 * abs(x[1]), np.array([1.0, 2.0]) * np.sign(x - [1, 0]))
    >>> result = subgradient_descent(f, np.array([5.0, 5.0]), max_iter=4000)
    >>> bool(result.value < 0.02)
    True
    """
    learning_rate = as_schedule(learning_rate)
    x0 = as_point(x0)
    best = Minimum(x0, *f(x0), {})
    loop = until_converged((x0, best.gradient, best), tol=0.0, max_iter=max_iter)
    for x, gradient, best in loop:
        length = float(np.linalg.norm(gradient))
        x = x - learning_rate(loop.n_iter + 1) * gradient / (
            length if normalize and length else 1.0
        )
        x = x if project is None else project(x)
        new = Minimum(x, *f(x), {})
        best = new if new.value < best.value else best
        change = 0.0 if length == 0 else np.inf
        loop.update((x, new.gradient, best), objective=best.value, change=change)
    return loop.state[2]._replace(report=loop.report)
