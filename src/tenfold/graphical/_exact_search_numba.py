"""Compiled dynamic programming over sets of variables, as bits of a number."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def best_parent_sets(scores):
    """For each variable and set of candidates, the best score of a subset, and that subset.

    `scores` is (p, 2^p): the term of a variable with a set of parents, -inf where it is not
    allowed.
    """
    p, n = scores.shape
    best = scores.copy()
    chosen = np.empty((p, n), np.int32)
    for v in range(p):
        for s in range(n):
            chosen[v, s] = s
            for u in range(p):
                if s >> u & 1:
                    less = s & ~(1 << u)
                    if best[v, less] >= best[v, s]:
                        best[v, s] = best[v, less]
                        chosen[v, s] = chosen[v, less]
    return best, chosen


@njit(cache=True, nogil=True)
def best_sinks(best):
    """Score of the best network of each set of variables, and its last variable."""
    p, n = best.shape
    total = np.full(n, -np.inf)
    sink = np.full(n, -1, np.int8)
    total[0] = 0.0
    for s in range(1, n):
        for v in range(p):
            if s >> v & 1:
                rest = s & ~(1 << v)
                value = total[rest] + best[v, rest]
                if value > total[s]:
                    total[s] = value
                    sink[s] = v
    return total, sink
