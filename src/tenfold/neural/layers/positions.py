"""Positions of steps, added to their vectors: attention alone does not see the order."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.neural.initializers import initialize_weights
from tenfold.neural.layers.base import PassContext, Shape, shape_error

_WAVELENGTH = 10_000.0  # the longest is this times 2 pi


def sinusoidal_positions(steps: int, width: int, dtype: Any = np.float64) -> np.ndarray:
    """Sines (even columns) and cosines (odd columns) of falling frequencies, (steps, width).

    Examples
    --------
    >>> sinusoidal_positions(2, 2).round(3).tolist()
    [[0.0, 1.0], [0.841, 0.54]]
    """
    pair = np.arange(width) // 2
    angles = np.arange(steps)[:, None] * _WAVELENGTH ** (-2 * pair / width)
    return np.where(np.arange(width) % 2, np.cos(angles), np.sin(angles)).astype(dtype)


class PositionalEmbedding(NamedTuple):
    """Adds a vector that depends on the position to each step.

    Parameters
    ----------
    steps : int
        Largest number of steps.
    kind : "learned" or "sinusoidal"
        Whether the vectors are parameters, or sines and cosines.
    init : float
        Standard deviation of the learned vectors before training.

    References
    ----------
    A. Vaswani and others (2017), "Attention is all you need".

    Examples
    --------
    >>> import numpy as np
    >>> layer = PositionalEmbedding(4, "sinusoidal")
    >>> layer.forward([], np.zeros((1, 2, 2)), PassContext())[0].round(3).tolist()
    [[[0.0, 1.0], [0.841, 0.54]]]
    """

    steps: int
    kind: str = "learned"
    init: float = 0.02

    def output_shape(self, shape: Shape) -> Shape:
        if len(shape) != 2:
            raise shape_error(self, shape, "(steps, numbers)")
        if shape[0] > self.steps:
            raise ValueError(f"PositionalEmbedding({self.steps}): sequences have {shape[0]} steps")
        if self.kind not in ("learned", "sinusoidal"):
            raise ValueError(f"kind={self.kind!r}: take 'learned' or 'sinusoidal'")
        return shape

    def init_params(self, shape: Shape, rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
        width = self.output_shape(shape)[1]
        if self.kind == "sinusoidal":
            return []
        return [initialize_weights(self.init, None, (self.steps, width), rng, dtype)]

    def forward(self, params: list, x: np.ndarray, context: PassContext) -> tuple[np.ndarray, Any]:
        first = 0
        if context.states is not None:
            before = context.states.start()
            first = 0 if before is None else int(before[0][0])
            context.states.leave((np.array([first + x.shape[1]]),))
        last = first + x.shape[1]
        if last > self.steps:
            raise ValueError(f"PositionalEmbedding({self.steps}): a sequence has {last} steps")
        table = params[0] if params else sinusoidal_positions(last, x.shape[2], x.dtype)
        return x + table[first:last], x.shape[1]

    def backward(
        self, params: list, cache: Any, gradient: np.ndarray, *, need_input: bool = True
    ) -> tuple[np.ndarray | None, list[np.ndarray]]:
        gradients = []
        if params:
            gradients = [np.zeros_like(params[0])]
            gradients[0][:cache] = gradient.sum(axis=0)
        return gradient if need_input else None, gradients
