"""The contexts of n-grams as a tree, and the search in it.

The root is the empty context. A child of a context sees one symbol further back: the path to the
context (a, b) of c is root, b, a. Contexts are numbered level by level, so the keys

    parent * width + symbol further back        (of contexts)
    context * width + symbol that follows       (of n-grams)

ascend over all levels at once, and one binary search finds a child or a count. A document begins
with the symbol `begin`, which nothing precedes: a context that has reached it has no children.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenfold.sequence._context_numbers_numba import (
    end_contexts,
    find_shorter_ngrams,
    number_contexts,
)
from tenfold.sequence._key_sums_numba import sum_by_key
from tenfold.sequence._ngram_counts import NgramCounts
from tenfold.sequence._ngram_scores_numba import find_path


class ContextTree(NamedTuple):
    """Contexts of 0 to n - 1 symbols, and how often each symbol follows.

    Attributes
    ----------
    width : symbols that a key tells apart: the vocabulary, and `begin` as the last one
    context_keys : (contexts - 1,) keys of contexts 1, 2, ...
    first_context : (n + 1,) number of the first context of each level
    ngram_keys : (m,) keys of n-grams of all orders up to n
    counts : (m,) their numbers of occurrences
    """

    width: int
    context_keys: np.ndarray
    first_context: np.ndarray
    ngram_keys: np.ndarray
    counts: np.ndarray

    @property
    def contexts(self) -> np.ndarray:
        """(m,) context of each n-gram."""
        return self.ngram_keys // self.width

    @property
    def symbols(self) -> np.ndarray:
        """(m,) symbol that follows the context."""
        return self.ngram_keys % self.width

    @property
    def parents(self) -> np.ndarray:
        """(contexts,) the context without its earliest symbol; -1 for the root."""
        return np.concatenate([[-1], self.context_keys // self.width])

    @property
    def begins(self) -> np.ndarray:
        """(contexts,) whether a context reaches back to the beginning of the document."""
        return np.concatenate([[False], self.context_keys % self.width == self.width - 1])

    @property
    def levels(self) -> np.ndarray:
        """(contexts,) symbols in each context."""
        return np.repeat(np.arange(len(self.first_context) - 1), np.diff(self.first_context))

    @property
    def first_ngram(self) -> np.ndarray:
        """(n + 1,) place of the first n-gram of each level."""
        return np.searchsorted(self.ngram_keys, self.first_context * self.width)

    def find_shorter(self) -> np.ndarray:
        """(m,) place of each n-gram without its earliest symbol; -1 for single symbols."""
        contexts, width = int(self.first_context[-1]), self.width
        first, single = np.zeros(contexts + 1, np.int64), np.empty(width, np.int64)
        places = np.full(len(self.ngram_keys), -1, np.int64)
        find_shorter_ngrams(self.ngram_keys, self.context_keys, width, first, single, places)
        return places

    def followers(self, context: int) -> slice:
        """Where the n-grams of a context stand."""
        ends = np.searchsorted(self.ngram_keys, [context * self.width, (context + 1) * self.width])
        return slice(*map(int, ends))

    def find_path(self, symbols: np.ndarray) -> np.ndarray:
        """The contexts, from the root on, that agree with the last symbols of a text."""
        return find_path(self.context_keys, self.width, symbols, len(self.first_context) - 1)


def build_context_tree(
    table: NgramCounts, size: int, *, boundaries: bool, root_counts: np.ndarray | None = None
) -> ContextTree:
    """The tree of counted n-grams.

    Parameters
    ----------
    table : NgramCounts
        Of symbols 0 to size - 1, and `size` for what stands before the first one; columns are in
        the order of `context_columns`.
    size : int
        Symbols of the vocabulary.
    boundaries : bool
        Whether the beginning of a document is a context; if not, first symbols have a shorter one.
    root_counts : (size,) array, optional
        How often each symbol occurs, if the table is a part of all n-grams.
    """
    width, order = size + 1, table.ngrams.shape[1]
    last = table.ngrams[:, -1]
    if root_counts is None:
        root_counts = np.bincount(last, table.counts, minlength=size).astype(np.int64)
    known = np.flatnonzero(root_counts)
    context_keys, first = [np.empty(0, np.int64)], [0, 1]
    ngram_keys, totals = [known], [root_counts[known]]
    contexts, scratch = np.zeros((2, len(last)), np.int64)
    for level in range(1, order):
        earlier = table.ngrams[:, level - 1]
        found = number_contexts(earlier, contexts, size, boundaries, scratch)
        context_keys.append(scratch[:found] + first[-2] * width)
        active = contexts >= 0
        keys = contexts[active]
        keys += first[-1]
        keys *= width
        keys += last[active]
        sums = keys, table.counts[active]
        if level < order - 1:  # else all keys differ, and ascend
            sums = sum_by_key(*sums)
        ngram_keys.append(sums[0])
        totals.append(sums[1])
        first.append(first[-1] + found)
        end_contexts(earlier, contexts, size)
    return ContextTree(
        width,
        np.concatenate(context_keys),
        np.array(first, np.int64),
        np.concatenate(ngram_keys),
        np.concatenate(totals),
    )


def context_columns(order: int) -> list[int]:
    """Columns of an n-gram: of its context, the last symbol first; then the symbol that follows.

    Examples
    --------
    >>> context_columns(4)
    [2, 1, 0, 3]
    """
    return [*range(order - 2, -1, -1), order - 1]
