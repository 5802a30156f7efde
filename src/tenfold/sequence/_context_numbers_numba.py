"""Compiled steps of building a tree of contexts from sorted n-grams."""

from __future__ import annotations

import numpy as np
from numba import njit

from tenfold._compiled.gemm import ENTRY_OPTIONS


@njit(**ENTRY_OPTIONS)
def number_contexts(earlier, parents, begin, boundaries, keys):
    """Number the contexts of one more symbol; rows of equal contexts stand together.

    Parameters
    ----------
    earlier : (m,) the symbol that is one further back
    parents : (m,) number of the context so far, -1 for none; replaced by that of the longer one
    begin : symbol before the first one, which nothing precedes
    boundaries : whether it is part of contexts
    keys : (m,) filled with parent * (begin + 1) + symbol of the new contexts

    Returns
    -------
    number of new contexts
    """
    found, last_parent, last_symbol = 0, -1, -1
    for i in range(len(parents)):
        parent, symbol = parents[i], np.int64(earlier[i])
        if parent < 0 or (symbol == begin and not boundaries):
            parents[i] = -1
            continue
        if parent != last_parent or symbol != last_symbol:
            keys[found] = parent * (begin + 1) + symbol
            found += 1
            last_parent, last_symbol = parent, symbol
        parents[i] = found - 1
    return found


@njit(**ENTRY_OPTIONS)
def end_contexts(earlier, contexts, begin) -> None:
    """Set the contexts that have reached `begin` to -1: no longer ones exist."""
    for i in range(len(contexts)):
        if earlier[i] == begin:
            contexts[i] = -1


@njit(**ENTRY_OPTIONS)
def find_shorter_ngrams(  # noqa: C901 - two walks
    ngram_keys, context_keys, width, first, single, places
):
    """Fill in the place of each n-gram without its earliest symbol; single symbols have none.

    The n-grams of a context, and contexts, ascend; so do the parents of contexts. `first`,
    (contexts + 1,) zeros, gets the place of the first n-gram of each context, and `single`,
    (width,), that of each symbol among the single ones.
    """
    contexts, c = len(context_keys) + 1, 0
    for i in range(len(ngram_keys)):
        while ngram_keys[i] >= (c + 1) * width:  # keys ascend: no division
            c += 1
            first[c] = i
    for rest in range(c + 1, contexts + 1):
        first[rest] = len(ngram_keys)
    at = 0
    for symbol in range(width):
        single[symbol] = at
        at += at + 1 < first[1] and ngram_keys[at] <= symbol
    for c in range(1, contexts):
        parent = context_keys[c - 1] // width
        at, end = first[parent], first[parent + 1]
        if parent == 0:
            for i in range(first[c], first[c + 1]):
                places[i] = single[ngram_keys[i] - c * width]
            continue
        shift = (parent - c) * width
        for i in range(first[c], first[c + 1]):
            key = ngram_keys[i] + shift
            low, high = at, end
            while low < high:
                middle = (low + high) // 2
                if ngram_keys[middle] < key:
                    low = middle + 1
                else:
                    high = middle
            places[i] = min(low, end - 1)
            at = low
