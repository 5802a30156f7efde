r"""Calibration of probabilities in mergeable bins, and the decomposition of the Brier score.

With bins b of weight w_b (of W), mean probability p_b and share of positive rows o_b, the mean
squared error of probabilities splits (Murphy 1973, plus the variation within bins) into

.. math:: B = \underbrace{\sum_b \tfrac{w_b}{W} (p_b - o_b)^2}_{reliability}
            - \underbrace{\sum_b \tfrac{w_b}{W} (o_b - o)^2}_{resolution}
            + \underbrace{o (1 - o)}_{uncertainty} + \textit{within}
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from tenfold._compiled.reductions import class_sums
from tenfold.metrics._predictions import class_indices, positive_class
from tenfold.metrics.base import Metric, safe_divide
from tenfold.metrics.evaluation import collect_statistics

_DEFAULT_BINS = 10


class CalibrationBins(NamedTuple):
    """Sums over the rows of each bin of [0, 1].

    Attributes
    ----------
    weight : (n_bins,) weight
    sums : (n_bins, 3) weighted sums of probability, outcome, and squared error
    """

    weight: np.ndarray
    sums: np.ndarray


class Calibration:
    """Observed frequency against predicted probability, in bins of equal width.

    Parameters
    ----------
    bins : Bins
        Sums of each bin; `from_estimator` and `from_predictions` make them. Two calibrations of
        equally many bins add up.
    positive : label, optional
        The positive class; None if probabilities are those of the predicted class.

    Attributes
    ----------
    weight : (n_bins,) weight of each bin
    predicted, observed : (n_bins,) mean probability and share of positive rows, NaN if empty
    expected_error : expected calibration error: mean distance of the two
    largest_error : largest distance of the two
    brier : mean squared error of the probabilities
    reliability, resolution, uncertainty, within : parts of the Brier score, which is reliability -
        resolution + uncertainty + within; the last is 0 if all probabilities of a bin are equal

    Examples
    --------
    >>> c = Calibration.from_predictions([0, 1, 1, 1], [0.25, 0.25, 0.75, 0.75], bins=2)
    >>> c.predicted.tolist(), c.observed.tolist(), c.expected_error
    ([0.25, 0.75], [0.5, 1.0], 0.25)
    >>> c.brier, c.reliability, c.resolution, c.uncertainty, c.within
    (0.1875, 0.0625, 0.0625, 0.1875, 0.0)
    """

    def __init__(self, bins: CalibrationBins, positive: Any = None) -> None:
        self.bins, self.positive = bins, positive
        self.weight = bins.weight
        self.predicted, self.observed = (
            safe_divide(bins.sums[:, j], self.weight) for j in range(2)
        )
        share = safe_divide(self.weight, self.weight.sum())
        occupied = self.weight > 0
        share, p, o = share[occupied], self.predicted[occupied], self.observed[occupied]
        mean = share @ o
        self.expected_error = float(share @ np.abs(p - o))
        self.largest_error = float(np.abs(p - o).max(initial=0.0))
        self.brier = float(safe_divide(bins.sums[:, 2].sum(), self.weight.sum()))
        self.reliability = float(share @ (p - o) ** 2)
        self.resolution = float(share @ (o - mean) ** 2)
        self.uncertainty = float(mean * (1 - mean))
        self.within = self.brier - (self.reliability - self.resolution + self.uncertainty)

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any = None, *, positive: Any = None, bins: int = _DEFAULT_BINS,
        sample_weight: Any = None,
    ) -> Self:  # fmt: skip
        """The calibration of a fitted classifier on rows of any kind, from one pass.

        Parameters
        ----------
        model : fitted classifier with `predict_proba`
            Of tenfold or scikit-learn.
        X, y, sample_weight :
            Rows, their labels and weights, as `tenfold.metrics.evaluation` takes them.
        positive : label, optional
            The class whose probability is used; by default the second of two. Of more classes it is
            the probability of the predicted class, against how often it is correct.
        bins : int
            Number of bins.
        """
        classes = np.asarray(model.classes_)
        if positive is not None or len(classes) <= 2:
            positive = positive_class(positive, classes)
        _, [statistic] = collect_statistics(
            model, X, y, [_CalibrationMetric(positive, classes, bins)], sample_weight
        )
        return cls(statistic, positive)

    @classmethod
    def from_predictions(
        cls, y: Any, probabilities: Any, *, positive: Any = None, bins: int = _DEFAULT_BINS,
        sample_weight: Any = None,
    ) -> Self:  # fmt: skip
        """The calibration of probabilities in memory.

        Parameters
        ----------
        y : (n,) array
            True labels of two classes.
        probabilities : (n,) array
            Probability of the positive class.
        positive : label, optional
            The positive class; by default the larger of two.
        bins : int
            Number of bins.
        sample_weight : (n,) array, optional
            Weights.
        """
        positive = positive_class(positive, np.unique(np.asarray(y)))
        outcome = np.asarray(y) == positive
        return cls(
            bin_probabilities(np.asarray(probabilities), outcome, sample_weight, bins), positive
        )

    def __add__(self, other: Calibration) -> Calibration:
        if len(self.weight) != len(other.weight):
            raise ValueError(f"{len(self.weight)} and {len(other.weight)} bins do not add up")
        sums = (a + b for a, b in zip(self.bins, other.bins, strict=True))
        return Calibration(CalibrationBins(*sums), self.positive)

    merge = __add__

    def __repr__(self) -> str:
        return (
            f"Calibration(expected_error={self.expected_error:.4g}, brier={self.brier:.4g} = "
            f"{self.reliability:.4g} - {self.resolution:.4g} + {self.uncertainty:.4g} + "
            f"{self.within:.4g})"
        )


def bin_probabilities(p: np.ndarray, outcome: np.ndarray, w: Any, bins: int) -> CalibrationBins:
    """Sums of rows with probabilities p and outcomes 0 or 1; a bin includes its upper edge."""
    p = np.asarray(p, np.float64)
    if not ((p >= 0) & (p <= 1)).all():
        raise ValueError("probabilities must lie from 0 to 1")
    outcome = np.asarray(outcome, np.float64)
    bin_index = np.searchsorted(np.linspace(0, 1, bins + 1)[1:-1], p)  # as scikit-learn does
    rows = np.column_stack([p, outcome, (p - outcome) ** 2])
    weights = np.ones(len(p)) if w is None else np.asarray(w, np.float64)
    return CalibrationBins(*class_sums(rows, bin_index, weights, bins))


class _CalibrationMetric(Metric):
    """Bins of the probability of one class, or of the predicted class."""

    name = "calibration"
    wants = "probabilities"

    def __init__(self, positive: Any, classes: np.ndarray, bins: int) -> None:
        self.bins = bins
        self.column = None
        if positive is not None:
            [self.column] = class_indices(np.array([positive]), classes)

    def part(
        self, y: np.ndarray, predicted: np.ndarray, w: Any, k: int | None, /
    ) -> CalibrationBins:
        if self.column is None:
            label = predicted.argmax(axis=1)
            return bin_probabilities(predicted.max(axis=1), label == y, w, self.bins)
        return bin_probabilities(predicted[:, self.column], y == self.column, w, self.bins)

    def value(self, statistic: CalibrationBins) -> float:
        return -Calibration(statistic).expected_error
