"""Training: epochs of minibatch steps, or L-BFGS on all rows.

Minibatch steps minimize

    mean loss + l2 / 2 |W|^2 + l1 |W|_1

over the weights W of all layers (arrays of two and more axes; biases are not penalized). The order
of rows depends on the seed alone, and the parts of a batch on its size alone. So arrays, files and
a cluster give the same network, to the bit, and so does a training that was stopped and resumed:
all that a step depends on is in `TrainingState`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.engine.shuffle import ShuffledBlock
from tenfold.neural._fused_mlp import make_fused_trainer
from tenfold.neural._fused_optimizers import step_constants, update_in_place
from tenfold.neural._inference import ValidationSet
from tenfold.neural._minibatch import BatchGradient, GradientWorkers, part_gradient, split_batch
from tenfold.neural._thresholds import INFERENCE_BATCH_ROWS
from tenfold.neural._training_config import (
    Objective,
    StepResult,
    StoppingRule,
    TrainingConfig,
    TrainingState,
)
from tenfold.neural.layers.base import PassContext
from tenfold.neural.network import Network, flatten_params, unflatten_params
from tenfold.optim.convergence import Minimum, until_converged
from tenfold.optim.optimizers import Optimizer, clip_norm, clip_value, init_state
from tenfold.optim.quasi_newton import lbfgs

_MIN_RATE_FACTOR = 1e-6  # a learning rate that was reduced by more is not reduced any further
_BUFFER_MOMENTUM = 0.1  # weight of a new batch in running statistics
_MIN_RELATIVE_GAIN = 2e-9  # of L-BFGS: the gradient of a non-smooth loss (ReLU) may never vanish


def initial_state(params: list[np.ndarray], optimizer: Optimizer) -> TrainingState:
    """The state before the first step."""
    return TrainingState(params, init_state(optimizer, params))


class Trainer(Protocol):
    """Minibatch steps over the rows of a block."""

    def run_block(
        self, state: TrainingState, block: ShuffledBlock, order: np.ndarray, seed: int
    ) -> Iterator[StepResult]:
        """Step through the rows `order`; `seed` is that of random layers in this epoch."""
        ...


class MinibatchTrainer:
    """Steps of any network, one minibatch at a time."""

    def __init__(
        self,
        objective: Objective,
        params: list[np.ndarray],
        config: TrainingConfig,
    ) -> None:
        self.workers, self.config = GradientWorkers(objective, config.part_rows), config

    def run_block(
        self, state: TrainingState, block: ShuffledBlock, order: np.ndarray, seed: int
    ) -> Iterator[StepResult]:
        """See `Trainer`."""
        network = self.workers.objective.network
        for start in range(0, len(order), self.config.batch_size):
            batch = order[start : start + self.config.batch_size]
            gradient = self.workers.gradient(state.params, block, batch, seed + state.step)
            state = apply_step(state, gradient, network, self.config)
            yield state, gradient.loss, gradient.weight


# Ways to train, fastest first; each returns None for networks that it does not support.
TRAINERS: tuple[Callable[[Objective, list, TrainingConfig], Trainer | None], ...] = (
    make_fused_trainer,
    MinibatchTrainer,
)


def make_trainer(objective: Objective, params: list[np.ndarray], config: TrainingConfig) -> Trainer:
    """The first of `TRAINERS` that supports the network."""
    trainers = (make(objective, params, config) for make in TRAINERS)
    return next(trainer for trainer in trainers if trainer is not None)


def train(
    objective: Objective,
    rows: Rows,
    state: TrainingState,
    config: TrainingConfig,
    stopping: StoppingRule,
    seed: int,
    validation: ValidationSet | None = None,
) -> until_converged[TrainingState]:
    """Train epoch by epoch; parameters are changed in place.

    Parameters
    ----------
    objective : Objective
        Network and loss.
    rows : Rows
        Training rows.
    state : TrainingState
        `initial_state(params, optimizer)`, or the last state of another training.
    config, stopping : TrainingConfig, StoppingRule
        How to step, and when to stop.
    seed : int
        Of the orders and of random layers.
    validation : ValidationSet, optional
        Early stopping: the parameters with the least error on these rows are kept.

    Returns
    -------
    until_converged
        `state` is the last state, `report` the history.
    """
    trainer = make_trainer(objective, state.params, config)
    held_out = None if validation is None else validation.rows
    loop = until_converged(state, tol=0.0, max_iter=stopping.epochs)
    for before in loop:
        epoch_seed = [seed, loop.n_iter]
        state, loss = run_epoch(trainer, objective, rows, before, config, epoch_seed, held_out)
        error = None if validation is None else validation.error(rows, objective, state.params)
        state = record_epoch(state, loss, error, stopping)
        change = float(stopping.tol is None or state.stale_epochs <= stopping.patience)
        loop.update(state, objective=loss, change=change)
    return loop


def run_epoch(
    trainer: Trainer,
    objective: Objective,
    rows: Rows,
    state: TrainingState,
    config: TrainingConfig,
    seed: list[int],
    held_out: np.ndarray | None,
) -> tuple[TrainingState, float]:
    """Every row once, except those held out; the mean loss of the steps, with penalties."""
    rng = np.random.default_rng(seed)
    order_seed, step_seed = (int(number) for number in rng.integers(2**31, size=2))
    loss, weight = 0.0, 0.0
    for block in rows.blocks(order_seed if config.shuffle else None):
        order = block.order if held_out is None else block.order[~held_out[block.numbers]]
        for result in trainer.run_block(state, block, order, step_seed):
            state, loss, weight = result[0], loss + result[1], weight + result[2]
    check_finite(loss, state.step, state.optimizer_state)
    return state, loss / max(weight, 1e-300) + _penalty(state.params, objective.network, config)


def apply_step(
    state: TrainingState, gradient: BatchGradient, network: Network, config: TrainingConfig
) -> TrainingState:
    """One step of the optimizer; parameters are changed in place."""
    arrays, scale = gradient.arrays, 1 / gradient.weight if gradient.weight > 0 else 0.0
    step, rate = state.step + 1, config.schedule(state.step + 1) * state.rate_factor
    if config.clip_norm is not None or config.clip_value is not None:
        arrays, scale = _clip_gradient(arrays, scale, network, config), 1.0
    dtype = state.params[0].dtype
    constants = (rate, step_constants(config.optimizer, step, rate, dtype))
    penalty_of_biases = np.array([scale, 0, 0], dtype)
    penalty_of_weights = np.array([scale, config.l2, config.l1], dtype)
    optimizer_state = list(state.optimizer_state)
    for i, trainable in enumerate(network.trainable):
        theta = state.params[i]
        if trainable:
            penalty = penalty_of_weights if theta.ndim > 1 else penalty_of_biases
            optimizer_state[i] = update_in_place(
                config.optimizer, theta, arrays[i], optimizer_state[i], constants, penalty
            )
        else:
            mean = gradient.arrays[i] / dtype.type(gradient.parts)
            theta += dtype.type(_BUFFER_MOMENTUM) * (mean - theta)
    return state._replace(step=step, optimizer_state=optimizer_state)


def _clip_gradient(
    arrays: list[np.ndarray], scale: float, network: Network, config: TrainingConfig
) -> list:
    """The mean gradient, clipped; running statistics are not part of it."""
    flags = network.trainable
    clipped: Any = [a * a.dtype.type(scale) for a, on in zip(arrays, flags, strict=True) if on]
    clipped = clipped if config.clip_value is None else clip_value(clipped, config.clip_value)
    clipped = iter(clipped if config.clip_norm is None else clip_norm(clipped, config.clip_norm))
    return [next(clipped) if trainable else None for trainable in flags]


def _penalty(params: list[np.ndarray], network: Network, config: TrainingConfig) -> float:
    """L2 and L1 penalty of the weights."""
    if not (config.l1 or config.l2):
        return 0.0
    weights = [p for p, on in zip(params, network.trainable, strict=True) if on and p.ndim > 1]
    squares = sum(float(np.vdot(W, W)) for W in weights)
    sizes = sum(float(np.abs(W).sum(dtype=np.float64)) for W in weights) if config.l1 else 0.0
    return config.l2 / 2 * squares + config.l1 * sizes


def check_finite(loss: float, steps: int, optimizer_state: Sequence[Any] = ()) -> None:
    """Raise an error if the loss is infinite or NaN, or squares of gradients are: no step moves."""
    found = "the loss is" if not np.isfinite(loss) else ""
    arrays = [array for part in optimizer_state if isinstance(part, tuple) for array in part]
    if not found and not all(np.isfinite(array).all() for array in arrays):
        found = "squares of gradients are"
    if found:
        raise ValueError(
            "Solver produced non-finite parameter weights. The input data may contain large values "
            f"and need to be preprocessed: {found} not finite after {steps} steps. Standardize "
            "the columns (sklearn.preprocessing.StandardScaler), take a smaller learning rate, or "
            "clip the gradient."
        )


def record_epoch(
    state: TrainingState, loss: float, validation_error: float | None, stopping: StoppingRule
) -> TrainingState:
    """The state with the loss of an epoch, and whether the epoch was an improvement."""
    monitored = loss if validation_error is None else validation_error
    is_stale = monitored > state.best - (stopping.tol or 0.0)
    stale_epochs, rate_factor = state.stale_epochs + 1 if is_stale else 0, state.rate_factor
    best_params, errors = state.best_params, state.validation_errors
    if validation_error is not None:
        errors = (*errors, validation_error)
        if monitored < state.best:
            best_params = [p.copy() for p in state.params]
    is_patience_over = stale_epochs > stopping.patience
    if stopping.adaptive_rate and is_patience_over and rate_factor > _MIN_RATE_FACTOR:
        stale_epochs, rate_factor = 0, rate_factor / 5
    return state._replace(
        stale_epochs=stale_epochs,
        rate_factor=rate_factor,
        best=min(state.best, monitored),
        best_params=best_params,
        losses=(*state.losses, loss),
        validation_errors=errors,
    )


def chunk_gradient(
    chunk: Chunk, objective: Objective, params: list[np.ndarray]
) -> tuple[float, float, np.ndarray]:
    """Loss, weight and gradient of a chunk, a few rows at a time."""
    block = ShuffledBlock(*chunk[:3], np.arange(chunk.rows), np.arange(chunk.rows))
    loss, weight, gradient = 0.0, 0.0, np.zeros(sum(p.size for p in params))
    for a, b in split_batch(chunk.rows, INFERENCE_BATCH_ROWS):
        part = part_gradient(objective, params, block, block.order[a:b], PassContext(True, 0, a))
        loss, weight = loss + part.loss, weight + part.weight
        gradient += flatten_params(part.arrays)
    return loss, weight, gradient


def train_lbfgs(
    objective: Objective,
    rows: Rows,
    params: list[np.ndarray],
    alpha: float,
    **settings: Any,
) -> tuple[list[np.ndarray], Minimum]:
    """Minimize the mean loss + alpha / (2 n) |W|^2 over all rows by L-BFGS."""
    is_weight = flatten_params([np.full(p.shape, float(p.ndim > 1)) for p in params])

    def value_and_gradient(flat: np.ndarray) -> tuple[float, np.ndarray]:
        at = unflatten_params(flat, params)
        loss, weight, gradient = rows.total(chunk_gradient, objective, at)
        decay = alpha * is_weight * flat
        return float((loss + decay @ flat / 2) / weight), (gradient + decay) / weight

    precision = max(float(np.finfo(params[0].dtype).eps), _MIN_RELATIVE_GAIN)
    start = flatten_params(params).astype(float)
    minimum = lbfgs(value_and_gradient, start, precision=precision, **settings)
    return unflatten_params(minimum.x, params), minimum
