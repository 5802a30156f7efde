"""L-BFGS: limited-memory quasi-Newton with a two-loop recursion and a Wolfe line search.

Every evaluation is a pass over the data, so the initial step is chosen to be accepted at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tenfold.optim.convergence import Minimum, ValueAndGradient, as_point, until_converged
from tenfold.optim.line_search import EvaluatedPoint, is_below_rounding, wolfe_line_search


def lbfgs(
    f: ValueAndGradient,
    x0: np.ndarray,
    *,
    tol: float = 1e-4,
    max_iter: int = 100,
    memory: int = 10,
    precondition: Callable[[np.ndarray], np.ndarray] | None = None,
    precision: float = np.finfo(np.float64).eps,
    noise: float = 1.0,
) -> Minimum:
    """Minimize a smooth function from its value and gradient by limited-memory BFGS.

    Parameters
    ----------
    f : callable
        Returns (value, gradient) at a flat point.
    x0 : array of shape (n_params,)
        Initial point.
    tol : float
        Converged when no entry of the gradient exceeds this in absolute value.
    max_iter : int
        Maximum number of iterations.
    memory : int
        Number of (step, gradient change) pairs that are kept.
    precondition : callable, optional
        Multiplies a vector by an approximate inverse Hessian.
    precision : float
        Relative precision of `f`: also converged when the predicted decrease is below it.
    noise : float
        Factor by which the values of `f` may be less precise (scores far from zero cancel).

    Returns
    -------
    Minimum

    See Also
    --------
    newton : With the Hessian, for few parameters.
    newton_cg : With Hessian-vector products, for many parameters.

    References
    ----------
    D. C. Liu and J. Nocedal (1989), "On the limited memory BFGS method for large scale
    optimization", Mathematical Programming 45.

    Examples
    --------
    >>> import numpy as np
    >>> result = lbfgs(lambda x: (((x - 3) ** 2).sum(), 2 * (x - 3)), np.zeros(2), tol=1e-9)
    >>> result.x.tolist(), result.report["converged_"]
    ([3.0, 3.0], True)
    """
    x0 = as_point(x0)
    initial = EvaluatedPoint(x0, *f(x0))
    loop = until_converged((initial, ()), tol=tol, max_iter=max_iter)
    if np.abs(initial.gradient).max(initial=0.0) <= tol:
        return Minimum(*initial, _report_without_steps(loop, initial))
    for current, pairs in loop:
        direction = -two_loop_recursion(current.gradient, pairs, precondition)
        if direction @ current.gradient >= 0:  # rounding has spoiled the pairs: restart
            pairs = ()
            direction = -two_loop_recursion(current.gradient, pairs, precondition)
        decrease = -0.5 * float(direction @ current.gradient)  # of the quadratic model
        step = 1.0 if pairs or precondition else min(1.0, 1.0 / np.abs(current.gradient).sum())
        following = wolfe_line_search(f, current, direction, step, noise * precision)
        stuck = np.array_equal(following.x, current.x)
        if not stuck:
            pairs = _update_pairs(pairs, current, following, memory)
        done = is_below_rounding(decrease, current.value, precision, stuck=stuck, noise=noise)
        change = 0.0 if done else np.abs(following.gradient).max()
        state = (following, pairs)
        loop.update(state, objective=following.value, change=change, stuck=stuck and not done)
    last = loop.state[0]
    return Minimum(last.x, last.value, last.gradient, loop.report)


def _update_pairs(
    pairs: tuple, current: EvaluatedPoint, following: EvaluatedPoint, memory: int
) -> tuple:
    """Append the pair of the last step (s, y, 1 / s'y), unless its curvature is not positive."""
    s, y = following.x - current.x, following.gradient - current.gradient
    if s @ y <= 0:
        return pairs
    return (*pairs, (s, y, 1.0 / (s @ y)))[-memory:]


def _report_without_steps(loop: until_converged, point: EvaluatedPoint) -> dict[str, Any]:
    """The report of a loop whose initial point is the minimum."""
    loop.converged = True
    history = {"objective": np.array([point.value]), "seconds": np.zeros(1)}
    return {**loop.report, "history_": history}


def two_loop_recursion(
    gradient: np.ndarray, pairs: tuple, precondition: Callable[[np.ndarray], np.ndarray] | None
) -> np.ndarray:
    """The L-BFGS approximation of the inverse Hessian times the gradient."""
    q = gradient.copy()
    alphas = []
    for s, y, rho in reversed(pairs):
        alphas.append(rho * (s @ q))
        q -= alphas[-1] * y
    q = q if precondition is None else precondition(q)
    if pairs:  # scale by the newest pair: the initial inverse Hessian is s'y / y'y
        s, y, _ = pairs[-1]
        q *= (s @ y) / (y @ (y if precondition is None else precondition(y)))
    for (s, y, rho), alpha in zip(pairs, reversed(alphas), strict=True):
        q += (alpha - rho * (y @ q)) * s
    return q
