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
    """A `Conv2d` with ReLU followed by a `MaxPool` whose windows do not overlap."""

    conv: Conv2d
    pool: MaxPool

    def output_shape(self, shape: Shape) -> Shape:
        return self.pool.output_shape(self.conv.output_shape(shape))

    def init_params(self, shape: Shape, rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
        return self.conv.init_params(shape, rng, dtype)

    def forward(self, params: list, x: np.ndarray, context: PassContext) -> tuple[np.ndarray, Any]:
        conv, padded = self.conv, self.conv.pad(x)
        y = empty((len(x), *self.output_shape(x.shape[1:])), x.dtype)
        argmax = empty(y.shape, np.int32)
        b = params[1] if conv.bias else np.zeros(conv.filters, x.dtype)
        conv_pool_forward(
            flat_view(padded),
            len(x),
            flat_view(params[0]),
            b,
            conv.geometry(padded),
            self.windows(x.shape[1:]),
            *conv.workspace(padded),
            flat_view(y),
            flat_view(argmax),
        )
        return y, (padded, x.shape[1:], y, argmax)

    def backward(
        self, params: list, cache: Any, gradient: np.ndarray, *, need_input: bool = True
    ) -> tuple[np.ndarray | None, list[np.ndarray]]:
        conv, (x, shape, y, argmax) = self.conv, cache
        dx, transposed, dW, db, part = conv.gradient_buffers(params, x, need_input=need_input)
        patches, scores = conv.workspace(x)
        scores.fill(0)  # places outside of all windows stay zero
        conv_pool_backward(
            flat_view(x),
            len(x),
            transposed,
            conv.geometry(x),
            self.windows(shape),
            flat_view(y),
            flat_view(argmax),
            flat_view(np.ascontiguousarray(gradient)),
            flat_view(dx),
            dW,
            db,
            patches,
            part,
            scores,
        )
        return conv.shape_gradients(params, dx, dW, db, need_input=need_input)

    def windows(self, shape: Shape) -> tuple[int, ...]:
        """Height and width of a pooling window."""
        return pool_window(self.pool, self.conv.output_shape(shape)).size


def fuse_conv_pool(network: Network) -> Network:
    """The same network and parameters, with convolutions and their pooling fused where possible."""
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


def _can_fuse(conv: Conv2d, pool: MaxPool, scores: Shape) -> bool:
    """Whether the activation is ReLU and the pooling windows do not overlap."""
    window = pool_window(pool, scores)
    return as_activation(conv.activation).name == "relu" and window.size == window.stride
