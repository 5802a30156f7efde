"""Truncated Newton: the step is solved for by conjugate gradients, and only as well as it pays.

Many parameters have too large a Hessian to make, but its product with a direction is one pass.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tenfold.solve.lbfgs import NOISE, Minimum, Objective, Point, line_search
from tenfold.solve.loop import until_still

MOST_PASSES = 200  # of one step
LOOSEST = 0.5  # the residual of a step, beside the slope, far from the minimum


def newton_cg(
    f: Objective,
    bent: Callable[[np.ndarray, np.ndarray], np.ndarray],
    start: np.ndarray,
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
    loop = until_still(Point(start, *f(start)), tol=tol, max_iter=max_iter)
    for here in loop:
        turn = truncated_step(lambda v, x=here.x: bent(x, v), here.slope)
        gap = -0.5 * float(turn @ here.slope)
        there = line_search(f, here, turn, 1.0, precision)
        stuck = np.array_equal(there.x, here.x)
        unseen = gap <= (NOISE if stuck else 1) * precision * abs(here.value)
        change = 0.0 if unseen else np.abs(there.slope).max()
        loop.tell(there, objective=there.value, change=change, stuck=stuck and not unseen)
    end = loop.state
    return Minimum(end.x, end.value, end.slope, loop.report)


def truncated_step(product: Callable[[np.ndarray], np.ndarray], slope: np.ndarray) -> np.ndarray:
    """About -H^-1 slope, by conjugate gradients; nearer the minimum it is solved for better."""
    size = float(np.linalg.norm(slope))
    enough = min(LOOSEST, np.sqrt(size)) * size
    d, r = np.zeros_like(slope), -slope
    v, rr = r, float(r @ r)
    for _ in range(MOST_PASSES):
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
