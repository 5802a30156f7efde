"""Mean scores of a tree ensemble where only some columns are known.

A split on a known column sends a row one way; any other sends a share of it both ways, as large as
that of the training rows that went there (Friedman 2001, section 8.2).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tenfold.engine.chunk import Chunk
from tenfold.tree._compile_options import ENTRY
from tenfold.tree._nodes import COLUMN, LEAF
from tenfold.tree._predict_numba import dense_blocks, goes_left
from tenfold.tree.shap_values import TreeScore, prepare_columns, require_cover


def partial_scores(chunk: Chunk, score: TreeScore, known: np.ndarray) -> np.ndarray:
    """Mean scores (n, n_outputs) of the rows of a chunk, of which these columns are known.

    `known` has an entry for each column: whether it is.
    """
    trees = score.trees
    cover = np.asarray(require_cover(trees), np.float64)
    out = np.empty((chunk.rows, len(score.start)))
    out[:] = score.start
    for rows, X in dense_blocks(prepare_columns(chunk, score).X, trees):
        nodes, sets = trees.nodes, trees.bitsets
        _add_shares(
            X, known, nodes, trees.roots, cover, trees.values, sets, trees.outputs, out[rows]
        )
    return out


@njit(**ENTRY)
def _add_shares(X, known, nodes, roots, cover, values, bitsets, outputs, out):
    """Add the values of all leaves, times the share of each row that comes there."""
    width = values.shape[1]
    largest = 0
    for t in range(len(outputs)):
        largest = max(largest, roots[t + 1] - roots[t])
    share = np.zeros(largest)
    for t in range(len(outputs)):
        root = roots[t]
        for i in range(len(X)):
            share[: roots[t + 1] - root] = 0.0
            share[0] = 1.0
            for at in range(root, roots[t + 1]):
                part, node = share[at - root], nodes[at]
                if part == 0.0:
                    continue
                if node.feature & LEAF:
                    for k in range(width):
                        out[i, outputs[t] + k] += part * values[node.left, k]
                    continue
                column, left = node.feature & COLUMN, node.left - root
                if known[column]:
                    is_left = goes_left(X[i, column], node.feature, node.threshold, bitsets)
                    share[left + 1 - np.int64(is_left)] = part
                else:
                    whole = cover[at]
                    z = cover[node.left] / whole if whole > 0 else 0.5
                    share[left], share[left + 1] = part * z, part * (1.0 - z)
