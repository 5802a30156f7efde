"""Training of next-symbol networks on a stream of symbols, in rounds that a checkpoint can hold.

A step takes a window of each of several lanes. Recurrent networks read lanes that are consecutive
parts of the stream, and carry their states from window to window; networks without a state draw
their windows at random places. An epoch is as many steps as it takes to see the stream once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.language.next_symbol_network import NextSymbolNetwork, step_scores, window_gradient
from tenfold.math.links import log_softmax
from tenfold.neural._minibatch import BatchGradient, PartWorkers
from tenfold.neural._thresholds import MIN_PART_SYMBOLS, SMALL_PART_ROWS
from tenfold.neural._training import apply_step, check_finite, record_epoch
from tenfold.neural._training_config import StoppingRule, TrainingConfig, TrainingState
from tenfold.neural.layers.base import LayerStates, PassContext
from tenfold.neural.network import SEEDS_PER_STEP
from tenfold.optim.convergence import until_converged

_ROUND_STEPS = 250  # steps between two points at which a checkpoint may be written
_VALIDATION_LANES = 16


class Lanes(NamedTuple):
    """How an epoch goes through the stream.

    Attributes
    ----------
    lanes, window : windows of a step, and symbols of a window
    steps : steps of an epoch
    length : symbols of a lane; 0 if windows are drawn at random places
    rest : symbols that are left over; an epoch begins after a random number of them
    """

    lanes: int
    window: int
    steps: int
    length: int
    rest: int

    @classmethod
    def of(cls, symbols: int, lanes: int, window: int, *, carried: bool) -> Lanes:
        """Lanes of a stream of `symbols` predictions."""
        window = min(window, symbols)
        lanes = max(min(lanes, symbols // window), 1)
        if not carried:
            steps = max(round(symbols / (lanes * window)), 1)
            return cls(lanes, window, steps, 0, symbols - window)
        length = symbols // lanes
        return cls(lanes, window, -(-length // window), length, symbols - lanes * length)

    @property
    def part_rows(self) -> int:
        """Windows of a part, of which each thread takes its share.

        A state goes through a window symbol by symbol, so that products are as high as a part has
        windows. Without one all symbols of a part make one product: a few windows are enough.
        """
        return SMALL_PART_ROWS if self.length else max(MIN_PART_SYMBOLS // self.window, 1)

    def windows(
        self, stream: np.ndarray, step: int, seed: list[int]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Symbols (lanes, window) of a step of an epoch, and those that follow them."""
        if self.length:
            offset = int(np.random.default_rng(seed).integers(self.rest + 1))
            first = offset + step * self.window + self.length * np.arange(self.lanes)
            width = min(self.window, self.length - step * self.window)
        else:
            draw = np.random.default_rng([*seed, step])
            first, width = draw.integers(self.rest + 1, size=self.lanes), self.window
        both = np.stack([stream[a : a + width + 1] for a in first]).astype(np.int64)
        return both[:, :-1], both[:, 1:]


class StreamState(NamedTuple):
    """State of a training between two rounds."""

    training: TrainingState
    epoch: int = 0
    step: int = 0  # of this epoch
    loss: float = 0.0  # sums of this epoch
    weight: float = 0.0
    carried: list[Any] = []  # states of the layers, for all lanes


class StreamTrainer:
    """Steps along a stream.

    Parameters
    ----------
    network : NextSymbolNetwork
        The network.
    stream, held_out : arrays of symbols
        To learn from, and for early stopping (may be empty).
    config, stopping : TrainingConfig, StoppingRule
        How to step, and when to stop.
    lanes : Lanes
        How to go through the stream.
    seed : int
        Of places and random layers.
    max_steps : int, optional
        Most steps; the last epoch may end early.
    """

    def __init__(
        self,
        network: NextSymbolNetwork,
        stream: np.ndarray,
        held_out: np.ndarray,
        config: TrainingConfig,
        stopping: StoppingRule,
        lanes: Lanes,
        seed: int,
        max_steps: int | None = None,
    ) -> None:
        self.network, self.stream, self.held_out = network, stream, held_out
        self.config, self.stopping, self.lanes, self.seed = config, stopping, lanes, seed
        self.steps = count_steps(lanes, stopping.epochs, max_steps)
        self.workers = PartWorkers(config.part_rows or lanes.part_rows)

    def train(self, training: TrainingState) -> until_converged[StreamState]:
        """Train epoch by epoch; parameters are changed in place."""
        epochs, rest = divmod(self.steps, self.lanes.steps)
        rounds = epochs * -(-self.lanes.steps // _ROUND_STEPS) + -(-rest // _ROUND_STEPS)
        loop = until_converged(StreamState(training), tol=0.0, max_iter=rounds)
        for before in loop:
            state, loss = self._run_round(before)
            change = 1.0
            if state.step == self.lanes.steps or state.training.step == self.steps:
                state = self._end_epoch(state)
                stale = state.training.stale_epochs
                change = float(self.stopping.tol is None or stale <= self.stopping.patience)
            loop.update(state, objective=loss, change=change)
        return loop

    def _run_round(self, state: StreamState) -> tuple[StreamState, float]:
        before = (state.loss, state.weight)
        left = min(self.lanes.steps - state.step, self.steps - state.training.step)
        for _ in range(min(_ROUND_STEPS, left)):
            state = self._run_step(state)
        check_finite(state.loss, state.training.step)
        loss, weight = state.loss - before[0], state.weight - before[1]
        return state, loss / max(weight, 1.0)

    def _run_step(self, state: StreamState) -> StreamState:
        training = state.training
        x, y = self.lanes.windows(self.stream, state.step, [self.seed, state.epoch])
        left: dict[int, list[Any]] = {}
        seed = (self.seed + training.step) * SEEDS_PER_STEP

        def compute(a: int, b: int) -> BatchGradient:
            states = None
            if self.lanes.length:
                states = LayerStates([tuple(p[a:b] for p in layer) for layer in state.carried])
            context = PassContext(True, seed, a, states=states)
            gradient = window_gradient(self.network, training.params, x[a:b], y[a:b], context)
            left[a] = [] if states is None else states.last
            return gradient

        gradient = self.workers.gradient(len(x), compute)
        network: Any = self.network
        training = apply_step(training, gradient, network, self.config)
        carried = [
            tuple(np.concatenate(arrays) for arrays in zip(*of_layer, strict=True))
            for of_layer in zip(*(left[a] for a in sorted(left)), strict=True)
        ]
        loss, weight = state.loss + gradient.loss, state.weight + gradient.weight
        return StreamState(training, state.epoch, state.step + 1, loss, weight, carried)

    def _end_epoch(self, state: StreamState) -> StreamState:
        error = None
        if len(self.held_out):
            error = stream_loss(self.network, state.training.params, self.held_out, self.lanes)
        loss = state.loss / max(state.weight, 1.0)
        return StreamState(
            record_epoch(state.training, loss, error, self.stopping), state.epoch + 1
        )


def count_steps(lanes: Lanes, epochs: int, max_steps: int | None) -> int:
    """Steps of a training."""
    steps = lanes.steps * epochs
    return steps if max_steps is None else min(steps, max_steps)


def stream_loss(
    network: NextSymbolNetwork, params: list, stream: np.ndarray, lanes: Lanes
) -> float:
    """Mean loss of a symbol of a stream, read in a few lanes."""
    carried = bool(lanes.length)
    lanes = Lanes.of(len(stream) - 1, _VALIDATION_LANES, lanes.window, carried=True)
    loss, weight, states = 0.0, 0, LayerStates()
    for step in range(lanes.steps):
        x, y = lanes.windows(stream, step, [0])
        context = PassContext(states=states if carried else None)
        scores = step_scores(network, params, x, context).astype(np.float64)
        exists = y < network.symbols
        logs = np.take_along_axis(log_softmax(scores), np.where(exists, y, 0)[:, :, None], axis=2)
        loss, weight = loss - float((logs[:, :, 0] * exists).sum()), weight + int(exists.sum())
        states = LayerStates(states.last)
    return loss / max(weight, 1)
