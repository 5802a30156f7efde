"""A tree on few rows, grown in one compiled call.

The steps are those of `tenfold.tree._memory_trainer` for columns of numbers that all nodes may ask.
Nodes of few rows take microseconds, in which Python would make but a call or two.

Benchmark case: `gbdt-small` (benchmarks/trees.py).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tenfold.tree._fixed_point_numba import FINE, unpack_word
from tenfold.tree._gradient_split_numba import (
    COLUMN,
    COUNT,
    GAIN,
    HAS_MISSING,
    L2,
    LOWER,
    NO_SPLIT,
    UNIT_G,
    UNIT_H,
    UPPER,
    VALUE,
    G,
    H,
    fill_children,
    find_only_split,
    node_value,
)
from tenfold.tree._histogram_numba import add_fine_rows, add_packed_rows
from tenfold.tree._row_lists_numba import finish_leaf, part_few_rows

# integers of a node: left child or -1, depth, path from the root, its rows in the list, histogram
LEFT, DEPTH, PATH, FIRST, END, HISTOGRAM = 0, 1, 2, 3, 4, 5
N_PLACES = 6
N_FREE, N_WAITING = 0, 1  # counts of histograms that are free, and of nodes that wait
MAX_LEAVES = 62  # so that a path is a number of 63 bits


@njit(cache=True, nogil=True)
def _add_cells(bins, p, rows, first, end, words, layout, sign, sums):
    """Add the cells of some rows to a histogram, or subtract them."""
    width = np.uintp(len(sums) // p)
    for t in range(np.uintp(first), np.uintp(end)):
        i = np.uintp(rows[t])
        y = words[1][i] if layout == FINE else np.int64(0)
        g, h, count = unpack_word(words[0][i], y, layout)
        g, h, count, at = sign * g, sign * h, sign * count, i * np.uintp(p)
        for j in range(np.uintp(p)):
            k = j * width + np.uintp(bins[at + j])
            sums[k, 0] += g
            sums[k, 1] += h
            sums[k, 2] += count


@njit(cache=True, nogil=True)
def _clear(bins, p, rows, first, end, sums):
    """Set a histogram of some rows to zeros."""
    width = len(sums) // p
    if end - first >= width // 4:
        sums[:] = 0
        return
    for t in range(np.uintp(first), np.uintp(end)):
        at = np.uintp(rows[t]) * np.uintp(p)
        for j in range(np.uintp(p)):
            k = j * np.uintp(width) + np.uintp(bins[at + j])
            sums[k, 0] = sums[k, 1] = sums[k, 2] = 0


@njit(cache=True, nogil=True, error_model="numpy")
def _move_rows(bins, p, rows, first, end, words, layout, step, table, small, large):
    """Add some rows to a histogram of zeros, and subtract them from another, if it has cells."""
    if end - first < len(small) // p:  # fewer than there are words to unpack
        _add_cells(bins, p, rows, first, end, words, layout, 1, small)
        if len(large) > 0:
            _add_cells(bins, p, rows, first, end, words, layout, -1, large)
        return
    if layout == FINE:
        add_fine_rows(bins, p, rows, first, end, words[0], words[1], step, table, small)
    else:
        add_packed_rows(bins, p, rows, first, end, words[0], layout, table, small)
    for k in range(len(large)):
        for c in range(3):
            large[k, c] -= small[k, c]


@njit(cache=True, nogil=True, error_model="numpy")
def _start(sums, columns, limits, integers, numbers):
    """Make the root of the histogram of all rows."""
    width = len(sums) // len(columns)
    for b in range(width):
        for c in range(3):
            integers[0, G + c] += sums[b, c]
    g, h = integers[0, G] * limits[UNIT_G], integers[0, H] * limits[UNIT_H]
    numbers[0, GAIN] = NO_SPLIT
    numbers[0, VALUE] = node_value(g, h, limits[L2], -np.inf, np.inf)
    numbers[0, LOWER], numbers[0, UPPER] = -np.inf, np.inf
    for j in range(len(columns)):
        columns[j, HAS_MISSING] = sums[(j + 1) * width - 1, 2] > 0


@njit(cache=True, nogil=True)
def _take_best(waiting, counts, numbers, places, depth_wise):
    """Take the node that is split next out of those that wait."""
    best = 0
    for i in range(1, counts[N_WAITING]):
        a, b = waiting[i], waiting[best]
        if depth_wise and places[a, DEPTH] != places[b, DEPTH]:
            first = places[a, DEPTH] < places[b, DEPTH]
        elif numbers[a, GAIN] != numbers[b, GAIN]:
            first = numbers[a, GAIN] > numbers[b, GAIN]
        else:
            first = places[a, PATH] < places[b, PATH]
        if first:
            best = i
    node = waiting[best]
    counts[N_WAITING] -= 1
    waiting[best] = waiting[counts[N_WAITING]]
    return node


@njit(cache=True, nogil=True)
def _open_children(places, node, left, middle):
    """Make the places of two children, whose rows part at `middle`."""
    places[node, LEFT] = left
    for side in range(2):
        child = left + side
        places[child, LEFT], places[child, HISTOGRAM] = -1, -1
        places[child, DEPTH] = places[node, DEPTH] + 1
        places[child, PATH] = 2 * places[node, PATH] + side
        places[child, FIRST] = places[node, FIRST] if side == 0 else middle
        places[child, END] = middle if side == 0 else places[node, END]


@njit(cache=True, nogil=True)
def _release(bins, p, rows, places, node, sums, free, counts):
    """Make the histogram of a node one of zeros that is free."""
    place = places[node, HISTOGRAM]
    _clear(bins, p, rows, places[node, FIRST], places[node, END], sums[place])
    free[counts[N_FREE]] = place
    counts[N_FREE] += 1


@njit(cache=True, nogil=True, error_model="numpy")
def _fill_histograms(
    bins, p, rows, words, layout, step, integers, places, node, room, free, counts
):
    """Histograms of the children of a node; its own becomes that of the larger child."""
    sums, table = room
    left = places[node, LEFT]
    smaller = left + np.int64(integers[left + 1, COUNT] < integers[left, COUNT])
    larger = 2 * left + 1 - smaller
    counts[N_FREE] -= 1
    places[larger, HISTOGRAM] = places[node, HISTOGRAM]
    places[smaller, HISTOGRAM] = free[counts[N_FREE]]
    first, end = places[smaller, FIRST], places[smaller, END]
    small, large = sums[places[smaller, HISTOGRAM]], sums[places[larger, HISTOGRAM]]
    _move_rows(bins, p, rows, first, end, words, layout, step, table, small, large)


@njit(cache=True, nogil=True, error_model="numpy")
def _finish_leaves(rows, words, layout, limits, numbers, places, n_nodes, leaf):
    """Set the values of the leaves, and add them to the scores of their rows."""
    units, score, output, values = leaf
    for node in range(n_nodes):
        if places[node, LEFT] < 0:
            first, end, own = places[node, FIRST], places[node, END], numbers[node]
            values[node] = finish_leaf(
                rows, first, end, words[0], words[1], layout, units, limits, own, score, output
            )


@njit(cache=True, nogil=True, error_model="numpy")
def grow_on_few_rows(
    bins, by_column, words, layout, step, rows, spare, columns, limits, shape, nodes, room, leaf
):
    """Grow a tree, add its values to the scores, and return the number of its nodes.

    Parameters
    ----------
    bins : (n * p,) uint8 array, row by row
    by_column : (p, n) uint8 array, the same column by column
    words, layout : words of the rows and their layout
    step : rows of the layout FINE whose words may be added
    rows, spare : int32 arrays: the rows to learn from, and room for as many
    columns, limits : see `tenfold.tree._gradient_split_numba`
    shape : (max_leaves, max_depth or -1, least rows of a node that is split, whether depth-wise)
    nodes : (integers, numbers, places) of the nodes, to be filled
    room : (histograms, table): zeros, for a histogram of each leaf and one more, and for words
    leaf : (units, score, output, values): see `finish_leaf`; values of the nodes, to be filled
    """
    max_leaves, max_depth, min_rows, depth_wise = shape
    (integers, numbers, places), (sums, table) = nodes, room
    p, missing, no_set = len(by_column), sums.shape[1] // len(by_column) - 1, np.zeros(4, np.uint64)
    directions, waiting = np.empty(256, np.uint8), np.empty(max_leaves + 1, np.int64)
    free, counts = np.arange(len(sums) - 1, -1, -1), np.array([len(sums) - 1, 0])
    _move_rows(bins, p, rows, 0, len(rows), words, layout, step, table, sums[0], sums[0, :0])
    _start(sums[0], columns, limits, integers, numbers)
    places[0] = -1, 0, 1, 0, len(rows), 0
    first, end, n_nodes = np.int64(0), np.int64(1), np.int64(1)  # first:end are to be searched
    while True:
        for node in range(first, end):
            own, gain = sums[places[node, HISTOGRAM]], NO_SPLIT
            if integers[node, COUNT] >= min_rows:
                gain = find_only_split(own, columns, limits, integers[node], numbers[node])
            if gain > 0:
                waiting[counts[N_WAITING]] = node
                counts[N_WAITING] += 1
            else:
                _release(bins, p, rows, places, node, sums, free, counts)
        if counts[N_WAITING] == 0 or n_nodes >= 2 * max_leaves - 1:
            break
        node = _take_best(waiting, counts, numbers, places, depth_wise)
        first, end, n_nodes = n_nodes, n_nodes + 2, n_nodes + 2
        fill_children(integers, numbers, columns, node, first)
        column, a, b = by_column[integers[node, COLUMN]], places[node, FIRST], places[node, END]
        middle = a + part_few_rows(
            column, rows, a, b, integers[node], no_set, missing, directions, spare
        )
        _open_children(places, node, first, middle)
        enough = max(integers[first, COUNT], integers[first + 1, COUNT]) >= min_rows
        if n_nodes < 2 * max_leaves - 1 and enough and places[first, DEPTH] != max_depth:
            _fill_histograms(
                bins, p, rows, words, layout, step, integers, places, node, room, free, counts
            )
        else:
            _release(bins, p, rows, places, node, sums, free, counts)
            first = end
    for i in range(counts[N_WAITING]):
        _release(bins, p, rows, places, waiting[i], sums, free, counts)
    _finish_leaves(rows, words, layout, limits, numbers, places, n_nodes, leaf)
    return n_nodes
