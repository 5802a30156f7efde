r"""The primal of linear SVMs: Newton's method on a smoothed hinge, and L-BFGS for wide data.

The squared hinge has a piecewise constant Hessian, and Newton's method ends after a few iterations.
The hinge is approached through a parabola of width h around its kink,

.. math:: \ell_h(z) = \frac{(1 - z + h/2)^2}{2h} \quad \text{where } |1 - z| < h/2,

an upper bound that decreases with h. Its derivatives are multipliers of the dual, hence the gap is
known at each width, and it decreases with the square of h. At the end the rows on the margin
boundaries, which are few, give a linear system in w, b and their multipliers (`_polish`):

.. math:: w = \sum_i \alpha_i y_i x_i, \qquad y_i (w \cdot x_i + b) = 1 \text{ on the boundaries}
"""

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
from tenfold.math.linalg import solve_psd, to_dense
from tenfold.optim.convergence import until_converged
from tenfold.optim.line_search import SUFFICIENT_DECREASE
from tenfold.optim.quasi_newton import lbfgs

_MAX_BOUNDARY_ROWS_PER_COLUMN = 4  # with more rows on the boundaries the minimum is not near


def _polish(
    rows: Rows, problem: SVMObjective, T: np.ndarray, alpha: np.ndarray, bound: np.ndarray
) -> tuple[np.ndarray, np.ndarray, DualityCertificate]:
    """Rows [w b] and multipliers (m, n), each score made exact where that reduces its gap.

    `bound` (m, n) are the upper bounds of the multipliers.
    """
    before = duality_certificate(rows, problem, T, alpha)
    between = (alpha > 0) & (alpha < bound)
    at_bound = np.where(between, 0.0, alpha)
    fixed = rows.total(dual_sums, problem, T, at_bound, np.ones(len(T))).u.sum(axis=1)
    exact, multipliers = T.copy(), alpha.copy()
    for c in range(len(T)):
        numbers = np.flatnonzero(between[c])
        if 0 < len(numbers) <= _MAX_BOUNDARY_ROWS_PER_COLUMN * T.shape[1]:
            A = _signed_rows(rows, problem, numbers, int(problem.labels[c]))
            exact[c], solved = _solve_on_boundaries(A, fixed[c], problem)
            multipliers[c, numbers] = np.clip(solved, 0.0, bound[c, numbers])
    after = duality_certificate(rows, problem, exact, multipliers)
    better = after.gap < before.gap
    certificate = (np.where(better, a, b) for a, b in zip(after, before, strict=True))
    T = np.where(better[:, None], exact, T)
    alpha = np.where(better[:, None], multipliers, alpha)
    return T, alpha, DualityCertificate(*certificate)


def _signed_rows(rows: Rows, problem: SVMObjective, numbers: np.ndarray, label: int) -> np.ndarray:
    """Some rows y [x 1] of one score, dense."""
    chunk = rows.take(numbers)
    X = to_dense(chunk.X)
    sign = np.where(chunk.y == label, 1.0, -1.0)
    return sign[:, None] * np.column_stack([X, np.full(len(X), float(problem.intercept))])


def _solve_on_boundaries(
    A: np.ndarray, fixed: np.ndarray, problem: SVMObjective
) -> tuple[np.ndarray, np.ndarray]:
    """[w b] and multipliers a with K [w b] = fixed + A'a and A [w b] = 1, K the penalty."""
    k, q = A.shape
    K = np.diag(np.append(np.ones(q - 1), problem.ridge if problem.intercept else 1.0))
    fixed = fixed * np.append(np.ones(q - 1), float(problem.intercept))
    system = np.block([[K, -A.T], [A, np.zeros((k, k))]])
    solution = np.linalg.lstsq(system, np.append(fixed, np.ones(k)), rcond=1e-13)[0]
    return solution[:q], solution[q:]


_INITIAL_WIDTH = 4.0  # at zero all rows lie within it
_WIDTH_REDUCTION = 0.2  # factor on the width where the gap is too large; not swept
_MIN_WIDTH = 1e-6  # below it rounding affects the multipliers; `_polish` does the rest
_MIN_RELATIVE_GAP = 1e-12  # of the objective: rounding of a gap
_NEWTON_GAP_FRACTION = 1e-6  # of the tolerated gap: remaining decrease at each width
_STEP_SIZES = 0.5 ** np.arange(1, 25)  # of the line search

_ValueGradientHessian = tuple[np.ndarray, np.ndarray, np.ndarray]


class HingeHessian(NamedTuple):
    """Losses (m,), gradients (m, p + 1) and Hessians (m, p + 1, p + 1), summed over rows."""

    loss: np.ndarray
    gradient: np.ndarray
    hessian: np.ndarray


class PrimalPoint(NamedTuple):
    """Rows [w b]; objective, gradient, Hessian and width of each, and whether it has converged."""

    T: np.ndarray
    value: np.ndarray
    gradient: np.ndarray
    hessian: np.ndarray
    width: np.ndarray
    done: np.ndarray


def _hinge_hessian(
    chunk: Chunk, problem: SVMObjective, T: np.ndarray, width: np.ndarray, zone: np.ndarray
) -> HingeHessian:
    """Losses with gradient and Hessian.

    The widths (m,) are those of the hinge. Derivatives are those of its parabola for all rows
    within the zone (m,), which is the width itself except for the prediction at a smaller one.
    """
    chunk = to_double(chunk, problem)
    chunk = chunk._replace(X=to_dense(chunk.X))
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
    """The rows with curvature, if they are few; else all rows."""
    curved = curvature > 0
    if 4 * np.count_nonzero(curved) > len(X):
        return X, curvature
    return np.compress(curved, X, axis=0), np.compress(curved, curvature)


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
    """Objective, gradient and Hessian of each score; one pass."""
    s = rows.total(_hinge_hessian, problem, T, width, width if zone is None else zone)
    ridge = np.append(np.ones(rows.n_features), problem.ridge)
    value, gradient, H = (
        problem.penalty(T) + s.loss,
        s.gradient + ridge * T,
        s.hessian + np.diag(ridge),
    )
    if not problem.intercept:
        gradient[:, -1] = H[:, -1, :] = H[:, :, -1] = 0.0
        H[:, -1, -1] = 1.0
    return value, gradient, H


def primal_newton(rows: Rows, problem: SVMObjective, *, gap: float, max_iter: int) -> SVMSolution:
    """Newton's method for all scores until their gaps are at most `gap` times the objective."""
    m, q = len(problem.cost), rows.n_features + 1
    T, width = np.zeros((m, q)), np.full(m, _INITIAL_WIDTH)
    first = PrimalPoint(T, *_evaluate(rows, problem, T, width), width, np.zeros(m, bool))
    loop = until_converged(first, tol=0.0, max_iter=max_iter)
    for point in loop:
        following = _newton_iteration(rows, problem, point, gap)
        change = 0.0 if following.done.all() else np.inf
        loop.update(following, objective=float(following.value.sum()), change=change)
    T, width = loop.state.T, loop.state.width
    if problem.squared:
        return SVMSolution(
            T, None, *duality_certificate(rows, problem, T, None).objective_and_gap, loop.report
        )
    alpha, bound = np.split(rows.each(_multipliers_and_bounds, problem, T, width).T, 2)
    T, alpha, certificate = _polish(rows, problem, T, alpha, bound)
    converged = loop.converged and bool(
        (certificate.gap <= max(gap, _MIN_RELATIVE_GAP) * certificate.primal).all()
    )
    return SVMSolution(
        T, alpha, *certificate.objective_and_gap, loop.report | {"converged_": converged}
    )


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
    rows: Rows, problem: SVMObjective, point: PrimalPoint, gap: float
) -> PrimalPoint:
    """A damped step of all scores; converged ones stop, or get a smaller width."""
    step, decrease = _newton_steps(point)
    tol = max(_NEWTON_GAP_FRACTION * gap, 0.01 * problem.eps(rows.dtype))
    converging = ~point.done & (decrease <= tol * point.value)
    if converging.any():
        point = _reduce_widths(rows, problem, point, converging, gap)
        step, decrease = _newton_steps(point)
    if point.done.all():
        return point
    return _line_search(rows, problem, point, step)


def _newton_steps(point: PrimalPoint) -> tuple[np.ndarray, np.ndarray]:
    """Newton's step of each score that has not converged, and its predicted decrease."""
    step = np.zeros_like(point.T)
    for c in np.flatnonzero(~point.done):
        step[c] = -solve_psd(point.hessian[c], point.gradient[c])
    return step, -0.5 * (step * point.gradient).sum(axis=1)


def _reduce_widths(
    rows: Rows, problem: SVMObjective, point: PrimalPoint, converging: np.ndarray, gap: float
) -> PrimalPoint:
    """Smaller widths where the gap is too large.

    To first order, rows within the old width keep their multipliers while they move towards the
    kink as the width shrinks. One Newton step with these rows alone predicts the new minimum.
    """
    if problem.squared:
        return point._replace(done=point.done | converging)
    certificate = duality_certificate(rows, problem, point.T, None, point.width)
    allowed = (certificate.gap <= gap * certificate.primal) | (point.width < _MIN_WIDTH)
    done = point.done | converging & allowed
    width = np.where(converging & ~done, _WIDTH_REDUCTION * point.width, point.width)
    predicted = PrimalPoint(
        point.T, *_evaluate(rows, problem, point.T, width, point.width), width, done
    )
    T = point.T + _newton_steps(predicted)[0]
    evaluated = _evaluate(rows, problem, T, width)
    better = evaluated[0] <= predicted.value
    if better.all():
        return PrimalPoint(T, *evaluated, width, done)
    T = np.where(better[:, None], T, point.T)
    return PrimalPoint(T, *_evaluate(rows, problem, T, width), width, done)


def _line_search(
    rows: Rows, problem: SVMObjective, point: PrimalPoint, step: np.ndarray
) -> PrimalPoint:
    """The full step; where it does not lower the objective, the best of 1/2, 1/4, 1/8, ..."""
    rounding = problem.eps(rows.dtype) * np.abs(point.value)
    T = point.T + step
    evaluated = _evaluate(rows, problem, T, point.width)
    allowed = point.value + SUFFICIENT_DECREASE * (point.gradient * step).sum(axis=1) + rounding
    rises = ~(evaluated[0] <= allowed)
    if rises.any():
        losses = rows.total(_losses_along_step, problem, point.T, step, point.width)
        values = losses + [problem.penalty(point.T + t * step) for t in _STEP_SIZES]
        best = np.append(_STEP_SIZES, 0.0)[np.vstack([values, point.value]).argmin(axis=0)]
        T = point.T + np.where(rises, best, 1.0)[:, None] * step
        evaluated = _evaluate(rows, problem, T, point.width)
    return PrimalPoint(T, *evaluated, point.width, point.done)


def _losses_along_step(
    chunk: Chunk, problem: SVMObjective, T: np.ndarray, step: np.ndarray, width: np.ndarray
) -> np.ndarray:
    """Losses after each of the shorter steps, (steps, m)."""
    chunk = to_double(chunk, problem)
    sign, cost = signs_and_costs(chunk, problem)
    h = margin_violations(chunk, T, sign)
    change = margin_violations(chunk, step, sign) - 1.0
    return np.stack(
        [_smoothed_losses(problem, h + t * change, cost, width[:, None]) for t in _STEP_SIZES]
    )


def primal_lbfgs(rows: Rows, problem: SVMObjective, *, tol: float, max_iter: int) -> SVMSolution:
    """The squared hinge by L-BFGS, all scores in one vector."""
    m, q = len(problem.cost), rows.n_features + 1
    ridge = np.append(np.ones(q - 1), problem.ridge)
    scale = float(problem.cost.mean() * rows.n_rows)

    def f(theta: np.ndarray) -> tuple[float, np.ndarray]:
        T = theta.reshape(m, q)
        s = rows.total(squared_hinge_gradient, problem, T)
        gradient = s.gradient + ridge * T
        if not problem.intercept:
            gradient[:, -1] = 0.0
        return float((problem.penalty(T) + s.loss).sum()) / scale, gradient.ravel() / scale

    precision = problem.eps(rows.dtype)
    minimum = lbfgs(f, np.zeros(m * q), tol=0.01 * tol, max_iter=max_iter, precision=precision)
    T = minimum.x.reshape(m, q)
    return SVMSolution(
        T, None, *duality_certificate(rows, problem, T, None).objective_and_gap, minimum.report
    )
