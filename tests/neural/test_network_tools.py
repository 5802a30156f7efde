"""Tools that look at networks: sizes, augmentation, rates, slopes, symmetries, surfaces."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import signal

from tenfold import (
    ConvClassifier,
    MLPClassifier,
    MLPRegressor,
    RbfNetwork,
    load,
    neural,
    threads,
)
from tenfold.neural import Dense
from tenfold.neural.inspection import node_errors, probe_network
from tenfold.neural.layers.base import PassContext
from tenfold.neural.network import backward, build_network, forward
from tenfold.neural.sequential import SequentialClassifier, SequentialRegressor
from tenfold.teaching import autodiff
from tenfold.teaching.convolution import convolve, cross_correlate, output_size, pool
from tenfold.teaching.loss_landscape import (
    count_symmetries,
    flip_units,
    loss_surface,
    permute_units,
)

RNG = np.random.default_rng(0)
NINES = np.array(
    [[1, 1, 2, 1, 1], [3, 1, 4, 1, 1], [1, 3, 1, 2, 2], [1, 2, 1, 1, 1], [1, 1, 2, 1, 1]]
)
KERNEL = np.array([[1, -2, 0], [1, 0, 1], [-1, 1, 0]])


def two_rings(n=200):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, n)
    angle, radius = rng.uniform(0, 2 * np.pi, n), y + 0.5 + rng.normal(0, 0.1, n)
    return radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]), y


# ---------------------------------------------------------------------------------------- sizes
def test_examples_of_003():
    assert cross_correlate([1, 2, 3], [1, 2], padding="full").tolist() == [2, 5, 8, 3]
    assert convolve([1, 2, 3], [1, 2], padding="full").tolist() == [1, 4, 7, 6]
    z = cross_correlate(NINES, KERNEL)
    assert z.tolist() == [[8, -3, 6], [4, -3, 5], [-3, 5, -2]]
    assert pool(np.maximum(z, 0), stride=1).tolist() == [[8, 6], [5, 5]]
    padded = cross_correlate(NINES, KERNEL, padding="same")
    assert padded[0].tolist() == [4, 1, 5, 0, 1]
    assert padded[1:4, 1:4].tolist() == z.tolist()
    flipped = [[1, 3, 3], [-4, 7, 2], [4, -1, 1]]
    assert convolve(NINES, KERNEL).tolist() == flipped


@settings(max_examples=30)
@given(
    a=st.integers(3, 9),
    b=st.integers(3, 9),
    r=st.integers(1, 3),
    stride=st.integers(1, 3),
    padding=st.integers(0, 2),
    channels=st.integers(1, 3),
)
def test_every_window_by_brute_force(a, b, r, stride, padding, channels):
    x = np.random.default_rng(a * b).normal(size=(a, b, channels))
    w = np.random.default_rng(r).normal(size=(r, r, channels, 2))
    got = cross_correlate(x, w, stride=stride, padding=padding)
    wide = np.pad(x, [(padding, padding), (padding, padding), (0, 0)])
    size = [output_size(n, r, stride, padding) for n in (a, b)]
    assert got.shape == (*size, 2)
    for i, j in itertools.product(*map(range, size)):
        window = wide[i * stride : i * stride + r, j * stride : j * stride + r]
        np.testing.assert_allclose(got[i, j], np.einsum("uvc,uvcm->m", window, w), atol=1e-12)


def test_functions_agree_with_scipy():
    x, w = RNG.normal(size=(8, 7)), RNG.normal(size=(3, 2))
    np.testing.assert_allclose(convolve(x, w), signal.convolve2d(x, w, mode="valid"))
    full = cross_correlate(x, w, padding="full")
    assert full.shape == (10, 8)
    one = convolve(x[0], w[:, 0], padding="full")
    np.testing.assert_allclose(one, np.convolve(x[0], w[:, 0]))


def test_a_shift_of_the_input_is_a_shift_of_the_map():
    """[003, unit 3; 004, 4.6] away from the borders."""
    x, w = np.zeros((12, 12)), RNG.normal(size=(3, 3))
    x[2:5, 2:5] = RNG.normal(size=(3, 3))
    here = cross_correlate(x, w)
    there = cross_correlate(np.roll(x, (3, 4), axis=(0, 1)), w)
    np.testing.assert_allclose(there, np.roll(here, (3, 4), axis=(0, 1)))


@pytest.mark.parametrize(("stride", "padding"), [(1, 0), (2, 1), (3, 2)])
def test_layers_compute_what_the_functions_say(stride, padding):
    x = RNG.normal(size=(2, 11, 9, 3))
    layer = neural.Conv2d(4, 3, stride=stride, padding=padding)
    W, b = layer.init_params((11, 9, 3), RNG, np.float64)
    maps, _ = layer.forward([W, b + 0.5], x, PassContext())
    pooled, _ = neural.MaxPool(2).forward([], x, PassContext())
    means, _ = neural.AveragePool(2).forward([], x, PassContext())
    for i, image in enumerate(x):
        want = cross_correlate(image, W, stride=stride, padding=padding)
        np.testing.assert_allclose(maps[i], want + 0.5, atol=1e-12)
        np.testing.assert_array_equal(pooled[i], pool(image, 2))
        np.testing.assert_allclose(means[i], pool(image, 2, how="mean"))
    assert layer.output_shape((11, 9, 3)) == maps.shape[1:]


def test_pools_of_001():
    x = np.arange(16.0).reshape(4, 4)
    assert pool(x).tolist() == [[5, 7], [13, 15]]
    assert pool(x, how="mean").tolist() == [[2.5, 4.5], [10.5, 12.5]]
    assert pool(x, stride=1).shape == (3, 3)
    channels = np.stack([x, -x], axis=2)
    np.testing.assert_array_equal(pool(channels)[..., 1], pool(-x))


def test_sizes_of_a_network_are_those_of_001():
    assert [output_size(a, 5) for a in (28, 12)] == [24, 8]
    sizes = neural.layer_sizes([Dense(10, "relu"), Dense(5)], (784,))
    assert [s.parameters for s in sizes] == [784 * 10 + 10, 55]
    assert sizes[-1].output == (5,)
    with pytest.raises(ValueError, match="window of 5 does not fit 3"):
        output_size(3, 5)
    with pytest.raises(ValueError, match="odd"):
        cross_correlate(np.ones(5), np.ones(2), padding="same")
    with pytest.raises(ValueError, match="does not fit"):
        cross_correlate(np.ones((5, 5)), np.ones(3))
    with pytest.raises(ValueError, match="'max' or 'mean'"):
        pool(np.ones(4), how="median")


# --------------------------------------------------------------------------------- augmentation
IMAGES = RNG.uniform(size=(40, 9, 9)).astype(np.float32)
CHANGES = [
    neural.Shift(2),
    neural.Rotate(20),
    neural.Flip(0.5),
    neural.Flip(0.5, vertical=True),
    neural.Brightness(0.3),
    neural.Contrast(0.3),
    neural.GaussianNoise(0.1),
    neural.RandomPadding(4),
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda c: type(c).__name__)
def test_a_change_belongs_to_the_row(change):
    """Any cut of the rows gives the same images; another seed gives others."""
    whole = neural.augment(IMAGES, [change], seed=3)
    parts = [
        neural.augment(IMAGES[a:b], [change], seed=3, first_row=a) for a, b in ((0, 7), (7, 40))
    ]
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    assert whole.dtype == np.float32
    assert not np.array_equal(neural.augment(IMAGES, [change], seed=4), whole)
    assert np.unique(whole.reshape(40, -1), axis=0).shape[0] == 40


def test_two_changes_in_a_row_draw_their_own_numbers():
    twice = neural.augment(IMAGES, [neural.Shift(1), neural.Shift(1)], seed=0)
    once = neural.augment(neural.augment(IMAGES, [neural.Shift(1)]), [neural.Shift(1)])
    assert not np.array_equal(twice, once)


def test_shifts_move_and_lose_only_the_border():
    image = np.zeros((200, 7, 7))
    image[:, 3, 3] = 1
    moved = neural.augment(image, [neural.Shift(2)])
    places = np.argwhere(moved == 1)
    assert len(places) == 200
    np.testing.assert_array_equal(np.unique(places[:, 1]), [1, 2, 3, 4, 5])
    np.testing.assert_array_equal(np.unique(places[:, 2]), [1, 2, 3, 4, 5])


def test_random_padding_keeps_the_image_somewhere():
    """28 x 28 uniformly in a (28 + r) x (28 + r) field of zeros [001, 3.4]."""
    image = np.ones((300, 5, 5))
    padded = neural.augment(image, [neural.RandomPadding(3)])
    assert padded.shape == (300, 8, 8)
    assert (padded.sum(axis=(1, 2)) == 25).all()
    corners = {tuple(np.argwhere(each)[0]) for each in padded}
    assert corners == set(itertools.product(range(4), range(4)))
    flat = neural.augment(image.reshape(300, 25), [neural.RandomPadding(3)], shape=(5, 5))
    np.testing.assert_array_equal(flat, padded.reshape(300, 64))


def test_rotation_turns():
    from tenfold.neural.augmentation import rotate_images

    image = RNG.uniform(size=(2, 6, 6, 1))
    np.testing.assert_allclose(rotate_images(image, np.zeros(2)), image)
    quarter = rotate_images(image, np.full(2, np.pi / 2))
    np.testing.assert_allclose(quarter, np.rot90(image, axes=(1, 2)), atol=1e-9)
    half = rotate_images(image, np.full(2, np.pi))
    np.testing.assert_allclose(half, image[:, ::-1, ::-1], atol=1e-9)
    inner = rotate_images(np.ones((1, 9, 9, 1)), np.array([0.3]))[0, 3:6, 3:6]
    np.testing.assert_allclose(inner, 1)


def test_light_and_ink_stay_within_limits():
    bright = neural.augment(IMAGES, [neural.Brightness(0.5)])
    assert bright.min() == 0
    assert bright.max() == 1
    inside = (bright > 0) & (bright < 1)
    gap = np.where(inside, bright - IMAGES, np.nan)
    assert np.nanmax(np.nanstd(gap, axis=(1, 2))) < 1e-6  # one number for all pixels
    thick = neural.augment(IMAGES, [neural.Contrast(0.2)])
    ratio = np.where(thick < 1, thick / IMAGES, np.nan)
    assert np.nanmax(np.nanstd(ratio, axis=(1, 2))) < 1e-5
    assert 0.8 <= np.nanmin(ratio) < 0.9
    noise = neural.augment(np.zeros((50, 20, 20)), [neural.GaussianNoise(0.3)])
    assert noise.std() == pytest.approx(0.3, rel=0.02)


def test_half_of_the_images_are_mirrored():
    mirrored = neural.augment(IMAGES, [neural.Flip()])
    same = (mirrored == IMAGES).all(axis=(1, 2))
    other = (mirrored == IMAGES[:, :, ::-1]).all(axis=(1, 2))
    assert (same | other).all()
    assert 10 < same.sum() < 30


def test_colours_move_together():
    image = np.repeat(IMAGES[..., None], 3, axis=3) * np.array([1, 0.5, 0.25], np.float32)
    moved = neural.augment(image, [neural.Rotate(30), neural.Shift(2)])
    np.testing.assert_allclose(moved[..., 0] * 0.25, moved[..., 2], atol=1e-6)
    with pytest.raises(ValueError, match=r"shape=\(height, width\)"):
        neural.augment(np.ones((3, 4)), [neural.Shift()])


def test_the_layer_works_in_training_alone():
    layer = neural.Augment((neural.Shift(1), neural.GaussianNoise(0.1)))
    x = IMAGES[..., None]
    assert layer.output_shape((9, 9, 1)) == (9, 9, 1)
    np.testing.assert_array_equal(layer.forward([], x, PassContext())[0], x)
    whole, _ = layer.forward([], x, PassContext(training=True, seed=5))
    part, cache = layer.forward([], x[10:], PassContext(training=True, seed=5, first_row=10))
    np.testing.assert_array_equal(part, whole[10:])
    assert layer.backward([], cache, x, need_input=False) == (None, [])
    with pytest.raises(ValueError, match="must be the first layer"):
        layer.backward([], cache, x)
    with pytest.raises(ValueError, match="must keep the shape"):
        neural.Augment((neural.RandomPadding(2),)).output_shape((9, 9, 1))


# ------------------------------------------------------------------------------ looking inside
def chain_loss(model, x, y):
    """The loss of a dense network in plain NumPy, as a function of its parameters."""

    def loss(params):
        a = x
        for number, layer in enumerate(model.network_.layers):
            W, b = params[2 * number : 2 * number + 2]
            z = a @ W + b
            a = np.tanh(z) if layer.activation == "tanh" else z
        return np.sum((a[:, 0] - y) ** 2) / 2

    return loss


@pytest.fixture(scope="module")
def sine():
    x = np.linspace(-2, 2, 60)[:, None]
    y = np.sin(2 * x[:, 0])
    layers = [Dense(5, "tanh"), Dense(4, "tanh"), Dense()]
    model = SequentialRegressor(layers, epochs=60, learning_rate=0.02, random_state=0)
    return model.fit(x, y), x, y


def test_layers_pull_back_as_the_differentiator_does(sine):
    """Hand-written layers and the differentiator agree, layer by layer [001, 3.2.3]."""
    model, x, y = sine
    probe = probe_network(model, x, y)
    z = model.outputs(x)[-1].astype(float)
    _, gradient = probe.objective.loss.value_and_gradient(z, probe.y, None)
    network = probe.objective.network
    _, at_params = node_errors(network, probe.params, probe.x, gradient)
    want = autodiff.grad(chain_loss(model, x, y))(probe.params)
    scale = probe.objective.loss.value_and_gradient(z, probe.y, None)[0] / chain_loss(model, x, y)(
        probe.params
    )
    flat = [array for own in at_params for array in own]
    for got, gradient in zip(flat, want, strict=True):
        np.testing.assert_allclose(got, scale * gradient, rtol=1e-5, atol=1e-7)


def test_worked_network_of_001():
    """Example 3.3.1: tanh, then sigmoid, half squared error: (217) to (220), three ways."""
    layers = [Dense(3, "tanh", bias=False), Dense(2, "sigmoid", bias=False)]
    network, params = build_network(layers, (4,), np.random.default_rng(0), np.float64)
    x, y = RNG.normal(size=(1, 4)), np.array([[1.0, 0.0]])
    out, cache = forward(network, params, x)
    _, by_layers = backward(network, params, cache, out - y)
    W1, W2 = params
    z = np.tanh(x @ W1)
    said = 1 / (1 + np.exp(-z @ W2))
    node = (said - y) * said * (1 - said)  # errors at the output nodes
    hidden = node @ W2.T * (1 - z**2)  # and at the hidden ones
    by_hand = [x.T @ hidden, z.T @ node]

    def loss(params):
        said = 1 / (1 + np.exp(-np.tanh(x @ params[0]) @ params[1]))
        return np.sum((said - y) ** 2) / 2

    for got, hand, ours in zip(by_layers, by_hand, autodiff.grad(loss)(params), strict=True):
        np.testing.assert_allclose(got, hand, atol=1e-14)
        np.testing.assert_allclose(ours, hand, atol=1e-14)


def test_a_convolutional_network_pulls_back_as_the_differentiator_does():
    layers = [neural.Conv2d(3, 3, "tanh"), neural.MaxPool(2), neural.Flatten(), Dense(4)]
    network, params = build_network(layers, (8, 8, 2), np.random.default_rng(0), np.float64)
    x, y = RNG.normal(size=(5, 8, 8, 2)), np.array([0, 3, 1, 1, 2])
    loss = neural.losses.as_loss("cross_entropy")
    z, cache = forward(network, params, x)
    value, gradient = loss.value_and_gradient(z, y, None)
    down, gradients = backward(network, params, cache, gradient, need_input=True)

    def cost(x, params):
        W, b, V, c = params
        windows = [(u, v, x[:, u : u + 6, v : v + 6]) for u in range(3) for v in range(3)]
        maps = np.tanh(sum(part @ W[u, v] for u, v, part in windows) + b)
        pooled = np.max(np.reshape(maps, (5, 3, 2, 3, 2, 3)), axis=(2, 4))
        z = np.reshape(pooled, (5, -1)) @ V + c
        return np.sum(np.logaddexp.reduce(z, axis=1) - z[np.arange(5), y])

    ours, (by_x, by_params) = autodiff.value_and_grad(cost, (0, 1))(x, params)
    assert ours == pytest.approx(value)
    np.testing.assert_allclose(by_x, down, atol=1e-12)
    for got, want in zip(gradients, by_params, strict=True):
        np.testing.assert_allclose(got, want, atol=1e-12)


@pytest.mark.parametrize("depth", [1, 3, 6])
def test_chain_of_single_units_of_003(depth):
    """The printed product of Jacobians, with the factor (f - y) that was lost in printing."""
    w, x, y = RNG.normal(size=depth), 0.7, 0.3
    network, _ = build_network([Dense(1, "tanh", bias=False)] * depth, (1,), RNG, np.float64)
    params = [np.array([[each]]) for each in w]
    out, cache = forward(network, params, np.array([[x]]))
    _, gradients = backward(network, params, cache, out - y)
    f, product = np.tanh(x * w[0]), (1 - np.tanh(x * w[0]) ** 2) * x
    for each in w[1:]:
        product *= (1 - np.tanh(f * each) ** 2) * each
        f = np.tanh(f * each)
    assert gradients[0][0, 0] == pytest.approx(product * (f - y))


def test_saliency_is_the_slope_of_the_score(sine):
    model, x, _ = sine
    params = [p.astype(float) for p in model.params_]

    def score(x):
        a = np.tanh(np.tanh(x @ params[0] + params[1]) @ params[2] + params[3])
        return np.sum(a @ params[4] + params[5])

    np.testing.assert_allclose(neural.saliency(model, x), autodiff.grad(score)(x), rtol=1e-6)


def test_saliency_of_a_class_by_finite_differences():
    X, y = two_rings()
    labels = np.array(["in", "out"])[y]
    model = SequentialClassifier([Dense(8, "tanh"), Dense()], epochs=30, random_state=0)
    model.fit(X, labels)
    for number, name in enumerate(model.classes_):
        f = lambda x, c=number: opened_scores(model, x[None])[0, c]  # noqa: E731
        assert autodiff.check_gradient(f, X[0], neural.saliency(model, X[:1], name)[0])
    best = neural.saliency(model, X[:20])
    said = model.predict(X[:20])
    for i, label in enumerate(said):
        own = neural.saliency(model, X[i : i + 1], label)[0]
        np.testing.assert_allclose(best[i], own, rtol=1e-12)
    with pytest.raises(ValueError, match="'red' was not in the training data"):
        neural.saliency(model, X, "red")


def test_saliency_of_two_classes_with_one_score():
    X, y = two_rings()
    layers = [Dense(8, "tanh"), Dense()]
    model = SequentialClassifier(layers, "binary_cross_entropy", epochs=30, random_state=0)
    model.fit(X, y)
    first, second = (neural.saliency(model, X, label) for label in (0, 1))
    np.testing.assert_array_equal(first, -second)
    said = model.predict(X)[:, None]
    np.testing.assert_array_equal(neural.saliency(model, X), np.where(said == 1, second, first))
    f = lambda x: opened_scores(model, x[None])[0, 0]  # noqa: E731
    assert autodiff.check_gradient(f, X[0], second[0])


def opened_scores(model, x):
    probe = probe_network(model, x)
    return forward(probe.objective.network, probe.params, probe.x)[0]


def test_deep_sigmoids_vanish_and_wide_starts_explode():
    X, y = two_rings()
    deep = MLPClassifier((10,) * 10, activation="logistic", random_state=0)
    report = neural.gradient_report(deep, X, y)
    assert report.verdict == "vanishing"
    assert report.per_layer < 0.5
    gradients = [each.gradient for each in report.layers]
    assert all(a < b for a, b in itertools.pairwise(gradients[:-1]))
    wild = SequentialClassifier([*[Dense(30, init=3.0)] * 6, Dense()], random_state=0)
    assert neural.gradient_report(wild, X, y).verdict == "exploding"
    calm = SequentialClassifier([*[Dense(30, "relu")] * 5, Dense()], random_state=0)
    assert neural.gradient_report(calm, X, y).verdict == "steady"
    assert "steady" in str(neural.gradient_report(calm, X, y))


def test_report_finds_dead_units():
    X, y = two_rings()
    model = SequentialClassifier([Dense(6, "relu"), Dense()], epochs=1, random_state=0).fit(X, y)
    model.params_[1][:2] = -100
    report = neural.gradient_report(model, X, y)
    assert report.layers[0].dead == pytest.approx(2 / 6)
    assert report.layers[1].dead == 0


def test_rate_finder_finds_rates_that_learn():
    X, y = two_rings(400)
    model = SequentialClassifier([Dense(16, "tanh"), Dense()], epochs=15, random_state=0)
    before = dict(model.get_params())
    found = neural.find_learning_rate(model, X, y)
    assert model.get_params() == before
    assert not hasattr(model, "params_")
    assert (np.diff(found.rates) > 0).all()
    assert found.losses[0] == pytest.approx(found.losses[3], rel=1e-3)
    assert len(found.rates) < 100  # it ended when the loss exploded
    scores = {
        rate: model.set_params(learning_rate=rate).fit(X, y).score(X, y)
        for rate in (found.best / 1000, found.best)
    }
    assert scores[found.best] > 0.95 > scores[found.best / 1000]
    with pytest.raises(ValueError, match="low < high"):
        neural.find_learning_rate(model, X, y, low=1.0, high=0.1)
    with pytest.raises(TypeError, match="RbfNetwork is no network"):
        neural.find_learning_rate(RbfNetwork(), X, y)


# ------------------------------------------------------------------------------- symmetries
@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_order_of_hidden_units_does_not_matter(order):
    X, y = two_rings(50)
    model = MLPClassifier((4, 3), solver="lbfgs", tol=0.05, random_state=0).fit(X, y)
    same = permute_units(model, 1, order)
    np.testing.assert_allclose(same.predict_proba(X), model.predict_proba(X), atol=1e-6)
    if order != (0, 1, 2):
        assert any(
            not np.array_equal(a, b) for a, b in zip(same.params_, model.params_, strict=True)
        )


def test_signs_of_tanh_units_do_not_matter(sine):
    model, x, _ = sine
    for layer, units in ((0, [1]), (0, [0, 4]), (1, [2, 3])):
        same = flip_units(model, layer, units)
        np.testing.assert_allclose(same.predict(x), model.predict(x), atol=1e-6)
    assert count_symmetries(model) == math.factorial(5) * 2**5 * math.factorial(4) * 2**4


def test_symmetries_are_refused_where_there_are_none(sine):
    model, x, y = sine
    with pytest.raises(ValueError, match=r"each of 0, \.\.\., 4 once"):
        permute_units(model, 0, [0, 0, 1, 2, 3])
    with pytest.raises(ValueError, match="no Dense layer with another"):
        permute_units(model, 2, [0])
    relu = MLPRegressor(hidden_layer_sizes=3, solver="lbfgs", tol=0.1, random_state=0).fit(x, y)
    with pytest.raises(ValueError, match="'relu' is not odd"):
        flip_units(relu, 0, [0])
    assert count_symmetries(relu) == 6


# ---------------------------------------------------------------------------------- surface
def test_surface_has_the_loss_of_the_model_in_the_middle(sine):
    model, x, y = sine
    found = loss_surface(model, x, y, steps=5, span=0.5)
    middle = found.loss[2, 2]
    per_row = np.mean((model.predict(x) - y) ** 2) / 2
    assert middle == pytest.approx(per_row, rel=1e-4) or middle == pytest.approx(
        2 * per_row, rel=1e-4
    )
    assert (found.loss[[0, 0, -1, -1], [0, -1, 0, -1]] > middle).all()


def test_surface_along_given_directions_reaches_another_model(sine):
    model, x, y = sine
    other = permute_units(model, 0, [4, 3, 2, 1, 0])
    context = [b.astype(float) - a for a, b in zip(model.params_, other.params_, strict=True)]
    still = [np.zeros_like(d) for d in context]
    found = loss_surface(model, x, y, steps=3, directions=(context, still))
    assert found.loss[2, 0] == pytest.approx(found.loss[1, 1], rel=1e-4)  # an equal minimum
    np.testing.assert_allclose(found.loss[:, 0], found.loss[:, 2])
    with pytest.raises(ValueError, match=r"like those of model\.params_"):
        loss_surface(model, x, y, directions=(context[:1], still[:1]))


def test_snapshots_are_one_training():
    X, y = two_rings(60)
    model = MLPClassifier((5,), random_state=0)
    taken = neural.training_snapshots(model, X, y, (0, 1, 4))
    assert [m.n_iter_ for m in taken] == [0, 1, 4]
    by_hand = MLPClassifier((5,), random_state=0)
    for _ in range(4):
        by_hand.partial_fit(X, y, classes=[0, 1])
    for a, b in zip(taken[-1].params_, by_hand.params_, strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(taken[0].params_[0], taken[1].params_[0])
    assert not hasattr(model, "params_")


def test_augmented_training_has_the_same_bits_on_any_number_of_threads():
    X = np.tile(IMAGES[..., None], (8, 1, 1, 1))
    y = np.tile((IMAGES.mean(axis=(1, 2)) > 0.5).astype(int), 8)
    layers = [
        neural.Augment((neural.Rotate(20), neural.GaussianNoise(0.1))),
        neural.Flatten(),
        Dense(),
    ]
    fits = []
    for n in (1, 2):
        with threads(n):
            model = SequentialClassifier(layers, epochs=2, part_rows=8, random_state=0)
            fits.append(model.fit(X, y).params_)
    for a, b in zip(*fits, strict=True):
        np.testing.assert_array_equal(a, b)
    plain = SequentialClassifier(layers[1:], epochs=2, part_rows=8, random_state=0).fit(X, y)
    assert not np.array_equal(plain.params_[0], fits[0][0])


def test_a_model_with_augmentation_is_saved(tmp_path):
    X = IMAGES[..., None]
    y = (IMAGES.mean(axis=(1, 2)) > 0.5).astype(int)
    layers = [neural.Augment((neural.Shift(1),)), Dense(4, "relu"), neural.Flatten(), Dense()]
    model = SequentialClassifier(layers, epochs=2, random_state=0).fit(X, y)
    model.save(tmp_path / "model.tenfold")
    again = load(tmp_path / "model.tenfold")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("transform", [neural.Brightness, neural.Contrast])
def test_images_of_0_to_255_and_of_0_to_1_change_alike(transform):
    bytes_ = np.random.default_rng(0).integers(0, 256, (5, 4, 4)).astype(np.uint8)
    shares = bytes_ / np.float32(255)
    wanted = neural.augment(shares, [transform(0.3)], seed=1)
    assert np.ptp(wanted) <= 1.0
    assert not np.allclose(wanted, shares)
    for images, step in ((bytes_, transform(0.3)), (bytes_ * 1.0, transform(0.3, high=255.0))):
        changed = neural.augment(images, [step], seed=1)
        np.testing.assert_allclose(changed, 255 * wanted, rtol=1e-4, atol=1e-3)
    with pytest.raises(ValueError, match=r"high=255"):
        neural.augment(bytes_.astype(np.float32), [transform()])
    from tenfold.neural.layers.base import PassContext

    layer = neural.Augment((transform(),))
    with pytest.raises(ValueError, match=r"high=255"):
        layer.forward([], bytes_[..., None].astype(np.float32), PassContext(training=True))


def test_padding_by_name():
    images, y = RNG.normal(size=(30, 6, 6)), np.arange(30) % 2
    shapes = {}
    for padding in ("same", "valid", 0, 1):
        model = ConvClassifier((2,), pool=1, hidden=(), epochs=1, padding=padding)
        shapes[padding] = model.set_params(random_state=0).fit(images, y).network_.shapes[1]
    assert shapes["same"] == shapes[1] == (6, 6, 2)
    assert shapes["valid"] == shapes[0] == (4, 4, 2)
    assert neural.Conv1d(3, 3, padding="valid").output_shape((9, 2)) == (7, 3)
    with pytest.raises(ValueError, match="'valid'"):
        neural.Conv2d(2, padding="full").output_shape((6, 6, 1))
    with pytest.raises(ValueError, match="padding"):
        ConvClassifier(padding="full").fit(images, y)
