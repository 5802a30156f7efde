"""Rows one after the other, in an order that the seed alone decides: for learning as one goes.

Strips of rows that follow each other are shuffled, then the rows of some strips among each other.
That mixes nearly as well as shuffling all rows, and what is visited next is still in the cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tenfold.rows.arrays import Arrays, SparseArrays, csr_rows
from tenfold.rows.chunk import Chunk, spans

if TYPE_CHECKING:
    from tenfold.rows.rows import Rows

STRIP = 256  # rows that stay neighbours
STRIPS = 64  # strips whose rows are mixed


class Block(NamedTuple):
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


def blocks(rows: Rows, seed: int | None) -> Iterator[Block]:
    """Every row once; `seed=None` keeps the given order."""
    rng = None if seed is None else np.random.default_rng(seed)
    strips = np.arange(len(spans(rows.n_rows, STRIP)))
    if rng is not None:
        rng.shuffle(strips)
    whole = in_memory(rows)
    for start in range(0, len(strips), STRIPS):
        numbers = _rows_of(np.sort(strips[start : start + STRIPS]), rows.n_rows)
        part = whole or rows.take(numbers)
        order = numbers if whole else np.arange(len(numbers))
        if rng is not None:
            mixed = rng.permutation(len(numbers))
            order, numbers = order[mixed], numbers[mixed]
        yield Block(*part[:3], order, numbers)


def _rows_of(strips: np.ndarray, n_rows: int) -> np.ndarray:
    numbers = (strips[:, None] * STRIP + np.arange(STRIP)).ravel()
    return numbers[numbers < n_rows]


def in_memory(rows: Rows) -> Chunk | None:
    """All rows without a copy, if they lie in memory as leaves want them; checked once."""
    source = rows.source
    if rows.whole is None and isinstance(source, Arrays | SparseArrays):
        X = _as_it_lies(source)
        if X is not None:
            y = None if source.y is None else np.ascontiguousarray(source.y)
            w = None if source.w is None else np.ascontiguousarray(source.w)
            rows.whole = rows.prepared(Chunk(X, y, w))
    return rows.whole


def _as_it_lies(source: Arrays | SparseArrays) -> Any:
    if isinstance(source, SparseArrays):
        return csr_rows(source.X, 0, source.n_rows, source.dtype)
    fits = type(source.X) is np.ndarray and source.X.flags.c_contiguous
    return source.X if fits and source.X.dtype == source.dtype else None
