"""Lists of the rows of each node, and trees on bins."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from tenfold.tree._compile_options import ENTRY, INNER, LOOP
from tenfold.tree._fixed_point_numba import leaf_sums, mix_bits
from tenfold.tree._gradient_split_numba import (
    BIN,
    IS_CATEGORICAL,
    LEAF_UNIT_G,
    LEAF_UNIT_H,
    LOWER,
    MISSING_LEFT,
    UPPER,
    leaf_value,
)


class BinnedTree(NamedTuple):
    """A complete tree on bins, its nodes level by level, the right child after the left one.

    Attributes
    ----------
    column : (m,) int64 array: column that a node asks
    left : (m,) int64 array: number of the left child; -1 for leaves
    bin : (m,) int64 array: a bin goes left if it is not larger
    flags : (m,) int64 array: 1 if missing values go left, 2 for a categorical node
    left_set : (m, 4) uint64 array: bins that go left, of categorical nodes
    value : (m,) array: what a leaf adds to the score
    cover : (m,) array: rows that came to the node
    gain : (m,) array: gain of the split, 0 for leaves
    """

    column: np.ndarray
    left: np.ndarray
    bin: np.ndarray
    flags: np.ndarray
    left_set: np.ndarray
    value: np.ndarray
    cover: np.ndarray
    gain: np.ndarray


@njit(**LOOP)
def fill_directions(integers, left_set, missing, directions):
    """For each bin, 1 if it goes left."""
    for b in range(len(directions)):
        if integers[IS_CATEGORICAL]:
            bits = left_set[b >> 6] >> np.uint64(b & 63)
            directions[b] = bits & np.uint64(1) != 0
        else:
            directions[b] = b <= integers[BIN] and b != missing
    if not integers[IS_CATEGORICAL]:
        directions[missing] = integers[MISSING_LEFT] or integers[BIN] >= missing


@njit(**LOOP)
def part_rows(column, rows, first, end, directions, left, right):
    """Part the rows `rows[first:end]` of a node: copies in `left` and `right`; how many go left.

    `column` has the bins of all rows in the column of the split.
    """
    a = b = np.uintp(first)
    for t in range(np.uintp(first), np.uintp(end)):
        i = rows[t]
        go = np.uintp(directions[np.uintp(column[np.uintp(i)])])
        left[a] = i
        right[b] = i
        a += go
        b += np.uintp(1) - go
    return np.int64(a) - first


@njit(**LOOP)
def part_few_rows(column, rows, first, end, integers, left_set, missing, directions, spare):
    """Part the rows `rows[first:end]` of a node in their place; how many go left."""
    fill_directions(integers, left_set, missing, directions)
    count = part_rows(column, rows, first, end, directions, rows, spare)
    for t in range(end - first - count):
        rows[first + count + t] = spare[first + t]
    return count


@njit(**LOOP)
def add_value(rows, first, end, value, score):
    """Add the value of a leaf to the scores of its rows."""
    for t in range(np.uintp(first), np.uintp(end)):
        score[np.uintp(rows[t])] += value


@njit(**INNER)
def newton_value(g, h, limits, numbers, node):
    """Value of a leaf from exact sums."""
    g, h = g * limits[LEAF_UNIT_G], h * limits[LEAF_UNIT_H]
    return leaf_value(g, h, limits, numbers[node, LOWER], numbers[node, UPPER])


@njit(**LOOP)
def sum_spans(rows, cuts, first, end, word, second, layout, sums):
    """Add exact sums of g and h of the rows of each span in the blocks `first` to `end - 1`.

    In span s, the rows of block b are `rows[cuts[b, s]:cuts[b + 1, s]]`.
    """
    for b in range(first, end):
        for s in range(len(sums)):
            g, h = leaf_sums(rows, cuts[b, s], cuts[b + 1, s], word, second, layout)
            sums[s, 0] += g
            sums[s, 1] += h


@njit(**LOOP)
def add_values(rows, cuts, first, end, values, score):
    """Add the value of each span to the scores of its rows in the same blocks."""
    for b in range(first, end):
        for s in range(len(values)):
            add_value(rows, cuts[b, s], cuts[b + 1, s], values[s], score)


@njit(**LOOP)
def find_binned_leaf(column, left, bin_, flags, left_set, bins, at, missing):
    """The leaf of a `BinnedTree` that the row whose bins begin at a place comes to."""
    node = np.int64(0)
    while left[node] >= 0:
        value = np.int64(bins[at + column[node]])
        if flags[node] & 2:
            bits = left_set[node, value >> 6] >> np.uint64(value & 63)
            go = bits & np.uint64(1) != 0
        else:
            go = value <= bin_[node] or (value == missing and flags[node] & 1 != 0)
        node = left[node] if go else left[node] + 1
    return node


@njit(**LOOP)
def add_binned_tree(column, left, bin_, flags, left_set, value, bins, p, missing, rows, score, k):
    """Add a tree to score k of some rows."""
    for t in range(len(rows)):
        i = np.int64(rows[t])
        leaf = find_binned_leaf(column, left, bin_, flags, left_set, bins, i * p, missing)
        score[i, k] += value[leaf]


@njit(**LOOP)
def draw_rows(rows, key, threshold, inside, outside):
    """Part rows by a hash of their numbers; how many are inside."""
    a = b = 0
    for t in range(len(rows)):
        i = rows[t]
        draw = mix_bits(key + np.uint64(i) * np.uint64(0x9E3779B97F4A7C15))
        go = draw < threshold
        inside[a] = i
        outside[b] = i
        a += go
        b += not go
    return a


@njit(**LOOP)
def route_rows(bins, p, missing, column, left, bin_, flags, left_set, node):
    """Let every row go down as far as its node has children."""
    for i in range(len(node)):
        at = np.int64(node[i])
        while left[at] >= 0:
            value = np.int64(bins[i * p + column[at]])
            if flags[at] & 2:
                bits = left_set[at, value >> 6] >> np.uint64(value & 63)
                go = bits & np.uint64(1) != 0
            else:
                go = value <= bin_[at] or (value == missing and flags[at] & 1 != 0)
            at = left[at] if go else left[at] + 1
        node[i] = at


@njit(**ENTRY)
def list_rows_by_slot(node, slot, learns, rows, starts):
    """Numbers of the rows that learn, those of one slot together; slot s begins at starts[s]."""
    starts[:] = 0
    for i in range(len(node)):
        s = slot[node[i]]
        if s >= 0 and learns[i]:
            starts[s + 1] += 1
    for s in range(1, len(starts)):
        starts[s] += starts[s - 1]
    ends = starts[:-1].copy()
    for i in range(len(node)):
        s = slot[node[i]]
        if s >= 0 and learns[i]:
            rows[ends[s]] = i
            ends[s] += 1
