"""Curves over all thresholds: ROC, precision against recall, and the best threshold."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.maths.costs import cost_matrix
from tenfold.metrics.base import ratio
from tenfold.metrics.score_table import (
    ScoreTable,
    area,
    area_error,
    average_precision,
    average_precision_error,
)
from tenfold.metrics.scored import Curve


class OperatingPoint(NamedTuple):
    """A threshold on a curve: rows with a score of at least it are said to be positive.

    Attributes
    ----------
    threshold : the score; infinite if no row is said to be positive
    fpr, tpr : false and true positive rate there
    cost : expected cost per row; of the largest TPR - FPR, minus that
    place : number of the point on the curve
    """

    threshold: float
    fpr: float
    tpr: float
    cost: float
    place: int


class Roc(Curve):
    """True against false positive rate, at every threshold.

    Parameters
    ----------
    table : ScoreTable
        Weight of negative and positive rows by score; `from_estimator` and `from_predictions` make
        it.
    positive : label, optional
        The positive class.

    Attributes
    ----------
    fpr, tpr : (m,) rates, NaN if there are no such rows
    thresholds : (m,) scores from which on a row is said to be positive, falling from infinity
    auc : area under the curve
    error : what the area may be off; 0 up to `limit` different scores. The points are exact always
    prevalence : share of positive rows

    Examples
    --------
    >>> roc = Roc.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> roc.auc, roc.fpr.tolist(), roc.tpr.tolist()
    (0.75, [0.0, 0.0, 0.5, 0.5, 1.0], [0.0, 0.5, 0.5, 1.0, 1.0])
    >>> roc.best_threshold(), roc.best_threshold(costs=[[0, 1], [10, 0]])
    (0.8, 0.35)
    """

    def __init__(self, table: ScoreTable, positive: Any = None) -> None:
        super().__init__(table, positive)
        false, true, self.thresholds = self._cumulated()
        self.fpr, self.tpr = ratio(false, false[-1]), ratio(true, true[-1])
        self.auc, self.error = area(self.table), area_error(self.table)

    def best_threshold(self, costs: Any = None, prevalence: float | None = None) -> float:
        """The threshold of largest TPR - FPR, or of least expected cost.

        Parameters
        ----------
        costs : (2, 2) array, optional
            Cost of saying negative and positive (columns) of a negative and a positive row (rows).
        prevalence : float, optional
            Share of positive rows where the model will be used; by default that of these rows.
        """
        return self.operating_point(costs, prevalence).threshold

    def operating_point(self, costs: Any = None, prevalence: float | None = None) -> OperatingPoint:
        """The best threshold, with its rates and cost; the highest of equally good ones.

        Parameters
        ----------
        costs, prevalence :
            As for `best_threshold`.
        """
        cost = self.fpr - self.tpr if costs is None else self.expected_cost(costs, prevalence)
        if np.isnan(cost).any():
            raise ValueError("rows of both classes are needed to choose a threshold")
        best = int(np.argmin(cost))
        threshold, fpr, tpr, least = (
            float(part[best]) for part in (self.thresholds, self.fpr, self.tpr, cost)
        )
        return OperatingPoint(threshold, fpr, tpr, least, best)

    def expected_cost(self, costs: Any, prevalence: float | None = None) -> np.ndarray:
        """Expected cost per row at each threshold, (m,).

        Parameters
        ----------
        costs, prevalence :
            As for `best_threshold`.
        """
        costs = cost_matrix(costs)
        share = self.prevalence if prevalence is None else prevalence
        if costs.shape != (2, 2) or not 0 <= share <= 1:
            raise ValueError(
                f"costs of shape {costs.shape} at prevalence {share}: a 2 x 2 matrix and a share "
                "from 0 to 1 are needed"
            )
        negative = (1 - self.fpr) * costs[0, 0] + self.fpr * costs[0, 1]
        positive = (1 - self.tpr) * costs[1, 0] + self.tpr * costs[1, 1]
        return (1 - share) * negative + share * positive


class PrecisionRecall(Curve):
    """Precision against recall, at every threshold.

    Parameters
    ----------
    table : ScoreTable
        Weight of negative and positive rows by score; `from_estimator` and `from_predictions` make
        it.
    positive : label, optional
        The positive class.

    Attributes
    ----------
    precision, recall : (m + 1,) at rising thresholds; the last point, 1 and 0, has none
    thresholds : (m,) scores from which on a row is said to be positive
    average_precision : mean precision where each positive row comes in
    error : what that may be off; 0 up to `limit` different scores. The points are exact always
    prevalence : share of positive rows

    Examples
    --------
    >>> curve = PrecisionRecall.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> round(curve.average_precision, 3), curve.recall.tolist()
    (0.833, [1.0, 1.0, 0.5, 0.5, 0.0])
    """

    def __init__(self, table: ScoreTable, positive: Any = None) -> None:
        super().__init__(table, positive)
        false, true, thresholds = self._cumulated()
        self.thresholds = thresholds[:0:-1]
        precision = ratio(true, true + false)[:0:-1]
        recall = ratio(true, true[-1])[:0:-1] if self.positives else np.ones(len(precision))
        self.precision, self.recall = np.append(precision, 1.0), np.append(recall, 0.0)
        self.average_precision = average_precision(self.table)
        self.error = average_precision_error(self.table)
