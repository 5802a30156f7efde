r"""Linear separation: the case in which an unpenalized likelihood has no maximum.

The likelihood of a linear model grows without end along a direction d that has every row on its
side or on the boundary, :math:`y_i \, x_i \cdot d \ge 0`, and some row beyond it. One product with
the rows checks such a direction, so what a fit has found is proof: its coefficients, or its next
Newton step.

References
----------
A. Albert and J. A. Anderson (1984), On the existence of maximum likelihood estimates in logistic
regression models, Biometrika 71.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.linear._base import linear_score
from tenfold.linear._loss_gradients import row_weights
from tenfold.linear._objective import LinearObjective
from tenfold.linear._thresholds import NEWTON_MAX_PARAMETERS
from tenfold.math.linalg import solve_psd
from tenfold.math.losses import DevianceLoss, LogisticLoss, ProbitLoss, SoftmaxLoss
from tenfold.optim.convergence import Minimum

SEPARATION_MESSAGE = (
    "the classes are linearly separable, wholly or in part: the likelihood has no maximum "
    "at finite coefficients, and these are where the iteration stopped."
)
_COUNTS_MESSAGE = (
    "the columns separate rows of count zero from all others: the likelihood has no maximum "
    "at finite coefficients, and these are where the iteration stopped."
)
MAX_RELATIVE_VIOLATION = 1e-6  # of the largest margin: a row that far behind is on the boundary
_REFINEMENTS = 3  # Newton steps that free the direction of separation from all others


class Margins(NamedTuple):
    """Smallest and largest margin of rows."""

    smallest: float
    largest: float

    def merge(self, other: Margins) -> Margins:
        return Margins(min(self.smallest, other.smallest), max(self.largest, other.largest))


def margins(
    chunk: Chunk, kind: str, class_weight: np.ndarray | None, W: np.ndarray, b: np.ndarray
) -> Margins:
    """Margins of the rows that have weight, for targets of a kind: signs, classes or counts.

    Of signs y the margin is y z, of classes the lead of the right score. Counts above zero are on
    the boundary or wrong (-|z|), zeros have the margin -z.
    """
    Z = np.asarray(linear_score(chunk, W, b), np.float64)
    i = np.arange(chunk.rows)
    if kind == "signs":
        m = (2.0 * chunk.y - 1.0) * Z[:, 0]
    elif kind == "counts":
        m = np.where(chunk.y > 0, -np.abs(Z[:, 0]), -Z[:, 0])
    else:
        own = Z[i, chunk.y]
        Z[i, chunk.y] = -np.inf
        m = own - Z.max(axis=1)
    weights = row_weights(chunk, class_weight)
    has_weight: Any = True if weights is None else weights > 0
    return Margins(
        float(m.min(initial=np.inf, where=has_weight)),
        float(m.max(initial=-np.inf, where=has_weight)),
    )


def check_separation(f: LinearObjective, minimum: Minimum, cure: str) -> dict[str, Any]:
    """The report of a minimizer; not converged, with the reason, if there is no minimum.

    Objectives with a penalty, and losses that reach their infimum, have one.

    Parameters
    ----------
    f : LinearObjective
        The objective.
    minimum : Minimum
        What the solver found.
    cure : str
        What the user may do: "Set C."
    """
    may_diverge = isinstance(f.loss, LogisticLoss | SoftmaxLoss | ProbitLoss)
    may_diverge |= isinstance(f.loss, DevianceLoss) and f.loss.may_diverge
    if not may_diverge or f.ridge[:-1].any() or not f.rows.n_features:
        return minimum.report
    if not _is_separated(f, minimum.x):
        return minimum.report
    reason = _COUNTS_MESSAGE if isinstance(f.loss, DevianceLoss) else SEPARATION_MESSAGE
    warning = f"did not converge: {reason} {cure}"
    return {**minimum.report, "converged_": False, "warning_": warning}


def _is_separated(f: LinearObjective, theta: np.ndarray) -> bool:
    """Whether the point, or the direction in which Newton's method goes on, separates the rows."""
    kind = f.loss.labels
    if kind != "counts" and _margins_along(f, theta).smallest > 0:
        return True
    if len(theta) > NEWTON_MAX_PARAMETERS:
        return False
    direction = theta
    for _ in range(_REFINEMENTS):
        _, gradient, hessian = f.value_gradient_hessian(theta)
        direction = -solve_psd(hessian, gradient)
        theta = theta + direction
        if not np.isfinite(theta).all():
            return False
    found = _margins_along(f, direction)
    return found.largest > 0 and found.smallest >= -MAX_RELATIVE_VIOLATION * found.largest


def _margins_along(f: LinearObjective, direction: np.ndarray) -> Margins:
    T = direction.reshape(f.shape)
    if not f.intercept:
        T = np.column_stack([T[:, :-1], np.zeros(len(T))])
    return f.rows.total(margins, f.loss.labels, f.class_weight, T[:, :-1], T[:, -1])
