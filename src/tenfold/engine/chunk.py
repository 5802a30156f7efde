"""A chunk of rows, and the grid that says where chunks begin.

The grid depends on the width of a row and on the number type, never on the engine, the number of
threads or the layout of a file. That is half of "the same bits everywhere"; `tree.py` is the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

CHUNK_BYTES = 2**20  # fits a core's second-level cache
MAX_CHUNK_BYTES = 2**26  # wide rows: never more than this at once
SPARSE_CHUNK_ROWS = 4096  # the width of a sparse row says nothing about its size


class Chunk(NamedTuple):
    """Some consecutive rows: the argument of chunk functions.

    Attributes
    ----------
    X : C-contiguous float32 / float64 array, CSR array, or `Ragged` sequences
    y : target, one entry (or row) per row of X, or None
    w : weights, or None when every row weighs 1
    first : number of the first row, counted over the whole data set
    """

    X: Any
    y: Any = None
    w: Any = None
    first: int = 0

    @property
    def rows(self) -> int:
        return self.X.shape[0]

    def weights(self) -> np.ndarray:
        """Return the weights, ones where none were given."""
        return np.ones(self.rows, self.X.dtype) if self.w is None else self.w

    @property
    def weight(self) -> float:
        """Total weight of the chunk."""
        return float(self.rows) if self.w is None else float(self.w.sum(dtype=np.float64))


def chunk_rows(width: int, dtype: np.dtype) -> int:
    """Rows in a dense chunk: about 1 MiB, so wide that a width x width statistic pays off.

    Examples
    --------
    >>> chunk_rows(784, np.dtype("float32")), chunk_rows(4, np.dtype("float64"))
    (784, 8192)
    """
    row = max(width, 1) * dtype.itemsize
    rows = min(max(CHUNK_BYTES // row, min(width, 1024)), 8192)
    return max(min(rows, MAX_CHUNK_BYTES // row), 1)


def split_run(run: Chunk, grid: int) -> Iterator[Chunk]:
    """The chunks of a run that begins on the grid."""
    for start in range(0, run.rows, grid):
        part = slice(start, start + grid)
        X, y, w = (None if a is None else a[part] for a in run[:3])
        yield Chunk(X, y, w, run.first + start)


def chunk_numbers(n_rows: int, grid: int) -> range:
    """Numbers of the chunks of a grid over n_rows rows."""
    return range(-(-n_rows // grid))
