"""Kernel values between the rows of a fit and a few of them, wherever the rows lie.

Values are computed in pieces: the wanted rows of one chunk of the grid with the few rows. So their
bits do not depend on who computes them: threads of this process on an array, or a pass over a file
or a cluster.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from tenfold.engine.arrays import ArraySource, SparseSource
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.engine.thread_pool import map_threads
from tenfold.kernel._block import gram_matrix, kernel_block, kernel_product
from tenfold.svm._centered_rows import (
    ORIGIN_ROWS,
    CenteredRBF,
    CenteredRows,
    center_kernel,
    prepare_rows,
)
from tenfold.svm._thresholds import DENSE_BYTES, GATHER_BYTES, NARROW_SPREAD, PREPARED_BYTES

_MIN_PARALLEL_VALUES = 2**17  # kernel values that are worth waking a thread


class KernelAccess(Protocol):
    """Kernel values of rows, which are named by their global numbers, ascending."""

    kernel: Any
    dtype: np.dtype
    column_dtype: Any
    width: int

    def rows_at(self, numbers: np.ndarray) -> Any:
        """Some rows as they are."""
        ...

    def take(self, numbers: np.ndarray) -> Any:
        """Some rows, as the other methods take them."""
        ...

    def fill(self, Z: Any, numbers: np.ndarray, out: np.ndarray, slots: np.ndarray) -> None:
        """Write the kernel values of each of the rows Z with the numbered rows to out[slot]."""
        ...

    def product(self, Z: Any, coefficients: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """Sums over Z of kernel values times coefficients, for the numbered rows, in float64."""
        ...

    def with_dtype(self, dtype: Any) -> KernelAccess:
        """The same values computed in another type."""
        ...


class MemoryKernel:
    """Kernel values of rows in memory.

    Parameters
    ----------
    X : array or CSR matrix
        All rows; the kernel matrix itself for a precomputed kernel.
    kernel : Kernel or None
        The kernel; None for a precomputed one.
    grid : int
        Rows per chunk.
    dtype : dtype
        Type in which values are computed.
    column_dtype : dtype, optional
        Type in which columns for a cache may be computed.
    """

    def __init__(
        self, X: Any, kernel: Any, grid: int, dtype: Any, column_dtype: Any = None
    ) -> None:
        self.X, self.kernel, self.grid, self.dtype = X, kernel, grid, np.dtype(dtype)
        self.width = X.shape[1]
        self.column_dtype = column_dtype or self.dtype
        self.others: dict[np.dtype, MemoryKernel] = {}
        self.prepared: CenteredRows | None = None
        size = X.shape[0] * X.shape[1] * self.dtype.itemsize
        if isinstance(kernel, CenteredRBF) and size <= PREPARED_BYTES:
            self.prepared = kernel.prepare(X, self.dtype)

    def with_dtype(self, dtype: Any) -> MemoryKernel:
        """The same values computed in another type."""
        dtype = np.dtype(dtype)
        if dtype == self.dtype:
            return self
        if dtype not in self.others:  # rows are prepared once for all problems
            self.others[dtype] = MemoryKernel(self.X, self.kernel, self.grid, dtype)
        return self.others[dtype]

    def rows_at(self, numbers: np.ndarray) -> Any:
        """Some rows as they are."""
        return take_rows(self.X, numbers)

    def take(self, numbers: np.ndarray) -> Any:
        """Some rows as the kernel takes them; for a precomputed kernel their numbers."""
        if self.kernel is None:
            return numbers
        if self.prepared is not None:
            return take_rows(self.prepared, numbers)
        return prepare_rows(self.kernel, take_rows(self.X, numbers), self.dtype)

    def fill(self, Z: Any, numbers: np.ndarray, out: np.ndarray, slots: np.ndarray) -> None:
        """Write the kernel values of each of the rows Z with the numbered rows to out[slot]."""
        gaps = np.flatnonzero(np.diff(slots) != 1) + 1
        runs = list(itertools.pairwise([0, *gaps.tolist(), len(slots)]))  # of consecutive slots

        def write(piece: slice) -> None:
            block = piece_block(self.kernel, self._piece(numbers[piece]), Z, self.dtype)
            for first, last in runs:
                out[slots[first] : slots[first] + last - first, piece] = block[first:last]

        self._for_pieces(write, numbers, len(slots))

    def product(self, Z: Any, coefficients: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """Sums over Z of kernel values times coefficients, for the numbered rows, in float64."""
        out = np.empty(len(numbers))

        def write(piece: slice) -> None:
            out[piece] = piece_product(self.kernel, self._piece(numbers[piece]), Z, coefficients)

        self._for_pieces(write, numbers, len(coefficients))
        return out

    def _piece(self, numbers: np.ndarray) -> Any:
        """Some rows of one chunk, as kernels take them."""
        return take_rows(self.X, numbers) if self.kernel is None else self.take(numbers)

    def _for_pieces(self, work: Callable[[slice], None], numbers: np.ndarray, width: int) -> None:
        """Call `work` for the wanted rows of each chunk, on all threads where that is worth it."""
        pieces = pieces_of(numbers, self.grid)
        if len(numbers) * width < _MIN_PARALLEL_VALUES or len(pieces) == 1:
            for piece in pieces:
                work(piece)
            return
        map_threads(lambda i: work(pieces[i]), len(pieces))


class FoldKernel:
    """Kernel values of rows in files or on a cluster: a pass over the rows for each call.

    Parameters
    ----------
    rows : Rows
        All rows.
    kernel : Kernel or None
        The kernel; None for a precomputed one.
    dtype : dtype
        Type in which values are computed.
    column_dtype : dtype, optional
        Type in which columns for a cache may be computed.
    """

    def __init__(self, rows: Rows, kernel: Any, dtype: Any, column_dtype: Any = None) -> None:
        self.rows, self.kernel, self.dtype = rows, kernel, np.dtype(dtype)
        self.width = rows.n_features
        self.column_dtype = column_dtype or self.dtype

    def with_dtype(self, dtype: Any) -> FoldKernel:
        """The same values computed in another type."""
        return FoldKernel(self.rows, self.kernel, dtype)

    def rows_at(self, numbers: np.ndarray) -> Any:
        """Some rows as they are."""
        return self.rows.take(numbers).X

    def take(self, numbers: np.ndarray) -> Any:
        """Some rows as the kernel takes them; for a precomputed kernel their numbers."""
        if self.kernel is None:
            return numbers
        return prepare_rows(self.kernel, self.rows_at(numbers), self.dtype)

    def fill(self, Z: Any, numbers: np.ndarray, out: np.ndarray, slots: np.ndarray) -> None:
        """Write the kernel values of each of the rows Z with the numbered rows to out[slot]."""
        block = self.rows.each(_chunk_block, self.kernel, Z, numbers, self.dtype.char)
        out[slots] = block[numbers].T

    def product(self, Z: Any, coefficients: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """Sums over Z of kernel values times coefficients, for the numbered rows, in float64."""
        state = (self.kernel, Z, coefficients, numbers, self.dtype.char)
        return self.rows.each(_chunk_product, *state)[numbers]


def open_kernel(rows: Rows, kernel: Any, spread: float = np.inf) -> KernelAccess:
    """Kernel values of the rows of a fit; rows that are few are gathered first.

    Parameters
    ----------
    rows : Rows
        The rows.
    kernel : Kernel or None
        The kernel; None for a precomputed one.
    spread : float
        Mean squared distance from the mean, in units of an RBF kernel: where it is small, float32
        is accurate enough for columns of kernel values.
    """
    source, dtype = rows.source, rows.source.dtype

    def narrow(centered: Any) -> Any:
        near = isinstance(centered, CenteredRBF) and spread <= NARROW_SPREAD
        return np.float32 if near else dtype

    in_place = source.direct or type(getattr(source, "X", None)) is np.ndarray or rows.sparse
    if rows.engine is None and isinstance(source, ArraySource | SparseSource) and in_place:
        X: Any = source.X if rows.sparse else np.ascontiguousarray(source.X, dtype)
        if rows.sparse and rows.n_rows * source.row_bytes <= DENSE_BYTES:
            X = X.toarray().astype(dtype, copy=False)
    elif rows.n_rows * source.row_bytes <= GATHER_BYTES and not rows.sparse:
        X = rows.gather().X
    else:
        rows.spool()  # each round takes some rows by their numbers
        first = rows.take(np.arange(min(rows.n_rows, ORIGIN_ROWS))).X
        kernel = center_kernel(kernel, first)
        return FoldKernel(rows, kernel, dtype, narrow(kernel))
    kernel = center_kernel(kernel, X)
    return MemoryKernel(X, kernel, source.grid, dtype, narrow(kernel))


def kernel_matrix(access: KernelAccess, numbers: np.ndarray) -> np.ndarray:
    """The kernel matrix of some rows, in float64."""
    if access.kernel is not None:
        K = gram_matrix(access.take(numbers), access.kernel)
        return K.astype(np.float64, copy=False)
    out = np.empty((len(numbers), len(numbers)))
    access.fill(numbers, numbers, out, np.arange(len(numbers)))
    return out


def take_rows(X: Any, numbers: np.ndarray) -> Any:
    """Rows with ascending numbers; consecutive ones of an array without a copy."""
    first, last = int(numbers[0]), int(numbers[-1])
    if last - first + 1 == len(numbers):
        return X[first : last + 1]
    return np.take(X, numbers, axis=0) if isinstance(X, np.ndarray) else X[numbers]


def pieces_of(numbers: np.ndarray, grid: int) -> list[slice]:
    """Where the numbers of each chunk of a grid lie among ascending numbers.

    Examples
    --------
    >>> pieces_of(np.array([0, 3, 4, 9]), 4)
    [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None)]
    """
    last = int(numbers[-1]) // grid + 1
    edges = np.unique(np.searchsorted(numbers, np.arange(last + 1) * grid))
    return [slice(int(a), int(b)) for a, b in itertools.pairwise(edges)]


def piece_block(kernel: Any, X: Any, Z: Any, dtype: np.dtype) -> np.ndarray:
    """Kernel values of the rows Z (below each other) with some rows of one chunk."""
    if kernel is None:
        return np.take(X, Z, axis=1).astype(dtype, copy=False).T
    return kernel_block(Z, X, kernel)


def piece_product(kernel: Any, X: Any, Z: Any, coefficients: np.ndarray) -> np.ndarray:
    """Sums over Z of kernel values times coefficients, for some rows of one chunk."""
    if kernel is None:
        return np.take(X, Z, axis=1).astype(np.float64, copy=False) @ coefficients
    return kernel_product(X, Z, kernel, coefficients)


def _chunk_rows(
    chunk: Chunk, kernel: Any, numbers: np.ndarray, dtype: np.dtype
) -> tuple[np.ndarray, Any]:
    """Places of the wanted rows of a chunk, and these rows as the kernel takes them."""
    low, high = np.searchsorted(numbers, [chunk.first, chunk.first + chunk.rows])
    local = numbers[low:high] - chunk.first
    if not len(local):
        return local, None
    X = take_rows(chunk.X, local)
    return local, X if kernel is None else prepare_rows(kernel, X, dtype)


def _chunk_block(chunk: Chunk, kernel: Any, Z: Any, numbers: np.ndarray, char: str) -> np.ndarray:
    """Kernel values of the wanted rows of a chunk with Z; zero for other rows."""
    dtype = np.dtype(char)
    out = np.zeros((chunk.rows, Z.shape[0]), dtype)
    local, X = _chunk_rows(chunk, kernel, numbers, dtype)
    if len(local):
        out[local] = piece_block(kernel, X, Z, dtype).T
    return out


def _chunk_product(
    chunk: Chunk, kernel: Any, Z: Any, coefficients: np.ndarray, numbers: np.ndarray, char: str
) -> np.ndarray:
    """Sums over Z for the wanted rows of a chunk; zero for other rows."""
    out = np.zeros(chunk.rows)
    local, X = _chunk_rows(chunk, kernel, numbers, np.dtype(char))
    if len(local):
        out[local] = piece_product(kernel, X, Z, coefficients)
    return out
