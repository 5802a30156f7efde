r"""Stochastic gradient descent: steps by the slope of a few rows.

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

from tenfold.rows import Chunk, Rows
from tenfold.solve.lbfgs import Minimum
from tenfold.solve.loop import until_still
from tenfold.solve.rates import Power, Rate, as_rate
from tenfold.solve.steppers import Plain, Rule, begin, step

Leaf = Callable[[Chunk, np.ndarray], tuple[float, np.ndarray]]
Clip = Callable[[np.ndarray], np.ndarray]

ONE_OVER_ROOT = Power(delta=0.5)


class How(NamedTuple):
    """How to learn from a batch."""

    leaf: Leaf
    rate: Rate
    rule: Rule
    clip: Clip | None
    average_from: int | None


class Learner(NamedTuple):
    """What has been learned after t steps."""

    theta: np.ndarray
    memory: Any  # of the rule
    mean: np.ndarray  # of the points since `average_from`
    t: int = 0

    def point(self, how: How) -> np.ndarray:
        """What counts: the mean of the points, or the last."""
        return self.theta if how.average_from is None else self.mean


def sgd(
    leaf: Leaf,
    start: np.ndarray,
    rows: Rows,
    *,
    batch_size: int = 1,
    rate: Rate | float = ONE_OVER_ROOT,
    rule: Rule | None = None,
    clip: Clip | None = None,
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
        Length of step t = 1, 2, ... per unit of mean slope, see `tenfold.solve.rates`.
    rule : stepper, optional
        Momentum, Adam, ...: see `tenfold.solve.steppers`.
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
    how = How(leaf, as_rate(rate), rule or Plain(), clip, average_from)
    learner = Learner(start, begin(how.rule, start), start)
    best = (start, np.inf, np.zeros_like(start), 0)  # point, loss, slope, epochs without a gain
    loop = until_still((learner, best), tol=0.0, max_iter=max_iter)
    for learner, best in loop:
        learner, loss, slope = _epoch(learner, _batches(rows, batch_size, seed + loop.n_iter), how)
        point = learner.point(how)
        loss = loss if validate is None else float(validate(point))
        best = _better(best, (point, loss, slope), tol, keep_best=validate is not None)
        loop.tell((learner, best), objective=loss, change=max(patience - best[3], 0))
    x, value, slope, _ = loop.state[1]
    return Minimum(x, value, slope, loop.report)


def _better(best: tuple, new: tuple, tol: float, *, keep_best: bool) -> tuple:
    """The point that counts, the lowest loss, and for how many epochs it has not fallen."""
    gained = new[1] < best[1] - tol
    point, _, slope = best[:3] if keep_best and not new[1] < best[1] else new
    return point, min(new[1], best[1]), slope, 0 if gained else best[3] + 1


def _batches(rows: Rows, size: int, seed: int) -> Iterator[Chunk | Rows]:
    return rows.batches(size, seed) if size < rows.n_rows else iter([rows])


def _epoch(
    learner: Learner, batches: Iterator[Chunk | Rows], how: How
) -> tuple[Learner, float, np.ndarray]:
    """Learn from every batch; the mean loss is that before each step."""
    loss, weight, slope = 0.0, 0.0, np.zeros_like(learner.theta)
    for batch in batches:
        value, slope, size = mean_loss(how.leaf, batch, learner.theta)
        learner = learned(learner, slope, how)
        loss, weight = loss + size * value, weight + size
    return learner, loss / weight, slope


def mean_loss(
    leaf: Leaf, batch: Chunk | Rows, theta: np.ndarray
) -> tuple[float, np.ndarray, float]:
    """Mean loss and slope of a batch, or of all rows in one pass, and their weight."""
    if isinstance(batch, Rows):
        value, slope, size = batch.total(_weighed, leaf, theta)
    else:
        value, slope, size = _weighed(batch, leaf, theta)
    return float(value / size), slope / size, float(size)


def _weighed(chunk: Chunk, leaf: Leaf, theta: np.ndarray) -> tuple[float, np.ndarray, float]:
    return (*leaf(chunk, theta), chunk.weight)


def learned(learner: Learner, slope: np.ndarray, how: How) -> Learner:
    """One step."""
    t = learner.t + 1
    slope = slope if how.clip is None else how.clip(slope)
    theta, memory = step(how.rule, learner.theta, slope, learner.memory, how.rate(t))
    since = t - (how.average_from or 1) + 1  # points that the mean holds
    mean = theta if since <= 1 else learner.mean + (theta - learner.mean) / since
    return Learner(theta, memory, mean, t)


def online(
    leaf: Leaf,
    start: np.ndarray,
    stream: Iterable[Chunk],
    *,
    rate: Rate | float = ONE_OVER_ROOT,
    rule: Rule | None = None,
    clip: Clip | None = None,
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
    >>> from tenfold.rows import Chunk
    >>> def distance(chunk, theta):
    ...     away = theta - chunk.X
    ...     return (away**2).sum() / 2, away.sum(axis=0)
    >>> arrivals = (Chunk(np.array([[x]])) for x in [3.0, 5.0, 10.0])
    >>> online(distance, np.zeros(1), arrivals, rate=lambda t: 1 / t).x.tolist()  # the mean
    [6.0]
    """
    how = How(leaf, as_rate(rate), rule or Plain(), clip, average_from)
    learner = Learner(start, begin(how.rule, start), start)
    loop = until_still((learner, np.zeros_like(start)), tol=-1.0, max_iter=max_iter)
    batches = None
    for learner, _ in loop:
        batches = batches or islice(stream, loop.n_iter, None)  # a resumed run has seen some
        batch = next(batches, None)
        if batch is None:
            break
        value, slope, _ = mean_loss(leaf, batch, learner.theta)
        loop.tell((learned(learner, slope, how), slope), objective=value, change=0.0)
    learner, slope = loop.state
    value = loop.objectives[-1] if loop.objectives else np.nan
    return Minimum(learner.point(how), value, slope, loop.report)
