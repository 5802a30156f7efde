"""Export of networks to PyTorch state dicts."""

from __future__ import annotations

from functools import singledispatch
from math import prod
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.neural.layers.activations import Activation, Softmax, as_activation
from tenfold.neural.layers.base import Shape
from tenfold.neural.layers.conv import Conv1d, Conv2d
from tenfold.neural.layers.dense import Dense
from tenfold.neural.layers.dropout import Dropout
from tenfold.neural.layers.embedding import Embedding
from tenfold.neural.layers.normalization import BatchNorm, LayerNorm
from tenfold.neural.layers.pooling import AveragePool, MaxPool
from tenfold.neural.layers.pretrained_layer import unwrap_pretrained
from tenfold.neural.layers.recurrent import (
    Bidirectional,
    GatedRnn,
    Gru,
    Lstm,
    Rnn,
    split_directions,
)
from tenfold.neural.layers.reshape import Flatten
from tenfold.neural.network import Network

_OPEN_GATE_BIAS = 100.0  # its sigmoid is 1 in float32


class DirectionWeights(NamedTuple):
    """Weights of one direction of a recurrent layer, in the layout of PyTorch and ONNX.

    Attributes
    ----------
    kind : "RNN", "GRU" or "LSTM"
    input, state : (g u, p) and (g u, u), for g gates, u units, p features; gates in the order of
        PyTorch: r, z, n or i, f, g, o
    input_bias, state_bias : (g u,); only their sum matters, except in the candidate n of the GRU
    """

    kind: str
    input: np.ndarray
    state: np.ndarray
    input_bias: np.ndarray
    state_bias: np.ndarray

    def reorder(self, gates: list[int]) -> list[np.ndarray]:
        """All four arrays with the gates in another order."""
        arrays = (np.split(array, len(gates)) for array in self[1:])
        return [np.concatenate([parts[gate] for gate in gates]) for parts in arrays]


def recurrent_weights(layer: Any, params: list[np.ndarray]) -> DirectionWeights:
    """Weights of a layer that is not bidirectional."""
    W, U, b = (np.ascontiguousarray(array.T) for array in params)
    state_bias = np.zeros_like(U[:, 0])
    if isinstance(layer, Lstm):
        return DirectionWeights("LSTM", W, U, b, state_bias)
    if isinstance(layer, Gru):
        last = slice(2 * layer.units, 3 * layer.units)
        state_bias[last] = b[len(state_bias) :]
        return DirectionWeights("GRU", W, U, b[: len(state_bias)], state_bias)
    if isinstance(layer, GatedRnn):
        return _gated_as_gru(W, U, b)
    return DirectionWeights("RNN", W, U, b, state_bias)


def _gated_as_gru(W: np.ndarray, U: np.ndarray, b: np.ndarray) -> DirectionWeights:
    """`GatedRnn` as a GRU with open reset gate, whose update gate is one minus the gate."""
    (W_gate, W_new), (U_gate, U_new), (b_gate, b_new) = (np.split(a, 2) for a in (W, U, b))
    W = np.concatenate([0 * W_gate, -W_gate, W_new])
    U = np.concatenate([0 * U_gate, -U_gate, U_new])
    b = np.concatenate([0 * b_gate + b_gate.dtype.type(_OPEN_GATE_BIAS), -b_gate, b_new])
    return DirectionWeights("GRU", W, U, b, np.zeros_like(b))


_ModuleWeights = list[dict[str, np.ndarray]]  # weights of the modules of a layer


def to_torch(model: Any) -> dict[str, np.ndarray]:
    """The weights of a fitted network as a state dict of the same `torch.nn.Sequential`.

    A layer is one module, and its activation, if not linear, another one: `Dense(8, "relu")`
    corresponds to `Linear` and `ReLU`. Images are channels-first in PyTorch; weights after
    `Flatten` are reordered accordingly. Recurrent layers correspond to `RNN`, `GRU` or `LSTM` with
    `batch_first=True`, which return a tuple in PyTorch: take `out[:, -1]` or all of `out`.
    `GatedRnn` is a `GRU` whose reset gate is always open.

    Parameters
    ----------
    model : fitted model made of layers
        For instance `MLPClassifier`, `ConvClassifier`, `SequentialRegressor`.

    Returns
    -------
    dict of arrays
        To be loaded with
        ``net.load_state_dict({name: torch.from_numpy(a) for name, a in to_torch(model).items()})``.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import SequentialRegressor
    >>> from tenfold.neural import Dense
    >>> model = SequentialRegressor([Dense(8, "relu"), Dense()], epochs=1)
    >>> state = to_torch(model.fit(np.eye(3), np.arange(3.0)))  # Linear, ReLU, Linear
    >>> {name: array.shape for name, array in state.items()}
    {'0.weight': (8, 3), '0.bias': (8,), '2.weight': (1, 8), '2.bias': (1,)}
    """
    check_is_fitted(model)
    return state_dict(*unwrap_pretrained(model.network_, model.params_))


def state_dict(network: Network, params: list[np.ndarray]) -> dict[str, np.ndarray]:
    """The parameters of a network under PyTorch's names and in its layouts."""
    modules: _ModuleWeights = []
    position = LayerPosition(
        network.shape, series=any(isinstance(a, Conv1d) for a in network.layers)
    )
    for number, own in enumerate(network.parts(params)):
        layer = network.layers[number]
        modules += _layer_modules(layer, own, position)
        position = LayerPosition(
            network.shapes[number], _order_after(layer, position), position.series
        )
    return {
        f"{number}.{name}": np.ascontiguousarray(array)
        for number, module in enumerate(modules)
        for name, array in module.items()
    }


class LayerPosition(NamedTuple):
    """Position of a layer in a network.

    Attributes
    ----------
    shape : shape of a row before the layer
    order : order of the values of a flat row in PyTorch; None if the same as here
    series : whether rows of two axes are series of a convolution, channels-first in PyTorch
    """

    shape: Shape
    order: np.ndarray | None = None
    series: bool = False

    @property
    def is_channels_first(self) -> bool:
        """Whether rows are channels-first in PyTorch."""
        return len(self.shape) == 3 or (len(self.shape) == 2 and self.series)

    def reorder(self, array: np.ndarray) -> np.ndarray:
        """Weights of the values of a row, in PyTorch's order."""
        return array if self.order is None else array[self.order]


def _order_after(layer: Any, position: LayerPosition) -> np.ndarray | None:
    """The order of values after a layer."""
    if isinstance(layer, Flatten) and position.is_channels_first:
        indices = np.arange(prod(position.shape)).reshape(position.shape)
        return np.moveaxis(indices, -1, 0).ravel()
    return None if isinstance(layer, Dense) else position.order


@singledispatch
def _layer_modules(layer: Any, params: list[np.ndarray], position: LayerPosition) -> _ModuleWeights:
    """The weights of the modules of a layer."""
    raise TypeError(f"{type(layer).__name__} has no counterpart in torch.nn.Sequential")


@_layer_modules.register(Activation)
@_layer_modules.register(AveragePool)
@_layer_modules.register(Dropout)
@_layer_modules.register(Flatten)
@_layer_modules.register(MaxPool)
@_layer_modules.register(Softmax)
def _(layer: Any, params: list[np.ndarray], position: LayerPosition) -> _ModuleWeights:
    return [{}]


@_layer_modules.register(Dense)
def _(layer: Dense, params: list[np.ndarray], position: LayerPosition) -> _ModuleWeights:
    _check_last_axis(layer, position)
    return [_name_weights(position.reorder(params[0]).T, *params[1:]), *_activation_module(layer)]


@_layer_modules.register(Conv1d)
@_layer_modules.register(Conv2d)
def _(layer: Any, params: list[np.ndarray], position: LayerPosition) -> _ModuleWeights:
    W = np.moveaxis(params[0], (-1, -2), (0, 1))  # filters, channels, kernel
    return [_name_weights(W, *params[1:]), *_activation_module(layer)]


@_layer_modules.register(BatchNorm)
def _(layer: BatchNorm, params: list[np.ndarray], position: LayerPosition) -> _ModuleWeights:
    return [_name_weights(*map(position.reorder, params))]


@_layer_modules.register(LayerNorm)
def _(layer: LayerNorm, params: list[np.ndarray], position: LayerPosition) -> _ModuleWeights:
    _check_last_axis(layer, position)
    return [_name_weights(*map(position.reorder, params))]


@_layer_modules.register(Embedding)
def _(layer: Embedding, params: list[np.ndarray], position: LayerPosition) -> _ModuleWeights:
    return [_name_weights(params[0])]


@_layer_modules.register(Rnn)
@_layer_modules.register(GatedRnn)
@_layer_modules.register(Gru)
@_layer_modules.register(Lstm)
def _(layer: Any, params: list[np.ndarray], position: LayerPosition) -> _ModuleWeights:
    _check_last_axis(layer, position)
    return [_direction_weights(layer, params)]


@_layer_modules.register(Bidirectional)
def _(layer: Bidirectional, params: list[np.ndarray], position: LayerPosition) -> _ModuleWeights:
    _check_last_axis(layer, position)
    params_a, params_b = split_directions(params)
    reverse = _direction_weights(layer.layer, params_b, "_reverse")
    return [_direction_weights(layer.layer, params_a) | reverse]


def _name_weights(*arrays: np.ndarray) -> dict[str, np.ndarray]:
    """Weights under the names of most modules."""
    names = ("weight", "bias", "running_mean", "running_var")
    return dict(zip(names, arrays, strict=False))


def _direction_weights(
    layer: Any, params: list[np.ndarray], suffix: str = ""
) -> dict[str, np.ndarray]:
    """Weights of one direction of a recurrent layer."""
    names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
    arrays = recurrent_weights(layer, params)[1:]
    return {name + suffix: array for name, array in zip(names, arrays, strict=True)}


def _activation_module(layer: Any) -> _ModuleWeights:
    """The module of a layer's activation, if it is not linear."""
    return [] if as_activation(layer.activation).name in ("linear", "identity") else [{}]


def _check_last_axis(layer: Any, position: LayerPosition) -> None:
    """Raise an error if the last axis is another one in PyTorch."""
    if position.is_channels_first:
        raise TypeError(
            f"{type(layer).__name__} on rows of shape {position.shape} has no counterpart in "
            "torch.nn.Sequential, where such rows are channels-first: put Flatten() before it"
        )
