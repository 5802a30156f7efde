r"""Where weights begin: random, and as wide as keeps signals from fading or growing.

For `into` numbers that enter a unit and `out` that leave it, the variance of a weight is

.. math:: \frac{2}{\text{into} + \text{out}} \ (\text{Glorot}), \qquad
          \frac{2}{\text{into}} \ (\text{He}), \qquad \frac{1}{\text{into}} \ (\text{LeCun})

Glorot suits units that are linear near zero (tanh, sigmoid), He those that pass one half (ReLU).
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod, sqrt
from typing import Any

import numpy as np

Draw = Callable[[tuple[int, ...], np.random.Generator], np.ndarray]

WIDTHS = {
    "glorot": lambda into, out: sqrt(2 / (into + out)),
    "he": lambda into, out: sqrt(2 / into),  # noqa: ARG005
    "lecun": lambda into, out: sqrt(1 / into),  # noqa: ARG005
}
ONE_SIDED = {"relu", "leaky_relu", "elu", "gelu", "silu", "softplus"}


def fans(shape: tuple[int, ...]) -> tuple[int, int]:
    """Numbers that enter and leave a unit of weights (..., inputs, outputs)."""
    taps = prod(shape[:-2])
    return max(taps * shape[-2], 1), max(taps * shape[-1], 1)


def _uniform(width: str) -> Draw:
    def draw(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        bound = sqrt(3) * WIDTHS[width](*fans(shape))
        return rng.uniform(-bound, bound, shape)

    return draw


def _normal(width: str) -> Draw:
    def draw(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        return WIDTHS[width](*fans(shape)) * rng.standard_normal(shape)

    return draw


def orthogonal(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Columns at right angles to each other (rows, if there are fewer of them)."""
    tall = rng.standard_normal((max(shape[-2:]), min(shape[-2:])))
    Q, R = np.linalg.qr(tall)
    Q = Q * np.sign(np.diag(R))  # or the draw would favour some directions
    Q = Q if shape[-2] >= shape[-1] else Q.T
    return np.broadcast_to(Q, shape).copy()


STARTS: dict[str, Draw] = {
    **{f"{width}_uniform": _uniform(width) for width in WIDTHS},
    **{f"{width}_normal": _normal(width) for width in WIDTHS},
    "orthogonal": orthogonal,
    "zeros": lambda shape, rng: np.zeros(shape),  # noqa: ARG005
}


def weights(
    how: str | float, activation: Any, shape: tuple[int, ...], rng: np.random.Generator, dtype: Any
) -> np.ndarray:
    """Weights of a shape (..., inputs, outputs) to start from.

    Parameters
    ----------
    how : str or float
        A name in `STARTS`; "auto" for `he_uniform` before one-sided activations and
        `glorot_uniform` before others; a number for the standard deviation of normal weights.
    activation : str or Activation
        What follows the weights; for "auto".
    shape, rng, dtype
        Shape of the weights, source of random numbers, type.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> W = weights("auto", "relu", (200, 100), rng, np.float32)
    >>> W.dtype, round(float(W.std() / np.sqrt(2 / 200)), 2)
    (dtype('float32'), 1.0)
    """
    if not isinstance(how, str):
        return (how * rng.standard_normal(shape)).astype(dtype)
    if how == "auto":
        name = getattr(activation, "name", activation)
        how = "he_uniform" if name in ONE_SIDED else "glorot_uniform"
    if how not in STARTS:
        raise ValueError(f"there is no start {how!r}: take one of {sorted(STARTS)}, or a number")
    return STARTS[how](shape, rng).astype(dtype)
