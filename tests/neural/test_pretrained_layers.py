"""Layers of a fitted network in another one: frozen to the bit, or trained further."""

import numpy as np
import onnxruntime
import pytest
from sklearn.base import clone

import tenfold
from tenfold import SequentialClassifier, SequentialRegressor
from tenfold.neural import (
    BatchNorm,
    Conv2d,
    Dense,
    Dropout,
    Flatten,
    Lstm,
    Pretrained,
    pretrained_layers,
    to_onnx,
)
from tenfold.neural.export.torch import to_torch
from tenfold.neural.network import flatten_params

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 6)).astype(np.float32)
Y = (X[:, 0] * X[:, 1] > 0).astype(int)
SETTINGS = {"epochs": 3, "learning_rate": 0.05, "l2": 0.01, "random_state": 0}


@pytest.fixture(scope="module")
def old():
    layers = [Dense(5, "tanh"), BatchNorm(), Dropout(0.5), Dense()]
    return SequentialClassifier(layers, **SETTINGS).fit(X, Y)


def test_frozen_layers_keep_their_bits_and_the_others_learn(old):
    layers = [*pretrained_layers(old), Dense()]
    before = [array.copy() for layer in layers[:-1] for array in layer.arrays]
    new = SequentialRegressor(layers, **SETTINGS).fit(X, X[:, 2])
    after = [array for layer in new.network_.layers[:-1] for array in layer.arrays]
    assert len(before) == 6  # weights, bias; scale, shift and running statistics
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
    assert [p.shape for p in new.params_] == [(5, 1), (1,)]
    assert np.array_equal(new.outputs(X)[2], old.outputs(X)[2])
    start = SequentialRegressor(layers, **SETTINGS | {"learning_rate": 1e-12}).fit(X, X[:, 2])
    assert new.loss_curve_[-1] < start.loss_curve_[-1]


def test_training_above_frozen_layers_is_training_on_their_outputs(old):
    """Frozen layers work as they do for predictions: no dropout, running statistics."""
    layers = [*pretrained_layers(old), Dense(4, "relu"), Dense()]
    whole = SequentialClassifier(layers, **SETTINGS).fit(X, Y)
    top = SequentialClassifier(layers[3:], **SETTINGS).fit(old.outputs(X)[2], Y)
    assert np.allclose(flatten_params(whole.params_), flatten_params(top.params_), atol=1e-5)


def test_layers_below_a_frozen_one_learn_through_it(old):
    layers = [Dense(6), *pretrained_layers(old), Dense()]
    fits = [SequentialClassifier(layers, **SETTINGS | {"epochs": n}).fit(X, Y) for n in (1, 5)]
    assert not np.array_equal(fits[0].params_[0], fits[1].params_[0])
    assert fits[1].loss_curve_[-1] < fits[0].loss_curve_[0]


def test_trainable_layers_begin_where_the_old_network_ended(old):
    layers = pretrained_layers(old, None, trainable=True)
    still = SequentialClassifier(layers, epochs=1, learning_rate=1e-30, random_state=0).fit(X, Y)
    trained = [0, 1, 2, 3, 6, 7]  # running statistics follow the batches
    for number in trained:
        assert np.array_equal(still.params_[number], old.params_[number])
    tuned = SequentialClassifier(layers, **SETTINGS).fit(X, Y)
    assert not np.array_equal(tuned.params_[0], old.params_[0])
    assert np.array_equal(layers[0].arrays[0], old.params_[0])  # the given arrays stay


def test_saved_layers_serve_after_loading_and_are_saved_again(old, tmp_path):
    tenfold.save(old, tmp_path / "old")
    layers = [*pretrained_layers(tenfold.load(tmp_path / "old")), Dense()]
    new = SequentialClassifier(layers, **SETTINGS).fit(X, Y)
    tenfold.save(new, tmp_path / "new")
    again = tenfold.load(tmp_path / "new")
    assert np.array_equal(again.predict_proba(X), new.predict_proba(X))
    assert again.network_.layers[0].trainable is False
    assert np.array_equal(
        clone(new).fit(X, Y).predict_proba(X), new.predict_proba(X)
    )  # parameters of the constructor survive cloning
    unfrozen = pretrained_layers(again, None, trainable=True)
    assert np.array_equal(unfrozen[0].arrays[0], old.params_[0])


@pytest.mark.parametrize("kind", ["images", "sequences"])
def test_convolutions_and_recurrence_serve_too(kind):
    rng = np.random.default_rng(1)
    if kind == "images":
        rows, body = rng.normal(size=(30, 5, 5, 1)), [Conv2d(3, 3, "relu"), Flatten()]
    else:
        rows, body = [rng.normal(size=(n % 4 + 2, 2)) for n in range(30)], [Lstm(4)]
    y = rng.integers(0, 2, 30)
    first = SequentialClassifier([*body, Dense()], epochs=1, random_state=0).fit(rows, y)
    layers = [*pretrained_layers(first), Dense()]
    second = SequentialClassifier(layers, epochs=2, random_state=0).fit(rows, y)
    a, b = (model.outputs(rows)[len(body) - 1] for model in (first, second))
    assert np.array_equal(a, b)
    with tenfold.threads(1):
        alone = clone(second).fit(rows, y)
    assert np.array_equal(flatten_params(alone.params_), flatten_params(second.params_))


def test_export_holds_frozen_weights(old):
    new = SequentialClassifier([*pretrained_layers(old), Dense()], **SETTINGS).fit(X, Y)
    state = to_torch(new)
    assert np.array_equal(state["0.weight"], old.params_[0].T)


@pytest.mark.parametrize("trainable", [False, True])
def test_onnx_says_the_same_with_pretrained_layers(old, trainable, tmp_path):
    layers = [*pretrained_layers(old, trainable=trainable), Dense(4, "relu"), Dense()]
    new = SequentialClassifier(layers, **SETTINGS).fit(X, Y)
    to_onnx(new, tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(
        tmp_path / "model.onnx", providers=["CPUExecutionProvider"]
    )
    label, probabilities = session.run(["label", "probabilities"], {"X": X})
    np.testing.assert_allclose(probabilities, new.predict_proba(X), rtol=1e-4, atol=1e-5)
    assert np.array_equal(label, new.predict(X))


def test_wrong_layers_are_explained_and_shown_shortly(old):
    with pytest.raises(ValueError, match="not a fitted network"):
        pretrained_layers(SequentialClassifier())
    with pytest.raises(ValueError, match="must be like those that the layer was trained with"):
        SequentialClassifier([*pretrained_layers(old), Dense()]).fit(X[:, :3], Y)
    one, other = (Pretrained(Dense(1), (np.full((1, 1), v), np.zeros(1))) for v in (1.0, 2.0))
    assert "2 parameters" in repr(one)
    assert repr(one) != repr(other)  # a checkpoint tells them apart
