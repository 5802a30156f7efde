"""Folds on several threads: nesting, context, errors, interrupts, forks."""

import contextvars
import gc
import os
import subprocess
import sys
import threading
import time
import weakref
from contextlib import suppress

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import tenfold
from tenfold.engine import n_threads
from tenfold.engine.thread_pool import _default_threads, is_inside_fold
from tests.engine.fold_data import (
    BYTES,
    GRID,
    PATIENCE,
    LeafError,
    chunks,
    flat,
    mixing,
    one_thread,
    opened,
    products,
    run_threads,
)


def meeting(n):
    """A leaf's way to be sure that n threads are at work: chunks 1 to n meet."""
    barrier = threading.Barrier(n)

    def meet(chunk):
        if chunk.first == 0:
            time.sleep(0.002)  # enough work in sight to wake the helpers
        if 1 <= chunk.first // GRID <= n:
            barrier.wait(PATIENCE)

    return meet


@pytest.mark.parametrize("threads", [1, 2, 3, 5])
def test_as_many_threads_work_as_were_asked_for(threads):
    seen, meet = set(), meeting(threads)

    def leaf(chunk):
        meet(chunk)
        assert is_inside_fold()
        seen.add(threading.get_ident())
        return chunk.rows

    with tenfold.threads(threads):
        assert chunks(7).total(leaf) == 7 * GRID
    assert len(seen) == threads
    assert threading.get_ident() in seen
    assert not is_inside_fold()


def test_more_threads_than_chunks():
    with tenfold.threads(50):
        assert chunks(3).total(lambda chunk: chunk.rows) == 3 * GRID


def test_a_fold_within_a_fold_runs_inline_and_gives_the_same():
    outer, inner = chunks(5), opened("float64 C")
    expected = flat(inner.total(products, mixing()))
    meet, agreed = meeting(3), []

    def leaf(chunk):
        meet(chunk)
        here, ran = threading.get_ident(), set()

        def inside(part, M):
            ran.add(threading.get_ident())
            return products(part, M)

        assert n_threads() == 1
        agreed.append(np.array_equal(flat(inner.total(inside, mixing())), expected))
        assert ran == {here}
        return inner.each(lambda part: part.X[:, 0]).sum()

    with tenfold.threads(3):
        total = outer.total(leaf)
    assert agreed == [True] * 5
    assert total == 5 * BYTES[:, 0].astype(float).sum()


def test_three_levels_of_folds_from_several_user_threads_do_not_deadlock():
    rows = chunks(3)

    def leaf(chunk, depth):
        return chunk.rows if depth == 0 else rows.total(leaf, depth - 1)

    def fold_here(_):
        with tenfold.threads(2):
            assert rows.total(leaf, 2) == 9 * 3 * GRID

    run_threads(3, fold_here)


def test_user_threads_that_fold_at_once_do_not_mix_their_rows():
    expected = one_thread()

    def fold_here(i):
        dtype = ("float64", "float32")[i % 2]
        with tenfold.threads(2):
            for _ in range(4):
                total = opened(f"{dtype} C").total(products, mixing(dtype))
                assert_array_equal(flat(total), expected[dtype])

    run_threads(4, fold_here)


def test_a_finished_fold_lets_go_of_its_rows():
    rows, meet = chunks(4), meeting(2)
    source = weakref.ref(rows.source)
    with tenfold.threads(2):
        rows.total(lambda chunk: meet(chunk) or chunk.rows)
    del rows
    for _ in range(100):  # a helper may still be on its way out of the job
        gc.collect()
        if source() is None:
            break
        threading.Event().wait(0.01)
    assert source() is None


def test_leaves_see_the_context_of_the_caller():
    asked = contextvars.ContextVar("asked", default="nothing")
    seen, meet = [], meeting(2)

    def leaf(chunk):
        meet(chunk)
        seen.append((threading.get_ident(), asked.get(), np.geterr()["over"]))
        return 0

    asked.set("by the caller")
    with np.errstate(over="call", call=lambda *_: None), tenfold.threads(2):
        chunks(3).total(leaf)
    by_helpers = {entry[1:] for entry in seen if entry[0] != threading.get_ident()}
    assert by_helpers == {("by the caller", "call")}


def test_the_first_error_by_chunk_number_wins_and_the_others_stop():
    failed, calls = threading.Event(), []
    early = LeafError("chunk 1")

    def leaf(chunk):
        number = chunk.first // GRID
        calls.append(number)
        if number == 0:
            time.sleep(0.002)
        if number == 2:
            failed.set()
            raise LeafError("chunk 2")
        if number == 1:
            assert failed.wait(PATIENCE)
            raise early
        return chunk.rows

    for verb in ("total", "each"):
        failed.clear()
        calls.clear()
        with tenfold.threads(2), pytest.raises(LeafError) as caught:
            getattr(chunks(40), verb)(lambda chunk: np.zeros(leaf(chunk)))
        assert caught.value is early
        assert sorted(calls) == [0, 1, 2]
    meet = meeting(2)
    with tenfold.threads(2):  # the pool works as before
        assert chunks(4).total(lambda chunk: meet(chunk) or chunk.rows) == 4 * GRID


@pytest.mark.parametrize("at", [0, 1, 5])
def test_an_error_arrives_as_it_is_also_on_one_thread(at):
    problem = LeafError(at)

    def leaf(chunk):
        if chunk.first // GRID == at:
            raise problem
        return 0

    for threads in (1, 3):
        with tenfold.threads(threads), pytest.raises(LeafError) as caught:
            chunks(6).total(leaf)
        assert caught.value is problem
    assert not is_inside_fold()


def test_an_error_in_the_only_chunk():
    def leaf(_):
        raise LeafError

    with pytest.raises(LeafError):
        chunks(1).total(leaf)
    assert chunks(1).total(lambda chunk: chunk.rows) == GRID


@pytest.mark.parametrize("who", ["caller", "helper"])
def test_an_interrupt_in_any_thread_reaches_the_caller(who):
    caller, calls, interrupted = threading.get_ident(), [], threading.Event()
    meet = meeting(2)

    def leaf(chunk):
        calls.append(chunk.first // GRID)
        meet(chunk)
        if chunk.first and (threading.get_ident() == caller) == (who == "caller"):
            interrupted.set()
            raise KeyboardInterrupt
        if chunk.first:
            assert interrupted.wait(PATIENCE)
        return 0

    with tenfold.threads(2), pytest.raises(KeyboardInterrupt):
        chunks(50).total(leaf)
    assert len(calls) <= 5
    assert chunks(4).total(lambda chunk: chunk.rows) == 4 * GRID


@pytest.mark.parametrize("n", [0, -3])
def test_fewer_than_one_thread_is_refused(n):
    with pytest.raises(ValueError, match=rf"threads\({n}\).*at least one"), tenfold.threads(n):
        pass


def test_threads_nest_and_end():
    before = n_threads()
    with tenfold.threads(3):
        with tenfold.threads(1):
            assert n_threads() == 1
        with tenfold.threads(None):
            assert n_threads() == 3
        with suppress(LeafError), tenfold.threads(7):
            raise LeafError
        assert n_threads() == 3
    assert n_threads() == before


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5", "1e1", "²"])
def test_a_wrong_environment_is_named(text, monkeypatch):
    monkeypatch.setenv("TENFOLD_THREADS", text)
    with pytest.raises(ValueError, match=r"TENFOLD_THREADS=.*whole number") as caught:
        _default_threads.__wrapped__()
    assert repr(text) in str(caught.value)


def python(code, **environment):
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **environment},
        check=False,
    )
    return done.stdout.split(), done.stderr


def test_the_environment_sets_the_number_of_threads():
    code = "from tenfold.engine import n_threads; print(n_threads())"
    assert python(code, TENFOLD_THREADS=" 3 ")[0] == ["3"]
    out, problem = python(code, TENFOLD_THREADS="lots")
    assert not out
    assert "ValueError: TENFOLD_THREADS='lots': give a whole number" in problem


FORK = """
import multiprocessing, os, signal, threading, time
import numpy as np, tenfold
from tenfold.engine import Rows
from tenfold.engine.arrays import ArraySource

signal.alarm(40)
rows = Rows(ArraySource(np.random.default_rng(0).normal(size=(50_000, 20))))

def folded(_=None):
    seen = set()
    def leaf(chunk):
        seen.add(threading.get_ident())
        time.sleep(0.002)
        return chunk.X.T @ chunk.X
    with tenfold.threads(2):
        return rows.total(leaf).tobytes(), len(seen)

def exit_code_of_child():
    pid = os.fork()
    if pid == 0:
        os._exit(0 if folded()[0] == expected[0] else 1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

expected = folded()
print(expected[1], exit_code_of_child())
with multiprocessing.get_context("fork").Pool(2) as pool:
    print(pool.map(folded, range(2)) == [expected] * 2, folded() == expected)
with tenfold.threads(2):
    print(rows.total(lambda chunk: exit_code_of_child()))  # fork in the middle of a fold
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_folds_with_threads_of_its_own():
    out, problem = python(FORK)
    assert out == ["2", "0", "True", "True", "0"], problem
