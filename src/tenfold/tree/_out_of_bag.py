"""Predictions of training rows by the trees that have not drawn them."""

from __future__ import annotations

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.tree._leaf_sums_numba import sum_outside
from tenfold.tree._nodes import TreeEnsemble
from tenfold.tree._predict_numba import apply_trees


def sum_out_of_bag(chunk: Chunk, trees: TreeEnsemble, drawn: np.ndarray) -> np.ndarray:
    """Sums of the values of the trees that have not drawn each row, and their number.

    Parameters
    ----------
    chunk : Chunk
        Training rows.
    trees : TreeEnsemble
        The forest; a leaf's row in `values` is its own number.
    drawn : (n_trees, ...) uint8
        A bit for each training row of all: whether the tree has drawn it.
    """
    low = chunk.first // 8
    bits = np.unpackbits(drawn[:, low : (chunk.first + chunk.rows + 7) // 8], axis=1)
    begin = chunk.first - 8 * low
    out = np.zeros((chunk.rows, trees.values.shape[1] + 1))
    bits = np.ascontiguousarray(bits[:, begin : begin + chunk.rows])
    sum_outside(apply_trees(chunk, trees), trees.roots, trees.values, bits, out)
    return out
