r"""L1-penalized objectives by the proximal Newton method on working sets.

.. math:: \min_\theta F(\theta) + \sum_j \lambda_j |\theta_j|

A round takes the slope of all parameters (one pass), chooses those that are not zero or should not
be, takes their Hessian (one pass over these columns alone), minimises the quadratic model with its
L1 penalty by coordinate descent, and steps towards that minimum as far as the objective falls.
After a step that had to be shortened the next model is stiffer.

Softmax has a working set per class. Where all of them together are few, the model knows how classes
bend each other; else every class is modelled by itself.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.linear._loss_gradients import class_major_scores, loss_targets, row_weights
from tenfold.linear._objective import LinearObjective
from tenfold.math.losses import Loss, softmax_columns
from tenfold.optim.convergence import Minimum, until_converged
from tenfold.optim.coordinate_descent import coordinate_descent
from tenfold.optim.line_search import MAX_LINE_SEARCH_STEPS, ROUNDING_FACTOR, SUFFICIENT_DECREASE
from tenfold.stats.moments import multiply_thin

MAX_JOINT_PARAMETERS = (
    3000  # parameters in all working sets together, up to which classes bend each other
)
_MIN_WORKING_SET = 32  # parameters of a class that may come into a working set at once
_INNER_TOL_FACTOR = 0.1  # the model is solved so much more precisely than the slope is small
_MAX_SWEEPS = 200  # most rounds of coordinate descent on one model
_INITIAL_DAMPING = (
    1e-3  # of the curvature that equal bends of all rows would give: the first stiffening
)


class ProxNewtonPoint(NamedTuple):
    """A point with the smooth value and slope, and how stiff the model is made there."""

    x: np.ndarray
    value: float
    slope: np.ndarray
    stiff: float


def minimize_l1(
    f: LinearObjective, l1: np.ndarray, start: np.ndarray, *, tol: float, max_iter: int
) -> Minimum:
    """Minimise the objective plus sum of l1_j |theta_j|, with l1 (p + 1,) alike for all classes.

    Converged when no entry of the shortest subgradient exceeds `tol`.
    """
    weight = np.tile(l1, f.shape[0])
    precision = float(np.finfo(f.rows.dtype).eps)
    size = f.rows.total(_column_square_sums, f.cost) / f.n
    loop = until_converged(ProxNewtonPoint(start, *f.slope(start), 0.0), tol=tol, max_iter=max_iter)
    for here in loop:
        wrong = kkt_violations(here.x, here.slope, weight)
        sets = _select_working_sets(here.x, wrong, f)
        goal = _minimize_model(
            f, here, weight, sets, here.stiff * size, _INNER_TOL_FACTOR * wrong.max()
        )
        fall = (
            float(here.slope @ (goal - here.x))
            + weighted_l1_norm(weight, goal)
            - weighted_l1_norm(weight, here.x)
        )
        there = _line_search(f, here, goal - here.x, fall, weight, precision)
        stuck = there is here
        whole = here.value + weighted_l1_norm(weight, here.x)
        unseen = -fall <= (ROUNDING_FACTOR if stuck else 1) * precision * abs(whole)
        change = kkt_violations(there.x, there.slope, weight).max(initial=0.0)
        loop.update(
            there,
            objective=there.value + weighted_l1_norm(weight, there.x),
            change=0.0 if unseen else change,
            stuck=stuck and not unseen,
        )
    end = loop.state
    return Minimum(end.x, end.value + weighted_l1_norm(weight, end.x), end.slope, loop.report)


def weighted_l1_norm(weight: np.ndarray, x: np.ndarray) -> float:
    """The penalty."""
    return float(weight @ np.abs(x))


def _column_square_sums(chunk: Chunk, cost: np.ndarray | None) -> np.ndarray:
    """Weighted sum of the squares of each column of [x 1]."""
    w = row_weights(chunk, cost)
    w = np.ones(chunk.rows, chunk.X.dtype) if w is None else w.astype(chunk.X.dtype)
    X = chunk.X
    return np.append(multiply_thin(w[None], X * X)[0], w.sum(dtype=np.float64))


def kkt_violations(x: np.ndarray, slope: np.ndarray, l1: np.ndarray) -> np.ndarray:
    """Entries of the shortest subgradient, without signs: all zero at the minimum."""
    at_zero = np.maximum(np.abs(slope) - l1, 0)
    return np.where(x == 0, at_zero, np.abs(slope + l1 * np.sign(x)))


def _select_working_sets(x: np.ndarray, wrong: np.ndarray, f: LinearObjective) -> list[np.ndarray]:
    """Columns of each class that are not zero or should not be, the worst of the latter first."""
    m, q = f.shape
    sets = []
    for used, bad in zip(x.reshape(m, q) != 0, wrong.reshape(m, q), strict=True):
        coming = np.flatnonzero((bad > 0) & ~used)
        room = max(2 * int(used.sum()), _MIN_WORKING_SET)
        worst = coming[np.argsort(-bad[coming], kind="stable")[:room]]
        chosen = used.copy()
        chosen[worst] = True
        chosen[-1] = f.intercept
        sets.append(np.flatnonzero(chosen))
    return sets


def _minimize_model(
    f: LinearObjective,
    here: ProxNewtonPoint,
    l1: np.ndarray,
    sets: list[np.ndarray],
    stiffness: np.ndarray,
    tol: float,
) -> np.ndarray:
    """Where the quadratic model of the working sets, with its L1 penalty, is least."""
    q = f.shape[1]
    joint = sum(map(len, sets)) <= MAX_JOINT_PARAMETERS
    blocks = f.rows.total(
        _working_set_hessians, f.loss, *f.parts(here.x), f.cost, tuple(sets), joint
    )
    flat = [c * q + columns for c, columns in enumerate(sets)]
    goal = here.x.copy()
    for H, chosen in zip(blocks, [np.concatenate(flat)] if joint else flat, strict=True):
        Q = (H + np.tril(H, -1).T) / f.n
        Q[np.diag_indices(len(Q))] += (f.ridge + stiffness)[chosen % q]
        c = Q @ here.x[chosen] - here.slope[chosen]
        goal[chosen] = coordinate_descent(
            Q, c, l1[chosen], 0.0, w0=here.x[chosen], tol=tol, max_iter=_MAX_SWEEPS
        ).w
    return goal


def _working_set_hessians(
    chunk: Chunk,
    loss: Loss,
    W: np.ndarray,
    b: np.ndarray,
    cost: np.ndarray | None,
    sets: tuple[np.ndarray, ...],
    joint: bool,
) -> list[np.ndarray]:
    """Lower triangles of the Hessian in the working sets, of all together or class by class."""
    Z, w = class_major_scores(chunk.X, W, b), row_weights(chunk, cost)
    one = loss.labels != "classes"
    P = loss.curvature(Z[0], loss_targets(chunk, loss))[None] if one else softmax_columns(Z)
    w = np.ones(chunk.rows) if w is None else w
    groups = [range(len(sets))] if joint else [[c] for c in range(len(sets))]
    return [_group_hessian(chunk.X, P, w, sets, group, one) for group in groups]


def _group_hessian(
    X: Any, P: np.ndarray, w: np.ndarray, sets: tuple, group: Any, one: bool
) -> np.ndarray:
    """The triangle of the classes of a group, from rows of the columns at work."""
    ends = np.cumsum([0, *(len(sets[c]) for c in group)])
    parts = [_take_columns(X, sets[c]) for c in group]
    H = np.zeros((ends[-1], ends[-1]))
    for a, c in enumerate(group):
        for b, d in enumerate(group[: a + 1]):
            bend = w * P[c] * (1.0 if one else (c == d) - P[d])
            block = (parts[a] * bend[:, None].astype(X.dtype, copy=False)).T @ parts[b]
            H[ends[a] : ends[a + 1], ends[b] : ends[b + 1]] = block
    return np.tril(H)


def _take_columns(X: Any, columns: np.ndarray) -> np.ndarray:
    """Some columns of [X 1]."""
    part = X[:, columns[columns < X.shape[1]]]
    part = part if isinstance(part, np.ndarray) else part.toarray()
    if part.shape[1] == len(columns):
        return part
    return np.hstack([part, np.ones((len(part), 1), X.dtype)])


def _line_search(
    f: LinearObjective,
    here: ProxNewtonPoint,
    turn: np.ndarray,
    fall: float,
    weight: np.ndarray,
    precision: float,
) -> ProxNewtonPoint:
    """The first of the steps 1, 1/2, 1/4, ... that lowers the objective enough, else `here`."""
    whole = here.value + weighted_l1_norm(weight, here.x)
    t = 1.0
    for _ in range(MAX_LINE_SEARCH_STEPS):
        x = here.x + t * turn
        value, slope = f.slope(x)
        if value + weighted_l1_norm(
            weight, x
        ) <= whole + SUFFICIENT_DECREASE * t * fall + precision * abs(whole):
            stiff = here.stiff / 4 if t == 1 else max(here.stiff, _INITIAL_DAMPING) / t
            return ProxNewtonPoint(
                x, value, slope, stiff if stiff > _INITIAL_DAMPING / 1e3 else 0.0
            )
        t /= 2
    return here
