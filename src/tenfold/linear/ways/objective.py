"""Mean loss of linear scores plus a square penalty, as solvers see it: a function of one vector.

Read in order: `Objective`, `weigh`, `preconditioner`. What a pass computes is in `slopes`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tenfold.linear.ways.score_leaves import label_weights
from tenfold.linear.ways.slopes import NO_WEIGHTS, bent, curve, row_weights, slope, softmax_slope
from tenfold.linear.ways.starts import sampled
from tenfold.maths.losses import Loss, Softmax
from tenfold.maths.moments import Moments
from tenfold.rows import Chunk, Rows

FEW_CLASSES = 24  # up to which our own loop beats BLAS


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
