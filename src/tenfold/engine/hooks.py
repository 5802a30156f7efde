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
    from tenfold.engine.protocols import Engine, PassDisplay, PassRecorder
    from tenfold.engine.source import Source


class FitMonitor:
    """Reports every pass of a fit to a checkpoint and a progress bar, where there are any."""

    def __init__(self, recorder: PassRecorder | None, bar: PassDisplay | None) -> None:
        self.recorder, self.bar = recorder, bar

    def begin(self, task: FoldTask, tree: MergeTree, engine: Engine | None = None) -> Any:
        """A pass begins; a checkpoint may add nodes to the tree, or return the recorded total."""
        known = None if self.recorder is None else self.recorder.begin(task, tree, engine)
        if self.bar is not None:
            self.bar.begin(task, tree)
        return known

    def begin_outputs(self, task: FoldTask) -> Callable[[Chunk], None] | None:
        """A pass of outputs per row begins: what to call after each chunk. None are recorded."""
        if self.bar is None:
            return None
        self.bar.begin(task, MergeTree())
        return self.bar.done

    def done(self, chunk: Chunk) -> None:
        """A chunk was folded."""
        if self.recorder is not None:
            self.recorder.done()
        self.bar_done(chunk)

    def bar_done(self, chunk: Chunk) -> None:
        """A chunk was folded in a pass that checkpoints record as a whole."""
        if self.bar is not None:
            self.bar.done(chunk)

    def end(self, total: Any) -> None:
        """The pass has ended with this total."""
        if self.recorder is not None:
            self.recorder.end(total)
        if self.bar is not None:
            self.bar.end()


ACTIVE_MONITOR: contextvars.ContextVar[FitMonitor | None] = contextvars.ContextVar(
    "monitor", default=None
)


def active_monitor() -> FitMonitor | None:
    """The monitor of the fit that runs here; None without one, and for a fold within a fold."""
    monitor = ACTIVE_MONITOR.get()
    return None if monitor is None or is_inside_fold() else monitor


def _active_replay() -> PassRecorder | None:
    monitor = active_monitor()
    return None if monitor is None else monitor.recorder


def report_objective(objective: float) -> None:
    """Show the objective that a solver has reached in the progress bar."""
    monitor = ACTIVE_MONITOR.get()
    if monitor is not None and monitor.bar is not None:
        monitor.bar.objective = float(objective)


def record_value(make: Callable[[], Any]) -> Any:
    """`make()`; in a resumed fit its recorded value (the seed of random_state=None)."""
    recorder = _active_replay()
    return make() if recorder is None else recorder.record_value(make)


def record_data(source: Source, engine: Engine | None) -> None:
    """The rows that a fit begins with; a resumed fit refuses others."""
    recorder = _active_replay()
    if recorder is not None:
        recorder.record_data(source, engine)


def resume_loop(state: Any) -> tuple[int, Any]:
    """Begin a loop at `state`: number of recorded iterations, and the state after them.

    The state is a (named) tuple, list or dict of arrays and numbers that holds all that the loop
    and its stopping rule need. Call `record_loop_state` after each iteration and `end_loop` at the
    end. Only the outermost loop is recorded: loops within it begin at their start.
    """
    recorder = _active_replay()
    return (0, state) if recorder is None else recorder.resume_loop(state)


def record_loop_state(n: int, state: Callable[[], Any]) -> None:
    """`n` iterations of the loop are done; `state()` is called at once or never."""
    recorder = _active_replay()
    if recorder is not None:
        recorder.record_loop_state(n, state)


def end_loop() -> None:
    """The loop that was begun last has ended."""
    recorder = _active_replay()
    if recorder is not None:
        recorder.end_loop()
