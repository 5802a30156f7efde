"""The weights of a network under PyTorch's names and in its layouts."""

# ruff: noqa: ARG001 - all get the same arguments
from __future__ import annotations

from functools import singledispatch
from math import prod
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.neural.activations import Activation, Softmax, activation
from tenfold.neural.convolution import Conv1d, Conv2d
from tenfold.neural.dense import Dense
from tenfold.neural.dropout import Dropout
from tenfold.neural.embedding import Embedding
from tenfold.neural.export.recurrent_weights import weights_of
from tenfold.neural.layer import Shape
from tenfold.neural.network import Network
from tenfold.neural.norms import BatchNorm, LayerNorm
from tenfold.neural.pooling import AveragePool, MaxPool
from tenfold.neural.recurrent.bidirectional import Bidirectional, halves
from tenfold.neural.recurrent.layers import GatedRnn, Gru, Lstm, Rnn
from tenfold.neural.shaping import Flatten

Modules = list[dict[str, np.ndarray]]  # the weights of each module that a layer stands for


def to_torch(model: Any) -> dict[str, np.ndarray]:
    """The weights of a fitted network as a state dict of the same `torch.nn.Sequential`.

    A layer is one module, and so is each function after it that is not linear: `Dense(8, "relu")`
    stands for `Linear` and `ReLU`. Images are channels-first in PyTorch; weights after `Flatten`
    are ordered accordingly. Layers with a state stand for `RNN`, `GRU` or `LSTM` with
    `batch_first=True`, which give a tuple in PyTorch: take `out[:, -1]` or all of `out`. The simple
    gated layer of 003 is a `GRU` whose reset gate is always open.

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
    return state_dict(model.network_, model.params_)


def state_dict(network: Network, params: list[np.ndarray]) -> dict[str, np.ndarray]:
    """The parameters of a network as PyTorch names and lays them out."""
    found: Modules = []
    place = Place(network.shape, series=any(isinstance(a, Conv1d) for a in network.layers))
    for number, own in enumerate(network.parts(params)):
        layer = network.layers[number]
        found += modules(layer, own, place)
        place = Place(network.shapes[number], order_after(layer, place), place.series)
    return {
        f"{number}.{name}": np.ascontiguousarray(array)
        for number, module in enumerate(found)
        for name, array in module.items()
    }


class Place(NamedTuple):
    """Where in a network a layer stands.

    Attributes
    ----------
    shape : shape of a row before the layer
    order : of the numbers of a flat row in PyTorch; None if as ours
    series : whether rows of two axes are channels-first in PyTorch, since kernels move along them
    """

    shape: Shape
    order: np.ndarray | None = None
    series: bool = False

    @property
    def turned(self) -> bool:
        """Whether rows are channels-first in PyTorch."""
        return len(self.shape) == 3 or (len(self.shape) == 2 and self.series)

    def sorted(self, array: np.ndarray) -> np.ndarray:
        """Weights of the numbers of a row, in PyTorch's order."""
        return array if self.order is None else array[self.order]


def order_after(layer: Any, place: Place) -> np.ndarray | None:
    """The order of numbers after a layer."""
    if isinstance(layer, Flatten) and place.turned:
        numbers = np.arange(prod(place.shape)).reshape(place.shape)
        return np.moveaxis(numbers, -1, 0).ravel()
    return None if isinstance(layer, Dense) else place.order


@singledispatch
def modules(layer: Any, params: list[np.ndarray], place: Place) -> Modules:
    """The modules that a layer stands for, each by its weights."""
    raise TypeError(f"{type(layer).__name__} has no counterpart in torch.nn.Sequential")


@modules.register(Activation)
@modules.register(AveragePool)
@modules.register(Dropout)
@modules.register(Flatten)
@modules.register(MaxPool)
@modules.register(Softmax)
def _(layer: Any, params: list[np.ndarray], place: Place) -> Modules:
    return [{}]


@modules.register(Dense)
def _(layer: Dense, params: list[np.ndarray], place: Place) -> Modules:
    assert_last_axis(layer, place)
    return [named(place.sorted(params[0]).T, *params[1:]), *bent(layer)]


@modules.register(Conv1d)
@modules.register(Conv2d)
def _(layer: Any, params: list[np.ndarray], place: Place) -> Modules:
    W = np.moveaxis(params[0], (-1, -2), (0, 1))  # filters, channels, kernel
    return [named(W, *params[1:]), *bent(layer)]


@modules.register(BatchNorm)
def _(layer: BatchNorm, params: list[np.ndarray], place: Place) -> Modules:
    return [named(*map(place.sorted, params))]


@modules.register(LayerNorm)
def _(layer: LayerNorm, params: list[np.ndarray], place: Place) -> Modules:
    assert_last_axis(layer, place)
    return [named(*map(place.sorted, params))]


@modules.register(Embedding)
def _(layer: Embedding, params: list[np.ndarray], place: Place) -> Modules:
    return [named(params[0])]


@modules.register(Rnn)
@modules.register(GatedRnn)
@modules.register(Gru)
@modules.register(Lstm)
def _(layer: Any, params: list[np.ndarray], place: Place) -> Modules:
    assert_last_axis(layer, place)
    return [one_way(layer, params)]


@modules.register(Bidirectional)
def _(layer: Bidirectional, params: list[np.ndarray], place: Place) -> Modules:
    assert_last_axis(layer, place)
    ahead, back = halves(params)
    return [one_way(layer.layer, ahead) | one_way(layer.layer, back, "_reverse")]


def named(*arrays: np.ndarray) -> dict[str, np.ndarray]:
    """Weights by the names that most modules have."""
    names = ("weight", "bias", "running_mean", "running_var")
    return dict(zip(names, arrays, strict=False))


def one_way(layer: Any, params: list[np.ndarray], suffix: str = "") -> dict[str, np.ndarray]:
    """Weights of one direction of a layer with a state."""
    names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
    arrays = weights_of(layer, params)[1:]
    return {name + suffix: array for name, array in zip(names, arrays, strict=True)}


def bent(layer: Any) -> Modules:
    """The module of a function after a layer, if there is one."""
    return [] if activation(layer.activation).name in ("linear", "identity") else [{}]


def assert_last_axis(layer: Any, place: Place) -> None:
    """Raise an error if PyTorch would take another axis for the last one."""
    if place.turned:
        raise TypeError(
            f"{type(layer).__name__} on rows of shape {place.shape} has no counterpart in "
            "torch.nn.Sequential, where such rows are channels-first: put Flatten() before it"
        )
