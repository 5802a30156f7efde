"""Grown trees as they are kept: common tables of nodes, and scikit-learn's arrays of one tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from tenfold.engine.chunk import Chunk
from tenfold.engine.thread_pool import map_threads
from tenfold.tree._grown_tree import GrownTree
from tenfold.tree._nodes import COLUMN, LEAF, MISSING_LEFT, NODE, TreeEnsemble
from tenfold.tree._predict_numba import apply_trees, ensemble_scores

TREE_LEAF, TREE_UNDEFINED = -1, -2  # scikit-learn's marks of leaves in children and features


@dataclass(frozen=True, eq=False)
class ForestTables:
    """Trees with a value for every node: a leaf's row in `values` is its own number.

    Attributes
    ----------
    trees : TreeEnsemble, whose `cover` is the weight of the training rows
    n_rows : (n_nodes,) int32, number of training rows
    impurity : (n_nodes,) float64
    """

    trees: TreeEnsemble
    n_rows: np.ndarray
    impurity: np.ndarray

    @classmethod
    def of(cls, grown: Sequence[GrownTree]) -> ForestTables:
        """Tables of some trees, in their order."""
        roots = np.cumsum([0, *(len(tree.feature) for tree in grown)]).astype(np.int64)
        n, width = int(roots[-1]), grown[0].value.shape[1]
        words, values = np.empty((n, 2), np.uint64), np.empty((n, width))
        cover, n_rows, impurity = np.empty(n), np.empty(n, np.int32), np.empty(n)

        def copy(t: int) -> None:
            tree, span = grown[t], slice(roots[t], roots[t + 1])
            _pack(tree, int(roots[t]), words[span].view(NODE).reshape(-1))
            values[span], cover[span] = tree.value, tree.weight
            n_rows[span], impurity[span] = tree.n_rows, tree.impurity

        map_threads(copy, len(grown))
        outputs = np.zeros(len(grown), np.int64)
        return cls(TreeEnsemble(words, roots, values, outputs, cover=cover), n_rows, impurity)

    @classmethod
    def join(cls, parts: Sequence[ForestTables]) -> ForestTables:
        """The trees of some tables, one after the other."""
        return cls.of([part.grown(t) for part in parts for t in range(len(part))])

    def __len__(self) -> int:
        return len(self.trees)

    def grown(self, t: int) -> GrownTree:
        """Tree number t as separate columns."""
        span = slice(int(self.trees.roots[t]), int(self.trees.roots[t + 1]))
        nodes = self.trees.nodes[span]
        leaf = (nodes["feature"] & LEAF) != 0
        return GrownTree(
            np.where(leaf, -1, (nodes["feature"] & COLUMN).astype(np.int64)).astype(np.int32),
            np.where(leaf, -1, nodes["left"] - span.start).astype(np.int32),
            (nodes["feature"] & MISSING_LEFT) != 0,
            nodes["threshold"].copy(),
            self.n_rows[span],
            self.trees.cover[span],  # pyright: ignore[reportOptionalSubscript]
            self.impurity[span],
            self.trees.values[span],
        )


def _pack(tree: GrownTree, first: int, nodes: np.ndarray) -> None:
    """Set the nodes of a tree that begins at a place of the common tables."""
    leaves = np.flatnonzero(tree.feature < 0)
    np.copyto(nodes["feature"], tree.feature, casting="unsafe")
    nodes["feature"][leaves] = LEAF
    nodes["feature"] |= tree.missing_left * MISSING_LEFT
    np.add(tree.left, first, out=nodes["left"], casting="unsafe")
    nodes["left"][leaves] = leaves + first
    nodes["threshold"] = tree.threshold


def node_depths(left: np.ndarray) -> np.ndarray:
    """Steps from the root to each node, level by level; leaves have a negative child."""
    depth = np.zeros(len(left), np.int64)
    level, step = np.array([0]), 0
    while len(level):
        depth[level] = step
        children = left[level]
        children = children[children >= 0].astype(np.int64)
        level, step = np.concatenate([children, children + 1]), step + 1
    return depth


class TreeArrays:
    """One tree with the attributes of scikit-learn's `tree_`.

    Children have neighboring numbers and come after their parent; otherwise the meaning of every
    array is scikit-learn's.
    """

    def __init__(self, grown: GrownTree, n_features: int, n_classes: np.ndarray) -> None:
        self._grown, self.n_features = grown, n_features
        self.n_classes = np.asarray(n_classes, np.intp)
        self.n_outputs, self.max_n_classes = len(self.n_classes), int(self.n_classes.max())
        leaf = grown.feature < 0
        self.node_count, self.n_leaves = len(leaf), int(leaf.sum())
        self.capacity = self.node_count
        self.children_left = np.where(leaf, TREE_LEAF, grown.left).astype(np.int64)
        self.children_right = np.where(leaf, TREE_LEAF, grown.left + 1).astype(np.int64)
        self.feature = np.where(leaf, TREE_UNDEFINED, grown.feature).astype(np.int64)
        self.threshold = np.where(leaf, float(TREE_UNDEFINED), grown.threshold)
        self.missing_go_to_left = grown.missing_left.astype(np.uint8)
        self.impurity, self.weighted_n_node_samples = grown.impurity, grown.weight
        self.n_node_samples = grown.n_rows.astype(np.int64)

    @cached_property
    def value(self) -> np.ndarray:
        """(node_count, n_outputs, max_n_classes): shares of classes, or targets."""
        value = np.zeros((self.node_count, self.n_outputs, self.max_n_classes))
        bounds = np.cumsum([0, *self.n_classes])
        for k, n in enumerate(self.n_classes):
            value[:, k, :n] = self._grown.value[:, bounds[k] : bounds[k + 1]]
        return value

    @property
    def max_depth(self) -> int:
        """Depth of the deepest leaf."""
        return int(node_depths(self._grown.left).max())

    def compute_node_depths(self) -> np.ndarray:
        """Depth of each node; the root has depth 1, as in scikit-learn."""
        return node_depths(self._grown.left) + 1

    def compute_feature_importances(self, normalize: bool = True) -> np.ndarray:
        """Total decrease of impurity by the splits on each column."""
        return impurity_importances(self._grown, self.n_features, normalize=normalize)

    @cached_property
    def _table(self) -> ForestTables:
        return ForestTables.of([self._grown])

    def predict(self, X: Any) -> np.ndarray:
        """Value of the leaf of each row."""
        return self.value[self.apply(X)]

    def apply(self, X: Any) -> np.ndarray:
        """Number of the leaf of each row."""
        return apply_trees(Chunk(X), self._table.trees)[:, 0]

    def decision_path(self, X: Any) -> csr_matrix:
        """Which nodes each row goes through."""
        return decision_paths(self.apply(X)[:, None], [self._grown])


def impurity_importances(tree: GrownTree, n_features: int, *, normalize: bool) -> np.ndarray:
    """Total weighted decrease of impurity by the splits on each column of a tree."""
    inner = np.flatnonzero(tree.feature >= 0)
    left, loss = tree.left[inner].astype(np.int64), tree.weight * tree.impurity
    decrease = (loss[inner] - loss[left] - loss[left + 1]) / tree.weight[0]
    total = np.bincount(tree.feature[inner], decrease, n_features)
    norm = total.sum()
    return total / norm if normalize and norm > 0 else total


def decision_paths(leaves: np.ndarray, trees: Sequence[GrownTree]) -> csr_matrix:
    """Indicator of the nodes on the paths to some leaves (n, n_trees); columns are all nodes."""
    n, starts = len(leaves), np.cumsum([0, *(len(tree.feature) for tree in trees)])
    rows, columns = [], []
    for t, tree in enumerate(trees):
        parent = np.full(len(tree.feature), -1)
        inner = np.flatnonzero(tree.feature >= 0)
        parent[tree.left[inner]] = inner
        parent[tree.left[inner] + 1] = inner
        at, row = leaves[:, t].copy(), np.arange(n)
        while len(at):
            rows.append(row)
            columns.append(at + starts[t])
            at = parent[at]
            row, at = row[at >= 0], at[at >= 0]
    entries = np.concatenate(rows), np.concatenate(columns)
    paths = csr_matrix((np.ones(len(entries[0]), np.int64), entries), (n, int(starts[-1])))
    paths.sort_indices()
    return paths


def leaf_values(chunk: Chunk, trees: TreeEnsemble) -> np.ndarray:
    """Mean of the values of the leaves that each row comes to, over the trees."""
    return ensemble_scores(chunk, trees, np.zeros(trees.values.shape[1])) / len(trees)


def leaf_shares(chunk: Chunk, trees: TreeEnsemble) -> np.ndarray:
    """`leaf_values` in the type of the rows."""
    return leaf_values(chunk, trees).astype(chunk.X.dtype, copy=False)
