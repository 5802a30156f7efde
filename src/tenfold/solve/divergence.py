"""When descent runs away: how that is noticed, and which rate would have worked.

Near a point, steps of the rate eta shrink the error as long as eta < 2 / L, where L is the largest
curvature: the error along an eigenvector with curvature c is multiplied by 1 - eta c.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Slope = Callable[[np.ndarray], tuple[float, np.ndarray]]

ROUNDS = 30  # of power iteration
BLOWN = 1e8  # times the first slope: no descent comes back from there


class DivergedError(ArithmeticError):
    """Descent ran away.

    Attributes
    ----------
    rate : a constant rate that works around the start, 1 / (largest curvature there)
    """

    def __init__(self, message: str, rate: float) -> None:
        super().__init__(message)
        self.rate = rate


def largest_curvature(f: Slope, x: np.ndarray) -> float:
    """Largest curvature of a smooth function at a point, from slopes alone.

    Power iteration on the Hessian, whose products with a vector are differences of slopes.

    Parameters
    ----------
    f : callable
        Returns (value, slope) at a flat point.
    x : array
        Where.

    Returns
    -------
    float
        Absolute value of the largest eigenvalue of the Hessian (from below, nearly).

    Examples
    --------
    >>> import numpy as np
    >>> A = np.diag([1.0, 5.0])
    >>> round(largest_curvature(lambda x: (x @ A @ x / 2, A @ x), np.ones(2)), 4)
    5.0
    """
    slope = f(x)[1]
    reach = np.sqrt(np.finfo(float).eps) * max(1.0, float(np.linalg.norm(x)))
    v, curvature = np.random.default_rng(0).normal(size=x.shape), 0.0
    for _ in range(ROUNDS):
        v = v / np.linalg.norm(v)
        v = (f(x + reach * v)[1] - slope) / reach
        curvature = float(np.linalg.norm(v))
        if not 0 < curvature < np.inf:
            break
    return curvature


def has_blown_up(value: float, slope: np.ndarray, first: float) -> bool:
    """Whether a value is no number, or the slope out of all proportion to its `first` length."""
    return not (np.isfinite(value) and np.linalg.norm(slope) <= BLOWN * max(first, 1e-300))


def rate_that_works(f: Slope, start: np.ndarray) -> tuple[float, str]:
    """A rate for descent from `start`, and a sentence that says so."""
    curvature = largest_curvature(f, start)
    if not 0 < curvature < np.inf:
        return np.nan, "Try a smaller rate, or let backtracking find it."
    rate = 1 / curvature
    return rate, (
        f"The largest curvature at the start is {curvature:.4g}, so rates below {2 * rate:.4g} "
        f"converge there: try rate={rate:.4g}, or let backtracking find it."
    )
