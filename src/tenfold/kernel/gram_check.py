"""Mercer's condition on some rows: whether a matrix is the Gram matrix of a kernel."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.blas_threads import one_blas_thread
from tenfold.kernel.kernels import resolve_kernel
from tenfold.kernel.object_kernels import CallableKernel

_ROUNDING = 64.0  # units of the last place, times n and the largest eigenvalue: rounding errors


class GramCheck(NamedTuple):
    """Whether a matrix is a Gram matrix, and if not, why."""

    valid: bool  # symmetric and positive semi-definite, up to rounding
    smallest_eigenvalue: float
    vector: np.ndarray | None  # c with c'Kc < 0, of length 1; None where there is none
    value: float  # c'Kc of that vector, else 0
    asymmetry: float  # largest |K_ij - K_ji|
    asymmetric_pair: tuple[int, int] | None  # where, if it is more than rounding

    def __bool__(self) -> bool:
        return self.valid


def check_gram(kernel: Any, X: Any = None) -> GramCheck:
    """Check Mercer's condition: symmetric, and c'Kc >= 0 for every vector c.

    A kernel satisfies it on all sets of rows; a function that fails on one set is no kernel.

    Parameters
    ----------
    kernel : (n, n) array, kernel object, name or function of two rows
        A matrix of values, or a kernel (as in `resolve_kernel`) whose values for X are checked.
    X : (n, n_features) array or sequence of objects, optional
        The rows, where a kernel is given.

    Returns
    -------
    GramCheck
        True or false as a condition. `vector` is a c with c'Kc = `value` < 0 if there is one.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.kernel import RBF, check_gram
    >>> bool(check_gram(RBF(), [[0.0], [1.0], [5.0]]))
    True
    >>> found = check_gram(np.array([[1.0, 2.0], [2.0, 1.0]]))
    >>> found.valid, round(found.value, 6), np.abs(found.vector).round(4).tolist()
    (False, -1.0, [0.7071, 0.7071])
    """
    if X is None and (callable(kernel) or isinstance(kernel, str)):
        raise TypeError(
            f"check_gram({kernel!r}) needs rows: a kernel has no values without them. Give X, or "
            "the matrix of values in the place of the kernel"
        )
    K = np.array(kernel, np.float64) if X is None else _kernel_values(kernel, X)
    if K.ndim != 2 or K.shape[0] != K.shape[1] or not K.size:
        raise ValueError(f"a Gram matrix is square and not empty, and this has the shape {K.shape}")
    if not np.isfinite(K).all():
        i, j = np.argwhere(~np.isfinite(K))[0]
        raise ValueError(f"entry ({i}, {j}) is {K[i, j]}: a Gram matrix has finite entries alone")
    scale = np.finfo(np.float64).eps * _ROUNDING * len(K)
    gaps = np.abs(K - K.T)
    i, j = np.unravel_index(int(gaps.argmax()), gaps.shape)
    asymmetry = float(gaps[i, j])
    with one_blas_thread():
        values, vectors = np.linalg.eigh(0.5 * (K + K.T))
    limit = scale * max(abs(values[0]), abs(values[-1]))
    crooked, negative = asymmetry > limit, values[0] < -limit
    c = vectors[:, 0]
    return GramCheck(
        valid=not (crooked or negative),
        smallest_eigenvalue=float(values[0]),
        vector=c if negative else None,
        value=float(c @ K @ c) if negative else 0.0,
        asymmetry=asymmetry,
        asymmetric_pair=(int(i), int(j)) if crooked else None,
    )


def _kernel_values(kernel: Any, X: Any) -> np.ndarray:
    """Values of all rows with all rows; a function is called for both orders of each pair."""
    kernel = resolve_kernel(kernel, X=np.asarray(X) if isinstance(kernel, str) else X)
    return kernel(X, X) if isinstance(kernel, CallableKernel) else kernel(X)
