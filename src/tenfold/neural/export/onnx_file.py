"""Whole models as ONNX files, which other programs and languages run."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from tenfold.neural.embedding import Embedding
from tenfold.neural.export import onnx_images, onnx_recurrent  # noqa: F401  register layers
from tenfold.neural.export.graph import Graph, onnx
from tenfold.neural.export.onnx_layers import nodes
from tenfold.neural.export.onnx_losses import chances

FLOAT, INT32, INT64, STRING = 1, 6, 7, 8  # ONNX's numbers of types


def to_onnx(model: Any, path: str | Path) -> None:
    """Write a fitted network as an ONNX file.

    The input `X` has rows of the shape `model.row_shape_`, in single precision (symbols: 64-bit
    integers). A model that was fitted on sequences of different lengths takes them padded, and
    their `lengths`, 32-bit integers. A classifier gives `label` and `probabilities`, a regressor
    `prediction`. The file computes in single precision.

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
    >>> label, chances = session.run(None, {"X": X})
    >>> bool((label == model.predict(X)).all()), chances.shape
    (True, (4, 2))
    """
    check_is_fitted(model)
    graph, network = Graph(), model.network_
    inputs = entrance(model, graph)
    x, shapes = "X", [network.shape, *network.shapes]
    for number, params in enumerate(network.parts(model.params_)):
        x = nodes(network.layers[number], graph, params, x, shapes[number])
    width, loss = prod(shapes[-1]), model._task().loss  # noqa: SLF001
    said = chances(loss, graph, graph.add("Reshape", x, np.array([-1, width])), width)
    columns = loss.chances(np.zeros((1, width), np.float32)).shape[1]
    graph.save(inputs, exits(model, graph, said, columns), path)


def entrance(model: Any, graph: Graph) -> list[Any]:
    """What goes in: rows, and lengths where sequences have lengths of their own."""
    value = onnx().helper.make_tensor_value_info
    kind = INT64 if isinstance(model.network_.layers[0], Embedding) else FLOAT
    if not getattr(model, "ragged_", False):
        return [value("X", kind, ["n", *model.row_shape_])]
    graph.lengths = "lengths"
    return [value("X", kind, ["n", "steps", *model.row_shape_[1:]]), value("lengths", INT32, ["n"])]


def exits(model: Any, graph: Graph, said: str, columns: int) -> list[Any]:
    """What comes out: labels and probabilities, or numbers."""
    value = onnx().helper.make_tensor_value_info
    if is_classifier(model):
        kind, classes = stored_classes(model.classes_)
        best = graph.add("ArgMax", said, axis=1, keepdims=0)
        graph.name(graph.add("Gather", classes, best), "label")
        graph.name(said, "probabilities")
        return [value("label", kind, ["n"]), value("probabilities", FLOAT, ["n", columns])]
    said = graph.add("Squeeze", said, np.array([1])) if columns == 1 else said
    graph.name(said, "prediction")
    return [value("prediction", FLOAT, ["n"] if columns == 1 else ["n", columns])]


def stored_classes(classes: np.ndarray) -> tuple[int, np.ndarray]:
    """Labels as ONNX knows them, and the number of their type."""
    if classes.dtype.kind in "iub":
        return INT64, classes.astype(np.int64)
    if classes.dtype.kind == "f":
        return FLOAT, classes.astype(np.float32)
    return STRING, classes.astype(str).astype(object)
