"""Gradient descent: theta <- theta - rate(t) slope(theta), with every rate, rule and stop.

[000, 1.2; 001, 2.2; 002, 1.2; 003, 4.4; 004, 3.4]
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tenfold.solve.divergence import DivergedError, Slope, has_blown_up, rate_that_works
from tenfold.solve.lbfgs import ENOUGH_DECREASE, Minimum
from tenfold.solve.loop import until_still
from tenfold.solve.rates import Rate, as_rate
from tenfold.solve.steppers import Plain, Rule, begin, step

MOST_HALVINGS = 60


class Walk(NamedTuple):
    """Where a descent has come to: all that its next step needs."""

    x: np.ndarray
    value: float
    slope: np.ndarray
    memory: Any = ()  # of the rule
    rate: float = 1.0  # of the step that led here; with backtracking, what to try next
    points: tuple = ()  # the way, if it is kept
    stopped: str = "max_iter"  # the stop that is nearest


def gradient_descent(
    f: Slope,
    start: np.ndarray,
    *,
    rate: Rate | float | str = 0.01,
    rule: Rule | None = None,
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
        Length of step t = 1, 2, ... per unit of slope; see `tenfold.solve.rates`. Backtracking
        halves the step until it lowers the value enough, and begins the next with twice as much.
    rule : stepper, optional
        Momentum, Adam, ...: see `tenfold.solve.steppers`. Plain steps by default.
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
    ... except DivergedError as error:
    ...     print(round(error.rate, 6))
    0.5
    """
    sign, f = (-1.0, upside_down(f)) if ascent else (1.0, f)
    rule = rule or Plain()
    go = _goer(f, rate, rule, clip)
    begun = Walk(start, *f(start), begin(rule, start), points=(start,) if keep_points else ())
    first = float(np.linalg.norm(begun.slope))
    at_rest = tol is not None and first <= tol
    loop = until_still(begun, tol=1.0, max_iter=0 if at_rest else max_iter)
    loop.converged = at_rest
    for here in loop:
        there = go(here, loop.n_iter + 1)
        if has_blown_up(there.value, there.slope, first):
            raise _diverged(f, start, sign * there.value, loop.n_iter + 1)
        share, name = nearest_stop(here, there, tol, tol_step, tol_value)
        points = (*here.points, there.x) if keep_points else ()
        there = there._replace(points=points, stopped=name)
        loop.tell(there, objective=sign * there.value, change=share, stuck=there.x is here.x)
    end = loop.state
    if end.value > begun.value:
        _warn_of_rise(f, start, sign * begun.value, sign * end.value)
    stopped = end.stopped if loop.n_iter else "slope"
    report = {**loop.report, "stopped_": stopped if loop.converged else "max_iter"}
    if keep_points:
        report["history_"]["points"] = np.array(end.points)
    return Minimum(end.x, sign * end.value, sign * end.slope, report)


def upside_down(f: Slope) -> Slope:
    """The function -f and its slope."""

    def minus(x: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = f(x)
        return -value, -slope

    return minus


def nearest_stop(here: Walk, there: Walk, *tols: float | None) -> tuple[float, str]:
    """How far the nearest stop is, in multiples of its tolerance, and which one that is."""
    if there.rate == 0:  # log(t)/sqrt(t) begins with a step of no length: that is no standstill
        return np.inf, "max_iter"
    sizes = {
        "slope": float(np.linalg.norm(there.slope)),
        "step": float(np.linalg.norm(there.x - here.x)),
        "value": abs(there.value - here.value),
    }
    shares = [
        (_over(size, tol), name) for (name, size), tol in zip(sizes.items(), tols, strict=True)
    ]
    return min(shares)


def _over(size: float, tol: float | None) -> float:
    if tol is None:
        return np.inf
    return size / tol if tol > 0 else (0.0 if size == 0 else np.inf)


def _goer(f: Slope, rate: Rate | float | str, rule: Rule, clip: Callable | None) -> Callable:
    if not isinstance(rate, str):
        return _by_rule(f, rule, as_rate(rate), clip)
    if rate != "backtracking":
        raise ValueError(f"rate={rate!r} is none: give a number, a callable or 'backtracking'")
    if clip is not None or not isinstance(rule, Plain):
        raise ValueError("rate='backtracking' takes plain steps: leave out `rule` and `clip`")
    return _backtracked(f)


def _by_rule(f: Slope, rule: Rule, rate: Rate, clip: Callable | None) -> Callable:
    """A step whose length the rate says."""

    def go(here: Walk, t: int) -> Walk:
        slope = here.slope if clip is None else clip(here.slope)
        with np.errstate(over="ignore", invalid="ignore"):  # a divergence is told in words
            x, memory = step(rule, here.x, slope, here.memory, rate(t))
            return Walk(x, *f(x), memory, rate(t))

    return go


def _backtracked(f: Slope) -> Callable:
    """The first of the steps t, t/2, t/4, ... that lowers the value enough; next is tried 2t."""

    def go(here: Walk, _: int) -> Walk:
        rate, fall = here.rate, float(here.slope @ here.slope)
        for _ in range(MOST_HALVINGS):
            x = here.x - rate * here.slope
            value, slope = f(x)
            if value <= here.value - ENOUGH_DECREASE * rate * fall:
                return Walk(x, value, slope, rate=2 * rate)
            rate /= 2
        return here  # rounding hides any gain

    return go


def _diverged(f: Slope, start: np.ndarray, value: float, t: int) -> DivergedError:
    rate, advice = rate_that_works(f, start)
    return DivergedError(f"diverged: the value is {value:.4g} after {t} steps. {advice}", rate)


def _warn_of_rise(f: Slope, start: np.ndarray, first: float, last: float) -> None:
    advice = rate_that_works(f, start)[1]
    message = f"descent has made things worse, from {first:.6g} to {last:.6g}. {advice}"
    warnings.warn(message, RuntimeWarning, stacklevel=3)
