"""The mean loss of linear scores with class weights and an L2 penalty: value, gradient and Hessian."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.linear._base import sample_rows
from tenfold.linear._logistic_numba import class_weight_sums
from tenfold.linear._loss_gradients import (
    NO_WEIGHTS,
    hessian_vector_product,
    loss_gradient,
    loss_hessian,
    row_weights,
    softmax_loss_gradient,
)
from tenfold.math.losses import Loss, SoftmaxLoss


def compute_class_weight(
    class_weight: Any, classes: np.ndarray, weight: np.ndarray
) -> np.ndarray | None:
    """Weight of each class, or None where all are 1.

    Parameters
    ----------
    class_weight : dict, "balanced" or None
        Weights by label, 1 for labels that are not named; "balanced" gives all classes the same
        total.
    classes : (k,) array
        Labels.
    weight : (k,) array
        Total weight of the rows of each class.

    Examples
    --------
    >>> import numpy as np
    >>> compute_class_weight("balanced", np.array(["no", "yes"]), np.array([30.0, 10.0])).round(
    ...     3
    ... ).tolist()
    [0.667, 2.0]
    """
    if class_weight is None:
        return None
    if isinstance(class_weight, str):
        return weight.sum() / (len(weight) * np.where(weight > 0, weight, np.inf))
    unknown = set(class_weight) - set(classes.tolist())
    if unknown:
        raise ValueError(f"class_weight names {sorted(unknown)}, which are no labels of y")
    return np.array([class_weight.get(c, 1.0) for c in classes.tolist()])


SOFTMAX_LOOP_MAX_CLASSES = 24  # up to which our own loop beats BLAS


class LinearObjective(NamedTuple):
    """Mean weighted loss + 1/2 sum of ridge_j theta_j^2, for rows theta of [w b].

    Attributes
    ----------
    rows : the data
    loss : a loss of `tenfold.math.losses`
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
            s = self.rows.total(softmax_loss_gradient, *state)
        else:
            s = self.rows.total(loss_gradient, self.loss, *state)
        return self._with_penalty(theta, s.loss, np.column_stack([s.w, s.b]))

    @property
    def _softmax_of_many_rows(self) -> bool:
        """Whether the compiled loop pays: on a table of one chunk it saves less than it costs."""
        few_classes = self.loss == SoftmaxLoss() and self.shape[0] <= SOFTMAX_LOOP_MAX_CLASSES
        return few_classes and not self.rows.sparse and self.rows.n_rows > self.rows.source.grid

    def curve(self, theta: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Value, gradient and Hessian, from one pass; flat directions of softmax are held still."""
        s = self.rows.total(loss_hessian, self.loss, *self.parts(theta), self.cost)
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
        H = self.rows.total(hessian_vector_product, self.loss, *at, self.cost, *along) / self.n
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

    def on_sample(self, k: int, seed: int) -> LinearObjective:
        """The same objective on k of the rows, in memory: a cheap place to begin."""
        rows = sample_rows(self.rows, k, seed)
        return self._replace(rows=rows, n=rows.total(_total_weight, self.cost))


def _total_weight(chunk: Chunk, cost: np.ndarray | None) -> float:
    """Weight of a chunk, with the cost of its classes."""
    w = row_weights(chunk, cost)
    return float(chunk.rows) if w is None else float(w.sum(dtype=np.float64))


def sum_class_weights(chunk: Chunk, k: int) -> np.ndarray:
    """Weight of each of k classes in a chunk."""
    own = NO_WEIGHTS if chunk.w is None else chunk.w.astype(np.float64, copy=False)
    return class_weight_sums(chunk.y, own, k)
