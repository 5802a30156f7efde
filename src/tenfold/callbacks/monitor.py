"""Attaches progress bars and checkpoints to fits.

`estimator.py` runs every fit inside `monitor_fit`; loops call `resume_loop`, `record_loop_state`, `end_loop`
and `report_objective`. Without a checkpoint and a bar all of them do nothing, at once.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from tenfold.callbacks.progress_bar import close_bar, is_progress_on, open_bar
from tenfold.engine.hooks import ACTIVE_MONITOR, FitMonitor
from tenfold.engine.thread_pool import is_inside_fold

if TYPE_CHECKING:
    from tenfold.callbacks.replay import CheckpointReplay
_NO_MONITOR = nullcontext()
_open_replays: list[CheckpointReplay] = []  # of all threads


def monitor_fit(
    title: str, settings: Callable[[], dict[str, Any]] | None = None
) -> AbstractContextManager[None]:
    """Watch over a fit: `with watched("KMeans", self.get_params): ...`.

    `settings` gives the parameters that must be the same when the fit is resumed.
    """
    if ACTIVE_MONITOR.get() is None and not _open_replays and not is_progress_on():
        return _NO_MONITOR
    return _NO_MONITOR if is_inside_fold() else _monitor_fit(title, settings)


@contextmanager
def _monitor_fit(title: str, settings: Callable[[], dict[str, Any]] | None) -> Iterator[None]:
    outer = ACTIVE_MONITOR.get() or FitMonitor(None, None)
    log, depth = outer.log, 0
    if log is not None:
        log.fit(title, {} if settings is None else settings())
        depth = log.depth
    elif _open_replays:
        _warn_of_threads()
    bar = open_bar(title) if outer.bar is None else None
    token = ACTIVE_MONITOR.set(FitMonitor(log, bar or outer.bar))
    try:
        yield
    finally:
        ACTIVE_MONITOR.reset(token)
        if bar is not None:
            close_bar(bar)
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
def attach_replay(log: CheckpointReplay) -> Iterator[None]:
    """Let a checkpoint listen to the fits of this block."""
    outer = ACTIVE_MONITOR.get()
    if outer is not None and outer.log is not None and outer.log.owner == log.owner:
        raise ValueError("a checkpoint inside a checkpoint: the outer one covers all fits already")
    token = ACTIVE_MONITOR.set(FitMonitor(log, None if outer is None else outer.bar))
    _open_replays.append(log)
    try:
        yield
    finally:
        _open_replays.remove(log)
        ACTIVE_MONITOR.reset(token)
