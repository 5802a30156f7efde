"""From what the last layer gives to what is predicted, as ONNX operators: `chances` of losses."""

# ruff: noqa: ARG001 - all get the same arguments
from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np

from tenfold.neural.export.graph import Graph
from tenfold.neural.losses import (
    BinaryCrossEntropy,
    CrossEntropy,
    GaussianLikelihood,
    Hinge,
    Likelihood,
    Scored,
    Squared,
)


@singledispatch
def chances(loss: Any, graph: Graph, z: str, width: int) -> str:
    """Probabilities of all classes, or numbers, from `width` numbers a row."""
    raise TypeError(f"{type(loss).__name__} has no counterpart in ONNX")


@chances.register(CrossEntropy)
def _(loss: CrossEntropy, graph: Graph, z: str, width: int) -> str:
    return graph.add("Softmax", z, axis=-1)


@chances.register(BinaryCrossEntropy)
def _(loss: BinaryCrossEntropy, graph: Graph, z: str, width: int) -> str:
    return two_sided(graph, graph.add("Sigmoid", z), width)


@chances.register(Hinge)
def _(loss: Hinge, graph: Graph, z: str, width: int) -> str:
    if width > 1:
        return graph.add("Softmax", z, axis=-1)
    return two_sided(graph, graph.add("Sigmoid", graph.add("Add", z, z)), width)


@chances.register(Squared)
def _(loss: Squared, graph: Graph, z: str, width: int) -> str:
    return z


@chances.register(GaussianLikelihood)
def _(loss: GaussianLikelihood, graph: Graph, z: str, width: int) -> str:
    return graph.add("Slice", z, np.array([0]), np.array([width // 2]), np.array([1]))


@chances.register(Likelihood)
def _(loss: Likelihood, graph: Graph, z: str, width: int) -> str:
    return two_sided(graph, z, width)


@chances.register(Scored)
def _(loss: Scored, graph: Graph, z: str, width: int) -> str:
    if loss.labels == "numbers":
        return graph.add("Exp", z) if loss.loss.labels == "counts" else z
    if loss.loss.labels == "classes":
        return graph.add("Softmax", z, axis=-1)
    return two_sided(graph, graph.add("Sigmoid", z), width)


def two_sided(graph: Graph, p: str, width: int) -> str:
    """Probabilities of both classes, from those of the second alone."""
    if width > 1:
        return p
    return graph.add("Concat", graph.add("Sub", np.ones(1, np.float32), p), p, axis=-1)
