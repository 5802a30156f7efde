r"""Probabilities from the scores of support vector machines, such that `predict` agrees with them.

The score s of a pair of classes becomes :math:`\sigma(a_+ s)` where it is positive and
:math:`\sigma(a_- s)` where it is not, so that the more probable class is the one that s favors.
The slopes maximize the likelihood of scores from five fits, each to the rows of four of five parts.
Probabilities of pairs are coupled as in Wu, Lin and Weng (2004), then moved as little as possible
so that the class that wins the votes is the most probable one.

References
----------
* J. Platt (1999). Probabilistic outputs for support vector machines.
* T.-F. Wu, C.-J. Lin, R. C. Weng (2004). Probability estimates for multi-class classification by
  pairwise coupling. JMLR 5.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit

from tenfold.engine.chunk import Chunk
from tenfold.svm._base import support_scores
from tenfold.svm._one_vs_one import class_confidences, class_pairs, count_votes

N_PARTS = 5
_BISECTIONS = 80
_LEAST_SLOPE = 1e-6  # times the mean size of scores: which side of 1/2 must stay visible


def part_of_rows(y: np.ndarray, n_parts: int = N_PARTS) -> np.ndarray:
    """The part of each row: rows of a class are dealt out in their order.

    Examples
    --------
    >>> part_of_rows(np.array([0, 1, 0, 0, 1]), 2).tolist()
    [0, 0, 1, 0, 1]
    """
    part = np.empty(len(y), np.int64)
    for c in np.unique(y):
        rows = np.flatnonzero(y == c)
        part[rows] = np.arange(len(rows)) % n_parts
    return part


def calibrate_slopes(scores: np.ndarray, sign: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The slopes for positive scores and for the others, by maximum likelihood.

    Labels are softened as by Platt: (n + 1) / (n + 2) for the n rows of a class, not 1.
    """
    counts = weight[sign > 0].sum(), weight[sign < 0].sum()
    target = np.where(sign > 0, (counts[0] + 1) / (counts[0] + 2), 1 / (counts[1] + 2))
    sides = scores > 0, scores <= 0
    return np.array([_slope(scores[s], target[s], weight[s]) for s in sides])


def _slope(scores: np.ndarray, target: np.ndarray, weight: np.ndarray) -> float:
    """The slope a >= 0 at which the derivative of the likelihood of sigma(a s) is zero."""
    size = float(np.abs(scores).mean()) if len(scores) else 0.0
    if size == 0.0:
        return 1.0
    low, high = _LEAST_SLOPE / size, 1.0 / size

    def excess(a: float) -> float:
        return float((weight * scores) @ (expit(a * scores) - target))

    if excess(low) >= 0:
        return low
    while excess(high) < 0 and high < 1e9 / size:
        high *= 2
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if excess(middle) < 0 else (low, middle)
    return 0.5 * (low + high)


def pair_probabilities(scores: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """Probability of the first class of each pair: above 1/2 where the score is positive."""
    positive = scores > 0
    p = expit(scores.astype(np.float64) * np.where(positive, slopes[:, 0], slopes[:, 1]))
    return np.where(
        positive, np.maximum(p, np.nextafter(0.5, 1)), np.minimum(p, np.nextafter(0.5, 0))
    )


def couple_pairs(r: np.ndarray, k: int) -> np.ndarray:
    """Probabilities of k classes, (n, k), from those of all pairs, (n, n_pairs)."""
    R = np.zeros((len(r), k, k))
    for pair, (i, j) in enumerate(class_pairs(k)):
        R[:, i, j], R[:, j, i] = r[:, pair], 1 - r[:, pair]
    A = np.zeros((len(r), k + 1, k + 1))
    A[:, :k, :k] = -R * R.transpose(0, 2, 1)
    A[:, range(k), range(k)] = (R * R).sum(axis=1)
    A[:, :k, k] = A[:, k, :k] = 1.0
    b = np.zeros((len(r), k + 1, 1))
    b[:, k] = 1.0
    p = np.maximum(np.linalg.solve(A, b)[:, :k, 0], 0.0)
    return p / p.sum(axis=1, keepdims=True)


def favor_winners(p: np.ndarray, winners: np.ndarray) -> np.ndarray:
    """The nearest probabilities whose largest is that of the winner of each row.

    Examples
    --------
    >>> favor_winners(np.array([[0.5, 0.3, 0.2]]), np.array([1])).round(3).tolist()
    [[0.4, 0.4, 0.2]]
    """
    p = p.copy()
    for row in np.flatnonzero(p.argmax(axis=1) != winners):
        c = winners[row]
        rivals = np.flatnonzero(p[row] >= p[row, c])
        rivals = rivals[np.argsort(-p[row, rivals], kind="stable")]
        rivals = rivals[rivals != c]
        pool, count = p[row, c], 1
        for rival in rivals:  # pool the winner with the largest ones until none is above the mean
            if p[row, rival] <= pool / count:
                break
            pool, count = pool + p[row, rival], count + 1
        p[row, rivals[: count - 1]] = pool / count
        p[row, c] = pool / count * (1 + 1e-12)
    return p / p.sum(axis=1, keepdims=True)


def class_probabilities(
    chunk: Chunk, k: int, slopes: np.ndarray, break_ties: bool, *state: Any
) -> np.ndarray:
    """Probabilities of all classes, (n, k)."""
    scores = support_scores(chunk, *state)
    r = pair_probabilities(scores, slopes)
    if k == 2:
        return np.column_stack([r[:, 0], 1 - r[:, 0]])
    votes: Callable[..., np.ndarray] = class_confidences if break_ties else count_votes
    return favor_winners(couple_pairs(r, k), votes(scores, k).argmax(axis=1))
