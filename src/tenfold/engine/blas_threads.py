"""BLAS on one thread while we work: all parallelism is ours, and the bits stay put.

A product on two BLAS threads has other bits than on one, and two layers of threads fight over the
cores. `threadpool_limits` around each fold would cost 3.7 ms and race between threads; here one
set of users and one lock stand over the C functions of each BLAS, found once.

Ctrl-C may strike between any two instructions. So a user is added and removed by steps that can be
repeated, and a context that was left open is a generator, which Python closes when it is dropped.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

_MAX_ATTEMPTS = 20  # at a chunk, when another library moves the number of BLAS threads


class BlasThreadControl(NamedTuple):
    """How to read and set the number of threads of one BLAS."""

    get: Callable[[], int]
    set: Callable[[int], None]


class _Limit:
    def __init__(self) -> None:
        self.lock = threading.RLock()  # the collector may call `leave` within `enter`
        self.users: set[object] = set()  # one for each context that is open
        self.held_anew = 0  # how often a count had to be set to one
        self.before: list[int] = []  # empty when nobody holds a limit

    def enter(self, user: object) -> None:
        with self.lock:
            self.users.add(user)
            if not self.before:
                self.before = [dial.get() for dial in blas_thread_controls()]
                set_single_threaded()

    def leave(self, user: object) -> None:
        with self.lock:
            self.users.discard(user)
            if not self.users:
                for dial, threads in zip(blas_thread_controls(), self.before, strict=False):
                    dial.set(threads)
                self.before = []


_limit = _Limit()


@cache
def blas_thread_controls() -> tuple[BlasThreadControl, ...]:
    """The BLAS libraries of this process; numpy and scipy.linalg are loaded first."""
    import numpy  # noqa: F401, ICN001
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    libraries = ThreadpoolController().select(user_api="blas").lib_controllers
    return tuple(_thread_control(library) for library in libraries)


def _thread_control(library: object) -> BlasThreadControl:
    # threadpoolctl's own setter does nothing in all threads but one: take the C functions.
    find = getattr(library, "_get_symbol", None)
    layer = getattr(library, "threading_layer", None)
    if find is not None and layer == "pthreads":
        return BlasThreadControl(find("openblas_get_num_threads"), find("openblas_set_num_threads"))
    return BlasThreadControl(library.get_num_threads, library.set_num_threads)  # type: ignore[attr-defined]


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold every BLAS of the process to one thread; nested and concurrent use is fine."""
    limit, user = _limit, object()
    try:
        limit.enter(user)
        yield
    finally:
        try:
            limit.leave(user)
        except BaseException:
            limit.leave(user)
            raise


def is_single_threaded() -> bool:
    """Whether every BLAS is on one thread now (another library may have moved it)."""
    return all(dial.get() == 1 for dial in blas_thread_controls())


def set_single_threaded() -> None:
    """Set every BLAS to one thread."""
    _limit.held_anew += 1
    for dial in blas_thread_controls():
        dial.set(1)


def retry_if_blas_threads_changed(work: Callable[[], Any]) -> Any:
    """`work()`, repeated if the number of BLAS threads was changed meanwhile."""
    for _ in range(_MAX_ATTEMPTS):
        if not is_single_threaded():
            set_single_threaded()
        since = _limit.held_anew
        result = work()
        if is_single_threaded() and since == _limit.held_anew:
            return result
    raise RuntimeError(
        "something sets the number of BLAS threads again and again while tenfold computes: a chunk "
        "function, or another thread (threadpoolctl.threadpool_limits). Move it out of the fold."
    )


def _reset() -> None:
    global _limit  # noqa: PLW0603
    _limit = _Limit()


os.register_at_fork(after_in_child=_reset)
