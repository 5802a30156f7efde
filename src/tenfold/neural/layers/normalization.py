r"""Batch normalization and layer normalization.

.. math:: y = \gamma \, \frac{x - \mu}{\sqrt{\sigma^2 + \epsilon}} + \beta
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.neural.layers.base import PassContext, Shape


def _standardize(x: np.ndarray, axes: tuple[int, ...], eps: float) -> tuple[np.ndarray, ...]:
    """X at mean zero and variance one over some axes; what it was divided by, mean, variance."""
    mean = x.mean(axis=axes, keepdims=True)
    away = x - mean
    variance = (away * away).mean(axis=axes, keepdims=True)
    size = np.sqrt(variance + x.dtype.type(eps))
    away /= size
    return away, size, mean, variance


def _standardize_backward(
    normal: np.ndarray, size: np.ndarray, slope: np.ndarray, axes: Any
) -> np.ndarray:
    """Slope in x from that in the standardised x, through mean and variance too."""
    mean = slope.mean(axis=axes, keepdims=True)
    along = (slope * normal).mean(axis=axes, keepdims=True)
    return (slope - mean - normal * along) / size


class BatchNorm(NamedTuple):
    """Standardise each channel (the last axis) over rows and places.

    While a network learns, means and variances are those of the part of the batch at hand (32 to
    128 rows, see `part_rows`: a "ghost batch"), so that a step does not depend on the number of
    threads. Running means of them, a tenth of each batch, serve predictions.

    Parameters
    ----------
    eps : float
        Added to variances.

    Examples
    --------
    >>> import numpy as np
    >>> layer, x = BatchNorm(), np.array([[1.0], [3.0]])
    >>> params = layer.begin((1,), np.random.default_rng(0), np.float64)
    >>> layer.forward(params, x, PassContext(training=True))[0].round(2).ravel()
    array([-1.,  1.])
    """

    eps: float = 1e-5
    buffers = 2  # running mean and variance

    def output(self, shape: Shape) -> Shape:
        return shape

    def begin(self, shape: Shape, rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
        one, zero = np.ones(shape[-1], dtype), np.zeros(shape[-1], dtype)
        return [one, zero, zero.copy(), one.copy()]

    def forward(self, params: list, x: np.ndarray, way: PassContext) -> tuple[np.ndarray, Any]:
        stretch, shift, mean, variance = params
        if not way.training:
            factor = stretch / np.sqrt(variance + x.dtype.type(self.eps))
            normal = (x - mean) / np.sqrt(variance + x.dtype.type(self.eps))
            return normal * stretch + shift, (normal, factor, None)
        normal, size, *own = _standardize(x, tuple(range(x.ndim - 1)), self.eps)
        return normal * stretch + shift, (normal, size, [part.reshape(-1) for part in own])

    def backward(
        self, params: list, kept: Any, slope: np.ndarray, *, need_input: bool = True
    ) -> tuple[np.ndarray | None, list[np.ndarray]]:
        normal, size, own = kept
        axes = tuple(range(slope.ndim - 1))
        slopes = [(slope * normal).sum(axis=axes), slope.sum(axis=axes)]
        if own is None:  # a network that predicts: statistics are numbers like others
            return slope * size, [*slopes, np.zeros_like(params[2]), np.zeros_like(params[3])]
        dx = _standardize_backward(normal, size, slope * params[0], axes) if need_input else None
        return dx, [*slopes, *own]


class LayerNorm(NamedTuple):
    """Standardise each row (at each place or step) over its last axis.

    Parameters
    ----------
    eps : float
        Added to variances.

    Examples
    --------
    >>> import numpy as np
    >>> layer, x = LayerNorm(), np.array([[1.0, 3.0]])
    >>> params = layer.begin((2,), np.random.default_rng(0), np.float64)
    >>> layer.forward(params, x, PassContext())[0].round(2)
    array([[-1.,  1.]])
    """

    eps: float = 1e-5

    def output(self, shape: Shape) -> Shape:
        return shape

    def begin(self, shape: Shape, rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
        return [np.ones(shape[-1], dtype), np.zeros(shape[-1], dtype)]

    def forward(self, params: list, x: np.ndarray, way: PassContext) -> tuple[np.ndarray, Any]:
        normal, size, *_ = _standardize(x, (-1,), self.eps)
        return normal * params[0] + params[1], (normal, size)

    def backward(
        self, params: list, kept: Any, slope: np.ndarray, *, need_input: bool = True
    ) -> tuple[np.ndarray | None, list[np.ndarray]]:
        normal, size = kept
        axes = tuple(range(slope.ndim - 1))
        slopes = [(slope * normal).sum(axis=axes), slope.sum(axis=axes)]
        return _standardize_backward(
            normal, size, slope * params[0], (-1,)
        ) if need_input else None, slopes
