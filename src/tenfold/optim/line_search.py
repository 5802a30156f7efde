"""Line searches: weak Wolfe conditions, and backtracking for Newton steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tenfold.optim.convergence import ValueAndGradient

ValueGradientHessian = Callable[[np.ndarray], tuple[float, np.ndarray, np.ndarray]]

# c1 and c2 of the weak Wolfe conditions (Nocedal and Wright 2006, section 3.1)
SUFFICIENT_DECREASE, _CURVATURE_CONDITION = 1e-4, 0.9
MAX_LINE_SEARCH_STEPS = 20
MAX_HALVINGS = 60  # from a step of 1 to the next representable point
ROUNDING_FACTOR = 1e3  # multiple of the precision below which rounding may hide a decrease


class EvaluatedPoint(NamedTuple):
    """A point with the value and the gradient of the objective there."""

    x: np.ndarray
    value: float
    gradient: np.ndarray


def is_below_rounding(
    decrease: float, value: float, precision: float, *, stuck: bool, noise: float = 1.0
) -> bool:
    """Whether a predicted decrease is too small to be seen in the value.

    A solver that is `stuck` (no step lowers the value) gets `ROUNDING_FACTOR * noise` times the
    tolerance of one that moves.
    """
    return decrease <= (ROUNDING_FACTOR * noise if stuck else 1) * precision * abs(value)


def wolfe_line_search(
    f: ValueAndGradient,
    current: EvaluatedPoint,
    direction: np.ndarray,
    initial_step: float,
    precision: float,
) -> EvaluatedPoint:
    """Find a step along `direction` that satisfies the weak Wolfe conditions.

    Bracketing with interpolation; a good `initial_step` is usually accepted at once. If no step is,
    the best point that satisfies sufficient decrease is returned, else `current`.
    """
    derivative = float(current.gradient @ direction)
    low, high, t = 0.0, np.inf, initial_step
    noise = precision * abs(current.value)
    trial = best = current
    for _ in range(MAX_LINE_SEARCH_STEPS):
        trial = EvaluatedPoint(x := current.x + t * direction, *f(x))
        trial_derivative = trial.gradient @ direction
        allowed = current.value + SUFFICIENT_DECREASE * t * derivative + noise
        if not trial.value <= allowed:  # also when NaN
            high = t
        elif trial_derivative < _CURVATURE_CONDITION * derivative:
            low, best = t, trial
        else:
            return trial
        if np.isinf(high):
            t = 2 * t
        else:
            t = _interpolate_step(low, high, t, derivative, trial.value - current.value)
    return best if best.value <= current.value else current


def _interpolate_step(low: float, high: float, t: float, derivative: float, change: float) -> float:
    """Minimum of the parabola through the last trial, at least 10 % inside the bracket."""
    excess = change - t * derivative
    guess = -derivative * t * t / (2 * excess) if np.isfinite(excess) and excess > 0 else 0.0
    width = high - low
    return min(max(guess, low + 0.1 * width), high - 0.1 * width)


def backtrack_newton_step(
    f: ValueGradientHessian, current: tuple, direction: np.ndarray, noise: float
) -> tuple:
    """The first of the steps 1, 1/2, 1/4, ... with sufficient decrease; `current` if none has it.

    Points are tuples (x, value, gradient, Hessian).
    """
    x, value, gradient, _ = current
    derivative = gradient @ direction
    for halvings in range(MAX_HALVINGS):
        t = 0.5**halvings
        if np.array_equal(x + t * direction, x):  # the step is below the resolution of x
            break
        trial = (x + t * direction, *f(x + t * direction))
        if trial[1] <= value + SUFFICIENT_DECREASE * t * derivative + noise:
            return trial
    return current
