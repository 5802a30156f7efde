r"""Proximal gradient (ISTA, FISTA) and projected gradient.

.. math:: x \leftarrow \operatorname{prox}_{tP}(x - t\, \nabla f(x)),\qquad
          \operatorname{prox}_{tP}(v) = \arg\min_x \tfrac1{2t}|x - v|^2 + P(x)

Plain it is ISTA, with momentum FISTA. The prox of "stay inside C" is the projection on C.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from tenfold.optim.convergence import (
    DivergenceError,
    Minimum,
    ValueAndGradient,
    suggest_learning_rate,
    until_converged,
)

_MAX_HALVINGS = 60
_ROUNDING_RATIO = 1e-12  # of the value: less gain than that is rounding


class ProximablePenalty(Protocol):
    """What `proximal_gradient` needs of a penalty; see `tenfold.math.penalties`."""

    def value(self, w: np.ndarray) -> float: ...

    def prox(self, v: np.ndarray, step: float) -> np.ndarray: ...


class ConvexSetIndicator(NamedTuple):
    """The penalty that is zero inside a convex set and infinite outside."""

    project: Callable[[np.ndarray], np.ndarray]

    def value(self, w: np.ndarray) -> float:
        return 0.0

    def prox(self, v: np.ndarray, step: float) -> np.ndarray:
        return self.project(v)


class ProximalState(NamedTuple):
    """Where it stands: the point, where the next step starts, the momentum, the step's length."""

    x: np.ndarray
    ahead: np.ndarray
    t: float
    length: float
    value: float  # of the smooth part at x
    slope: np.ndarray


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
    """Minimise f(x) + P(x) for a smooth f and a penalty P with a known prox.

    Parameters
    ----------
    f : callable
        Returns (value, slope) of the smooth part.
    penalty : object with `value(x)` and `prox(v, step)`
        For instance `tenfold.math.penalties.L1Penalty(0.1)`.
    start : array
        Where to begin.
    rate : float, optional
        A constant step; safe up to 1 / (largest curvature of f). By default the step is found by
        halving until a parabola of that curvature lies above f.
    accelerated : bool
        Add Nesterov's momentum (FISTA), dropped whenever it points uphill; plain ISTA if False.
    tol : float
        Converged when no entry of (x - next x) / step, which is the slope where there is no
        penalty, exceeds this.
    max_iter : int
        Most steps.

    Returns
    -------
    Minimum
        `value` includes the penalty, `slope` is that of the smooth part.

    Raises
    ------
    DivergedError
        If a constant `rate` is too large; the error has one that works.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.math.penalties import L1Penalty
    >>> near = lambda x: (((x - [3.0, 0.5]) ** 2).sum() / 2, x - [3.0, 0.5])
    >>> proximal_gradient(near, L1Penalty(1.0), np.zeros(2)).x.tolist()
    [2.0, 0.0]
    """
    begun = ProximalState(x0, x0, 1.0, step_size or 1.0, *f(x0))
    loop = until_converged(begun, tol=tol, max_iter=max_iter)
    for here in loop:
        base = (here.value, here.slope) if here.ahead is here.x else f(here.ahead)
        x, length, smooth = _proximal_step(f, penalty, here, base, fixed=step_size is not None)
        if not np.isfinite(smooth[0]):
            works, advice = suggest_learning_rate(f, x0)
            raise DivergenceError(f"diverged after {loop.n_iter + 1} steps. {advice}", works)
        change = float(np.abs(x - here.ahead).max(initial=0.0)) / length
        ahead, t = _momentum(here, x) if accelerated else (x, 1.0)
        length = length if step_size is not None else 1.1 * length  # the curvature may have fallen
        there = ProximalState(x, ahead, t, length, *smooth)
        loop.update(there, objective=there.value + penalty.value(x), change=change)
    end = loop.state
    return Minimum(end.x, end.value + penalty.value(end.x), end.slope, loop.report)


def _proximal_step(
    f: ValueAndGradient,
    penalty: ProximablePenalty,
    here: ProximalState,
    base: tuple[float, np.ndarray],
    *,
    fixed: bool,
) -> tuple[np.ndarray, float, tuple[float, np.ndarray]]:
    """The prox step from `here.ahead`, its length, and the smooth part where it leads."""
    y, length = here.ahead, 2 * here.length
    value, slope = base
    for _ in range(_MAX_HALVINGS):
        length /= 2
        x = penalty.prox(y - length * slope, length)
        with np.errstate(over="ignore", invalid="ignore"):  # a divergence is told in words
            smooth = f(x)
        d = x - y
        above = value + float((slope * d).sum()) + float((d * d).sum()) / (2 * length)
        if fixed or smooth[0] <= above + _ROUNDING_RATIO * abs(value):
            return x, length, smooth
    raise ValueError("no step, however short, is good: f gives no number, or the slope is wrong")


def _momentum(here: ProximalState, x: np.ndarray) -> tuple[np.ndarray, float]:
    """Where the next step starts; the momentum is dropped when it points uphill."""
    if ((here.ahead - x) * (x - here.x)).sum() > 0:
        return x, 1.0
    t = (1 + np.sqrt(1 + 4 * here.t**2)) / 2
    return x + (here.t - 1) / t * (x - here.x), float(t)


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
    """Minimise a smooth f on a convex set: step, then go to the nearest point of the set.

    The other parameters are those of `proximal_gradient`.

    Parameters
    ----------
    f : callable
        Returns (value, slope).
    project : callable
        The nearest point of the set; see `tenfold.optim.projections`.
    start : array
        Where to begin; it is projected first.
    rate, accelerated, tol, max_iter
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
        project(x0),
        step_size=step_size,
        accelerated=accelerated,
        tol=tol,
        max_iter=max_iter,
    )
