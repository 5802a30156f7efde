"""Compiled Kullback-Leibler updates over the stored entries of sparse rows.

Codes and components are rows of whole vectors of the processor, filled up with zeros (`pad_rows`);
a row's entries are taken four at a time, each product in one fixed order of sums.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tenfold._compiled.dot_product import DOUBLE_LANES
from tenfold._compiled.logarithm import fast_log
from tenfold._compiled.row_scatter import add_to_four_rows
from tenfold._compiled.simd import aligned_zeros
from tenfold._compiled.vector_sums import add_four_multiples, four_dot_products

_TINY = 2.220446049250313e-16  # the least product by which an entry is divided


def pad_rows(F: np.ndarray) -> np.ndarray:
    """A copy in float64 with columns of zeros up to whole vectors."""
    n, k = F.shape
    padded = aligned_zeros((n, -(-k // DOUBLE_LANES) * DOUBLE_LANES), np.float64)
    padded[:, :k] = F
    return padded


@njit(cache=True, nogil=True, inline="always")
def _four_places(span, e, width):
    """Where the components of four entries begin; those after the last entry are the last."""
    last = len(span) - 1
    return (
        np.int64(span[e]) * width,
        np.int64(span[min(e + 1, last)]) * width,
        np.int64(span[min(e + 2, last)]) * width,
        np.int64(span[min(e + 3, last)]) * width,
    )


@njit(cache=True, nogil=True, error_model="numpy")
def _divide_entries(span, x, row, components, shares):
    """shares_e = x_e / (w'h_e) of the entries of a row, and zeros up to a multiple of four."""
    n, width = len(span), len(row)
    for e in range(0, n, 4):
        places = _four_places(span, e, width)
        four = four_dot_products(components, places, row, width)
        shares[e], shares[e + 1], shares[e + 2], shares[e + 3] = four
    for e in range(n):
        shares[e] = x[e] / max(shares[e], _TINY)
    for e in range(n, -(-n // 4) * 4):
        shares[e] = 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def _sum_divergence(x, shares):
    """Sum of x log(x / wh) - x over entries; the shares are replaced."""
    total = 0.0
    for e in range(len(x)):
        shares[e] = x[e] * fast_log(shares[e]) - x[e]
    for e in range(len(x)):
        total += shares[e]
    return total


@njit(cache=True, nogil=True)
def _entry_space(indptr):
    """Numbers for the entries of the longest row."""
    longest = 0
    for i in range(len(indptr) - 1):
        longest = max(longest, indptr[i + 1] - indptr[i])
    return np.empty(longest + 4)


@njit(cache=True, nogil=True, error_model="numpy")
def update_sparse_kl_rows(indptr, indices, data, W, Ht, bias, l2, max_steps, tol):
    """Multiplicative steps of each row of W, in place.

    A row ends when no weight moves by more than `tol` times the largest one. `bias` is the sum of
    each component and its penalty: the constant part of the divisor.
    """
    k, width = len(bias), W.shape[1]
    up, shares, components = np.empty(width), _entry_space(indptr), Ht.reshape(-1)
    for i in range(len(W)):
        span, x, row = indices[indptr[i] : indptr[i + 1]], data[indptr[i] : indptr[i + 1]], W[i]
        for _ in range(max_steps):
            _divide_entries(span, x, row, components, shares)
            up[:] = 0.0
            for e in range(0, len(span), 4):
                four = (shares[e], shares[e + 1], shares[e + 2], shares[e + 3])
                places = _four_places(span, e, width)
                add_four_multiples(up, width, components, places, four)
            moved = largest = 0.0
            for t in range(k):
                divisor = bias[t] + l2 * row[t]
                new = row[t] * up[t] / divisor if divisor > 0.0 else 0.0
                moved = max(moved, abs(new - row[t]))
                largest = max(largest, new)
                row[t] = new
            if moved <= tol * largest:
                break


@njit(cache=True, nogil=True, error_model="numpy")
def sparse_kl_sums(indptr, indices, data, w, W, Ht, sums):
    """Add weighted X / (WH) times W to `sums`, of the shape of Ht; returns the divergence.

    Of the divergence sum x log(x / wh) - x + wh, the last term is the caller's.
    """
    width, total = W.shape[1], 0.0
    shares, components, table = _entry_space(indptr), Ht.reshape(-1), sums.reshape(-1)
    for i in range(len(W)):
        span, x = indices[indptr[i] : indptr[i + 1]], data[indptr[i] : indptr[i + 1]]
        _divide_entries(span, x, W[i], components, shares)
        weight = w[i] if len(w) else 1.0
        for e in range(0, len(span), 4):
            four = (
                weight * shares[e],
                weight * shares[e + 1],
                weight * shares[e + 2],
                weight * shares[e + 3],
            )
            add_to_four_rows(table, _four_places(span, e, width), W[i], width, four)
        total += weight * _sum_divergence(x, shares)
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def sparse_kl_row_costs(indptr, indices, data, W, Ht):
    """Sum of x log(x / wh) - x over the stored entries of each row."""
    shares, components, costs = _entry_space(indptr), Ht.reshape(-1), np.empty(len(W))
    for i in range(len(W)):
        span, x = indices[indptr[i] : indptr[i + 1]], data[indptr[i] : indptr[i + 1]]
        _divide_entries(span, x, W[i], components, shares)
        costs[i] = _sum_divergence(x, shares)
    return costs
