"""Exact neighbors of narrow rows by a kd-tree; see `_kd_tree_numba`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from tenfold.engine.thread_pool import map_threads
from tenfold.neighbors import _kd_tree_numba as compiled
from tenfold.neighbors._brute_force import NO_CODES, NOBODY, NeighborLists, Neighbors
from tenfold.neighbors._thresholds import LEAF_ROWS, PARALLEL_BUILD_ROWS, SUBTREES

KINDS = {
    "squares": compiled.SQUARES,
    "absolutes": compiled.ABSOLUTES,
    "maximum": compiled.MAXIMUM,
}
_MAX_DEPTH = 64


class KDTree:
    """A kd-tree over rows.

    Parameters
    ----------
    X : (n, d) array
        The rows.
    kind : {"squares", "absolutes", "maximum"}
        The distance is the sum of squares, the sum of absolute values or the largest absolute value
        of the differences in the columns.
    leaf_rows : int
        Most rows of a leaf.
    """

    def __init__(self, X: np.ndarray, kind: str = "squares", leaf_rows: int = LEAF_ROWS) -> None:
        n, d = X.shape
        self.kind = KINDS[kind]
        self.n_rows = n
        self.n_inner = 0
        self.leaf_rows = leaf_rows
        while n > leaf_rows * (self.n_inner + 1):
            self.n_inner = 2 * self.n_inner + 1
        points = np.array(X, np.float64, order="C")
        self.order = np.arange(n)
        self.column = np.zeros(max(self.n_inner, 1), np.int64)
        self.split = np.zeros((max(self.n_inner, 1), 2))
        self.columns = np.empty(n * d)
        self._build(points)

    def _build(self, points: np.ndarray) -> None:
        """Split the upper levels one after the other, then all subtrees on all threads."""
        ranges = [(0, 0, self.n_rows)]
        many = self.n_rows >= PARALLEL_BUILD_ROWS
        while many and len(ranges) < SUBTREES:
            map_threads(partial(self._split, points, ranges), len(ranges))
            ranges = [half for each in ranges for half in _halves(*each)]
        map_threads(partial(self._build_subtree, points, ranges), len(ranges))

    def _split(self, points: np.ndarray, ranges: list[tuple], number: int) -> None:
        node, start, end = ranges[number]
        compiled.split_range(points, self.order, start, end, node, self.column, self.split)

    def _build_subtree(self, points: np.ndarray, ranges: list[tuple], number: int) -> None:
        node, start, end = ranges[number]
        stack = np.empty((_MAX_DEPTH, 3), np.int64)
        target = self.column, self.split, self.columns, stack
        compiled.build_subtree(points, self.order, start, end, node, self.n_inner, *target)

    def nearest(
        self,
        Q: np.ndarray,
        k: int,
        row_codes: np.ndarray = NO_CODES,
        query_codes: np.ndarray = NO_CODES,
    ) -> Neighbors:
        """The k nearest rows of each query; see `FilteredSearch.nearest`."""
        Q = np.ascontiguousarray(Q, np.float64)
        found = Neighbors(np.full((len(Q), k), np.inf), np.full((len(Q), k), NOBODY))
        arguments = self._arguments(Q, row_codes, query_codes)
        compiled.search_tree(Q, *arguments, found.distances, found.rows)
        return found

    def within(
        self,
        Q: np.ndarray,
        radius: float,
        row_codes: np.ndarray = NO_CODES,
        query_codes: np.ndarray = NO_CODES,
    ) -> NeighborLists:
        """The rows whose distance is at most `radius`, for "squares" its square.

        See `FilteredSearch.within`.
        """
        Q = np.ascontiguousarray(Q, np.float64)
        arguments = self._arguments(Q, row_codes, query_codes)
        sizes = self.count_within(Q, radius, row_codes, query_codes)
        starts = np.append(0, np.cumsum(sizes))
        distances, rows = np.empty(starts[-1]), np.empty(starts[-1], np.int64)
        if len(rows):
            compiled.search_radius(Q, *arguments, radius, starts, distances, rows)
        order = np.argsort(np.repeat(np.arange(len(Q)) * self.n_rows, sizes) + rows)
        return NeighborLists(starts, distances[order], rows[order])

    def count_within(
        self,
        Q: np.ndarray,
        radius: float,
        row_codes: np.ndarray = NO_CODES,
        query_codes: np.ndarray = NO_CODES,
    ) -> np.ndarray:
        """The number of rows within a radius of each query; parameters as of `within`."""
        Q = np.ascontiguousarray(Q, np.float64)
        sizes = np.zeros(len(Q) + 1, np.int64)
        nothing = np.empty(0), np.empty(0, np.int64)
        arguments = self._arguments(Q, row_codes, query_codes)
        compiled.search_radius(Q, *arguments, radius, sizes, *nothing)
        return sizes[:-1]

    def _arguments(self, Q: np.ndarray, row_codes: np.ndarray, query_codes: np.ndarray) -> tuple:
        """Arguments of both searches: queries of a leaf follow each other."""
        leaf = np.empty(len(Q), np.int64)
        compiled.locate_leaves(Q, self.n_inner, self.column, self.split, leaf)
        tree = self.n_rows, self.n_inner, self.column, self.split, self.columns, self.order
        place = np.empty((_MAX_DEPTH, 3), np.int64), np.empty(_MAX_DEPTH)
        offset = np.empty((_MAX_DEPTH, Q.shape[1]))
        leaf_space = np.empty(self.leaf_rows + 1)
        turn = np.argsort(leaf, kind="stable")
        return turn, *tree, self.kind, row_codes, query_codes, *place, offset, leaf_space


def _halves(node: int, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    middle = (start + end) // 2
    yield 2 * node + 1, start, middle
    yield 2 * node + 2, middle, end
