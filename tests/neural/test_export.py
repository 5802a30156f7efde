"""Exported networks say what ours say: torch's numbers, and onnxruntime on the files."""

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import onnxruntime
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tenfold import (
    MLPClassifier,
    MLPRegressor,
    RecurrentClassifier,
    RecurrentRegressor,
    SequentialClassifier,
    SequentialRegressor,
)
from tenfold.math.losses import HuberLoss, PoissonLoss
from tenfold.neural import (
    Activation,
    AveragePool,
    BatchNorm,
    Bidirectional,
    Conv1d,
    Conv2d,
    Dense,
    Dropout,
    Embedding,
    Flatten,
    GatedRnn,
    Gru,
    LayerNorm,
    Lstm,
    MaxPool,
    PassContext,
    Reshape,
    Rnn,
    Softmax,
    to_onnx,
    to_torch,
)
from tenfold.neural.export.torch import state_dict
from tenfold.neural.layers.activations import ACTIVATIONS
from tenfold.neural.network import build_network, forward

TORCH = np.load(Path(__file__).parents[1] / "reference" / "export_numbers.npz")
RNG = np.random.default_rng(0)

SAME_AS_TORCH = {
    "dense": ([Dense(5, "tanh"), Dense(2, bias=False)], (3,)),
    "images": (
        [
            Conv2d(3, 3, "relu", stride=(1, 2), padding=1),
            MaxPool(2),
            Conv2d(4, (1, 2)),
            BatchNorm(),
            Flatten(),
            LayerNorm(),
            Dense(2),
        ],
        (4, 7, 2),
    ),
    "series": ([Conv1d(3, 3, "sigmoid"), AveragePool(2), Flatten(), Dense(2)], (8, 2)),
    "lstm": ([Bidirectional(Lstm(4, all_states=True)), Lstm(2)], (5, 3)),
    "gru": ([Gru(4, all_states=True), Flatten()], (5, 3)),
    "rnn": ([Embedding(3, 4), Bidirectional(Rnn(2))], (5,)),
}


def from_torch(network, params, state):
    """Parameters whose state dict is `state`: numbers 1, 2, ... show where each parameter goes."""
    flat = np.zeros(1 + sum(p.size for p in params))
    numbers = iter(np.split(np.arange(1.0, len(flat)), np.cumsum([p.size for p in params])))
    tags = [next(numbers).reshape(p.shape) for p in params]
    for name, places in state_dict(network, tags).items():
        assert places.shape == state[name].shape
        flat[places.astype(int)] = state[name]
        assert not state[name][places == 0].any()
    return [flat[tag.astype(int)].astype(np.float32) for tag in tags]


@pytest.mark.parametrize("name", SAME_AS_TORCH)
def test_torch_says_the_same_with_these_names_and_layouts(name):
    layers, shape = SAME_AS_TORCH[name]
    network, params = build_network(layers, shape, np.random.default_rng(0))
    start = f"{name}.state."
    state = {key.removeprefix(start): TORCH[key] for key in TORCH if key.startswith(start)}
    assert list(state_dict(network, params)) == list(state)
    params = from_torch(network, params, state)
    for key, array in state_dict(network, params).items():
        assert_array_equal(array, state[key])
    said, _ = forward(network, params, TORCH[f"{name}.x"], PassContext())
    wanted = TORCH[f"{name}.out"]
    assert_allclose(said.reshape(wanted.shape), wanted, rtol=1e-4, atol=1e-6)


def test_the_gated_network_is_a_gru_that_resets_nothing():
    network, params = build_network(
        [GatedRnn(4, all_states=True)], (6, 3), np.random.default_rng(0)
    )
    x = RNG.normal(size=(2, 6, 3)).astype(np.float32)
    W, U, b, c = (array.T for array in state_dict(network, params).values())
    gru = Gru(4, all_states=True)
    as_gru, _ = gru.forward([W, U, np.concatenate([b, c[8:]])], x, PassContext())
    assert_allclose(as_gru, forward(network, params, x)[0], rtol=1e-5, atol=1e-6)


def test_what_has_no_counterpart_in_torch_is_named():
    network, params = build_network([Dense(3)], (4, 4, 2), np.random.default_rng(0))
    with pytest.raises(TypeError, match=r"Dense on rows of shape \(4, 4, 2\) .* Flatten"):
        state_dict(network, params)
    network, params = build_network([Reshape((2, 2))], (4,), np.random.default_rng(0))
    with pytest.raises(TypeError, match="Reshape has no counterpart"):
        state_dict(network, params)


def onnx_run(model, tmp_path, **inputs):
    """What the file of a model says."""
    to_onnx(model, tmp_path / "model.onnx")
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]
    session = onnxruntime.InferenceSession(
        tmp_path / "model.onnx", providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, inputs), strict=True))


def assert_same_classes(model, tmp_path, X):
    found = onnx_run(model, tmp_path, X=X)
    if hasattr(model, "predict_proba"):
        assert_allclose(found["probabilities"], model.predict_proba(X), rtol=1e-4, atol=1e-5)
    assert_array_equal(found["label"], model.predict(X))


def fitted(layers, shape, classes=3, loss="auto", **settings):
    """A classifier of noise after one epoch: enough that running statistics have moved."""
    X = np.random.default_rng(1).normal(size=(40, *shape)).astype(np.float32)
    model = SequentialClassifier(layers, loss, epochs=1, random_state=0, **settings)
    return model.fit(X, np.arange(40) % classes), X


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_onnx_knows_every_activation(name, tmp_path):
    model, X = fitted([Dense(6), Dense()], (4,))
    model.network_ = model.network_._replace(layers=(Dense(6, name), Dense(3)))
    assert_same_classes(model, tmp_path, X)


@pytest.mark.parametrize(
    ("layers", "shape"),
    [
        ([Conv2d(3, 3, "relu", stride=(1, 2), padding=1), MaxPool(2), Conv2d(4, (1, 2), bias=False),
          BatchNorm(), Flatten(), LayerNorm(), Dropout(0.5), Dense()], (4, 7, 2)),
        ([Conv2d(2, 3, "leaky_relu", padding="same"), AveragePool((2, 3), 1), MaxPool(None),
          Flatten(), Dense()], (5, 6, 1)),
        ([Conv1d(3, 3, "tanh", stride=2, padding=1), BatchNorm(), MaxPool(2), Flatten(), Dense()],
         (9, 2)),
        ([Reshape((3, 4)), Activation("elu", 0.5), Conv1d(2, 2), AveragePool(None), Flatten(),
          Dense()], (12,)),
        ([Lstm(4, all_states=True), Dense(3, "relu"), LayerNorm(), Bidirectional(Lstm(3)), Dense()],
         (5, 3)),
        ([Bidirectional(Gru(4, all_states=True)), Gru(3), Dense()], (5, 3)),
        ([Bidirectional(GatedRnn(4, all_states=True)), GatedRnn(3), Dense()], (5, 3)),
        ([Rnn(4, all_states=True), Bidirectional(Rnn(4, "relu")), Dense()], (5, 3)),
    ],
)  # fmt: skip
def test_onnx_knows_every_layer(layers, shape, tmp_path):
    model, X = fitted(layers, shape)
    assert_same_classes(model, tmp_path, X)


@pytest.mark.parametrize(
    ("loss", "classes", "last"),
    [
        ("binary_cross_entropy", 2, [Dense(1)]),
        ("hinge", 2, [Dense(1)]),
        ("hinge", 3, [Dense(3)]),
        ("likelihood", 3, [Dense(3), Softmax(2.0)]),
        ("likelihood", 2, [Dense(1, "sigmoid")]),
    ],
)
def test_onnx_gives_the_probabilities_of_every_loss(loss, classes, last, tmp_path):
    model, X = fitted([Dense(5, "tanh"), *last], (4,), classes, loss)
    assert_same_classes(model, tmp_path, X)


@pytest.mark.parametrize("loss", ["squared", "gaussian", HuberLoss(), PoissonLoss()])
@pytest.mark.parametrize("columns", [1, 2])
def test_onnx_gives_the_numbers_of_every_loss(loss, columns, tmp_path):
    X = np.random.default_rng(1).normal(size=(40, 4)).astype(np.float32)
    y = np.abs(X[:, 0] if columns == 1 else X[:, :2])
    model = SequentialRegressor([Dense(5, "tanh"), Dense()], loss, epochs=1, random_state=0)
    found = onnx_run(model.fit(X, y), tmp_path, X=X)["prediction"]
    assert found.shape == y.shape
    assert_allclose(found, model.predict(X), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "labels",
    [np.array(["no", "yes"]), np.array([7, -3]), np.array([-1.0, 2.0]), np.array([False, True])],
)
def test_onnx_gives_labels_as_they_were(labels, tmp_path):
    X = np.random.default_rng(1).normal(size=(40, 4)).astype(np.float32)
    y = labels[(X[:, 0] > 0).astype(int)]
    assert_same_classes(SequentialClassifier(epochs=1, random_state=0).fit(X, y), tmp_path, X)


@pytest.mark.parametrize("solver", ["adam", "lbfgs"])
def test_perceptrons_are_exported_too(solver, tmp_path):
    X = np.random.default_rng(1).normal(size=(60, 4)).astype(np.float32)
    settings = {"solver": solver, "random_state": 0, "tol": 1.0, "n_iter_no_change": 1}
    model = MLPClassifier(hidden_layer_sizes=(5,), **settings).fit(X, X[:, 0] > 0)
    assert_same_classes(model, tmp_path, X)
    names = [("0.weight", (5, 4)), ("0.bias", (5,)), ("2.weight", (1, 5)), ("2.bias", (1,))]
    assert [(name, array.shape) for name, array in to_torch(model).items()] == names
    (tmp_path / "model.onnx").unlink()
    model = MLPRegressor(hidden_layer_sizes=(5,), **settings).fit(X, X[:, 0])
    found = onnx_run(model, tmp_path, X=X)["prediction"]
    assert_allclose(found, model.predict(X), rtol=1e-4, atol=1e-5)


def padded(sequences):
    """Sequences below each other, filled up with zeros, and their lengths."""
    lengths = np.array([len(s) for s in sequences], np.int32)
    x = np.zeros((len(sequences), lengths.max(), *sequences[0].shape[1:]), sequences[0].dtype)
    for row, sequence in zip(x, sequences, strict=True):
        row[: len(sequence)] = sequence
    return x, lengths


@pytest.mark.parametrize("cell", ["lstm", "gru", "gated", "rnn"])
def test_onnx_takes_sequences_of_different_lengths(cell, tmp_path):
    rng = np.random.default_rng(2)
    words = [rng.integers(0, 6, length) for length in rng.integers(1, 8, 40)]
    model = RecurrentClassifier(cell, (4, 3), bidirectional=True, embedding=3, epochs=1)
    model.set_params(random_state=0).fit(words, np.arange(40) % 3)
    x, lengths = padded(words)
    found = onnx_run(model, tmp_path, X=x[:, :, None], lengths=lengths)
    assert_allclose(found["probabilities"], model.predict_proba(words), rtol=1e-4, atol=1e-5)


def test_onnx_takes_series_of_numbers(tmp_path):
    rng = np.random.default_rng(2)
    series = [rng.normal(size=(length, 2)).astype(np.float32) for length in rng.integers(1, 8, 40)]
    model = RecurrentRegressor("gru", 4, epochs=1, random_state=0).fit(series, np.arange(40.0))
    x, lengths = padded(series)
    found = onnx_run(model, tmp_path, X=x, lengths=lengths)["prediction"]
    assert_allclose(found, model.predict(series), rtol=1e-4, atol=1e-5)


def test_a_missing_library_is_named(tmp_path, monkeypatch):
    model, _ = fitted([Dense()], (4,))
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'tenfold\[export\]'"):
        to_onnx(model, tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_a_layer_of_ones_own_is_named(tmp_path):
    model, _ = fitted([Dense()], (4,))
    model.network_ = model.network_._replace(
        layers=(SimpleNamespace(output_shape=lambda shape: shape),)
    )
    with pytest.raises(TypeError, match="SimpleNamespace has no counterpart in ONNX"):
        to_onnx(model, tmp_path / "model.onnx")
