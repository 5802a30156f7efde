"""A tree on few rows, grown in one compiled call.

The steps are those of `tenfold.tree._memory_trainer` for columns of numbers that all nodes may ask.
Nodes of few rows take microseconds, in which Python would make but a call or two.

Benchmark case: `gbdt-small` (benchmarks/trees.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from tenfold.tree._compile_options import INNER, LOOP
from tenfold.tree._fixed_point_numba import FINE, leaf_sums, unpack_word
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
    make_split_room,
    node_value,
)
from tenfold.tree._histogram_numba import add_rows, make_table
from tenfold.tree._row_lists_numba import add_value, newton_value, part_few_rows

# integers of a node: left child or -1, depth, path from the root, its rows in the list, histogram
LEFT, DEPTH, PATH, FIRST, END, HISTOGRAM = 0, 1, 2, 3, 4, 5
N_PLACES = 6
FREE, WAITING = 0, 1  # rows of a table: histograms that are free, nodes that wait; first how many
MAX_LEAVES = 62  # so that a path is a number of 63 bits


@njit(**INNER)
def _add_cells(bins, p, rows, first, end, word, second, layout, sign, sums):
    """Add the cells of some rows to a histogram, or subtract them."""
    width = np.uintp(len(sums) // p)
    for t in range(np.uintp(first), np.uintp(end)):
        i = np.uintp(rows[t])
        y = second[i] if layout == FINE else np.int64(0)
        g, h, count = unpack_word(word[i], y, layout)
        g, h, count, at = sign * g, sign * h, sign * count, i * np.uintp(p)
        for j in range(np.uintp(p)):
            k = j * width + np.uintp(bins[at + j])
            sums[k, 0] += g
            sums[k, 1] += h
            sums[k, 2] += count


@njit(**INNER)
def _start(bins, rows, words, groups, columns, limits, nodes, room):
    """Make the root and its histogram, that of all rows."""
    (integers, numbers, places), (histograms, table, lists, _, _, _) = nodes, room
    p, n_rows, place = len(columns), len(rows), lists[FREE, lists[FREE, 0]]
    lists[FREE, 0] -= 1
    sums, width = histograms[place], histograms.shape[1] // p
    (word, second, layout, limit), (starts, members) = words, groups
    first = np.int64(0)
    add_rows(bins, rows, first, n_rows, word, second, layout, limit, table, starts, members, sums)
    for b in range(width):
        for c in range(3):
            integers[0, G + c] += sums[b, c]
    g, h = integers[0, G] * limits[UNIT_G], integers[0, H] * limits[UNIT_H]
    numbers[0, GAIN] = NO_SPLIT
    numbers[0, VALUE] = node_value(g, h, limits[L2], -np.inf, np.inf)
    numbers[0, LOWER], numbers[0, UPPER] = -np.inf, np.inf
    for j in range(len(columns)):
        columns[j, HAS_MISSING] = sums[(j + 1) * width - 1, 2] > 0
    places[0, LEFT], places[0, DEPTH], places[0, PATH] = -1, 0, 1
    places[0, FIRST], places[0, END], places[0, HISTOGRAM] = 0, n_rows, place


@njit(**INNER)
def _take_best(lists, numbers, places, depth_wise):
    """Take the node that is split next out of those that wait."""
    best, last = 1, lists[WAITING, 0]
    for i in range(2, last + 1):
        a, b = lists[WAITING, i], lists[WAITING, best]
        if depth_wise and places[a, DEPTH] != places[b, DEPTH]:
            first = places[a, DEPTH] < places[b, DEPTH]
        elif numbers[a, GAIN] != numbers[b, GAIN]:
            first = numbers[a, GAIN] > numbers[b, GAIN]
        else:
            first = places[a, PATH] < places[b, PATH]
        if first:
            best = i
    node = lists[WAITING, best]
    lists[WAITING, best] = lists[WAITING, last]
    lists[WAITING, 0] = last - 1
    return node


@njit(**INNER)
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


@njit(**INNER)
def _release(bins, p, rows, places, node, histograms, lists):
    """Make the histogram of a node one of zeros that is free."""
    place, first, end = places[node, HISTOGRAM], places[node, FIRST], places[node, END]
    sums = histograms[place]
    width = len(sums) // p
    if end - first >= width // 4:
        for k in range(len(sums)):
            sums[k, 0] = sums[k, 1] = sums[k, 2] = 0
    else:
        for t in range(np.uintp(first), np.uintp(end)):
            at = np.uintp(rows[t]) * np.uintp(p)
            for j in range(np.uintp(p)):
                k = j * np.uintp(width) + np.uintp(bins[at + j])
                sums[k, 0] = sums[k, 1] = sums[k, 2] = 0
    lists[FREE, 0] += 1
    lists[FREE, lists[FREE, 0]] = place


@njit(**INNER)
def _fill_histograms(bins, p, rows, words, groups, nodes, node, histograms, table, lists):
    """Histograms of the children of a node; its own becomes that of the larger child."""
    (integers, _, places), (word, second, layout, limit) = nodes, words
    left = places[node, LEFT]
    smaller = left + np.int64(integers[left + 1, COUNT] < integers[left, COUNT])
    larger = 2 * left + 1 - smaller
    places[larger, HISTOGRAM] = places[node, HISTOGRAM]
    places[smaller, HISTOGRAM] = lists[FREE, lists[FREE, 0]]
    lists[FREE, 0] -= 1
    first, end = places[smaller, FIRST], places[smaller, END]
    small, large = histograms[places[smaller, HISTOGRAM]], histograms[places[larger, HISTOGRAM]]
    if end - first < len(small) // p:  # fewer than there are words to unpack
        _add_cells(bins, p, rows, first, end, word, second, layout, np.int64(1), small)
        _add_cells(bins, p, rows, first, end, word, second, layout, np.int64(-1), large)
        return
    starts, members = groups
    add_rows(bins, rows, first, end, word, second, layout, limit, table, starts, members, small)
    for k in range(len(large)):
        for c in range(3):
            large[k, c] -= small[k, c]


@njit(**LOOP)
def grow_on_few_rows(
    bins, by_column, words, rows, spare, groups, columns, limits, shape, nodes, room, leaf
):
    """Grow a tree, add its values to the scores, and return the number of its nodes.

    Parameters
    ----------
    bins : (n * p,) uint8 array, row by row
    by_column : (p, n) uint8 array, the same column by column
    words : (word, second, layout, limit); see `tenfold.tree._histogram_numba.add_rows`
    rows, spare : int32 arrays: the rows to learn from, and room for as many
    groups : (starts, members), every column alone; see `tenfold.tree._bundles`
    columns, limits : see `tenfold.tree._gradient_split_numba`
    shape : (max_leaves, max_depth or -1, least rows of a node that is split, whether depth-wise)
    nodes : (integers, numbers, places) of the nodes, to be filled
    room : see `make_room`
    leaf : (score, values): scores of the rows, to be added to; values of the nodes, to be filled
    """
    max_leaves, max_depth, min_rows, depth_wise = shape
    (integers, numbers, places), (word, second, layout, _) = nodes, words
    histograms, table, lists, directions, no_set, search = room
    score, values = leaf
    p, missing = len(by_column), histograms.shape[1] // len(by_column) - 1
    first, end, n_nodes = np.int64(0), np.int64(1), np.int64(1)  # first:end are to be searched
    _start(bins, rows, words, groups, columns, limits, nodes, room)
    while True:
        for node in range(first, end):
            gain = NO_SPLIT
            if integers[node, COUNT] >= min_rows:
                own = histograms[places[node, HISTOGRAM]]
                gain = find_only_split(own, columns, limits, integers[node], numbers[node], search)
            if gain > 0:
                lists[WAITING, 0] += 1
                lists[WAITING, lists[WAITING, 0]] = node
            else:
                _release(bins, p, rows, places, node, histograms, lists)
        if lists[WAITING, 0] == 0 or n_nodes >= 2 * max_leaves - 1:
            break
        node = _take_best(lists, numbers, places, depth_wise)
        first, end, n_nodes = n_nodes, n_nodes + 2, n_nodes + 2
        fill_children(integers, numbers, columns, node, first)
        column, a, b = by_column[integers[node, COLUMN]], places[node, FIRST], places[node, END]
        middle = a + part_few_rows(
            column, rows, a, b, integers[node], no_set, missing, directions, spare
        )
        _open_children(places, node, first, middle)
        enough = integers[first, COUNT] >= min_rows or integers[first + 1, COUNT] >= min_rows
        if n_nodes < 2 * max_leaves - 1 and enough and places[first, DEPTH] != max_depth:
            _fill_histograms(bins, p, rows, words, groups, nodes, node, histograms, table, lists)
        else:
            _release(bins, p, rows, places, node, histograms, lists)
            first = end
    while lists[WAITING, 0] > 0:
        node = lists[WAITING, lists[WAITING, 0]]
        lists[WAITING, 0] -= 1
        _release(bins, p, rows, places, node, histograms, lists)
    for node in range(n_nodes):
        if places[node, LEFT] < 0:
            a, b = places[node, FIRST], places[node, END]
            g, h = leaf_sums(rows, a, b, word, second, layout)
            values[node] = newton_value(g, h, limits, numbers, node)
            add_value(rows, a, b, values[node], score)
    return n_nodes


def make_room(max_leaves: int, p: int, width: int) -> tuple[Any, ...]:
    """Memory that all trees use.

    Histograms of each leaf and one more, of zeros; a table of words; lists of the histograms that
    are free and of the nodes that wait; room for directions of bins, an empty set of categories;
    scratch of the search.
    """
    lists = np.zeros((2, max_leaves + 2), np.int64)
    lists[FREE, 0], lists[FREE, 1:] = max_leaves + 1, np.arange(max_leaves, -1, -1)
    return (
        np.zeros((max_leaves + 1, p * width, 3), np.int64),
        make_table(p),
        lists,
        np.empty(256, np.uint8),
        np.zeros(4, np.uint64),
        make_split_room(width),
    )
