"""Ctrl-C during a compilation: it takes effect afterwards, and numba stays usable."""

import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from numba import njit

from tenfold._compiled.compile_interrupts import defer_interrupts

STORM = """
import os, random, signal, threading, time
import numpy as np
from numba import njit
from numba.core.compiler_lock import global_compiler_lock
from llvmlite.binding import ffi
import tenfold._compiled

signal.signal(signal.SIGINT, signal.default_int_handler)
x = np.arange(3.0)

def compile_and_run():
    inner = njit(lambda x: np.sqrt(x).sum())
    return njit(lambda x: inner(x) + x.max())(x)

def is_free(lock):
    found = []
    probe = threading.Thread(target=lambda: found.append(lock.acquire(timeout=5)) or lock.release())
    probe.start()
    probe.join()
    return found[0]

compile_and_run()
start = time.perf_counter()
compile_and_run()
seconds, interrupted, main = time.perf_counter() - start, 0, threading.main_thread().ident
random.seed(0)
for _ in range(15):
    delay = random.random() * seconds
    timer = threading.Timer(delay, signal.pthread_kill, (main, signal.SIGINT))
    try:
        timer.start()
        compile_and_run()
        timer.join()
        time.sleep(0.01)
    except KeyboardInterrupt:
        interrupted += 1
    timer.join()
    assert is_free(global_compiler_lock._lock) and is_free(ffi.lib._lock._lock)
assert compile_and_run() == np.sqrt(x).sum() + 2
print(interrupted)
"""


def test_signals_at_random_moments_of_compilations():
    done = subprocess.run(
        [sys.executable, "-c", STORM], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Exception ignored" not in done.stderr
    assert int(done.stdout) == 15


@pytest.fixture
def interruptible():
    """Python's handler of Ctrl-C, which a shell in the background takes away."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_the_signal_waits_for_the_outermost_context():
    reached = []
    with pytest.raises(KeyboardInterrupt), defer_interrupts():  # noqa: PT012
        with defer_interrupts():
            signal.raise_signal(signal.SIGINT)
            reached.append("inner")
        reached.append("outer")
    assert reached == ["inner", "outer"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.usefixtures("interruptible")
def test_other_threads_and_ignored_signals_change_no_handler():
    found = []

    def look():
        with defer_interrupts():
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    look()
    assert found == [signal.default_int_handler, signal.SIG_IGN]


@pytest.mark.usefixtures("interruptible")
def test_a_compilation_defers():
    @njit
    def double(x):
        return x + x

    seen = []
    compile_one = double._compiler.compile
    double._compiler.compile = lambda *types: (
        seen.append(signal.getsignal(signal.SIGINT)) or compile_one(*types)
    )
    np.testing.assert_array_equal(double(np.ones(2)), [2, 2])
    assert hasattr(seen[0], "defers")
