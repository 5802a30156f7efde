"""A pool of buffers that training reuses from part to part.

Arrays of some megabytes go back to the operating system when they are freed, and each page of new
ones costs a page fault: a tenth of the time of a convolutional network. While a `BufferPool` is in
use, `empty` returns arrays to which no reference is left; otherwise it is `np.empty`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from sys import getrefcount
from typing import Any

import numpy as np

from tenfold.neural._thresholds import MIN_POOLED_BYTES


def _count_references(arrays: list[Any]) -> int:
    """References to an array that only its list holds; the number differs between Pythons."""
    for array in arrays:
        return getrefcount(array)
    raise AssertionError("there is an array")


_UNUSED_COUNT = _count_references([np.empty(1)])

_local = threading.local()


class BufferPool:
    """Large arrays, by thread and by size in bytes."""

    def __init__(self) -> None:
        self.by_thread: dict[int, dict[int, list[np.ndarray]]] = {}

    @contextmanager
    def activate(self) -> Iterator[None]:
        """`empty` takes memory from this pool, in this thread and block."""
        before = getattr(_local, "arrays", None)
        _local.arrays = self.by_thread.setdefault(threading.get_ident(), {})
        try:
            yield
        finally:
            _local.arrays = before


def empty(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """An array whose values are not initialized."""
    by_size = getattr(_local, "arrays", None)
    size = prod(shape) * np.dtype(dtype).itemsize
    if by_size is None or size < MIN_POOLED_BYTES:
        return np.empty(shape, dtype)
    arrays = by_size.setdefault(size, [])
    for array in arrays:
        if getrefcount(array) <= _UNUSED_COUNT:
            return array.view(dtype).reshape(shape)
    arrays.append(np.empty(size, np.uint8))
    return arrays[-1].view(dtype).reshape(shape)


def zeros(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """An array of zeros."""
    array = empty(shape, dtype)
    array.fill(0)
    return array
