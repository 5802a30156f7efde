"""One support vector machine for each pair of classes, and the votes of all of them.

The machine of classes i < j has positive scores for class i, as in libsvm.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.svm._base import support_scores


def class_pairs(k: int) -> list[tuple[int, int]]:
    """Pairs (i, j) of k classes, i < j.

    Examples
    --------
    >>> class_pairs(3)
    [(0, 1), (0, 2), (1, 2)]
    """
    return list(combinations(range(k), 2))


def dual_table(
    coefficients: list[tuple[np.ndarray, np.ndarray]], y: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Coefficients of all pairs in the layout of libsvm.

    Parameters
    ----------
    coefficients : for each pair the positions of its rows, and their coefficients
    y : (n,) class of each row
    k : number of classes

    Returns
    -------
    support : (m,) positions of the support vectors, by class
    dual_coef : (k - 1, m); of a vector of class i, row j - 1 (or j, if j < i) is its coefficient
        against class j
    n_support : (k,) support vectors of each class
    """
    table = np.zeros((k - 1, len(y)))
    for (i, j), (rows, values) in zip(class_pairs(k), coefficients, strict=True):
        first = y[rows] == i
        table[j - 1, rows[first]] = values[first]
        table[i, rows[~first]] = values[~first]
    used = np.flatnonzero(table.any(axis=0))
    support = used[np.argsort(y[used], kind="stable")]
    return support, table[:, support], np.bincount(y[support], minlength=k).astype(np.int32)


def pair_coefficients(dual_coef: np.ndarray, n_support: np.ndarray) -> np.ndarray:
    """Coefficients (n_support_vectors, n_pairs) of each pair's score."""
    k = len(n_support)
    ends = np.concatenate([[0], np.cumsum(n_support)])
    V = np.zeros((dual_coef.shape[1], k * (k - 1) // 2))
    for pair, (i, j) in enumerate(class_pairs(k)):
        own, other = slice(ends[i], ends[i + 1]), slice(ends[j], ends[j + 1])
        V[own, pair] = dual_coef[j - 1, own]
        V[other, pair] = dual_coef[i, other]
    return V


def count_votes(scores: np.ndarray, k: int) -> np.ndarray:
    """Votes (n, k) of all pairs."""
    votes = np.zeros((len(scores), k), np.int64)
    for pair, (i, j) in enumerate(class_pairs(k)):
        wins = scores[:, pair] > 0
        votes[:, i] += wins
        votes[:, j] += ~wins
    return votes


def class_confidences(scores: np.ndarray, k: int) -> np.ndarray:
    """One score for each class: its votes, and a third of a vote at most for the sizes of scores.

    This is scikit-learn's decision function of shape "ovr".
    """
    sums = np.zeros((len(scores), k))
    votes = np.zeros((len(scores), k))
    for pair, (i, j) in enumerate(class_pairs(k)):
        sums[:, i] += scores[:, pair]
        sums[:, j] -= scores[:, pair]
        wins = scores[:, pair] >= 0
        votes[:, i] += wins
        votes[:, j] += ~wins
    return votes + sums / (3 * (np.abs(sums) + 1))


def vote_winners(chunk: Chunk, k: int, *state: Any) -> np.ndarray:
    """Class with the most votes; of several the first."""
    return count_votes(support_scores(chunk, *state), k).argmax(axis=1)


def confidence_winners(chunk: Chunk, k: int, *state: Any) -> np.ndarray:
    """Class of largest confidence."""
    return class_confidences(support_scores(chunk, *state), k).argmax(axis=1)


def confidences(chunk: Chunk, k: int, *state: Any) -> np.ndarray:
    """Confidences of all classes."""
    return class_confidences(support_scores(chunk, *state), k).astype(chunk.X.dtype, copy=False)
