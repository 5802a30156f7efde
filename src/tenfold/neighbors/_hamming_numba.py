"""Nearest packed rows by the number of bits that differ; see `tenfold._compiled.near_bits`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold._compiled.near_bits import QUERIES_PER_BLOCK, ROWS_PER_BLOCK, near_bits
from tenfold._compiled.near_scores import first_bit
from tenfold._compiled.popcount import popcount
from tenfold.neighbors._heap_numba import INLINE, JIT, push, sort_heap

_TILE = 16 * ROWS_PER_BLOCK  # rows that stay in the cache for all queries


@INLINE
def _push_row(
    different: Any, n: float, r: int, i: int, row_codes: Any, query_codes: Any, limits: Any,
    distances: Any, rows: Any,
) -> None:  # fmt: skip
    """Put a row among the nearest of query i, and lower the limit of the query."""
    if different > limits[i] or (query_codes.shape[0] > 0 and row_codes[r] == query_codes[i]):
        return
    push(distances[i], rows[i], distances.shape[1], np.float64(different) / n, r)
    if distances[i, 0] < np.inf:
        limits[i] = np.uint64(distances[i, 0] * n + 0.5)  # the whole number that was divided by n


@JIT
def search_hamming(
    words: Any, n: float, query: Any, row_codes: Any, query_codes: Any, limits: Any, ones: Any,
    hits: Any, distances: Any, rows: Any,
) -> None:  # fmt: skip
    """The k nearest packed rows of each query by Hamming's distance.

    Parameters
    ----------
    words : (n_words, n_rows) rows
    n : number of columns
    query : (n_words, m) queries, with others of zeros up to whole blocks
    row_codes, query_codes : rows of the same code as the query are left out; empty: none
    limits : (m,) for each of these n, the largest distance that counts
    ones, hits : work space of `near_bits`
    distances, rows : (m, k) results, filled with infinity and NOBODY
    """
    m, whole = distances.shape[0], words.shape[1] // ROWS_PER_BLOCK * ROWS_PER_BLOCK
    for start in range(0, whole, _TILE):
        for i in range(0, m, QUERIES_PER_BLOCK):
            for first in range(start, min(start + _TILE, whole), ROWS_PER_BLOCK):
                if not near_bits(words, first, query, i, limits, ones, hits):
                    continue
                for c in range(min(QUERIES_PER_BLOCK, m - i)):
                    near = hits[c]
                    while near != 0:
                        j = first_bit(near)
                        near &= near - np.uint64(1)
                        _push_row(
                            ones[c, j], n, first + j, i + c, row_codes, query_codes, limits,
                            distances, rows,
                        )  # fmt: skip
    for i in range(m):
        for r in range(whole, words.shape[1]):
            different = np.uint64(0)
            for v in range(words.shape[0]):
                different += popcount(words[v, r] ^ query[v, i])
            _push_row(different, n, r, i, row_codes, query_codes, limits, distances, rows)
        sort_heap(distances[i], rows[i], distances.shape[1])
