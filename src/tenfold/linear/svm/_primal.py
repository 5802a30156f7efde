"""The primal of linear SVMs: Newton's method on a smoothed hinge, and L-BFGS for wide data."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.linear._loss_gradients import weighted_gram
from tenfold.linear.svm._objective import (
    DualityCertificate,
    SVMObjective,
    SVMSolution,
    dual_sums,
    duality_certificate,
    margin_violations,
    primal_multipliers,
    signs_and_costs,
    squared_hinge_gradient,
    to_double,
    weighted_row_sums,
)
from tenfold.math.linalg import solve_psd
from tenfold.optim.convergence import until_converged
from tenfold.optim.line_search import SUFFICIENT_DECREASE
from tenfold.optim.quasi_newton import lbfgs

_MAX_BOUNDARY_ROWS_PER_COLUMN = (
    4  # times the columns, on the boundaries: more is not near the minimum
)


def _polish(
    rows: Rows, problem: SVMObjective, T: np.ndarray, alpha: np.ndarray, most: np.ndarray
) -> tuple[np.ndarray, np.ndarray, DualityCertificate]:
    """Rows [w b] and multipliers (m, n), each score made exact where that closes its gap.

    `most` (m, n) are the upper bounds of the multipliers.
    """
    before = duality_certificate(rows, problem, T, alpha)
    between = (alpha > 0) & (alpha < most)
    held = np.where(between, 0.0, alpha)
    rest = rows.total(dual_sums, problem, T, held, np.ones(len(T))).u.sum(axis=1)
    exact, prices = T.copy(), alpha.copy()
    for c in range(len(T)):
        numbers = np.flatnonzero(between[c])
        if 0 < len(numbers) <= _MAX_BOUNDARY_ROWS_PER_COLUMN * T.shape[1]:
            A = _signed_rows(rows, problem, numbers, int(problem.labels[c]))
            exact[c], found = _solve_on_boundaries(A, rest[c], problem)
            prices[c, numbers] = np.clip(found, 0.0, most[c, numbers])
    after = duality_certificate(rows, problem, exact, prices)
    better = after.gap < before.gap
    proof = (np.where(better, a, b) for a, b in zip(after, before, strict=True))
    keep = better[:, None]
    return np.where(keep, exact, T), np.where(keep, prices, alpha), DualityCertificate(*proof)


def _signed_rows(rows: Rows, problem: SVMObjective, numbers: np.ndarray, label: int) -> np.ndarray:
    """Some rows y [x 1] of one score, dense."""
    part = rows.take(numbers)
    X = part.X if isinstance(part.X, np.ndarray) else part.X.toarray()
    sign = np.where(part.y == label, 1.0, -1.0)
    return sign[:, None] * np.column_stack([X, np.full(len(X), float(problem.intercept))])


def _solve_on_boundaries(
    A: np.ndarray, rest: np.ndarray, problem: SVMObjective
) -> tuple[np.ndarray, np.ndarray]:
    """[w b] and multipliers a with K [w b] = rest + A'a and A [w b] = 1, K the penalty."""
    k, q = A.shape
    K = np.diag(np.append(np.ones(q - 1), problem.ridge if problem.intercept else 1.0))
    rest = rest * np.append(np.ones(q - 1), float(problem.intercept))
    system = np.block([[K, -A.T], [A, np.zeros((k, k))]])
    found = np.linalg.lstsq(system, np.append(rest, np.ones(k)), rcond=1e-13)[0]
    return found[:q], found[q:]


_INITIAL_WIDTH = 4.0  # at zero all rows lie within it
_WIDTH_REDUCTION = 0.2
_MIN_WIDTH = 1e-6  # where multipliers begin to feel rounding: the rest is left to the polish
_MIN_RELATIVE_GAP = 1e-12  # of the objective: no gap is known better
_NEWTON_GAP_FRACTION = (
    1e-6  # of the gap that is asked for: what Newton's method may leave at each width
)
_STEP_SIZES = 0.5 ** np.arange(1, 25)  # shorter steps


_ValueGradientHessian = tuple[np.ndarray, np.ndarray, np.ndarray]


class HingeHessian(NamedTuple):
    """Losses (m,), their slopes (m, p + 1) and curvatures (m, p + 1, p + 1), summed over rows."""

    loss: np.ndarray
    slope: np.ndarray
    hessian: np.ndarray


class PrimalPoint(NamedTuple):
    """Rows [w b] with objective, slope and Hessian of each, its width, and whether it is done."""

    T: np.ndarray
    value: np.ndarray
    slope: np.ndarray
    hessian: np.ndarray
    width: np.ndarray
    done: np.ndarray


def _hinge_hessian(
    chunk: Chunk, problem: SVMObjective, T: np.ndarray, width: np.ndarray, zone: np.ndarray
) -> HingeHessian:
    """Losses with slope and curvature.

    The widths (m,) are those of the hinge. Slope and curvature are those of its parabola for all
    rows within the zone (m,), which is the width itself but for a guess at a narrower one.
    """
    chunk = to_double(chunk, problem)
    if not isinstance(chunk.X, np.ndarray):
        chunk = chunk._replace(X=chunk.X.toarray())
    sign, cost = signs_and_costs(chunk, problem)
    h, width, zone = margin_violations(chunk, T, sign), width[:, None], zone[:, None]
    a, curvature = primal_multipliers(problem, h, cost, width), 2 * cost * (h > 0)
    if not problem.squared:
        within = np.abs(h) < zone / 2
        a = np.where(within, cost * (h / width + 0.5), a)
        curvature = cost * within / width
    H = np.stack([weighted_gram(*_rows_with_curvature(chunk.X, row)) for row in curvature])
    return HingeHessian(
        _smoothed_losses(problem, h, cost, width), -weighted_row_sums(chunk, a * sign), H
    )


def _rows_with_curvature(X: np.ndarray, curvature: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows that bend, if they are few."""
    bends = curvature > 0
    if 4 * np.count_nonzero(bends) > len(X):
        return X, curvature
    return np.compress(bends, X, axis=0), np.compress(bends, curvature)


def _smoothed_losses(
    problem: SVMObjective, h: np.ndarray, cost: np.ndarray, width: np.ndarray
) -> np.ndarray:
    """Total loss (m,): the squared hinge, or the hinge smoothed over a width."""
    if problem.squared:
        return (cost * np.maximum(h, 0.0) ** 2).sum(axis=1)
    within = np.clip(h + width / 2, 0.0, width) ** 2 / (2 * width)
    return (cost * (within + np.maximum(h - width / 2, 0.0))).sum(axis=1)


def _evaluate(
    rows: Rows,
    problem: SVMObjective,
    T: np.ndarray,
    width: np.ndarray,
    zone: np.ndarray | None = None,
) -> _ValueGradientHessian:
    """Objective, slope and Hessian of each score; one pass."""
    s = rows.total(_hinge_hessian, problem, T, width, width if zone is None else zone)
    ridge = np.append(np.ones(rows.n_features), problem.ridge)
    value, slope, H = problem.penalty(T) + s.loss, s.slope + ridge * T, s.hessian + np.diag(ridge)
    if not problem.intercept:
        slope[:, -1] = H[:, -1, :] = H[:, :, -1] = 0.0
        H[:, -1, -1] = 1.0
    return value, slope, H


def primal_newton(rows: Rows, problem: SVMObjective, *, gap: float, max_iter: int) -> SVMSolution:
    """Newton's method for all scores until their gaps are at most `gap` times the objective."""
    m, q = len(problem.cost), rows.n_features + 1
    T, width = np.zeros((m, q)), np.full(m, _INITIAL_WIDTH)
    first = PrimalPoint(T, *_evaluate(rows, problem, T, width), width, np.zeros(m, bool))
    loop = until_converged(first, tol=0.0, max_iter=max_iter)
    for here in loop:
        there = _newton_iteration(rows, problem, here, gap)
        change = 0.0 if there.done.all() else np.inf
        loop.update(there, objective=float(there.value.sum()), change=change)
    T, width = loop.state.T, loop.state.width
    if problem.squared:
        return SVMSolution(T, None, *duality_certificate(rows, problem, T, None).found, loop.report)
    alpha, most = np.split(rows.each(_multipliers_and_bounds, problem, T, width).T, 2)
    T, alpha, proof = _polish(rows, problem, T, alpha, most)
    converged = loop.converged and bool(
        (proof.gap <= max(gap, _MIN_RELATIVE_GAP) * proof.primal).all()
    )
    return SVMSolution(T, alpha, *proof.found, loop.report | {"converged_": converged})


def _multipliers_and_bounds(
    chunk: Chunk, problem: SVMObjective, T: np.ndarray, width: np.ndarray
) -> np.ndarray:
    """The multipliers of each row and their upper bounds, (n, 2m)."""
    chunk = to_double(chunk, problem)
    sign, cost = signs_and_costs(chunk, problem)
    return np.vstack(
        [primal_multipliers(problem, margin_violations(chunk, T, sign), cost, width[:, None]), cost]
    ).T


def _newton_iteration(
    rows: Rows, problem: SVMObjective, here: PrimalPoint, gap: float
) -> PrimalPoint:
    """A damped step of all scores; those with nothing to gain are done, or get a narrower hinge."""
    turn, gain = _newton_steps(here)
    left = max(_NEWTON_GAP_FRACTION * gap, 0.01 * problem.eps(rows.dtype))
    settled = ~here.done & (gain <= left * here.value)
    if settled.any():
        here = _reduce_widths(rows, problem, here, settled, gap)
        turn, gain = _newton_steps(here)
    if here.done.all():
        return here
    return _line_search(rows, problem, here, turn)


def _newton_steps(here: PrimalPoint) -> tuple[np.ndarray, np.ndarray]:
    """Newton's step of each score that is not done, and what it promises to gain."""
    turn = np.zeros_like(here.T)
    for c in np.flatnonzero(~here.done):
        turn[c] = -solve_psd(here.hessian[c], here.slope[c])
    return turn, -0.5 * (turn * here.slope).sum(axis=1)


def _reduce_widths(
    rows: Rows, problem: SVMObjective, here: PrimalPoint, settled: np.ndarray, gap: float
) -> PrimalPoint:
    """Narrower widths where the gap is too wide.

    Rows within the old width keep their multipliers, to first order, when they move towards the
    kink as the width shrinks: one step of Newton's method that takes them for the only ones.
    """
    if problem.squared:
        return here._replace(done=here.done | settled)
    proof = duality_certificate(rows, problem, here.T, None, here.width)
    enough = (proof.gap <= gap * proof.primal) | (here.width < _MIN_WIDTH)
    done = here.done | settled & enough
    width = np.where(settled & ~done, _WIDTH_REDUCTION * here.width, here.width)
    guess = PrimalPoint(here.T, *_evaluate(rows, problem, here.T, width, here.width), width, done)
    T = here.T + _newton_steps(guess)[0]
    seen = _evaluate(rows, problem, T, width)
    better = seen[0] <= guess.value
    if better.all():
        return PrimalPoint(T, *seen, width, done)
    T = np.where(better[:, None], T, here.T)
    return PrimalPoint(T, *_evaluate(rows, problem, T, width), width, done)


def _line_search(
    rows: Rows, problem: SVMObjective, here: PrimalPoint, turn: np.ndarray
) -> PrimalPoint:
    """The full step; where it does not lower the objective, the best of 1/2, 1/4, 1/8, ..."""
    noise = problem.eps(rows.dtype) * np.abs(here.value)
    T = here.T + turn
    seen = _evaluate(rows, problem, T, here.width)
    enough = here.value + SUFFICIENT_DECREASE * (here.slope * turn).sum(axis=1) + noise
    rises = ~(seen[0] <= enough)
    if rises.any():
        losses_at = rows.total(_losses_along_step, problem, here.T, turn, here.width)
        values = losses_at + [problem.penalty(here.T + t * turn) for t in _STEP_SIZES]
        best = np.append(_STEP_SIZES, 0.0)[np.vstack([values, here.value]).argmin(axis=0)]
        T = here.T + np.where(rises, best, 1.0)[:, None] * turn
        seen = _evaluate(rows, problem, T, here.width)
    return PrimalPoint(T, *seen, here.width, here.done)


def _losses_along_step(
    chunk: Chunk, problem: SVMObjective, T: np.ndarray, turn: np.ndarray, width: np.ndarray
) -> np.ndarray:
    """Losses after each of the shorter steps, (steps, m)."""
    chunk = to_double(chunk, problem)
    sign, cost = signs_and_costs(chunk, problem)
    h = margin_violations(chunk, T, sign)
    change = margin_violations(chunk, turn, sign) - 1.0
    return np.stack(
        [_smoothed_losses(problem, h + t * change, cost, width[:, None]) for t in _STEP_SIZES]
    )


def primal_lbfgs(rows: Rows, problem: SVMObjective, *, tol: float, max_iter: int) -> SVMSolution:
    """The squared hinge by L-BFGS, all scores as one point."""
    m, q = len(problem.cost), rows.n_features + 1
    ridge = np.append(np.ones(q - 1), problem.ridge)
    scale = float(problem.cost.mean() * rows.n_rows)

    def f(theta: np.ndarray) -> tuple[float, np.ndarray]:
        T = theta.reshape(m, q)
        s = rows.total(squared_hinge_gradient, problem, T)
        slope = s.slope + ridge * T
        if not problem.intercept:
            slope[:, -1] = 0.0
        return float((problem.penalty(T) + s.loss).sum()) / scale, slope.ravel() / scale

    precision = problem.eps(rows.dtype)
    found = lbfgs(f, np.zeros(m * q), tol=0.01 * tol, max_iter=max_iter, precision=precision)
    T = found.x.reshape(m, q)
    return SVMSolution(T, None, *duality_certificate(rows, problem, T, None).found, found.report)
