"""The training rows of a model, arranged for searches: the metric and the algorithm."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import sparse

from tenfold.math.linalg import to_dense
from tenfold.neighbors._brute_force import (
    NO_CODES,
    EuclideanBruteForce,
    FilteredSearch,
    NeighborLists,
    Neighbors,
)
from tenfold.neighbors._given_distances import PrecomputedSearch
from tenfold.neighbors._kd_tree import KDTree
from tenfold.neighbors._metric_space import MetricSpace
from tenfold.neighbors._metric_tree import MetricTree, find_violation, satisfies_triangle_inequality
from tenfold.neighbors._packed_bits import BitSearch, is_set_metric, pack_rows
from tenfold.neighbors._pairwise import PairwiseDistance, PairwiseSearch
from tenfold.neighbors._special_rows import MissingBruteForce, SparseBruteForce

_MAX_SQUARE = 2.0**500  # of a query: squares of larger numbers overflow


class RowIndex:
    """Rows that are searched for neighbors.

    Distances are functions of two rows alone, computed in float64 in the order of the columns, and
    equal distances are ordered by row numbers. So the algorithm is chosen by cost.

    Parameters
    ----------
    X : (n, d) array or CSR matrix
        The rows.
    metric, params : str or callable, and dict
        The metric.
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}
        How to search.
    leaf_size : int
        Most rows of a leaf of a tree.
    weight : (n,) array, optional
        Weights; rows of weight zero are no rows.
    """

    def __init__(
        self,
        X: Any,
        metric: Any = "euclidean",
        params: dict | None = None,
        algorithm: str = "auto",
        leaf_size: int = 30,
        weight: np.ndarray | None = None,
    ) -> None:
        self.numbers: np.ndarray | None = None
        if weight is not None and not weight.all():
            self.numbers = np.flatnonzero(weight)
            X = X[self.numbers]
        self.n_rows = X.shape[0]
        self.space = MetricSpace(metric, params or {}, X)
        self.algorithm = choose_algorithm(self.space, X, algorithm)
        self.search = self._make_search(self.space.transform(X), leaf_size)

    def _make_search(self, X: Any, leaf_size: int) -> Any:
        kind = self.space.kind
        if kind == "precomputed":
            return PrecomputedSearch(X)
        if kind == "missing":
            return MissingBruteForce(to_dense(X))
        if kind == "squares" and sparse.issparse(X):
            return SparseBruteForce(X)
        if self.algorithm == "ball_tree":
            name = {"squares": "euclidean"}.get(kind, self.space.metric)
            return MetricTree(X, name, self.space.params if kind == "pairs" else {}, leaf_size)
        if self.algorithm == "kd_tree":
            return KDTree(X, kind, leaf_size)
        if kind == "squares":
            return EuclideanBruteForce(np.ascontiguousarray(X))
        metric, params = self.space.metric, self.space.params
        if not sparse.issparse(X) and is_set_metric(metric, params):
            bits = pack_rows(X, metric)
            if bits is not None:
                return BitSearch(X, metric, bits)
        return PairwiseSearch(X, PairwiseDistance(metric, params, X.shape[0]))

    def nearest(
        self,
        Q: Any,
        k: int,
        row_codes: np.ndarray = NO_CODES,
        query_codes: np.ndarray = NO_CODES,
        *,
        reduced: bool = False,
        limit: np.ndarray | None = None,
    ) -> Neighbors:
        """The k nearest rows of each query, by distance and then by row number.

        Parameters
        ----------
        Q, k, row_codes, query_codes
            As of `FilteredSearch.nearest`.
        reduced : bool
            Whether to return the numbers by which rows are ordered, such as squared distances.
        limit : (m,) array, optional
            Such numbers above which rows of a query may be left out.
        """
        codes = self._codes(row_codes), query_codes
        if limit is not None and isinstance(self.search, FilteredSearch):
            codes = *codes, limit * self.space.factor**2
        found = self.search.nearest(self._queries(Q), k, *codes)
        distances = found.distances if reduced else self.space.distance(found.distances)
        return Neighbors(distances, self._original(found.rows))

    def within(
        self,
        Q: Any,
        radius: float,
        row_codes: np.ndarray = NO_CODES,
        query_codes: np.ndarray = NO_CODES,
    ) -> NeighborLists:
        """The rows whose distance from a query is at most `radius`, in the order of their numbers.

        Parameters are those of `FilteredSearch.within`, but for the radius: a distance.
        """
        codes = self._codes(row_codes), query_codes
        radius = self.space.reduce_radius(radius)
        found = self.search.within(self._queries(Q), radius, *codes)
        distances = self.space.distance(found.distances)
        return found._replace(distances=distances, rows=self._original(found.rows))

    def count_within(self, Q: Any, radius: float, *codes: np.ndarray) -> int:
        """How many rows `within` would list for all queries, or 0 where only a search tells."""
        if not isinstance(self.search, KDTree):
            return 0
        row_codes, query_codes = codes
        arguments = self.space.reduce_radius(radius), self._codes(row_codes), query_codes
        return int(self.search.count_within(self._queries(Q), *arguments).sum())

    def _queries(self, Q: Any) -> Any:
        if self.space.kind == "precomputed":
            return Q
        takes_sparse = isinstance(self.search, SparseBruteForce | PairwiseSearch)
        if sparse.issparse(Q) and (not takes_sparse or isinstance(self.search, BitSearch)):
            Q = to_dense(Q)
        Q = self.space.transform(Q, queries=True)
        if self.space.kind == "squares":
            values = Q.data if sparse.issparse(Q) else Q
            largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
            if largest > _MAX_SQUARE:
                raise ValueError(
                    "a query holds numbers whose squared distances from the rows overflow: "
                    "divide the columns by a constant (take other units) before fit and query"
                )
        return Q

    def _codes(self, row_codes: np.ndarray) -> np.ndarray:
        if self.numbers is None or not len(row_codes):
            return row_codes
        return row_codes[self.numbers]

    def _original(self, rows: np.ndarray) -> np.ndarray:
        if self.numbers is None:
            return rows
        return np.where(rows < self.n_rows, self.numbers[np.minimum(rows, self.n_rows - 1)], rows)


def choose_algorithm(space: MetricSpace, X: Any, algorithm: str = "auto") -> str:
    """The algorithm for rows, by cost: results do not depend on it.

    A tree needs the triangle inequality. Metrics without it, and rows that no tree takes, are
    searched by brute force whatever was asked for.

    Parameters
    ----------
    space : MetricSpace
        The metric.
    X : (n, d) array or CSR matrix
        The rows.
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}
        What was asked for.
    """
    if sparse.issparse(X) or space.kind in ("missing", "precomputed") or algorithm == "brute":
        return "brute"
    n, d = X.shape
    narrow = d <= 2 + np.log2(max(n, 1)) / 2
    if space.kind != "pairs":
        if algorithm != "auto":
            return algorithm
        return "kd_tree" if narrow else "brute"
    if satisfies_triangle_inequality(space.metric, space.params):
        is_continuous = space.metric in ("minkowski", "canberra", "haversine")
        wanted = algorithm != "auto" or (narrow and is_continuous)
        return "ball_tree" if wanted else "brute"
    if algorithm == "ball_tree" and callable(space.metric):
        return _check_function(space, X)
    return "brute"


def _check_function(space: MetricSpace, X: Any) -> str:
    """A tree for a function of two rows, unless it is no metric among some of the rows."""
    problem = find_violation(PairwiseDistance(space.metric, space.params, len(X)), X)
    if problem is None:
        return "ball_tree"
    warnings.warn(
        f"the function given as metric is none, since {problem}: a tree would miss neighbors, so "
        "all distances are computed (algorithm='brute')",
        stacklevel=2,
    )
    return "brute"
