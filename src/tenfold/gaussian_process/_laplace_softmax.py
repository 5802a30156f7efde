r"""Laplace's approximation of a Gaussian-process classifier of several classes at once.

Latent functions of all classes have the same kernel, and labels the probabilities
:math:`\pi = \operatorname{softmax}(f)`. With :math:`D_c = \operatorname{diag}(\pi_c)`,
:math:`E_c = D_c^{1/2} (I + D_c^{1/2} K D_c^{1/2})^{-1} D_c^{1/2}`, factors :math:`L_c` of the
inner matrices and :math:`M M^T = \sum_c E_c`, the Newton step needs only n x n systems, and

.. math:: \log q(y) = \Psi(\hat f) - \sum_c \log \det L_c - \log \det M.

The determinant of M is missing in algorithm 3.3 of Rasmussen and Williams (2006); it follows from
:math:`\det(I + K W) = \prod_c \det(I + K D_c) \, \det(\sum_c E_c)`. The gradient by hyperparameters
is again one matrix of weights: with :math:`F = (K + W^{-1})^{-1}`,

.. math:: G = \tfrac12 \sum_c (a_c a_c^T - F_{cc}) + \operatorname{sym} \sum_c v_c r_c^T, \quad
          v = g - F K g,

where g is the derivative of :math:`-\tfrac12 \log \det(I + K W)` by the mode.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp, ndtri
from scipy.stats import qmc

from tenfold.engine.chunk import Chunk
from tenfold.engine.tiled_cholesky import (
    cholesky,
    invert_cholesky,
    log_determinant,
    solve_cholesky,
    solve_triangular,
)
from tenfold.gaussian_process._laplace_binary import TOLERANCE
from tenfold.kernel._block import kernel_block
from tenfold.kernel._gradient_tiles import dense_gradient, gram_gradient, has_tiles
from tenfold.math.links import softmax

_LOG2_DRAWS = 9  # of the latent values whose softmax is averaged


class SoftmaxLaplace(NamedTuple):
    """The Gaussian approximation of the latent values of all classes."""

    kernel: Any  # the kernel with its hyperparameters
    dual: np.ndarray  # (n, c) a, of which the mode is K a
    residual: np.ndarray  # (n, c) one-hot labels less probabilities at the mode
    E: np.ndarray  # (c, n, n)
    M: np.ndarray  # (n, n) factor of the sum of E
    log_evidence: float
    converged: bool

    def array_shapes(self, labels: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
        """Shapes of the arrays for labels of some shape, which a loaded file must have."""
        n, c = labels
        return {"dual": (n, c), "residual": (n, c), "E": (c, n, n), "M": (n, n)}


class _Curvature(NamedTuple):
    """What a step needs at some latent values."""

    pi: np.ndarray  # (n, c)
    E: np.ndarray  # (c, n, n)
    M: np.ndarray  # (n, n)
    log_det: float  # half of log det(I + K W)


def evaluate(
    kernel: Any,
    X: Any,
    Y: np.ndarray,
    start: np.ndarray | None,
    max_iter: int,
    *,
    eval_gradient: bool,
) -> tuple[SoftmaxLaplace, np.ndarray]:
    """The approximation for one-hot labels, and the gradient of its evidence by theta."""
    K = kernel(X)
    dual, objective, converged = _find_mode(K, Y, start, max_iter)
    at = _curvature(K, K @ dual)
    value = objective - at.log_det
    found = SoftmaxLaplace(kernel, dual, Y - at.pi, at.E, at.M, value, converged)
    if not eval_gradient:
        return found, np.zeros(0)
    G = _weights(K, found, at)
    if has_tiles(kernel):
        return found, gram_gradient(kernel, X, lambda rows, columns: G[rows, columns])
    return found, dense_gradient(kernel, X, G)


def _find_mode(
    K: np.ndarray, Y: np.ndarray, start: np.ndarray | None, max_iter: int
) -> tuple[np.ndarray, float, bool]:
    """Dual variables of the mode, the log posterior there, and whether the search converged."""
    dual = np.zeros(Y.shape) if start is None else start
    latent = K @ dual
    objective = _objective(dual, latent, Y)
    for _ in range(max_iter):
        at = _curvature(K, latent)
        b = _apply_hessian(at.pi, latent) + Y - at.pi
        step = b - _apply_precision(at.E, at.M, K @ b) - dual
        move = K @ step
        size = 1.0
        while True:
            new_dual, new_latent = dual + size * step, latent + size * move
            new = _objective(new_dual, new_latent, Y)
            if new >= objective or size < 1e-6:
                break
            size /= 2.0
        rise = new - objective
        if rise > 0:
            dual, latent, objective = new_dual, new_latent, new
        if rise <= TOLERANCE * max(1.0, abs(objective)):
            return dual, objective, True
    return dual, objective, False


def _objective(dual: np.ndarray, latent: np.ndarray, Y: np.ndarray) -> float:
    """The log posterior of latent values, up to a constant."""
    prior = -0.5 * np.einsum("ij,ij->", dual, latent)
    return float(prior + np.einsum("ij,ij->", Y, latent) - logsumexp(latent, axis=1).sum())


def _apply_hessian(pi: np.ndarray, v: np.ndarray) -> np.ndarray:
    """W v: the negative Hessian of the log likelihood."""
    return pi * (v - np.einsum("ij,ij->i", pi, v)[:, None])


def _apply_precision(E: np.ndarray, M: np.ndarray, v: np.ndarray) -> np.ndarray:
    """F v with F = (K + W^-1)^-1 = E - E R (sum E)^-1 R' E."""
    Ev = np.stack([E[c] @ v[:, c] for c in range(len(E))], axis=1)
    common = solve_cholesky(M, Ev.sum(axis=1))
    return Ev - np.stack([E[c] @ common for c in range(len(E))], axis=1)


def _curvature(K: np.ndarray, latent: np.ndarray) -> _Curvature:
    pi = softmax(latent)
    n, k = pi.shape
    E, log_det = np.empty((k, n, n)), 0.0
    for c in range(k):
        root = np.sqrt(pi[:, c])
        B = K * root
        B *= root[:, None]
        B[np.diag_indices(n)] += 1.0
        L = cholesky(B, overwrite=True)
        log_det += 0.5 * log_determinant(L)
        np.multiply(invert_cholesky(L), root, out=E[c])
        E[c] *= root[:, None]
    M = cholesky(E.sum(axis=0), overwrite=True)
    return _Curvature(pi, E, M, log_det + 0.5 * log_determinant(M))


def _weights(K: np.ndarray, found: SoftmaxLaplace, at: _Curvature) -> np.ndarray:
    """The matrix by which derivatives of K are weighted."""
    n, k = found.dual.shape
    G = 0.5 * (found.dual @ found.dual.T)
    U = []  # M^-1 E_c K: columns of all classes give the blocks of the posterior covariance
    variances = np.empty((n, k))
    for c in range(k):
        V = solve_triangular(at.M, at.E[c])
        G -= 0.5 * (at.E[c] - V.T @ V)
        U.append(V @ K)
        EK = at.E[c] @ K
        variances[:, c] = K.diagonal() - np.einsum("ij,ij->j", K, EK)
    S = np.array([[np.einsum("ij,ij->j", U[a], U[b]) for b in range(k)] for a in range(k)])
    S[np.arange(k), np.arange(k)] += variances.T
    slope = log_det_slope(at.pi, S)
    v = slope - _apply_precision(at.E, at.M, K @ slope)
    half = 0.5 * (v @ found.residual.T)
    return G + half + half.T


def log_det_slope(pi: np.ndarray, S: np.ndarray) -> np.ndarray:
    """Derivative of -1/2 log det(I + K W) by latent values; S has the covariances of each row."""
    Spi = np.einsum("abn,nb->na", S, pi)
    diagonal = np.einsum("aan->na", S)
    mean = np.einsum("na,na->n", pi, diagonal) - 2.0 * np.einsum("na,na->n", pi, Spi)
    return -0.5 * pi * (diagonal - 2.0 * Spi - mean[:, None])


def softmax_probabilities(
    chunk: Chunk, Z: np.ndarray, found: SoftmaxLaplace, draws: np.ndarray
) -> np.ndarray:
    """Means of the softmax of the latent values of each row, over fixed draws of them."""
    mean, covariance = _latent_moments(chunk, Z, found)
    return average_softmax(mean, covariance, draws).astype(chunk.X.dtype, copy=False)


def average_softmax(mean: np.ndarray, covariance: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """Means of the softmax of normal numbers, (rows, c), over fixed draws of them."""
    values, vectors = np.linalg.eigh(covariance)
    factor = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
    total = np.zeros_like(mean)
    for z in draws:
        total += softmax(mean + factor @ z)
        total += softmax(mean - factor @ z)
    total /= 2 * len(draws)
    return total


def _latent_moments(
    chunk: Chunk, Z: np.ndarray, found: SoftmaxLaplace
) -> tuple[np.ndarray, np.ndarray]:
    """Mean (rows, c) and covariance (rows, c, c) of the latent values of each row."""
    X = chunk.X.astype(np.float64, copy=False)
    K = kernel_block(X, Z, found.kernel)
    k = len(found.E)
    prior = found.kernel.diag(X)
    EK = [K @ found.E[c] for c in range(k)]  # rows of E_c k
    V = [solve_triangular(found.M, each.T) for each in EK]
    covariance = np.empty((len(X), k, k))
    for a in range(k):
        for b in range(a + 1):
            covariance[:, a, b] = covariance[:, b, a] = np.einsum("ij,ij->j", V[a], V[b])
        covariance[:, a, a] += prior - np.einsum("ij,ij->i", EK[a], K)
    return K @ found.residual, covariance


def normal_draws(k: int) -> np.ndarray:
    """Fixed, evenly spread draws of k independent normal numbers; used with both signs."""
    points = qmc.Sobol(k, scramble=True, rng=0).random_base2(_LOG2_DRAWS - 1)
    return ndtri(np.clip(points, 1e-12, 1.0 - 1e-12))
