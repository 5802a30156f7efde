"""Damped Newton: solve with the curvature, halve the step until the objective falls."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tenfold.solve.lbfgs import ENOUGH_DECREASE, NOISE, Minimum
from tenfold.solve.loop import until_still

EPS = float(np.finfo(np.float64).eps)
MOST_HALVINGS = 60  # from one step to the next representable point

Curved = Callable[[np.ndarray], tuple[float, np.ndarray, np.ndarray]]


def newton(
    f: Curved,
    start: np.ndarray,
    *,
    tol: float = 1e-4,
    max_iter: int = 100,
    precision: float = np.finfo(np.float64).eps,
) -> Minimum:
    """Minimise a convex function from value, slope and Hessian, all from one pass.

    Parameters
    ----------
    f : callable
        Returns (value, slope, Hessian) at a flat point.
    start : array
        Where to begin.
    tol : float
        Converged when no entry of the slope exceeds this.
    max_iter : int
        Most steps.
    precision : float
        Relative precision of `f`: converged, too, when less than that is left to gain.

    Returns
    -------
    Minimum

    Examples
    --------
    >>> import numpy as np
    >>> f = lambda x: (np.cosh(x).sum(), np.sinh(x), np.diag(np.cosh(x)))
    >>> found = newton(f, np.array([2.0, -1.0]), tol=1e-10)
    >>> bool(np.abs(found.x).max() < 1e-10)
    True
    """
    loop = until_still((start, *f(start)), tol=tol, max_iter=max_iter)
    for here in loop:
        _, value, slope, hessian = here
        turn = -solve_psd(hessian, slope)
        if slope @ turn >= 0:  # the curvature is only rounding: plain descent
            turn = -slope
        gap = -0.5 * float(slope @ turn)
        there = damped(f, here, turn, precision * abs(value))
        stuck = there is here
        unseen = gap <= (NOISE if stuck else 1) * precision * abs(value)
        change = 0.0 if unseen else np.abs(there[2]).max()
        loop.tell(there, objective=there[1], change=change, stuck=stuck and not unseen)
    x, value, slope, _ = loop.state
    return Minimum(x, value, slope, loop.report)


def damped(f: Curved, here: tuple, turn: np.ndarray, noise: float) -> tuple:
    """The first of the steps 1, 1/2, 1/4, ... that lowers the objective; `here` if none does."""
    x, value, slope, _ = here
    fall = slope @ turn
    for halvings in range(MOST_HALVINGS):
        t = 0.5**halvings
        if np.array_equal(x + t * turn, x):  # too short a step to be one
            break
        there = (x + t * turn, *f(x + t * turn))
        if there[1] <= value + ENOUGH_DECREASE * t * fall + noise:
            return there
    return here


def solve_psd(A: np.ndarray, b: np.ndarray, eps: float = EPS) -> np.ndarray:
    """Solve A x = b for a positive semi-definite A: Cholesky, else the shortest solution.

    Examples
    --------
    >>> import numpy as np
    >>> solve_psd(np.array([[1.0, 1.0], [1.0, 1.0]]), np.array([2.0, 2.0])).round(12).tolist()
    [1.0, 1.0]
    """
    # the functions that wrap these two take longer than a small solve
    from scipy.linalg.lapack import dpotrf, dpotrs  # pyright: ignore[reportAttributeAccessIssue]

    size = np.sqrt(np.maximum(A.diagonal(), 0.0))
    size[size == 0] = 1.0
    factor, failed = dpotrf(A / size / size[:, None], lower=True)
    if failed or not factor.diagonal().min() ** 2 > len(A) * eps:  # also when NaN
        return shortest_solution(A, b, eps)
    return (dpotrs(factor, (b.T / size).T, lower=True)[0].T / size).T


def shortest_solution(A: np.ndarray, b: np.ndarray, eps: float = EPS) -> np.ndarray:
    """The minimum-norm solution of A x = b for a symmetric A, by its eigenvectors."""
    values, vectors = np.linalg.eigh(A)
    kept = values > len(A) * eps * np.abs(values).max(initial=0.0)
    V = vectors[:, kept]
    return V @ ((V.T @ b).T / values[kept]).T
