"""The few compiled loops, serial and without the interpreter's lock; compiled once, then cached."""

from __future__ import annotations

from math import erfc, exp, log, log1p, pi, sqrt

import numpy as np
from numba import njit

FAR = -30.0  # below this the normal tail is taken from its continued fraction


@njit(cache=True, nogil=True)
def class_sums(X, y, w, k):  # noqa: ANN001, ANN201  (n, d), (n,), (n,) -> (k,), (k, d)
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
def class_squares(X, y, w, mean):  # noqa: ANN001, ANN201  -> (k, d)
    """Weighted sum of squares of each class's rows about its mean."""
    n, d = X.shape
    squares = np.zeros(mean.shape)
    for i in range(n):
        c = y[i]
        for j in range(d):
            difference = X[i, j] - mean[c, j]
            squares[c, j] += w[i] * difference * difference
    return squares


@njit(cache=True, nogil=True)
def gaussian_scores(X, offset, mean, precision):  # noqa: ANN001, ANN201  means (d, k) -> (n, k)
    """offset_c - 1/2 sum_j precision_jc (x_j - mean_jc)^2, summed in float64."""
    n, d = X.shape
    k = len(offset)
    scores = np.empty((n, k), X.dtype)
    row = np.empty(k)
    for i in range(n):
        row[:] = 0.0
        for j in range(d):
            x = X[i, j]
            for c in range(k):
                difference = x - mean[j, c]
                row[c] += precision[j, c] * difference * difference
        for c in range(k):
            scores[i, c] = offset[c] - 0.5 * row[c]
    return scores


@njit(cache=True, nogil=True)
def nearest(products, half_norms, label, best):  # noqa: ANN001, ANN201  (k, n), (k,), (n,), (n,)
    """Number of the centre with the least |c|^2/2 - c.x for each column; the first one on a tie."""
    k, n = products.shape
    for i in range(n):
        best[i] = half_norms[0] - products[0, i]
        label[i] = 0
    for j in range(1, k):
        half = half_norms[j]
        for i in range(n):
            distance = half - products[j, i]
            closer = distance < best[i]
            best[i] = distance if closer else best[i]
            label[i] = j if closer else label[i]


def add_rows(
    X: np.ndarray, w: np.ndarray, label: np.ndarray, sums: np.ndarray, weight: np.ndarray
) -> None:
    """Add each row to the sum of its label, in float64; w is empty where all rows weigh 1."""
    add_chunks(X, w, label, sums[None], weight[None], max(len(X), 1))


def run_sums(X: np.ndarray, w: np.ndarray, label: np.ndarray, k: int, grid: int) -> tuple:
    """Weight and sum of the rows of each label, chunk by chunk, merged as the tree merges."""
    levels = 2 + (len(X) // grid).bit_length()
    weights, sums = np.zeros((levels, k)), np.zeros((levels, k, X.shape[1]))
    add_chunks(X, w, label, sums, weights, grid)
    return weights[0].copy(), sums[0].copy()


@njit(cache=True, nogil=True)
def add_chunks(X, w, label, sums, weights, grid):  # noqa: ANN001, ANN201
    """Add to sums[0] (k, d), weights[0] (k,); further levels are nodes that wait for their half."""
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
        for _ in range(nodes_completed(first // grid, top, first + grid >= n)):
            top -= 1
            add_to_last(sums, weights, top)
        top += 1


@njit(cache=True, nogil=True, inline="always")
def add_to_last(sums, weights, top):  # noqa: ANN001, ANN201
    """Add the node above the top to the one at the top."""
    k, d = sums.shape[1:]
    for c in range(k):
        weights[top, c] += weights[top + 1, c]
        for j in range(d):
            sums[top, c, j] += sums[top + 1, c, j]


@njit(cache=True, nogil=True, inline="always")
def nodes_completed(number, waiting, last):  # noqa: ANN001, ANN201
    """How many of the waiting nodes of the tree a chunk completes: all, if it is the last."""
    if last:
        return waiting
    nodes, size = 0, number + 1
    while size % 2 == 0:
        nodes, size = nodes + 1, size // 2
    return nodes


@njit(cache=True, nogil=True)
def squares_to(X, label, centres):  # noqa: ANN001, ANN201  -> (n,)
    """Squared distance of each row to the centre with its label, from differences, in float64."""
    n, d = X.shape
    squares = np.empty(n)
    for i in range(n):
        c = label[i]
        odd = even = 0.0
        for j in range(0, d - 1, 2):  # two sums: the processor adds them side by side
            first = np.float64(X[i, j]) - np.float64(centres[c, j])
            second = np.float64(X[i, j + 1]) - np.float64(centres[c, j + 1])
            even += first * first
            odd += second * second
        if d % 2:
            last = np.float64(X[i, d - 1]) - np.float64(centres[c, d - 1])
            even += last * last
        squares[i] = even + odd
    return squares


@njit(cache=True, nogil=True)
def line_sums(lines, X):  # noqa: ANN001, ANN201  (q, n), (n, d) -> (q, d)
    """Product of a few lines with X, in float64.

    BLAS takes turns when several threads multiply thin matrices at once; this does not.
    """
    n, d = X.shape
    total = np.zeros((len(lines), d))
    for i in range(n):
        for q in range(len(lines)):
            factor = lines[q, i]
            for j in range(d):
                total[q, j] += factor * X[i, j]
    return total


@njit(cache=True, nogil=True)
def normal_tail(m):  # noqa: ANN001, ANN201
    """-log Phi(m) and its derivative -phi(m) / Phi(m), also where Phi(m) is no number any more."""
    if m < FAR:
        ratio = 1.0 / (-m + 2.0 / (-m - 3.0 / m)) - m
        return 0.5 * m * m + 0.5 * log(2.0 * pi) + log(ratio), -ratio
    below = 0.5 * erfc(-m / sqrt(2.0))
    value = -log1p(-0.5 * erfc(m / sqrt(2.0))) if m > 0.0 else -log(below)
    return value, -exp(-0.5 * m * m) / (sqrt(2.0 * pi) * below)
