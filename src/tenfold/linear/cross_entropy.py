"""Cross-entropy of linear scores, as solvers see it.

Read in order: the two leaves (`slope`, and `curve` with the Hessian), `Penalised` (the objective),
`preconditioner`. Parameters are rows [w b]: one for two classes, k for k.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.maths.losses import logistic_loss, softmax_loss
from tenfold.maths.moments import Moments
from tenfold.rows import Chunk, Rows


class Slope(NamedTuple):
    """Loss and its gradient, summed over rows."""

    loss: float
    w: np.ndarray  # (m, p)
    b: np.ndarray  # (m,)


class Curve(NamedTuple):
    """Loss, gradient and Hessian, summed over rows."""

    loss: float
    slope: np.ndarray  # (m, p + 1)
    hessian: np.ndarray  # (m, p + 1, m, p + 1)


def scores(X: Any, W: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Class-major scores W x + b, (m, n)."""
    Z = W @ X.T if isinstance(X, np.ndarray) else np.ascontiguousarray((X @ W.T).T)
    Z += b[:, None]
    return Z


def losses(chunk: Chunk, W: np.ndarray, b: np.ndarray, cost: np.ndarray | None) -> tuple:
    """Total loss and weighted slopes (m, n) in the scores; `cost` weighs the classes."""
    Z = scores(chunk.X, W, b)
    if len(W) == 1:
        loss, slope = logistic_loss(Z[0], chunk.y)
        slope = slope[None]
    else:
        loss, slope = softmax_loss(Z, chunk.y)
    w = row_weights(chunk, cost)
    if w is None:
        return float(loss.sum(dtype=np.float64)), slope
    return float(w.astype(np.float64) @ loss), slope * w.astype(slope.dtype, copy=False)


def row_weights(chunk: Chunk, cost: np.ndarray | None) -> np.ndarray | None:
    """Weights of the rows times the cost of their classes; None where all are 1."""
    if cost is None:
        return chunk.w
    own = np.take(cost, chunk.y)
    return own if chunk.w is None else own * chunk.w


def slope(chunk: Chunk, W: np.ndarray, b: np.ndarray, cost: np.ndarray | None) -> Slope:
    """Loss and gradient of a chunk."""
    loss, R = losses(chunk, W, b, cost)
    g = R @ chunk.X if isinstance(chunk.X, np.ndarray) else (chunk.X.T @ R.T).T
    return Slope(loss, g, R.sum(axis=1, dtype=np.float64))


def curve(chunk: Chunk, W: np.ndarray, b: np.ndarray, cost: np.ndarray | None) -> Curve:
    """Loss, gradient and Hessian of a chunk: sums over rows of (P - pp') (x) [x 1][x 1]'."""
    loss, R = losses(chunk, W, b, cost)
    w = row_weights(chunk, cost)
    X = chunk.X if isinstance(chunk.X, np.ndarray) else chunk.X.toarray()
    A = np.hstack([X, np.ones((len(X), 1), X.dtype)])
    P = R if w is None else R / np.where(w > 0, w, 1)
    m = len(W)
    own = np.zeros(P.shape, P.dtype)
    own[:] = np.arange(m)[:, None] == chunk.y if m > 1 else chunk.y
    P = P + own
    H = np.empty((m, A.shape[1], m, A.shape[1]))
    for i in range(m):
        for j in range(i + 1):
            bend = P[i] * ((i == j) - P[j])
            bend = bend if w is None else bend * w
            H[i, :, j] = (A * bend[:, None].astype(A.dtype, copy=False)).T @ A
            H[j, :, i] = H[i, :, j].T
    return Curve(loss, R @ A, H)


class Weighed(NamedTuple):
    """Total weight, of all rows and of each class."""

    by_class: np.ndarray


def weigh(chunk: Chunk, k: int) -> Weighed:
    """Weight of each class in a chunk."""
    by_class = np.zeros(k)
    np.add.at(by_class, chunk.y, chunk.weights())
    return Weighed(by_class)


class Penalised(NamedTuple):
    """Mean loss + alpha/2 |w|^2 as solvers see it: a function of one flat vector."""

    rows: Rows
    shape: tuple[int, int]  # (m, p + 1)
    alpha: float
    n: float
    intercept: bool
    cost: np.ndarray | None

    def parts(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weights (m, p) and constants (m,) of a flat vector, in the dtype of the rows."""
        T = theta.reshape(self.shape).astype(self.rows.dtype)
        return T[:, :-1], T[:, -1]

    def slope(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient."""
        s = self.rows.total(slope, *self.parts(theta), self.cost)
        return self._with_penalty(theta, s.loss, np.column_stack([s.w, s.b]))

    def curve(self, theta: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Value, gradient and Hessian, without the flat directions of softmax."""
        s = self.rows.total(curve, *self.parts(theta), self.cost)
        value, gradient = self._with_penalty(theta, s.loss, s.slope)
        m, q = self.shape
        ridge = np.broadcast_to(np.append(np.full(q - 1, self.alpha), 0.0), (m, q))
        H = s.hessian.reshape(m * q, m * q) / self.n + np.diag(ridge.ravel())
        if m > 1:  # equal shifts of all classes change nothing: hold them still
            H += np.kron(np.full((m, m), 1 / m), np.diag(H.diagonal().reshape(m, q).mean(axis=0)))
        if not self.intercept:
            fixed = np.arange(q - 1, m * q, q)
            H[fixed, :] = H[:, fixed] = 0.0
            H[fixed, fixed] = 1.0
        return value, gradient, H

    def _with_penalty(
        self, theta: np.ndarray, loss: float, gradient: np.ndarray
    ) -> tuple[float, np.ndarray]:
        T = theta.reshape(self.shape)
        gradient = gradient / self.n
        gradient[:, :-1] += self.alpha * T[:, :-1]
        if not self.intercept:
            gradient[:, -1] = 0.0
        return loss / self.n + 0.5 * self.alpha * float((T[:, :-1] ** 2).sum()), gradient.ravel()


def preconditioner(f: Penalised, s: Moments) -> Any:
    """Multiply by the inverse of the Hessian at zero, ((I - 11'/m) / m) (x) E[xx'] + alpha.

    It knows how the columns are scaled and correlated, which is what slows L-BFGS down.
    """
    from scipy.linalg import cho_factor, cho_solve

    m, q = f.shape
    mean = np.append(s.mean, 1.0)
    M = np.multiply.outer(mean, mean)
    M[:-1, :-1] += s.scatter / s.n
    M *= 0.25 if m == 1 else 1 / m
    M[np.diag_indices(q - 1)] += f.alpha
    if not f.intercept:
        M[-1, :] = M[:, -1] = 0.0
        M[-1, -1] = 1.0
    M[np.diag_indices(q)] += 1e-10 * M.trace() / q  # dependent columns
    factor = cho_factor(M, lower=True, check_finite=False)
    return lambda v: cho_solve(factor, v.reshape(m, q).T, check_finite=False).T.ravel()
