r"""The way to coefficients of which many are exactly zero: proximal Newton on a working set.

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

from tenfold.linear.ways.objective import Objective
from tenfold.linear.ways.slopes import row_weights, scores, targets
from tenfold.maths.losses import Loss, class_shares
from tenfold.maths.moments import thin_product
from tenfold.rows import Chunk
from tenfold.solve.coordinate import coordinate_descent
from tenfold.solve.lbfgs import ENOUGH_DECREASE, MOST_TRIES, NOISE, Minimum
from tenfold.solve.loop import until_still

JOINT = 3000  # parameters in all working sets together, up to which classes bend each other
FEWEST = 32  # parameters of a class that may come into a working set at once
INNER = 0.1  # the model is solved so much more precisely than the slope is small
SWEEPS = 200  # most rounds of coordinate descent on one model
STIFF = 1e-3  # of the curvature that equal bends of all rows would give: the first stiffening


class Here(NamedTuple):
    """A point with the smooth value and slope, and how stiff the model is made there."""

    x: np.ndarray
    value: float
    slope: np.ndarray
    stiff: float


def l1_minimum(
    f: Objective, l1: np.ndarray, start: np.ndarray, *, tol: float, max_iter: int
) -> Minimum:
    """Minimise the objective plus sum of l1_j |theta_j|, with l1 (p + 1,) alike for all classes.

    Converged when no entry of the shortest subgradient exceeds `tol`.
    """
    weight = np.tile(l1, f.shape[0])
    precision = float(np.finfo(f.rows.dtype).eps)
    size = f.rows.total(column_squares, f.cost) / f.n
    loop = until_still(Here(start, *f.slope(start), 0.0), tol=tol, max_iter=max_iter)
    for here in loop:
        wrong = violations(here.x, here.slope, weight)
        sets = working_sets(here.x, wrong, f)
        goal = model_minimum(f, here, weight, sets, here.stiff * size, INNER * wrong.max())
        fall = float(here.slope @ (goal - here.x)) + l1_of(weight, goal) - l1_of(weight, here.x)
        there = towards(f, here, goal - here.x, fall, weight, precision)
        stuck = there is here
        whole = here.value + l1_of(weight, here.x)
        unseen = -fall <= (NOISE if stuck else 1) * precision * abs(whole)
        change = violations(there.x, there.slope, weight).max(initial=0.0)
        loop.tell(
            there,
            objective=there.value + l1_of(weight, there.x),
            change=0.0 if unseen else change,
            stuck=stuck and not unseen,
        )
    end = loop.state
    return Minimum(end.x, end.value + l1_of(weight, end.x), end.slope, loop.report)


def l1_of(weight: np.ndarray, x: np.ndarray) -> float:
    """The penalty."""
    return float(weight @ np.abs(x))


def column_squares(chunk: Chunk, cost: np.ndarray | None) -> np.ndarray:
    """Weighted sum of the squares of each column of [x 1]."""
    w = row_weights(chunk, cost)
    w = np.ones(chunk.rows, chunk.X.dtype) if w is None else w.astype(chunk.X.dtype)
    X = chunk.X
    return np.append(thin_product(w[None], X * X)[0], w.sum(dtype=np.float64))


def violations(x: np.ndarray, slope: np.ndarray, l1: np.ndarray) -> np.ndarray:
    """Entries of the shortest subgradient, without signs: all zero at the minimum."""
    at_zero = np.maximum(np.abs(slope) - l1, 0)
    return np.where(x == 0, at_zero, np.abs(slope + l1 * np.sign(x)))


def working_sets(x: np.ndarray, wrong: np.ndarray, f: Objective) -> list[np.ndarray]:
    """Columns of each class that are not zero or should not be, the worst of the latter first."""
    m, q = f.shape
    sets = []
    for used, bad in zip(x.reshape(m, q) != 0, wrong.reshape(m, q), strict=True):
        coming = np.flatnonzero((bad > 0) & ~used)
        room = max(2 * int(used.sum()), FEWEST)
        worst = coming[np.argsort(-bad[coming], kind="stable")[:room]]
        chosen = used.copy()
        chosen[worst] = True
        chosen[-1] = f.intercept
        sets.append(np.flatnonzero(chosen))
    return sets


def model_minimum(
    f: Objective,
    here: Here,
    l1: np.ndarray,
    sets: list[np.ndarray],
    stiffness: np.ndarray,
    tol: float,
) -> np.ndarray:
    """Where the quadratic model of the working sets, with its L1 penalty, is least."""
    q = f.shape[1]
    joint = sum(map(len, sets)) <= JOINT
    blocks = f.rows.total(bends, f.loss, *f.parts(here.x), f.cost, tuple(sets), joint)
    flat = [c * q + columns for c, columns in enumerate(sets)]
    goal = here.x.copy()
    for H, chosen in zip(blocks, [np.concatenate(flat)] if joint else flat, strict=True):
        Q = (H + np.tril(H, -1).T) / f.n
        Q[np.diag_indices(len(Q))] += (f.ridge + stiffness)[chosen % q]
        c = Q @ here.x[chosen] - here.slope[chosen]
        goal[chosen] = coordinate_descent(
            Q, c, l1[chosen], 0.0, start=here.x[chosen], tol=tol, max_iter=SWEEPS
        ).w
    return goal


def bends(
    chunk: Chunk,
    loss: Loss,
    W: np.ndarray,
    b: np.ndarray,
    cost: np.ndarray | None,
    sets: tuple[np.ndarray, ...],
    joint: bool,
) -> list[np.ndarray]:
    """Lower triangles of the Hessian in the working sets, of all together or class by class."""
    Z, w = scores(chunk.X, W, b), row_weights(chunk, cost)
    one = loss.labels != "classes"
    P = loss.curvature(Z[0], targets(chunk, loss))[None] if one else class_shares(Z)
    w = np.ones(chunk.rows) if w is None else w
    groups = [range(len(sets))] if joint else [[c] for c in range(len(sets))]
    return [dense_bends(chunk.X, P, w, sets, group, one) for group in groups]


def dense_bends(
    X: Any, P: np.ndarray, w: np.ndarray, sets: tuple, group: Any, one: bool
) -> np.ndarray:
    """The triangle of the classes of a group, from rows of the columns at work."""
    ends = np.cumsum([0, *(len(sets[c]) for c in group)])
    parts = [columns_of(X, sets[c]) for c in group]
    H = np.zeros((ends[-1], ends[-1]))
    for a, c in enumerate(group):
        for b, d in enumerate(group[: a + 1]):
            bend = w * P[c] * (1.0 if one else (c == d) - P[d])
            block = (parts[a] * bend[:, None].astype(X.dtype, copy=False)).T @ parts[b]
            H[ends[a] : ends[a + 1], ends[b] : ends[b + 1]] = block
    return np.tril(H)


def columns_of(X: Any, columns: np.ndarray) -> np.ndarray:
    """Some columns of [X 1]."""
    part = X[:, columns[columns < X.shape[1]]]
    part = part if isinstance(part, np.ndarray) else part.toarray()
    if part.shape[1] == len(columns):
        return part
    return np.hstack([part, np.ones((len(part), 1), X.dtype)])


def towards(
    f: Objective, here: Here, turn: np.ndarray, fall: float, weight: np.ndarray, precision: float
) -> Here:
    """The first of the steps 1, 1/2, 1/4, ... that lowers the objective enough, else `here`."""
    whole = here.value + l1_of(weight, here.x)
    t = 1.0
    for _ in range(MOST_TRIES):
        x = here.x + t * turn
        value, slope = f.slope(x)
        if value + l1_of(weight, x) <= whole + ENOUGH_DECREASE * t * fall + precision * abs(whole):
            stiff = here.stiff / 4 if t == 1 else max(here.stiff, STIFF) / t
            return Here(x, value, slope, stiff if stiff > STIFF / 1e3 else 0.0)
        t /= 2
    return here
