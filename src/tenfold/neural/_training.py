"""Training: epochs of minibatch steps, or L-BFGS on all rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.engine.shuffle import ShuffledBlock
from tenfold.neural._fused_mlp import FusedTrainer, make_fused_trainer
from tenfold.neural._fused_optimizers import step_constants, update_in_place
from tenfold.neural._inference import INFERENCE_BATCH_ROWS, ValidationSet
from tenfold.neural._minibatch import BatchGradient, GradientWorkers, part_gradient, split_batch
from tenfold.neural._training_config import NetworkObjective, StoppingRule, TrainingConfig
from tenfold.neural.layers.base import PassContext
from tenfold.neural.network import Network, flatten_params, unflatten_params
from tenfold.optim.convergence import Minimum, until_converged
from tenfold.optim.optimizers import Optimizer, clip_norm, clip_value, init_state
from tenfold.optim.quasi_newton import lbfgs

_MIN_RATE_FACTOR = 1e-6  # an adaptive rate that is smaller is not divided any more
_BUFFER_MOMENTUM = 0.1  # share of a batch in running statistics


class TrainingState(NamedTuple):
    """Where a training stands between two epochs: all that a checkpoint must keep."""

    params: list[np.ndarray]
    memory: list[Any]  # of the rule
    t: int = 0  # steps done
    factor: float = 1.0  # by which an adaptive rate has fallen
    best: float = np.inf  # least value of what is watched
    waited: int = 0  # epochs in a row without a gain
    best_params: list[np.ndarray] | None = None  # where the least value was, if that is kept
    losses: tuple = ()  # mean loss of each epoch with penalties
    watched: tuple = ()  # what was watched instead, if anything


def initial_state(params: list[np.ndarray], rule: Optimizer) -> TrainingState:
    """A course at its start."""
    return TrainingState(params, init_state(rule, params))


def train(
    task: NetworkObjective,
    rows: Rows,
    course: TrainingState,
    plan: TrainingConfig,
    stop: StoppingRule,
    seed: int,
    held: ValidationSet | None = None,
) -> until_converged[TrainingState]:
    """Epoch after epoch; parameters are changed in place.

    Parameters
    ----------
    task : Task
        Network and loss.
    rows : Rows
        What to learn from.
    course : Course
        Where to begin: `initial_state(params, rule)`, or where another training has ended.
    plan, stop : Plan, Stop
        How to step, and when to end.
    seed : int
        Decides the orders and what is random in layers.
    held : Held, optional
        Early stopping: the parameters with the least error on rows held back are kept.

    Returns
    -------
    until_still
        `state` is the course at the end, `report` its history.
    """
    workers = GradientWorkers(task, plan.part_rows), make_fused_trainer(task, course.params, plan)
    back = None if held is None else held.rows
    loop = until_converged(course, tol=0.0, max_iter=stop.epochs)
    for before in loop:
        course, loss = run_epoch(workers, rows, before, plan, [seed, loop.n_iter], back)
        value = None if held is None else held.error(rows, task, course.params)
        course = _record_epoch(course, loss, value, stop)
        change = float(stop.tol is None or course.waited <= stop.patience)
        loop.update(course, objective=loss, change=change)
    return loop


def run_epoch(
    workers: tuple[GradientWorkers, FusedTrainer | None],
    rows: Rows,
    course: TrainingState,
    plan: TrainingConfig,
    seed: list[int],
    held: np.ndarray | None,
) -> tuple[TrainingState, float]:
    """Every row once, but for those held back; the mean loss along the way, with penalties."""
    draw = np.random.default_rng(seed)
    order_seed, step_seed = (int(number) for number in draw.integers(2**31, size=2))
    (crew, walk), loss, weight = workers, 0.0, 0.0
    for block in rows.blocks(order_seed if plan.shuffle else None):
        order = block.order if held is None else block.order[~held[block.numbers]]
        if walk is None:
            visits = _minibatch_steps(crew, course, block, order, plan, step_seed)
        else:
            visits = _fused_steps(walk, course, block, order)
        for here, more, of in visits:
            course, loss, weight = here, loss + more, weight + of
    _check_finite(loss, course.t)
    return course, loss / max(weight, 1e-300) + _penalty(course.params, crew.task.network, plan)


_StepResult = tuple[
    TrainingState, float, float
]  # where the training stands, loss and weight of the rows


def _minibatch_steps(
    crew: GradientWorkers,
    course: TrainingState,
    block: ShuffledBlock,
    order: np.ndarray,
    plan: TrainingConfig,
    seed: int,
) -> Iterator[_StepResult]:
    """Batch after batch of a block, one step each."""
    for start in range(0, len(order), plan.batch_size):
        batch = order[start : start + plan.batch_size]
        gradient = crew.gradient(course.params, block, batch, seed + course.t)
        course = apply_step(course, gradient, crew.task.network, plan)
        yield course, gradient.loss, gradient.weight


def _fused_steps(
    walk: FusedTrainer, course: TrainingState, block: ShuffledBlock, order: np.ndarray
) -> Iterator[_StepResult]:
    """The same in compiled stretches of many steps."""
    for rows in walk.stretches(block, order):
        loss, weight, memory = walk(rows, course.params, course.memory, course.t, course.factor)
        course = course._replace(memory=memory, t=course.t + walk.steps(rows))
        yield course, loss, weight


def apply_step(
    course: TrainingState, gradient: BatchGradient, network: Network, plan: TrainingConfig
) -> TrainingState:
    """One step, in place."""
    slopes, scale = gradient.slopes, 1 / gradient.weight if gradient.weight > 0 else 0.0
    t, rate = course.t + 1, plan.rate(course.t + 1) * course.factor
    if plan.clip_norm is not None or plan.clip_value is not None:
        slopes, scale = _clip_gradient(slopes, scale, network, plan), 1.0
    dtype = course.params[0].dtype
    step = (rate, step_constants(plan.rule, t, rate, dtype))
    bare, pulled = (np.array([scale, *more], dtype) for more in ((0, 0), (plan.l2, plan.l1)))
    memory = list(course.memory)
    for i, learned in enumerate(network.learned):
        theta = course.params[i]
        if learned:
            pull = pulled if theta.ndim > 1 else bare
            memory[i] = update_in_place(plan.rule, theta, slopes[i], memory[i], step, pull)
        else:
            mean = gradient.slopes[i] / dtype.type(gradient.parts)
            theta += dtype.type(_BUFFER_MOMENTUM) * (mean - theta)
    return course._replace(t=t, memory=memory)


def _clip_gradient(
    slopes: list[np.ndarray], scale: float, network: Network, plan: TrainingConfig
) -> list:
    """The mean gradient, no longer than asked for; running statistics are none of it."""
    marks = network.learned
    own = [s * s.dtype.type(scale) for s, learned in zip(slopes, marks, strict=True) if learned]
    own = own if plan.clip_value is None else clip_value(own, plan.clip_value)
    own = iter(own if plan.clip_norm is None else clip_norm(own, plan.clip_norm))
    return [next(own) if learned else None for learned in marks]


def _penalty(params: list[np.ndarray], network: Network, plan: TrainingConfig) -> float:
    """What the weights cost."""
    if not (plan.l1 or plan.l2):
        return 0.0
    weights = [p for p, on in zip(params, network.learned, strict=True) if on and p.ndim > 1]
    squares = sum(float(np.vdot(W, W)) for W in weights)
    sizes = sum(float(np.abs(W).sum(dtype=np.float64)) for W in weights) if plan.l1 else 0.0
    return plan.l2 / 2 * squares + plan.l1 * sizes


def _check_finite(loss: float, steps: int) -> None:
    """Raise an error if the loss has grown past all numbers."""
    if not np.isfinite(loss):
        raise ValueError(
            f"the loss is not finite after {steps} steps. Standardise the columns "
            "(sklearn.preprocessing.StandardScaler), take a smaller learning rate, or clip the "
            "gradient."
        )


def _record_epoch(
    course: TrainingState, loss: float, value: float | None, stop: StoppingRule
) -> TrainingState:
    """Whether the epoch has gained anything."""
    watched = loss if value is None else value
    stale = watched > course.best - (stop.tol or 0.0)
    waited, factor = course.waited + 1 if stale else 0, course.factor
    best_params = course.best_params
    if value is not None and watched < course.best:
        best_params = [p.copy() for p in course.params]
    if stop.slower and waited > stop.patience and factor > _MIN_RATE_FACTOR:
        waited, factor = 0, factor / 5
    return course._replace(
        waited=waited,
        factor=factor,
        best=min(course.best, watched),
        best_params=best_params,
        losses=(*course.losses, loss),
        watched=course.watched if value is None else (*course.watched, value),
    )


_MIN_RELATIVE_GAIN = (
    2e-9  # share of the value: a loss with kinks (ReLU) may never have a slope of zero
)


def _chunk_gradient(
    chunk: Chunk, task: NetworkObjective, params: list[np.ndarray]
) -> tuple[float, float, np.ndarray]:
    """Loss, weight and slope of a chunk, a few rows at a time."""
    block = ShuffledBlock(*chunk[:3], np.arange(chunk.rows), np.arange(chunk.rows))
    loss, weight, slope = 0.0, 0.0, np.zeros(sum(p.size for p in params))
    for a, b in split_batch(chunk.rows, INFERENCE_BATCH_ROWS):
        part = part_gradient(task, params, block, block.order[a:b], PassContext(True, 0, a))
        loss, weight = loss + part.loss, weight + part.weight
        slope += flatten_params(part.slopes)
    return loss, weight, slope


def train_lbfgs(
    task: NetworkObjective, rows: Rows, params: list[np.ndarray], alpha: float, **settings: Any
) -> tuple[list[np.ndarray], Minimum]:
    """Minimise the mean loss + alpha / (2 n) |W|^2 over all rows by L-BFGS."""
    penalised = flatten_params([np.full(p.shape, float(p.ndim > 1)) for p in params])

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        loss, weight, slope = rows.total(_chunk_gradient, task, unflatten_params(flat, params))
        pull = alpha * penalised * flat
        return float((loss + pull @ flat / 2) / weight), (slope + pull) / weight

    precision = max(float(np.finfo(params[0].dtype).eps), _MIN_RELATIVE_GAIN)
    found = lbfgs(objective, flatten_params(params).astype(float), precision=precision, **settings)
    return unflatten_params(found.x, params), found
