"""Documents of a chunk as bags of words: CSR arrays in the types that compiled loops take."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk


class Bags(NamedTuple):
    """Documents as bags of words.

    Attributes
    ----------
    starts : (n + 1,) where each document begins
    words : numbers of the words
    counts : how often each occurs
    weights : (n,) weights of the documents
    """

    starts: np.ndarray
    words: np.ndarray
    counts: np.ndarray
    weights: np.ndarray

    @property
    def lengths(self) -> np.ndarray:
        """Words of each document."""
        sums = np.concatenate([[0.0], np.cumsum(self.counts)])
        return sums[self.starts[1:]] - sums[self.starts[:-1]]


def bags_of_words(chunk: Chunk, model_name: str) -> Bags:
    """The documents of a chunk; an error names the first count that is negative."""
    X = chunk.X
    if isinstance(X, np.ndarray):
        starts = np.arange(0, X.size + 1, X.shape[1], dtype=np.int64)
        words = np.tile(np.arange(X.shape[1], dtype=np.int32), X.shape[0])
        counts = X.reshape(-1).astype(np.float64, copy=False)
        there = counts != 0
        if not there.all():  # as in sparse rows, so that sums have the same order
            starts = np.concatenate([[0], np.cumsum(there)])[starts].astype(np.int64)
            words, counts = np.compress(there, words), np.compress(there, counts)
    else:
        starts = X.indptr.astype(np.int64, copy=False)
        words = X.indices.astype(np.int32, copy=False)
        counts = X.data.astype(np.float64, copy=False)
    if counts.size and counts.min() < 0:
        _raise_negative(chunk, starts, words, counts, model_name)
    weights = np.ones(chunk.rows) if chunk.w is None else chunk.w.astype(np.float64)
    return Bags(starts, words, counts, weights)


def _raise_negative(chunk: Chunk, starts: Any, words: Any, counts: Any, model_name: str) -> None:
    at = int(np.flatnonzero(counts < 0)[0])
    row = chunk.first + int(np.searchsorted(starts, at, side="right")) - 1
    raise ValueError(
        f"Negative values in data passed to {model_name} (input X): row {row}, column "
        f"{words[at]} holds {counts[at]:g}; give counts of words, or weights such as tf-idf"
    )
