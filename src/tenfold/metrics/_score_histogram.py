r"""Distributions of scores that merge: exact while they fit, then with a stated error.

A table holds, for each different score in ascending order, the weight of the rows of each kind
that have it. When there are more different scores than the limit, neighbours are put together: a
cell holds the scores whose bits agree but for some low ones, of x itself or, from 1/2 to 1, of
1 - x, since probabilities crowd near both ends. Just as many bits are dropped as make few enough
cells. That depends on the set of all scores alone, and cells of fewer bits are unions of cells of
more, so the total is the same in whatever order parts merge.

Cells are intervals that know their lowest score, so the share of positive rows from there on is
exact: every point of a ROC curve is a true one. Only pairs within one cell are not compared. Each
counts one half, and if p_b and n_b are the shares of all positive and all negative rows that lie in
cell b,

.. math:: |\hat A - A| \le \frac12 \sum_{b \text{ with different scores}} p_b n_b,

since the pairs of a cell add between 0 and p_b n_b to the area A.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Any, NamedTuple

import numpy as np

from tenfold.metrics.base import safe_divide

MAX_BINS = 2**21  # different scores that are kept apart: 32 bytes each
_MAX_DROPPED_BITS = 63  # bits: then four cells are left, cut at 0, 1/2 and 1
MIN_BINS = 4


class ScoreHistogram(NamedTuple):
    """Weight of rows by score and kind; in any order, and scores more than once, until `settled`.

    Attributes
    ----------
    scores, highest : (m,) lowest and highest score of each cell
    weights : (m, c) weight of the rows of each kind
    dropped : number of low bits that were dropped; 0 means that every score has its own cell
    limit : most cells
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
        return joint.settled() if len(lowest) > self.limit else joint

    def settled(self) -> ScoreHistogram:
        """Cells in order, each once, with as few bits dropped as the limit allows."""
        order = np.argsort(self.scores, kind="stable")  # linear on two settled tables
        lowest, highest, weights = (np.take(part, order, axis=0) for part in self[:3])
        zone = (lowest > 0.5).view(np.int8) + (lowest > 1).view(np.int8)
        bits = np.where(zone == 1, 1 - lowest, lowest).view(np.uint64)

        def fits(drop: int) -> bool:
            return int(np.count_nonzero(_is_bin_start(bits >> drop, zone))) <= self.limit

        dropped = self.dropped
        if len(lowest) > self.limit:
            dropped += bisect_left(range(dropped, _MAX_DROPPED_BITS), True, key=fits)
        first = np.flatnonzero(_is_bin_start(bits >> dropped, zone))
        if len(first) < len(lowest):
            highest = np.maximum.reduceat(highest, first)
            weights = np.add.reduceat(weights, first, axis=0)
        return ScoreHistogram(np.take(lowest, first), highest, weights, dropped, self.limit)

    @property
    def mixed(self) -> np.ndarray:
        """Whether each cell holds different scores; none does up to the limit."""
        return self.highest > self.scores

    def pair(self, a: int, b: int) -> ScoreHistogram:
        """The same table of the rows of two kinds."""
        return self._replace(weights=np.take(self.weights, [a, b], axis=1))


def score_histogram(
    scores: Any, kinds: Any, w: Any, c: int, limit: int = MAX_BINS
) -> ScoreHistogram:
    """The table of some rows, which are of kinds 0 .. c-1.

    Examples
    --------
    >>> table = score_histogram([0.2, 0.9, 0.2], [0, 1, 1], None, 2).settled()
    >>> table.scores.tolist(), table.weights.tolist()
    ([0.2, 0.9], [[1.0, 1.0], [0.0, 1.0]])
    """
    scores = np.asarray(scores, np.float64) + 0.0  # one zero, not two
    if np.isnan(scores).any():
        raise ValueError("scores hold NaN: the model does not know what it says of some rows")
    if limit < MIN_BINS:
        raise ValueError(f"limit={limit}: a table needs at least {MIN_BINS} cells")
    weights = (np.asarray(kinds)[:, None] == np.arange(c)).astype(np.float64)
    if w is not None:
        weights *= np.asarray(w, np.float64)[:, None]
        there = np.flatnonzero(w)  # a row without weight is no row
        scores, weights = np.take(scores, there), np.take(weights, there, axis=0)
    return ScoreHistogram(scores, scores, weights, 0, limit)


def roc_area(table: ScoreHistogram) -> float:
    """Area under the ROC curve of the second of two kinds, of a settled table."""
    negative, positive = table.weights.T
    below = np.cumsum(negative) - negative / 2
    return float(safe_divide(positive @ below, positive.sum() * negative.sum()))


def roc_area_error(table: ScoreHistogram) -> float:
    """How far the area may be from that of the scores themselves; 0 up to the limit."""
    negative, positive = table.weights.T
    unknown = (positive * table.mixed) @ negative / 2
    return float(safe_divide(unknown, positive.sum() * negative.sum()))


def average_precision(table: ScoreHistogram) -> float:
    """Mean precision at the thresholds where each positive row comes in; 0 if there is none."""
    gained, _, said, _ = _precisions(table)
    return float(np.nan_to_num(safe_divide(gained @ said, gained.sum())))


def average_precision_error(table: ScoreHistogram) -> float:
    """How far the average precision may be from that of the scores themselves.

    A positive row of a cell comes in at a precision between that of all negative rows of the cell
    before all positive ones and that of the opposite order.
    """
    gained, least, said, most = _precisions(table)
    apart = np.maximum(most - said, said - least) * table.mixed[::-1]
    return float(np.nan_to_num(safe_divide(gained @ apart, gained.sum())))


def _precisions(table: ScoreHistogram) -> tuple[np.ndarray, ...]:
    """Positive weight of each cell, highest first, with the least, said and most precision."""
    negative, positive = table.weights[::-1].T
    true, false = np.cumsum(positive), np.cumsum(negative)
    said = np.nan_to_num(safe_divide(true, true + false))
    before_true, before_false = true - positive, false - negative
    least = np.nan_to_num(safe_divide(before_true, before_true + false), nan=1.0)
    most = np.nan_to_num(safe_divide(true, true + before_false), nan=1.0)
    return positive, least, said, most


def _is_bin_start(bits: np.ndarray, zone: np.ndarray) -> np.ndarray:
    """Whether a cell begins at each of sorted scores."""
    changes = (bits[1:] != bits[:-1]) | (zone[1:] != zone[:-1])
    return np.concatenate([np.ones(min(len(bits), 1), bool), changes])
