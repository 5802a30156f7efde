r"""Stochastic gradient descent on mini-batches of rows, and online learning from a stream.

.. math:: \theta \leftarrow \theta - \eta_t \tfrac1{|B|} \sum_{i \in B} \nabla \ell_i(\theta)

The batches B are drawn without replacement: an epoch sees every row once. A batch of all rows is
gradient descent; an endless stream of batches is online learning.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.optim.convergence import (
    DivergenceError,
    Minimum,
    as_point,
    largest_curvature,
    suggest_learning_rate,
    until_converged,
)
from tenfold.optim.optimizers import SGD, Optimizer, apply_update, init_state
from tenfold.optim.schedules import PowerDecay, Schedule, as_schedule

ChunkLoss = Callable[[Chunk, np.ndarray], tuple[float, np.ndarray]]
GradientClip = Callable[[np.ndarray], np.ndarray]

_INVERSE_SQRT = PowerDecay(delta=0.5)
_DIVERGED_LOSS_RATIO = 1e8  # of the loss of an epoch to the initial one: diverged
_LOOK_AT_BATCHES = 20  # of which the steepest one decides the learning rate that is suggested
_MIN_KEPT_DECREASE = 0.5  # of the largest decrease of the loss: less means that it rises again


class SgdSettings(NamedTuple):
    """Settings of a stochastic gradient step."""

    leaf: ChunkLoss
    schedule: Schedule
    optimizer: Optimizer
    clip: GradientClip | None
    average_from: int | None


class SgdState(NamedTuple):
    """State of SGD after t steps."""

    theta: np.ndarray
    memory: Any  # of the optimizer
    mean: np.ndarray  # of the iterates since `average_from`
    t: int = 0

    def point(self, settings: SgdSettings) -> np.ndarray:
        """The result: the mean of the iterates if they are averaged, else the last."""
        return self.theta if settings.average_from is None else self.mean


def sgd(
    leaf: ChunkLoss,
    x0: np.ndarray,
    rows: Rows,
    *,
    batch_size: int = 1,
    learning_rate: Schedule | float = _INVERSE_SQRT,
    optimizer: Optimizer | None = None,
    clip: GradientClip | None = None,
    average_from: int | None = None,
    seed: int = 0,
    max_iter: int = 100,
    tol: float = 0.0,
    patience: int = 5,
    validate: Callable[[np.ndarray], float] | None = None,
) -> Minimum:
    """Minimize the mean loss of rows by steps on random mini-batches.

    Parameters
    ----------
    leaf : callable
        `leaf(chunk, theta)` returns (loss, gradient), summed over the rows of a chunk.
    x0 : array of shape (n_params,)
        Initial parameters.
    rows : Rows
        The data: `tenfold.open(X, y)`.
    batch_size : int
        Rows per step; with the number of rows or more it is gradient descent, bit for bit.
    learning_rate : float or callable
        Length of step t = 1, 2, ... per unit of the mean gradient, see `tenfold.optim.schedules`.
    optimizer : Optimizer, optional
        Momentum, Adam, ...: see `tenfold.optim.optimizers`.
    clip : callable, optional
        Clips the gradient before the step.
    average_from : int, optional
        Return the mean of all iterates from this step on (Polyak-Ruppert averaging), not the last.
    seed : int
        Seed of the batches; epoch e uses seed + e.
    max_iter : int
        Maximum number of epochs.
    tol, patience : float, int
        Stop when `patience` epochs in a row have not lowered the best loss by more than `tol`. That
        is convergence if the loss has kept at least half of its largest decrease since `x0`; a
        loss that has risen again is not (`converged_` is False, and a warning says so).
    validate : callable, optional
        Validation loss used instead of the mean loss of the epoch (early stopping). The point of
        the lowest one is returned.

    Returns
    -------
    Minimum
        `value` is the lowest loss, `gradient` that of the last batch.

    Raises
    ------
    DivergenceError
        If the loss is no longer finite, or far larger than at `x0`. Its attribute `rate` is a
        learning rate at which the steepest of some batches converges from there.

    Warns
    -----
    RuntimeWarning
        If the loss at the result is larger than at `x0`, or has risen again while it was watched.

    Examples
    --------
    >>> import numpy as np, tenfold
    >>> def squares(chunk, theta):
    ...     error = chunk.X @ theta - chunk.y
    ...     return error @ error / 2, chunk.X.T @ error
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> result = sgd(squares, np.zeros(2), tenfold.open(X, X @ [1.0, -2.0]), learning_rate=0.1)
    >>> result.x.round(6).tolist()
    [1.0, -2.0]
    """
    settings = SgdSettings(leaf, as_schedule(learning_rate), optimizer or SGD(), clip, average_from)
    x0 = as_point(x0)
    state = SgdState(x0, init_state(settings.optimizer, x0), x0)
    best = (x0, np.inf, np.zeros_like(x0), 0)  # point, loss, gradient, epochs without improvement
    evaluate = DataLoss(leaf, rows, validate)
    batches = partial(_batches, rows, batch_size, seed)
    initial = evaluate.value(x0)
    loop = until_converged((state, best), tol=0.0, max_iter=max_iter)
    for state, best in loop:
        with np.errstate(over="ignore", invalid="ignore"):  # divergence raises its own error
            state, loss, gradient = _run_epoch(state, batches(loop.n_iter), settings)
        point = state.point(settings)
        if _has_diverged(loss, point, initial):
            raise _divergence_error(evaluate, x0, loss, loop.n_iter + 1, batches(0))
        loss = loss if validate is None else float(validate(point))
        best = _update_best(best, (point, loss, gradient), tol, keep_best=validate is not None)
        loop.update((state, best), objective=loss, change=max(patience - best[3], 0))
    x, value, gradient, _ = loop.state[1]
    return Minimum(x, value, gradient, _checked_report(loop, evaluate, x0, initial, batches(0)))


class DataLoss(NamedTuple):
    """The mean loss of all rows, and what is watched in its place, if anything."""

    leaf: ChunkLoss
    rows: Rows
    validate: Callable[[np.ndarray], float] | None

    def value(self, x: np.ndarray) -> float:
        """The loss that has to decrease: that of all rows, or of validation."""
        with np.errstate(over="ignore", invalid="ignore"):
            if self.validate is not None:
                return float(self.validate(x))
            return _mean_loss_and_gradient(self.leaf, self.rows, x)[0]


def _has_diverged(loss: float, x: np.ndarray, initial: float) -> bool:
    """Whether loss or parameters are not finite, or the loss is far larger than the initial one."""
    if not (np.isfinite(loss) and np.isfinite(x).all()):
        return True
    return bool(0 < abs(initial) < loss / _DIVERGED_LOSS_RATIO)


def _divergence_error(
    f: DataLoss, x0: np.ndarray, loss: float, epoch: int, batches: Iterator[Chunk | Rows]
) -> DivergenceError:
    rate, advice = _suggest_batch_rate(f, x0, batches)
    return DivergenceError(
        f"diverged: the mean loss is {loss:.4g} in epoch {epoch}. {advice}", rate
    )


def _suggest_batch_rate(
    f: DataLoss, x0: np.ndarray, batches: Iterator[Chunk | Rows]
) -> tuple[float, str]:
    """A learning rate for the steepest of some batches, and a sentence that recommends it."""
    weighted = (b for b in batches if isinstance(b, Rows) or b.weight > 0)
    losses = [partial(_value_and_gradient, f.leaf, b) for b in islice(weighted, _LOOK_AT_BATCHES)]
    with np.errstate(over="ignore", invalid="ignore"):
        steepest = max(losses, key=lambda loss: largest_curvature(loss, x0))
        rate, advice = suggest_learning_rate(steepest, x0)
    advice = advice.replace(", or 'backtracking'", ", or a schedule that starts there")
    return rate, f"{advice} Standardized columns allow longer steps."


def _value_and_gradient(
    leaf: ChunkLoss, batch: Chunk | Rows, x: np.ndarray
) -> tuple[float, np.ndarray]:
    return _mean_loss_and_gradient(leaf, batch, x)[:2]


def _checked_report(
    loop: until_converged,
    f: DataLoss,
    x0: np.ndarray,
    initial: float,
    batches: Iterator[Chunk | Rows],
) -> dict[str, Any]:
    """The report; converged only if the loss at the result is about the lowest that was seen."""
    x, lowest = loop.state[1][:2]
    last = f.value(x) if loop.n_iter else initial
    report, lowest = loop.report, min(lowest, initial)
    needed = _MIN_KEPT_DECREASE if loop.converged else 0.0
    if not initial - last >= needed * (initial - lowest):
        report["converged_"] = False
        warnings.warn(
            f"the mean loss at the result is {last:.4g}; it was {initial:.4g} at first and "
            f"{lowest:.4g} at best, so the steps are too long. "
            + _suggest_batch_rate(f, x0, batches)[1],
            RuntimeWarning,
            stacklevel=3,
        )
    return report


def _update_best(best: tuple, new: tuple, tol: float, *, keep_best: bool) -> tuple:
    """The resulting point, the lowest loss, its gradient, and the epochs without improvement."""
    improved = new[1] < best[1] - tol
    point, _, gradient = best[:3] if keep_best and not new[1] < best[1] else new
    return point, min(new[1], best[1]), gradient, 0 if improved else best[3] + 1


def _batches(rows: Rows, size: int, seed: int, epoch: int) -> Iterator[Chunk | Rows]:
    return rows.batches(size, seed + epoch) if size < rows.n_rows else iter([rows])


def _run_epoch(
    state: SgdState, batches: Iterator[Chunk | Rows], settings: SgdSettings
) -> tuple[SgdState, float, np.ndarray]:
    """One step per batch; the mean loss is taken before each step."""
    loss, weight, gradient = 0.0, 0.0, np.zeros_like(state.theta)
    for batch in batches:
        if isinstance(batch, Chunk) and batch.weight == 0:  # rows of weight zero are no rows
            continue
        value, gradient, size = _mean_loss_and_gradient(settings.leaf, batch, state.theta)
        state = _sgd_step(state, gradient, settings)
        loss, weight = loss + size * value, weight + size
    return state, loss / weight, gradient


def _mean_loss_and_gradient(
    leaf: ChunkLoss, batch: Chunk | Rows, theta: np.ndarray
) -> tuple[float, np.ndarray, float]:
    """Mean loss and gradient of a batch, or of all rows in one pass, and their weight."""
    if isinstance(batch, Rows):
        value, gradient, size = batch.total(_loss_with_weight, leaf, theta)
    else:
        value, gradient, size = _loss_with_weight(batch, leaf, theta)
    return float(value / size), gradient / size, float(size)


def _loss_with_weight(
    chunk: Chunk, leaf: ChunkLoss, theta: np.ndarray
) -> tuple[float, np.ndarray, float]:
    return (*leaf(chunk, theta), chunk.weight)


def _sgd_step(state: SgdState, gradient: np.ndarray, settings: SgdSettings) -> SgdState:
    """One step of the optimizer, and of the running mean of the iterates."""
    t = state.t + 1
    gradient = gradient if settings.clip is None else settings.clip(gradient)
    theta, memory = apply_update(
        settings.optimizer, state.theta, gradient, state.memory, settings.schedule(t)
    )
    n_averaged = t - (settings.average_from or 1) + 1  # iterates in the mean
    mean = theta if n_averaged <= 1 else state.mean + (theta - state.mean) / n_averaged
    return SgdState(theta, memory, mean, t)


def online_sgd(
    leaf: ChunkLoss,
    x0: np.ndarray,
    stream: Iterable[Chunk],
    *,
    learning_rate: Schedule | float = _INVERSE_SQRT,
    optimizer: Optimizer | None = None,
    clip: GradientClip | None = None,
    average_from: int | None = None,
    max_iter: int = sys.maxsize,
) -> Minimum:
    """Take one step per batch of a stream; each batch is used once and not kept.

    Parameters
    ----------
    leaf, x0, learning_rate, optimizer, clip, average_from
        As in `sgd`.
    stream : iterable of chunks
        For instance `(Chunk(X, y) for X, y in arrivals)`.
    max_iter : int
        Maximum number of batches, for an endless stream.

    Returns
    -------
    Minimum
        The history has the loss of every batch before its step: progressive validation.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.engine import Chunk
    >>> def distance(chunk, theta):
    ...     away = theta - chunk.X
    ...     return (away**2).sum() / 2, away.sum(axis=0)
    >>> arrivals = (Chunk(np.array([[x]])) for x in [3.0, 5.0, 10.0])
    >>> online_sgd(
    ...     distance, np.zeros(1), arrivals, learning_rate=lambda t: 1 / t
    ... ).x.tolist()  # the mean
    [6.0]
    """
    settings = SgdSettings(leaf, as_schedule(learning_rate), optimizer or SGD(), clip, average_from)
    x0 = as_point(x0)
    state = SgdState(x0, init_state(settings.optimizer, x0), x0)
    loop = until_converged((state, np.zeros_like(x0)), tol=-1.0, max_iter=max_iter)
    batches = None
    for state, _ in loop:
        batches = batches or islice(stream, loop.n_iter, None)  # a resumed run has used some
        batch = next(batches, None)
        if batch is None:
            break
        if batch.weight == 0:  # rows of weight zero are no rows
            loop.update((state, loop.state[1]), objective=np.nan, change=0.0)
            continue
        value, gradient, _ = _mean_loss_and_gradient(leaf, batch, state.theta)
        loop.update((_sgd_step(state, gradient, settings), gradient), objective=value, change=0.0)
    state, gradient = loop.state
    value = loop.objectives[-1] if loop.objectives else np.nan
    return Minimum(state.point(settings), value, gradient, loop.report)
