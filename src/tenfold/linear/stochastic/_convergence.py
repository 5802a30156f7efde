"""Whether stochastic gradient descent has converged, evaluated anew at its result."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.linear._base import linear_score
from tenfold.linear._losses_numba import LOSS_CODES, weighted_loss_sum
from tenfold.linear._separation import SEPARATION_MESSAGE
from tenfold.linear.stochastic._sgd_loop import SGDProgress, SGDStopping, SGDTask, penalty_values
from tenfold.linear.stochastic._sgd_numba import SGDSettings
from tenfold.optim.convergence import until_converged

_MAX_RATIO_TO_ZERO = 3.0  # of the objective to that of zero coefficients: beyond noise
_LIKELIHOODS = {LOSS_CODES["log_loss"], LOSS_CODES["probit"]}  # no minimum on separable classes
_MISTAKES_MESSAGE = (
    "did not converge: it stopped with misclassified rows, so the classes are not linearly "
    "separable (is_linearly_separable tells), or the epochs are too few. Set average=True, which "
    "needs no separable classes, or choose LinearSVC or LogisticRegression."
)

Weights = tuple[np.ndarray, np.ndarray]


class ScoreTotals(NamedTuple):
    """Totals of m scores over rows.

    Attributes
    ----------
    loss : (m,) weighted sum of losses
    weight : (m,) total weight
    margin : (m,) smallest margin of the rows that have weight
    """

    loss: np.ndarray
    weight: np.ndarray
    margin: np.ndarray

    def merge(self, other: ScoreTotals) -> ScoreTotals:
        least = np.minimum(self.margin, other.margin)
        return ScoreTotals(self.loss + other.loss, self.weight + other.weight, least)


def score_totals(
    chunk: Chunk, W: np.ndarray, b: np.ndarray, task: SGDTask, loss: int, epsilon: float
) -> ScoreTotals:
    """Losses, weights and margins of the scores on the rows of a chunk."""
    Z = np.asarray(linear_score(chunk, W, b), np.float64)
    weights, y = chunk.weights().astype(np.float64), chunk.y.astype(np.float64)
    parts = []
    for m, z in enumerate(np.ascontiguousarray(Z.T)):
        label, w = y, weights
        if len(task.targets):
            positive = y == task.targets[m]
            label, w = np.where(positive, 1.0, -1.0), weights * task.cost[m][positive.astype(int)]
        margin = (label * z).min(initial=np.inf, where=w > 0)
        parts.append((weighted_loss_sum(loss, epsilon, z, label, w), w.sum(), margin))
    return ScoreTotals(*np.array(parts).T)


def convergence_report(
    loop: until_converged[SGDProgress],
    rows: Rows,
    result: Weights,
    task: SGDTask,
    settings: SGDSettings,
    stop: SGDStopping,
) -> dict[str, Any]:
    """`n_iter_`, `converged_` and `history_`, and why the fit did not converge, if it did not.

    Without a tolerance all epochs were asked for: there is no rule to meet, and no warning.
    """
    if stop.tol is None and not stop.stop_without_mistakes:
        return {**loop.report, "converged_": False, "warning_": ""}
    if not loop.converged:
        return {**loop.report, **({"warning_": ""} if stop.tol is None else {})}
    warning = _failure(rows, result, task, settings, stop)
    return {**loop.report, **({"converged_": False, "warning_": warning} if warning else {})}


def _failure(
    rows: Rows, result: Weights, task: SGDTask, settings: SGDSettings, stop: SGDStopping
) -> str | None:
    """Why a fit that stopped has not converged; None if it has."""
    leaf_state = (task, settings.loss, settings.epsilon)
    W, b = result
    with np.errstate(over="ignore", invalid="ignore"):
        last = rows.total(score_totals, W, b, *leaf_state)
        zero = rows.total(score_totals, np.zeros_like(W), np.zeros_like(b), *leaf_state)
    if stop.stop_without_mistakes and settings.average_from == 0:
        return None if (last.margin > 0).all() else _MISTAKES_MESSAGE
    unpenalized = not (settings.l1 or settings.l2)
    if settings.loss in _LIKELIHOODS and unpenalized and (last.margin > 0).any():
        return f"did not converge: {SEPARATION_MESSAGE} Set penalty and alpha."
    if settings.loss == LOSS_CODES["perceptron"]:  # zero weights have no loss: nothing to compare
        return None
    objective = (last.loss + rows.n_rows * penalty_values(W, settings)) / last.weight
    reference = zero.loss / zero.weight
    worse = ~(objective <= _MAX_RATIO_TO_ZERO * reference)
    if not worse.any():
        return None
    m = int(np.argmax(worse))
    return (
        f"did not converge: the mean objective at the result is {objective[m]:.4g}, above that of "
        f"coefficients of zero, {reference[m]:.4g}, so the steps are too long. Standardize the "
        "columns (sklearn.preprocessing.StandardScaler), or choose a smaller eta0 or, for "
        "learning_rate='optimal', a larger alpha."
    )
