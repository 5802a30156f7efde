"""Counts of n-grams: sorted tables of rows of symbol numbers, which merge exactly."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from tenfold.sequence._key_sums_numba import sum_by_key
from tenfold.sequence._ngram_merge_numba import merge_tables

_MAX_KEY_BITS = 63  # of a packed n-gram


class NgramCounts(NamedTuple):
    """How often each n-gram occurs.

    Attributes
    ----------
    ngrams : (m, n) uint32 distinct n-grams as rows of symbol numbers, in lexicographic order
    counts : (m,) int64 numbers of occurrences

    Examples
    --------
    >>> a = NgramCounts.of(np.array([[0, 1], [2, 0], [0, 1]]))
    >>> b = NgramCounts.of(np.array([[2, 0], [1, 1]]))
    >>> merged = a.merge(b)
    >>> merged.ngrams.tolist(), merged.counts.tolist()
    ([[0, 1], [1, 1], [2, 0]], [2, 1, 2])
    """

    ngrams: np.ndarray
    counts: np.ndarray
    narrow = True  # symbol numbers keep their type

    @classmethod
    def of(cls, ngrams: np.ndarray, counts: np.ndarray | None = None) -> NgramCounts:
        """Counts of the rows of a table; rows may repeat."""
        single = np.ones(len(ngrams), np.int64) if counts is None else counts
        bits = _symbol_bits(ngrams)
        if bits * ngrams.shape[1] <= _MAX_KEY_BITS:
            keys, totals = sum_by_key(_pack(ngrams, bits), single)
            return cls(_unpack(keys, bits, ngrams.shape[1]), totals)
        _, first, ranks = np.unique(
            lexicographic_keys(ngrams), return_index=True, return_inverse=True
        )
        rows = ngrams[first].astype(np.uint32, copy=False)
        return cls(rows, sum_by_key(ranks, single)[1])

    @classmethod
    def empty(cls, order: int) -> NgramCounts:
        """No n-grams of this order."""
        return cls(np.empty((0, order), np.uint32), np.empty(0, np.int64))

    def merge(self, other: NgramCounts) -> NgramCounts:
        """The counts of the n-grams of both."""
        if not len(self.counts) or not len(other.counts):
            return self if len(self.counts) else other
        return NgramCounts(*merge_tables(self.ngrams, self.counts, other.ngrams, other.counts))

    def renumber(self, numbers: np.ndarray, columns: list[int] | None = None) -> NgramCounts:
        """The counts after symbol s has become numbers[s]; symbols may fall together.

        `columns` may put the symbols of an n-gram into another order.
        """
        ngrams = self.ngrams if columns is None else self.ngrams[:, columns]
        return NgramCounts.of(numbers.astype(np.uint32)[ngrams], self.counts)


def merge_counts(parts: Iterable[NgramCounts], order: int) -> NgramCounts:
    """Merge many tables; tables of like size are merged first, so the work is n log n."""
    stack: list[NgramCounts] = []
    for part in parts:
        stack.append(part)
        while len(stack) > 1 and len(stack[-2].counts) < 2 * len(stack[-1].counts):
            last = stack.pop()
            stack[-1] = stack[-1].merge(last)
    total = NgramCounts.empty(order)
    while stack:
        total = stack.pop().merge(total)
    return total


def lexicographic_keys(rows: np.ndarray) -> np.ndarray:
    """A whole number for each row, in the lexicographic order of the rows."""
    bits = _symbol_bits(rows)
    if bits * rows.shape[1] <= _MAX_KEY_BITS:
        return _pack(rows, bits)
    keys = np.zeros(len(rows), np.int64)
    for column in rows.T:  # ranks of ever longer prefixes
        _, keys = np.unique((keys << np.int64(bits)) + column, return_inverse=True)
    return keys


def count_windows(symbols: np.ndarray, starts: np.ndarray, order: int, begin: int) -> np.ndarray:
    """The n-gram that ends in each symbol; before the first of a document stands `begin`.

    Examples
    --------
    >>> count_windows(np.array([5, 6, 7]), np.array([0, 2, 3]), 2, begin=9).tolist()
    [[9, 5], [5, 6], [9, 7]]
    """
    n = len(symbols)
    ngrams = np.full((n, order), begin, np.uint32)
    ngrams[:, -1] = symbols
    place = np.arange(n) - np.repeat(starts[:-1], np.diff(starts))
    for back in range(1, order):
        inside = np.flatnonzero(place >= back)
        ngrams[inside, order - 1 - back] = symbols[inside - back]
    return ngrams


def _symbol_bits(rows: np.ndarray) -> int:
    return max(int(rows.max()).bit_length(), 1) if rows.size else 1


def _pack(rows: np.ndarray, bits: int) -> np.ndarray:
    keys = np.zeros(len(rows), np.int64)
    for column in rows.T:
        keys <<= np.int64(bits)
        keys |= column.astype(np.int64)
    return keys


def _unpack(keys: np.ndarray, bits: int, order: int) -> np.ndarray:
    ngrams = np.empty((len(keys), order), np.uint32)
    mask = (1 << bits) - 1
    for column in range(order):
        ngrams[:, column] = (keys >> np.int64(bits * (order - 1 - column))) & mask
    return ngrams
