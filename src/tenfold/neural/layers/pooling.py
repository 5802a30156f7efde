"""Max pooling and average pooling over small windows, channel by channel, with compiled loops.

The output changes little if the input is shifted by less than a window. Offsets in the compiled
loops are unsigned, see `tenfold._compiled.gemm`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from tenfold.neural._buffer_pool import empty, zeros
from tenfold.neural.layers.base import PassContext, Shape, shape_error
from tenfold.neural.layers.conv import Pair, as_pair

_ZERO = np.float32(0)  # the integer 0 would promote float32 to float64


@njit(cache=True, nogil=True, inline="always")
def _pixel_offset(shape, image, i, j):  # noqa: ANN001, ANN202
    """Offset of the channels of a pixel."""
    return np.uint64(((image * shape[1] + i) * shape[2] + j) * shape[3])


@njit(cache=True, nogil=True)
def _max_pool(x, size, stride, y):  # noqa: ANN001, ANN202  (n, h, w, c) -> (n, oh, ow, c)
    """Largest value of each window."""
    n, oh, ow, _ = y.shape
    c, source, to = np.uint64(y.shape[3]), x.reshape(-1), y.reshape(-1)
    for image in range(n):
        for i in range(oh):
            for j in range(ow):
                best = _pixel_offset(y.shape, image, i, j)
                for k in range(size[0]):
                    for m in range(size[1]):
                        pixel = _pixel_offset(x.shape, image, i * stride[0] + k, j * stride[1] + m)
                        if k == 0 and m == 0:
                            for t in range(c):
                                to[best + t] = source[pixel + t]
                        else:
                            for t in range(c):
                                new, old = source[pixel + t], to[best + t]
                                to[best + t] = new if new > old else old  # noqa: FURB136  faster


@njit(cache=True, nogil=True)
def _max_pool_backward(x, y, size, stride, gradient, dx):  # noqa: ANN001, ANN202
    """Add the gradient of each window to `dx` at its first largest value."""
    n, oh, ow, _ = y.shape
    c, source, values = np.uint64(y.shape[3]), x.reshape(-1), y.reshape(-1)
    flat, to = gradient.reshape(-1), dx.reshape(-1)
    remaining = np.empty(c, x.dtype)
    for image in range(n):
        for i in range(oh):
            for j in range(ow):
                best = _pixel_offset(y.shape, image, i, j)
                for t in range(c):
                    remaining[t] = flat[best + t]
                for k in range(size[0]):
                    for m in range(size[1]):
                        pixel = _pixel_offset(x.shape, image, i * stride[0] + k, j * stride[1] + m)
                        for t in range(c):
                            hit = source[pixel + t] == values[best + t]
                            to[pixel + t] += remaining[t] if hit else _ZERO
                            remaining[t] = _ZERO if hit else remaining[t]


@njit(cache=True, nogil=True)
def _average_pool(x, size, stride, y):  # noqa: ANN001, ANN202
    """Add the mean of each window to `y`."""
    n, oh, ow, _ = y.shape
    c, source, to = np.uint64(y.shape[3]), x.reshape(-1), y.reshape(-1)
    fraction = x.dtype.type(1 / (size[0] * size[1]))
    for image in range(n):
        for i in range(oh):
            for j in range(ow):
                total = _pixel_offset(y.shape, image, i, j)
                for k in range(size[0]):
                    for m in range(size[1]):
                        pixel = _pixel_offset(x.shape, image, i * stride[0] + k, j * stride[1] + m)
                        for t in range(c):
                            to[total + t] += fraction * source[pixel + t]


@njit(cache=True, nogil=True)
def _average_pool_backward(size, stride, gradient, dx):  # noqa: ANN001, ANN202
    """Add equal fractions of the gradient of each window to `dx`."""
    n, oh, ow, _ = gradient.shape
    c, flat, to = np.uint64(gradient.shape[3]), gradient.reshape(-1), dx.reshape(-1)
    fraction = dx.dtype.type(1 / (size[0] * size[1]))
    for image in range(n):
        for i in range(oh):
            for j in range(ow):
                total = _pixel_offset(gradient.shape, image, i, j)
                for k in range(size[0]):
                    for m in range(size[1]):
                        pixel = _pixel_offset(dx.shape, image, i * stride[0] + k, j * stride[1] + m)
                        for t in range(c):
                            to[pixel + t] += fraction * flat[total + t]


class PoolWindow(NamedTuple):
    """Windows over images (height, width, channels), or series as images of one row."""

    size: Pair
    stride: Pair

    def images(self, x: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(x[:, None] if x.ndim == 3 else x)

    def output_shape(self, shape: Shape) -> Shape:
        *places, c = shape if len(shape) == 3 else (1, *shape)
        return *((p - s) // t + 1 for p, s, t in zip(places, *self, strict=True)), c


def pool_window(layer: Any, shape: Shape) -> PoolWindow:
    """The windows of a pooling layer, validated; `size=None` is one window over all places."""
    if len(shape) not in (2, 3):
        raise shape_error(layer, shape, "(height, width, channels) or (steps, channels)")
    places = shape[:-1] if len(shape) == 3 else (1, shape[0])
    size = places if layer.size is None else as_pair(layer.size)
    stride = size if layer.stride is None else as_pair(layer.stride)
    if len(shape) == 2:
        size, stride = (1, size[1]), (1, stride[1])
    if any(s > p for s, p in zip(size, places, strict=True)):
        raise shape_error(layer, shape, f"at least {size}")
    return PoolWindow(size, stride)


class MaxPool(NamedTuple):
    """Max pooling: the largest value of each window, channel by channel.

    Parameters
    ----------
    size : int, pair or None
        Height and width of a window (of series: steps); None for one window over all places.
    stride : int or pair, optional
        Step of the window; its size by default. Incomplete windows at the edges are dropped.

    Examples
    --------
    >>> MaxPool(2).output_shape((13, 13, 32)), MaxPool(None).output_shape((5, 5, 64))
    ((6, 6, 32), (1, 1, 64))
    """

    size: int | Pair | None = 2
    stride: int | Pair | None = None

    def output_shape(self, shape: Shape) -> Shape:
        return pool_window(self, shape).output_shape(shape)[-len(shape) :]

    def init_params(self, shape: Shape, rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
        return []

    def forward(self, params: list, x: np.ndarray, context: PassContext) -> tuple[np.ndarray, Any]:
        windows = pool_window(self, x.shape[1:])
        images = windows.images(x)
        y = empty((len(x), *windows.output_shape(x.shape[1:])), x.dtype)
        _max_pool(images, *windows, y)
        return y.reshape(len(x), *y.shape[-len(x.shape) + 1 :]), (images, y, x.shape)

    def backward(
        self, params: list, cache: Any, gradient: np.ndarray, *, need_input: bool = True
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        images, y, shape = cache
        dx = zeros(images.shape, images.dtype)
        gradient = np.ascontiguousarray(gradient.reshape(y.shape))
        _max_pool_backward(images, y, *pool_window(self, shape[1:]), gradient, dx)
        return dx.reshape(shape), []


class AveragePool(NamedTuple):
    """Average pooling: the mean of each window, channel by channel.

    Parameters
    ----------
    size, stride : see `MaxPool`
        The windows.

    Examples
    --------
    >>> AveragePool((1, 4)).output_shape((1, 12, 2))
    (1, 3, 2)
    """

    size: int | Pair | None = 2
    stride: int | Pair | None = None

    def output_shape(self, shape: Shape) -> Shape:
        return pool_window(self, shape).output_shape(shape)[-len(shape) :]

    def init_params(self, shape: Shape, rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
        return []

    def forward(self, params: list, x: np.ndarray, context: PassContext) -> tuple[np.ndarray, Any]:
        windows = pool_window(self, x.shape[1:])
        y = zeros((len(x), *windows.output_shape(x.shape[1:])), x.dtype)
        _average_pool(windows.images(x), *windows, y)
        return y.reshape(len(x), *y.shape[-len(x.shape) + 1 :]), (y.shape, x.shape)

    def backward(
        self, params: list, cache: Any, gradient: np.ndarray, *, need_input: bool = True
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        pooled, shape = cache
        dx = zeros(shape if len(shape) == 4 else (shape[0], 1, *shape[1:]), gradient.dtype)
        _average_pool_backward(
            *pool_window(self, shape[1:]), np.ascontiguousarray(gradient.reshape(pooled)), dx
        )
        return dx.reshape(shape), []
