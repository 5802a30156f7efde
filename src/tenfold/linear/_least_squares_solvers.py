"""Least squares by normal equations, QR, singular values or conjugate gradients.

Normal equations square the condition number of the data. When that costs digits, the triangular
factor R of the centered rows does not.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.math.linalg import solve_psd
from tenfold.optim.convergence import until_converged
from tenfold.stats.moments import MIN_RECIPROCAL_CONDITION, Moments, TriangularFactor


def centered_qr(chunk: Chunk, mean: np.ndarray) -> TriangularFactor:
    """Triangular factor of the rows [X y] less their mean."""
    return TriangularFactor.of(
        np.hstack([chunk.X, chunk.y.reshape(chunk.rows, -1)]) - mean, chunk.w
    )


class LeastSquaresProblem(NamedTuple):
    """min |A w - B|^2 + alpha |w|^2, given by A'A, A'B and perhaps the triangular factor of [A B].

    Attributes
    ----------
    AA, AB : (p, p) and (p, q) products
    eps : relative precision of the numbers in A
    R, C : (., p) and (., q) blocks of the triangular factor, or None
    """

    AA: np.ndarray
    AB: np.ndarray
    eps: float
    R: np.ndarray | None = None
    C: np.ndarray | None = None


def problem_from_moments(
    s: Moments, p: int, dtype: np.dtype, *, intercept: bool
) -> LeastSquaresProblem:
    """The least-squares problem of moments of [X y], about the mean or about the origin."""
    eps = float(np.finfo(dtype).eps)
    if not intercept:
        S = s.scatter + s.n * np.multiply.outer(s.mean, s.mean)
        return LeastSquaresProblem(S[:p, :p], S[:p, p:], eps)
    deviation = np.sqrt(np.maximum(s.scatter.diagonal(), 0.0) / s.n)
    varies = is_varying(deviation, s.mean, eps) | (np.arange(len(deviation)) >= p)
    S = np.where(varies & varies[:, None], s.scatter, 0.0)
    return LeastSquaresProblem(S[:p, :p], S[:p, p:], eps)


def is_varying(deviation: np.ndarray, mean: np.ndarray, eps: float) -> np.ndarray:
    """Which columns vary: one that differs from its mean by rounding alone is constant."""
    return ~(deviation <= 2 * eps * np.abs(mean))


def problem_from_qr(rows: Rows, s: Moments, *, intercept: bool) -> LeastSquaresProblem:
    """The same problem with its triangular factor, from a second pass."""
    p = rows.n_features
    mean = s.mean if intercept else np.zeros_like(s.mean)
    R = rows.total(centered_qr, mean).R
    return with_triangular_factor(
        problem_from_moments(s, p, rows.dtype, intercept=intercept), R, mean, s.n
    )


def with_triangular_factor(
    P: LeastSquaresProblem, R: np.ndarray, mean: np.ndarray, n: float
) -> LeastSquaresProblem:
    """The problem with the triangular factor of [A B]; columns that do not vary become zero."""
    p = len(P.AA)
    R = R * is_varying(np.abs(R).max(axis=0) / np.sqrt(n), mean, P.eps)
    return P._replace(R=R[:, :p], C=R[:, p:])


def solve_least_squares(P: LeastSquaresProblem, alpha: np.ndarray) -> np.ndarray:
    """Coefficients (p, q) for a penalty per target (or one for all)."""
    if P.R is not None:
        U, singular, Vt = np.linalg.svd(P.R, full_matrices=False)
        return Vt.T @ (_ridge_filter_factors(singular, alpha, len(P.AA) * P.eps) * (U.T @ P.C))
    if (alpha != alpha[0]).any():
        columns = [
            solve_least_squares(P._replace(AB=P.AB[:, [t]]), alpha[[t]]) for t in range(len(alpha))
        ]
        return np.hstack(columns)
    if not np.isfinite(P.AA).all():
        raise ValueError("the squares of the columns overflow: divide the columns by their size")
    return solve_psd(P.AA + alpha[0] * np.eye(len(P.AA)), P.AB, P.eps)


def _ridge_filter_factors(singular: np.ndarray, alpha: np.ndarray, tol: float) -> np.ndarray:
    """Factors s / (s^2 + alpha) of each singular value and target; 0 where it is rounding."""
    nonzero = singular > tol * singular.max(initial=0.0)
    s = np.where(nonzero, singular, 1.0)[:, None]
    return nonzero[:, None] / (s + alpha / s)  # s^2 might overflow or underflow


def is_well_conditioned(P: LeastSquaresProblem, alpha: np.ndarray, dtype: np.dtype) -> bool:
    """Whether the moments determine the solution to enough digits."""
    scale = np.sqrt(P.AA.diagonal() + alpha.min())
    if not (np.isfinite(scale) & (scale > 0)).all():
        return False
    values = np.linalg.eigvalsh((P.AA + alpha.min() * np.eye(len(P.AA))) / scale / scale[:, None])
    return values[0] > MIN_RECIPROCAL_CONDITION[dtype.itemsize] * values[-1]


def solve_nonnegative(P: LeastSquaresProblem, alpha: np.ndarray) -> np.ndarray:
    """The solution under w >= 0, by an active-set method on a square root of the problem."""
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
    nonzero = root > len(root) * np.finfo(float).eps * root.max(initial=0.0)
    R = root[nonzero, None] * V[:, nonzero].T
    return R, (V[:, nonzero].T @ P.AB) / root[nonzero, None]


class ThinSVD(NamedTuple):
    """Singular value decomposition U S V' of few centered rows, and U' times the centered target.

    Attributes
    ----------
    projected : (r, q) U'B, with r the number of rows or columns, whichever is less
    singular : (r,) singular values
    Vt : (r, p) right singular vectors
    mean_x, mean_y : what was subtracted
    tol : singular values below this share of the largest count as zero
    """

    projected: np.ndarray
    singular: np.ndarray
    Vt: np.ndarray
    mean_x: np.ndarray
    mean_y: np.ndarray
    tol: float

    def solution(self, alpha: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The coefficients (p, q) of minimum norm, and the intercepts (q,)."""
        factors = _ridge_filter_factors(self.singular, alpha, self.tol)
        coef = self.Vt.T @ (factors * self.projected)
        return coef, self.mean_y - self.mean_x @ coef


def thin_svd(rows: Rows, *, intercept: bool) -> ThinSVD:
    """The decomposition of all rows, gathered in memory."""
    X, y, w, _ = rows.gather()
    Y = y.reshape(len(y), -1).astype(np.float64)
    root = np.ones(len(Y)) if w is None else np.sqrt(w)
    share = root**2 / (root**2).sum()
    mean_x, mean_y = (share @ X, share @ Y) if intercept else (0 * X[0], 0 * Y[0])
    D = X - mean_x
    eps = float(np.finfo(X.dtype).eps)
    D = D * is_varying(np.abs(D).max(axis=0), mean_x, eps)
    A, B = D * root[:, None], (Y - mean_y) * root[:, None]
    U, singular, Vt = np.linalg.svd(A.astype(np.float64, copy=False), full_matrices=False)
    return ThinSVD(U.T @ B, singular, Vt, mean_x, mean_y, max(A.shape) * eps)


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
    """Weighted X'X V, without forming X'X."""
    return chunk.X.T @ (chunk.weights()[:, None] * (chunk.X @ V))


def conjugate_gradients(
    rows: Rows, alpha: np.ndarray, *, intercept: bool, tol: float, max_iter: int
) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """Coefficients (p, q), intercepts (q,) and the convergence report.

    Solves (X'X + alpha) w = X'y about the mean, all targets at once, one pass per iteration, until
    each residual is at most `tol` times its right-hand side. For sparse rows with too many columns
    for a Gram matrix.
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
