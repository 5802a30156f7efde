"""Epochs of stochastic gradient descent, their stopping rule, and the learned weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.engine.shuffle import ShuffledBlock
from tenfold.engine.thread_pool import n_threads, run_in_threads
from tenfold.linear._base import linear_score
from tenfold.linear._thresholds import MIN_PARALLEL_PRODUCTS
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

_MIN_ADAPTIVE_RATE = 1e-6  # an adaptive learning rate is not reduced below this


class SGDTask(NamedTuple):
    """What the scores learn.

    Attributes
    ----------
    targets : (m,) number of the class that each score separates from the rest; empty for regression
    cost : (m, 2) weight of the rows of other classes, and of this class
    is_validation : (n,) whether a row is held out for validation; empty where none is
    scale : what the sum of validation errors is divided by
    """

    targets: np.ndarray
    cost: np.ndarray
    is_validation: np.ndarray
    scale: float = 1.0


class SGDStopping(NamedTuple):
    """Stop after `patience` epochs in a row that did not improve by `tol`, or after `max_iter`.

    `stop_without_mistakes`: also after an epoch without a mistake.
    """

    tol: float | None
    max_iter: int
    patience: int
    stop_without_mistakes: bool = False


class SGDProgress(NamedTuple):
    """The state between two epochs: what a checkpoint stores."""

    state: SGDState
    t: float  # number of the next step
    active: np.ndarray  # (m,) which scores still learn
    best: np.ndarray  # (m,) smallest monitored value so far
    stale_epochs: np.ndarray  # (m,) epochs in a row without improvement
    objective: np.ndarray  # (m,) mean loss along the last epoch and penalty at its end
    mistakes: np.ndarray  # (epochs, m)


def initial_state(W: np.ndarray, b: np.ndarray, settings: SGDSettings) -> SGDState:
    """Scores with initial weights (m, p) and intercepts (m,)."""
    m, p = W.shape
    scalars = np.zeros((m, MISTAKES + 1))
    scalars[:, SCALE], scalars[:, INTERCEPT], scalars[:, STEP_SIZE] = 1.0, b, settings.eta0
    uses = settings.average_from, settings.l1
    average_offset, l1_paid = (np.zeros((m, p if used else 0)) for used in uses)
    return SGDState(np.array(W, order="C"), average_offset, l1_paid, scalars)


def current_weights(state: SGDState) -> tuple[np.ndarray, np.ndarray]:
    """Weights and intercepts after the last step, in float64."""
    return state.scalars[:, [SCALE]] * state.v, state.scalars[:, INTERCEPT].copy()


def averaged_weights(state: SGDState) -> tuple[np.ndarray, np.ndarray]:
    """Means of weights and intercepts over all steps; the last ones before averaging begins."""
    steps = state.scalars[:, AVERAGED_STEPS]
    if not steps.all():
        return current_weights(state)
    total = state.average_offset + state.scalars[:, [AVERAGE_FACTOR]] * state.v
    return total / steps[:, None], state.scalars[:, INTERCEPT_SUM] / steps


def run_epochs(
    rows: Rows,
    seeds: Sequence[int | None],
    state: SGDState,
    t: float,
    task: SGDTask,
    settings: SGDSettings,
    stop: SGDStopping,
) -> until_converged[SGDProgress]:
    """Epochs until every score has stopped; the state is changed in place."""
    m = len(state.v)
    worst, none = np.full(m, np.inf), np.zeros((0, m), np.int64)
    start = SGDProgress(state, t, np.ones(m, bool), worst, np.zeros(m, np.int64), worst, none)
    loop = until_converged(start, tol=0.0, max_iter=stop.max_iter)
    for progress in loop:
        progress = _run_epoch(rows, seeds[loop.n_iter], progress, task, settings)
        _check_finite(progress.state, loop.n_iter + 1)
        monitored = _monitored_values(rows, progress, task)
        progress = _update_stopping(progress, monitored, settings, stop)
        change = float(progress.active.any())
        loop.update(progress, objective=progress.objective.mean(), change=change)
    return loop


def _run_epoch(
    rows: Rows, seed: int | None, progress: SGDProgress, task: SGDTask, settings: SGDSettings
) -> SGDProgress:
    """Visit every row once, except those held out for validation."""
    visited, t = 0, progress.t
    active = np.flatnonzero(progress.active)
    scalars = progress.state.scalars
    scalars[:, [LOSS_SUM, WEIGHT_SUM, MISTAKES]] = 0.0
    for block in rows.blocks(seed):
        order = block.order
        if len(task.is_validation):
            order = order[~task.is_validation[block.numbers]]
        visited += len(order)
        t = _visit_block(block, order, active, progress.state, task, settings, t)
    weight = np.where(scalars[:, WEIGHT_SUM] > 0, scalars[:, WEIGHT_SUM], 1.0)
    penalty = penalty_values(current_weights(progress.state)[0], settings)
    objective = (scalars[:, LOSS_SUM] + visited * penalty) / weight
    return progress._replace(
        t=t,
        objective=np.where(progress.active, objective, progress.objective),
        mistakes=np.vstack([progress.mistakes, scalars[:, MISTAKES].astype(np.int64)]),
    )


def _visit_block(
    block: ShuffledBlock,
    order: np.ndarray,
    active: np.ndarray,
    state: SGDState,
    task: SGDTask,
    settings: SGDSettings,
    t: float,
) -> float:
    """One step per row of a block. Threads divide the scores among themselves, never the rows."""
    X = block.X
    dense = isinstance(X, np.ndarray)
    matrix = (X.reshape(-1), None, None) if dense else (X.data, X.indices, X.indptr)
    y = block.y[order].astype(np.float64)
    w = np.ones(len(y)) if block.w is None else block.w[order].astype(np.float64)
    width = X.shape[1] if dense else X.nnz // X.shape[0]
    parallel = len(y) * width * len(active) > MIN_PARALLEL_PRODUCTS
    n_groups = min(n_threads(), len(active)) if parallel else 1
    groups = iter([active[g::n_groups].copy() for g in range(n_groups)])  # copies: compiled once
    ends = []
    average_offset = state.average_offset if state.average_offset.shape[1] else None
    l1_paid = state.l1_paid if state.l1_paid.shape[1] else None
    shared = (state.v, average_offset, l1_paid, state.scalars, settings, t)

    def work() -> None:
        for group in groups:  # the next one that no thread has taken
            end = run_sgd_steps(*matrix, order, y, w, *task[:2], group, *shared)
            ends.append(end)

    if n_groups == 1:
        work()  # even asking the pool for no thread costs as much as some hundred rows
    else:
        run_in_threads(work, n_groups - 1)
    return ends[0]


def penalty_values(W: np.ndarray, settings: SGDSettings) -> np.ndarray:
    """Penalty of each score; 0 for passive-aggressive steps, which have none."""
    if settings.schedule >= PA1:
        return np.zeros(len(W))
    return 0.5 * settings.l2 * (W * W).sum(axis=1) + settings.l1 * np.abs(W).sum(axis=1)


def _check_finite(state: SGDState, epoch: int) -> None:
    """Raise an error if the weights have overflowed."""
    if not (np.isfinite(state.v).all() and np.isfinite(state.scalars).all()):
        raise ValueError(
            f"Floating-point under-/overflow occurred at epoch #{epoch}. Scaling input data with "
            "StandardScaler or MinMaxScaler might help, or a smaller eta0."
        )


def _monitored_values(rows: Rows, progress: SGDProgress, task: SGDTask) -> np.ndarray:
    """What has to improve from epoch to epoch: the objective, or the validation error."""
    if not len(task.is_validation):
        return progress.objective
    W, b = (part.astype(rows.dtype) for part in current_weights(progress.state))
    errors = rows.total(_validation_error, W, b, task.targets, task.is_validation)
    return errors / task.scale


def _validation_error(
    chunk: Chunk, W: np.ndarray, b: np.ndarray, targets: np.ndarray, is_validation: np.ndarray
) -> np.ndarray:
    """Weight of the misclassified validation rows, or sum of squared errors, of each score."""
    w = chunk.weights() * is_validation[chunk.first : chunk.first + chunk.rows]
    Z, y = linear_score(chunk, W, b), chunk.y[:, None]
    return w @ ((Z > 0) != (y == targets) if len(targets) else (Z - y) ** 2)


def _update_stopping(
    progress: SGDProgress, monitored: np.ndarray, settings: SGDSettings, stop: SGDStopping
) -> SGDProgress:
    """Stop the scores that have not improved for `patience` epochs, or reduce their step size."""
    active = progress.active
    stale = np.zeros_like(active) if stop.tol is None else monitored > progress.best - stop.tol
    stale_epochs = np.where(stale, progress.stale_epochs + 1, 0)
    stopped = active & (stale_epochs >= stop.patience)
    if settings.schedule == ADAPTIVE:
        rate = progress.state.scalars[:, STEP_SIZE]
        reduced = stopped & (rate > _MIN_ADAPTIVE_RATE)
        rate[reduced] /= 5
        stale_epochs[reduced], stopped = 0, stopped & ~reduced
    if stop.stop_without_mistakes:
        stopped |= progress.mistakes[-1] == 0
    best = np.where(active, np.minimum(progress.best, monitored), progress.best)
    return progress._replace(active=active & ~stopped, best=best, stale_epochs=stale_epochs)
