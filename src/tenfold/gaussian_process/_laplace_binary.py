r"""Laplace's approximation of a Gaussian-process classifier of two classes.

The mode of :math:`\Psi(f) = \sum_i \log \sigma(s_i f_i) - \tfrac12 f^T K^{-1} f` is found by
Newton's method in :math:`a = K^{-1} f`, with steps halved until :math:`\Psi` rises, so that the
search converges from any start. With :math:`W = -\nabla\nabla \log p(y \mid f)` and
:math:`B = I + W^{1/2} K W^{1/2}` the evidence is :math:`\Psi(\hat f) - \tfrac12 \log \det B`
(Rasmussen and Williams 2006, algorithms 3.1, 3.2 and 5.1). All derivatives by hyperparameters are
sums of one matrix of weights times derivatives of K:

.. math:: G = \tfrac12 (a a^T - R) + \tfrac12 (v r^T + r v^T), \quad R = W^{1/2} B^{-1} W^{1/2},
          \quad r = y - \pi, \quad v = s - R K s,

where :math:`s_i = -\tfrac12 (1 - (B^{-1})_{ii}) (1 - 2 \pi_i)` is the derivative by the mode.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy.special import erf, expit

from tenfold.engine.chunk import Chunk
from tenfold.engine.tiled_cholesky import (
    cholesky,
    invert_cholesky,
    log_determinant,
    run_pieces,
    solve_cholesky,
    solve_triangular,
)
from tenfold.kernel._block import kernel_block
from tenfold.kernel._gradient_tiles import dense_gradient, gram_gradient, has_tiles

TOLERANCE = 1e-10  # least rise of the objective, relative, after which the search goes on
_BLOCK_ROWS = 128
# the logistic function as a sum of five error functions (Williams and Barber 1998, appendix A)
_SLOPES = np.array([0.41, 0.40, 0.37, 0.44, 0.39])
_WEIGHTS = np.array([-1854.8214151, 3516.89893646, 221.29346712, 128.12323805, -2010.49422654])


class BinaryLaplace(NamedTuple):
    """The Gaussian approximation of the latent values at the rows of a fit."""

    kernel: Any  # the kernel with its hyperparameters
    dual: np.ndarray  # (n,) a, of which the mode is K a
    residual: np.ndarray  # (n,) y - pi at the mode, equal to `dual` up to rounding
    root: np.ndarray  # (n,) square roots of W
    L: np.ndarray  # (n, n) factor of B
    log_evidence: float
    converged: bool

    def array_shapes(self, labels: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
        """Shapes of the arrays for labels of some shape, which a loaded file must have."""
        (n,) = labels
        return {"dual": (n,), "residual": (n,), "root": (n,), "L": (n, n)}


class _Mode(NamedTuple):
    dual: np.ndarray
    latent: np.ndarray
    objective: float
    converged: bool


def evaluate(
    kernel: Any,
    X: Any,
    y: np.ndarray,
    start: np.ndarray | None,
    max_iter: int,
    *,
    eval_gradient: bool,
) -> tuple[BinaryLaplace, np.ndarray]:
    """The approximation and the gradient of its evidence by theta (empty unless asked for)."""
    K = kernel(X)
    found = _approximate(kernel, K, y, start, max_iter)
    if not eval_gradient:
        return found, np.zeros(0)
    inverse = invert_cholesky(found.L)
    pi = y - found.residual
    slope = -0.5 * (1.0 - inverse.diagonal()) * (1.0 - 2.0 * pi)
    v = slope - found.root * (inverse @ (found.root * (K @ slope)))
    first = np.column_stack([found.dual, v, found.residual])
    second = np.column_stack([found.dual, found.residual, v])

    def weights(rows: slice, columns: slice) -> np.ndarray:
        G = inverse[rows, columns] * found.root[columns]
        G *= -found.root[rows, None]
        G += first[rows] @ second[columns].T
        G *= 0.5
        return G

    if has_tiles(kernel):
        return found, gram_gradient(kernel, X, weights)
    everything = slice(0, len(y))
    return found, dense_gradient(kernel, X, weights(everything, everything))


def _approximate(
    kernel: Any, K: np.ndarray, y: np.ndarray, start: np.ndarray | None, max_iter: int
) -> BinaryLaplace:
    mode = _find_mode(K, y, start, max_iter)
    pi = expit(mode.latent)
    root = np.sqrt(pi * (1.0 - pi))
    L = _factorize(K, root)
    value = mode.objective - 0.5 * log_determinant(L)
    return BinaryLaplace(kernel, mode.dual, y - pi, root, L, value, mode.converged)


def _find_mode(K: np.ndarray, y: np.ndarray, start: np.ndarray | None, max_iter: int) -> _Mode:
    dual = np.zeros(len(y)) if start is None else start
    latent = K @ dual
    objective = _objective(dual, latent, y)
    for _ in range(max_iter):
        pi = expit(latent)
        W = pi * (1.0 - pi)
        root = np.sqrt(W)
        L = _factorize(K, root)
        b = W * latent + (y - pi)
        step = b - root * solve_cholesky(L, root * (K @ b)) - dual
        move = K @ step
        size = 1.0
        while True:
            new_dual, new_latent = dual + size * step, latent + size * move
            new = _objective(new_dual, new_latent, y)
            if new >= objective or size < 1e-6:
                break
            size /= 2.0
        rise = new - objective
        if rise > 0:
            dual, latent, objective = new_dual, new_latent, new
        if rise <= TOLERANCE * max(1.0, abs(objective)):
            return _Mode(dual, latent, objective, True)
    return _Mode(dual, latent, objective, False)


def _objective(dual: np.ndarray, latent: np.ndarray, y: np.ndarray) -> float:
    """The log posterior of latent values, up to a constant."""
    signs = 2.0 * y - 1.0
    return float(-0.5 * (dual @ latent) - np.logaddexp(0.0, -signs * latent).sum())


def _factorize(K: np.ndarray, root: np.ndarray) -> np.ndarray:
    """The factor of I + diag(root) K diag(root)."""
    n = len(K)
    B = np.empty((n, n))

    def fill(first: int) -> None:
        rows = slice(first, min(first + _BLOCK_ROWS, n))
        np.multiply(K[rows, : rows.stop], root[: rows.stop], out=B[rows, : rows.stop])
        B[rows, : rows.stop] *= root[rows, None]

    run_pieces(fill, range(0, n, _BLOCK_ROWS))
    B[np.diag_indices(n)] += 1.0
    return cholesky(B, overwrite=True)


def latent_moments(chunk: Chunk, Z: np.ndarray, found: BinaryLaplace) -> np.ndarray:
    """Mean and variance of the latent function at each row, (rows, 2)."""
    X = chunk.X.astype(np.float64, copy=False)
    K = kernel_block(X, Z, found.kernel)
    V = solve_triangular(found.L, (K * found.root).T)
    variance = found.kernel.diag(X) - np.einsum("ij,ij->j", V, V)
    return np.column_stack([K @ found.residual, variance])


def latent_mean(chunk: Chunk, Z: np.ndarray, found: BinaryLaplace) -> np.ndarray:
    """Mean of the latent function at each row; its sign is the more probable class."""
    X = chunk.X.astype(np.float64, copy=False)
    return kernel_block(X, Z, found.kernel) @ found.residual


def probability(moments: np.ndarray) -> np.ndarray:
    """The mean of the logistic function of a Gaussian number, for each row of its moments."""
    mean, variance = moments[:, 0], np.maximum(moments[:, 1], np.finfo(np.float64).tiny)
    inner = _SLOPES * mean[:, None] / np.sqrt(1.0 + 2.0 * variance[:, None] * _SLOPES**2)
    return 0.5 * (erf(inner) @ _WEIGHTS + _WEIGHTS.sum())


def class_probabilities(moments: list[np.ndarray]) -> np.ndarray:
    """Probabilities of two classes, or those of each class against the rest, scaled to sum 1."""
    columns = [probability(each) for each in moments]
    if len(columns) == 1:
        return np.column_stack([1.0 - columns[0], columns[0]])
    P = np.column_stack(columns)
    P /= P.sum(axis=1, keepdims=True)
    return P


def pair_votes(moments: list[np.ndarray], k: int) -> np.ndarray:
    """Votes of all pairs of k classes; ties are broken by sums of probabilities, as scikit-learn's.

    Moments are those of the latent function of the second class of each pair against the first.
    """
    rows = len(moments[0])
    votes, confidence = np.zeros((rows, k)), np.zeros((rows, k))
    for (first, second), each in zip(combinations(range(k), 2), moments, strict=True):
        wins, p = each[:, 0] > 0, probability(each)
        votes[~wins, first] += 1
        votes[wins, second] += 1
        confidence[:, first] -= p
        confidence[:, second] += p
    return votes + confidence / (3.0 * (np.abs(confidence) + 1.0))
