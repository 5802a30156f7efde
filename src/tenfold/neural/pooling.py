"""Pooling: the largest or the mean number of each small window, channel by channel.

A shift of the input by less than a window changes little. [001, 3.4; 003, unit 3; 004, 4.4]
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.neural.convolution import Pair, pair
from tenfold.neural.layer import Shape, Way, misfit
from tenfold.neural.pooling_leaves import largest, largest_back, mean, mean_back
from tenfold.neural.scratch import empty, zeros


class Window(NamedTuple):
    """Windows on rows of a shape: images (h, w, c), or series (t, c) as images of one row."""

    size: Pair
    stride: Pair

    def images(self, x: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(x[:, None] if x.ndim == 3 else x)

    def output(self, shape: Shape) -> Shape:
        *place, c = shape if len(shape) == 3 else (1, *shape)
        return *((p - s) // t + 1 for p, s, t in zip(place, *self, strict=True)), c


def window(layer: Any, shape: Shape) -> Window:
    """The windows of a pooling layer, checked; `size=None` is one window over all."""
    if len(shape) not in (2, 3):
        raise misfit(layer, shape, "(height, width, channels) or (steps, channels)")
    places = shape[:-1] if len(shape) == 3 else (1, shape[0])
    size = places if layer.size is None else pair(layer.size)
    stride = size if layer.stride is None else pair(layer.stride)
    if len(shape) == 2:
        size, stride = (1, size[1]), (1, stride[1])
    if any(s > p for s, p in zip(size, places, strict=True)):
        raise misfit(layer, shape, f"at least {size}")
    return Window(size, stride)


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
        return window(self, shape).output(shape)[-len(shape) :]

    def begin(self, shape: Shape, rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
        return []

    def forward(self, params: list, x: np.ndarray, way: Way) -> tuple[np.ndarray, Any]:
        panes = window(self, x.shape[1:])
        images = panes.images(x)
        y = empty((len(x), *panes.output(x.shape[1:])), x.dtype)
        largest(images, *panes, y)
        return y.reshape(len(x), *y.shape[-len(x.shape) + 1 :]), (images, y, x.shape)

    def backward(
        self, params: list, kept: Any, slope: np.ndarray, *, need_input: bool = True
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        images, y, shape = kept
        dx = zeros(images.shape, images.dtype)
        slope = np.ascontiguousarray(slope.reshape(y.shape))
        largest_back(images, y, *window(self, shape[1:]), slope, dx)
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
        return window(self, shape).output(shape)[-len(shape) :]

    def begin(self, shape: Shape, rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
        return []

    def forward(self, params: list, x: np.ndarray, way: Way) -> tuple[np.ndarray, Any]:
        panes = window(self, x.shape[1:])
        y = zeros((len(x), *panes.output(x.shape[1:])), x.dtype)
        mean(panes.images(x), *panes, y)
        return y.reshape(len(x), *y.shape[-len(x.shape) + 1 :]), (y.shape, x.shape)

    def backward(
        self, params: list, kept: Any, slope: np.ndarray, *, need_input: bool = True
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        small, shape = kept
        dx = zeros(shape if len(shape) == 4 else (shape[0], 1, *shape[1:]), slope.dtype)
        mean_back(*window(self, shape[1:]), np.ascontiguousarray(slope.reshape(small)), dx)
        return dx.reshape(shape), []
