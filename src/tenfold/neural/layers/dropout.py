"""Dropout."""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.row_random import uniforms
from tenfold.neural.layers.base import PassContext, Shape


class Dropout(NamedTuple):
    """Set a share of the numbers to zero, and enlarge the others so that sums keep their size.

    Which ones depends on the seed of the step and on the row of the batch, so not on threads. When
    a network predicts, nothing is left out.

    Parameters
    ----------
    share : float
        Of the numbers, which are left out.

    Examples
    --------
    >>> import numpy as np
    >>> y, _ = Dropout(0.5).forward([], np.ones((1, 1000)), PassContext(training=True))
    >>> sorted(set(y.ravel().tolist()))
    [0.0, 2.0]
    """

    share: float = 0.5

    def output(self, shape: Shape) -> Shape:
        if not 0 <= self.share < 1:
            raise ValueError(f"Dropout({self.share}): the share must be at least 0 and below 1")
        return shape

    def begin(self, shape: Shape, rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
        return []

    def forward(self, params: list, x: np.ndarray, way: PassContext) -> tuple[np.ndarray, Any]:
        if not way.training or self.share == 0:
            return x, None
        draws = uniforms(way.seed, way.first, len(x), prod(x.shape[1:])).reshape(x.shape)
        factor = (draws >= self.share) * x.dtype.type(1 / (1 - self.share))
        factor = factor.astype(x.dtype, copy=False)
        return x * factor, factor

    def backward(
        self, params: list, kept: Any, slope: np.ndarray, *, need_input: bool = True
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        return slope if kept is None else np.multiply(slope, kept, out=slope), []
