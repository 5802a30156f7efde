"""Metrics of predicted labels (accuracy, precision, recall, F1, MCC) and of probabilities (log loss, perplexity, Brier score)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from tenfold.metrics.base import MeanLoss, Metric, as_class_indices, as_weight_array, safe_divide


@njit(cache=True, nogil=True)
def class_tallies(y, said, w, k):  # noqa: ANN001, ANN201  (n,), (n,), (n,) or empty -> (3, k)
    """Weight of the rows of each class that were hit, that were said to be of it, that are of it.

    What was said may be no class, below 0: that is a mistake.
    """
    found = np.zeros((3, k))
    for i in range(len(y)):
        weight = w[i] if len(w) else 1.0
        found[2, y[i]] += weight
        if said[i] >= 0:
            found[1, said[i]] += weight
        if said[i] == y[i]:
            found[0, y[i]] += weight
    return found


@njit(cache=True, nogil=True)
def confusion_counts(y, said, w, k):  # noqa: ANN001, ANN201  -> (k, k)
    """Weight of the rows of each class (row) that were said to be of each (column)."""
    counts = np.zeros((k, k))
    for i in range(len(y)):
        counts[y[i], said[i]] += w[i] if len(w) else 1.0
    return counts


class LabelCounts(NamedTuple):
    """Weights of rows, for each class: (k,) each."""

    hit: np.ndarray
    said: np.ndarray
    true: np.ndarray


class LabelMetric(Metric):
    """A metric of class numbers."""

    wants = "labels"

    def part(self, y: np.ndarray, predicted: np.ndarray, w: Any, k: int | None, /) -> LabelCounts:
        if k is None:
            raise ValueError(f"{self.name} compares labels, and these rows have none: no classes")
        return LabelCounts(
            *class_tallies(as_class_indices(y), as_class_indices(predicted), as_weight_array(w), k)
        )


class Accuracy(LabelMetric):
    """Share of the rows whose label is right; the rest is the error rate, the mean 0-1 loss."""

    name = "accuracy"

    def value(self, statistic: LabelCounts) -> float:
        return float(safe_divide(statistic.hit.sum(), statistic.true.sum()))


class BalancedAccuracy(LabelMetric):
    """Mean over the classes that occur of the share of their rows that are hit."""

    name = "balanced_accuracy"

    def value(self, statistic: LabelCounts) -> float:
        return float(_mean(_recalls(statistic)))


class Informedness(LabelMetric):
    """Youden's J: TPR + TNR - 1; of k classes, 0 for chance and 1 for perfection.

    It is the balanced accuracy b as (b - 1/k) / (1 - 1/k), for the k classes that occur; of one
    class nothing can be told, which is 0.
    """

    name = "informedness"

    def value(self, statistic: LabelCounts) -> float:
        recalls = _recalls(statistic)
        if len(recalls) < 2:
            return 0.0
        chance = 1 / len(recalls)
        return float((_mean(recalls) - chance) / (1 - chance))


class MatthewsCorrelation(LabelMetric):
    """Correlation of what is said with the truth, of any classes; 0 if one of them is constant."""

    name = "matthews_corrcoef"

    def value(self, statistic: LabelCounts) -> float:
        return float(np.nan_to_num(matthews_correlation(statistic)))


class AveragedClassMetric(LabelMetric):
    """Precision, recall or F1, of the second of two classes or averaged over classes.

    A class that is never said has precision 0, one that never occurs recall 0; classes that neither
    occur nor are said are left out of averages: all as in scikit-learn.
    """

    def __init__(self, kind: str, average: str) -> None:
        self.kind, self.average = kind, average
        self.name = kind if average == "binary" else f"{kind}_{average}"

    def part(self, y: np.ndarray, predicted: np.ndarray, w: Any, k: int | None, /) -> LabelCounts:
        if self.average == "binary" and k != 2:
            raise ValueError(
                f"{self.name} is for two classes, and here are {k}: use {self.kind}_macro, "
                f"{self.kind}_micro or {self.kind}_weighted"
            )
        return super().part(y, predicted, w, k)

    def value(self, statistic: LabelCounts) -> float:
        above, below = self._fraction(statistic)
        if self.average == "binary":
            return float(_divide_or_zero(above[1], below[1]))
        if self.average == "micro":
            return float(_divide_or_zero(above.sum(), below.sum()))
        shares = _divide_or_zero(above, below)
        if self.average == "weighted":
            return float(_divide_or_zero(shares @ statistic.true, statistic.true.sum()))
        return float(_mean(shares[(statistic.said > 0) | (statistic.true > 0)]))

    def _fraction(self, s: LabelCounts) -> tuple[np.ndarray, np.ndarray]:
        if self.kind == "f1":
            return 2 * s.hit, s.said + s.true
        return s.hit, s.said if self.kind == "precision" else s.true


def matthews_correlation(s: LabelCounts) -> float:
    """The coefficient of Matthews; NaN if the truth or what is said is constant."""
    n = s.true.sum()
    together = s.hit.sum() * n - s.said @ s.true
    apart = (n**2 - s.said @ s.said) * (n**2 - s.true @ s.true)
    return float(safe_divide(together, np.sqrt(apart)) if apart > 0 else np.nan)


def _recalls(s: LabelCounts) -> np.ndarray:
    there = s.true > 0
    return s.hit[there] / s.true[there]


def _mean(shares: np.ndarray) -> float:
    return shares.mean() if len(shares) else np.nan


def _divide_or_zero(above: Any, below: Any) -> Any:
    return np.nan_to_num(safe_divide(above, below))


LABEL_METRICS: list[Metric] = [
    Accuracy(),
    BalancedAccuracy(),
    Informedness(),
    MatthewsCorrelation(),
    *(
        AveragedClassMetric(kind, average)
        for kind in ("f1", "precision", "recall")
        for average in ("binary", "macro", "micro", "weighted")
    ),
]


class LogLoss(MeanLoss):
    """Mean of -log p(y | x), in nats; probabilities are kept off 0 and 1 by their rounding."""

    name = "neg_log_loss"
    wants = "probabilities"

    def losses(self, y: np.ndarray, predicted: np.ndarray, k: int | None, /) -> np.ndarray:
        least = np.finfo(predicted.dtype).eps
        said = np.take_along_axis(predicted, np.asarray(y)[:, None], axis=1)
        return -np.log(np.clip(said, least, 1 - least).astype(np.float64))


class Perplexity(LogLoss):
    """The exponential of the log loss: among how many equally likely classes one seems to guess."""

    name = "neg_perplexity"

    def finished(self, means: np.ndarray) -> np.ndarray:
        return np.exp(means)


class Brier(MeanLoss):
    """Mean squared distance of the probabilities from the truth; half of it for two classes."""

    name = "neg_brier_score"
    wants = "probabilities"

    def losses(self, y: np.ndarray, predicted: np.ndarray, k: int | None, /) -> np.ndarray:
        classes = np.arange(predicted.shape[1])
        apart = predicted.astype(np.float64) - (np.asarray(y)[:, None] == classes)
        half = 0.5 if len(classes) < 3 else 1.0
        return half * (apart**2).sum(axis=1, keepdims=True)


def perplexity(log_probabilities: Any, sample_weight: Any = None) -> float:
    """Exponential of minus the mean log-probability of what came: of words, of any tokens.

    A model that gives each of m equally likely words its due has perplexity m.

    Parameters
    ----------
    log_probabilities : array
        Natural logarithm of the probability of each thing that came.
    sample_weight : array, optional
        How often it came.

    Examples
    --------
    >>> import numpy as np
    >>> round(perplexity(np.log([0.25, 0.25, 0.25])), 12)
    4.0
    """
    logs = np.asarray(log_probabilities, np.float64)
    if not logs.size or np.isnan(logs).any() or (logs > 1e-9).any():
        raise ValueError("log-probabilities must be numbers, at least one and none above 0")
    return float(np.exp(-np.average(logs, weights=sample_weight)))


PROBABILITY_METRICS: list[Metric] = [LogLoss(), Perplexity(), Brier()]
