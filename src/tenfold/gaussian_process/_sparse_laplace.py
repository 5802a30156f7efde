r"""Laplace's approximation of a classifier whose latent functions are carried by inducing points.

With inducing points Z, :math:`K_{mm} = L L^T` and whitened features :math:`a_i = L^{-1} k(Z, x_i)`,
latent values are :math:`f_i = V^T a_i`, with independent standard normal entries of V (m, c):
c = 1 and the logistic function, or a column for each class and the softmax. At the mode of V, with
W_i the negative Hessian of the log likelihood of row i by f_i,

.. math:: F = \sum_i \log p(y_i \mid f_i) - \tfrac12 \lVert V \rVert^2 - \tfrac12 \log \det B
          - \tfrac12 \sum_i \operatorname{tr}(W_i) \, d_i, \qquad
          B = I + \sum_i W_i \otimes a_i a_i^T, \quad d_i = k(x_i, x_i) - \lVert a_i \rVert^2.

The last term is the variance that inducing points do not carry, as in the bound for regression, to
second order; with all rows as inducing points it is zero, and F is the evidence of the exact
approximation. A Newton step is one pass whose statistic does not grow with the rows, and the
gradient by hyperparameters takes two more: with :math:`r_i` the slope of the log likelihood,
:math:`g_i` the derivative of the last two terms by :math:`f_i`, and
:math:`u = B^{-1} \sum_i g_i \otimes a_i`,

.. math:: \frac{\partial F}{\partial a_i} = V (r_i + g_i - W_i u^T a_i) + u \, r_i
          + \operatorname{tr}(W_i) \, a_i - \sum_{st} W_{i,st} (B^{-1})_{st} \, a_i .
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logsumexp

from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.engine.tiled_cholesky import (
    cholesky,
    invert_cholesky,
    log_determinant,
    solve_cholesky,
    solve_triangular,
)
from tenfold.gaussian_process._collapsed_bound import InducingPoints, place_inducing_points
from tenfold.gaussian_process._laplace_binary import TOLERANCE
from tenfold.gaussian_process._laplace_softmax import log_det_slope
from tenfold.kernel._block import kernel_block
from tenfold.kernel._gradient_tiles import diagonal_gradient, gradient_tile, gram_gradient
from tenfold.math.links import softmax


class LabelProblem(NamedTuple):
    """Which labels latent functions are for; class numbers."""

    n_latent: int  # 1 for two sides, else the number of classes
    positive: int = 1  # the class of the side of positive values, for two sides
    negative: int = -1  # the class of the other side; below zero: all other classes


class SparseLaplace(NamedTuple):
    """The Gaussian approximation of whitened values at the inducing points."""

    kernel: Any  # the kernel with its hyperparameters
    prior_factor: np.ndarray  # (m, m) factor of the kernel values of the inducing points
    mode: np.ndarray  # (m, c) V
    factor: np.ndarray  # (c m, c m) factor of B
    log_evidence: float
    converged: bool

    def array_shapes(self, m: int, c: int) -> dict[str, tuple[int, ...]]:
        """Shapes of the arrays, which a loaded file must have."""
        return {"prior_factor": (m, m), "mode": (m, c), "factor": (c * m, c * m)}


class _Curve(NamedTuple):
    """The log likelihood near some latent values, summed over rows."""

    value: float
    slope: np.ndarray  # (m, c)
    curvature: np.ndarray  # (c, c, m, m)
    missed: float  # sum of tr(W_i) d_i


class _Likelihood(NamedTuple):
    """The log likelihood of some rows at their latent values, weights included."""

    value: float
    r: np.ndarray  # (rows, c)
    W: np.ndarray  # (c, c, rows)
    pi: np.ndarray  # (rows, c)
    w: np.ndarray  # (rows,)


class _ModeSlopes(NamedTuple):
    """What the last pass needs, beside V: u, and the inverse of B in blocks."""

    u: np.ndarray  # (m, c)
    inverse: np.ndarray  # (c, c, m, m)


class _ThetaGradient(NamedTuple):
    by_theta: np.ndarray  # (n_dims,)
    S: np.ndarray  # (m, m) sum of a_i (dF/da_i)'


def evaluate(
    rows: Rows,
    kernel: Any,
    Z: np.ndarray,
    problem: LabelProblem,
    start: np.ndarray | None,
    max_iter: int,
    *,
    eval_gradient: bool,
) -> tuple[SparseLaplace, np.ndarray]:
    """The approximation and the gradient of its evidence by theta (empty unless asked for)."""
    points = place_inducing_points(kernel, Z)
    V = np.zeros((len(Z), problem.n_latent)) if start is None else start
    V, curve, converged = _find_mode(rows, points, problem, V, max_iter)
    factor = _factorize(curve)
    value = curve.value - 0.5 * (np.vdot(V, V) + log_determinant(factor) + curve.missed)
    found = SparseLaplace(kernel, points.L, V, factor, float(value), converged)
    if not eval_gradient:
        return found, np.zeros(0)
    return found, _gradient(rows, points, problem, found)


def _find_mode(
    rows: Rows, points: InducingPoints, problem: LabelProblem, V: np.ndarray, max_iter: int
) -> tuple[np.ndarray, _Curve, bool]:
    """Whitened values of the mode, the likelihood near it, and whether the search converged."""
    curve = rows.total(_chunk_curve, points, V, problem)
    objective = curve.value - 0.5 * np.vdot(V, V)
    for _ in range(max_iter):
        step = _unravel(solve_cholesky(_factorize(curve), (curve.slope - V).T.ravel()), V)
        size = 1.0
        while True:
            trial = V + size * step
            new_curve = rows.total(_chunk_curve, points, trial, problem)
            new = new_curve.value - 0.5 * np.vdot(trial, trial)
            if new >= objective or size < 1e-6:
                break
            size /= 2.0
        rise = new - objective
        if rise > 0:
            V, curve, objective = trial, new_curve, new
        if rise <= TOLERANCE * max(1.0, abs(objective)):
            return V, curve, True
    return V, curve, False


def _unravel(values: np.ndarray, V: np.ndarray) -> np.ndarray:
    """A vector of all classes, class by class, in the shape of V."""
    return np.ascontiguousarray(values.reshape(V.shape[1], V.shape[0]).T)


def _factorize(curve: _Curve) -> np.ndarray:
    """The factor of B."""
    c, _, m, _ = curve.curvature.shape
    B = np.array(curve.curvature.transpose(0, 2, 1, 3), order="C").reshape(c * m, c * m)
    B[np.diag_indices(c * m)] += 1.0
    return cholesky(B, overwrite=True)


def _likelihood(chunk: Chunk, F: np.ndarray, problem: LabelProblem) -> _Likelihood:
    codes, w = np.asarray(chunk.y, np.int64), chunk.weights().astype(np.float64)
    if problem.n_latent == 1:
        if problem.negative >= 0:
            w = w * ((codes == problem.positive) | (codes == problem.negative))
        y = (codes == problem.positive).astype(np.float64)[:, None]
        pi = expit(F)
        value = -(w @ np.logaddexp(0.0, (1.0 - 2.0 * y) * F)[:, 0])
        W = (w * (pi * (1.0 - pi))[:, 0])[None, None]
        return _Likelihood(float(value), w[:, None] * (y - pi), W, pi, w)
    Y, pi = np.eye(problem.n_latent)[codes], softmax(F)
    value = w @ (np.einsum("ij,ij->i", Y, F) - logsumexp(F, axis=1))
    W = -np.einsum("ia,ib,i->abi", pi, pi, w)
    for a in range(problem.n_latent):
        W[a, a] += w * pi[:, a]
    return _Likelihood(float(value), w[:, None] * (Y - pi), W, pi, w)


def _features(X: np.ndarray, points: InducingPoints) -> tuple[np.ndarray, np.ndarray]:
    """Whitened features, (m, rows), and the variance that they miss, (rows,)."""
    A = solve_triangular(points.L, kernel_block(X, points.Z, points.kernel).T)
    missed = points.kernel.diag(X) - np.einsum("ij,ij->j", A, A)
    return A, np.maximum(missed, 0.0)


def _chunk_curve(
    chunk: Chunk, points: InducingPoints, V: np.ndarray, problem: LabelProblem
) -> _Curve:
    A, missed = _features(chunk.X.astype(np.float64, copy=False), points)
    at = _likelihood(chunk, A.T @ V, problem)
    m, c = V.shape
    curvature = np.empty((c, c, m, m))
    for a in range(c):
        for b in range(a + 1):
            curvature[a, b] = (A * at.W[a, b]) @ A.T
            curvature[b, a] = curvature[a, b].T
    trace = np.einsum("aai->i", at.W) @ missed
    return _Curve(at.value, A @ at.r, curvature, float(trace))


def _determinant_slope(at: _Likelihood, A: np.ndarray, missed: np.ndarray, inverse: Any) -> Any:
    """g: derivatives of the last two terms of F by latent values, (rows, c)."""
    c = len(inverse)
    S = np.empty((c, c, A.shape[1]))
    for a in range(c):
        for b in range(c):
            S[a, b] = np.einsum("ij,ij->j", A, inverse[a, b] @ A)
        S[a, a] += missed
    if c == 1:
        return -0.5 * (at.W * (1.0 - 2.0 * at.pi.T) * S)[0].T
    return at.w[:, None] * log_det_slope(at.pi, S)


def _chunk_pull(
    chunk: Chunk, points: InducingPoints, V: np.ndarray, problem: LabelProblem, inverse: np.ndarray
) -> np.ndarray:
    """The sum of a_i g_i', (m, c)."""
    A, missed = _features(chunk.X.astype(np.float64, copy=False), points)
    at = _likelihood(chunk, A.T @ V, problem)
    return A @ _determinant_slope(at, A, missed, inverse)


def _chunk_gradient(
    chunk: Chunk, points: InducingPoints, V: np.ndarray, problem: LabelProblem, slopes: _ModeSlopes
) -> _ThetaGradient:
    X = chunk.X.astype(np.float64, copy=False)
    A, missed = _features(X, points)
    at = _likelihood(chunk, A.T @ V, problem)
    g = _determinant_slope(at, A, missed, slopes.inverse)
    shift = np.einsum("abi,ib->ia", at.W, A.T @ slopes.u)
    trace = np.einsum("aai->i", at.W)
    Q = V @ (at.r + g - shift).T + slopes.u @ at.r.T + A * trace
    c = V.shape[1]
    for a in range(c):
        for b in range(c):
            Q -= (slopes.inverse[a, b] @ A) * at.W[a, b]
    G = solve_triangular(points.L, Q, transposed=True).T
    by_theta = gradient_tile(points.kernel, X, points.Z, np.ascontiguousarray(G))
    by_theta = by_theta + diagonal_gradient(points.kernel, X, -0.5 * trace)
    return _ThetaGradient(by_theta, A @ Q.T)


def _gradient(
    rows: Rows, points: InducingPoints, problem: LabelProblem, found: SparseLaplace
) -> np.ndarray:
    """Derivatives of the evidence by theta."""
    V = found.mode
    m, c = V.shape
    inverse = np.ascontiguousarray(
        invert_cholesky(found.factor).reshape(c, m, c, m).transpose(0, 2, 1, 3)
    )
    pull = rows.total(_chunk_pull, points, V, problem, inverse)
    u = _unravel(solve_cholesky(found.factor, np.ascontiguousarray(pull.T).ravel()), V)
    sums = rows.total(_chunk_gradient, points, V, problem, _ModeSlopes(u, inverse))
    half = solve_triangular(points.L, sums.S, transposed=True)
    among = solve_triangular(points.L, half.T, transposed=True)
    among = -0.25 * (among + among.T)
    return sums.by_theta + gram_gradient(points.kernel, points.Z, lambda i, j: among[i, j])


def latent_mean(chunk: Chunk, Z: np.ndarray, found: SparseLaplace) -> np.ndarray:
    """Mean of the latent functions at each row, (rows, c)."""
    X = chunk.X.astype(np.float64, copy=False)
    A = solve_triangular(found.prior_factor, kernel_block(X, Z, found.kernel).T)
    return A.T @ found.mode


def latent_moments(
    chunk: Chunk, Z: np.ndarray, found: SparseLaplace
) -> tuple[np.ndarray, np.ndarray]:
    """Mean (rows, c) and covariance (rows, c, c) of the latent functions at each row."""
    points = InducingPoints(found.kernel, Z, found.prior_factor)
    A, missed = _features(chunk.X.astype(np.float64, copy=False), points)
    m, c = found.mode.shape
    parts = []
    for a in range(c):
        lifted = np.zeros((c * m, A.shape[1]))
        lifted[a * m : (a + 1) * m] = A
        parts.append(solve_triangular(found.factor, lifted))
    covariance = np.empty((A.shape[1], c, c))
    for a in range(c):
        for b in range(a + 1):
            values = np.einsum("ij,ij->j", parts[a], parts[b])
            covariance[:, a, b] = covariance[:, b, a] = values
        covariance[:, a, a] += missed
    return A.T @ found.mode, covariance
