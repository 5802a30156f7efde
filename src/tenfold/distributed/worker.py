"""What a worker of a cluster does with a run of chunks."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from socket import gethostname
from typing import Any, NamedTuple

import numpy as np

from tenfold.distributed.blocks import realign, realign_chunk
from tenfold.distributed.worker_columns import ColumnsOrder, WorkerColumns
from tenfold.engine import blas_threads
from tenfold.engine.chunk import Chunk
from tenfold.engine.fold import OutputArray
from tenfold.engine.merge_tree import MergeTree, to_accumulator
from tenfold.engine.source import Source
from tenfold.engine.task import FoldTask
from tenfold.engine.thread_pool import single_threaded

_UNREACHABLE_ERRORS = (FileNotFoundError, PermissionError)


class RunResult(NamedTuple):
    """What a worker says about a run."""

    result: Any
    problem: Exception | None = None
    at: int = 0  # the chunk of the problem
    columns: Any = None  # of the run, where they are durable
    worker: str = ""  # address


class WorkerTask(NamedTuple):
    """What a worker is to do: a task without its source."""

    operation: Callable[[FoldTask, range], RunResult]
    f: Callable[..., Any]
    state: tuple
    classes: np.ndarray | None
    check: bool
    columns: ColumnsOrder | None
    errors: dict[str, Any]  # numpy's way with overflow and the like, as the caller has set it


def run_task(
    spec: Any, source: Any, run: range, blocks: list[Chunk], columns: Any = None
) -> RunResult:
    """Carry out a task on a run of chunks.

    `blocks` hold the chunks, unless the source is a file; `columns` are the durable columns of
    the run.
    """
    spec, source = _unpickle(spec), _unpickle(source)
    for block in blocks:
        source.held[block.first // source.block_rows] = block
    task = FoldTask(source, spec.f, realign(spec.state), spec.classes, spec.check)
    if spec.columns is not None:
        first = run.start * source.grid
        task = task._replace(
            columns=WorkerColumns(spec.columns, first, run, realign(_unpickle(columns)))
        )
    with blas_threads.one_blas_thread(), single_threaded(), np.errstate(**spec.errors):
        return spec.operation(task, run)._replace(worker=_address())


def _address() -> str:
    from distributed import get_worker

    try:
        return get_worker().address
    except ValueError:  # not on a worker
        return ""


def _unpickle(thing: Any) -> Any:
    return pickle.loads(thing) if isinstance(thing, bytes) else thing  # noqa: S301


def fold_run(task: FoldTask, run: range) -> RunResult:
    """The closed nodes of the tree over a run."""
    tree = MergeTree()
    task = task.without_rows() if task.skips_rows else task

    def handle(chunk: Chunk) -> None:
        tree.add((0, chunk.first // task.source.grid), to_accumulator(task.result(chunk)))

    problem = _handle_chunks(task, run, handle)
    if problem is not None:
        return problem
    return RunResult(tree.nodes, columns=None if task.columns is None else task.columns.finish())


def map_run(task: FoldTask, run: range) -> RunResult:
    """One output per row of a run."""
    start = run.start * task.source.grid
    output = OutputArray(run_placeholder(task.source, run).rows)

    def handle(chunk: Chunk) -> None:
        output.put(chunk._replace(first=chunk.first - start), task.result(chunk))

    problem = _handle_chunks(task, run, handle)
    return RunResult(output.result()) if problem is None else problem


def _handle_chunks(task: FoldTask, run: range, handle: Callable[[Chunk], None]) -> RunResult | None:
    """Handle the chunks of a run in order; the first problem is an answer, not to be retried."""
    at = run.start
    try:
        for chunk in task.source.chunks(run):
            handle(realign_chunk(chunk))
            at += 1
    except Exception as problem:  # noqa: BLE001  the client raises it
        if isinstance(problem, _UNREACHABLE_ERRORS) or isinstance(
            problem.__cause__, _UNREACHABLE_ERRORS
        ):
            problem.add_note(
                f"This was on the worker at {gethostname()}. Put the file where all workers reach "
                "it by the same path."
            )
        return RunResult(None, _make_picklable(problem), at)
    return None


def _make_picklable(problem: Exception) -> Exception:
    """An exception that cannot travel still has its words."""
    try:
        pickle.loads(pickle.dumps(problem))  # noqa: S301
    except Exception:  # noqa: BLE001  whatever its class does when it is pickled
        return RuntimeError(f"{type(problem).__name__}: {problem}")
    return problem


def run_placeholder(source: Source, run: range) -> Chunk:
    """A chunk without columns in the place of a run: how many rows, and where."""
    first, end = run.start * source.grid, min(run.stop * source.grid, source.n_rows)
    return Chunk(np.empty((end - first, 0)), first=first)
