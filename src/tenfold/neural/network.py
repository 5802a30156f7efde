"""A network: layers in sequence, with forward and backward pass.

    a_0 = x,   a_l = layer_l(a_{l-1}),        and back:   slope_{l-1} = slope_l d a_l / d a_{l-1}

The pull-back is the chain rule from the last layer to the first; each layer hands on the slope in
its input and keeps that in its parameters [001, 3.2; 003, unit 3; 004, 4.3].
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from math import prod
from typing import Any, NamedTuple

import numpy as np

from tenfold.neural.layers.base import Layer, PassContext, Shape, count_buffers

SEEDS_PER_STEP = 1024  # layers of a network have seeds of their own
_INFERENCE = PassContext()


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
        return layer_shapes(self.layers, self.shape)

    def parts(self, params: list) -> list[list]:
        """The parameters of each layer."""
        return [params[a:b] for a, b in pairwise(accumulate(self.sizes, initial=0))]

    @property
    def learned(self) -> list[bool]:
        """For each array whether it is learned by gradients; the others are running statistics."""
        marks = []
        for layer, size in zip(self.layers, self.sizes, strict=True):
            marks += [True] * (size - count_buffers(layer)) + [False] * count_buffers(layer)
        return marks


def layer_shapes(layers: Sequence[Layer], shape: Shape) -> list[Shape]:
    """Shape of one row after each layer."""
    shapes = []
    for number, layer in enumerate(layers):
        try:
            shape = layer.output(shape)
        except ValueError as problem:
            raise ValueError(f"layer {number}: {problem}") from problem
        shapes.append(shape)
    return shapes


def build_network(
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
    >>> network, params = build_network(
    ...     [Dense(4, "tanh"), Dense(1)], (2,), np.random.default_rng(0)
    ... )
    >>> network.shapes, count_parameters(params)
    ([(4,), (1,)], 17)
    """
    before = [shape, *layer_shapes(layers, shape)[:-1]]
    own = [layer.begin(s, rng, dtype) for layer, s in zip(layers, before, strict=True)]
    network = Network(tuple(layers), tuple(shape), tuple(len(part) for part in own))
    return network, [array for part in own for array in part]


def count_parameters(params: list) -> int:
    """Number of parameters."""
    return sum(array.size for array in params)


def forward(
    network: Network, params: list, x: np.ndarray, way: PassContext = _INFERENCE
) -> tuple[np.ndarray, list]:
    """What the last layer gives, and what `backward` needs from each layer."""
    kept, seed = [], way.seed
    for number, (layer, own) in enumerate(zip(network.layers, network.parts(params), strict=True)):
        way = PassContext(way.training, seed + number, way.first, way.mask)
        x, memory = layer.forward(own, x, way)
        if way.mask is not None:
            way = way._replace(mask=_mask_after(layer, way))
        kept.append(memory)
    return x, kept


def _mask_after(layer: Layer, way: PassContext) -> np.ndarray | None:
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


def forward_layers(
    network: Network, params: list, x: np.ndarray, way: PassContext = _INFERENCE
) -> list[np.ndarray]:
    """What every layer gives [003, unit 3, lect. 8]."""
    given = []
    for layer, own in zip(network.layers, network.parts(params), strict=True):
        x, _ = layer.forward(own, x, way)
        way = way._replace(mask=_mask_after(layer, way))
        given.append(x)
    return given


def flatten_params(params: list[np.ndarray]) -> np.ndarray:
    """All numbers in a row."""
    return np.concatenate([p.reshape(-1) for p in params])


def unflatten_params(flat: np.ndarray, like: list[np.ndarray]) -> list[np.ndarray]:
    """The parameters again, in the shapes and types of `like`."""
    ends = np.cumsum([0, *(p.size for p in like)])
    parts = [flat[a:b] for a, b in pairwise(ends)]
    return [part.reshape(p.shape).astype(p.dtype) for part, p in zip(parts, like, strict=True)]


class LayerSize(NamedTuple):
    """What a layer gives, and how many numbers it learns.

    Attributes
    ----------
    layer : its name
    output : shape of one row after it
    numbers : how many numbers that is
    parameters : how many it has
    """

    layer: str
    output: Shape
    numbers: int
    parameters: int


def layer_sizes(layers: Sequence[Layer], shape: Shape) -> list[LayerSize]:
    """Shape and number of parameters of each layer of a network.

    Parameters
    ----------
    layers : sequence of layers
        From the first to the last.
    shape : tuple of int
        Shape of one row: (p,), (height, width, channels), (steps, p).

    Returns
    -------
    list of LayerSize

    Examples
    --------
    >>> from tenfold.neural import Dense
    >>> [tuple(size) for size in layer_sizes([Dense(128, "relu"), Dense(10)], (784,))]
    [('Dense', (128,), 128, 100480), ('Dense', (10,), 10, 1290)]
    """
    network, params = build_network(layers, shape, np.random.default_rng(0))
    return [
        LayerSize(type(layer).__name__, after, prod(after), sum(array.size for array in own))
        for layer, after, own in zip(layers, network.shapes, network.parts(params), strict=True)
    ]
