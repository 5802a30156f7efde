"""The progress line says the truth, on a terminal and elsewhere, and stays out of the way."""

import importlib
import io
import subprocess
import sys
import threading
import time
import timeit
from contextlib import suppress

import numpy as np
import pytest
from rich.console import Console

import tenfold
from tenfold.callbacks import monitor
from tenfold.engine import Rows
from tenfold.engine.arrays import ArraySource
from tenfold.engine.hooks import active_monitor, report_objective

progress = importlib.import_module("tenfold.callbacks.progress_bar")  # the name means the function


def slow_sum(chunk, pause):
    time.sleep(pause)
    return chunk.X.sum(0)


def slow_rows(chunk, pause):
    time.sleep(pause)
    return chunk.X[:, 0]


def opened(chunks=12):
    return Rows(ArraySource(np.ones((8192 * chunks, 2))))


@pytest.fixture(autouse=True)
def screen(monkeypatch):
    """Consoles that write here: `screen.terminal` says whether they are a terminal."""

    class Screen(io.StringIO):
        terminal = True
        consoles = 0

    screen = Screen()

    def console(stderr):
        assert stderr
        screen.consoles += 1
        return Console(file=screen, force_terminal=screen.terminal, width=100)

    monkeypatch.setattr("rich.console.Console", console)
    return screen


@pytest.fixture(autouse=True)
def _impatient(monkeypatch):
    monkeypatch.setattr(progress, "_SECONDS_BEFORE_BAR", 0.0)
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_LINES", 0.05)
    monkeypatch.setattr(progress, "_SLOW_PASS_SECONDS", 0.03)
    yield
    assert not progress._ProgressState.on
    assert not progress.has_bar()


def fit(rows, passes=2, pause=0.02, title="Toy"):
    with monitor.monitor_fit(title):
        for n in range(passes):
            rows.total(slow_sum, pause)
            report_objective(10.0 / (n + 1))


@pytest.mark.parametrize("threads", [1, 2])
def test_bar_shows_passes_rows_speed_time_and_objective(screen, threads):
    with tenfold.progress(), tenfold.threads(threads):
        fit(opened())
    text = screen.getvalue()
    for part in ("Toy", "pass 1", "pass 2", "/98.3k", "rows/s", "left", "━"):
        assert part in text
    assert "objective 10" in text
    summary = text.splitlines()[-2]
    assert "2 passes" in summary
    assert "objective 5" in summary
    assert "━" not in summary.rpartition("\r")[2]


def test_lines_where_there_is_no_terminal(screen):
    screen.terminal = False
    with tenfold.progress():
        fit(opened())
    lines = screen.getvalue().splitlines()
    assert 2 <= len(lines) <= 10
    assert all(line.startswith("Toy  pass ") for line in lines[:-1])
    assert lines[-1].startswith("Toy  2 passes  ")
    assert "\x1b" not in screen.getvalue()


def test_counts_are_exact_with_many_threads():
    with tenfold.progress(), tenfold.threads(8), monitor.monitor_fit("Toy"):
        bar = active_monitor().bar
        opened(40).total(slow_sum, 0.0005)
        assert bar.rows == bar.total == bar.all_rows == 40 * 8192
        opened(3).total(slow_sum, 0.0)
        assert (bar.rows, bar.passes, bar.all_rows) == (3 * 8192, 2, 43 * 8192)


def test_outputs_per_row_are_shown_too(screen):
    with tenfold.progress(), monitor.monitor_fit("Toy"):
        opened().each(slow_rows, 0.02)
    assert "/98.3k" in screen.getvalue()


def test_nested_fits_share_the_outermost_bar(screen):
    with tenfold.progress(), monitor.monitor_fit("Outer"):
        fit(opened(), title="Inner")
        fit(opened(), title="Inner")
    assert screen.consoles == 1
    assert "Inner" not in screen.getvalue()
    assert "4 passes" in screen.getvalue()


def test_fits_in_two_threads_show_one_bar(screen):
    with tenfold.progress():
        threads = [threading.Thread(target=fit, args=(opened(),)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert screen.consoles == 1


def test_short_fits_show_nothing(screen, monkeypatch):
    monkeypatch.setattr(progress, "_SECONDS_BEFORE_BAR", 60.0)
    with tenfold.progress():
        fit(opened(), pause=0.0)
    assert screen.getvalue() == ""


def test_error_leaves_the_terminal_in_order(screen):
    with tenfold.progress():
        with pytest.raises(TypeError), monitor.monitor_fit("Toy"):
            opened().total(slow_sum, "not a number")
        assert screen.getvalue().endswith("\x1b[?25h")  # the cursor is back
        fit(opened())
    assert screen.consoles == 2


def stopping_sum(chunk):
    if chunk.first >= 8 * 8192:
        raise KeyboardInterrupt
    return chunk.X.sum(0)


def test_resumed_pass_counts_what_is_known(tmp_path):
    seen = []
    for _ in range(2):
        block = tenfold.checkpoint(tmp_path / "fit.ckpt")
        with suppress(KeyboardInterrupt), block, tenfold.progress(), monitor.monitor_fit("Toy"):
            seen.append(active_monitor().bar)
            with tenfold.threads(1):
                opened().total(stopping_sum)
    assert [bar.covered for bar in seen] == [0, 8 * 8192]
    assert [bar.rows for bar in seen] == [8 * 8192, 8 * 8192]
    assert [bar.all_rows for bar in seen] == [8 * 8192, 0]


def test_switch_is_a_switch_and_a_block():
    assert repr(tenfold.progress(True)) == "progress is on"
    with tenfold.progress(False):
        assert not progress.is_progress_on()
        with tenfold.progress():
            assert progress.is_progress_on()
        assert not progress.is_progress_on()
    assert progress.is_progress_on()
    tenfold.progress(False)


@pytest.mark.parametrize(("value", "on"), [("1", True), ("0", False), ("", False)])
def test_environment_turns_it_on(value, on):
    code = "import tenfold; print(tenfold.progress(True).before)"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env={"TENFOLD_PROGRESS": value}, capture_output=True, check=True)
    assert done.stdout.decode().strip() == str(on)


def test_watching_costs_nothing_when_it_is_off():
    def empty():
        with monitor.monitor_fit("Toy", dict):
            pass

    assert min(timeit.repeat(empty, number=1000, repeat=5)) / 1000 < 3e-6


def test_bar_does_not_slow_down_the_fold():
    with tenfold.progress(), monitor.monitor_fit("Toy"):
        bar, chunk = active_monitor().bar, next(opened().source.chunks(range(1)))
        opened().total(slow_sum, 0.005)
        assert bar.live is not None
        bar.next = np.inf
        assert min(timeit.repeat(lambda: bar.done(chunk), number=1000, repeat=5)) / 1000 < 5e-6
