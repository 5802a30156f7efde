"""Layers as ONNX operators: each adds its nodes to a graph and names what comes out."""

# ruff: noqa: ARG001 - all get the same arguments
from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np

from tenfold.neural.activations import OTHER_NAMES, Activation, Softmax, activation
from tenfold.neural.dense import Dense
from tenfold.neural.dropout import Dropout
from tenfold.neural.embedding import Embedding
from tenfold.neural.export.graph import Graph
from tenfold.neural.layer import Shape
from tenfold.neural.norms import BatchNorm, LayerNorm
from tenfold.neural.shaping import Flatten, Reshape

SIMPLE = {
    "relu": "Relu",
    "gelu": "Gelu",
    "softplus": "Softplus",
    "sigmoid": "Sigmoid",
    "tanh": "Tanh",
    "sign": "Sign",
}
WITH_ALPHA = {"leaky_relu": "LeakyRelu", "elu": "Elu"}


@singledispatch
def nodes(layer: Any, graph: Graph, params: list[np.ndarray], x: str, shape: Shape) -> str:
    """Add a layer to a graph: `x` goes in, rows of `shape`. Returns the name of what comes out."""
    raise TypeError(f"{type(layer).__name__} has no counterpart in ONNX")


@nodes.register(Activation)
def _(layer: Activation, graph: Graph, params: list[np.ndarray], x: str, shape: Shape) -> str:
    name = OTHER_NAMES.get(layer.name, layer.name)
    if name == "linear":
        return x
    if name in WITH_ALPHA:
        return graph.add(WITH_ALPHA[name], x, alpha=float(layer.number))
    if name == "silu":
        return graph.add("Mul", x, graph.add("Sigmoid", x))
    if name == "step":
        return graph.add("Cast", graph.add("Greater", x, np.zeros((), np.float32)), to=1)
    return graph.add(SIMPLE[name], x)


@nodes.register(Softmax)
def _(layer: Softmax, graph: Graph, params: list[np.ndarray], x: str, shape: Shape) -> str:
    cooled = graph.add("Div", x, np.array(layer.temperature, np.float32))
    return graph.add("Softmax", cooled, axis=-1)


@nodes.register(Dense)
def _(layer: Dense, graph: Graph, params: list[np.ndarray], x: str, shape: Shape) -> str:
    z = graph.add("MatMul", x, params[0])
    for bias in params[1:]:
        z = graph.add("Add", z, bias)
    return nodes(activation(layer.activation), graph, [], z, shape)


@nodes.register(Embedding)
def _(layer: Embedding, graph: Graph, params: list[np.ndarray], x: str, shape: Shape) -> str:
    numbers = graph.add("Cast", x, to=7)  # whole, 64 bits
    if len(shape) == 2:
        numbers = graph.add("Squeeze", numbers, np.array([2]))
    return graph.add("Gather", params[0], numbers)


@nodes.register(Dropout)
def _(layer: Dropout, graph: Graph, params: list[np.ndarray], x: str, shape: Shape) -> str:
    return x


@nodes.register(Flatten)
@nodes.register(Reshape)
def _(layer: Any, graph: Graph, params: list[np.ndarray], x: str, shape: Shape) -> str:
    return graph.add("Reshape", x, np.array([-1, *layer.output(shape)]))


@nodes.register(BatchNorm)
def _(layer: BatchNorm, graph: Graph, params: list[np.ndarray], x: str, shape: Shape) -> str:
    stretch, shift, mean, variance = (array.astype(np.float64) for array in params)
    factor = stretch / np.sqrt(variance + layer.eps)
    return graph.add("Add", graph.add("Mul", x, factor), shift - mean * factor)


@nodes.register(LayerNorm)
def _(layer: LayerNorm, graph: Graph, params: list[np.ndarray], x: str, shape: Shape) -> str:
    return graph.add("LayerNormalization", x, *params, axis=-1, epsilon=layer.eps)
