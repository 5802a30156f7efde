"""Activation functions and the softmax, as parts of other layers or as layers of their own.

Most derivatives are functions of the value alone, sigmoid' = a (1 - a), tanh' = 1 - a^2; such
activations overwrite their input.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from tenfold.math.links import softmax
from tenfold.neural._buffer_pool import empty
from tenfold.neural.layers._gelu_numba import gelu, gelu_backward
from tenfold.neural.layers.base import PassContext, Shape


class ActivationFunction(NamedTuple):
    """An activation and its derivative.

    Attributes
    ----------
    value : of (z, alpha); z may be overwritten
    backward : of (cache, gradient, alpha), the gradient in z
    caches_input : whether the cache is z, not the value
    """

    value: Callable[[np.ndarray, float], np.ndarray]
    backward: Callable[[np.ndarray, np.ndarray, float], np.ndarray]
    caches_input: bool = False


def _scale_gradient(gradient: np.ndarray, factor: np.ndarray) -> np.ndarray:
    return np.multiply(gradient, factor, out=gradient)


def _relu(z: np.ndarray, _: float) -> np.ndarray:
    return np.maximum(z, 0, out=z)


def _leaky_relu(z: np.ndarray, alpha: float) -> np.ndarray:
    return np.maximum(z, z * z.dtype.type(alpha), out=z)


def _leaky_relu_backward(a: np.ndarray, gradient: np.ndarray, alpha: float) -> np.ndarray:
    return _scale_gradient(gradient, np.where(a > 0, a.dtype.type(1), a.dtype.type(alpha)))


def _elu(z: np.ndarray, alpha: float) -> np.ndarray:
    return np.where(z > 0, z, z.dtype.type(alpha) * np.expm1(np.minimum(z, 0)))


def _elu_backward(a: np.ndarray, gradient: np.ndarray, alpha: float) -> np.ndarray:
    return _scale_gradient(gradient, np.where(a > 0, a.dtype.type(1), a + a.dtype.type(alpha)))


def _gelu(z: np.ndarray, _: float) -> np.ndarray:
    z = np.ascontiguousarray(z)
    out = empty(z.shape, z.dtype)
    gelu(z.reshape(-1), out.reshape(-1))
    return out


def _gelu_backward(z: np.ndarray, gradient: np.ndarray, _: float) -> np.ndarray:
    gradient = np.ascontiguousarray(gradient, z.dtype)
    gelu_backward(np.ascontiguousarray(z).reshape(-1), gradient.reshape(-1))
    return gradient


def _silu_backward(z: np.ndarray, gradient: np.ndarray, _: float) -> np.ndarray:
    sigmoid = expit(z)
    return _scale_gradient(gradient, sigmoid * (1 + z * (1 - sigmoid)))


def _no_gradient(_: np.ndarray, gradient: np.ndarray, __: float) -> np.ndarray:  # noqa: ARG001
    raise ValueError(
        "a step has gradient zero almost everywhere, so nothing can be learned through it: train "
        "with 'sigmoid' or 'tanh', and replace it by the step afterwards"
    )


ACTIVATIONS: dict[str, ActivationFunction] = {
    "linear": ActivationFunction(lambda z, _: z, lambda _, gradient, __: gradient),
    "relu": ActivationFunction(_relu, lambda a, gradient, _: _scale_gradient(gradient, a > 0)),
    "leaky_relu": ActivationFunction(_leaky_relu, _leaky_relu_backward),
    "elu": ActivationFunction(_elu, _elu_backward),
    "gelu": ActivationFunction(_gelu, _gelu_backward, caches_input=True),
    "silu": ActivationFunction(lambda z, _: z * expit(z), _silu_backward, caches_input=True),
    "softplus": ActivationFunction(
        lambda z, _: np.logaddexp(z, 0),
        lambda a, gradient, _: _scale_gradient(gradient, -np.expm1(-a)),
    ),
    "sigmoid": ActivationFunction(
        lambda z, _: expit(z, out=z), lambda a, gradient, _: _scale_gradient(gradient, a * (1 - a))
    ),
    "tanh": ActivationFunction(
        lambda z, _: np.tanh(z, out=z), lambda a, gradient, _: _scale_gradient(gradient, 1 - a * a)
    ),
    "step": ActivationFunction(lambda z, _: (z > 0).astype(z.dtype), _no_gradient),
    "sign": ActivationFunction(lambda z, _: np.sign(z), _no_gradient),
}
_DEFAULT_ALPHAS = {"leaky_relu": 0.01, "elu": 1.0}
ALIASES = {"identity": "linear", "logistic": "sigmoid", "swish": "silu"}


class Activation(NamedTuple):
    """An activation function, applied to each value.

    Parameters
    ----------
    name : str
        "linear", "relu", "leaky_relu", "elu", "gelu", "silu", "softplus", "sigmoid", "tanh"; "step"
        and "sign" for forward passes only. Also "identity", "logistic" and "swish".
    alpha : float, optional
        Slope of "leaky_relu" below zero (0.01), scale of "elu" below zero (1).

    See Also
    --------
    Softmax, Dense

    References
    ----------
    D.-A. Clevert, T. Unterthiner, S. Hochreiter (2016), "Fast and accurate deep network learning by
    exponential linear units (ELUs)".
    D. Hendrycks, K. Gimpel (2016), "Gaussian error linear units (GELUs)".

    Examples
    --------
    >>> import numpy as np
    >>> a, cache = Activation("relu").forward([], np.array([[-1.0, 2.0]]), PassContext())
    >>> a
    array([[0., 2.]])
    """

    name: str
    alpha: float | None = None

    @property
    def function(self) -> ActivationFunction:
        """The activation and its derivative; an error if the name is unknown."""
        name = ALIASES.get(self.name, self.name)
        if name not in ACTIVATIONS:
            names = sorted({*ACTIVATIONS, *ALIASES})
            raise ValueError(f"there is no activation {self.name!r}: take one of {names}")
        return ACTIVATIONS[name]

    @property
    def alpha_value(self) -> float:
        """`alpha`, or its default."""
        return _DEFAULT_ALPHAS.get(self.name, 0.0) if self.alpha is None else self.alpha

    def output_shape(self, shape: Shape) -> Shape:
        self.function  # noqa: B018  raises if the name is unknown
        return shape

    def init_params(self, shape: Shape, rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
        return []

    def forward(self, params: list, x: np.ndarray, context: PassContext) -> tuple[np.ndarray, Any]:
        return self.apply(x.copy())

    def backward(
        self, params: list, cache: Any, gradient: np.ndarray, *, need_input: bool = True
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        return self.backpropagate(cache, gradient), []

    def apply(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Value, and the cache for `backpropagate`; z may be overwritten."""
        function = self.function
        if function.caches_input:
            return function.value(z, self.alpha_value), z
        a = function.value(z, self.alpha_value)
        return a, a

    def backpropagate(self, cache: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """The gradient in z, in the memory of `gradient` where possible."""
        return self.function.backward(cache, gradient, self.alpha_value)


@functools.cache
def as_activation(activation: Activation | str | None) -> Activation:
    """An activation from its name; None is "linear"."""
    if isinstance(activation, Activation):
        return activation
    return Activation(activation or "linear")


class Softmax(NamedTuple):
    r"""Softmax over the last axis: probabilities that sum to one.

    .. math:: p_j = \frac{e^{z_j / T}}{\sum_l e^{z_l / T}}

    Losses of scores ("cross_entropy") need no such layer before them: they take scores and are
    exact where probabilities are 0 or 1. With this layer at the end take the loss "likelihood".

    Parameters
    ----------
    temperature : float
        T; large values make the probabilities equal, small ones approach the maximum.

    Examples
    --------
    >>> import numpy as np
    >>> Softmax().forward([], np.zeros((1, 4)), PassContext())[0]
    array([[0.25, 0.25, 0.25, 0.25]])
    """

    temperature: float = 1.0

    def output_shape(self, shape: Shape) -> Shape:
        return shape

    def init_params(self, shape: Shape, rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
        return []

    def forward(self, params: list, x: np.ndarray, context: PassContext) -> tuple[np.ndarray, Any]:
        p = softmax(x, self.temperature)
        return p, p

    def backward(
        self, params: list, cache: Any, gradient: np.ndarray, *, need_input: bool = True
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        mean = (cache * gradient).sum(axis=-1, keepdims=True)
        return cache * (gradient - mean) / cache.dtype.type(self.temperature), []
