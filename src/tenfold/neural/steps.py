"""The gradient of a batch: parts of a few rows, on all threads, merged in one order.

A batch is cut into parts of 32 to 128 rows, whatever the number of threads. Each part goes forward
and back by itself; gradients are added in pairs, part 2i to part 2i + 1, as they come. So one step
keeps all cores busy, and its bits do not depend on how many there are.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import pairwise
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from tenfold.neural.layer import Way
from tenfold.neural.network import SEEDS_PER_STEP, Network, backward, forward
from tenfold.neural.pooled_convolution import merged
from tenfold.neural.scratch import Scratch
from tenfold.rows import n_threads
from tenfold.rows.blas import undisturbed
from tenfold.rows.mixing import Block
from tenfold.rows.threads import together

PART_ROWS, LARGER_PART_ROWS, LARGEST_PART_ROWS = 32, 64, 128
MANY_WEIGHTS = 200_000  # of dense layers: half a batch of them is worth a thread of its own
WORTH_WAKING = 400e-6  # seconds of work in a batch that pay for waking a helper

Intake = Callable[[Any, np.ndarray, Network, Any], tuple[np.ndarray, np.ndarray | None]]


def dense_rows(
    X: Any, order: np.ndarray, network: Network, dtype: Any
) -> tuple[np.ndarray, np.ndarray | None]:
    """Some rows as the network takes them, and no mask."""
    x = np.take(X, order, axis=0) if isinstance(X, np.ndarray) else X[order].toarray()
    return x.astype(dtype, copy=False).reshape(len(order), *network.shape), None


class Task(NamedTuple):
    """What is learned: a network, its loss, and how rows enter it."""

    network: Network
    loss: Any
    intake: Intake = dense_rows


class Gradient(NamedTuple):
    """Loss, weight of the rows, slope in each parameter: sums over some rows, in some parts."""

    loss: float
    weight: float
    slopes: list[np.ndarray]
    parts: int = 1

    def plus(self, other: Gradient) -> Gradient:
        """The sum, written over the slopes of this one."""
        for mine, theirs in zip(self.slopes, other.slopes, strict=True):
            np.add(mine, theirs, out=mine)
        loss, weight = self.loss + other.loss, self.weight + other.weight
        return Gradient(loss, weight, self.slopes, self.parts + other.parts)


def part_gradient(
    task: Task, params: list[np.ndarray], block: Block, order: np.ndarray, way: Way
) -> Gradient:
    """Forward and back with some rows of a block."""
    x, mask = task.intake(block.X, order, task.network, params[0].dtype if params else np.float32)
    w = None if block.w is None else block.w[order]
    z, kept = forward(task.network, params, x, way._replace(mask=mask))
    loss, slope = task.loss.both(z, block.y[order], w)
    slopes = backward(task.network, params, kept, slope)[1]
    return Gradient(loss, float(len(order) if w is None else w.sum(dtype=np.float64)), slopes)


def usual_rows(network: Network) -> int:
    """Rows of a part: more where a row is less work, or waking a helper would cost as much."""
    shapes = (network.shape, *network.shapes)
    axes = max(map(len, shapes))
    if axes > 1:
        return LARGER_PART_ROWS if axes == 3 else PART_ROWS
    weights = sum(
        a[0] * b[0] for (a, b), n in zip(pairwise(shapes), network.sizes, strict=True) if n
    )
    return LARGEST_PART_ROWS if weights < MANY_WEIGHTS else LARGER_PART_ROWS


def cuts(rows: int, part_rows: int) -> list[tuple[int, int]]:
    """Parts of a batch, as equal as can be.

    Examples
    --------
    >>> cuts(70, 32)
    [(0, 24), (24, 47), (47, 70)]
    """
    parts = max(-(-rows // part_rows), 1)
    size, longer = divmod(rows, parts)
    ends = [i * size + min(i, longer) for i in range(parts + 1)]
    return list(pairwise(ends))


class Crew:
    """Threads at work on batches; helpers are woken if that pays, by how long a part took.

    Parameters
    ----------
    task : Task
        What is learned.
    part_rows : int, optional
        Rows of a part.
    """

    def __init__(self, task: Task, part_rows: int | None = None) -> None:
        self.task = task._replace(network=merged(task.network))
        self.part_rows = part_rows or usual_rows(task.network)
        self.scratch = Scratch()
        self.seconds = 0.0  # that a part took lately

    def gradient(
        self, params: list[np.ndarray], block: Block, order: np.ndarray, step: int
    ) -> Gradient:
        """The gradient of a batch: the rows `order` of a block. `step` seeds what is random."""
        return undisturbed(lambda: self._gradient(params, block, order, step))

    def _gradient(
        self, params: list[np.ndarray], block: Block, order: np.ndarray, step: int
    ) -> Gradient:
        parts = cuts(len(order), self.part_rows)
        sums = _Sums()

        def handle(number: int) -> None:
            a, b = parts[number]
            way = Way(True, step * SEEDS_PER_STEP, a)
            with self.scratch.used(), np.errstate(all="ignore"):  # a loss that bursts is told
                sums.add(number, part_gradient(self.task, params, block, order[a:b], way))

        start = perf_counter()
        worth = self.seconds * len(parts) > WORTH_WAKING
        helpers = min(n_threads(), len(parts)) - 1 if worth else 0
        _share(handle, len(parts), helpers)
        self.seconds = (perf_counter() - start) * (1 + helpers) / len(parts)
        return sums.total()


def _share(handle: Callable[[int], None], parts: int, helpers: int) -> None:
    """Call `handle` with each number once, here and in helpers; the first error is raised."""
    if helpers == 0:
        for number in range(parts):
            handle(number)
        return
    numbers, problems = iter(range(parts)), {}

    def work() -> None:
        for number in numbers:  # the next one that no thread has taken
            try:
                handle(number)
            except BaseException as problem:  # noqa: BLE001  a helper must hand it to the caller
                problems[number] = problem
                return

    together(work, helpers)
    if problems:
        raise problems[min(problems)]


class _Sums:
    """Gradients of parts, added in pairs as they come."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.nodes: dict[tuple[int, int], Gradient] = {}

    def add(self, number: int, gradient: Gradient) -> None:
        level = 0
        while True:
            with self.lock:
                sibling = self.nodes.pop((level, number ^ 1), None)
                if sibling is None:
                    self.nodes[level, number] = gradient
                    return
            gradient = sibling.plus(gradient) if number & 1 else gradient.plus(sibling)
            level, number = level + 1, number >> 1

    def total(self) -> Gradient:
        """The sum; an incomplete right edge is added to its left neighbours."""
        by_start = sorted(self.nodes, key=lambda node: node[1] << node[0])
        total = self.nodes[by_start.pop()]
        while by_start:
            total = self.nodes[by_start.pop()].plus(total)
        return total
