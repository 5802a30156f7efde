"""Attention, positions, transformer blocks, states carried between passes, GELU, mixed stacks."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import ndtr

from tenfold import SequentialClassifier
from tenfold.neural import (
    Activation,
    BatchNorm,
    Conv1d,
    Dense,
    Embedding,
    GatedRnn,
    Gru,
    LayerNorm,
    LayerStates,
    Lstm,
    MaxPool,
    MultiHeadAttention,
    PassContext,
    PositionalEmbedding,
    Rnn,
    TransformerBlock,
    backward,
    build_network,
    forward,
    sinusoidal_positions,
)
from tenfold.neural.layers.attention import attend

CELLS = {"rnn": Rnn(4), "gated": GatedRnn(4), "gru": Gru(4), "lstm": Lstm(4)}
SHORT = np.arange(5) < np.array([5, 2, 4])[:, None]


def differences(value, array, e=1e-6):
    found = np.empty_like(array)
    for place in np.ndindex(array.shape):
        here = array[place]
        array[place] = here + e
        up = value()
        array[place] = here - e
        found[place] = (up - value()) / (2 * e)
        array[place] = here
    return found


def brute_force(layer, params, x, mask=None):
    """Attention with loops."""
    W, b, V, c = params
    n, t, p = x.shape
    out, d = np.zeros_like(x), p // layer.heads
    for i in range(n):
        qkv = x[i] @ W + b
        mixed = np.zeros((t, p))
        for head in range(layer.heads):
            at = slice(head * d, head * d + d)
            q, k, v = qkv[:, :p][:, at], qkv[:, p : 2 * p][:, at], qkv[:, 2 * p :][:, at]
            for query in range(t):
                seen = [
                    j
                    for j in range(t)
                    if (not layer.causal or j <= query) and (mask is None or mask[i, j])
                ]
                w = np.exp([q[query] @ k[j] / np.sqrt(d) for j in seen])
                if seen:
                    mixed[query, at] = (w / w.sum()) @ v[seen]
        out[i] = mixed @ V + c
    return out


@pytest.mark.parametrize("mask", [None, SHORT])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("heads", [1, 2])
def test_attention_is_a_mean_of_values_weighted_by_the_softmax_of_products(heads, causal, mask):
    rng = np.random.default_rng(0)
    layer = MultiHeadAttention(heads, causal)
    params = [p + rng.normal(size=p.shape) for p in layer.init_params((5, 4), rng, np.float64)]
    x = rng.normal(size=(3, 5, 4))
    found, _ = layer.forward(params, x, PassContext(mask=mask))
    assert_allclose(found, brute_force(layer, params, x, mask), rtol=1e-12, atol=1e-13)
    few, _ = layer.forward(
        [p.astype(np.float32) for p in params], x.astype(np.float32), PassContext(mask=mask)
    )
    assert_allclose(few, found, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mask", [None, SHORT])
@pytest.mark.parametrize(
    "layer",
    [MultiHeadAttention(2), MultiHeadAttention(2, causal=False), TransformerBlock(2),
     TransformerBlock(1, hidden=3, activation="relu", causal=False), LayerNorm(),
     PositionalEmbedding(7), PositionalEmbedding(5, "sinusoidal")],
)  # fmt: skip
def test_slopes_are_finite_differences(layer, mask):
    rng = np.random.default_rng(0)
    params = layer.init_params((5, 4), rng, np.float64)
    params = [p + 0.3 * rng.normal(size=p.shape) for p in params]
    x, pull = rng.normal(size=(3, 5, 4)), rng.normal(size=(3, 5, 4))
    context = PassContext(mask=mask)

    def value():
        return (layer.forward(params, x, context)[0] * pull).sum()

    _, cache = layer.forward(params, x, context)
    dx, gradients = layer.backward(params, cache, pull.copy())
    for array, gradient in zip([x, *params], [dx, *gradients], strict=True):
        assert_allclose(gradient, differences(value, array), rtol=1e-5, atol=1e-7)


def test_slopes_through_a_whole_stack_with_dropout_are_finite_differences():
    rng = np.random.default_rng(0)
    layers = [Embedding(5, 4), PositionalEmbedding(6), TransformerBlock(2, dropout=0.3),
              Lstm(4, all_states=True), LayerNorm(), Dense(3, "gelu")]  # fmt: skip
    network, params = build_network(layers, (6,), rng, np.float64)
    x, pull = rng.integers(0, 5, (3, 6)).astype(float), rng.normal(size=(3, 6, 3))
    context = PassContext(training=True, seed=4)

    def value():
        return (forward(network, params, x, context)[0] * pull).sum()

    _, caches = forward(network, params, x, context)
    _, gradients = backward(network, params, caches, pull.copy())
    for array, gradient in zip(params, gradients, strict=True):
        assert_allclose(gradient, differences(value, array), rtol=1e-5, atol=1e-7)


def test_a_causal_step_knows_nothing_of_later_ones():
    rng = np.random.default_rng(0)
    block = TransformerBlock(2)
    params = block.init_params((6, 4), rng, np.float64)
    x = rng.normal(size=(2, 6, 4))
    before, _ = block.forward(params, x, PassContext())
    x[:, 3:] = rng.normal(size=(2, 3, 4))
    after, _ = block.forward(params, x, PassContext())
    assert_array_equal(before[:, :3], after[:, :3])
    assert np.abs(before[:, 3:] - after[:, 3:]).min() > 0


def test_attention_without_order_is_blind_to_the_order_of_steps():
    rng = np.random.default_rng(0)
    layer = MultiHeadAttention(2, causal=False)
    params = layer.init_params((6, 4), rng, np.float64)
    x, order = rng.normal(size=(2, 6, 4)), rng.permutation(6)
    a, _ = layer.forward(params, x, PassContext())
    b, _ = layer.forward(params, x[:, order], PassContext())
    assert_allclose(a[:, order], b, rtol=1e-12)


def test_a_query_without_keys_gives_zero_and_not_a_number_stays():
    q = np.ones((1, 1, 2, 3))
    out, cache = attend(q, q, q, exists=np.zeros((1, 2), bool))
    assert_array_equal(out, 0)
    assert_array_equal(cache.weights, 0)
    assert np.isnan(attend(q * np.nan, q, q)[0]).all()


@pytest.mark.parametrize("cuts", [(2, 5), (1, 2, 3, 4, 5, 6)])
@pytest.mark.parametrize(
    "layers",
    [[Lstm(4, all_states=True)], [Gru(4, all_states=True), Rnn(4, all_states=True)],
     [PositionalEmbedding(8), TransformerBlock(2), TransformerBlock(1)]],
)  # fmt: skip
def test_windows_with_carried_states_are_one_sequence(layers, cuts):
    rng = np.random.default_rng(0)
    network, params = build_network(layers, (7, 4), rng, np.float64)
    x = rng.normal(size=(3, 7, 4))
    whole, _ = forward(network, params, x)
    states, parts = LayerStates(), []
    for a, b in zip((0, *cuts), (*cuts, 7), strict=True):
        states = LayerStates(states.last)
        parts.append(forward(network, params, x[:, a:b], PassContext(states=states))[0])
    assert_allclose(np.concatenate(parts, axis=1), whole, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("mask", [None, SHORT])
@pytest.mark.parametrize("name", CELLS)
def test_slopes_in_given_and_last_states_are_finite_differences(name, mask):
    rng = np.random.default_rng(0)
    layer = CELLS[name]._replace(all_states=True)
    params = layer.init_params((5, 3), rng, np.float64)
    x, pull = rng.normal(size=(3, 5, 3)), rng.normal(size=(3, 5, 4))
    width = 4 if name == "lstm" else 0
    start = (rng.normal(size=(3, 4)), rng.normal(size=(3, 4 if layer.has_memory else 0)))
    pulls = (rng.normal(size=(3, 4)), rng.normal(size=(3, width)))

    def value():
        states = LayerStates([start])
        out, _ = layer.forward(params, x, PassContext(mask=mask, states=states))
        last = states.last[0]
        return (
            (out * pull).sum()
            + (last[0] * pulls[0]).sum()
            + ((last[1] * pulls[1]).sum() if width else 0)
        )

    states = LayerStates([start])
    _, cache = layer.forward(params, x, PassContext(mask=mask, states=states))
    states.last_gradients[0] = (pulls[0], pulls[1] if width else 0)
    layer.backward(params, cache, pull.copy())
    assert_allclose(states.gradients[0][0], differences(value, start[0]), rtol=1e-6, atol=1e-8)
    if width:
        assert_allclose(states.gradients[0][1], differences(value, start[1]), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_compiled_gelu_is_that_of_the_normal_distribution(dtype):
    z = np.linspace(-30, 30, 60_001).astype(dtype)
    wide = z.astype(np.float64)
    value, cache = Activation("gelu").apply(z[None].copy())
    atol = {np.float32: 3e-7, np.float64: 1e-14}[dtype]
    assert value.dtype == dtype
    assert_allclose(value[0], wide * ndtr(wide), rtol=atol, atol=atol)
    slope = Activation("gelu").backpropagate(cache, np.ones_like(cache))
    density = np.exp(-wide * wide / 2) / np.sqrt(2 * np.pi)
    assert_allclose(slope[0], ndtr(wide) + wide * density, rtol=atol, atol=3 * atol)


def test_sines_and_cosines_of_positions():
    table = sinusoidal_positions(50, 6)
    assert_allclose(table[7, 2:4], [np.sin(7 / 10_000 ** (1 / 3)), np.cos(7 / 10_000 ** (1 / 3))])
    turned = table[:-1, 0::2] * np.cos(1.0 / 10_000 ** (np.arange(3) / 3)) + table[
        :-1, 1::2
    ] * np.sin(1.0 / 10_000 ** (np.arange(3) / 3))
    assert_allclose(turned, table[1:, 0::2], atol=1e-12)  # one step further is a rotation


def test_layers_refuse_shapes_in_words():
    with pytest.raises(ValueError, match="multiple of the number of heads"):
        MultiHeadAttention(3).output_shape((5, 4))
    with pytest.raises(ValueError, match="takes rows of shape"):
        MultiHeadAttention(1).output_shape((5,))
    with pytest.raises(ValueError, match="sequences have 9 steps"):
        PositionalEmbedding(8).output_shape((9, 4))
    with pytest.raises(ValueError, match="learned"):
        PositionalEmbedding(8, "other").output_shape((8, 4))


def test_convolution_recurrence_and_attention_in_one_model():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 16, 1)).astype(np.float32)
    place = rng.integers(0, 13, 400)
    y = rng.integers(0, 2, 400)
    for i in range(400):  # a rising or a falling ramp somewhere
        ramp = np.array([-3, -1, 1, 3]) * (1 if y[i] else -1)
        X[i, place[i] : place[i] + 4, 0] += ramp
    stacks = {
        "recurrent": [Conv1d(8, 4, activation="relu"), BatchNorm(), MaxPool(2), Gru(12), Dense()],
        "attention": [Conv1d(8, 4, activation="relu"), TransformerBlock(2, causal=False),
                      Lstm(12), Dense()],
    }  # fmt: skip
    for layers in stacks.values():
        model = SequentialClassifier(
            layers, epochs=25, learning_rate=0.01, batch_size=32, random_state=0
        )
        assert model.fit(X[:300], y[:300]).score(X[300:], y[300:]) > 0.85
