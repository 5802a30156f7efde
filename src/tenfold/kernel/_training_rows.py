"""Models that keep the rows of their fit, in memory or where they lie."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tenfold.engine.arrays import ArraySource
from tenfold.engine.chunk import Chunk
from tenfold.engine.memory import available_memory
from tenfold.engine.rows import Rows

FIT_CHUNK_ROWS = 1024  # of queries and of rows of the fit: each chunk meets all of the other
_MEMORY_SHARE = 0.25  # of free memory: larger data stay where they lie
_QUERY_ROWS = 4096  # queries of one pass over rows that lie elsewhere; a multiple of a tile


def keep_rows(rows: Rows, dtype: Any) -> dict[str, Any]:
    """Learned attributes: the rows in memory, or the place of rows that are too many for it."""
    if rows.source.row_bytes * rows.n_rows > _MEMORY_SHARE * available_memory():
        return {"X_fit_": None, "y_fit_": None, "weights_fit_": None, "_rows_fit": rows}
    chunk = rows.gather()
    y = None if chunk.y is None else np.array(chunk.y)
    w = None if chunk.w is None else np.array(chunk.w, np.float64)
    X = np.array(chunk.X, dtype)
    return {"X_fit_": X, "y_fit_": y, "weights_fit_": w, "_rows_fit": None}


class QueryMixin:
    """Predictions of a model that has kept the rows of its fit with `keep_rows`."""

    _rows_fit: Rows | None

    def _map_queries(self: Any, X: Any, f: Callable[..., np.ndarray], *state: Any) -> np.ndarray:
        """`f(queries, training rows, *state)` of all rows of X, below each other.

        Rows in memory go to every chunk of queries; over rows that lie elsewhere, one pass is made
        for some thousands of queries. The bits are the same.
        """
        if self._rows_fit is None:
            kept = self.X_fit_, self.y_fit_, self.weights_fit_
            return self._map_rows(X, _apply_in_memory, f, *kept, *state)
        with self._work_context():
            queries = self._rows(X, reset=False)
            parts = []
            for first in range(0, queries.n_rows, _QUERY_ROWS):
                numbers = np.arange(first, min(first + _QUERY_ROWS, queries.n_rows))
                parts.append(f(queries.take(numbers).X, self._rows_fit, *state))
        return np.concatenate(parts)


def _apply_in_memory(
    chunk: Chunk, f: Callable[..., np.ndarray], X: Any, y: Any, w: Any, *state: Any
) -> np.ndarray:
    training = Rows(ArraySource(X, y, w)).with_chunk_rows(FIT_CHUNK_ROWS)
    return f(chunk.X, training, *state)
