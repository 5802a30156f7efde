"""Kernels that are functions of the distance of two rows."""

from __future__ import annotations

from math import gamma as gamma_function
from math import inf, pi, sqrt
from typing import Any, Self

import numpy as np
from scipy.special import kv

from tenfold.kernel._row_checks import check_parameter
from tenfold.kernel._tiles_numba import (
    CANCELLATION,
    EXPONENTIAL,
    MATERN_12,
    MATERN_32,
    MATERN_52,
    SQUARED_DISTANCE,
    chi_square_tile,
    decay_tile,
    from_products,
    function_tile,
    lowest_exponent,
    manhattan_tile,
)
from tenfold.kernel.base import Kernel, ParameterFree, sk
from tenfold.kernel.dot_product import dot_products, squared_norms

_POSITIVE = (1e-5, 1e5)
_MATERN_KINDS = {0.5: MATERN_12, 1.5: MATERN_32, 2.5: MATERN_52, inf: EXPONENTIAL}


def distance_tile(X: Any, Z: Any, scale: Any, kind: int = SQUARED_DISTANCE) -> np.ndarray:
    """A function of the distances of x / scale and z / scale; see `from_products`."""
    scale = np.asarray(scale, X.dtype)
    _check_scale(scale, X.shape[1])
    if hasattr(X, "tocsr"):
        return _sparse_distance_tile(X, Z, scale, kind)
    origin = Z.mean(axis=0)  # near zero products cancel less
    X, Z = (X - origin) / scale, (Z - origin) / scale
    with np.errstate(over="ignore", invalid="ignore"):  # such distances come from differences
        P = X @ Z.T
        x2, z2 = np.einsum("ij,ij->i", X, X), np.einsum("ij,ij->i", Z, Z)
    close = X.dtype.type(CANCELLATION[X.dtype.itemsize])
    from_products(P, x2, z2, X, Z, kind, close, lowest_exponent(X.dtype))
    return P


def _check_scale(scale: np.ndarray, n_features: int) -> None:
    """Refuse length scales that are no lengths, or not one for each column."""
    if scale.ndim > 1 or scale.size not in (1, n_features):
        raise ValueError(
            f"length_scale has the shape {scale.shape}, but the rows have {n_features} columns: "
            "give one number, or one for each column"
        )
    if np.isnan(scale).any():  # of a search for hyperparameters that got lost
        raise FloatingPointError("length_scale is not a number")
    if not (scale > 0).all():
        raise ValueError(f"length_scale must be positive, got {scale.tolist()}")


def _sparse_distance_tile(X: Any, Z: Any, scale: np.ndarray, kind: int) -> np.ndarray:
    """The same of sparse rows; Z may be dense."""
    X = _divide_columns(X, scale)
    Z = _divide_columns(Z, scale) if hasattr(Z, "tocsr") else Z / scale
    P = dot_products(X, Z)
    x2, z2 = (squared_norms(rows).astype(X.dtype) for rows in (X, Z))
    total = x2[:, None] + z2
    distances = total - 2 * P
    i, j = np.nonzero(distances <= CANCELLATION[X.dtype.itemsize] * total)
    for start in range(0, len(i), 1024):
        part = slice(start, start + 1024)
        gaps = X[i[part]] - Z[j[part]]
        squares = gaps.power(2) if hasattr(gaps, "tocsr") else np.square(gaps)
        distances[i[part], j[part]] = np.asarray(squares.sum(axis=1)).ravel()
    function_tile(distances, kind, lowest_exponent(X.dtype))
    return distances


def _divide_columns(X: Any, scale: np.ndarray) -> Any:
    if scale.ndim == 0:
        return X / scale
    return (X.multiply(1 / scale)).tocsr()


def function_of_squares(kernel: Any, squares: np.ndarray) -> np.ndarray:
    """Values of a kernel of this module from squared distances, in their place.

    Distances are in units of the length scale; for `ExpSineSquared` in those of the rows.
    """
    if isinstance(kernel, RationalQuadratic):
        squares /= 2 * kernel.alpha
        np.log1p(squares, out=squares)
        squares *= -kernel.alpha
        return np.exp(squares, out=squares)
    lowest = lowest_exponent(squares.dtype)
    if isinstance(kernel, ExpSineSquared):
        np.sqrt(squares, out=squares)
        squares *= pi / kernel.periodicity
        np.sin(squares, out=squares)
        np.square(squares, out=squares)
        decay_tile(squares, squares.dtype.type(2 / kernel.length_scale**2), lowest)
        return squares
    nu = getattr(kernel, "nu", inf)
    if nu < inf:
        squares *= 2 * nu
    if nu not in _MATERN_KINDS:
        return _general_matern(squares, nu)
    function_tile(squares, _MATERN_KINDS[nu], lowest)
    return squares


def distance_slope(kernel: Any, squares: np.ndarray) -> np.ndarray:
    """F(u): the derivative by the logarithm of a length scale, over the squared difference."""
    nu = getattr(kernel, "nu", inf)
    if nu == inf:
        return np.exp(-0.5 * squares)
    r = np.sqrt(2.0 * nu * squares)
    if nu == 1.5:
        return 3.0 * np.exp(-r)
    if nu == 2.5:
        return 5.0 / 3.0 * (1.0 + r) * np.exp(-r)
    apart = r > 0
    r[~apart] = 1.0
    if nu == 0.5:
        return np.where(apart, np.exp(-r) / r, 0.0)
    values = 2.0 ** (1.0 - nu) / gamma_function(nu) * 2.0 * nu * r ** (nu - 1.0) * kv(nu - 1.0, r)
    return np.where(apart, values, 0.0)


class RBF(Kernel, sk.RBF):
    r"""The radial basis function (Gaussian) kernel.

    .. math:: k(x, z) = \exp\Bigl(-\sum_j \frac{(x_j - z_j)^2}{2 \ell_j^2}\Bigr)
              = \exp(-\gamma \lVert x - z \rVert^2), \qquad \gamma = \frac{1}{2 \ell^2}

    Parameters
    ----------
    length_scale : float or (n_features,) array
        The length scale (sigma), one for all columns or one for each (automatic relevance
        determination). `RBF.from_gamma` takes gamma instead.
    length_scale_bounds : pair of floats or "fixed"
        Bounds of the length scale.

    Examples
    --------
    >>> from tenfold.kernel import RBF
    >>> RBF(1.0)([[0.0]], [[1.0]]).round(4).tolist()
    [[0.6065]]
    >>> RBF.from_gamma(1.0)([[0.0]], [[1.0]]).round(4).tolist()
    [[0.3679]]
    """

    accepts_sparse = True

    @classmethod
    def from_gamma(cls, gamma: float) -> Self:
        """The kernel exp(-gamma |x - z|^2).

        Parameters
        ----------
        gamma : float
            The factor, at least 0; with 0 all values are 1.
        """
        if not gamma >= 0:
            raise ValueError(f"gamma must be at least 0, got {gamma!r}")
        return cls(sqrt(0.5 / gamma) if gamma > 0 else inf)

    @property
    def gamma(self) -> Any:
        """The factor 1 / (2 length_scale^2)."""
        return 0.5 / np.square(self.length_scale)

    def tile(self, X: Any, Z: Any) -> np.ndarray:
        return distance_tile(X, Z, self.length_scale, EXPONENTIAL)


class Matern(Kernel, sk.Matern):
    r"""The Matern kernel: Gaussian-process samples are :math:`\lceil \nu \rceil - 1` times smooth.

    .. math:: k(x, z) = \frac{2^{1 - \nu}}{\Gamma(\nu)} r^\nu K_\nu(r), \qquad
              r = \sqrt{2 \nu} \, \lVert x - z \rVert / \ell

    Parameters
    ----------
    length_scale : float or (n_features,) array
        The length scale, one for all columns or one for each.
    length_scale_bounds : pair of floats or "fixed"
        Bounds of the length scale.
    nu : float
        Smoothness; 0.5, 1.5, 2.5 and inf (`RBF`) are compiled.

    References
    ----------
    C. E. Rasmussen and C. K. I. Williams (2006), Gaussian Processes for Machine Learning, ch. 4.

    Examples
    --------
    >>> from tenfold.kernel import Matern
    >>> Matern(nu=0.5)([[0.0]], [[1.0]]).round(4).tolist()
    [[0.3679]]
    """

    accepts_sparse = True

    def tile(self, X: Any, Z: Any) -> np.ndarray:
        check_parameter(self, "nu")
        root = sqrt(2 * self.nu) if self.nu < inf else 1.0
        scale = np.asarray(self.length_scale) / root
        kind = _MATERN_KINDS.get(self.nu, SQUARED_DISTANCE)
        values = distance_tile(X, Z, scale, kind)
        return values if kind != SQUARED_DISTANCE else _general_matern(values, self.nu)

    def _gradient(self, X: np.ndarray, K: np.ndarray) -> np.ndarray:
        if self.nu in _MATERN_KINDS or self.n_dims == 0:
            return super()._gradient(X, K)
        scaled = X / self.length_scale  # scikit-learn takes differences here
        squares = np.square(scaled[:, None] - scaled)
        squares = squares if self.anisotropic else squares.sum(axis=2, keepdims=True)
        slopes = distance_slope(self, _SquaredDistances(self.length_scale)(X))
        return slopes[:, :, None] * squares


def _general_matern(squares: np.ndarray, nu: float) -> np.ndarray:
    """Matern values of squared scaled distances, by Bessel functions."""
    r = np.sqrt(squares)
    zero = r == 0
    r[zero] = 1.0
    values = 2 ** (1 - nu) / gamma_function(nu) * r**nu * kv(nu, r)
    values[zero] = 1.0
    return values.astype(squares.dtype, copy=False)


class RationalQuadratic(Kernel, sk.RationalQuadratic):
    r"""A mixture of RBF kernels of all length scales.

    .. math:: k(x, z) = \Bigl(1 + \frac{\lVert x - z \rVert^2}{2 \alpha \ell^2}\Bigr)^{-\alpha}

    Parameters
    ----------
    length_scale, alpha : float
        The length scale, and how much the scales agree: large alpha is `RBF`.
    length_scale_bounds, alpha_bounds : pair of floats or "fixed"
        Their bounds.

    Examples
    --------
    >>> from tenfold.kernel import RationalQuadratic
    >>> RationalQuadratic()([[0.0]], [[2.0]]).round(4).tolist()
    [[0.3333]]
    """

    accepts_sparse = True

    def tile(self, X: Any, Z: Any) -> np.ndarray:
        check_parameter(self, "alpha")
        return function_of_squares(self, distance_tile(X, Z, self.length_scale))


class _SquaredDistances(Kernel):
    """Squared distances in units of a scale: no kernel, but made of the same tiles."""

    def __init__(self, scale: Any) -> None:
        self.scale = scale

    def tile(self, X: Any, Z: Any) -> np.ndarray:
        return distance_tile(X, Z, self.scale)

    def diag(self, X: Any) -> np.ndarray:
        return np.zeros(len(X))

    def is_stationary(self) -> bool:
        return True


class ExpSineSquared(Kernel, sk.ExpSineSquared):
    r"""The periodic kernel :math:`k(x, z) = \exp(-2 \sin^2(\pi \lVert x - z \rVert / p) / \ell^2)`.

    It is a kernel of rows with one column; with several `check_gram` finds negative eigenvalues.

    Parameters
    ----------
    length_scale, periodicity : float
        The length scale and the period p.
    length_scale_bounds, periodicity_bounds : pair of floats or "fixed"
        Their bounds.

    Examples
    --------
    >>> from tenfold.kernel import ExpSineSquared
    >>> ExpSineSquared(periodicity=3.0)([[0.0]], [[1.5], [3.0]]).round(4).tolist()
    [[0.1353, 1.0]]
    """

    def tile(self, X: Any, Z: Any) -> np.ndarray:
        check_parameter(self, "length_scale")
        check_parameter(self, "periodicity")
        return function_of_squares(self, distance_tile(X, Z, 1.0))


class _GammaKernel(Kernel):
    """A kernel whose logarithm is proportional to its parameter gamma."""

    def __init__(self, gamma: float = 1.0, gamma_bounds: Any = _POSITIVE) -> None:
        self.gamma = gamma
        self.gamma_bounds = gamma_bounds

    @property
    def hyperparameter_gamma(self) -> Any:
        """Bounds of gamma."""
        return sk.Hyperparameter("gamma", "numeric", self.gamma_bounds)

    def _exponents(self, X: Any, Z: Any) -> np.ndarray:
        raise NotImplementedError

    def tile(self, X: Any, Z: Any) -> np.ndarray:
        check_parameter(self, "gamma", zero_ok=True)
        values = self._exponents(X, Z)
        decay_tile(values, values.dtype.type(self.gamma), lowest_exponent(values.dtype))
        return values

    def _gradient(self, X: np.ndarray, K: np.ndarray) -> np.ndarray:
        if self.n_dims == 0:
            return np.empty((*K.shape, 0))
        logs = np.log(K, out=np.zeros_like(K), where=K > 0)
        return (K * logs)[:, :, None]

    def diag(self, X: Any) -> np.ndarray:
        """Values k(x, x) of all rows, (n_samples,): 1.

        Parameters
        ----------
        X : (n_samples, n_features) array
            The rows.
        """
        return np.ones(X.shape[0] if hasattr(X, "shape") else len(X))


class LaplacianKernel(_GammaKernel):
    r"""The Laplacian kernel :math:`k(x, z) = \exp(-\gamma \sum_j |x_j - z_j|)`.

    Parameters
    ----------
    gamma : float
        The factor.
    gamma_bounds : pair of floats or "fixed"
        Its bounds.

    Examples
    --------
    >>> from tenfold.kernel import LaplacianKernel
    >>> LaplacianKernel()([[0.0, 0.0]], [[1.0, -1.0]]).round(4).tolist()
    [[0.1353]]
    """

    accepts_sparse = True

    def _exponents(self, X: Any, Z: Any) -> np.ndarray:
        X, Z = (rows.toarray() if hasattr(rows, "tocsr") else rows for rows in (X, Z))
        out = np.empty((len(X), len(Z)), X.dtype)
        manhattan_tile(np.ascontiguousarray(X), np.ascontiguousarray(Z.T), out)
        return out

    def is_stationary(self) -> bool:
        """Whether the values depend on x - z alone."""
        return True


class Chi2Kernel(_GammaKernel):
    r"""The exponential chi-squared kernel of histograms (rows of numbers that are not negative).

    .. math:: k(x, z) = \exp\Bigl(-\gamma \sum_j \frac{(x_j - z_j)^2}{x_j + z_j}\Bigr)

    Parameters
    ----------
    gamma : float
        The factor.
    gamma_bounds : pair of floats or "fixed"
        Its bounds.

    References
    ----------
    J. Zhang, M. Marszalek, S. Lazebnik and C. Schmid (2007), Local features and kernels for
    classification of texture and object categories.

    Examples
    --------
    >>> from tenfold.kernel import Chi2Kernel
    >>> Chi2Kernel()([[1.0, 0.0]], [[0.0, 1.0]]).round(4).tolist()
    [[0.1353]]
    """

    def _exponents(self, X: Any, Z: Any) -> np.ndarray:
        return chi_square_distances(X, Z)

    def is_stationary(self) -> bool:
        """Whether the values depend on x - z alone."""
        return False


class AdditiveChi2Kernel(ParameterFree):
    r"""The additive chi-squared kernel :math:`k(x, z) = -\sum_j (x_j - z_j)^2 / (x_j + z_j)`.

    It is conditionally positive definite: `check_gram` finds a violating vector, though none whose
    entries sum to 0.

    Examples
    --------
    >>> from tenfold.kernel import AdditiveChi2Kernel
    >>> AdditiveChi2Kernel()([[1.0, 0.0]], [[0.0, 1.0]]).tolist()
    [[-2.0]]
    """

    def tile(self, X: Any, Z: Any) -> np.ndarray:
        values = chi_square_distances(X, Z)
        return np.negative(values, out=values)

    def diag(self, X: Any) -> np.ndarray:
        """Values k(x, x) of all rows, (n_samples,): 0.

        Parameters
        ----------
        X : (n_samples, n_features) array
            The rows.
        """
        return np.zeros(len(X))

    def is_stationary(self) -> bool:
        """Whether the values depend on x - z alone."""
        return False


def chi_square_distances(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """Sums of (x - z)^2 / (x + z) over columns, of rows that are not negative."""
    for name, rows in (("X", X), ("Y", Z)):
        if rows.size and rows.min() < 0:
            raise ValueError(f"{name} contains negative values: chi2 kernels are for histograms")
    out = np.empty((len(X), len(Z)), X.dtype)
    chi_square_tile(np.ascontiguousarray(X), np.ascontiguousarray(Z.T), out)
    return out
