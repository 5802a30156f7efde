"""Sub-gradient descent: steps over kinks, of which the best counts.

At a kink there are many slopes that stay below a convex function, and any of them will do
[000, 1.3; 002, 6.3; 003, 4.5].
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tenfold.solve.divergence import Slope
from tenfold.solve.lbfgs import Minimum
from tenfold.solve.loop import until_still
from tenfold.solve.rates import Power, Rate, as_rate

ONE_OVER_ROOT = Power(delta=0.5)


def subgradient_descent(
    f: Slope,
    start: np.ndarray,
    *,
    rate: Rate | float = ONE_OVER_ROOT,
    max_iter: int = 1000,
    project: Callable[[np.ndarray], np.ndarray] | None = None,
    normalise: bool = False,
) -> Minimum:
    """Minimise a convex function that may have kinks; the best point on the way counts.

    A step against a sub-gradient need not lower the value, but leads towards the minimum. With a
    rate that falls to zero and whose sum diverges, the best value converges to the least.

    Parameters
    ----------
    f : callable
        Returns (value, any sub-gradient) at a flat point.
    start : array
        Where to begin.
    rate : float or callable
        Length of step t = 1, 2, ...; 1/sqrt(t) by default.
    max_iter : int
        Steps; a sub-gradient of zero ends the descent earlier, and only that is convergence.
    project : callable, optional
        Brings a point back to a convex set, see `tenfold.solve.projections`.
    normalise : bool
        Give sub-gradients the length 1, so that the rate is the length of the step.

    Returns
    -------
    Minimum
        The best point; "objective" in the history is the best value so far.

    Examples
    --------
    >>> import numpy as np
    >>> f = lambda x: (abs(x[0] - 1) + 2 * abs(x[1]), np.array([1.0, 2.0]) * np.sign(x - [1, 0]))
    >>> found = subgradient_descent(f, np.array([5.0, 5.0]), max_iter=4000)
    >>> bool(found.value < 0.02)
    True
    """
    rate = as_rate(rate)
    best = Minimum(start, *f(start), {})
    loop = until_still((start, best.slope, best), tol=0.0, max_iter=max_iter)
    for x, slope, best in loop:
        length = float(np.linalg.norm(slope))
        x = x - rate(loop.n_iter + 1) * slope / (length if normalise and length else 1.0)
        x = x if project is None else project(x)
        there = Minimum(x, *f(x), {})
        best = there if there.value < best.value else best
        change = 0.0 if length == 0 else np.inf
        loop.tell((x, there.slope, best), objective=best.value, change=change)
    return loop.state[2]._replace(report=loop.report)
