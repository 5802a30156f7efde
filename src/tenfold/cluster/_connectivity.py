"""Hierarchical clustering constrained by a connectivity graph."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple, cast

import numpy as np

from tenfold.cluster._connectivity_numba import build_half_edges, constrained_merges
from tenfold.cluster._linkage_numba import AVERAGE, COMPLETE, WARD
from tenfold.cluster.dendrogram import build_linkage_matrix
from tenfold.math.distances import pairwise_distances

_LINKAGE_CODES = {"complete": COMPLETE, "average": AVERAGE, "ward": WARD}
_MAX_ENTRIES_AT_ONCE = 2**22  # array entries of a block of distances (8 bytes each); not swept


class _ConstrainedTree(NamedTuple):
    """A hierarchical clustering along a graph."""

    children: np.ndarray  # (t, 2)
    heights: np.ndarray  # (t,)
    n_components: int  # connected components of the given graph


def constrained_linkage(
    X: np.ndarray, connectivity: Any, linkage: str, metric: Any, n_clusters: int = 1
) -> _ConstrainedTree:
    """Merge the nearest adjacent clusters until `n_clusters` are left.

    The distance of two clusters is that of scikit-learn: of the edges between them the longest
    ("complete"), the shortest ("single") or an average weighted by cluster sizes ("average");
    "ward" uses all rows. Heights may fall.

    Parameters
    ----------
    X : (n_samples, n_features) array, or (n_samples, n_samples) array of distances
        The rows; distances for "precomputed", of which the upper triangle is read.
    connectivity : (n_samples, n_samples) array or sparse matrix
        Nonzero entries are edges, in both directions.
    linkage : {"single", "complete", "average", "ward"}
        Distance of two clusters.
    metric : str or callable
        Distance of two rows; "ward" is Euclidean.
    n_clusters : int
        Number of clusters at which to stop.
    """
    X = np.asarray(X, np.float64)
    graph, n_components = _connect_components(_symmetrize_connectivity(connectivity, X), X, metric)
    if linkage == "single":
        Z = _graph_mst_linkage(graph, _edge_lengths(graph, X, metric))
        return _ConstrainedTree(Z[:, :2].astype(np.int64), Z[:, 2].copy(), n_components)
    ward = linkage == "ward"
    length = np.zeros(graph.nnz) if ward else _edge_lengths(graph, X, metric)
    edges = build_half_edges(graph.indptr, graph.indices, length)
    means = np.ascontiguousarray(X) if ward else np.empty((len(X), 0))
    children, heights = constrained_merges(
        edges, means, _LINKAGE_CODES[linkage], len(X) - n_clusters
    )
    return _ConstrainedTree(children, np.sqrt(2.0 * heights) if ward else heights, n_components)


def _symmetrize_connectivity(connectivity: Any, X: np.ndarray) -> Any:
    """The graph as a symmetric CSR matrix with sorted columns and no diagonal."""
    from scipy.sparse import csr_array
    from sklearn.utils import check_array

    given: Any = check_array(connectivity, accept_sparse=cast("Any", "csr"))
    if given.shape != (len(X), len(X)):
        raise ValueError(
            f"Wrong shape for connectivity matrix: {given.shape} when X is {X.shape}: one row and "
            "one column are needed for each row of X"
        )
    graph = csr_array(given, dtype=np.float64)
    graph = (graph + graph.T).tocoo()
    return _graph_from_edges(*graph.coords, keep=graph.coords[0] != graph.coords[1], n=len(X))


def _graph_from_edges(rows: np.ndarray, columns: np.ndarray, keep: Any, n: int) -> Any:
    """A CSR matrix with ones at these edges and sorted columns."""
    from scipy.sparse import csr_array

    rows, columns = rows[keep], columns[keep]
    graph = csr_array((np.ones(len(rows)), (rows, columns)), shape=(n, n))
    graph.sum_duplicates()
    return graph


def _connect_components(graph: Any, X: np.ndarray, metric: Any) -> tuple[Any, int]:
    """The graph with an edge between the nearest rows of each two components, and their number.

    Without these edges the tree would end early.
    """
    from scipy.sparse.csgraph import connected_components

    n_components, component = connected_components(graph, directed=False)
    if n_components == 1:
        return graph, 1
    warnings.warn(
        f"the number of connected components of the connectivity matrix is {n_components} > 1. "
        "Completing it to avoid stopping the tree early.",
        UserWarning,
        stacklevel=7,
    )
    order = np.argsort(component, kind="stable")
    ends = np.cumsum(np.bincount(component))
    nearest_pairs = [
        _nearest_component_pairs(X, order, ends, i, metric) for i in range(1, n_components)
    ]
    a, b = np.concatenate(nearest_pairs).T
    rows, columns = graph.tocoo().coords
    both = np.concatenate([rows, a, b]), np.concatenate([columns, b, a])
    return _graph_from_edges(*both, keep=slice(None), n=len(X)), n_components


def _nearest_component_pairs(
    X: np.ndarray, order: np.ndarray, ends: np.ndarray, i: int, metric: Any
) -> np.ndarray:
    """For each component before component i, the nearest pair of rows of the two, (i, 2)."""
    earlier, current = order[: ends[i - 1]], order[ends[i - 1] : ends[i]]
    starts = np.append(0, ends[: i - 1])
    shortest, pairs = np.full(i, np.inf), np.empty((i, 2), np.int64)
    step = max(_MAX_ENTRIES_AT_ONCE // len(earlier), 1)
    for block in (current[first : first + step] for first in range(0, len(current), step)):
        D = _cross_distances(X, block, earlier, metric)
        nearest = np.minimum.reduceat(D, starts, axis=1)  # (block, i)
        row = nearest.argmin(axis=0)
        for j in np.flatnonzero(nearest[row, np.arange(i)] < shortest):
            shortest[j] = nearest[row[j], j]
            part = D[row[j], starts[j] : ends[j]]
            pairs[j] = block[row[j]], earlier[starts[j] + part.argmin()]
    return pairs


def _cross_distances(X: np.ndarray, a: np.ndarray, b: np.ndarray, metric: Any) -> np.ndarray:
    """Distances of the rows a to the rows b."""
    if isinstance(metric, str) and metric == "precomputed":
        return X[np.ix_(a, b)]
    return pairwise_distances(X[a], X[b], metric)


def _edge_lengths(graph: Any, X: np.ndarray, metric: Any) -> np.ndarray:
    """Length of each edge, in the order of the matrix."""
    from scipy.sparse import csr_array

    rows, columns = graph.tocoo().coords
    upper = rows < columns
    upper_lengths = _paired_row_distances(X, rows[upper], columns[upper], metric)
    position = csr_array(
        (np.arange(1, len(upper_lengths) + 1), (rows[upper], columns[upper])), graph.shape
    )
    both = position + position.T
    both.sort_indices()
    return upper_lengths[both.data - 1]


def _paired_row_distances(X: np.ndarray, a: np.ndarray, b: np.ndarray, metric: Any) -> np.ndarray:
    """Distance of row a[i] and row b[i] for each i; a is sorted."""
    from sklearn.metrics.pairwise import PAIRED_DISTANCES, paired_distances

    if isinstance(metric, str) and metric == "precomputed":
        return X[a, b]
    if callable(metric) or metric in PAIRED_DISTANCES:
        step = max(_MAX_ENTRIES_AT_ONCE // X.shape[1], 1)
        parts = [slice(first, first + step) for first in range(0, len(a), step)]
        of_pairs: Any = paired_distances
        return np.concatenate([of_pairs(X[a[s]], X[b[s]], metric=metric) for s in parts])
    ends = np.flatnonzero(np.diff(a, append=-1)) + 1
    starts = np.append(0, ends[:-1])
    parts = zip(starts, ends, strict=True)
    return np.concatenate(
        [pairwise_distances(X[a[s : s + 1]], X[b[s:e]], metric)[0] for s, e in parts]
    )


def _graph_mst_linkage(graph: Any, length: np.ndarray) -> np.ndarray:
    """Linkage matrix of single linkage: a minimum spanning tree of the graph."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    shortest = np.finfo(np.float64).tiny  # a zero would be no edge
    given = csr_array((np.maximum(length, shortest), graph.indices, graph.indptr), graph.shape)
    tree = minimum_spanning_tree(given).tocoo()
    lengths = np.where(tree.data == shortest, 0.0, tree.data)
    return build_linkage_matrix(np.stack(tree.coords, axis=1).astype(np.int64), lengths)
