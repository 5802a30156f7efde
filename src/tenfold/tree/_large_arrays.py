"""Arrays with an entry for each row: in memory, or in temporary files where rows are many.

Trees and forests on rows from files and clusters keep their codes, lists of rows and memory for
sorting in files that the system maps: what does not fit memory stays on the disk.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.engine.arrays import ArraySource, SparseSource
from tenfold.engine.carried_columns import map_array
from tenfold.engine.memory import available_memory
from tenfold.engine.rows import Rows

_MIN_FILE_BYTES = 2**28  # of codes of rows in memory that may go to a temporary file
_MAX_MEMORY_BYTES = 2**29  # of all that trees keep of rows that come from files
_MIN_MAPPED_BYTES = 2**20  # smaller arrays are kept in memory always
_WORK_BYTES = 128  # of a row beside its codes, while a tree grows


def is_in_memory(source: Any) -> bool:
    """Whether rows, or the rows of which they are a subset, are arrays in memory."""
    source = getattr(source, "source", source)  # a subset of rows
    arrays = isinstance(source, ArraySource | SparseSource)
    return arrays and not isinstance(getattr(source, "X", None), np.memmap)


def uses_files(rows: Rows, cell_bytes: int) -> bool:
    """Whether to keep what trees need of rows in files: codes of so many bytes, and more."""
    codes = rows.n_rows * rows.n_features * cell_bytes
    if rows.engine is None and is_in_memory(rows.source):
        return codes >= _MIN_FILE_BYTES and codes >= available_memory() / 2
    return codes + _WORK_BYTES * rows.n_rows > _MAX_MEMORY_BYTES


def is_mapped(array: Any) -> bool:
    """Whether an array lies in a file."""
    while array is not None and not isinstance(array, np.memmap):
        array = getattr(array, "base", None)
    return array is not None


def allocate(shape: tuple[int, ...], dtype: Any, *, mapped: bool) -> np.ndarray:
    """An array of any numbers, in a temporary file without a name if it is large and `mapped`."""
    dtype = np.dtype(dtype)
    if not mapped or int(np.prod(shape, dtype=np.int64)) * dtype.itemsize < _MIN_MAPPED_BYTES:
        return np.empty(shape, dtype)
    return np.asarray(map_array(shape, dtype))


def row_blocks(n: int, size: int = 2**18) -> list[slice]:
    """The rows 0 to n - 1 in blocks."""
    return [slice(first, min(first + size, n)) for first in range(0, n, size)]
