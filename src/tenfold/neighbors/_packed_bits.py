"""Neighbors of rows of zeros and ones by metrics of sets: 64 columns in a word."""

from __future__ import annotations

from typing import Any

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


def is_packable(metric: Any, params: dict, X: Any) -> bool:
    """Whether a metric over these rows is one of sets: named so, or Hamming's of zeros and ones."""
    if not isinstance(metric, str) or any(value is not None for value in params.values()):
        return False
    return metric in SET_METRICS or (metric == "hamming" and _is_binary(X))


def _is_binary(X: np.ndarray) -> bool:
    blocks = _blocks_of_rows(X)
    binary = np.zeros(len(blocks), bool)

    def check(i: int) -> None:
        part = X[blocks[i]]
        binary[i] = bool(((part == 0) | (part == 1)).all())

    map_threads(check, len(blocks))
    return bool(binary.all())


def _blocks_of_rows(X: np.ndarray) -> list[slice]:
    step = max(BLOCK_NUMBERS // max(X.shape[1], 1), 1)
    return [slice(start, start + step) for start in range(0, len(X), step)]


class BitSearch(PairwiseSearch):
    """Neighbors of packed rows.

    Distances are quotients of whole numbers, so they have the bits of those of the rows as given.

    Parameters
    ----------
    X : (n, d) array
        The rows; a column is true where it is not zero.
    metric : str
        Name of a metric of sets, or "hamming".
    """

    def __init__(self, X: np.ndarray, metric: str) -> None:
        super().__init__(X, PairwiseDistance(metric, {}, len(X)))
        self.metric = metric
        self.kind = BINARY_HAMMING if metric == "hamming" else SET_METRICS[metric]
        self.bits = _pack(X)

    def nearest(
        self,
        Q: np.ndarray,
        k: int,
        row_codes: np.ndarray = NO_CODES,
        query_codes: np.ndarray = NO_CODES,
    ) -> Neighbors:
        """The k nearest rows of each query; see `EuclideanBruteForce.nearest`."""
        if not self._takes(Q):
            return super().nearest(Q, k, row_codes, query_codes)
        found = Neighbors(np.full((len(Q), k), np.inf), np.full((len(Q), k), NOBODY))
        codes, n = (row_codes, query_codes), float(self.X.shape[1])
        if self.kind == BINARY_HAMMING:
            words, blocks = _pack(Q)[0], -(-len(Q) // QUERIES_PER_BLOCK)
            query = np.zeros((len(words), blocks * QUERIES_PER_BLOCK), np.uint64)
            query[:, : len(Q)] = words
            limits = np.full(query.shape[1], n, np.uint64)
            space = np.empty((QUERIES_PER_BLOCK, ROWS_PER_BLOCK), np.uint64)
            hits = np.empty(QUERIES_PER_BLOCK, np.uint64)
            search_hamming(self.bits[0], n, query, *codes, limits, space, hits, *found)
            return found
        space = np.empty(_TILE, np.uint64), np.empty(_TILE)
        search_bits(self.kind, *self.bits, n, *_pack(Q), *codes, *space, *found)
        return found

    def _blocks(self, Q: np.ndarray) -> Any:
        """Slices of queries and rows, and their distances."""
        if not self._takes(Q):
            yield from super()._blocks(Q)
            return
        height = max(BLOCK_NUMBERS // max(self.n_rows, 1), 1)
        space = np.empty(_TILE, np.uint64), np.empty(_TILE)
        for a in range(0, len(Q), height):
            part = slice(a, min(a + height, len(Q)))
            block = np.empty((part.stop - a, self.n_rows))
            rows = *self.bits, float(self.X.shape[1])
            fill_bits(self.kind, *rows, *_pack(Q[part]), *space, block)
            yield part, slice(0, self.n_rows), block

    def _takes(self, Q: np.ndarray) -> bool:
        """Whether queries can be packed: for Hamming's distance other numbers are different."""
        return self.kind != BINARY_HAMMING or _is_binary(Q)


def _pack(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Words (n_words, n) and numbers of ones (n,) of rows.

    Bit b of word v is whether column 64 v + b is not zero.
    """
    n, n_words = len(X), -(-X.shape[1] // 64)
    words, count, blocks = np.empty((n_words, n), np.uint64), np.empty(n), _blocks_of_rows(X)

    def pack(i: int) -> None:
        packed = np.packbits(X[blocks[i]] != 0, axis=1, bitorder="little")
        padded = np.zeros((len(packed), 8 * n_words), np.uint8)
        padded[:, : packed.shape[1]] = packed
        part = padded.view("<u8")
        words[:, blocks[i]] = part.T
        count[blocks[i]] = np.bitwise_count(part).sum(axis=1)

    map_threads(pack, len(blocks))
    return words, count
