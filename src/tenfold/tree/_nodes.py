"""A decision tree as arrays: 16 bytes a node, and many trees in one table for prediction.

A node is a record ``(feature, left, threshold)``:

- `feature`: number of the column that is asked, and in the upper bits the flags `LEAF`,
  `CATEGORICAL` and `MISSING_LEFT`;
- `left`: number of the left child, the right child is `left + 1`; of a leaf, its row in `values`;
- `threshold`: a row goes left if ``x <= threshold``. Of a categorical node, the place in `bitsets`
  where the set of the categories that go left begins.

A missing value (NaN) goes left if the node has the flag `MISSING_LEFT`. A set is stored as a number
of words m and then m words of 64 bits; category c goes left if bit c % 64 of word c // 64 is set.
What is no category (negative, fractional, or at least 64 m) goes where a missing value goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

LEAF = np.uint32(1 << 31)
CATEGORICAL = np.uint32(1 << 30)
MISSING_LEFT = np.uint32(1 << 29)
COLUMN = np.uint32((1 << 29) - 1)  # mask of the column number in `feature`

_CHECKED_NODES = 2**15  # that are checked together, so that they stay in the cache

NODE = np.dtype([("feature", np.uint32), ("left", np.int32), ("threshold", np.float64)], align=True)


def _no_bitsets() -> np.ndarray:
    return np.zeros(0, np.uint64)


@dataclass(frozen=True, eq=False)
class Tree:
    """One decision tree. Node 0 is the root; children come after their parent.

    Attributes
    ----------
    words : (n_nodes, 2) uint64 array, the records of the nodes; `nodes` shows them as records
    values : (n_leaves, n_outputs) float64 array, what the leaves predict
    bitsets : uint64 array, the sets of categories of all categorical nodes
    cover : (n_nodes,) array, weight of the training rows that came to each node, or None
    gain : (n_nodes,) array, how much the split of each node improved the objective, or None
    """

    words: np.ndarray
    values: np.ndarray
    bitsets: np.ndarray = field(default_factory=_no_bitsets)
    cover: np.ndarray | None = None
    gain: np.ndarray | None = None

    def __post_init__(self) -> None:
        _check_tables(self)

    @classmethod
    def of(cls, feature: Any, left: Any, threshold: Any, values: Any, **parts: Any) -> Tree:
        """A tree of separate columns of its nodes."""
        return cls(pack_nodes(feature, left, threshold), np.asarray(values, np.float64), **parts)

    @property
    def nodes(self) -> np.ndarray:
        """The nodes as records of `feature`, `left` and `threshold`."""
        return self.words.view(NODE).reshape(-1)

    @property
    def is_leaf(self) -> np.ndarray:
        """Which nodes are leaves."""
        return (self.nodes["feature"] & LEAF) != 0

    @property
    def columns(self) -> np.ndarray:
        """Number of the column that each node asks; -1 for leaves."""
        feature = self.nodes["feature"]
        return np.where(feature & LEAF, -1, (feature & COLUMN).astype(np.int64))

    @property
    def depth(self) -> np.ndarray:
        """Number of steps from the root to each node."""
        depth = np.zeros(len(self.words), np.int64)
        for node in np.flatnonzero(~self.is_leaf):
            left = int(self.nodes["left"][node])
            depth[left : left + 2] = depth[node] + 1
        return depth


@dataclass(frozen=True, eq=False)
class TreeEnsemble:
    """Many trees whose nodes, leaves and sets lie in common tables.

    Attributes
    ----------
    words : (n_nodes, 2) uint64 array, nodes of all trees; `left` counts in the common tables
    roots : (n_trees + 1,) int64 array: tree t has the nodes roots[t] to roots[t + 1] - 1
    values : (n_leaves, width) float64 array
    outputs : (n_trees,) int64 array: tree t adds to the outputs from outputs[t] on, `width` of them
    bitsets : uint64 array
    cover : (n_nodes,) array or None
    gain : (n_nodes,) array or None
    """

    words: np.ndarray
    roots: np.ndarray
    values: np.ndarray
    outputs: np.ndarray
    bitsets: np.ndarray = field(default_factory=_no_bitsets)
    cover: np.ndarray | None = None
    gain: np.ndarray | None = None

    def __post_init__(self) -> None:
        _check_tables(self, self.roots)
        if self.outputs.dtype != np.int64 or self.outputs.shape != (len(self),):
            raise ValueError("outputs must be one int64 number per tree")
        if self.outputs.min(initial=0) < 0:
            raise ValueError("outputs must not be negative")

    @classmethod
    def of(cls, trees: Sequence[Tree], outputs: Any = None) -> TreeEnsemble:
        """The trees, in this order; all add to output 0 unless `outputs` says where."""
        sizes = np.array([0, *(len(tree.words) for tree in trees)], np.int64)
        roots = np.cumsum(sizes)
        leaves = np.cumsum([0, *(len(tree.values) for tree in trees)])
        places = np.cumsum([0, *(len(tree.bitsets) for tree in trees)])
        words = [
            _shift_nodes(tree.words, *starts)
            for tree, *starts in zip(trees, roots, leaves, places, strict=False)
        ]
        outputs = np.zeros(len(trees), np.int64) if outputs is None else outputs
        return cls(
            np.concatenate(words) if trees else np.zeros((0, 2), np.uint64),
            roots,
            np.concatenate([tree.values for tree in trees]) if trees else np.zeros((0, 1)),
            np.asarray(outputs, np.int64),
            np.concatenate([tree.bitsets for tree in trees]) if trees else _no_bitsets(),
            _concatenate_optional([tree.cover for tree in trees]),
            _concatenate_optional([tree.gain for tree in trees]),
        )

    def __len__(self) -> int:
        return len(self.roots) - 1

    @property
    def nodes(self) -> np.ndarray:
        """The nodes of all trees as records of `feature`, `left` and `threshold`."""
        return self.words.view(NODE).reshape(-1)

    @property
    def n_outputs(self) -> int:
        """Number of outputs that the trees add to."""
        return int(self.outputs.max(initial=0)) + self.values.shape[1]

    @cached_property
    def min_columns(self) -> int:
        """Number of columns that rows need at least."""
        feature = self.nodes["feature"]
        asked = feature[(feature & LEAF) == 0] & COLUMN
        return int(asked.max()) + 1 if len(asked) else 0

    def tree(self, t: int) -> Tree:
        """Tree number `t` by itself."""
        first, end = int(self.roots[t]), int(self.roots[t + 1])
        words = self.words[first:end].copy()
        nodes = words.view(NODE).reshape(-1)
        leaf = (nodes["feature"] & LEAF) != 0
        leaves = nodes["left"][leaf]
        low, high = int(leaves.min()), int(leaves.max()) + 1
        nodes["left"] -= np.where(leaf, low, first).astype(np.int32)
        cover, gain = (None if a is None else a[first:end] for a in (self.cover, self.gain))
        asks = ~leaf & ((nodes["feature"] & CATEGORICAL) != 0)
        return Tree(words, self.values[low:high], self._own_sets(nodes, asks), cover, gain)

    def _own_sets(self, nodes: np.ndarray, asks: np.ndarray) -> np.ndarray:
        """The sets of some nodes alone, which then count from their beginning on."""
        if not asks.any():
            return _no_bitsets()
        places = nodes["threshold"][asks].astype(np.int64)
        ends = places + 1 + self.bitsets[places].astype(np.int64)
        nodes["threshold"][asks] -= places.min()
        return self.bitsets[places.min() : ends.max()]

    def between(self, start: int, stop: int) -> TreeEnsemble:
        """The trees from one number up to another."""
        trees = [self.tree(t) for t in range(start, stop)]
        return TreeEnsemble.of(trees, self.outputs[start:stop])


def pack_nodes(feature: Any, left: Any, threshold: Any) -> np.ndarray:
    """The columns of nodes as an array of 16 bytes a node."""
    nodes = np.empty(len(feature), NODE)
    nodes["feature"], nodes["left"], nodes["threshold"] = feature, left, threshold
    return nodes.view(np.uint64).reshape(-1, 2)


def pack_categories(categories: Any, n_categories: int = 0) -> np.ndarray:
    """A set of category numbers as the words of `bitsets`, their count first.

    All of the first `n_categories` are no unknown ones to the set, whether they are in it or not.

    Examples
    --------
    >>> pack_categories([0, 2, 65])
    array([2, 5, 2], dtype=uint64)
    >>> pack_categories([0, 2], 66)
    array([2, 5, 0], dtype=uint64)
    """
    codes = np.asarray(categories, np.int64)
    last = max(int(codes.max(initial=-1)), n_categories - 1)
    words = np.zeros(last // 64 + 2, np.uint64)
    words[0] = len(words) - 1
    np.bitwise_or.at(words, 1 + codes // 64, np.uint64(1) << (codes % 64).astype(np.uint64))
    return words


def _shift_nodes(words: np.ndarray, root: int, leaf: int, place: int) -> np.ndarray:
    """Nodes whose numbers count from these places on."""
    words = words.copy()
    nodes = words.view(NODE).reshape(-1)
    feature = nodes["feature"]
    nodes["left"] += np.where(feature & LEAF, leaf, root).astype(np.int32)
    categorical = ((feature & CATEGORICAL) != 0) & ((feature & LEAF) == 0)
    nodes["threshold"][categorical] += place
    return words


def _concatenate_optional(parts: list[np.ndarray | None]) -> np.ndarray | None:
    known = [part for part in parts if part is not None]
    return np.concatenate(known) if known and len(known) == len(parts) else None


def _check_tables(trees: Any, roots: np.ndarray | None = None) -> None:
    """Refuse tables that would lead outside of them: compiled code trusts every number.

    Children come after their parent and within its tree, so every path ends.
    """
    words, values, bitsets = trees.words, trees.values, trees.bitsets
    n = len(words)
    if words.dtype != np.uint64 or words.shape != (n, 2) or values.ndim != 2:
        raise ValueError("a tree needs nodes of 16 bytes and a table of values")
    if values.dtype != np.float64 or bitsets.dtype != np.uint64 or bitsets.ndim != 1:
        raise ValueError("values must be float64 and sets of categories uint64")
    roots = np.array([0, n]) if roots is None else roots
    sizes = np.diff(roots)
    if roots[:1].tolist() != [0] or roots[-1] != n or (sizes < 1).any():
        raise ValueError("the roots of the trees do not cut the nodes into trees")
    for first in range(0, n, _CHECKED_NODES):
        _check_nodes(words[first : first + _CHECKED_NODES], first, roots, len(values), bitsets)
    for name in ("cover", "gain"):
        column = getattr(trees, name)
        if column is not None and column.shape != (n,):
            raise ValueError(f"{name} must have one entry per node")


def _check_nodes(
    words: np.ndarray, first: int, roots: np.ndarray, n_values: int, bitsets: np.ndarray
) -> None:
    """Refuse nodes, the first of which has this number, that lead outside of their trees."""
    nodes = words.view(NODE).reshape(-1)
    feature, left, own = nodes["feature"], nodes["left"], np.arange(first, first + len(words))
    leaf = (feature & LEAF) != 0
    ends = np.repeat(roots[1:], np.diff(np.clip(roots, first, first + len(words))))
    inside = np.where(leaf, (left >= 0) & (left < n_values), (left > own) & (left < ends - 1))
    if not inside.all():
        raise ValueError("the nodes of a tree name children or leaves that are not there")
    _check_bitsets(nodes["threshold"][~leaf & ((feature & CATEGORICAL) != 0)], bitsets)


def _check_bitsets(places: np.ndarray, bitsets: np.ndarray) -> None:
    """Refuse sets of categories that begin or end outside of their table."""
    if len(places) == 0:
        return
    whole = (places >= 0) & (places < len(bitsets)) & (places == np.floor(places))
    if not whole.all():
        raise ValueError("a categorical node names a set of categories that is not there")
    begin = places.astype(np.int64)
    if (bitsets[begin] > (len(bitsets) - 1 - begin).astype(np.uint64)).any():
        raise ValueError("a set of categories ends outside of its table")
