"""The protocol of a layer: immutable settings with a pure forward and backward pass.

A network is a list of layers. Its parameters are one flat list of arrays; each layer owns a
contiguous part of it, possibly empty. A layer stores no state, so several threads can train one
network at once, and several networks may share a layer.

Rows of a batch are the first axis of every array. Images are channels-last, (n_rows, height, width,
channels): the values under one row of a kernel are contiguous, and pooling works on vectors of
channels. Sequences are (n_rows, n_steps, n_features) with `context.mask` (n_rows, n_steps).

`forward` must not change its input; `backward` may overwrite `gradient`. Layers are named tuples of
numbers, strings and other layers, so that a model can be saved.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

Shape = tuple[int, ...]


class PassContext(NamedTuple):
    """What a forward pass depends on besides parameters and input.

    Attributes
    ----------
    training : whether the pass belongs to a training step (dropout, batch statistics)
    seed : of this step and layer; random numbers depend on (seed, row of the batch)
    first_row : index of the first row within the batch
    mask : (n_rows, n_steps) which steps of padded sequences exist, or None
    states : states of layers that go on from earlier steps, or None: every layer starts afresh
    """

    training: bool = False
    seed: int = 0
    first_row: int = 0
    mask: np.ndarray | None = None
    states: LayerStates | None = None


class LayerStates:
    """What layers remember of the steps before: given to a pass, and left behind by it.

    Recurrent layers remember their state, attention its keys and values, embeddings of positions
    the number of steps. A pass asks for them in the order in which the layers are computed.

    Parameters
    ----------
    initial : list of tuples of arrays
        For each such layer what it starts with; empty for a fresh start. `last` of an earlier pass
        continues that pass.

    Attributes
    ----------
    last : the same after the pass
    gradients : after the backward pass, for the place of a recurrent layer in this list the
        gradients of the loss in what it started with
    last_gradients : gradients of the loss in `last`, for the place of a recurrent layer, that the
        backward pass adds to those of the output

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.neural import Rnn
    >>> layer, params = Rnn(1), [np.ones((1, 1)), np.ones((1, 1)), np.zeros(1)]
    >>> x = np.array([[[0.1], [0.2], [0.3]]])
    >>> whole, _ = layer.forward(params, x, PassContext())
    >>> first = LayerStates()
    >>> _ = layer.forward(params, x[:, :2], PassContext(states=first))
    >>> after, _ = layer.forward(params, x[:, 2:], PassContext(states=LayerStates(first.last)))
    >>> bool(np.isclose(whole, after).all())
    True
    """

    def __init__(self, initial: Any = ()) -> None:
        self.initial = list(initial)
        self.last: list[tuple[np.ndarray, ...]] = []
        self.gradients: dict[int, tuple[np.ndarray, ...]] = {}
        self.last_gradients: dict[int, tuple[np.ndarray, ...]] = {}

    def start(self) -> tuple[np.ndarray, ...] | None:
        """What the next layer starts with; None for nothing."""
        place = len(self.last)
        return self.initial[place] if place < len(self.initial) else None

    def leave(self, state: tuple[np.ndarray, ...]) -> int:
        """Note what a layer leaves behind; returns its place."""
        self.last.append(state)
        return len(self.last) - 1


class Layer(Protocol):
    """What a layer must have.

    Two members are optional. `n_buffers`: that many of the last parameter arrays are running
    statistics, not weights; in place of their gradients, `backward` returns the statistics of its
    rows, which are averaged over the parts of a batch. `mask(context)`: the mask of the output,
    where it differs from that of the input.
    """

    def output_shape(self, shape: Shape) -> Shape:
        """Shape of one row after the layer; an error if the layer cannot take rows of `shape`."""
        ...

    def init_params(self, shape: Shape, rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
        """Initial parameters."""
        ...

    def forward(self, params: list, x: np.ndarray, context: PassContext) -> tuple[np.ndarray, Any]:
        """The output, and the cache that `backward` needs."""
        ...

    def backward(
        self, params: list, cache: Any, gradient: np.ndarray, *, need_input: bool = True
    ) -> tuple[np.ndarray | None, list[np.ndarray]]:
        """Gradients of the loss in the input (None if not needed) and in the parameters.

        `gradient` is that in the output; gradients in parameters are sums over rows.
        """
        ...


def count_buffers(layer: Layer) -> int:
    """How many of the last arrays of a layer are running statistics."""
    return getattr(layer, "n_buffers", 0)


def shape_error(layer: Layer, shape: Shape, expected: str) -> ValueError:
    """The error of a layer that cannot take rows of a shape."""
    return ValueError(
        f"{type(layer).__name__} takes rows of shape {expected}, but the layer before gives {shape}"
    )
