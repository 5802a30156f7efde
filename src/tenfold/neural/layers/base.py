"""The protocol of a layer: immutable settings with a pure forward and backward pass.

A network is a list of layers. Its parameters are one flat list of arrays, of which each layer owns
a stretch; a layer without parameters owns none. Nothing is stored in a layer, so a network can be
trained in several threads at once, and several networks may share their layers' settings.

Rows of a batch come first in every array. Images are channels-last, (n, height, width, channels):
the numbers that a kernel's row meets lie side by side, and pooling works on whole vectors of
channels. Sequences are (n, steps, numbers) with `way.mask` (n, steps).

Who owns what: `forward` must leave its input as it is; `backward` may overwrite `slope`.
Layers are named tuples of numbers, names and other layers, so that a model can be saved.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

Shape = tuple[int, ...]


class PassContext(NamedTuple):
    """How a forward pass is meant.

    Attributes
    ----------
    training : whether the pass is part of a training step (dropout, statistics of batches)
    seed : of this step and layer; random numbers belong to (seed, row of the batch)
    first : number of the first row within the batch
    mask : (n, t) which steps of padded sequences are there, or None
    """

    training: bool = False
    seed: int = 0
    first: int = 0
    mask: np.ndarray | None = None


class Layer(Protocol):
    """What a layer must have.

    Two things are optional. `count_buffers`, a number: so many of the last arrays are no weights but
    running statistics; in place of their gradients, `backward` gives the statistics of its rows,
    which are averaged over the parts of a batch. `mask(way)`: the mask of what comes out, where it
    is not that of what went in.
    """

    def output(self, shape: Shape) -> Shape:
        """Shape of one row after the layer; an error if a row of `shape` does not fit."""
        ...

    def begin(self, shape: Shape, rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
        """Parameters to start from."""
        ...

    def forward(self, params: list, x: np.ndarray, way: PassContext) -> tuple[np.ndarray, Any]:
        """What comes out, and what `backward` will need."""
        ...

    def backward(
        self, params: list, kept: Any, slope: np.ndarray, *, need_input: bool = True
    ) -> tuple[np.ndarray | None, list[np.ndarray]]:
        """Slopes of the loss in the input (None if not needed) and in the parameters.

        `slope` is that in the output; slopes in parameters are sums over rows.
        """
        ...


def count_buffers(layer: Layer) -> int:
    """How many of the last arrays of a layer are running statistics."""
    return getattr(layer, "buffers", 0)


def shape_error(layer: Layer, shape: Shape, wants: str) -> ValueError:
    """The error of a layer that cannot take rows of a shape."""
    return ValueError(
        f"{type(layer).__name__} takes rows of shape {wants}, but the layer before gives {shape}"
    )
