"""Metrics of predicted labels and of probabilities.

Accuracy, precision, recall, F1 and MCC follow from three weights per class: of its correctly
predicted rows, of the rows predicted to be of it, and of its rows. Log loss, perplexity and Brier
score are means over rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from tenfold.metrics.base import MeanLoss, Metric, as_class_indices, as_weight_array, safe_divide


@njit(cache=True, nogil=True)
def class_tallies(y, predicted, w, k):  # noqa: ANN001, ANN201  (n,), (n,), (n,) or empty -> (3, k)
    """Weight per class of the correct predictions, of all predictions, and of all rows.

    A prediction below 0 is none of the classes and counts as an error.
    """
    tallies = np.zeros((3, k))
    for i in range(len(y)):
        weight = w[i] if len(w) else 1.0
        tallies[2, y[i]] += weight
        if predicted[i] >= 0:
            tallies[1, predicted[i]] += weight
        if predicted[i] == y[i]:
            tallies[0, y[i]] += weight
    return tallies


@njit(cache=True, nogil=True)
def confusion_counts(y, predicted, w, k):  # noqa: ANN001, ANN201  -> (k, k)
    """Weight of the rows of each class (row) predicted to be of each class (column)."""
    counts = np.zeros((k, k))
    for i in range(len(y)):
        counts[y[i], predicted[i]] += w[i] if len(w) else 1.0
    return counts


class LabelCounts(NamedTuple):
    """Weight per class, (n_classes,) each, of correct predictions, all predictions, all rows."""

    correct: np.ndarray
    predicted: np.ndarray
    true: np.ndarray


class LabelMetric(Metric):
    """A metric of class indices."""

    wants = "labels"

    def part(self, y: np.ndarray, predicted: np.ndarray, w: Any, k: int | None, /) -> LabelCounts:
        if k is None:
            raise ValueError(f"{self.name} compares labels, but the model has no classes")
        return LabelCounts(
            *class_tallies(as_class_indices(y), as_class_indices(predicted), as_weight_array(w), k)
        )


class Accuracy(LabelMetric):
    """Share of correct labels; one minus the mean 0-1 loss."""

    name = "accuracy"

    def value(self, statistic: LabelCounts) -> float:
        return float(safe_divide(statistic.correct.sum(), statistic.true.sum()))


class BalancedAccuracy(LabelMetric):
    """Mean recall of the classes that occur."""

    name = "balanced_accuracy"

    def value(self, statistic: LabelCounts) -> float:
        return float(_mean(_recalls(statistic)))


class Informedness(LabelMetric):
    """Youden's J: TPR + TNR - 1; of k classes, 0 for chance and 1 for perfect predictions.

    It is (b - 1/k) / (1 - 1/k) for the balanced accuracy b and the k classes that occur; 0 if only
    one class occurs.
    """

    name = "informedness"

    def value(self, statistic: LabelCounts) -> float:
        recalls = _recalls(statistic)
        if len(recalls) < 2:
            return 0.0
        chance = 1 / len(recalls)
        return float((_mean(recalls) - chance) / (1 - chance))


class MatthewsCorrelation(LabelMetric):
    """Matthews correlation of predicted and true classes; 0 if one of them is constant."""

    name = "matthews_corrcoef"

    def value(self, statistic: LabelCounts) -> float:
        return float(np.nan_to_num(matthews_correlation(statistic)))


class AveragedClassMetric(LabelMetric):
    """Precision, recall or F1, of the second of two classes or averaged over classes.

    As in scikit-learn, a class that is never predicted has precision 0, one that never occurs
    recall 0, and classes that neither occur nor are predicted are left out of averages.
    """

    def __init__(self, kind: str, average: str) -> None:
        self.kind, self.average = kind, average
        self.name = kind if average == "binary" else f"{kind}_{average}"

    def part(self, y: np.ndarray, predicted: np.ndarray, w: Any, k: int | None, /) -> LabelCounts:
        if self.average == "binary" and k != 2:
            raise ValueError(
                f"{self.name} is for two classes, not {k}: use {self.kind}_macro, "
                f"{self.kind}_micro or {self.kind}_weighted"
            )
        return super().part(y, predicted, w, k)

    def value(self, statistic: LabelCounts) -> float:
        numerator, denominator = self._fraction(statistic)
        if self.average == "binary":
            return float(_divide_or_zero(numerator[1], denominator[1]))
        if self.average == "micro":
            return float(_divide_or_zero(numerator.sum(), denominator.sum()))
        shares = _divide_or_zero(numerator, denominator)
        if self.average == "weighted":
            return float(_divide_or_zero(shares @ statistic.true, statistic.true.sum()))
        return float(_mean(shares[(statistic.predicted > 0) | (statistic.true > 0)]))

    def _fraction(self, counts: LabelCounts) -> tuple[np.ndarray, np.ndarray]:
        if self.kind == "f1":
            return 2 * counts.correct, counts.predicted + counts.true
        return counts.correct, counts.predicted if self.kind == "precision" else counts.true


def matthews_correlation(counts: LabelCounts) -> float:
    """Matthews correlation coefficient; NaN if true or predicted classes are constant."""
    n = counts.true.sum()
    covariance = counts.correct.sum() * n - counts.predicted @ counts.true
    variances = (n**2 - counts.predicted @ counts.predicted) * (n**2 - counts.true @ counts.true)
    return float(safe_divide(covariance, np.sqrt(variances)) if variances > 0 else np.nan)


def _recalls(counts: LabelCounts) -> np.ndarray:
    occurring = counts.true > 0
    return counts.correct[occurring] / counts.true[occurring]


def _mean(shares: np.ndarray) -> float:
    return shares.mean() if len(shares) else np.nan


def _divide_or_zero(numerator: Any, denominator: Any) -> Any:
    return np.nan_to_num(safe_divide(numerator, denominator))


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
    """Mean of -log p(y | x), in nats; probabilities are clipped by the machine precision."""

    name = "neg_log_loss"
    wants = "probabilities"

    def losses(self, y: np.ndarray, predicted: np.ndarray, k: int | None, /) -> np.ndarray:
        eps = np.finfo(predicted.dtype).eps
        probability = np.take_along_axis(predicted, np.asarray(y)[:, None], axis=1)
        return -np.log(np.clip(probability, eps, 1 - eps).astype(np.float64))


class Perplexity(LogLoss):
    """Exponential of the log loss: the effective number of equally likely classes."""

    name = "neg_perplexity"

    def transform_mean(self, means: np.ndarray) -> np.ndarray:
        return np.exp(means)


class Brier(MeanLoss):
    """Mean squared distance of the probabilities from the one-hot class; half for two classes."""

    name = "neg_brier_score"
    wants = "probabilities"

    def losses(self, y: np.ndarray, predicted: np.ndarray, k: int | None, /) -> np.ndarray:
        classes = np.arange(predicted.shape[1])
        error = predicted.astype(np.float64) - (np.asarray(y)[:, None] == classes)
        factor = 0.5 if len(classes) < 3 else 1.0
        return factor * (error**2).sum(axis=1, keepdims=True)


def perplexity(log_probabilities: Any, sample_weight: Any = None) -> float:
    """Exponential of minus the mean log-probability of observed tokens.

    The perplexity of m equally likely tokens is m.

    Parameters
    ----------
    log_probabilities : array
        Natural logarithm of the probability of each observed token.
    sample_weight : array, optional
        Counts or weights of the tokens.

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
