"""From scikit-learn's names and objects to kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.kernel.base import (
    ConstantKernel,
    Exponentiation,
    Kernel,
    Product,
    Sum,
    WhiteKernel,
    as_kernel,
    sk,
)
from tenfold.kernel.dot_product import (
    CosineKernel,
    DotProduct,
    LinearKernel,
    PolynomialKernel,
    SigmoidKernel,
)
from tenfold.kernel.object_kernels import CallableKernel, PrecomputedKernel
from tenfold.kernel.stationary import (
    RBF,
    AdditiveChi2Kernel,
    Chi2Kernel,
    ExpSineSquared,
    LaplacianKernel,
    Matern,
    RationalQuadratic,
)

SKLEARN_KERNELS: dict[type, type[Kernel]] = {
    sk.ConstantKernel: ConstantKernel,
    sk.DotProduct: DotProduct,
    sk.ExpSineSquared: ExpSineSquared,
    sk.Exponentiation: Exponentiation,
    sk.Matern: Matern,
    sk.Product: Product,
    sk.RBF: RBF,
    sk.RationalQuadratic: RationalQuadratic,
    sk.Sum: Sum,
    sk.WhiteKernel: WhiteKernel,
}
KERNEL_NAMES = (
    "additive_chi2",
    "chi2",
    "cosine",
    "laplacian",
    "linear",
    "poly",
    "polynomial",
    "precomputed",
    "rbf",
    "sigmoid",
)


def resolve_kernel(
    kernel: Any,
    *,
    gamma: Any = None,
    degree: float = 3,
    coef0: float | None = 1,
    kernel_params: dict[str, Any] | None = None,
    X: Any = None,
    of: str = "rows",
) -> Any:
    """The kernel object that a model's parameters name.

    Parameters
    ----------
    kernel : str, callable or kernel object
        One of scikit-learn's names ("rbf", "poly", "linear", "sigmoid", "laplacian", "chi2",
        "additive_chi2", "cosine", "precomputed"), a function, or a kernel of tenfold or
        scikit-learn.
    gamma : float, "scale", "auto" or None
        Parameter of the named kernels. None and "auto" are 1 / n_features (1 for "chi2"), "scale"
        is 1 / (n_features * variance of all values of X).
    degree, coef0 : float
        Further parameters of the named kernels.
    kernel_params : dict, optional
        Further arguments of a function.
    X : array, sparse matrix or Rows
        The rows, which give n_features ("scale": an array).
    of : {"rows", "matrices"}
        Whether a function takes two rows or two matrices.

    Examples
    --------
    >>> from tenfold.kernel import resolve_kernel
    >>> resolve_kernel("rbf", gamma=0.5)
    RBF(length_scale=1)
    """
    if isinstance(kernel, sk.Kernel):
        return as_kernel(kernel)
    if callable(kernel):
        return CallableKernel(kernel, of, kernel_params or {})
    if kernel not in KERNEL_NAMES:
        raise ValueError(f"kernel={kernel!r}: give one of {', '.join(KERNEL_NAMES)}, or a function")
    if kernel in ("linear", "cosine", "precomputed", "additive_chi2"):
        return {
            "linear": LinearKernel,
            "cosine": CosineKernel,
            "precomputed": PrecomputedKernel,
            "additive_chi2": AdditiveChi2Kernel,
        }[kernel]()
    if kernel == "chi2" and gamma is None:
        gamma = 1.0
    gamma, coef0 = resolve_gamma(gamma, X), 1.0 if coef0 is None else coef0
    if kernel == "rbf":
        return RBF.from_gamma(gamma)
    if kernel in ("laplacian", "chi2"):
        return (LaplacianKernel if kernel == "laplacian" else Chi2Kernel)(gamma)
    if kernel == "sigmoid":
        return SigmoidKernel(gamma, coef0)
    return PolynomialKernel(degree, gamma, coef0)


def resolve_gamma(gamma: Any, X: Any = None) -> float:
    """Gamma as a number; see `resolve_kernel`."""
    if gamma is not None and not isinstance(gamma, str):
        return float(gamma)
    if X is None:
        raise ValueError(f"gamma={gamma!r} depends on the rows: give X, or gamma as a number")
    n_features = X.n_features if hasattr(X, "n_features") else X.shape[1]
    if gamma != "scale":
        return 1.0 / n_features
    if hasattr(X, "tocsr"):
        mean = X.mean()
        variance = float(X.multiply(X).mean() - mean * mean)
    else:
        variance = float(np.var(X, dtype=np.float64))
    return 1.0 / (n_features * variance) if variance > 0 else 1.0
