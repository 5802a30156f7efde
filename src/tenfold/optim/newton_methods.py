"""Newton's method: damped with a dense Hessian, truncated (Newton-CG), and as iteratively reweighted least squares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tenfold.math.linalg import FLOAT64_EPS, solve_psd
from tenfold.optim.convergence import Minimum, ValueAndGradient, until_converged
from tenfold.optim.line_search import (
    ROUNDING_FACTOR,
    EvaluatedPoint,
    SmoothObjective,
    ValueGradientHessian,
    backtrack_newton_step,
    wolfe_line_search,
)


def newton(
    f: ValueGradientHessian,
    x0: np.ndarray,
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
    loop = until_converged((x0, *f(x0)), tol=tol, max_iter=max_iter)
    for here in loop:
        _, value, slope, hessian = here
        turn = -solve_psd(hessian, slope)
        if slope @ turn >= 0:  # the curvature is only rounding: plain descent
            turn = -slope
        gap = -0.5 * float(slope @ turn)
        there = backtrack_newton_step(f, here, turn, precision * abs(value))
        stuck = there is here
        unseen = gap <= (ROUNDING_FACTOR if stuck else 1) * precision * abs(value)
        change = 0.0 if unseen else np.abs(there[2]).max()
        loop.update(there, objective=there[1], change=change, stuck=stuck and not unseen)
    x, value, slope, _ = loop.state
    return Minimum(x, value, slope, loop.report)


_MAX_CG_ITERATIONS = 200  # of one step
_MAX_RELATIVE_RESIDUAL = 0.5  # the residual of a step, beside the slope, far from the minimum


def newton_cg(
    f: SmoothObjective,
    hessian_product: Callable[[np.ndarray, np.ndarray], np.ndarray],
    x0: np.ndarray,
    *,
    tol: float = 1e-4,
    max_iter: int = 100,
    precision: float = np.finfo(np.float64).eps,
) -> Minimum:
    """Minimise a convex function from value, slope, and products with its Hessian.

    Parameters
    ----------
    f : callable
        Returns (value, slope) at a flat point.
    bent : callable
        `bent(x, v)` is the Hessian at x times v.
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
    >>> f = lambda x: (np.cosh(x).sum(), np.sinh(x))
    >>> found = newton_cg(f, lambda x, v: np.cosh(x) * v, np.array([2.0, -1.0]), tol=1e-10)
    >>> bool(np.abs(found.x).max() < 1e-10)
    True
    """
    loop = until_converged(EvaluatedPoint(x0, *f(x0)), tol=tol, max_iter=max_iter)
    for here in loop:
        turn = _cg_newton_direction(lambda v, x=here.x: hessian_product(x, v), here.slope)
        gap = -0.5 * float(turn @ here.slope)
        there = wolfe_line_search(f, here, turn, 1.0, precision)
        stuck = np.array_equal(there.x, here.x)
        unseen = gap <= (ROUNDING_FACTOR if stuck else 1) * precision * abs(here.value)
        change = 0.0 if unseen else np.abs(there.slope).max()
        loop.update(there, objective=there.value, change=change, stuck=stuck and not unseen)
    end = loop.state
    return Minimum(end.x, end.value, end.slope, loop.report)


def _cg_newton_direction(
    product: Callable[[np.ndarray], np.ndarray], slope: np.ndarray
) -> np.ndarray:
    """About -H^-1 slope, by conjugate gradients; nearer the minimum it is solved for better."""
    size = float(np.linalg.norm(slope))
    enough = min(_MAX_RELATIVE_RESIDUAL, np.sqrt(size)) * size
    d, r = np.zeros_like(slope), -slope
    v, rr = r, float(r @ r)
    for _ in range(_MAX_CG_ITERATIONS):
        if rr <= enough**2:
            break
        Hv = product(v)
        bend = float(v @ Hv)
        if bend <= np.finfo(np.float64).eps * float(v @ v):  # flat: as far as we know
            return d if d.any() else r
        d = d + rr / bend * v
        r = r - rr / bend * Hv
        rr, before = float(r @ r), rr
        v = r + rr / before * v
    return d


_MIN_RELATIVE_CURVATURE = 1e-12  # of the largest curvature: less is rounding
_MAX_IRLS_HALVINGS = 30


def weighted_least_squares(X: np.ndarray, z: np.ndarray, w: np.ndarray) -> np.ndarray:
    r"""The coefficients :math:`\arg\min_b \sum_i w_i (z_i - x_i \cdot b)^2`, the shortest if many.

    Parameters
    ----------
    X : array (n, p)
    z : array (n,) or (n, q)
    w : array (n,)
        Weights, none negative.

    Returns
    -------
    array (p,) or (p, q)

    Examples
    --------
    >>> import numpy as np
    >>> one = weighted_least_squares(np.ones((2, 1)), np.array([0.0, 4.0]), np.array([3.0, 1.0]))
    >>> one.round(12).tolist()
    [1.0]
    """
    if (w < 0).any():
        raise ValueError(
            f"weights must not be negative: row {int(np.argmax(w < 0))} has a negative"
        )
    root = np.sqrt(w)
    return np.linalg.lstsq(X * root[:, None], (z.T * root).T, rcond=None)[0]


def irls_step(X: np.ndarray, y: np.ndarray, theta: np.ndarray, loss: Any) -> np.ndarray:
    """Newton's next point for the sum of a loss over rows, as one weighted least-squares solve.

    Parameters
    ----------
    X : array (n, p)
    y : array (n,)
        Targets, as the loss wants them.
    theta : array (p,)
        The point to step from.
    loss : object with `slope(z, y)` and `curvature(z, y)`
        See `tenfold.math.losses`.

    Returns
    -------
    array (p,)

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.math.losses import SquaredLoss
    >>> X = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0], [1.0, 3.0]])
    >>> irls_step(X, np.array([1.0, 3.0, 4.0, 8.0]), np.zeros(2), SquaredLoss()).round(12).tolist()
    [0.7, 2.2]
    """
    z = X @ theta
    curvature = np.asarray(loss.curvature(z, y), dtype=np.float64)
    curvature = np.maximum(curvature, _MIN_RELATIVE_CURVATURE * curvature.max(initial=0.0))
    if not curvature.max(initial=0.0) > 0:
        raise ValueError(f"{loss!r} has no curvature at this point: use a method without Hessian")
    return weighted_least_squares(X, z - loss.slope(z, y) / curvature, curvature)


def irls(
    X: np.ndarray,
    y: np.ndarray,
    loss: Any,
    *,
    x0: np.ndarray | None = None,
    tol: float = 1e-8,
    max_iter: int = 100,
) -> Minimum:
    """Minimise the sum of a convex loss of linear scores by repeated weighted least squares.

    A step that does not lower the loss is halved. For data that do not fit memory use `newton`.

    Parameters
    ----------
    X, y, loss
        As in `irls_step`; the loss has a `value(z, y)`, too.
    start : array, optional
        Zeros by default.
    tol : float
        Converged when no entry of the slope exceeds this.
    max_iter : int
        Most steps.

    Returns
    -------
    Minimum

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.math.losses import PoissonLoss
    >>> found = irls(np.ones((3, 1)), np.array([1.0, 2.0, 6.0]), PoissonLoss())
    >>> np.exp(found.x).round(6).tolist()  # the mean
    [3.0]
    """

    def f(theta: np.ndarray) -> tuple[float, np.ndarray]:
        z = X @ theta
        return float(loss.value(z, y).sum()), X.T @ loss.slope(z, y)

    x = np.zeros(X.shape[1]) if x0 is None else x0
    loop = until_converged((x, *f(x)), tol=tol, max_iter=max_iter)
    for x, value, slope in loop:
        goal = irls_step(X, y, x, loss)
        there = _backtrack_toward(f, x, value, goal)
        stuck = np.array_equal(there[0], x)
        gap = 0.5 * float(slope @ (x - goal))  # what is left to gain
        unseen = gap <= (ROUNDING_FACTOR if stuck else 1) * FLOAT64_EPS * abs(value)
        change = 0.0 if unseen else np.abs(there[2]).max()
        loop.update(there, objective=there[1], change=change, stuck=stuck and not unseen)
    x, value, slope = loop.state
    return Minimum(x, value, slope, loop.report)


def _backtrack_toward(
    f: ValueAndGradient, x: np.ndarray, value: float, goal: np.ndarray
) -> tuple[np.ndarray, float, np.ndarray]:
    """The first of goal, halfway, a quarter of the way, ... that is no worse than x."""
    for halvings in range(_MAX_IRLS_HALVINGS):
        point = x + 0.5**halvings * (goal - x)
        there = (point, *f(point))
        if there[1] <= value:
            return there
    return (x, *f(x))
