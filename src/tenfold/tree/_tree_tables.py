"""Trees on bins as trees on the values of columns."""

from __future__ import annotations

import numpy as np

from tenfold.tree._binning import BinMapper
from tenfold.tree._nodes import CATEGORICAL, LEAF, MISSING_LEFT, Tree, pack_categories
from tenfold.tree._row_lists_numba import BinnedTree


def float_tree(tree: BinnedTree, mapper: BinMapper) -> Tree:
    """The tree with thresholds of values and sets of category codes in the place of bins."""
    leaf = tree.left < 0
    feature = np.where(leaf, LEAF, tree.column).astype(np.uint32)
    feature |= np.where(tree.flags & 1, MISSING_LEFT, 0).astype(np.uint32)
    left = np.where(leaf, np.cumsum(leaf) - 1, tree.left)
    threshold = np.zeros(len(left))
    numeric = np.flatnonzero(~leaf & (tree.flags & 2 == 0))
    columns, bins = tree.column[numeric], tree.bin[numeric]
    cuts = np.column_stack([mapper.thresholds, np.full(len(mapper.n_bins), np.inf)])
    threshold[numeric] = cuts[columns, np.minimum(bins, cuts.shape[1] - 1)]
    sets, place = [np.zeros(0, np.uint64)], 0
    for node in np.flatnonzero(tree.flags & 2):
        feature[node] |= CATEGORICAL
        sets.append(pack_categories(_left_codes(tree, int(node), mapper)))
        threshold[node], place = place, place + len(sets[-1])
    return Tree.of(
        feature,
        left,
        threshold,
        tree.value[leaf][:, None],
        bitsets=np.concatenate(sets),
        cover=tree.cover,
        gain=tree.gain,
    )


def _left_codes(tree: BinnedTree, node: int, mapper: BinMapper) -> np.ndarray:
    """Codes of the categories whose bins go left."""
    bins = mapper.category_bins[tree.column[node]]
    words = tree.left_set[node][bins >> 6]
    return np.flatnonzero((words >> (bins & 63).astype(np.uint64)) & np.uint64(1))
