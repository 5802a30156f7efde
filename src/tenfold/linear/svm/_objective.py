r"""The objective of linear SVMs, its gradient, and the duality gap that certifies a solution.

One problem for each of m scores (one for two classes, else one class against the rest each):

.. math:: \min_{w, b} \tfrac12 \lVert w \rVert^2 + \tfrac{\kappa}{2} b^2
          + \sum_i c_i \, \ell(y_i (w \cdot x_i + b)),
          \qquad \ell(z) = \max(0, 1 - z) \text{ or its square}

(or the absolute values of w and b in place of their squares). Every multiplier alpha_i >= 0, at
most c_i for the hinge, gives a lower bound, and the gap to it is the certificate.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.linear._loss_gradients import class_major_scores


class SVMObjective(NamedTuple):
    """The objective of m scores, part of the state of chunk functions.

    Attributes
    ----------
    labels : (m,) number of the class of each score; of two classes, the second alone
    cost : (m, 2) cost of a row outside and inside of each class: C times the class's weight
    squared : whether the loss is the square of the hinge
    l1 : whether the penalty takes absolute values
    intercept : whether there are intercepts b
    scaling : value of the constant feature, as in liblinear; infinite: b has no penalty
    """

    labels: np.ndarray
    cost: np.ndarray
    squared: bool
    l1: bool
    intercept: bool
    scaling: float

    @property
    def has_free_intercept(self) -> bool:
        """Whether there are intercepts without a penalty."""
        return self.intercept and np.isinf(self.scaling)

    @property
    def ridge(self) -> float:
        """The penalty on b^2/2."""
        return 0.0 if self.l1 else self.scaling**-2

    @property
    def is_nonsmooth(self) -> bool:
        """Whether gradients jump: single precision is too coarse near the minimum then."""
        return self.l1 or not self.squared

    def eps(self, dtype: np.dtype) -> float:
        """Relative precision of the products of rows of a dtype, see `to_double`."""
        return float(np.finfo(np.float64 if self.is_nonsmooth else dtype).eps)

    def penalty(self, T: np.ndarray) -> np.ndarray:
        """Penalty of each row of [w b]."""
        if self.l1:
            return np.abs(T[:, :-1]).sum(axis=1) + np.abs(T[:, -1]) / self.scaling
        return 0.5 * ((T[:, :-1] ** 2).sum(axis=1) + self.ridge * T[:, -1] ** 2)


class DualSums(NamedTuple):
    """Losses and multipliers of rows, the latter separately outside and inside of each class.

    Attributes
    ----------
    loss : (m,) total cost of the losses
    linear : (m, 2) sums of the multipliers
    quadratic : (m, 2) sums of their squares over four times the cost, for the squared hinge
    u : (m, 2, p + 1) sums of multiplier times sign times [x 1]
    slack : (m,) largest `_complementary_slackness`
    """

    loss: np.ndarray
    linear: np.ndarray
    quadratic: np.ndarray
    u: np.ndarray
    slack: np.ndarray

    def merge(self, other: DualSums) -> DualSums:
        loss, linear, quadratic, u = (a + b for a, b in zip(self[:4], other[:4], strict=True))
        return DualSums(loss, linear, quadratic, u, np.maximum(self.slack, other.slack))


class DualityCertificate(NamedTuple):
    """How far a solution may be from the minimum, which is at least `dual`.

    Attributes
    ----------
    primal : (m,) the objective of each score
    dual : (m,) its lower bound
    gap : (m,) their difference: 0 at the minimum
    slackness : (m,) largest product of a multiplier and the slack of its constraint: likewise
    """

    primal: np.ndarray
    dual: np.ndarray
    gap: np.ndarray
    slackness: np.ndarray

    @property
    def objective_and_gap(self) -> tuple[np.ndarray, np.ndarray]:
        """Objectives and gaps."""
        return self.primal, self.gap


def to_double(chunk: Chunk, problem: SVMObjective) -> Chunk:
    """The chunk in double precision, where the problem needs it."""
    if not problem.is_nonsmooth:
        return chunk
    return chunk._replace(X=chunk.X.astype(np.float64, copy=False))


def signs_and_costs(chunk: Chunk, problem: SVMObjective) -> tuple[np.ndarray, np.ndarray]:
    """Signs and costs of the rows of a chunk, (m, n), in float64."""
    inside = chunk.y == problem.labels[:, None]
    cost = np.where(inside, problem.cost[:, 1:], problem.cost[:, :1])
    return np.where(inside, 1.0, -1.0), cost if chunk.w is None else cost * chunk.w


def margin_violations(chunk: Chunk, T: np.ndarray, sign: np.ndarray) -> np.ndarray:
    """1 - y (w x + b), (m, n), computed in the dtype of the rows."""
    T = T.astype(chunk.X.dtype, copy=False)
    return 1.0 - sign * class_major_scores(chunk.X, T[:, :-1], T[:, -1])


def hinge_loss(chunk: Chunk, problem: SVMObjective, T: np.ndarray) -> np.ndarray:
    """Total cost of the losses of rows [w b] = T, (m,)."""
    chunk = to_double(chunk, problem)
    sign, cost = signs_and_costs(chunk, problem)
    hinge = np.maximum(margin_violations(chunk, T, sign), 0.0)
    return (cost * (hinge**2 if problem.squared else hinge)).sum(axis=1)


def dual_sums(
    chunk: Chunk, problem: SVMObjective, T: np.ndarray, alpha: np.ndarray | None, width: np.ndarray
) -> DualSums:
    """Losses of rows [w b] = T, and sums of their multipliers.

    Without alpha (m, n) the multipliers are the derivatives of the loss, the hinge smoothed over
    widths.
    """
    chunk = to_double(chunk, problem)
    sign, cost = signs_and_costs(chunk, problem)
    h = margin_violations(chunk, T, sign)
    if alpha is None:
        a = primal_multipliers(problem, h, cost, width[:, None])
    else:
        a = alpha[:, chunk.first : chunk.first + chunk.rows]
    squares = a**2 / np.where(cost > 0, 4 * cost, np.inf) if problem.squared else 0 * a
    sides = [sign < 0, sign > 0]
    return DualSums(
        hinge_loss(chunk, problem, T),
        np.stack([(a * side).sum(axis=1) for side in sides], axis=1),
        np.stack([(squares * side).sum(axis=1) for side in sides], axis=1),
        np.stack([weighted_row_sums(chunk, a * sign * side) for side in sides], axis=1),
        _complementary_slackness(problem, a, h, cost).max(axis=1, initial=0.0),
    )


def _complementary_slackness(
    problem: SVMObjective, a: np.ndarray, h: np.ndarray, cost: np.ndarray
) -> np.ndarray:
    """Products of multipliers and slacks of their constraints: 0 everywhere at the minimum."""
    if problem.squared:  # the row's violation is a / (2 cost) there
        return np.abs(a * (h - a / np.where(cost > 0, 2 * cost, np.inf)))
    return np.maximum(a * -np.minimum(h, 0.0), (cost - a) * np.maximum(h, 0.0))


def primal_multipliers(
    problem: SVMObjective, h: np.ndarray, cost: np.ndarray, width: np.ndarray
) -> np.ndarray:
    """Derivative of the loss in the violation h: the multipliers of these scores."""
    if problem.squared:
        return 2 * cost * np.maximum(h, 0.0)
    return cost * np.clip(h / width + 0.5, 0.0, 1.0)


def weighted_row_sums(chunk: Chunk, R: np.ndarray) -> np.ndarray:
    """Sums over rows of r [x 1], (m, p + 1), for rows r (m, n)."""
    R = R.astype(chunk.X.dtype, copy=False)
    u = R @ chunk.X if isinstance(chunk.X, np.ndarray) else (chunk.X.T @ R.T).T
    return np.column_stack([u, R.sum(axis=1, dtype=np.float64)])


def _certificate_from_sums(problem: SVMObjective, T: np.ndarray, a: DualSums) -> DualityCertificate:
    """Certificate from the sums over all rows.

    Multipliers that violate a constraint of the dual are scaled until they satisfy it: those of the
    larger side when b has no penalty, all of them with an L1 penalty.
    """
    weight = np.ones_like(a.linear)
    if problem.has_free_intercept:
        weight = a.linear.min(axis=1, keepdims=True) / np.where(a.linear > 0, a.linear, 1.0)
    u = (weight[:, :, None] * a.u).sum(axis=1)
    u[:, -1] *= 0.0 if problem.has_free_intercept or not problem.intercept else problem.scaling
    if problem.l1:
        weight = weight / np.maximum(np.abs(u).max(axis=1), 1.0)[:, None]
        u *= 0.0
    dual = (weight * a.linear - weight**2 * a.quadratic).sum(axis=1) - 0.5 * (u**2).sum(axis=1)
    primal = problem.penalty(T) + a.loss
    return DualityCertificate(primal, dual, primal - dual, a.slack)


def duality_certificate(
    rows: Rows,
    problem: SVMObjective,
    T: np.ndarray,
    alpha: np.ndarray | None,
    width: np.ndarray | None = None,
) -> DualityCertificate:
    """Certificate of rows [w b] = T, (m, p + 1); one pass."""
    width = np.ones(len(T)) if width is None else width
    return _certificate_from_sums(problem, T, rows.total(dual_sums, problem, T, alpha, width))


class SVMSolution(NamedTuple):
    """Rows [w b], multipliers (m, n) if known, objectives, their gaps, the convergence report."""

    T: np.ndarray
    alpha: np.ndarray | None
    objective: np.ndarray
    gap: np.ndarray
    report: dict[str, Any]


class SquaredHingeGradient(NamedTuple):
    """Losses (m,) and their gradients (m, p + 1), summed over rows."""

    loss: np.ndarray
    gradient: np.ndarray


def squared_hinge_gradient(
    chunk: Chunk, problem: SVMObjective, T: np.ndarray
) -> SquaredHingeGradient:
    """Squared hinge of rows [w b] = T, and its gradient."""
    chunk = to_double(chunk, problem)
    sign, cost = signs_and_costs(chunk, problem)
    h = margin_violations(chunk, T, sign)
    a = primal_multipliers(problem, h, cost, np.ones(1))
    return SquaredHingeGradient(
        (cost * np.maximum(h, 0.0) ** 2).sum(axis=1), -weighted_row_sums(chunk, a * sign)
    )
