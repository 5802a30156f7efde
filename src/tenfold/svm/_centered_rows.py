"""Rows that are centered and scaled once, for many kernel values of the RBF kernel with them.

A tile of the RBF kernel centers, scales and squares its rows; for a few columns against many
rows that takes longer than the product. `CenteredRows` do it once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.kernel._tiles_numba import (
    CANCELLATION,
    EXPONENTIAL,
    from_products,
    lowest_exponent,
)
from tenfold.kernel.stationary import RBF

ORIGIN_ROWS = 256  # whose mean is the origin
_FAR, _NEAR = 64.0, 16.0  # squared norms: digits of float32 values are those of norms up to _NEAR


class CenteredRows:
    """Rows minus an origin over a length scale, and their squared norms.

    Parameters
    ----------
    X : (n, p) array
        The rows, centered and scaled.
    squares : (n,) array
        Their squared norms.
    """

    def __init__(self, X: np.ndarray, squares: np.ndarray) -> None:
        self.X, self.squares = X, squares
        self.shape, self.dtype = X.shape, X.dtype

    def __getitem__(self, rows: Any) -> CenteredRows:
        if isinstance(rows, slice):
            return CenteredRows(self.X[rows], self.squares[rows])
        return CenteredRows(np.take(self.X, rows, axis=0), np.take(self.squares, rows))


class CenteredRBF:
    """The RBF kernel between `CenteredRows`.

    Parameters
    ----------
    kernel : RBF
        The kernel.
    origin : (p,) array
        What is subtracted from rows.
    """

    accepts_sparse = False

    def __init__(self, kernel: RBF, origin: np.ndarray) -> None:
        self.kernel, self.origin = kernel, origin

    def prepare(self, X: np.ndarray, dtype: Any) -> CenteredRows:
        """Rows as this kernel takes them."""
        wider = np.result_type(X.dtype, dtype)  # digits are lost after the origin is subtracted
        X = X.astype(wider, copy=False) - self.origin.astype(wider)
        X /= np.asarray(self.kernel.length_scale, wider)
        X = X.astype(dtype, copy=False)
        with np.errstate(over="ignore"):
            return CenteredRows(X, np.einsum("ij,ij->i", X, X))

    def tile(self, X: CenteredRows, Z: CenteredRows) -> np.ndarray:
        """Kernel values of a few rows."""
        with np.errstate(over="ignore", invalid="ignore"):  # distances then come from differences
            P = X.X @ Z.X.T
        close, lowest = CANCELLATION[X.dtype.itemsize], lowest_exponent(X.dtype)
        largest = float(X.squares.max(initial=0.0) + Z.squares.max(initial=0.0))
        if (
            X.dtype == np.float32 and _FAR < largest < np.inf
        ):  # products of outliers lose digits of near ones
            close = max(close, 2 * np.log(largest / _NEAR) / largest)
        close = X.dtype.type(close)
        from_products(P, X.squares, Z.squares, X.X, Z.X, EXPONENTIAL, close, lowest)
        return P

    def diag(self, X: CenteredRows) -> np.ndarray:
        """Kernel values of rows with themselves."""
        return np.ones(X.shape[0])


def center_kernel(kernel: Any, first_rows: Any) -> Any:
    """The RBF kernel for dense rows like these as `CenteredRBF`; other kernels as they are."""
    if type(kernel) is not RBF or not isinstance(first_rows, np.ndarray):
        return kernel
    return CenteredRBF(kernel, first_rows[:ORIGIN_ROWS].mean(axis=0, dtype=np.float64))


def prepare_rows(kernel: Any, X: Any, dtype: Any) -> Any:
    """Rows as the kernel takes them."""
    if isinstance(kernel, CenteredRBF):
        return kernel.prepare(X, dtype)
    return X.astype(dtype, copy=False)
