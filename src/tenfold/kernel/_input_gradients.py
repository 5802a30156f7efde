r"""Derivatives of kernel values by the rows, in weighted sums.

Wanted is :math:`\sum_j W_{ij} \, \partial k(x_i, z_j) / \partial x_i`.

A kernel of scaled distances has :math:`\partial k / \partial x_{id} = -F(u) (x_{id} - z_{jd}) /
\ell_d^2`, where F is the slope by the logarithm of the length scale (`distance_slope`): with
:math:`M = W \circ F` the sum over j is :math:`-(r_i x_{id} - (M z)_{id}) / \ell_d^2`, one matrix
product. Sums and products of kernels follow the rules of calculus.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tenfold.kernel.base import (
    ConstantKernel,
    Exponentiation,
    Product,
    Sum,
    WhiteKernel,
    as_kernel,
)
from tenfold.kernel.dot_product import (
    DotProduct,
    LinearKernel,
    PolynomialKernel,
    QuadraticKernel,
)
from tenfold.kernel.stationary import (
    RBF,
    ExpSineSquared,
    Matern,
    RationalQuadratic,
    distance_slope,
    distance_tile,
)


def input_gradient(kernel: Any, X: np.ndarray, Z: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Weighted sums of the derivatives of k(x_i, z_j) by x_i, (n, p), for weights W, (n, m).

    Noise (`WhiteKernel`) has none: x_i and z_j count as two rows, also where they are equal.
    """
    kernel = as_kernel(kernel)
    if isinstance(kernel, ConstantKernel | WhiteKernel):
        return np.zeros(X.shape)
    if isinstance(kernel, Sum):
        return input_gradient(kernel.k1, X, Z, W) + input_gradient(kernel.k2, X, Z, W)
    if isinstance(kernel, Product):
        first, second = (as_kernel(k) for k in (kernel.k1, kernel.k2))
        return input_gradient(first, X, Z, W * second.tile(X, Z)) + input_gradient(
            second, X, Z, W * first.tile(X, Z)
        )
    if isinstance(kernel, Exponentiation):
        power = np.power(as_kernel(kernel.kernel).tile(X, Z), kernel.exponent - 1)
        return input_gradient(kernel.kernel, X, Z, kernel.exponent * W * power)
    if type(kernel) not in _LEAVES:
        known = ", ".join(sorted(each.__name__ for each in _LEAVES))
        raise ValueError(
            f"{type(kernel).__name__} has no derivatives by the rows here: take one of {known}, or "
            "sums, products and powers of them"
        )
    return _LEAVES[type(kernel)](kernel, X, Z, W)


def _along_differences(M: np.ndarray, X: np.ndarray, Z: np.ndarray, scale: Any) -> np.ndarray:
    """sum_j M_ij (z_j - x_i) / scale^2."""
    origin = Z.mean(axis=0)
    X, Z = X - origin, Z - origin
    return (M @ Z - M.sum(axis=1)[:, None] * X) / np.square(scale)


def _distances(kernel: Any, X: np.ndarray, Z: np.ndarray, W: np.ndarray) -> np.ndarray:
    """RBF and Matern kernels."""
    M = distance_slope(kernel, distance_tile(X, Z, kernel.length_scale))
    M *= W
    return _along_differences(M, X, Z, kernel.length_scale)


def _rational_quadratic(kernel: Any, X: np.ndarray, Z: np.ndarray, W: np.ndarray) -> np.ndarray:
    squares = distance_tile(X, Z, kernel.length_scale)
    M = W * np.power(1.0 + squares / (2.0 * kernel.alpha), -kernel.alpha - 1.0)
    return _along_differences(M, X, Z, kernel.length_scale)


def _exp_sine_squared(kernel: Any, X: np.ndarray, Z: np.ndarray, W: np.ndarray) -> np.ndarray:
    distances = np.sqrt(distance_tile(X, Z, 1.0))
    angle = np.pi * distances / kernel.periodicity
    values = np.exp(-2.0 * (np.sin(angle) / kernel.length_scale) ** 2)
    factor = 4.0 / kernel.length_scale**2 * (np.pi / kernel.periodicity) ** 2
    ratio = np.sinc(2.0 * distances / kernel.periodicity)  # sin(2 angle) / (2 angle)
    return _along_differences(W * values * factor * ratio, X, Z, 1.0)


def _dot_product(kernel: Any, X: np.ndarray, Z: np.ndarray, W: np.ndarray) -> np.ndarray:  # noqa: ARG001
    return W @ Z


def _quadratic(kernel: Any, X: np.ndarray, Z: np.ndarray, W: np.ndarray) -> np.ndarray:  # noqa: ARG001
    return (W * (1.0 + 2.0 * (X @ Z.T))) @ Z


def _polynomial(kernel: Any, X: np.ndarray, Z: np.ndarray, W: np.ndarray) -> np.ndarray:
    base = kernel.gamma * (X @ Z.T) + kernel.coef0
    return (W * (kernel.degree * kernel.gamma * np.power(base, kernel.degree - 1))) @ Z


_LEAVES: dict[type, Callable[..., np.ndarray]] = {
    RBF: _distances,
    Matern: _distances,
    RationalQuadratic: _rational_quadratic,
    ExpSineSquared: _exp_sine_squared,
    LinearKernel: _dot_product,
    DotProduct: _dot_product,
    QuadraticKernel: _quadratic,
    PolynomialKernel: _polynomial,
}
