"""Layers with a state as ONNX operators, which are time-major and stack directions."""

# ruff: noqa: ARG001 - all get the same arguments
from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.neural.export.graph import Graph
from tenfold.neural.export.onnx_layers import nodes
from tenfold.neural.export.recurrent_weights import Weights, weights_of
from tenfold.neural.layer import Shape
from tenfold.neural.recurrent.bidirectional import Bidirectional, halves
from tenfold.neural.recurrent.layers import GatedRnn, Gru, Lstm, Rnn

ORDERS = {"RNN": [0], "GRU": [1, 0, 2], "LSTM": [0, 3, 1, 2]}  # z, r, n; i, o, f, g


@nodes.register(Rnn)
@nodes.register(GatedRnn)
@nodes.register(Gru)
@nodes.register(Lstm)
def _(layer: Any, graph: Graph, params: list[np.ndarray], x: str, shape: Shape) -> str:
    return walked(layer, graph, [weights_of(layer, params)], x)


@nodes.register(Bidirectional)
def _(layer: Bidirectional, graph: Graph, params: list[np.ndarray], x: str, shape: Shape) -> str:
    return walked(layer.layer, graph, [weights_of(layer.layer, p) for p in halves(params)], x)


def walked(layer: Any, graph: Graph, ways: list[Weights], x: str) -> str:
    """All states or the last one, of one direction or two side by side."""
    kind = ways[0].kind
    arrays = [way.ordered(ORDERS[kind]) for way in ways]
    W, R = (np.stack([way[i] for way in arrays]) for i in range(2))
    B = np.stack([np.concatenate(way[2:]) for way in arrays])
    settings = settings_of(layer, kind, len(ways))
    along = graph.add("Transpose", x, perm=[1, 0, 2])
    states, last, *_ = graph.add(kind, along, W, R, B, graph.lengths, **settings)
    width = len(ways) * layer.units
    if layer.all_states:  # (steps, ways, n, units)
        by_row = graph.add("Transpose", states, perm=[2, 0, 1, 3])
        return graph.add("Reshape", by_row, np.array([0, 0, width]))
    return graph.add("Reshape", graph.add("Transpose", last, perm=[1, 0, 2]), np.array([-1, width]))


def settings_of(layer: Any, kind: str, ways: int) -> dict[str, Any]:
    """Attributes of the operator."""
    settings: dict[str, Any] = {
        "hidden_size": layer.units,
        "direction": "forward" if ways == 1 else "bidirectional",
        "outputs": 3 if kind == "LSTM" else 2,
    }
    if kind == "GRU":
        settings["linear_before_reset"] = 1
    if kind == "RNN":
        settings["activations"] = [layer.activation.capitalize()] * ways
    return settings
