"""Least squares from second moments, or from the triangular factor of the rows.

Normal equations square the condition of the data. When that costs digits, the triangular factor R
of the centred rows does not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenfold.maths.moments import Moments
from tenfold.maths.triangle import TRUSTED, Triangle
from tenfold.rows import Chunk, Rows
from tenfold.solve.newton import solve_psd


def triangle(chunk: Chunk, mean: np.ndarray) -> Triangle:
    """Factor of the rows [X y] less their mean."""
    return Triangle.of(np.hstack([chunk.X, chunk.y.reshape(chunk.rows, -1)]) - mean, chunk.w)


class Problem(NamedTuple):
    """min |A w - B|^2 + alpha |w|^2, known through A'A, A'B and perhaps the triangle of [A B]."""

    AA: np.ndarray  # (p, p)
    AB: np.ndarray  # (p, q)
    eps: float  # relative precision of the numbers in A
    R: np.ndarray | None = None  # (., p)
    C: np.ndarray | None = None  # (., q)


def problem(s: Moments, p: int, dtype: np.dtype, *, intercept: bool) -> Problem:
    """The least-squares problem of moments of [X y], about the mean or about the origin."""
    eps = float(np.finfo(dtype).eps)
    if not intercept:
        S = s.scatter + s.n * np.multiply.outer(s.mean, s.mean)
        return Problem(S[:p, :p], S[:p, p:], eps)
    deviation = np.sqrt(np.maximum(s.scatter.diagonal(), 0.0) / s.n)
    alive = varying(deviation, s.mean, eps) | (np.arange(len(deviation)) >= p)
    S = np.where(alive & alive[:, None], s.scatter, 0.0)
    return Problem(S[:p, :p], S[:p, p:], eps)


def varying(deviation: np.ndarray, mean: np.ndarray, eps: float) -> np.ndarray:
    """Which columns vary: one that differs from its mean by rounding alone is constant."""
    return ~(deviation <= 2 * eps * np.abs(mean))


def exact_problem(rows: Rows, s: Moments, *, intercept: bool) -> Problem:
    """The same from a second pass that keeps the condition of the data."""
    p = rows.n_features
    mean = s.mean if intercept else np.zeros_like(s.mean)
    R = rows.total(triangle, mean).R
    P = problem(s, p, rows.dtype, intercept=intercept)
    R = R * varying(np.abs(R).max(axis=0) / np.sqrt(s.n), mean, P.eps)
    return P._replace(R=R[:, :p], C=R[:, p:])


def solve(P: Problem, alpha: np.ndarray) -> np.ndarray:
    """Coefficients (p, q) for a penalty per target (or one for all)."""
    if P.R is not None:
        U, sizes, Vt = np.linalg.svd(P.R, full_matrices=False)
        return Vt.T @ (filtered(sizes, alpha, len(P.AA) * P.eps) * (U.T @ P.C))
    if (alpha != alpha[0]).any():
        columns = [solve(P._replace(AB=P.AB[:, [t]]), alpha[[t]]) for t in range(len(alpha))]
        return np.hstack(columns)
    if not np.isfinite(P.AA).all():
        raise ValueError("the squares of the columns overflow: divide the columns by their size")
    return solve_psd(P.AA + alpha[0] * np.eye(len(P.AA)), P.AB, P.eps)


def filtered(sizes: np.ndarray, alpha: np.ndarray, least: float) -> np.ndarray:
    """Factors s / (s^2 + alpha), one for each size and target; 0 where a size is only rounding."""
    kept = sizes > least * sizes.max(initial=0.0)
    s = np.where(kept, sizes, 1.0)[:, None]
    return kept[:, None] / (s + alpha / s)  # this way s^2 cannot leave the range of numbers


def trustworthy(P: Problem, alpha: np.ndarray, dtype: np.dtype) -> bool:
    """Whether the moments know the solution to enough digits."""
    scale = np.sqrt(P.AA.diagonal() + alpha.min())
    if not (np.isfinite(scale) & (scale > 0)).all():
        return False
    values = np.linalg.eigvalsh((P.AA + alpha.min() * np.eye(len(P.AA))) / scale / scale[:, None])
    return values[0] > TRUSTED[dtype.itemsize] * values[-1]


def solve_nonnegative(P: Problem, alpha: np.ndarray) -> np.ndarray:
    """The same under w >= 0, by active sets on a square root of the problem."""
    from scipy.optimize import nnls

    R, C = square_root(P) if P.R is None or P.C is None else (P.R, P.C)
    p = len(P.AA)
    columns = [
        nnls(np.vstack([R, np.sqrt(a) * np.eye(p)]), np.append(c, np.zeros(p)))[0]
        for a, c in zip(np.broadcast_to(alpha, C.shape[1]), C.T, strict=True)
    ]
    return np.stack(columns, axis=1)


def square_root(P: Problem) -> tuple[np.ndarray, np.ndarray]:
    """R and C with R'R = A'A and R'C = A'B."""
    values, V = np.linalg.eigh(P.AA)
    root = np.sqrt(np.maximum(values, 0.0))
    kept = root > len(root) * np.finfo(float).eps * root.max(initial=0.0)
    R = root[kept, None] * V[:, kept].T
    return R, (V[:, kept].T @ P.AB) / root[kept, None]


class Wide(NamedTuple):
    """Few rows, decomposed: centred rows U S V', and U' times the centred target.

    Attributes
    ----------
    turned : (r, q) U'B, with r the number of rows or columns, whichever is less
    singular : (r,) singular values
    Vt : (r, p) main directions
    mean_x, mean_y : what was subtracted
    least : singular values below this share of the largest count as zero
    """

    turned: np.ndarray
    singular: np.ndarray
    Vt: np.ndarray
    mean_x: np.ndarray
    mean_y: np.ndarray
    least: float

    def solution(self, alpha: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The shortest coefficients (p, q), and the constants (q,)."""
        coef = self.Vt.T @ (filtered(self.singular, alpha, self.least) * self.turned)
        return coef, self.mean_y - self.mean_x @ coef


def decomposed(rows: Rows, *, intercept: bool) -> Wide:
    """The rows themselves, all in memory, by their singular values."""
    X, y, w, _ = rows.gather()
    Y = y.reshape(len(y), -1).astype(np.float64)
    root = np.ones(len(Y)) if w is None else np.sqrt(w)
    weight = root**2 / (root**2).sum()
    mean_x, mean_y = (weight @ X, weight @ Y) if intercept else (0 * X[0], 0 * Y[0])
    D = X - mean_x
    eps = float(np.finfo(X.dtype).eps)
    D = D * varying(np.abs(D).max(axis=0), mean_x, eps)
    A, B = D * root[:, None], (Y - mean_y) * root[:, None]
    U, sizes, Vt = np.linalg.svd(A.astype(np.float64, copy=False), full_matrices=False)
    return Wide(U.T @ B, sizes, Vt, mean_x, mean_y, max(A.shape) * eps)
