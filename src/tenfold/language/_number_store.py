"""Whole numbers that are appended block by block: in memory while few, in a file when many."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np

MAX_BYTES_IN_MEMORY = 2**26
_MAX_BLOCKS = 4096
_BLOCK = 2**20  # numbers of a block that is read again


class NumberStore:
    """A growing array of whole numbers.

    Beyond `MAX_BYTES_IN_MEMORY` the numbers lie in a temporary file without a name.

    Parameters
    ----------
    dtype : dtype
        Type of the numbers.

    Examples
    --------
    >>> store = NumberStore(np.uint16)
    >>> store.append([1, 2])
    >>> store.append([3])
    >>> store.array().tolist()
    [1, 2, 3]
    """

    def __init__(self, dtype: Any) -> None:
        self.dtype = np.dtype(dtype)
        self.blocks: list[np.ndarray] = []
        self.file: Any = None
        self.size = 0

    def append(self, numbers: Any) -> None:
        """Put numbers at the end."""
        block = np.asarray(numbers).astype(self.dtype)
        self.size += len(block)
        if self.file is None:
            self.blocks.append(block)
            if len(self.blocks) > _MAX_BLOCKS:
                self.blocks = [np.concatenate(self.blocks)]
            if self.size * self.dtype.itemsize > MAX_BYTES_IN_MEMORY:
                self.file = tempfile.TemporaryFile()  # noqa: SIM115  lives as long as the array
                for each in self.blocks:
                    self.file.write(each.tobytes())
                self.blocks = []
        else:
            self.file.write(block.tobytes())

    def array(self) -> np.ndarray:
        """All numbers; a map of the file if there is one. No more can be appended then."""
        if self.file is None:
            joined = np.concatenate(self.blocks) if self.blocks else np.empty(0, self.dtype)
            self.blocks = [joined]
            return joined
        with self.file:  # the map stays when the file is closed
            self.file.flush()
            return np.memmap(self.file, self.dtype, mode="r", shape=(self.size,))


def iterate_blocks(numbers: np.ndarray) -> Iterator[np.ndarray]:
    """Consecutive blocks of an array, so that a file is never in memory as a whole."""
    for start in range(0, len(numbers), _BLOCK):
        yield np.asarray(numbers[start : start + _BLOCK])


def smallest_dtype(count: int) -> Any:
    """The smallest unsigned type that holds the numbers 0 to count - 1."""
    return np.min_scalar_type(max(count - 1, 0))
