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

    def followers(self, context: int) -> slice:
        """Where the n-grams of a context stand."""
        ends = np.searchsorted(self.ngram_keys, [context * self.width, (context + 1) * self.width])
        return slice(*map(int, ends))

    def find_path(self, symbols: np.ndarray) -> np.ndarray:
        """The contexts, from the root on, that agree with the last symbols of a text."""
        return find_path(self.context_keys, self.width, symbols, len(self.first_context) - 1)


def build_context_tree(table: NgramCounts, size: int, *, boundaries: bool) -> ContextTree:
    """The tree of counted n-grams.

    Parameters
    ----------
    table : NgramCounts
        Of symbols 0 to size - 1, and `size` for what stands before the first one.
    size : int
        Symbols of the vocabulary.
    boundaries : bool
        Whether the beginning of a document is a context; if not, first symbols have a shorter one.
    """
    width, order = size + 1, table.ngrams.shape[1]
    ngrams, counts = table.ngrams, table.counts
    context = np.zeros(len(ngrams), np.int64)
    context_keys, ngram_keys, totals, first = [np.empty(0, np.int64)], [], [], [0, 1]
    for back in range(order):
        if back:
            earlier = ngrams[:, order - 1 - back]
            active = (context >= first[-2]) & _continues(ngrams, back, order, size)
            if not boundaries:
                active &= earlier != size
            if not active.all():
                ngrams, counts, context = ngrams[active], counts[active], context[active]
            context *= width
            context += ngrams[:, order - 1 - back]
            keys = np.unique(context)
            context = np.searchsorted(keys, context)
            context += first[-1]
            context_keys.append(keys)
            first.append(first[-1] + len(keys))
        keys, total = _sum_by_key(context * width + ngrams[:, -1], counts)
        ngram_keys.append(keys)
        totals.append(total)
    return ContextTree(
        width,
        np.concatenate(context_keys),
        np.array(first, np.int64),
        np.concatenate(ngram_keys),
        np.concatenate(totals),
    )


def _sum_by_key(keys: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different keys in ascending order, and the sum of the counts of each."""
    order = np.argsort(keys)
    keys = keys[order]
    starts = np.flatnonzero(np.concatenate([[len(keys) > 0], keys[1:] != keys[:-1]])[: len(keys)])
    counts = counts[order]
    del order
    totals = np.add.reduceat(counts, starts) if len(starts) else counts[:0]
    return keys[starts], totals


def _continues(ngrams: np.ndarray, back: int, order: int, begin: int) -> np.ndarray:
    """Whether something may precede the context of back - 1 symbols."""
    if back == 1:
        return np.ones(len(ngrams), bool)
    return ngrams[:, order - back] != begin
