r"""Newton's method: damped, truncated (Newton-CG), and as iteratively reweighted least squares.

For a loss of the score :math:`z_i = x_i \cdot w` with derivatives :math:`s_i` and curvatures
:math:`c_i`, Newton's next point is a weighted least-squares solution (IRLS):

.. math:: \arg\min_w \sum_i c_i (r_i - x_i \cdot w)^2, \qquad r_i = z_i - s_i / c_i.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tenfold.math.linalg import FLOAT64_EPS, solve_psd
from tenfold.optim.convergence import Minimum, ValueAndGradient, as_point, until_converged
from tenfold.optim.line_search import (
    EvaluatedPoint,
    ValueGradientHessian,
    backtrack_newton_step,
    is_below_rounding,
    wolfe_line_search,
)

_MAX_CG_ITERATIONS = 200  # per Newton step
_MAX_RELATIVE_RESIDUAL = 0.5  # of the Newton system, far from the minimum
_MIN_RELATIVE_CURVATURE = 1e-12  # of the largest curvature: smaller ones are rounding
_MAX_IRLS_HALVINGS = 30


def newton(
    f: ValueGradientHessian,
    x0: np.ndarray,
    *,
    tol: float = 1e-4,
    max_iter: int = 100,
    precision: float = np.finfo(np.float64).eps,
) -> Minimum:
    """Minimize a convex function by damped Newton steps.

    Value, gradient and Hessian come from one call, that is one pass over the data.

    Parameters
    ----------
    f : callable
        Returns (value, gradient, Hessian) at a flat point.
    x0 : array of shape (n_params,)
        Initial point.
    tol : float
        Converged when no entry of the gradient exceeds this in absolute value.
    max_iter : int
        Maximum number of iterations.
    precision : float
        Relative precision of `f`: also converged when the predicted decrease is below it.

    Returns
    -------
    Minimum

    Examples
    --------
    >>> import numpy as np
    >>> f = lambda x: (np.cosh(x).sum(), np.sinh(x), np.diag(np.cosh(x)))
    >>> result = newton(f, np.array([2.0, -1.0]), tol=1e-10)
    >>> bool(np.abs(result.x).max() < 1e-10)
    True
    """
    x0 = as_point(x0)
    loop = until_converged((x0, *f(x0)), tol=tol, max_iter=max_iter)
    for current in loop:
        _, value, gradient, hessian = current
        direction = -solve_psd(hessian, gradient)
        if gradient @ direction >= 0:  # the curvature is only rounding: steepest descent
            direction = -gradient
        decrease = -0.5 * float(gradient @ direction)  # of the quadratic model
        following = backtrack_newton_step(f, current, direction, precision * abs(value))
        stuck = following is current
        done = is_below_rounding(decrease, value, precision, stuck=stuck)
        change = 0.0 if done else np.abs(following[2]).max()
        loop.update(following, objective=following[1], change=change, stuck=stuck and not done)
    x, value, gradient, _ = loop.state
    return Minimum(x, value, gradient, loop.report)


def newton_cg(
    f: ValueAndGradient,
    hessian_product: Callable[[np.ndarray, np.ndarray], np.ndarray],
    x0: np.ndarray,
    *,
    tol: float = 1e-4,
    max_iter: int = 100,
    precision: float = np.finfo(np.float64).eps,
) -> Minimum:
    """Minimize a convex function from value, gradient and Hessian-vector products.

    Each Newton system is solved by conjugate gradients, more exactly near the minimum.

    Parameters
    ----------
    f : callable
        Returns (value, gradient) at a flat point.
    hessian_product : callable
        `hessian_product(x, v)` is the Hessian at x times v.
    x0 : array of shape (n_params,)
        Initial point.
    tol : float
        Converged when no entry of the gradient exceeds this in absolute value.
    max_iter : int
        Maximum number of iterations.
    precision : float
        Relative precision of `f`: also converged when the predicted decrease is below it.

    Returns
    -------
    Minimum

    Examples
    --------
    >>> import numpy as np
    >>> f = lambda x: (np.cosh(x).sum(), np.sinh(x))
    >>> result = newton_cg(f, lambda x, v: np.cosh(x) * v, np.array([2.0, -1.0]), tol=1e-10)
    >>> bool(np.abs(result.x).max() < 1e-10)
    True
    """
    x0 = as_point(x0)
    loop = until_converged(EvaluatedPoint(x0, *f(x0)), tol=tol, max_iter=max_iter)
    for current in loop:
        gradient = current.gradient
        direction = _cg_newton_direction(lambda v, x=current.x: hessian_product(x, v), gradient)
        decrease = -0.5 * float(direction @ gradient)  # of the quadratic model
        following = wolfe_line_search(f, current, direction, 1.0, precision)
        stuck = np.array_equal(following.x, current.x)
        done = is_below_rounding(decrease, current.value, precision, stuck=stuck)
        change = 0.0 if done else np.abs(following.gradient).max()
        loop.update(following, objective=following.value, change=change, stuck=stuck and not done)
    last = loop.state
    return Minimum(last.x, last.value, last.gradient, loop.report)


def _cg_newton_direction(
    product: Callable[[np.ndarray], np.ndarray], gradient: np.ndarray
) -> np.ndarray:
    """Approximate -H^-1 gradient by conjugate gradients, more exactly near the minimum."""
    norm = float(np.linalg.norm(gradient))
    tolerance = min(_MAX_RELATIVE_RESIDUAL, np.sqrt(norm)) * norm
    d, r = np.zeros_like(gradient), -gradient
    v, rr = r, float(r @ r)
    for _ in range(_MAX_CG_ITERATIONS):
        if rr <= tolerance**2:
            break
        Hv = product(v)
        curvature = float(v @ Hv)
        if curvature <= np.finfo(np.float64).eps * float(v @ v):  # no curvature along v: stop
            return d if d.any() else r
        d = d + rr / curvature * v
        r = r - rr / curvature * Hv
        rr, previous = float(r @ r), rr
        v = r + rr / previous * v
    return d


def weighted_least_squares(X: np.ndarray, z: np.ndarray, w: np.ndarray) -> np.ndarray:
    r"""The coefficients :math:`\arg\min_b \sum_i w_i (z_i - x_i \cdot b)^2`, of least norm if many.

    Parameters
    ----------
    X : array of shape (n_rows, n_features)
    z : array of shape (n_rows,) or (n_rows, n_targets)
    w : array of shape (n_rows,)
        Weights, none negative.

    Returns
    -------
    array of shape (n_features,) or (n_features, n_targets)

    Examples
    --------
    >>> import numpy as np
    >>> coef = weighted_least_squares(np.ones((2, 1)), np.array([0.0, 4.0]), np.array([3.0, 1.0]))
    >>> coef.round(12).tolist()
    [1.0]
    """
    if (w < 0).any():
        raise ValueError(
            f"weights must not be negative: row {int(np.argmax(w < 0))} has a negative one"
        )
    root = np.sqrt(w)
    return np.linalg.lstsq(X * root[:, None], (z.T * root).T, rcond=None)[0]


def irls_step(X: np.ndarray, y: np.ndarray, theta: np.ndarray, loss: Any) -> np.ndarray:
    """Newton's next point for the sum of a loss over rows, as one weighted least-squares solve.

    Parameters
    ----------
    X : array of shape (n_rows, n_features)
    y : array of shape (n_rows,)
        Targets in the coding of the loss.
    theta : array of shape (n_features,)
        The current coefficients.
    loss : object with `gradient(z, y)` and `curvature(z, y)`
        See `tenfold.math.losses`.

    Returns
    -------
    array of shape (n_features,)

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
        raise ValueError(f"{loss!r} has no curvature at this point: use a first-order method")
    return weighted_least_squares(X, z - loss.gradient(z, y) / curvature, curvature)


def irls(
    X: np.ndarray,
    y: np.ndarray,
    loss: Any,
    *,
    x0: np.ndarray | None = None,
    tol: float = 1e-8,
    max_iter: int = 100,
) -> Minimum:
    """Minimize the sum of a convex loss of linear scores by repeated weighted least squares.

    Steps are halved until the loss does not increase. For data larger than memory use `newton`.

    Parameters
    ----------
    X, y, loss
        As in `irls_step`; the loss also has a method `value(z, y)`.
    x0 : array of shape (n_features,), optional
        Initial coefficients, zero by default.
    tol : float
        Converged when no entry of the gradient exceeds this in absolute value.
    max_iter : int
        Maximum number of iterations.

    Returns
    -------
    Minimum

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.math.losses import PoissonLoss
    >>> result = irls(np.ones((3, 1)), np.array([1.0, 2.0, 6.0]), PoissonLoss())
    >>> np.exp(result.x).round(6).tolist()  # the mean
    [3.0]
    """

    def f(theta: np.ndarray) -> tuple[float, np.ndarray]:
        z = X @ theta
        return float(loss.value(z, y).sum()), X.T @ loss.gradient(z, y)

    x = np.zeros(X.shape[1]) if x0 is None else as_point(x0)
    loop = until_converged((x, *f(x)), tol=tol, max_iter=max_iter)
    for x, value, gradient in loop:
        target = irls_step(X, y, x, loss)
        following = _backtrack_toward(f, x, value, target)
        stuck = np.array_equal(following[0], x)
        decrease = 0.5 * float(gradient @ (x - target))  # of the quadratic model
        done = is_below_rounding(decrease, value, FLOAT64_EPS, stuck=stuck)
        change = 0.0 if done else np.abs(following[2]).max()
        loop.update(following, objective=following[1], change=change, stuck=stuck and not done)
    x, value, gradient = loop.state
    return Minimum(x, value, gradient, loop.report)


def _backtrack_toward(
    f: ValueAndGradient, x: np.ndarray, value: float, target: np.ndarray
) -> tuple[np.ndarray, float, np.ndarray]:
    """The first point at 1, 1/2, 1/4, ... of the way from x to the target that is no worse."""
    for halvings in range(_MAX_IRLS_HALVINGS):
        point = x + 0.5**halvings * (target - x)
        candidate = (point, *f(point))
        if candidate[1] <= value:
            return candidate
    return (x, *f(x))
