"""The lasso of one penalty by coordinate descent on a working set of columns.

Columns outside of the working set have coefficient zero. That is optimal as long as none of them
correlates with the residual by more than the penalty; those that do enter the working set.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from tenfold.linear._lasso_gram import GramMatrix
from tenfold.linear._thresholds import MIN_BATCH_COLUMNS
from tenfold.optim.coordinate_descent import (
    SWEEPS_BEFORE_ACTIVE_SET,
    PenalizedQuadratic,
    active_set_step,
)
from tenfold.optim.coordinate_descent_numba import ROUNDING_STEP_RATIO, descend_to_gap, duality_gap

_ENTRY_FRACTION = (
    0.8  # of the penalty: columns with this correlation enter together with those above
)
_EPS = np.finfo(np.float64).eps
_INNER_TOL_FACTOR = 0.9  # share of the tolerance for the working set: the rest is for rounding


class L1L2Penalty(NamedTuple):
    """l1 |w|_1 + l2/2 |w|^2, and whether w must not be negative."""

    l1: float
    l2: float
    positive: bool


class LassoSettings(NamedTuple):
    """Tolerance of the gap as a share of y'y, maximum sweeps, and seed of a random order or 0."""

    tol: float
    max_iter: int
    seed: int


class LassoSolution(NamedTuple):
    """A point of coordinate descent.

    Attributes
    ----------
    w : (p,) coefficients
    correlation : (p,) c - Qw, products of the columns with the residual
    gap : duality gap
    n_iter : sweeps
    converged : whether the gap is small enough
    """

    w: np.ndarray
    correlation: np.ndarray
    gap: float
    n_iter: int
    converged: bool


def initial_solution(gram: GramMatrix, target: int, w: np.ndarray) -> LassoSolution:
    """The initial point at given coefficients, whose columns enter the matrix."""
    while len(missing := np.setdiff1d(np.flatnonzero(w), gram.entered)):
        gram.enter(missing)
    return LassoSolution(w, gram.correlations(w, target), np.inf, 0, False)


def minimize_lasso(
    gram: GramMatrix,
    target: int,
    penalty: L1L2Penalty,
    start: LassoSolution,
    settings: LassoSettings,
) -> LassoSolution:
    """The lasso of one target, from an initial point on the same matrix."""
    c, max_gap = gram.xy[:, target], settings.tol * gram.yy[target]
    if penalty.l1 < _EPS * np.abs(c).max(initial=0.0):  # below rounding: no gap could show it
        penalty = penalty._replace(l1=0.0)
    w, correlation, done, moving = start.w, start.correlation, 0, True
    while True:
        gap = duality_gap(c, gram.squares, gram.yy[target], *penalty, w, correlation)
        size = correlation if penalty.positive else np.abs(correlation)
        entering = entering_columns(gram, penalty.l1, size)
        if gap <= max_gap or done >= settings.max_iter or not (moving or len(entering)):
            converged = bool(gap <= max_gap or not moving)
            return LassoSolution(w, correlation, gap, done, converged)
        if len(entering):
            gram.enter(entering)
        remaining = settings.max_iter - done
        inner = settings._replace(tol=_INNER_TOL_FACTOR * settings.tol, max_iter=remaining)
        w, correlation, sweeps, moving = _descend_on_working_set(
            gram, target, penalty, w, correlation, inner
        )
        done += sweeps


def entering_columns(gram: GramMatrix, l1: float, correlation: np.ndarray) -> np.ndarray:
    """Columns that should enter, largest correlation first; empty if none violates optimality."""
    outside = np.ones(len(correlation), bool)
    outside[gram.entered] = False
    size = np.where(outside, correlation, 0.0)
    if size.max() <= l1:
        return np.arange(0)
    wanted = max(np.count_nonzero(size > _ENTRY_FRACTION * l1), MIN_BATCH_COLUMNS)
    return np.argsort(-size, kind="stable")[: min(wanted, outside.sum())]


def _descend_on_working_set(
    gram: GramMatrix,
    target: int,
    penalty: L1L2Penalty,
    w: np.ndarray,
    correlation: np.ndarray,
    settings: LassoSettings,
) -> tuple[np.ndarray, np.ndarray, int, bool]:
    """Coordinate descent on the columns that have entered: w, correlations, sweeps, if it moves."""
    entered, w = gram.entered, w.copy()
    v, g, c, m = w[entered], correlation[entered], gram.xy[entered, target], len(entered)
    l1, l2, positive = penalty
    problem = PenalizedQuadratic(gram.block, c, np.full(m, l1), np.full(m, l2), positive)
    done, moving = 0, True
    while moving and done < settings.max_iter:
        most = min(SWEEPS_BEFORE_ACTIVE_SET, settings.max_iter - done)
        stop = (done == 0, settings.tol, most, settings.seed)
        sweeps, largest = descend_to_gap(gram.block, c, gram.yy[target], *penalty, v, g, *stop)
        done += sweeps
        moving = sweeps > 0 and largest > ROUNDING_STEP_RATIO * np.abs(v).max()
        if sweeps < SWEEPS_BEFORE_ACTIVE_SET:
            break
        v, g = active_set_step(problem, v, g)
    w[entered] = v
    if m < len(w):
        return w, gram.correlations(w, target), done, moving
    return w, g[np.argsort(entered)], done, moving


def lasso_objective(
    c: np.ndarray, penalty: L1L2Penalty, w: np.ndarray, correlation: np.ndarray
) -> float:
    """The objective less y'y/2."""
    size = penalty.l1 * np.abs(w).sum() + 0.5 * penalty.l2 * (w @ w)
    return float(size - 0.5 * ((c + correlation) @ w))


def warn_unless_converged(solutions: list[LassoSolution], settings: LassoSettings) -> None:
    """Warn of the largest gap among the solutions that have not converged."""
    gaps = [solution.gap for solution in solutions if not solution.converged]
    if gaps:
        warnings.warn(
            "Objective did not converge. You might want to increase the number of iterations: "
            f"{len(gaps)} of {len(solutions)} fits have a duality gap of up to {max(gaps):.3g} "
            f"after {settings.max_iter} sweeps. Raise max_iter, raise alpha, or loosen tol.",
            ConvergenceWarning,
            stacklevel=4,
        )
