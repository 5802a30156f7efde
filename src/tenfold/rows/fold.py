"""The fold itself: a leaf on every chunk, on all threads, merged by the tree."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from tenfold.rows import blas
from tenfold.rows.chunk import Chunk, spans
from tenfold.rows.source import Source
from tenfold.rows.threads import n_threads, single_threaded, together
from tenfold.rows.tree import Tree, leaves, mapped, taken_in

WORTH_WAKING = 300e-6  # seconds of work left that pay for waking a helper

Leaf = Callable[..., Any]


class Task(NamedTuple):
    """A leaf with its state on a source: everything that a worker needs, wherever it is."""

    source: Source
    f: Leaf
    state: tuple
    classes: np.ndarray | None = None  # labels are replaced by their number in this list
    check: bool = False  # look for NaN and infinities

    def result(self, chunk: Chunk) -> Any:
        """The leaf on one chunk."""
        trusted = getattr(self.f, "shows_nan", False)
        ready = (self._replace(check=False) if trusted else self).prepared(chunk)
        result = blas.undisturbed(lambda: self.f(ready, *self.state))
        if trusted and self.check and not all_finite(result):
            self.prepared(chunk)  # says where
        return result

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


def all_finite(statistic: Any) -> bool:
    """Whether all numbers of a statistic are finite."""
    return all(np.isfinite(leaf).all() for leaf in leaves(statistic) if leaf is not None)


def assert_finite(source: Source, chunk: Chunk, numbers: Sequence[int] | np.ndarray) -> None:
    """Raise an error that names the first NaN or infinity of a chunk; `numbers` are its rows."""
    X = chunk.X.data if source.sparse else getattr(chunk.X, "values", chunk.X)
    flat = X.reshape(-1)
    with np.errstate(over="ignore"):
        squares = np.dot(flat, flat)
    if np.isfinite(squares) or np.isfinite(flat).all():
        return  # the sum of squares may overflow on fine numbers: then look at each
    bad = ~np.isfinite(flat)
    place, value = _place(chunk.X, int(np.argmax(bad)))
    kind = "NaN" if np.isnan(value) else "infinity"
    raise ValueError(
        f"Input X contains {kind}: {source.where(int(numbers[place[0]]))}, column "
        f"{source.column(place[1])}. Remove such rows, or fill them "
        "(sklearn.impute.SimpleImputer) before the fit."
    )


def _place(X: Any, position: int) -> tuple[tuple[int, int], float]:
    if isinstance(X, np.ndarray):
        row, column = divmod(position, X.shape[1])
        return (row, column), X[row, column]
    if hasattr(X, "values"):  # ragged: the row is the sequence
        step, column = divmod(position, X.values.shape[1])
        return (int(np.searchsorted(X.offsets, step, "right")) - 1, column), X.values[step, column]
    row = int(np.searchsorted(X.indptr, position, "right")) - 1
    return (row, int(X.indices[position])), X.data[position]


def numbered(
    source: Source, y: np.ndarray, classes: np.ndarray, numbers: Sequence[int] | np.ndarray
) -> np.ndarray:
    """Labels as their numbers in the sorted list of classes."""
    codes = np.searchsorted(classes, y)
    known = classes[np.minimum(codes, len(classes) - 1)] == y
    if not np.all(known):
        row = int(np.argmin(known))
        raise ValueError(
            f"{source.where(int(numbers[row]))}: label {y[row]!r} is not among the classes "
            f"{classes.tolist()}. Pass all labels at once: `classes=`."
        )
    return codes


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

    def __init__(self, task: Task, runs: Iterator[range], handle: Callable[[Chunk], None]) -> None:
        self.task, self.runs, self.handle = task, runs, handle
        self.lock = threading.Lock()
        self.open: list[_Run] = []
        self.begun: _Run | None = None  # begun by `go`; the first worker reads on there
        self.problem: BaseException | None = None
        self.problem_at = np.inf

    def go(self) -> None:
        """Handle the first chunk here; wake helpers if the rest is worth it."""
        with blas.one_blas_thread():
            start = perf_counter()
            run = self.take()
            if run is not None:
                with single_threaded():  # a fold within the leaf runs here, and is not watched
                    self.handle_next(run)
            self.begun = run
            rest = (perf_counter() - start) * (self.task.chunks - 1)
            most = min(n_threads(), self.task.chunks) - 1
            helpers = most if rest > WORTH_WAKING else 0
            together(self.work, helpers)
        if self.problem is not None:
            raise self.problem

    def take(self) -> _Run | None:
        """A run that nobody reads yet, else one that somebody still reads."""
        with self.lock:
            if self.begun is not None:
                begun, self.begun = self.begun, None
                return begun
            run = next(self.runs, None)
            if run is not None:
                self.open = [other for other in self.open if not other.over]
                self.open.append(_Run(self.task.source.chunks(run)))
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
    grid = task.source.grid

    def handle(chunk: Chunk) -> None:
        tree.add((0, chunk.first // grid), taken_in(task.result(chunk)))
        if done is not None:
            done(chunk)

    Walk(task, missing(task.source.runs(), tree), handle).go()


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
