"""Ctrl-C at any moment of a fit is KeyboardInterrupt, and leaves nothing held."""

import gc
import json
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import tenfold
from tenfold.cli.errors import EXIT_INTERRUPTED, exit_code
from tenfold.engine import Rows, blas_threads, thread_pool
from tenfold.engine.arrays import ArraySource
from tenfold.engine.interrupts import find_interrupt, unwrap_interrupts

# Signals at random moments; a test of its own process, since they must reach its main thread.
STORM = """
import collections, json, random, signal, time, warnings
import numpy as np, tenfold
from sklearn.base import clone
from tenfold.engine import blas_threads, hooks, thread_pool
from threadpoolctl import ThreadpoolController, threadpool_info

warnings.simplefilter("ignore")
ThreadpoolController().limit(limits=2, user_api="blas")
rng = np.random.default_rng(0)
X = rng.normal(size=(20_000, 8))
y = (X[:, 0] + rng.normal(size=len(X)) > 0).astype(int)
model = {model}
fitted = clone(model).fit(X, y)
work = {work}
fired = [0]

def handler(number, frame):
    fired[0] += 1
    raise KeyboardInterrupt

def counts():
    return [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]

work()
start = time.perf_counter()
work()
seconds, usual, seen = time.perf_counter() - start, counts(), collections.Counter()
signal.signal(signal.SIGALRM, handler)
random.seed(0)
for _ in range({rounds}):
    before = fired[0]
    try:
        signal.setitimer(signal.ITIMER_REAL, random.random() * seconds + 2e-5)
        work()
        seen["swallowed" if fired[0] > before else "done"] += 1
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        seen["interrupted"] += 1
    except BaseException as problem:
        seen[repr(problem)[:200]] += 1
    signal.setitimer(signal.ITIMER_REAL, 0)
    left = len(blas_threads._limit.users), counts() == usual, thread_pool.is_inside_fold()
    if left != (0, True, False) or hooks.ACTIVE_MONITOR.get() is not None:
        seen[str(left)] += 1
        break
work()
np.testing.assert_array_equal(clone(model).fit(X, y).predict(X), fitted.predict(X))
print(json.dumps(seen))
"""


def storm(model, work, rounds=200):
    """How often each thing happened."""
    code = STORM.format(model=model, work=work, rounds=rounds)
    env = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=env,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("model", "work"),
    [
        ("tenfold.LogisticRegression(max_iter=20)", "lambda: clone(model).fit(X, y)"),
        ("tenfold.Ridge()", "lambda: clone(model).fit(X, y)"),
        ("tenfold.GaussianNB()", "lambda: fitted.predict_proba(X)"),
    ],
    ids=["logistic", "ridge", "predict"],
)
def test_signals_at_random_moments(model, work):
    seen = storm(model, work)
    assert set(seen) <= {"interrupted", "done"}, seen
    assert seen["interrupted"] > 20


def test_an_interrupt_of_compiled_code_keeps_its_type():
    def wrapped():
        problem = SystemError("<built-in> returned a result with an exception set")
        raise problem from KeyboardInterrupt()

    with pytest.raises(KeyboardInterrupt) as caught, unwrap_interrupts():
        wrapped()
    assert caught.value.__cause__ is None
    with pytest.raises(SystemError, match="a real one"), unwrap_interrupts():
        raise SystemError("a real one")
    assert find_interrupt(KeyboardInterrupt()) is None
    assert find_interrupt(None) is None


def raising(_):
    raise SystemError("returned a result with an exception set") from KeyboardInterrupt()


@pytest.mark.parametrize("n", [50, 40_000])
def test_folds_and_fits_pass_interrupts_on(n, monkeypatch):
    rows = Rows(ArraySource(np.ones((n, 3))))
    with pytest.raises(KeyboardInterrupt):
        rows.total(raising)
    with pytest.raises(KeyboardInterrupt):
        rows.each(raising)

    def fit(*_):
        raising(None)

    monkeypatch.setattr(tenfold.Ridge, "_statistic", fit)
    with pytest.raises(KeyboardInterrupt):
        tenfold.Ridge().fit(np.ones((n, 2)), np.arange(n))


def test_the_command_line_ends_as_interrupted():
    assert exit_code(lambda: raising(None)) == EXIT_INTERRUPTED


OURS = (
    "engine/blas_threads.py",
    "engine/thread_pool.py",
    "engine/fold.py",
    "engine/rows.py",
    "base/estimator.py",
    "base/one_pass.py",
    "contextlib.py",
)


class Strike:
    """Raises KeyboardInterrupt at the k-th place where Python looks for signals.

    These are the beginning of a function and the return from one that is not written in Python.
    """

    def __init__(self, k):
        self.left = k

    def __call__(self, frame, event, arg):
        if event not in ("call", "c_return") or not frame.f_code.co_filename.endswith(OURS):
            return
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


def test_a_strike_at_every_place_of_a_small_fit():
    """Every place once, instead of many places at random."""
    X, y = np.arange(20.0).reshape(10, 2), np.arange(10.0)
    model = tenfold.Ridge().fit(X, y)
    usual = [control.get() for control in blas_threads.blas_thread_controls()]
    k = struck = 0
    while struck == k:
        k += 1
        try:
            sys.setprofile(Strike(k))
            model.fit(X, y)
        except KeyboardInterrupt:
            struck += 1
        finally:
            sys.setprofile(None)
        assert not blas_threads._limit.users, k
        assert not thread_pool.is_inside_fold(), k
        assert [control.get() for control in blas_threads.blas_thread_controls()] == usual, k
    assert k > 50


@pytest.mark.parametrize("context", [lambda: tenfold.threads(3), thread_pool.single_threaded])
def test_a_context_left_open_ends_when_it_is_dropped(context):
    before = thread_pool.n_threads()
    left_open = context()
    left_open.__enter__()
    assert thread_pool.n_threads() != before or before == 1
    del left_open
    gc.collect()
    assert thread_pool.n_threads() == before


def test_helpers_stop_when_the_caller_is_interrupted():
    running, caller = [], threading.get_ident()

    def leaf(chunk):
        if threading.get_ident() == caller:
            raise KeyboardInterrupt
        running.append(chunk.first)
        time.sleep(0.001)
        return chunk.rows

    with tenfold.threads(2), pytest.raises(KeyboardInterrupt):
        Rows(ArraySource(np.ones((200 * 8192, 2)))).total(leaf)
    n = len(running)
    assert n < 150
    assert not blas_threads._limit.users
    Rows(ArraySource(np.ones((8192 * 3, 2)))).total(lambda chunk: chunk.rows)
    assert len(running) == n
