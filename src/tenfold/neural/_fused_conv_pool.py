"""Convolution, ReLU and max pooling fused into one layer for training."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.neural._buffer_pool import empty
from tenfold.neural.layers._conv_numba import conv_pool_backward, conv_pool_forward
from tenfold.neural.layers.activations import as_activation
from tenfold.neural.layers.base import Layer, PassContext, Shape
from tenfold.neural.layers.conv import Conv2d, flat_view
from tenfold.neural.layers.pooling import MaxPool, pool_window
from tenfold.neural.network import Network


class PooledConv2d(NamedTuple):
    """A `Conv2d` with ReLU and the `MaxPool` after it, of windows side by side."""

    kernels: Conv2d
    pool: MaxPool

    def output(self, shape: Shape) -> Shape:
        return self.pool.output(self.kernels.output(shape))

    def begin(self, shape: Shape, rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
        return self.kernels.begin(shape, rng, dtype)

    def forward(self, params: list, x: np.ndarray, way: PassContext) -> tuple[np.ndarray, Any]:
        conv, padded = self.kernels, self.kernels.padded(x)
        y = empty((len(x), *self.output(x.shape[1:])), x.dtype)
        which = empty(y.shape, np.int32)
        b = params[1] if conv.bias else np.zeros(conv.filters, x.dtype)
        how = conv.how(padded), self.windows(x.shape[1:]), *conv.room(padded)
        conv_pool_forward(
            flat_view(padded), len(x), flat_view(params[0]), b, *how, flat_view(y), flat_view(which)
        )
        return y, (padded, x.shape[1:], y, which)

    def backward(
        self, params: list, kept: Any, slope: np.ndarray, *, need_input: bool = True
    ) -> tuple[np.ndarray | None, list[np.ndarray]]:
        conv, (x, shape, y, which) = self.kernels, kept
        dx, turned, dW, db, part = conv.slopes(params, x, need_input=need_input)
        patches, scores = conv.room(x)
        scores.fill(0)  # places outside all windows stay zero
        how = turned, conv.how(x), self.windows(shape), flat_view(y), flat_view(which)
        own = flat_view(np.ascontiguousarray(slope)), flat_view(dx), dW, db
        conv_pool_backward(flat_view(x), len(x), *how, *own, patches, part, scores)
        return conv.backpropagate(params, dx, dW, db, need_input=need_input)

    def windows(self, shape: Shape) -> tuple[int, ...]:
        """The size of a window of scores."""
        return pool_window(self.pool, self.kernels.output(shape)).size


def fuse_conv_pool(network: Network) -> Network:
    """The same network and parameters, with convolutions and their pooling in one go."""
    layers: list[Layer] = []
    sizes: list[int] = []
    before: Shape = network.shape
    for layer, size, shape in zip(network.layers, network.sizes, network.shapes, strict=True):
        last = layers[-1] if layers else None
        if (
            isinstance(last, Conv2d)
            and isinstance(layer, MaxPool)
            and _can_fuse(last, layer, before)
        ):
            layers[-1] = PooledConv2d(last, layer)
        else:
            layers.append(layer)
            sizes.append(size)
        before = shape
    return Network(tuple(layers), network.shape, tuple(sizes))


def _can_fuse(kernels: Conv2d, pool: MaxPool, scores: Shape) -> bool:
    """Whether the two can go together."""
    panes = pool_window(pool, scores)
    return as_activation(kernels.activation).name == "relu" and panes.size == panes.stride
