"""Mean loss of linear scores plus a square penalty, as solvers see it: a function of one vector.

Read in order: the two leaves (`slope`, and `curve` with the Hessian), `Objective`, `sampled`,
`preconditioner`. Parameters are rows [w b]: one for a loss of one score, k for softmax.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tenfold.linear.ways.score_leaves import (
    label_weights,
    logistic_places,
    logistic_sums,
    probit_sums,
    row_dots,
)
from tenfold.linear.ways.softmax_leaves import softmax_sums
from tenfold.linear.ways.starts import sampled
from tenfold.maths.losses import Logistic, Loss, Probit, Softmax, class_shares
from tenfold.maths.moments import Moments, thin_product
from tenfold.rows import Chunk, Rows

NO_WEIGHTS = np.empty(0)
FEW_CLASSES = 24  # up to which our own loop beats BLAS


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


class Objective(NamedTuple):
    """Mean weighted loss + 1/2 sum of ridge_j theta_j^2, for rows theta of [w b].

    Attributes
    ----------
    rows : the data
    loss : a loss of `tenfold.maths.losses`
    shape : (m, p + 1) rows of parameters, constants last
    ridge : (p + 1,) penalty on the squares of each column of parameters, mostly 0 for the constant
    n : total weight, of rows times the cost of their classes
    intercept : whether there are constants; else they stay where they start
    cost : (k,) weight of each class, or None
    """

    rows: Rows
    loss: Loss
    shape: tuple[int, int]
    ridge: np.ndarray
    n: float
    intercept: bool = True
    cost: np.ndarray | None = None

    def parts(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weights (m, p) and constants (m,) of a flat vector, in the dtype of the rows."""
        T = theta.reshape(self.shape).astype(self.rows.dtype)
        return T[:, :-1], T[:, -1]

    def slope(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient, from one pass."""
        state = (*self.parts(theta), self.cost)
        if self._softmax_of_many_rows:
            s = self.rows.total(softmax_slope, *state)
        else:
            s = self.rows.total(slope, self.loss, *state)
        return self._with_penalty(theta, s.loss, np.column_stack([s.w, s.b]))

    @property
    def _softmax_of_many_rows(self) -> bool:
        """Whether the compiled loop pays: on a table of one chunk it saves less than it costs."""
        few_classes = self.loss == Softmax() and self.shape[0] <= FEW_CLASSES
        return few_classes and not self.rows.sparse and self.rows.n_rows > self.rows.source.grid

    def curve(self, theta: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Value, gradient and Hessian, from one pass; flat directions of softmax are held still."""
        s = self.rows.total(curve, self.loss, *self.parts(theta), self.cost)
        value, gradient = self._with_penalty(theta, s.loss, s.slope)
        m, q = self.shape
        H = s.hessian.reshape(m * q, m * q) / self.n + np.diag(np.tile(self.ridge, m))
        if m > 1:  # equal shifts of all classes change nothing
            H += np.kron(np.full((m, m), 1 / m), np.diag(H.diagonal().reshape(m, q).mean(axis=0)))
        if not self.intercept:
            fixed = np.arange(q - 1, m * q, q)
            H[fixed, :] = H[:, fixed] = 0.0
            H[fixed, fixed] = 1.0
        return value, gradient, H

    def bent(self, theta: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """The Hessian times a direction, from one pass."""
        at, along = self.parts(theta), self.parts(direction)
        H = self.rows.total(bent, self.loss, *at, self.cost, *along) / self.n
        H += self.ridge * direction.reshape(self.shape)
        if not self.intercept:
            H[:, -1] = direction.reshape(self.shape)[:, -1]
        return H.ravel()

    def _with_penalty(
        self, theta: np.ndarray, loss: float, gradient: np.ndarray
    ) -> tuple[float, np.ndarray]:
        T = theta.reshape(self.shape)
        gradient = gradient / self.n + self.ridge * T
        if not self.intercept:
            gradient[:, -1] = 0.0
        return loss / self.n + 0.5 * float((self.ridge * T**2).sum()), gradient.ravel()

    def on_sample(self, k: int, seed: int) -> Objective:
        """The same objective on k of the rows, in memory: a cheap place to begin."""
        rows = sampled(self.rows, k, seed)
        return self._replace(rows=rows, n=rows.total(total_weight, self.cost))


def total_weight(chunk: Chunk, cost: np.ndarray | None) -> float:
    """Weight of a chunk, with the cost of its classes."""
    w = row_weights(chunk, cost)
    return float(chunk.rows) if w is None else float(w.sum(dtype=np.float64))


def weigh(chunk: Chunk, k: int) -> np.ndarray:
    """Weight of each of k classes in a chunk."""
    own = NO_WEIGHTS if chunk.w is None else chunk.w.astype(np.float64, copy=False)
    return label_weights(chunk.y, own, k)


def preconditioner(f: Objective, s: Moments) -> Callable[[np.ndarray], np.ndarray]:
    """Multiply by the inverse of about the Hessian at zero, ((I - 11'/m) / m) (x) E[xx'] + ridge.

    It knows how the columns are scaled and correlated, which is what slows L-BFGS down.
    """
    from scipy.linalg import cho_factor, cho_solve

    m, q = f.shape
    mean = np.append(s.mean, 1.0)
    M = np.multiply.outer(mean, mean)
    M[:-1, :-1] += s.scatter / s.n
    M *= 0.25 if m == 1 else 1 / m
    M[np.diag_indices(q)] += f.ridge
    if not f.intercept:
        M[-1, :] = M[:, -1] = 0.0
        M[-1, -1] = 1.0
    M[np.diag_indices(q)] += 1e-10 * M.trace() / q  # dependent columns
    factor = cho_factor(M, lower=True, check_finite=False)
    return lambda v: cho_solve(factor, v.reshape(m, q).T, check_finite=False).T.ravel()
