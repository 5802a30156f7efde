"""Hooks through which the engine and iterative solvers report to progress bars and checkpoints."""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tenfold.engine.chunk import Chunk
from tenfold.engine.merge_tree import MergeTree
from tenfold.engine.task import FoldTask
from tenfold.engine.thread_pool import is_inside_fold

if TYPE_CHECKING:
    from tenfold.callbacks.progress_bar import FitProgress
    from tenfold.callbacks.replay import CheckpointReplay


class FitMonitor:
    """Told of every pass of a fit."""

    def __init__(self, log: CheckpointReplay | None, bar: FitProgress | None) -> None:
        self.log, self.bar = log, bar

    def begin(self, task: FoldTask, tree: MergeTree) -> Any:
        """A pass begins; a checkpoint may fill the tree, or return the total that it knows."""
        known = None if self.log is None else self.log.begin(task, tree)
        if self.bar is not None:
            self.bar.begin(task, tree)
        return known

    def begin_outputs(self, task: FoldTask) -> Callable[[Chunk], None] | None:
        """A pass of outputs per row begins: what to call after each chunk. No checkpoint cares."""
        if self.bar is None:
            return None
        self.bar.begin(task, MergeTree())
        return self.bar.done

    def done(self, chunk: Chunk) -> None:
        """A chunk was folded."""
        if self.log is not None:
            self.log.done()
        self.bar_done(chunk)

    def bar_done(self, chunk: Chunk) -> None:
        """A chunk was folded in a pass that checkpoints record as a whole."""
        if self.bar is not None:
            self.bar.done(chunk)

    def end(self, total: Any) -> None:
        """The pass has ended with this total."""
        if self.log is not None:
            self.log.end(total)
        if self.bar is not None:
            self.bar.end()


ACTIVE_MONITOR: contextvars.ContextVar[FitMonitor | None] = contextvars.ContextVar(
    "watch", default=None
)


def active_monitor() -> FitMonitor | None:
    """The watch over the fit that runs here, if any; a fold within a fold is not watched."""
    watch = ACTIVE_MONITOR.get()
    return None if watch is None or is_inside_fold() else watch


def _active_replay() -> CheckpointReplay | None:
    watch = active_monitor()
    return None if watch is None else watch.log


def report_objective(objective: float) -> None:
    """Tell the progress bar which objective a solver has reached."""
    watch = ACTIVE_MONITOR.get()
    if watch is not None and watch.bar is not None:
        watch.bar.objective = float(objective)


def record_value(make: Callable[[], Any]) -> Any:
    """`make()`; in a resumed fit what it gave the first time (the seed of random_state=None)."""
    log = _active_replay()
    return make() if log is None else log.remember(make)


def resume_loop(state: Any) -> tuple[int, Any]:
    """Begin a loop at `state`: how many rounds a checkpoint knows, and the state after them.

    The state is a (named) tuple, list or dict of arrays and numbers that holds all that the loop
    and its stopping rule need. Call `record_loop_state` after each iteration and `end_loop` at the
    end. Only the outermost loop is recorded: loops within it begin at their start.
    """
    log = _active_replay()
    return (0, state) if log is None else log.resume_loop(state)


def record_loop_state(n: int, state: Callable[[], Any]) -> None:
    """`n` rounds of the loop are done; `state()` is asked for at once or never."""
    log = _active_replay()
    if log is not None:
        log.mark_loop(n, state)


def end_loop() -> None:
    """The loop that was begun last has ended."""
    log = _active_replay()
    if log is not None:
        log.end_loop()
