r"""Stochastic gradient descent on mini-batches of rows, and online learning from a stream.

.. math:: \theta \leftarrow \theta - \eta_t \tfrac1{|B|} \sum_{i \in B} \nabla \ell_i(\theta)

The batches B are drawn without replacement: an epoch sees every row once. A batch of all rows is
gradient descent; a stream of batches that never ends is online learning
[001, 3.2; 003, 4.5; 004, 3.4].
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.optim.convergence import Minimum, until_converged
from tenfold.optim.optimizers import SGD, Optimizer, apply_update, init_state
from tenfold.optim.schedules import PowerDecay, Schedule, as_schedule

ChunkLoss = Callable[[Chunk, np.ndarray], tuple[float, np.ndarray]]
GradientClip = Callable[[np.ndarray], np.ndarray]

_INVERSE_SQRT = PowerDecay(delta=0.5)


class SgdSettings(NamedTuple):
    """How to learn from a batch."""

    leaf: ChunkLoss
    rate: Schedule
    rule: Optimizer
    clip: GradientClip | None
    average_from: int | None


class SgdState(NamedTuple):
    """What has been learned after t steps."""

    theta: np.ndarray
    memory: Any  # of the rule
    mean: np.ndarray  # of the points since `average_from`
    t: int = 0

    def point(self, how: SgdSettings) -> np.ndarray:
        """What counts: the mean of the points, or the last."""
        return self.theta if how.average_from is None else self.mean


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
    """Minimise the mean loss of rows by steps on random batches.

    Parameters
    ----------
    leaf : callable
        `leaf(chunk, theta)` returns (loss, slope), summed over the rows of a chunk.
    start : array
        Where to begin.
    rows : Rows
        The data: `tenfold.open(X, y)`.
    batch_size : int
        Rows of a step; from the number of rows on it is gradient descent, to the bit.
    rate : float or callable
        Length of step t = 1, 2, ... per unit of mean slope, see `tenfold.optim.schedules`.
    rule : stepper, optional
        Momentum, Adam, ...: see `tenfold.optim.optimizers`.
    clip : callable, optional
        Shortens the slope before the step.
    average_from : int, optional
        Return the mean of all points from this step on (Polyak and Ruppert) instead of the last.
    seed : int
        Decides the batches; epoch e uses seed + e.
    max_iter : int
        Most epochs.
    tol, patience : float, int
        Stop when `patience` epochs in a row have not lowered the best loss by more than `tol`.
    validate : callable, optional
        A loss to watch instead of the mean loss of the epoch: early stopping. The point with the
        lowest is returned.

    Returns
    -------
    Minimum
        `value` is the lowest loss watched, `slope` that of the last batch.

    Examples
    --------
    >>> import numpy as np, tenfold
    >>> def squares(chunk, theta):
    ...     error = chunk.X @ theta - chunk.y
    ...     return error @ error / 2, chunk.X.T @ error
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> found = sgd(squares, np.zeros(2), tenfold.open(X, X @ [1.0, -2.0]), rate=0.1)
    >>> found.x.round(6).tolist()
    [1.0, -2.0]
    """
    how = SgdSettings(leaf, as_schedule(learning_rate), optimizer or SGD(), clip, average_from)
    learner = SgdState(x0, init_state(how.rule, x0), x0)
    best = (x0, np.inf, np.zeros_like(x0), 0)  # point, loss, slope, epochs without a gain
    loop = until_converged((learner, best), tol=0.0, max_iter=max_iter)
    for learner, best in loop:
        learner, loss, slope = _run_epoch(
            learner, _batches(rows, batch_size, seed + loop.n_iter), how
        )
        point = learner.point(how)
        loss = loss if validate is None else float(validate(point))
        best = _update_best(best, (point, loss, slope), tol, keep_best=validate is not None)
        loop.update((learner, best), objective=loss, change=max(patience - best[3], 0))
    x, value, slope, _ = loop.state[1]
    return Minimum(x, value, slope, loop.report)


def _update_best(best: tuple, new: tuple, tol: float, *, keep_best: bool) -> tuple:
    """The point that counts, the lowest loss, and for how many epochs it has not fallen."""
    gained = new[1] < best[1] - tol
    point, _, slope = best[:3] if keep_best and not new[1] < best[1] else new
    return point, min(new[1], best[1]), slope, 0 if gained else best[3] + 1


def _batches(rows: Rows, size: int, seed: int) -> Iterator[Chunk | Rows]:
    return rows.batches(size, seed) if size < rows.n_rows else iter([rows])


def _run_epoch(
    learner: SgdState, batches: Iterator[Chunk | Rows], how: SgdSettings
) -> tuple[SgdState, float, np.ndarray]:
    """Learn from every batch; the mean loss is that before each step."""
    loss, weight, slope = 0.0, 0.0, np.zeros_like(learner.theta)
    for batch in batches:
        value, slope, size = _mean_loss_and_gradient(how.leaf, batch, learner.theta)
        learner = _sgd_step(learner, slope, how)
        loss, weight = loss + size * value, weight + size
    return learner, loss / weight, slope


def _mean_loss_and_gradient(
    leaf: ChunkLoss, batch: Chunk | Rows, theta: np.ndarray
) -> tuple[float, np.ndarray, float]:
    """Mean loss and slope of a batch, or of all rows in one pass, and their weight."""
    if isinstance(batch, Rows):
        value, slope, size = batch.total(_loss_with_weight, leaf, theta)
    else:
        value, slope, size = _loss_with_weight(batch, leaf, theta)
    return float(value / size), slope / size, float(size)


def _loss_with_weight(
    chunk: Chunk, leaf: ChunkLoss, theta: np.ndarray
) -> tuple[float, np.ndarray, float]:
    return (*leaf(chunk, theta), chunk.weight)


def _sgd_step(learner: SgdState, slope: np.ndarray, how: SgdSettings) -> SgdState:
    """One step."""
    t = learner.t + 1
    slope = slope if how.clip is None else how.clip(slope)
    theta, memory = apply_update(how.rule, learner.theta, slope, learner.memory, how.rate(t))
    since = t - (how.average_from or 1) + 1  # points that the mean holds
    mean = theta if since <= 1 else learner.mean + (theta - learner.mean) / since
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
    """Learn from batches as they arrive; each is seen once and need not be kept.

    Parameters
    ----------
    leaf, start, rate, rule, clip, average_from
        As in `sgd`.
    stream : iterable of chunks
        For instance `(Chunk(X, y) for X, y in arrivals)`.
    max_iter : int
        Most batches, for a stream without end.

    Returns
    -------
    Minimum
        The history has the loss of every batch before it was learned from: an honest test error.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.engine import Chunk
    >>> def distance(chunk, theta):
    ...     away = theta - chunk.X
    ...     return (away**2).sum() / 2, away.sum(axis=0)
    >>> arrivals = (Chunk(np.array([[x]])) for x in [3.0, 5.0, 10.0])
    >>> online_sgd(distance, np.zeros(1), arrivals, rate=lambda t: 1 / t).x.tolist()  # the mean
    [6.0]
    """
    how = SgdSettings(leaf, as_schedule(learning_rate), optimizer or SGD(), clip, average_from)
    learner = SgdState(x0, init_state(how.rule, x0), x0)
    loop = until_converged((learner, np.zeros_like(x0)), tol=-1.0, max_iter=max_iter)
    batches = None
    for learner, _ in loop:
        batches = batches or islice(stream, loop.n_iter, None)  # a resumed run has seen some
        batch = next(batches, None)
        if batch is None:
            break
        value, slope, _ = _mean_loss_and_gradient(leaf, batch, learner.theta)
        loop.update((_sgd_step(learner, slope, how), slope), objective=value, change=0.0)
    learner, slope = loop.state
    value = loop.objectives[-1] if loop.objectives else np.nan
    return Minimum(learner.point(how), value, slope, loop.report)
