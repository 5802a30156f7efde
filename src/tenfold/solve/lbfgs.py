"""L-BFGS: steepest descent that remembers the last few turns of the slope.

Every evaluation is a pass over the data, so the line search is built to accept its first guess.
Read in order: `lbfgs` (the loop), `direction` (two-loop recursion), `line_search`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tenfold.solve.loop import until_still

Objective = Callable[[np.ndarray], tuple[float, np.ndarray]]

ENOUGH_DECREASE, ENOUGH_TURN = 1e-4, 0.9  # the constants of the weak Wolfe conditions
MOST_TRIES = 20
NOISE = 1e3  # times the precision: a gain below it may well be hidden by rounding


class Minimum(NamedTuple):
    """Where a solver stopped: the point, its value and slope, and the report of the loop."""

    x: np.ndarray
    value: float
    slope: np.ndarray
    report: dict[str, Any]


class Point(NamedTuple):
    """A point with the value and the slope of the objective there."""

    x: np.ndarray
    value: float
    slope: np.ndarray


def lbfgs(
    f: Objective,
    start: np.ndarray,
    *,
    tol: float = 1e-4,
    max_iter: int = 100,
    memory: int = 10,
    precondition: Callable[[np.ndarray], np.ndarray] | None = None,
    precision: float = np.finfo(np.float64).eps,
    noise: float = 1.0,
) -> Minimum:
    """Minimise a smooth function from its value and slope.

    Parameters
    ----------
    f : callable
        Returns (value, slope) at a flat point.
    start : array
        Where to begin.
    tol : float
        Converged when no entry of the slope exceeds this.
    max_iter : int
        Most steps.
    memory : int
        Pairs of steps and slope changes that are remembered.
    precondition : callable, optional
        Multiplies a vector by an approximate inverse Hessian.
    precision : float
        Relative precision of `f`: converged, too, when less than that is left to gain.
    noise : float
        How many times coarser than that the values may be (scores far from zero cancel).

    Returns
    -------
    Minimum

    Examples
    --------
    >>> import numpy as np
    >>> found = lbfgs(lambda x: (((x - 3) ** 2).sum(), 2 * (x - 3)), np.zeros(2), tol=1e-9)
    >>> found.x.tolist(), found.report["converged_"]
    ([3.0, 3.0], True)
    """
    point = Point(start, *f(start))
    loop = until_still((point, ()), tol=tol, max_iter=max_iter)
    if np.abs(point.slope).max(initial=0.0) <= tol:
        return Minimum(*point, _at_rest(loop, point))
    for here, pairs in loop:
        turn = -direction(here.slope, pairs, precondition)
        if turn @ here.slope >= 0:  # rounding has spoilt the memory
            pairs = ()
            turn = -direction(here.slope, pairs, precondition)
        gap = -0.5 * float(turn @ here.slope)  # what is left to gain, if the memory is right
        first = 1.0 if pairs or precondition else min(1.0, 1.0 / np.abs(here.slope).sum())
        there = line_search(f, here, turn, first, noise * precision)
        stuck = np.array_equal(there.x, here.x)
        if not stuck:
            pairs = remembered(pairs, here, there, memory)
        unseen = gap <= (NOISE * noise if stuck else 1) * precision * abs(here.value)
        change = 0.0 if unseen else np.abs(there.slope).max()
        loop.tell((there, pairs), objective=there.value, change=change, stuck=stuck and not unseen)
    end = loop.state[0]
    return Minimum(end.x, end.value, end.slope, loop.report)


def remembered(pairs: tuple, here: Point, there: Point, memory: int) -> tuple:
    """The pairs with that of the last step, if it says anything about the curvature."""
    step, bend = there.x - here.x, there.slope - here.slope
    if step @ bend <= 0:
        return pairs
    return (*pairs, (step, bend, 1.0 / (step @ bend)))[-memory:]


def _at_rest(loop: until_still, point: Point) -> dict[str, Any]:
    loop.converged = True
    history = {"objective": np.array([point.value]), "seconds": np.zeros(1)}
    return {**loop.report, "history_": history}


def direction(
    slope: np.ndarray, pairs: tuple, precondition: Callable[[np.ndarray], np.ndarray] | None
) -> np.ndarray:
    """The inverse Hessian that the pairs imply, times the slope."""
    q = slope.copy()
    shares = []
    for step, bend, rho in reversed(pairs):
        shares.append(rho * (step @ q))
        q -= shares[-1] * bend
    q = q if precondition is None else precondition(q)
    if pairs:  # the newest pair says how large the inverse Hessian is by now
        step, bend, _ = pairs[-1]
        q *= (step @ bend) / (bend @ (bend if precondition is None else precondition(bend)))
    for (step, bend, rho), share in zip(pairs, reversed(shares), strict=True):
        q += (share - rho * (bend @ q)) * step
    return q


def line_search(
    f: Objective, here: Point, turn: np.ndarray, first: float, precision: float
) -> Point:
    """A step along `turn` that satisfies the weak Wolfe conditions; usually the first one tried."""
    fall = float(here.slope @ turn)
    low, high, t = 0.0, np.inf, first
    noise = precision * abs(here.value)
    there = best = here
    for _ in range(MOST_TRIES):
        there = Point(x := here.x + t * turn, *f(x))
        ahead = there.slope @ turn
        if not there.value <= here.value + ENOUGH_DECREASE * t * fall + noise:  # also when NaN
            high = t
        elif ahead < ENOUGH_TURN * fall:
            low, best = t, there
        else:
            return there
        t = 2 * t if np.isinf(high) else _between(low, high, t, fall, there.value - here.value)
    return best if best.value <= here.value else here


def _between(low: float, high: float, t: float, fall: float, gain: float) -> float:
    """Where a parabola through what is known has its minimum, kept well inside the bracket."""
    rise = gain - t * fall
    guess = -fall * t * t / (2 * rise) if np.isfinite(rise) and rise > 0 else 0.0
    width = high - low
    return min(max(guess, low + 0.1 * width), high - 0.1 * width)
