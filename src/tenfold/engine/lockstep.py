"""Lockstep fits: many models share each pass over the rows, synchronized at a barrier.

A fit asks its rows for totals, one after the other. Here each fit has a thread and rows of its own,
a `Lane`, whose `total` waits at a barrier until every other fit waits there as well; then one pass
over the data computes all totals. Models need no code for this. The order in which fits arrive at
the barrier affects no result.
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

_MAX_BATCHED_REQUESTS = 16  # requests that one product answers: more fall out of the cache
# A warm start asks again for a total at the point where the last fit ended.
_CACHED_ANSWERS = 2  # totals of each chunk function that a lane stores
_MAX_CACHED_SIZE = 2**16  # numbers in such a total
_MAX_LANES = 256  # fits that share passes; more of them go in several groups


class LaneJob(NamedTuple):
    """Something to do with the rows of some cells: `run(rows)`."""

    cells: np.ndarray
    run: Callable[[Rows], Any]


class TotalRequest(NamedTuple):
    """A total that a lane waits for."""

    f: Callable[..., Any]
    state: tuple
    selection: int  # number among the different sets of rows of the group
    recode: np.ndarray | None


def run_in_lockstep(
    rows: Rows, cell: np.ndarray, jobs: list[LaneJob], labels: CellClassCounts | None
) -> list[Any]:
    """What the jobs return, each on the rows of its cells, from shared passes over the data.

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
        results += _LaneGroup(rows, cell, jobs[start : start + _MAX_LANES], labels).run()
    return results


class CellClassCounts(NamedTuple):
    """The classes of the data, and how many rows of each lie in each cell."""

    classes: np.ndarray  # (k,) labels
    counts: np.ndarray  # (cells, k)


class _LaneGroup:
    """The jobs of one group, and the thread that computes their totals."""

    def __init__(
        self, rows: Rows, cell: np.ndarray, jobs: list[LaneJob], labels: CellClassCounts | None
    ) -> None:
        self.rows, self.jobs, self.labels = rows, jobs, labels
        self.condition = threading.Condition()
        self.running = len(jobs)
        self.requests: dict[int, TotalRequest] = {}
        self.answers: dict[int, Any] = {}
        self.results: list[Any] = [None] * len(jobs)
        self.problems: dict[int, BaseException] = {}
        self.failure: BaseException | None = None  # of a pass: there are no totals after it
        self.permits = threading.Semaphore(n_threads())
        self.is_single_chunk = _is_single_chunk(rows)
        sets = {job.cells.tobytes(): job.cells for job in jobs}
        number = {key: i for i, key in enumerate(sets)}
        self.number = [number[job.cells.tobytes()] for job in jobs]
        self.sets = [RowSelection.of(cell, cells, rows.source.grid) for cells in sets.values()]

    def run(self) -> list[Any]:
        if self.is_single_chunk:
            return [job.run(Lane(self, i)) for i, job in enumerate(self.jobs)]
        threads = [
            threading.Thread(target=contextvars.copy_context().run, args=(self._work, i))
            for i in range(len(self.jobs))
        ]
        for thread in threads:
            thread.start()
        try:
            while requests := self._next_requests():
                self._answer(requests)
        except BaseException as problem:
            self._fail_all(problem)
            raise
        finally:
            for thread in threads:
                thread.join()
        if self.problems:
            raise self.problems[min(self.problems)]
        return self.results

    def _next_requests(self) -> dict[int, TotalRequest]:
        """The totals that lanes wait for, when none of them runs any more; none at the end."""
        with self.condition:
            self.condition.wait_for(lambda: self.running == 0)
            if self.problems:
                raise self.problems[min(self.problems)]
            return dict(sorted(self.requests.items()))

    def _answer(self, requests: dict[int, TotalRequest]) -> None:
        total = self.rows.total(batched_statistics, self.sets, list(requests.values()))
        with self.condition:
            self.answers = dict(zip(requests, total, strict=True))
            self.requests = {}
            self.running = len(requests)
            self.condition.notify_all()

    def _fail_all(self, problem: BaseException) -> None:
        """Raise the error in every lane that waits."""
        with self.condition:
            self.failure = problem
            self.answers = dict.fromkeys(self.requests, _FailedTotal(problem))
            self.running = len(self.requests)
            self.requests = {}
            self.condition.notify_all()

    def _work(self, i: int) -> None:
        try:
            with self.permits, single_threaded():
                self.results[i] = self.jobs[i].run(Lane(self, i))
        except BaseException as problem:  # noqa: BLE001  the caller raises it
            self.problems[i] = problem
        with self.condition:
            self.running -= 1
            self.condition.notify_all()

    def request(self, i: int, request: TotalRequest) -> Any:
        """Wait for a total; another lane may run meanwhile."""
        if self.failure is not None:  # the lane has caught the error and asks again
            raise self.failure
        self.permits.release()
        with self.condition:
            self.requests[i] = request
            self.running -= 1
            self.condition.notify_all()
            self.condition.wait_for(lambda: i in self.answers)
            answer = self.answers.pop(i)
        self.permits.acquire()
        if isinstance(answer, _FailedTotal):
            raise answer.problem
        return answer


def _is_single_chunk(rows: Rows) -> bool:
    """Whether a pass takes less time than a barrier: one chunk, without a monitor."""
    plain = type(rows) is Rows and rows.engine is None and active_monitor() is None
    return plain and rows.n_rows <= rows.source.grid and not rows.source.streams


class _FailedTotal(NamedTuple):
    problem: BaseException


class Lane(Rows):
    """Rows of some cells, whose totals come from passes shared with other lanes."""

    def __init__(self, group: _LaneGroup, i: int) -> None:
        base, selection = group.rows, group.sets[group.number[i]]
        super().__init__(
            SubsetSource(base.source, selection), engine=base.engine, allow_nan=base.allow_nan
        )
        if self.n_rows == 0:
            raise ValueError(f"part {i} has no rows to learn from: use fewer folds")
        self.group, self.lane = group, i
        self.recode: np.ndarray | None = None
        self.cached: dict[Callable[..., Any], list[tuple[TotalRequest, Any]]] = {}
        self.samples: dict[tuple[int, int], Chunk] = {}

    def total(self, f: Callable[..., Any], *state: Any) -> Any:
        self.passes += not self.group.is_single_chunk
        request = TotalRequest(f, state, self.group.number[self.lane], self.recode)
        before = self.cached.get(f, [])
        for known, answer in before:
            if _is_equal(known[1:], request[1:]):
                return copy.deepcopy(answer)
        answer = (
            super().total(f, *state)
            if self.group.is_single_chunk
            else self.group.request(self.lane, request)
        )
        if answer is None:
            raise ValueError("nonempty are no rows to learn from")
        if _statistic_size(answer) <= _MAX_CACHED_SIZE:
            self.cached[f] = [copy.deepcopy((request, answer)), *before[: _CACHED_ANSWERS - 1]]
        return answer

    def with_chunk_rows(self, rows: int) -> Rows:
        """These rows: their chunks are those of the shared passes."""
        return self

    def sample(self, k: int, seed: int) -> Chunk:
        """Draw rows; along a path of fits the last sample is stored."""
        if not self.context.is_path:
            return super().sample(k, seed)
        if (k, seed) not in self.samples:
            self.samples = {(k, seed): super().sample(k, seed)}
        return self.samples[k, seed]

    def label_encoding(self) -> tuple[np.ndarray, Rows]:
        """Labels that occur in these rows, and the rows with their numbers; see `number_labels`."""
        labels = self.group.labels
        if labels is None:
            raise ValueError("these rows were opened for regression: their labels are not known")
        present = labels.counts[self.group.jobs[self.lane].cells].sum(axis=0) > 0
        numbers = np.flatnonzero(present)
        base = self.group.rows
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
    """How many numbers a statistic holds; the largest integer where that is unknown."""
    if isinstance(answer, np.ndarray | np.generic | int | float):
        return np.size(answer)
    return sum(map(_statistic_size, answer)) if isinstance(answer, tuple | list) else sys.maxsize


def batched_statistics(
    chunk: Chunk, sets: list[RowSelection], requests: list[TotalRequest]
) -> list[Any]:
    """The statistic of each request, of its rows of the chunk; None where it has none."""
    answers: dict[int, Any] = {}
    for group in _batch_groups(requests):
        answers |= _batched_answers(chunk, sets, {i: requests[i] for i in group})
    single = [i for i in range(len(requests)) if i not in answers]
    parts = {number: sets[number].part(chunk) for number in {requests[i].selection for i in single}}
    answers |= {i: _lane_statistic(parts[requests[i].selection], requests[i]) for i in single}
    return [answers[i] for i in range(len(requests))]


def _batch_groups(requests: list[TotalRequest]) -> list[list[int]]:
    """Requests of one chunk function with a declared batch function, a few at a time."""
    by_leaf: dict[Any, list[int]] = {}
    for i, request in enumerate(requests):
        if _batch_function(request.f) is not None and request.recode is None:
            by_leaf.setdefault(request.f, []).append(i)
    return [
        numbers[start : start + _MAX_BATCHED_REQUESTS]
        for numbers in by_leaf.values()
        for start in range(0, len(numbers), _MAX_BATCHED_REQUESTS)
        if len(numbers) > 1
    ]


def _batch_function(f: Callable[..., Any]) -> Callable[..., Any] | None:
    return f.batch_function if isinstance(f, DeclaredChunkFunction) else None


def _batched_answers(
    chunk: Chunk, sets: list[RowSelection], requests: dict[int, TotalRequest]
) -> dict[int, Any]:
    """Answers to requests of one chunk function; none if they cannot be batched."""
    counts = {
        number: sets[number].count(chunk) for number in {a.selection for a in requests.values()}
    }
    nonempty = [i for i in requests if counts[requests[i].selection]]
    answers: dict[int, Any] = {i: None for i in requests if i not in nonempty}
    if not nonempty:
        return answers
    masks = None
    if any(counts[requests[i].selection] < chunk.rows for i in nonempty):
        masks = np.stack([sets[requests[i].selection].mask(chunk) for i in nonempty])
    batch_function: Any = _batch_function(requests[nonempty[0]].f)
    statistics = batch_function(chunk, masks, [requests[i].state for i in nonempty])
    if statistics is None:
        return {}
    return answers | dict(zip(nonempty, map(to_accumulator, statistics), strict=True))


def _lane_statistic(part: Chunk | None, request: TotalRequest) -> Any:
    if part is None:
        return None
    if request.recode is not None:
        part = part._replace(y=np.take(request.recode, part.y))
    return to_accumulator(request.f(part, *request.state))
