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
from tenfold.neural.scratch import empty


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
        how = conv.how(padded), self.windows(x.shape[1:]), *conv.room(padded)
        convolve_and_pool(flat(padded), len(x), flat(params[0]), b, *how, flat(y), flat(which))
        return y, (padded, x.shape[1:], y, which)

    def backward(
        self, params: list, kept: Any, slope: np.ndarray, *, need_input: bool = True
    ) -> tuple[np.ndarray | None, list[np.ndarray]]:
        conv, (x, shape, y, which) = self.kernels, kept
        dx, turned, dW, db, part = conv.slopes(params, x, need_input=need_input)
        patches, scores = conv.room(x)
        scores.fill(0)  # places outside all windows stay zero
        how = turned, conv.how(x), self.windows(shape), flat(y), flat(which)
        own = flat(np.ascontiguousarray(slope)), flat(dx), dW, db
        pull_back_pooled(flat(x), len(x), *how, *own, patches, part, scores)
        return conv.pulled(params, dx, dW, db, need_input=need_input)

    def windows(self, shape: Shape) -> tuple[int, ...]:
        """The size of a window of scores."""
        return window(self.pool, self.kernels.output(shape)).size


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
