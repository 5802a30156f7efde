"""The directions in which rows vary, and how much: four ways to find them.

From second moments (one pass), from the triangular factor of the rows (a second pass that keeps the
condition of the data), from the rows themselves (fewer rows than columns), or by turning a random
subspace towards the data (wide data).
"""

from __future__ import annotations

from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from tenfold.maths.moments import Moments
from tenfold.maths.promises import shows_nan
from tenfold.maths.triangle import Triangle
from tenfold.rows import Chunk, Rows, normals

FEW = 30  # columns of which finding all directions takes no longer than finding the largest


class Spectrum(NamedTuple):
    """Directions (r, p) as rows, the variance along each, and the variance in all."""

    directions: np.ndarray
    variances: np.ndarray
    total: float
    n: float
    mean: np.ndarray


def from_moments(s: Moments, k: int | None = None) -> Spectrum:
    """Eigenvectors of the covariance, only the k largest if that is known to suffice."""
    C = s.scatter / max(s.n - 1, 1)
    p = len(C)
    if k is not None and 0 < k < p / 2 and p > FEW:
        from scipy.linalg import eigh

        values, vectors = eigh(C, subset_by_index=[p - k, p - 1], check_finite=False)
    else:
        values, vectors = np.linalg.eigh(C)
    return Spectrum(vectors.T[::-1], np.maximum(values[::-1], 0.0), C.trace(), s.n, s.mean)


def from_triangle(rows: Rows, s: Moments) -> Spectrum:
    """Singular vectors of the centred rows through their triangular factor: a second pass."""
    R = rows.total(centred_triangle, s.mean).R
    return _from_singular(*np.linalg.svd(R, full_matrices=False)[1:], s.n, s.mean)


def centred_triangle(chunk: Chunk, mean: np.ndarray) -> Triangle:
    """Triangular factor of the rows less their mean."""
    return Triangle.of(chunk.X - mean, chunk.w)


def from_rows(rows: Rows) -> Spectrum:
    """Singular vectors of the rows themselves: for fewer rows than columns."""
    X, _, w, _ = rows.gather()
    X = X if isinstance(X, np.ndarray) else X.toarray()
    w = np.ones(len(X)) if w is None else w.astype(np.float64)
    mean = (w @ X) / w.sum()
    D = (X - mean) * np.sqrt(w)[:, None]
    sizes, Vt = np.linalg.svd(D.astype(np.float64, copy=False), full_matrices=False)[1:]
    return _from_singular(sizes, Vt, w.sum(), mean)


def _from_singular(sizes: np.ndarray, Vt: np.ndarray, n: float, mean: np.ndarray) -> Spectrum:
    variances = sizes**2 / max(n - 1, 1)
    return Spectrum(Vt, variances, variances.sum(), n, mean)


class Spread(NamedTuple):
    """Weight, weighted sum of the rows, and of their squares about a point."""

    n: float
    x: np.ndarray
    squares: float


@shows_nan
def spread(chunk: Chunk, centre: np.ndarray) -> Spread:
    """How the rows of a chunk lie about a point."""
    w = chunk.weights()
    if isinstance(chunk.X, np.ndarray):
        D = chunk.X - centre
        return Spread(chunk.weight, w @ D, float(w @ np.einsum("ij,ij->i", D, D)))
    return Spread(chunk.weight, chunk.X.T @ w, float(w @ chunk.X.power(2).sum(axis=1)))


def scatter_times(chunk: Chunk, V: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """(X - mean)' W (X - mean) V without the square of the columns; sparse rows stay sparse."""
    w = chunk.weights()[:, None]
    if isinstance(chunk.X, np.ndarray):
        D = chunk.X - mean
        return D.T @ (w * (D @ V))
    Z = w * (chunk.X @ V - mean @ V)
    return chunk.X.T @ Z - np.multiply.outer(mean, Z.sum(axis=0))


def by_subspace(rows: Rows, k: int, turns: int, rng: np.random.Generator) -> Spectrum:
    """Randomised: turn a random subspace of k columns towards the data, one pass a turn."""
    p = rows.n_features
    centre = np.zeros(p) if rows.sparse else rows.take(np.zeros(1, np.int64)).X[0]
    s = rows.total(spread, centre)
    shift = s.x / s.n
    mean = (centre + shift).astype(rows.dtype)
    V = np.linalg.qr(normals(int(rng.integers(2**62)), 0, p, k))[0]
    for _ in range(turns):
        V = np.linalg.qr(rows.total(scatter_times, V.astype(rows.dtype), mean))[0]
    S = V.T @ rows.total(scatter_times, V.astype(rows.dtype), mean)
    values, U = np.linalg.eigh((S + S.T) / 2)
    free = max(s.n - 1, 1)
    total = (s.squares - s.n * float(shift @ shift)) / free
    return Spectrum((V @ U).T[::-1], np.maximum(values[::-1], 0) / free, total, s.n, mean)


def chosen(spectrum: Spectrum, wanted: Any, rows: int) -> int:
    """Number of components that `n_components` asks for."""
    if wanted == "mle":
        from sklearn.decomposition._pca import _infer_dimension

        return int(_infer_dimension(spectrum.variances, rows))
    if wanted is None or isinstance(wanted, Integral):
        most = min(rows, len(spectrum.variances))
        return most if wanted is None else min(int(wanted), most)
    shares = np.cumsum(spectrum.variances) / (spectrum.total or 1.0)
    return min(int(np.searchsorted(shares, wanted, side="right")) + 1, len(shares))
