"""Neighbors of rows of zeros and ones by metrics of sets: 64 columns in a word."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.neighbors._brute_force import NO_CODES, NOBODY, Neighbors
from tenfold.neighbors._pair_distance_numba import (
    BINARY_HAMMING,
    fill_bits,
    pack_bits,
    search_bits,
)
from tenfold.neighbors._pairwise import SET_METRICS, PairwiseDistance, PairwiseSearch
from tenfold.neighbors._thresholds import BLOCK_NUMBERS

_TILE = 1024


def is_packable(metric: Any, params: dict, X: Any) -> bool:
    """Whether a metric over these rows is one of sets: named so, or Hamming's of zeros and ones."""
    if not isinstance(metric, str) or any(value is not None for value in params.values()):
        return False
    return metric in SET_METRICS or (metric == "hamming" and _is_binary(X))


def _is_binary(X: np.ndarray) -> bool:
    step = max(BLOCK_NUMBERS // max(X.shape[1], 1), 1)
    parts = (X[start : start + step] for start in range(0, len(X), step))
    return all(bool(((part == 0) | (part == 1)).all()) for part in parts)


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
        space = np.empty(_TILE, np.uint64), np.empty(_TILE)
        rows = *self.bits, float(self.X.shape[1])
        codes = row_codes, query_codes
        search_bits(self.kind, *rows, *_pack(Q), *codes, *space, *found)
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
    """Words (n_words, n) and numbers of ones (n,) of rows."""
    words, count = np.empty((-(-X.shape[1] // 64), len(X)), np.uint64), np.empty(len(X))
    pack_bits(np.ascontiguousarray(X), words, count)
    return words, count
