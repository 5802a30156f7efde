r"""The exact evidence of Gaussian-process regression and its gradient.

.. math:: \log p(y \mid X, \theta) = -\tfrac12 y^T K^{-1} y - \tfrac12 \log \det K
          - \tfrac n2 \log 2\pi, \qquad K = K_\theta + \operatorname{diag}(\alpha)

and, with :math:`a = K^{-1} y`,
:math:`\partial / \partial \theta = \tfrac12 \sum_{ij} (a a^T - K^{-1})_{ij} \, \partial K_{ij} /
\partial \theta`; several outputs add up (Rasmussen and Williams 2006, eq. 5.8 and 5.9).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.tiled_cholesky import (
    cholesky,
    invert_cholesky,
    log_determinant,
    solve_cholesky,
)
from tenfold.kernel._block import check_gram_memory
from tenfold.kernel._gradient_tiles import dense_gradient, gram_gradient, has_tiles

LOG_2PI = float(np.log(2.0 * np.pi))


class TrainingSet(NamedTuple):
    """What an evidence is computed from."""

    X: Any  # (n, p) float64 rows, or objects
    y: np.ndarray  # (n, k) targets
    noise: Any  # variance added to the diagonal: a number, or one for each row


class DenseFactor(NamedTuple):
    """The factor of a covariance, and the solution with the targets."""

    L: np.ndarray  # (n, n)
    dual: np.ndarray  # (n, k)


def check_size(n: int, model: str, *, labels: bool = False) -> None:
    """Refuse rows whose matrices do not fit into memory, before any of them is made."""
    cure = (
        "take SparseGaussianProcessClassifier (any number of rows), or fewer rows"
        if labels
        else "take SparseGaussianProcessRegressor (any number of rows), "
        "NearestNeighborGaussianProcessRegressor (rows in memory), "
        "StateSpaceGaussianProcessRegressor for one column, or fewer rows"
    )
    check_gram_memory(n, 3.0, model, cure)


def factorize(kernel: Any, data: TrainingSet) -> DenseFactor:
    """The factor of K; LinAlgError if it is not positive definite."""
    K = np.require(kernel(data.X), np.float64, ["C", "W", "O"])
    K[np.diag_indices(len(K))] += data.noise
    L = cholesky(K, overwrite=True)
    return DenseFactor(L, solve_cholesky(L, data.y))


def log_evidence(data: TrainingSet, factor: DenseFactor) -> np.float64:
    """The log marginal likelihood, summed over outputs."""
    n, k = data.y.shape
    fit = np.einsum("ij,ij->", data.y, factor.dual)
    return -0.5 * (fit + k * (log_determinant(factor.L) + n * LOG_2PI))


def evidence_gradient(kernel: Any, data: TrainingSet, factor: DenseFactor) -> np.ndarray:
    """Derivatives of the evidence by theta."""
    inverse, dual, k = invert_cholesky(factor.L), factor.dual, data.y.shape[1]
    if not has_tiles(kernel):
        return 0.5 * dense_gradient(kernel, data.X, dual @ dual.T - k * inverse)

    def weights(rows: slice, columns: slice) -> np.ndarray:
        G = dual[rows] @ dual[columns].T
        G -= inverse[rows, columns] if k == 1 else k * inverse[rows, columns]
        return G

    return 0.5 * gram_gradient(kernel, data.X, weights)


def evaluate(kernel: Any, data: TrainingSet, *, eval_gradient: bool) -> Any:
    """The evidence, with its gradient if asked for; minus infinity where K has no factor."""
    try:
        factor = factorize(kernel, data)
    except np.linalg.LinAlgError:
        return (-np.inf, np.zeros(kernel.n_dims)) if eval_gradient else -np.inf
    value = log_evidence(data, factor)
    if not np.isfinite(value):
        raise FloatingPointError("the evidence overflows")
    return (value, evidence_gradient(kernel, data, factor)) if eval_gradient else value


def location_and_scale(y: np.ndarray, *, scale: bool) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of each output; 0 and 1 where the target is not scaled."""
    if not scale:
        shape = y.shape[1:] or (1,)
        return np.zeros(shape), np.ones(shape)
    with np.errstate(over="ignore"):
        deviation = np.atleast_1d(np.std(y, axis=0))
    if not np.isfinite(deviation).all():
        raise ValueError("the variance of y overflows: divide y by a constant (take other units)")
    size = np.abs(np.atleast_1d(y.mean(axis=0)))
    tiny = deviation <= 10.0 * np.finfo(np.float64).eps * size
    return np.atleast_1d(y.mean(axis=0)), np.where(tiny | (deviation == 0), 1.0, deviation)


def as_float64(X: Any) -> Any:
    """Rows in float64; objects as they are."""
    return X.astype(np.float64, copy=False) if getattr(X, "dtype", None) == np.float32 else X


def noise_of_rows(alpha: Any, n: int) -> Any:
    """The parameter `alpha` as a number or a value for each of n rows."""
    if not np.iterable(alpha):
        return alpha
    alpha = np.asarray(alpha, np.float64)
    if alpha.shape not in {(n,), (1,)}:
        raise ValueError(
            "alpha must be a scalar or an array with same number of entries as y. "
            f"({alpha.shape[0]} != {n})"
        )
    return alpha if len(alpha) == n else float(alpha[0])
