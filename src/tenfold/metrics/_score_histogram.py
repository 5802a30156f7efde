r"""Mergeable histograms of scores: exact up to a limit, with an error bound beyond it.

A histogram holds, for each distinct score in ascending order, the weight of the rows of each class
with that score. Beyond `limit` distinct scores, neighbors share a bin: the scores whose bits agree
except for some low ones, of x itself or, from 1/2 to 1, of 1 - x, since probabilities are dense
near both ends. The fewest low bits are dropped that leave at most `limit` bins. This depends only
on the set of all scores, and bins of fewer bits are unions of bins of more, so the result does not
depend on the order of merging.

A bin keeps its lowest score, so the share of positive rows from there on is exact, and so is every
point of a ROC curve. Only pairs within one bin are not compared; each counts one half. If p_b and
n_b are the shares of all positive and all negative rows in bin b,

.. math:: |\hat A - A| \le \frac12 \sum_{b \text{ with different scores}} p_b n_b,

since the pairs of a bin add between 0 and p_b n_b to the area A.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Any, NamedTuple

import numpy as np

from tenfold.metrics.base import safe_divide

MAX_BINS = 2**21  # distinct scores, 32 bytes each (64 MB); chosen by memory, not swept
_MAX_DROPPED_BITS = 63  # leaves four bins, split at 0, 1/2 and 1
MIN_BINS = 4


class ScoreHistogram(NamedTuple):
    """Weight of rows by score and class; unsorted and with duplicates until `compact` is called.

    Attributes
    ----------
    scores, highest : (n_bins,) lowest and highest score of each bin
    weights : (n_bins, n_classes) weight of the rows of each class
    dropped : number of low bits dropped; 0 means that every distinct score has its own bin
    limit : maximum number of bins
    """

    scores: np.ndarray
    highest: np.ndarray
    weights: np.ndarray
    dropped: int
    limit: int

    def merge(self, other: ScoreHistogram) -> ScoreHistogram:
        lowest, highest, weights = (
            np.concatenate(parts) for parts in zip(self[:3], other[:3], strict=True)
        )
        dropped = max(self.dropped, other.dropped)
        joint = ScoreHistogram(lowest, highest, weights, dropped, self.limit)
        return joint.compact() if len(lowest) > self.limit else joint

    def compact(self) -> ScoreHistogram:
        """Sort and merge bins, dropping as few bits as the limit allows."""
        order = np.argsort(self.scores, kind="stable")  # linear time on two sorted runs
        lowest, highest, weights = (np.take(part, order, axis=0) for part in self[:3])
        region = (lowest > 0.5).view(np.int8) + (lowest > 1).view(np.int8)
        bits = np.where(region == 1, 1 - lowest, lowest).view(np.uint64)

        def fits(drop: int) -> bool:
            return int(np.count_nonzero(_is_bin_start(bits >> drop, region))) <= self.limit

        dropped = self.dropped
        if len(lowest) > self.limit:
            dropped += bisect_left(range(dropped, _MAX_DROPPED_BITS), True, key=fits)
        first = np.flatnonzero(_is_bin_start(bits >> dropped, region))
        if len(first) < len(lowest):
            highest = np.maximum.reduceat(highest, first)
            weights = np.add.reduceat(weights, first, axis=0)
        return ScoreHistogram(np.take(lowest, first), highest, weights, dropped, self.limit)

    @property
    def is_merged(self) -> np.ndarray:
        """Whether each bin holds different scores; none does up to the limit."""
        return self.highest > self.scores

    def pair(self, a: int, b: int) -> ScoreHistogram:
        """The histogram of the rows of two classes."""
        return self._replace(weights=np.take(self.weights, [a, b], axis=1))


def score_histogram(
    scores: Any, labels: Any, w: Any, n_classes: int, limit: int = MAX_BINS
) -> ScoreHistogram:
    """The histogram of some rows of the classes 0 .. n_classes - 1.

    Examples
    --------
    >>> histogram = score_histogram([0.2, 0.9, 0.2], [0, 1, 1], None, 2).compact()
    >>> histogram.scores.tolist(), histogram.weights.tolist()
    ([0.2, 0.9], [[1.0, 1.0], [0.0, 1.0]])
    """
    scores = np.asarray(scores, np.float64) + 0.0  # turns -0.0 into 0.0
    if np.isnan(scores).any():
        raise ValueError("scores hold NaN: the model has no prediction for some rows")
    if limit < MIN_BINS:
        raise ValueError(f"limit={limit}: a histogram needs at least {MIN_BINS} bins")
    weights = (np.asarray(labels)[:, None] == np.arange(n_classes)).astype(np.float64)
    if w is not None:
        weights *= np.asarray(w, np.float64)[:, None]
        weighted = np.flatnonzero(w)  # rows of weight 0 do not count
        scores, weights = np.take(scores, weighted), np.take(weights, weighted, axis=0)
    return ScoreHistogram(scores, scores, weights, 0, limit)


def roc_area(histogram: ScoreHistogram) -> float:
    """Area under the ROC curve of the second of two classes, of a compact histogram."""
    negative, positive = histogram.weights.T
    below = np.cumsum(negative) - negative / 2
    return float(safe_divide(positive @ below, positive.sum() * negative.sum()))


def roc_area_error(histogram: ScoreHistogram) -> float:
    """Bound on the error of the area due to binning; 0 up to the limit."""
    negative, positive = histogram.weights.T
    uncompared = (positive * histogram.is_merged) @ negative / 2
    return float(safe_divide(uncompared, positive.sum() * negative.sum()))


def average_precision(histogram: ScoreHistogram) -> float:
    """Mean precision over the thresholds of the positive rows; 0 if there is none."""
    positive, _, precision, _ = _precisions(histogram)
    return float(np.nan_to_num(safe_divide(positive @ precision, positive.sum())))


def average_precision_error(histogram: ScoreHistogram) -> float:
    """Bound on the error of the average precision due to binning.

    The precision at a positive row of a bin lies between the one with all negative rows of the bin
    first and the one with all positive rows first.
    """
    positive, lowest, precision, highest = _precisions(histogram)
    error = np.maximum(highest - precision, precision - lowest) * histogram.is_merged[::-1]
    return float(np.nan_to_num(safe_divide(positive @ error, positive.sum())))


def _precisions(histogram: ScoreHistogram) -> tuple[np.ndarray, ...]:
    """Positive weight of each bin, highest first, and its lowest, nominal and highest precision."""
    negative, positive = histogram.weights[::-1].T
    true, false = np.cumsum(positive), np.cumsum(negative)
    precision = np.nan_to_num(safe_divide(true, true + false))
    before_true, before_false = true - positive, false - negative
    lowest = np.nan_to_num(safe_divide(before_true, before_true + false), nan=1.0)
    highest = np.nan_to_num(safe_divide(true, true + before_false), nan=1.0)
    return positive, lowest, precision, highest


def _is_bin_start(bits: np.ndarray, zone: np.ndarray) -> np.ndarray:
    """Whether a bin starts at each of the sorted scores."""
    changes = (bits[1:] != bits[:-1]) | (zone[1:] != zone[:-1])
    return np.concatenate([np.ones(min(len(bits), 1), bool), changes])
