"""A square root of the second moments: all that least squares knows of the columns.

R with R'R = Z'WZ, where Z are the rows less their mean (or as they are). One pass of moments is
enough where columns are far from dependent; else a second pass makes the triangular factor, which
knows twice as many digits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.engine.second_moments import second_moments
from tenfold.linear._least_squares_solvers import is_varying
from tenfold.stats.moments import Moments, TriangularFactor

_MAX_COLUMNS = 5000  # columns whose square is still made


class MomentRoot(NamedTuple):
    """Square root of the moments of rows about an origin.

    Attributes
    ----------
    R : (m, p) with R'R the weighted sum of outer products; zero in columns that do not vary
    origin : (p,) what was subtracted: the mean, or zero
    n : total weight
    noise : relative size in R of what is only rounding
    """

    R: np.ndarray
    origin: np.ndarray
    n: float
    noise: float


def root_from_rows(rows: Rows, *, intercept: bool, least: float) -> MomentRoot:
    """The root of all rows, from moments if their least relative eigenvalue is above `least`."""
    if rows.n_features > _MAX_COLUMNS:
        raise ValueError(
            f"this needs the square of all columns; {rows.n_features} are too many (at most "
            f"{_MAX_COLUMNS}): choose some with tenfold.open(..., columns=[...])"
        )
    s = second_moments(rows)
    root = root_from_moments(s, rows.dtype, intercept=intercept)
    eps = float(np.finfo(rows.dtype).eps)
    if rows.sparse:  # whose moments are summed in float64
        return root._replace(noise=max(eps, float(np.sqrt(np.finfo(np.float64).eps))))
    if _smallest_eigenvalue(root.R) > least:
        return root
    R = rows.total(_centered_triangle, root.origin).R
    R = R * is_varying(np.sqrt((R**2).sum(axis=0) / s.n), root.origin, eps)
    return root._replace(R=R, noise=eps * _offset_ratio(R, root))


def root_from_moments(s: Moments, dtype: np.dtype, *, intercept: bool) -> MomentRoot:
    """The root by eigenvectors, which knows half the digits of the moments."""
    eps = float(np.finfo(dtype).eps)
    origin = s.mean if intercept else np.zeros_like(s.mean)
    S = s.scatter if intercept else s.scatter + s.n * np.multiply.outer(s.mean, s.mean)
    deviation = np.sqrt(np.maximum(S.diagonal(), 0.0) / s.n)
    alive = is_varying(deviation, origin, eps)
    size = np.where(alive & (deviation > 0), deviation * np.sqrt(s.n), 1.0)
    values, V = np.linalg.eigh(np.where(alive & alive[:, None], S, 0.0) / size / size[:, None])
    R = np.sqrt(np.maximum(values, 0.0))[:, None] * V.T * size
    return MomentRoot(R, origin, s.n, float(np.sqrt(eps)))


def _centered_triangle(chunk: Chunk, origin: np.ndarray) -> TriangularFactor:
    """Triangular factor of the rows less an origin."""
    return TriangularFactor.of(chunk.X - origin, chunk.w)


def column_norms(R: np.ndarray) -> np.ndarray:
    """Length of each column, 1 for one that is zero."""
    sizes = np.sqrt((R**2).sum(axis=0))
    return np.where(sizes > 0, sizes, 1.0)


def _smallest_eigenvalue(R: np.ndarray) -> float:
    """Least eigenvalue of the correlations that R stands for; 0 for fewer rows than columns."""
    if len(R) < R.shape[1]:
        return 0.0
    return float(np.linalg.svd(R / column_norms(R), compute_uv=False).min(initial=1.0) ** 2)


def _offset_ratio(R: np.ndarray, root: MomentRoot) -> float:
    """How much larger the numbers are than the deviations in which we look for dependence."""
    deviation = column_norms(R) / np.sqrt(root.n)
    return 1.0 + float((np.abs(root.origin) / deviation).max(initial=0.0, where=R.any(axis=0)))
