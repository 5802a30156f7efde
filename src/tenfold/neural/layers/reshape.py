"""Layers that only change the shape of a row."""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np

from tenfold.neural.layers.base import PassContext, Shape, shape_error


class Flatten(NamedTuple):
    """All numbers of a row one after the other: between images and dense layers.

    Examples
    --------
    >>> Flatten().output((5, 5, 64))
    (1600,)
    """

    def output(self, shape: Shape) -> Shape:
        return (prod(shape),)

    def begin(self, shape: Shape, rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
        return []

    def forward(self, params: list, x: np.ndarray, way: PassContext) -> tuple[np.ndarray, Any]:
        return x.reshape(len(x), -1), x.shape

    def backward(
        self, params: list, kept: Any, slope: np.ndarray, *, need_input: bool = True
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        return slope.reshape(kept), []

    def mask(self, way: PassContext) -> np.ndarray | None:
        return None


class Reshape(NamedTuple):
    """The numbers of a row in another shape.

    Parameters
    ----------
    shape : tuple of int
        The shape.

    Examples
    --------
    >>> Reshape((28, 28, 1)).output((784,))
    (28, 28, 1)
    """

    shape: Shape

    def output(self, shape: Shape) -> Shape:
        if prod(shape) != prod(self.shape):
            raise shape_error(self, shape, f"of {prod(self.shape)} numbers")
        return tuple(self.shape)

    def begin(self, shape: Shape, rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
        return []

    def forward(self, params: list, x: np.ndarray, way: PassContext) -> tuple[np.ndarray, Any]:
        return x.reshape(len(x), *self.shape), x.shape

    def backward(
        self, params: list, kept: Any, slope: np.ndarray, *, need_input: bool = True
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        return slope.reshape(kept), []
