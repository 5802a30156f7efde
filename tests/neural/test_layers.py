"""Layers and losses: finite differences, PyTorch's numbers, and what each layer promises."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tenfold.math import losses as score_losses
from tenfold.neural import (
    Activation,
    AveragePool,
    BatchNorm,
    Conv1d,
    Conv2d,
    Dense,
    Dropout,
    Flatten,
    LayerNorm,
    MaxPool,
    PassContext,
    Reshape,
    Softmax,
    losses,
)
from tenfold.neural._buffer_pool import BufferPool, empty
from tenfold.neural.initializers import INITIALIZERS, fan_in_and_out, initialize_weights
from tenfold.neural.layers.activations import ACTIVATIONS
from tenfold.neural.layers.base import count_buffers
from tenfold.neural.network import (
    backward,
    build_network,
    count_parameters,
    forward,
    forward_layers,
)

RNG = np.random.default_rng(0)
TORCH = np.load(Path(__file__).parents[1] / "reference" / "torch_numbers.npz")
SMOOTH = [name for name in ACTIVATIONS if name not in ("step", "sign")]
TRAINING = PassContext(training=True, seed=5)

LAYERS = [
    (Dense(3, "tanh"), (4,)),
    (Dense(3, "relu", bias=False), (4,)),
    (Dense(2, "gelu"), (5, 4)),
    *((Activation(name), (4,)) for name in SMOOTH),
    (Softmax(0.7), (5,)),
    (Conv2d(3, 3, "tanh"), (5, 6, 2)),
    (Conv2d(3, 3, "relu"), (5, 6, 1)),
    (Conv2d(2, (2, 3), "elu", stride=2, padding=1), (6, 5, 2)),
    (Conv2d(2, (3, 1), stride=(1, 2), padding="same", bias=False), (4, 5, 3)),
    (Conv1d(3, 3, "tanh", stride=2, padding=1), (7, 2)),
    (Conv1d(2, 4), (6, 1)),
    (MaxPool(2), (5, 6, 3)),
    (MaxPool(3, 1), (5, 4, 2)),
    (MaxPool(2), (7, 3)),
    (MaxPool(None), (3, 4, 2)),
    (AveragePool(2), (5, 6, 3)),
    (AveragePool((2, 3), 1), (5, 4, 2)),
    (AveragePool(None), (7, 3)),
    (Flatten(), (2, 3)),
    (Reshape((3, 2)), (2, 3)),
    (Dropout(0.4), (6,)),
    (BatchNorm(), (4,)),
    (BatchNorm(), (3, 2, 2)),
    (LayerNorm(), (4,)),
    (LayerNorm(), (3, 4)),
]


def moved(array, position, by):
    other = array.copy()
    other.flat[position] += by
    return other


def differences(f, array, h=1e-6):
    gradients = [
        (f(moved(array, i, h)) - f(moved(array, i, -h))) / (2 * h) for i in range(array.size)
    ]
    return np.reshape(gradients, array.shape)


def named(value):
    return str(value).replace(" ", "")


@pytest.mark.parametrize(("layer", "shape"), LAYERS, ids=named)
@pytest.mark.parametrize("context", [TRAINING, PassContext()], ids=["training", "predicting"])
def test_slopes_are_those_of_finite_differences(layer, shape, context):
    x = RNG.normal(size=(3, *shape))
    params = [p + 0.3 * RNG.random(p.shape) for p in layer.init_params(shape, RNG, np.float64)]
    y, cache = layer.forward(params, x, context)
    assert y.shape == (3, *layer.output_shape(shape))
    pull = RNG.normal(size=y.shape)
    dx, gradients = layer.backward(params, cache, pull.copy())
    value = lambda p, x: (layer.forward(p, x, context)[0] * pull).sum()  # noqa: E731
    assert_allclose(dx, differences(lambda x: value(params, x), x), rtol=1e-5, atol=1e-7)
    for i in range(len(params) - count_buffers(layer)):
        numeric = differences(
            lambda p, i=i: value([*params[:i], p, *params[i + 1 :]], x), params[i]
        )
        assert_allclose(gradients[i], numeric, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(("layer", "shape"), LAYERS, ids=named)
def test_float32_stays_float32_and_rows_stay_as_they_are(layer, shape):
    x = RNG.normal(size=(3, *shape)).astype(np.float32)
    before = x.copy()
    params = layer.init_params(shape, RNG, np.float32)
    y, cache = layer.forward(params, x, TRAINING)
    dx, gradients = layer.backward(params, cache, np.ones_like(y))
    assert {a.dtype for a in [y, dx, *params, *gradients]} == {np.dtype(np.float32)}
    assert [p.shape for p in params] == [s.shape for s in gradients]
    assert np.array_equal(x, before)


@pytest.mark.parametrize(("layer", "shape"), LAYERS, ids=named)
def test_without_need_of_the_input_the_other_slopes_are_the_same(layer, shape):
    x = RNG.normal(size=(3, *shape))
    params = layer.init_params(shape, RNG, np.float64)
    y, _ = layer.forward(params, x, TRAINING)
    with_input, without = (
        layer.backward(
            params, layer.forward(params, x, TRAINING)[1], np.ones_like(y), need_input=need
        )[1]
        for need in (True, False)
    )
    assert all(map(np.array_equal, with_input, without))


@pytest.mark.parametrize("name", [n for n in SMOOTH if n != "linear"])
def test_activations_are_those_of_torch(name):
    a, cache = Activation(name).forward([], TORCH["bend_z"], PassContext())
    gradient, _ = Activation(name).backward([], cache, np.arange(20.0).reshape(5, 4))
    assert_allclose(a, TORCH[f"bend_{name}_value"], rtol=1e-6)
    assert_allclose(gradient, TORCH[f"bend_{name}_slope"], rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("name", ["step", "sign"])
def test_steps_go_forward_only(name):
    y, cache = Activation(name).forward([], np.array([[-2.0, 3.0]]), PassContext())
    assert y.tolist() == ([[0.0, 1.0]] if name == "step" else [[-1.0, 1.0]])
    with pytest.raises(ValueError, match="gradient zero"):
        Activation(name).backward([], cache, y)


LOSSES = [
    (losses.CrossEntropy(), 3, "classes"),
    (losses.CrossEntropy(smoothing=0.2), 3, "classes"),
    (losses.BinaryCrossEntropy(), 1, "two"),
    (losses.BinaryCrossEntropy(), 3, "columns"),
    (losses.MulticlassHinge(), 3, "classes"),
    (losses.MulticlassHinge(), 1, "two"),
    (losses.HalfSquaredError(), 2, "numbers"),
    (losses.GaussianLikelihood(), 4, "numbers"),
    (losses.as_loss(score_losses.HuberLoss()), 2, "numbers"),
    (losses.as_loss(score_losses.PoissonLoss()), 1, "counts"),
    (losses.as_loss(score_losses.LogisticLoss()), 1, "two"),
    (losses.as_loss(score_losses.SoftmaxLoss()), 3, "classes"),
]


def targets(kind):
    return {
        "classes": RNG.integers(3, size=6),
        "two": RNG.integers(2, size=6),
        "columns": RNG.integers(2, size=(6, 3)),
        "numbers": RNG.normal(size=(6, 2)),
        "counts": RNG.integers(5, size=6).astype(float),
    }[kind]


@pytest.mark.parametrize("weighed", [False, True])
@pytest.mark.parametrize(("loss", "units", "kind"), LOSSES, ids=named)
def test_losses_have_the_slopes_of_finite_differences(loss, units, kind, weighed):
    z, y, w = RNG.normal(size=(6, units)), targets(kind), RNG.random(6) if weighed else None
    value, gradient = loss.value_and_gradient(z.copy(), y, w)
    assert_allclose(
        gradient,
        differences(lambda z: loss.value_and_gradient(z, y, w)[0], z),
        rtol=1e-5,
        atol=1e-7,
    )
    each = [loss.value_and_gradient(z[i : i + 1], y[i : i + 1], None)[0] for i in range(6)]
    assert_allclose(value, np.dot(each, np.ones(6) if w is None else w), rtol=1e-12)


@pytest.mark.parametrize("units", [1, 3])
def test_likelihood_of_shares_is_cross_entropy_of_scores(units):
    z, y = RNG.normal(size=(6, units)), RNG.integers(max(units, 2), size=6)
    end = Activation("sigmoid") if units == 1 else Softmax()
    of_scores = losses.BinaryCrossEntropy() if units == 1 else losses.CrossEntropy()
    p, cache = end.forward([], z, PassContext())
    value, gradient = losses.Likelihood().value_and_gradient(p, y, None)
    want, want_slope = of_scores.value_and_gradient(z, y, None)
    assert_allclose(value, want)
    assert_allclose(end.backward([], cache, gradient)[0], want_slope, atol=1e-12)


@pytest.mark.parametrize("name", ["cross_entropy", "hinge", "binary_cross_entropy", "gaussian"])
def test_losses_are_those_of_torch(name):
    z, y = TORCH["loss_z"], TORCH["loss_y"]
    used = {"binary_cross_entropy": 1, "gaussian": 2}.get(name, 3)
    y = y > 0 if used == 1 else y.astype(float) if used == 2 else y
    value, gradient = losses.as_loss(name).value_and_gradient(z[:, :used], y, None)
    assert_allclose(value, TORCH[f"loss_{name}_value"], rtol=1e-6)
    assert_allclose(gradient, TORCH[f"loss_{name}_slope"][:, :used], rtol=1e-6, atol=1e-12)


def test_a_network_of_images_is_that_of_torch():
    layers = [
        Conv2d(5, (3, 2), "tanh", stride=(2, 1), padding=1),
        MaxPool((2, 3), 2),
        BatchNorm(),
        AveragePool((1, 2)),
        Flatten(),
        Dense(3),
    ]
    network, params = build_network(layers, (9, 8, 2), RNG, np.float64)
    names = ["W1", "b1", "g", "h", None, None, "W2", "b2"]
    params = [p if n is None else TORCH[f"net_{n}"] for p, n in zip(params, names, strict=True)]
    z, cache = forward(network, params, TORCH["net_x"], TRAINING)
    loss, gradient = losses.CrossEntropy().value_and_gradient(z, TORCH["net_y"], None)
    dx, gradients = backward(network, params, cache, gradient, need_input=True)
    assert_allclose(loss, TORCH["net_loss"], rtol=1e-8)
    assert_allclose(dx, TORCH["net_x_slope"], rtol=1e-6, atol=1e-9)
    for name, mine in zip(names, gradients, strict=True):
        if name is not None:
            assert_allclose(mine, TORCH[f"net_{name}_slope"], rtol=1e-6, atol=1e-9, err_msg=name)


def test_a_shift_of_the_image_shifts_the_feature_map():
    layer = Conv2d(4, 3, "relu")
    params = layer.init_params((12, 12, 2), RNG, np.float64)
    x = RNG.normal(size=(2, 12, 12, 2))
    y = layer.forward(params, x, PassContext())[0]
    shifted = layer.forward(params, np.roll(x, (2, 1), axis=(1, 2)), PassContext())[0]
    assert_allclose(shifted[:, 2:, 1:], y[:, :-2, :-1])


def test_ties_of_a_window_pull_one_number_only():
    layer = MaxPool(2)
    _, cache = layer.forward([], np.ones((1, 2, 2, 1)), PassContext())
    dx, _ = layer.backward([], cache, np.full((1, 1, 1, 1), 5.0))
    assert dx.ravel().tolist() == [5.0, 0.0, 0.0, 0.0]


def test_dropout_belongs_to_the_row_of_the_batch():
    x = np.ones((10, 7))
    whole = Dropout(0.5).forward([], x, TRAINING)[0]
    end = Dropout(0.5).forward([], x[4:], TRAINING._replace(first_row=4))[0]
    assert np.array_equal(whole[4:], end)
    assert not np.array_equal(whole, Dropout(0.5).forward([], x, TRAINING._replace(seed=6))[0])
    assert Dropout(0.5).forward([], x, PassContext())[0] is x
    many = Dropout(0.3).forward([], np.ones((1000, 100)), TRAINING)[0]
    assert abs(many.mean() - 1) < 0.01


def test_batch_norm_has_mean_zero_and_variance_one():
    layer = BatchNorm()
    x = 5 + 3 * RNG.normal(size=(200, 4, 3))
    params = layer.init_params((4, 3), RNG, np.float64)
    y, cache = layer.forward(params, x, TRAINING)
    assert_allclose(y.mean(axis=(0, 1)), 0, atol=1e-12)
    assert_allclose(y.var(axis=(0, 1)), 1, rtol=1e-4)
    *_, mean, variance = layer.backward(params, cache, np.ones_like(y))[1]
    assert_allclose(mean, x.mean(axis=(0, 1)))
    assert_allclose(variance, x.var(axis=(0, 1)))


@pytest.mark.parametrize("start", sorted(INITIALIZERS))
def test_starts_are_as_wide_as_they_say(start):
    W = initialize_weights(start, None, (3, 3, 40, 60), np.random.default_rng(1), np.float64)
    into, out = fan_in_and_out(W.shape)
    wide = {"glorot": 2 / (into + out), "he": 2 / into, "lecun": 1 / into}
    if start == "orthogonal":
        assert_allclose(W[0, 0] @ W[0, 0].T, np.eye(40), atol=1e-10)
    else:
        assert_allclose(W.var(), wide.get(start.split("_")[0], 0), rtol=0.03)
        assert abs(W.mean()) < 3 * W.std() / np.sqrt(W.size) + 1e-15


def test_what_does_not_fit_says_where_and_what():
    with pytest.raises(ValueError, match=r"layer 1: Conv2d takes rows of shape .* gives \(5,\)"):
        build_network([Dense(5), Conv2d(3)], (4,), RNG)
    with pytest.raises(ValueError, match="layer 0: MaxPool takes rows of shape at least"):
        build_network([MaxPool(4)], (3, 3, 1), RNG)
    with pytest.raises(ValueError, match="no activation 'rely'"):
        build_network([Dense(5, "rely")], (4,), RNG)
    with pytest.raises(ValueError, match="no initializer 'hee'"):
        build_network([Dense(5, init="hee")], (4,), RNG)
    with pytest.raises(ValueError, match="no loss 'square'"):
        losses.as_loss("square")


def test_outputs_of_every_layer_and_numbers_of_parameters():
    layers = [Conv2d(32, 3, "relu"), MaxPool(2), Flatten(), Dense(10)]
    network, params = build_network(layers, (28, 28, 1), RNG)
    assert count_parameters(params) == 3 * 3 * 32 + 32 + 13 * 13 * 32 * 10 + 10
    x = RNG.random((2, 28, 28, 1), dtype=np.float32)
    given = forward_layers(network, params, x)
    assert [a.shape[1:] for a in given] == network.shapes
    assert np.array_equal(given[-1], forward(network, params, x)[0])


def test_scratch_gives_memory_again_only_when_nobody_has_it():
    scratch = BufferPool()
    with scratch.activate():
        a = empty((300, 300), np.float32)
        b = empty((300, 300), np.float32)
        place = a.ctypes.data
        assert not np.shares_memory(a, b)
        view = a[5:]
        del a
        assert empty((300, 300), np.float32).ctypes.data != place
        del view
        assert empty((450, 200), np.float32).ctypes.data == place
