"""Training: epochs of steps on random batches, until nothing is gained any more.

A batch's mean loss and the penalties are one objective,

    mean loss + l2 / 2 |W|^2 + l1 |W|_1

with the weights W of all layers (arrays of two axes and more; constants are free). The order of
rows depends on the seed alone, and parts of a batch on nothing else than its size. So arrays,
files and a cluster give the same network, to the bit, and so does a fit that was stopped and
resumed: all that a step depends on is in `Course`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from tenfold.neural.dense_walk import Walker, walker
from tenfold.neural.judging import Held
from tenfold.neural.network import Network
from tenfold.neural.plan import Plan, Stop
from tenfold.neural.steps import Crew, Gradient, Task
from tenfold.neural.updates import constants, moved
from tenfold.rows import Rows
from tenfold.rows.mixing import Block
from tenfold.solve import until_still
from tenfold.solve.steppers import Rule, begin, clip_norm, clip_value

SLOWEST = 1e-6  # an adaptive rate that is smaller is not divided any more
BUFFER_RATE = 0.1  # share of a batch in running statistics


class Course(NamedTuple):
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


def begun(params: list[np.ndarray], rule: Rule) -> Course:
    """A course at its start."""
    return Course(params, begin(rule, params))


def train(
    task: Task,
    rows: Rows,
    course: Course,
    plan: Plan,
    stop: Stop,
    seed: int,
    held: Held | None = None,
) -> until_still[Course]:
    """Epoch after epoch; parameters are changed in place.

    Parameters
    ----------
    task : Task
        Network and loss.
    rows : Rows
        What to learn from.
    course : Course
        Where to begin: `begun(params, rule)`, or where another training has ended.
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
    workers = Crew(task, plan.part_rows), walker(task, course.params, plan)
    back = None if held is None else held.rows
    loop = until_still(course, tol=0.0, max_iter=stop.epochs)
    for before in loop:
        course, loss = epoch(workers, rows, before, plan, [seed, loop.n_iter], back)
        value = None if held is None else held.error(rows, task, course.params)
        course = judged(course, loss, value, stop)
        change = float(stop.tol is None or course.waited <= stop.patience)
        loop.tell(course, objective=loss, change=change)
    return loop


def epoch(
    workers: tuple[Crew, Walker | None],
    rows: Rows,
    course: Course,
    plan: Plan,
    seed: list[int],
    held: np.ndarray | None,
) -> tuple[Course, float]:
    """Every row once, but for those held back; the mean loss along the way, with penalties."""
    draw = np.random.default_rng(seed)
    order_seed, step_seed = (int(number) for number in draw.integers(2**31, size=2))
    (crew, walk), loss, weight = workers, 0.0, 0.0
    for block in rows.blocks(order_seed if plan.shuffle else None):
        order = block.order if held is None else block.order[~held[block.numbers]]
        if walk is None:
            visits = visited(crew, course, block, order, plan, step_seed)
        else:
            visits = walked(walk, course, block, order)
        for here, more, of in visits:
            course, loss, weight = here, loss + more, weight + of
    assert_finite(loss, course.t)
    return course, loss / max(weight, 1e-300) + penalty(course.params, crew.task.network, plan)


Visit = tuple[Course, float, float]  # where the training stands, loss and weight of the rows


def visited(
    crew: Crew, course: Course, block: Block, order: np.ndarray, plan: Plan, seed: int
) -> Iterator[Visit]:
    """Batch after batch of a block, one step each."""
    for start in range(0, len(order), plan.batch_size):
        batch = order[start : start + plan.batch_size]
        gradient = crew.gradient(course.params, block, batch, seed + course.t)
        course = stepped(course, gradient, crew.task.network, plan)
        yield course, gradient.loss, gradient.weight


def walked(walk: Walker, course: Course, block: Block, order: np.ndarray) -> Iterator[Visit]:
    """The same in compiled stretches of many steps."""
    for rows in walk.stretches(block, order):
        loss, weight, memory = walk(rows, course.params, course.memory, course.t, course.factor)
        course = course._replace(memory=memory, t=course.t + walk.steps(rows))
        yield course, loss, weight


def stepped(course: Course, gradient: Gradient, network: Network, plan: Plan) -> Course:
    """One step, in place."""
    slopes, scale = gradient.slopes, 1 / gradient.weight if gradient.weight > 0 else 0.0
    t, rate = course.t + 1, plan.rate(course.t + 1) * course.factor
    if plan.clip_norm is not None or plan.clip_value is not None:
        slopes, scale = clipped(slopes, scale, network, plan), 1.0
    dtype = course.params[0].dtype
    step = (rate, constants(plan.rule, t, rate, dtype))
    bare, pulled = (np.array([scale, *more], dtype) for more in ((0, 0), (plan.l2, plan.l1)))
    memory = list(course.memory)
    for i, learned in enumerate(network.learned):
        theta = course.params[i]
        if learned:
            pull = pulled if theta.ndim > 1 else bare
            memory[i] = moved(plan.rule, theta, slopes[i], memory[i], step, pull)
        else:
            mean = gradient.slopes[i] / dtype.type(gradient.parts)
            theta += dtype.type(BUFFER_RATE) * (mean - theta)
    return course._replace(t=t, memory=memory)


def clipped(slopes: list[np.ndarray], scale: float, network: Network, plan: Plan) -> list:
    """The mean gradient, no longer than asked for; running statistics are none of it."""
    marks = network.learned
    own = [s * s.dtype.type(scale) for s, learned in zip(slopes, marks, strict=True) if learned]
    own = own if plan.clip_value is None else clip_value(own, plan.clip_value)
    own = iter(own if plan.clip_norm is None else clip_norm(own, plan.clip_norm))
    return [next(own) if learned else None for learned in marks]


def penalty(params: list[np.ndarray], network: Network, plan: Plan) -> float:
    """What the weights cost."""
    if not (plan.l1 or plan.l2):
        return 0.0
    weights = [p for p, on in zip(params, network.learned, strict=True) if on and p.ndim > 1]
    squares = sum(float(np.vdot(W, W)) for W in weights)
    sizes = sum(float(np.abs(W).sum(dtype=np.float64)) for W in weights) if plan.l1 else 0.0
    return plan.l2 / 2 * squares + plan.l1 * sizes


def assert_finite(loss: float, steps: int) -> None:
    """Raise an error if the loss has grown past all numbers."""
    if not np.isfinite(loss):
        raise ValueError(
            f"the loss is not finite after {steps} steps. Standardise the columns "
            "(sklearn.preprocessing.StandardScaler), take a smaller learning rate, or clip the "
            "gradient."
        )


def judged(course: Course, loss: float, value: float | None, stop: Stop) -> Course:
    """Whether the epoch has gained anything."""
    watched = loss if value is None else value
    stale = watched > course.best - (stop.tol or 0.0)
    waited, factor = course.waited + 1 if stale else 0, course.factor
    best_params = course.best_params
    if value is not None and watched < course.best:
        best_params = [p.copy() for p in course.params]
    if stop.slower and waited > stop.patience and factor > SLOWEST:
        waited, factor = 0, factor / 5
    return course._replace(
        waited=waited,
        factor=factor,
        best=min(course.best, watched),
        best_params=best_params,
        losses=(*course.losses, loss),
        watched=course.watched if value is None else (*course.watched, value),
    )
