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
    has_diverged,
    suggest_learning_rate,
    until_converged,
)
from tenfold.optim.line_search import SUFFICIENT_DECREASE
from tenfold.optim.optimizers import SGD, Optimizer, apply_update, init_state
from tenfold.optim.schedules import PowerDecay, Schedule, as_schedule

_MAX_HALVINGS = 60


class DescentState(NamedTuple):
    """Where a descent has come to: all that its next step needs."""

    x: np.ndarray
    value: float
    slope: np.ndarray
    memory: Any = ()  # of the rule
    rate: float = 1.0  # of the step that led here; with backtracking, what to try next
    points: tuple = ()  # the way, if it is kept
    stopped: str = "max_iter"  # the stop that is nearest


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
    """Minimise (or maximise) a smooth function by steps against (or along) its slope.

    Parameters
    ----------
    f : callable
        Returns (value, slope) at a flat point.
    start : array
        Where to begin.
    rate : float, callable or "backtracking"
        Length of step t = 1, 2, ... per unit of slope; see `tenfold.optim.schedules`. Backtracking
        halves the step until it lowers the value enough, and begins the next with twice as much.
    rule : stepper, optional
        Momentum, Adam, ...: see `tenfold.optim.optimizers`. Plain steps by default.
    max_iter : int
        Most steps.
    tol, tol_step, tol_value : float or None
        Stop as soon as the Euclidean length of the slope, that of the step, or the change of the
        value is at most this. None: no such stop. `report["stopped_"]` says which one it was.
    ascent : bool
        Go up.
    clip : callable, optional
        Shortens the slope before the step, for example `lambda g: clip_norm(g, 1.0)`.
    keep_points : bool
        Keep all points in `report["history_"]["points"]`, (steps + 1, d).

    Returns
    -------
    Minimum
        Point, value, slope and report.

    Raises
    ------
    DivergedError
        If the value or the slope explodes. The error has a `rate` that works from this start.

    Warns
    -----
    RuntimeWarning
        If the last value is worse than the first.

    Examples
    --------
    >>> import numpy as np
    >>> bowl = lambda x: (x @ x, 2 * x)
    >>> found = gradient_descent(bowl, np.array([3.0, -4.0]), rate=0.25, max_iter=2)
    >>> found.x.tolist(), found.report["history_"]["objective"].tolist()
    ([0.75, -1.0], [6.25, 1.5625])
    >>> try:
    ...     gradient_descent(bowl, np.ones(2), rate=1.5)
    ... except DivergenceError as error:
    ...     print(round(error.rate, 6))
    0.5
    """
    sign, f = (-1.0, _negate(f)) if ascent else (1.0, f)
    optimizer = optimizer or SGD()
    go = _make_step(f, learning_rate, optimizer, clip)
    begun = DescentState(x0, *f(x0), init_state(optimizer, x0), points=(x0,) if keep_points else ())
    first = float(np.linalg.norm(begun.slope))
    at_rest = tol is not None and first <= tol
    loop = until_converged(begun, tol=1.0, max_iter=0 if at_rest else max_iter)
    loop.converged = at_rest
    for here in loop:
        there = go(here, loop.n_iter + 1)
        if has_diverged(there.value, there.slope, first):
            raise _divergence_error(f, x0, sign * there.value, loop.n_iter + 1)
        share, name = _nearest_stopping_rule(here, there, tol, tol_step, tol_value)
        points = (*here.points, there.x) if keep_points else ()
        there = there._replace(points=points, stopped=name)
        loop.update(there, objective=sign * there.value, change=share, stuck=there.x is here.x)
    end = loop.state
    if end.value > begun.value:
        _warn_of_increase(f, x0, sign * begun.value, sign * end.value)
    stopped = end.stopped if loop.n_iter else "slope"
    report = {**loop.report, "stopped_": stopped if loop.converged else "max_iter"}
    if keep_points:
        report["history_"]["points"] = np.array(end.points)
    return Minimum(end.x, sign * end.value, sign * end.slope, report)


def _negate(f: ValueAndGradient) -> ValueAndGradient:
    """The function -f and its slope."""

    def minus(x: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = f(x)
        return -value, -slope

    return minus


def _nearest_stopping_rule(
    here: DescentState, there: DescentState, *tols: float | None
) -> tuple[float, str]:
    """How far the nearest stop is, in multiples of its tolerance, and which one that is."""
    if there.rate == 0:  # log(t)/sqrt(t) begins with a step of no length: that is no standstill
        return np.inf, "max_iter"
    sizes = {
        "slope": float(np.linalg.norm(there.slope)),
        "step": float(np.linalg.norm(there.x - here.x)),
        "value": abs(there.value - here.value),
    }
    shares = [
        (_relative_to_tolerance(size, tol), name)
        for (name, size), tol in zip(sizes.items(), tols, strict=True)
    ]
    return min(shares)


def _relative_to_tolerance(size: float, tol: float | None) -> float:
    if tol is None:
        return np.inf
    return size / tol if tol > 0 else (0.0 if size == 0 else np.inf)


def _make_step(
    f: ValueAndGradient, rate: Schedule | float | str, rule: Optimizer, clip: Callable | None
) -> Callable:
    if not isinstance(rate, str):
        return _scheduled_step(f, rule, as_schedule(rate), clip)
    if rate != "backtracking":
        raise ValueError(f"rate={rate!r} is none: give a number, a callable or 'backtracking'")
    if clip is not None or not isinstance(rule, SGD):
        raise ValueError("rate='backtracking' takes plain steps: leave out `rule` and `clip`")
    return _backtracking_step(f)


def _scheduled_step(
    f: ValueAndGradient, rule: Optimizer, rate: Schedule, clip: Callable | None
) -> Callable:
    """A step whose length the rate says."""

    def go(here: DescentState, t: int) -> DescentState:
        slope = here.slope if clip is None else clip(here.slope)
        with np.errstate(over="ignore", invalid="ignore"):  # a divergence is told in words
            x, memory = apply_update(rule, here.x, slope, here.memory, rate(t))
            return DescentState(x, *f(x), memory, rate(t))

    return go


def _backtracking_step(f: ValueAndGradient) -> Callable:
    """The first of the steps t, t/2, t/4, ... that lowers the value enough; next is tried 2t."""

    def go(here: DescentState, _: int) -> DescentState:
        rate, fall = here.rate, float(here.slope @ here.slope)
        for _ in range(_MAX_HALVINGS):
            x = here.x - rate * here.slope
            value, slope = f(x)
            if value <= here.value - SUFFICIENT_DECREASE * rate * fall:
                return DescentState(x, value, slope, rate=2 * rate)
            rate /= 2
        return here  # rounding hides any gain

    return go


def _divergence_error(
    f: ValueAndGradient, start: np.ndarray, value: float, t: int
) -> DivergenceError:
    rate, advice = suggest_learning_rate(f, start)
    return DivergenceError(f"diverged: the value is {value:.4g} after {t} steps. {advice}", rate)


def _warn_of_increase(f: ValueAndGradient, start: np.ndarray, first: float, last: float) -> None:
    advice = suggest_learning_rate(f, start)[1]
    message = f"descent has made things worse, from {first:.6g} to {last:.6g}. {advice}"
    warnings.warn(message, RuntimeWarning, stacklevel=3)


_INVERSE_SQRT = PowerDecay(delta=0.5)


def subgradient_descent(
    f: ValueAndGradient,
    x0: np.ndarray,
    *,
    learning_rate: Schedule | float = _INVERSE_SQRT,
    max_iter: int = 1000,
    project: Callable[[np.ndarray], np.ndarray] | None = None,
    normalize: bool = False,
) -> Minimum:
    """Minimise a convex function that may have kinks; the best point on the way counts.

    A step against a sub-gradient need not lower the value, but leads towards the minimum. With a
    rate that falls to zero and whose sum diverges, the best value converges to the least.

    Parameters
    ----------
    f : callable
        Returns (value, any sub-gradient) at a flat point.
    start : array
        Where to begin.
    rate : float or callable
        Length of step t = 1, 2, ...; 1/sqrt(t) by default.
    max_iter : int
        Steps; a sub-gradient of zero ends the descent earlier, and only that is convergence.
    project : callable, optional
        Brings a point back to a convex set, see `tenfold.optim.projections`.
    normalise : bool
        Give sub-gradients the length 1, so that the rate is the length of the step.

    Returns
    -------
    Minimum
        The best point; "objective" in the history is the best value so far.

    Examples
    --------
    >>> import numpy as np
    >>> f = lambda x: (abs(x[0] - 1) + 2 * abs(x[1]), np.array([1.0, 2.0]) * np.sign(x - [1, 0]))
    >>> found = subgradient_descent(f, np.array([5.0, 5.0]), max_iter=4000)
    >>> bool(found.value < 0.02)
    True
    """
    learning_rate = as_schedule(learning_rate)
    best = Minimum(x0, *f(x0), {})
    loop = until_converged((x0, best.slope, best), tol=0.0, max_iter=max_iter)
    for x, slope, best in loop:
        length = float(np.linalg.norm(slope))
        x = x - learning_rate(loop.n_iter + 1) * slope / (length if normalize and length else 1.0)
        x = x if project is None else project(x)
        there = Minimum(x, *f(x), {})
        best = there if there.value < best.value else best
        change = 0.0 if length == 0 else np.inf
        loop.update((x, there.slope, best), objective=best.value, change=change)
    return loop.state[2]._replace(report=loop.report)
