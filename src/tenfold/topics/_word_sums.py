"""Sums by word and topic: dense while the table is small, else of the words that occurred."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

MAX_DENSE_ENTRIES = 2**20  # of a table of words by topics; larger ones hold the words that occurred


class WordSums(NamedTuple):
    """Rows of a table of words by topics; two merge by the union of their words.

    Attributes
    ----------
    words : (m,) numbers of the words, ascending
    values : (m, K) a row for each
    """

    words: np.ndarray
    values: np.ndarray

    def merge(self, other: WordSums) -> WordSums:
        words = np.empty(len(self.words) + len(other.words), np.int64)
        values = np.zeros((len(words), self.values.shape[1]), self.values.dtype)
        m = _merge_rows(self.words, self.values, other.words, other.values, words, values)
        return WordSums(words[:m].copy(), values[:m].copy())


@njit(cache=True, nogil=True)
def _merge_rows(a_words, a, b_words, b, words, values) -> int:  # noqa: ANN001
    """Merge two ascending lists of words, with rows of both added; their number is returned."""
    i, j, m = 0, 0, 0
    while i < len(a_words) or j < len(b_words):
        from_a = j == len(b_words) or (i < len(a_words) and a_words[i] <= b_words[j])
        from_b = i == len(a_words) or (j < len(b_words) and b_words[j] <= a_words[i])
        words[m] = a_words[i] if from_a else b_words[j]
        for k in range(values.shape[1]):
            values[m, k] = (a[i, k] if from_a else 0) + (b[j, k] if from_b else 0)
        i, j, m = i + from_a, j + from_b, m + 1
    return m


def allocate_sums(
    words: np.ndarray, n_words: int, n_topics: int, dtype: type = np.float64
) -> tuple[np.ndarray, WordSums | np.ndarray, np.ndarray]:
    """The row of each word, the statistic to return, and the table to add to, filled with zeros."""
    if n_words * n_topics <= MAX_DENSE_ENTRIES:
        table = np.zeros((n_words, n_topics), dtype)
        return np.arange(n_words), table, table
    known = np.unique(words).astype(np.int64)
    slots = np.zeros(n_words, np.int64)
    np.put(slots, known, np.arange(len(known)))
    table = np.zeros((len(known), n_topics), dtype)
    return slots, WordSums(known, table), table


def dense_sums(sums: WordSums | np.ndarray, n_words: int) -> np.ndarray:
    """The whole table, (n_words, n_topics)."""
    if isinstance(sums, np.ndarray):
        return sums
    table = np.zeros((n_words, sums.values.shape[1]), sums.values.dtype)
    table[sums.words] = sums.values
    return table
