"""In-memory sources: dense arrays of any order and dtype, and CSR matrices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.engine.source import Source


def compute_dtype(dtype: np.dtype) -> np.dtype:
    """float32 is computed in float32, everything else in float64."""
    return np.dtype(np.float32 if dtype == np.float32 else np.float64)


class ArraySource(Source):
    """An array (also a memory map, read-only, integer, in any order) with target and weights."""

    def __init__(
        self, X: np.ndarray, y: Any = None, w: Any = None, *, finite: bool = False
    ) -> None:
        self.X, self.y, self.w = X, y, w
        self.n_rows, self.n_features = X.shape
        self.dtype = compute_dtype(X.dtype)
        self.finite = finite
        self.has_target, self.has_weight = y is not None, w is not None
        self.direct = X.flags.c_contiguous and X.dtype == self.dtype

    def chunks(self, run: range) -> Iterator[Chunk]:
        return (self.between(*self.span(number)) for number in run)

    def between(self, first: int, end: int) -> Chunk:
        X = np.ascontiguousarray(self.X[first:end], self.dtype)
        return Chunk(X, slice_column(self.y, first, end), slice_column(self.w, first, end), first)

    def take(self, rows: np.ndarray) -> Chunk:
        X = np.ascontiguousarray(self.X[rows], self.dtype)
        y, w = (None if a is None else a[rows] for a in (self.y, self.w))
        return Chunk(X, y, w)


class SparseSource(Source):
    """A CSR matrix with target and weights."""

    sparse = True

    def __init__(self, X: Any, y: Any = None, w: Any = None, *, finite: bool = False) -> None:
        from scipy.sparse import csr_array

        self.X, self.y, self.w = csr_array(X), y, w
        self.n_rows, self.n_features = X.shape
        self.dtype = compute_dtype(X.dtype)
        self.finite = finite
        self.has_target, self.has_weight = y is not None, w is not None

    def chunks(self, run: range) -> Iterator[Chunk]:
        for number in run:
            first, end = self.span(number)
            X = slice_csr(self.X, first, end, self.dtype)
            yield Chunk(
                X, slice_column(self.y, first, end), slice_column(self.w, first, end), first
            )

    def take(self, rows: np.ndarray) -> Chunk:
        X = self.X[rows].astype(self.dtype)
        y, w = (None if a is None else a[rows] for a in (self.y, self.w))
        return Chunk(X, y, w)


def slice_column(column: Any, first: int, end: int) -> Any:
    """A contiguous part of a target or weight column, or None."""
    return None if column is None else np.ascontiguousarray(column[first:end])


def slice_csr(X: Any, first: int, end: int, dtype: np.dtype) -> Any:
    """Rows first:end of a CSR array without a copy of their entries."""
    low, high = X.indptr[first], X.indptr[end]
    part = type(X)(
        (end - first, X.shape[1]), dtype=dtype
    )  # made empty: entries are not checked anew
    part.data = X.data[low:high].astype(dtype, copy=False)
    part.indices = X.indices[low:high]
    part.indptr = X.indptr[first : end + 1] - low
    return part


def as_weights(w: np.ndarray) -> np.ndarray:
    """Weights as floating-point numbers."""
    return np.asarray(w, compute_dtype(w.dtype))
