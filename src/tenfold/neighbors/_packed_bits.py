"""Neighbors of rows of zeros and ones by metrics of sets: 64 columns in a word."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold._compiled.near_bits import QUERIES_PER_BLOCK, ROWS_PER_BLOCK
from tenfold.engine.thread_pool import map_threads
from tenfold.neighbors._brute_force import NO_CODES, NOBODY, Neighbors
from tenfold.neighbors._hamming_numba import search_hamming
from tenfold.neighbors._pair_distance_numba import (
    BINARY_HAMMING,
    fill_bits,
    search_bits,
)
from tenfold.neighbors._pairwise import SET_METRICS, PairwiseDistance, PairwiseSearch
from tenfold.neighbors._thresholds import BLOCK_NUMBERS

_TILE = 1024  # rows whose bits are counted at once
_PACKED_NUMBERS = 2**18  # of a block of rows that is packed: it is read twice, so from the cache


class PackedRows(NamedTuple):
    """Rows as bits: bit b of word v is whether column 64 v + b is not zero.

    Attributes
    ----------
    words : (n_words, n) uint64
    n_ones : (n,) numbers of ones
    """

    words: np.ndarray
    n_ones: np.ndarray


def is_set_metric(metric: Any, params: dict) -> bool:
    """Whether a metric is one of sets by its name; Hamming's is one among zeros and ones."""
    if not isinstance(metric, str) or any(value is not None for value in params.values()):
        return False
    return metric in SET_METRICS or metric == "hamming"


def pack_rows(X: np.ndarray, metric: str) -> PackedRows | None:
    """Rows as bits; None if the metric is Hamming's and there are other numbers than 0 and 1."""
    n, n_words = len(X), -(-X.shape[1] // 64)
    words, n_ones = np.empty((n_words, n), np.uint64), np.empty(n)
    step = max(_PACKED_NUMBERS // max(X.shape[1], 1), 1)
    other = np.zeros(-(-n // step), bool)

    def pack(i: int) -> None:
        rows = slice(i * step, (i + 1) * step)
        part, ones = X[rows], X[rows] != 0
        if metric == "hamming" and np.count_nonzero(part == 1) < np.count_nonzero(ones):
            other[i] = True
            return
        packed = np.packbits(ones, axis=1, bitorder="little")
        if packed.shape[1] < 8 * n_words:
            packed = np.pad(packed, [(0, 0), (0, 8 * n_words - packed.shape[1])])
        bits = packed.view("<u8")
        words[:, rows] = bits.T
        n_ones[rows] = np.bitwise_count(bits).sum(axis=1)

    map_threads(pack, len(other))
    return None if other.any() else PackedRows(words, n_ones)


class BitSearch(PairwiseSearch):
    """Neighbors of packed rows.

    Distances are quotients of whole numbers, so they have the bits of those of the rows as given.

    Parameters
    ----------
    X : (n, d) array
        The rows; a column is true where it is not zero.
    metric : str
        Name of a metric of sets, or "hamming".
    bits : PackedRows
        The same rows as bits.
    """

    def __init__(self, X: np.ndarray, metric: str, bits: PackedRows) -> None:
        super().__init__(X, PairwiseDistance(metric, {}, len(X)))
        self.metric = metric
        self.kind = BINARY_HAMMING if metric == "hamming" else SET_METRICS[metric]
        self.bits = bits

    def nearest(
        self,
        Q: np.ndarray,
        k: int,
        row_codes: np.ndarray = NO_CODES,
        query_codes: np.ndarray = NO_CODES,
    ) -> Neighbors:
        """The k nearest rows of each query; see `EuclideanBruteForce.nearest`."""
        packed = pack_rows(Q, self.metric)
        if packed is None:
            return super().nearest(Q, k, row_codes, query_codes)
        found = Neighbors(np.full((len(Q), k), np.inf), np.full((len(Q), k), NOBODY))
        codes, n = (row_codes, query_codes), float(self.X.shape[1])
        if self.kind == BINARY_HAMMING:
            words, blocks = packed.words, -(-len(Q) // QUERIES_PER_BLOCK)
            query = np.zeros((len(words), blocks * QUERIES_PER_BLOCK), np.uint64)
            query[:, : len(Q)] = words
            limits = np.full(query.shape[1], n, np.uint64)
            space = np.empty((QUERIES_PER_BLOCK, ROWS_PER_BLOCK), np.uint64)
            hits = np.empty(QUERIES_PER_BLOCK, np.uint64)
            search_hamming(self.bits.words, n, query, *codes, limits, space, hits, *found)
            return found
        space = np.empty(_TILE, np.uint64), np.empty(_TILE)
        search_bits(self.kind, *self.bits, n, *packed, *codes, *space, *found)
        return found

    def _blocks(self, Q: np.ndarray) -> Any:
        """Slices of queries and rows, and their distances."""
        packed = pack_rows(Q, self.metric)
        if packed is None:
            yield from super()._blocks(Q)
            return
        height = max(BLOCK_NUMBERS // max(self.n_rows, 1), 1)
        space = np.empty(_TILE, np.uint64), np.empty(_TILE)
        for a in range(0, len(Q), height):
            part = slice(a, min(a + height, len(Q)))
            block = np.empty((part.stop - a, self.n_rows))
            rows = *self.bits, float(self.X.shape[1])
            query = packed.words[:, part].copy(), packed.n_ones[part]
            fill_bits(self.kind, *rows, *query, *space, block)
            yield part, slice(0, self.n_rows), block
