"""Compiled Kullback-Leibler updates over the stored entries of sparse rows."""

from __future__ import annotations

import numpy as np
from numba import njit

_TINY = 2.220446049250313e-16  # the least product by which an entry is divided


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def _dot(a, i, b, j, k):
    """a[i] . b[j] with four running sums, which are added in one fixed order."""
    s0 = s1 = s2 = s3 = 0.0
    whole = k - k % 4
    for t in range(0, whole, 4):
        s0 += a[i, t] * b[j, t]
        s1 += a[i, t + 1] * b[j, t + 1]
        s2 += a[i, t + 2] * b[j, t + 2]
        s3 += a[i, t + 3] * b[j, t + 3]
    for t in range(whole, k):
        s0 += a[i, t] * b[j, t]
    return (s0 + s1) + (s2 + s3)


@njit(cache=True, nogil=True, error_model="numpy")
def update_sparse_kl_rows(indptr, indices, data, W, Ht, bias, l2, max_steps, tol):
    """Multiplicative steps of each row of W (float64), in place.

    A row ends when no weight moves by more than `tol` times the largest one. `bias` is the sum of
    each component and its penalty: the constant part of the divisor.
    """
    n, k = W.shape
    up = np.empty(k)
    for i in range(n):
        for _ in range(max_steps):
            up[:] = 0.0
            for e in range(indptr[i], indptr[i + 1]):
                j = indices[e]
                share = data[e] / max(_dot(W, i, Ht, j, k), _TINY)
                for t in range(k):
                    up[t] += share * Ht[j, t]
            moved = largest = 0.0
            for t in range(k):
                divisor = bias[t] + l2 * W[i, t]
                new = W[i, t] * up[t] / divisor if divisor > 0.0 else 0.0
                moved = max(moved, abs(new - W[i, t]))
                largest = max(largest, new)
                W[i, t] = new
            if moved <= tol * largest:
                break


@njit(cache=True, nogil=True, error_model="numpy")
def sparse_kl_sums(indptr, indices, data, w, W, Ht, sums):
    """Add weighted X / (WH) times W to `sums` (p, k); returns the stored entries' divergence.

    Of the divergence sum x log(x / wh) - x + wh, the last term is the caller's.
    """
    n, k = W.shape
    total = 0.0
    for i in range(n):
        weight = w[i] if len(w) else 1.0
        row = 0.0
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            x = data[e]
            if x == 0.0:
                continue
            share = x / max(_dot(W, i, Ht, j, k), _TINY)
            row += x * np.log(share) - x
            share *= weight
            for t in range(k):
                sums[j, t] += share * W[i, t]
        total += weight * row
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def sparse_kl_row_costs(indptr, indices, data, W, Ht):
    """Sum of x log(x / wh) - x over the stored entries of each row."""
    n, k = W.shape
    costs = np.zeros(n)
    for i in range(n):
        for e in range(indptr[i], indptr[i + 1]):
            x = data[e]
            if x != 0.0:
                costs[i] += x * np.log(x / max(_dot(W, i, Ht, indices[e], k), _TINY)) - x
    return costs
