"""Epochs of stochastic gradient descent, their stopping rule, and the learned weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.engine.shuffle import ShuffledBlock
from tenfold.engine.thread_pool import n_threads, run_in_threads
from tenfold.linear._base import row_scores
from tenfold.linear.stochastic._sgd_numba import (
    ADAPTIVE,
    AVERAGE_FACTOR,
    AVERAGED_STEPS,
    INTERCEPT,
    INTERCEPT_SUM,
    LOSS_SUM,
    MISTAKES,
    PA1,
    SCALE,
    STEP_SIZE,
    WEIGHT_SUM,
    SGDSettings,
    SGDState,
    run_sgd_steps,
)
from tenfold.optim.convergence import until_converged

_MIN_PARALLEL_PRODUCTS = 200_000  # products in a block that pay for waking a helper
_MIN_ADAPTIVE_RATE = 1e-6  # an adaptive rate that is smaller is not divided any more


class SGDTask(NamedTuple):
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


class SGDStopping(NamedTuple):
    """When to stop: after `patience` epochs in a row without a gain of `tol`, after `max_iter`.

    `faultless`: also after an epoch without a mistake.
    """

    tol: float | None
    max_iter: int
    patience: int
    faultless: bool = False


class SGDProgress(NamedTuple):
    """Where a fit stands between two epochs: all that a checkpoint must keep."""

    scores: SGDState
    t: float  # number of the next step
    live: np.ndarray  # (m,) which scores still learn
    best: np.ndarray  # (m,) least value so far of what is watched
    waited: np.ndarray  # (m,) epochs in a row without a gain
    objective: np.ndarray  # (m,) mean loss along the last epoch and penalty at its end
    mistakes: np.ndarray  # (epochs, m)


def initial_state(W: np.ndarray, b: np.ndarray, plan: SGDSettings) -> SGDState:
    """Scores that begin at the weights (m, p) and the constants (m,)."""
    m, p = W.shape
    own = np.zeros((m, MISTAKES + 1))
    own[:, SCALE], own[:, INTERCEPT], own[:, STEP_SIZE] = 1.0, b, plan.eta0
    late, taken = (np.zeros((m, p if wanted else 0)) for wanted in (plan.average, plan.cut))
    return SGDState(np.array(W, order="C"), late, taken, own)


def current_weights(scores: SGDState) -> tuple[np.ndarray, np.ndarray]:
    """Weights and constants as they are now, in float64."""
    return scores.own[:, [SCALE]] * scores.v, scores.own[:, INTERCEPT].copy()


def averaged_weights(scores: SGDState) -> tuple[np.ndarray, np.ndarray]:
    """Means of the weights and constants after each step; the newest if averaging has not begun."""
    steps = scores.own[:, AVERAGED_STEPS]
    if not steps.all():
        return current_weights(scores)
    total = scores.late + scores.own[:, [AVERAGE_FACTOR]] * scores.v
    return total / steps[:, None], scores.own[:, INTERCEPT_SUM] / steps


def run_epochs(
    rows: Rows,
    seeds: Sequence[int | None],
    scores: SGDState,
    t: float,
    task: SGDTask,
    plan: SGDSettings,
    stop: SGDStopping,
) -> until_converged[SGDProgress]:
    """Epoch after epoch until every score has stopped; the scores are changed in place."""
    m = len(scores.v)
    worst = np.full(m, np.inf)
    start = SGDProgress(
        scores, t, np.ones(m, bool), worst, np.zeros(m, np.int64), worst, np.zeros((0, m), np.int64)
    )
    loop = until_converged(start, tol=0.0, max_iter=stop.max_iter)
    for course in loop:
        ended = _run_epoch(rows, seeds[loop.n_iter], course, task, plan)
        _check_finite(ended.scores, loop.n_iter + 1)
        ended = _update_stopping(ended, _monitored_values(rows, ended, task), plan, stop)
        loop.update(ended, objective=ended.objective.mean(), change=float(ended.live.any()))
    return loop


def _run_epoch(
    rows: Rows, seed: int | None, course: SGDProgress, task: SGDTask, plan: SGDSettings
) -> SGDProgress:
    """Every row once, but for those held for validation."""
    visited, t = 0, course.t
    live = np.flatnonzero(course.live)
    own = course.scores.own
    own[:, [LOSS_SUM, WEIGHT_SUM, MISTAKES]] = 0.0
    for block in rows.blocks(seed):
        order = block.order[~task.held[block.numbers]] if len(task.held) else block.order
        visited += len(order)
        t = _visit_block(block, order, live, course.scores, task, plan, t)
    weight = np.where(own[:, WEIGHT_SUM] > 0, own[:, WEIGHT_SUM], 1.0)
    objective = (own[:, LOSS_SUM] + visited * _penalty_values(course.scores, plan)) / weight
    return course._replace(
        t=t,
        objective=np.where(course.live, objective, course.objective),
        mistakes=np.vstack([course.mistakes, own[:, MISTAKES].astype(np.int64)]),
    )


def _visit_block(
    block: ShuffledBlock,
    order: np.ndarray,
    live: np.ndarray,
    scores: SGDState,
    task: SGDTask,
    plan: SGDSettings,
    t: float,
) -> float:
    """The rows of a block. Threads share out the scores, never the rows."""
    X = block.X
    dense = isinstance(X, np.ndarray)
    place = (X.reshape(-1), None, None) if dense else (X.data, X.indices, X.indptr)
    y = block.y[order].astype(np.float64)
    w = np.ones(len(y)) if block.w is None else block.w[order].astype(np.float64)
    width = X.shape[1] if dense else X.nnz // X.shape[0]
    groups = (
        min(n_threads(), len(live)) if len(y) * width * len(live) > _MIN_PARALLEL_PRODUCTS else 1
    )
    pieces = iter([live[g::groups] for g in range(groups)])
    ends = []
    late, taken = (part if part.shape[1] else None for part in (scores.late, scores.taken))
    state = (scores.v, late, taken, scores.own, plan, t)

    def work() -> None:
        for piece in pieces:  # the next one that no thread has taken
            end = run_sgd_steps(*place, order, y, w, *task[:2], piece, *state)
            ends.append(end)

    if groups == 1:
        work()  # waking nobody costs as much as some hundred rows
    else:
        run_in_threads(work, groups - 1)
    return ends[0]


def _penalty_values(scores: SGDState, plan: SGDSettings) -> np.ndarray:
    """Penalty of each score; passive-aggressive steps watch the loss alone."""
    W = current_weights(scores)[0]
    if plan.rate >= PA1:
        return np.zeros(len(W))
    return 0.5 * plan.shrink * (W * W).sum(axis=1) + plan.cut * np.abs(W).sum(axis=1)


def _check_finite(scores: SGDState, number: int) -> None:
    """Raise an error if the weights have grown past all numbers."""
    if not (np.isfinite(scores.v).all() and np.isfinite(scores.own).all()):
        raise ValueError(
            f"Floating-point under-/overflow occurred at epoch #{number}. Standardise the columns "
            "(sklearn.preprocessing.StandardScaler), or choose a smaller eta0."
        )


def _monitored_values(rows: Rows, course: SGDProgress, task: SGDTask) -> np.ndarray:
    """What must fall from epoch to epoch: the objective, or the error on the rows held."""
    if not len(task.held):
        return course.objective
    W, b = (part.astype(rows.dtype) for part in current_weights(course.scores))
    return rows.total(_validation_error, W, b, task.targets, task.held) / task.unit


def _validation_error(
    chunk: Chunk, W: np.ndarray, b: np.ndarray, targets: np.ndarray, held: np.ndarray
) -> np.ndarray:
    """Weight of the wrong rows among those held, or the sum of their squared errors; by score."""
    w = chunk.weights() * held[chunk.first : chunk.first + chunk.rows]
    Z, y = row_scores(chunk, W, b), chunk.y[:, None]
    return w @ ((Z > 0) != (y == targets) if len(targets) else (Z - y) ** 2)


def _update_stopping(
    course: SGDProgress, value: np.ndarray, plan: SGDSettings, stop: SGDStopping
) -> SGDProgress:
    """Let the scores stop that have not gained for long, or slow them down once more."""
    stale = np.zeros_like(course.live) if stop.tol is None else value > course.best - stop.tol
    waited = np.where(stale, course.waited + 1, 0)
    tired = course.live & (waited >= stop.patience)
    if plan.rate == ADAPTIVE:
        rate = course.scores.own[:, STEP_SIZE]
        slower = tired & (rate > _MIN_ADAPTIVE_RATE)
        rate[slower] /= 5
        waited[slower], tired = 0, tired & ~slower
    if stop.faultless:
        tired |= course.mistakes[-1] == 0
    best = np.where(course.live, np.minimum(course.best, value), course.best)
    return course._replace(live=course.live & ~tired, best=best, waited=waited)


def convergence_report(loop: until_converged[SGDProgress], stop: SGDStopping) -> dict[str, Any]:
    """`n_iter_`, `converged_` and `history_`; who sets no tolerance has asked for all epochs."""
    return {**loop.report, "converged_": loop.converged or stop.tol is None}
