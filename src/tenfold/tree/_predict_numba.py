"""Rows through many trees: blocks of rows stay in the cache, several rows descend side by side.

To go down a tree is a chain of loads, each waiting for the one before. Eight rows that descend at
the same time keep the processor busy meanwhile. Scores are added tree by tree for each row, in the
order of the trees, so they do not depend on the blocks.

Benchmark case: `gbdt-predict` (benchmarks/trees.py).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from tenfold.engine.chunk import Chunk
from tenfold.tree._nodes import CATEGORICAL, COLUMN, LEAF, MISSING_LEFT, TreeEnsemble

_BLOCK_ROWS = 128  # rows that go through one tree after the other
_SPARSE_CELLS = 2**22  # of sparse rows that are made dense at a time


def ensemble_scores(chunk: Chunk, trees: TreeEnsemble, start: np.ndarray) -> np.ndarray:
    """Scores (n, n_outputs) of the rows of a chunk: `start` plus the values of all trees."""
    out = np.empty((chunk.rows, len(start)))
    out[:] = start
    if trees.n_outputs > len(start):
        raise ValueError(f"the trees have {trees.n_outputs} outputs, the start {len(start)}")
    for rows, X in dense_blocks(chunk.X, trees):
        _add_scores(
            X, trees.nodes, trees.roots, trees.values, trees.bitsets, trees.outputs, out[rows]
        )
    return out


def apply_trees(chunk: Chunk, trees: TreeEnsemble) -> np.ndarray:
    """Number of the leaf, counted among the nodes of its tree, of each row in each tree."""
    out = np.empty((chunk.rows, len(trees)), np.int64)
    for rows, X in dense_blocks(chunk.X, trees):
        _find_leaves(X, trees.nodes, trees.roots, trees.bitsets, out[rows])
    return out


def dense_blocks(X: Any, trees: TreeEnsemble) -> list[tuple[slice, np.ndarray]]:
    """X in dense blocks of rows, checked once: compiled code reads its columns unseen."""
    if X.shape[1] < trees.min_columns:
        raise ValueError(f"X has {X.shape[1]} columns, but the trees ask {trees.min_columns}")
    if isinstance(X, np.ndarray):
        return [(slice(0, len(X)), X)]
    step = max(_SPARSE_CELLS // max(X.shape[1], 1), 1)
    return [
        (slice(first, first + step), X[first : first + step].toarray())
        for first in range(0, X.shape[0], step)
    ]


@njit(cache=True, nogil=True, inline="always")
def goes_left(x, feature, threshold, bitsets):
    """Whether a value goes to the left child."""
    if feature & CATEGORICAL:
        place = np.int64(threshold)
        if x >= 0.0 and x < 64.0 * np.float64(bitsets[place]) and x == math.floor(x):
            code = np.int64(x)
            word = bitsets[place + 1 + (code >> 6)]
            return (word >> np.uint64(code & 63)) & np.uint64(1) != 0
        return feature & MISSING_LEFT != 0
    return x <= threshold or (np.isnan(x) and feature & MISSING_LEFT != 0)


@njit(cache=True, nogil=True, inline="always")
def _goes_right(x, feature, threshold, bitsets):
    """1 if a value goes to the right child, else 0, without a branch where both are likely."""
    if feature & CATEGORICAL or np.isnan(x):
        return np.uintp(not goes_left(x, feature, threshold, bitsets))
    return np.uintp(x > threshold)


@njit(cache=True, nogil=True)
def _descend(X, i, nodes, node, bitsets):
    """The leaf that row i comes to from a node."""
    at = np.uintp(node)
    feature = nodes[at].feature
    while feature & LEAF == 0:
        x = np.float64(X[np.uintp(i), np.uintp(feature & COLUMN)])
        right = _goes_right(x, feature, nodes[at].threshold, bitsets)
        at = np.uintp(nodes[at].left) + right
        feature = nodes[at].feature
    return np.int64(at)


@njit(cache=True, nogil=True)
def _descend_eight(X, i, nodes, root, bitsets, at):
    """The leaves that the rows i to i + 7 come to from a root, side by side."""
    for r in range(8):
        at[r] = root
    moving = True
    while moving:
        moving = False
        for r in range(8):
            node = np.uintp(at[r])
            feature = nodes[node].feature
            if feature & LEAF == 0:
                x = np.float64(X[np.uintp(i + r), np.uintp(feature & COLUMN)])
                right = _goes_right(x, feature, nodes[node].threshold, bitsets)
                at[r] = np.uintp(nodes[node].left) + right
                moving = True


@njit(cache=True, nogil=True)
def _add_scores(X, nodes, roots, values, bitsets, outputs, out):
    """Add the values of all trees to the scores of all rows."""
    n, width = X.shape[0], values.shape[1]
    at = np.empty(8, np.uintp)
    for first in range(0, n, _BLOCK_ROWS):
        end = min(first + _BLOCK_ROWS, n)
        even = first + (end - first) // 8 * 8
        for t in range(len(outputs)):
            root, output = roots[t], outputs[t]
            for i in range(first, even, 8):
                _descend_eight(X, i, nodes, root, bitsets, at)
                for r in range(8):
                    row = np.uintp(nodes[at[r]].left)
                    for k in range(width):
                        out[np.uintp(i + r), np.uintp(output + k)] += values[row, np.uintp(k)]
            for i in range(even, end):
                row = nodes[_descend(X, i, nodes, root, bitsets)].left
                for k in range(width):
                    out[i, output + k] += values[row, k]


@njit(cache=True, nogil=True)
def _find_leaves(X, nodes, roots, bitsets, out):
    """Number of the leaf of each row in each tree."""
    n, n_trees = out.shape
    for first in range(0, n, _BLOCK_ROWS):
        for t in range(n_trees):
            for i in range(first, min(first + _BLOCK_ROWS, n)):
                out[i, t] = _descend(X, i, nodes, roots[t], bitsets) - roots[t]
