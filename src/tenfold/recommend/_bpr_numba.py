"""Compiled stochastic steps of Bayesian personalized ranking, in one fixed order."""

from __future__ import annotations

from math import exp, log

import numpy as np
from numba import njit

from tenfold._compiled.dot_product import dot_product
from tenfold._compiled.pair_steps import step_pair

_LARGE_PRODUCT = 1e300  # above it the running product of 1 + exp(-|z|) is turned into a logarithm


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
def run_epoch(order, negative, users, starts, items, x, y, bias, rate, decay):
    """One step for each rating in the order given; returns loss, ordered pairs, and all pairs.

    Rows of x and y are padded by `pad_columns`.
    """
    k, shrink = x.shape[1], 1.0 - rate * decay
    rows, columns = x.reshape(-1), y.reshape(-1)
    loss, product, right, n = 0.0, 1.0, 0, 0
    for e in order:
        u, i, j = np.int64(users[e]), np.int64(items[e]), np.int64(negative[e])
        at = lower_bound(items, starts[u], starts[u + 1], j)
        if at < starts[u + 1] and items[at] == j:
            continue  # the user likes both: they say nothing about their order
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
        n += 1
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
