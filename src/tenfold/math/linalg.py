"""Solutions of symmetric positive semi-definite systems: Cholesky, else minimum norm."""

from __future__ import annotations

from typing import Any

import numpy as np

FLOAT64_EPS = float(np.finfo(np.float64).eps)


def solve_psd(A: np.ndarray, b: np.ndarray, eps: float = FLOAT64_EPS) -> np.ndarray:
    """Solve A x = b for a positive semi-definite A: Cholesky, else the shortest solution.

    Examples
    --------
    >>> import numpy as np
    >>> solve_psd(np.array([[1.0, 1.0], [1.0, 1.0]]), np.array([2.0, 2.0])).round(12).tolist()
    [1.0, 1.0]
    """
    # the functions that wrap these two take longer than a small solve
    from scipy.linalg.lapack import dpotrf, dpotrs  # pyright: ignore[reportAttributeAccessIssue]

    size = np.sqrt(np.maximum(A.diagonal(), 0.0))
    size[size == 0] = 1.0
    factor, failed = dpotrf(A / size / size[:, None], lower=True)
    if failed or not factor.diagonal().min() ** 2 > len(A) * eps:  # also when NaN
        return min_norm_solution(A, b, eps)
    return (dpotrs(factor, (b.T / size).T, lower=True)[0].T / size).T


def min_norm_solution(A: np.ndarray, b: np.ndarray, eps: float = FLOAT64_EPS) -> np.ndarray:
    """The minimum-norm solution of A x = b for a symmetric A, by its eigenvectors."""
    values, vectors = np.linalg.eigh(A)
    positive = values > len(A) * eps * np.abs(values).max(initial=0.0)
    V = vectors[:, positive]
    return V @ ((V.T @ b).T / values[positive]).T


def to_dense(X: Any) -> np.ndarray:
    """A sparse matrix as a dense array; a dense array as it is."""
    return X if isinstance(X, np.ndarray) else X.toarray()
