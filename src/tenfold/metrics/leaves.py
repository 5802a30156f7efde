"""The compiled loops that count labels, serial and without the interpreter's lock."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def tally(y, said, w, k):  # noqa: ANN001, ANN201  (n,), (n,), (n,) or empty -> (3, k)
    """Weight of the rows of each class that were hit, that were said to be of it, that are of it.

    What was said may be no class, below 0: that is a mistake.
    """
    found = np.zeros((3, k))
    for i in range(len(y)):
        weight = w[i] if len(w) else 1.0
        found[2, y[i]] += weight
        if said[i] >= 0:
            found[1, said[i]] += weight
        if said[i] == y[i]:
            found[0, y[i]] += weight
    return found


@njit(cache=True, nogil=True)
def cells(y, said, w, k):  # noqa: ANN001, ANN201  -> (k, k)
    """Weight of the rows of each class (row) that were said to be of each (column)."""
    counts = np.zeros((k, k))
    for i in range(len(y)):
        counts[y[i], said[i]] += w[i] if len(w) else 1.0
    return counts
