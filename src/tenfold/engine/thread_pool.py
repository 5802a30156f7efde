"""A small pool of threads in which the caller works too.

Helpers are woken only when there is enough to do, a fold inside a fold runs in its own thread, and
a forked child starts with a pool of its own: a plain executor deadlocks in the one case and hangs
in the other.
"""

from __future__ import annotations

import contextvars
import itertools
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from queue import SimpleQueue
from typing import Any, TypeVar

_T = TypeVar("_T")

_requested: contextvars.ContextVar[int | None] = contextvars.ContextVar("threads", default=None)
_thread_state = threading.local()


@contextmanager
def threads(n: int | None) -> Iterator[None]:
    """Use `n` threads in this block; None leaves the setting as it is.

    The default is the environment variable TENFOLD_THREADS, else the cores this process may use.
    The number of threads never changes a result, not even its last bit.

    Examples
    --------
    >>> import tenfold
    >>> with tenfold.threads(1):
    ...     tenfold.engine.n_threads()
    1
    """
    if n is not None and n < 1:
        raise ValueError(f"threads({n}): use at least one thread")
    before = _requested.get()
    try:
        _requested.set(before if n is None else n)
        yield
    finally:
        _requested.set(before)


def n_threads() -> int:
    """Number of threads that a fold may use here; one inside a fold."""
    return 1 if is_inside_fold() else _requested.get() or _default_threads()


def is_inside_fold() -> bool:
    """Whether this thread is at work on a chunk."""
    return bool(_open_folds())


def _open_folds() -> set[object]:
    """A mark for each `single_threaded` context that is open in this thread."""
    try:
        return _thread_state.folds
    except AttributeError:
        _thread_state.folds = set()
        return _thread_state.folds


@contextmanager
def single_threaded() -> Iterator[None]:
    """Mark this thread as a worker: folds within it run inline."""
    folds, mark = _open_folds(), object()
    try:
        folds.add(mark)
        yield
    finally:
        folds.discard(mark)


@cache
def _default_threads() -> int:
    requested = os.environ.get("TENFOLD_THREADS", "").strip()
    if requested:
        if not requested.isdecimal() or int(requested) < 1:
            raise ValueError(f"TENFOLD_THREADS={requested!r}: give a whole number of at least 1")
        return int(requested)
    from joblib import cpu_count

    return cpu_count()


class _Job:
    """Work that several threads share: each calls `work`, which returns when nothing is left."""

    def __init__(self, work: Callable[[], None]) -> None:
        self.work = work
        self.lock = threading.Lock()
        self.busy = 0
        self.over = False
        self.ended = threading.Lock()  # free when the last helper has ended after `over`
        self.ended.acquire()

    def help(self, context: contextvars.Context) -> None:
        with self.lock:
            if self.over:
                return
            self.busy += 1
        try:
            with single_threaded():
                context.run(self.work)
        finally:
            with self.lock:
                self.busy -= 1
                if self.over and self.busy == 0:
                    self.ended.release()

    def close(self) -> None:
        """Let no helper start any more, and wait for those that did.

        After an interrupt, a second call waits on. (A `Condition` could lose its lock to Ctrl-C.)
        """
        with self.lock:
            self.over = True
            if self.busy == 0:
                return
        self.ended.acquire()


class _Pool:
    def __init__(self) -> None:
        self.queue: SimpleQueue[tuple[_Job, contextvars.Context]] = SimpleQueue()
        self.lock = threading.Lock()
        self.size = 0

    def wake(self, job: _Job, helpers: int) -> None:
        with self.lock:
            for _ in range(self.size, helpers):
                threading.Thread(target=self.serve, name="tenfold", daemon=True).start()
                self.size += 1
        for _ in range(helpers):
            self.queue.put((job, contextvars.copy_context()))

    def serve(self) -> None:
        while True:
            job, context = self.queue.get()
            job.help(context)
            del job, context  # or an idle thread would keep the rows of the last fold alive


_pool = _Pool()


def run_in_threads(work: Callable[[], None], helpers: int) -> None:
    """Call `work` here and in `helpers` other threads; return when all calls have ended.

    `work` must hand out its own pieces and must not raise in a helper.
    """
    job = _Job(work)
    try:
        if helpers > 0:
            _pool.wake(job, helpers)
        with single_threaded():
            work()
    finally:
        try:
            job.close()
        except BaseException:  # Ctrl-C: no helper may go on when the fold has ended
            job.close()
            raise


def map_threads(f: Callable[[int], _T], n: int) -> list[_T]:
    """f(0), ..., f(n - 1), each by the next thread that is free; the first error is raised here.

    Examples
    --------
    >>> map_threads(lambda i: i * i, 4)
    [0, 1, 4, 9]
    """
    results: list[Any] = [None] * n
    errors: list[BaseException] = []
    numbers = itertools.count()

    def work() -> None:
        try:
            for i in numbers:
                if i >= n or errors:
                    return
                results[i] = f(i)
        except BaseException as error:  # noqa: BLE001 - raised again below
            errors.append(error)

    run_in_threads(work, min(n_threads(), n) - 1)
    if errors:
        raise errors[0]
    return results


def _reset() -> None:
    global _pool  # noqa: PLW0603
    _pool = _Pool()


os.register_at_fork(after_in_child=_reset)
