"""A network: layers in sequence, with forward and backward pass.

    a_0 = x,   a_l = layer_l(a_{l-1});      gradient_{l-1} = gradient_l d a_l / d a_{l-1}

The backward pass is the chain rule from the last layer to the first: each layer returns the
gradient in its input and in its parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from math import prod
from typing import Any, NamedTuple

import numpy as np

from tenfold.neural.layers.base import Layer, PassContext, Shape, count_buffers

SEEDS_PER_STEP = 1024  # each layer of a network has a seed of its own in every step
_INFERENCE = PassContext()


class Network(NamedTuple):
    """Layers whose shapes match.

    Attributes
    ----------
    layers : the layers
    shape : shape of one input row
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
    def trainable(self) -> list[bool]:
        """For each array whether gradients train it; the others are running statistics."""
        flags = []
        for layer, size in zip(self.layers, self.sizes, strict=True):
            flags += [True] * (size - count_buffers(layer)) + [False] * count_buffers(layer)
        return flags


def layer_shapes(layers: Sequence[Layer], shape: Shape) -> list[Shape]:
    """Shape of one row after each layer."""
    shapes = []
    for number, layer in enumerate(layers):
        if isinstance(layer, type) or not hasattr(layer, "output_shape"):
            raise TypeError(f"layer {number} is {layer!r}: give layers such as Dense(8, 'relu')")
        try:
            shape = layer.output_shape(shape)
        except ValueError as error:
            raise ValueError(f"layer {number}: {error}") from error
        shapes.append(shape)
    return shapes


def build_network(
    layers: Sequence[Layer], shape: Shape, rng: np.random.Generator, dtype: Any = np.float32
) -> tuple[Network, list[np.ndarray]]:
    """A network for rows of a shape, and its initial parameters.

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
    if len(layers) == 0:
        raise ValueError("there are no layers: a network needs at least one, such as Dense()")
    inputs = [shape, *layer_shapes(layers, shape)[:-1]]
    arrays = [layer.init_params(s, rng, dtype) for layer, s in zip(layers, inputs, strict=True)]
    network = Network(tuple(layers), tuple(shape), tuple(len(part) for part in arrays))
    return network, [array for part in arrays for array in part]


def count_parameters(params: list) -> int:
    """Number of parameters."""
    return sum(array.size for array in params)


def check_params(network: Network, params: list[np.ndarray]) -> None:
    """Raise an error that names an array of parameters that does not suit its layer.

    Compiled layers trust the shapes of their arrays; those of a loaded model come from a file.
    """
    if len(params) != sum(network.sizes) or len(network.sizes) != len(network.layers):
        raise ValueError(f"params_ has {len(params)} arrays, the layers have {network.sizes}")
    inputs = [network.shape, *network.shapes[:-1]]
    rng, at = np.random.default_rng(0), 0
    for number, (layer, shape) in enumerate(zip(network.layers, inputs, strict=True)):
        own = network.parts(params)[number]
        after = layer.output_shape(shape)
        if own and len(shape) == 1 and prod(shape) * prod(after) > count_parameters(params):
            raise ValueError(f"params_ is too small for layer {number}, {layer}")
        for array, like in zip(own, layer.init_params(shape, rng, np.float32), strict=True):
            if array.shape != like.shape or array.dtype.kind != "f":
                raise ValueError(
                    f"params_[{at}] has shape {array.shape} and holds {array.dtype}; layer "
                    f"{number}, {layer}, needs numbers of shape {like.shape}"
                )
            at += 1


def flatten_params(params: list[np.ndarray]) -> np.ndarray:
    """All parameters as one vector."""
    return np.concatenate([p.reshape(-1) for p in params])


def unflatten_params(flat: np.ndarray, like: list[np.ndarray]) -> list[np.ndarray]:
    """Inverse of `flatten_params`, with the shapes and types of `like`."""
    ends = np.cumsum([0, *(p.size for p in like)])
    parts = [flat[a:b] for a, b in pairwise(ends)]
    return [part.reshape(p.shape).astype(p.dtype) for part, p in zip(parts, like, strict=True)]


def forward(
    network: Network, params: list, x: np.ndarray, context: PassContext = _INFERENCE
) -> tuple[np.ndarray, list]:
    """Output of the last layer, and the caches of all layers for `backward`.

    Parameters
    ----------
    network : Network
        Of `build_network`.
    params : list of arrays
        Its parameters.
    x : (n, ...) array
        Rows.
    context : PassContext
        Training or inference, the seed of dropout, the mask of sequences.

    See Also
    --------
    backward : Gradients from the caches.
    forward_layers : Output of every layer.
    """
    caches, seed = [], context.seed
    for number, (layer, own) in enumerate(zip(network.layers, network.parts(params), strict=True)):
        context = context._replace(seed=seed + number)
        x, cache = layer.forward(own, x, context)
        if context.mask is not None:
            context = context._replace(mask=_mask_after(layer, context))
        caches.append(cache)
    return x, caches


def _mask_after(layer: Layer, context: PassContext) -> np.ndarray | None:
    """Which steps of a sequence exist after a layer."""
    transform = getattr(layer, "mask", None)
    return context.mask if transform is None else transform(context)


def backward(
    network: Network, params: list, caches: list, gradient: np.ndarray, *, need_input: bool = False
) -> tuple[np.ndarray | None, list[np.ndarray]]:
    """Gradients in the input, if needed, and in all parameters: back-propagation.

    Parameters
    ----------
    network : Network
        Of `build_network`.
    params : list of arrays
        Its parameters.
    caches : list
        Of `forward`; they are released.
    gradient : array like the output
        Gradient of the loss in the output of the last layer.
    need_input : bool
        Whether to return the gradient in the input as well.

    Returns
    -------
    gradient : array or None, in the input
    gradients : list of arrays, in the parameters

    See Also
    --------
    node_errors : The error at every node as well.

    Examples
    --------
    Half the squared error of a linear unit, whose gradient is (w x - y) x:

    >>> import numpy as np
    >>> from tenfold.neural import Dense
    >>> layers = [Dense(1, bias=False)]
    >>> network, _ = build_network(layers, (2,), np.random.default_rng(0), np.float64)
    >>> params, x, y = [np.array([[1.0], [2.0]])], np.array([[3.0, 4.0]]), 10.0
    >>> output, caches = forward(network, params, x)
    >>> backward(network, params, caches, output - y)[1][0].ravel().tolist()
    [3.0, 4.0]
    """
    gradients: list[list[np.ndarray]] = []
    parts = network.parts(params)
    for number in reversed(range(len(network.layers))):
        layer, own = network.layers[number], parts[number]
        input_gradient, param_gradients = layer.backward(
            own, caches[number], gradient, need_input=need_input or any(network.sizes[:number])
        )
        caches[number] = None  # frees memory for the layers below
        gradients.append(param_gradients)
        if input_gradient is None:
            gradients += [[] for _ in range(number)]
            break
        gradient = input_gradient
    in_order = [array for part in reversed(gradients) for array in part]
    return gradient if need_input else None, in_order


def forward_layers(
    network: Network, params: list, x: np.ndarray, context: PassContext = _INFERENCE
) -> list[np.ndarray]:
    """Output of every layer.

    Parameters
    ----------
    network : Network
        Of `build_network`.
    params : list of arrays
        Its parameters.
    x : (n, ...) array
        Rows.
    context : PassContext
        Training or inference, the seed of dropout, the mask of sequences.
    """
    outputs = []
    for layer, own in zip(network.layers, network.parts(params), strict=True):
        x, _ = layer.forward(own, x, context)
        context = context._replace(mask=_mask_after(layer, context))
        outputs.append(x)
    return outputs


class LayerSize(NamedTuple):
    """Output and number of parameters of a layer.

    Attributes
    ----------
    layer : class name of the layer
    output : shape of one row after it
    numbers : number of values in that shape
    parameters : number of parameters
    """

    layer: str
    output: Shape
    numbers: int
    parameters: int


def layer_sizes(layers: Sequence[Layer], shape: Shape) -> list[LayerSize]:
    """Output shape and number of parameters of each layer of a network.

    Parameters
    ----------
    layers : sequence of layers
        From the first to the last.
    shape : tuple of int
        Shape of one row: (n_features,), (height, width, channels) or (n_steps, n_features).

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
