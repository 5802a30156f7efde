"""The k nearest so far as a heap, ordered by distance and then by row number.

The root is the farthest. Two rows at the same distance are ordered by their numbers, so the k
nearest are one set, whatever the order in which rows are met.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from tenfold._compiled.gemm import ENTRY_OPTIONS, INNER_OPTIONS

JIT: Any = njit(**ENTRY_OPTIONS)
INLINE: Any = njit(**INNER_OPTIONS)
_ROOT = np.int64(0)  # a plain 0 would be a type of its own, for which functions are compiled again


@INLINE
def sift_down(distance: Any, row: Any, start: int, size: int, d: float, r: int) -> None:
    """Put (d, r) at the place `start` of the heap of `size` entries, or below it."""
    place = start
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        other = child + 1
        if other < size and (
            distance[other] > distance[child]
            or (distance[other] == distance[child] and row[other] > row[child])
        ):
            child = other
        if distance[child] < d or (distance[child] == d and row[child] < r):
            break
        distance[place], row[place] = distance[child], row[child]
        place = child
    distance[place], row[place] = d, r


@INLINE
def push(distance: Any, row: Any, k: int, d: float, r: int) -> None:
    """Replace the farthest of k entries by (d, r) if that is nearer."""
    if d < distance[0] or (d == distance[0] and r < row[0]):
        sift_down(distance, row, _ROOT, k, d, r)


@INLINE
def sort_heap(distance: Any, row: Any, k: int) -> None:
    """Turn the heap into an ascending list."""
    for last in range(k - 1, 0, -1):
        d, r = distance[last], row[last]
        distance[last], row[last] = distance[0], row[0]
        sift_down(distance, row, _ROOT, last, d, r)


@INLINE
def make_heap(distance: Any, row: Any, k: int) -> None:
    """Order k entries as a heap."""
    for start in range(k // 2 - 1, -1, -1):
        sift_down(distance, row, start, k, distance[start], row[start])
