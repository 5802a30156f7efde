"""Scores of positive and negative rows: what all curves over thresholds are made of."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from tenfold.metrics.base import Metric, ratio
from tenfold.metrics.evaluate import judge
from tenfold.metrics.predicting import numbers_of, positive_class
from tenfold.metrics.score_table import LIMIT, ScoreTable, area, score_table


class Curve:
    """Scores of positive and negative rows; derived classes say what is drawn of them.

    Parameters
    ----------
    table : ScoreTable
        Weight of negative and positive rows by score.
    positive : label, optional
        The positive class.
    """

    def __init__(self, table: ScoreTable, positive: Any = None) -> None:
        self.table, self.positive = table.settled(), positive
        negative, self.positives = (float(part) for part in table.weights.sum(axis=0))
        self.prevalence = float(ratio(self.positives, self.positives + negative))

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any = None, *, positive: Any = None, sample_weight: Any = None,
        limit: int = LIMIT,
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
            Most different scores that are kept apart.
        """
        positive = positive_class(positive, np.asarray(model.classes_))
        _, [table] = judge(model, X, y, [_Scores(model, positive, limit)], sample_weight)
        return cls(table, positive)

    @classmethod
    def of_classes(
        cls, model: Any, X: Any, y: Any = None, *, sample_weight: Any = None, limit: int = LIMIT
    ) -> dict[Any, Self]:
        """A curve of each class against the rest, from one pass; of two, that of the second.

        Parameters
        ----------
        model, X, y, sample_weight, limit :
            As for `from_estimator`.
        """
        labels = np.asarray(model.classes_)
        labels = labels[1:] if len(labels) == 2 else labels
        scores = [_Scores(model, label, limit) for label in labels]
        _, tables = judge(model, X, y, scores, sample_weight)
        return {label: cls(table, label) for label, table in zip(labels, tables, strict=True)}

    @classmethod
    def from_predictions(
        cls, y: Any, scores: Any, *, positive: Any = None, sample_weight: Any = None,
        limit: int = LIMIT,
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
            Most different scores that are kept apart.
        """
        y, scores = np.asarray(y), np.asarray(scores)
        if y.shape != scores.shape or y.ndim != 1:
            raise ValueError(f"y has shape {y.shape}, scores {scores.shape}: one each per row")
        positive = positive_class(positive, np.unique(y))
        return cls(score_table(scores, y == positive, sample_weight, 2, limit), positive)

    def _cumulated(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Weight of false and true positives at thresholds that fall from infinity."""
        false, true = np.vstack([[[0.0, 0.0]], np.cumsum(self.table.weights[::-1], axis=0)]).T
        return false, true, np.concatenate([[np.inf], self.table.scores[::-1]])


class _Scores(Metric):
    """The table of scores of one class against the rest."""

    name = "scores"

    def __init__(self, model: Any, positive: Any, limit: int) -> None:
        self.wants = "probabilities" if hasattr(model, "predict_proba") else "scores"
        [self.column] = numbers_of(np.array([positive]), np.asarray(model.classes_))
        self.limit = limit

    def part(self, y: np.ndarray, predicted: np.ndarray, w: Any, k: int | None, /) -> ScoreTable:
        if predicted.ndim == 2:
            scores = predicted[:, self.column]
        else:
            scores = predicted if self.column == 1 else -predicted
        return score_table(scores, y == self.column, w, 2, self.limit)

    def value(self, statistic: ScoreTable) -> float:
        return area(statistic.settled())
