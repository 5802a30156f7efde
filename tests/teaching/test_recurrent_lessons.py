"""Recurrent layers as the notes write them [003, lecture 10]: equations, shared weights, claims."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tenfold.neural import GatedRnn, Gru, Lstm, PassContext, Rnn
from tenfold.teaching.autodiff import value_and_grad


def drawn(layer):
    """Parameters and three sequences of five steps."""
    rng = np.random.default_rng(0)
    params = [
        p + 0.3 * rng.normal(size=p.shape) for p in layer.init_params((5, 3), rng, np.float64)
    ]
    return params, rng.normal(size=(3, 5, 3))


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def plain(x, state, W, U, b):
    s = np.tanh(x @ W + state[0] @ U + b)
    return s, s


def gated(x, state, W, U, b):
    z, s = x @ W + state[0] @ U + b, state[0]
    g = sigmoid(z[:, :4])
    s = (1 - g) * s + g * np.tanh(z[:, 4:])
    return s, s


def gru(x, state, W, U, b):
    z, back, s = x @ W + b[:12], state[0] @ U, state[0]
    r, keep = sigmoid(z[:, :4] + back[:, :4]), sigmoid(z[:, 4:8] + back[:, 4:8])
    new = np.tanh(z[:, 8:] + r * (back[:, 8:] + b[12:]))
    s = (1 - keep) * new + keep * s
    return s, s


def lstm(x, state, W, U, b):
    z, c = x @ W + state[0] @ U + b, state[1]
    i, f, o = sigmoid(z[:, :4]), sigmoid(z[:, 4:8]), sigmoid(z[:, 12:])
    c = f * c + i * np.tanh(z[:, 8:12])
    return o * np.tanh(c), c


WRITTEN = {Rnn: plain, GatedRnn: gated, Gru: gru, Lstm: lstm}


@pytest.mark.parametrize("kind", WRITTEN)
def test_slopes_are_the_differentiators_summed_over_the_steps_that_share_the_weights(kind):
    layer = kind(4)
    params, x = drawn(layer)
    pull = np.random.default_rng(1).normal(size=(3, 4))

    def value(copies):  # weights of its own for every step
        state = (np.zeros((3, 4)), np.zeros((3, 4)))
        for t in range(5):
            state = WRITTEN[kind](x[:, t], state, *copies[t])
        return np.sum(state[0] * pull)

    wanted, gradients = value_and_grad(value)([list(params) for _ in range(5)])
    state, cache = layer.forward(params, x, PassContext())
    assert_allclose((state * pull).sum(), wanted, rtol=1e-12)
    _, own = layer.backward(params, cache, pull)
    for number, gradient in enumerate(own):
        assert_allclose(gradient, sum(step[number] for step in gradients), rtol=1e-9, atol=1e-12)


def test_without_news_the_state_goes_by_its_own_weights():
    (W, U, b), x = drawn(Rnn(4, all_states=True))
    x[:, 1:] = 0
    states, _ = Rnn(4, all_states=True).forward([W, U, 0 * b], x, PassContext())
    assert_allclose(states[:, 1:], np.tanh(states[:, :-1] @ U), rtol=1e-12)


def test_a_closed_gate_keeps_the_state_and_an_open_one_is_a_plain_network():
    layer = GatedRnn(4, all_states=True)
    (W, U, b), x = drawn(layer)
    W[:, :4], U[:, :4] = 0, 0
    b[:4] = -800
    assert_array_equal(layer.forward([W, U, b], x, PassContext())[0], 0)
    b[:4] = 800
    plain, _ = Rnn(4, all_states=True).forward([W[:, 4:], U[:, 4:], b[4:]], x, PassContext())
    assert_allclose(layer.forward([W, U, b], x, PassContext())[0], plain, rtol=1e-12)


def lstm_with(gates):
    """Parameters whose gates i, f, o are open (1) or shut (0), whatever comes in."""
    (W, U, b), x = drawn(Lstm(4))
    for at, value in zip([0, 1, 3], gates, strict=True):
        part = slice(4 * at, 4 * at + 4)
        W[:, part], U[:, part], b[part] = 0, 0, 800 if value else -800
    return [W, U, b], x


def test_lstm_memory_is_kept_added_up_or_hidden():
    layer = Lstm(4, all_states=True)
    params, x = lstm_with([0, 1, 1])
    assert_array_equal(
        layer.forward(params, x, PassContext())[0], 0
    )  # nothing enters, zero is kept
    params, x = lstm_with([1, 1, 0])
    assert_array_equal(layer.forward(params, x, PassContext())[0], 0)  # what is there is not shown
    params, x = lstm_with([1, 1, 1])
    states, _ = layer.forward(params, x, PassContext())
    before = np.concatenate([np.zeros((3, 1, 4)), states[:, :-1]], axis=1)
    W, U, b = (p[..., 8:12] for p in params)
    memory = np.cumsum(np.tanh(x @ W + before @ U + b), axis=1)
    assert_allclose(states, np.tanh(memory), rtol=1e-10)
    assert np.abs(states).max() < 1
