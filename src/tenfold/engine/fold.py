"""The fold: a chunk function on every chunk, on all threads, merged by the merge tree."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any

import numpy as np

from tenfold.engine import blas_threads
from tenfold.engine.chunk import Chunk
from tenfold.engine.merge_tree import MergeTree, to_accumulator
from tenfold.engine.task import FoldTask
from tenfold.engine.thread_pool import n_threads, run_in_threads, single_threaded

_MIN_PARALLEL_SECONDS = 300e-6  # seconds of work left that pay for waking a helper
_MIN_PARALLEL_CHUNKS = 8  # chunks in memory that are worth it whatever is done with them
_MIN_RUNS_PER_THREAD = 2  # long runs that each thread should get at least
_MAX_RUN_LEVEL = 4  # a run has at most 2 ** 4 chunks


class _RunReader:
    """A run that is being read, by one thread or by several that take turns.

    `next_row` is the first row that has not been read.
    """

    def __init__(self, chunks: Iterator[Chunk], first_row: int) -> None:
        self.chunks, self.next_row = chunks, first_row
        self.lock = threading.Lock()
        self.over = False

    def next(self) -> Chunk | None:
        with self.lock:
            chunk = None if self.over else next(self.chunks, None)
            self.over = chunk is None
            if chunk is not None:
                self.next_row = chunk.first + chunk.rows
            return chunk


class ChunkScheduler:
    """Hands the chunks of all runs of a task to threads; `handle` gets each chunk once."""

    def __init__(
        self,
        task: FoldTask,
        runs: Iterator[range],
        handle: Callable[[Chunk], None],
        read: Callable[[range], Iterator[Chunk]] | None = None,
    ) -> None:
        self.task, self.runs, self.handle = task, runs, handle
        self.read = task.source.chunks if read is None else read
        self.lock = threading.Lock()
        self.open_runs: list[_RunReader] = []
        self.first_run: _RunReader | None = (
            None  # first_run by `go`; the first worker reads on there
        )
        self.problem: BaseException | None = None
        self.problem_at = np.inf

    def run(self) -> None:
        """Handle all chunks; helpers are woken if that is worth it."""
        with blas_threads.one_blas_thread():
            most = min(n_threads(), self.task.chunks) - 1
            sure = self.task.source.direct and self.task.chunks > _MIN_PARALLEL_CHUNKS
            rest = np.inf if sure else self.handle_first()
            run_in_threads(self.work, most if rest > _MIN_PARALLEL_SECONDS else 0)
        problem, self.problem = self.problem, None  # else its traceback would hold this for long
        if problem is not None:
            try:
                raise problem
            finally:
                del problem

    def handle_first(self) -> float:
        """Handle the first chunk here; the seconds that the others are likely to take."""
        start = perf_counter()
        self.first_run = run = self.next_run()
        if run is not None:
            with single_threaded():  # a fold inside the chunk function runs here, unmonitored
                self.handle_next(run)
        return (perf_counter() - start) * (self.task.chunks - 1)

    def next_run(self) -> _RunReader | None:
        """The next run that no thread reads yet, else one that another thread is reading."""
        with self.lock:
            if self.first_run is not None:
                first_run, self.first_run = self.first_run, None
                return first_run
            run = next(self.runs, None)
            if run is not None:
                self.open_runs = [other for other in self.open_runs if not other.over]
                first_row = run.start * self.task.source.grid
                self.open_runs.append(_RunReader(self.read(run), first_row))
                return self.open_runs[-1]
            return next((other for other in self.open_runs if not other.over), None)

    def work(self) -> None:
        try:
            while self.problem is None and (run := self.next_run()) is not None:
                while self.handle_next(run):
                    pass
        except BaseException as problem:  # noqa: BLE001  Ctrl-C: helpers stop at once
            self.note_problem(problem, -1.0)

    def note_problem(self, problem: BaseException, at: float) -> None:
        """Keep the problem with the lowest row, which `run` raises."""
        with self.lock:
            if at < self.problem_at:
                self.problem, self.problem_at = problem, at

    def handle_next(self, run: _RunReader) -> bool:
        """Read and handle one chunk of a run; whether there may be more."""
        at = None
        try:
            chunk = run.next()
            if chunk is None or chunk.first > self.problem_at:
                return False
            at = chunk.first
            self.handle(chunk)
        except Exception as problem:  # noqa: BLE001  a helper must hand it to the caller
            self.note_problem(problem, run.next_row if at is None else at)
            return False
        return True


def fold(task: FoldTask, tree: MergeTree, done: Callable[[Chunk], None] | None = None) -> None:
    """Add the statistic of every chunk that the tree does not cover yet."""
    source, grid = task.source, task.source.grid

    def handle(run: Chunk) -> None:
        level = ((run.rows - 1) // grid).bit_length()
        tree.add((level, run.first // grid >> level), to_accumulator(task.result(run)))
        if done is not None:
            done(run)

    def read_run(run: range) -> Iterator[Chunk]:
        yield source.between(run.start * grid, min(run.stop * grid, source.n_rows))

    if source.direct and done is None and not tree.nodes:
        ChunkScheduler(task, _plan_runs(task.chunks), handle, read_run).run()
    else:
        ChunkScheduler(task, uncovered_runs(source.runs(), tree), handle).run()


def _plan_runs(chunks: int) -> Iterator[range]:
    """Runs that are nodes of the tree: threads meet seldom, and shorter last ones end together.

    Run lengths depend on the number of threads; the results of run functions must not.
    """
    longest = chunks // (_MIN_RUNS_PER_THREAD * n_threads())
    long = 1 << min(max(longest.bit_length() - 1, 0), _MAX_RUN_LEVEL)
    short, change = max(long // 4, 1), chunks * 2 // 3 // long * long
    yield from (range(start, start + long) for start in range(0, change, long))
    yield from (range(start, min(start + short, chunks)) for start in range(change, chunks, short))


def uncovered_runs(runs: Iterator[range], tree: MergeTree) -> Iterator[range]:
    """Runs without the chunks that a resumed tree already holds."""
    if not tree.nodes:
        return runs
    covered = MergeTree(dict.fromkeys(tree.nodes))
    return (part for run in runs for part in _split_uncovered(run, covered))


def _split_uncovered(run: range, tree: MergeTree) -> Iterator[range]:
    start = None
    for number in run:
        if tree.covers(number):
            if start is not None:
                yield range(start, number)
            start = None
        elif start is None:
            start = number
    if start is not None:
        yield range(start, run.stop)


class OutputArray:
    """An array, one entry per row, that chunks fill in any order; allocated at the first chunk.

    Sparse outputs are kept as they come, and stacked at the end.
    """

    def __init__(self, n_rows: int, into: np.ndarray | None = None) -> None:
        self.n_rows, self.array = n_rows, into
        self.sparse_parts: dict[int, Any] = {}  # by the number of their first row
        self.lock = threading.Lock()

    def result(self) -> Any:
        """The outputs of all rows: an array, or a CSR array."""
        if not self.sparse_parts:
            return self.array
        from scipy.sparse import vstack

        return vstack([self.sparse_parts[first] for first in sorted(self.sparse_parts)], "csr")

    def put(self, chunk: Chunk, part: Any) -> None:
        with self.lock:
            if hasattr(part, "tocsr"):
                self.sparse_parts[chunk.first] = part
                return
            if self.array is None:
                self.array = np.empty((self.n_rows, *part.shape[1:]), part.dtype)
        actual, expected = (
            (part.dtype, part.shape),
            (self.array.dtype, (chunk.rows, *self.array.shape[1:])),
        )
        if actual != expected:
            raise ValueError(
                f"the chunk function returned {actual[0]} of shape {actual[1]} for the chunk at "
                f"row {chunk.first}; it must return {expected[0]} of shape {expected[1]}: one "
                "output per row, of one kind"
            )
        self.array[chunk.first : chunk.first + len(part)] = part


def map_rows(
    task: FoldTask, output: OutputArray, done: Callable[[Chunk], None] | None = None
) -> None:
    """Write the outputs of every chunk."""

    def handle(chunk: Chunk) -> None:
        output.put(chunk, task.result(chunk))
        if done is not None:
            done(chunk)

    ChunkScheduler(task, task.source.runs(), handle).run()
