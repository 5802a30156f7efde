"""Sums over the leaves that rows come to: of values by some of the trees, of targets by all."""

from __future__ import annotations

import numpy as np
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


@njit(cache=True, nogil=True)
def find_quantiles(leaves, starts, codes, counts, levels, shares, out):
    """Set the quantiles of each row from the histograms of its leaves, weighted by tree."""
    n, n_trees = leaves.shape
    for i in range(n):
        size = 0
        for t in range(n_trees):
            size += starts[leaves[i, t] + 1] - starts[leaves[i, t]]
        level, weight, at = np.empty(size, np.int64), np.empty(size), 0
        for t in range(n_trees):
            first, end = starts[leaves[i, t]], starts[leaves[i, t] + 1]
            total = 0.0
            for e in range(first, end):
                total += counts[e]
            for e in range(first, end):
                level[at] = codes[e]
                weight[at] = counts[e] / total / n_trees
                at += 1
        order = np.argsort(level, kind="mergesort")
        for q in range(len(shares)):
            below, place = 0.0, size - 1
            for j in range(size):
                below += weight[order[j]]
                if below >= shares[q] - 1e-12:
                    place = j
                    break
            out[i, q] = levels[level[order[place]]]
