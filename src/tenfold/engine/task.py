"""A chunk function with its state on a source: all that a worker needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tenfold.engine import blas_threads
from tenfold.engine.carried_columns import RowlessSource
from tenfold.engine.chunk import Chunk, chunk_numbers, split_run
from tenfold.engine.interrupts import unwrap_interrupts
from tenfold.engine.merge_tree import map_statistic, merge_in_order, to_accumulator
from tenfold.engine.source import Source
from tenfold.engine.validation import check_finite, encode_labels, is_all_finite
from tenfold.stats.decorators import DeclaredChunkFunction

ChunkFunction = Callable[..., Any]


class FoldTask(NamedTuple):
    """A chunk function with its state on a source."""

    source: Source
    f: ChunkFunction
    state: tuple
    classes: np.ndarray | None = None  # labels are replaced by their number in this list
    check: bool = False  # look for NaN and infinities
    columns: Any = None  # a `ColumnPass`, or what a worker has of it, for `Rows.carry`

    def result(self, chunk: Chunk) -> Any:
        """The statistic of a chunk, or of a run of chunks, merged in the order of the tree."""
        trusted = isinstance(self.f, DeclaredChunkFunction) and self.f.propagates_nan
        task = self._replace(check=False) if trusted else self
        with unwrap_interrupts():
            result = blas_threads.retry_if_blas_threads_changed(lambda: task.merge_run(chunk))
        if trusted and self.check and not is_all_finite(result):
            for part in split_run(chunk, self.source.grid):
                self.prepare(part)  # raises an error that names the place
        return result

    def merge_run(self, run: Chunk) -> Any:
        """The statistic of all chunks of a run, by the declared run function where there is one."""
        if self.columns is not None:
            return self._merge_run_with_columns(run)
        grid, run_function = self.source.grid, self.run_function
        if run_function is not None:
            return run_function(self.prepare(run), grid, *self.state)
        if run.rows <= grid:
            return self.f(self.prepare(run), *self.state)
        parts = (self.f(self.prepare(part), *self.state) for part in split_run(run, grid))
        return merge_in_order(map(to_accumulator, parts))

    def _merge_run_with_columns(self, run: Chunk) -> Any:
        """The same for functions that also read and write columns."""
        grid, run_function = self.source.grid, self.run_function
        if run_function is not None:
            statistic, columns = run_function(
                self.prepare(run), grid, self.columns.read(run), *self.state
            )
            self.columns.write(run, columns)
            return statistic
        if run.rows <= grid:
            return self._carry(run)
        parts = (self._carry(part) for part in split_run(run, grid))
        return merge_in_order(map(to_accumulator, parts))

    def _carry(self, chunk: Chunk) -> Any:
        statistic, columns = self.f(self.prepare(chunk), self.columns.read(chunk), *self.state)
        self.columns.write(chunk, columns)
        return statistic

    @property
    def run_function(self) -> Callable[..., Any] | None:
        """The declared function for whole runs; chunks that must be checked go one by one."""
        if isinstance(self.f, DeclaredChunkFunction) and not self.check:
            return self.f.run_function
        return None

    @property
    def skips_rows(self) -> bool:
        """Whether this pass reads the columns of the last one and no rows."""
        declared = isinstance(self.f, DeclaredChunkFunction) and not self.f.needs_rows
        return declared and self.columns is not None and self.columns.has_columns

    def without_rows(self) -> FoldTask:
        """The same task on chunks without rows."""
        return self._replace(source=RowlessSource(self.source), check=False)

    def prepare(self, chunk: Chunk, rows: np.ndarray | None = None) -> Chunk:
        """The chunk as chunk functions get it; `rows` are its row numbers if not consecutive."""
        numbers = range(chunk.first, chunk.first + chunk.rows) if rows is None else rows
        if self.check:
            check_finite(self.source, chunk, numbers)
        if self.classes is None or chunk.y is None:
            return chunk
        return chunk._replace(y=encode_labels(self.source, chunk.y, self.classes, numbers))

    @property
    def chunks(self) -> int:
        """Number of chunks."""
        return len(chunk_numbers(self.source.n_rows, self.source.grid))


def make_contiguous(state: tuple) -> tuple:
    """State as chunk functions get it on every engine: C-contiguous, since layout affects bits."""
    return map_statistic(
        lambda s: np.asarray(s, order="C") if isinstance(s, np.ndarray) else s, state
    )
