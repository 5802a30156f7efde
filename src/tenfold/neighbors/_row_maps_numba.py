"""Maps of rows whose bits depend on the row alone; those of BLAS depend on the rows beside it."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.neighbors._heap_numba import INLINE, JIT


@JIT
def map_linearly(X: Any, M: Any, out: Any) -> None:
    """Write the rows of X times the matrix M; sums are in the order of the columns of X."""
    for i in range(X.shape[0]):
        for c in range(np.uint64(M.shape[1])):
            out[i, c] = 0.0
        for j in range(X.shape[1]):
            v = np.float64(X[i, j])
            for c in range(np.uint64(M.shape[1])):
                out[i, c] += v * M[j, c]


@JIT
def make_unit_rows(X: Any, centered: bool, zero_column: int) -> None:
    """Divide rows by their lengths, in place; rows of zeros get a one in a column of their own.

    Parameters
    ----------
    X : (n, d + 2) float64 rows; the last two columns are zero
    centered : whether the mean of a row is subtracted first
    zero_column : column that is one in rows of zeros
    """
    d = X.shape[1] - 2
    for i in range(X.shape[0]):
        if centered:
            mean = 0.0
            for j in range(d):
                mean += X[i, j] / d
            for j in range(d):
                X[i, j] -= mean
        largest, square = 0.0, 0.0
        for j in range(d):
            largest = max(largest, abs(X[i, j]))
        if largest == 0:
            X[i, zero_column] = 1.0
            continue
        for j in range(d):
            X[i, j] /= largest
            square += X[i, j] * X[i, j]
        length = np.sqrt(square)
        for j in range(d):
            X[i, j] /= length


@JIT
def make_unit_sparse_rows(data: Any, indptr: Any, empty: Any) -> None:
    """Divide CSR rows with ascending columns by their lengths, in place, with the same bits.

    Parameters
    ----------
    data, indptr : rows, float64
    empty : (n,) whether a row has no entry but zeros, a result
    """
    for i in range(indptr.shape[0] - 1):
        largest, square = 0.0, 0.0
        for e in range(indptr[i], indptr[i + 1]):
            largest = max(largest, abs(data[e]))
        empty[i] = largest == 0
        if largest == 0:
            continue
        for e in range(indptr[i], indptr[i + 1]):
            data[e] /= largest
            square += data[e] * data[e]
        length = np.sqrt(square)
        for e in range(indptr[i], indptr[i + 1]):
            data[e] /= length


@JIT
def column_ranges(X: Any, total: Any, low: Any, high: Any) -> None:
    """Add to the sums of columns, and widen their least and largest values.

    Parameters
    ----------
    X : (n, d) rows
    total, low, high : (d,) float64, results
    """
    for i in range(X.shape[0]):
        for j in range(np.uint64(X.shape[1])):
            v = np.float64(X[i, j])
            total[j] += v
            low[j] = min(low[j], v)
            high[j] = max(high[j], v)


@INLINE
def _squared_length(x: Any) -> float:
    """Sum of squares of a row, in four parts."""
    d = x.shape[0]
    a, b, c, e = 0.0, 0.0, 0.0, 0.0
    for j in range(0, d - 3, 4):
        v, w = np.float64(x[j]), np.float64(x[j + 1])
        y, z = np.float64(x[j + 2]), np.float64(x[j + 3])
        a += v * v
        b += w * w
        c += y * y
        e += z * z
    for j in range(d - d % 4, d):
        v = np.float64(x[j])
        a += v * v
    return a + b + c + e


@JIT
def squared_lengths(X: Any, square: Any) -> None:
    """Write the squared lengths of rows.

    Parameters
    ----------
    X : (n, d) rows
    square : (n,) float64, a result
    """
    for i in range(X.shape[0]):
        square[i] = _squared_length(X[i])


@JIT
def round_rows(X: Any, center: Any, scale: float, out: Any, square: Any) -> None:
    """Write centered and scaled rows in float32, and their squared lengths.

    Parameters
    ----------
    X : (n, d) rows
    center : (d,) float64
    scale : float
    out : (n, d) float32, a result
    square : (n,) float64, a result
    """
    for i in range(X.shape[0]):
        for j in range(np.uint64(X.shape[1])):
            out[i, j] = np.float32((np.float64(X[i, j]) - center[j]) * scale)
        square[i] = _squared_length(out[i])
