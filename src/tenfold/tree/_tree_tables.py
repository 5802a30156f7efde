"""Trees on bins as trees on the values of columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tenfold.tree._binning import BinMapper
from tenfold.tree._nodes import (
    CATEGORICAL,
    LEAF,
    MISSING_LEFT,
    TreeEnsemble,
    pack_categories,
    pack_nodes,
)
from tenfold.tree._row_lists_numba import BinnedTree


def float_trees(
    trees: Sequence[BinnedTree], outputs: np.ndarray, mapper: BinMapper
) -> TreeEnsemble:
    """The trees with thresholds of values and sets of category codes in the place of bins."""
    if not trees:
        return TreeEnsemble.of([])
    roots = np.cumsum([0, *(len(tree.left) for tree in trees)])
    whole = BinnedTree(*(np.concatenate(parts) for parts in zip(*trees, strict=True)))
    leaf = whole.left < 0
    feature = np.where(leaf, LEAF, whole.column).astype(np.uint32)
    feature |= np.where(whole.flags & 1, MISSING_LEFT, 0).astype(np.uint32)
    left = whole.left + np.repeat(roots[:-1], np.diff(roots))
    left[leaf] = np.arange(np.count_nonzero(leaf))
    threshold = np.zeros(len(left))
    numeric = np.flatnonzero(~leaf & (whole.flags & 2 == 0))
    columns, bins = whole.column[numeric], whole.bin[numeric]
    cuts = np.column_stack([mapper.thresholds, np.full(len(mapper.n_bins), np.inf)])
    threshold[numeric] = cuts[columns, np.minimum(bins, cuts.shape[1] - 1)]
    sets, place = [np.zeros(0, np.uint64)], 0
    for node in np.flatnonzero(whole.flags & 2).tolist():
        feature[node] |= CATEGORICAL
        n_categories = len(mapper.category_bins[whole.column[node]])
        sets.append(pack_categories(_left_codes(whole, node, mapper), n_categories))
        threshold[node], place = place, place + len(sets[-1])
    return TreeEnsemble(
        pack_nodes(feature, left, threshold),
        roots,
        whole.value[leaf][:, None],
        np.asarray(outputs, np.int64),
        np.concatenate(sets),
        whole.cover,
        whole.gain,
    )


def _left_codes(tree: BinnedTree, node: int, mapper: BinMapper) -> np.ndarray:
    """Codes of the categories whose bins go left."""
    bins = mapper.category_bins[tree.column[node]]
    words = tree.left_set[node][bins >> 6]
    return np.flatnonzero((words >> (bins & 63).astype(np.uint64)) & np.uint64(1))
