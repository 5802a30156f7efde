"""Dense (fully connected) layers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from tenfold._compiled.gemm import ENTRY_OPTIONS
from tenfold.neural._buffer_pool import empty
from tenfold.neural.initializers import initialize_weights
from tenfold.neural.layers.activations import Activation, as_activation
from tenfold.neural.layers.base import PassContext, Shape, shape_error

_ZERO = np.float32(0)  # the integer 0 would promote float32 to float64


@njit(**ENTRY_OPTIONS)
def _add_bias_relu(z, b):  # noqa: ANN001, ANN202  (n, k), (k,)
    """max(z + b, 0), in place."""
    n, k = z.shape
    for i in range(n):
        for j in range(k):
            value = z[i, j] + b[j]
            z[i, j] = value if value > 0 else _ZERO


@njit(**ENTRY_OPTIONS)
def _relu_backward(gradient, a, db):  # noqa: ANN001, ANN202  (n, k), (n, k), (k,)
    """Zero the gradient where the output is zero, in place; its column sums are added to `db`."""
    n, k = gradient.shape
    for i in range(n):
        for j in range(k):
            passed = gradient[i, j] if a[i, j] > 0 else _ZERO
            gradient[i, j] = passed
            db[j] += passed


class Dense(NamedTuple):
    r"""Dense layer, :math:`a = \varphi(x W + b)`.

    Rows may have any shape (..., n_features): the layer acts on the last axis, so on a sequence the
    same units act at each step.

    Parameters
    ----------
    units : int, optional
        Number of units; in the last layer of a model, None for as many as its loss needs.
    activation : str, Activation or None
        Activation function of the scores; linear by default.
    bias : bool
        Whether there is a bias b.
    init : str or float
        Initializer of the weights, see `tenfold.neural.initializers`; the bias starts at zero.

    See Also
    --------
    Activation, tenfold.MLPClassifier, tenfold.SequentialClassifier

    Examples
    --------
    >>> import numpy as np
    >>> layer = Dense(3, "relu")
    >>> params = layer.init_params((2,), np.random.default_rng(0), np.float64)
    >>> [p.shape for p in params], layer.output_shape((2,))
    ([(2, 3), (3,)], (3,))
    """

    units: int | None = None
    activation: str | Activation | None = None
    bias: bool = True
    init: str | float = "auto"

    def output_shape(self, shape: Shape) -> Shape:
        if not shape:
            raise shape_error(self, shape, "(..., p)")
        if self.units is None:
            raise ValueError("Dense() without a number of units can only be the last of a model")
        as_activation(self.activation).output_shape(shape)
        return (*shape[:-1], self.units)

    def init_params(self, shape: Shape, rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
        units = self.output_shape(shape)[-1]
        W = initialize_weights(self.init, self.activation, (shape[-1], units), rng, dtype)
        return [W, np.zeros(units, dtype)] if self.bias else [W]

    def forward(self, params: list, x: np.ndarray, context: PassContext) -> tuple[np.ndarray, Any]:
        flat, W = x if x.ndim == 2 else x.reshape(-1, x.shape[-1]), params[0]
        z = np.matmul(flat, W, out=empty((len(flat), W.shape[1]), x.dtype))
        if self.activation == "relu" and self.bias:
            _add_bias_relu(z, params[1])
            a = cached = z
        else:
            z = z + params[1] if self.bias else z
            a, cached = as_activation(self.activation).apply(z)
        return a if x.ndim == 2 else a.reshape(*x.shape[:-1], -1), (x, cached)

    def backward(
        self, params: list, cache: Any, gradient: np.ndarray, *, need_input: bool = True
    ) -> tuple[np.ndarray | None, list[np.ndarray]]:
        x, cached = cache
        gradient = gradient if gradient.ndim == 2 else gradient.reshape(-1, gradient.shape[-1])
        flat, W = x if x.ndim == 2 else x.reshape(-1, x.shape[-1]), params[0]
        if self.activation == "relu" and self.bias:
            db = [np.zeros_like(params[1])]
            _relu_backward(gradient, cached, db[0])
        else:
            gradient = as_activation(self.activation).backpropagate(cached, gradient)
            db = [gradient.sum(axis=0)] if self.bias else []
        gradients = [np.matmul(flat.T, gradient, out=empty(W.shape, x.dtype)), *db]
        if not need_input:
            return None, gradients
        dx = np.matmul(gradient, W.T, out=empty(flat.shape, x.dtype))
        return dx.reshape(x.shape), gradients


def check_layer_sizes(sizes: Any) -> list[int]:
    """Numbers of units of hidden layers, from one number or several; an error if one is none."""
    given = np.atleast_1d(np.asarray(sizes))
    whole = given.astype(int)
    if (given <= 0).any() or (given != whole).any():
        kind = "whole numbers" if (given > 0).all() else "> 0"
        raise ValueError(f"hidden_layer_sizes must be {kind}, got {given.tolist()}.")
    return whole.tolist()
