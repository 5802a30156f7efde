"""The filter of `_filter_numba` where products arise: tiles of rows against blocks of queries.

Rows and queries are dense, and products stay in registers (`tenfold._compiled.near_scores`). A
query whose candidates have filled their space is measured at once, so its threshold is always the
least that is known.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold._compiled.near_scores import QUERIES_PER_BLOCK, first_bit, score_tile
from tenfold._compiled.register_block import TILE_ROWS
from tenfold._compiled.two_nearest import transpose_rows
from tenfold.neighbors._filter_numba import (
    discard,
    keep_nearest_of,
    measure_query,
    push_bound,
    round_up,
)
from tenfold.neighbors._heap_numba import INLINE, JIT

_ALL = np.uint64(2**64 - 1)
_FIRST = np.int64(0)  # a plain 0 would be a type of its own, for which functions are compiled again


@INLINE
def _take_hits(
    hits: Any, scores: Any, c: int, i: int, first: int, row_gap: Any, row_codes: Any,
    query_codes: Any, X: Any, Q: Any, half: Any, slack: Any, scale: float, bounds: Any, low: Any,
    row: Any, exact: Any, count: Any, threshold: Any,
) -> None:  # fmt: skip
    """Add the rows of a tile that may be among the k nearest of query i to its candidates."""
    k, capacity, n = bounds.shape[1], low.shape[1], count[i]
    while hits != 0:
        j = first_bit(hits)
        hits &= hits - np.uint64(1)
        bound, r = scores[c, j], first + j
        if query_codes.shape[0] > 0 and row_codes[r] == query_codes[i]:
            continue
        if n == capacity:
            n = discard(low[i], row[i], exact[i], n, bounds[i, 0] + slack[i])
            if 4 * n > 3 * capacity:
                measure_query(X, Q, i, row[i], exact[i], _FIRST, n)
                keep_nearest_of(bounds[i], low[i], row[i], exact[i], n, scale, half[i])
                n = k
                threshold[i] = round_up(bounds[i, 0] + slack[i])
        if bound > threshold[i]:
            continue
        low[i, n], row[i, n] = bound, r
        n += 1
        upper = np.float64(bound) + row_gap[r]
        if upper < bounds[i, 0]:
            push_bound(bounds[i], k, upper)
            threshold[i] = round_up(bounds[i, 0] + slack[i])
    count[i] = n


@JIT
def filter_rows(
    rounded: Any, numbers: Any, row_term: Any, row_gap: Any, start: int, end: int, row_codes: Any,
    query_codes: Any, negative: Any, X: Any, Q: Any, half: Any, slack: Any, scale: float,
    bounds: Any, low: Any, row: Any, exact: Any, count: Any, threshold: Any, columns: Any,
    terms: Any, scores: Any, hits: Any,
) -> None:  # fmt: skip
    """Collect the rows from `start` to `end` that may be among the k nearest of each query.

    Parameters
    ----------
    rounded : (n, d) float32 rows
    numbers : (end - start,) numbers of these rows
    row_term, row_gap, row_codes, query_codes, slack, bounds, low, row, exact, count
        As of `filter_tile`, for all n rows.
    negative : queries as of `pad_queries`
    X, Q : rows and queries as of `measure_dense`
    half, scale : as of `keep_nearest`
    threshold : float32 work space, one for each row of `negative`
    columns, terms, scores, hits : work space of `score_tile`
    """
    m = count.shape[0]
    for i in range(m):
        threshold[i] = round_up(bounds[i, 0] + slack[i])
    for first in range(start, end, TILE_ROWS):
        size = min(TILE_ROWS, end - first)
        transpose_rows(rounded, numbers, first - start, size, columns)
        for j in range(size):
            terms[j] = row_term[first + j]
        rows_of_tile = _ALL >> np.uint64(64 - size)
        for i in range(0, m, QUERIES_PER_BLOCK):
            if not score_tile(columns, terms, negative, i, threshold, scores, hits):
                continue
            for c in range(min(QUERIES_PER_BLOCK, m - i)):
                near = hits[c] & rows_of_tile
                if near != 0:
                    _take_hits(
                        near, scores, c, i + c, first, row_gap, row_codes, query_codes, X, Q, half,
                        slack, scale, bounds, low, row, exact, count, threshold,
                    )  # fmt: skip
