"""Time that numba takes to compile or to load compiled code, so that nobody counts it as work."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

from numba.core import event


class CompileTimer(event.Listener):
    """Seconds of compilation since it was installed; one within another counts once.

    Attributes
    ----------
    seconds : float
        Their sum over all threads.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._lock, self._open = threading.Lock(), threading.local()

    def on_start(self, event: event.Event) -> None:
        """Begin a compilation, perhaps within another."""
        self._open.depth = getattr(self._open, "depth", 0) + 1
        if self._open.depth == 1:
            self._open.start = perf_counter()

    def on_end(self, event: event.Event) -> None:
        """End it."""
        self._open.depth -= 1
        if self._open.depth == 0:
            with self._lock:
                self.seconds += perf_counter() - self._open.start


@contextmanager
def time_compilation() -> Iterator[CompileTimer]:
    """A timer of what is compiled within the context.

    Examples
    --------
    >>> from numba import njit
    >>> with time_compilation() as timer:
    ...     njit(lambda x: x + 1)(1)
    2
    >>> timer.seconds > 0
    True
    """
    timer = CompileTimer()
    with event.install_listener("numba:compile", timer):
        yield timer
