"""Principal axes and singular vectors of rows.

From second moments (one pass), from the triangular factor of the rows (which keeps the condition of
the data), from the rows in memory (fewer rows than columns), or by randomized subspace iteration
(wide data).
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.engine.row_random import normals
from tenfold.engine.rows import Rows
from tenfold.math.linalg import to_dense
from tenfold.stats.decorators import propagates_nan
from tenfold.stats.moments import Moments, TriangularFactor

# columns up to which all eigenvectors take no longer than the largest ones; no sweep is recorded
_MAX_FULL_EIGH_COLUMNS = 30


class PrincipalAxes(NamedTuple):
    """Principal directions (n_axes, n_features), variance along each, and total variance."""

    directions: np.ndarray
    variances: np.ndarray
    total: float
    n: float
    mean: np.ndarray


def axes_from_moments(s: Moments, k: int | None = None) -> PrincipalAxes:
    """Eigenvectors of the covariance; only those of the k largest eigenvalues if k is given."""
    C = s.scatter / max(s.n - 1, 1)
    p = len(C)
    if k is not None and 0 < k < p / 2 and p > _MAX_FULL_EIGH_COLUMNS:
        from scipy.linalg import eigh

        values, vectors = eigh(C, subset_by_index=[p - k, p - 1], check_finite=False)
    else:
        values, vectors = np.linalg.eigh(C)
    return PrincipalAxes(vectors.T[::-1], np.maximum(values[::-1], 0.0), C.trace(), s.n, s.mean)


def axes_from_qr(rows: Rows, s: Moments) -> PrincipalAxes:
    """Singular vectors of the centered rows by their triangular factor: a second pass."""
    return axes_from_factor(rows.total(centered_qr, s.mean).R, s.n, s.mean)


def centered_qr(chunk: Chunk, mean: np.ndarray) -> TriangularFactor:
    """Triangular factor of the centered rows."""
    return TriangularFactor.of(chunk.X - mean, chunk.w)


def axes_from_rows(rows: Rows) -> PrincipalAxes:
    """Singular vectors of the rows in memory: for fewer rows than columns."""
    X, _, w, _ = rows.gather()
    X = to_dense(X)
    w = np.ones(len(X)) if w is None else w.astype(np.float64)
    mean = (w @ X) / w.sum()
    D = (X - mean) * np.sqrt(w)[:, None]
    singular, Vt = np.linalg.svd(D.astype(np.float64, copy=False), full_matrices=False)[1:]
    return _axes_from_svd(singular, Vt, w.sum(), mean)


def axes_from_factor(factor: np.ndarray, n: float, mean: np.ndarray) -> PrincipalAxes:
    """Principal axes from a matrix F with F'F = the scatter of rows about their mean."""
    return _axes_from_svd(*np.linalg.svd(factor, full_matrices=False)[1:], n, mean)


def _axes_from_svd(
    singular: np.ndarray, Vt: np.ndarray, n: float, mean: np.ndarray
) -> PrincipalAxes:
    variances = singular**2 / max(n - 1, 1)
    return PrincipalAxes(Vt, variances, variances.sum(), n, mean)


class CenteredSums(NamedTuple):
    """Weight, weighted sum of the rows, and of their squares about a point."""

    n: float
    x: np.ndarray
    squares: float


@propagates_nan
def centered_sums(chunk: Chunk, origin: np.ndarray) -> CenteredSums:
    """Sums of the rows of a chunk about a point."""
    w = chunk.weights()
    if isinstance(chunk.X, np.ndarray):
        D = chunk.X - origin
        return CenteredSums(chunk.weight, w @ D, float(w @ np.einsum("ij,ij->i", D, D)))
    return CenteredSums(chunk.weight, chunk.X.T @ w, float(w @ chunk.X.power(2).sum(axis=1)))


def multiply_scatter(chunk: Chunk, V: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """(X - mean)' W (X - mean) V without the scatter matrix; sparse rows stay sparse."""
    w = chunk.weights()[:, None]
    if isinstance(chunk.X, np.ndarray):
        D = chunk.X - mean
        return D.T @ (w * (D @ V))
    Z = w * (chunk.X @ V - mean @ V)
    return chunk.X.T @ Z - np.multiply.outer(mean, Z.sum(axis=0))


def subspace_iteration(rows: Rows, k: int, n_iter: int, rng: np.random.Generator) -> PrincipalAxes:
    """Randomized subspace iteration with k directions: one pass per iteration.

    References
    ----------
    N. Halko, P.-G. Martinsson and J. Tropp (2011), Finding structure with randomness.
    """
    p = rows.n_features
    origin = np.zeros(p) if rows.sparse else rows.take(np.zeros(1, np.int64)).X[0]
    s = rows.total(centered_sums, origin)
    shift = s.x / s.n
    mean = (origin + shift).astype(rows.dtype)
    values, U = iterate_subspace(rows, multiply_scatter, (mean,), (k, k), n_iter, rng)
    degrees = max(s.n - 1, 1)
    total = (s.squares - s.n * float(shift @ shift)) / degrees
    return PrincipalAxes(U.T, np.maximum(values, 0) / degrees, total, s.n, mean)


def iterate_subspace(
    rows: Rows,
    product: Callable[..., np.ndarray],
    state: tuple,
    dimensions: tuple[int, int],
    n_iter: int,
    rng: np.random.Generator,
    tol: float = 0.0,
) -> tuple[np.ndarray, np.ndarray]:
    """Largest eigenvalues of a matrix A, descending, and eigenvectors, by subspace iteration.

    Parameters
    ----------
    rows : Rows
        The rows; each iteration is a pass.
    product : chunk function (chunk, V, *state) -> (p, d) array
        A V, summed over chunks.
    state : tuple
        Further arguments of `product`.
    dimensions : (int, int)
        Dimension d of the subspace, and how many eigenvectors are wanted.
    n_iter : int
        Maximum number of iterations.
    rng : numpy.random.Generator
        Draws the first subspace.
    tol : float
        The iteration ends when no wanted eigenvector has a residual |A v - value v| larger than
        this share of the largest eigenvalue.
    """
    d, wanted = dimensions
    V = np.linalg.qr(normals(int(rng.integers(2**62)), 0, rows.n_features, d))[0]
    iteration = 0
    while True:
        Y = rows.total(product, V.astype(rows.dtype), *state)
        S = V.T @ Y
        values, U = np.linalg.eigh((S + S.T) / 2)
        if iteration == n_iter or _is_invariant(V @ U, Y @ U, values, wanted, tol):
            return values[::-1], (V @ U)[:, ::-1]
        V = np.linalg.qr(Y)[0]
        iteration += 1


def _is_invariant(
    V: np.ndarray, Y: np.ndarray, values: np.ndarray, wanted: int, tol: float
) -> bool:
    """Whether the last columns of V are eigenvectors of A, where Y = A V."""
    if tol == 0:
        return False
    residuals = Y[:, -wanted:] - V[:, -wanted:] * values[-wanted:]
    return bool(np.linalg.norm(residuals, axis=0).max() <= tol * values[-1])


class SingularVectors(NamedTuple):
    """Right singular vectors (k, n_features) of rows, and singular values, descending."""

    directions: np.ndarray
    values: np.ndarray


def row_factor(chunk: Chunk) -> TriangularFactor:
    """Triangular factor of the rows."""
    return TriangularFactor.of(chunk.X, chunk.w)


def singular_vectors_from_qr(rows: Rows) -> SingularVectors:
    """All singular vectors of dense rows by their triangular factor: one pass."""
    values, Vt = np.linalg.svd(rows.total(row_factor).R, full_matrices=False)[1:]
    return SingularVectors(Vt, values)


def multiply_gram(chunk: Chunk, V: np.ndarray) -> np.ndarray:
    """X' W X V without the Gram matrix; sparse rows stay sparse."""
    Z = chunk.X @ V
    return chunk.X.T @ (Z if chunk.w is None else chunk.w[:, None] * Z)


def iterate_singular_vectors(
    rows: Rows, k: int, n_oversamples: int, n_iter: int, rng: np.random.Generator, tol: float = 0.0
) -> SingularVectors:
    """The k largest singular values and their vectors by subspace iteration."""
    d = min(k + n_oversamples, rows.n_rows, rows.n_features)
    k = min(k, d)
    squares, V = iterate_subspace(rows, multiply_gram, (), (d, k), n_iter, rng, tol)
    return SingularVectors(V.T[:k], np.sqrt(np.maximum(squares[:k], 0)))


def fix_signs(W: np.ndarray) -> np.ndarray:
    """The same directions, (k, p), with the entry of largest absolute value positive."""
    signs = np.sign(W[np.arange(len(W)), np.abs(W).argmax(axis=1)])
    return W * signs[:, None]


def select_n_components(axes: PrincipalAxes, n_components: Any, rows: int) -> int:
    """The number of components that the parameter `n_components` stands for."""
    if n_components == "mle":
        from tenfold.base._sklearn import infer_dimension

        return int(infer_dimension(axes.variances, rows))
    if n_components == "elbow":
        return select_elbow(axes)
    if n_components is None or isinstance(n_components, Integral):
        limit = min(rows, len(axes.variances))
        return limit if n_components is None else min(int(n_components), limit)
    shares = np.cumsum(axes.variances / (axes.total or 1.0))  # as a user adds up the ratios
    return min(int(np.searchsorted(shares, n_components, side="right")) + 1, len(shares))


def select_elbow(axes: PrincipalAxes) -> int:
    """Number of components at the knee of the variance that is left out."""
    from tenfold.cluster.n_clusters import knee

    left = axes.total - np.concatenate([[0.0], np.cumsum(axes.variances)])
    if len(left) < 3:
        return len(axes.variances)
    return max(knee(np.arange(len(left)), left), 1)
