"""A network that gives scores of the next symbol at each step of a sequence of symbols."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tenfold.neural._minibatch import BatchGradient
from tenfold.neural.initializers import initialize_weights
from tenfold.neural.layers.base import Layer, PassContext
from tenfold.neural.layers.embedding import Embedding
from tenfold.neural.losses import CrossEntropy
from tenfold.neural.network import Network, backward, build_network, check_params, forward


class NextSymbolNetwork(NamedTuple):
    """Embedding, layers that keep the steps, and scores of the next symbol.

    Parameters are the vectors of the symbols (the last is the beginning of a document), those of
    the layers, the weights of the scores unless they are `tied` to the vectors, and their biases.

    Attributes
    ----------
    body : network from vectors (steps, width) to (steps, units)
    symbols : number of symbols that can follow
    tied : whether the weights of the scores are the vectors of the symbols
    """

    body: Network
    symbols: int
    tied: bool = False

    @property
    def embedding(self) -> Embedding:
        """The layer that looks vectors up."""
        return Embedding(self.symbols + 1, self.body.shape[1])

    @property
    def trainable(self) -> list[bool]:
        """For each array whether gradients train it."""
        return [True, *self.body.trainable, *[True] * (1 if self.tied else 2)]

    def parts(self, params: list) -> tuple[np.ndarray, list, np.ndarray, np.ndarray]:
        """Vectors of symbols, parameters of the layers, weights (units, symbols) and biases."""
        last = 1 if self.tied else 2
        weights = params[0][: self.symbols].T if self.tied else params[-2]
        return params[0], params[1 : len(params) - last], weights, params[-1]

    def check(self, params: list[np.ndarray]) -> None:
        """Raise an error if arrays do not have the shapes that the layers need."""
        if len(params) < (2 if self.tied else 3):
            raise ValueError(f"params_ has {len(params)} arrays: too few")
        table, body, weights, bias = self.parts(params)
        units = self.body.shapes[-1][-1] if self.body.layers else self.body.shape[1]
        if table.shape != (self.symbols + 1, self.body.shape[1]):
            raise ValueError(f"params_[0] has shape {table.shape}, not a row for each symbol")
        if weights.shape != (units, self.symbols) or bias.shape != (self.symbols,):
            raise ValueError(f"scores of shape {weights.shape} for {units} units")
        check_params(self.body, body)


def build_next_symbol_network(
    layers: Sequence[Layer],
    shape: tuple[int, int],
    symbols: int,
    rng: np.random.Generator,
    *,
    tied: bool,
    init: float,
) -> tuple[NextSymbolNetwork, list[np.ndarray]]:
    """A network for windows of `shape` (steps, width of the vectors), and its parameters."""
    table = initialize_weights(init, None, (symbols + 1, shape[1]), rng, np.float32)
    body, params = build_network(layers, shape, rng)
    units = (body.shapes or [shape])[-1][-1]
    if tied and units != shape[1]:
        raise ValueError(
            f"tied weights: the last layer has {units} units, the vectors of the symbols "
            f"{shape[1]} numbers. Give embedding={units}, or tied=False."
        )
    weights = []
    if not tied:
        weights = [initialize_weights("glorot_uniform", None, (units, symbols), rng, np.float32)]
    network = NextSymbolNetwork(body, symbols, tied)
    return network, [table, *params, *weights, np.zeros(symbols, np.float32)]


def step_scores(
    network: NextSymbolNetwork, params: list, x: np.ndarray, context: PassContext
) -> np.ndarray:
    """Scores (n, steps, symbols) of the symbol after each step of x (n, steps)."""
    table, body, weights, bias = network.parts(params)
    h, _ = forward(network.body, body, np.take(table, x, axis=0), context)
    scores = h.reshape(-1, h.shape[2]) @ weights
    scores += bias
    return scores.reshape(*x.shape, -1)


def window_gradient(
    network: NextSymbolNetwork,
    params: list,
    x: np.ndarray,
    y: np.ndarray,
    context: PassContext,
) -> BatchGradient:
    """Loss and gradient of windows: symbols x (n, steps), and y that follow them.

    Where y is not below the number of symbols, a document begins, and nothing is predicted.
    """
    table, body, weights, bias = network.parts(params)
    vectors, cache = network.embedding.forward([table], x, context)
    h, caches = forward(network.body, body, vectors, context)
    flat = h.reshape(-1, h.shape[2])
    scores = flat @ weights
    scores += bias
    targets, w = y.reshape(-1), None
    if (missing := targets >= network.symbols).any():
        targets = np.where(missing, 0, targets)
        w = (~missing).astype(scores.dtype)
    loss, gradient = CrossEntropy().value_and_gradient(scores, targets, w)
    d_weights, d_bias = flat.T @ gradient, gradient.sum(axis=0)
    down = (gradient @ weights.T).reshape(h.shape)
    of_vectors, of_body = backward(network.body, body, caches, down, need_input=True)
    of_table = network.embedding.backward([table], cache, of_vectors, need_input=False)[1][0]  # pyright: ignore[reportArgumentType]
    if network.tied:
        of_table[: network.symbols] += d_weights.T
    last: list[Any] = [d_bias] if network.tied else [d_weights, d_bias]
    weight = len(targets) if w is None else float(w.sum())
    return BatchGradient(float(loss), weight, [of_table, *of_body, *last])
