"""Scores to probabilities, in the log domain: safe at any size of the score."""

from __future__ import annotations

import numpy as np


def log_softmax(scores: np.ndarray) -> np.ndarray:
    """Log-probabilities of each row of scores, (n, k).

    Examples
    --------
    >>> import numpy as np
    >>> log_softmax(np.array([[1000.0, 1000.0]])).round(4).tolist()
    [[-0.6931, -0.6931]]
    """
    shifted = below_top(scores)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


def softmax(scores: np.ndarray) -> np.ndarray:
    """Probabilities of each row of scores, (n, k), that sum to one.

    Examples
    --------
    >>> import numpy as np
    >>> softmax(np.array([[0.0, np.log(3)]])).round(4).tolist()
    [[0.25, 0.75]]
    """
    p = np.exp(below_top(scores))
    return p / p.sum(axis=1, keepdims=True)


def below_top(scores: np.ndarray) -> np.ndarray:
    """Scores less the largest of their row; where all are -inf, nothing is known: zeros."""
    top = scores.max(axis=1, keepdims=True)
    lost = np.isneginf(top)
    if not lost.any():
        return scores - top
    return np.where(lost, 0, scores) - np.where(lost, 0, top)
