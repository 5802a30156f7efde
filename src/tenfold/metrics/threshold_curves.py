"""ROC and precision-recall curves over all thresholds, and the best operating point."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from tenfold.math.decision_costs import check_cost_matrix
from tenfold.metrics._predictions import class_indices, positive_class
from tenfold.metrics._score_histogram import (
    MAX_BINS,
    ScoreHistogram,
    average_precision,
    average_precision_error,
    roc_area,
    roc_area_error,
    score_histogram,
)
from tenfold.metrics.base import Metric, safe_divide
from tenfold.metrics.evaluation import collect_statistics


class ThresholdCurve:
    """Scores of positive and negative rows; base class of the curves over thresholds.

    Parameters
    ----------
    table : ScoreHistogram
        Weight of negative and positive rows by score.
    positive : label, optional
        The positive class.
    """

    def __init__(self, table: ScoreHistogram, positive: Any = None) -> None:
        self.table, self.positive = table.compact(), positive
        negative, self.positives = (float(part) for part in table.weights.sum(axis=0))
        self.prevalence = float(safe_divide(self.positives, self.positives + negative))

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any = None, *, positive: Any = None, sample_weight: Any = None,
        limit: int = MAX_BINS,
    ) -> Self:  # fmt: skip
        """The curve of a fitted classifier on rows of any kind, from one pass.

        Parameters
        ----------
        model : fitted classifier
            With probabilities, thresholds are probabilities; else values of `decision_function`.
        X, y, sample_weight :
            Rows, their labels and weights, as `tenfold.metrics.evaluate` takes them.
        positive : label, optional
            The positive class, against all others; by default the second of two.
        limit : int
            Maximum number of distinct scores that are kept exact.
        """
        positive = positive_class(positive, np.asarray(model.classes_))
        _, [table] = collect_statistics(
            model, X, y, [_ScoreHistogramMetric(model, positive, limit)], sample_weight
        )
        return cls(table, positive)

    @classmethod
    def of_classes(
        cls, model: Any, X: Any, y: Any = None, *, sample_weight: Any = None, limit: int = MAX_BINS
    ) -> dict[Any, Self]:
        """A curve of each class against the rest, from one pass; of two, that of the second.

        Parameters
        ----------
        model, X, y, sample_weight, limit :
            As for `from_estimator`.
        """
        labels = np.asarray(model.classes_)
        labels = labels[1:] if len(labels) == 2 else labels
        scores = [_ScoreHistogramMetric(model, label, limit) for label in labels]
        _, tables = collect_statistics(model, X, y, scores, sample_weight)
        return {label: cls(table, label) for label, table in zip(labels, tables, strict=True)}

    @classmethod
    def from_predictions(
        cls, y: Any, scores: Any, *, positive: Any = None, sample_weight: Any = None,
        limit: int = MAX_BINS,
    ) -> Self:  # fmt: skip
        """The curve of scores in memory.

        Parameters
        ----------
        y : (n,) array
            True labels.
        scores : (n,) array
            Scores of the positive class: probabilities or others.
        positive : label, optional
            The positive class; by default the larger of two.
        sample_weight : (n,) array, optional
            Weights.
        limit : int
            Maximum number of distinct scores that are kept exact.
        """
        y, scores = np.asarray(y), np.asarray(scores)
        if y.shape != scores.shape or y.ndim != 1:
            raise ValueError(f"y has shape {y.shape}, scores {scores.shape}: one each per row")
        positive = positive_class(positive, np.unique(y))
        return cls(score_histogram(scores, y == positive, sample_weight, 2, limit), positive)

    def _cumulative_weights(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Weight of false and true positives at descending thresholds from infinity."""
        false, true = np.vstack([[[0.0, 0.0]], np.cumsum(self.table.weights[::-1], axis=0)]).T
        return false, true, np.concatenate([[np.inf], self.table.scores[::-1]])


class _ScoreHistogramMetric(Metric):
    """The score histogram of one class against the rest."""

    name = "scores"

    def __init__(self, model: Any, positive: Any, limit: int) -> None:
        self.wants = "probabilities" if hasattr(model, "predict_proba") else "scores"
        [self.column] = class_indices(np.array([positive]), np.asarray(model.classes_))
        self.limit = limit

    def part(
        self, y: np.ndarray, predicted: np.ndarray, w: Any, k: int | None, /
    ) -> ScoreHistogram:
        if predicted.ndim == 2:
            scores = predicted[:, self.column]
        else:
            scores = predicted if self.column == 1 else -predicted
        return score_histogram(scores, y == self.column, w, 2, self.limit)

    def value(self, statistic: ScoreHistogram) -> float:
        return roc_area(statistic.compact())


class OperatingPoint(NamedTuple):
    """A threshold on a curve: rows with a score of at least it are predicted to be positive.

    Attributes
    ----------
    threshold : the score; infinite if no row is predicted to be positive
    fpr, tpr : false and true positive rate there
    cost : expected cost per row; of the largest TPR - FPR, minus that
    place : index of the point on the curve
    """

    threshold: float
    fpr: float
    tpr: float
    cost: float
    place: int


class RocCurve(ThresholdCurve):
    """True against false positive rate, at every threshold.

    Parameters
    ----------
    table : ScoreHistogram
        Weight of negative and positive rows by score; `from_estimator` and `from_predictions` make
        it.
    positive : label, optional
        The positive class.

    Attributes
    ----------
    fpr, tpr : (m,) rates, NaN if there are no such rows
    thresholds : (m,) descending scores from which on a row is predicted positive; first infinity
    auc : area under the curve
    error : bound on the error of the area, 0 up to `limit` scores; the points are always exact
    prevalence : share of positive rows

    Examples
    --------
    >>> roc = RocCurve.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> roc.auc, roc.fpr.tolist(), roc.tpr.tolist()
    (0.75, [0.0, 0.0, 0.5, 0.5, 1.0], [0.0, 0.5, 0.5, 1.0, 1.0])
    >>> roc.best_threshold(), roc.best_threshold(costs=[[0, 1], [10, 0]])
    (0.8, 0.35)
    """

    def __init__(self, table: ScoreHistogram, positive: Any = None) -> None:
        super().__init__(table, positive)
        false, true, self.thresholds = self._cumulative_weights()
        self.fpr, self.tpr = safe_divide(false, false[-1]), safe_divide(true, true[-1])
        self.auc, self.error = roc_area(self.table), roc_area_error(self.table)

    def best_threshold(self, costs: Any = None, prevalence: float | None = None) -> float:
        """The threshold of largest TPR - FPR, or of least expected cost.

        Parameters
        ----------
        costs : (2, 2) array, optional
            Cost of predicting negative, positive (columns) for negative, positive rows (rows).
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
        costs = check_cost_matrix(costs)
        share = self.prevalence if prevalence is None else prevalence
        if costs.shape != (2, 2) or not 0 <= share <= 1:
            raise ValueError(
                f"costs of shape {costs.shape} at prevalence {share}: a 2 x 2 matrix and a share "
                "from 0 to 1 are needed"
            )
        negative = (1 - self.fpr) * costs[0, 0] + self.fpr * costs[0, 1]
        positive = (1 - self.tpr) * costs[1, 0] + self.tpr * costs[1, 1]
        return (1 - share) * negative + share * positive


class PrecisionRecallCurve(ThresholdCurve):
    """Precision against recall, at every threshold.

    Parameters
    ----------
    table : ScoreHistogram
        Weight of negative and positive rows by score; `from_estimator` and `from_predictions` make
        it.
    positive : label, optional
        The positive class.

    Attributes
    ----------
    precision, recall : (m + 1,) at rising thresholds; the last point, 1 and 0, has none
    thresholds : (m,) scores from which on a row is predicted to be positive
    average_precision : mean precision over the thresholds of the positive rows
    error : bound on its error, 0 up to `limit` scores; the points are always exact
    prevalence : share of positive rows

    Examples
    --------
    >>> curve = PrecisionRecallCurve.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> round(curve.average_precision, 3), curve.recall.tolist()
    (0.833, [1.0, 1.0, 0.5, 0.5, 0.0])
    """

    def __init__(self, table: ScoreHistogram, positive: Any = None) -> None:
        super().__init__(table, positive)
        false, true, thresholds = self._cumulative_weights()
        self.thresholds = thresholds[:0:-1]
        precision = safe_divide(true, true + false)[:0:-1]
        recall = safe_divide(true, true[-1])[:0:-1] if self.positives else np.ones(len(precision))
        self.precision, self.recall = np.append(precision, 1.0), np.append(recall, 0.0)
        self.average_precision = average_precision(self.table)
        self.error = average_precision_error(self.table)
