r"""Random initialization of weights: Glorot, He, LeCun, orthogonal.

For units with `into` inputs and `out` outputs (fan-in and fan-out), the variance of a weight is

.. math:: \frac{2}{\text{into} + \text{out}} \ (\text{Glorot}), \qquad
          \frac{2}{\text{into}} \ (\text{He}), \qquad \frac{1}{\text{into}} \ (\text{LeCun})

Glorot (2010) suits activations that are linear near zero (tanh, sigmoid), He (2015) rectifiers,
which pass one half of their inputs; both keep the variance of activations and gradients from layer
to layer.

References
----------
Y. LeCun, L. Bottou, G. B. Orr, K.-R. Mueller (1998), "Efficient BackProp".
X. Glorot, Y. Bengio (2010), "Understanding the difficulty of training deep feedforward neural
networks".
K. He, X. Zhang, S. Ren, J. Sun (2015), "Delving deep into rectifiers: surpassing human-level
performance on ImageNet classification".
A. M. Saxe, J. L. McClelland, S. Ganguli (2014), "Exact solutions to the nonlinear dynamics of
learning in deep linear neural networks".
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
    """Fan-in and fan-out of weights (..., inputs, outputs)."""
    kernel_size = prod(shape[:-2])
    return max(kernel_size * shape[-2], 1), max(kernel_size * shape[-1], 1)


def _scaled_uniform(scheme: str) -> Initializer:
    def draw(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        bound = sqrt(3) * _STANDARD_DEVIATIONS[scheme](*fan_in_and_out(shape))
        return rng.uniform(-bound, bound, shape)

    return draw


def _scaled_normal(scheme: str) -> Initializer:
    def draw(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        return _STANDARD_DEVIATIONS[scheme](*fan_in_and_out(shape)) * rng.standard_normal(shape)

    return draw


def orthogonal(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Orthonormal columns (rows, if there are fewer of them)."""
    gaussian = rng.standard_normal((max(shape[-2:]), min(shape[-2:])))
    Q, R = np.linalg.qr(gaussian)
    Q = Q * np.sign(np.diag(R))  # so that Q is uniform over orthogonal matrices
    Q = Q if shape[-2] >= shape[-1] else Q.T
    return np.broadcast_to(Q, shape).copy()


INITIALIZERS: dict[str, Initializer] = {
    **{f"{scheme}_uniform": _scaled_uniform(scheme) for scheme in _STANDARD_DEVIATIONS},
    **{f"{scheme}_normal": _scaled_normal(scheme) for scheme in _STANDARD_DEVIATIONS},
    "orthogonal": orthogonal,
    "zeros": lambda shape, rng: np.zeros(shape),  # noqa: ARG005
}


def initialize_weights(
    init: str | float, activation: Any, shape: tuple[int, ...], rng: np.random.Generator, dtype: Any
) -> np.ndarray:
    """Initial weights of a shape (..., inputs, outputs).

    Parameters
    ----------
    init : str or float
        A name in `INITIALIZERS`; "auto" for `he_uniform` before rectifiers and `glorot_uniform`
        before other activations; a number for the standard deviation of normal weights.
    activation : str or Activation
        Activation after the weights; for "auto".
    shape, rng, dtype
        Shape of the weights, random generator, type.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> W = initialize_weights("auto", "relu", (200, 100), rng, np.float32)
    >>> W.dtype, round(float(W.std() / np.sqrt(2 / 200)), 2)
    (dtype('float32'), 1.0)
    """
    if not isinstance(init, str):
        return (init * rng.standard_normal(shape)).astype(dtype)
    if init == "auto":
        name = getattr(activation, "name", activation)
        init = "he_uniform" if name in _RECTIFIERS else "glorot_uniform"
    if init not in INITIALIZERS:
        raise ValueError(
            f"there is no initializer {init!r}: take one of {sorted(INITIALIZERS)}, or a number"
        )
    return INITIALIZERS[init](shape, rng).astype(dtype)
