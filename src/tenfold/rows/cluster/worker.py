"""What a worker of a cluster does with a run of chunks."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from socket import gethostname
from typing import Any, NamedTuple

import numpy as np

from tenfold.rows import blas
from tenfold.rows.chunk import Chunk
from tenfold.rows.cluster.alignment import aligned, aligned_chunk
from tenfold.rows.fold import Output, Task
from tenfold.rows.source import Source
from tenfold.rows.threads import single_threaded
from tenfold.rows.tree import Tree, taken_in

UNREACHED = (FileNotFoundError, PermissionError)


class Answer(NamedTuple):
    """What a worker says about a run."""

    result: Any
    problem: Exception | None = None
    at: int = 0  # the chunk of the problem


class Order(NamedTuple):
    """What a worker is to do: a task without its source."""

    verb: Callable[[Task, range], Answer]
    f: Callable[..., Any]
    state: tuple
    classes: np.ndarray | None
    check: bool
    errors: dict[str, Any]  # numpy's way with overflow and the like, as the caller has set it


def obey(order: Any, source: Any, run: range, blocks: list[Chunk]) -> Answer:
    """Carry out an order on a run of chunks; `blocks` hold them, unless the source is a file."""
    order, source = _unpacked(order), _unpacked(source)
    for block in blocks:
        source.held[block.first // source.block_rows] = block
    task = Task(source, order.f, aligned(order.state), order.classes, order.check)
    with blas.one_blas_thread(), single_threaded(), np.errstate(**order.errors):
        return order.verb(task, run)


def _unpacked(thing: Any) -> Any:
    return pickle.loads(thing) if isinstance(thing, bytes) else thing  # noqa: S301


def fold_run(task: Task, run: range) -> Answer:
    """The closed nodes of the tree over a run."""
    tree = Tree()

    def handle(chunk: Chunk) -> None:
        tree.add((0, chunk.first // task.source.grid), taken_in(task.result(chunk)))

    problem = walked(task, run, handle)
    return Answer(tree.nodes) if problem is None else problem


def map_run(task: Task, run: range) -> Answer:
    """One output per row of a run."""
    start = run.start * task.source.grid
    output = Output(outline(task.source, run).rows)

    def handle(chunk: Chunk) -> None:
        output.put(chunk._replace(first=chunk.first - start), task.result(chunk))

    problem = walked(task, run, handle)
    return Answer(output.array) if problem is None else problem


def walked(task: Task, run: range, handle: Callable[[Chunk], None]) -> Answer | None:
    """Handle the chunks of a run in order; the first problem is an answer, not to be retried."""
    at = run.start
    try:
        for chunk in task.source.chunks(run):
            handle(aligned_chunk(chunk))
            at += 1
    except Exception as problem:  # noqa: BLE001  the client raises it
        if isinstance(problem, UNREACHED) or isinstance(problem.__cause__, UNREACHED):
            problem.add_note(
                f"This was on the worker at {gethostname()}. Put the file where all workers reach "
                "it by the same path."
            )
        return Answer(None, _portable(problem), at)
    return None


def _portable(problem: Exception) -> Exception:
    """An exception that cannot travel still has its words."""
    try:
        pickle.loads(pickle.dumps(problem))  # noqa: S301
    except Exception:  # noqa: BLE001  whatever its class does when it is pickled
        return RuntimeError(f"{type(problem).__name__}: {problem}")
    return problem


def outline(source: Source, run: range) -> Chunk:
    """A chunk without columns in the place of a run: how many rows, and where."""
    first, end = run.start * source.grid, min(run.stop * source.grid, source.n_rows)
    return Chunk(np.empty((end - first, 0)), first=first)
