r"""Proximal gradient (ISTA, FISTA) and projected gradient.

.. math:: x \leftarrow \operatorname{prox}_{tP}(x - t\, \nabla f(x)),\qquad
          \operatorname{prox}_{tP}(v) = \arg\min_x \tfrac1{2t}|x - v|^2 + P(x)

Without momentum this is ISTA, with Nesterov's momentum FISTA. The proximal operator of the
indicator function of a convex set is the projection onto it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from tenfold.optim.convergence import (
    DivergenceError,
    Minimum,
    ValueAndGradient,
    as_point,
    suggest_learning_rate,
    until_converged,
)

_MAX_HALVINGS = 60
_ROUNDING_RATIO = 1e-12  # of the value: a smaller decrease is rounding


class ProximablePenalty(Protocol):
    """Interface of a penalty with a known proximal operator; see `tenfold.math.penalties`."""

    def value(self, w: np.ndarray) -> float: ...

    def prox(self, v: np.ndarray, step: float) -> np.ndarray: ...


class ConvexSetIndicator(NamedTuple):
    """Indicator function of a convex set: zero inside, infinite outside."""

    project: Callable[[np.ndarray], np.ndarray]

    def value(self, w: np.ndarray) -> float:
        return 0.0

    def prox(self, v: np.ndarray, step: float) -> np.ndarray:
        return self.project(v)


class ProximalState(NamedTuple):
    """State: the iterate, the extrapolated point, the momentum parameter, the step size."""

    x: np.ndarray
    extrapolated: np.ndarray
    t: float
    step_size: float
    value: float  # of the smooth part at x
    gradient: np.ndarray


def proximal_gradient(
    f: ValueAndGradient,
    penalty: ProximablePenalty,
    x0: np.ndarray,
    *,
    step_size: float | None = None,
    accelerated: bool = True,
    tol: float = 1e-6,
    max_iter: int = 1000,
) -> Minimum:
    """Minimize f(x) + P(x) for a smooth f and a penalty P with a known proximal operator.

    Parameters
    ----------
    f : callable
        Returns (value, gradient) of the smooth part.
    penalty : object with `value(x)` and `prox(v, step)`
        For instance `tenfold.math.penalties.L1Penalty(0.1)`.
    x0 : array of shape (n_params,)
        Initial point.
    step_size : float, optional
        A constant step size, at most 1 / (largest curvature of f). By default it is found by
        backtracking: halved until the quadratic model lies above f.
    accelerated : bool
        Use Nesterov's momentum (FISTA), restarted when it points uphill; ISTA if False.
    tol : float
        Converged when no entry of the gradient mapping (x - next x) / step_size, which is the
        gradient if there is no penalty, exceeds this in absolute value.
    max_iter : int
        Maximum number of iterations.

    Returns
    -------
    Minimum
        `value` includes the penalty, `gradient` is that of the smooth part.

    Raises
    ------
    DivergedError
        If a constant `step_size` is too large; its attribute `rate` is one that converges.

    References
    ----------
    A. Beck and M. Teboulle (2009), "A fast iterative shrinkage-thresholding algorithm for linear
    inverse problems", SIAM Journal on Imaging Sciences 2.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.math.penalties import L1Penalty
    >>> near = lambda x: (((x - [3.0, 0.5]) ** 2).sum() / 2, x - [3.0, 0.5])
    >>> proximal_gradient(near, L1Penalty(1.0), np.zeros(2)).x.tolist()
    [2.0, 0.0]
    """
    x0 = as_point(x0)
    initial = ProximalState(x0, x0, 1.0, step_size or 1.0, *f(x0))
    loop = until_converged(initial, tol=tol, max_iter=max_iter)
    for state in loop:
        y = state.extrapolated
        smooth_at_y = (state.value, state.gradient) if y is state.x else f(y)
        x, step, smooth = _proximal_step(
            f, penalty, state, smooth_at_y, fixed=step_size is not None
        )
        if not np.isfinite(smooth[0]):
            rate, advice = suggest_learning_rate(f, x0)
            raise DivergenceError(f"diverged after {loop.n_iter + 1} steps. {advice}", rate)
        change = float(np.abs(x - y).max(initial=0.0)) / step
        extrapolated, t = _extrapolate(state, x) if accelerated else (x, 1.0)
        step = step if step_size is not None else 1.1 * step  # the curvature may have decreased
        new = ProximalState(x, extrapolated, t, step, *smooth)
        loop.update(new, objective=new.value + penalty.value(x), change=change)
    last = loop.state
    return Minimum(last.x, last.value + penalty.value(last.x), last.gradient, loop.report)


def _proximal_step(
    f: ValueAndGradient,
    penalty: ProximablePenalty,
    state: ProximalState,
    smooth_at_y: tuple[float, np.ndarray],
    *,
    fixed: bool,
) -> tuple[np.ndarray, float, tuple[float, np.ndarray]]:
    """The proximal step from the extrapolated point, its size, and the smooth part after it."""
    y, step = state.extrapolated, 2 * state.step_size
    value, gradient = smooth_at_y
    for _ in range(_MAX_HALVINGS):
        step /= 2
        x = penalty.prox(y - step * gradient, step)
        with np.errstate(over="ignore", invalid="ignore"):  # divergence raises its own error
            smooth = f(x)
        d = x - y
        bound = value + float((gradient * d).sum()) + float((d * d).sum()) / (2 * step)
        if fixed or smooth[0] <= bound + _ROUNDING_RATIO * abs(value):
            return x, step, smooth
    raise ValueError("no step size is short enough: f is not finite, or its gradient is wrong")


def _extrapolate(state: ProximalState, x: np.ndarray) -> tuple[np.ndarray, float]:
    """The extrapolated point and its momentum parameter; a restart if momentum points uphill."""
    if ((state.extrapolated - x) * (x - state.x)).sum() > 0:
        return x, 1.0
    t = (1 + np.sqrt(1 + 4 * state.t**2)) / 2
    return x + (state.t - 1) / t * (x - state.x), float(t)


def projected_gradient(
    f: ValueAndGradient,
    project: Callable[[np.ndarray], np.ndarray],
    x0: np.ndarray,
    *,
    step_size: float | None = None,
    accelerated: bool = False,
    tol: float = 1e-6,
    max_iter: int = 1000,
) -> Minimum:
    """Minimize a smooth f on a convex set: a gradient step, then the projection onto the set.

    The other parameters are those of `proximal_gradient`.

    Parameters
    ----------
    f : callable
        Returns (value, gradient).
    project : callable
        The projection onto the set; see `tenfold.optim.projections`.
    x0 : array of shape (n_params,)
        Initial point; it is projected first.
    step_size, accelerated, tol, max_iter
        As in `proximal_gradient`.

    Returns
    -------
    Minimum

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.optim.projections import simplex
    >>> f = lambda x: (((x - [2.0, 1.5, 0.0]) ** 2).sum() / 2, x - [2.0, 1.5, 0.0])
    >>> projected_gradient(f, simplex(), np.ones(3)).x.round(6).tolist()
    [0.75, 0.25, 0.0]
    """
    return proximal_gradient(
        f,
        ConvexSetIndicator(project),
        project(as_point(x0)),
        step_size=step_size,
        accelerated=accelerated,
        tol=tol,
        max_iter=max_iter,
    )
