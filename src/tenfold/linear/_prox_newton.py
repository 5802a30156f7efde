r"""L1-penalized objectives by the proximal Newton method on working sets.

.. math:: \min_\theta F(\theta) + \sum_j \lambda_j |\theta_j|

An iteration takes the gradient of all parameters (one pass), selects those that are not zero or
violate their optimality condition, takes their Hessian (one pass over these columns alone),
minimizes the quadratic model with its L1 penalty by coordinate descent, and searches along the line
to that minimum. After a step that had to be shortened the next Hessian is damped more.

Softmax has a working set per class. If they are small together, the model has one joint Hessian;
else it has one per class and neglects the blocks between classes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.linear._loss_gradients import class_major_scores, loss_targets, row_weights
from tenfold.linear._objective import LinearObjective
from tenfold.linear._thresholds import MAX_JOINT_PARAMETERS, MIN_WORKING_SET
from tenfold.math.linalg import to_dense
from tenfold.math.losses import Loss, softmax_columns
from tenfold.optim.convergence import Minimum, until_converged
from tenfold.optim.coordinate_descent import coordinate_descent
from tenfold.optim.line_search import MAX_LINE_SEARCH_STEPS, ROUNDING_FACTOR, SUFFICIENT_DECREASE
from tenfold.stats.moments import multiply_thin

_INNER_TOL_FACTOR = 0.1  # tolerance of the model's minimum, relative to the largest violation
_MAX_SWEEPS = 200  # of coordinate descent on one model
_INITIAL_DAMPING = 1e-3  # first damping, relative to the Hessian of a loss of curvature 1


class ProxNewtonPoint(NamedTuple):
    """A point, value and gradient of the smooth part there, and the damping of its model."""

    x: np.ndarray
    value: float
    gradient: np.ndarray
    damping: float


def minimize_l1(
    f: LinearObjective, l1: np.ndarray, start: np.ndarray, *, tol: float, max_iter: int
) -> Minimum:
    """Minimize the objective plus sum of l1_j |theta_j|, with l1 (p + 1,) the same for all classes.

    Converged when no entry of the shortest subgradient exceeds `tol`.
    """
    weight = np.tile(l1, f.shape[0])
    precision = float(np.finfo(f.rows.dtype).eps)
    squares = f.rows.total(_column_square_sums, f.class_weight) / f.n
    first = ProxNewtonPoint(start, *f.value_and_gradient(start), 0.0)
    loop = until_converged(first, tol=tol, max_iter=max_iter)
    for point in loop:
        penalty = weighted_l1_norm(weight, point.x)
        violation = kkt_violations(point.x, point.gradient, weight)
        sets = _select_working_sets(point.x, violation, f)
        inner_tol = _INNER_TOL_FACTOR * violation.max()
        target = _minimize_model(f, point, weight, sets, point.damping * squares, inner_tol)
        step = target - point.x
        decrease = float(point.gradient @ step) + weighted_l1_norm(weight, target) - penalty
        following = _line_search(f, point, step, decrease, weight, precision)
        stuck = following is point
        rounding = precision * abs(point.value + penalty)
        negligible = -decrease <= (ROUNDING_FACTOR if stuck else 1) * rounding
        change = kkt_violations(following.x, following.gradient, weight).max(initial=0.0)
        loop.update(
            following,
            objective=following.value + weighted_l1_norm(weight, following.x),
            change=0.0 if negligible else change,
            stuck=stuck and not negligible,
        )
    end = loop.state
    return Minimum(end.x, end.value + weighted_l1_norm(weight, end.x), end.gradient, loop.report)


def weighted_l1_norm(weight: np.ndarray, x: np.ndarray) -> float:
    """The sum of weight_j |x_j|."""
    return float(weight @ np.abs(x))


def _column_square_sums(chunk: Chunk, class_weight: np.ndarray | None) -> np.ndarray:
    """Weighted sum of the squares of each column of [x 1]."""
    w = row_weights(chunk, class_weight)
    w = np.ones(chunk.rows, chunk.X.dtype) if w is None else w.astype(chunk.X.dtype)
    X = chunk.X
    return np.append(multiply_thin(w[None], X * X)[0], w.sum(dtype=np.float64))


def kkt_violations(x: np.ndarray, gradient: np.ndarray, l1: np.ndarray) -> np.ndarray:
    """Absolute entries of the shortest subgradient: all zero at the minimum."""
    at_zero = np.maximum(np.abs(gradient) - l1, 0)
    return np.where(x == 0, at_zero, np.abs(gradient + l1 * np.sign(x)))


def _select_working_sets(
    x: np.ndarray, violation: np.ndarray, f: LinearObjective
) -> list[np.ndarray]:
    """Columns of each class that are not zero, and those that violate optimality most."""
    m, q = f.shape
    sets = []
    for nonzero, violated in zip(x.reshape(m, q) != 0, violation.reshape(m, q), strict=True):
        entering = np.flatnonzero((violated > 0) & ~nonzero)
        most = max(2 * int(nonzero.sum()), MIN_WORKING_SET)
        worst = entering[np.argsort(-violated[entering], kind="stable")[:most]]
        selected = nonzero.copy()
        selected[worst] = True
        selected[-1] = f.intercept
        sets.append(np.flatnonzero(selected))
    return sets


def _minimize_model(
    f: LinearObjective,
    point: ProxNewtonPoint,
    l1: np.ndarray,
    sets: list[np.ndarray],
    damping: np.ndarray,
    tol: float,
) -> np.ndarray:
    """Minimum of the quadratic model on the working sets, with its L1 penalty."""
    q = f.shape[1]
    joint = sum(map(len, sets)) <= MAX_JOINT_PARAMETERS
    state = (f.loss, *f.split_parameters(point.x), f.class_weight, tuple(sets), joint)
    blocks = f.rows.total(_working_set_hessians, *state)
    flat = [c * q + columns for c, columns in enumerate(sets)]
    minimum = point.x.copy()
    for H, selected in zip(blocks, [np.concatenate(flat)] if joint else flat, strict=True):
        Q = (H + np.tril(H, -1).T) / f.n
        Q[np.diag_indices(len(Q))] += (f.ridge + damping)[selected % q]
        x = point.x[selected]
        c = Q @ x - point.gradient[selected]
        minimum[selected] = coordinate_descent(
            Q, c, l1[selected], 0.0, w0=x, tol=tol, max_iter=_MAX_SWEEPS
        ).w
    return minimum


def _working_set_hessians(
    chunk: Chunk,
    loss: Loss,
    W: np.ndarray,
    b: np.ndarray,
    class_weight: np.ndarray | None,
    sets: tuple[np.ndarray, ...],
    joint: bool,
) -> list[np.ndarray]:
    """Lower triangles of the Hessian on the working sets: one joint, or one per class."""
    Z, w = class_major_scores(chunk.X, W, b), row_weights(chunk, class_weight)
    single = loss.labels != "classes"
    P = loss.curvature(Z[0], loss_targets(chunk, loss))[None] if single else softmax_columns(Z)
    w = np.ones(chunk.rows) if w is None else w
    groups = [range(len(sets))] if joint else [[c] for c in range(len(sets))]
    return [_group_hessian(chunk.X, P, w, sets, group, single) for group in groups]


def _group_hessian(
    X: Any, P: np.ndarray, w: np.ndarray, sets: tuple, group: Any, single: bool
) -> np.ndarray:
    """Lower triangle of the Hessian of the classes of a group, each on its working set.

    P (m, n) has the curvatures of a single score, or the probabilities of the classes.
    """
    ends = np.cumsum([0, *(len(sets[c]) for c in group)])
    columns = [_take_columns(X, sets[c]) for c in group]
    H = np.zeros((ends[-1], ends[-1]))
    for a, c in enumerate(group):
        for b, d in enumerate(group[: a + 1]):
            curvature = w * P[c] * (1.0 if single else (c == d) - P[d])
            block = (columns[a] * curvature[:, None].astype(X.dtype, copy=False)).T @ columns[b]
            H[ends[a] : ends[a + 1], ends[b] : ends[b + 1]] = block
    return np.tril(H)


def _take_columns(X: Any, columns: np.ndarray) -> np.ndarray:
    """Some columns of [X 1], dense."""
    part = to_dense(X[:, columns[columns < X.shape[1]]])
    if part.shape[1] == len(columns):
        return part
    return np.hstack([part, np.ones((len(part), 1), X.dtype)])


def _line_search(
    f: LinearObjective,
    point: ProxNewtonPoint,
    step: np.ndarray,
    decrease: float,
    weight: np.ndarray,
    precision: float,
) -> ProxNewtonPoint:
    """The first of the steps 1, 1/2, 1/4, ... of sufficient decrease, else the point itself.

    `decrease` is the directional derivative with the change of the penalty, negative.
    """
    objective = point.value + weighted_l1_norm(weight, point.x)
    rounding = precision * abs(objective)
    t = 1.0
    for _ in range(MAX_LINE_SEARCH_STEPS):
        x = point.x + t * step
        value, gradient = f.value_and_gradient(x)
        allowed = objective + SUFFICIENT_DECREASE * t * decrease + rounding
        if value + weighted_l1_norm(weight, x) <= allowed:
            damping = point.damping / 4 if t == 1 else max(point.damping, _INITIAL_DAMPING) / t
            damping = damping if damping > _INITIAL_DAMPING / 1e3 else 0.0
            return ProxNewtonPoint(x, value, gradient, damping)
        t /= 2
    return point
