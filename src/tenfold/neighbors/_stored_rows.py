"""The statistic of a neighbor model: the training rows themselves, which merge by concatenation."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from tenfold.engine.arrays import ArraySource, SparseSource
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows


class NeighborRows(NamedTuple):
    """Rows of a fit in their order.

    Attributes
    ----------
    X : (n, d) array or CSR matrix
    y : (n,) or (n, n_outputs) targets, class numbers of a classifier, or None
    w : (n,) weights, or None where every row weighs 1
    groups : (n,) labels of groups, or None
    """

    X: Any
    y: Any = None
    w: Any = None
    groups: Any = None
    narrow = True  # rows keep their types

    @property
    def n_rows(self) -> int:
        return self.X.shape[0]

    def merge(self, other: NeighborRows) -> NeighborRows:
        """The rows of both, those of `other` last."""
        if (self.groups is None) != (other.groups is None):
            raise ValueError(
                "of two sets of rows one has groups and one has none: give both or none"
            )
        w = None
        if self.w is not None or other.w is not None:
            w = np.concatenate(
                [np.ones(part.n_rows) if part.w is None else part.w for part in (self, other)]
            )
        X = _below(self.X, other.X)
        return NeighborRows(X, _below(self.y, other.y), w, _below(self.groups, other.groups))

    def expand_to_classes(self, places: np.ndarray, k: int) -> NeighborRows:
        """The same among k classes, of which its own are those at `places`."""
        del k
        return self._replace(y=places[self.y])


def _below(a: Any, b: Any) -> Any:
    """Arrays below each other."""
    if a is None or b is None:
        return None
    if sparse.issparse(a) or sparse.issparse(b):
        return sparse.csr_array(sparse.vstack([sparse.csr_array(a), sparse.csr_array(b)]))
    return np.concatenate([a, b])


def chunk_matrix(chunk: Chunk) -> np.ndarray:
    """The rows of a chunk."""
    return np.array(chunk.X, order="C")


def chunk_view(chunk: Chunk) -> np.ndarray:
    """The rows of a chunk whose memory is not used again."""
    return chunk.X


def chunk_target(chunk: Chunk) -> np.ndarray:
    """The targets of a chunk."""
    return np.array(chunk.y)


def chunk_weight(chunk: Chunk) -> np.ndarray:
    """The weights of a chunk."""
    return np.array(chunk.weights(), np.float64)


def store_rows(rows: Rows) -> NeighborRows:
    """All rows in memory, with targets and weights."""
    source: Any = rows.source
    is_here = isinstance(source, ArraySource | SparseSource) and rows.classes is None
    if rows.sparse:
        X = rows.gather().X
    elif isinstance(source, ArraySource):
        X = rows.each(chunk_view)  # which copies all chunks but an only one
        X = np.array(X, order="C") if np.may_share_memory(X, source.X) else X
    else:
        X = rows.each(chunk_matrix)
    y = w = None
    if source.has_target:
        y = np.array(source.y) if is_here else rows.each(chunk_target)
    if source.has_weight:
        w = np.array(source.w, np.float64) if is_here else rows.each(chunk_weight)
    return NeighborRows(X, y, w)
