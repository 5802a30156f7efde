"""Values to bin numbers, by a binary search without branches."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def assign_bins(X, table, missing, out):
    """Number of thresholds below each value; `missing` for NaN.

    `table` has ascending thresholds per column of X, filled up with +inf to a power of two.
    """
    n, p = X.shape
    half = table.shape[1] >> 1
    for i in range(n):
        for j in range(p):
            x = X[i, j]
            low, step = 0, half
            while step > 0:
                low += step if table[j, low + step - 1] < x else 0
                step >>= 1
            out[i, j] = missing if np.isnan(x) else low


@njit(cache=True, nogil=True)
def assign_category_bins(X, j, categories, bins, missing, out):
    """Bin of the category of each row in column j; `missing` for NaN and unknown ones."""
    for i in range(X.shape[0]):
        x = np.float64(X[i, j])
        code = np.searchsorted(categories, x)
        known = code < len(categories) and categories[code] == x
        out[i, j] = bins[code] if known else missing
