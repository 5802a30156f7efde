"""Sums of leaf values over some of the trees of a forest."""

from __future__ import annotations

from numba import njit


@njit(cache=True, nogil=True)
def sum_outside(leaves, roots, values, drawn, out):
    """Sums of leaf values over the trees whose bit is not set; the last column counts them."""
    n, n_trees = leaves.shape
    width = values.shape[1]
    for i in range(n):
        for t in range(n_trees):
            if drawn[t, i] == 0:
                leaf = roots[t] + leaves[i, t]
                for k in range(width):
                    out[i, k] += values[leaf, k]
                out[i, width] += 1.0
