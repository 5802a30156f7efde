"""Layers with a state: torch's numbers, finite differences, the notes' claims, masks."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from tenfold.neural import Bidirectional, Embedding, GatedRnn, Gru, Lstm, PassContext, Rnn

CELLS = {
    "rnn": Rnn(4),
    "relu": Rnn(4, "relu"),
    "gated": GatedRnn(4),
    "gru": Gru(4),
    "lstm": Lstm(4),
}
TORCH = np.load(Path(__file__).parents[1] / "reference" / "recurrent_numbers.npz")
SHORT = np.arange(5) < np.array([5, 2, 4])[:, None]  # (n, t): sequences of 5, 2 and 4 steps


def drawn(layer, seed=0, shape=(5, 3), dtype=np.float64):
    """Parameters and three sequences."""
    rng = np.random.default_rng(seed)
    params = layer.init_params(shape, rng, dtype)
    params = [p + 0.3 * rng.normal(size=p.shape).astype(dtype) for p in params]
    return params, rng.normal(size=(3, *shape)).astype(dtype)


def gradients(layer, params, x, pull, mask=None):
    """Slopes of the sum of `pull` times what comes out: in the input, then in each parameter."""
    _, cache = layer.forward(params, x, PassContext(mask=mask))
    down, own = layer.backward(params, cache, pull.copy())
    return [down, *own]


def ours(weights, suffix=""):
    """Parameters from those of torch."""
    W, U, b, c = (
        weights[f"{n}_l0{suffix}"] for n in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    )
    if len(b) != 3 * U.shape[1]:
        return [W.T.copy(), U.T.copy(), b + c]
    u = U.shape[1]
    return [
        W.T.copy(),
        U.T.copy(),
        np.concatenate([b[: 2 * u] + c[: 2 * u], b[2 * u :], c[2 * u :]]),
    ]


@pytest.mark.parametrize(
    ("name", "side", "shown"),
    [*product(["rnn", "relu", "gru", "lstm"], ["one"], ["states", "last"]),
     ("lstm", "both", "states"), ("lstm", "both", "last")],
)  # fmt: skip
def test_torch_gives_the_same_states_and_slopes_of_sequences_of_different_lengths(
    name, side, shown
):
    start = f"{name}.{side}."
    numbers = {key.removeprefix(start): TORCH[key] for key in TORCH if key.startswith(start)}
    weights = {k.removeprefix("weight."): v for k, v in numbers.items() if k.startswith("weight.")}
    layer = CELLS[name]._replace(all_states=shown == "states")
    params = ours(weights)
    if side == "both":
        layer, params = Bidirectional(layer), params + ours(weights, "_reverse")
    out, _ = layer.forward(params, TORCH["x"], PassContext(mask=SHORT))
    assert_allclose(out, numbers[shown], rtol=1e-12, atol=1e-14)

    pull = np.cos(np.arange(out.size)).reshape(out.shape)
    there = f"{shown}.slope."
    wanted = {k.removeprefix(there): v for k, v in numbers.items() if k.startswith(there)}
    found = gradients(layer, params, TORCH["x"], pull, SHORT)
    assert_allclose(found[0], wanted["x"], rtol=1e-10, atol=1e-13)
    for suffix, own in zip(["", "_reverse"], [found[1:4], found[4:]], strict=False):
        if not own:
            continue
        W, U, b, c = (
            wanted[f"{n}_l0{suffix}"] for n in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        )
        assert_allclose(own[0], W.T, rtol=1e-10, atol=1e-13)
        assert_allclose(own[1], U.T, rtol=1e-10, atol=1e-13)
        assert_allclose(own[2], [*b, *(c[8:] if name == "gru" else [])], rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("mask", [None, SHORT, np.roll(SHORT, 1, axis=1)])
@pytest.mark.parametrize("every", [False, True])
@pytest.mark.parametrize("name", [*CELLS, "both"])
def test_slopes_are_finite_differences(name, every, mask):
    layer = CELLS.get(name, CELLS["gated"])._replace(all_states=every)
    layer = Bidirectional(layer) if name == "both" else layer
    params, x = drawn(layer)
    pull = np.random.default_rng(1).normal(size=(3, *layer.output_shape((5, 3))))

    def value():
        return (layer.forward(params, x, PassContext(mask=mask))[0] * pull).sum()

    for array, gradient in zip([x, *params], gradients(layer, params, x, pull, mask), strict=True):
        assert_allclose(gradient, differences(value, array), rtol=1e-6, atol=1e-8)


def differences(value, array, e=1e-6):
    """Central differences of `value()` in each number of an array that it looks at."""
    found = np.empty_like(array)
    for place in np.ndindex(array.shape):
        here = array[place]
        array[place] = here + e
        up = value()
        array[place] = here - e
        found[place] = (up - value()) / (2 * e)
        array[place] = here
    return found


@pytest.mark.parametrize("name", CELLS)
def test_single_precision_follows_double(name):
    layer = CELLS[name]._replace(all_states=True)
    params, x = drawn(layer, shape=(30, 3))
    pull = np.random.default_rng(1).normal(size=(3, 30, 4))
    few = [p.astype(np.float32) for p in params]
    exact = [layer.forward(params, x, PassContext())[0], *gradients(layer, params, x, pull)]
    x, pull = x.astype(np.float32), pull.astype(np.float32)
    found = [layer.forward(few, x, PassContext())[0], *gradients(layer, few, x, pull)]
    for a, b in zip(found, exact, strict=True):
        assert a.dtype == np.float32
        assert np.abs(a - b).max() <= 1e-5 * np.abs(b).max()


def test_the_quick_tanh_is_one_to_all_digits_of_single_precision():
    points = np.concatenate([np.linspace(-30, 30, 20_001), np.geomspace(1e-30, 1, 1000)])
    points = points.astype(np.float32)
    params = [np.ones((1, 1), np.float32), np.zeros((1, 1), np.float32), np.zeros(1, np.float32)]
    found, _ = Rnn(1).forward(params, points[:, None, None], PassContext())
    assert_allclose(found[:, 0], np.tanh(points.astype(np.float64)), rtol=5e-7)
    odd = np.array([np.nan, np.inf, -np.inf], np.float32)
    found, _ = Rnn(1).forward(params, odd[:, None, None], PassContext())
    assert_array_equal(found[:, 0], [np.nan, 1, -1])


@pytest.mark.parametrize("name", [*CELLS, "both"])
@given(length=st.integers(0, 5), rubbish=st.floats(-1e3, 1e3))
def test_steps_that_are_not_there_say_nothing(name, length, rubbish):
    layer = Bidirectional(CELLS["lstm"]) if name == "both" else CELLS[name]
    params, x = drawn(layer)
    alone, _ = layer.forward(params, x[:, :length], PassContext())
    x[:, length:] = rubbish
    mask = np.broadcast_to(np.arange(5) < length, (3, 5))
    padded, _ = layer.forward(params, x, PassContext(mask=mask))
    assert_allclose(padded, alone, rtol=1e-12, atol=1e-15)
    assert_array_equal(gradients(layer, params, x, np.ones_like(padded), mask)[0][:, length:], 0)


@pytest.mark.parametrize("name", CELLS)
def test_all_states_end_in_the_last_and_are_zero_where_no_step_is(name):
    layer = CELLS[name]
    params, x = drawn(layer)
    last, _ = layer.forward(params, x, PassContext(mask=SHORT))
    states, _ = layer._replace(all_states=True).forward(params, x, PassContext(mask=SHORT))
    assert_array_equal(states[np.arange(3), [4, 1, 3]], last)
    assert_array_equal(states[~SHORT], 0)


@pytest.mark.parametrize("name", CELLS)
def test_the_order_of_steps_matters_and_that_of_rows_does_not(name):
    params, x = drawn(CELLS[name])
    out, _ = CELLS[name].forward(params, x, PassContext())
    turned, _ = CELLS[name].forward(params, x[::-1], PassContext())
    assert_allclose(turned[::-1], out, rtol=1e-12)
    assert np.abs(CELLS[name].forward(params, x[:, ::-1], PassContext())[0] - out).max() > 1e-3


@pytest.mark.parametrize("mask", [None, SHORT])
@pytest.mark.parametrize("name", CELLS)
def test_truncated_slopes_reach_the_last_steps_and_no_further(name, mask):
    layer = CELLS[name]
    params, x = drawn(layer)
    pull = np.ones((3, 4))
    full = gradients(layer, params, x, pull, mask)
    for a, b in zip(
        gradients(layer._replace(truncate=5), params, x, pull, mask), full, strict=True
    ):
        assert_array_equal(a, b)
    cut = gradients(layer._replace(truncate=2), params, x, pull, mask)[0]
    lengths = np.full(3, 5) if mask is None else mask.sum(axis=1)
    late = np.arange(5) >= lengths[:, None] - 2
    assert_array_equal(cut[late], full[0][late])
    assert_array_equal(cut[~late], 0)


@pytest.mark.parametrize("name", CELLS)
def test_truncated_slopes_of_all_states_are_those_of_pieces(name):
    """The states before a piece are constants: only the slopes of the piece's own states count."""
    layer = CELLS[name]._replace(all_states=True)
    params, x = drawn(layer)
    pull = np.random.default_rng(1).normal(size=(3, 5, 4))
    found = gradients(layer._replace(truncate=2), params, x, pull)[0]
    for piece in ([0], [1, 2], [3, 4]):  # counted from the end
        own = np.zeros_like(pull)
        own[:, piece] = pull[:, piece]
        assert_allclose(found[:, piece], gradients(layer, params, x, own)[0][:, piece], rtol=1e-12)


def test_bidirectional_is_one_layer_from_each_end():
    layer = Bidirectional(Gru(4, all_states=True))
    params, x = drawn(layer)
    out, _ = layer.forward(params, x, PassContext())
    ahead, _ = layer.layer.forward(params[:3], x, PassContext())
    back, _ = layer.layer.forward(params[3:], x[:, ::-1], PassContext())
    assert_array_equal(out, np.concatenate([ahead, back[:, ::-1]], axis=2))


def test_embedding_is_a_product_with_one_hot_rows():
    table = np.random.default_rng(0).normal(size=(6, 2))
    symbols = np.random.default_rng(1).integers(0, 6, (4, 5))
    hot = np.eye(6)[symbols]
    layer = Embedding(6, 2)
    for x in (symbols, symbols[:, :, None].astype(np.float32)):
        out, cache = layer.forward([table], x, PassContext())
        assert_allclose(out, hot @ table)
        pull = np.random.default_rng(2).normal(size=out.shape)
        _, (gradient,) = layer.backward([table], cache, pull)
        assert_allclose(gradient, np.einsum("nts,ntw->sw", hot, pull), rtol=1e-12)


@pytest.mark.parametrize("wrong", [-1, 6, 2.5])
def test_embedding_names_what_is_no_symbol(wrong):
    with pytest.raises(ValueError, match=rf"step 1 .* is {wrong}, .* from 0 to 5"):
        Embedding(6, 2).forward([np.zeros((6, 2))], np.array([[0, wrong]]), PassContext())


def test_layers_say_what_they_take():
    with pytest.raises(ValueError, match=r"Lstm takes rows of shape \(steps, numbers\)"):
        Lstm(4).output_shape((7,))
    with pytest.raises(ValueError, match="Embedding takes rows of shape"):
        Embedding(4, 2).output_shape((7, 3))
    with pytest.raises(ValueError, match="activation='sigmoid': take one of"):
        Rnn(4, "sigmoid").output_shape((5, 3))
    with pytest.raises(ValueError, match="truncate=0"):
        Gru(4, truncate=0).output_shape((5, 3))
