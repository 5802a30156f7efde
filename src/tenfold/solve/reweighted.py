r"""Iteratively reweighted least squares: Newton's step as a weighted least-squares solve.

For a loss of the score :math:`z_i = x_i \cdot w` with slopes :math:`s_i` and curvatures
:math:`c_i`, Newton's next point is [001, 2.2, with the missing root on z put right]

.. math:: \arg\min_w \sum_i c_i (r_i - x_i \cdot w)^2, \qquad r_i = z_i - s_i / c_i.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.solve.divergence import Slope
from tenfold.solve.lbfgs import NOISE, Minimum
from tenfold.solve.loop import until_still
from tenfold.solve.newton import EPS

FLAT = 1e-12  # of the largest curvature: less is rounding
MOST_HALVINGS = 30


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
        See `tenfold.maths.losses`.

    Returns
    -------
    array (p,)

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.maths.losses import Squared
    >>> X = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0], [1.0, 3.0]])
    >>> irls_step(X, np.array([1.0, 3.0, 4.0, 8.0]), np.zeros(2), Squared()).round(12).tolist()
    [0.7, 2.2]
    """
    z = X @ theta
    curvature = np.asarray(loss.curvature(z, y), dtype=np.float64)
    curvature = np.maximum(curvature, FLAT * curvature.max(initial=0.0))
    if not curvature.max(initial=0.0) > 0:
        raise ValueError(f"{loss!r} has no curvature at this point: use a method without Hessian")
    return weighted_least_squares(X, z - loss.slope(z, y) / curvature, curvature)


def irls(
    X: np.ndarray,
    y: np.ndarray,
    loss: Any,
    *,
    start: np.ndarray | None = None,
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
    >>> from tenfold.maths.losses import Poisson
    >>> found = irls(np.ones((3, 1)), np.array([1.0, 2.0, 6.0]), Poisson())
    >>> np.exp(found.x).round(6).tolist()  # the mean
    [3.0]
    """

    def f(theta: np.ndarray) -> tuple[float, np.ndarray]:
        z = X @ theta
        return float(loss.value(z, y).sum()), X.T @ loss.slope(z, y)

    x = np.zeros(X.shape[1]) if start is None else start
    loop = until_still((x, *f(x)), tol=tol, max_iter=max_iter)
    for x, value, slope in loop:
        goal = irls_step(X, y, x, loss)
        there = halved(f, x, value, goal)
        stuck = np.array_equal(there[0], x)
        gap = 0.5 * float(slope @ (x - goal))  # what is left to gain
        unseen = gap <= (NOISE if stuck else 1) * EPS * abs(value)
        change = 0.0 if unseen else np.abs(there[2]).max()
        loop.tell(there, objective=there[1], change=change, stuck=stuck and not unseen)
    x, value, slope = loop.state
    return Minimum(x, value, slope, loop.report)


def halved(
    f: Slope, x: np.ndarray, value: float, goal: np.ndarray
) -> tuple[np.ndarray, float, np.ndarray]:
    """The first of goal, halfway, a quarter of the way, ... that is no worse than x."""
    for halvings in range(MOST_HALVINGS):
        point = x + 0.5**halvings * (goal - x)
        there = (point, *f(point))
        if there[1] <= value:
            return there
    return (x, *f(x))
