"""Training steps of language models against stored numbers of torch (float64)."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tenfold.language.next_symbol_network import build_next_symbol_network, window_gradient
from tenfold.neural import (
    LayerNorm,
    LayerStates,
    Lstm,
    PassContext,
    PositionalEmbedding,
    TransformerBlock,
)
from tenfold.neural._training import apply_step, initial_state
from tenfold.neural._training_config import TrainingConfig
from tenfold.optim.optimizers import Adam
from tenfold.optim.schedules import ConstantRate

TORCH = np.load(Path(__file__).parents[1] / "reference" / "language_numbers.npz")
SYMBOLS, WIDTH, WINDOW = 7, 6, 5


def read(name, what):
    """Arrays of torch in our order; weights of its linear layers are transposed."""

    def get(key, transpose=True):
        array = TORCH[f"{name}.{what}.{key}"]
        return array.T.copy() if transpose and array.ndim == 2 else array

    if name == "lstm":
        both = get("body.lstm.bias_ih_l0") + (get("body.lstm.bias_hh_l0") if what != "slope" else 0)
        body = [get("body.lstm.weight_ih_l0"), get("body.lstm.weight_hh_l0"), both]
    else:
        body = [get("places", transpose=False)]
        for block in "01":
            keys = ("norm1.weight", "norm1.bias", "attention.in_proj_weight",
                    "attention.in_proj_bias", "attention.out_proj.weight",
                    "attention.out_proj.bias", "norm2.weight", "norm2.bias", "dense1.weight",
                    "dense1.bias", "dense2.weight", "dense2.bias")  # fmt: skip
            body += [get(f"body.{block}.{key}") for key in keys]
        body += [get("last.weight"), get("last.bias")]
    return [
        get("table", transpose=False), *body, get("scores.weight"), get("scores.bias"),
    ]  # fmt: skip


def network_of(name):
    layers = {
        "lstm": [Lstm(6, all_states=True)],
        "transformer": [PositionalEmbedding(WINDOW), *2 * [TransformerBlock(2)], LayerNorm()],
    }[name]
    rng = np.random.default_rng(0)
    return build_next_symbol_network(layers, (WINDOW, WIDTH), SYMBOLS, rng, tied=False, init=1.0)[0]


def gradient(name, network, params, step):
    states = None
    if name == "lstm":
        states = LayerStates([(TORCH["lstm.h"], TORCH["lstm.c"])])
    x, y = TORCH[f"{name}.x"][step], TORCH[f"{name}.y"][step]
    return window_gradient(network, params, x, y, PassContext(True, states=states))


@pytest.mark.parametrize("name", ["lstm", "transformer"])
def test_losses_and_slopes_are_those_of_torch(name):
    network, params = network_of(name), read(name, "start")
    found = gradient(name, network, params, 0)
    assert_allclose(found.loss / found.weight, TORCH[f"{name}.losses"][0], rtol=1e-12)
    for mine, theirs in zip(found.arrays, read(name, "slope"), strict=True):
        assert_allclose(mine / found.weight, theirs, rtol=1e-9, atol=1e-12)


def test_steps_of_a_transformer_are_those_of_torch():
    network, config = (
        network_of("transformer"),
        TrainingConfig(Adam(), ConstantRate(0.01), clip_norm=0.5),
    )
    state, losses = initial_state(read("transformer", "start"), config.optimizer), []
    for step in range(3):
        found = gradient("transformer", network, state.params, step)
        losses.append(found.loss / found.weight)
        state = apply_step(state, found, network, config)
    assert_allclose(losses, TORCH["transformer.losses"], rtol=1e-8)  # torch clips at 1e-6 more
    for mine, theirs in zip(state.params, read("transformer", "end"), strict=True):
        assert_allclose(mine, theirs, rtol=1e-6, atol=1e-8)


def test_steps_of_an_lstm_are_those_of_torch_but_for_its_second_bias():
    """torch adds two biases, which Adam moves twice as far as one: gradient steps halve it."""
    network, params = network_of("lstm"), read("lstm", "start")
    first = gradient("lstm", network, params, 0)
    assert_allclose(first.loss / first.weight, TORCH["lstm.losses"][0], rtol=1e-12)
    config = TrainingConfig(Adam(), ConstantRate(0.01), clip_norm=None)
    state = initial_state([p.copy() for p in params], config.optimizer)
    norm = np.sqrt(
        sum(float((TORCH[key] ** 2).sum()) for key in TORCH if key.startswith("lstm.slope"))
    )
    scaled = [array * (0.5 / norm if norm > 0.5 else 1.0) for array in first.arrays]
    state = apply_step(state, first._replace(arrays=scaled), network, config)
    second_bias = 0.01 * np.sign(first.arrays[3])  # the first step of Adam is the sign
    state.params[3] -= second_bias
    second = gradient("lstm", network, state.params, 1)
    assert_allclose(second.loss / second.weight, TORCH["lstm.losses"][1], rtol=1e-6)
