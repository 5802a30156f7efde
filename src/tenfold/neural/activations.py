r"""Functions that bend: applied to each number, fused into other layers or layers by themselves.

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

from tenfold.maths.links import softmax
from tenfold.neural.layer import Shape, Way

ROOT_HALF, ROOT_2_PI = sqrt(0.5), sqrt(0.5 / np.pi)


class Bend(NamedTuple):
    """Value of z (which may be overwritten), and slope in z from what was kept: value or z."""

    value: Callable[[np.ndarray, float], np.ndarray]
    pull: Callable[[np.ndarray, np.ndarray, float], np.ndarray]
    keeps_input: bool = False


def _scaled(slope: np.ndarray, factor: np.ndarray) -> np.ndarray:
    return np.multiply(slope, factor, out=slope)


def _relu(z: np.ndarray, _: float) -> np.ndarray:
    return np.maximum(z, 0, out=z)


def _leaky(z: np.ndarray, alpha: float) -> np.ndarray:
    return np.maximum(z, z * z.dtype.type(alpha), out=z)


def _leaky_pull(a: np.ndarray, slope: np.ndarray, alpha: float) -> np.ndarray:
    return _scaled(slope, np.where(a > 0, a.dtype.type(1), a.dtype.type(alpha)))


def _elu(z: np.ndarray, alpha: float) -> np.ndarray:
    return np.where(z > 0, z, z.dtype.type(alpha) * np.expm1(np.minimum(z, 0)))


def _elu_pull(a: np.ndarray, slope: np.ndarray, alpha: float) -> np.ndarray:
    return _scaled(slope, np.where(a > 0, a.dtype.type(1), a + a.dtype.type(alpha)))


def _gelu(z: np.ndarray, _: float) -> np.ndarray:
    return z * _normal_share(z)


def _gelu_pull(z: np.ndarray, slope: np.ndarray, _: float) -> np.ndarray:
    density = np.exp(-z * z / 2) * z.dtype.type(ROOT_2_PI)
    return _scaled(slope, _normal_share(z) + z * density)


def _normal_share(z: np.ndarray) -> np.ndarray:
    return (1 + erf(z * z.dtype.type(ROOT_HALF))) / 2


def _silu_pull(z: np.ndarray, slope: np.ndarray, _: float) -> np.ndarray:
    share = expit(z)
    return _scaled(slope, share * (1 + z * (1 - share)))


def _no_slope(_: np.ndarray, slope: np.ndarray, __: float) -> np.ndarray:  # noqa: ARG001
    raise ValueError(
        "a step has slope zero almost everywhere, so nothing can be learned through it: train with "
        "'sigmoid' or 'tanh', and put the step in afterwards"
    )


BENDS: dict[str, Bend] = {
    "linear": Bend(lambda z, _: z, lambda _, slope, __: slope),
    "relu": Bend(_relu, lambda a, slope, _: _scaled(slope, a > 0)),
    "leaky_relu": Bend(_leaky, _leaky_pull),
    "elu": Bend(_elu, _elu_pull),
    "gelu": Bend(_gelu, _gelu_pull, keeps_input=True),
    "silu": Bend(lambda z, _: z * expit(z), _silu_pull, keeps_input=True),
    "softplus": Bend(
        lambda z, _: np.logaddexp(z, 0), lambda a, slope, _: _scaled(slope, -np.expm1(-a))
    ),
    "sigmoid": Bend(lambda z, _: expit(z, out=z), lambda a, slope, _: _scaled(slope, a * (1 - a))),
    "tanh": Bend(lambda z, _: np.tanh(z, out=z), lambda a, slope, _: _scaled(slope, 1 - a * a)),
    "step": Bend(lambda z, _: (z > 0).astype(z.dtype), _no_slope),
    "sign": Bend(lambda z, _: np.sign(z), _no_slope),
}
ALPHAS = {"leaky_relu": 0.01, "elu": 1.0}
OTHER_NAMES = {"identity": "linear", "logistic": "sigmoid", "swish": "silu"}


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
    >>> a, kept = Activation("relu").forward([], np.array([[-1.0, 2.0]]), Way())
    >>> a
    array([[0., 2.]])
    """

    name: str
    alpha: float | None = None

    @property
    def bend(self) -> Bend:
        name = OTHER_NAMES.get(self.name, self.name)
        if name not in BENDS:
            known = sorted({*BENDS, *OTHER_NAMES})
            raise ValueError(f"there is no activation {self.name!r}: take one of {known}")
        return BENDS[name]

    @property
    def number(self) -> float:
        return ALPHAS.get(self.name, 0.0) if self.alpha is None else self.alpha

    def output(self, shape: Shape) -> Shape:
        self.bend  # noqa: B018  is there such a function?
        return shape

    def begin(self, shape: Shape, rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
        return []

    def forward(self, params: list, x: np.ndarray, way: Way) -> tuple[np.ndarray, Any]:
        return self.bent(x.copy())

    def backward(
        self, params: list, kept: Any, slope: np.ndarray, *, need_input: bool = True
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        return self.pulled(kept, slope), []

    def bent(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Value, and what `pulled` needs; z belongs to this function."""
        bend = self.bend
        if bend.keeps_input:
            return bend.value(z, self.number), z
        a = bend.value(z, self.number)
        return a, a

    def pulled(self, kept: np.ndarray, slope: np.ndarray) -> np.ndarray:
        """The slope in z, written over that in the value where possible."""
        return self.bend.pull(kept, slope, self.number)


@cache
def activation(of: Activation | str | None) -> Activation:
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
    >>> Softmax().forward([], np.zeros((1, 4)), Way())[0]
    array([[0.25, 0.25, 0.25, 0.25]])
    """

    temperature: float = 1.0

    def output(self, shape: Shape) -> Shape:
        return shape

    def begin(self, shape: Shape, rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
        return []

    def forward(self, params: list, x: np.ndarray, way: Way) -> tuple[np.ndarray, Any]:
        p = softmax(x, self.temperature)
        return p, p

    def backward(
        self, params: list, kept: Any, slope: np.ndarray, *, need_input: bool = True
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        mean = (kept * slope).sum(axis=-1, keepdims=True)
        return kept * (slope - mean) / kept.dtype.type(self.temperature), []
