"""Compiled sums over rows: by class, by label, and of a few rows with a matrix.

The loops are serial and run without the interpreter's lock: the engine calls one per chunk and
thread. Benchmark cases: `naive-bayes-f4` and `kmeans-20-rounds-f4` (benchmarks/large.py).
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def class_sums(X, y, w, k):  # noqa: ANN001, ANN202  (n, d), (n,), (n,) -> (k,), (k, d)
    """Weight and weighted sum of the rows of each class, in float64."""
    n, d = X.shape
    weight, sums = np.zeros(k), np.zeros((k, d))
    for i in range(n):
        c = y[i]
        weight[c] += w[i]
        for j in range(d):
            sums[c, j] += w[i] * X[i, j]
    return weight, sums


@njit(cache=True, nogil=True)
def class_squared_deviations(X, y, w, mean):  # noqa: ANN001, ANN202  -> (k, d)
    """Weighted sum of squares of each class's rows about its mean."""
    n, d = X.shape
    squares = np.zeros(mean.shape)
    for i in range(n):
        c = y[i]
        for j in range(d):
            difference = X[i, j] - mean[c, j]
            squares[c, j] += w[i] * difference * difference
    return squares


def add_rows_by_label(
    X: np.ndarray, w: np.ndarray, label: np.ndarray, sums: np.ndarray, weight: np.ndarray
) -> None:
    """Add each row to the sum of its label, in float64; w is empty where all rows weigh 1."""
    _add_chunks(X, w, label, sums[None], weight[None], max(len(X), 1))


def label_sums(X: np.ndarray, w: np.ndarray, label: np.ndarray, k: int, grid: int) -> tuple:
    """Weight and sum of the rows of each label, by chunks, merged as the engine merges them."""
    levels = 2 + (len(X) // grid).bit_length()
    weights, sums = np.zeros((levels, k)), np.zeros((levels, k, X.shape[1]))
    _add_chunks(X, w, label, sums, weights, grid)
    return weights[0].copy(), sums[0].copy()


@njit(cache=True, nogil=True)
def _add_chunks(X, w, label, sums, weights, grid):  # noqa: ANN001, ANN202
    """Add to sums[0] (k, d), weights[0] (k,); further levels are nodes that wait for a sibling."""
    n, d = X.shape
    top = 0
    for first in range(0, n, grid):
        if top > 0:
            sums[top], weights[top] = 0.0, 0.0
        for i in range(first, min(first + grid, n)):
            c = label[i]
            if len(w):
                weights[top, c] += w[i]
                for j in range(d):
                    sums[top, c, j] += w[i] * X[i, j]
            else:
                weights[top, c] += 1.0
                for j in range(d):
                    sums[top, c, j] += X[i, j]
        for _ in range(completed_nodes(first // grid, top, first + grid >= n)):
            top -= 1
            _merge_last_node(sums, weights, top)
        top += 1


@njit(cache=True, nogil=True, inline="always")
def _merge_last_node(sums, weights, top):  # noqa: ANN001, ANN202
    """Add the node above the top to the one at the top."""
    k, d = sums.shape[1:]
    for c in range(k):
        weights[top, c] += weights[top + 1, c]
        for j in range(d):
            sums[top, c, j] += sums[top + 1, c, j]


@njit(cache=True, nogil=True, inline="always")
def completed_nodes(chunk, waiting, last):  # noqa: ANN001, ANN202
    """Number of waiting nodes of the merge tree that a chunk completes; all if it is the last."""
    if last:
        return waiting
    nodes, size = 0, chunk + 1
    while size % 2 == 0:
        nodes, size = nodes + 1, size // 2
    return nodes


@njit(cache=True, nogil=True)
def thin_matmul(A, X):  # noqa: ANN001, ANN202  (q, n), (n, d) -> (q, d)
    """Product A X of a matrix with few rows, in float64.

    BLAS serializes thin products of several threads; this does not.
    """
    n, d = X.shape
    total = np.zeros((len(A), d))
    for i in range(n):
        for q in range(len(A)):
            factor = A[q, i]
            for j in range(d):
                total[q, j] += factor * X[i, j]
    return total
