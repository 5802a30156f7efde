"""Kernels as objects: what all share, and how they are composed.

Parameters, bounds and gradients follow `sklearn.gaussian_process.kernels`, whose objects are
accepted wherever a kernel is (`as_kernel`). A kernel adds `tile(X, Z)`, its values for a tile of
rows that lies in the cache; everything large is made of tiles (`tenfold.kernel._block`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.gaussian_process import kernels as sklearn_kernels

from tenfold.kernel._block import check_matrix_memory, gram_matrix, kernel_matrix, n_rows
from tenfold.kernel._row_checks import check_same_columns, check_table

sk: Any = sklearn_kernels  # whose types are inferred wrongly


class Kernel(sk.Kernel):
    r"""A function k(x, z) of two rows whose Gram matrices are positive semi-definite.

    Kernels add and multiply (``k1 + k2``, ``2.0 * k1``, ``k1 * k2``), and have powers
    (``k1**2``); all of these are kernels again. Hyperparameters are optimized as logarithms
    (`theta`) within `bounds`; "fixed" bounds take a hyperparameter out.

    See Also
    --------
    check_gram : Is a matrix the Gram matrix of a kernel?
    """

    accepts_sparse = False  # whether rows may be CSR matrices

    @property
    def hyperparameters(self) -> list[Any]:
        """Hyperparameters that `theta` holds, fixed ones included, in the order of their names."""
        kind: Any = type(self)
        return [getattr(self, name) for name in _hyperparameter_names(kind)]

    @property
    def n_dims(self) -> int:
        """Length of `theta`: the number of hyperparameters that are not fixed."""
        return sum(each.n_elements for each in self.hyperparameters if not each.fixed)

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        """Kernel values of all rows of X with all rows of Y.

        Parameters
        ----------
        X : (n_samples_X, n_features) array
            The rows.
        Y : (n_samples_Y, n_features) array, optional
            Other rows; None takes X itself: the Gram matrix, exactly symmetric.
        eval_gradient : bool
            Whether to return the derivatives by `theta` as well; only without Y.

        Returns
        -------
        K : (n_samples_X, n_samples_Y) array
        gradient : (n_samples_X, n_samples_X, n_dims) array, if it was asked for
        """
        if eval_gradient and Y is not None:
            raise ValueError("Gradient can only be evaluated when Y is None.")
        X = self._checked_rows(X, "X")
        Z = X if Y is None else self._checked_rows(Y, "Y")
        check_matrix_memory(n_rows(X), n_rows(Z), 1 + self.n_dims * eval_gradient)
        if Y is not None:
            check_same_columns(X, Z)
            return kernel_matrix(X, Z, self)
        K = gram_matrix(X, self)
        return (K, self._gradient(X, K)) if eval_gradient else K

    def _checked_rows(self, X: Any, name: str) -> Any:
        """Rows that a user gave, refused if they are no table of finite numbers."""
        rows = as_rows(X)
        if not isinstance(rows, np.ndarray) or rows.dtype.kind != "f":
            return rows
        check_table(rows, name)
        return rows

    def _gradient(self, X: np.ndarray, K: np.ndarray) -> np.ndarray:
        """Derivatives of the Gram matrix by theta, (n, n, n_dims)."""
        if self.n_dims == 0:
            return np.empty((*K.shape, 0))
        return super().__call__(X, eval_gradient=True)[1]

    def gradient_sums(self, X: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Weighted sums of the derivatives of all values of a Gram matrix.

        Parameters
        ----------
        X : (n_samples, n_features) array
            The rows.
        weights : (n_samples, n_samples) array
            A weight of each entry.

        Returns
        -------
        (n_dims,) array : sum_ij weights_ij dK_ij / dtheta
            Without the (n, n, n_dims) tensor of `eval_gradient` where the kernel allows it.
        """
        from tenfold.kernel._gradient_tiles import gradient_sums

        return gradient_sums(self, as_rows(X), weights)

    def tile(self, X: Any, Z: Any) -> np.ndarray:
        """Values for a few rows, in a new array; `kernel_block` calls this for each tile.

        Parameters
        ----------
        X, Z : (a, n_features) and (b, n_features) arrays of one float type
            The rows.
        """
        raise NotImplementedError(f"{type(self).__name__} has to define tile(X, Z)")

    def feature_map(self, n_features: int) -> Any:
        """The explicit features of a kernel that has finitely many.

        Parameters
        ----------
        n_features : int
            Columns of the rows.

        Returns
        -------
        FeatureMap
            See `tenfold.kernel.explicit_features`.
        """
        from tenfold.kernel.feature_maps import explicit_features

        return explicit_features(self, n_features)

    def __add__(self, other: Any) -> Sum:
        return Sum(self, _operand(other))

    def __radd__(self, other: Any) -> Sum:
        return Sum(_operand(other), self)

    def __mul__(self, other: Any) -> Product:
        return Product(self, _operand(other))

    def __rmul__(self, other: Any) -> Product:
        return Product(_operand(other), self)

    def __pow__(self, exponent: float) -> Exponentiation:
        return Exponentiation(self, exponent)

    def __repr__(self) -> str:
        theirs = super().__repr__
        if theirs.__func__ is not sk.Kernel.__repr__:  # a kernel of scikit-learn
            return theirs()
        params = self.get_params(deep=False).items()
        shown = (f"{name}={value!r}" for name, value in params if not name.endswith("_bounds"))
        return f"{type(self).__name__}({', '.join(shown)})"

    def clone_with_theta(self, theta: np.ndarray) -> Self:
        """The same kernel with other (logarithms of) hyperparameters.

        Parameters
        ----------
        theta : (n_dims,) array
            Logarithms of the hyperparameters that are not fixed.
        """
        return super().clone_with_theta(theta)


@cache
def _hyperparameter_names(kernel: type) -> list[str]:
    """Attributes of a class that say what its hyperparameters are: `dir` takes its time."""
    return [name for name in dir(kernel) if name.startswith("hyperparameter_")]


class ParameterFree(Kernel):
    """A kernel without parameters."""

    def __init__(self) -> None:
        """Take nothing."""


def as_rows(X: Any) -> Any:
    """Rows as a float array; sparse matrices and lists of other objects stay as they are."""
    if hasattr(X, "tocsr"):
        return X.tocsr()
    if isinstance(X, np.ndarray) and X.dtype in (np.float32, np.float64):
        return np.ascontiguousarray(X)
    if isinstance(X, np.ndarray) and X.dtype.kind in "iub":
        return X.astype(np.float64)
    if isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 1:
        return X
    first = X[0] if len(X) else 0.0
    if isinstance(first, str | bytes | set | frozenset):
        return X
    return np.ascontiguousarray(np.asarray(X, np.float64))


def _operand(value: Any) -> Any:
    """A number as a constant kernel; kernels as they are."""
    if isinstance(value, sk.Kernel):
        return value
    if not isinstance(value, Real):
        raise TypeError(f"{value!r} is no kernel, and no number that scales one")
    return ConstantKernel(value)


class ConstantKernel(Kernel, sk.ConstantKernel):
    r"""The constant :math:`k(x, z) = c`; times another kernel, its scale.

    Parameters
    ----------
    constant_value : float
        The constant.
    constant_value_bounds : pair of floats or "fixed"
        Bounds of the constant.

    Examples
    --------
    >>> from tenfold.kernel import ConstantKernel
    >>> ConstantKernel(2.0)([[1.0], [5.0]]).tolist()
    [[2.0, 2.0], [2.0, 2.0]]
    """

    accepts_sparse = True

    def tile(self, X: Any, Z: Any) -> np.ndarray:
        return np.full((_length(X), _length(Z)), self.constant_value, _float_type(X))


class WhiteKernel(Kernel, sk.WhiteKernel):
    r"""Independent noise: :math:`k(x, z) = \sigma^2` if x and z are the same row, else 0.

    Parameters
    ----------
    noise_level : float
        The variance of the noise.
    noise_level_bounds : pair of floats or "fixed"
        Bounds of the variance.

    Examples
    --------
    >>> from tenfold.kernel import WhiteKernel
    >>> WhiteKernel(0.5)([[1.0], [1.0]]).tolist()
    [[0.5, 0.0], [0.0, 0.5]]
    """

    accepts_sparse = True

    def tile(self, X: Any, Z: Any) -> np.ndarray:
        return np.zeros((_length(X), _length(Z)), _float_type(X))


class Sum(Kernel, sk.Sum):
    r"""The sum of two kernels, :math:`k_1(x, z) + k_2(x, z)`.

    Parameters
    ----------
    k1, k2 : Kernel
        The kernels.

    Examples
    --------
    >>> from tenfold.kernel import LinearKernel
    >>> (LinearKernel() + 1.0)([[2.0]], [[3.0]]).tolist()
    [[7.0]]
    """

    hyperparameters = sk.KernelOperator.hyperparameters  # pyright: ignore[reportIncompatibleMethodOverride]

    n_dims = property(lambda self: self.k1.n_dims + self.k2.n_dims)  # pyright: ignore[reportIncompatibleMethodOverride]

    @property
    def accepts_sparse(self) -> bool:
        return as_kernel(self.k1).accepts_sparse and as_kernel(self.k2).accepts_sparse

    def tile(self, X: Any, Z: Any) -> np.ndarray:
        values = as_kernel(self.k1).tile(X, Z)
        values += as_kernel(self.k2).tile(X, Z)
        return values

    def diag(self, X: Any) -> np.ndarray:
        """Values k(x, x) of all rows, (n_samples,).

        Parameters
        ----------
        X : (n_samples, n_features) array
            The rows.
        """
        return as_kernel(self.k1).diag(X) + as_kernel(self.k2).diag(X)


class Product(Kernel, sk.Product):
    r"""The product of two kernels, :math:`k_1(x, z) \, k_2(x, z)`.

    Parameters
    ----------
    k1, k2 : Kernel
        The kernels.

    Examples
    --------
    >>> from tenfold.kernel import LinearKernel
    >>> (0.5 * LinearKernel())([[2.0]], [[3.0]]).tolist()
    [[3.0]]
    """

    hyperparameters = sk.KernelOperator.hyperparameters  # pyright: ignore[reportIncompatibleMethodOverride]

    n_dims = property(lambda self: self.k1.n_dims + self.k2.n_dims)  # pyright: ignore[reportIncompatibleMethodOverride]

    @property
    def accepts_sparse(self) -> bool:
        return as_kernel(self.k1).accepts_sparse and as_kernel(self.k2).accepts_sparse

    def tile(self, X: Any, Z: Any) -> np.ndarray:
        first, second = as_kernel(self.k1), as_kernel(self.k2)
        if isinstance(first, ConstantKernel):
            first, second = second, first
        values = first.tile(X, Z)
        constant = isinstance(second, ConstantKernel)
        values *= second.constant_value if constant else second.tile(X, Z)
        return values

    def diag(self, X: Any) -> np.ndarray:
        """Values k(x, x) of all rows, (n_samples,).

        Parameters
        ----------
        X : (n_samples, n_features) array
            The rows.
        """
        return as_kernel(self.k1).diag(X) * as_kernel(self.k2).diag(X)


class Exponentiation(Kernel, sk.Exponentiation):
    r"""A power of a kernel, :math:`k(x, z)^p`; a kernel again for whole numbers p.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    exponent : float
        The exponent p.

    Examples
    --------
    >>> from tenfold.kernel import LinearKernel
    >>> ((LinearKernel() + 1.0) ** 2)([[2.0]], [[3.0]]).tolist()
    [[49.0]]
    """

    hyperparameters = sk.Exponentiation.hyperparameters  # pyright: ignore[reportIncompatibleMethodOverride]

    n_dims = property(lambda self: self.kernel.n_dims)  # pyright: ignore[reportIncompatibleMethodOverride]

    @property
    def accepts_sparse(self) -> bool:
        return as_kernel(self.kernel).accepts_sparse

    def tile(self, X: Any, Z: Any) -> np.ndarray:
        return raise_to(as_kernel(self.kernel).tile(X, Z), self.exponent)

    def diag(self, X: Any) -> np.ndarray:
        """Values k(x, x) of all rows, (n_samples,).

        Parameters
        ----------
        X : (n_samples, n_features) array
            The rows.
        """
        return raise_to(np.array(as_kernel(self.kernel).diag(X), np.float64), self.exponent)


class FunctionScaledKernel(Kernel):
    r"""The kernel :math:`f(x) \, k(x, z) \, f(z)` of a kernel k and any function f.

    Parameters
    ----------
    kernel : Kernel
        The kernel k.
    function : callable
        f of the rows of a matrix: (n, n_features) -> (n,).

    Examples
    --------
    >>> from tenfold.kernel import FunctionScaledKernel, LinearKernel
    >>> FunctionScaledKernel(LinearKernel(), lambda X: X[:, 0])([[2.0]], [[3.0]]).tolist()
    [[36.0]]
    """

    def __init__(self, kernel: Any, function: Callable[[Any], np.ndarray]) -> None:
        self.kernel = kernel
        self.function = function

    def tile(self, X: Any, Z: Any) -> np.ndarray:
        values = as_kernel(self.kernel).tile(X, Z)
        values *= self._factors(X, values.dtype)[:, None]
        values *= self._factors(Z, values.dtype)
        return values

    def _factors(self, X: Any, dtype: Any = np.float64) -> np.ndarray:
        """F of each row; refuse a function that does not give one number for each."""
        factors = np.asarray(self.function(X), dtype)
        if factors.shape != (n_rows(X),):
            raise ValueError(
                f"the function gave an array of shape {factors.shape} for {n_rows(X)} rows: it "
                "must return one number for each row"
            )
        return factors

    def diag(self, X: Any) -> np.ndarray:
        """Values k(x, x) of all rows, (n_samples,).

        Parameters
        ----------
        X : (n_samples, n_features) array
            The rows.
        """
        X = as_rows(X)
        return self._factors(X) ** 2 * as_kernel(self.kernel).diag(X)

    @property
    def hyperparameters(self) -> list[Any]:
        """Those of the inner kernel."""
        return [
            sk.Hyperparameter(f"kernel__{h.name}", h.value_type, h.bounds, h.n_elements)
            for h in self.kernel.hyperparameters
        ]

    theta = property(
        lambda self: self.kernel.theta, lambda self, theta: setattr(self.kernel, "theta", theta)
    )
    bounds = property(lambda self: self.kernel.bounds)

    def _gradient(self, X: np.ndarray, K: np.ndarray) -> np.ndarray:
        f = self._factors(X)
        inner = as_kernel(self.kernel)
        return (f[:, None] * f)[:, :, None] * inner(X, eval_gradient=True)[1]

    def is_stationary(self) -> bool:
        """Whether the values depend on x - z alone."""
        return False


@np.errstate(over="ignore")  # whoever takes the values looks at them
def raise_to(values: np.ndarray, exponent: float) -> np.ndarray:
    """Powers, in the array itself for whole exponents: by squares, faster than `np.power`."""
    k = int(exponent)
    if k != exponent or k < 1:
        return np.power(values, exponent)
    square, result = values, None
    while k:
        if k & 1:
            result = square.copy() if result is None else np.multiply(result, square, out=result)
        k >>= 1
        if k:
            square = np.multiply(square, square, out=square)
    return values if result is None else result


def as_kernel(kernel: Any) -> Any:
    """A kernel of tenfold: scikit-learn's kernel objects are translated.

    Parameters
    ----------
    kernel : Kernel, or an object of `sklearn.gaussian_process.kernels`
        The kernel. Classes derived from scikit-learn's that tenfold does not know keep their own
        `__call__`.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from tenfold.kernel import as_kernel
    >>> type(as_kernel(RBF(2.0))).__module__
    'tenfold.kernel.stationary'
    """
    if isinstance(kernel, Kernel):
        return kernel
    if not isinstance(kernel, sk.Kernel):
        raise TypeError(f"{kernel!r} is no kernel: give an object of tenfold.kernel")
    from tenfold.kernel.kernels import SKLEARN_KERNELS
    from tenfold.kernel.object_kernels import ForeignKernel

    ours = SKLEARN_KERNELS.get(type(kernel))
    if ours is None:
        return ForeignKernel(kernel)
    return ours(**kernel.get_params(deep=False))


def _length(X: Any) -> int:
    return X.shape[0] if hasattr(X, "shape") else len(X)


def _float_type(X: Any) -> Any:
    return X.dtype if getattr(X, "dtype", None) in (np.float32, np.float64) else np.float64
