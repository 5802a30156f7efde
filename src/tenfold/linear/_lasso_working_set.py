"""The lasso of one penalty by coordinate descent on a working set of columns.

Columns outside of the working set have coefficient zero. That is right as long as none of them
correlates with the residual by more than the penalty; those that do enter, and it goes on.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from tenfold.linear._lasso_gram import MIN_BATCH_COLUMNS, GramMatrix
from tenfold.optim.coordinate_descent import (
    SWEEPS_BEFORE_ACTIVE_SET,
    PenalizedQuadratic,
    active_set_step,
)
from tenfold.optim.coordinate_descent_numba import ROUNDING_STEP_RATIO, descend_to_gap, duality_gap

_ENTRY_FRACTION = (
    0.8  # columns this close to the penalty enter with those beyond it: they are next on a path
)
_EPS = np.finfo(np.float64).eps
_INNER_TOL_FACTOR = 0.9  # share of the tolerance for the working set: the rest is for rounding


class L1L2Penalty(NamedTuple):
    """l1 |w|_1 + l2/2 |w|^2, and whether w must not be negative."""

    l1: float
    l2: float
    positive: bool


class LassoSettings(NamedTuple):
    """When to stop: gap as a share of y'y, sweeps; and a seed for random order, else 0."""

    tol: float
    max_iter: int
    seed: int


class LassoSolution(NamedTuple):
    """Coefficients, the slope c - Qw there, duality gap, sweeps, and whether it was enough."""

    w: np.ndarray
    slope: np.ndarray
    gap: float
    n_iter: int
    converged: bool


def initial_solution(gram: GramMatrix, target: int, w: np.ndarray) -> LassoSolution:
    """Where to begin: at these coefficients, whose columns enter."""
    while len(missing := np.setdiff1d(np.flatnonzero(w), gram.made)):
        gram.enter(missing)
    return LassoSolution(w, gram.slopes(w, target), np.inf, 0, False)


def minimize_lasso(
    gram: GramMatrix, target: int, penalty: L1L2Penalty, start: LassoSolution, rule: LassoSettings
) -> LassoSolution:
    """The lasso of one target, from a start on the same matrix."""
    c, limit = gram.c[:, target], rule.tol * gram.yy[target]
    if penalty.l1 < _EPS * np.abs(c).max(initial=0.0):  # less than rounding: no gap could show it
        penalty = penalty._replace(l1=0.0)
    w, slope, done, moving = start.w, start.slope, 0, True
    while True:
        gap = duality_gap(c, gram.bend, gram.yy[target], *penalty, w, slope)
        wanted = _entering_columns(gram, penalty, slope)
        if gap <= limit or done >= rule.max_iter or not (moving or len(wanted)):
            return LassoSolution(w, slope, gap, done, bool(gap <= limit or not moving))
        if len(wanted):
            gram.enter(wanted)
        left = rule._replace(tol=_INNER_TOL_FACTOR * rule.tol, max_iter=rule.max_iter - done)
        w, slope, sweeps, moving = _descend_on_working_set(gram, target, penalty, w, slope, left)
        done += sweeps


def _entering_columns(gram: GramMatrix, penalty: L1L2Penalty, slope: np.ndarray) -> np.ndarray:
    """Columns that should enter, the most wanted first; none if none has to."""
    outside = np.ones(len(slope), bool)
    outside[gram.made] = False
    want = np.where(outside, slope if penalty.positive else np.abs(slope), 0.0)
    if want.max() <= penalty.l1:
        return np.arange(0)
    order = np.argsort(-want, kind="stable")
    return order[
        : min(
            max(np.count_nonzero(want > _ENTRY_FRACTION * penalty.l1), MIN_BATCH_COLUMNS),
            outside.sum(),
        )
    ]


def _descend_on_working_set(
    gram: GramMatrix,
    target: int,
    penalty: L1L2Penalty,
    w: np.ndarray,
    slope: np.ndarray,
    rule: LassoSettings,
) -> tuple[np.ndarray, np.ndarray, int, bool]:
    """Coordinate descent on the columns that have entered: w, slope, sweeps, whether it moves."""
    made, w = gram.made, w.copy()
    v, g, c, m = w[made], slope[made], gram.c[made, target], len(made)
    l1, l2, positive = penalty
    problem = PenalizedQuadratic(gram.square, c, np.full(m, l1), np.full(m, l2), positive)
    done, moving = 0, True
    while moving and done < rule.max_iter:
        some = (done == 0, rule.tol, min(SWEEPS_BEFORE_ACTIVE_SET, rule.max_iter - done), rule.seed)
        sweeps, moved = descend_to_gap(gram.square, c, gram.yy[target], *penalty, v, g, *some)
        done += sweeps
        moving = sweeps > 0 and moved > ROUNDING_STEP_RATIO * np.abs(v).max()
        if sweeps < SWEEPS_BEFORE_ACTIVE_SET:
            break
        v, g = active_set_step(problem, v, g)
    w[made] = v
    if m < len(w):
        return w, gram.slopes(w, target), done, moving
    return w, g[np.argsort(made)], done, moving


def lasso_objective(c: np.ndarray, penalty: L1L2Penalty, w: np.ndarray, slope: np.ndarray) -> float:
    """What is minimised, less y'y/2."""
    size = penalty.l1 * np.abs(w).sum() + 0.5 * penalty.l2 * (w @ w)
    return float(size - 0.5 * ((c + slope) @ w))


def warn_unless_converged(fits: list[LassoSolution], rule: LassoSettings) -> None:
    """Warn of the widest gap among the fits that have not converged."""
    gaps = [fit.gap for fit in fits if not fit.converged]
    if gaps:
        warnings.warn(
            f"Objective did not converge: {len(gaps)} of {len(fits)} fits still have a duality gap "
            f"of up to {max(gaps):.3g} after {rule.max_iter} sweeps. Raise max_iter, raise alpha, "
            "or loosen tol.",
            ConvergenceWarning,
            stacklevel=4,
        )
