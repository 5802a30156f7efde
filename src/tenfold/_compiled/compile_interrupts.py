"""Ctrl-C while numba compiles takes effect when the function is compiled.

An exception amid numba and LLVM, which have no defense against it, leaves a lock held for ever (a
fit on two threads then waits for itself), a half-built function in a table (every later
compilation fails) or freed memory in use (the process crashes). One function takes seconds at most.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

from numba.core.dispatcher import Dispatcher

_compile: Any = Dispatcher.compile


@contextmanager
def defer_interrupts() -> Iterator[None]:
    """Let the handler of SIGINT run at the end of the context; one within another does nothing."""
    handler = _handler_to_defer()
    if handler is None:
        yield
        return
    arrived: list[Any] = []

    def remember(number: int, frame: Any) -> None:
        arrived[:] = number, frame

    remember.defers = True  # type: ignore[attr-defined]
    signal.signal(signal.SIGINT, remember)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if arrived:
            handler(*arrived)


def _handler_to_defer() -> Any:
    """The handler of SIGINT, if this thread runs it and it is not deferred already; else None."""
    if threading.current_thread() is not threading.main_thread():
        return None
    handler = signal.getsignal(signal.SIGINT)
    return handler if callable(handler) and not hasattr(handler, "defers") else None


@wraps(_compile)
def compile_uninterrupted(self: Any, sig: Any) -> Any:
    """Compile a function, or load it from the cache, and let Ctrl-C wait."""
    with defer_interrupts():
        return _compile(self, sig)


Dispatcher.compile = compile_uninterrupted
