"""Block-wise shuffling: rows in an order that depends on the seed alone, for stochastic methods.

Strips of rows that follow each other are shuffled, then the rows of some strips among each other.
That mixes nearly as well as shuffling all rows, and what is visited next is still in the cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tenfold.engine.arrays import ArraySource, SparseSource, slice_csr
from tenfold.engine.chunk import Chunk, chunk_numbers

if TYPE_CHECKING:
    from tenfold.engine.rows import Rows

_STRIP_ROWS = 256  # rows that stay neighbours
_STRIPS_PER_BLOCK = 64  # strips whose rows are mixed


class ShuffledBlock(NamedTuple):
    """Some rows and the order in which to visit them.

    Attributes
    ----------
    X, y, w : rows, targets and weights, perhaps more than this block visits
    order : positions in them, one after the other
    numbers : the same as global row numbers
    """

    X: Any
    y: Any
    w: Any
    order: np.ndarray
    numbers: np.ndarray


def shuffle_blocks(rows: Rows, seed: int | None) -> Iterator[ShuffledBlock]:
    """Every row once; `seed=None` keeps the given order."""
    rng = None if seed is None else np.random.default_rng(seed)
    strips = np.arange(len(chunk_numbers(rows.n_rows, _STRIP_ROWS)))
    if rng is not None:
        rng.shuffle(strips)
    whole = whole_chunk(rows)
    for start in range(0, len(strips), _STRIPS_PER_BLOCK):
        numbers = _strip_rows(np.sort(strips[start : start + _STRIPS_PER_BLOCK]), rows.n_rows)
        part = whole or rows.take(numbers)
        order = numbers if whole else np.arange(len(numbers))
        if rng is not None:
            mixed = rng.permutation(len(numbers))
            order, numbers = order[mixed], numbers[mixed]
        yield ShuffledBlock(*part[:3], order, numbers)


def _strip_rows(strips: np.ndarray, n_rows: int) -> np.ndarray:
    numbers = (strips[:, None] * _STRIP_ROWS + np.arange(_STRIP_ROWS)).ravel()
    return numbers[numbers < n_rows]


def whole_chunk(rows: Rows) -> Chunk | None:
    """All rows without a copy, if they are contiguous in memory; checked once."""
    source = rows.source
    if "chunk" not in rows.derived and isinstance(source, ArraySource | SparseSource):
        X = _contiguous_matrix(source)
        if X is not None:
            y = None if source.y is None else np.ascontiguousarray(source.y)
            w = None if source.w is None else np.ascontiguousarray(source.w)
            rows.derived["chunk"] = rows.prepare(Chunk(X, y, w))
    return rows.derived.get("chunk")


def _contiguous_matrix(source: ArraySource | SparseSource) -> Any:
    if isinstance(source, SparseSource):
        return slice_csr(source.X, 0, source.n_rows, source.dtype)
    fits = type(source.X) is np.ndarray and source.X.flags.c_contiguous
    return source.X if fits and source.X.dtype == source.dtype else None
