r"""Linear SVMs by first slopes: L-BFGS for wide data, and the squared hinge with an L1 penalty.

With absolute values the minimum has few coefficients that are not zero. Proximal Newton rounds work
on those and on the columns that would gain most; the other columns are only looked at.
Read in order: `sloped` (the leaf), `primal_lbfgs`, `lasso_newton`, `lasso_round`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.linear.svm.dual import Found
from tenfold.linear.svm.problem import (
    Problem,
    certificate,
    hinges,
    precise,
    prepared,
    products,
    slopes,
)
from tenfold.rows import Chunk, Rows
from tenfold.solve import lbfgs, until_still
from tenfold.solve.coordinate import coordinate_descent

FEWEST_COLUMNS = 64  # that a round works on, and twice those that are not zero
MOST_HALVINGS = 30
MOST_SWEEPS = 100  # of a round: its parabola is not worth more
LOOK = 1e-3  # subgradient, against a penalty of 1, at which the gap is worth a pass
ENOUGH = 0.01  # of the decrease that the model of a round promises


class Sloped(NamedTuple):
    """Losses (m,) and their slopes (m, p + 1), summed over rows."""

    loss: np.ndarray
    slope: np.ndarray


def sloped(chunk: Chunk, problem: Problem, T: np.ndarray) -> Sloped:
    """Squared hinge of rows [w b] = T, and its slope."""
    chunk = precise(chunk, problem)
    sign, cost = prepared(chunk, problem)
    h = hinges(chunk, T, sign)
    a = slopes(problem, h, cost, np.ones(1))
    return Sloped((cost * np.maximum(h, 0.0) ** 2).sum(axis=1), -products(chunk, a * sign))


def primal_lbfgs(rows: Rows, problem: Problem, *, tol: float, max_iter: int) -> Found:
    """The squared hinge by L-BFGS, all scores as one point."""
    m, q = len(problem.cost), rows.n_features + 1
    ridge = np.append(np.ones(q - 1), problem.ridge)
    scale = float(problem.cost.mean() * rows.n_rows)

    def f(theta: np.ndarray) -> tuple[float, np.ndarray]:
        T = theta.reshape(m, q)
        s = rows.total(sloped, problem, T)
        slope = s.slope + ridge * T
        if not problem.intercept:
            slope[:, -1] = 0.0
        return float((problem.penalty(T) + s.loss).sum()) / scale, slope.ravel() / scale

    precision = problem.eps(rows.dtype)
    found = lbfgs(f, np.zeros(m * q), tol=0.01 * tol, max_iter=max_iter, precision=precision)
    T = found.x.reshape(m, q)
    return Found(T, None, *certificate(rows, problem, T, None).found, found.report)


class Point(NamedTuple):
    """Rows [w b], their objectives, the slopes of their losses, and whether they are done."""

    T: np.ndarray
    value: np.ndarray
    slope: np.ndarray
    done: np.ndarray


def lasso_newton(rows: Rows, problem: Problem, *, gap: float, max_iter: int) -> Found:
    """Squared hinge and absolute values by proximal Newton rounds, all scores side by side."""
    m, q = len(problem.cost), rows.n_features + 1
    T = np.zeros((m, q))
    loop = until_still(
        Point(*looked_at(rows, problem, T), np.zeros(m, bool)), tol=0.0, max_iter=max_iter
    )
    for here in loop:
        there = lasso_round(rows, problem, here)
        if excess(problem, there).max() <= LOOK:
            proof = certificate(rows, problem, there.T, None)
            there = there._replace(done=proof.gap <= gap * proof.primal)
        stuck = there.value.tobytes() == here.value.tobytes() and not there.done.all()
        change = 0.0 if there.done.all() else np.inf
        loop.tell(there, objective=float(there.value.sum()), change=change, stuck=stuck)
    T = loop.state.T
    return Found(T, None, *certificate(rows, problem, T, None).found, loop.report)


def looked_at(
    rows: Rows, problem: Problem, T: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The point, its objectives and the slopes of its losses; one pass."""
    s = rows.total(sloped, problem, T)
    if not problem.intercept:
        s.slope[:, -1] = 0.0
    return T, problem.penalty(T) + s.loss, s.slope


def weights(problem: Problem, q: int) -> np.ndarray:
    """Penalty of the size of each of [w b]."""
    return np.append(np.ones(q - 1), 1.0 / problem.scaling)


def excess(problem: Problem, here: Point) -> np.ndarray:
    """The shortest subgradient, (m, p + 1), by size: 0 at the minimum."""
    l1 = weights(problem, here.T.shape[1])
    moved = np.abs(here.slope + l1 * np.sign(here.T))
    still = np.maximum(np.abs(here.slope) - l1, 0.0)
    return np.where(here.T != 0, moved, still)


def lasso_round(rows: Rows, problem: Problem, here: Point) -> Point:
    """A step to the minimum of the penalised parabola on the chosen columns of each score."""
    far = excess(problem, here)
    columns = [chosen(far[c], here.T[c]) for c in range(len(far))]
    bends = rows.total(bent_on, problem, here.T, columns)
    turn = np.zeros_like(here.T)
    for c in np.flatnonzero(~here.done):
        turn[c, columns[c]] = towards(problem, here, int(c), columns[c], bends[c], far[c].max())
    l1 = weights(problem, here.T.shape[1])
    fall = (here.slope * turn).sum(axis=1)
    fall += (np.abs(here.T + turn) * l1).sum(axis=1) - (np.abs(here.T) * l1).sum(axis=1)
    noise = problem.eps(rows.dtype) * here.value
    t = np.ones(len(turn))
    for _ in range(MOST_HALVINGS):
        there = Point(*looked_at(rows, problem, here.T + t[:, None] * turn), here.done)
        rises = ~(there.value <= here.value + ENOUGH * t * fall + noise)
        if not rises.any():
            return there
        t[rises] /= 2
    return here


def chosen(far: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Columns of a round: all that are not zero, and those furthest from rest."""
    used = np.flatnonzero(w)
    most = min(max(FEWEST_COLUMNS, 2 * len(used)), len(w))
    worst = np.argpartition(-far, most - 1)[:most]
    return np.union1d(used, worst[far[worst] > 0])


def bent_on(
    chunk: Chunk, problem: Problem, T: np.ndarray, columns: list[np.ndarray]
) -> tuple[np.ndarray, ...]:
    """Curvature of the loss of each score on its own columns, the last of which is the constant."""
    chunk = precise(chunk, problem)
    sign, cost = prepared(chunk, problem)
    h = hinges(chunk, T, sign)
    return tuple(
        curvature(chunk.X, 2 * cost[c] * (h[c] > 0), columns[c]) for c in range(len(columns))
    )


def curvature(X: Any, bend: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Sum of bend x x' over rows that bend, for some columns of [X 1]."""
    rows = np.flatnonzero(bend)
    p = X.shape[1]
    A = X[rows][:, columns[columns < p]]
    A = A if isinstance(A, np.ndarray) else A.toarray()
    A = np.hstack([A, np.ones((len(rows), np.count_nonzero(columns == p)), A.dtype)])
    A = A * np.sqrt(bend[rows])[:, None]
    return A.T @ A


def towards(
    problem: Problem, here: Point, c: int, columns: np.ndarray, H: np.ndarray, far: float
) -> np.ndarray:
    """Newton's step of one score under the penalty, by coordinate descent."""
    w, l1 = here.T[c, columns], weights(problem, here.T.shape[1])[columns]
    firm = 1e-10 * max(H.diagonal().max(initial=0.0), 1.0)  # columns may depend on each other
    H = H + firm * np.eye(len(H))
    aim = H @ w - here.slope[c, columns]
    found = coordinate_descent(H, aim, l1, 0.0, start=w, tol=0.1 * far, max_iter=MOST_SWEEPS)
    return found.w - w
