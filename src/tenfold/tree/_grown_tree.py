"""A tree as it was grown, and the store that takes its nodes up part by part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tenfold.tree._grown_tree_numba import KEPT_NODE, keep_nodes, order_nodes

_FIRST_CAPACITY = 512  # nodes


class GrownTree(NamedTuple):
    """A tree as it was grown; children of node i are left[i] and left[i] + 1.

    Attributes
    ----------
    feature : (n_nodes,) int32, -1 for leaves
    left : (n_nodes,) int32
    missing_left : (n_nodes,) bool
    threshold : (n_nodes,) float64
    n_rows : (n_nodes,) int32
    weight, impurity : (n_nodes,) float64
    value : (n_nodes, width) float64
    """

    feature: np.ndarray
    left: np.ndarray
    missing_left: np.ndarray
    threshold: np.ndarray
    n_rows: np.ndarray
    weight: np.ndarray
    impurity: np.ndarray
    value: np.ndarray

    @classmethod
    def empty(cls, n: int, width: int) -> GrownTree:
        """Arrays for so many nodes, of any numbers."""
        return cls(
            np.empty(n, np.int32),
            np.empty(n, np.int32),
            np.empty(n, np.bool_),
            np.empty(n),
            np.empty(n, np.int32),
            np.empty(n),
            np.empty(n),
            np.empty((n, width)),
        )


class NodeStore:
    """Nodes of the parts of a tree that one thread has grown, one part after the other.

    Node number 0 of the first part is the root of the tree. A node is kept in a third of the bytes
    that it has while it grows.
    """

    def __init__(self, width: int) -> None:
        self._nodes, self._values = _make_tables(_FIRST_CAPACITY, width)
        self._count, self._n_moved = 0, 0

    def __len__(self) -> int:
        return self._count

    def clear(self) -> None:
        """Forget all nodes; their memory is kept."""
        self._count, self._n_moved = 0, 0

    def add(self, nodes: np.ndarray, values: np.ndarray) -> int:
        """Take a part up; the number that its root has here."""
        first = self._count
        self._reserve(first + len(nodes))
        keep_nodes(nodes, values, first, self._nodes, self._values)
        self._count += len(nodes)
        return first

    def extend(self, others: Sequence[NodeStore]) -> list[int]:
        """Take the nodes of other stores up; the number that the first node of each has here."""
        self._reserve(self._count + sum(len(other) for other in others))
        return [self._append(other) for other in others]

    def move_roots(self, roots: Sequence[int], places: np.ndarray) -> None:
        """Put the roots of parts to the places of the nodes that were to be grown later."""
        self._nodes[places], self._values[places] = self._nodes[roots], self._values[roots]
        self._nodes["n_rows"][roots] = 0  # no part of the tree any more
        self._n_moved += len(roots)

    def finish(self, top_rows: int | None = None) -> GrownTree:
        """The tree; its nodes are in the order of growth unless `top_rows` is given.

        Otherwise: depth first, children side by side; nodes whose parent has more than `top_rows`
        rows come first. So numbers do not depend on how the growth of the tree was cut into parts.
        """
        nodes, values = self._nodes[: self._count], self._values[: self._count]
        tree = GrownTree.empty(self._count - self._n_moved, values.shape[1])
        if top_rows is None:
            for name, column in zip(GrownTree._fields[:-1], tree, strict=False):
                column[:] = nodes[name]
            tree.value[:] = values
            return tree
        has_top_children = (nodes["feature"] >= 0) & (nodes["n_rows"] > top_rows)
        n_top, stack = 1 + 2 * int(has_top_children.sum()), np.empty((2, len(nodes)), np.int32)
        order_nodes(nodes, values, top_rows, n_top, stack, *tree)
        return tree

    def _append(self, other: NodeStore) -> int:
        n = len(other)
        first, end = self._count, self._count + n
        self._nodes[first:end], self._values[first:end] = other._nodes[:n], other._values[:n]
        self._nodes["left"][first:end] += first
        self._count, self._n_moved = end, self._n_moved + other._n_moved
        return first

    def _reserve(self, count: int) -> None:
        """Make room for so many nodes."""
        if count <= len(self._nodes):
            return
        tables = _make_tables(max(count, 2 * len(self._nodes)), self._values.shape[1])
        for new, old in zip(tables, (self._nodes, self._values), strict=True):
            new[: self._count] = old[: self._count]
        self._nodes, self._values = tables


def _make_tables(n: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    return np.empty(n, KEPT_NODE), np.empty((n, width))
