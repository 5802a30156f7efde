"""Many rows through large trees: each tree is packed before the rows go down.

A tree of a forest has a megabyte of nodes and as much of values, more than the cache next to a
core. Packed, a node is a word and a threshold in the type of the rows, 8 bytes for float32; equal
values of leaves are kept once. A leaf is a node whose only child is the place of its value. So all
rows of a block go a step without a branch, and those that have arrived leave the list.

Benchmark case: `forest, predict` (benchmarks/forests.py).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tenfold.tree._compile_options import ENTRY, INNER
from tenfold.tree._nodes import COLUMN, LEAF, TreeEnsemble

_LARGE_TREE = 4096  # nodes from which on trees are packed
_BLOCK_ROWS = 512  # rows that go down together
_WORD_BITS = 32
_SLOTS = 64  # values of leaves that the next are compared with


def add_packed_scores(X: np.ndarray, trees: TreeEnsemble, out: np.ndarray) -> bool:
    """Add the values of all trees to the scores of all rows; False if packing does not pay.

    Then nothing was added. No tree may ask categories, and no value of X may be missing.
    """
    n_nodes, most = len(trees.words), int(np.diff(trees.roots).max(initial=0))
    shift = 1 + max(X.shape[1] - 1, 1).bit_length()
    is_large = n_nodes >= _LARGE_TREE * max(len(trees), 1) and len(X) * len(trees) >= n_nodes
    if not is_large or len(trees.bitsets) > 0 or most >> (_WORD_BITS - shift) > 0:
        return False
    packed = np.empty(most, np.dtype([("word", np.uint32), ("threshold", X.dtype)], align=True))
    ends = np.array([-np.inf, np.inf], X.dtype)
    leaves = np.empty((most, trees.values.shape[1]))
    tables = trees.nodes, trees.roots, trees.values, trees.outputs
    return _add_scores(X, *tables, np.uint32(shift), packed, leaves, ends, out)


@njit(**INNER)
def has_gaps(X, first, end):
    """Whether a value of the rows is missing."""
    found = False
    for i in range(first, end):
        for j in range(np.uintp(X.shape[1])):
            found |= X[i, j] != X[i, j]
    return found


@njit(**INNER)
def _is_row(a, i, b, j):
    same = True
    for k in range(a.shape[1]):
        same &= a[i, np.uintp(k)] == b[j, np.uintp(k)]
    return same


@njit(**INNER)
def _pack(nodes, first, end, values, shift, ends, packed, leaves, recent):
    """Pack the nodes of a tree, and copy the values of its leaves."""
    count = np.uint32(0)
    for i in range(first, end):
        node, own = nodes[i], packed[i - first]
        if node.feature & LEAF:
            row, total = np.uintp(node.left), 0.0
            for k in range(values.shape[1]):
                total += (k + 1) * values[row, np.uintp(k)]
            slot = np.uintp(np.float64(total).view(np.uint64) >> np.uint64(48)) % np.uintp(_SLOTS)
            place = recent[slot]
            if place >= count or not _is_row(leaves, np.uintp(place), values, row):
                place = count
                recent[slot] = place
                count += np.uint32(1)
                for k in range(values.shape[1]):
                    leaves[np.uintp(place), np.uintp(k)] = values[row, np.uintp(k)]
            own.word, own.threshold = place << shift, ends[1]
        else:
            left = np.uint32(node.left - first)
            own.word = left << shift | (node.feature & COLUMN) << np.uint32(1) | np.uint32(1)
            own.threshold = node.threshold
            if own.threshold > node.threshold:  # values of the type of X are between or below
                own.threshold = np.nextafter(own.threshold, ends[0])


@njit(**INNER)
def _descend(X, first, count, packed, shift, lanes, places):
    """Set the places of the values that some rows come to."""
    at, who = lanes[0], lanes[1]
    columns = (np.uint32(1) << (shift - np.uint32(1))) - np.uint32(1)
    for r in range(count):
        at[r], who[r] = 0, r
    while count > 0:
        moving = np.uintp(0)
        for r in range(count):
            i, node = np.uintp(who[r]), packed[np.uintp(at[r])]
            word, threshold = node.word, node.threshold
            x = X[first + i, np.uintp((word >> np.uint32(1)) & columns)]
            child = np.uint32((word >> shift) + np.uint32(x > threshold))
            at[moving] = places[i] = child
            who[moving] = i
            moving += np.uintp(word & np.uint32(1))
        count = moving


@njit(**ENTRY)
def _add_scores(X, nodes, roots, values, outputs, shift, packed, leaves, ends, out):
    """Add the values of all trees, unless a value of X is missing; whether it did."""
    n = np.uintp(X.shape[0])
    if has_gaps(X, np.uintp(0), n):
        return False
    recent = np.zeros(_SLOTS, np.uint32)
    places, lanes = np.empty(_BLOCK_ROWS, np.uint32), np.empty((2, _BLOCK_ROWS), np.uint32)
    for t in range(len(outputs)):
        _pack(nodes, roots[t], roots[t + 1], values, shift, ends, packed, leaves, recent)
        for begin in range(0, n, _BLOCK_ROWS):
            first = np.uintp(begin)
            count = min(n - first, np.uintp(_BLOCK_ROWS))
            _descend(X, first, count, packed, shift, lanes, places)
            for i in range(count):
                for k in range(values.shape[1]):
                    value = leaves[np.uintp(places[i]), np.uintp(k)]
                    out[first + i, np.uintp(outputs[t] + k)] += value
    return True
