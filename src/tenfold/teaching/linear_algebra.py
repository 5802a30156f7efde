"""Theorems of linear algebra as algorithms: each result comes with its certificate."""

from __future__ import annotations

from contextlib import suppress
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from tenfold.math.links import as_float_array

_EPS = float(np.finfo(np.float64).eps)
_MAX_ITERATIONS = 40  # of Rayleigh quotient iteration, which converges cubically


class PenroseResiduals(NamedTuple):
    """Relative residuals of the four Penrose conditions; all are 0 for the pseudo-inverse alone."""

    aba: float  # of A B A = A
    bab: float  # of B A B = B
    ab: float  # of A B being symmetric
    ba: float  # of B A being symmetric

    def are_satisfied(self, tol: float = 1e-8) -> bool:
        """Whether all four conditions hold up to `tol`."""
        return max(self) <= tol


def pseudo_inverse(A: Any, tol: float | None = None) -> np.ndarray:
    """The Moore-Penrose pseudo-inverse, by singular values.

    It is (A'A)^-1 A' for independent columns and A^-1 for an invertible matrix; A^+ b is the
    shortest of the least-squares solutions of A x = b.

    Parameters
    ----------
    A : (n, d) array
        Any matrix.
    tol : float, optional
        Singular values up to this share of the largest count as 0; max(n, d) machine epsilons by
        default.

    Examples
    --------
    >>> pseudo_inverse([[1.0, 1.0]]).round(12).tolist()
    [[0.5], [0.5]]
    """
    A = as_float_array(A)
    U, s, V = np.linalg.svd(A, full_matrices=False)
    share = max(A.shape) * float(np.finfo(A.dtype).eps) if tol is None else tol
    kept = s > share * s.max(initial=0)
    return (V[kept].T / s[kept]) @ U[:, kept].T


def penrose_conditions(A: Any, B: Any) -> PenroseResiduals:
    """Residuals of the four Penrose conditions, which only the pseudo-inverse B of A satisfies.

    Examples
    --------
    >>> A = np.array([[1.0, 2.0], [2.0, 4.0], [0.0, 0.0]])
    >>> (
    ...     penrose_conditions(A, pseudo_inverse(A)).are_satisfied(),
    ...     penrose_conditions(A, A.T).are_satisfied(),
    ... )
    (True, False)
    """
    A, B = as_float_array(A), as_float_array(B)
    AB, BA = A @ B, B @ A
    return PenroseResiduals(
        _relative_difference(AB @ A, A),
        _relative_difference(BA @ B, B),
        _relative_difference(AB.T, AB),
        _relative_difference(BA.T, BA),
    )


def _relative_difference(A: np.ndarray, B: np.ndarray) -> float:
    """Largest difference of two matrices, relative to the largest entry of the second.

    Examples
    --------
    >>> _relative_difference(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
    0.5
    """
    return float(np.abs(A - B).max(initial=0) / (np.abs(B).max(initial=0) or 1.0))


class OrthonormalBasis(NamedTuple):
    """A matrix as Q R; R is upper triangular where all columns are independent."""

    Q: np.ndarray  # (n, r) orthonormal columns
    R: np.ndarray  # (r, d) their shares in each column
    kept: np.ndarray  # (r,) numbers of the columns that are independent of those before them


def gram_schmidt(A: Any, tol: float | None = None) -> OrthonormalBasis:
    """Orthonormalize the columns in order; dependent ones are left out.

    Modified Gram-Schmidt with reorthogonalization: Q is orthonormal to machine precision for any
    condition of the columns. The first r columns of Q span what the first r independent columns
    of A span. A basis is all that results: it holds no eigenvectors.

    Parameters
    ----------
    A : (n, d) array
        Columns.
    tol : float, optional
        A column is dependent if its residual is at most this share of its length; 10 max(n, d)
        machine epsilons by default.

    Examples
    --------
    >>> Q, R, kept = gram_schmidt([[3.0, 6.0, 0.0], [4.0, 8.0, 1.0]])
    >>> Q.round(12).tolist(), kept.tolist()
    ([[0.6, -0.8], [0.8, 0.6]], [0, 2])
    """
    A = as_float_array(A)
    n, d = A.shape
    top = np.abs(A).max(axis=0, initial=0)
    columns = A / np.where(top > 0, top, 1)
    length = np.linalg.norm(columns, axis=0)
    threshold = 10 * max(n, d) * float(np.finfo(columns.dtype).eps) if tol is None else tol
    Q, R = np.zeros((n, min(n, d)), columns.dtype), np.zeros((min(n, d), d), columns.dtype)
    kept: list[int] = []
    for j in range(d):
        r = len(kept)
        correction = Q[:, :r].T @ columns[:, j]
        R[:r, j] += correction
        residual = columns[:, j] - Q[:, :r] @ correction
        size = np.linalg.norm(residual)
        if size > threshold * length[j] and r < n:
            Q[:, r] = residual / size
            R[r, j], R[r, j + 1 :] = size, Q[:, r] @ columns[:, j + 1 :]
            columns[:, j + 1 :] -= np.outer(Q[:, r], R[r, j + 1 :])
            kept.append(j)
    return OrthonormalBasis(Q[:, : len(kept)], R[: len(kept)] * top, np.array(kept, int))


class EigenDecomposition(NamedTuple):
    """A symmetric matrix as V diag(values) V'."""

    values: np.ndarray  # (d,) eigenvalues, the largest first
    vectors: np.ndarray  # (d, d) orthonormal eigenvectors, as columns


def spectral_theorem(A: Any) -> EigenDecomposition:
    """Eigendecomposition of a symmetric matrix by deflation, as in the proof of the theorem.

    A symmetric matrix has a real eigenvector v. The Householder reflection that maps v to the first
    axis leaves the eigenvalue in the corner and a smaller symmetric matrix, and so on. For large
    matrices `np.linalg.eigh` is faster.

    Examples
    --------
    >>> values, vectors = spectral_theorem([[2.0, 1.0], [1.0, 2.0]])
    >>> values.round(12).tolist(), np.abs(vectors).round(4).tolist()
    ([3.0, 1.0], [[0.7071, 0.7071], [0.7071, 0.7071]])
    """
    A = np.array(A, float)
    if A.ndim != 2 or _relative_difference(A, A.T) > 1e-10:
        raise ValueError("the spectral theorem needs a symmetric matrix")
    size = np.abs(A).max(initial=0) or 1.0
    A, V = A / size, np.eye(len(A))
    for k in range(len(A) - 1):
        H = _reflection(_eigenvector(A[k:, k:]))
        A[k:, k:] = H @ A[k:, k:] @ H
        V[:, k:] = V[:, k:] @ H
    order = np.argsort(-A.diagonal(), kind="stable")
    return EigenDecomposition(A.diagonal()[order] * size, V[:, order])


def _eigenvector(A: np.ndarray) -> np.ndarray:
    """A unit eigenvector by Rayleigh quotient iteration; the entries of A are at most 1."""
    v = np.random.default_rng(0).uniform(0.1, 1.0, len(A))
    for iteration in range(_MAX_ITERATIONS):
        v = v / np.linalg.norm(v)
        value = v @ A @ v
        if np.linalg.norm(A @ v - value * v) <= 4 * _EPS * len(A):
            break
        with suppress(np.linalg.LinAlgError):  # the next iteration shifts a little further
            v = np.linalg.solve(A - (value + iteration * _EPS) * np.eye(len(A)), v)
    return v


def _reflection(v: np.ndarray) -> np.ndarray:
    """The Householder reflection that maps a unit vector to plus or minus the first axis."""
    u = v.copy()
    u[0] += 1.0 if v[0] >= 0 else -1.0
    return np.eye(len(v)) - np.outer(u, u) * (2 / (u @ u))


def cyclic_traces(*matrices: Any) -> np.ndarray:
    """Traces of a product in all cyclic orders: tr ABC = tr BCA = tr CAB.

    Examples
    --------
    >>> cyclic_traces([[1, 2, 3]], [[4], [5], [6]]).tolist()
    [32.0, 32.0]
    """
    chain = [as_float_array(M) for M in matrices]
    orders = [chain[i:] + chain[:i] for i in range(len(chain))]
    return np.array([np.trace(reduce(np.matmul, order)) for order in orders])


def geometric_series(ratio: Any, start: int = 0, stop: int | None = None) -> Any:
    r"""The sum :math:`\sum_{k=m}^n r^k` of powers of a number or a square matrix.

    It is :math:`(r^m - r^{n+1}) / (1 - r)`, or n - m + 1 for r = 1; summed by doubling, so that r
    near 1 loses no digits and matrices need not be invertible. The infinite sum is
    :math:`r^m / (1 - r)` and needs `|r| < 1`, or eigenvalues within the unit circle.

    Parameters
    ----------
    ratio : float or (d, d) array
        The ratio r.
    start, stop : int
        The first and the last power, m and n; without `stop` there is no last.

    Examples
    --------
    >>> 2 * geometric_series(0.5, 1, 5), geometric_series(0.75), geometric_series(1.0, 1, 5)
    (1.9375, 4.0, 5.0)
    """
    r = np.atleast_2d(as_float_array(ratio))
    if start < 0 or (stop is not None and stop < start - 1):
        raise ValueError(f"a series runs upwards from 0 or later, got {start} to {stop}")
    total = _infinite_series(r) if stop is None else _finite_series(r, stop - start + 1)
    total = np.linalg.matrix_power(r, start) @ total
    return float(total[0, 0]) if np.ndim(ratio) == 0 else total


def _infinite_series(r: np.ndarray) -> np.ndarray:
    radius = np.abs(np.linalg.eigvals(r)).max(initial=0)
    if not radius < 1:
        raise ValueError(f"the infinite series has no sum: |r| = {radius:.6g} is not below 1")
    return np.linalg.inv(np.eye(len(r)) - r)


def _finite_series(r: np.ndarray, count: int) -> np.ndarray:
    """1 + r + ... + r^(count - 1), from sums of half as many."""
    if count == 0:
        return np.zeros_like(r)
    half = _finite_series(r, count // 2)
    total = half + np.linalg.matrix_power(r, count // 2) @ half
    return total if count % 2 == 0 else np.eye(len(r), dtype=r.dtype) + r @ total
