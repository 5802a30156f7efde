"""The fold itself: a leaf on every chunk, on all threads, merged by the tree."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from tenfold.rows import blas
from tenfold.rows.checks import all_finite, assert_finite, numbered
from tenfold.rows.chunk import Chunk, pieces, spans
from tenfold.rows.source import Source
from tenfold.rows.threads import n_threads, single_threaded, together
from tenfold.rows.tree import Tree, mapped, merged_in_order, taken_in

WORTH_WAKING = 300e-6  # seconds of work left that pay for waking a helper
MANY = 8  # chunks in memory that are worth it whatever is done with them
TURNS = 2  # long runs that each thread should get at least
LONGEST = 4  # a run has at most 2 ** 4 chunks

Leaf = Callable[..., Any]


class Task(NamedTuple):
    """A leaf with its state on a source: everything that a worker needs, wherever it is."""

    source: Source
    f: Leaf
    state: tuple
    classes: np.ndarray | None = None  # labels are replaced by their number in this list
    check: bool = False  # look for NaN and infinities

    def result(self, chunk: Chunk) -> Any:
        """The leaf on a chunk, or on a run of chunks, merged as the tree would."""
        trusted = getattr(self.f, "shows_nan", False)
        task = self._replace(check=False) if trusted else self
        result = blas.undisturbed(lambda: task.merged(chunk))
        if trusted and self.check and not all_finite(result):
            for part in pieces(chunk, self.source.grid):
                self.prepared(part)  # says where
        return result

    def merged(self, run: Chunk) -> Any:
        """The leaf on all chunks of a run; some leaves know how to do that at once."""
        grid, at_once = self.source.grid, getattr(self.f, "on_runs", None)
        if at_once is not None and not self.check:
            return at_once(self.prepared(run), grid, *self.state)
        if run.rows <= grid:
            return self.f(self.prepared(run), *self.state)
        parts = (self.f(self.prepared(part), *self.state) for part in pieces(run, grid))
        return merged_in_order(map(taken_in, parts))

    def prepared(self, chunk: Chunk, rows: np.ndarray | None = None) -> Chunk:
        """The chunk as a leaf sees it; `rows` are its global numbers if they do not follow."""
        numbers = range(chunk.first, chunk.first + chunk.rows) if rows is None else rows
        if self.check:
            assert_finite(self.source, chunk, numbers)
        if self.classes is None:
            return chunk
        return chunk._replace(y=numbered(self.source, chunk.y, self.classes, numbers))

    @property
    def chunks(self) -> int:
        """Number of chunks."""
        return len(spans(self.source.n_rows, self.source.grid))


def contiguous(state: tuple) -> tuple:
    """State as leaves get it on every engine: C-contiguous, so that its layout sways no bit."""
    return mapped(lambda s: np.asarray(s, order="C") if isinstance(s, np.ndarray) else s, state)


class _Run:
    """A run that is being read, by one thread or by several that take turns."""

    def __init__(self, chunks: Iterator[Chunk]) -> None:
        self.chunks = chunks
        self.lock = threading.Lock()
        self.over = False

    def next(self) -> Chunk | None:
        with self.lock:
            chunk = None if self.over else next(self.chunks, None)
            self.over = chunk is None
            return chunk


class Walk:
    """One walk over all runs of a task, shared by threads; `handle` gets each chunk once."""

    def __init__(
        self,
        task: Task,
        runs: Iterator[range],
        handle: Callable[[Chunk], None],
        read: Callable[[range], Iterator[Chunk]] | None = None,
    ) -> None:
        self.task, self.runs, self.handle = task, runs, handle
        self.read = task.source.chunks if read is None else read
        self.lock = threading.Lock()
        self.open: list[_Run] = []
        self.begun: _Run | None = None  # begun by `go`; the first worker reads on there
        self.problem: BaseException | None = None
        self.problem_at = np.inf

    def go(self) -> None:
        """Handle all chunks; helpers are woken if that is worth it."""
        with blas.one_blas_thread():
            most = min(n_threads(), self.task.chunks) - 1
            sure = self.task.source.direct and self.task.chunks > MANY
            rest = np.inf if sure else self.begin()
            together(self.work, most if rest > WORTH_WAKING else 0)
        if self.problem is not None:
            raise self.problem

    def begin(self) -> float:
        """Handle the first chunk here; the seconds that the others are likely to take."""
        start = perf_counter()
        self.begun = run = self.take()
        if run is not None:
            with single_threaded():  # a fold within the leaf runs here, and is not watched
                self.handle_next(run)
        return (perf_counter() - start) * (self.task.chunks - 1)

    def take(self) -> _Run | None:
        """A run that nobody reads yet, else one that somebody still reads."""
        with self.lock:
            if self.begun is not None:
                begun, self.begun = self.begun, None
                return begun
            run = next(self.runs, None)
            if run is not None:
                self.open = [other for other in self.open if not other.over]
                self.open.append(_Run(self.read(run)))
                return self.open[-1]
            return next((other for other in self.open if not other.over), None)

    def work(self) -> None:
        while self.problem is None and (run := self.take()) is not None:
            while self.handle_next(run):
                pass

    def handle_next(self, run: _Run) -> bool:
        """Read and handle one chunk of a run; whether there may be more."""
        at = -1.0  # an error while reading comes before all others
        try:
            chunk = run.next()
            if chunk is None or chunk.first > self.problem_at:
                return False
            at = chunk.first
            self.handle(chunk)
        except BaseException as problem:  # noqa: BLE001  a helper must hand it to the caller
            with self.lock:
                if at < self.problem_at:
                    self.problem, self.problem_at = problem, at
            return False
        return True


def fold(task: Task, tree: Tree, done: Callable[[Chunk], None] | None = None) -> None:
    """Add the statistic of every chunk that the tree does not cover yet."""
    source, grid = task.source, task.source.grid

    def handle(run: Chunk) -> None:
        level = ((run.rows - 1) // grid).bit_length()
        tree.add((level, run.first // grid >> level), taken_in(task.result(run)))
        if done is not None:
            done(run)

    def at_once(run: range) -> Iterator[Chunk]:
        yield source.between(run.start * grid, min(run.stop * grid, source.n_rows))

    if source.direct and done is None and not tree.nodes:
        Walk(task, long_runs(task.chunks), handle, at_once).go()
    else:
        Walk(task, missing(source.runs(), tree), handle).go()


def long_runs(chunks: int) -> Iterator[range]:
    """Runs that are nodes of the tree: threads meet seldom, and shorter last ones end together."""
    longest = chunks // (TURNS * n_threads())
    long = 1 << min(max(longest.bit_length() - 1, 0), LONGEST)
    short, change = max(long // 4, 1), chunks * 2 // 3 // long * long
    yield from (range(start, start + long) for start in range(0, change, long))
    yield from (range(start, min(start + short, chunks)) for start in range(change, chunks, short))


def missing(runs: Iterator[range], tree: Tree) -> Iterator[range]:
    """Runs without the chunks that a resumed tree already holds."""
    if not tree.nodes:
        return runs
    covered = Tree(dict.fromkeys(tree.nodes))
    return (part for run in runs for part in _uncovered(run, covered))


def _uncovered(run: range, tree: Tree) -> Iterator[range]:
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


class Output:
    """An array, one entry per row, that chunks fill in any order; made when its kind is known."""

    def __init__(self, n_rows: int, into: np.ndarray | None = None) -> None:
        self.n_rows, self.array = n_rows, into
        self.lock = threading.Lock()

    def put(self, chunk: Chunk, part: np.ndarray) -> None:
        with self.lock:
            if self.array is None:
                self.array = np.empty((self.n_rows, *part.shape[1:]), part.dtype)
        made, wanted = (
            (part.dtype, part.shape),
            (self.array.dtype, (chunk.rows, *self.array.shape[1:])),
        )
        if made != wanted:
            raise ValueError(
                f"the leaf made {made[0]} of shape {made[1]} from the chunk at row {chunk.first}; "
                f"it must make {wanted[0]} of shape {wanted[1]}: one output per row, of one kind"
            )
        self.array[chunk.first : chunk.first + len(part)] = part


def map_rows(task: Task, output: Output, done: Callable[[Chunk], None] | None = None) -> None:
    """Put the leaf's output for every chunk in its place."""

    def handle(chunk: Chunk) -> None:
        output.put(chunk, task.result(chunk))
        if done is not None:
            done(chunk)

    Walk(task, task.source.runs(), handle).go()
