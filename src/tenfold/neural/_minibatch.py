"""The gradient of a minibatch: parts of a few rows, on all threads, merged in a fixed order.

A batch is cut into parts of 32 to 128 rows, whatever the number of threads. Each part goes forward
and back by itself; gradients are added in pairs, part 2i to part 2i + 1, as they come. So one step
keeps all cores busy, and its bits do not depend on how many there are.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import pairwise
from time import perf_counter
from typing import NamedTuple

import numpy as np

from tenfold.engine.blas_threads import retry_if_blas_threads_changed
from tenfold.engine.shuffle import ShuffledBlock
from tenfold.engine.thread_pool import n_threads, run_in_threads
from tenfold.neural._buffer_pool import BufferPool
from tenfold.neural._fused_conv_pool import fuse_conv_pool
from tenfold.neural._training_config import NetworkObjective
from tenfold.neural.layers.base import PassContext
from tenfold.neural.network import SEEDS_PER_STEP, Network, backward, forward

SMALL_PART_ROWS, _MEDIUM_PART_ROWS, _LARGE_PART_ROWS = 32, 64, 128
_MANY_WEIGHTS = 200_000  # of dense layers: half a batch of them is worth a thread of its own
_MIN_PARALLEL_SECONDS = 400e-6  # seconds of work in a batch that pay for waking a helper


class BatchGradient(NamedTuple):
    """Loss, weight of the rows, slope in each parameter: sums over some rows, in some parts."""

    loss: float
    weight: float
    slopes: list[np.ndarray]
    parts: int = 1

    def plus(self, other: BatchGradient) -> BatchGradient:
        """The sum, written over the slopes of this one."""
        for mine, theirs in zip(self.slopes, other.slopes, strict=True):
            np.add(mine, theirs, out=mine)
        loss, weight = self.loss + other.loss, self.weight + other.weight
        return BatchGradient(loss, weight, self.slopes, self.parts + other.parts)


def part_gradient(
    task: NetworkObjective,
    params: list[np.ndarray],
    block: ShuffledBlock,
    order: np.ndarray,
    way: PassContext,
) -> BatchGradient:
    """Forward and back with some rows of a block."""
    x, mask = task.intake(block.X, order, task.network, params[0].dtype if params else np.float32)
    w = None if block.w is None else block.w[order]
    z, kept = forward(task.network, params, x, way._replace(mask=mask))
    loss, slope = task.loss.value_and_gradient(z, block.y[order], w)
    slopes = backward(task.network, params, kept, slope)[1]
    return BatchGradient(loss, float(len(order) if w is None else w.sum(dtype=np.float64)), slopes)


def default_part_rows(network: Network) -> int:
    """Rows of a part: more where a row is less work, or waking a helper would cost as much."""
    shapes = (network.shape, *network.shapes)
    axes = max(map(len, shapes))
    if axes > 1:
        return _MEDIUM_PART_ROWS if axes == 3 else SMALL_PART_ROWS
    weights = sum(
        a[0] * b[0] for (a, b), n in zip(pairwise(shapes), network.sizes, strict=True) if n
    )
    return _LARGE_PART_ROWS if weights < _MANY_WEIGHTS else _MEDIUM_PART_ROWS


def split_batch(rows: int, part_rows: int) -> list[tuple[int, int]]:
    """Parts of a batch, as equal as can be.

    Examples
    --------
    >>> split_batch(70, 32)
    [(0, 24), (24, 47), (47, 70)]
    """
    parts = max(-(-rows // part_rows), 1)
    size, longer = divmod(rows, parts)
    ends = [i * size + min(i, longer) for i in range(parts + 1)]
    return list(pairwise(ends))


class GradientWorkers:
    """Threads at work on batches; helpers are woken if that pays, by how long a part took.

    Parameters
    ----------
    task : Task
        What is learned.
    part_rows : int, optional
        Rows of a part.
    """

    def __init__(self, task: NetworkObjective, part_rows: int | None = None) -> None:
        self.task = task._replace(network=fuse_conv_pool(task.network))
        self.part_rows = part_rows or default_part_rows(task.network)
        self.scratch = BufferPool()
        self.seconds = 0.0  # that a part took lately

    def gradient(
        self, params: list[np.ndarray], block: ShuffledBlock, order: np.ndarray, step: int
    ) -> BatchGradient:
        """The gradient of a batch: the rows `order` of a block. `step` seeds what is random."""
        return retry_if_blas_threads_changed(lambda: self._gradient(params, block, order, step))

    def _gradient(
        self, params: list[np.ndarray], block: ShuffledBlock, order: np.ndarray, step: int
    ) -> BatchGradient:
        parts = split_batch(len(order), self.part_rows)
        sums = _GradientTree()

        def handle(number: int) -> None:
            a, b = parts[number]
            way = PassContext(True, step * SEEDS_PER_STEP, a)
            with self.scratch.used(), np.errstate(all="ignore"):  # a loss that bursts is told
                sums.add(number, part_gradient(self.task, params, block, order[a:b], way))

        start = perf_counter()
        worth = self.seconds * len(parts) > _MIN_PARALLEL_SECONDS
        helpers = min(n_threads(), len(parts)) - 1 if worth else 0
        _run_parts(handle, len(parts), helpers)
        self.seconds = (perf_counter() - start) * (1 + helpers) / len(parts)
        return sums.total()


def _run_parts(handle: Callable[[int], None], parts: int, helpers: int) -> None:
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

    run_in_threads(work, helpers)
    if problems:
        raise problems[min(problems)]


class _GradientTree:
    """Gradients of parts, added in pairs as they come."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.nodes: dict[tuple[int, int], BatchGradient] = {}

    def add(self, number: int, gradient: BatchGradient) -> None:
        level = 0
        while True:
            with self.lock:
                sibling = self.nodes.pop((level, number ^ 1), None)
                if sibling is None:
                    self.nodes[level, number] = gradient
                    return
            gradient = sibling.plus(gradient) if number & 1 else gradient.plus(sibling)
            level, number = level + 1, number >> 1

    def total(self) -> BatchGradient:
        """The sum; an incomplete right edge is added to its left neighbours."""
        by_start = sorted(self.nodes, key=lambda node: node[1] << node[0])
        total = self.nodes[by_start.pop()]
        while by_start:
            total = self.nodes[by_start.pop()].plus(total)
        return total
