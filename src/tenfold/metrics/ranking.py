"""Ranking metrics: area under the ROC curve, average precision."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np

from tenfold.metrics._score_histogram import (
    MAX_BINS,
    MIN_BINS,
    ScoreHistogram,
    average_precision,
    average_precision_error,
    roc_area,
    roc_area_error,
    score_histogram,
)
from tenfold.metrics.base import Metric


class RankingMetric(Metric):
    """A metric of tables of scores.

    Parameters
    ----------
    limit : int
        Most different scores that are kept apart. Up to it the value is exact, however many rows
        there are; beyond it `error(statistic)` bounds what the value may be off.
    """

    wants = "scores"

    def __init__(self, limit: int = MAX_BINS) -> None:
        self.limit = limit

    def error(self, statistic: Any) -> float:
        """How far the value may be from that of the scores themselves; 0 up to the limit."""
        raise NotImplementedError(f"{type(self).__name__} has to define error(statistic)")


class RocAuc(RankingMetric):
    """Probability that a row of the second class has a higher score than one of the first.

    NaN if one of the classes does not occur.
    """

    name = "roc_auc"

    def part(
        self, y: np.ndarray, predicted: np.ndarray, w: Any, k: int | None, /
    ) -> ScoreHistogram:
        if k != 2:
            raise ValueError(f"roc_auc is for two classes, here are {k}: use roc_auc_ovr")
        return score_histogram(predicted, y, w, 2, self.limit)

    def value(self, statistic: ScoreHistogram) -> float:
        return roc_area(statistic.settled())

    def error(self, statistic: ScoreHistogram) -> float:
        return roc_area_error(statistic.settled())


class OneVsRestRanking(RankingMetric):
    """Mean over classes of a measure of each against all others; the second of two alone."""

    def part(self, y: np.ndarray, predicted: np.ndarray, w: Any, k: int | None, /) -> list:
        if k is None or k < 2:
            raise ValueError(f"{self.name} needs two classes or more, and here are {k}")
        if k == 2:
            return [score_histogram(_second_class_scores(predicted), y, w, 2, self.limit)]
        limit = max(self.limit // k, MIN_BINS)
        return [score_histogram(predicted[:, c], y == c, w, 2, limit) for c in range(k)]


class AveragePrecision(OneVsRestRanking):
    """Mean precision at the thresholds where each positive row comes in.

    Of more than two classes the mean over those that occur, each against the rest.
    """

    name = "average_precision"

    def value(self, statistic: list) -> float:
        return _mean_over_classes(average_precision, statistic)

    def error(self, statistic: list) -> float:
        return _mean_over_classes(average_precision_error, statistic)


class RocAucOneVsRest(OneVsRestRanking):
    """Mean over classes of the area under the ROC curve of each against all others."""

    name = "roc_auc_ovr"
    wants = "probabilities"

    def value(self, statistic: list) -> float:
        return _mean([roc_area(table) for table in _compact_all(statistic)])

    def error(self, statistic: list) -> float:
        return _mean([roc_area_error(table) for table in _compact_all(statistic)])


class RocAucOneVsOne(RankingMetric):
    """Mean over pairs of classes of the area under the ROC curve of the one against the other.

    Of a pair, each class is positive once, by its own probability (Hand and Till, 2001).
    """

    name = "roc_auc_ovo"
    wants = "probabilities"

    def part(self, y: np.ndarray, predicted: np.ndarray, w: Any, k: int | None, /) -> list:
        if k is None or k < 2:
            raise ValueError(f"{self.name} needs two classes or more, and here are {k}")
        limit = max(self.limit // k**2, MIN_BINS)
        return [score_histogram(predicted[:, c], y, w, k, limit) for c in range(k)]

    def value(self, statistic: list) -> float:
        return _mean([roc_area(table) for table in _pairwise_histograms(statistic)])

    def error(self, statistic: list) -> float:
        return _mean([roc_area_error(table) for table in _pairwise_histograms(statistic)])


def _pairwise_histograms(tables: list[ScoreHistogram]) -> list[ScoreHistogram]:
    settled = _compact_all(tables)
    return [settled[b].pair(a, b) for a, b in permutations(range(len(tables)), 2)]


def _compact_all(tables: list[ScoreHistogram]) -> list[ScoreHistogram]:
    return [table.settled() for table in tables]


def _second_class_scores(predicted: np.ndarray) -> np.ndarray:
    return predicted if predicted.ndim == 1 else predicted[:, 1]


def _mean_over_classes(measure: Any, tables: list[ScoreHistogram]) -> float:
    """Mean over the classes that occur; that of one table as it is."""
    there = [table for table in tables if table.weights[:, 1].any()]
    return _mean([measure(table) for table in _compact_all(there or tables[:1])])


def _mean(values: list[float]) -> float:
    """Mean of those that could be measured."""
    known = [value for value in values if not np.isnan(value)]
    return float(np.mean(known)) if known else np.nan


RANKING_METRICS: list[Metric] = [RocAuc(), AveragePrecision(), RocAucOneVsRest(), RocAucOneVsOne()]
