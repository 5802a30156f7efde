"""Windows that slide over a text, and the words that occur in them together."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def count_windows(numbers, width, pairs) -> int:
    """Count the windows of a text with each word and each pair of words; their number is returned.

    A word at position p lies in the windows that start at p - width + 1 up to p. Positions ascend,
    so that of the windows of another word only the last unbroken interval can meet new ones.

    Parameters
    ----------
    numbers : number of each word of the text, -1 for words that are not counted
    width : words in a window
    pairs : (r, r) to which the counts are added; the diagonal is that of single words
    """
    length = len(numbers)
    if length == 0:
        return 0
    n_windows = max(length - width + 1, 1)
    begins, ends = np.full(len(pairs), -1), np.full(len(pairs), -1)
    seen = np.empty(len(pairs), np.int64)
    n_seen = 0
    for position in range(length):
        word = numbers[position]
        if word < 0:
            continue
        first = max(position - width + 1, 0)
        last = min(position, n_windows - 1)
        if ends[word] < 0:
            seen[n_seen] = word
            n_seen += 1
        new = max(first, ends[word] + 1)
        if ends[word] < 0 or first > ends[word] + 1:
            begins[word] = first
        if new <= last:
            pairs[word, word] += last - new + 1
            for i in range(n_seen):
                other = seen[i]
                joint = min(ends[other], last) - max(new, begins[other]) + 1
                if other != word and joint > 0:
                    pairs[word, other] += joint
                    pairs[other, word] += joint
            ends[word] = last
    return n_windows
