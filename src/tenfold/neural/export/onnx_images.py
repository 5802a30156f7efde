"""Layers on images and series as ONNX operators, which are channels-first.

Each layer turns its images and turns them back; programs that read the file take out such pairs.
"""

# ruff: noqa: ARG001 - all get the same arguments
from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.neural.activations import Activation, activation
from tenfold.neural.convolution import Conv1d, Conv2d, pair
from tenfold.neural.export.graph import Graph
from tenfold.neural.export.onnx_layers import nodes
from tenfold.neural.layer import Shape
from tenfold.neural.pooling import AveragePool, MaxPool, window


@nodes.register(Conv2d)
def _(layer: Conv2d, graph: Graph, params: list[np.ndarray], x: str, shape: Shape) -> str:
    W = params[0].transpose(3, 2, 0, 1)
    settings = {"strides": pair(layer.stride), "pads": 2 * layer.around}
    return bent(layer, graph, turned(graph, "Conv", x, shape, W, *params[1:], **settings), shape)


@nodes.register(Conv1d)
def _(layer: Conv1d, graph: Graph, params: list[np.ndarray], x: str, shape: Shape) -> str:
    W = params[0].transpose(2, 1, 0)
    settings = {"strides": [layer.stride], "pads": 2 * layer.flat.around[1:]}
    return bent(layer, graph, turned(graph, "Conv", x, shape, W, *params[1:], **settings), shape)


@nodes.register(MaxPool)
def _(layer: MaxPool, graph: Graph, params: list[np.ndarray], x: str, shape: Shape) -> str:
    return turned(graph, "MaxPool", x, shape, **panes(layer, shape))


@nodes.register(AveragePool)
def _(layer: AveragePool, graph: Graph, params: list[np.ndarray], x: str, shape: Shape) -> str:
    return turned(graph, "AveragePool", x, shape, **panes(layer, shape))


def panes(layer: Any, shape: Shape) -> dict[str, Any]:
    """Windows of a pooling layer, without the row of one that series have."""
    axes = len(shape) - 1
    size, stride = window(layer, shape)
    return {"kernel_shape": size[-axes:], "strides": stride[-axes:]}


def turned(
    graph: Graph, operator: str, x: str, shape: Shape, *inputs: np.ndarray, **settings: Any
) -> str:
    """An operator on channels-first images or series, and back."""
    axes = list(range(1, len(shape)))
    first = graph.add("Transpose", x, perm=[0, len(shape), *axes])
    done = graph.add(operator, first, *inputs, **settings)
    return graph.add("Transpose", done, perm=[0, *(axis + 1 for axis in axes), 1])


def bent(layer: Any, graph: Graph, z: str, shape: Shape) -> str:
    """What the function after a layer makes of its scores."""
    function: Activation = activation(layer.activation)
    return nodes(function, graph, [], z, shape)
