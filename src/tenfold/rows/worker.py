"""What a worker of a cluster does with a run of chunks."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tenfold.rows import blas
from tenfold.rows.chunk import Chunk
from tenfold.rows.fold import Output, Task
from tenfold.rows.source import Source
from tenfold.rows.threads import single_threaded
from tenfold.rows.tree import Tree, widened


class Answer(NamedTuple):
    """What a worker says about a run."""

    result: Any
    problem: Exception | None = None
    at: int = 0  # the chunk of the problem


def obey(order: bytes, run: range, blocks: list[Chunk]) -> Answer:
    """Carry out a task on a run of chunks; `blocks` hold them, unless the source is a file."""
    task, verb, errors = pickle.loads(order)  # noqa: S301  it comes from our own client
    for block in blocks:
        task.source.held[block.first // task.source.block_rows] = block
    with blas.one_blas_thread(), single_threaded(), np.errstate(**errors):
        return verb(task, run)


def fold_run(task: Task, run: range) -> Answer:
    """The closed nodes of the tree over a run."""
    tree = Tree()

    def handle(chunk: Chunk) -> None:
        tree.add((0, chunk.first // task.source.grid), widened(task.result(chunk)))

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
            handle(chunk)
            at += 1
    except OSError:
        raise  # a file may be there a moment later, or on another worker
    except Exception as problem:  # noqa: BLE001  the client raises it
        return Answer(None, _portable(problem), at)
    return None


def _portable(problem: Exception) -> Exception:
    try:
        pickle.loads(pickle.dumps(problem))  # noqa: S301
    except Exception:  # noqa: BLE001  an exception that cannot travel still has its words
        return RuntimeError(f"{type(problem).__name__}: {problem}")
    return problem


def outline(source: Source, run: range) -> Chunk:
    """A chunk without columns in the place of a run: how many rows, and where."""
    first, end = run.start * source.grid, min(run.stop * source.grid, source.n_rows)
    return Chunk(np.empty((end - first, 0)), first=first)
