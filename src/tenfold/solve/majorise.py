"""Majorise, then minimise: a hard cost falls with a simple one that lies above it and touches it.

    g(x, at) >= f(x) for all x,    g(at, at) = f(at),    next = argmin_x g(x, at)        [001, 1.1]

Then f(next) <= g(next, at) <= g(at, at) = f(at): the cost cannot rise. EM is the best-known case.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tenfold.solve.alternating import NOISE, CostRoseError, watched
from tenfold.solve.lbfgs import Minimum
from tenfold.solve.loop import until_still


def majorise_minimise(
    minimiser: Callable[[np.ndarray], np.ndarray],
    cost: Callable[[np.ndarray], float],
    start: np.ndarray,
    *,
    majoriser: Callable[[np.ndarray, np.ndarray], float] | None = None,
    tol: float = 1e-8,
    max_iter: int = 1000,
    on_rise: str = "raise",
) -> Minimum:
    """Minimise a cost by minimising, again and again, a majoriser that touches it.

    Parameters
    ----------
    minimiser : callable
        Gives, for the point `at`, the minimum of the majoriser that touches the cost there.
    cost : callable
        What is minimised.
    start : array
        Where to begin.
    majoriser : callable, optional
        `majoriser(x, at)`. If given, every round checks that it touches the cost at `at`, that it
        lies above the cost at the next point, and that the next point is no worse for it.
    tol : float
        Converged when no entry of the point moves by more than this.
    max_iter : int
        Most rounds.
    on_rise : "raise" or "warn"
        What happens when a round raises the cost.

    Returns
    -------
    Minimum
        Its `slope` is the last step.

    Examples
    --------
    The median by squares: `|d| <= d^2 / (2 |at|) + |at| / 2`, which touches it at d = at.

    >>> import numpy as np
    >>> data = np.array([0.0, 1.0, 2.0, 5.0, 100.0])
    >>> def mean_of_near(m):
    ...     w = 1 / np.maximum(np.abs(data - m), 1e-9)
    ...     return np.atleast_1d((w * data).sum() / w.sum())
    >>> found = majorise_minimise(mean_of_near, lambda m: np.abs(data - m).sum(), np.array([30.0]))
    >>> found.x.round(4).tolist()
    [2.0]
    """
    loop = until_still((start, float(cost(start)), start * np.nan), tol=tol, max_iter=max_iter)
    for at, value, _ in loop:
        x = minimiser(at)
        after = float(cost(x))
        if majoriser is not None:
            check_majoriser(majoriser, x, at, after, value)
        watched(value, after, f"round {loop.n_iter + 1}", on_rise)
        change = float(np.abs(x - at).max(initial=0.0))
        loop.tell((x, after, x - at), objective=after, change=change)
    x, value, last = loop.state
    return Minimum(x, value, last, loop.report)


def check_majoriser(
    g: Callable[[np.ndarray, np.ndarray], Any],
    x: np.ndarray,
    at: np.ndarray,
    cost_x: float,
    cost_at: float,
) -> None:
    """Raise an error unless g(., at) touches the cost at `at`, and x lies between the two."""
    touch, there = float(g(at, at)), float(g(x, at))
    noise = NOISE * max(abs(cost_at), abs(touch))
    if not abs(touch - cost_at) <= noise:
        why = f"it is {touch:.10g} where the cost is {cost_at:.10g}, and must touch it there"
    elif there < cost_x - noise:
        why = f"it is {there:.10g} at the next point, below the cost of {cost_x:.10g}"
    elif there > touch + noise:
        why = f"the next point does not minimise it: {there:.10g} there, {touch:.10g} here"
    else:
        return
    raise CostRoseError(f"the majoriser is none: {why}")
