"""A heap of joins that are still possible, the least height on top.

Each entry is a height and a pair of clusters in one number. Equal heights come out in the order of
Python's `heapq`, or by their pairs (`ordered`), so that trees of rows with many ties are those of
scikit-learn.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, inline="always")
def comes_first(height, pair, other_height, other_pair, ordered):  # noqa: ANN001, ANN201
    """Whether one entry lies above another."""
    if ordered and height == other_height:
        return pair < other_pair
    return height < other_height


@njit(cache=True, nogil=True)
def rise(heights, pairs, at, top, ordered):  # noqa: ANN001, ANN201  (m,), (m,)
    """Move an entry up to its place, not beyond `top`."""
    height, pair = heights[at], pairs[at]
    while at > top:
        above = (at - 1) >> 1
        if not comes_first(height, pair, heights[above], pairs[above], ordered):
            break
        heights[at], pairs[at] = heights[above], pairs[above]
        at = above
    heights[at], pairs[at] = height, pair


@njit(cache=True, nogil=True)
def settle(heights, pairs, top, size, ordered):  # noqa: ANN001, ANN201  (m,), (m,)
    """Let the smaller entries below `top` move up until its own has a place at the bottom."""
    height, pair, at = heights[top], pairs[top], top
    while 2 * at + 1 < size:
        below = 2 * at + 1
        if below + 1 < size and not comes_first(
            heights[below], pairs[below], heights[below + 1], pairs[below + 1], ordered
        ):
            below += 1
        heights[at], pairs[at] = heights[below], pairs[below]
        at = below
    heights[at], pairs[at] = height, pair
    rise(heights, pairs, at, top, ordered)


@njit(cache=True, nogil=True)
def make_heap(heights, pairs, size, ordered):  # noqa: ANN001, ANN201  (m,), (m,)
    """Put the first entries into the order of a heap."""
    for top in range(size // 2 - 1, -1, -1):
        settle(heights, pairs, top, size, ordered)


@njit(cache=True, nogil=True)
def take_off(heights, pairs, size, ordered):  # noqa: ANN001, ANN201  (m,), (m,) -> float, int
    """The top entry, which leaves the heap."""
    height, pair = heights[0], pairs[0]
    heights[0], pairs[0] = heights[size - 1], pairs[size - 1]
    if size > 1:
        settle(heights, pairs, 0, size - 1, ordered)
    return height, pair


@njit(cache=True, nogil=True)
def with_room(heights, pairs, needed):  # noqa: ANN001, ANN201  (m,), (m,) -> the same, longer
    """Arrays that can hold as many entries as needed."""
    if needed <= len(heights):
        return heights, pairs
    longer = np.empty(2 * needed, np.float64), np.empty(2 * needed, np.int64)
    longer[0][: len(heights)], longer[1][: len(pairs)] = heights, pairs
    return longer
