"""Chunk functions for a loss of linear scores: its sum, gradient, Hessian and Hessian-vector product.

Read in order: `loss_gradient` (and how many fits, or many classes, are done at once), `loss_hessian` with the
Hessian, `hessian_vector_product` with its product with a direction. Parameters are rows [w b]: one for a loss of one
score, k for softmax.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.linear._logistic_numba import (
    logistic_gradient_sums,
    logistic_gradient_sums_at_points,
    probit_gradient_sums,
    row_dots,
)
from tenfold.linear._softmax_numba import softmax_gradient_sums
from tenfold.math.losses import LogisticLoss, Loss, ProbitLoss, softmax_columns
from tenfold.stats.moments import multiply_thin

NO_WEIGHTS = np.empty(0)


class LossGradient(NamedTuple):
    """Loss and its gradient, summed over rows."""

    loss: float
    w: np.ndarray  # (m, p)
    b: np.ndarray  # (m,)


class LossHessian(NamedTuple):
    """Loss, gradient and Hessian, summed over rows; the constants come last in each block."""

    loss: float
    slope: np.ndarray  # (m, p + 1)
    hessian: np.ndarray  # (m, p + 1, m, p + 1)


def class_major_scores(X: Any, W: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Class-major scores W x + b, (m, n)."""
    if isinstance(X, np.ndarray) and len(W) == 1:
        return row_dots(X, W[0], b[0])[None]
    Z = W @ X.T if isinstance(X, np.ndarray) else np.ascontiguousarray((X @ W.T).T)
    Z += b[:, None]
    return Z


def loss_targets(chunk: Chunk, loss: Loss) -> np.ndarray:
    """The target as the loss wants it: signs are made from the numbers of two classes."""
    if loss.labels == "signs":
        return (2 * chunk.y - 1).astype(chunk.X.dtype)
    if loss.labels == "classes":
        return chunk.y
    return chunk.y.astype(chunk.X.dtype, copy=False)


def row_weights(chunk: Chunk, cost: np.ndarray | None) -> np.ndarray | None:
    """Weights of the rows times the cost of their classes; None where all are 1."""
    if cost is None:
        return chunk.w
    own = np.take(cost, chunk.y)
    return own if chunk.w is None else own * chunk.w


def _apply_weights(
    each: np.ndarray, R: np.ndarray, w: np.ndarray | None
) -> tuple[float, np.ndarray]:
    """Total of losses (n,), and slopes (m, n) in the scores times the weights."""
    R = np.atleast_2d(R)
    if w is None:
        return float(each.sum(dtype=np.float64)), R
    return float(w.astype(np.float64) @ each), R * w.astype(R.dtype, copy=False)


# a step that was too long may overflow exp: the search for a shorter one sees no finite value
@np.errstate(over="ignore", invalid="ignore")
def loss_gradient(
    chunk: Chunk, loss: Loss, W: np.ndarray, b: np.ndarray, cost: np.ndarray | None
) -> LossGradient:
    """Loss and gradient of a chunk."""
    if loss in _COMPILED_LOSSES and isinstance(chunk.X, np.ndarray):
        return _compiled_loss_gradient(chunk, loss, W, b, cost)
    Z, y, w = class_major_scores(chunk.X, W, b), loss_targets(chunk, loss), row_weights(chunk, cost)
    total, R = _apply_weights(
        *loss.value_and_gradient(Z if loss.labels == "classes" else Z[0], y), w
    )
    return LossGradient(total, multiply_thin(R, chunk.X), R.sum(axis=1, dtype=np.float64))


def loss_gradients_at_points(
    chunk: Chunk, masks: np.ndarray | None, states: list[tuple]
) -> list[LossGradient] | None:
    """`loss_gradient` of the same rows at many places at once: thin products become thick ones.

    `masks` (places, n) says which rows count at which place, where not all do. The answer is None
    if the places have too little in common. See `tenfold.engine.lockstep`.
    """
    loss, _, _, cost = states[0]
    alike = all(s[0] == loss and s[3] is cost for s in states)
    if not alike or loss.labels == "classes" or not isinstance(chunk.X, np.ndarray):
        return None
    W, b = np.concatenate([s[1] for s in states]), np.concatenate([s[2] for s in states])
    w = row_weights(chunk, cost)
    counted = masks if w is None else w * (np.ones((len(W), 1)) if masks is None else masks)
    if loss == LogisticLoss():
        own = np.empty((0, 0)) if counted is None else counted.astype(np.float64)
        sums = logistic_gradient_sums_at_points(chunk.X, chunk.y, own, W, b)
    else:
        sums = _sums_at_points(chunk, loss, W, b, counted)
    losses, G, g = sums
    return [LossGradient(*parts) for parts in zip(losses, G[:, None], g[:, None], strict=True)]


def _sums_at_points(
    chunk: Chunk, loss: Loss, W: np.ndarray, b: np.ndarray, counted: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Losses (m,), slopes in the weights (m, p) and in the constants (m,) at m places."""
    Z = W @ chunk.X.T
    Z += b[:, None]
    with np.errstate(over="ignore", invalid="ignore"):
        each, R = loss.value_and_gradient(Z, loss_targets(chunk, loss))
    if counted is not None:
        each, R = each * counted, R * counted.astype(R.dtype, copy=False)
    return each.sum(axis=1, dtype=np.float64), R @ chunk.X, R.sum(axis=1, dtype=np.float64)


loss_gradient.together = loss_gradients_at_points  # pyright: ignore[reportFunctionMemberAccess]


_COMPILED_LOSSES = {LogisticLoss(): logistic_gradient_sums, ProbitLoss(): probit_gradient_sums}


def _compiled_loss_gradient(
    chunk: Chunk, loss: Loss, W: np.ndarray, b: np.ndarray, cost: np.ndarray | None
) -> LossGradient:
    """The same in one compiled loop over dense rows."""
    w = row_weights(chunk, cost)
    own = NO_WEIGHTS if w is None else w.astype(np.float64, copy=False)
    total, g, slope_b = _COMPILED_LOSSES[loss](chunk.X, chunk.y, own, W[0], b[0])
    return LossGradient(total, g[None], np.array([slope_b]))


def softmax_loss_gradient(
    chunk: Chunk, W: np.ndarray, b: np.ndarray, cost: np.ndarray | None
) -> LossGradient:
    """`loss_gradient` of softmax in one compiled loop over dense rows."""
    w = row_weights(chunk, cost)
    own = NO_WEIGHTS if w is None else w.astype(np.float64, copy=False)
    return LossGradient(*softmax_gradient_sums(chunk.X, chunk.y, own, W, b))


@np.errstate(over="ignore", invalid="ignore")
def loss_hessian(
    chunk: Chunk, loss: Loss, W: np.ndarray, b: np.ndarray, cost: np.ndarray | None
) -> LossHessian:
    """Loss, gradient and Hessian of a chunk: sums over rows of curvature (x) [x 1][x 1]'."""
    Z, y, w = class_major_scores(chunk.X, W, b), loss_targets(chunk, loss), row_weights(chunk, cost)
    one = loss.labels != "classes"
    each, R, bend = loss.value_gradient_curvature(Z[0] if one else Z, y)
    total, R = _apply_weights(each, R, w)
    bend = bend if w is None else bend * w
    X = chunk.X if isinstance(chunk.X, np.ndarray) else chunk.X.toarray()
    gradient = np.column_stack([R @ X, R.sum(axis=1, dtype=np.float64)])
    if one:
        return LossHessian(total, gradient, weighted_gram(X, bend)[None, :, None])
    m, q = len(W), X.shape[1] + 1
    H = np.empty((m, q, m, q))
    for i in range(m):
        for j in range(i + 1):
            H[i, :, j] = H[j, :, i] = _indefinite_weighted_gram(X, bend[i, j])
    return LossHessian(total, gradient, H)


def hessian_vector_product(
    chunk: Chunk,
    loss: Loss,
    W: np.ndarray,
    b: np.ndarray,
    cost: np.ndarray | None,
    V: np.ndarray,
    c: np.ndarray,
) -> np.ndarray:
    """The Hessian of a chunk times the direction [V c], (m, p + 1)."""
    Z, D, w = (
        class_major_scores(chunk.X, W, b),
        class_major_scores(chunk.X, V, c),
        row_weights(chunk, cost),
    )
    if loss.labels != "classes":
        R = loss.curvature(Z[0], loss_targets(chunk, loss))[None] * D
    else:
        P = softmax_columns(Z)
        R = P * (D - (P * D).sum(axis=0))
    R = R if w is None else R * w.astype(R.dtype, copy=False)
    g = R @ chunk.X if isinstance(chunk.X, np.ndarray) else (chunk.X.T @ R.T).T
    return np.column_stack([g, R.sum(axis=1, dtype=np.float64)])


def weighted_gram(X: np.ndarray, bend: np.ndarray) -> np.ndarray:
    """Sum of bend [x 1][x 1]' for bends that are not negative: BLAS then makes half of it only."""
    root = np.sqrt(bend)
    A = X * root[:, None].astype(X.dtype, copy=False)
    return _border_with_intercept(
        A.T @ A, multiply_thin(root[None].astype(X.dtype, copy=False), A)[0], bend
    )


def _indefinite_weighted_gram(X: np.ndarray, bend: np.ndarray) -> np.ndarray:
    """Sum of bend [x 1][x 1]' for bends of any sign."""
    A = X * bend[:, None].astype(X.dtype, copy=False)
    return _border_with_intercept(A.T @ X, A.sum(axis=0, dtype=np.float64), bend)


def _border_with_intercept(xx: np.ndarray, x: np.ndarray, bend: np.ndarray) -> np.ndarray:
    """The Hessian of [w b] from its parts."""
    p = len(xx)
    H = np.empty((p + 1, p + 1))
    H[:p, :p] = xx
    H[:p, p] = H[p, :p] = x
    H[p, p] = bend.sum(dtype=np.float64)
    return H
