r"""Metrics of labels: accuracy, precision, recall, F1, the correlation of Matthews.

All follow from three numbers per class: the weight of its rows that were hit, of the rows that were
said to be of it, and of its rows. [001, 2.3; 004, 3.5]
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.metrics.base import Metric, ratio, weights_of, whole
from tenfold.metrics.leaves import tally


class Tallies(NamedTuple):
    """Weights of rows, for each class: (k,) each."""

    hit: np.ndarray
    said: np.ndarray
    true: np.ndarray


class LabelMetric(Metric):
    """A metric of class numbers."""

    wants = "labels"

    def part(self, y: np.ndarray, predicted: np.ndarray, w: Any, k: int | None, /) -> Tallies:
        if k is None:
            raise ValueError(f"{self.name} compares labels, and these rows have none: no classes")
        return Tallies(*tally(whole(y), whole(predicted), weights_of(w), k))


class Accuracy(LabelMetric):
    """Share of the rows whose label is right; the rest is the error rate, the mean 0-1 loss."""

    name = "accuracy"

    def value(self, statistic: Tallies) -> float:
        return float(ratio(statistic.hit.sum(), statistic.true.sum()))


class BalancedAccuracy(LabelMetric):
    """Mean over the classes that occur of the share of their rows that are hit."""

    name = "balanced_accuracy"

    def value(self, statistic: Tallies) -> float:
        return float(_mean(_recalls(statistic)))


class Informedness(LabelMetric):
    """Youden's J: TPR + TNR - 1; of k classes, 0 for chance and 1 for perfection.

    It is the balanced accuracy b as (b - 1/k) / (1 - 1/k), for the k classes that occur; of one
    class nothing can be told, which is 0.
    """

    name = "informedness"

    def value(self, statistic: Tallies) -> float:
        recalls = _recalls(statistic)
        if len(recalls) < 2:
            return 0.0
        chance = 1 / len(recalls)
        return float((_mean(recalls) - chance) / (1 - chance))


class MatthewsCorrelation(LabelMetric):
    """Correlation of what is said with the truth, of any classes; 0 if one of them is constant."""

    name = "matthews_corrcoef"

    def value(self, statistic: Tallies) -> float:
        return float(np.nan_to_num(correlation(statistic)))


class PerClass(LabelMetric):
    """Precision, recall or F1, of the second of two classes or averaged over classes.

    A class that is never said has precision 0, one that never occurs recall 0; classes that neither
    occur nor are said are left out of averages: all as in scikit-learn.
    """

    def __init__(self, kind: str, average: str) -> None:
        self.kind, self.average = kind, average
        self.name = kind if average == "binary" else f"{kind}_{average}"

    def part(self, y: np.ndarray, predicted: np.ndarray, w: Any, k: int | None, /) -> Tallies:
        if self.average == "binary" and k != 2:
            raise ValueError(
                f"{self.name} is for two classes, and here are {k}: use {self.kind}_macro, "
                f"{self.kind}_micro or {self.kind}_weighted"
            )
        return super().part(y, predicted, w, k)

    def value(self, statistic: Tallies) -> float:
        above, below = self._fraction(statistic)
        if self.average == "binary":
            return float(_or_zero(above[1], below[1]))
        if self.average == "micro":
            return float(_or_zero(above.sum(), below.sum()))
        shares = _or_zero(above, below)
        if self.average == "weighted":
            return float(_or_zero(shares @ statistic.true, statistic.true.sum()))
        return float(_mean(shares[(statistic.said > 0) | (statistic.true > 0)]))

    def _fraction(self, s: Tallies) -> tuple[np.ndarray, np.ndarray]:
        if self.kind == "f1":
            return 2 * s.hit, s.said + s.true
        return s.hit, s.said if self.kind == "precision" else s.true


def correlation(s: Tallies) -> float:
    """The coefficient of Matthews; NaN if the truth or what is said is constant."""
    n = s.true.sum()
    together = s.hit.sum() * n - s.said @ s.true
    apart = (n**2 - s.said @ s.said) * (n**2 - s.true @ s.true)
    return float(ratio(together, np.sqrt(apart)) if apart > 0 else np.nan)


def _recalls(s: Tallies) -> np.ndarray:
    there = s.true > 0
    return s.hit[there] / s.true[there]


def _mean(shares: np.ndarray) -> float:
    return shares.mean() if len(shares) else np.nan


def _or_zero(above: Any, below: Any) -> Any:
    return np.nan_to_num(ratio(above, below))


LABEL_METRICS: list[Metric] = [
    Accuracy(),
    BalancedAccuracy(),
    Informedness(),
    MatthewsCorrelation(),
    *(
        PerClass(kind, average)
        for kind in ("f1", "precision", "recall")
        for average in ("binary", "macro", "micro", "weighted")
    ),
]
