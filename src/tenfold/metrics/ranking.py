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
    """A metric of the order of scores.

    Parameters
    ----------
    limit : int
        Maximum number of bins. Up to as many distinct scores the value is exact for any number of
        rows; beyond it `error(statistic)` bounds the error.
    """

    wants = "scores"

    def __init__(self, limit: int = MAX_BINS) -> None:
        self.limit = limit

    def error(self, statistic: Any) -> float:
        """Bound on the error of the value due to binning; 0 up to the limit."""
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
        return roc_area(statistic.compact())

    def error(self, statistic: ScoreHistogram) -> float:
        return roc_area_error(statistic.compact())


class OneVsRestRanking(RankingMetric):
    """Mean over classes of a one-vs-rest measure; of two classes, that of the second."""

    def part(self, y: np.ndarray, predicted: np.ndarray, w: Any, k: int | None, /) -> list:
        if k is None or k < 2:
            raise ValueError(f"{self.name} needs two classes or more, and here are {k}")
        if k == 2:
            return [score_histogram(_second_class_scores(predicted), y, w, 2, self.limit)]
        limit = max(self.limit // k, MIN_BINS)
        return [score_histogram(predicted[:, c], y == c, w, 2, limit) for c in range(k)]


class AveragePrecision(OneVsRestRanking):
    """Mean precision over the thresholds of the positive rows.

    Of more than two classes, the mean over those that occur, each against the rest.
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
        return _mean([roc_area(histogram) for histogram in _compact_all(statistic)])

    def error(self, statistic: list) -> float:
        return _mean([roc_area_error(histogram) for histogram in _compact_all(statistic)])


class RocAucOneVsOne(RankingMetric):
    """Mean over pairs of classes of the area under the ROC curve of the one against the other.

    In a pair, each class is positive once, ranked by its own probability.

    References
    ----------
    D. J. Hand and R. J. Till (2001), "A simple generalisation of the area under the ROC curve for
    multiple class classification problems", Machine Learning 45.
    """

    name = "roc_auc_ovo"
    wants = "probabilities"

    def part(self, y: np.ndarray, predicted: np.ndarray, w: Any, k: int | None, /) -> list:
        if k is None or k < 2:
            raise ValueError(f"{self.name} needs two classes or more, and here are {k}")
        limit = max(self.limit // k**2, MIN_BINS)
        return [score_histogram(predicted[:, c], y, w, k, limit) for c in range(k)]

    def value(self, statistic: list) -> float:
        return _mean([roc_area(histogram) for histogram in _pairwise_histograms(statistic)])

    def error(self, statistic: list) -> float:
        return _mean([roc_area_error(histogram) for histogram in _pairwise_histograms(statistic)])


def _pairwise_histograms(histograms: list[ScoreHistogram]) -> list[ScoreHistogram]:
    compact = _compact_all(histograms)
    return [compact[b].pair(a, b) for a, b in permutations(range(len(histograms)), 2)]


def _compact_all(histograms: list[ScoreHistogram]) -> list[ScoreHistogram]:
    return [histogram.compact() for histogram in histograms]


def _second_class_scores(predicted: np.ndarray) -> np.ndarray:
    return predicted if predicted.ndim == 1 else predicted[:, 1]


def _mean_over_classes(measure: Any, histograms: list[ScoreHistogram]) -> float:
    """Mean over the classes that occur; a single histogram as it is."""
    occurring = [histogram for histogram in histograms if histogram.weights[:, 1].any()]
    return _mean([measure(histogram) for histogram in _compact_all(occurring or histograms[:1])])


def _mean(values: list[float]) -> float:
    """Mean of the values that are defined."""
    defined = [value for value in values if not np.isnan(value)]
    return float(np.mean(defined)) if defined else np.nan


RANKING_METRICS: list[Metric] = [RocAuc(), AveragePrecision(), RocAucOneVsRest(), RocAucOneVsOne()]
