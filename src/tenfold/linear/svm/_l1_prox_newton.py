"""The L1-penalized squared hinge by the proximal Newton method on working sets.

With absolute values the minimum has few coefficients that are not zero. Proximal Newton rounds work
on those and on the columns that would gain most; the other columns are only looked at.
Read in order: `squared_hinge_gradient` (the leaf), `primal_lbfgs`, `l1_prox_newton`, `_prox_newton_iteration`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.linear.svm._objective import (
    SVMObjective,
    SVMSolution,
    duality_certificate,
    margin_violations,
    signs_and_costs,
    squared_hinge_gradient,
    to_double,
)
from tenfold.optim.convergence import until_converged
from tenfold.optim.coordinate_descent import coordinate_descent

_MIN_WORKING_COLUMNS = 64  # that a round works on, and twice those that are not zero
_MAX_HALVINGS = 30
_MAX_SWEEPS = 100  # of a round: its parabola is not worth more
_GAP_CHECK_THRESHOLD = 1e-3  # subgradient, against a penalty of 1, at which the gap is worth a pass
_SUFFICIENT_DECREASE = 0.01  # of the decrease that the model of a round promises


class L1SVMPoint(NamedTuple):
    """Rows [w b], their objectives, the slopes of their losses, and whether they are done."""

    T: np.ndarray
    value: np.ndarray
    slope: np.ndarray
    done: np.ndarray


def l1_prox_newton(rows: Rows, problem: SVMObjective, *, gap: float, max_iter: int) -> SVMSolution:
    """Squared hinge and absolute values by proximal Newton rounds, all scores side by side."""
    m, q = len(problem.cost), rows.n_features + 1
    T = np.zeros((m, q))
    loop = until_converged(
        L1SVMPoint(*_evaluate(rows, problem, T), np.zeros(m, bool)), tol=0.0, max_iter=max_iter
    )
    for here in loop:
        there = _prox_newton_iteration(rows, problem, here)
        if _subgradient_size(problem, there).max() <= _GAP_CHECK_THRESHOLD:
            proof = duality_certificate(rows, problem, there.T, None)
            there = there._replace(done=proof.gap <= gap * proof.primal)
        stuck = there.value.tobytes() == here.value.tobytes() and not there.done.all()
        change = 0.0 if there.done.all() else np.inf
        loop.update(there, objective=float(there.value.sum()), change=change, stuck=stuck)
    T = loop.state.T
    return SVMSolution(T, None, *duality_certificate(rows, problem, T, None).found, loop.report)


def _evaluate(
    rows: Rows, problem: SVMObjective, T: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The point, its objectives and the slopes of its losses; one pass."""
    s = rows.total(squared_hinge_gradient, problem, T)
    if not problem.intercept:
        s.slope[:, -1] = 0.0
    return T, problem.penalty(T) + s.loss, s.slope


def _penalty_weights(problem: SVMObjective, q: int) -> np.ndarray:
    """Penalty of the size of each of [w b]."""
    return np.append(np.ones(q - 1), 1.0 / problem.scaling)


def _subgradient_size(problem: SVMObjective, here: L1SVMPoint) -> np.ndarray:
    """The shortest subgradient, (m, p + 1), by size: 0 at the minimum."""
    l1 = _penalty_weights(problem, here.T.shape[1])
    moved = np.abs(here.slope + l1 * np.sign(here.T))
    still = np.maximum(np.abs(here.slope) - l1, 0.0)
    return np.where(here.T != 0, moved, still)


def _prox_newton_iteration(rows: Rows, problem: SVMObjective, here: L1SVMPoint) -> L1SVMPoint:
    """A step to the minimum of the penalised parabola on the chosen columns of each score."""
    far = _subgradient_size(problem, here)
    columns = [_select_columns(far[c], here.T[c]) for c in range(len(far))]
    bends = rows.total(_working_hessians, problem, here.T, columns)
    turn = np.zeros_like(here.T)
    for c in np.flatnonzero(~here.done):
        turn[c, columns[c]] = _prox_newton_step(
            problem, here, int(c), columns[c], bends[c], far[c].max()
        )
    l1 = _penalty_weights(problem, here.T.shape[1])
    fall = (here.slope * turn).sum(axis=1)
    fall += (np.abs(here.T + turn) * l1).sum(axis=1) - (np.abs(here.T) * l1).sum(axis=1)
    noise = problem.eps(rows.dtype) * here.value
    t = np.ones(len(turn))
    for _ in range(_MAX_HALVINGS):
        there = L1SVMPoint(*_evaluate(rows, problem, here.T + t[:, None] * turn), here.done)
        rises = ~(there.value <= here.value + _SUFFICIENT_DECREASE * t * fall + noise)
        if not rises.any():
            return there
        t[rises] /= 2
    return here


def _select_columns(far: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Columns of a round: all that are not zero, and those furthest from rest."""
    used = np.flatnonzero(w)
    most = min(max(_MIN_WORKING_COLUMNS, 2 * len(used)), len(w))
    worst = np.argpartition(-far, most - 1)[:most]
    return np.union1d(used, worst[far[worst] > 0])


def _working_hessians(
    chunk: Chunk, problem: SVMObjective, T: np.ndarray, columns: list[np.ndarray]
) -> tuple[np.ndarray, ...]:
    """Curvature of the loss of each score on its own columns, the last of which is the constant."""
    chunk = to_double(chunk, problem)
    sign, cost = signs_and_costs(chunk, problem)
    h = margin_violations(chunk, T, sign)
    return tuple(
        _working_hessian(chunk.X, 2 * cost[c] * (h[c] > 0), columns[c]) for c in range(len(columns))
    )


def _working_hessian(X: Any, bend: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Sum of bend x x' over rows that bend, for some columns of [X 1]."""
    rows = np.flatnonzero(bend)
    p = X.shape[1]
    A = X[rows][:, columns[columns < p]]
    A = A if isinstance(A, np.ndarray) else A.toarray()
    A = np.hstack([A, np.ones((len(rows), np.count_nonzero(columns == p)), A.dtype)])
    A = A * np.sqrt(bend[rows])[:, None]
    return A.T @ A


def _prox_newton_step(
    problem: SVMObjective, here: L1SVMPoint, c: int, columns: np.ndarray, H: np.ndarray, far: float
) -> np.ndarray:
    """Newton's step of one score under the penalty, by coordinate descent."""
    w, l1 = here.T[c, columns], _penalty_weights(problem, here.T.shape[1])[columns]
    firm = 1e-10 * max(H.diagonal().max(initial=0.0), 1.0)  # columns may depend on each other
    H = H + firm * np.eye(len(H))
    aim = H @ w - here.slope[c, columns]
    found = coordinate_descent(H, aim, l1, 0.0, w0=w, tol=0.1 * far, max_iter=_MAX_SWEEPS)
    return found.w - w
