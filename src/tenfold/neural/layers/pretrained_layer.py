"""Layers that begin with learned parameters: frozen, or trained further."""

from __future__ import annotations

from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from tenfold.neural.layers.base import Layer, PassContext, Shape, count_buffers


class Pretrained(NamedTuple):
    """A layer with the parameters of another network, frozen or to be trained further.

    A frozen layer keeps its parameters to the bit: no gradient is computed for them, penalties and
    the optimizer do not see them, and the layer works as it does for predictions (dropout is off,
    batch normalization uses its running statistics). They are part of the layer, not of `params_`.
    A trainable layer only begins with the given parameters. `pretrained_layers` takes such layers
    from a fitted network.

    Parameters
    ----------
    layer : layer
        The layer.
    arrays : sequence of arrays
        Its parameters.
    trainable : bool
        Whether training changes them.

    See Also
    --------
    pretrained_layers, NetworkFeatures

    References
    ----------
    J. Yosinski, J. Clune, Y. Bengio, H. Lipson (2014), "How transferable are features in deep
    neural networks?"

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.neural import Dense
    >>> layer = Pretrained(Dense(1), (np.array([[2.0]]), np.array([1.0])))
    >>> layer.forward([], np.array([[3.0]]), PassContext())[0]
    array([[7.]])
    """

    layer: Layer
    arrays: tuple[np.ndarray, ...]
    trainable: bool = False

    def __repr__(self) -> str:
        size = sum(array.size for array in self.arrays)
        check = 0
        for array in self.arrays:
            check = crc32(np.ascontiguousarray(array).tobytes(), check)
        return (
            f"Pretrained({self.layer!r}, <{size} parameters, checksum {check:08x}>, "
            f"trainable={self.trainable})"
        )

    @property
    def n_buffers(self) -> int:
        return count_buffers(self.layer) if self.trainable else 0

    @property
    def mask(self) -> Any:
        return getattr(self.layer, "mask", None)

    def output_shape(self, shape: Shape) -> Shape:
        return self.layer.output_shape(shape)

    def init_params(self, shape: Shape, rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
        needed = [a.shape for a in self.layer.init_params(shape, np.random.default_rng(0), dtype)]
        given = [np.shape(array) for array in self.arrays]
        if needed != given:
            raise ValueError(
                f"the parameters of a pretrained {type(self.layer).__name__} have shapes {given}, "
                f"but rows of shape {shape} need {needed}: the rows must be like those that the "
                "layer was trained with"
            )
        return [np.array(array, dtype) for array in self.arrays] if self.trainable else []

    def forward(self, params: list, x: np.ndarray, context: PassContext) -> tuple[np.ndarray, Any]:
        if self.trainable:
            return self.layer.forward(params, x, context)
        own = self._frozen_arrays(x.dtype)
        out, cache = self.layer.forward(own, x, context._replace(training=False))
        return out, (own, cache)

    def backward(
        self, params: list, cache: Any, gradient: np.ndarray, *, need_input: bool = True
    ) -> tuple[np.ndarray | None, list[np.ndarray]]:
        if self.trainable:
            return self.layer.backward(params, cache, gradient, need_input=need_input)
        if not need_input:
            return None, []
        own, cache = cache
        return self.layer.backward(own, cache, gradient, need_input=True)[0], []

    def _frozen_arrays(self, dtype: np.dtype) -> list[np.ndarray]:
        """The parameters in the type of the rows: compiled layers take arrays of one type."""
        return [a.astype(dtype, copy=False) if dtype.kind == "f" else a for a in self.arrays]


def pretrained_layers(
    model: Any, stop: int | None = -1, *, trainable: bool = False
) -> list[Pretrained]:
    """Layers of a fitted network, with their parameters, for another network.

    Parameters
    ----------
    model : network of `tenfold`
        Fitted or loaded `SequentialClassifier`, `MLPClassifier`, `ConvClassifier` and so on.
    stop : int, optional
        Number of the layer before which to stop; -1 leaves out the last one, whose outputs belong
        to the classes of the old task. None takes all.
    trainable : bool
        Whether the new network trains them further (fine-tuning), or keeps them frozen.

    Returns
    -------
    list of Pretrained

    See Also
    --------
    Pretrained, NetworkFeatures

    Examples
    --------
    Digits 0 to 5 teach a hidden layer that serves the others:

    >>> from sklearn.datasets import load_digits
    >>> from tenfold import SequentialClassifier
    >>> from tenfold.neural import Dense, pretrained_layers
    >>> X, y = load_digits(return_X_y=True)
    >>> settings = {"epochs": 20, "learning_rate": 0.01, "random_state": 0}
    >>> old = SequentialClassifier(**settings).fit(X[y < 6] / 16, y[y < 6])
    >>> new = SequentialClassifier([*pretrained_layers(old), Dense()], **settings)
    >>> new.fit(X[y > 5] / 16, y[y > 5]).score(X[y > 5] / 16, y[y > 5]) > 0.9
    True
    """
    if not hasattr(model, "params_") or not hasattr(model, "network_"):
        raise ValueError(f"{type(model).__name__} is not a fitted network: fit it or load it first")
    network = model.network_
    layers = list(zip(network.layers, network.parts(model.params_), strict=True))[:stop]
    return [_pretrain(layer, own, trainable=trainable) for layer, own in layers]


def _pretrain(layer: Any, params: list[np.ndarray], *, trainable: bool) -> Pretrained:
    """A layer with copies of its parameters; one that was frozen before brings its own."""
    if isinstance(layer, Pretrained):
        layer, params = layer.layer, params if layer.trainable else list(layer.arrays)
    return Pretrained(layer, tuple(array.copy() for array in params), trainable)


def unwrap_pretrained(network: Any, params: list[np.ndarray]) -> tuple[Any, list[np.ndarray]]:
    """The same network of plain layers, with all parameters in one list."""
    pairs = [
        _pretrain(layer, own, trainable=True)
        for layer, own in zip(network.layers, network.parts(params), strict=True)
    ]
    sizes = tuple(len(pair.arrays) for pair in pairs)
    plain = network._replace(layers=tuple(pair.layer for pair in pairs), sizes=sizes)
    return plain, [array for pair in pairs for array in pair.arrays]
