"""Neighbors from distances that are given: a matrix, or a sparse graph of neighbors."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.validation import check_non_negative

from tenfold.neighbors._brute_force import NO_CODES, NeighborLists, Neighbors
from tenfold.neighbors._pairwise import PairwiseSearch

_FLOATS: Any = [np.float64, np.float32]
_CSR: Any = "csr"


def check_distances(X: Any) -> Any:
    """Distances: a matrix without negative numbers, or a graph sorted by its values."""
    if not sparse.issparse(X):
        return check_array(X, ensure_non_negative=True, input_name="X", dtype=_FLOATS)
    if X.format not in ("csr", "csc", "coo", "lil"):
        raise TypeError(
            f"Sparse matrix in {X.format!r} format is not supported due to its handling of "
            "explicit zeros: give the graph as CSR"
        )
    graph = check_array(X, accept_sparse=_CSR, dtype=_FLOATS)
    check_non_negative(graph, whom="precomputed distance matrix.")
    from sklearn.neighbors import sort_graph_by_row_values  # which imports much

    return sort_graph_by_row_values(graph, copy=True, warn_when_not_sorted=True)


class PrecomputedSearch(PairwiseSearch):
    """Neighbors by given distances; a query is the row of its distances.

    Parameters
    ----------
    X : (n, n) array or CSR matrix
        Distances of the training rows from each other.
    """

    def __init__(self, X: Any) -> None:
        super().__init__(X, None)

    def _blocks(self, Q: Any) -> Any:
        """Slices of queries and rows, and their distances."""
        block = np.ascontiguousarray(Q, np.float64)
        yield slice(0, len(block)), slice(0, self.n_rows), block

    def nearest(
        self,
        Q: Any,
        k: int,
        row_codes: np.ndarray = NO_CODES,
        query_codes: np.ndarray = NO_CODES,
    ) -> Neighbors:
        """The k nearest rows of each query, by distance and then by row number."""
        if not sparse.issparse(Q):
            return super().nearest(Q, k, row_codes, query_codes)
        lists = self.within(Q, np.inf, row_codes, query_codes)
        sizes = np.diff(lists.starts)
        if len(sizes) and sizes.min() < k:
            raise ValueError(
                f"{k} neighbors are required for each samples, but some samples have only "
                f"{sizes.min()} neighbors in precomputed graph matrix. Decrease number of "
                "neighbors used or recompute the graph with more neighbors."
            )
        query = np.repeat(np.arange(len(sizes)), sizes)
        order = np.lexsort((lists.rows, lists.distances, query))
        places = order[lists.starts[:-1, None] + np.arange(k)]
        return Neighbors(lists.distances[places], lists.rows[places])

    def within(
        self,
        Q: Any,
        radius: float,
        row_codes: np.ndarray = NO_CODES,
        query_codes: np.ndarray = NO_CODES,
    ) -> NeighborLists:
        """The rows within a radius of each query."""
        if not sparse.issparse(Q):
            return super().within(Q, radius, row_codes, query_codes)
        graph: Any = sparse.csr_array(Q)
        query = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
        near = graph.data <= radius
        if len(query_codes):
            near &= row_codes[graph.indices] != query_codes[query]
        query, row = query[near], graph.indices[near].astype(np.int64)
        order = np.lexsort((row, query))
        starts = np.append(0, np.cumsum(np.bincount(query, minlength=graph.shape[0])))
        return NeighborLists(starts, graph.data[near][order].astype(np.float64), row[order])
