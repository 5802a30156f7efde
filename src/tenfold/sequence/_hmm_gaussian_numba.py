"""Log-densities and moments of Gaussian steps whose columns are independent.

Steps are columns here, so that inner loops run along contiguous memory. BLAS would need products of
a few rows, which several threads do not share well. Benchmark case: `hmm-1000x200-K8-scaling`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tenfold._compiled.gemm import ENTRY_OPTIONS

_BLOCK = np.uint64(512)  # columns whose log-densities stay in the first-level cache
# Sums may be taken in any order, so that several run side by side; what is no number stays so.
_SUM_OPTIONS = ENTRY_OPTIONS | {"fastmath": {"reassoc", "contract", "nsz"}}


@njit(**ENTRY_OPTIONS)
def fill_log_densities(X, means, half_precisions, offsets, log_B):
    """Log-densities, (K, n), of steps (p, n): offset - sum_j half_precision_j (x_j - mean_j)^2."""
    p, n = X.shape
    for first in range(np.uint64(0), np.uint64(n), _BLOCK):
        width = min(_BLOCK, np.uint64(n) - first)
        for k in range(len(offsets)):
            for c in range(width):
                log_B[k, first + c] = offsets[k]
            for j in range(p):
                mean, half = means[k, j], half_precisions[k, j]
                for c in range(width):
                    d = X[j, first + c] - mean
                    log_B[k, first + c] -= half * d * d


@njit(**_SUM_OPTIONS)
def fill_moments(X, means, gamma, weights, sums, squares):
    """Weight (K,), and sums and squares (K, p) about the means, of steps (p, n)."""
    p, n = X.shape
    for k in range(len(weights)):
        total = 0.0
        for c in range(n):
            total += gamma[k, c]
        weights[k] = total
        for j in range(p):
            mean, first, second = means[k, j], 0.0, 0.0
            for c in range(n):
                d = X[j, c] - mean
                first += gamma[k, c] * d
                second += gamma[k, c] * d * d
            sums[k, j], squares[k, j] = first, second
