"""Principal axes of rows: from moments, from a triangular factor, from the rows, or by subspace iteration.

From second moments (one pass), from the triangular factor of the rows (a second pass that keeps the
condition of the data), from the rows themselves (fewer rows than columns), or by turning a random
subspace towards the data (wide data).
"""

from __future__ import annotations

from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.engine.row_random import normals
from tenfold.engine.rows import Rows
from tenfold.stats.decorators import propagates_nan
from tenfold.stats.moments import Moments, TriangularFactor

_MAX_FULL_EIGH_COLUMNS = (
    30  # columns of which finding all directions takes no longer than finding the largest
)


class PrincipalAxes(NamedTuple):
    """Directions (r, p) as rows, the variance along each, and the variance in all."""

    directions: np.ndarray
    variances: np.ndarray
    total: float
    n: float
    mean: np.ndarray


def axes_from_moments(s: Moments, k: int | None = None) -> PrincipalAxes:
    """Eigenvectors of the covariance, only the k largest if that is known to suffice."""
    C = s.scatter / max(s.n - 1, 1)
    p = len(C)
    if k is not None and 0 < k < p / 2 and p > _MAX_FULL_EIGH_COLUMNS:
        from scipy.linalg import eigh

        values, vectors = eigh(C, subset_by_index=[p - k, p - 1], check_finite=False)
    else:
        values, vectors = np.linalg.eigh(C)
    return PrincipalAxes(vectors.T[::-1], np.maximum(values[::-1], 0.0), C.trace(), s.n, s.mean)


def axes_from_qr(rows: Rows, s: Moments) -> PrincipalAxes:
    """Singular vectors of the centred rows through their triangular factor: a second pass."""
    R = rows.total(centered_qr, s.mean).R
    return _axes_from_svd(*np.linalg.svd(R, full_matrices=False)[1:], s.n, s.mean)


def centered_qr(chunk: Chunk, mean: np.ndarray) -> TriangularFactor:
    """Triangular factor of the rows less their mean."""
    return TriangularFactor.of(chunk.X - mean, chunk.w)


def axes_from_rows(rows: Rows) -> PrincipalAxes:
    """Singular vectors of the rows themselves: for fewer rows than columns."""
    X, _, w, _ = rows.gather()
    X = X if isinstance(X, np.ndarray) else X.toarray()
    w = np.ones(len(X)) if w is None else w.astype(np.float64)
    mean = (w @ X) / w.sum()
    D = (X - mean) * np.sqrt(w)[:, None]
    sizes, Vt = np.linalg.svd(D.astype(np.float64, copy=False), full_matrices=False)[1:]
    return _axes_from_svd(sizes, Vt, w.sum(), mean)


def _axes_from_svd(sizes: np.ndarray, Vt: np.ndarray, n: float, mean: np.ndarray) -> PrincipalAxes:
    variances = sizes**2 / max(n - 1, 1)
    return PrincipalAxes(Vt, variances, variances.sum(), n, mean)


class CenteredSums(NamedTuple):
    """Weight, weighted sum of the rows, and of their squares about a point."""

    n: float
    x: np.ndarray
    squares: float


@propagates_nan
def centered_sums(chunk: Chunk, centre: np.ndarray) -> CenteredSums:
    """How the rows of a chunk lie about a point."""
    w = chunk.weights()
    if isinstance(chunk.X, np.ndarray):
        D = chunk.X - centre
        return CenteredSums(chunk.weight, w @ D, float(w @ np.einsum("ij,ij->i", D, D)))
    return CenteredSums(chunk.weight, chunk.X.T @ w, float(w @ chunk.X.power(2).sum(axis=1)))


def multiply_scatter(chunk: Chunk, V: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """(X - mean)' W (X - mean) V without the square of the columns; sparse rows stay sparse."""
    w = chunk.weights()[:, None]
    if isinstance(chunk.X, np.ndarray):
        D = chunk.X - mean
        return D.T @ (w * (D @ V))
    Z = w * (chunk.X @ V - mean @ V)
    return chunk.X.T @ Z - np.multiply.outer(mean, Z.sum(axis=0))


def subspace_iteration(rows: Rows, k: int, turns: int, rng: np.random.Generator) -> PrincipalAxes:
    """Randomised: turn a random subspace of k columns towards the data, one pass a turn."""
    p = rows.n_features
    centre = np.zeros(p) if rows.sparse else rows.take(np.zeros(1, np.int64)).X[0]
    s = rows.total(centered_sums, centre)
    shift = s.x / s.n
    mean = (centre + shift).astype(rows.dtype)
    V = np.linalg.qr(normals(int(rng.integers(2**62)), 0, p, k))[0]
    for _ in range(turns):
        V = np.linalg.qr(rows.total(multiply_scatter, V.astype(rows.dtype), mean))[0]
    S = V.T @ rows.total(multiply_scatter, V.astype(rows.dtype), mean)
    values, U = np.linalg.eigh((S + S.T) / 2)
    free = max(s.n - 1, 1)
    total = (s.squares - s.n * float(shift @ shift)) / free
    return PrincipalAxes((V @ U).T[::-1], np.maximum(values[::-1], 0) / free, total, s.n, mean)


def select_n_components(spectrum: PrincipalAxes, wanted: Any, rows: int) -> int:
    """Number of components that `n_components` asks for."""
    if wanted == "mle":
        from tenfold.base._sklearn import infer_dimension

        return int(infer_dimension(spectrum.variances, rows))
    if wanted is None or isinstance(wanted, Integral):
        most = min(rows, len(spectrum.variances))
        return most if wanted is None else min(int(wanted), most)
    shares = np.cumsum(spectrum.variances) / (spectrum.total or 1.0)
    return min(int(np.searchsorted(shares, wanted, side="right")) + 1, len(shares))
