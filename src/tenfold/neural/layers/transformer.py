"""The block of a transformer: attention, then a dense network at each step, around a residual."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.neural.layers.attention import MultiHeadAttention
from tenfold.neural.layers.base import PassContext, Shape
from tenfold.neural.layers.dense import Dense
from tenfold.neural.layers.dropout import Dropout
from tenfold.neural.layers.normalization import LayerNorm

_SIZES = (2, 4, 2, 2, 2)  # arrays of the layers of a block
_SEEDS = (256, 512)  # distances of the seeds of dropout from that of the block


class TransformerBlock(NamedTuple):
    r"""Block of a transformer with layer normalization first, as in GPT-2.

    .. math:: y &= x + \mathrm{Attention}(\mathrm{LayerNorm}(x)) \\
              z &= y + \varphi(\mathrm{LayerNorm}(y) W_1 + b_1) W_2 + b_2

    Parameters
    ----------
    heads : int
        Heads of the attention; they must divide the width.
    hidden : int, optional
        Units between W_1 and W_2; four times the width by default.
    activation : str
        Activation of these units.
    causal : bool
        Whether a step sees itself and earlier ones only.
    dropout : float
        Fraction of the values of both terms that is set to zero in training.

    See Also
    --------
    MultiHeadAttention, PositionalEmbedding, LayerNorm

    References
    ----------
    A. Radford, J. Wu, R. Child, D. Luan, D. Amodei, I. Sutskever (2019), "Language models are
    unsupervised multitask learners".

    Examples
    --------
    >>> import numpy as np
    >>> block = TransformerBlock(heads=2)
    >>> params = block.init_params((5, 4), np.random.default_rng(0), np.float32)
    >>> block.forward(params, np.ones((3, 5, 4), np.float32), PassContext())[0].shape
    (3, 5, 4)
    """

    heads: int = 1
    hidden: int | None = None
    activation: str = "gelu"
    causal: bool = True
    dropout: float = 0.0

    def layers(self, width: int) -> tuple[Any, ...]:
        """Normalization and attention, normalization and the two dense layers."""
        hidden = 4 * width if self.hidden is None else self.hidden
        attention = MultiHeadAttention(self.heads, self.causal)
        return LayerNorm(), attention, LayerNorm(), Dense(hidden, self.activation), Dense(width)

    def output_shape(self, shape: Shape) -> Shape:
        for layer in self.layers(shape[-1] if shape else 0):
            shape = layer.output_shape(shape)
        Dropout(self.dropout).output_shape(shape)
        return shape

    def init_params(self, shape: Shape, rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
        params = []
        for layer in self.layers(shape[-1]):
            params += layer.init_params(shape, rng, dtype)
            shape = layer.output_shape(shape)
        return params

    def forward(self, params: list, x: np.ndarray, context: PassContext) -> tuple[np.ndarray, Any]:
        layers, parts, caches = self.layers(x.shape[-1]), _split(params), []
        drop = Dropout(self.dropout)
        for chosen, seed in zip(((0, 1), (2, 3, 4)), _SEEDS, strict=True):
            y = x
            for number in chosen:
                y, cache = layers[number].forward(parts[number], y, context)
                caches.append(cache)
            y, dropped = drop.forward([], y, context._replace(seed=context.seed + seed))
            caches.append(dropped)
            x = x + y
        return x, caches

    def backward(
        self, params: list, cache: Any, gradient: np.ndarray, *, need_input: bool = True
    ) -> tuple[np.ndarray | None, list[np.ndarray]]:
        layers, parts = self.layers(gradient.shape[-1]), _split(params)
        found: list[list[np.ndarray]] = [[] for _ in layers]
        drop, places = Dropout(self.dropout), iter(reversed(cache))
        for chosen in ((4, 3, 2), (1, 0)):
            down, _ = drop.backward([], next(places), gradient.copy())
            for number in chosen:
                needed = need_input or number != 0
                down, found[number] = layers[number].backward(
                    parts[number], next(places), down, need_input=needed
                )
            if down is not None:
                gradient = gradient + down
        return gradient if need_input else None, [array for part in found for array in part]


def _split(params: list) -> list[list]:
    """The parameters of each layer of a block."""
    parts, at = [], 0
    for size in _SIZES:
        parts.append(params[at : at + size])
        at += size
    return parts


def attention_weights(
    layers: Any, parts: list[list], x: np.ndarray, context: PassContext
) -> list[np.ndarray]:
    """Weights (n, heads, steps, steps) of every attention of a network, from the first to the last.

    Parameters
    ----------
    layers : sequence of layers
        The layers.
    parts : list of lists of arrays
        The parameters of each (`Network.parts`).
    x : (n, ...) array
        Rows.
    context : PassContext
        The mask of padded sequences.
    """
    found = []
    for layer, params in zip(layers, parts, strict=True):
        x, cache = layer.forward(params, x, context)
        if isinstance(layer, MultiHeadAttention):
            found.append(cache[2].weights)
        elif isinstance(layer, TransformerBlock):
            found.append(cache[1][2].weights)
    return found
