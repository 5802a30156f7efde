"""The mean loss of linear scores with class weights and an L2 penalty: value, gradient, Hessian."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.linear._base import sample_rows
from tenfold.linear._loss_gradients import (
    NO_WEIGHTS,
    hessian_vector_product,
    loss_gradient,
    loss_hessian,
    row_weights,
    softmax_loss_gradient,
)
from tenfold.linear._losses_numba import class_weight_sums
from tenfold.linear._thresholds import (
    SMALL_TABLE_ENTRIES,
    SMALL_TABLE_ROWS,
    SOFTMAX_LOOP_MAX_CLASSES,
)
from tenfold.math.losses import Loss, SoftmaxLoss


def compute_class_weight(
    class_weight: Any, classes: np.ndarray, totals: np.ndarray
) -> np.ndarray | None:
    """Weight of each class, or None where all are 1.

    Parameters
    ----------
    class_weight : dict, "balanced" or None
        Weights by label, 1 for labels that are not named; "balanced" gives all classes the same
        total.
    classes : (n_classes,) array
        Labels.
    totals : (n_classes,) array
        Total weight of the rows of each class.

    Examples
    --------
    >>> import numpy as np
    >>> classes, totals = np.array(["no", "yes"]), np.array([30.0, 10.0])
    >>> compute_class_weight("balanced", classes, totals).round(3).tolist()
    [0.667, 2.0]
    """
    if class_weight is None:
        return None
    if isinstance(class_weight, str):
        return totals.sum() / (len(totals) * np.where(totals > 0, totals, np.inf))
    unknown = set(class_weight) - set(classes.tolist())
    if unknown:
        raise ValueError(f"class_weight names {sorted(unknown)}, which are no labels of y")
    return np.array([class_weight.get(c, 1.0) for c in classes.tolist()])


def one_vs_rest_weights(class_weight: Any, classes: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Weights (m, 2) of the rows outside and inside of the class of each one-vs-rest score.

    Two classes have one score, that of the second. As in liblinear, `class_weight` applies to the
    rows inside alone if there are more than two.
    """
    k = len(classes)
    m = 1 if k == 2 else k
    weights = compute_class_weight(class_weight, classes, totals)
    weights = np.ones(k) if weights is None else np.asarray(weights, np.float64)
    outside = weights[:1] if m == 1 else np.ones(k)
    return np.column_stack([outside, weights[k - m :]])


class LinearObjective(NamedTuple):
    """Mean weighted loss + 1/2 sum of ridge_j theta_j^2, for rows theta of [w b].

    Attributes
    ----------
    rows : the data
    loss : a loss of `tenfold.math.losses`
    shape : (m, p + 1) shape of the parameters, the intercept last
    ridge : (p + 1,) L2 penalty of each column of parameters, mostly 0 for the intercept
    n : total weight, class weights included
    intercept : whether there is an intercept; else it keeps its initial value
    class_weight : (k,) weight of each class, or None
    repeated_rows : rows that whole weights stand for; None: those of the data
    """

    rows: Rows
    loss: Loss
    shape: tuple[int, int]
    ridge: np.ndarray
    n: float
    intercept: bool = True
    class_weight: np.ndarray | None = None
    repeated_rows: int | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows by which a method is chosen, the same for weights as for repeated rows."""
        return self.rows.n_rows if self.repeated_rows is None else self.repeated_rows

    @property
    def is_small(self) -> bool:
        """Whether the table is small: an iteration then costs little more than its overhead."""
        n, p = self.n_rows, self.rows.n_features
        return n <= SMALL_TABLE_ROWS and n * p <= SMALL_TABLE_ENTRIES

    def split_parameters(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients (m, p) and intercepts (m,) of a flat vector, in the dtype of the rows."""
        T = theta.reshape(self.shape).astype(self.rows.dtype)
        return T[:, :-1], T[:, -1]

    def value_and_gradient(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient, from one pass."""
        state = (*self.split_parameters(theta), self.class_weight)
        if self._uses_softmax_loop:
            s = self.rows.total(softmax_loss_gradient, *state)
        else:
            s = self.rows.total(loss_gradient, self.loss, *state)
        return self._with_penalty(theta, s.loss, np.column_stack([s.w, s.b]))

    @property
    def _uses_softmax_loop(self) -> bool:
        """Whether the compiled softmax loop is faster than BLAS."""
        few_classes = self.loss == SoftmaxLoss() and self.shape[0] <= SOFTMAX_LOOP_MAX_CLASSES
        return few_classes and not self.rows.sparse and not self.is_small

    def value_gradient_hessian(self, theta: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Value, gradient and Hessian, from one pass.

        Softmax does not change when all classes are shifted alike. The Hessian gets a ridge in
        these directions, so that it is regular and a Newton step does not move along them.
        """
        parameters = self.split_parameters(theta)
        s = self.rows.total(loss_hessian, self.loss, *parameters, self.class_weight)
        value, gradient = self._with_penalty(theta, s.loss, s.gradient)
        m, q = self.shape
        H = s.hessian.reshape(m * q, m * q) / self.n + np.diag(np.tile(self.ridge, m))
        if m > 1:
            H += np.kron(np.full((m, m), 1 / m), np.diag(H.diagonal().reshape(m, q).mean(axis=0)))
        if not self.intercept:
            fixed = np.arange(q - 1, m * q, q)
            H[fixed, :] = H[:, fixed] = 0.0
            H[fixed, fixed] = 1.0
        return value, gradient, H

    def hessian_product(self, theta: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """The Hessian times a direction, from one pass."""
        point, along = self.split_parameters(theta), self.split_parameters(direction)
        state = (self.loss, *point, self.class_weight, *along)
        H = self.rows.total(hessian_vector_product, *state) / self.n
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
        """The same objective on a sample of k rows, in memory."""
        rows = sample_rows(self.rows, k, seed)
        n = rows.total(total_weight, self.class_weight)
        return self._replace(rows=rows, n=n, repeated_rows=None)


def classification_objective(
    rows: Rows,
    loss: Loss,
    classes: np.ndarray,
    *,
    class_weight: Any,
    C: float,
    l1_ratio: float = 0.0,
    intercept: bool,
) -> LinearObjective:
    """Mean loss and L2 penalty of a classifier with scikit-learn's parameters.

    C sum of losses + (1 - l1_ratio) / 2 |w|^2, divided by C times the total weight. Losses of
    signs have one row of parameters, those of classes one per class.
    """
    k = len(classes)
    totals = rows.total(sum_class_weights, k)
    weights = compute_class_weight(class_weight, classes, totals)
    n = float(totals.sum() if weights is None else totals @ weights)
    ridge = np.full(rows.n_features + 1, mean_penalty(C, n) * (1 - l1_ratio))
    ridge[-1] = 0.0
    shape = (k if loss.labels == "classes" else 1, len(ridge))
    repeated = int(totals.sum()) if (totals == np.rint(totals)).all() else None
    return LinearObjective(rows, loss, shape, ridge, n, intercept, weights, repeated)


def mean_penalty(C: float, n: float) -> float:
    """Strength of the penalty beside the mean loss, where C multiplies the sum of n losses."""
    return 0.0 if np.isinf(C) else 1 / (C * n)


def total_weight(chunk: Chunk, class_weight: np.ndarray | None) -> float:
    """Weight of a chunk, class weights included."""
    w = row_weights(chunk, class_weight)
    return float(chunk.rows) if w is None else float(w.sum(dtype=np.float64))


def sum_class_weights(chunk: Chunk, k: int) -> np.ndarray:
    """Total weight of each of k classes in a chunk."""
    weights = NO_WEIGHTS if chunk.w is None else chunk.w.astype(np.float64, copy=False)
    return class_weight_sums(chunk.y, weights, k)
