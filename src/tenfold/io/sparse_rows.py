"""Sparse rows in a temporary file: written batch by batch, read at any place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tenfold.engine.arrays import compute_dtype, slice_column
from tenfold.engine.chunk import Chunk
from tenfold.engine.file_matrix import FileMatrix, RandomAccessFile
from tenfold.engine.source import Source, concatenate_chunks, select_rows

_BLOCK_ROWS = 4096


class SparseSpool:
    """Takes CSR matrices of any widths, one below the other, in files without a name.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> spool = SparseSpool()
    >>> spool.append(csr_array(np.eye(3)))
    >>> next(spool.blocks(4)).toarray()[0].tolist()
    [1.0, 0.0, 0.0, 0.0]
    """

    def __init__(self) -> None:
        self.lengths: list[np.ndarray] = []
        self.size = 0
        self.columns = FileMatrix(RandomAccessFile(), np.dtype(np.int32), (0,))
        self.values: FileMatrix | None = None

    def append(self, X: Any) -> None:
        """Put rows below those so far."""
        if self.values is None:
            self.values = FileMatrix(RandomAccessFile(), X.data.dtype, (0,))
        self.columns.write(self.size, X.indices.astype(np.int32, copy=False))
        self.values.write(self.size, X.data.astype(self.values.dtype, copy=False))
        self.lengths.append(np.diff(X.indptr).astype(np.int64))
        self.size += len(X.data)

    def source(self, width: int, y: Any = None) -> SparseFileSource:
        """The rows that were put in, as a source of `width` columns."""
        starts = np.concatenate([[0], np.cumsum(np.concatenate([*self.lengths, []]))])
        values = self.values or FileMatrix(RandomAccessFile(), np.dtype(np.float64), (0,))
        columns = self.columns.with_rows(self.size)
        return SparseFileSource(
            starts.astype(np.int64), columns, values.with_rows(self.size), width, y
        )

    def blocks(self, width: int) -> Iterator[Any]:
        """The rows in order, some thousand at a time."""
        source = self.source(width)
        for first in range(0, source.n_rows, _BLOCK_ROWS):
            yield source.read(first, min(first + _BLOCK_ROWS, source.n_rows))


class SparseFileSource(Source):
    """CSR rows in files, with a target in memory."""

    sparse = True

    def __init__(
        self, starts: np.ndarray, columns: FileMatrix, values: FileMatrix, width: int, y: Any = None
    ) -> None:
        self.starts, self.columns_file, self.values_file, self.y = starts, columns, values, y
        self.n_rows, self.n_features = len(starts) - 1, width
        self.dtype = compute_dtype(values.dtype)
        self.has_target = y is not None
        if y is not None and len(y) != self.n_rows:
            raise ValueError(f"{len(y)} targets for {self.n_rows} rows")

    def read(self, first: int, end: int) -> Any:
        """Rows first:end as a CSR array in the type of the file."""
        from scipy.sparse import csr_array

        low, high = int(self.starts[first]), int(self.starts[end])
        parts = self.values_file[low:high], self.columns_file[low:high]
        pointers = self.starts[first : end + 1] - low
        return csr_array((*parts, pointers), shape=(end - first, self.n_features))

    def chunks(self, run: range) -> Iterator[Chunk]:
        """Read the chunks of a run."""
        for number in run:
            yield self._chunk(*self.span(number))

    def take(self, rows: np.ndarray) -> Chunk:
        """The rows with these numbers; of a chunk, no more is read than from first to last."""
        blocks = np.split(rows, np.flatnonzero(np.diff(rows // self.grid)) + 1)
        parts = [select_rows(self._chunk(int(b[0]), int(b[-1]) + 1), b) for b in blocks]
        return concatenate_chunks(parts)

    def _chunk(self, first: int, end: int) -> Chunk:
        X = self.read(first, end).astype(self.dtype)
        return Chunk(X, slice_column(self.y, first, end), None, first)
