r"""Lagrange multipliers: stationary points on an equality constraint.

.. math:: L(x, \lambda) = f(x) + \lambda \cdot (c - g(x)), \qquad
          \nabla f = \lambda \nabla g, \quad g = c.

The multiplier is the derivative of the optimal value with respect to c.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tenfold.optim.convergence import ValueAndGradient

_ROOT_TOLERANCE = 1e-10  # residual of the conditions, relative to the point
_DIFFERENCE_STEP = 6e-6  # cube root of the precision, optimal for central differences


class StationaryPoint(NamedTuple):
    """A stationary point of the Lagrangian.

    Attributes
    ----------
    x : the point
    multipliers : lambda, one for each constraint
    value : f(x)
    kind : "minimum", "maximum", "saddle" or "flat", among the points that meet the constraints
    """

    x: np.ndarray
    multipliers: np.ndarray
    value: float
    kind: str


def lagrange_stationary_point(f: ValueAndGradient, g: Callable, x0: np.ndarray) -> StationaryPoint:
    """Find a stationary point of f on g(x) = 0 from the first-order conditions.

    Parameters
    ----------
    f : callable
        Returns (value, gradient).
    g : callable
        Returns (values, Jacobian): g(x) - c of the constraints, (n_constraints,), and their
        Jacobian, (n_constraints, n_params).
    x0 : array of shape (n_params,)
        Initial point.

    Returns
    -------
    Stationary

    Examples
    --------
    The largest x y with x + y = 6:

    >>> import numpy as np
    >>> area = lambda v: (v[0] * v[1], np.array([v[1], v[0]]))
    >>> line = lambda v: (np.array([v.sum() - 6]), np.ones((1, 2)))
    >>> found = lagrange_stationary_point(area, line, np.array([1.0, 2.0]))
    >>> found.x.round(9).tolist(), found.multipliers.round(9).tolist(), round(found.value, 9)
    ([3.0, 3.0], [3.0], 9.0)
    >>> found.kind
    'maximum'
    """
    from scipy.optimize import root

    x0 = np.asarray(x0, np.float64)
    n = len(x0)
    gradient, J = f(x0)[1], g(x0)[1]
    guess = np.linalg.lstsq(J.T, gradient, rcond=None)[0]

    def conditions(unknowns: np.ndarray) -> np.ndarray:
        values, J = g(unknowns[:n])
        return np.concatenate([f(unknowns[:n])[1] - J.T @ unknowns[n:], values])

    solution = root(conditions, np.concatenate([x0, guess]), tol=1e-14)
    residual = float(np.abs(conditions(solution.x)).max(initial=0.0))
    if not residual <= _ROOT_TOLERANCE * max(1.0, float(np.abs(solution.x).max())):
        raise ValueError(
            f"no stationary point was found from this initial point (residual {residual:.3g}): "
            "try another initial point, and check the gradients of f and g"
        )
    x, multipliers = solution.x[:n], solution.x[n:]
    return StationaryPoint(
        x, multipliers, float(f(x)[0]), _classify_stationary_point(f, g, x, multipliers)
    )


def _classify_stationary_point(
    f: ValueAndGradient, g: Callable, x: np.ndarray, multipliers: np.ndarray
) -> str:
    """Classify by the curvature of the Lagrangian along the constraints."""
    from scipy.linalg import null_space

    def lagrangian_gradient(x: np.ndarray) -> np.ndarray:
        return f(x)[1] - g(x)[1].T @ multipliers

    tangent = null_space(g(x)[1])
    H = np.array(
        [
            (
                lagrangian_gradient(x + _DIFFERENCE_STEP * v)
                - lagrangian_gradient(x - _DIFFERENCE_STEP * v)
            )
            / (2 * _DIFFERENCE_STEP)
            for v in tangent.T
        ]
    )
    curvatures = np.linalg.eigvalsh(tangent.T @ H.T) if tangent.shape[1] else np.ones(1)
    tolerance = 1e-6 * max(1.0, float(np.abs(curvatures).max()))
    if (curvatures > tolerance).all():
        return "minimum"
    if (curvatures < -tolerance).all():
        return "maximum"
    return "saddle" if curvatures.min() < -tolerance and curvatures.max() > tolerance else "flat"


def simplex_weights(counts: np.ndarray) -> tuple[np.ndarray, float]:
    r"""The weights that maximise :math:`\sum_i n_i \log w_i` on the simplex, and the multiplier.

    They are n_i / n, and the multiplier of the sum is n: the maximum-likelihood estimate of a
    categorical distribution, and of the weights of a mixture.

    Parameters
    ----------
    counts : array of shape (n_classes,)
        Numbers >= 0, not all zero; they need not be integers.

    Returns
    -------
    weights, multiplier

    Examples
    --------
    >>> import numpy as np
    >>> weights, multiplier = simplex_weights(np.array([2.0, 1.0, 1.0]))
    >>> weights.tolist(), multiplier
    ([0.5, 0.25, 0.25], 4.0)
    """
    total = float(np.sum(counts))
    if np.min(counts, initial=np.inf) < 0 or not 0 < total < np.inf:
        raise ValueError("counts must be finite, not negative, and not all zero")
    return np.asarray(counts) / total, total
