"""Kernels that are functions of the dot product of two rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.kernel.base import Kernel, ParameterFree, as_rows, raise_to, sk

_POSITIVE = (1e-5, 1e5)


def dot_products(X: Any, Z: Any) -> np.ndarray:
    """Products of all rows of X with all rows of Z, dense; either may be sparse."""
    products = X @ Z.T
    return products.toarray() if hasattr(products, "tocsr") else products


def squared_norms(X: Any) -> np.ndarray:
    """Squared Euclidean norm of each row, in float64."""
    if hasattr(X, "tocsr"):
        return np.asarray(X.astype(np.float64).power(2).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", X, X, dtype=np.float64)


class _DotProductKernel(Kernel):
    """A function of x.z: `_of_products` is applied to the products, in place."""

    accepts_sparse = True

    def _of_products(self, P: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def tile(self, X: Any, Z: Any) -> np.ndarray:
        return self._of_products(dot_products(X, Z))

    def diag(self, X: Any) -> np.ndarray:
        """Values k(x, x) of all rows, (n_samples,).

        Parameters
        ----------
        X : (n_samples, n_features) array
            The rows.
        """
        return self._of_products(squared_norms(as_rows(X)))

    def is_stationary(self) -> bool:
        """Whether the values depend on x - z alone."""
        return False


class LinearKernel(_DotProductKernel, ParameterFree):
    r"""The dot product :math:`k(x, z) = x \cdot z`: kernel methods with it are linear models.

    Examples
    --------
    >>> from tenfold.kernel import LinearKernel
    >>> LinearKernel()([[1.0, 2.0]], [[3.0, -1.0]]).tolist()
    [[1.0]]
    """

    def _of_products(self, P: np.ndarray) -> np.ndarray:
        return P


class DotProduct(_DotProductKernel, sk.DotProduct):
    r"""The dot product with an offset, :math:`k(x, z) = \sigma_0^2 + x \cdot z`.

    Parameters
    ----------
    sigma_0 : float
        Its square is added: the prior variance of the intercept of a linear model.
    sigma_0_bounds : pair of floats or "fixed"
        Bounds of sigma_0.

    Examples
    --------
    >>> from tenfold.kernel import DotProduct
    >>> DotProduct(2.0)([[1.0]], [[3.0]]).tolist()
    [[7.0]]
    """

    def _of_products(self, P: np.ndarray) -> np.ndarray:
        P += self.sigma_0**2
        return P


class PolynomialKernel(_DotProductKernel):
    r"""The polynomial kernel :math:`k(x, z) = (\gamma \, x \cdot z + c_0)^d`.

    With :math:`\gamma = c_0 = 1`, products of features up to degree d; see `feature_map`.

    Parameters
    ----------
    degree : float
        The degree d; a whole number for a kernel.
    gamma : float
        Factor of the product.
    coef0 : float
        The offset c_0.
    gamma_bounds, coef0_bounds : pair of floats or "fixed"
        Bounds of gamma and coef0.

    Examples
    --------
    >>> from tenfold.kernel import PolynomialKernel
    >>> PolynomialKernel(2)([[1.0, 2.0]], [[3.0, -1.0]]).tolist()
    [[4.0]]
    """

    def __init__(
        self,
        degree: float = 3,
        gamma: float = 1.0,
        coef0: float = 1.0,
        gamma_bounds: Any = _POSITIVE,
        coef0_bounds: Any = "fixed",
    ) -> None:
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.gamma_bounds = gamma_bounds
        self.coef0_bounds = coef0_bounds

    @property
    def hyperparameter_gamma(self) -> Any:
        """Bounds of gamma."""
        return sk.Hyperparameter("gamma", "numeric", self.gamma_bounds)

    @property
    def hyperparameter_coef0(self) -> Any:
        """Bounds of coef0."""
        return sk.Hyperparameter("coef0", "numeric", self.coef0_bounds)

    def _of_products(self, P: np.ndarray) -> np.ndarray:
        if self.gamma != 1:
            P *= self.gamma
        P += self.coef0
        return raise_to(P, self.degree)

    def _gradient(self, X: np.ndarray, K: np.ndarray) -> np.ndarray:
        P = self.gamma * dot_products(X, X)
        slope = self.degree * raise_to(P + self.coef0, self.degree - 1)
        # in the order of `hyperparameters`, which is that of their names
        parts = {"coef0": self.coef0 * slope, "gamma": P * slope}
        free = [h.name for h in self.hyperparameters if not h.fixed]
        return np.stack([parts[name] for name in free], -1) if free else np.empty((*K.shape, 0))


class QuadraticKernel(_DotProductKernel, ParameterFree):
    r"""The quadratic kernel :math:`k(x, z) = x \cdot z + (x \cdot z)^2`.

    Its features are the columns and their products; a constant, unlike in
    ``PolynomialKernel(2)``, is not among them.

    Examples
    --------
    >>> from tenfold.kernel import QuadraticKernel
    >>> QuadraticKernel()([[1.0, 2.0]], [[3.0, -1.0]]).tolist()
    [[2.0]]
    """

    def _of_products(self, P: np.ndarray) -> np.ndarray:
        P += P * P
        return P


class SigmoidKernel(_DotProductKernel):
    r"""The function :math:`k(x, z) = \tanh(\gamma \, x \cdot z + c_0)`.

    It is no kernel for all parameters: `check_gram` finds negative eigenvalues.

    Parameters
    ----------
    gamma : float
        Factor of the product.
    coef0 : float
        The offset c_0.

    Examples
    --------
    >>> from tenfold.kernel import SigmoidKernel
    >>> SigmoidKernel(coef0=0.0)([[0.0]]).tolist()
    [[0.0]]
    """

    def __init__(self, gamma: float = 1.0, coef0: float = 1.0) -> None:
        self.gamma = gamma
        self.coef0 = coef0

    def _of_products(self, P: np.ndarray) -> np.ndarray:
        P *= self.gamma
        P += self.coef0
        return np.tanh(P, out=P)


class CosineKernel(ParameterFree):
    r"""The cosine of the angle, :math:`k(x, z) = x \cdot z / (\lVert x \rVert \lVert z \rVert)`.

    A row of zeros has the value 0 with every row.

    Examples
    --------
    >>> from tenfold.kernel import CosineKernel
    >>> CosineKernel()([[0.0, 2.0]], [[0.0, 5.0], [3.0, 0.0]]).tolist()
    [[1.0, 0.0]]
    """

    accepts_sparse = True

    def tile(self, X: Any, Z: Any) -> np.ndarray:
        X, Z = moderate_rows(X), moderate_rows(Z)
        P = dot_products(X, Z)
        P *= _inverse_norms(X).astype(P.dtype)[:, None]
        P *= _inverse_norms(Z).astype(P.dtype)
        return P

    def diag(self, X: Any) -> np.ndarray:
        """Values k(x, x) of all rows, (n_samples,): 1, or 0 for a row of zeros.

        Parameters
        ----------
        X : (n_samples, n_features) array
            The rows.
        """
        return (squared_norms(moderate_rows(as_rows(X))) > 0).astype(np.float64)

    def is_stationary(self) -> bool:
        """Whether the values depend on x - z alone."""
        return False


def moderate_rows(X: Any) -> Any:
    """Rows times powers of two, where their squares would leave the range of floats."""
    largest: Any = abs(X).max(axis=1) if X.shape[1] else np.zeros(X.shape[0])
    largest = largest.toarray().ravel() if hasattr(largest, "tocsr") else largest
    exponents, limit = np.frexp(largest)[1], np.finfo(X.dtype).maxexp // 4
    if (np.abs(exponents) <= limit).all():
        return X
    shifts = np.where(np.abs(exponents) > limit, -exponents, 0)
    if not hasattr(X, "tocsr"):
        return np.ldexp(X, shifts[:, None])
    values = np.ldexp(X.data, np.repeat(shifts, np.diff(X.indptr)))
    return type(X)((values, X.indices, X.indptr), shape=X.shape)


def _inverse_norms(X: Any) -> np.ndarray:
    norms = np.sqrt(squared_norms(X))
    return np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
