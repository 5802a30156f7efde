"""The gradient of a minibatch: parts of a few rows, on all threads, merged in a fixed order.

A batch is split into parts of 32 to 128 rows, independent of the number of threads. Each part has a
forward and backward pass of its own; their gradients merge along the engine's merge tree. So one
step occupies all cores, and its bits do not depend on their number.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from time import perf_counter
from typing import NamedTuple

import numpy as np

from tenfold.engine.blas_threads import retry_if_blas_threads_changed
from tenfold.engine.merge_tree import MergeTree
from tenfold.engine.shuffle import ShuffledBlock
from tenfold.engine.thread_pool import n_threads, run_in_threads
from tenfold.neural._buffer_pool import BufferPool
from tenfold.neural._thresholds import (
    LARGE_PART_ROWS,
    MEDIUM_PART_ROWS,
    MIN_PARALLEL_SECONDS,
    MIN_SHARED_WEIGHTS,
    SMALL_PART_ROWS,
)
from tenfold.neural._training_config import Objective
from tenfold.neural.layers.base import PassContext
from tenfold.neural.network import SEEDS_PER_STEP, Network


class BatchGradient(NamedTuple):
    """Loss, weight and gradient in each parameter array, summed over rows, from `parts` parts."""

    loss: float
    weight: float
    arrays: list[np.ndarray]
    parts: int = 1
    narrow = True  # gradients stay in the type of the parameters when they merge

    def merge(self, other: BatchGradient) -> BatchGradient:
        """The sum, in the memory of this one."""
        for mine, theirs in zip(self.arrays, other.arrays, strict=True):
            np.add(mine, theirs, out=mine)
        loss, weight = self.loss + other.loss, self.weight + other.weight
        return BatchGradient(loss, weight, self.arrays, self.parts + other.parts)


def part_gradient(
    objective: Objective,
    params: list[np.ndarray],
    block: ShuffledBlock,
    order: np.ndarray,
    context: PassContext,
) -> BatchGradient:
    """Forward and backward pass with the rows `order` of a block."""
    network, dtype = objective.network, params[0].dtype if params else np.float32
    x, mask = objective.make_batch(block.X, order, network, dtype)
    w = None if block.w is None else block.w[order]
    y = None if objective.target_is_input else block.y[order]
    loss, arrays = objective.loss_and_gradient(params, x, y, w, context._replace(mask=mask))
    return BatchGradient(loss, float(len(order) if w is None else w.sum(dtype=np.float64)), arrays)


def default_part_rows(network: Network) -> int:
    """Rows of a part: more where a row is less work, or waking a thread would cost as much."""
    shapes = (network.shape, *network.shapes)
    axes = max(map(len, shapes))
    if axes > 1:
        return MEDIUM_PART_ROWS if axes == 3 else SMALL_PART_ROWS
    weights = sum(
        a[0] * b[0] for (a, b), n in zip(pairwise(shapes), network.sizes, strict=True) if n
    )
    return LARGE_PART_ROWS if weights < MIN_SHARED_WEIGHTS else MEDIUM_PART_ROWS


def split_batch(rows: int, part_rows: int) -> list[tuple[int, int]]:
    """Bounds of the parts of a batch, of nearly equal size.

    Examples
    --------
    >>> split_batch(70, 32)
    [(0, 24), (24, 47), (47, 70)]
    """
    parts = max(-(-rows // part_rows), 1)
    size, longer = divmod(rows, parts)
    ends = [i * size + min(i, longer) for i in range(parts + 1)]
    return list(pairwise(ends))


class PartWorkers:
    """Gradients of batches, part by part, on threads that are woken if a part takes long enough.

    Parameters
    ----------
    part_rows : int
        Rows of a part.
    """

    def __init__(self, part_rows: int) -> None:
        self.part_rows = part_rows
        self.buffers = BufferPool()
        self.part_seconds = 0.0  # duration of a part in the last batch

    def gradient(self, rows: int, compute: Callable[[int, int], BatchGradient]) -> BatchGradient:
        """The sum of `compute(a, b)`, gradients of rows a to b of a batch, over its parts."""
        return retry_if_blas_threads_changed(lambda: self._gradient(rows, compute))

    def _gradient(self, rows: int, compute: Callable[[int, int], BatchGradient]) -> BatchGradient:
        parts = split_batch(rows, self.part_rows)
        tree = MergeTree()

        def run(number: int) -> None:
            with self.buffers.activate(), np.errstate(all="ignore"):  # an infinite loss is reported
                tree.add((0, number), compute(*parts[number]))

        start = perf_counter()
        worth_waking = self.part_seconds * len(parts) > MIN_PARALLEL_SECONDS
        helpers = min(n_threads(), len(parts)) - 1 if worth_waking else 0
        _run_parts(run, len(parts), helpers)
        self.part_seconds = (perf_counter() - start) * (1 + helpers) / len(parts)
        return tree.close()


class GradientWorkers:
    """Gradients of minibatches of rows.

    Parameters
    ----------
    objective : Objective
        Network and loss.
    part_rows : int, optional
        Rows of a part.
    """

    def __init__(self, objective: Objective, part_rows: int | None = None) -> None:
        self.objective = objective.fuse_layers()
        self.workers = PartWorkers(part_rows or default_part_rows(objective.network))

    def gradient(
        self, params: list[np.ndarray], block: ShuffledBlock, order: np.ndarray, step: int
    ) -> BatchGradient:
        """The gradient of the batch with rows `order` of a block; `step` seeds random layers."""

        def compute(a: int, b: int) -> BatchGradient:
            context = PassContext(True, step * SEEDS_PER_STEP, a)
            return part_gradient(self.objective, params, block, order[a:b], context)

        return self.workers.gradient(len(order), compute)


def _run_parts(run: Callable[[int], None], parts: int, helpers: int) -> None:
    """Call `run` with each number once, here and in helper threads; the first error is raised."""
    if helpers == 0:
        for number in range(parts):
            run(number)
        return
    numbers, errors = iter(range(parts)), {}

    def work() -> None:
        for number in numbers:  # the next one that no thread has taken
            try:
                run(number)
            except BaseException as error:  # noqa: BLE001  the caller raises it
                errors[number] = error
                return

    run_in_threads(work, helpers)
    if errors:
        raise errors[min(errors)]
