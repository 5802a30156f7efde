"""Learning rate range test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.blas_threads import one_blas_thread
from tenfold.engine.rows import Rows
from tenfold.neural._minibatch import BatchGradient, GradientWorkers
from tenfold.neural._training import apply_step, initial_state
from tenfold.neural._training_config import NetworkObjective, TrainingConfig
from tenfold.neural.inspection import initialize_network
from tenfold.neural.layers.base import PassContext
from tenfold.neural.network import forward
from tenfold.optim.schedules import ConstantRate

_SAMPLE_ROWS = 1024  # rows on which the loss is measured after each step
_DIVERGENCE_FACTOR = 2.0  # times the least loss: the steps have become too long


class LearningRateSearch(NamedTuple):
    """What was tried, and what to take.

    Attributes
    ----------
    rates : (steps,) rates, growing
    losses : (steps,) mean loss before the step with each rate, always of the same rows
    best : a tenth of the rate at which the loss was least
    """

    rates: np.ndarray
    losses: np.ndarray
    best: float


def find_learning_rate(
    model: Any, X: Any, y: Any, *, low: float = 1e-6, high: float = 10.0, steps: int = 100
) -> LearningRateSearch:
    """Find a learning rate for a network by one short training whose rate grows.

    Step after step the rate is multiplied by the same factor. At first nothing happens, then the
    loss falls, in the end it explodes. The rate where it was least is nearly too large; a tenth
    of it is a good one. The model itself is not changed.

    Parameters
    ----------
    model : network
        How it steps (`optimizer`, `batch_size`, penalties) is that of its own fit.
    X, y : rows and targets
        What to learn from.
    low, high : float
        First and last rate.
    steps : int
        Their number; it ends earlier if the loss is twice the least one.

    Returns
    -------
    RateSearch

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import MLPRegressor
    >>> X = np.random.default_rng(0).normal(size=(500, 4))
    >>> found = find_learning_rate(MLPRegressor(random_state=0), X, X[:, 0] ** 2)
    >>> bool(1e-3 < found.best < 1)
    True
    """
    if not 0 < low < high or steps < 10:
        raise ValueError(f"0 < low < high and at least 10 steps, not {low}, {high}, {steps}")
    rates = np.geomspace(low, high, steps)
    with one_blas_thread():
        rows, task, params = initialize_network(model, X, y)
        plan = model._plan(rows)  # noqa: SLF001
        measure = _sample_loss(rows, task)
        gradients = _batch_gradients(GradientWorkers(task, plan.part_rows), rows, params, plan)
        losses = np.array(list(_range_test(gradients, measure, params, task, plan, rates)))
    return LearningRateSearch(rates[: len(losses)], losses, _suggest_rate(rates, losses))


def _sample_loss(rows: Rows, task: NetworkObjective) -> Callable[[list[np.ndarray]], float]:
    """The mean loss of a fixed sample, as a function of the parameters."""
    some = rows.sample(_SAMPLE_ROWS, 0)

    def measure(params: list[np.ndarray]) -> float:
        x, mask = task.intake(some.X, np.arange(some.rows), task.network, params[0].dtype)
        z, _ = forward(task.network, params, x, PassContext(mask=mask))
        return task.loss.value_and_gradient(z, some.y, None)[0] / some.rows

    return measure


def _range_test(
    gradients: Iterator[BatchGradient],
    measure: Callable[[list[np.ndarray]], float],
    params: list[np.ndarray],
    task: NetworkObjective,
    plan: TrainingConfig,
    rates: np.ndarray,
) -> Iterator[float]:
    """The loss before each step, until it explodes."""
    course, least = initial_state(params, plan.rule), np.inf
    for rate in rates:
        with np.errstate(over="ignore", invalid="ignore"):  # what explodes is the end
            loss = measure(course.params)
            if not np.isfinite(loss) or loss > _DIVERGENCE_FACTOR * least:
                return
            yield loss
            least = min(least, loss)
            slower = plan._replace(rate=ConstantRate(rate))
            course = apply_step(course, next(gradients), task.network, slower)


def _batch_gradients(
    crew: GradientWorkers, rows: Rows, params: list[np.ndarray], plan: TrainingConfig
) -> Iterator[BatchGradient]:
    """Gradients of batch after batch, epoch after epoch, where the parameters then stand."""
    step = 0
    for epoch in count():
        for block in rows.blocks(epoch):
            for start in range(0, len(block.order), plan.batch_size):
                batch = block.order[start : start + plan.batch_size]
                yield crew.gradient(params, block, batch, step)
                step += 1


def _suggest_rate(rates: np.ndarray, losses: np.ndarray) -> float:
    """A tenth of the rate at which the loss was least."""
    least = int(losses.argmin())
    if least < 2:
        raise ValueError("the loss only rose: take a smaller `low`, or look at the columns' scale")
    return float(rates[least] / 10)
