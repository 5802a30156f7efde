"""Distances of two rows by metrics that no product of matrices gives, summed in column order."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold._compiled.popcount import popcount
from tenfold.neighbors._heap_numba import INLINE, JIT, push, sort_heap

SQUARES, ABSOLUTES, MAXIMUM, MINKOWSKI, CANBERRA, HAVERSINE, HAMMING = range(7)
# metrics of sets: a column is true where it is not zero
JACCARD, DICE, ROGERS_TANIMOTO, RUSSELL_RAO, SOKAL_SNEATH, YULE, BINARY_HAMMING = range(7, 14)


@INLINE
def set_distance(kind: int, common: Any, in_a: Any, in_b: Any, n: Any) -> float:
    """Distance of two sets among n things, from their sizes and the size of the intersection."""
    only_a, only_b = in_a - common, in_b - common
    apart = only_a + only_b
    if apart == 0 and kind != RUSSELL_RAO:
        return 0.0  # also of empty sets
    if kind == BINARY_HAMMING:
        return apart / n
    if kind == JACCARD:
        return apart / (common + apart)
    if kind == DICE:
        return apart / (2.0 * common + apart)
    if kind == ROGERS_TANIMOTO:
        return 2.0 * apart / (n + apart)
    if kind == RUSSELL_RAO:
        return (n - common) / n
    if kind == SOKAL_SNEATH:
        return 2.0 * apart / (common + 2.0 * apart)
    half = only_a * only_b
    return 2.0 * half / (common * (n - common - apart) + half) if half > 0 else 0.0


@INLINE
def _haversine(a: Any, b: Any) -> float:
    up, across = np.sin(0.5 * (a[0] - b[0])), np.sin(0.5 * (a[1] - b[1]))
    return 2.0 * np.arcsin(np.sqrt(up * up + np.cos(a[0]) * np.cos(b[0]) * across * across))


@INLINE
def _sum_of_differences(kind: int, a: Any, b: Any) -> float:
    """Sum of squares or absolute values, or the largest absolute value, of the differences."""
    total = 0.0
    if kind == SQUARES:
        for j in range(a.shape[0]):
            difference = b[j] - a[j]
            total += difference * difference
    elif kind == ABSOLUTES:
        for j in range(a.shape[0]):
            total += abs(b[j] - a[j])
    else:
        for j in range(a.shape[0]):
            total = max(total, abs(b[j] - a[j]))
    return total


@INLINE
def _minkowski(a: Any, b: Any, p: float, w: Any) -> float:
    total = 0.0
    for j in range(a.shape[0]):
        total += w[j] * abs(b[j] - a[j]) ** p
    return total ** (1.0 / p)


@INLINE
def _canberra(a: Any, b: Any) -> float:
    total = 0.0
    for j in range(a.shape[0]):
        size = abs(a[j]) + abs(b[j])
        if size > 0:
            total += abs(b[j] - a[j]) / size
    return total


@INLINE
def _hamming(a: Any, b: Any) -> float:
    different = 0.0
    for j in range(a.shape[0]):
        different += a[j] != b[j]
    return different / a.shape[0]


@INLINE
def _distance_of_sets(kind: int, a: Any, b: Any) -> float:
    common = in_a = in_b = 0.0
    for j in range(a.shape[0]):
        in_a += a[j] != 0
        in_b += b[j] != 0
        common += a[j] != 0 and b[j] != 0
    return set_distance(kind, common, in_a, in_b, np.float64(a.shape[0]))


@INLINE
def pair_distance(kind: int, a: Any, b: Any, p: float, w: Any) -> float:
    """Distance of two rows; its square for SQUARES.

    Parameters
    ----------
    kind : one of the constants of this module
    a, b : (d,) float64 rows
    p, w : power and (d,) weights of MINKOWSKI
    """
    if kind <= MAXIMUM:
        return _sum_of_differences(kind, a, b)
    if kind == MINKOWSKI:
        return _minkowski(a, b, p, w)
    if kind == CANBERRA:
        return _canberra(a, b)
    if kind == HAVERSINE:
        return _haversine(a, b)
    if kind == HAMMING:
        return _hamming(a, b)
    return _distance_of_sets(kind, a, b)


@JIT
def fill_block(kind: int, Q: Any, X: Any, p: float, w: Any, block: Any) -> None:
    """Write the distances of queries from rows; see `pair_distance`.

    Parameters
    ----------
    kind, p, w : the metric
    Q, X : (m, d) and (t, d) float64 arrays
    block : (m, t) result
    """
    for i in range(Q.shape[0]):
        for j in range(X.shape[0]):
            block[i, j] = pair_distance(kind, Q[i], X[j], p, w)


@INLINE
def _fill_tile(
    kind: int, words: Any, count: Any, start: int, size: int, query: Any, i: int, in_query: float,
    n: float, common: Any, distance: Any,
) -> None:  # fmt: skip
    """Distances of a query from the rows of a tile."""
    t, first = np.uint64(size), np.uint64(start)
    for j in range(t):
        common[j] = np.uint64(0)
    for v in range(words.shape[0]):
        word, row = query[v, i], words[v]
        for j in range(t):
            common[j] += popcount(word & row[first + j])
    if kind == BINARY_HAMMING:
        for j in range(t):
            distance[j] = (in_query + count[first + j] - 2.0 * np.float64(common[j])) / n
        return
    for j in range(t):
        distance[j] = set_distance(kind, np.float64(common[j]), in_query, count[first + j], n)


@JIT
def search_bits(
    kind: int, words: Any, count: Any, n: float, query: Any, in_query: Any, row_codes: Any,
    query_codes: Any, common: Any, distance: Any, distances: Any, rows: Any,
) -> None:  # fmt: skip
    """The k nearest packed rows of each query.

    Parameters
    ----------
    kind : JACCARD to YULE
    words, count : rows, (n_words, n) words and (n,) numbers of ones
    n : number of columns
    query, in_query : the queries likewise
    row_codes, query_codes : rows of the same code as the query are left out; empty: none
    common, distance : (t,) uint64 and float64 work space for tiles of t rows
    distances, rows : (m, k) results, filled with infinity and NOBODY
    """
    k = distances.shape[1]
    for start in range(0, words.shape[1], common.shape[0]):
        size = min(common.shape[0], words.shape[1] - start)
        for i in range(distances.shape[0]):
            _fill_tile(
                kind, words, count, start, size, query, i, in_query[i], n, common, distance
            )  # fmt: skip
            best, hits = distances[i, 0], np.uint32(0)
            for j in range(np.uint64(size)):
                hits += np.uint32(not distance[j] > best)
            if hits == 0:
                continue
            for j in range(size):
                d, r = distance[j], start + j
                if np.isnan(d):
                    d = np.inf
                if d <= distances[i, 0] and (
                    query_codes.shape[0] == 0 or row_codes[r] != query_codes[i]
                ):
                    push(distances[i], rows[i], k, d, r)
    for i in range(distances.shape[0]):
        sort_heap(distances[i], rows[i], k)


@JIT
def fill_bits(
    kind: int, words: Any, count: Any, n: float, query: Any, in_query: Any, common: Any,
    distance: Any, block: Any,
) -> None:  # fmt: skip
    """Write the distances of queries from all packed rows; parameters as of `search_bits`."""
    for start in range(0, words.shape[1], common.shape[0]):
        size = min(common.shape[0], words.shape[1] - start)
        for i in range(query.shape[1]):
            _fill_tile(
                kind, words, count, start, size, query, i, in_query[i], n, common, distance
            )  # fmt: skip
            for j in range(size):
                block[i, start + j] = distance[j]
