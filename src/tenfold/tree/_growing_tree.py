"""A tree that grows: which nodes may be split, where, and which comes next.

Both trainers (`_memory_trainer`, lists of rows in memory; `_pass_trainer`, passes over files and
clusters) follow these rules on exact histograms, so they make the same trees.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf
from typing import Any

import numpy as np

from tenfold.tree._fixed_point import Units
from tenfold.tree._gradient_split_numba import (
    ALLOWED,
    BIN,
    BINS,
    CATEGORICAL,
    COLUMN,
    COUNT,
    GAIN,
    HAS_MISSING,
    IS_CATEGORICAL,
    L2,
    LOWER,
    MISSING_LEFT,
    N_INTEGERS,
    N_NUMBERS,
    NO_SPLIT,
    ORDER,
    SET_WORDS,
    SIGN,
    UPPER,
    G,
    fill_children,
    find_category_split,
    find_only_split,
    find_split,
    finish_split,
    leaf_value,
    make_split_room,
    node_value,
)
from tenfold.tree._losses import weighted_quantile
from tenfold.tree._row_lists_numba import BinnedTree

_MIN_CURVATURE = 1e-3  # least sum of curvatures of a node, as in scikit-learn


@dataclass(frozen=True)
class TreeShape:
    """Settings of trees; see `HistGradientBoostingRegressor`."""

    learning_rate: float
    max_leaf_nodes: int | None
    max_depth: int | None
    min_samples_leaf: int
    l2_regularization: float
    max_features: float
    depth_wise: bool
    subsample: float
    monotone: np.ndarray  # (p,) signs
    groups: tuple[frozenset[int], ...]  # columns that may meet in a branch; none: all may
    seed: int
    largest_value: float = inf  # of a leaf

    def max_leaves(self, n_rows: int) -> int:
        """Most leaves of a tree on so many rows."""
        most = max(n_rows // self.min_samples_leaf, 1)
        most = most if self.max_leaf_nodes is None else min(most, self.max_leaf_nodes)
        return most if self.max_depth is None else min(most, 2 ** min(self.max_depth, 31))

    def tree_key(self, number: int) -> int:
        """Seed of the random choices of a tree."""
        return mix_integers(self.seed, number)

    def round_key(self, number: int) -> int:
        """Seed of the rows that are drawn for a round."""
        return mix_integers(self.seed + 1, number)


def mix_integers(a: int, b: int) -> int:
    """A hash of 64 bits of two integers."""
    return _mix_integer(_mix_integer(a) + b)


def _mix_integer(x: int) -> int:
    """`mix_bits` of a Python integer."""
    x %= 2**64
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        x = (x ^ (x >> 33)) * factor % 2**64
    return x ^ (x >> 33)


class GrowingTree:
    """The nodes of a tree that grows.

    Parameters
    ----------
    shape : TreeShape
    number : number of the tree, for random choices
    columns : (p, 2) int64 array: bins of each column without "missing"; whether it is categorical
    units : Units of the gradients
    max_leaves : most leaves
    """

    def __init__(
        self, shape: TreeShape, number: int, columns: np.ndarray, units: Units, max_leaves: int
    ) -> None:
        self.shape, self.units, self.max_leaves = shape, units, max_leaves
        p = len(columns)
        self.columns = np.zeros((p, 6), np.int64)
        self.columns[:, [BINS, CATEGORICAL]] = columns
        self.columns[:, SIGN], self.columns[:, ALLOWED] = shape.monotone, 1
        key = shape.tree_key(number)
        self.columns[:, ORDER] = _shuffle_columns(p, key)
        self.has_categories = bool(columns[:, 1].any())
        least = (shape.l2_regularization, shape.min_samples_leaf, _MIN_CURVATURE)
        rate = shape.learning_rate, shape.largest_value
        self.limits = np.array([*units.histogram, *least, *units.leaf, *rate])
        room = min(2 * max_leaves - 1, 127)
        self.integers = np.zeros((room, N_INTEGERS), np.int64)
        self.numbers = np.zeros((room, N_NUMBERS))
        self.left_set = np.zeros((room, SET_WORDS), np.uint64)
        self.left: list[int] = []  # number of the left child, -1 for none
        self.depth: list[int] = []
        self.path: list[int] = []  # 1 for the root, 2 p and 2 p + 1 for the children of p
        self.key: list[int] = [key]
        self.groups: list[tuple[frozenset[int], ...]] = []

    def start(self, sums: np.ndarray) -> None:
        """Make the root of the histogram of all rows."""
        width = len(sums) // len(self.columns)
        self.room = make_split_room(width)
        self.integers[0, G : G + 3] = sums[:width].sum(axis=0)
        g, h, _ = self.integers[0, G : G + 3] * [*self.units.histogram, 0.0]
        self.numbers[0] = NO_SPLIT, 0, 0, node_value(g, h, self.limits[L2], -np.inf, np.inf), 0, 0
        self.numbers[0, LOWER], self.numbers[0, UPPER] = -np.inf, np.inf
        self.columns[:, HAS_MISSING] = sums[width - 1 :: width, 2] > 0
        self.left, self.depth, self.path = [-1], [0], [1]
        self.groups = [self.shape.groups]

    def may_split(self, node: int) -> bool:
        """Whether a node has depth and rows left for a split."""
        deepest = self.shape.max_depth
        enough = self.integers[node, COUNT] >= 2 * self.shape.min_samples_leaf
        return bool(enough) and (deepest is None or self.depth[node] < deepest)

    def search(self, node: int, sums: np.ndarray) -> bool:
        """Find the best split of a node from its histogram; whether there is one."""
        if not self.may_split(node):
            return False
        if self.shape.groups or self.shape.max_features < 1:
            self.columns[:, ALLOWED] = 0
            self.columns[self._allowed_columns(node), ALLOWED] = 1
        integers, numbers = self.integers[node], self.numbers[node]
        if not self.has_categories:
            gain = find_only_split(sums, self.columns, self.limits, integers, numbers, self.room)
            return bool(gain > 0)
        find_split(sums, self.columns, self.limits, integers, numbers, self.room)
        left_set = self.left_set[node]
        find_category_split(sums, self.columns, self.limits, integers, numbers, left_set)
        finish_split(self.columns, self.limits, integers, numbers)
        return bool(numbers[GAIN] > 0)

    def _allowed_columns(self, node: int) -> list[int]:
        """Columns that a node may choose from: by groups that may interact, and by a draw."""
        groups = self.groups[node]
        columns = sorted(frozenset().union(*groups)) if groups else list(range(len(self.columns)))
        if self.shape.max_features < 1:
            draws = [(mix_integers(self.key[node], j), j) for j in columns]
            wanted = max(ceil(self.shape.max_features * len(columns)), 1)
            columns = [j for _, j in sorted(draws)[:wanted]]
        return columns

    def priority(self, node: int) -> tuple[float, float, int, int]:
        """Nodes are split in ascending order of this; it ends with the number of the node."""
        depth = self.depth[node] if self.shape.depth_wise else 0
        return depth, -float(self.numbers[node, GAIN]), self.path[node], node

    def open_children(self, node: int) -> int:
        """Make the children of a node; the number of the left one, the right one follows."""
        left = len(self.left)
        self._make_room(left + 2)
        column = int(self.integers[node, COLUMN])
        fill_children(self.integers, self.numbers, self.columns, node, left)
        self.left[node] = left
        self.left += [-1, -1]
        self.depth += [self.depth[node] + 1] * 2
        self.path += [2 * self.path[node], 2 * self.path[node] + 1]
        if self.shape.groups or self.shape.max_features < 1:
            groups = tuple(group for group in self.groups[node] if column in group)
            self.groups += [groups, groups]
            self.key += [mix_integers(self.key[node], 1), mix_integers(self.key[node], 2)]
        return left

    def _make_room(self, nodes: int) -> None:
        if nodes > len(self.integers):
            for name in ("integers", "numbers", "left_set"):
                table = getattr(self, name)
                setattr(self, name, np.concatenate([table, np.zeros_like(table)]))

    def leaf_value(self, node: int, g: Any, h: Any) -> float:
        """What a leaf adds to scores, from exact sums of g and h."""
        unit_g, unit_h = self.units.leaf
        lower, upper = self.numbers[node, LOWER], self.numbers[node, UPPER]
        return float(leaf_value(g * unit_g, h * unit_h, self.limits, lower, upper))

    def quantile_value(
        self, node: int, residuals: np.ndarray, weights: np.ndarray | None, level: float
    ) -> float:
        """What a leaf adds to scores, from a quantile of the residuals of its rows."""
        step = weighted_quantile(residuals, weights, level)
        step = float(np.clip(step, self.numbers[node, LOWER], self.numbers[node, UPPER]))
        return self.shape.learning_rate * step

    def order(self) -> list[int]:
        """Numbers of the nodes of the tree, level by level, siblings together."""
        order = [0]
        for node in order:
            if self.left[node] >= 0:
                order += [self.left[node], self.left[node] + 1]
        return order

    def complete(self, values: np.ndarray) -> BinnedTree:
        """The tree, its nodes level by level; `values` has an entry per node, used in leaves."""
        order = self.order()
        inner = np.array([self.left[node] for node in order]) >= 0
        left = np.where(inner, 2 * np.cumsum(inner) - 1, -1)  # two children for each node before
        integers = self.integers[order] * inner[:, None]
        by_set = integers[:, IS_CATEGORICAL]
        return BinnedTree(
            integers[:, COLUMN].copy(),
            left,
            integers[:, BIN].copy(),
            integers[:, MISSING_LEFT] + 2 * by_set,
            self.left_set[order] * by_set[:, None].astype(np.uint64),
            np.where(inner, 0.0, values[order]),
            self.integers[order, COUNT].astype(np.float64),
            np.where(inner, self.numbers[order, GAIN], 0.0),
        )


def _shuffle_columns(p: int, key: int) -> np.ndarray:
    """An order of the columns that depends on a key alone."""
    places = np.arange(p, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    draws = mix_array(places + np.uint64(key))
    return np.argsort(draws, kind="stable")


def mix_array(x: np.ndarray) -> np.ndarray:
    """`mix_bits` of an array of uint64."""
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        x = (x ^ (x >> np.uint64(33))) * np.uint64(factor)
    return x ^ (x >> np.uint64(33))
