"""Two walks along a sequence: one from its beginning, one from its end."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.neural.layer import Shape, Way


class Bidirectional(NamedTuple):
    """Two layers with a state, of which one reads backwards; what both say, side by side.

    Each reads to its own end: of the backward one, the last state is that after the first step.

    Parameters
    ----------
    layer : recurrent layer
        Settings of both, for instance `Lstm(32)`.

    Examples
    --------
    >>> from tenfold.neural import Lstm
    >>> Bidirectional(Lstm(32)).output((28, 4))
    (64,)
    """

    layer: Any

    def output(self, shape: Shape) -> Shape:
        *steps, units = self.layer.output(shape)
        return (*steps, 2 * units)

    def mask(self, way: Way) -> np.ndarray | None:
        return self.layer.mask(way)

    def begin(self, shape: Shape, rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
        return self.layer.begin(shape, rng, dtype) + self.layer.begin(shape, rng, dtype)

    def forward(self, params: list, x: np.ndarray, way: Way) -> tuple[np.ndarray, Any]:
        ahead, back = halves(params)
        turned = None if way.mask is None else way.mask[:, ::-1]
        a, a_kept = self.layer.forward(ahead, x, way)
        b, b_kept = self.layer.forward(back, x[:, ::-1], way._replace(mask=turned))
        return np.concatenate([a, self.turned(b)], axis=-1), (a_kept, b_kept)

    def turned(self, states: np.ndarray) -> np.ndarray:
        """All states in the other order; a last state as it is."""
        return states[:, ::-1] if self.layer.all_states else states

    def backward(
        self, params: list, kept: Any, slope: np.ndarray, *, need_input: bool = True
    ) -> tuple[np.ndarray | None, list[np.ndarray]]:
        a_slope, b_slope = np.split(slope, 2, axis=-1)
        (ahead, back), (a_kept, b_kept) = halves(params), kept
        a, a_own = self.layer.backward(ahead, a_kept, a_slope, need_input=need_input)
        b, b_own = self.layer.backward(back, b_kept, self.turned(b_slope), need_input=need_input)
        return None if a is None or b is None else a + b[:, ::-1], a_own + b_own


def halves(params: list) -> tuple[list, list]:
    """Parameters of the layer that reads on, and of the one that reads back."""
    return params[: len(params) // 2], params[len(params) // 2 :]
