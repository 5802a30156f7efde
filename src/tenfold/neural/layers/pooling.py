"""Max pooling and average pooling, with their compiled loops."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from tenfold.neural._buffer_pool import empty, zeros
from tenfold.neural.layers._conv_numba import ZERO
from tenfold.neural.layers.base import PassContext, Shape, shape_error
from tenfold.neural.layers.conv import Pair, as_pair


@njit(cache=True, nogil=True, inline="always")
def _pixel_offset(shape, image, i, j):  # noqa: ANN001, ANN202
    """Where the channels of a pixel begin."""
    return np.uint64(((image * shape[1] + i) * shape[2] + j) * shape[3])


@njit(cache=True, nogil=True)
def _max_pool(x, size, stride, y):  # noqa: ANN001, ANN202  (n, h, w, c) -> (n, oh, ow, c)
    """Largest number of each window."""
    n, oh, ow, _ = y.shape
    c, of, to = np.uint64(y.shape[3]), x.reshape(-1), y.reshape(-1)
    for image in range(n):
        for i in range(oh):
            for j in range(ow):
                best = _pixel_offset(y.shape, image, i, j)
                for k in range(size[0]):
                    for m in range(size[1]):
                        here = _pixel_offset(x.shape, image, i * stride[0] + k, j * stride[1] + m)
                        if k == 0 and m == 0:
                            for t in range(c):
                                to[best + t] = of[here + t]
                        else:
                            for t in range(c):
                                new, old = of[here + t], to[best + t]
                                to[best + t] = new if new > old else old  # noqa: FURB136  faster


@njit(cache=True, nogil=True)
def _max_pool_backward(x, y, size, stride, slope, dx):  # noqa: ANN001, ANN202
    """Give the slope of each window to its first largest number; `dx` is added to."""
    n, oh, ow, _ = y.shape
    c, of, values = np.uint64(y.shape[3]), x.reshape(-1), y.reshape(-1)
    down, to = slope.reshape(-1), dx.reshape(-1)
    left = np.empty(c, x.dtype)
    for image in range(n):
        for i in range(oh):
            for j in range(ow):
                best = _pixel_offset(y.shape, image, i, j)
                for t in range(c):
                    left[t] = down[best + t]
                for k in range(size[0]):
                    for m in range(size[1]):
                        here = _pixel_offset(x.shape, image, i * stride[0] + k, j * stride[1] + m)
                        for t in range(c):
                            hit = of[here + t] == values[best + t]
                            to[here + t] += left[t] if hit else ZERO
                            left[t] = ZERO if hit else left[t]


@njit(cache=True, nogil=True)
def _average_pool(x, size, stride, y):  # noqa: ANN001, ANN202
    """Mean of each window; `y` is added to."""
    n, oh, ow, _ = y.shape
    c, of, to = np.uint64(y.shape[3]), x.reshape(-1), y.reshape(-1)
    share = x.dtype.type(1 / (size[0] * size[1]))
    for image in range(n):
        for i in range(oh):
            for j in range(ow):
                total = _pixel_offset(y.shape, image, i, j)
                for k in range(size[0]):
                    for m in range(size[1]):
                        here = _pixel_offset(x.shape, image, i * stride[0] + k, j * stride[1] + m)
                        for t in range(c):
                            to[total + t] += share * of[here + t]


@njit(cache=True, nogil=True)
def _average_pool_backward(size, stride, slope, dx):  # noqa: ANN001, ANN202
    """Share the slope of each window among its numbers; `dx` is added to."""
    n, oh, ow, _ = slope.shape
    c, down, to = np.uint64(slope.shape[3]), slope.reshape(-1), dx.reshape(-1)
    share = dx.dtype.type(1 / (size[0] * size[1]))
    for image in range(n):
        for i in range(oh):
            for j in range(ow):
                total = _pixel_offset(slope.shape, image, i, j)
                for k in range(size[0]):
                    for m in range(size[1]):
                        here = _pixel_offset(dx.shape, image, i * stride[0] + k, j * stride[1] + m)
                        for t in range(c):
                            to[here + t] += share * down[total + t]


class PoolWindow(NamedTuple):
    """Windows on rows of a shape: images (h, w, c), or series (t, c) as images of one row."""

    size: Pair
    stride: Pair

    def images(self, x: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(x[:, None] if x.ndim == 3 else x)

    def output(self, shape: Shape) -> Shape:
        *place, c = shape if len(shape) == 3 else (1, *shape)
        return *((p - s) // t + 1 for p, s, t in zip(place, *self, strict=True)), c


def pool_window(layer: Any, shape: Shape) -> PoolWindow:
    """The windows of a pooling layer, checked; `size=None` is one window over all."""
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
    """The largest number of each window, channel by channel.

    Parameters
    ----------
    size : int, pair or None
        Height and width of a window (of series: steps); None for one window over all places.
    stride : int or pair, optional
        How far a window moves; its size by default. What does not fill a window is left out.

    Examples
    --------
    >>> MaxPool(2).output((13, 13, 32)), MaxPool(None).output((5, 5, 64))
    ((6, 6, 32), (1, 1, 64))
    """

    size: int | Pair | None = 2
    stride: int | Pair | None = None

    def output(self, shape: Shape) -> Shape:
        return pool_window(self, shape).output(shape)[-len(shape) :]

    def begin(self, shape: Shape, rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
        return []

    def forward(self, params: list, x: np.ndarray, way: PassContext) -> tuple[np.ndarray, Any]:
        panes = pool_window(self, x.shape[1:])
        images = panes.images(x)
        y = empty((len(x), *panes.output(x.shape[1:])), x.dtype)
        _max_pool(images, *panes, y)
        return y.reshape(len(x), *y.shape[-len(x.shape) + 1 :]), (images, y, x.shape)

    def backward(
        self, params: list, kept: Any, slope: np.ndarray, *, need_input: bool = True
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        images, y, shape = kept
        dx = zeros(images.shape, images.dtype)
        slope = np.ascontiguousarray(slope.reshape(y.shape))
        _max_pool_backward(images, y, *pool_window(self, shape[1:]), slope, dx)
        return dx.reshape(shape), []


class AveragePool(NamedTuple):
    """The mean of each window, channel by channel.

    Parameters
    ----------
    size, stride : see `MaxPool`
        The windows.

    Examples
    --------
    >>> AveragePool((1, 4)).output((1, 12, 2))
    (1, 3, 2)
    """

    size: int | Pair | None = 2
    stride: int | Pair | None = None

    def output(self, shape: Shape) -> Shape:
        return pool_window(self, shape).output(shape)[-len(shape) :]

    def begin(self, shape: Shape, rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
        return []

    def forward(self, params: list, x: np.ndarray, way: PassContext) -> tuple[np.ndarray, Any]:
        panes = pool_window(self, x.shape[1:])
        y = zeros((len(x), *panes.output(x.shape[1:])), x.dtype)
        _average_pool(panes.images(x), *panes, y)
        return y.reshape(len(x), *y.shape[-len(x.shape) + 1 :]), (y.shape, x.shape)

    def backward(
        self, params: list, kept: Any, slope: np.ndarray, *, need_input: bool = True
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        small, shape = kept
        dx = zeros(shape if len(shape) == 4 else (shape[0], 1, *shape[1:]), slope.dtype)
        _average_pool_backward(
            *pool_window(self, shape[1:]), np.ascontiguousarray(slope.reshape(small)), dx
        )
        return dx.reshape(shape), []
