"""Who watches a fit: the progress bar, and the checkpoint that makes it resumable.

`estimator.py` runs every fit inside `watched`; loops call `resume_loop`, `mark_loop`, `end_loop`
and `note`. Without a checkpoint and a bar all of them do nothing, at once.
"""

from __future__ import annotations

import contextvars
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from tenfold.rows.chunk import Chunk
from tenfold.rows.fold import Task
from tenfold.rows.threads import inside_fold
from tenfold.rows.tree import Tree
from tenfold.rows.watching.progress import Bar, closed, is_on, opened

if TYPE_CHECKING:
    from tenfold.rows.watching.log import Log


class Watch:
    """Told of every pass of a fit."""

    def __init__(self, log: Log | None, bar: Bar | None) -> None:
        self.log, self.bar = log, bar

    def begin(self, task: Task, tree: Tree) -> Any:
        """A pass begins; a checkpoint may fill the tree, or return the total that it knows."""
        known = None if self.log is None else self.log.begin(task, tree)
        if self.bar is not None:
            self.bar.begin(task, tree)
        return known

    def begin_outputs(self, task: Task) -> Callable[[Chunk], None] | None:
        """A pass of outputs per row begins: what to call after each chunk. No checkpoint cares."""
        if self.bar is None:
            return None
        self.bar.begin(task, Tree())
        return self.bar.done

    def done(self, chunk: Chunk) -> None:
        """A chunk was folded."""
        if self.log is not None:
            self.log.done()
        if self.bar is not None:
            self.bar.done(chunk)

    def end(self, total: Any) -> None:
        """The pass has ended with this total."""
        if self.log is not None:
            self.log.end(total)
        if self.bar is not None:
            self.bar.end()


_watch: contextvars.ContextVar[Watch | None] = contextvars.ContextVar("watch", default=None)
_NOTHING = nullcontext()
_logs: list[Log] = []  # of all threads


def watching() -> Watch | None:
    """The watch over the fit that runs here, if any; a fold within a fold is not watched."""
    watch = _watch.get()
    return None if watch is None or inside_fold() else watch


def watched(
    title: str, settings: Callable[[], dict[str, Any]] | None = None
) -> AbstractContextManager[None]:
    """Watch over a fit: `with watched("KMeans", self.get_params): ...`.

    `settings` gives the parameters that must be the same when the fit is resumed.
    """
    if _watch.get() is None and not _logs and not is_on():
        return _NOTHING
    return _NOTHING if inside_fold() else _watched(title, settings)


@contextmanager
def _watched(title: str, settings: Callable[[], dict[str, Any]] | None) -> Iterator[None]:
    outer = _watch.get() or Watch(None, None)
    log, depth = outer.log, 0
    if log is not None:
        log.fit(title, {} if settings is None else settings())
        depth = log.depth
    elif _logs:
        _warn_of_threads()
    bar = opened(title) if outer.bar is None else None
    token = _watch.set(Watch(log, bar or outer.bar))
    try:
        yield
    finally:
        _watch.reset(token)
        if bar is not None:
            closed(bar)
        if log is not None:
            log.depth = depth  # also when a loop was left by an error


def _warn_of_threads() -> None:
    warnings.warn(
        "a checkpoint block is open in another thread: the fit in this thread is not part of it "
        "and cannot be resumed. Run it in the thread of the block, or give it a checkpoint.",
        RuntimeWarning,
        stacklevel=5,
    )


@contextmanager
def logged(log: Log) -> Iterator[None]:
    """Let a checkpoint listen to the fits of this block."""
    outer = _watch.get()
    if outer is not None and outer.log is not None and outer.log.owner == log.owner:
        raise ValueError("a checkpoint inside a checkpoint: the outer one covers all fits already")
    token = _watch.set(Watch(log, None if outer is None else outer.bar))
    _logs.append(log)
    try:
        yield
    finally:
        _logs.remove(log)
        _watch.reset(token)


def _log() -> Log | None:
    watch = watching()
    return None if watch is None else watch.log


def note(objective: float) -> None:
    """Tell the progress bar which objective a solver has reached."""
    watch = _watch.get()
    if watch is not None and watch.bar is not None:
        watch.bar.objective = float(objective)


def remember(make: Callable[[], Any]) -> Any:
    """`make()`; in a resumed fit what it gave the first time (the seed of random_state=None)."""
    log = _log()
    return make() if log is None else log.remember(make)


def resume_loop(state: Any) -> tuple[int, Any]:
    """Begin a loop at `state`: how many rounds a checkpoint knows, and the state after them.

    The state is a (named) tuple, list or dict of arrays and numbers that holds all that the loop
    and its stopping rule need. Call `mark_loop` after each round and `end_loop` at the end. Within
    a loop that is being kept, inner loops begin at their start: only the outermost is kept.
    """
    log = _log()
    return (0, state) if log is None else log.resume_loop(state)


def mark_loop(n: int, state: Callable[[], Any]) -> None:
    """`n` rounds of the loop are done; `state()` is asked for at once or never."""
    log = _log()
    if log is not None:
        log.mark_loop(n, state)


def end_loop() -> None:
    """The loop that was begun last has ended."""
    log = _log()
    if log is not None:
        log.end_loop()
