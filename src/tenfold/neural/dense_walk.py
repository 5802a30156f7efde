"""Dense networks learn in one compiled walk from step to step.

A step of a small network is a fraction of a millisecond of work: calls from Python, and handing
parts of it to other threads, would take longer. Which networks: only `Dense` layers with constants
and a usual bend, a usual loss and rule. Others step as `tenfold.neural.steps` does.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from tenfold.neural import dense_leaves as leaves
from tenfold.neural.activations import OTHER_NAMES
from tenfold.neural.dense import Dense
from tenfold.neural.full_batch import flattened
from tenfold.neural.losses import BinaryCrossEntropy, CrossEntropy, Squared
from tenfold.neural.network import Network
from tenfold.neural.plan import Plan
from tenfold.neural.steps import Task, cuts, dense_rows
from tenfold.neural.updates import constants
from tenfold.rows import n_threads
from tenfold.rows.blas import undisturbed
from tenfold.rows.mixing import Block
from tenfold.rows.threads import together
from tenfold.rows.tickets import counters
from tenfold.solve.steppers import Adam, Momentum, Nesterov, Plain

PART_ROWS, MOST_PARTS = 64, 8  # rows of a part; a large batch has larger parts
WORTH_WAKING = 3_000_000  # rows times parameters: about half a millisecond of work
NUMBERS_AT_ONCE = 2**24  # of rows that are gathered for a walk
BENDS = {"linear": leaves.LINEAR, "relu": leaves.RELU}
BENDS |= {"tanh": leaves.TANH, "sigmoid": leaves.SIGMOID}
LOSSES: dict[type, int] = {CrossEntropy: leaves.CROSS_ENTROPY, Squared: leaves.SQUARED}
LOSSES |= {BinaryCrossEntropy: leaves.BINARY}
RULES = (Adam, Plain, Momentum, Nesterov)

Rows = tuple[np.ndarray, np.ndarray, Any, Any, np.ndarray]  # see `gathered`


def walker(task: Task, params: list[np.ndarray], plan: Plan) -> Walker | None:
    """Who can walk with this network, if anybody can."""
    bends = [bend_of(layer) for layer in task.network.layers]
    known = type(task.loss) in LOSSES and type(plan.rule) in RULES
    flat = len(task.network.shape) == 1 and all(p.dtype == np.float32 for p in params)
    whole = plan.clip_norm is None and plan.clip_value is None and plan.part_rows is None
    if not bends or None in bends or not (known and flat and whole):
        return None
    return Walker(task, bends, plan)


def bend_of(layer: Any) -> int | None:
    """The number of a layer's bend, if it is a dense layer that can be walked."""
    if not isinstance(layer, Dense) or not layer.bias:
        return None
    name = layer.activation or "linear"
    return BENDS.get(OTHER_NAMES.get(name, name)) if isinstance(name, str) else None


class Walker:
    """A dense network, its loss and rule, and memory to work in."""

    def __init__(self, task: Task, bends: list, plan: Plan) -> None:
        self.plan, self.network = plan, task.network
        widths = np.array([*task.network.shape, *(shape[0] for shape in task.network.shapes)])
        how = np.array([LOSSES[type(task.loss)], *bends])
        smoothing = np.float32(getattr(task.loss, "smoothing", 0))
        sizes = (widths[:-1] + 1) * widths[1:]
        self.settings = widths, how, np.cumsum(sizes) - sizes, smoothing
        self.labels = isinstance(task.loss, CrossEntropy)
        self.part_rows = max(PART_ROWS, -(-plan.batch_size // MOST_PARTS))
        self.parts = len(cuts(plan.batch_size, self.part_rows))
        numbers = int(widths[0] + 2 * widths[1:].sum() + 1)
        self.room = np.empty(self.parts * self.part_rows * numbers, np.float32)
        self.slopes = np.empty(self.parts * int(sizes.sum()), np.float32)

    def steps(self, rows: Rows) -> int:
        """How many batches some rows are."""
        return -(-len(rows[1]) // self.plan.batch_size)

    def stretches(self, block: Block, order: np.ndarray) -> Iterator[Rows]:
        """Rows of a block, as many whole batches at a time as fit into memory easily."""
        batch = self.plan.batch_size
        stretch = max(NUMBERS_AT_ONCE // int(self.settings[0][0]) // batch, 1) * batch
        for start in range(0, len(order), stretch):
            yield gathered(block, order[start : start + stretch], self.network, self.labels)

    def __call__(
        self, rows: Rows, params: list[np.ndarray], memory: list, t: int, factor: float
    ) -> tuple[float, float, list]:
        """Step through some rows; loss and weight of all, and what the rule remembers.

        Parameters are changed in place. `t` is the number of steps before, `factor` that by which
        the rate has fallen.
        """
        starts = np.arange(0, len(rows[1]), self.plan.batch_size)
        weights = np.add.reduceat(rows[4], starts, dtype=np.float64)
        steps, ends = self._constants(weights, t, factor), self._ends(starts, len(rows[1]))
        theta, kept, loss = undisturbed(lambda: self._walk(rows, params, memory, steps, ends))
        spread(theta, params)
        return loss, float(weights.sum()), remember(kept, memory, len(starts))

    def _walk(self, rows: Rows, params: list, memory: list, steps: tuple, ends: Any) -> tuple:
        theta = flattened(params)
        kept = remembered(memory, len(theta))
        losses = np.zeros((len(ends), self.parts))
        work = (self.room, self.slopes, losses, counters())
        worth = len(rows[1]) * len(theta) > WORTH_WAKING
        helpers = min(n_threads(), self.parts) - 1 if worth else 0
        together(lambda: leaves.walk(rows, theta, kept, self.settings, steps, ends, work), helpers)
        return theta, kept, float(losses.sum())

    def _ends(self, starts: np.ndarray, rows: int) -> np.ndarray:
        """Where the parts of each batch begin and end; a short batch has empty ones."""
        table = np.full((len(starts), self.parts + 1), rows)
        for line, (a, b) in zip(table, pairwise([*starts, rows]), strict=True):
            parts = cuts(b - a, self.part_rows)
            line[: len(parts)] = [a + start for start, _ in parts]
            line[len(parts) :] = b
        return table

    def _constants(self, weights: np.ndarray, t: int, factor: float) -> tuple:
        """What each step needs to know: numbers of the rule; scale, l2 and l1 of its slope."""
        plan = self.plan
        rule = Momentum(0.0) if isinstance(plan.rule, Plain) else plan.rule
        numbers = [
            constants(rule, step, plan.rate(step) * factor, np.float32)
            for step in range(t + 1, t + 1 + len(weights))
        ]
        penalties = [[0, plan.l2, plan.l1], [0, 0, 0]]  # of weights, of constants
        pulls = np.full((len(weights), 2, 3), penalties, np.float32)
        pulls[weights > 0, :, 0] = 1 / weights[weights > 0, None]
        return np.array(numbers), pulls


def gathered(block: Block, order: np.ndarray, network: Network, labels: bool) -> Rows:
    """All numbers of rows, the order of rows; in this order labels or other targets, weights."""
    X, y, w = block.X, block.y[order], block.w
    names = y.astype(np.int64) if labels else None
    y = None if labels else y.astype(np.float32).reshape(-1)
    w = np.ones(len(order), np.float32) if w is None else w[order].astype(np.float32)
    if not (isinstance(X, np.ndarray) and X.dtype == np.float32 and X.flags.carray):
        x, _ = dense_rows(X, order, network, np.float32)
        X, order = np.require(x, requirements=["C", "W"]), np.arange(len(order))
    return X.reshape(-1), order, names, y, w


def spread(flat: np.ndarray, arrays: list[np.ndarray]) -> None:
    """Write the numbers back to where they came from."""
    ends = np.cumsum([array.size for array in arrays])
    for array, part in zip(arrays, np.split(flat, ends[:-1]), strict=True):
        array[...] = part.reshape(array.shape)


def remembered(memory: list, size: int) -> tuple:
    """What a rule remembers: a speed, or mean and square of slopes; plain steps stand still."""
    if isinstance(memory[0], np.ndarray):
        return flattened(memory), None, None
    if not memory[0]:
        return np.zeros(size, np.float32), None, None
    return None, *(flattened([kept[kind] for kept in memory]) for kind in range(2))


def remember(lines: tuple, memory: list, steps: int) -> list:
    """The same as the rule keeps it; Adam counts its steps too."""
    if isinstance(memory[0], np.ndarray):
        spread(lines[0], memory)
        return memory
    if not memory[0]:
        return memory
    for kind, line in enumerate(lines[1:]):
        spread(line, [kept[kind] for kept in memory])
    return [(*kept[:2], kept[2] + steps) for kept in memory]
