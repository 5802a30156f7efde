"""A pool of buffers that training reuses from part to part.

Arrays of some megabytes go back to the system when they are freed, and each page of new ones costs
a fault: a tenth of the time of a convolutional network. While a `BufferPool` is in use, `empty` hands
out arrays that nobody refers to any more; elsewhere it is `np.empty`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from sys import getrefcount
from typing import Any

import numpy as np

_MIN_POOLED_BYTES = 2**15  # bytes that are cheap to get anew


def _count_references(arrays: list[Any]) -> int:
    """References to an array that only its list knows; how many differs between Pythons."""
    for array in arrays:
        return getrefcount(array)
    raise AssertionError("there is an array")


_UNUSED_COUNT = _count_references([np.empty(1)])

_local = threading.local()


class BufferPool:
    """Large arrays of one thread each, by their size in bytes."""

    def __init__(self) -> None:
        self.of_threads: dict[int, dict[int, list[np.ndarray]]] = {}

    @contextmanager
    def used(self) -> Iterator[None]:
        """`empty` takes memory from here, in this thread and block."""
        before = getattr(_local, "arrays", None)
        _local.arrays = self.of_threads.setdefault(threading.get_ident(), {})
        try:
            yield
        finally:
            _local.arrays = before


def empty(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """An array whose numbers are not set."""
    arrays = getattr(_local, "arrays", None)
    size = prod(shape) * np.dtype(dtype).itemsize
    if arrays is None or size < _MIN_POOLED_BYTES:
        return np.empty(shape, dtype)
    known = arrays.setdefault(size, [])
    for array in known:
        if getrefcount(array) <= _UNUSED_COUNT:
            return array.view(dtype).reshape(shape)
    known.append(np.empty(size, np.uint8))
    return known[-1].view(dtype).reshape(shape)


def zeros(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """An array of zeros."""
    array = empty(shape, dtype)
    array.fill(0)
    return array
