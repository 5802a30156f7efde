"""Explicit features: maps phi with k(x, z) = phi(x).phi(z), where there are finitely many."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations_with_replacement
from math import comb, factorial, prod
from typing import Any

import numpy as np

from tenfold.kernel._row_checks import check_table
from tenfold.kernel.base import (
    ConstantKernel,
    Exponentiation,
    FunctionScaledKernel,
    Product,
    Sum,
    as_kernel,
    as_rows,
)
from tenfold.kernel.dot_product import (
    CosineKernel,
    DotProduct,
    LinearKernel,
    PolynomialKernel,
    QuadraticKernel,
    moderate_rows,
    squared_norms,
)
from tenfold.kernel.object_kernels import takes_objects
from tenfold.kernel.stationary import RBF

_MAX_FEATURES = 10**7  # beyond it the kernel is the only way


class FeatureMap:
    """Features of rows whose dot products are the values of a kernel.

    Parameters
    ----------
    function : callable
        (n, n_features) array -> (n, n_outputs) array.
    n_outputs : int
        Number of features.
    n_features : int, optional
        Columns of the rows that the function takes; by default they are not checked.

    See Also
    --------
    explicit_features : The map of a kernel.
    """

    def __init__(
        self,
        function: Callable[[np.ndarray], np.ndarray],
        n_outputs: int,
        n_features: int | None = None,
    ) -> None:
        self.function = function
        self.n_outputs = n_outputs
        self.n_features = n_features

    def __call__(self, X: Any) -> np.ndarray:
        """Features of rows.

        Parameters
        ----------
        X : (n_samples, n_features) array
            The rows.

        Returns
        -------
        (n_samples, n_outputs) array
        """
        X = as_rows(X)
        X = X.toarray() if hasattr(X, "tocsr") else X
        check_table(X, "X")
        if self.n_features is not None and X.shape[1] != self.n_features:
            raise ValueError(
                f"X has {X.shape[1]} columns, but the map was made for rows of {self.n_features}"
            )
        return self.function(X)


def explicit_features(kernel: Any, n_features: int) -> FeatureMap:
    r"""The map phi of a kernel with finitely many features.

    Linear, polynomial, quadratic, constant and cosine kernels have one; a sum joins the features
    of its parts, a product multiplies each of one part with each of the other, f(x) k(x, z) f(z)
    multiplies features by f(x). `SetIntersectionKernel` and `SpectrumKernel` count their features
    with `counts`. Of RBF the first terms of its series are given by `rbf_series`.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    n_features : int
        Columns of the rows.

    Returns
    -------
    FeatureMap

    Examples
    --------
    The features 1, sqrt(2) x_1, sqrt(2) x_2, x_1^2, sqrt(2) x_1 x_2, x_2^2:

    >>> from tenfold.kernel import PolynomialKernel, explicit_features
    >>> phi = explicit_features(PolynomialKernel(2), 2)
    >>> phi([[1.0, 2.0]]).round(3).tolist()
    [[1.0, 1.414, 2.828, 1.0, 2.828, 4.0]]
    >>> round(float(phi([[1.0, 2.0]])[0] @ phi([[3.0, -1.0]])[0]), 9)  # (1 + 1)^2
    4.0
    """
    kernel, p = as_kernel(kernel), n_features
    found = _composed_features(kernel, p) or _own_features(kernel, p)
    if found is not None:
        return found
    if takes_objects(kernel):
        raise TypeError(f"features of {kernel!r} depend on the objects: take its method `counts`")
    raise TypeError(
        f"{kernel!r} has no finite feature map: use the kernel, `rbf_series` for the first terms "
        "of RBF, or RBFSampler and Nystroem for an approximation"
    )


def _own_features(kernel: Any, p: int) -> FeatureMap | None:
    """Features of a kernel that is not composed."""
    if isinstance(kernel, ConstantKernel):
        return FeatureMap(lambda X: np.full((len(X), 1), np.sqrt(kernel.constant_value)), 1, p)
    if isinstance(kernel, LinearKernel):
        return FeatureMap(np.array, p, p)
    if isinstance(kernel, DotProduct):
        return FeatureMap(lambda X: np.c_[np.full(len(X), float(kernel.sigma_0)), X], p + 1, p)
    if isinstance(kernel, QuadraticKernel):
        return _monomials(p, {1: 1.0, 2: 1.0})
    if isinstance(kernel, PolynomialKernel):
        return _polynomial_features(kernel, p)
    return FeatureMap(_unit_rows, p, p) if isinstance(kernel, CosineKernel) else None


def _composed_features(kernel: Any, p: int) -> FeatureMap | None:
    """Features of a sum, product, power or f k f."""
    if isinstance(kernel, Sum):
        maps = [explicit_features(part, p) for part in (kernel.k1, kernel.k2)]
        return _join_by(np.hstack, maps, sum(part.n_outputs for part in maps))
    if isinstance(kernel, FunctionScaledKernel):
        inner = explicit_features(kernel.kernel, p)
        return FeatureMap(
            lambda X: inner(X) * np.asarray(kernel.function(X))[:, None], inner.n_outputs, p
        )
    if isinstance(kernel, Product):
        maps = [explicit_features(part, p) for part in (kernel.k1, kernel.k2)]
    elif isinstance(kernel, Exponentiation) and kernel.exponent == int(kernel.exponent) > 0:
        maps = [explicit_features(kernel.kernel, p)] * int(kernel.exponent)
    else:
        return None
    return _join_by(_tensor_products, maps, prod(part.n_outputs for part in maps))


def rbf_series(kernel: RBF, n_features: int, degree: int) -> FeatureMap:
    r"""Features of the Taylor series of an RBF kernel, up to a degree.

    .. math:: \phi_a(x) = e^{-\gamma \lVert x \rVert^2} \sqrt{\frac{(2 \gamma)^{|a|}}{a!}} \; x^a,
              \qquad |a| \le \text{degree}

    Parameters
    ----------
    kernel : RBF
        The kernel, with one length scale.
    n_features : int
        Columns of the rows.
    degree : int
        Largest degree of the monomials x^a.

    Returns
    -------
    FeatureMap
        Dot products tend to the values of the kernel as the degree grows.

    Examples
    --------
    >>> from tenfold.kernel import RBF, rbf_series
    >>> x, z = [[0.8]], [[-1.1]]
    >>> phi = rbf_series(RBF(1.3), 1, degree=4)
    >>> float((phi(x) @ phi(z).T - RBF(1.3)(x, z)).round(5).item())
    0.00017
    """
    kernel = as_kernel(kernel)
    if not isinstance(kernel, RBF):
        raise TypeError(f"rbf_series is the series of an RBF kernel, not of {kernel!r}")
    if np.ndim(kernel.length_scale):
        raise ValueError("rbf_series needs one length scale: divide the columns by theirs")
    gamma = float(kernel.gamma)
    terms = _monomials(n_features, {k: (2 * gamma) ** k / factorial(k) for k in range(degree + 1)})
    return FeatureMap(
        lambda X: terms(X) * np.exp(-gamma * squared_norms(X))[:, None], terms.n_outputs, n_features
    )


def _polynomial_features(kernel: PolynomialKernel, p: int) -> FeatureMap:
    """(gamma x.z + c)^d as a sum of powers of x.z."""
    d = int(kernel.degree)
    if d != kernel.degree or kernel.gamma < 0 or kernel.coef0 < 0:
        raise ValueError(f"{kernel!r}: features need a whole degree, and gamma and coef0 >= 0")
    powers = {k: comb(d, k) * kernel.gamma**k * kernel.coef0 ** (d - k) for k in range(d + 1)}
    return _monomials(p, {k: weight for k, weight in powers.items() if weight > 0})


def _monomials(p: int, weights: dict[int, float]) -> FeatureMap:
    """Features of sum_k weights[k] (x.z)^k: monomials of these degrees, times square roots."""
    size = sum(comb(p + k - 1, k) for k in weights)
    if size > _MAX_FEATURES:
        raise ValueError(f"{size:,} features: use the kernel, which needs none of them")
    factors: list[float] = []
    columns: list[tuple[int, ...]] = []
    for degree, weight in weights.items():
        for chosen in combinations_with_replacement(range(p), degree):
            repeats = prod(factorial(chosen.count(j)) for j in set(chosen))
            columns.append(chosen)
            factors.append(np.sqrt(weight * factorial(degree) / repeats))

    def features(X: np.ndarray) -> np.ndarray:
        out = np.empty((len(X), size))
        for k, chosen in enumerate(columns):
            out[:, k] = factors[k]
            for j in chosen:
                out[:, k] *= X[:, j]
        return out

    return FeatureMap(features, size, p)


def _join_by(
    join: Callable[[list[np.ndarray]], np.ndarray], maps: list[FeatureMap], size: int
) -> FeatureMap:
    return FeatureMap(lambda X: join([part(X) for part in maps]), size, maps[0].n_features)


def _tensor_products(parts: list[np.ndarray]) -> np.ndarray:
    """Products of each feature of one part with each of the others."""
    result = parts[0]
    for part in parts[1:]:
        result = (result[:, :, None] * part[:, None]).reshape(len(part), -1)
    return result


def _unit_rows(X: np.ndarray) -> np.ndarray:
    X = moderate_rows(X)
    norms = np.sqrt(squared_norms(X))[:, None]
    return np.divide(X, norms, out=np.zeros(X.shape), where=norms > 0)
