"""Epochs of an encoder-decoder over pairs of sources and targets."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.language._encoder_decoder_network import EncoderDecoderNetwork, pair_gradient
from tenfold.language._pairs import Pairs
from tenfold.neural._minibatch import PartWorkers
from tenfold.neural._training import apply_step, check_finite
from tenfold.neural._training_config import TrainingConfig, TrainingState
from tenfold.neural.layers.base import PassContext
from tenfold.neural.network import SEEDS_PER_STEP


def run_epoch(
    state: TrainingState,
    network: EncoderDecoderNetwork,
    pairs: Pairs,
    order: np.ndarray,
    config: TrainingConfig,
    workers: PartWorkers,
    seed: int,
) -> tuple[TrainingState, float]:
    """Every pair once; the mean loss of a symbol."""
    total, weight = 0.0, 0.0
    for first in range(0, len(order), config.batch_size):
        batch, params = order[first : first + config.batch_size], state.params
        step_seed = (seed + state.step) * SEEDS_PER_STEP

        def compute(
            a: int, b: int, batch: Any = batch, params: Any = params, step: int = step_seed
        ) -> Any:
            x, mask = pairs.source_batch(batch[a:b])
            y = pairs.target_batch(batch[a:b], network.symbols)
            return pair_gradient(network, params, x, y, PassContext(True, step, a, mask))

        gradient = workers.gradient(len(batch), compute)
        any_network: Any = network
        state = apply_step(state, gradient, any_network, config)
        total, weight = total + gradient.loss, weight + gradient.weight
    check_finite(total, state.step)
    return state, total / max(weight, 1.0)
