"""Line searches: weak Wolfe conditions, and backtracking for Newton steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

SmoothObjective = Callable[[np.ndarray], tuple[float, np.ndarray]]

SUFFICIENT_DECREASE, _CURVATURE_CONDITION = 1e-4, 0.9  # the constants of the weak Wolfe conditions
MAX_LINE_SEARCH_STEPS = 20
ROUNDING_FACTOR = 1e3  # times the precision: a gain below it may well be hidden by rounding


class EvaluatedPoint(NamedTuple):
    """A point with the value and the slope of the objective there."""

    x: np.ndarray
    value: float
    slope: np.ndarray


def wolfe_line_search(
    f: SmoothObjective, here: EvaluatedPoint, turn: np.ndarray, first: float, precision: float
) -> EvaluatedPoint:
    """A step along `turn` that satisfies the weak Wolfe conditions; usually the first one tried."""
    fall = float(here.slope @ turn)
    low, high, t = 0.0, np.inf, first
    noise = precision * abs(here.value)
    there = best = here
    for _ in range(MAX_LINE_SEARCH_STEPS):
        there = EvaluatedPoint(x := here.x + t * turn, *f(x))
        ahead = there.slope @ turn
        if not there.value <= here.value + SUFFICIENT_DECREASE * t * fall + noise:  # also when NaN
            high = t
        elif ahead < _CURVATURE_CONDITION * fall:
            low, best = t, there
        else:
            return there
        t = (
            2 * t
            if np.isinf(high)
            else _interpolate_step(low, high, t, fall, there.value - here.value)
        )
    return best if best.value <= here.value else here


def _interpolate_step(low: float, high: float, t: float, fall: float, gain: float) -> float:
    """Where a parabola through what is known has its minimum, kept well inside the bracket."""
    rise = gain - t * fall
    guess = -fall * t * t / (2 * rise) if np.isfinite(rise) and rise > 0 else 0.0
    width = high - low
    return min(max(guess, low + 0.1 * width), high - 0.1 * width)


MAX_HALVINGS = 60  # from one step to the next representable point

ValueGradientHessian = Callable[[np.ndarray], tuple[float, np.ndarray, np.ndarray]]


def backtrack_newton_step(
    f: ValueGradientHessian, here: tuple, turn: np.ndarray, noise: float
) -> tuple:
    """The first of the steps 1, 1/2, 1/4, ... that lowers the objective; `here` if none does."""
    x, value, slope, _ = here
    fall = slope @ turn
    for halvings in range(MAX_HALVINGS):
        t = 0.5**halvings
        if np.array_equal(x + t * turn, x):  # too short a step to be one
            break
        there = (x + t * turn, *f(x + t * turn))
        if there[1] <= value + SUFFICIENT_DECREASE * t * fall + noise:
            return there
    return here
