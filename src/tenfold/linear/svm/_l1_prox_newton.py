"""The L1-penalized squared hinge by the proximal Newton method on working sets.

With an L1 penalty few coefficients are not zero at the minimum. Iterations work on those and on the
columns that violate optimality n_columns; of the other columns they compute the gradient alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.linear._thresholds import SVM_MIN_WORKING_COLUMNS
from tenfold.linear.svm._objective import (
    SVMObjective,
    SVMSolution,
    duality_certificate,
    margin_violations,
    signs_and_costs,
    squared_hinge_gradient,
    to_double,
)
from tenfold.math.linalg import to_dense
from tenfold.optim.convergence import until_converged
from tenfold.optim.coordinate_descent import coordinate_descent

_MAX_HALVINGS = 30
_MAX_SWEEPS = 100  # of coordinate descent on one quadratic model
_GAP_CHECK_THRESHOLD = 1e-3  # largest subgradient, for a penalty of 1, at which the gap is computed
_SUFFICIENT_DECREASE = 0.01  # share of the decrease that the model predicts


class L1SVMPoint(NamedTuple):
    """Rows [w b], their objectives, the gradients of their losses, whether they have converged."""

    T: np.ndarray
    value: np.ndarray
    gradient: np.ndarray
    done: np.ndarray


def l1_prox_newton(rows: Rows, problem: SVMObjective, *, gap: float, max_iter: int) -> SVMSolution:
    """Minimize the squared hinge with an L1 penalty, all scores at once."""
    m, q = len(problem.cost), rows.n_features + 1
    T = np.zeros((m, q))
    loop = until_converged(
        L1SVMPoint(*_evaluate(rows, problem, T), np.zeros(m, bool)), tol=0.0, max_iter=max_iter
    )
    for point in loop:
        following = _prox_newton_iteration(rows, problem, point)
        if _subgradient_size(problem, following).max() <= _GAP_CHECK_THRESHOLD:
            certificate = duality_certificate(rows, problem, following.T, None)
            following = following._replace(done=certificate.gap <= gap * certificate.primal)
        stuck = following.value.tobytes() == point.value.tobytes() and not following.done.all()
        change = 0.0 if following.done.all() else np.inf
        loop.update(following, objective=float(following.value.sum()), change=change, stuck=stuck)
    T = loop.state.T
    return SVMSolution(
        T, None, *duality_certificate(rows, problem, T, None).objective_and_gap, loop.report
    )


def _evaluate(
    rows: Rows, problem: SVMObjective, T: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The point, its objectives and the gradients of its losses; one pass."""
    s = rows.total(squared_hinge_gradient, problem, T)
    if not problem.intercept:
        s.gradient[:, -1] = 0.0
    return T, problem.penalty(T) + s.loss, s.gradient


def _penalty_weights(problem: SVMObjective, q: int) -> np.ndarray:
    """L1 penalty of each of [w b]."""
    return np.append(np.ones(q - 1), 1.0 / problem.scaling)


def _subgradient_size(problem: SVMObjective, point: L1SVMPoint) -> np.ndarray:
    """Absolute entries of the shortest subgradient, (m, p + 1): 0 at the minimum."""
    l1 = _penalty_weights(problem, point.T.shape[1])
    nonzero = np.abs(point.gradient + l1 * np.sign(point.T))
    at_zero = np.maximum(np.abs(point.gradient) - l1, 0.0)
    return np.where(point.T != 0, nonzero, at_zero)


def _prox_newton_iteration(rows: Rows, problem: SVMObjective, point: L1SVMPoint) -> L1SVMPoint:
    """A step to the minimum of the penalized quadratic model on the selected columns."""
    violation = _subgradient_size(problem, point)
    columns = [_select_columns(violation[c], point.T[c]) for c in range(len(violation))]
    hessians = rows.total(_working_hessians, problem, point.T, columns)
    step = np.zeros_like(point.T)
    for c in np.flatnonzero(~point.done):
        step[c, columns[c]] = _prox_newton_step(
            problem, point, int(c), columns[c], hessians[c], violation[c].max()
        )
    l1 = _penalty_weights(problem, point.T.shape[1])
    decrease = (point.gradient * step).sum(axis=1)
    decrease += (np.abs(point.T + step) * l1).sum(axis=1) - (np.abs(point.T) * l1).sum(axis=1)
    rounding = problem.eps(rows.dtype) * point.value
    t = np.ones(len(step))
    for _ in range(_MAX_HALVINGS):
        following = L1SVMPoint(*_evaluate(rows, problem, point.T + t[:, None] * step), point.done)
        rises = ~(following.value <= point.value + _SUFFICIENT_DECREASE * t * decrease + rounding)
        if not rises.any():
            return following
        t[rises] /= 2
    return point


def _select_columns(violation: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Columns of an iteration: all that are not zero, and those of largest violation."""
    active = np.flatnonzero(w)
    n_columns = min(max(SVM_MIN_WORKING_COLUMNS, 2 * len(active)), len(w))
    worst = np.argpartition(-violation, n_columns - 1)[:n_columns]
    return np.union1d(active, worst[violation[worst] > 0])


def _working_hessians(
    chunk: Chunk, problem: SVMObjective, T: np.ndarray, columns: list[np.ndarray]
) -> tuple[np.ndarray, ...]:
    """Hessian of the loss of each score on its own columns; the last column is the intercept."""
    chunk = to_double(chunk, problem)
    sign, cost = signs_and_costs(chunk, problem)
    h = margin_violations(chunk, T, sign)
    return tuple(
        _working_hessian(chunk.X, 2 * cost[c] * (h[c] > 0), columns[c]) for c in range(len(columns))
    )


def _working_hessian(X: Any, curvature: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Sum of curvature x x' over rows, for some columns of [X 1]."""
    rows = np.flatnonzero(curvature)
    p = X.shape[1]
    A = to_dense(X[rows][:, columns[columns < p]])
    A = np.hstack([A, np.ones((len(rows), np.count_nonzero(columns == p)), A.dtype)])
    A = A * np.sqrt(curvature[rows])[:, None]
    return A.T @ A


def _prox_newton_step(
    problem: SVMObjective,
    point: L1SVMPoint,
    c: int,
    columns: np.ndarray,
    H: np.ndarray,
    violation: float,
) -> np.ndarray:
    """Newton's step of one score under the penalty, by coordinate descent."""
    w, l1 = point.T[c, columns], _penalty_weights(problem, point.T.shape[1])[columns]
    ridge = 1e-10 * max(H.diagonal().max(initial=0.0), 1.0)  # columns may be dependent
    H = H + ridge * np.eye(len(H))
    c_vector = H @ w - point.gradient[c, columns]
    solution = coordinate_descent(
        H, c_vector, l1, 0.0, w0=w, tol=0.1 * violation, max_iter=_MAX_SWEEPS
    )
    return solution.w - w
