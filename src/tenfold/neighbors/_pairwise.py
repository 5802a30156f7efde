"""Neighbors by any metric: blocks of distances, reduced to the k least where they arise."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist

from tenfold.math.linalg import to_dense
from tenfold.neighbors import _pair_distance_numba as compiled
from tenfold.neighbors._brute_force import (
    NO_CODES,
    NOBODY,
    NeighborLists,
    Neighbors,
    concatenate_lists,
)
from tenfold.neighbors._heap_numba import JIT, push, sort_heap
from tenfold.neighbors._thresholds import BLOCK_NUMBERS, MIN_ROWS_TO_COMPILE

SET_METRICS = {
    "dice": compiled.DICE,
    "jaccard": compiled.JACCARD,
    "rogerstanimoto": compiled.ROGERS_TANIMOTO,
    "russellrao": compiled.RUSSELL_RAO,
    "sokalmichener": compiled.ROGERS_TANIMOTO,  # the same number
    "sokalsneath": compiled.SOKAL_SNEATH,
    "yule": compiled.YULE,
}
_COMPILED_METRICS = {
    "euclidean": compiled.SQUARES,
    "manhattan": compiled.ABSOLUTES,
    "chebyshev": compiled.MAXIMUM,
    "minkowski": compiled.MINKOWSKI,
    "canberra": compiled.CANBERRA,
    "haversine": compiled.HAVERSINE,
    "hamming": compiled.HAMMING,
    **SET_METRICS,
}
_AGREEMENT = 1e-9  # relative difference of a compiled function from the function itself


class CompiledMetric(NamedTuple):
    """A metric by name, as compiled functions take it; see `pair_distance`.

    Attributes
    ----------
    kind : number of the metric
    p, w : power and weights of Minkowski's
    """

    kind: int
    p: float
    w: np.ndarray

    @classmethod
    def of(cls, metric: Any, params: dict, d: int) -> CompiledMetric | None:
        """The metric of this name over d columns, or None if it is not compiled."""
        params = {key: value for key, value in params.items() if value is not None}
        known = {"p", "w"} if metric == "minkowski" else set()
        if not isinstance(metric, str) or metric not in _COMPILED_METRICS or params.keys() - known:
            return None
        if metric == "haversine" and d != 2:
            raise ValueError(
                "Haversine distance only valid in 2 dimensions, latitude and longitude in radians: "
                f"the rows have {d} columns"
            )
        w = np.broadcast_to(np.asarray(params.get("w", 1.0), np.float64), (d,))
        return cls(_COMPILED_METRICS[metric], float(params.get("p", 2)), w.copy())


@JIT
def push_block(
    block: Any, first: int, row_codes: Any, query_codes: Any, distances: Any, rows: Any
) -> None:
    """Take the distances of a block of rows into the heaps of the k nearest.

    Parameters
    ----------
    block : (m, t) distances of the queries from rows
    first : number of the first row
    row_codes, query_codes : rows of the same code as the query are left out; empty: none
    distances, rows : (m, k) heaps
    """
    k = distances.shape[1]
    for i in range(block.shape[0]):
        for j in range(block.shape[1]):
            d = block[i, j]
            if np.isnan(d):
                d = np.inf
            if d <= distances[i, 0] and (
                query_codes.shape[0] == 0 or row_codes[first + j] != query_codes[i]
            ):
                push(distances[i], rows[i], k, d, first + j)


@JIT
def sort_nearest(distances: Any, rows: Any) -> None:
    """Turn heaps into ascending lists."""
    for i in range(distances.shape[0]):
        sort_heap(distances[i], rows[i], distances.shape[1])


class PairwiseDistance:
    """Blocks of distances by a metric's name or function.

    Parameters
    ----------
    metric : str or callable
        Name as in scikit-learn and SciPy, or a function of two rows.
    params : dict
        Its parameters.
    n_rows : int
        Training rows: functions are compiled where there are many.
    """

    def __init__(self, metric: Any, params: dict, n_rows: int) -> None:
        self.metric, self.params = metric, {k: v for k, v in params.items() if v is not None}
        self.may_compile = n_rows >= MIN_ROWS_TO_COMPILE or hasattr(metric, "py_func")

    def __call__(self, Q: Any, X: Any) -> np.ndarray:
        """Distances (m, t) of m queries from t rows."""
        if not isinstance(self.metric, str):
            from sklearn.metrics import DistanceMetric  # which imports much

            if isinstance(self.metric, DistanceMetric):
                Q, X = (np.asarray(to_dense(part), np.float64) for part in (Q, X))
                return self.metric.pairwise(Q, X)
            if sparse.issparse(X) or sparse.issparse(Q):
                return self._by_function(sparse.csr_array(Q), sparse.csr_array(X))
            return self._by_function(Q, X)
        Q, X = to_dense(Q), to_dense(X)
        metric = CompiledMetric.of(self.metric, self.params, X.shape[1])
        if metric is not None:
            Q, X = (np.ascontiguousarray(part, np.float64) for part in (Q, X))
            block = np.empty((len(Q), len(X)))
            compiled.fill_block(metric.kind, Q, X, metric.p, metric.w, block)
            return block
        name: Any = {"manhattan": "cityblock"}.get(self.metric, self.metric)
        if name in SET_METRICS:
            Q, X = Q != 0, X != 0
        block = cdist(Q, X, name, **self.params)
        if name == "jensenshannon" and not np.isfinite(block).all():
            raise ValueError(
                "metric='jensenshannon' compares distributions: every row and query needs entries "
                "of at least zero and a positive sum"
            )
        return block

    def _by_function(self, Q: Any, X: Any) -> np.ndarray:
        function: Any = self.metric
        if self.may_compile and not self.params and not sparse.issparse(Q):
            Q, X = np.ascontiguousarray(Q, np.float64), np.ascontiguousarray(X, np.float64)
            compiled = compile_metric(function, Q.shape[1])
            if compiled is not None:
                block = np.empty((len(Q), len(X)))
                compiled(Q, X, block)
                return block
        rows = [X[[j]] if sparse.issparse(X) else X[j] for j in range(X.shape[0])]
        block = np.empty((Q.shape[0], len(rows)))
        for i in range(Q.shape[0]):
            q = Q[[i]] if sparse.issparse(Q) else Q[i]
            block[i] = [function(q, x, **self.params) for x in rows]
        return block


@lru_cache(maxsize=32)
def compile_metric(function: Callable[..., float], n_columns: int) -> Any:
    """A compiled loop over pairs of rows, or None if numba cannot compile the function.

    The compiled function has to agree with the function itself on some random rows.
    """
    from numba import njit

    pair: Any = function if hasattr(function, "py_func") else njit(nogil=True)(function)

    @njit(nogil=True)
    def fill(Q: Any, X: Any, block: Any) -> None:
        for i in range(Q.shape[0]):
            for j in range(X.shape[0]):
                block[i, j] = pair(Q[i], X[j])

    trial = np.random.default_rng(0).random((3, n_columns))
    block = np.empty((3, 3))
    try:
        fill(trial, trial, block)
        expected = [[float(function(q, x)) for x in trial] for q in trial]
    except Exception:  # noqa: BLE001  whatever the function or numba objects to: Python runs it
        return None
    return fill if np.allclose(block, expected, _AGREEMENT, _AGREEMENT, equal_nan=True) else None


class PairwiseSearch:
    """Neighbors by blocks of distances.

    Parameters
    ----------
    X : (n, d) array or CSR matrix
        The rows.
    distance : callable
        `distance(Q, X)` gives a block of distances.
    """

    def __init__(self, X: Any, distance: Any) -> None:
        self.X, self.distance, self.n_rows = X, distance, X.shape[0]

    def nearest(
        self,
        Q: Any,
        k: int,
        row_codes: np.ndarray = NO_CODES,
        query_codes: np.ndarray = NO_CODES,
    ) -> Neighbors:
        """The k nearest rows of each query; see `EuclideanBruteForce.nearest`."""
        m = Q.shape[0]
        found = Neighbors(np.full((m, k), np.inf), np.full((m, k), NOBODY))
        for queries, rows, block in self._blocks(Q):
            codes = query_codes[queries] if len(query_codes) else query_codes
            heaps = found.distances[queries], found.rows[queries]
            push_block(block, rows.start, row_codes, codes, *heaps)
        sort_nearest(found.distances, found.rows)
        return found

    def within(
        self,
        Q: Any,
        radius: float,
        row_codes: np.ndarray = NO_CODES,
        query_codes: np.ndarray = NO_CODES,
    ) -> NeighborLists:
        """The rows within a radius of each query; see `EuclideanBruteForce.within`."""
        pieces: dict[int, list[np.ndarray]] = {}
        for queries, rows, block in self._blocks(Q):
            with np.errstate(invalid="ignore"):
                near = block <= radius
            if len(query_codes):
                near &= row_codes[rows] != query_codes[queries, None]
            pieces.setdefault(queries.start, []).append(np.where(near, block, np.inf))
        parts = [_lists_of(np.hstack(piece), radius) for piece in pieces.values()]
        return concatenate_lists(parts)

    def _blocks(self, Q: Any) -> Any:
        """Slices of queries and rows, and their distances."""
        m, n = Q.shape[0], self.n_rows
        step = int(min(max(BLOCK_NUMBERS // 256, 1), n))
        height = max(BLOCK_NUMBERS // max(step, 1), 1)
        for a in range(0, m, height):
            for b in range(0, n, step):
                queries, rows = slice(a, min(a + height, m)), slice(b, min(b + step, n))
                yield queries, rows, self.distance(Q[queries], self.X[rows])


def _lists_of(block: np.ndarray, radius: float) -> NeighborLists:
    """Lists of all rows of a block of distances; those left out are infinitely far."""
    near = (block <= radius) & (block < np.inf)
    starts = np.append(0, np.cumsum(near.sum(axis=1)))
    return NeighborLists(starts, block[near], np.nonzero(near)[1].astype(np.int64))
