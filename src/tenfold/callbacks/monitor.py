"""Attaches progress bars and checkpoints to fits.

Every fit runs inside `monitor_fit`. The engine and iterative solvers report to the monitor through
`tenfold.engine.hooks`; without a checkpoint and a progress bar these hooks return at once.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from tenfold.callbacks.progress_bar import is_progress_on, open_bar
from tenfold.engine.hooks import ACTIVE_MONITOR, FitMonitor
from tenfold.engine.thread_pool import is_inside_fold

if TYPE_CHECKING:
    from tenfold.engine.protocols import PassRecorder

_NO_MONITOR = nullcontext()
_open_recorders: list[PassRecorder] = []  # of all threads


def monitor_fit(
    title: str, settings: Callable[[], dict[str, Any]] | None = None
) -> AbstractContextManager[None]:
    """Monitor a fit: `with monitor_fit("KMeans", self.get_params): ...`.

    `settings` gives the parameters that must be the same when the fit is resumed.
    """
    if ACTIVE_MONITOR.get() is None and not _open_recorders and not is_progress_on():
        return _NO_MONITOR
    return _NO_MONITOR if is_inside_fold() else _monitor_fit(title, settings)


@contextmanager
def _monitor_fit(title: str, settings: Callable[[], dict[str, Any]] | None) -> Iterator[None]:
    outer = ACTIVE_MONITOR.get() or FitMonitor(None, None)
    recorder, depth = outer.recorder, 0
    if recorder is not None:
        recorder.fit(title, {} if settings is None else settings())
        depth = recorder.depth
    elif _open_recorders:
        _warn_of_threads()
    before, bar = ACTIVE_MONITOR.get(), None
    try:
        bar = open_bar(title) if outer.bar is None else None
        ACTIVE_MONITOR.set(FitMonitor(recorder, bar or outer.bar))
        yield
    finally:
        ACTIVE_MONITOR.set(before)
        if recorder is not None:
            recorder.depth = depth  # also when a loop was left by an error
        if bar is not None:
            bar.close()


def _warn_of_threads() -> None:
    warnings.warn(
        "a checkpoint block is open in another thread: the fit in this thread is not part of it "
        "and cannot be resumed. Run it in the thread of the block, or give it a checkpoint.",
        RuntimeWarning,
        stacklevel=5,
    )


@contextmanager
def attach_recorder(recorder: PassRecorder) -> Iterator[None]:
    """Let a checkpoint record the fits of this block."""
    outer = ACTIVE_MONITOR.get()
    nested = None if outer is None else outer.recorder
    if nested is not None and nested.owner == recorder.owner:
        raise ValueError("a checkpoint inside a checkpoint: the outer one covers all fits already")
    try:
        _open_recorders.append(recorder)
        ACTIVE_MONITOR.set(FitMonitor(recorder, None if outer is None else outer.bar))
        yield
    finally:
        ACTIVE_MONITOR.set(outer)
        while recorder in _open_recorders:
            _open_recorders.remove(recorder)
