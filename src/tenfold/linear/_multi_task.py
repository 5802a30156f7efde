"""The multi-task lasso of one penalty, and of a path, on a working set of columns."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tenfold.linear._lasso_gram import GramMatrix
from tenfold.linear._lasso_working_set import (
    L1L2Penalty,
    LassoSettings,
    LassoSolution,
    entering_columns,
)
from tenfold.linear._multi_task_numba import descend_blocks, multi_task_gap
from tenfold.optim.coordinate_descent_numba import ROUNDING_STEP_RATIO

_INNER_TOL_FACTOR = 0.9  # share of the tolerance for the working set: the rest is for rounding


def minimize_multi_task(
    gram: GramMatrix, penalty: L1L2Penalty, W: np.ndarray, settings: LassoSettings
) -> LassoSolution:
    """The multi-task lasso from initial coefficients (p, q); the solution has matrices."""
    yy, tol = float(gram.yy.sum()), settings.tol
    while len(missing := np.setdiff1d(np.flatnonzero(W.any(axis=1)), gram.entered)):
        gram.enter(missing)
    done, moving, G = 0, True, _correlations(gram, W)
    while True:
        gap = multi_task_gap(gram.xy, gram.squares, yy, penalty.l1, penalty.l2, W, G)
        entering = entering_columns(gram, penalty.l1, np.linalg.norm(G, axis=1))
        if gap <= tol * yy or done >= settings.max_iter or not (moving or len(entering)):
            return LassoSolution(W, G, float(gap), done, bool(gap <= tol * yy or not moving))
        if len(entering):
            gram.enter(entering)
        entered, first = gram.entered, done == 0
        V, C = W[entered], np.ascontiguousarray(gram.xy[entered])
        H = np.ascontiguousarray(G[entered])
        stop = (first, _INNER_TOL_FACTOR * tol, settings.max_iter - done, settings.seed)
        sweeps, longest = descend_blocks(gram.block, C, yy, penalty.l1, penalty.l2, V, H, *stop)
        done += sweeps
        moving = sweeps > 0 and longest > ROUNDING_STEP_RATIO * np.abs(V).max()
        W = W.copy()
        W[entered] = V
        G = _correlations(gram, W)


def follow_multi_task_path(
    gram: GramMatrix, penalties: list[L1L2Penalty], W: np.ndarray, settings: LassoSettings
) -> Iterator[LassoSolution]:
    """The solution of each penalty, started from the last."""
    for penalty in penalties:
        solution = minimize_multi_task(gram, penalty, W, settings)
        W = solution.w
        yield solution._replace(correlation=solution.correlation[:0])


def _correlations(gram: GramMatrix, W: np.ndarray) -> np.ndarray:
    """Products (p, q) of all columns with the residuals of all targets."""
    columns = [gram.correlations(W[:, t].copy(), t) for t in range(W.shape[1])]
    return np.ascontiguousarray(np.stack(columns, axis=1))
