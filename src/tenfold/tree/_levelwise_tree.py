"""A tree whose open nodes are split many at a time, ahead of the choice among them."""

from __future__ import annotations

import heapq

import numpy as np

from tenfold.tree._fixed_point_numba import COARSE
from tenfold.tree._gradient_split_numba import COUNT, G, H
from tenfold.tree._growing_tree import GrowingTree


class LevelwiseTree:
    """A tree whose open nodes are split many at a time, ahead of the choice among them."""

    def __init__(self, tree: GrowingTree) -> None:
        self.tree = tree
        self.wanted: dict[int, int] = {0: -1}  # node of each histogram to add up: its parent
        self.sums: dict[int, np.ndarray] = {}  # histograms of nodes that may be split
        self.exact: dict[int, np.ndarray] = {}
        self.searched: set[int] = set()  # nodes that have a split

    def slots(self) -> np.ndarray:
        """Slot of each node in the next pass; -1 for none."""
        slot = np.full(max(len(self.tree.left), 1), -1, np.int64)
        for s, node in enumerate(self.wanted):
            slot[node] = s
        return slot

    def receive(self, sums: np.ndarray, exact: np.ndarray) -> None:
        """Take the histograms of a pass, find splits, and choose the nodes to split next."""
        for s, (node, parent) in enumerate(self.wanted.items()):
            if parent < 0:
                self.tree.start(sums[s])
                self._add(node, sums[s], exact[s])
                continue
            left = self.tree.left[parent]
            sibling = 2 * left + 1 - node
            self._add(node, sums[s], exact[s])
            self._add(sibling, self.sums.pop(parent) - sums[s], self.exact[parent] - exact[s])
        self.wanted = {}
        for node in self._choose()[0]:
            left = self.tree.open_children(node)
            counts = self.tree.integers[left : left + 2, COUNT]
            self.wanted[left + int(counts[1] < counts[0])] = node

    def _add(self, node: int, sums: np.ndarray, exact: np.ndarray) -> None:
        self.exact[node] = exact
        if self.tree.search(node, sums):
            self.searched.add(node)
            self.sums[node] = sums

    def _choose(self) -> tuple[list[int], set[int]]:
        """Nodes to be split in the next pass, and all that are split if there are none."""
        queue = [self.tree.priority(0)] if 0 in self.searched else []
        ahead, chosen, leaves = [], set(), 1
        while queue and leaves < self.tree.max_leaves:
            node = heapq.heappop(queue)[-1]
            leaves += 1
            chosen.add(node)
            left = self.tree.left[node]
            if left < 0:
                ahead.append(node)
                continue
            for child in (left, left + 1):
                if child in self.searched:
                    heapq.heappush(queue, self.tree.priority(child))
        return ahead, chosen

    def prune(self) -> tuple[np.ndarray, list[int]]:
        """Drop what was split ahead in vain; the leaf of every node, and all leaves."""
        chosen = self._choose()[1]
        leaf_of = np.arange(len(self.tree.left))
        for node in sorted(range(len(leaf_of)), key=lambda node: self.tree.depth[node]):
            left = self.tree.left[node]
            if left < 0:
                continue
            if node not in chosen or leaf_of[node] != node:
                leaf_of[left : left + 2] = leaf_of[node]
                self.tree.left[node] = -1
        inner = {node for node in self.tree.order() if self.tree.left[node] >= 0}
        leaves = [node for node in self.tree.order() if node not in inner]
        leaf_of[list(inner)] = leaves[0]  # no row ends there
        return leaf_of, leaves

    def newton_value(self, node: int, layout: int) -> float:
        """Newton step of a leaf from exact sums, times the learning rate."""
        sums = self.exact[node] if layout == COARSE else self.tree.integers[node, [G, H]]
        return self.tree.leaf_value(node, *sums)
