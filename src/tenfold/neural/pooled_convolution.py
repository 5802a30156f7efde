"""Convolution and pooling in one go: what training puts in the place of two layers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.neural.activations import activation
from tenfold.neural.convolution import Conv2d, flat
from tenfold.neural.layer import Layer, Shape, Way
from tenfold.neural.network import Network
from tenfold.neural.pooled_leaves import convolve_and_pool, pull_back_pooled
from tenfold.neural.pooling import MaxPool, window
from tenfold.neural.scratch import empty, zeros


class PooledConv2d(NamedTuple):
    """A `Conv2d` with ReLU and the `MaxPool` after it, of windows side by side."""

    kernels: Conv2d
    pool: MaxPool

    def output(self, shape: Shape) -> Shape:
        return self.pool.output(self.kernels.output(shape))

    def begin(self, shape: Shape, rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
        return self.kernels.begin(shape, rng, dtype)

    def forward(self, params: list, x: np.ndarray, way: Way) -> tuple[np.ndarray, Any]:
        conv, padded = self.kernels, self.kernels.padded(x)
        y = empty((len(x), *self.output(x.shape[1:])), x.dtype)
        which = empty(y.shape, np.int32)
        b = params[1] if conv.bias else np.zeros(conv.filters, x.dtype)
        how = conv.steps(x), conv.height, *self.places(x.shape[1:])
        convolve_and_pool(flat(padded), conv.matrix(params), b, *how, y, which)
        return y, (padded, x.shape[1:], y, which)

    def backward(
        self, params: list, kept: Any, slope: np.ndarray, *, need_input: bool = True
    ) -> tuple[np.ndarray | None, list[np.ndarray]]:
        conv, (x, shape, *found) = self.kernels, kept
        dx = zeros(x.shape if need_input else (0, *x.shape[1:]), x.dtype)
        W = conv.matrix(params)
        dW, db = np.zeros_like(W), np.zeros(conv.filters, x.dtype)
        how = conv.steps(x), conv.height, *self.places(shape)
        slope = np.ascontiguousarray(slope)
        pull_back_pooled(flat(x), W, *how, tuple(found), slope, flat(dx), dW, db)
        slopes = [dW.reshape(params[0].shape), db][: len(params)]
        return conv.cropped(dx) if need_input else None, slopes

    def places(self, shape: Shape) -> tuple[Any, Any]:
        """Where kernels can be, (height, width), and the size of a window of them."""
        scores = self.kernels.output(shape)
        return scores[:2], window(self.pool, scores).size


def merged(network: Network) -> Network:
    """The same network and parameters, with convolutions and their pooling in one go."""
    layers: list[Layer] = []
    sizes: list[int] = []
    before: Shape = network.shape
    for layer, size, shape in zip(network.layers, network.sizes, network.shapes, strict=True):
        last = layers[-1] if layers else None
        if isinstance(last, Conv2d) and isinstance(layer, MaxPool) and suited(last, layer, before):
            layers[-1] = PooledConv2d(last, layer)
        else:
            layers.append(layer)
            sizes.append(size)
        before = shape
    return Network(tuple(layers), network.shape, tuple(sizes))


def suited(kernels: Conv2d, pool: MaxPool, scores: Shape) -> bool:
    """Whether the two can go together."""
    panes = window(pool, scores)
    return activation(kernels.activation).name == "relu" and panes.size == panes.stride
