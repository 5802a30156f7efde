"""Chunk functions for a loss of linear scores: sum, gradient, Hessian, Hessian-vector product.

Parameters are rows [w b]: one row for a loss of one score, k rows for softmax.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.linear._losses_numba import (
    logistic_gradient_sums,
    logistic_gradient_sums_at_points,
    probit_gradient_sums,
    row_dots,
)
from tenfold.linear._softmax_numba import softmax_gradient_sums
from tenfold.math.linalg import to_dense
from tenfold.math.losses import LogisticLoss, Loss, ProbitLoss, softmax_columns
from tenfold.stats.decorators import batched_by
from tenfold.stats.moments import multiply_thin

NO_WEIGHTS = np.empty(0)  # for compiled loops: every row weighs 1

# losses of one score whose gradient over dense rows is one compiled loop
_COMPILED_LOSSES = {LogisticLoss(): logistic_gradient_sums, ProbitLoss(): probit_gradient_sums}


class LossGradient(NamedTuple):
    """Loss and its gradient, summed over rows."""

    loss: float
    w: np.ndarray  # (m, p)
    b: np.ndarray  # (m,)


class LossHessian(NamedTuple):
    """Loss, gradient and Hessian, summed over rows; the intercept is last in each block."""

    loss: float
    gradient: np.ndarray  # (m, p + 1)
    hessian: np.ndarray  # (m, p + 1, m, p + 1)


def class_major_scores(X: Any, W: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Scores W x + b of each row, class-major: (m, n)."""
    if isinstance(X, np.ndarray) and len(W) == 1:
        return row_dots(X, W[0], b[0])[None]
    Z = W @ X.T if isinstance(X, np.ndarray) else np.ascontiguousarray((X @ W.T).T)
    Z += b[:, None]
    return Z


def loss_targets(chunk: Chunk, loss: Loss) -> np.ndarray:
    """The target in the form that the loss takes: signs from the numbers of two classes."""
    if loss.labels == "signs":
        return (2 * chunk.y - 1).astype(chunk.X.dtype)
    if loss.labels == "classes":
        return chunk.y
    return chunk.y.astype(chunk.X.dtype, copy=False)


def row_weights(chunk: Chunk, class_weight: np.ndarray | None) -> np.ndarray | None:
    """Sample weight times class weight of each row; None where all are 1."""
    if class_weight is None:
        return chunk.w
    weights = np.take(class_weight, chunk.y)
    return weights if chunk.w is None else weights * chunk.w


def _compiled_weights(chunk: Chunk, class_weight: np.ndarray | None) -> np.ndarray:
    """`row_weights` as compiled loops take them: float64, empty where all are 1."""
    w = row_weights(chunk, class_weight)
    return NO_WEIGHTS if w is None else w.astype(np.float64, copy=False)


def _apply_weights(
    losses: np.ndarray, R: np.ndarray, w: np.ndarray | None
) -> tuple[float, np.ndarray]:
    """Weighted sum of the losses (n,), and weighted derivatives (m, n) in the scores."""
    R = np.atleast_2d(R)
    if w is None:
        return float(losses.sum(dtype=np.float64)), R
    return float(w.astype(np.float64) @ losses), R * w.astype(R.dtype, copy=False)


# exp may overflow at a trial step that is too long: the line search sees a value that is not finite
@np.errstate(over="ignore", invalid="ignore")
def loss_gradient(
    chunk: Chunk, loss: Loss, W: np.ndarray, b: np.ndarray, class_weight: np.ndarray | None
) -> LossGradient:
    """Loss and gradient of a chunk."""
    if loss in _COMPILED_LOSSES and isinstance(chunk.X, np.ndarray):
        return _compiled_loss_gradient(chunk, loss, W, b, class_weight)
    Z, y = class_major_scores(chunk.X, W, b), loss_targets(chunk, loss)
    w = row_weights(chunk, class_weight)
    values = loss.value_and_gradient(Z if loss.labels == "classes" else Z[0], y)
    total, R = _apply_weights(*values, w)
    return LossGradient(total, multiply_thin(R, chunk.X), R.sum(axis=1, dtype=np.float64))


def loss_gradients_at_points(
    chunk: Chunk, masks: np.ndarray | None, states: list[tuple]
) -> list[LossGradient] | None:
    """`loss_gradient` of the same rows at several points: matrix products instead of vector ones.

    `masks` (points, n) says which rows count at which point, where not all do. None if the points
    differ in their loss or class weights, or if there is no faster way. See
    `tenfold.engine.lockstep`.
    """
    loss, _, _, class_weight = states[0]
    alike = all(s[0] == loss and s[3] is class_weight for s in states)
    if not alike or loss.labels == "classes" or not isinstance(chunk.X, np.ndarray):
        return None
    W, b = np.concatenate([s[1] for s in states]), np.concatenate([s[2] for s in states])
    w = row_weights(chunk, class_weight)
    weights = masks if w is None else w * (np.ones((len(W), 1)) if masks is None else masks)
    if loss == LogisticLoss():
        compiled = np.empty((0, 0)) if weights is None else weights.astype(np.float64)
        sums = logistic_gradient_sums_at_points(chunk.X, chunk.y, compiled, W, b)
    else:
        sums = _sums_at_points(chunk, loss, W, b, weights)
    losses, G, g = sums
    return [LossGradient(*parts) for parts in zip(losses, G[:, None], g[:, None], strict=True)]


def _sums_at_points(
    chunk: Chunk, loss: Loss, W: np.ndarray, b: np.ndarray, weights: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Losses (m,), gradients in the coefficients (m, p) and in the intercept (m,) at m points."""
    Z = W @ chunk.X.T
    Z += b[:, None]
    with np.errstate(over="ignore", invalid="ignore"):
        losses, R = loss.value_and_gradient(Z, loss_targets(chunk, loss))
    if weights is not None:
        losses, R = losses * weights, R * weights.astype(R.dtype, copy=False)
    return losses.sum(axis=1, dtype=np.float64), R @ chunk.X, R.sum(axis=1, dtype=np.float64)


loss_gradient = batched_by(loss_gradients_at_points)(loss_gradient)


def _compiled_loss_gradient(
    chunk: Chunk, loss: Loss, W: np.ndarray, b: np.ndarray, class_weight: np.ndarray | None
) -> LossGradient:
    """`loss_gradient` of one score in one compiled loop over dense rows."""
    weights = _compiled_weights(chunk, class_weight)
    total, g, in_intercept = _COMPILED_LOSSES[loss](chunk.X, chunk.y, weights, W[0], b[0])
    return LossGradient(total, g[None], np.array([in_intercept]))


def softmax_loss_gradient(
    chunk: Chunk, W: np.ndarray, b: np.ndarray, class_weight: np.ndarray | None
) -> LossGradient:
    """`loss_gradient` of softmax in one compiled loop over dense rows."""
    weights = _compiled_weights(chunk, class_weight)
    return LossGradient(*softmax_gradient_sums(chunk.X, chunk.y, weights, W, b))


@np.errstate(over="ignore", invalid="ignore")
def loss_hessian(
    chunk: Chunk, loss: Loss, W: np.ndarray, b: np.ndarray, class_weight: np.ndarray | None
) -> LossHessian:
    """Loss, gradient and Hessian of a chunk: sums over rows of curvature (x) [x 1][x 1]'."""
    Z, y = class_major_scores(chunk.X, W, b), loss_targets(chunk, loss)
    w = row_weights(chunk, class_weight)
    single = loss.labels != "classes"
    losses, R, curvature = loss.value_gradient_curvature(Z[0] if single else Z, y)
    total, R = _apply_weights(losses, R, w)
    curvature = curvature if w is None else curvature * w
    X = to_dense(chunk.X)
    gradient = np.column_stack([R @ X, R.sum(axis=1, dtype=np.float64)])
    if single:
        return LossHessian(total, gradient, weighted_gram(X, curvature)[None, :, None])
    m, q = len(W), X.shape[1] + 1
    H = np.empty((m, q, m, q))
    for i in range(m):
        for j in range(i + 1):
            H[i, :, j] = H[j, :, i] = _indefinite_weighted_gram(X, curvature[i, j])
    return LossHessian(total, gradient, H)


def hessian_vector_product(
    chunk: Chunk,
    loss: Loss,
    W: np.ndarray,
    b: np.ndarray,
    class_weight: np.ndarray | None,
    V: np.ndarray,
    c: np.ndarray,
) -> np.ndarray:
    """The Hessian of a chunk times the direction [V c], (m, p + 1)."""
    Z, D = class_major_scores(chunk.X, W, b), class_major_scores(chunk.X, V, c)
    w = row_weights(chunk, class_weight)
    if loss.labels != "classes":
        R = loss.curvature(Z[0], loss_targets(chunk, loss))[None] * D
    else:
        P = softmax_columns(Z)
        R = P * (D - (P * D).sum(axis=0))
    R = R if w is None else R * w.astype(R.dtype, copy=False)
    g = R @ chunk.X if isinstance(chunk.X, np.ndarray) else (chunk.X.T @ R.T).T
    return np.column_stack([g, R.sum(axis=1, dtype=np.float64)])


def weighted_gram(X: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Sum of weight [x 1][x 1]' for weights >= 0: A'A is symmetric, so BLAS computes half of it."""
    root = np.sqrt(weights)
    A = X * root[:, None].astype(X.dtype, copy=False)
    border = multiply_thin(root[None].astype(X.dtype, copy=False), A)[0]
    return _border_with_intercept(A.T @ A, border, weights)


def _indefinite_weighted_gram(X: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Sum of weight [x 1][x 1]' for weights of any sign."""
    A = X * weights[:, None].astype(X.dtype, copy=False)
    return _border_with_intercept(A.T @ X, A.sum(axis=0, dtype=np.float64), weights)


def _border_with_intercept(xx: np.ndarray, x: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The Hessian of [w b] from its blocks."""
    p = len(xx)
    H = np.empty((p + 1, p + 1))
    H[:p, :p] = xx
    H[:p, p] = H[p, :p] = x
    H[p, p] = weights.sum(dtype=np.float64)
    return H
