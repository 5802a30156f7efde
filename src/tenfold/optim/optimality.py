r"""Optimality certificates: the Karush-Kuhn-Tucker conditions.

For min f(x) subject to g(x) <= 0 and e(x) = 0, with multipliers z and y:

.. math:: \nabla f + \nabla g\, z + \nabla e\, y = 0, \quad g \le 0,\; e = 0, \quad z \ge 0,
          \quad z_i\, g_i = 0.

For a convex problem they are sufficient: the multipliers prove that the point is optimal.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class KKT(NamedTuple):
    """Violation of each condition, relative to the terms that must cancel.

    Attributes
    ----------
    stationarity : the gradient of the Lagrangian
    primal : the largest violation of a constraint
    dual : the most negative multiplier of an inequality
    slackness : the largest product of a multiplier and its slack
    """

    stationarity: float
    primal: float
    dual: float
    slackness: float

    @property
    def worst(self) -> float:
        """The largest of the four."""
        return max(self)

    def holds(self, tol: float = 1e-6) -> bool:
        """Whether every condition holds to within `tol`."""
        return bool(self.worst <= tol)


def kkt(
    gradient: np.ndarray,
    *,
    inequalities: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None,
    equalities: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None,
) -> KKT:
    """Violation of the Karush-Kuhn-Tucker conditions at a point.

    Parameters
    ----------
    gradient : array of shape (n_params,)
        Gradient of the objective, which is minimized.
    inequalities, equalities : (values, Jacobian, multipliers), optional
        Constraints g <= 0 and e = 0 at the point, (n_constraints,), their Jacobian,
        (n_constraints, n_params), and multipliers, (n_constraints,).

    Returns
    -------
    KKT

    Examples
    --------
    The minimum of x^2 with x >= 1 is at 1, where g = 1 - x = 0 has the multiplier 2:

    >>> import numpy as np
    >>> at_1 = kkt(np.array([2.0]), inequalities=(np.zeros(1), np.array([[-1.0]]), np.array([2.0])))
    >>> at_1.holds()
    True
    >>> kkt(np.array([4.0]), inequalities=(-np.ones(1), np.array([[-1.0]]), np.array([4.0])))
    KKT(stationarity=0.0, primal=0.0, dual=0.0, slackness=1.0)
    """
    empty = (np.zeros(0), np.zeros((0, len(gradient))), np.zeros(0))
    g, G, z = inequalities or empty
    e, E, y = equalities or empty
    size = max(1.0, *(_max_abs(term) for term in (gradient, G.T @ z, E.T @ y)))
    return KKT(
        _max_abs(gradient + G.T @ z + E.T @ y) / size,
        max(_max_abs(np.maximum(g, 0.0)), _max_abs(e)),
        _max_abs(np.minimum(z, 0.0)) / max(1.0, _max_abs(z)),
        _max_abs(g * z) / max(1.0, _max_abs(z)),
    )


def _max_abs(v: np.ndarray) -> float:
    return float(np.abs(v).max(initial=0.0))
