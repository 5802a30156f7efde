"""Activation functions and the softmax, as parts of other layers or as layers of their own.

Most slopes can be told from the value alone, sigmoid' = a (1 - a), tanh' = 1 - a^2, and such
functions overwrite their input where nobody else needs it. [000, 1.7.4; 001, 3.1; 003, unit 3;
004, 4.1]
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from scipy.special import erf, expit

from tenfold.math.links import softmax
from tenfold.neural.layers.base import PassContext, Shape

_ROOT_HALF, _NORMAL_DENSITY_AT_0 = sqrt(0.5), sqrt(0.5 / np.pi)


class ActivationFunction(NamedTuple):
    """Value of z (which may be overwritten), and slope in z from what was kept: value or z."""

    value: Callable[[np.ndarray, float], np.ndarray]
    pull: Callable[[np.ndarray, np.ndarray, float], np.ndarray]
    keeps_input: bool = False


def _scale_gradient(slope: np.ndarray, factor: np.ndarray) -> np.ndarray:
    return np.multiply(slope, factor, out=slope)


def _relu(z: np.ndarray, _: float) -> np.ndarray:
    return np.maximum(z, 0, out=z)


def _leaky_relu(z: np.ndarray, alpha: float) -> np.ndarray:
    return np.maximum(z, z * z.dtype.type(alpha), out=z)


def _leaky_relu_backward(a: np.ndarray, slope: np.ndarray, alpha: float) -> np.ndarray:
    return _scale_gradient(slope, np.where(a > 0, a.dtype.type(1), a.dtype.type(alpha)))


def _elu(z: np.ndarray, alpha: float) -> np.ndarray:
    return np.where(z > 0, z, z.dtype.type(alpha) * np.expm1(np.minimum(z, 0)))


def _elu_backward(a: np.ndarray, slope: np.ndarray, alpha: float) -> np.ndarray:
    return _scale_gradient(slope, np.where(a > 0, a.dtype.type(1), a + a.dtype.type(alpha)))


def _gelu(z: np.ndarray, _: float) -> np.ndarray:
    return z * _normal_cdf(z)


def _gelu_backward(z: np.ndarray, slope: np.ndarray, _: float) -> np.ndarray:
    density = np.exp(-z * z / 2) * z.dtype.type(_NORMAL_DENSITY_AT_0)
    return _scale_gradient(slope, _normal_cdf(z) + z * density)


def _normal_cdf(z: np.ndarray) -> np.ndarray:
    return (1 + erf(z * z.dtype.type(_ROOT_HALF))) / 2


def _silu_backward(z: np.ndarray, slope: np.ndarray, _: float) -> np.ndarray:
    share = expit(z)
    return _scale_gradient(slope, share * (1 + z * (1 - share)))


def _no_gradient(_: np.ndarray, slope: np.ndarray, __: float) -> np.ndarray:  # noqa: ARG001
    raise ValueError(
        "a step has slope zero almost everywhere, so nothing can be learned through it: train with "
        "'sigmoid' or 'tanh', and put the step in afterwards"
    )


ACTIVATIONS: dict[str, ActivationFunction] = {
    "linear": ActivationFunction(lambda z, _: z, lambda _, slope, __: slope),
    "relu": ActivationFunction(_relu, lambda a, slope, _: _scale_gradient(slope, a > 0)),
    "leaky_relu": ActivationFunction(_leaky_relu, _leaky_relu_backward),
    "elu": ActivationFunction(_elu, _elu_backward),
    "gelu": ActivationFunction(_gelu, _gelu_backward, keeps_input=True),
    "silu": ActivationFunction(lambda z, _: z * expit(z), _silu_backward, keeps_input=True),
    "softplus": ActivationFunction(
        lambda z, _: np.logaddexp(z, 0), lambda a, slope, _: _scale_gradient(slope, -np.expm1(-a))
    ),
    "sigmoid": ActivationFunction(
        lambda z, _: expit(z, out=z), lambda a, slope, _: _scale_gradient(slope, a * (1 - a))
    ),
    "tanh": ActivationFunction(
        lambda z, _: np.tanh(z, out=z), lambda a, slope, _: _scale_gradient(slope, 1 - a * a)
    ),
    "step": ActivationFunction(lambda z, _: (z > 0).astype(z.dtype), _no_gradient),
    "sign": ActivationFunction(lambda z, _: np.sign(z), _no_gradient),
}
_DEFAULT_ALPHAS = {"leaky_relu": 0.01, "elu": 1.0}
ALIASES = {"identity": "linear", "logistic": "sigmoid", "swish": "silu"}


class Activation(NamedTuple):
    """A function of each number.

    Parameters
    ----------
    name : str
        "linear", "relu", "leaky_relu", "elu", "gelu", "silu", "softplus", "sigmoid", "tanh"; "step"
        and "sign" for passes forward only. Also "identity", "logistic" and "swish".
    alpha : float, optional
        Slope of "leaky_relu" below zero (0.01), depth of "elu" (1).

    Examples
    --------
    >>> import numpy as np
    >>> a, kept = Activation("relu").forward([], np.array([[-1.0, 2.0]]), PassContext())
    >>> a
    array([[0., 2.]])
    """

    name: str
    alpha: float | None = None

    @property
    def bend(self) -> ActivationFunction:
        name = ALIASES.get(self.name, self.name)
        if name not in ACTIVATIONS:
            known = sorted({*ACTIVATIONS, *ALIASES})
            raise ValueError(f"there is no activation {self.name!r}: take one of {known}")
        return ACTIVATIONS[name]

    @property
    def number(self) -> float:
        return _DEFAULT_ALPHAS.get(self.name, 0.0) if self.alpha is None else self.alpha

    def output(self, shape: Shape) -> Shape:
        self.bend  # noqa: B018  is there such a function?
        return shape

    def begin(self, shape: Shape, rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
        return []

    def forward(self, params: list, x: np.ndarray, way: PassContext) -> tuple[np.ndarray, Any]:
        return self.apply(x.copy())

    def backward(
        self, params: list, kept: Any, slope: np.ndarray, *, need_input: bool = True
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        return self.backpropagate(kept, slope), []

    def apply(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Value, and what `pulled` needs; z belongs to this function."""
        bend = self.bend
        if bend.keeps_input:
            return bend.value(z, self.number), z
        a = bend.value(z, self.number)
        return a, a

    def backpropagate(self, kept: np.ndarray, slope: np.ndarray) -> np.ndarray:
        """The slope in z, written over that in the value where possible."""
        return self.bend.pull(kept, slope, self.number)


@cache
def as_activation(of: Activation | str | None) -> Activation:
    """An activation from its name; None is "linear"."""
    return of if isinstance(of, Activation) else Activation(of or "linear")


class Softmax(NamedTuple):
    r"""Shares that sum to one over the last axis.

    .. math:: p_j = \frac{e^{z_j / T}}{\sum_l e^{z_l / T}}

    Losses of scores ("cross_entropy") want no such layer before them: they take scores and are
    exact where shares are 0 or 1. With this layer at the end take the loss "likelihood".

    Parameters
    ----------
    temperature : float
        T; large numbers make all shares equal, small ones let the largest win.

    Examples
    --------
    >>> import numpy as np
    >>> Softmax().forward([], np.zeros((1, 4)), PassContext())[0]
    array([[0.25, 0.25, 0.25, 0.25]])
    """

    temperature: float = 1.0

    def output(self, shape: Shape) -> Shape:
        return shape

    def begin(self, shape: Shape, rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
        return []

    def forward(self, params: list, x: np.ndarray, way: PassContext) -> tuple[np.ndarray, Any]:
        p = softmax(x, self.temperature)
        return p, p

    def backward(
        self, params: list, kept: Any, slope: np.ndarray, *, need_input: bool = True
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        mean = (kept * slope).sum(axis=-1, keepdims=True)
        return kept * (slope - mean) / kept.dtype.type(self.temperature), []
