"""Methods of models that search: neighbors by number and by radius, and graphs of them."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import num_samples
from tenfold.engine.chunk import Chunk
from tenfold.engine.memory import available_memory
from tenfold.neighbors._base import NeighborsModel, nearest_of_chunk
from tenfold.neighbors._brute_force import NeighborLists, concatenate_lists
from tenfold.neighbors._file_rows import RadiusFound, search_radius_of_rows
from tenfold.neighbors._list_room import ListRoom
from tenfold.neighbors._thresholds import MAX_LISTS_SHARE
from tenfold.neighbors._votes import NeighborSearch, check_neighbors_memory

_MODES = 'Unsupported mode, must be one of "connectivity", or "distance" but got "{}" instead'


class KNeighborsSearch(NeighborsModel):
    """Models that find the k nearest rows."""

    def kneighbors(
        self,
        X: Any = None,
        n_neighbors: int | None = None,
        return_distance: bool = True,
        *,
        groups: Any = None,
    ) -> Any:
        """The nearest training rows of each query, the nearest first.

        Rows at equal distances are ordered by their numbers, in every algorithm and engine.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`, optional
            Queries; by default the training rows, none of which is its own neighbor.
        n_neighbors : int, optional
            How many; by default the model's `n_neighbors`.
        return_distance : bool
            Whether to return the distances.
        groups : array, optional
            Group of each query: training rows of the same group are left out.

        Returns
        -------
        distances : (n_queries, n_neighbors) array, if `return_distance`
        rows : (n_queries, n_neighbors) array of row numbers
        """
        check_is_fitted(self)
        k: Any = self.n_neighbors if n_neighbors is None else n_neighbors
        self._check_k(k, X)
        if self._is_elsewhere:
            found = self._search_elsewhere(X, int(k), groups)
            return (found.distances, found.rows) if return_distance else found.rows
        search = NeighborSearch(self._index, int(k), **self._left_out(X, groups))
        with self._work_context():
            queries = self._query_rows(X, search.k)
            check_neighbors_memory(queries.n_rows, search.k)
            found = queries.each(nearest_of_chunk, search)
        rows = np.ascontiguousarray(found["row"])
        return (np.ascontiguousarray(found["distance"]), rows) if return_distance else rows

    def _check_k(self, k: Any, X: Any) -> None:
        """Refuse numbers of neighbors that there are not, in scikit-learn's words."""
        if not isinstance(k, Integral):
            raise TypeError(f"n_neighbors does not take {type(k)} value, enter integer value")
        if k <= 0:
            raise ValueError(f"Expected n_neighbors > 0. Got {k}")
        n = self.n_samples_fit_
        if k > n - (X is None):
            relation = "<" if X is None else "<="
            m = n if X is None else _count_queries(X)
            raise ValueError(
                f"Expected n_neighbors {relation} n_samples_fit, but n_neighbors = {k}, "
                f"n_samples_fit = {n}, n_samples = {m}"
            )

    def kneighbors_graph(
        self, X: Any = None, n_neighbors: int | None = None, mode: str = "connectivity"
    ) -> csr_matrix:
        """The graph of the nearest training rows of each query.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`, optional
            Queries; by default the training rows, none of which is its own neighbor.
        n_neighbors : int, optional
            How many; by default the model's `n_neighbors`.
        mode : {"connectivity", "distance"}
            Whether edges are ones or distances.

        Returns
        -------
        (n_queries, n_samples_fit) CSR matrix
        """
        check_is_fitted(self)
        if mode not in ("connectivity", "distance"):
            raise ValueError(_MODES.format(mode))
        k: Any = self.n_neighbors if n_neighbors is None else n_neighbors
        distances, rows = self.kneighbors(X, k)
        values = distances.ravel() if mode == "distance" else np.ones(rows.size)
        starts = np.arange(0, rows.size + 1, k)
        return csr_matrix((values, rows.ravel(), starts), shape=(len(rows), self.n_samples_fit_))


class RadiusSearch(NeighborsModel):
    """Models that find the rows within a radius."""

    def radius_neighbors(
        self,
        X: Any = None,
        radius: float | None = None,
        return_distance: bool = True,
        sort_results: bool = False,
        *,
        groups: Any = None,
    ) -> Any:
        """The training rows within a radius of each query, its boundary included.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`, optional
            Queries; by default the training rows, none of which is its own neighbor.
        radius : float or (n_queries,) array, optional
            Largest distance; by default the model's `radius`.
        return_distance : bool
            Whether to return the distances.
        sort_results : bool
            Whether rows are ordered by distance; else by their numbers.
        groups : array, optional
            Group of each query: training rows of the same group are left out.

        Returns
        -------
        distances : (n_queries,) array of arrays, if `return_distance`
        rows : (n_queries,) array of arrays of row numbers
        """
        check_is_fitted(self)
        if sort_results and not return_distance:
            raise ValueError("return_distance must be True if sort_results is True.")
        parts = self._lists(X, radius, groups, sort=sort_results)
        rows = _split([(part.rows, part.starts) for part in parts])
        if not return_distance:
            return rows
        return _split([(part.distances, part.starts) for part in parts]), rows

    def _lists(
        self,
        X: Any,
        radius: float | None = None,
        groups: Any = None,
        *,
        sort: bool,
        copies: int = 1,
    ) -> list[NeighborLists]:
        """Rows within the radius of each query, in blocks of queries.

        They are in the order of their numbers, or of their distances; memory has to hold them so
        many times.
        """
        limit: Any = self.radius if radius is None else radius
        if not np.all(np.asarray(limit, np.float64) >= 0):
            raise ValueError(f"radius={limit!r}: a radius is a number of at least 0")
        limits = np.asarray(limit) if np.ndim(limit) else None
        if self._is_elsewhere:
            lists = self._lists_elsewhere(X, float(np.max(limit)), groups).lists
            lists = lists if limits is None else _limit_lists(lists, limits)
            return [sort_lists(lists) if sort else lists]
        search = NeighborSearch(self._index, 0, float(np.max(limit)), **self._left_out(X, groups))
        room = ListRoom(MAX_LISTS_SHARE * available_memory(), copies)
        parts = self._map_queries(X, lists_of_chunk, search, room, limits, sort)
        return [part for block in parts if block is not None for part in block]

    def _lists_elsewhere(self, X: Any, radius: float, groups: Any = None) -> RadiusFound:
        """Rows within the radius of each query, where the training rows are not in memory."""
        rows, Q = self._open_elsewhere(X, groups)
        room = ListRoom(MAX_LISTS_SHARE * available_memory(), 4)
        with self._work_context():
            metric, params = self.effective_metric_, self.effective_metric_params_
            return search_radius_of_rows(rows, Q, radius, metric, params, room)

    def radius_neighbors_graph(
        self,
        X: Any = None,
        radius: float | None = None,
        mode: str = "connectivity",
        sort_results: bool = False,
    ) -> csr_matrix:
        """The graph of the training rows within a radius of each query.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`, optional
            Queries; by default the training rows, none of which is its own neighbor.
        radius : float, optional
            Largest distance; by default the model's `radius`.
        mode : {"connectivity", "distance"}
            Whether edges are ones or distances.
        sort_results : bool
            Whether the edges of a query are ordered by distance; else by row numbers.

        Returns
        -------
        (n_queries, n_samples_fit) CSR matrix
        """
        check_is_fitted(self)
        if mode not in ("connectivity", "distance"):
            raise ValueError(_MODES.format(mode))
        lists = concatenate_lists(self._lists(X, radius, sort=sort_results, copies=3))
        values = lists.distances if mode == "distance" else np.ones(len(lists.rows))
        shape = len(lists.starts) - 1, self.n_samples_fit_
        return csr_matrix((values, lists.rows, lists.starts), shape=shape)


def lists_of_chunk(
    chunk: Chunk, search: NeighborSearch, room: ListRoom, limits: np.ndarray | None, sort: bool
) -> np.ndarray:
    """Blocks of lists of some queries, in the first entry of an array with an entry for each."""
    out = np.full(chunk.rows, None, object)
    out[0] = []
    if limits is None and not room.holds(chunk.rows * search.index.n_rows):
        room.require(search.count_within(chunk.X, chunk.first), search.radius)
    for first, lists in search.within(chunk.X, chunk.first):
        if limits is not None:
            lists = _limit_lists(lists, limits[first : first + len(lists.starts) - 1])
        room.add(lists, search.radius)
        out[0].append(sort_lists(lists) if sort else lists)
    return out


def sort_lists(lists: NeighborLists) -> NeighborLists:
    """The lists in the order of distances and then of row numbers."""
    query = np.repeat(np.arange(len(lists.starts) - 1), np.diff(lists.starts))
    order = np.lexsort((lists.rows, lists.distances, query))
    return lists._replace(distances=lists.distances[order], rows=lists.rows[order])


def _limit_lists(lists: NeighborLists, radius: np.ndarray) -> NeighborLists:
    """Lists within a radius of its own for each query."""
    query = np.repeat(np.arange(len(lists.starts) - 1), np.diff(lists.starts))
    near = lists.distances <= radius[query]
    sizes = np.bincount(query[near], minlength=len(radius))
    return NeighborLists(np.append(0, np.cumsum(sizes)), lists.distances[near], lists.rows[near])


def _count_queries(X: Any) -> Any:
    """Number of queries, for a message."""
    try:
        return num_samples(X)
    except TypeError:  # a path
        return "unknown"


def _split(blocks: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """An array of arrays, from blocks of values and where the values of each query begin."""
    lists = np.empty(sum(len(starts) - 1 for _, starts in blocks), object)
    place = 0
    for values, starts in blocks:
        for i in range(len(starts) - 1):
            lists[place] = values[starts[i] : starts[i + 1]]
            place += 1
    return lists
