"""Epochs over rows, each row one step of every score; when to stop, and what has been learned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tenfold.linear.scores import row_scores
from tenfold.linear.stepwise.sgd_leaves import (
    ADAPTIVE,
    LOSS,
    MISTAKES,
    OFFSET,
    OFFSETS,
    PA1,
    PULL,
    RATE,
    SCALE,
    STEPS,
    WEIGHT,
    Plan,
    Scores,
    walk,
)
from tenfold.rows import Chunk, Rows, n_threads
from tenfold.rows.mixing import Block
from tenfold.rows.threads import together
from tenfold.solve import until_still

WORTH_WAKING = 200_000  # products in a block that pay for waking a helper
SLOWEST = 1e-6  # an adaptive rate that is smaller is not divided any more


class Task(NamedTuple):
    """What the scores learn.

    Attributes
    ----------
    targets : (m,) number of the class that each score tells from the others; empty for numbers
    cost : (m, 2) weight of the rows of other classes, and of this class
    held : (n,) whether a row is kept for validation; empty where none is
    unit : what the errors of all rows held are divided by
    """

    targets: np.ndarray
    cost: np.ndarray
    held: np.ndarray
    unit: float = 1.0


class Stop(NamedTuple):
    """When to stop: after `patience` epochs in a row without a gain of `tol`, after `max_iter`.

    `faultless`: also after an epoch without a mistake.
    """

    tol: float | None
    max_iter: int
    patience: int
    faultless: bool = False


class Course(NamedTuple):
    """Where a fit stands between two epochs: all that a checkpoint must keep."""

    scores: Scores
    t: float  # number of the next step
    live: np.ndarray  # (m,) which scores still learn
    best: np.ndarray  # (m,) least value so far of what is watched
    waited: np.ndarray  # (m,) epochs in a row without a gain
    objective: np.ndarray  # (m,) mean loss along the last epoch and penalty at its end
    mistakes: np.ndarray  # (epochs, m)


def new_scores(W: np.ndarray, b: np.ndarray, plan: Plan) -> Scores:
    """Scores that begin at the weights (m, p) and the constants (m,)."""
    m, p = W.shape
    own = np.zeros((m, MISTAKES + 1))
    own[:, SCALE], own[:, OFFSET], own[:, RATE] = 1.0, b, plan.eta0
    late, taken = (np.zeros((m, p if wanted else 0)) for wanted in (plan.average, plan.cut))
    return Scores(np.array(W, order="C"), late, taken, own)


def weights_of(scores: Scores) -> tuple[np.ndarray, np.ndarray]:
    """Weights and constants as they are now, in float64."""
    return scores.own[:, [SCALE]] * scores.v, scores.own[:, OFFSET].copy()


def averages_of(scores: Scores) -> tuple[np.ndarray, np.ndarray]:
    """Means of the weights and constants after each step; the newest if averaging has not begun."""
    steps = scores.own[:, STEPS]
    if not steps.all():
        return weights_of(scores)
    total = scores.late + scores.own[:, [PULL]] * scores.v
    return total / steps[:, None], scores.own[:, OFFSETS] / steps


def run(
    rows: Rows,
    seeds: Sequence[int | None],
    scores: Scores,
    t: float,
    task: Task,
    plan: Plan,
    stop: Stop,
) -> until_still[Course]:
    """Epoch after epoch until every score has stopped; the scores are changed in place."""
    m = len(scores.v)
    worst = np.full(m, np.inf)
    start = Course(
        scores, t, np.ones(m, bool), worst, np.zeros(m, np.int64), worst, np.zeros((0, m), np.int64)
    )
    loop = until_still(start, tol=0.0, max_iter=stop.max_iter)
    for course in loop:
        ended = epoch(rows, seeds[loop.n_iter], course, task, plan)
        assert_finite(ended.scores, loop.n_iter + 1)
        ended = judged(ended, watched(rows, ended, task), plan, stop)
        loop.tell(ended, objective=ended.objective.mean(), change=float(ended.live.any()))
    return loop


def epoch(rows: Rows, seed: int | None, course: Course, task: Task, plan: Plan) -> Course:
    """Every row once, but for those held for validation."""
    visited, t = 0, course.t
    live = np.flatnonzero(course.live)
    own = course.scores.own
    own[:, [LOSS, WEIGHT, MISTAKES]] = 0.0
    for block in rows.blocks(seed):
        order = block.order[~task.held[block.numbers]] if len(task.held) else block.order
        visited += len(order)
        t = visit(block, order, live, course.scores, task, plan, t)
    weight = np.where(own[:, WEIGHT] > 0, own[:, WEIGHT], 1.0)
    objective = (own[:, LOSS] + visited * penalties(course.scores, plan)) / weight
    return course._replace(
        t=t,
        objective=np.where(course.live, objective, course.objective),
        mistakes=np.vstack([course.mistakes, own[:, MISTAKES].astype(np.int64)]),
    )


def visit(
    block: Block,
    order: np.ndarray,
    live: np.ndarray,
    scores: Scores,
    task: Task,
    plan: Plan,
    t: float,
) -> float:
    """The rows of a block. Threads share out the scores, never the rows."""
    X = block.X
    dense = isinstance(X, np.ndarray)
    place = (X.reshape(-1), None, None) if dense else (X.data, X.indices, X.indptr)
    y = block.y[order].astype(np.float64)
    w = np.ones(len(y)) if block.w is None else block.w[order].astype(np.float64)
    width = X.shape[1] if dense else X.nnz // X.shape[0]
    groups = min(n_threads(), len(live)) if len(y) * width * len(live) > WORTH_WAKING else 1
    pieces = iter([live[g::groups] for g in range(groups)])
    ends = []
    late, taken = (part if part.shape[1] else None for part in (scores.late, scores.taken))
    state = (scores.v, late, taken, scores.own, plan, t)

    def work() -> None:
        for piece in pieces:  # the next one that no thread has taken
            end = walk(*place, order, y, w, *task[:2], piece, *state)
            ends.append(end)

    if groups == 1:
        work()  # waking nobody costs as much as some hundred rows
    else:
        together(work, groups - 1)
    return ends[0]


def penalties(scores: Scores, plan: Plan) -> np.ndarray:
    """Penalty of each score; passive-aggressive steps watch the loss alone."""
    W = weights_of(scores)[0]
    if plan.rate >= PA1:
        return np.zeros(len(W))
    return 0.5 * plan.shrink * (W * W).sum(axis=1) + plan.cut * np.abs(W).sum(axis=1)


def assert_finite(scores: Scores, number: int) -> None:
    """Raise an error if the weights have grown past all numbers."""
    if not (np.isfinite(scores.v).all() and np.isfinite(scores.own).all()):
        raise ValueError(
            f"Floating-point under-/overflow occurred at epoch #{number}. Standardise the columns "
            "(sklearn.preprocessing.StandardScaler), or choose a smaller eta0."
        )


def watched(rows: Rows, course: Course, task: Task) -> np.ndarray:
    """What must fall from epoch to epoch: the objective, or the error on the rows held."""
    if not len(task.held):
        return course.objective
    W, b = (part.astype(rows.dtype) for part in weights_of(course.scores))
    return rows.total(held_error, W, b, task.targets, task.held) / task.unit


def held_error(
    chunk: Chunk, W: np.ndarray, b: np.ndarray, targets: np.ndarray, held: np.ndarray
) -> np.ndarray:
    """Weight of the wrong rows among those held, or the sum of their squared errors; by score."""
    w = chunk.weights() * held[chunk.first : chunk.first + chunk.rows]
    Z, y = row_scores(chunk, W, b), chunk.y[:, None]
    return w @ ((Z > 0) != (y == targets) if len(targets) else (Z - y) ** 2)


def judged(course: Course, value: np.ndarray, plan: Plan, stop: Stop) -> Course:
    """Let the scores stop that have not gained for long, or slow them down once more."""
    stale = np.zeros_like(course.live) if stop.tol is None else value > course.best - stop.tol
    waited = np.where(stale, course.waited + 1, 0)
    tired = course.live & (waited >= stop.patience)
    if plan.rate == ADAPTIVE:
        rate = course.scores.own[:, RATE]
        slower = tired & (rate > SLOWEST)
        rate[slower] /= 5
        waited[slower], tired = 0, tired & ~slower
    if stop.faultless:
        tired |= course.mistakes[-1] == 0
    best = np.where(course.live, np.minimum(course.best, value), course.best)
    return course._replace(live=course.live & ~tired, best=best, waited=waited)


def report(loop: until_still[Course], stop: Stop) -> dict[str, Any]:
    """`n_iter_`, `converged_` and `history_`; who sets no tolerance has asked for all epochs."""
    return {**loop.report, "converged_": loop.converged or stop.tol is None}
