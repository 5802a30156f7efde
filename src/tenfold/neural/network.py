"""A network: layers one after the other, forward and back.

    a_0 = x,   a_l = layer_l(a_{l-1}),        and back:   slope_{l-1} = slope_l d a_l / d a_{l-1}

The pull-back is the chain rule from the last layer to the first; each layer hands on the slope in
its input and keeps that in its parameters [001, 3.2; 003, unit 3; 004, 4.3].
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np

from tenfold.neural.layer import Layer, Shape, Way, buffers

SEEDS_PER_STEP = 1024  # layers of a network have seeds of their own
PREDICTING = Way()


class Network(NamedTuple):
    """Layers that fit together.

    Attributes
    ----------
    layers : the layers
    shape : shape of one row that enters
    sizes : number of parameter arrays of each layer
    """

    layers: tuple[Layer, ...]
    shape: Shape
    sizes: tuple[int, ...]

    @property
    def shapes(self) -> list[Shape]:
        """Shape of one row after each layer."""
        return shapes_of(self.layers, self.shape)

    def parts(self, params: list) -> list[list]:
        """The parameters of each layer."""
        return [params[a:b] for a, b in pairwise(accumulate(self.sizes, initial=0))]

    @property
    def learned(self) -> list[bool]:
        """For each array whether it is learned by gradients; the others are running statistics."""
        marks = []
        for layer, size in zip(self.layers, self.sizes, strict=True):
            marks += [True] * (size - buffers(layer)) + [False] * buffers(layer)
        return marks


def shapes_of(layers: Sequence[Layer], shape: Shape) -> list[Shape]:
    """Shape of one row after each layer."""
    shapes = []
    for number, layer in enumerate(layers):
        try:
            shape = layer.output(shape)
        except ValueError as problem:
            raise ValueError(f"layer {number}: {problem}") from problem
        shapes.append(shape)
    return shapes


def build(
    layers: Sequence[Layer], shape: Shape, rng: np.random.Generator, dtype: Any = np.float32
) -> tuple[Network, list[np.ndarray]]:
    """A network for rows of a shape, and parameters to start from.

    Parameters
    ----------
    layers : sequence of layers
        From the first to the last.
    shape : tuple of int
        Shape of one row.
    rng : Generator
        Draws the parameters.
    dtype : float32 or float64
        In which the network computes.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.neural import Dense
    >>> network, params = build([Dense(4, "tanh"), Dense(1)], (2,), np.random.default_rng(0))
    >>> network.shapes, count(params)
    ([(4,), (1,)], 17)
    """
    before = [shape, *shapes_of(layers, shape)[:-1]]
    own = [layer.begin(s, rng, dtype) for layer, s in zip(layers, before, strict=True)]
    network = Network(tuple(layers), tuple(shape), tuple(len(part) for part in own))
    return network, [array for part in own for array in part]


def count(params: list) -> int:
    """Number of parameters."""
    return sum(array.size for array in params)


def forward(
    network: Network, params: list, x: np.ndarray, way: Way = PREDICTING
) -> tuple[np.ndarray, list]:
    """What the last layer gives, and what `backward` needs from each layer."""
    kept, seed = [], way.seed
    for number, (layer, own) in enumerate(zip(network.layers, network.parts(params), strict=True)):
        way = Way(way.training, seed + number, way.first, way.mask)
        x, memory = layer.forward(own, x, way)
        if way.mask is not None:
            way = way._replace(mask=mask_after(layer, way))
        kept.append(memory)
    return x, kept


def mask_after(layer: Layer, way: Way) -> np.ndarray | None:
    """Which steps of a sequence are there after a layer."""
    change = getattr(layer, "mask", None)
    return way.mask if change is None else change(way)


def backward(
    network: Network, params: list, kept: list, slope: np.ndarray, *, need_input: bool = False
) -> tuple[np.ndarray | None, list[np.ndarray]]:
    """Slopes in the input, if needed, and in all parameters."""
    slopes: list[list[np.ndarray]] = []
    parts = network.parts(params)
    for number in reversed(range(len(network.layers))):
        layer, own = network.layers[number], parts[number]
        down, mine = layer.backward(
            own, kept[number], slope, need_input=need_input or any(network.sizes[:number])
        )
        kept[number] = None  # memory is free for the layers below
        slopes.append(mine)
        if down is None:
            slopes += [[] for _ in range(number)]
            break
        slope = down
    return slope if need_input else None, [array for part in reversed(slopes) for array in part]


def outputs(
    network: Network, params: list, x: np.ndarray, way: Way = PREDICTING
) -> list[np.ndarray]:
    """What every layer gives [003, unit 3, lect. 8]."""
    given = []
    for layer, own in zip(network.layers, network.parts(params), strict=True):
        x, _ = layer.forward(own, x, way)
        way = way._replace(mask=mask_after(layer, way))
        given.append(x)
    return given
