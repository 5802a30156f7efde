"""Lockstep fits: many models share each pass over the rows, synchronized at a barrier.

A fit asks its rows for totals, one after the other. Here each fit has a thread and rows of its
own, a `Lane`, whose `total` waits until every other fit asks for one as well; then one walk over
the data answers them all. A model takes no part in this: it is an ordinary fit on ordinary rows.
Which fit asks first cannot be seen in any result.
"""

from __future__ import annotations

import contextvars
import copy
import sys
import threading
from collections.abc import Callable
from dataclasses import is_dataclass
from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.carried_columns import Hint
from tenfold.engine.chunk import Chunk
from tenfold.engine.hooks import active_monitor
from tenfold.engine.merge_tree import to_accumulator
from tenfold.engine.rows import Rows
from tenfold.engine.subset import RowSelection, SubsetSource
from tenfold.engine.thread_pool import n_threads, single_threaded
from tenfold.stats.decorators import DeclaredChunkFunction

_MAX_BATCHED_REQUESTS = 16  # asks that one product answers: more fall out of the cache
# A fit that starts where another ended asks again what was asked there: a lane remembers.
_CACHED_ANSWERS, _MAX_CACHED_SIZE = (
    2,
    2**16,
)  # answers of each leaf, and how many numbers they may hold
_MAX_LANES = 256  # fits that walk together; more of them go in several groups


class LaneJob(NamedTuple):
    """Something to do with the rows of some cells: `run(rows)`."""

    cells: np.ndarray
    run: Callable[[Rows], Any]


class TotalRequest(NamedTuple):
    """A total that a lane waits for."""

    f: Callable[..., Any]
    state: tuple
    chosen: int  # number among the different sets of rows of the walk
    recode: np.ndarray | None


def run_in_lockstep(
    rows: Rows, cell: np.ndarray, jobs: list[LaneJob], labels: CellClassCounts | None
) -> list[Any]:
    """What the jobs return, each on the rows of its cells, from shared walks over the data.

    Parameters
    ----------
    rows : Rows
        All rows.
    cell : (n,) array
        Number of each row's cell.
    jobs : list of Job
        What to do.
    labels : Labels or None
        What is known of the target of a classifier.

    Returns
    -------
    list
        One result per job, in their order.
    """
    results = []
    for start in range(0, len(jobs), _MAX_LANES):
        results += _LaneGroup(rows, cell, jobs[start : start + _MAX_LANES], labels).go()
    return results


class CellClassCounts(NamedTuple):
    """The classes of the data, and how many rows of each lie in each cell."""

    classes: np.ndarray  # (k,) labels
    counts: np.ndarray  # (cells, k)


class _LaneGroup:
    """The jobs of one group, and the thread that walks for them."""

    def __init__(
        self, rows: Rows, cell: np.ndarray, jobs: list[LaneJob], labels: CellClassCounts | None
    ) -> None:
        self.rows, self.jobs, self.labels = rows, jobs, labels
        self.changed = threading.Condition()
        self.running = len(jobs)
        self.asked: dict[int, TotalRequest] = {}
        self.answers: dict[int, Any] = {}
        self.results: list[Any] = [None] * len(jobs)
        self.problems: dict[int, BaseException] = {}
        self.permits = threading.Semaphore(n_threads())
        self.alone = _is_single_chunk(rows)
        sets = {job.cells.tobytes(): job.cells for job in jobs}
        number = {key: i for i, key in enumerate(sets)}
        self.number = [number[job.cells.tobytes()] for job in jobs]
        self.sets = [RowSelection.of(cell, cells, rows.source.grid) for cells in sets.values()]

    def go(self) -> list[Any]:
        if self.alone:
            return [job.run(Lane(self, i)) for i, job in enumerate(self.jobs)]
        threads = [
            threading.Thread(target=contextvars.copy_context().run, args=(self._work, i))
            for i in range(len(self.jobs))
        ]
        for thread in threads:
            thread.start()
        try:
            while asks := self._next_asks():
                self._answer(asks)
        except BaseException as problem:
            self._give_up(problem)
            raise
        finally:
            for thread in threads:
                thread.join()
        if self.problems:
            raise self.problems[min(self.problems)]
        return self.results

    def _next_asks(self) -> dict[int, TotalRequest]:
        """What the lanes ask for, when none of them runs any more; nothing at the end."""
        with self.changed:
            self.changed.wait_for(lambda: self.running == 0)
            if self.problems:
                raise self.problems[min(self.problems)]
            return dict(sorted(self.asked.items()))

    def _answer(self, asks: dict[int, TotalRequest]) -> None:
        total = self.rows.total(batched_statistics, self.sets, list(asks.values()))
        with self.changed:
            self.answers = dict(zip(asks, total, strict=True))
            self.asked = {}
            self.running = len(asks)
            self.changed.notify_all()

    def _give_up(self, problem: BaseException) -> None:
        """Let every lane that waits end with the error."""
        with self.changed:
            self.answers = dict.fromkeys(self.asked, _FailedTotal(problem))
            self.running = len(self.asked)
            self.asked = {}
            self.changed.notify_all()

    def _work(self, i: int) -> None:
        try:
            with self.permits, single_threaded():
                self.results[i] = self.jobs[i].run(Lane(self, i))
        except BaseException as problem:  # noqa: BLE001  the caller raises it
            self.problems[i] = problem
        with self.changed:
            self.running -= 1
            self.changed.notify_all()

    def ask(self, i: int, ask: TotalRequest) -> Any:
        """Wait for a total; another lane may run meanwhile."""
        self.permits.release()
        with self.changed:
            self.asked[i] = ask
            self.running -= 1
            self.changed.notify_all()
            self.changed.wait_for(lambda: i in self.answers)
            answer = self.answers.pop(i)
        self.permits.acquire()
        if isinstance(answer, _FailedTotal):
            raise answer.problem
        return answer


def _is_single_chunk(rows: Rows) -> bool:
    """Whether a walk takes less time than waiting for each other: one chunk that nobody watches."""
    plain = type(rows) is Rows and rows.engine is None and active_monitor() is None
    return plain and rows.n_rows <= rows.source.grid and not rows.source.streams


class _FailedTotal(NamedTuple):
    problem: BaseException


class Lane(Rows):
    """Rows of some cells, whose totals come from a walk that others share."""

    def __init__(self, walk: _LaneGroup, i: int) -> None:
        base, chosen = walk.rows, walk.sets[walk.number[i]]
        super().__init__(
            SubsetSource(base.source, chosen), engine=base.engine, allow_nan=base.allow_nan
        )
        if self.n_rows == 0:
            raise ValueError(f"part {i} has no rows to learn from: use fewer folds")
        self.walk, self.lane = walk, i
        self.recode: np.ndarray | None = None
        self.known: dict[Callable[..., Any], list[tuple[TotalRequest, Any]]] = {}
        self.drawn: dict[tuple[int, int], Chunk] = {}

    def total(self, f: Callable[..., Any], *state: Any) -> Any:
        self.passes += not self.walk.alone
        ask = TotalRequest(f, state, self.walk.number[self.lane], self.recode)
        before = self.known.get(f, [])
        for known, answer in before:
            if _is_equal(known[1:], ask[1:]):
                return copy.deepcopy(answer)
        answer = super().total(f, *state) if self.walk.alone else self.walk.ask(self.lane, ask)
        if answer is None:
            raise ValueError("there are no rows to learn from")
        if _statistic_size(answer) <= _MAX_CACHED_SIZE:
            self.known[f] = [copy.deepcopy((ask, answer)), *before[: _CACHED_ANSWERS - 1]]
        return answer

    def sample(self, k: int, seed: int) -> Chunk:
        """Draw as other rows do; along a path the last draw is remembered."""
        if not self.context.is_path:
            return super().sample(k, seed)
        if (k, seed) not in self.drawn:
            self.drawn = {(k, seed): super().sample(k, seed)}
        return self.drawn[k, seed]

    def label_encoding(self) -> tuple[np.ndarray, Rows]:
        """Labels that occur in these rows, and the rows with their numbers; see `number_labels`."""
        labels = self.walk.labels
        if labels is None:
            raise ValueError("these rows were opened for regression: their labels are not known")
        present = labels.counts[self.walk.jobs[self.lane].cells].sum(axis=0) > 0
        numbers = np.flatnonzero(present)
        base = self.walk.rows
        self.classes = numbers if base.classes is None else base.classes[numbers]
        self.recode = None if present.all() else np.cumsum(present) - 1
        return labels.classes[numbers], self


def _is_equal(a: Any, b: Any) -> bool:
    """Whether two states are equal, bit for bit."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b)
    if type(a) is not type(b):
        return False
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(_is_equal, a, b))
    if isinstance(a, Hint):
        return True
    if is_dataclass(a):
        return _is_equal(list(vars(a).values()), list(vars(b).values()))
    return a is b or (isinstance(a, int | float | str | np.generic) and a == b)


def _statistic_size(answer: Any) -> int:
    """How many numbers a statistic holds; endless where that cannot be said."""
    if isinstance(answer, np.ndarray | np.generic | int | float):
        return np.size(answer)
    return sum(map(_statistic_size, answer)) if isinstance(answer, tuple | list) else sys.maxsize


def batched_statistics(
    chunk: Chunk, sets: list[RowSelection], asks: list[TotalRequest]
) -> list[Any]:
    """The statistic that each ask wants of its rows of the chunk, None where it has none."""
    answers: dict[int, Any] = {}
    for group in _batch_groups(asks):
        answers |= _batched_answers(chunk, sets, {i: asks[i] for i in group})
    rest = [i for i in range(len(asks)) if i not in answers]
    parts = {number: sets[number].part(chunk) for number in {asks[i].chosen for i in rest}}
    answers |= {i: _lane_statistic(parts[asks[i].chosen], asks[i]) for i in rest}
    return [answers[i] for i in range(len(asks))]


def _batch_groups(asks: list[TotalRequest]) -> list[list[int]]:
    """Asks of one leaf that knows how to answer several at once, a few at a time."""
    by_leaf: dict[Any, list[int]] = {}
    for i, ask in enumerate(asks):
        if _batch_function(ask.f) is not None and ask.recode is None:
            by_leaf.setdefault(ask.f, []).append(i)
    return [
        numbers[start : start + _MAX_BATCHED_REQUESTS]
        for numbers in by_leaf.values()
        for start in range(0, len(numbers), _MAX_BATCHED_REQUESTS)
        if len(numbers) > 1
    ]


def _batch_function(f: Callable[..., Any]) -> Callable[..., Any] | None:
    return f.batch_function if isinstance(f, DeclaredChunkFunction) else None


def _batched_answers(
    chunk: Chunk, sets: list[RowSelection], asks: dict[int, TotalRequest]
) -> dict[int, Any]:
    """Answers to asks of one leaf; none if it cannot answer them together."""
    counts = {number: sets[number].count(chunk) for number in {a.chosen for a in asks.values()}}
    there = [i for i in asks if counts[asks[i].chosen]]
    answers: dict[int, Any] = {i: None for i in asks if i not in there}
    if not there:
        return answers
    masks = None
    if any(counts[asks[i].chosen] < chunk.rows for i in there):
        masks = np.stack([sets[asks[i].chosen].mask(chunk) for i in there])
    batch_function: Any = _batch_function(asks[there[0]].f)
    made = batch_function(chunk, masks, [asks[i].state for i in there])
    if made is None:
        return {}
    return answers | dict(zip(there, map(to_accumulator, made), strict=True))


def _lane_statistic(part: Chunk | None, ask: TotalRequest) -> Any:
    if part is None:
        return None
    if ask.recode is not None:
        part = part._replace(y=np.take(ask.recode, part.y))
    return to_accumulator(ask.f(part, *ask.state))
