"""Exact neighbors by any metric, with a vantage-point tree: only the triangle inequality is used.

The bounds stand in `_metric_tree_numba`, whose search serves metrics that are known by name.
Functions of two rows are called from here, one leaf at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tenfold.neighbors import _metric_tree_numba as compiled
from tenfold.neighbors._brute_force import NO_CODES, NOBODY, NeighborLists, Neighbors
from tenfold.neighbors._pair_distance_numba import HAVERSINE, MINKOWSKI, SQUARES
from tenfold.neighbors._pairwise import CompiledMetric, PairwiseDistance, sort_nearest

# metrics for which the triangle inequality holds; not Dice's and Bray and Curtis's
TRIANGLE_METRICS = {
    "euclidean",
    "manhattan",
    "chebyshev",
    "minkowski",
    "canberra",
    "haversine",
    "hamming",
    "jaccard",
    "rogerstanimoto",
    "russellrao",
    "sokalmichener",
    "sokalsneath",
}
_MAX_DEPTH = 64
_FUNCTION_ERROR = 1e-7  # relative error that a function of two rows may have
_CHECKED_ROWS = 12  # between which the axioms of a metric are checked


def satisfies_triangle_inequality(metric: Any, params: dict) -> bool:
    """Whether a metric that is known by name is one for trees."""
    if not isinstance(metric, str) or metric not in TRIANGLE_METRICS:
        return False
    if metric != "minkowski":
        return not any(value is not None for value in params.values())
    w = params.get("w")
    return params.get("p", 2) >= 1 and (w is None or bool((np.asarray(w) >= 0).all()))


def find_violation(distance: Callable[[Any, Any], np.ndarray], X: Any) -> str | None:
    """What keeps a function from being a metric, looked for among some rows; None if nothing.

    Parameters
    ----------
    distance : callable
        `distance(Q, X)` gives a block of distances.
    X : (n, d) array
        Rows.
    """
    some = np.unique(np.linspace(0, len(X) - 1, _CHECKED_ROWS).astype(np.int64))
    D = distance(X[some], X[some])
    if np.isnan(D).any():
        return "it is NaN for some rows"
    if (D < 0).any():
        return "it is negative for some rows"
    slack = _FUNCTION_ERROR * (1.0 + np.abs(D).max(initial=0.0))
    if not np.allclose(D, D.T, rtol=_FUNCTION_ERROR, atol=slack):
        return "it depends on the order of the two rows"
    if (D[:, None] > D[:, :, None] + D[None] + slack).any():
        return "the way over a third row may be shorter"
    return None


class MetricTree:
    """A vantage-point tree over rows.

    Parameters
    ----------
    X : (n, d) array
        The rows.
    metric, params : str or callable, and dict
        A metric: known by name, or a function of two rows that obeys the triangle inequality.
    leaf_rows : int
        Most rows of a leaf.
    """

    def __init__(self, X: np.ndarray, metric: Any, params: dict, leaf_rows: int) -> None:
        self.n_rows, d = X.shape
        self.distance = PairwiseDistance(metric, params, len(X))
        self.compiled = CompiledMetric.of(metric, params, d)
        self.slack = _rounding_errors(self.compiled, d)
        self.n_inner = 0
        while self.n_rows > leaf_rows * (self.n_inner + 1):
            self.n_inner = 2 * self.n_inner + 1
        rows = np.array(X, np.float64, order="C") if self.compiled else np.array(X, order="C")
        self.order = np.arange(self.n_rows)
        self.vantage = np.empty((max(self.n_inner, 1), d), rows.dtype)
        self.ranges = np.empty((max(self.n_inner, 1), 4))
        self._build(rows)
        self.points = rows[self.order]

    def _build(self, X: np.ndarray) -> None:
        """Halve all nodes; the vantage point is the row farthest from that of the node above."""
        first = int(np.argmax(self._distances(X[0], X))) if self.n_inner else 0
        nodes = [(0, 0, self.n_rows, first)]
        while nodes:
            node, start, end, vantage = nodes.pop()
            if node >= self.n_inner:
                continue
            rows, half = self.order[start:end], (end - start) // 2
            self.vantage[node] = X[vantage]
            if not half:  # one row or none: no bound
                self.ranges[node] = 0.0, np.inf, 0.0, np.inf
                below = (2 * node + 1, start, start), (2 * node + 2, start, end)
                nodes += [(*each, vantage) for each in below]
                continue
            apart = self._distances(X[vantage], X[rows])
            turn = np.argpartition(apart, half - 1)
            rows, apart = rows[turn], apart[turn]
            self.order[start:end] = rows
            low, high = apart[:half], apart[half:]
            self.ranges[node] = low.min(), low.max(), high.min(), high.max()
            nodes += [
                (2 * node + 1, start, start + half, rows[low.argmax()]),
                (2 * node + 2, start + half, end, rows[half + high.argmax()]),
            ]

    def _distances(self, q: np.ndarray, X: np.ndarray) -> np.ndarray:
        """Distances of one row from others; infinite instead of NaN."""
        found = self.distance(q[None], X)[0]
        if self.compiled is not None and self.compiled.kind == SQUARES:
            found = np.sqrt(found)
        return np.where(np.isnan(found), np.inf, found)

    def nearest(
        self,
        Q: np.ndarray,
        k: int,
        row_codes: np.ndarray = NO_CODES,
        query_codes: np.ndarray = NO_CODES,
    ) -> Neighbors:
        """The k nearest rows of each query; see `EuclideanBruteForce.nearest`."""
        found = Neighbors(np.full((len(Q), k), np.inf), np.full((len(Q), k), NOBODY))
        if self.compiled is not None:
            Q = np.ascontiguousarray(Q, np.float64)
            codes = row_codes, query_codes
            compiled.search_metric_tree(
                *self.compiled, self.slack, Q, *self._tree(), *codes, *_stack(), *found
            )
            return found
        for i, q in enumerate(Q):
            best, rows = found.distances[i], found.rows[i]
            code = query_codes[i : i + 1]
            for leaf in self._leaves(q, best):
                block = self.distance(q[None], self.points[leaf])[0]
                compiled.push_leaf(block, self.order[leaf], row_codes, code, best, rows)
        sort_nearest(*found)
        return found

    def within(
        self,
        Q: np.ndarray,
        radius: float,
        row_codes: np.ndarray = NO_CODES,
        query_codes: np.ndarray = NO_CODES,
    ) -> NeighborLists:
        """The rows within a radius of each query; see `EuclideanBruteForce.within`."""
        if self.compiled is not None:
            Q = np.ascontiguousarray(Q, np.float64)
        lists = []
        for i, q in enumerate(Q):
            distances, rows = self._within_one(q, radius)
            order = np.argsort(rows)
            if len(query_codes):
                order = order[row_codes[rows[order]] != query_codes[i]]
            lists.append((distances[order], rows[order]))
        sizes = [len(rows) for _, rows in lists]
        distances, rows = (np.concatenate(part) for part in zip(*lists, strict=True))
        return NeighborLists(np.append(0, np.cumsum(sizes)), distances, rows)

    def _within_one(self, q: np.ndarray, radius: float) -> tuple[np.ndarray, np.ndarray]:
        """Distances and numbers of the rows within a radius of a query, in any order."""
        distances, rows = np.empty(self.n_rows), np.empty(self.n_rows, np.int64)
        found = 0
        if self.compiled is not None:
            found = compiled.search_metric_tree_radius(
                *self.compiled, self.slack, q, *self._tree(), *_stack(), radius, distances, rows
            )
        else:
            for leaf in self._leaves(q, np.array([radius])):
                block = self.distance(q[None], self.points[leaf])[0]
                near = (block <= radius) & (block < np.inf)
                end = found + int(near.sum())
                distances[found:end], rows[found:end] = block[near], self.order[leaf][near]
                found = end
        return distances[:found].copy(), rows[:found].copy()

    def _leaves(self, q: np.ndarray, limit: np.ndarray) -> Iterator[slice]:
        """Leaves that may hold rows nearer than `limit[0]`, which may fall meanwhile."""
        stack, bounds = [(0, 0, self.n_rows, 0.0)], np.empty(2)
        while stack:
            node, start, end, least = stack.pop()
            if least > limit[0]:
                continue
            if node >= self.n_inner:
                yield slice(start, end)
                continue
            apart = self._distances(q, self.vantage[node : node + 1])[0]
            compiled.lower_bounds(apart, self.ranges[node], self.slack, bounds)
            middle = (start + end) // 2
            halves = [
                (2 * node + 1, start, middle, max(least, bounds[0])),
                (2 * node + 2, middle, end, max(least, bounds[1])),
            ]
            stack += halves if bounds[1] < bounds[0] else halves[::-1]

    def _tree(self) -> tuple:
        return self.points, self.order, self.n_inner, self.vantage, self.ranges


def _stack() -> tuple[np.ndarray, np.ndarray]:
    """Work space of a search."""
    return np.empty((_MAX_DEPTH, 3), np.int64), np.empty(_MAX_DEPTH)


def _rounding_errors(metric: CompiledMetric | None, d: int) -> np.ndarray:
    """Relative and absolute errors of distances over d columns, with much to spare.

    Sums of d terms are wrong by d roundings. Powers below the range of float64 vanish, which
    matters for the root; the arc sine is steep between antipodes.
    """
    if metric is None:
        return np.array([_FUNCTION_ERROR, 0.0])
    relative, absolute = (d + 32) * 2.0**-50, 0.0
    if metric.kind in (SQUARES, MINKOWSKI):
        p = metric.p if metric.kind == MINKOWSKI else 2.0
        largest = max(float(metric.w.max(initial=1.0)), 1.0)
        absolute = 4 * (d * largest) ** (1 / p) * 2.0 ** (-1022 / p)
    elif metric.kind == HAVERSINE:
        absolute = 1e-6
    return np.array([relative, absolute])
