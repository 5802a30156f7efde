"""Dense (fully connected) layers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from tenfold._compiled.gemm import ENTRY_OPTIONS
from tenfold.neural._buffer_pool import empty
from tenfold.neural.initializers import initialize_weights
from tenfold.neural.layers._conv_numba import ZERO
from tenfold.neural.layers.activations import Activation, as_activation
from tenfold.neural.layers.base import PassContext, Shape, shape_error


@njit(**ENTRY_OPTIONS)
def _add_bias_relu(z, b):  # noqa: ANN001, ANN202  (n, k), (k,)
    """max(z + b, 0), in place."""
    n, k = z.shape
    for i in range(n):
        for j in range(k):
            value = z[i, j] + b[j]
            z[i, j] = value if value > 0 else ZERO


@njit(**ENTRY_OPTIONS)
def _relu_backward(slope, a, total):  # noqa: ANN001, ANN202  (n, k), (n, k), (k,)
    """Zero the slopes where the value is, in place; their sums by column are added to `total`."""
    n, k = slope.shape
    for i in range(n):
        for j in range(k):
            through = slope[i, j] if a[i, j] > 0 else ZERO
            slope[i, j] = through
            total[j] += through


class Dense(NamedTuple):
    r"""Units that each see all numbers, :math:`a = \varphi(x W + b)`.

    Rows may be of any shape (..., p): the last axis is what the units see, so on a sequence the
    same units work at each step. [001, 3.1; 003, unit 3; 004, 4.2]

    Parameters
    ----------
    units : int, optional
        Their number; in the last layer of a model, None for as many as its loss needs.
    activation : str, Activation or None
        The function of the score; linear by default.
    bias : bool
        Whether there is a constant b.
    start : str or float
        Where weights begin, see `tenfold.neural.initializers`; b begins at zero.

    Examples
    --------
    >>> import numpy as np
    >>> layer = Dense(3, "relu")
    >>> params = layer.begin((2,), np.random.default_rng(0), np.float64)
    >>> [p.shape for p in params], layer.output((2,))
    ([(2, 3), (3,)], (3,))
    """

    units: int | None = None
    activation: str | Activation | None = None
    bias: bool = True
    start: str | float = "auto"

    def output(self, shape: Shape) -> Shape:
        if not shape:
            raise shape_error(self, shape, "(..., p)")
        if self.units is None:
            raise ValueError("Dense() without a number of units can only be the last of a model")
        as_activation(self.activation).output(shape)
        return (*shape[:-1], self.units)

    def begin(self, shape: Shape, rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
        units = self.output(shape)[-1]
        W = initialize_weights(self.start, self.activation, (shape[-1], units), rng, dtype)
        return [W, np.zeros(units, dtype)] if self.bias else [W]

    def forward(self, params: list, x: np.ndarray, way: PassContext) -> tuple[np.ndarray, Any]:
        flat, W = x if x.ndim == 2 else x.reshape(-1, x.shape[-1]), params[0]
        z = np.matmul(flat, W, out=empty((len(flat), W.shape[1]), x.dtype))
        if self.activation == "relu" and self.bias:
            _add_bias_relu(z, params[1])
            a = kept = z
        else:
            z = z + params[1] if self.bias else z
            a, kept = as_activation(self.activation).apply(z)
        return a if x.ndim == 2 else a.reshape(*x.shape[:-1], -1), (x, kept)

    def backward(
        self, params: list, kept: Any, slope: np.ndarray, *, need_input: bool = True
    ) -> tuple[np.ndarray | None, list[np.ndarray]]:
        x, bent = kept
        slope = slope if slope.ndim == 2 else slope.reshape(-1, slope.shape[-1])
        flat, W = x if x.ndim == 2 else x.reshape(-1, x.shape[-1]), params[0]
        rest = []
        if self.activation == "relu" and self.bias:
            rest = [np.zeros_like(params[1])]
            _relu_backward(slope, bent, rest[0])
        else:
            slope = as_activation(self.activation).backpropagate(bent, slope)
            rest = [slope.sum(axis=0)] if self.bias else []
        slopes = [np.matmul(flat.T, slope, out=empty(W.shape, x.dtype)), *rest]
        if not need_input:
            return None, slopes
        return np.matmul(slope, W.T, out=empty(flat.shape, x.dtype)).reshape(x.shape), slopes
