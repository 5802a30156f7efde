r"""Random initialization of weights: Glorot, He, LeCun, orthogonal.

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

Initializer = Callable[[tuple[int, ...], np.random.Generator], np.ndarray]

_STANDARD_DEVIATIONS = {
    "glorot": lambda into, out: sqrt(2 / (into + out)),
    "he": lambda into, out: sqrt(2 / into),  # noqa: ARG005
    "lecun": lambda into, out: sqrt(1 / into),  # noqa: ARG005
}
_RECTIFIERS = {"relu", "leaky_relu", "elu", "gelu", "silu", "softplus"}


def fan_in_and_out(shape: tuple[int, ...]) -> tuple[int, int]:
    """Numbers that enter and leave a unit of weights (..., inputs, outputs)."""
    taps = prod(shape[:-2])
    return max(taps * shape[-2], 1), max(taps * shape[-1], 1)


def _scaled_uniform(width: str) -> Initializer:
    def draw(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        bound = sqrt(3) * _STANDARD_DEVIATIONS[width](*fan_in_and_out(shape))
        return rng.uniform(-bound, bound, shape)

    return draw


def _scaled_normal(width: str) -> Initializer:
    def draw(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        return _STANDARD_DEVIATIONS[width](*fan_in_and_out(shape)) * rng.standard_normal(shape)

    return draw


def orthogonal(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Columns at right angles to each other (rows, if there are fewer of them)."""
    tall = rng.standard_normal((max(shape[-2:]), min(shape[-2:])))
    Q, R = np.linalg.qr(tall)
    Q = Q * np.sign(np.diag(R))  # or the draw would favour some directions
    Q = Q if shape[-2] >= shape[-1] else Q.T
    return np.broadcast_to(Q, shape).copy()


INITIALIZERS: dict[str, Initializer] = {
    **{f"{width}_uniform": _scaled_uniform(width) for width in _STANDARD_DEVIATIONS},
    **{f"{width}_normal": _scaled_normal(width) for width in _STANDARD_DEVIATIONS},
    "orthogonal": orthogonal,
    "zeros": lambda shape, rng: np.zeros(shape),  # noqa: ARG005
}


def initialize_weights(
    how: str | float, activation: Any, shape: tuple[int, ...], rng: np.random.Generator, dtype: Any
) -> np.ndarray:
    """Weights of a shape (..., inputs, outputs) to start from.

    Parameters
    ----------
    how : str or float
        A name in `INITIALIZERS`; "auto" for `he_uniform` before one-sided activations and
        `glorot_uniform` before others; a number for the standard deviation of normal weights.
    activation : str or Activation
        What follows the weights; for "auto".
    shape, rng, dtype
        Shape of the weights, source of random numbers, type.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> W = initialize_weights("auto", "relu", (200, 100), rng, np.float32)
    >>> W.dtype, round(float(W.std() / np.sqrt(2 / 200)), 2)
    (dtype('float32'), 1.0)
    """
    if not isinstance(how, str):
        return (how * rng.standard_normal(shape)).astype(dtype)
    if how == "auto":
        name = getattr(activation, "name", activation)
        how = "he_uniform" if name in _RECTIFIERS else "glorot_uniform"
    if how not in INITIALIZERS:
        raise ValueError(
            f"there is no start {how!r}: take one of {sorted(INITIALIZERS)}, or a number"
        )
    return INITIALIZERS[how](shape, rng).astype(dtype)
