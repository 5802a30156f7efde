r"""Batch normalization and layer normalization.

.. math:: y = \gamma \, \frac{x - \mu}{\sqrt{\sigma^2 + \epsilon}} + \beta
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.neural._buffer_pool import empty
from tenfold.neural.layers._attention_numba import layer_norm_backward, layer_norm_forward
from tenfold.neural.layers.base import PassContext, Shape


def _standardize(x: np.ndarray, axes: tuple[int, ...], eps: float) -> tuple[np.ndarray, ...]:
    """X with mean zero and variance one over some axes; standard deviation, mean, variance."""
    mean = x.mean(axis=axes, keepdims=True)
    centered = x - mean
    variance = (centered * centered).mean(axis=axes, keepdims=True)
    deviation = np.sqrt(variance + x.dtype.type(eps))
    centered /= deviation
    return centered, deviation, mean, variance


def _standardize_backward(
    normalized: np.ndarray, deviation: np.ndarray, gradient: np.ndarray, axes: Any
) -> np.ndarray:
    """Gradient in x from that in the standardized x, through mean and variance too."""
    mean = gradient.mean(axis=axes, keepdims=True)
    projection = (gradient * normalized).mean(axis=axes, keepdims=True)
    return (gradient - mean - normalized * projection) / deviation


class BatchNorm(NamedTuple):
    """Batch normalization: standardize each channel (the last axis) over rows and places.

    In training, means and variances are those of the current part of the batch (32 to 128 rows, see
    `part_rows`: a "ghost batch"), so that a step does not depend on the number of threads. In
    prediction they are running means, updated by a tenth with each batch.

    Parameters
    ----------
    eps : float
        Added to variances.

    See Also
    --------
    LayerNorm

    References
    ----------
    S. Ioffe, C. Szegedy (2015), "Batch normalization: accelerating deep network training by
    reducing internal covariate shift".
    E. Hoffer, I. Hubara, D. Soudry (2017), "Train longer, generalize better: closing the
    generalization gap in large batch training of neural networks".

    Examples
    --------
    >>> import numpy as np
    >>> layer, x = BatchNorm(), np.array([[1.0], [3.0]])
    >>> params = layer.init_params((1,), np.random.default_rng(0), np.float64)
    >>> layer.forward(params, x, PassContext(training=True))[0].round(2).ravel()
    array([-1.,  1.])
    """

    eps: float = 1e-5
    n_buffers = 2  # running mean and variance

    def output_shape(self, shape: Shape) -> Shape:
        return shape

    def init_params(self, shape: Shape, rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
        one, zero = np.ones(shape[-1], dtype), np.zeros(shape[-1], dtype)
        return [one, zero, zero.copy(), one.copy()]

    def forward(self, params: list, x: np.ndarray, context: PassContext) -> tuple[np.ndarray, Any]:
        scale, shift, mean, variance = params
        if not context.training:
            factor = scale / np.sqrt(variance + x.dtype.type(self.eps))
            normalized = (x - mean) / np.sqrt(variance + x.dtype.type(self.eps))
            return normalized * scale + shift, (normalized, factor, None)
        axes = tuple(range(x.ndim - 1))
        normalized, deviation, *moments = _standardize(x, axes, self.eps)
        batch_moments = [moment.reshape(-1) for moment in moments]
        return normalized * scale + shift, (normalized, deviation, batch_moments)

    def backward(
        self, params: list, cache: Any, gradient: np.ndarray, *, need_input: bool = True
    ) -> tuple[np.ndarray | None, list[np.ndarray]]:
        normalized, divisor, batch_moments = cache
        axes = tuple(range(gradient.ndim - 1))
        gradients = [(gradient * normalized).sum(axis=axes), gradient.sum(axis=axes)]
        if batch_moments is None:  # inference: running statistics are constants
            of_buffers = [np.zeros_like(params[2]), np.zeros_like(params[3])]
            return gradient * divisor, [*gradients, *of_buffers]
        dx = None
        if need_input:
            dx = _standardize_backward(normalized, divisor, gradient * params[0], axes)
        return dx, [*gradients, *batch_moments]


class LayerNorm(NamedTuple):
    """Layer normalization: standardize each row (at each place or step) over its last axis.

    Parameters
    ----------
    eps : float
        Added to variances.

    See Also
    --------
    BatchNorm

    References
    ----------
    J. L. Ba, J. R. Kiros, G. E. Hinton (2016), "Layer normalization".

    Examples
    --------
    >>> import numpy as np
    >>> layer, x = LayerNorm(), np.array([[1.0, 3.0]])
    >>> params = layer.init_params((2,), np.random.default_rng(0), np.float64)
    >>> layer.forward(params, x, PassContext())[0].round(2)
    array([[-1.,  1.]])
    """

    eps: float = 1e-5

    def output_shape(self, shape: Shape) -> Shape:
        return shape

    def init_params(self, shape: Shape, rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
        return [np.ones(shape[-1], dtype), np.zeros(shape[-1], dtype)]

    def forward(self, params: list, x: np.ndarray, context: PassContext) -> tuple[np.ndarray, Any]:
        flat = np.ascontiguousarray(x).reshape(-1, x.shape[-1])
        normalized, out = empty(flat.shape, x.dtype), empty(flat.shape, x.dtype)
        deviation, eps = np.empty(len(flat), x.dtype), x.dtype.type(self.eps)
        layer_norm_forward(flat, params[0], params[1], eps, normalized, deviation, out)
        return out.reshape(x.shape), (normalized, deviation)

    def backward(
        self, params: list, cache: Any, gradient: np.ndarray, *, need_input: bool = True
    ) -> tuple[np.ndarray | None, list[np.ndarray]]:
        normalized, deviation = cache
        flat = np.ascontiguousarray(gradient).reshape(normalized.shape)
        dscale, dshift = np.zeros_like(params[0]), np.zeros_like(params[1])
        dx = empty(flat.shape if need_input else (0, flat.shape[1]), flat.dtype)
        layer_norm_backward(normalized, deviation, flat, params[0], dscale, dshift, dx)
        return dx.reshape(gradient.shape) if need_input else None, [dscale, dshift]
