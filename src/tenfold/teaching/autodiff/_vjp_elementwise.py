"""Vector-Jacobian products of elementwise functions.

Where two arguments of a maximum are equal, each gets half of the gradient; the derivative of the
absolute value at zero is zero.
"""

# ruff: noqa: ARG001, ARG005 - all VJPs have the same signature

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from tenfold.teaching.autodiff.tracer import NON_DIFFERENTIABLE, VJP, VJP_RULES


def unbroadcast(gradient: Any, shape: tuple[int, ...]) -> Any:
    """The adjoint of broadcasting: sums over the copies of each entry."""
    extra = np.ndim(gradient) - len(shape)
    sizes = np.shape(gradient)
    copied = [extra + i for i, n in enumerate(shape) if n == 1 and sizes[extra + i] != 1]
    axes = (*range(extra), *copied)
    return np.reshape(np.sum(gradient, axis=axes), shape) if axes else gradient


def _elementwise_vjps(*parts: Callable[..., Any]) -> Callable[[int], VJP]:
    """VJPs by position of a function that broadcasts."""

    def vjp_of(i: int) -> VJP:
        def vjp(gradient: Any, result: Any, *args: Any) -> Any:
            return unbroadcast(parts[i](gradient, result, *args), np.shape(args[i]))

        return vjp

    return vjp_of


def _vjp_power_base(g: Any, y: Any, a: Any, b: Any) -> Any:
    """With respect to the base a of a^b; zero for b = 0, also at a = 0."""
    return g * b * a ** np.where(np.equal(b, 0), 1.0, b - 1)


def _vjp_power_exponent(g: Any, y: Any, a: Any, b: Any) -> Any:
    """With respect to the exponent b of a^b; zero where a is not positive."""
    return g * y * np.log(np.where(np.greater(a, 0), a, 1.0))


def _tie_share(chosen: Any, other: Any) -> Any:
    """1 where an argument was chosen, 1/2 where both are equal."""
    return 0.5 * (1.0 + chosen - other)


UNARY_VJPS: dict[np.ufunc, Callable[..., Any]] = {  # gradient g, result y, argument x
    np.absolute: lambda g, y, x: g * np.sign(x),
    np.arccos: lambda g, y, x: -g / np.sqrt(1 - x * x),
    np.arcsin: lambda g, y, x: g / np.sqrt(1 - x * x),
    np.arctan: lambda g, y, x: g / (1 + x * x),
    np.cbrt: lambda g, y, x: g / (3 * y * y),
    np.cos: lambda g, y, x: -g * np.sin(x),
    np.cosh: lambda g, y, x: g * np.sinh(x),
    np.exp: lambda g, y, x: g * y,
    np.exp2: lambda g, y, x: g * y * np.log(2.0),
    np.expm1: lambda g, y, x: g * (y + 1),
    np.fabs: lambda g, y, x: g * np.sign(x),
    np.log: lambda g, y, x: g / x,
    np.log10: lambda g, y, x: g / (x * np.log(10.0)),
    np.log1p: lambda g, y, x: g / (1 + x),
    np.log2: lambda g, y, x: g / (x * np.log(2.0)),
    np.negative: lambda g, y, x: -g,
    np.positive: lambda g, y, x: g,
    np.reciprocal: lambda g, y, x: -g * y * y,
    np.sin: lambda g, y, x: g * np.cos(x),
    np.sinh: lambda g, y, x: g * np.cosh(x),
    np.sqrt: lambda g, y, x: g / (2 * y),
    np.square: lambda g, y, x: 2 * g * x,
    np.tan: lambda g, y, x: g * (1 + y * y),
    np.tanh: lambda g, y, x: g * (1 - y * y),
    special.erf: lambda g, y, x: g * 2 / np.sqrt(np.pi) * np.exp(-x * x),
    special.erfcx: lambda g, y, x: g * 2 * (x * y - 1 / np.sqrt(np.pi)),
    special.expit: lambda g, y, x: g * y * (1 - y),
    special.gammaln: lambda g, y, x: g * special.digamma(x),
    special.log_expit: lambda g, y, x: g * special.expit(-x),
    special.log_ndtr: lambda g, y, x: g * np.exp(-x * x / 2 - y) / np.sqrt(2 * np.pi),
    special.logit: lambda g, y, x: g / (x * (1 - x)),
    special.ndtr: lambda g, y, x: g * np.exp(-x * x / 2) / np.sqrt(2 * np.pi),
    special.ndtri: lambda g, y, x: g * np.exp(y * y / 2) * np.sqrt(2 * np.pi),
}

BINARY_VJPS: dict[np.ufunc, tuple[Callable[..., Any], Callable[..., Any]]] = {
    np.add: (lambda g, y, a, b: g, lambda g, y, a, b: g),
    np.arctan2: (
        lambda g, y, a, b: g * b / (a * a + b * b),
        lambda g, y, a, b: -g * a / (a * a + b * b),
    ),
    np.divide: (lambda g, y, a, b: g / b, lambda g, y, a, b: -g * y / b),
    np.hypot: (lambda g, y, a, b: g * a / y, lambda g, y, a, b: g * b / y),
    np.logaddexp: (lambda g, y, a, b: g * np.exp(a - y), lambda g, y, a, b: g * np.exp(b - y)),
    np.maximum: (
        lambda g, y, a, b: g * _tie_share(np.greater(a, b), np.less(a, b)),
        lambda g, y, a, b: g * _tie_share(np.less(a, b), np.greater(a, b)),
    ),
    np.minimum: (
        lambda g, y, a, b: g * _tie_share(np.less(a, b), np.greater(a, b)),
        lambda g, y, a, b: g * _tie_share(np.greater(a, b), np.less(a, b)),
    ),
    np.multiply: (lambda g, y, a, b: g * b, lambda g, y, a, b: g * a),
    np.power: (_vjp_power_base, _vjp_power_exponent),
    np.float_power: (_vjp_power_base, _vjp_power_exponent),
    np.subtract: (lambda g, y, a, b: g, lambda g, y, a, b: -g),
    special.xlogy: (lambda g, y, a, b: g * np.log(b), lambda g, y, a, b: g * a / b),
}

VJP_RULES.update({ufunc: _elementwise_vjps(vjp) for ufunc, vjp in UNARY_VJPS.items()})
VJP_RULES.update({ufunc: _elementwise_vjps(*vjps) for ufunc, vjps in BINARY_VJPS.items()})
VJP_RULES[np.where] = _elementwise_vjps(
    lambda g, y, c, a, b: np.zeros(np.shape(c)),
    lambda g, y, c, a, b: np.where(c, g, 0.0),
    lambda g, y, c, a, b: np.where(c, 0.0, g),
)
NON_DIFFERENTIABLE.update(
    (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal),
    (
        np.isfinite,
        np.isnan,
        np.isinf,
        np.isneginf,
        np.isposinf,
        np.sign,
        np.floor,
        np.ceil,
        np.rint,
        np.trunc,
        np.signbit,
    ),
    (np.logical_and, np.logical_or, np.logical_not, np.logical_xor, np.floor_divide, np.heaviside),
    (np.argmax, np.argmin, np.argsort, np.searchsorted, np.round, np.any, np.all, np.nonzero),
    (np.shape, np.ndim, np.size, np.zeros_like, np.ones_like, np.empty_like, np.full_like),
    (np.allclose, np.isclose, np.array_equal, np.array_repr, np.array_str, np.result_type),
    (np.count_nonzero, np.unique, np.isin, np.digitize, np.bincount, np.array2string),
)
