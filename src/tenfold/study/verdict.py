"""The sealed test: scores of the chosen model on rows that nobody has looked at."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt

import numpy as np

from tenfold.select.intervals import bootstrap_interval, error_interval
from tenfold.study.result import Judged
from tenfold.study.scoring import Scoring

DRAWS = 300
MANY_ROWS = 20_000  # beyond it, the spread is that of scores of parts, brought to the whole
PART_ROWS = 5_000
PARTS = 40


def judged(y: np.ndarray, said: np.ndarray, scoring: Scoring, seed: int) -> Judged:
    """Scores of predictions with their intervals.

    Parameters
    ----------
    y : (n,) array
        Values, or class numbers.
    said : (n,) or (n, k) array
        Predicted values, or probabilities.
    scoring : Scoring
        The scores.
    seed : int
        Of the draws.
    """
    scores = scoring.scores(y, said)
    intervals = {
        name: _interval(name, score, y, said, scoring, seed) for name, score in scores.items()
    }
    if scoring.k is None:
        return Judged(y, said, None, scores, intervals)
    return Judged(y, said.argmax(axis=1), said, scores, intervals)


def _interval(
    name: str, score: float, y: np.ndarray, said: np.ndarray, scoring: Scoring, seed: int
) -> tuple[float, float]:
    """95 % interval: Wilson's for accuracy, else by drawing rows again."""
    if name == "accuracy":
        at = error_interval(round((1 - score) * len(y)), len(y))
        return 1 - at.high, 1 - at.low

    def measure(true: np.ndarray, predicted: np.ndarray) -> float:
        return scoring.score(true, predicted, name)

    if len(y) > MANY_ROWS:
        return _from_parts(measure, score, y, said, seed)
    try:
        at = bootstrap_interval(measure, y, said, method="percentile", draws=DRAWS, seed=seed)
    except ValueError:  # some draw lacks a class, say
        return score, score
    return at.low, at.high


def _from_parts(
    measure: Callable[..., float], score: float, y: np.ndarray, said: np.ndarray, seed: int
) -> tuple[float, float]:
    """The spread of scores of many rows, from that of scores of fewer."""
    rng = np.random.default_rng(seed)
    parts = (np.sort(rng.integers(len(y), size=PART_ROWS)) for _ in range(PARTS))
    spread = float(np.std([measure(y[rows], said[rows]) for rows in parts], ddof=1))
    half = 1.96 * spread * sqrt(PART_ROWS / len(y))
    return score - half, score + half
