"""BLAS stays on one thread inside a fold, and is what it was before when the fold has ended."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_info

import tenfold
from tenfold.engine import Rows, blas_threads
from tenfold.engine.arrays import ArraySource

PATIENCE = 30
BEFORE = 2  # threads that each BLAS has outside
GRID = 1872  # rows in a chunk of 70 float64 columns
X = np.random.default_rng(0).normal(size=(6 * GRID - 5, 70))


def counts():
    """Threads of every BLAS, asked of threadpoolctl, not of the module under test."""
    return {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}


def set_counts(n):
    ThreadpoolController().select(user_api="blas").limit(limits=n)


@pytest.fixture(autouse=True)
def two_threads_outside():
    blas_threads.blas_thread_controls()  # loads every BLAS
    before = ThreadpoolController().select(user_api="blas").limit(limits=BEFORE)
    assert counts() == {BEFORE}
    yield
    left = counts()
    before.restore_original_limits()
    assert left == {BEFORE}, "a test has left BLAS on another number of threads"


def rows():
    return Rows(ArraySource(np.asfortranarray(X)))  # chunk by chunk, not in runs


def gram(chunk):
    return chunk.X.T @ np.tanh(chunk.X)


@pytest.fixture(scope="module")
def expected():
    """The bits of one BLAS thread, found without the engine's help."""
    with ThreadpoolController().limit(limits=1):
        parts = [X[first : first + GRID] for first in range(0, len(X), GRID)]
        a, b, c, d, e, f = (part.T @ np.tanh(part) for part in parts)
        return ((a + b) + (c + d)) + (e + f)


class LeafError(Exception):
    """What a leaf may raise."""


def test_every_blas_is_found():
    controls = blas_threads.blas_thread_controls()  # loads them
    libraries = [lib for lib in threadpool_info() if lib["user_api"] == "blas"]
    assert len(controls) == len(libraries) >= 1
    set_counts(BEFORE)
    assert [control.get() for control in controls] == [BEFORE] * len(libraries)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("n", [50, len(X)])
@pytest.mark.parametrize("verb", ["total", "each"])
def test_one_thread_inside_and_the_old_number_afterwards(threads, n, verb):
    seen = []

    def leaf(chunk):
        seen.append(counts())
        return chunk.X[:, 0] * 0 if verb == "each" else chunk.rows

    with tenfold.threads(threads):
        getattr(Rows(ArraySource(X[:n])), verb)(leaf)
    assert seen == [{1}] * -(-n // GRID)
    assert counts() == {BEFORE}


@pytest.mark.parametrize("threads", [1, 2])
def test_the_bits_are_those_of_one_blas_thread(threads, expected):
    with tenfold.threads(threads):
        np.testing.assert_array_equal(rows().total(gram), expected)


def test_outputs_to_a_file_are_made_on_one_thread_too(tmp_path):
    seen = []

    def leaf(chunk):
        seen.append(counts())
        return chunk.X[:, 0]

    rows().each(leaf, into=tmp_path / "out.npy")
    assert set().union(*seen) == {1}
    assert counts() == {BEFORE}


@pytest.mark.parametrize("problem", [LeafError, KeyboardInterrupt])
@pytest.mark.parametrize("n", [50, len(X)])
@pytest.mark.parametrize("threads", [1, 2])
def test_the_old_number_is_back_after_an_error(problem, n, threads):
    def leaf(chunk):
        time.sleep(0.001)
        if chunk.first + chunk.rows == n:
            raise problem
        return chunk.rows

    with tenfold.threads(threads), pytest.raises(problem):
        Rows(ArraySource(X[:n])).total(leaf)
    assert counts() == {BEFORE}


def test_the_end_of_an_inner_fold_does_not_let_go(expected):
    after_inner = []

    def leaf(chunk):
        rows().total(gram)
        with blas_threads.one_blas_thread():
            pass
        after_inner.append(counts())
        return gram(chunk)

    np.testing.assert_array_equal(rows().total(leaf), expected)
    assert after_inner == [{1}] * 6
    with blas_threads.one_blas_thread():
        rows().total(gram)
        assert counts() == {1}
    assert counts() == {BEFORE}


def test_of_two_user_threads_the_first_to_end_does_not_let_go():
    inside, ended, seen = threading.Event(), threading.Event(), []

    def long_leaf(chunk):
        inside.set()
        assert ended.wait(PATIENCE)
        seen.append(counts())
        return chunk.rows

    longer = threading.Thread(
        target=lambda: Rows(ArraySource(X[:50])).total(long_leaf), daemon=True
    )
    longer.start()
    assert inside.wait(PATIENCE)
    rows().total(gram)
    assert counts() == {1}  # the other fold is still at work
    ended.set()
    longer.join(PATIENCE)
    assert seen == [{1}]
    assert counts() == {BEFORE}


def test_many_folds_at_once_leave_the_old_number(expected):
    agreed = []

    def fold_often():
        with tenfold.threads(2):
            agreed.extend(np.array_equal(rows().total(gram), expected) for _ in range(10))

    threads = [threading.Thread(target=fold_often, daemon=True) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert agreed == [True] * 30
    assert counts() == {BEFORE}


@pytest.mark.parametrize("moved_at", [0, 3, 5])
def test_a_chunk_is_redone_when_a_library_moves_the_number(moved_at, expected):
    calls = []

    def meddled(chunk):
        number = chunk.first // GRID
        calls.append(number)
        if number == moved_at and calls.count(number) <= 2:  # twice in a row
            set_counts(2)
            return gram(chunk) * np.nan  # a result that must not be used
        return gram(chunk)

    with tenfold.threads(1):
        total = rows().total(meddled)
    np.testing.assert_array_equal(total, expected)
    assert sorted(calls) == sorted([*range(6), moved_at, moved_at])
    assert counts() == {BEFORE}


def test_a_chunk_is_redone_although_another_thread_has_set_the_number_right(expected):
    moved, past, calls = threading.Event(), threading.Event(), []

    def meddled(chunk):
        number = chunk.first // GRID
        calls.append(number)
        if number == 0:
            time.sleep(0.002)  # enough work in sight to wake the helper
        if number == 1 and calls.count(1) == 1:
            set_counts(2)
            moved.set()
            assert past.wait(PATIENCE)
            return gram(chunk) * np.nan  # made on two threads: must not be used
        if number == 2:
            assert moved.wait(PATIENCE)
        if number == 3:
            past.set()  # the thread of chunks 2 and 3 has looked at the number by now
        return gram(chunk)

    with tenfold.threads(2):
        total = rows().total(meddled)
    assert calls.count(1) == 2
    np.testing.assert_array_equal(total, expected)


def test_the_only_chunk_is_redone_too():
    seen = []

    def meddled(chunk):
        seen.append(counts())
        if len(seen) == 1:
            set_counts(2)
        return gram(chunk)

    total = Rows(ArraySource(X[:GRID])).total(meddled)
    assert seen == [{1}, {1}]
    with ThreadpoolController().limit(limits=1):
        np.testing.assert_array_equal(total, X[:GRID].T @ np.tanh(X[:GRID]))
    assert counts() == {BEFORE}


FORK = """
import os, signal, threading
import numpy as np
from threadpoolctl import ThreadpoolController, threadpool_info
from tenfold.engine import Rows, blas_threads
from tenfold.engine.arrays import ArraySource

signal.alarm(40)
ThreadpoolController().select(user_api="blas").limit(limits=2)
rows = Rows(ArraySource(np.ones((20_000, 70))))

def counts(chunk=None):
    return {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}

def seen():
    inside = []
    rows.total(lambda chunk: inside.append(counts()) or chunk.X.sum())
    return set().union(*inside), counts()

def child():
    pid = os.fork()
    if pid == 0:
        os._exit(0 if seen() == ({1}, {2}) else 1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

print(child(), seen() == ({1}, {2}), child())

# fork while another thread holds the lock
with blas_threads._limit.lock:
    forking = threading.Thread(target=lambda: print(child()))
    forking.start()
    forking.join()
"""

INTERRUPT = """
import signal, threading, time
import numpy as np, tenfold
from threadpoolctl import ThreadpoolController, threadpool_info
from tenfold.engine import Rows
from tenfold.engine.arrays import ArraySource

signal.signal(signal.SIGINT, signal.default_int_handler)  # shells may ignore it
signal.alarm(40)
ThreadpoolController().select(user_api="blas").limit(limits=2)
caller, running, sent = threading.get_ident(), [0], []

def leaf(chunk):
    running[0] += 1
    time.sleep(0.01)
    if threading.get_ident() != caller:
        time.sleep(0.2)  # by now the caller has nothing left to do but wait
        if not sent:
            sent.append(signal.pthread_kill(caller, signal.SIGINT))
        time.sleep(0.2)
    running[0] -= 1
    return chunk.rows

try:
    with tenfold.threads(2):
        Rows(ArraySource(np.ones((3 * 8192, 2)))).total(leaf)
except KeyboardInterrupt:
    print("interrupted", running[0])
time.sleep(1)
print({lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"})
"""


def output(code):
    """What a program prints; a cluster of another test may have set OPENBLAS_NUM_THREADS here."""
    env = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=env,
    )
    return done.stdout.split(), done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_counts_anew():
    out, problem = output(FORK)
    assert out == ["0", "True", "0", "0"], problem


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="no such signal on this system")
def test_an_interrupt_while_the_caller_waits_for_a_helper():
    out, problem = output(INTERRUPT)
    assert out == ["interrupted", "0", "{2}"], problem
