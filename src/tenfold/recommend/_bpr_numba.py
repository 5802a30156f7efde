"""Compiled stochastic steps of Bayesian personalized ranking, in one fixed order."""

from __future__ import annotations

from math import exp, log1p

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def lower_bound(items, start, end, item):
    """First place from start to end whose item is not below the given one; items ascend."""
    while start < end:
        middle = (start + end) // 2
        if items[middle] < item:
            start = middle + 1
        else:
            end = middle
    return start


@njit(cache=True, nogil=True)
def run_epoch(order, negative, users, starts, items, x, y, bias, rate, decay):
    """One step for each rating in the order given; returns loss, ordered pairs, and all pairs."""
    k = x.shape[1]
    loss, right, n = 0.0, 0, 0
    for e in order:
        u, i, j = users[e], items[e], negative[e]
        at = lower_bound(items, starts[u], starts[u + 1], j)
        if at < starts[u + 1] and items[at] == j:
            continue  # the user likes both: they say nothing about their order
        z = bias[i] - bias[j]
        for c in range(k):
            z += x[u, c] * (y[i, c] - y[j, c])
        loss += log1p(exp(-z)) if z > -30.0 else -z
        right += z > 0.0
        n += 1
        pull = rate / (1.0 + exp(min(z, 500.0)))
        shrink = 1.0 - rate * decay
        for c in range(k):
            a, b, d = x[u, c], y[i, c], y[j, c]
            x[u, c] = shrink * a + pull * (b - d)
            y[i, c] = shrink * b + pull * a
            y[j, c] = shrink * d - pull * a
        bias[i] = shrink * bias[i] + pull
        bias[j] = shrink * bias[j] - pull
    return loss, right, n


@njit(cache=True, nogil=True)
def place_user(liked, negative, y, bias, x, rate, decay):
    """Steps for one user with the items as they are; pairs (liked[e], negative[t, e])."""
    k = len(x)
    for t in range(len(negative)):
        for e in range(len(liked)):
            i, j = liked[e], negative[t, e]
            at = lower_bound(liked, 0, len(liked), j)
            if at < len(liked) and liked[at] == j:
                continue
            z = bias[i] - bias[j]
            for c in range(k):
                z += x[c] * (y[i, c] - y[j, c])
            pull = rate / (1.0 + exp(min(z, 500.0)))
            for c in range(k):
                x[c] = (1.0 - rate * decay) * x[c] + pull * (y[i, c] - y[j, c])


def draw_negatives(
    rng: np.random.Generator, n: int, popularity: np.ndarray | None, m: int
) -> np.ndarray:
    """Items that a rated one is compared with: all alike, or in proportion to their ratings."""
    if popularity is None:
        return rng.integers(m, size=n, dtype=np.int32)
    bounds = np.cumsum(popularity)
    return np.searchsorted(bounds, rng.random(n) * bounds[-1], side="right").astype(np.int32)
