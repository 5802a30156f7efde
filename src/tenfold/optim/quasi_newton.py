"""L-BFGS: limited-memory quasi-Newton with a two-loop recursion and a Wolfe line search.

Every evaluation is a pass over the data, so the line search is built to accept its first guess.
Read in order: `lbfgs` (the loop), `_two_loop_recursion` (two-loop recursion), `wolfe_line_search`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tenfold.optim.convergence import Minimum, until_converged
from tenfold.optim.line_search import (
    ROUNDING_FACTOR,
    EvaluatedPoint,
    SmoothObjective,
    wolfe_line_search,
)


def lbfgs(
    f: SmoothObjective,
    x0: np.ndarray,
    *,
    tol: float = 1e-4,
    max_iter: int = 100,
    memory: int = 10,
    precondition: Callable[[np.ndarray], np.ndarray] | None = None,
    precision: float = np.finfo(np.float64).eps,
    noise: float = 1.0,
) -> Minimum:
    """Minimise a smooth function from its value and slope.

    Parameters
    ----------
    f : callable
        Returns (value, slope) at a flat point.
    start : array
        Where to begin.
    tol : float
        Converged when no entry of the slope exceeds this.
    max_iter : int
        Most steps.
    memory : int
        Pairs of steps and slope changes that are remembered.
    precondition : callable, optional
        Multiplies a vector by an approximate inverse Hessian.
    precision : float
        Relative precision of `f`: converged, too, when less than that is left to gain.
    noise : float
        How many times coarser than that the values may be (scores far from zero cancel).

    Returns
    -------
    Minimum

    Examples
    --------
    >>> import numpy as np
    >>> found = lbfgs(lambda x: (((x - 3) ** 2).sum(), 2 * (x - 3)), np.zeros(2), tol=1e-9)
    >>> found.x.tolist(), found.report["converged_"]
    ([3.0, 3.0], True)
    """
    point = EvaluatedPoint(x0, *f(x0))
    loop = until_converged((point, ()), tol=tol, max_iter=max_iter)
    if np.abs(point.slope).max(initial=0.0) <= tol:
        return Minimum(*point, _report_without_steps(loop, point))
    for here, pairs in loop:
        turn = -_two_loop_recursion(here.slope, pairs, precondition)
        if turn @ here.slope >= 0:  # rounding has spoilt the memory
            pairs = ()
            turn = -_two_loop_recursion(here.slope, pairs, precondition)
        gap = -0.5 * float(turn @ here.slope)  # what is left to gain, if the memory is right
        first = 1.0 if pairs or precondition else min(1.0, 1.0 / np.abs(here.slope).sum())
        there = wolfe_line_search(f, here, turn, first, noise * precision)
        stuck = np.array_equal(there.x, here.x)
        if not stuck:
            pairs = _update_pairs(pairs, here, there, memory)
        unseen = gap <= (ROUNDING_FACTOR * noise if stuck else 1) * precision * abs(here.value)
        change = 0.0 if unseen else np.abs(there.slope).max()
        loop.update(
            (there, pairs), objective=there.value, change=change, stuck=stuck and not unseen
        )
    end = loop.state[0]
    return Minimum(end.x, end.value, end.slope, loop.report)


def _update_pairs(pairs: tuple, here: EvaluatedPoint, there: EvaluatedPoint, memory: int) -> tuple:
    """The pairs with that of the last step, if it says anything about the curvature."""
    step, bend = there.x - here.x, there.slope - here.slope
    if step @ bend <= 0:
        return pairs
    return (*pairs, (step, bend, 1.0 / (step @ bend)))[-memory:]


def _report_without_steps(loop: until_converged, point: EvaluatedPoint) -> dict[str, Any]:
    loop.converged = True
    history = {"objective": np.array([point.value]), "seconds": np.zeros(1)}
    return {**loop.report, "history_": history}


def _two_loop_recursion(
    slope: np.ndarray, pairs: tuple, precondition: Callable[[np.ndarray], np.ndarray] | None
) -> np.ndarray:
    """The inverse Hessian that the pairs imply, times the slope."""
    q = slope.copy()
    shares = []
    for step, bend, rho in reversed(pairs):
        shares.append(rho * (step @ q))
        q -= shares[-1] * bend
    q = q if precondition is None else precondition(q)
    if pairs:  # the newest pair says how large the inverse Hessian is by now
        step, bend, _ = pairs[-1]
        q *= (step @ bend) / (bend @ (bend if precondition is None else precondition(bend)))
    for (step, bend, rho), share in zip(pairs, reversed(shares), strict=True):
        q += (share - rho * (bend @ q)) * step
    return q
