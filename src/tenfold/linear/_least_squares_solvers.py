"""Least squares by normal equations, QR, singular values or conjugate gradients."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.math.linalg import solve_psd
from tenfold.optim.convergence import until_converged
from tenfold.stats.moments import MIN_RECIPROCAL_CONDITION, Moments, TriangularFactor


def centered_qr(chunk: Chunk, mean: np.ndarray) -> TriangularFactor:
    """Factor of the rows [X y] less their mean."""
    return TriangularFactor.of(
        np.hstack([chunk.X, chunk.y.reshape(chunk.rows, -1)]) - mean, chunk.w
    )


class LeastSquaresProblem(NamedTuple):
    """min |A w - B|^2 + alpha |w|^2, known through A'A, A'B and perhaps the triangle of [A B]."""

    AA: np.ndarray  # (p, p)
    AB: np.ndarray  # (p, q)
    eps: float  # relative precision of the numbers in A
    R: np.ndarray | None = None  # (., p)
    C: np.ndarray | None = None  # (., q)


def problem_from_moments(
    s: Moments, p: int, dtype: np.dtype, *, intercept: bool
) -> LeastSquaresProblem:
    """The least-squares problem of moments of [X y], about the mean or about the origin."""
    eps = float(np.finfo(dtype).eps)
    if not intercept:
        S = s.scatter + s.n * np.multiply.outer(s.mean, s.mean)
        return LeastSquaresProblem(S[:p, :p], S[:p, p:], eps)
    deviation = np.sqrt(np.maximum(s.scatter.diagonal(), 0.0) / s.n)
    alive = is_varying(deviation, s.mean, eps) | (np.arange(len(deviation)) >= p)
    S = np.where(alive & alive[:, None], s.scatter, 0.0)
    return LeastSquaresProblem(S[:p, :p], S[:p, p:], eps)


def is_varying(deviation: np.ndarray, mean: np.ndarray, eps: float) -> np.ndarray:
    """Which columns vary: one that differs from its mean by rounding alone is constant."""
    return ~(deviation <= 2 * eps * np.abs(mean))


def problem_from_qr(rows: Rows, s: Moments, *, intercept: bool) -> LeastSquaresProblem:
    """The same from a second pass that keeps the condition of the data."""
    p = rows.n_features
    mean = s.mean if intercept else np.zeros_like(s.mean)
    R = rows.total(centered_qr, mean).R
    P = problem_from_moments(s, p, rows.dtype, intercept=intercept)
    R = R * is_varying(np.abs(R).max(axis=0) / np.sqrt(s.n), mean, P.eps)
    return P._replace(R=R[:, :p], C=R[:, p:])


def solve_least_squares(P: LeastSquaresProblem, alpha: np.ndarray) -> np.ndarray:
    """Coefficients (p, q) for a penalty per target (or one for all)."""
    if P.R is not None:
        U, sizes, Vt = np.linalg.svd(P.R, full_matrices=False)
        return Vt.T @ (_ridge_filter_factors(sizes, alpha, len(P.AA) * P.eps) * (U.T @ P.C))
    if (alpha != alpha[0]).any():
        columns = [
            solve_least_squares(P._replace(AB=P.AB[:, [t]]), alpha[[t]]) for t in range(len(alpha))
        ]
        return np.hstack(columns)
    if not np.isfinite(P.AA).all():
        raise ValueError("the squares of the columns overflow: divide the columns by their size")
    return solve_psd(P.AA + alpha[0] * np.eye(len(P.AA)), P.AB, P.eps)


def _ridge_filter_factors(sizes: np.ndarray, alpha: np.ndarray, least: float) -> np.ndarray:
    """Factors s / (s^2 + alpha), one for each size and target; 0 where a size is only rounding."""
    kept = sizes > least * sizes.max(initial=0.0)
    s = np.where(kept, sizes, 1.0)[:, None]
    return kept[:, None] / (s + alpha / s)  # this way s^2 cannot leave the range of numbers


def is_well_conditioned(P: LeastSquaresProblem, alpha: np.ndarray, dtype: np.dtype) -> bool:
    """Whether the moments know the solution to enough digits."""
    scale = np.sqrt(P.AA.diagonal() + alpha.min())
    if not (np.isfinite(scale) & (scale > 0)).all():
        return False
    values = np.linalg.eigvalsh((P.AA + alpha.min() * np.eye(len(P.AA))) / scale / scale[:, None])
    return values[0] > MIN_RECIPROCAL_CONDITION[dtype.itemsize] * values[-1]


def solve_nonnegative(P: LeastSquaresProblem, alpha: np.ndarray) -> np.ndarray:
    """The same under w >= 0, by active sets on a square root of the problem."""
    from scipy.optimize import nnls

    R, C = _square_root(P) if P.R is None or P.C is None else (P.R, P.C)
    p = len(P.AA)
    columns = [
        nnls(np.vstack([R, np.sqrt(a) * np.eye(p)]), np.append(c, np.zeros(p)))[0]
        for a, c in zip(np.broadcast_to(alpha, C.shape[1]), C.T, strict=True)
    ]
    return np.stack(columns, axis=1)


def _square_root(P: LeastSquaresProblem) -> tuple[np.ndarray, np.ndarray]:
    """R and C with R'R = A'A and R'C = A'B."""
    values, V = np.linalg.eigh(P.AA)
    root = np.sqrt(np.maximum(values, 0.0))
    kept = root > len(root) * np.finfo(float).eps * root.max(initial=0.0)
    R = root[kept, None] * V[:, kept].T
    return R, (V[:, kept].T @ P.AB) / root[kept, None]


class ThinSVD(NamedTuple):
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
        coef = self.Vt.T @ (_ridge_filter_factors(self.singular, alpha, self.least) * self.turned)
        return coef, self.mean_y - self.mean_x @ coef


def thin_svd(rows: Rows, *, intercept: bool) -> ThinSVD:
    """The rows themselves, all in memory, by their singular values."""
    X, y, w, _ = rows.gather()
    Y = y.reshape(len(y), -1).astype(np.float64)
    root = np.ones(len(Y)) if w is None else np.sqrt(w)
    weight = root**2 / (root**2).sum()
    mean_x, mean_y = (weight @ X, weight @ Y) if intercept else (0 * X[0], 0 * Y[0])
    D = X - mean_x
    eps = float(np.finfo(X.dtype).eps)
    D = D * is_varying(np.abs(D).max(axis=0), mean_x, eps)
    A, B = D * root[:, None], (Y - mean_y) * root[:, None]
    U, sizes, Vt = np.linalg.svd(A.astype(np.float64, copy=False), full_matrices=False)
    return ThinSVD(U.T @ B, sizes, Vt, mean_x, mean_y, max(A.shape) * eps)


class CrossProductSums(NamedTuple):
    """Weight, weighted sums of X and y, and X'y."""

    n: float
    x: np.ndarray
    y: np.ndarray
    xy: np.ndarray


def _cross_product_sums(chunk: Chunk) -> CrossProductSums:
    """The sums of a chunk."""
    w = chunk.weights()
    Y = w[:, None] * chunk.y.reshape(chunk.rows, -1).astype(np.float64, copy=False)
    return CrossProductSums(chunk.weight, chunk.X.T @ w, Y.sum(axis=0), chunk.X.T @ Y)


def _gram_product(chunk: Chunk, V: np.ndarray) -> np.ndarray:
    """X'X V with weights, without making X'X."""
    return chunk.X.T @ (chunk.weights()[:, None] * (chunk.X @ V))


def conjugate_gradients(
    rows: Rows, alpha: np.ndarray, *, intercept: bool, tol: float, max_iter: int
) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """Coefficients (p, q), constants (q,) and the report of the loop.

    Solves (X'X + alpha) w = X'y about the mean, all targets at once, one pass a round, until the
    residual of each is at most `tol` times its right-hand side.
    """
    s = rows.total(_cross_product_sums)
    mean_x, mean_y = (s.x / s.n, s.y / s.n) if intercept else (0 * s.x, 0 * s.y)
    B = s.xy - s.n * np.multiply.outer(mean_x, mean_y)
    size = np.maximum(np.linalg.norm(B, axis=0), np.finfo(float).tiny)
    W, R = np.zeros_like(B), B
    loop = until_converged((W, R, R), tol=tol, max_iter=max_iter)
    for W, R, V in loop:
        GV = rows.total(_gram_product, V) - s.n * np.multiply.outer(mean_x, mean_x @ V) + alpha * V
        rr = (R * R).sum(axis=0)
        step = rr / np.maximum((V * GV).sum(axis=0), np.finfo(float).tiny)
        W_new, R_new = W + step * V, R - step * GV
        rr_new = (R_new * R_new).sum(axis=0)
        V_new = R_new + rr_new / np.maximum(rr, np.finfo(float).tiny) * V
        objective = -0.5 * float((W_new * (B + R_new)).sum())
        change = float((np.sqrt(rr_new) / size).max())
        loop.update((W_new, R_new, V_new), objective=objective, change=change)
    W = loop.state[0]
    return W, mean_y - mean_x @ W, loop.report
