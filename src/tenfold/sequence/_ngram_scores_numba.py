"""Search in a tree of contexts (`_context_tree`), and the probabilities of symbols."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _search(keys, key):
    """Place of a key among ascending ones, or -1."""
    low, high = 0, len(keys)
    while low < high:
        middle = (low + high) // 2
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low if low < len(keys) and keys[low] == key else -1


@njit(cache=True, nogil=True)
def find_path(context_keys, width, symbols, levels):
    """The contexts, from the root on, that agree with the last symbols."""
    path = np.zeros(levels, np.int64)
    found = 1
    while found < levels and found <= len(symbols):
        at = _search(context_keys, path[found - 1] * width + symbols[len(symbols) - found])
        if at < 0:
            break
        path[found] = at + 1
        found += 1
    return path[:found]


@njit(cache=True, nogil=True)
def score_symbols(
    symbols, starts, begin, boundaries, context_keys, ngram_keys, levels, direct, backoff, rule
):
    """Probability of each symbol after those before it in its document.

    `rule`: 0 adds `backoff` times the probability after the shorter context to `direct`, 1 takes it
    where the n-gram is unknown, 2 asks the longest context alone. Entry 0 of `backoff` leads from
    the root to equal probabilities.
    """
    width = begin + 1
    probability = np.empty(len(symbols))
    for document in range(len(starts) - 1):
        first = starts[document]
        for at in range(first, starts[document + 1]):
            p, context, complete = 1.0 / begin, 0, True
            for level in range(levels):
                if level:
                    place = at - level
                    if place < first - 1 or (place == first - 1 and not boundaries):
                        break
                    earlier = begin if place == first - 1 else symbols[place]
                    child = _search(context_keys, context * width + earlier)
                    if child < 0:
                        complete = False
                        break
                    context = child + 1
                if rule == 2:
                    continue
                found = _search(ngram_keys, context * width + symbols[at])
                if rule == 0:
                    p = backoff[context] * p + (direct[found] if found >= 0 else 0.0)
                else:
                    p = direct[found] if found >= 0 else backoff[context] * p
            if rule == 2:
                found = _search(ngram_keys, context * width + symbols[at]) if complete else -1
                share = backoff[context] if complete else backoff[0] if backoff[0] == 0 else 1.0
                p = share * p + (direct[found] if found >= 0 else 0.0)
            probability[at] = p
    return probability
