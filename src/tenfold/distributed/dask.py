"""The fold on the workers of a Dask `distributed` client, with the bits of a fold in this process.

A worker folds a run of chunks and sends back the closed nodes of the one tree over all chunks, so
where a chunk was folded cannot be seen in the total. Files are read by the workers themselves,
Dask collections stay where they are, and what lies in this process is spread over the workers
once. What was lost with a worker is computed again.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from time import perf_counter
from typing import Any
from weakref import WeakKeyDictionary, finalize

import numpy as np

from tenfold.distributed.blocks import (
    BLOCK_BYTES,
    BlockLayout,
    RemoteBlocks,
    RemoteBlockSource,
    choose_block_size,
    count_worker_threads,
    make_empty_blocks,
    plan_worker_runs,
    realign,
    scatter_blocks,
)
from tenfold.distributed.worker import (
    RunResult,
    WorkerTask,
    fold_run,
    map_run,
    run_placeholder,
    run_task,
)
from tenfold.distributed.worker_columns import ColumnsOrder, RemoteColumns
from tenfold.engine.chunk import Chunk
from tenfold.engine.context import current_engine, use_engine
from tenfold.engine.environment import describe_environment
from tenfold.engine.fold import OutputArray, uncovered_runs
from tenfold.engine.merge_tree import MergeTree
from tenfold.engine.source import Source
from tenfold.engine.task import FoldTask

_SHORT_PASS_SECONDS = 0.2  # seconds of a pass for which more tasks cost more than they balance
_MAX_ARGUMENT_BYTES = 2**20  # bytes of state that ride with each task; more is scattered
_MAX_CLOSED_KEYS = 256  # of garbage-collected columns, sent with each pass that carries columns
_MAX_ATTEMPTS = 4  # at a pass, when workers die


@contextmanager
def on(client: Any) -> Iterator[None]:
    """Compute on a Dask cluster: rows opened in this block are folded by its workers.

    Results are the same as without, to the last bit, if the workers have the same wheels and CPUs.

    Parameters
    ----------
    client : distributed.Client
        A client that is connected to its cluster. Files must be reachable for all workers.

    Examples
    --------
    >>> import tenfold
    >>> from distributed import Client
    >>> with Client(processes=False, dashboard_address=":0") as client, tenfold.on(client):
    ...     rows = tenfold.open([[1.0, 2.0], [3.0, 4.0]])
    ...     rows.total(lambda chunk: chunk.X.sum(axis=0))
    array([4., 6.])
    """
    if not hasattr(client, "persist") or client.asynchronous:
        raise TypeError(f"on({client!r}): give a synchronous distributed.Client")
    with use_engine(DaskEngine(client)):
        yield


def current_client() -> Any:
    """The client of the innermost `on`, else the one that Dask calls current, else None."""
    if isinstance(engine := current_engine(), DaskEngine):
        return engine.client
    if "distributed" not in sys.modules:
        return None
    try:
        return sys.modules["distributed"].Client.current()
    except ValueError:
        return None


class DaskEngine:
    """An engine for `Rows`: the workers of a client."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.seconds = np.inf  # of the last pass
        self.scattered: WeakKeyDictionary[Source, RemoteBlocks] = WeakKeyDictionary()
        self.sent: WeakKeyDictionary[Source, Any] = WeakKeyDictionary()
        self.closed: list[str] = []  # keys of carried columns that were garbage-collected

    def total(
        self, task: FoldTask, tree: MergeTree, done: Callable[[Chunk], None] | None = None
    ) -> None:
        """Add the nodes of every chunk that the tree does not cover; tell `done` of each run."""

        def keep(run: range, answer: RunResult) -> None:
            for node, statistic in answer.result.items():
                tree.add(node, realign(statistic))
            self._keep_columns(task, run, answer)
            if done is not None:
                done(run_placeholder(task.source, run))

        start = perf_counter()
        with self._explain_missing_workers():
            runs = self._carried_runs(task)
            if runs is None:
                runs = self._runs(task.source, 1 if self.seconds < _SHORT_PASS_SECONDS else 4)
            self._work(task, fold_run, uncovered_runs(iter(runs), tree), keep)
        self.seconds = perf_counter() - start

    @contextmanager
    def _explain_missing_workers(self) -> Iterator[None]:
        """Say that a cluster has no workers, where Dask has waited for one in vain."""
        try:
            yield
        except TimeoutError as problem:
            if self.client.nthreads():
                raise
            raise RuntimeError(
                "the cluster has no workers, and none came while Dask waited for one. Start some "
                "(cluster.scale(2)) and fit again; tenfold.checkpoint keeps what is done."
            ) from problem

    def _carried_runs(self, task: FoldTask) -> list[range] | None:
        """The runs of a pass with columns: those of the passes before it."""
        if task.columns is None:
            return None
        storage = task.columns.storage
        if storage.remote is None or storage.remote.client is not self.client:
            runs = self._runs(task.source, 4)
            storage.remote = RemoteColumns(self.client, storage.key, runs)
            finalize(storage, self.closed.append, storage.key)
        return storage.remote.runs

    def _keep_columns(self, task: FoldTask, run: range, answer: RunResult) -> None:
        """Remember where the columns of a run are, or take them over."""
        if task.columns is None:
            return
        task.columns.storage.remote.workers[run.start, run.stop] = answer.worker
        if task.columns.storage.durable:
            task.columns.write(run_placeholder(task.source, run), answer.columns)

    def each(
        self, task: FoldTask, output: OutputArray, done: Callable[[Chunk], None] | None = None
    ) -> None:
        """Fill the output, one entry per row; tell `done` of each run."""

        def keep(run: range, answer: RunResult) -> None:
            output.put(run_placeholder(task.source, run), answer.result)
            if done is not None:
                done(run_placeholder(task.source, run))

        many = task.source.n_rows * task.source.row_bytes // BLOCK_BYTES  # outputs are large, too
        with self._explain_missing_workers():
            self._work(task, map_run, iter(self._runs(task.source, 4, at_least=many)), keep)

    def take(self, source: Source, rows: np.ndarray) -> Chunk:
        """The rows with these numbers, which must ascend."""
        return source.take(rows)

    def _runs(self, source: Source, per_thread: int, *, at_least: int = 0) -> list[range]:
        workers = self.client.nthreads()
        warn_of_differences(self.client, set(workers))
        pieces = max(per_thread * sum(workers.values()), at_least, 1)
        return plan_worker_runs(source, pieces, self._size(source))

    def _size(self, source: Source) -> int:
        blocks = self._blocks(source)
        return 1 if blocks is None else max(blocks.source.block_rows // source.grid, 1)

    def _blocks(self, source: Source) -> RemoteBlocks | None:
        """Where the blocks of a source lie; None if each worker reads it by itself."""
        if isinstance(source, RemoteBlockSource):
            return source.blocks
        if source.shippable:
            return None
        if source not in self.scattered:
            blocks = make_empty_blocks(
                choose_block_size(BlockLayout.of(source), count_worker_threads(self.client))
            )
            blocks.renew(partial(scatter_blocks, source, blocks.source, self.client))
            self.scattered[source] = blocks
        return self.scattered[source]

    def _renew(self, source: Source) -> None:
        """Make again what died with a worker."""
        self.sent.pop(source, None)
        if isinstance(source, RemoteBlockSource):
            source.blocks.renew(source.make)
        elif not source.shippable:
            blocks = self.scattered[source]
            blocks.renew(partial(scatter_blocks, source, blocks.source, self.client))

    def _send(self, thing: Any) -> Any:
        """What workers need of a thing: a pickle that rides with each task, or a future."""
        from cloudpickle import dumps

        pickled = dumps(thing)
        if len(pickled) <= _MAX_ARGUMENT_BYTES:
            return pickled
        return self.client.scatter([thing], broadcast=True, hash=False)[0]

    def _work(
        self,
        task: FoldTask,
        operation: Callable[[FoldTask, range], RunResult],
        runs: Iterator[range],
        keep: Callable[[range, RunResult], None],
    ) -> None:
        """Have every run done once; begin again with what is left when workers die."""
        from distributed import CancelledError, KilledWorker

        left, problem = list(runs), None
        for _ in range(_MAX_ATTEMPTS):
            try:
                for run, answer in self._results(task, operation, tuple(left)):
                    keep(run, answer)
                    left.remove(run)
                return
            except (CancelledError, KilledWorker) as lost:
                problem = lost
                self._renew(task.source)
        raise RuntimeError(
            f"workers died in {_MAX_ATTEMPTS} attempts at a pass over the rows. Look at their "
            "logs; often they have too little memory: use more workers, or fewer threads on each."
        ) from problem

    def _results(
        self,
        task: FoldTask,
        operation: Callable[[FoldTask, range], RunResult],
        runs: tuple[range, ...],
    ) -> Iterator[tuple[range, RunResult]]:
        """Results of runs as they come; the problem with the lowest chunk number is raised."""
        from distributed import as_completed

        waiting = self._submit(task, operation, runs)
        worst = None
        try:
            for future in as_completed(list(waiting), loop=self.client.loop):
                run, answer = waiting.pop(future), future.result()
                if answer.problem is None:
                    yield run, answer
                elif worst is None or answer.at < worst[0]:
                    worst = answer.at, answer.problem
                if worst is not None and all(worst[0] < other.start for other in waiting.values()):
                    raise self._locate_error(task, *worst)
        finally:
            if waiting:
                self.client.cancel(list(waiting))

    def _locate_error(self, task: FoldTask, at: int, problem: Exception) -> Exception:
        """A worker's problem with a chunk; a source that lies here may know its place better."""
        if task.source in self.scattered:
            try:
                for chunk in task.source.chunks(range(at, at + 1)):
                    task.prepare(chunk)
            except ValueError as here:
                return here
        return problem

    def _submit(
        self,
        task: FoldTask,
        operation: Callable[[FoldTask, range], RunResult],
        runs: tuple[range, ...],
    ) -> dict[Any, range]:
        blocks = self._blocks(task.source)
        if task.source not in self.sent:
            seen = task.source if blocks is None else blocks.source
            if blocks is not None and seen.grid != task.source.grid:
                seen = seen.with_chunk_rows(task.source.grid)
            self.sent[task.source] = self._send(seen)
        spec = WorkerTask(
            operation,
            task.f,
            task.state,
            task.classes,
            task.check,
            self._columns_order(task),
            dict(np.geterr()),
        )
        same = self._send(spec), self.sent[task.source]
        name = f"tenfold-{getattr(task.f, '__name__', 'chunk-function')}"
        waiting: dict[Any, range] = {}
        for worker, members in self._by_worker(task, runs).items():
            futures = self.client.map(
                run_task,
                *([thing] * len(members) for thing in same),
                members,
                [[] if blocks is None else blocks.of(run, task.source) for run in members],
                [self._durable_columns(task, run) for run in members],
                key=name,
                pure=False,
                retries=2,
                workers=[worker] if worker else None,
                allow_other_workers=bool(worker),
            )
            waiting |= dict(zip(futures, members, strict=True))
        return waiting

    def _by_worker(self, task: FoldTask, runs: tuple[range, ...]) -> dict[str, list[range]]:
        """The runs, under the address of the worker that has their columns ("": any worker)."""
        groups: dict[str, list[range]] = {}
        workers = {} if task.columns is None else task.columns.storage.remote.workers
        alive = set(self.client.nthreads()) if workers else set()
        for run in runs:
            worker = workers.get((run.start, run.stop), "")
            groups.setdefault(worker if worker in alive else "", []).append(run)
        return groups

    def _columns_order(self, task: FoldTask) -> ColumnsOrder | None:
        if task.columns is None:
            return None
        columns = task.columns
        last = columns.last.version if columns.last.is_valid else 0
        closed = tuple(self.closed[-_MAX_CLOSED_KEYS:])
        storage = columns.storage
        return ColumnsOrder(storage.key, last, columns.version, storage.durable, closed)

    def _durable_columns(self, task: FoldTask, run: range) -> Any:
        """The durable columns of a run, to be sent with the task."""
        if task.columns is None or not task.columns.storage.durable:
            return None
        columns = task.columns.read(run_placeholder(task.source, run))
        if columns is None or sum(column.nbytes for column in columns) <= _MAX_ARGUMENT_BYTES:
            return columns
        return self.client.scatter([columns], hash=False)[0]


_compared: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()  # client -> its known workers


def warn_of_differences(client: Any, workers: set[str]) -> None:
    """Warn, once per worker, if it will not compute the bits that this process computes."""
    new = workers - _compared.setdefault(client, set())
    if not new:
        return
    _compared[client] |= new
    there = client.run(describe_environment, workers=list(new), on_error="ignore")
    differ = sorted(
        {
            words
            for theirs in there.values()
            for words in environment_differences(describe_environment(), theirs)
        }
    )
    if differ:
        warnings.warn(
            f"{'; '.join(differ)}. Results of the cluster may differ in their last bits from "
            "those of this process. Install the same versions and use one kind of CPU.",
            UserWarning,
            stacklevel=2,
        )


def environment_differences(here: dict[str, str], there: dict[str, str]) -> list[str]:
    """What differs, in words."""
    return [f"{k}: {here[k]} here, {there[k]} on a worker" for k in here if here[k] != there[k]]
