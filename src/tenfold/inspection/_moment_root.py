"""A square root R of the second moments: R'R = Z'WZ, where Z are the rows, centered or not.

One pass of moments is enough where columns are far from collinear; else a second pass computes the
triangular factor (QR), which keeps twice as many digits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.engine.second_moments import second_moments
from tenfold.linear._least_squares_solvers import is_varying
from tenfold.stats.moments import Moments, TriangularFactor

_MAX_COLUMNS = 5000  # columns up to which the Gram matrix is computed


class MomentRoot(NamedTuple):
    """Square root of the moments of rows about an origin.

    Attributes
    ----------
    R : (m, n_features) with R'R the weighted sum of outer products; zero in constant columns
    origin : (n_features,) what was subtracted: the mean, or zero
    n : total weight
    noise : relative rounding error in R
    """

    R: np.ndarray
    origin: np.ndarray
    n: float
    noise: float


def root_from_rows(rows: Rows, *, intercept: bool, min_eigenvalue: float) -> MomentRoot:
    """Root of all rows; from moments if the smallest eigenvalue of the correlations is large."""
    if rows.n_features > _MAX_COLUMNS:
        raise ValueError(
            f"this needs the Gram matrix of all columns; {rows.n_features} are too many (at most "
            f"{_MAX_COLUMNS}): choose some with tenfold.open(..., columns=[...])"
        )
    s = second_moments(rows)
    root = root_from_moments(s, rows.dtype, intercept=intercept)
    eps = float(np.finfo(rows.dtype).eps)
    if rows.sparse:  # their moments are summed in float64
        return root._replace(noise=max(eps, float(np.sqrt(np.finfo(np.float64).eps))))
    if _smallest_eigenvalue(root.R) > min_eigenvalue:
        return root
    R = rows.total(_centered_triangle, root.origin).R
    R = R * is_varying(np.sqrt((R**2).sum(axis=0) / s.n), root.origin, eps)
    return root._replace(R=R, noise=eps * _offset_ratio(R, root))


def root_from_moments(s: Moments, dtype: np.dtype, *, intercept: bool) -> MomentRoot:
    """Root by eigenvectors, which has half the digits of the moments."""
    eps = float(np.finfo(dtype).eps)
    origin = s.mean if intercept else np.zeros_like(s.mean)
    S = s.scatter if intercept else s.scatter + s.n * np.multiply.outer(s.mean, s.mean)
    std = np.sqrt(np.maximum(S.diagonal(), 0.0) / s.n)
    varying_columns = is_varying(std, origin, eps)
    norm = np.where(varying_columns & (std > 0), std * np.sqrt(s.n), 1.0)
    values, V = np.linalg.eigh(
        np.where(varying_columns & varying_columns[:, None], S, 0.0) / norm / norm[:, None]
    )
    R = np.sqrt(np.maximum(values, 0.0))[:, None] * V.T * norm
    return MomentRoot(R, origin, s.n, float(np.sqrt(eps)))


def _centered_triangle(chunk: Chunk, origin: np.ndarray) -> TriangularFactor:
    """Triangular factor of the rows less an origin."""
    return TriangularFactor.of(chunk.X - origin, chunk.w)


def column_norms(R: np.ndarray) -> np.ndarray:
    """Norm of each column, 1 for a zero column."""
    norms = np.sqrt((R**2).sum(axis=0))
    return np.where(norms > 0, norms, 1.0)


def _smallest_eigenvalue(R: np.ndarray) -> float:
    """Smallest eigenvalue of the correlation matrix; 0 for fewer rows than columns."""
    if len(R) < R.shape[1]:
        return 0.0
    return float(np.linalg.svd(R / column_norms(R), compute_uv=False).min(initial=1.0) ** 2)


def _offset_ratio(R: np.ndarray, root: MomentRoot) -> float:
    """Largest ratio of mean to standard deviation, plus one: the loss of digits by centering."""
    std = column_norms(R) / np.sqrt(root.n)
    return 1.0 + float((np.abs(root.origin) / std).max(initial=0.0, where=R.any(axis=0)))
