"""Exact Euclidean neighbors by brute force: products in float32 filter, float64 proves.

See `_filter_numba` for the bound. The result does not depend on the center, the tiles, the order of
summation inside of BLAS, or the number of threads.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold._compiled.near_scores import QUERIES_PER_BLOCK, pad_queries
from tenfold._compiled.register_block import TILE_ROWS
from tenfold._compiled.simd import aligned_zeros
from tenfold.engine.thread_pool import map_threads
from tenfold.neighbors._filter_numba import (
    ROWS_PER_BLOCK,
    discard_far,
    filter_radius,
    filter_tile,
    keep_nearest,
    measure_dense,
    write_nearest,
)
from tenfold.neighbors._fused_filter_numba import filter_rows
from tenfold.neighbors._row_maps_numba import column_ranges, round_rows, squared_lengths
from tenfold.neighbors._thresholds import (
    BLOCK_NUMBERS,
    CANDIDATE_BYTES,
    FUSED_ROWS,
    MAX_FUSED_COLUMNS,
    QUERIES_PER_TILE,
    ROWS_PER_TILE,
    SPARE_CANDIDATES,
)

_UNIT = 2.0**-24  # of float32
_MAX_QUERY = 2.0**40  # length of a query in units of the longest row, up to which float32 suffices
_MAX_CENTER = 0.5  # share of the center in the squares of float32 rows that are not copied
_MAX_UNIT = 20  # binary exponent of their largest entry, in absolute value
NO_CODES = np.empty(0, np.int64)
NOBODY = np.int64(2**62)  # number of a row that is none


class Neighbors(NamedTuple):
    """The k nearest rows of each query.

    Attributes
    ----------
    distances : (m, k) float64, ascending; infinite where there are fewer than k rows
    rows : (m, k) int64 row numbers, ascending among equal distances; NOBODY where there are none
    """

    distances: np.ndarray
    rows: np.ndarray


class NeighborLists(NamedTuple):
    """The rows within a radius of each query.

    Attributes
    ----------
    starts : (m + 1,) where the list of each query begins
    distances : float64, in the order of the rows
    rows : int64 row numbers, ascending within a list
    """

    starts: np.ndarray
    distances: np.ndarray
    rows: np.ndarray


class Rounded(NamedTuple):
    """Rows or queries in float32, and their shares in the bounds.

    Attributes
    ----------
    X : centered and scaled rows
    half : (n,) float64, what is subtracted from half of a squared distance: half a squared length
    gap : (n,) float64, twice the share in the error of a bound
    source : the rows themselves
    """

    X: Any
    half: np.ndarray
    gap: np.ndarray
    source: Any


class FilteredSearch:
    """Neighbors by products that bound squared distances, and float64 for what they leave open.

    A kind of rows defines `round_queries`, `products` and `measure`, and sets `n_rows`, `scale`,
    `term` and `gap`, the terms of the rows in the bounds.
    """

    n_rows: int
    scale: float
    term: np.ndarray
    gap: np.ndarray

    def round_queries(self, Q: Any) -> Rounded:
        """Queries in float32."""
        raise NotImplementedError

    def products(self, queries: Rounded, first: int, end: int) -> np.ndarray:
        """Products (m, t) of the queries and some rows, in float32."""
        raise NotImplementedError

    def measure(self, queries: Rounded, *candidates: np.ndarray) -> None:
        """Squared distances of candidates in float64; see `measure_dense`."""
        raise NotImplementedError

    def nearest(
        self,
        Q: Any,
        k: int,
        row_codes: np.ndarray = NO_CODES,
        query_codes: np.ndarray = NO_CODES,
        limit: np.ndarray | None = None,
    ) -> Neighbors:
        """The k nearest rows of each query, by squared distance and then by row number.

        Parameters
        ----------
        Q : (m, d) array or CSR matrix
            Queries.
        k : int
            Number of neighbors.
        row_codes, query_codes : int64 arrays, optional
            A row of the code of a query is none of its neighbors.
        limit : (m,) array, optional
            Squared distances above which rows of a query may be left out.
        """
        m = Q.shape[0]
        found = Neighbors(np.full((m, k), np.inf), np.full((m, k), NOBODY))
        capacity = 2 * k + SPARE_CANDIDATES
        step = int(min(max(CANDIDATE_BYTES // (32 * capacity), 8), QUERIES_PER_TILE))
        for a in range(0, m, step):
            part = slice(a, min(a + step, m))
            codes = query_codes[part] if len(query_codes) else query_codes
            block = QueryBlock(self, Q[part], k, capacity, row_codes, codes)
            if limit is not None:
                block.limit(limit[part])
            block.search(found.distances[part], found.rows[part])
        return found

    def filter(self, block: QueryBlock) -> None:
        """Collect the rows that may be among the nearest of a block of queries, tile by tile."""
        for first in range(0, self.n_rows, ROWS_PER_TILE):
            end = min(first + ROWS_PER_TILE, self.n_rows)
            block.filter(self.products(block.queries, first, end), first, end)

    def within(
        self,
        Q: Any,
        radius: float,
        row_codes: np.ndarray = NO_CODES,
        query_codes: np.ndarray = NO_CODES,
    ) -> NeighborLists:
        """The rows whose squared distance from a query is at most `radius`.

        Parameters
        ----------
        Q : (m, d) array or CSR matrix
            Queries.
        radius : float
            Squared radius.
        row_codes, query_codes : int64 arrays, optional
            A row of the code of a query is none of its neighbors.
        """
        parts: list[NeighborLists] = []
        for a in range(0, Q.shape[0], QUERIES_PER_TILE):
            part = slice(a, min(a + QUERIES_PER_TILE, Q.shape[0]))
            codes = query_codes[part] if len(query_codes) else query_codes
            parts.append(self._lists(self.round_queries(Q[part]), radius, row_codes, codes))
        return concatenate_lists(parts)

    def _lists(
        self, queries: Rounded, radius: float, row_codes: np.ndarray, query_codes: np.ndarray
    ) -> NeighborLists:
        """Lists of a block of queries."""
        m = len(queries.half)
        limit = radius * self.scale**2 / 2 - queries.half + queries.gap
        limit = limit + np.abs(limit) * 2.0**-20 + 2.0**-120
        limit[np.isnan(limit)] = np.inf
        query, row, distance = ([] for _ in range(3))
        space = np.empty((2, m * min(ROWS_PER_TILE, max(self.n_rows, 1))), np.int64)
        starts, count, wanted = np.empty(m, np.int64), np.empty(m, np.int64), np.ones(m, bool)
        codes = row_codes, query_codes
        for first in range(0, self.n_rows, ROWS_PER_TILE):
            end = min(first + ROWS_PER_TILE, self.n_rows)
            tile = self.products(queries, first, end)
            terms = self.term[first:end], first, *codes, limit
            found = filter_radius(tile, *terms, space[0], space[1], starts, count)
            if not found:
                continue
            at, number = space[0, :found], space[1, :found]
            exact = np.empty(found)
            self.measure(queries, wanted, starts, count, number, exact)
            kept = exact <= radius
            for part, values in ((query, at), (row, number), (distance, exact)):
                part.append(values[kept])
        if not row:
            return NeighborLists(np.zeros(m + 1, np.int64), np.empty(0), np.empty(0, np.int64))
        at = np.concatenate(query)
        order = np.argsort(at, kind="stable")
        starts = np.append(0, np.cumsum(np.bincount(at, minlength=m)))
        return NeighborLists(starts, np.concatenate(distance)[order], np.concatenate(row)[order])


class EuclideanBruteForce(FilteredSearch):
    """Squared Euclidean distances to all rows of an array.

    Parameters
    ----------
    X : (n, d) float32 or float64 array, C-contiguous
        The rows.
    """

    def __init__(self, X: np.ndarray) -> None:
        self.X = X
        n, d = X.shape
        self.n_rows = n
        step = max(BLOCK_NUMBERS // max(d, 1), 1)
        blocks = [slice(a, a + step) for a in range(0, n, step)]
        ranges = [(np.zeros(d), np.full(d, np.inf), np.full(d, -np.inf)) for _ in blocks or [0]]
        map_threads(lambda i: column_ranges(X[blocks[i]], *ranges[i]), len(blocks))
        total, low, high = (np.array(part) for part in zip(*ranges, strict=True))
        self.center = total.sum(axis=0) / max(n, 1)
        widths = np.maximum(high.max(axis=0) - self.center, self.center - low.min(axis=0))
        largest = float(widths.max(initial=0.0)) if n else 0.0
        self.scale = 2.0 ** -np.frexp(largest)[1] if largest > 0 else 1.0
        square = np.empty(n)
        if self._serve_as_they_are(X, square, blocks):
            self.rounded, self.center, self.scale = X, np.zeros(d), 1.0
        else:
            self.rounded = np.empty((n, d), np.float32)
            parts = [(X[block], self.rounded[block], square[block]) for block in blocks]
            map_threads(lambda i: self._round(*parts[i]), len(blocks))
        self.gap = error_of_bounds(square, d)
        self.term = bound_terms(square / 2, self.gap)

    def _serve_as_they_are(self, X: np.ndarray, square: np.ndarray, blocks: list[slice]) -> bool:
        """Whether float32 rows need no copy: centers and units that cost the bounds little.

        Squared lengths are written in this case.
        """
        if X.dtype != np.float32 or not len(X) or abs(np.log2(self.scale)) > _MAX_UNIT:
            return False
        map_threads(lambda i: squared_lengths(X[blocks[i]], square[blocks[i]]), len(blocks))
        return float(self.center @ self.center) <= _MAX_CENTER * float(square.mean())

    def _round(self, X: np.ndarray, rounded: np.ndarray, square: np.ndarray) -> None:
        round_rows(X, self.center, self.scale, rounded, square)

    def round_queries(self, Q: np.ndarray) -> Rounded:
        """Queries in float32; those that are too far away for it get bounds that say nothing."""
        source, square = np.ascontiguousarray(Q, np.float64), np.empty(len(Q))
        rounded = np.empty(Q.shape, np.float32)
        with np.errstate(over="ignore", invalid="ignore"):
            self._round(source, rounded, square)
            gap = error_of_bounds(square, Q.shape[1])
        return drop_far_queries(Rounded(rounded, square / 2, gap, source))

    def products(self, queries: Rounded, first: int, end: int) -> np.ndarray:
        """Products (m, t) of the queries and some rows, in float32."""
        return queries.X @ self.rounded[first:end].T

    def filter(self, block: QueryBlock) -> None:
        """Collect candidates where products arise, or tile by tile if rows are very wide."""
        d = block.queries.X.shape[1]
        if d > MAX_FUSED_COLUMNS:
            super().filter(block)
            return
        negative = pad_queries(block.queries.X)
        space = (
            np.empty(len(negative), np.float32),
            aligned_zeros((d, TILE_ROWS), np.float32),
            np.empty(TILE_ROWS, np.float32),
            aligned_zeros((QUERIES_PER_BLOCK, TILE_ROWS), np.float32),
            np.empty(QUERIES_PER_BLOCK, np.uint64),
        )
        queries = block.queries.source, block.queries.half, block.queries.gap, self.scale**2 / 2
        candidates = block.bounds, block.low, block.row, block.exact, block.count
        for first in range(0, self.n_rows, FUSED_ROWS):
            end = min(first + FUSED_ROWS, self.n_rows)
            rows = self.rounded, np.arange(first, end), self.term, self.gap, first, end
            filter_rows(*rows, *block.codes, negative, self.X, *queries, *candidates, *space)

    def measure(self, queries: Rounded, *candidates: np.ndarray) -> None:
        """Squared distances of candidates in float64; see `measure_dense`."""
        measure_dense(self.X, queries.source, *candidates)


def error_of_bounds(square: np.ndarray, d: int) -> np.ndarray:
    """Twice the share of rows in the error of the bounds, from their squared lengths."""
    return 2 * (_UNIT * (0.6 * d + 5) * square + d * 2.0**-120)


def bound_terms(half: np.ndarray, gap: np.ndarray) -> np.ndarray:
    """Terms of rows in the lower bounds, rounded down to float32."""
    return np.nextafter((half - gap / 2).astype(np.float32), np.float32(-np.inf))


def drop_far_queries(queries: Rounded) -> Rounded:
    """Queries of which every row is measured, where they are too long for float32."""
    far = ~(queries.half < _MAX_QUERY**2)
    if far.any():
        queries.X[far] = 0.0
        queries.half[far], queries.gap[far] = 0.0, np.inf
    return queries


def concatenate_lists(parts: list[NeighborLists]) -> NeighborLists:
    """The lists of several blocks of queries, below each other."""
    if not parts:
        return NeighborLists(np.zeros(1, np.int64), np.empty(0), np.empty(0, np.int64))
    sizes = np.concatenate([np.diff(part.starts) for part in parts])
    return NeighborLists(
        np.append(0, np.cumsum(sizes)),
        np.concatenate([part.distances for part in parts]),
        np.concatenate([part.rows for part in parts]),
    )


class QueryBlock:
    """The search for a block of queries: its candidates and their bounds."""

    def __init__(
        self,
        index: FilteredSearch,
        Q: Any,
        k: int,
        capacity: int,
        row_codes: np.ndarray,
        query_codes: np.ndarray,
    ) -> None:
        m = Q.shape[0]
        self.index, self.codes = index, (row_codes, query_codes)
        self.queries = index.round_queries(Q)
        self.bounds = np.full((m, k), np.inf)
        self.low, self.exact = np.empty((m, capacity)), np.empty((m, capacity))
        self.row = np.empty((m, capacity), np.int64)
        self.count = np.zeros(m, np.int64)
        self.starts = np.arange(m) * capacity
        self.near = np.empty(ROWS_PER_BLOCK, np.int64)

    def limit(self, squares: np.ndarray) -> None:
        """Leave out rows whose squared distance is larger."""
        bound = squares * self.index.scale**2 / 2 - self.queries.half
        self.bounds[:] = bound[:, None]

    def search(self, distances: np.ndarray, rows: np.ndarray) -> None:
        """Write the k nearest of all rows."""
        self.index.filter(self)
        candidates = self.low, self.row, self.exact, self.count
        discard_far(self.bounds, self.queries.gap, *candidates)
        self._measure(np.ones(len(rows), bool))
        write_nearest(self.row, self.exact, self.count, distances, rows)

    def filter(self, tile: np.ndarray, first: int, end: int) -> None:
        """Collect candidates among the rows of a tile of products."""
        start = np.zeros(len(tile), np.int64)
        candidates = self.bounds, self.low, self.row, self.exact, self.count
        terms = self.index.term[first:end], self.index.gap[first:end]
        arguments = (
            tile,
            *terms,
            first,
            *self.codes,
            self.queries.gap,
            *candidates,
            start,
            self.near,
        )
        while filter_tile(*arguments):
            wanted = start < end - first
            self._measure(wanted)
            keep_nearest(wanted, self.index.scale**2 / 2, self.queries.half, *candidates)

    def _measure(self, wanted: np.ndarray) -> None:
        candidates = self.row.ravel(), self.exact.ravel()
        self.index.measure(self.queries, wanted, self.starts, self.count, *candidates)
