"""Compiled stochastic steps of Bayesian personalized ranking, in one fixed order."""

from __future__ import annotations

from math import exp, log

import numpy as np
from numba import njit

from tenfold._compiled.dot_product import dot_product
from tenfold._compiled.pair_steps import step_pair

_LARGE_PRODUCT = 1e300  # above it the running product of 1 + exp(-|z|) is turned into a logarithm
_BLOCK = 1024  # steps whose places are read ahead of them


@njit(cache=True, nogil=True)
def lower_bound(items, start, end, item):
    """First place from start to end whose item is not below the given one; items ascend."""
    left = end - start
    while left > 1:  # without a branch that depends on what is found
        half = left // 2
        start += half * (items[start + half - 1] < item)
        left -= half
    return start + (left == 1 and items[start] < item)


@njit(cache=True, nogil=True)
def drop_liked(starts, items, negative, m):
    """Replace items that their users like by -1: they say nothing about an order.

    Entry e of a user, from starts[u] to starts[u + 1], is compared with negative[e]. One user's
    items are marked at a time, which takes no search.
    """
    liked = np.zeros(m, np.bool_)
    for u in range(len(starts) - 1):
        for e in range(starts[u], starts[u + 1]):
            liked[items[e]] = True
        for e in range(starts[u], starts[u + 1]):
            if liked[negative[e]]:
                negative[e] = -1
        for e in range(starts[u], starts[u + 1]):
            liked[items[e]] = False


@njit(cache=True, nogil=True)
def _gather_triples(order, start, users, items, negative, triples):
    """Users, items and negatives of the next entries of the order; returns their number.

    Apart from the steps, so that the processor waits for many places of memory at once.
    """
    n = 0
    for t in range(start, min(start + len(triples) - 1, len(order))):
        e = order[t]
        triples[n, 0], triples[n, 1], triples[n, 2] = users[e], items[e], negative[e]
        n += negative[e] >= 0
    return n


@njit(cache=True, nogil=True)
def run_epoch(order, negative, users, items, x, y, bias, rate, decay):
    """One step for each rating in the order given; returns loss, ordered pairs, and all pairs.

    x and y come from `align_rows`; entries whose negative is -1 are left out.
    """
    k, shrink = x.shape[1], 1.0 - rate * decay
    rows, columns = x.reshape(-1), y.reshape(-1)
    triples = np.empty((_BLOCK + 1, 3), np.int32)
    loss, product, right, n = 0.0, 1.0, 0, 0
    for start in range(0, len(order), _BLOCK):
        count = _gather_triples(order, start, users, items, negative, triples)
        n += count
        for t in range(count):
            u, i, j = np.int64(triples[t, 0]), np.int64(triples[t, 1]), np.int64(triples[t, 2])
            z = dot_product(rows, u * k, columns, i * k, k) - dot_product(
                rows, u * k, columns, j * k, k
            )
            z += bias[i] - bias[j]
            ratio = exp(-abs(z))
            loss += max(-z, 0.0)
            product *= 1.0 + ratio
            if product > _LARGE_PRODUCT:
                loss += log(product)
                product = 1.0
            right += z > 0.0
            pull = rate * ((ratio if z > 0.0 else 1.0) / (1.0 + ratio))
            step_pair(rows, u * k, columns, i * k, j * k, k, shrink, pull)
            bias[i] = shrink * bias[i] + pull
            bias[j] = shrink * bias[j] - pull
    return loss + log(product), right, n


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
