"""Compiled training of dense networks, many minibatches per call.

A step of a small network is a fraction of a millisecond of work: calls from Python, and handing
parts of it to other threads, would take longer. Which networks: only `Dense` layers with constants
and a usual bend, a usual loss and rule. Others step as `tenfold.neural._minibatch` does.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from tenfold._compiled.work_counter import make_counters
from tenfold.engine.blas_threads import retry_if_blas_threads_changed
from tenfold.engine.shuffle import ShuffledBlock
from tenfold.engine.thread_pool import n_threads, run_in_threads
from tenfold.neural import _fused_mlp_numba as leaves
from tenfold.neural._fused_optimizers import step_constants
from tenfold.neural._minibatch import split_batch
from tenfold.neural._training_config import NetworkObjective, TrainingConfig, make_dense_batch
from tenfold.neural.layers.activations import ALIASES
from tenfold.neural.layers.dense import Dense
from tenfold.neural.losses import BinaryCrossEntropy, CrossEntropy, HalfSquaredError
from tenfold.neural.network import Network, flatten_params
from tenfold.optim.optimizers import SGD, Adam, Momentum, Nesterov

_PART_ROWS, _MAX_PARTS = 64, 8  # rows of a part; a large batch has larger parts
_MIN_PARALLEL_WORK = 3_000_000  # rows times parameters: about half a millisecond of work
_MAX_GATHERED_VALUES = 2**24  # of rows that are gathered for a walk
_ACTIVATION_CODES = {"linear": leaves.LINEAR, "relu": leaves.RELU}
_ACTIVATION_CODES |= {"tanh": leaves.TANH, "sigmoid": leaves.SIGMOID}
_LOSS_CODES: dict[type, int] = {
    CrossEntropy: leaves.CROSS_ENTROPY,
    HalfSquaredError: leaves.SQUARED,
}
_LOSS_CODES |= {BinaryCrossEntropy: leaves.BINARY}
_FUSED_OPTIMIZERS = (Adam, SGD, Momentum, Nesterov)

GatheredRows = tuple[np.ndarray, np.ndarray, Any, Any, np.ndarray]  # see `_gather_rows`


def make_fused_trainer(
    task: NetworkObjective, params: list[np.ndarray], plan: TrainingConfig
) -> FusedTrainer | None:
    """Who can walk with this network, if anybody can."""
    bends = [_activation_code(layer) for layer in task.network.layers]
    known = type(task.loss) in _LOSS_CODES and type(plan.rule) in _FUSED_OPTIMIZERS
    flat = len(task.network.shape) == 1 and all(p.dtype == np.float32 for p in params)
    whole = plan.clip_norm is None and plan.clip_value is None and plan.part_rows is None
    if not bends or None in bends or not (known and flat and whole):
        return None
    return FusedTrainer(task, bends, plan)


def _activation_code(layer: Any) -> int | None:
    """The number of a layer's bend, if it is a dense layer that can be walked."""
    if not isinstance(layer, Dense) or not layer.bias:
        return None
    name = layer.activation or "linear"
    return _ACTIVATION_CODES.get(ALIASES.get(name, name)) if isinstance(name, str) else None


class FusedTrainer:
    """A dense network, its loss and rule, and memory to work in."""

    def __init__(self, task: NetworkObjective, bends: list, plan: TrainingConfig) -> None:
        self.plan, self.network = plan, task.network
        widths = np.array([*task.network.shape, *(shape[0] for shape in task.network.shapes)])
        how = np.array([_LOSS_CODES[type(task.loss)], *bends])
        smoothing = np.float32(getattr(task.loss, "smoothing", 0))
        sizes = (widths[:-1] + 1) * widths[1:]
        self.settings = widths, how, np.cumsum(sizes) - sizes, smoothing
        self.labels = isinstance(task.loss, CrossEntropy)
        self.part_rows = max(_PART_ROWS, -(-plan.batch_size // _MAX_PARTS))
        self.parts = len(split_batch(plan.batch_size, self.part_rows))
        numbers = int(widths[0] + 2 * widths[1:].sum() + 1)
        self.room = np.empty(self.parts * self.part_rows * numbers, np.float32)
        self.slopes = np.empty(self.parts * int(sizes.sum()), np.float32)

    def steps(self, rows: GatheredRows) -> int:
        """How many batches some rows are."""
        return -(-len(rows[1]) // self.plan.batch_size)

    def stretches(self, block: ShuffledBlock, order: np.ndarray) -> Iterator[GatheredRows]:
        """Rows of a block, as many whole batches at a time as fit into memory easily."""
        batch = self.plan.batch_size
        stretch = max(_MAX_GATHERED_VALUES // int(self.settings[0][0]) // batch, 1) * batch
        for start in range(0, len(order), stretch):
            yield _gather_rows(block, order[start : start + stretch], self.network, self.labels)

    def __call__(
        self, rows: GatheredRows, params: list[np.ndarray], memory: list, t: int, factor: float
    ) -> tuple[float, float, list]:
        """Step through some rows; loss and weight of all, and what the rule remembers.

        Parameters are changed in place. `t` is the number of steps before, `factor` that by which
        the rate has fallen.
        """
        starts = np.arange(0, len(rows[1]), self.plan.batch_size)
        weights = np.add.reduceat(rows[4], starts, dtype=np.float64)
        steps, ends = self._constants(weights, t, factor), self._ends(starts, len(rows[1]))
        theta, kept, loss = retry_if_blas_threads_changed(
            lambda: self._walk(rows, params, memory, steps, ends)
        )
        _write_back(theta, params)
        return loss, float(weights.sum()), _restore_optimizer_state(kept, memory, len(starts))

    def _walk(
        self, rows: GatheredRows, params: list, memory: list, steps: tuple, ends: Any
    ) -> tuple:
        theta = flatten_params(params)
        kept = _flatten_optimizer_state(memory, len(theta))
        losses = np.zeros((len(ends), self.parts))
        work = (self.room, self.slopes, losses, make_counters())
        worth = len(rows[1]) * len(theta) > _MIN_PARALLEL_WORK
        helpers = min(n_threads(), self.parts) - 1 if worth else 0
        run_in_threads(
            lambda: leaves.train_batches(rows, theta, kept, self.settings, steps, ends, work),
            helpers,
        )
        return theta, kept, float(losses.sum())

    def _ends(self, starts: np.ndarray, rows: int) -> np.ndarray:
        """Where the parts of each batch begin and end; a short batch has empty ones."""
        table = np.full((len(starts), self.parts + 1), rows)
        for line, (a, b) in zip(table, pairwise([*starts, rows]), strict=True):
            parts = split_batch(b - a, self.part_rows)
            line[: len(parts)] = [a + start for start, _ in parts]
            line[len(parts) :] = b
        return table

    def _constants(self, weights: np.ndarray, t: int, factor: float) -> tuple:
        """What each step needs to know: numbers of the rule; scale, l2 and l1 of its slope."""
        plan = self.plan
        rule = Momentum(0.0) if isinstance(plan.rule, SGD) else plan.rule
        numbers = [
            step_constants(rule, step, plan.rate(step) * factor, np.float32)
            for step in range(t + 1, t + 1 + len(weights))
        ]
        penalties = [[0, plan.l2, plan.l1], [0, 0, 0]]  # of weights, of constants
        pulls = np.full((len(weights), 2, 3), penalties, np.float32)
        pulls[weights > 0, :, 0] = 1 / weights[weights > 0, None]
        return np.array(numbers), pulls


def _gather_rows(
    block: ShuffledBlock, order: np.ndarray, network: Network, labels: bool
) -> GatheredRows:
    """All numbers of rows, the order of rows; in this order labels or other targets, weights."""
    X, y, w = block.X, block.y[order], block.w
    names = y.astype(np.int64) if labels else None
    y = None if labels else y.astype(np.float32).reshape(-1)
    w = np.ones(len(order), np.float32) if w is None else w[order].astype(np.float32)
    if not (isinstance(X, np.ndarray) and X.dtype == np.float32 and X.flags.carray):
        x, _ = make_dense_batch(X, order, network, np.float32)
        X, order = np.require(x, requirements=["C", "W"]), np.arange(len(order))
    return X.reshape(-1), order, names, y, w


def _write_back(flat: np.ndarray, arrays: list[np.ndarray]) -> None:
    """Write the numbers back to where they came from."""
    ends = np.cumsum([array.size for array in arrays])
    for array, part in zip(arrays, np.split(flat, ends[:-1]), strict=True):
        array[...] = part.reshape(array.shape)


def _flatten_optimizer_state(memory: list, size: int) -> tuple:
    """What a rule remembers: a speed, or mean and square of slopes; plain steps stand still."""
    if isinstance(memory[0], np.ndarray):
        return flatten_params(memory), None, None
    if not memory[0]:
        return np.zeros(size, np.float32), None, None
    return None, *(flatten_params([kept[kind] for kept in memory]) for kind in range(2))


def _restore_optimizer_state(lines: tuple, memory: list, steps: int) -> list:
    """The same as the rule keeps it; Adam counts its steps too."""
    if isinstance(memory[0], np.ndarray):
        _write_back(lines[0], memory)
        return memory
    if not memory[0]:
        return memory
    for kind, line in enumerate(lines[1:]):
        _write_back(line, [kept[kind] for kept in memory])
    return [(*kept[:2], kept[2] + steps) for kept in memory]
