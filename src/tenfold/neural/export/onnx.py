"""Export of networks to ONNX files.

Each layer adds operators to a graph and returns the name of its output. Operators on images and
series are channels-first in ONNX, so they are enclosed in two transpositions, which runtimes remove
where they cancel. Recurrent operators are time-major and stack directions.
"""

from __future__ import annotations

from functools import singledispatch
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from tenfold.engine.atomic import write_atomic
from tenfold.neural.export.torch import DirectionWeights, recurrent_weights
from tenfold.neural.layers.activations import ALIASES, Activation, Softmax, as_activation
from tenfold.neural.layers.base import Shape
from tenfold.neural.layers.conv import Conv1d, Conv2d, as_pair
from tenfold.neural.layers.dense import Dense
from tenfold.neural.layers.dropout import Dropout
from tenfold.neural.layers.embedding import Embedding
from tenfold.neural.layers.normalization import BatchNorm, LayerNorm
from tenfold.neural.layers.pooling import AveragePool, MaxPool, pool_window
from tenfold.neural.layers.pretrained_layer import unwrap_pretrained
from tenfold.neural.layers.recurrent import (
    Bidirectional,
    GatedRnn,
    Gru,
    Lstm,
    Rnn,
    split_directions,
)
from tenfold.neural.layers.reshape import Flatten, Reshape
from tenfold.neural.losses import (
    BinaryCrossEntropy,
    CrossEntropy,
    GaussianLikelihood,
    HalfSquaredError,
    Likelihood,
    MulticlassHinge,
    MultilabelCrossEntropy,
    PointwiseLoss,
)

_OPSET = 20  # of 2023
_FLOAT, _INT32, _INT64, _STRING = 1, 6, 7, 8  # codes of types in ONNX


def _import_onnx() -> Any:
    """The onnx package; an error that names the extra if it is not installed."""
    try:
        import onnx
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "to_onnx needs the package onnx: pip install 'tenfold[export]'"
        ) from error
    return onnx


class OnnxGraph:
    """Nodes and constants of an ONNX graph, each with a unique name."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.lengths = ""  # name of the lengths of sequences; ONNX takes "" for none

    def add(self, operator: str, *inputs: Any, outputs: int = 1, **settings: Any) -> Any:
        """Add a node; inputs are names or arrays. Returns the name of its output, or a list."""
        names = [self.constant(i) if isinstance(i, np.ndarray) else i for i in inputs]
        results = [f"{operator.lower()}_{len(self.nodes)}_{k}" for k in range(outputs)]
        self.nodes.append(_import_onnx().helper.make_node(operator, names, results, **settings))
        return results if outputs > 1 else results[0]

    def constant(self, array: np.ndarray) -> str:
        """Add a constant; floating-point numbers become float32."""
        array = array.astype(np.float32) if array.dtype.kind == "f" else array
        name = f"constant_{len(self.constants)}"
        self.constants.append(_import_onnx().numpy_helper.from_array(array, name))
        return name

    def name(self, result: str, name: str) -> None:
        """Name a result of the graph."""
        self.nodes.append(_import_onnx().helper.make_node("Identity", [result], [name]))

    def save(self, inputs: list[Any], outputs: list[Any], path: str | Path) -> None:
        """Check the graph and write it."""
        helper = _import_onnx().helper
        graph = helper.make_graph(self.nodes, "tenfold", inputs, outputs, self.constants)
        opset = [helper.make_opsetid("", _OPSET)]
        version = helper.find_min_ir_version_for(opset)
        model = helper.make_model(
            graph, producer_name="tenfold", opset_imports=opset, ir_version=version
        )
        _import_onnx().checker.check_model(model, full_check=True)
        write_atomic(path, model.SerializeToString())


_OPERATORS = {
    "relu": "Relu",
    "gelu": "Gelu",
    "softplus": "Softplus",
    "sigmoid": "Sigmoid",
    "tanh": "Tanh",
    "sign": "Sign",
}
_OPERATORS_WITH_ALPHA = {"leaky_relu": "LeakyRelu", "elu": "Elu"}


@singledispatch
def _add_layer(layer: Any, graph: OnnxGraph, params: list[np.ndarray], x: str, shape: Shape) -> str:
    """Add a layer with input `x`, rows of `shape`; returns the name of its output."""
    raise TypeError(f"{type(layer).__name__} has no counterpart in ONNX")


@_add_layer.register(Activation)
def _(layer: Activation, graph: OnnxGraph, params: list[np.ndarray], x: str, shape: Shape) -> str:
    name = ALIASES.get(layer.name, layer.name)
    if name == "linear":
        return x
    if name in _OPERATORS_WITH_ALPHA:
        return graph.add(_OPERATORS_WITH_ALPHA[name], x, alpha=float(layer.alpha_value))
    if name == "silu":
        return graph.add("Mul", x, graph.add("Sigmoid", x))
    if name == "step":
        return graph.add("Cast", graph.add("Greater", x, np.zeros((), np.float32)), to=_FLOAT)
    return graph.add(_OPERATORS[name], x)


@_add_layer.register(Softmax)
def _(layer: Softmax, graph: OnnxGraph, params: list[np.ndarray], x: str, shape: Shape) -> str:
    scaled = graph.add("Div", x, np.array(layer.temperature, np.float32))
    return graph.add("Softmax", scaled, axis=-1)


@_add_layer.register(Dense)
def _(layer: Dense, graph: OnnxGraph, params: list[np.ndarray], x: str, shape: Shape) -> str:
    z = graph.add("MatMul", x, params[0])
    for bias in params[1:]:
        z = graph.add("Add", z, bias)
    return _add_layer(as_activation(layer.activation), graph, [], z, shape)


@_add_layer.register(Embedding)
def _(layer: Embedding, graph: OnnxGraph, params: list[np.ndarray], x: str, shape: Shape) -> str:
    indices = graph.add("Cast", x, to=_INT64)
    if len(shape) == 2:
        indices = graph.add("Squeeze", indices, np.array([2]))
    return graph.add("Gather", params[0], indices)


@_add_layer.register(Dropout)
def _(layer: Dropout, graph: OnnxGraph, params: list[np.ndarray], x: str, shape: Shape) -> str:
    return x


@_add_layer.register(Flatten)
@_add_layer.register(Reshape)
def _(layer: Any, graph: OnnxGraph, params: list[np.ndarray], x: str, shape: Shape) -> str:
    return graph.add("Reshape", x, np.array([-1, *layer.output_shape(shape)]))


@_add_layer.register(BatchNorm)
def _(layer: BatchNorm, graph: OnnxGraph, params: list[np.ndarray], x: str, shape: Shape) -> str:
    scale, shift, mean, variance = (array.astype(np.float64) for array in params)
    factor = scale / np.sqrt(variance + layer.eps)
    return graph.add("Add", graph.add("Mul", x, factor), shift - mean * factor)


@_add_layer.register(LayerNorm)
def _(layer: LayerNorm, graph: OnnxGraph, params: list[np.ndarray], x: str, shape: Shape) -> str:
    return graph.add("LayerNormalization", x, *params, axis=-1, epsilon=layer.eps)


@_add_layer.register(Conv2d)
def _(layer: Conv2d, graph: OnnxGraph, params: list[np.ndarray], x: str, shape: Shape) -> str:
    W = params[0].transpose(3, 2, 0, 1)
    settings = {"strides": as_pair(layer.stride), "pads": 2 * layer.pad_widths}
    z = _add_channels_first(graph, "Conv", x, shape, W, *params[1:], **settings)
    return _add_activation(layer, graph, z, shape)


@_add_layer.register(Conv1d)
def _(layer: Conv1d, graph: OnnxGraph, params: list[np.ndarray], x: str, shape: Shape) -> str:
    W = params[0].transpose(2, 1, 0)
    settings = {"strides": [layer.stride], "pads": 2 * layer.as_conv2d.pad_widths[1:]}
    z = _add_channels_first(graph, "Conv", x, shape, W, *params[1:], **settings)
    return _add_activation(layer, graph, z, shape)


@_add_layer.register(MaxPool)
def _(layer: MaxPool, graph: OnnxGraph, params: list[np.ndarray], x: str, shape: Shape) -> str:
    return _add_channels_first(graph, "MaxPool", x, shape, **_pool_attributes(layer, shape))


@_add_layer.register(AveragePool)
def _(layer: AveragePool, graph: OnnxGraph, params: list[np.ndarray], x: str, shape: Shape) -> str:
    return _add_channels_first(graph, "AveragePool", x, shape, **_pool_attributes(layer, shape))


def _pool_attributes(layer: Any, shape: Shape) -> dict[str, Any]:
    """Windows of a pooling layer, of one axis for series."""
    axes = len(shape) - 1
    size, stride = pool_window(layer, shape)
    return {"kernel_shape": size[-axes:], "strides": stride[-axes:]}


def _add_channels_first(
    graph: OnnxGraph, operator: str, x: str, shape: Shape, *inputs: np.ndarray, **settings: Any
) -> str:
    """Add an operator on channels-first images or series between two transpositions."""
    axes = list(range(1, len(shape)))
    channels_first = graph.add("Transpose", x, perm=[0, len(shape), *axes])
    result = graph.add(operator, channels_first, *inputs, **settings)
    return graph.add("Transpose", result, perm=[0, *(axis + 1 for axis in axes), 1])


def _add_activation(layer: Any, graph: OnnxGraph, z: str, shape: Shape) -> str:
    """Add the activation of a layer."""
    return _add_layer(as_activation(layer.activation), graph, [], z, shape)


_GATE_ORDERS = {"RNN": [0], "GRU": [1, 0, 2], "LSTM": [0, 3, 1, 2]}  # z, r, n; i, o, f, g


@_add_layer.register(Rnn)
@_add_layer.register(GatedRnn)
@_add_layer.register(Gru)
@_add_layer.register(Lstm)
def _(layer: Any, graph: OnnxGraph, params: list[np.ndarray], x: str, shape: Shape) -> str:
    return _add_recurrent(layer, graph, [recurrent_weights(layer, params)], x)


@_add_layer.register(Bidirectional)
def _(
    layer: Bidirectional, graph: OnnxGraph, params: list[np.ndarray], x: str, shape: Shape
) -> str:
    weights = [recurrent_weights(layer.layer, p) for p in split_directions(params)]
    return _add_recurrent(layer.layer, graph, weights, x)


def _add_recurrent(layer: Any, graph: OnnxGraph, directions: list[DirectionWeights], x: str) -> str:
    """Add a layer of one or two directions, which returns all states or the last one."""
    kind = directions[0].kind
    arrays = [direction.reorder(_GATE_ORDERS[kind]) for direction in directions]
    W, R = (np.stack([weights[i] for weights in arrays]) for i in range(2))
    B = np.stack([np.concatenate(weights[2:]) for weights in arrays])
    settings = _recurrent_attributes(layer, kind, len(directions))
    time_major = graph.add("Transpose", x, perm=[1, 0, 2])
    states, last, *_ = graph.add(kind, time_major, W, R, B, graph.lengths, **settings)
    width = len(directions) * layer.units
    if layer.all_states:  # (n_steps, n_directions, n_rows, units)
        by_row = graph.add("Transpose", states, perm=[2, 0, 1, 3])
        return graph.add("Reshape", by_row, np.array([0, 0, width]))
    return graph.add("Reshape", graph.add("Transpose", last, perm=[1, 0, 2]), np.array([-1, width]))


def _recurrent_attributes(layer: Any, kind: str, n_directions: int) -> dict[str, Any]:
    """Attributes of the operator."""
    settings: dict[str, Any] = {
        "hidden_size": layer.units,
        "direction": "forward" if n_directions == 1 else "bidirectional",
        "outputs": 3 if kind == "LSTM" else 2,
    }
    if kind == "GRU":
        settings["linear_before_reset"] = 1
    if kind == "RNN":
        settings["activations"] = [layer.activation.capitalize()] * n_directions
    return settings


@singledispatch
def _add_inverse_link(loss: Any, graph: OnnxGraph, z: str, width: int) -> str:
    """Add the inverse link of a loss: probabilities of classes, or values, from `width` scores."""
    raise TypeError(f"{type(loss).__name__} has no counterpart in ONNX")


@_add_inverse_link.register(CrossEntropy)
def _(loss: CrossEntropy, graph: OnnxGraph, z: str, width: int) -> str:
    return graph.add("Softmax", z, axis=-1)


@_add_inverse_link.register(BinaryCrossEntropy)
def _(loss: BinaryCrossEntropy, graph: OnnxGraph, z: str, width: int) -> str:
    return _add_both_classes(graph, graph.add("Sigmoid", z), width)


@_add_inverse_link.register(MultilabelCrossEntropy)
def _(loss: MultilabelCrossEntropy, graph: OnnxGraph, z: str, width: int) -> str:
    return graph.add("Sigmoid", z)


@_add_inverse_link.register(MulticlassHinge)
def _(loss: MulticlassHinge, graph: OnnxGraph, z: str, width: int) -> str:
    if width > 1:
        return graph.add("Softmax", z, axis=-1)
    return _add_both_classes(graph, graph.add("Sigmoid", graph.add("Add", z, z)), width)


@_add_inverse_link.register(HalfSquaredError)
def _(loss: HalfSquaredError, graph: OnnxGraph, z: str, width: int) -> str:
    return z


@_add_inverse_link.register(GaussianLikelihood)
def _(loss: GaussianLikelihood, graph: OnnxGraph, z: str, width: int) -> str:
    return graph.add("Slice", z, np.array([0]), np.array([width // 2]), np.array([1]))


@_add_inverse_link.register(Likelihood)
def _(loss: Likelihood, graph: OnnxGraph, z: str, width: int) -> str:
    return _add_both_classes(graph, z, width)


@_add_inverse_link.register(PointwiseLoss)
def _(loss: PointwiseLoss, graph: OnnxGraph, z: str, width: int) -> str:
    if loss.labels == "numbers":
        return graph.add("Exp", z) if loss.loss.labels == "counts" else z
    if loss.loss.labels == "classes":
        return graph.add("Softmax", z, axis=-1)
    return _add_both_classes(graph, graph.add("Sigmoid", z), width)


def _add_both_classes(graph: OnnxGraph, p: str, width: int) -> str:
    """Add the probabilities of both classes, from those of the second."""
    if width > 1:
        return p
    return graph.add("Concat", graph.add("Sub", np.ones(1, np.float32), p), p, axis=-1)


def to_onnx(model: Any, path: str | Path) -> None:
    """Write a fitted network as an ONNX file.

    The input `X` has rows of the shape `model.row_shape_` in float32 (symbols: int64). A model that
    was fitted on sequences of different lengths takes them padded, with their `lengths` in int32.
    The outputs of a classifier are `label` and `probabilities`, that of a regressor is
    `prediction`.
    The graph computes in float32.

    Parameters
    ----------
    model : fitted model made of layers
        For instance `MLPClassifier`, `ConvClassifier`, `RecurrentRegressor`.
    path : path
        File to write; it is replaced only when the new one is complete.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import SequentialClassifier
    >>> X, y = np.eye(4, dtype=np.float32), ["a", "b", "a", "b"]
    >>> model = SequentialClassifier(epochs=1, random_state=0).fit(X, y)
    >>> to_onnx(model, getfixture("tmp_path") / "model.onnx")
    >>> import onnxruntime
    >>> session = onnxruntime.InferenceSession(getfixture("tmp_path") / "model.onnx")
    >>> label, probabilities = session.run(None, {"X": X})
    >>> bool((label == model.predict(X)).all()), probabilities.shape
    (True, (4, 2))
    """
    check_is_fitted(model)
    graph = OnnxGraph()
    network, arrays = unwrap_pretrained(model.network_, model.params_)
    inputs = _graph_inputs(model, network, graph)
    x, shapes = "X", [network.shape, *network.shapes]
    for number, params in enumerate(network.parts(arrays)):
        x = _add_layer(network.layers[number], graph, params, x, shapes[number])
    width, loss = prod(shapes[-1]), model._objective().loss  # noqa: SLF001
    scores = graph.add("Reshape", x, np.array([-1, width]))
    predictions = _add_inverse_link(loss, graph, scores, width)
    columns = loss.inverse_link(np.zeros((1, width), np.float32)).shape[1]
    graph.save(inputs, _graph_outputs(model, graph, predictions, columns), path)


def _graph_inputs(model: Any, network: Any, graph: OnnxGraph) -> list[Any]:
    """Inputs of the graph: rows, and lengths of sequences where they differ."""
    value = _import_onnx().helper.make_tensor_value_info
    kind = _INT64 if isinstance(network.layers[0], Embedding) else _FLOAT
    if not getattr(model, "ragged_", False):
        return [value("X", kind, ["n", *model.row_shape_])]
    graph.lengths = "lengths"
    return [
        value("X", kind, ["n", "steps", *model.row_shape_[1:]]),
        value("lengths", _INT32, ["n"]),
    ]


def _graph_outputs(model: Any, graph: OnnxGraph, predictions: str, columns: int) -> list[Any]:
    """Outputs of the graph: labels and probabilities, or predicted values."""
    value = _import_onnx().helper.make_tensor_value_info
    if is_classifier(model):
        kind, classes = _encode_classes(model.classes_)
        best = graph.add("ArgMax", predictions, axis=1, keepdims=0)
        graph.name(graph.add("Gather", classes, best), "label")
        graph.name(predictions, "probabilities")
        return [value("label", kind, ["n"]), value("probabilities", _FLOAT, ["n", columns])]
    predictions = graph.add("Squeeze", predictions, np.array([1])) if columns == 1 else predictions
    graph.name(predictions, "prediction")
    return [value("prediction", _FLOAT, ["n"] if columns == 1 else ["n", columns])]


def _encode_classes(classes: np.ndarray) -> tuple[int, np.ndarray]:
    """Labels in a type of ONNX, and the code of the type."""
    if classes.dtype.kind in "iub":
        return _INT64, classes.astype(np.int64)
    if classes.dtype.kind == "f":
        return _FLOAT, classes.astype(np.float32)
    return _STRING, classes.astype(str).astype(object)
