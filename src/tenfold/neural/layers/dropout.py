"""Dropout."""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.row_random import uniforms
from tenfold.neural.layers.base import PassContext, Shape


class Dropout(NamedTuple):
    """Dropout: set a random fraction of the values to zero in training, and scale up the others.

    The choice depends on the seed of the step and on the row of the batch, not on threads. In
    prediction the layer is the identity.

    Parameters
    ----------
    rate : float
        Fraction of the values that are set to zero.

    References
    ----------
    N. Srivastava, G. Hinton, A. Krizhevsky, I. Sutskever, R. Salakhutdinov (2014), "Dropout: a
    simple way to prevent neural networks from overfitting".

    Examples
    --------
    >>> import numpy as np
    >>> y, _ = Dropout(0.5).forward([], np.ones((1, 1000)), PassContext(training=True))
    >>> sorted(set(y.ravel().tolist()))
    [0.0, 2.0]
    """

    rate: float = 0.5

    def output_shape(self, shape: Shape) -> Shape:
        if not 0 <= self.rate < 1:
            raise ValueError(f"Dropout({self.rate}): the rate must be at least 0 and below 1")
        return shape

    def init_params(self, shape: Shape, rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
        return []

    def forward(self, params: list, x: np.ndarray, context: PassContext) -> tuple[np.ndarray, Any]:
        if not context.training or self.rate == 0:
            return x, None
        size = prod(x.shape[1:])
        draws = uniforms(context.seed, context.first_row, len(x), size).reshape(x.shape)
        factor = (draws >= self.rate) * x.dtype.type(1 / (1 - self.rate))
        factor = factor.astype(x.dtype, copy=False)
        return x * factor, factor

    def backward(
        self, params: list, cache: Any, gradient: np.ndarray, *, need_input: bool = True
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        return gradient if cache is None else np.multiply(gradient, cache, out=gradient), []
