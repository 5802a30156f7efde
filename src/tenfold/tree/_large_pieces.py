"""Outputs of rows in large pieces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tenfold.engine.arrays import ArraySource
from tenfold.engine.hooks import active_monitor
from tenfold.engine.rows import Rows
from tenfold.engine.thread_pool import map_threads, n_threads

_PIECES_PER_THREAD = 2
_MIN_PIECE_ROWS = 8192
_MAX_PIECE_BYTES = 2**25


def map_large_pieces(rows: Rows, f: Callable[..., np.ndarray], *state: Any) -> np.ndarray:
    """`rows.each(f, *state)`; an array is cut into few pieces in place of chunks.

    A tree of many nodes then stays in the cache while many rows go through it.
    """
    source = rows.source
    is_array = isinstance(source, ArraySource) and rows.engine is None
    if not is_array or active_monitor() is not None or source.n_rows < 2 * _MIN_PIECE_ROWS:
        return rows.each(f, *state)
    size = max(-(-source.n_rows // (_PIECES_PER_THREAD * n_threads())), _MIN_PIECE_ROWS)
    size = max(min(size, _MAX_PIECE_BYTES // max(source.row_bytes, 1)), 1)
    starts = range(0, source.n_rows, size)
    parts = map_threads(
        lambda i: f(source.between(starts[i], min(starts[i] + size, source.n_rows)), *state),
        len(starts),
    )
    return np.concatenate(parts)
