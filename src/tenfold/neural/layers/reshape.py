"""Layers that only change the shape of a row."""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np

from tenfold.neural.layers.base import PassContext, Shape, shape_error


class Flatten(NamedTuple):
    """All values of a row as a vector: between convolutional and dense layers.

    Examples
    --------
    >>> Flatten().output_shape((5, 5, 64))
    (1600,)
    """

    def output_shape(self, shape: Shape) -> Shape:
        return (prod(shape),)

    def init_params(self, shape: Shape, rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
        return []

    def forward(self, params: list, x: np.ndarray, context: PassContext) -> tuple[np.ndarray, Any]:
        return x.reshape(len(x), -1), x.shape

    def backward(
        self, params: list, cache: Any, gradient: np.ndarray, *, need_input: bool = True
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        return gradient.reshape(cache), []

    def mask(self, context: PassContext) -> np.ndarray | None:
        return None


class Reshape(NamedTuple):
    """The values of a row in another shape.

    Parameters
    ----------
    shape : tuple of int
        The new shape of a row.

    Examples
    --------
    >>> Reshape((28, 28, 1)).output_shape((784,))
    (28, 28, 1)
    """

    shape: Shape

    def output_shape(self, shape: Shape) -> Shape:
        if prod(shape) != prod(self.shape):
            raise shape_error(self, shape, f"of {prod(self.shape)} numbers")
        return tuple(self.shape)

    def init_params(self, shape: Shape, rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
        return []

    def forward(self, params: list, x: np.ndarray, context: PassContext) -> tuple[np.ndarray, Any]:
        return x.reshape(len(x), *self.shape), x.shape

    def backward(
        self, params: list, cache: Any, gradient: np.ndarray, *, need_input: bool = True
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        return gradient.reshape(cache), []
