"""A graph of ONNX operators in the making, and the file that it becomes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

OPSET = 20  # of 2023: every program that reads ONNX today knows it


def onnx() -> Any:
    """The library, or what to do if it is not there."""
    try:
        import onnx
    except ModuleNotFoundError as problem:
        raise ModuleNotFoundError(
            "to_onnx needs the package onnx: pip install 'tenfold[export]'"
        ) from problem
    return onnx


class Graph:
    """Nodes and constants, each with a name of its own."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.lengths = ""  # name of the lengths of sequences; ONNX takes "" for none

    def add(self, operator: str, *inputs: Any, outputs: int = 1, **settings: Any) -> Any:
        """Add a node; inputs are names or arrays. Returns the name of its (last) output.

        Of several outputs the names are a list.
        """
        names = [self.constant(i) if isinstance(i, np.ndarray) else i for i in inputs]
        made = [f"{operator.lower()}_{len(self.nodes)}_{k}" for k in range(outputs)]
        self.nodes.append(onnx().helper.make_node(operator, names, made, **settings))
        return made if outputs > 1 else made[0]

    def constant(self, array: np.ndarray) -> str:
        """Add a constant; real numbers are single precision."""
        array = array.astype(np.float32) if array.dtype.kind == "f" else array
        name = f"constant_{len(self.constants)}"
        self.constants.append(onnx().numpy_helper.from_array(array, name))
        return name

    def name(self, now: str, then: str) -> None:
        """Give a result the name by which the world knows it."""
        self.nodes.append(onnx().helper.make_node("Identity", [now], [then]))

    def save(self, inputs: list[Any], outputs: list[Any], path: str | Path) -> None:
        """Check the graph and write it."""
        helper = onnx().helper
        graph = helper.make_graph(self.nodes, "tenfold", inputs, outputs, self.constants)
        opset = [helper.make_opsetid("", OPSET)]
        version = helper.find_min_ir_version_for(opset)
        model = helper.make_model(
            graph, producer_name="tenfold", opset_imports=opset, ir_version=version
        )
        onnx().checker.check_model(model, full_check=True)
        path = Path(path)
        unfinished = path.with_name(f".{path.name}.{os.getpid()}.part")
        try:
            unfinished.write_bytes(model.SerializeToString())
            os.replace(unfinished, path)
        finally:
            unfinished.unlink(missing_ok=True)
