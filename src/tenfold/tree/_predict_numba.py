"""Rows through many trees: several rows descend side by side.

To go down a tree is a chain of loads, each waiting for the one before. Twelve rows that descend at
the same time keep the processor busy meanwhile. In trees that are not deep all of them take as many
steps as the deepest leaf needs, the leaves being their own children: no branch has to be guessed.
In others, and where values are missing or categories asked, the next row starts where one has
arrived. Small trees take blocks of rows that stay in the
cache, one tree after the other; of large trees each stays in the cache while all rows pass, packed
(`tenfold.tree._packed_trees_numba`) where rows are many. Scores
are added tree by tree for each row, in the order of the trees, so they do not depend on the blocks.

Benchmark case: `gbdt-predict` (benchmarks/trees.py).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from tenfold.engine.chunk import Chunk
from tenfold.tree._compile_options import ENTRY, INNER
from tenfold.tree._nodes import CATEGORICAL, COLUMN, LEAF, MISSING_LEFT, TreeEnsemble
from tenfold.tree._packed_trees_numba import add_packed_scores, has_gaps

_BLOCK_ROWS = 512  # rows that go through one small tree after the other
_LARGE_TREE = 4096  # nodes from which on a tree takes all rows at once
_LANES = 12  # rows that descend side by side
_MAX_EVEN_DEPTH = 16  # of trees in which all rows take the same number of steps
_SPARSE_CELLS = 2**22  # of sparse rows that are made dense at a time


def ensemble_scores(chunk: Chunk, trees: TreeEnsemble, start: np.ndarray) -> np.ndarray:
    """Scores (n, n_outputs) of the rows of a chunk: `start` plus the values of all trees."""
    out = np.empty((chunk.rows, len(start)))
    out[:] = start
    if trees.n_outputs > len(start):
        raise ValueError(f"the trees have {trees.n_outputs} outputs, the start {len(start)}")
    for rows, X in dense_blocks(chunk.X, trees):
        if add_packed_scores(X, trees, out[rows]):
            continue
        _add_scores(
            X,
            trees.nodes,
            *_even_nodes(trees, len(X)),
            trees.roots,
            trees.values,
            trees.bitsets,
            trees.outputs,
            _rows_at_once(trees, len(X)),
            out[rows],
        )
    return out


def apply_trees(chunk: Chunk, trees: TreeEnsemble) -> np.ndarray:
    """Number of the leaf, counted among the nodes of its tree, of each row in each tree."""
    out = np.empty((chunk.rows, len(trees)), np.int64)
    for rows, X in dense_blocks(chunk.X, trees):
        block = _rows_at_once(trees, len(X))
        even = _even_nodes(trees, len(X))
        _find_leaves(X, trees.nodes, *even, trees.roots, trees.bitsets, block, out[rows])
    return out


def _even_nodes(trees: TreeEnsemble, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes whose leaves are their own children, and steps of each tree; -1 where rows are few."""
    steps = np.full(len(trees), -1)
    if n * len(trees) < 4 * len(trees.words):
        return trees.nodes[:0], steps
    nodes = trees.nodes.copy()
    _close_leaves(nodes, trees.roots, np.zeros(len(nodes), np.int64), steps)
    return nodes, steps


def _rows_at_once(trees: TreeEnsemble, n: int) -> int:
    """Rows that go through one tree after the other."""
    return max(n, 1) if len(trees.words) >= _LARGE_TREE * len(trees) else _BLOCK_ROWS


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


@njit(**INNER)
def _descend(X, i, nodes, node, bitsets):
    """The leaf that row i comes to from a node."""
    feature = nodes[node].feature
    while feature & LEAF == 0:
        x = np.float64(X[i, np.uintp(feature & COLUMN)])
        right = _goes_right(x, feature, nodes[node].threshold, bitsets)
        node = np.uintp(nodes[node].left) + right
        feature = nodes[node].feature
    return node


@njit(**INNER)
def _descend_rows(X, first, end, nodes, root, bitsets, lanes, leaves):
    """Set the leaves that the rows first to end - 1 come to from a root, some side by side."""
    at, who = lanes[0], lanes[1]
    count = min(end - first, np.uintp(_LANES))
    following = first + count
    for r in range(count):
        at[r], who[r] = root, first + np.uintp(r)
    moving = count == np.uintp(_LANES)
    while moving:
        for r in range(_LANES):
            node, i = at[r], who[r]
            feature = nodes[node].feature
            if feature & LEAF == 0:
                x = np.float64(X[i, np.uintp(feature & COLUMN)])
                right = _goes_right(x, feature, nodes[node].threshold, bitsets)
                at[r] = np.uintp(nodes[node].left) + right
            elif following < end:
                leaves[i - first] = node
                at[r], who[r] = root, following
                following += np.uintp(1)
            else:
                moving = False
    for r in range(count):
        leaves[who[r] - first] = _descend(X, who[r], nodes, at[r], bitsets)


@njit(**INNER)
def _descend_evenly(X, first, end, nodes, root, steps, lanes, leaves):
    """The same for at least twelve rows without gaps, in so many steps; see `_close_leaves`."""
    at = lanes[0]
    for begin in range(first, end, _LANES):
        low = min(np.uintp(begin), end - np.uintp(_LANES))  # the last rows are taken twice
        for r in range(_LANES):
            at[r] = root
        for _ in range(steps):
            for r in range(_LANES):
                node = nodes[at[r]]
                x = np.float64(X[low + np.uintp(r), np.uintp(node.feature)])
                at[r] = np.uintp(node.left) + np.uintp(x > node.threshold)
        for r in range(_LANES):
            leaves[low - first + np.uintp(r)] = at[r]


@njit(**ENTRY)
def _close_leaves(nodes, roots, depth, steps):
    """Make leaves their own children; steps of the trees that rows may go down evenly."""
    for t in range(len(steps)):
        deepest = 0
        for i in range(roots[t], roots[t + 1]):
            node, left = nodes[i], nodes[i].left
            if node.feature & CATEGORICAL:
                deepest = _MAX_EVEN_DEPTH + 1
            elif node.feature & LEAF:
                node.feature, node.left, node.threshold = 0, i, np.inf
            else:
                node.feature &= COLUMN
                depth[left] = depth[left + 1] = depth[i] + 1
                deepest = max(deepest, depth[left])
        steps[t] = deepest if deepest <= _MAX_EVEN_DEPTH else -1


@njit(**ENTRY)
def _add_scores(X, nodes, even, steps, roots, values, bitsets, outputs, block, out):
    """Add the values of all trees to the scores of all rows."""
    n, width = np.uintp(X.shape[0]), values.shape[1]
    leaves, lanes = np.empty(min(n, np.uintp(block)), np.uintp), np.empty((2, _LANES), np.uintp)
    for begin in range(0, n, block):
        first = np.uintp(begin)
        end = min(first + np.uintp(block), n)
        plain = end - first >= np.uintp(_LANES) and not has_gaps(X, first, end)
        for t in range(len(outputs)):
            root = np.uintp(roots[t])
            if plain and steps[t] >= 0:
                _descend_evenly(X, first, end, even, root, steps[t], lanes, leaves)
            else:
                _descend_rows(X, first, end, nodes, root, bitsets, lanes, leaves)
            for i in range(end - first):
                row = np.uintp(nodes[leaves[i]].left)
                for k in range(width):
                    out[first + i, np.uintp(outputs[t] + k)] += values[row, np.uintp(k)]


@njit(**ENTRY)
def _find_leaves(X, nodes, even, steps, roots, bitsets, block, out):
    """Number of the leaf of each row in each tree."""
    n, n_trees = np.uintp(out.shape[0]), out.shape[1]
    leaves, lanes = np.empty(min(n, np.uintp(block)), np.uintp), np.empty((2, _LANES), np.uintp)
    for begin in range(0, n, block):
        first = np.uintp(begin)
        end = min(first + np.uintp(block), n)
        plain = end - first >= np.uintp(_LANES) and not has_gaps(X, first, end)
        for t in range(n_trees):
            root = np.uintp(roots[t])
            if plain and steps[t] >= 0:
                _descend_evenly(X, first, end, even, root, steps[t], lanes, leaves)
            else:
                _descend_rows(X, first, end, nodes, root, bitsets, lanes, leaves)
            for i in range(end - first):
                out[first + i, t] = np.int64(leaves[i]) - roots[t]
