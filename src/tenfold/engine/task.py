"""A chunk function with its state on a source: all that a worker needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tenfold.engine import blas_threads
from tenfold.engine.chunk import Chunk, chunk_numbers, split_run
from tenfold.engine.merge_tree import map_statistic, merge_in_order, to_accumulator
from tenfold.engine.source import Source
from tenfold.engine.validation import check_finite, encode_labels, is_all_finite

ChunkFunction = Callable[..., Any]


class FoldTask(NamedTuple):
    """A leaf with its state on a source: everything that a worker needs, wherever it is."""

    source: Source
    f: ChunkFunction
    state: tuple
    classes: np.ndarray | None = None  # labels are replaced by their number in this list
    check: bool = False  # look for NaN and infinities

    def result(self, chunk: Chunk) -> Any:
        """The leaf on a chunk, or on a run of chunks, merged as the tree would."""
        trusted = getattr(self.f, "shows_nan", False)
        task = self._replace(check=False) if trusted else self
        result = blas_threads.retry_if_blas_threads_changed(lambda: task.merged(chunk))
        if trusted and self.check and not is_all_finite(result):
            for part in split_run(chunk, self.source.grid):
                self.prepared(part)  # says where
        return result

    def merged(self, run: Chunk) -> Any:
        """The leaf on all chunks of a run; some leaves know how to do that at once."""
        grid, at_once = self.source.grid, getattr(self.f, "on_runs", None)
        if at_once is not None and not self.check:
            return at_once(self.prepared(run), grid, *self.state)
        if run.rows <= grid:
            return self.f(self.prepared(run), *self.state)
        parts = (self.f(self.prepared(part), *self.state) for part in split_run(run, grid))
        return merge_in_order(map(to_accumulator, parts))

    def prepared(self, chunk: Chunk, rows: np.ndarray | None = None) -> Chunk:
        """The chunk as a leaf sees it; `rows` are its global numbers if they do not follow."""
        numbers = range(chunk.first, chunk.first + chunk.rows) if rows is None else rows
        if self.check:
            check_finite(self.source, chunk, numbers)
        if self.classes is None:
            return chunk
        return chunk._replace(y=encode_labels(self.source, chunk.y, self.classes, numbers))

    @property
    def chunks(self) -> int:
        """Number of chunks."""
        return len(chunk_numbers(self.source.n_rows, self.source.grid))


def make_contiguous(state: tuple) -> tuple:
    """State as leaves get it on every engine: C-contiguous, so that its layout sways no bit."""
    return map_statistic(
        lambda s: np.asarray(s, order="C") if isinstance(s, np.ndarray) else s, state
    )
