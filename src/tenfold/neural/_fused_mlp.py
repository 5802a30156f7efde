"""Compiled training of dense networks, many minibatches per call.

A step of a small network takes a fraction of a millisecond; calls from Python, and waking threads
for its parts, would take longer. Supported are `Dense` layers with bias and one of four
activations, `Dropout` before them, three losses, and the optimizers of `FUSED_OPTIMIZERS`, without
gradient clipping.
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
from tenfold.neural import _fused_mlp_numba as compiled
from tenfold.neural._fused_optimizers import FUSED_OPTIMIZERS, step_constants
from tenfold.neural._minibatch import split_batch
from tenfold.neural._thresholds import (
    FUSED_MAX_PARTS,
    FUSED_PART_ROWS,
    MAX_GATHERED_VALUES,
    MIN_PARALLEL_WORK,
)
from tenfold.neural._training_config import (
    Objective,
    StepResult,
    TrainingConfig,
    TrainingState,
    make_dense_batch,
)
from tenfold.neural.layers.activations import ALIASES
from tenfold.neural.layers.dense import Dense
from tenfold.neural.layers.dropout import Dropout
from tenfold.neural.losses import (
    BinaryCrossEntropy,
    CrossEntropy,
    HalfSquaredError,
    MultilabelCrossEntropy,
)
from tenfold.neural.network import SEEDS_PER_STEP, Network, flatten_params
from tenfold.optim.optimizers import SGD, Momentum

_ACTIVATION_CODES = {
    "linear": compiled.LINEAR,
    "relu": compiled.RELU,
    "tanh": compiled.TANH,
    "sigmoid": compiled.SIGMOID,
}
_LOSS_CODES: dict[type, int] = {
    CrossEntropy: compiled.CROSS_ENTROPY,
    HalfSquaredError: compiled.SQUARED,
    BinaryCrossEntropy: compiled.BINARY,
    MultilabelCrossEntropy: compiled.BINARY,
}

GatheredRows = tuple[np.ndarray, np.ndarray, Any, Any, np.ndarray]  # see `_gather_rows`


def make_fused_trainer(
    objective: Objective, params: list[np.ndarray], config: TrainingConfig
) -> FusedTrainer | None:
    """A trainer of this network, or None if it is not supported."""
    codes = [activation_code(layer) for layer, *_ in _split_dropout(objective.network)]
    has_codes = type(objective.loss) in _LOSS_CODES and type(config.optimizer) in FUSED_OPTIMIZERS
    dtypes = {p.dtype for p in params}
    is_flat = len(objective.network.shape) == 1 and len(dtypes) == 1
    is_plain = objective.is_plain and config.part_rows is None
    is_plain = is_plain and config.clip_norm is None and config.clip_value is None
    if not codes or None in codes or not (has_codes and is_flat and is_plain):
        return None
    return FusedTrainer(objective, codes, config, dtypes.pop())


def activation_code(layer: Any) -> int | None:
    """The code of a dense layer's activation; None if the layer is not supported."""
    if not isinstance(layer, Dense) or not layer.bias:
        return None
    name = layer.activation or "linear"
    return _ACTIVATION_CODES.get(ALIASES.get(name, name)) if isinstance(name, str) else None


def _split_dropout(network: Network) -> list[tuple[Any, float, int]]:
    """Layers, each with the rate and the number of a `Dropout` before it (0, 0 without).

    A `Dropout` that no layer follows, or another one, counts as a layer, which is not supported.
    """
    found, rate, number = [], 0.0, 0
    for place, layer in enumerate(network.layers):
        if isinstance(layer, Dropout) and not rate and place + 1 < len(network.layers):
            rate, number = layer.rate, place
        else:
            found.append((layer, rate, number))
            rate, number = 0.0, 0
    return found


class FusedTrainer:
    """Minibatch steps of a dense network, and the workspace for them."""

    def __init__(
        self,
        objective: Objective,
        activation_codes: list,
        config: TrainingConfig,
        dtype: np.dtype,
    ) -> None:
        self.config, self.network, self.dtype = config, objective.network, dtype
        layers = _split_dropout(objective.network)
        widths = np.array([*objective.network.shape, *(layer.units for layer, *_ in layers)])
        codes = np.array([_LOSS_CODES[type(objective.loss)], *activation_codes])
        smoothing = dtype.type(getattr(objective.loss, "smoothing", 0))
        sizes = (widths[:-1] + 1) * widths[1:]
        dropout = np.array([before for _, *before in layers], float)
        dropped = widths[:-1][dropout[:, 0] > 0]
        dropout = dropout if len(dropped) else None
        self.settings = widths, codes, np.cumsum(sizes) - sizes, smoothing, dropout
        self.target = "input" if objective.target_is_input else "numbers"
        if isinstance(objective.loss, CrossEntropy):
            self.target = "labels"
        self.part_rows = max(FUSED_PART_ROWS, -(-config.batch_size // FUSED_MAX_PARTS))
        self.parts = len(split_batch(config.batch_size, self.part_rows))
        values_per_row = int(widths[0] + 2 * widths[1:].sum() + dropped.sum() + 1)
        self.workspace = np.empty(self.parts * self.part_rows * values_per_row, dtype)
        self.gradients = np.empty(self.parts * int(sizes.sum()), dtype)

    def run_block(
        self,
        state: TrainingState,
        block: ShuffledBlock,
        order: np.ndarray,
        seed: int,
    ) -> Iterator[StepResult]:
        """Step through the rows `order`, as many whole batches per call as memory allows."""
        batch = self.config.batch_size
        span = max(MAX_GATHERED_VALUES // int(self.settings[0][0]) // batch, 1) * batch
        for start in range(0, len(order), span):
            some = order[start : start + span]
            rows = _gather_rows(block, some, self.network, self.dtype, self.target)
            state, loss, weight = self._run_rows(state, rows, seed)
            yield state, loss, weight

    def _run_rows(self, state: TrainingState, rows: GatheredRows, seed: int) -> StepResult:
        """Step through some rows; parameters are changed in place."""
        starts = np.arange(0, len(rows[1]), self.config.batch_size)
        weights = np.add.reduceat(rows[4], starts, dtype=np.float64)
        constants = self._step_constants(weights, state.step, state.rate_factor)
        seeds = SEEDS_PER_STEP * (seed + state.step + np.arange(len(starts)))
        steps = (*constants, seeds)
        bounds = self._part_bounds(starts, len(rows[1]))
        theta, arrays, loss = retry_if_blas_threads_changed(
            lambda: self._train(rows, state, steps, bounds)
        )
        _write_back(theta, state.params)
        n = len(starts)
        restored = _restore_optimizer_state(arrays, state.optimizer_state, n)
        state = state._replace(optimizer_state=restored, step=state.step + n)
        return state, loss, float(weights.sum())

    def _train(self, rows: GatheredRows, state: TrainingState, steps: tuple, bounds: Any) -> tuple:
        theta = flatten_params(state.params)
        arrays = _flatten_optimizer_state(state.optimizer_state, len(theta), self.dtype)
        losses = np.zeros((len(bounds), self.parts))
        work = (self.workspace, self.gradients, losses, make_counters())
        worth_waking = len(rows[1]) * len(theta) > MIN_PARALLEL_WORK
        helpers = min(n_threads(), self.parts) - 1 if worth_waking else 0
        run_in_threads(
            lambda: compiled.train_batches(rows, theta, arrays, self.settings, steps, bounds, work),
            helpers,
        )
        return theta, arrays, float(losses.sum())

    def _part_bounds(self, starts: np.ndarray, rows: int) -> np.ndarray:
        """Bounds of the parts of each batch; a short batch has empty ones."""
        bounds = np.full((len(starts), self.parts + 1), rows)
        for line, (a, b) in zip(bounds, pairwise([*starts, rows]), strict=True):
            parts = split_batch(b - a, self.part_rows)
            line[: len(parts)] = [a + start for start, _ in parts]
            line[len(parts) :] = b
        return bounds

    def _step_constants(self, weights: np.ndarray, step: int, rate_factor: float) -> tuple:
        """For each step the constants of the optimizer, and scale, l2 and l1 of its gradient."""
        config = self.config
        is_sgd = isinstance(config.optimizer, SGD)
        optimizer = Momentum(0.0) if is_sgd else config.optimizer
        constants = [
            step_constants(optimizer, t, config.schedule(t) * rate_factor, self.dtype)
            for t in range(step + 1, step + 1 + len(weights))
        ]
        of_weights_and_biases = [[0, config.l2, config.l1], [0, 0, 0]]
        penalties = np.full((len(weights), 2, 3), of_weights_and_biases, self.dtype)
        penalties[weights > 0, :, 0] = 1 / weights[weights > 0, None]
        return np.array(constants), penalties


def _gather_rows(
    block: ShuffledBlock, order: np.ndarray, network: Network, dtype: np.dtype, target: str
) -> GatheredRows:
    """Flat values of rows and their order; in this order labels or other targets, and weights."""
    X, w = block.X, block.w
    w = np.ones(len(order), dtype) if w is None else w[order].astype(dtype)
    is_ready = isinstance(X, np.ndarray) and X.dtype == dtype and X.flags.carray
    labels = block.y[order].astype(np.int64) if target == "labels" else None
    y = block.y[order].astype(dtype).reshape(-1) if target == "numbers" else None
    if not is_ready or target == "input":
        x, _ = make_dense_batch(X, order, network, dtype)
        X, order = np.require(x, requirements=["C", "W"]), np.arange(len(order))
    return X.reshape(-1), order, labels, X.reshape(-1) if target == "input" else y, w


def _write_back(flat: np.ndarray, arrays: list[np.ndarray]) -> None:
    """Copy a vector into the arrays that it was flattened from."""
    ends = np.cumsum([array.size for array in arrays])
    for array, part in zip(arrays, np.split(flat, ends[:-1]), strict=True):
        array[...] = part.reshape(array.shape)


def _flatten_optimizer_state(state: list, size: int, dtype: np.dtype) -> tuple:
    """Velocity, mean and square of gradients as vectors, None where the optimizer has none."""
    if isinstance(state[0], np.ndarray):
        return flatten_params(state), None, None
    if not state[0]:
        return np.zeros(size, dtype), None, None
    return None, *(flatten_params([part[kind] for part in state]) for kind in range(2))


def _restore_optimizer_state(vectors: tuple, state: list, steps: int) -> list:
    """Inverse of `_flatten_optimizer_state`; Adam also counts its steps."""
    if isinstance(state[0], np.ndarray):
        _write_back(vectors[0], state)
        return state
    if not state[0]:
        return state
    for kind, vector in enumerate(vectors[1:]):
        _write_back(vector, [part[kind] for part in state])
    return [(*part[:2], part[2] + steps) for part in state]
