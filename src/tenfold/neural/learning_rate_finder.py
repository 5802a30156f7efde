"""Learning rate range test: increase the rate from step to step until the loss diverges."""

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

_SAMPLE_ROWS = 1024  # rows on which the loss is measured before each step
_DIVERGENCE_FACTOR = 2.0  # times the least loss: training diverges


class LearningRateSearch(NamedTuple):
    """Result of a learning rate range test.

    Attributes
    ----------
    rates : (n_steps,) increasing learning rates
    losses : (n_steps,) mean loss before the step with each rate, on a fixed sample of rows
    best : a tenth of the rate with the least loss
    """

    rates: np.ndarray
    losses: np.ndarray
    best: float


def find_learning_rate(
    model: Any, X: Any, y: Any, *, low: float = 1e-6, high: float = 10.0, steps: int = 100
) -> LearningRateSearch:
    """Find a learning rate for a network by a range test.

    A short training multiplies the rate by the same factor at each step. At first the loss stays,
    then it decreases, in the end it diverges. The rate with the least loss is nearly too large; a
    tenth of it is suggested. The model itself is not changed.

    Parameters
    ----------
    model : network
        Its `optimizer`, `batch_size` and penalties are used.
    X, y : rows and targets
        Training data.
    low, high : float
        First and last rate.
    steps : int
        Number of rates; the test ends earlier if the loss is twice the least one.

    Returns
    -------
    LearningRateSearch

    References
    ----------
    L. N. Smith (2017), "Cyclical learning rates for training neural networks".

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import MLPRegressor
    >>> X = np.random.default_rng(0).normal(size=(500, 4))
    >>> search = find_learning_rate(MLPRegressor(random_state=0), X, X[:, 0] ** 2)
    >>> bool(1e-3 < search.best < 1)
    True
    """
    if not 0 < low < high or steps < 10:
        raise ValueError(f"0 < low < high and at least 10 steps, not {low}, {high}, {steps}")
    rates = np.geomspace(low, high, steps)
    with one_blas_thread():
        rows, objective, params = initialize_network(model, X, y)
        config = model._training_config(rows)  # noqa: SLF001
        measure = _sample_loss(rows, objective)
        workers = GradientWorkers(objective, config.part_rows)
        gradients = _batch_gradients(workers, rows, params, config)
        losses = np.array(list(_range_test(gradients, measure, params, objective, config, rates)))
    return LearningRateSearch(rates[: len(losses)], losses, _suggest_rate(rates, losses))


def _sample_loss(rows: Rows, objective: NetworkObjective) -> Callable[[list[np.ndarray]], float]:
    """The mean loss of a fixed sample, as a function of the parameters."""
    sample = rows.sample(_SAMPLE_ROWS, 0)

    def measure(params: list[np.ndarray]) -> float:
        order, dtype = np.arange(sample.rows), params[0].dtype
        x, mask = objective.make_batch(sample.X, order, objective.network, dtype)
        z, _ = forward(objective.network, params, x, PassContext(mask=mask))
        return objective.loss.value_and_gradient(z, sample.y, None)[0] / sample.rows

    return measure


def _range_test(
    gradients: Iterator[BatchGradient],
    measure: Callable[[list[np.ndarray]], float],
    params: list[np.ndarray],
    objective: NetworkObjective,
    config: TrainingConfig,
    rates: np.ndarray,
) -> Iterator[float]:
    """The loss before each step, until it diverges."""
    state, least = initial_state(params, config.optimizer), np.inf
    for rate in rates:
        with np.errstate(over="ignore", invalid="ignore"):  # divergence ends the test
            loss = measure(state.params)
            if not np.isfinite(loss) or loss > _DIVERGENCE_FACTOR * least:
                return
            yield loss
            least = min(least, loss)
            at_rate = config._replace(schedule=ConstantRate(rate))
            state = apply_step(state, next(gradients), objective.network, at_rate)


def _batch_gradients(
    workers: GradientWorkers, rows: Rows, params: list[np.ndarray], config: TrainingConfig
) -> Iterator[BatchGradient]:
    """Gradients of minibatches, epoch after epoch, at the current parameters."""
    step = 0
    for epoch in count():
        for block in rows.blocks(epoch):
            for start in range(0, len(block.order), config.batch_size):
                batch = block.order[start : start + config.batch_size]
                yield workers.gradient(params, block, batch, step)
                step += 1


def _suggest_rate(rates: np.ndarray, losses: np.ndarray) -> float:
    """A tenth of the rate with the least loss."""
    least = int(losses.argmin())
    if least < 2:
        raise ValueError(
            "the loss only increased: take a smaller `low`, or standardize the columns"
        )
    return float(rates[least] / 10)
