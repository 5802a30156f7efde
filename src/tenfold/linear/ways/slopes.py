"""What a chunk says of a loss of linear scores: its sum, slopes and curvature.

Read in order: `slope` (and how many fits, or many classes, are done at once), `curve` with the
Hessian, `bent` with its product with a direction. Parameters are rows [w b]: one for a loss of one
score, k for softmax.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.linear.ways.score_leaves import logistic_places, logistic_sums, probit_sums, row_dots
from tenfold.linear.ways.softmax_leaves import softmax_sums
from tenfold.maths.losses import Logistic, Loss, Probit, class_shares
from tenfold.maths.moments import thin_product
from tenfold.rows import Chunk

NO_WEIGHTS = np.empty(0)


class Slope(NamedTuple):
    """Loss and its gradient, summed over rows."""

    loss: float
    w: np.ndarray  # (m, p)
    b: np.ndarray  # (m,)


class Curve(NamedTuple):
    """Loss, gradient and Hessian, summed over rows; the constants come last in each block."""

    loss: float
    slope: np.ndarray  # (m, p + 1)
    hessian: np.ndarray  # (m, p + 1, m, p + 1)


def scores(X: Any, W: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Class-major scores W x + b, (m, n)."""
    if isinstance(X, np.ndarray) and len(W) == 1:
        return row_dots(X, W[0], b[0])[None]
    Z = W @ X.T if isinstance(X, np.ndarray) else np.ascontiguousarray((X @ W.T).T)
    Z += b[:, None]
    return Z


def targets(chunk: Chunk, loss: Loss) -> np.ndarray:
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


def weighed(each: np.ndarray, R: np.ndarray, w: np.ndarray | None) -> tuple[float, np.ndarray]:
    """Total of losses (n,), and slopes (m, n) in the scores times the weights."""
    R = np.atleast_2d(R)
    if w is None:
        return float(each.sum(dtype=np.float64)), R
    return float(w.astype(np.float64) @ each), R * w.astype(R.dtype, copy=False)


# a step that was too long may overflow exp: the search for a shorter one sees no finite value
@np.errstate(over="ignore", invalid="ignore")
def slope(chunk: Chunk, loss: Loss, W: np.ndarray, b: np.ndarray, cost: np.ndarray | None) -> Slope:
    """Loss and gradient of a chunk."""
    if loss in AT_ONCE and isinstance(chunk.X, np.ndarray):
        return slope_at_once(chunk, loss, W, b, cost)
    Z, y, w = scores(chunk.X, W, b), targets(chunk, loss), row_weights(chunk, cost)
    total, R = weighed(*loss.both(Z if loss.labels == "classes" else Z[0], y), w)
    return Slope(total, thin_product(R, chunk.X), R.sum(axis=1, dtype=np.float64))


def slopes_together(
    chunk: Chunk, masks: np.ndarray | None, states: list[tuple]
) -> list[Slope] | None:
    """`slope` of the same rows at many places at once: thin products become thick ones.

    `masks` (places, n) says which rows count at which place, where not all do. The answer is None
    if the places have too little in common. See `tenfold.select.lanes`.
    """
    loss, _, _, cost = states[0]
    alike = all(s[0] == loss and s[3] is cost for s in states)
    if not alike or loss.labels == "classes" or not isinstance(chunk.X, np.ndarray):
        return None
    W, b = np.concatenate([s[1] for s in states]), np.concatenate([s[2] for s in states])
    w = row_weights(chunk, cost)
    counted = masks if w is None else w * (np.ones((len(W), 1)) if masks is None else masks)
    if loss == Logistic():
        own = np.empty((0, 0)) if counted is None else counted.astype(np.float64)
        sums = logistic_places(chunk.X, chunk.y, own, W, b)
    else:
        sums = _sums_at_places(chunk, loss, W, b, counted)
    losses, G, g = sums
    return [Slope(*parts) for parts in zip(losses, G[:, None], g[:, None], strict=True)]


def _sums_at_places(
    chunk: Chunk, loss: Loss, W: np.ndarray, b: np.ndarray, counted: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Losses (m,), slopes in the weights (m, p) and in the constants (m,) at m places."""
    Z = W @ chunk.X.T
    Z += b[:, None]
    with np.errstate(over="ignore", invalid="ignore"):
        each, R = loss.both(Z, targets(chunk, loss))
    if counted is not None:
        each, R = each * counted, R * counted.astype(R.dtype, copy=False)
    return each.sum(axis=1, dtype=np.float64), R @ chunk.X, R.sum(axis=1, dtype=np.float64)


slope.together = slopes_together  # pyright: ignore[reportFunctionMemberAccess]


AT_ONCE = {Logistic(): logistic_sums, Probit(): probit_sums}


def slope_at_once(
    chunk: Chunk, loss: Loss, W: np.ndarray, b: np.ndarray, cost: np.ndarray | None
) -> Slope:
    """The same in one compiled loop over dense rows."""
    w = row_weights(chunk, cost)
    own = NO_WEIGHTS if w is None else w.astype(np.float64, copy=False)
    total, g, slope_b = AT_ONCE[loss](chunk.X, chunk.y, own, W[0], b[0])
    return Slope(total, g[None], np.array([slope_b]))


def softmax_slope(chunk: Chunk, W: np.ndarray, b: np.ndarray, cost: np.ndarray | None) -> Slope:
    """`slope` of softmax in one compiled loop over dense rows."""
    w = row_weights(chunk, cost)
    own = NO_WEIGHTS if w is None else w.astype(np.float64, copy=False)
    return Slope(*softmax_sums(chunk.X, chunk.y, own, W, b))


@np.errstate(over="ignore", invalid="ignore")
def curve(chunk: Chunk, loss: Loss, W: np.ndarray, b: np.ndarray, cost: np.ndarray | None) -> Curve:
    """Loss, gradient and Hessian of a chunk: sums over rows of curvature (x) [x 1][x 1]'."""
    Z, y, w = scores(chunk.X, W, b), targets(chunk, loss), row_weights(chunk, cost)
    one = loss.labels != "classes"
    each, R, bend = loss.curved(Z[0] if one else Z, y)
    total, R = weighed(each, R, w)
    bend = bend if w is None else bend * w
    X = chunk.X if isinstance(chunk.X, np.ndarray) else chunk.X.toarray()
    gradient = np.column_stack([R @ X, R.sum(axis=1, dtype=np.float64)])
    if one:
        return Curve(total, gradient, square(X, bend)[None, :, None])
    m, q = len(W), X.shape[1] + 1
    H = np.empty((m, q, m, q))
    for i in range(m):
        for j in range(i + 1):
            H[i, :, j] = H[j, :, i] = product(X, bend[i, j])
    return Curve(total, gradient, H)


def bent(
    chunk: Chunk,
    loss: Loss,
    W: np.ndarray,
    b: np.ndarray,
    cost: np.ndarray | None,
    V: np.ndarray,
    c: np.ndarray,
) -> np.ndarray:
    """The Hessian of a chunk times the direction [V c], (m, p + 1)."""
    Z, D, w = scores(chunk.X, W, b), scores(chunk.X, V, c), row_weights(chunk, cost)
    if loss.labels != "classes":
        R = loss.curvature(Z[0], targets(chunk, loss))[None] * D
    else:
        P = class_shares(Z)
        R = P * (D - (P * D).sum(axis=0))
    R = R if w is None else R * w.astype(R.dtype, copy=False)
    g = R @ chunk.X if isinstance(chunk.X, np.ndarray) else (chunk.X.T @ R.T).T
    return np.column_stack([g, R.sum(axis=1, dtype=np.float64)])


def square(X: np.ndarray, bend: np.ndarray) -> np.ndarray:
    """Sum of bend [x 1][x 1]' for bends that are not negative: BLAS then makes half of it only."""
    root = np.sqrt(bend)
    A = X * root[:, None].astype(X.dtype, copy=False)
    return bordered(A.T @ A, thin_product(root[None].astype(X.dtype, copy=False), A)[0], bend)


def product(X: np.ndarray, bend: np.ndarray) -> np.ndarray:
    """Sum of bend [x 1][x 1]' for bends of any sign."""
    A = X * bend[:, None].astype(X.dtype, copy=False)
    return bordered(A.T @ X, A.sum(axis=0, dtype=np.float64), bend)


def bordered(xx: np.ndarray, x: np.ndarray, bend: np.ndarray) -> np.ndarray:
    """The Hessian of [w b] from its parts."""
    p = len(xx)
    H = np.empty((p + 1, p + 1))
    H[:p, :p] = xx
    H[:p, p] = H[p, :p] = x
    H[p, p] = bend.sum(dtype=np.float64)
    return H
