"""Why a quadratic program has no solution: contradicting constraints, or a fall without end."""

from __future__ import annotations

import numpy as np

from tenfold.solve.interior import Problem


class InfeasibleError(ValueError):
    """No point meets all constraints."""


class UnboundedError(ValueError):
    """The objective falls for ever.

    Attributes
    ----------
    direction : a direction in which it does, within all constraints
    """

    def __init__(self, message: str, direction: np.ndarray) -> None:
        super().__init__(message)
        self.direction = direction


def why_not(problem: Problem) -> None:
    """Raise the error that says why there is no minimum; return if there is one after all."""
    from scipy.optimize import linprog

    P, q, G, h, A, b = problem
    if linprog(np.zeros(len(q)), G, h, A, b, bounds=(None, None)).status == 2:
        raise InfeasibleError(
            f"no point meets all {len(h)} inequalities and {len(b)} equations: they contradict "
            "each other. Leave some out, or pay for their violation (slack variables)."
        )
    flat = np.vstack([A, P])
    fall = linprog(q, G, np.zeros(len(h)), flat, np.zeros(len(flat)), bounds=(-1, 1))
    if fall.status == 0 and fall.fun < -1e-7 * max(1.0, float(np.abs(q).max(initial=0.0))):
        raise UnboundedError(
            "the objective falls without end along a direction that the constraints allow (see "
            "`direction` of this error): bound it, or give P curvature there.",
            fall.x,
        )
