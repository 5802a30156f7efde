"""Compiled loops of multidimensional scaling.

Sums go over the rows of a chunk, for all points at once: no order of additions is left to the
compiler, and a row of distances is read once.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, error_model="numpy")
def guttman_sums(D, Y, first, pull, misfit, squares):
    """Add what the pairs (i, j) of some rows i and all points j contribute.

    D holds rows first, first + 1, ... of a symmetric matrix, Y the points as columns, (k, n).
    pull_j += sum_i D_ij (y_j - y_i) / |y_j - y_i|, misfit_j += (D_ij - |y_j - y_i|)^2.
    """
    k, n = Y.shape
    square, ratio = np.empty(n), np.empty(n)
    for i in range(D.shape[0]):
        square[:] = 0.0
        for d in range(k):
            y = Y[d, first + i]
            for j in range(n):
                difference = Y[d, j] - y
                square[j] += difference * difference
        for j in range(n):
            distance = np.sqrt(square[j])
            gap = D[i, j] - distance
            misfit[j] += gap * gap
            squares[j] += square[j]
            ratio[j] = D[i, j] / (distance if distance > 0.0 else 1.0)
        for d in range(k):
            y = Y[d, first + i]
            for j in range(n):
                pull[d, j] += ratio[j] * (Y[d, j] - y)


@njit(cache=True, nogil=True, error_model="numpy")
def weighted_guttman_sums(D, W, Y, first, pull, misfit, squares):
    """The same with a weight of each pair; a pair whose distance is NaN has none."""
    k, n = Y.shape
    square, ratio = np.empty(n), np.empty(n)
    for i in range(D.shape[0]):
        square[:] = 0.0
        for d in range(k):
            y = Y[d, first + i]
            for j in range(n):
                difference = Y[d, j] - y
                square[j] += difference * difference
        for j in range(n):
            missing = D[i, j] != D[i, j]
            weight = 0.0 if missing else W[i, j]
            delta = 0.0 if missing else D[i, j]
            distance = np.sqrt(square[j])
            gap = delta - distance
            misfit[j] += weight * gap * gap
            squares[j] += weight * square[j]
            ratio[j] = weight * delta / (distance if distance > 0.0 else 1.0)
        for d in range(k):
            y = Y[d, first + i]
            for j in range(n):
                pull[d, j] += ratio[j] * (Y[d, j] - y)


@njit(cache=True, nogil=True, error_model="numpy")
def pair_distances(Y, rows, columns, distances):
    """Distances of the pairs (rows[p], columns[p]) of points, (n, k)."""
    for p in range(len(rows)):
        square = 0.0
        for d in range(Y.shape[1]):
            difference = Y[rows[p], d] - Y[columns[p], d]
            square += difference * difference
        distances[p] = np.sqrt(square)


@njit(cache=True, nogil=True, error_model="numpy")
def isotonic_values(values, weights, starts, fitted):
    """The nearest sequence that does not fall, by pooling of neighbors that do.

    Group g is values[starts[g]:starts[g + 1]], whose entries get one number (ties).
    """
    n_groups = len(starts) - 1
    mean, mass, last = np.empty(n_groups), np.empty(n_groups), np.empty(n_groups, np.int64)
    top = -1
    for g in range(n_groups):
        total, weight = 0.0, 0.0
        for p in range(starts[g], starts[g + 1]):
            total += weights[p] * values[p]
            weight += weights[p]
        top += 1
        mean[top], mass[top], last[top] = total / weight if weight > 0 else 0.0, weight, g
        while top > 0 and mean[top - 1] >= mean[top]:
            both = mass[top - 1] + mass[top]
            if both > 0:
                mean[top - 1] = (mass[top - 1] * mean[top - 1] + mass[top] * mean[top]) / both
            mass[top - 1], last[top - 1] = both, last[top]
            top -= 1
    g = 0
    for block in range(top + 1):
        for p in range(starts[g], starts[last[block] + 1]):
            fitted[p] = mean[block]
        g = last[block] + 1


@njit(cache=True, nogil=True, error_model="numpy")
def place_points(D, Y, Z, max_iter, tol):
    """Move each point of Z to a minimum of its stress against the fixed points Y, from where it is.

    D holds the distances wanted, (m, n); those that are NaN do not count.
    """
    m, n = D.shape
    k = Y.shape[1]
    moved = np.empty(k)
    for i in range(m):
        for _ in range(max_iter):
            moved[:] = 0.0
            count, size, step = 0.0, 0.0, 0.0
            for j in range(n):
                delta = D[i, j]
                if np.isnan(delta):
                    continue
                square = 0.0
                for d in range(k):
                    square += (Z[i, d] - Y[j, d]) ** 2
                distance = np.sqrt(square)
                ratio = delta / distance if distance > 0.0 else 0.0
                for d in range(k):
                    moved[d] += Y[j, d] + ratio * (Z[i, d] - Y[j, d])
                count += 1.0
                size += square
            if count == 0.0:
                break
            for d in range(k):
                new = moved[d] / count
                step += (new - Z[i, d]) ** 2
                Z[i, d] = new
            if step * count <= tol * tol * size:
                break


@njit(cache=True, nogil=True, error_model="numpy")
def survey_matrix(D):
    """Least and greatest entry, largest |D_ij - D_ji|, and whether entries are NaN; by tiles."""
    n, tile = len(D), 64
    low, top, gap, missing = np.inf, -np.inf, 0.0, False
    for a in range(0, n, tile):
        for b in range(0, a + 1, tile):
            for i in range(a, min(a + tile, n)):
                for j in range(b, min(b + tile, i + 1)):
                    x, y = np.float64(D[i, j]), np.float64(D[j, i])
                    for value in (x, y):  # comparisons with NaN are false
                        low = min(low, value)
                        top = max(top, value)
                    difference = abs(x - y)
                    gap = max(gap, difference)
                    missing = missing or np.isnan(difference)
    return low, top, gap, missing
