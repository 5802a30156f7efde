"""A fit under a checkpoint ends with the same bits, however often it was killed.

Run as a script, this file is the program that gets killed.
"""

import contextvars
import os
import signal
import subprocess
import sys
import threading
import time
import zipfile
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import tenfold
from tenfold.callbacks import checkpoint_file, monitor, replay
from tenfold.engine import Rows
from tenfold.engine.arrays import ArraySource
from tenfold.engine.context import current_engine
from tenfold.engine.hooks import (
    active_monitor,
    end_loop,
    record_loop_state,
    record_value,
    resume_loop,
)
from tenfold.io.sequences import from_sequences
from tests.callbacks.same_values import assert_same

ROUNDS = 20


CHUNKS = 12


calls = count()


fuse = {"chunks": 0}  # until `crashing` stops the run


class Moments(NamedTuple):
    """Weight, mean and scatter, merged as Chan does."""

    n: float
    mean: np.ndarray
    scatter: np.ndarray

    def merge(self, other):
        n = self.n + other.n
        gap = other.mean - self.mean
        scatter = self.scatter + other.scatter + np.outer(gap, gap) * (self.n * other.n / n)
        return Moments(n, self.mean + gap * (other.n / n), scatter)


class Seen(NamedTuple):
    """All kinds of parts that a statistic may have."""

    moments: Moments
    chunks: int
    product: np.ndarray
    by_sign: dict
    nothing: None = None


def seen(chunk, centre, pause=0.0):
    next(calls)
    if pause:
        time.sleep(pause)
        with Path(sys.argv[1], "calls").open("ab") as file:
            file.write(b".")
    D = chunk.X - centre
    signs = {int(s): float((np.sign(D[:, 0]) == s).sum()) for s in np.unique(np.sign(D[:, 0]))}
    mean = D.mean(0)
    return Seen(Moments(len(D), mean, (D - mean).T @ (D - mean)), 1, D.T @ np.tanh(D), signs)


def crashing(chunk, centre):
    fuse["chunks"] -= 1
    if fuse["chunks"] == 0:
        raise Crash
    return seen(chunk, centre)


class Crash(BaseException):
    """The end of a run, as sudden as it gets within a process."""


def data(chunks=CHUNKS, seed=0):
    return np.random.default_rng(seed).normal(size=(8192 * chunks - 100, 3))


def opened(**options):
    return Rows(ArraySource(data(**options)))


def moved(centre, total):
    """The maths between two passes; it uses every part of the statistic."""
    step = np.linalg.solve(total.moments.scatter + np.eye(3), total.product.sum(0))
    share = total.by_sign.get(1, 0.0) / total.moments.n / total.chunks
    return centre + 0.3 * total.moments.mean + step + share * 1e-3


def plain_fit(rows, leaf=seen, *options, rounds=3):
    centre = np.zeros(3)
    for _ in range(rounds):
        centre = moved(centre, rows.total(leaf, centre, *options))
    return centre


def marked_fit(rows, leaf=seen, *options, rounds=3):
    done, (centre, history) = resume_loop((np.zeros(3), []))
    for n in range(done, rounds):
        centre = moved(centre, rows.total(leaf, centre, *options))
        history = [*history, float(centre[0])]
        record_loop_state(n + 1, lambda c=centre, h=history: (c, h))
    end_loop()
    assert len(history) == rounds
    return centre


FITS = {"plain": plain_fit, "marked": marked_fit}


def program(folder, threads, kind):
    """Fit twice under one checkpoint, slowly; write the result."""
    checkpoint_file._MIN_INTERVAL_PER_SAVE = (
        1  # else the disk decides how often the short fits are saved
    )
    rows = opened()
    with tenfold.threads(int(threads)), tenfold.checkpoint(Path(folder, "fit.ckpt"), every=0.05):
        fits = [FITS[kind](rows, seen, 0.003, rounds=ROUNDS // 2) for _ in range(2)]
    np.save(Path(folder, "result.npy"), fits)


@contextmanager
def stopped(every=10.0):
    """A checkpoint block that a crash ends, here or before."""
    with suppress(Crash), tenfold.checkpoint("fit.ckpt", every):
        yield
        raise Crash


@contextmanager
def refused(message):
    """A checkpoint block that finds a file of another fit."""
    with pytest.raises(ValueError, match=message), tenfold.checkpoint("fit.ckpt"):
        yield


@pytest.fixture(autouse=True)
def _saved_at_every_chunk(monkeypatch, tmp_path):
    monkeypatch.setattr(checkpoint_file, "_MIN_INTERVAL_PER_SAVE", 0)
    monkeypatch.setattr(os, "fsync", lambda _: None)  # only a power cut needs it
    monkeypatch.chdir(tmp_path)


def calls_made():
    return Path("calls").stat().st_size if Path("calls").exists() else 0


def killed_after(folder, threads, kind, chunks):
    """Run the program and kill it when it has folded so many chunks; whether it had ended."""
    command = [sys.executable, __file__, str(folder), str(threads), kind]
    root = str(Path(__file__).parents[2])
    stop = calls_made() + chunks
    with subprocess.Popen(command, env=os.environ | {"PYTHONPATH": root}) as process:
        while process.poll() is None:
            if calls_made() >= stop:
                process.send_signal(signal.SIGKILL)
            time.sleep(0.001)
    assert process.returncode in (0, -signal.SIGKILL)
    return process.returncode != 0


@pytest.mark.parametrize(("threads", "kind"), [(1, "plain"), (2, "marked")])
def test_killed_again_and_again_it_ends_with_the_same_bits(tmp_path, threads, kind):
    rng = np.random.default_rng(threads)
    lost = []
    while killed_after(tmp_path, threads, kind, chunks := rng.integers(80, 130)):
        lost.append(chunks)
        assert len(lost) < 15, "it does not get on"
    assert len(lost) >= 2
    again = calls_made() - CHUNKS * ROUNDS
    assert again < 0.7 * sum(lost), "most of the work of the runs that were killed was of use"
    assert np.array_equal(np.load("result.npy"), [plain_fit(opened(), rounds=ROUNDS // 2)] * 2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["calls", "result.npy"]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kind", FITS)
@pytest.mark.parametrize("sudden", [True, False])
def test_stopped_at_any_chunk_it_goes_on_from_there(monkeypatch, threads, kind, sudden):
    rows, fit = opened(chunks=3), FITS[kind]
    expected = fit(rows)
    if sudden:  # as after kill -9, nothing is written at the end
        monkeypatch.setattr(replay.CheckpointReplay, "save_on_error", lambda *_: None)
    with tenfold.threads(threads):
        for at in range(9):
            start, fuse["chunks"] = next(calls), 1 + at
            with stopped(every=0):
                fit(rows, crashing)
            with tenfold.checkpoint("fit.ckpt", every=0):
                result = fit(rows, crashing)
            done = next(calls) - start - 1
            assert np.array_equal(result, expected)
            assert done <= 9 + 1 + threads, "one chunk again for the kinds of its parts"
            assert not Path("fit.ckpt").exists()


def test_ends_without_a_trace_and_begins_anew(tmp_path):
    stray = Path(".fit.ckpt.0123456789abcdef.tmp")
    stray.write_bytes(b"of a run that was killed while it wrote")
    os.utime(stray, (0, 0))  # long ago
    for _ in range(2):
        start = next(calls)
        with tenfold.checkpoint("fit.ckpt", every=0):
            plain_fit(opened())
            assert Path("fit.ckpt").exists()
        assert next(calls) - start - 1 == 3 * CHUNKS
    assert not list(tmp_path.iterdir())


def interrupt(_):
    raise KeyboardInterrupt


def test_ctrl_c_keeps_the_file_and_says_how_to_go_on():
    rows = opened()
    with pytest.raises(KeyboardInterrupt) as caught, tenfold.checkpoint("fit.ckpt"):
        interrupt(plain_fit(rows))
    assert "run the same program again" in caught.value.__notes__[0]
    start = next(calls)
    with tenfold.checkpoint("fit.ckpt"):
        plain_fit(rows)
    assert next(calls) - start - 1 == 1


def test_block_without_a_fit_leaves_nothing(tmp_path):
    with pytest.raises(KeyError) as caught, tenfold.checkpoint("fit.ckpt"):
        raise KeyError
    assert not hasattr(caught.value, "__notes__")
    assert not list(tmp_path.iterdir())


def test_fits_that_were_complete_are_not_computed_again():
    rows = [opened(seed=seed) for seed in range(3)]
    expected = [plain_fit(r, rounds=2) for r in rows]
    fuse["chunks"] = CHUNKS + 1
    with stopped():
        plain_fit(rows[0], rounds=2)
        plain_fit(rows[1], crashing, rounds=2)
    before = next(calls)
    with tenfold.checkpoint("fit.ckpt"):
        results = [plain_fit(rows[0], rounds=2)]
        assert next(calls) - before - 1 == 1
        results += [plain_fit(rows[1], crashing, rounds=2)]
        results += [plain_fit(rows[2], rounds=2)]
    assert np.array_equal(results, expected)


def broken(chunk):
    if chunk.first:
        raise ZeroDivisionError
    return chunk.X.sum()


def fits_of_which_some_fail(rows):
    """As a search does that goes on after an error."""
    for n in range(3):
        with suppress(ZeroDivisionError), monitor.monitor_fit("Broken"):
            resume_loop(n)
            rows.total(broken)
        centre = plain_fit(rows)
        done, _ = resume_loop(0)
        for m in range(done, 2):
            with suppress(ZeroDivisionError):
                rows.total(broken)
            record_loop_state(m + 1, lambda c=n: c)
        end_loop()
    return centre


@pytest.mark.parametrize("every", [0, 10])
def test_passes_that_fail_every_time_have_their_place_in_the_order(every):
    rows = opened()
    with stopped(every):
        first = fits_of_which_some_fail(rows)
    start = next(calls)
    with tenfold.checkpoint("fit.ckpt"):
        assert np.array_equal(fits_of_which_some_fail(rows), first)
    assert next(calls) - start - 1 == 1


def interrupted(rows, *state, leaf=seen, settings=None):
    with stopped(), monitor.monitor_fit("Toy", settings):
        rows.total(leaf, *state)


def other_leaf(chunk, centre):
    return seen(chunk, centre)


@pytest.mark.parametrize(
    ("rows", "leaf", "centre", "what"),
    [
        (data(seed=1), seen, np.zeros(3), "data differs"),
        (data(chunks=CHUNKS + 1), seen, np.zeros(3), r"rows: \d+ there, \d+ here"),
        (data().astype(np.float32), seen, np.zeros(3), "number type: float64 there, float32 here"),
        (data(), seen, np.ones(3), "its state differs"),
        (data(), other_leaf, np.zeros(3), r"function: .*:seen there, .*:other_leaf here"),
    ],
)
def test_checkpoint_of_another_fit_is_refused(rows, leaf, centre, what):
    interrupted(opened(), np.zeros(3))
    kept = Path("fit.ckpt").read_bytes()
    with (
        pytest.raises(ValueError, match=rf"fit\.ckpt belongs to another fit \(.*{what}") as caught,
        tenfold.checkpoint("fit.ckpt"),
        monitor.monitor_fit("Toy"),
    ):
        Rows(ArraySource(rows)).total(leaf, centre)
    assert "delete it or choose another path" in str(caught.value)
    assert not hasattr(caught.value, "__notes__")
    assert Path("fit.ckpt").read_bytes() == kept


def test_other_parameters_are_refused_by_name():
    before = {"alpha": 1.0, "start": np.zeros(500), "inner": object()}
    interrupted(opened(), np.zeros(3), settings=lambda: before)
    other = before | {"alpha": 2.0, "start": np.ones(500), "inner": object()}
    with refused(r"\(alpha: 1.0 there, 2.0 here; start differs\)"):
        monitor.monitor_fit("Toy", lambda: other).__enter__()
    with tenfold.checkpoint("fit.ckpt"), monitor.monitor_fit("Toy", lambda: before):
        pass


def test_labels_and_weights_belong_to_the_data():
    X, y = data(), np.array(["no", "yes"] * (len(data()) // 2), object)
    interrupted(Rows(ArraySource(X, y)), np.zeros(3))
    y[0] = "yes"
    with refused(r"\(data differs\)"), monitor.monitor_fit("Toy"):
        Rows(ArraySource(X, y)).total(seen, np.zeros(3))


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty"])
def test_damaged_file_is_an_error(damage):
    interrupted(opened(), np.zeros(3))
    path = Path("fit.ckpt")
    whole = path.read_bytes()
    at = zipfile.ZipFile(path).getinfo("a1.npy").header_offset + 200
    flipped = whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]
    path.write_bytes({"cut": whole[:-100], "flipped": flipped, "empty": b""}[damage])
    with pytest.raises(ValueError, match=r"fit\.ckpt is damaged"), tenfold.checkpoint(path):
        pass


def test_file_of_something_else_is_left_alone(tmp_path):
    np.save("data.npy", np.zeros(3))
    np.savez("more.npz", a=np.zeros(3))
    Path("notes.txt").write_text("not a checkpoint")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    for path in before:
        with pytest.raises(ValueError, match="not written by tenfold"), tenfold.checkpoint(path):
            pass
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_checkpoint_of_another_version_is_refused(monkeypatch):
    interrupted(opened(), np.zeros(3))
    monkeypatch.setattr(tenfold, "__version__", "0.0.1")
    with pytest.raises(ValueError, match=r"not a checkpoint of tenfold 0\.0\.1"):
        tenfold.checkpoint("fit.ckpt").__enter__()


def test_checkpoint_of_another_machine_is_used_with_a_warning(monkeypatch):
    rows = opened()
    interrupted(rows, np.zeros(3))
    monkeypatch.setattr(
        checkpoint_file, "describe_environment", lambda: here | {"BLAS kernels": "abacus"}
    )
    here = sys.modules["tenfold.engine.environment"].describe_environment()
    with pytest.warns(UserWarning, match="abacus here"), tenfold.checkpoint("fit.ckpt"):
        toy_fit(rows)


@pytest.mark.parametrize("path", ["", ".", "no/such/folder/fit.ckpt"])
def test_path_must_be_a_file_in_a_folder(path):
    with pytest.raises(ValueError, match="name a file"), tenfold.checkpoint(path):
        pass


def test_checkpoint_in_a_checkpoint_is_an_error():
    inner = tenfold.checkpoint("inner.ckpt")
    with tenfold.checkpoint("fit.ckpt"), pytest.raises(ValueError, match="inside a checkpoint"):
        inner.__enter__()


def in_thread(work):
    """The exception that `work` raises in a thread, or None."""
    caught = []

    def run():
        try:
            work()
        except (RuntimeError, RuntimeWarning) as problem:
            caught.append(problem)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return caught[0] if caught else None


def toy_fit(rows):
    with monitor.monitor_fit("Toy"):
        return rows.total(seen, np.zeros(3))


def test_fits_in_other_threads_do_not_mix():
    rows = opened()
    with tenfold.checkpoint("fit.ckpt"):
        context = contextvars.copy_context()
        problem = in_thread(lambda: context.run(toy_fit, rows))
        assert "several threads" in str(problem)
        assert isinstance(in_thread(lambda: toy_fit(rows)), RuntimeWarning)
        toy_fit(rows)
    assert in_thread(lambda: toy_fit(rows)) is None


def test_forked_child_neither_writes_nor_removes_the_file():
    rows = opened()
    with stopped(every=0):
        rows.total(seen, np.zeros(3))
        kept = Path("fit.ckpt").read_bytes()
        child = os.fork()
        if child == 0:
            try:
                rows.total(seen, np.ones(3))
            except RuntimeError:
                os._exit(7)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert Path("fit.ckpt").read_bytes() == kept


def folding(chunk, inner):
    return inner.total(seen, chunk.X[0])


def test_fold_within_a_leaf_is_part_of_its_chunk():
    rows, inner = opened(chunks=3), Rows(ArraySource(data(chunks=2, seed=5)))
    expected = rows.total(folding, inner)
    for n in (1, 2):
        with tenfold.threads(n), stopped(every=0):
            rows.total(folding, inner)
        with tenfold.threads(n), tenfold.checkpoint("fit.ckpt"):
            assert_same(rows.total(folding, inner), expected)


def letters(chunk):
    return {"abc"[i]: chunk.X[0, 0] for i in range(1 + chunk.first % 3)} | {(1, "x"): 1}


def test_dict_with_other_keys_in_every_chunk():
    rows = opened()
    expected = rows.total(letters)
    with stopped():
        rows.total(letters)
    with tenfold.checkpoint("fit.ckpt"):
        assert_same(rows.total(letters), expected)


class Opaque:
    def __add__(self, other):
        return self


def opaque(_):
    return [1.0, Opaque()]


def test_statistic_that_cannot_be_kept_is_an_error():
    message = r"cannot be checkpointed.*a Opaque"
    for every in (0, 10):  # within the pass, and at its end
        with pytest.raises(TypeError, match=message), tenfold.checkpoint("fit.ckpt", every):
            opened().total(opaque)


def test_totals_may_be_changed_in_place():
    def fit(rows):
        first = rows.total(seen, np.zeros(3))
        first.product[:] = 7.0
        return rows.total(seen, first.moments.mean)

    rows = opened()
    with stopped():
        expected = fit(rows)
    for _ in range(2):
        with stopped(every=0):
            assert_same(fit(rows), expected)
            rows.total(seen, np.ones(3))


def test_ragged_rows_and_single_chunks():
    rows = from_sequences([np.arange(5.0), np.arange(3.0)])
    with stopped():
        first = rows.total(count_steps)
    with tenfold.checkpoint("fit.ckpt"):
        assert_same(rows.total(count_steps), first)


def count_steps(chunk):
    return chunk.X.lengths.sum(), chunk.X.values.sum()


def test_cluster_keeps_its_passes():
    from distributed import Client

    X = data()
    expected = plain_fit(Rows(ArraySource(X)))
    small = {"processes": False, "n_workers": 2, "threads_per_worker": 1}
    with Client(**small, dashboard_address=":0") as client, tenfold.on(client):
        rows = Rows(ArraySource(X), engine=current_engine())
        with stopped(every=0):
            rows.total(seen, np.zeros(3))
        start = next(calls)
        with tenfold.checkpoint("fit.ckpt", every=0):
            assert np.array_equal(plain_fit(rows), expected)
        assert next(calls) - start - 1 == 2 * CHUNKS + 1


# --- loops


def test_loop_keeps_its_state_instead_of_its_passes(monkeypatch):
    rows = opened(chunks=2)
    sizes = []
    monkeypatch.setattr(replay, "_MAX_LOOP_BYTES", 0)
    for rounds in (3, 30):
        with stopped():
            marked_fit(rows, rounds=rounds)
        sizes.append(Path("fit.ckpt").stat().st_size)
        Path("fit.ckpt").unlink()
    assert sizes[1] < sizes[0] + 1000


def test_loop_that_is_not_marked_yet_is_a_loop_of_passes():
    rows = opened(chunks=2)
    with stopped():
        marked_fit(rows, rounds=4)
    start = next(calls)
    with tenfold.checkpoint("fit.ckpt"):
        result = marked_fit(rows, rounds=6)
    assert next(calls) - start - 1 == 2 * 2 + 1
    assert np.array_equal(result, plain_fit(rows, rounds=6))


def loops_in_loops(rows):
    """Three restarts, each with a loop in a loop, as k-means with restarts or a path of models."""
    found = []
    for restart in range(3):
        done, centre = resume_loop(np.full(3, restart / 10))
        for n in range(done, 3):
            inner_done, inner = resume_loop(centre)
            for m in range(inner_done, 2):
                inner = moved(inner, rows.total(crashing, inner))
                record_loop_state(m + 1, lambda c=inner: c)
            end_loop()
            centre = inner / 2
            record_loop_state(n + 1, lambda c=centre: c)
        end_loop()
        found.append(centre)
    return found


@pytest.mark.parametrize("unmarked", [0, 2**24])
def test_loops_in_loops_and_after_loops(monkeypatch, unmarked):
    monkeypatch.setattr(replay, "_MAX_LOOP_BYTES", unmarked)
    rows = opened(chunks=1)
    expected = loops_in_loops(rows)
    for at in range(18):
        fuse["chunks"] = 1 + at
        with stopped(every=0):
            loops_in_loops(rows)
        start = next(calls)
        with tenfold.checkpoint("fit.ckpt", every=0):
            assert np.array_equal(loops_in_loops(rows), expected)
        assert next(calls) - start - 1 <= 18 - at + 1


def forgetful_fit(rows):
    """A loop whose state does not hold all that the next pass needs."""
    done, centre = resume_loop(np.zeros(3))
    speed = np.zeros(3)
    for n in range(done, 4):
        ahead = centre + speed
        better = moved(ahead, rows.total(crashing, ahead))
        centre, speed = better, 0.5 * (better - centre)
        record_loop_state(n + 1, lambda c=centre: c)
    end_loop()


def test_state_that_forgets_something_is_found_out(monkeypatch):
    monkeypatch.setattr(replay.CheckpointReplay, "save_on_error", lambda *_: None)
    monkeypatch.setattr(replay, "_MAX_LOOP_BYTES", 0)
    rows = opened(chunks=2)
    for at in (4, 6, 8):
        fuse["chunks"] = at
        with stopped(every=0):
            forgetful_fit(rows)
        with refused("its state differs"):
            forgetful_fit(rows)
        Path("fit.ckpt").unlink()


def test_loop_from_another_start_is_refused():
    with stopped(every=0):
        resume_loop((0.0, [1.0]))
        record_loop_state(1, lambda: (0.5, [1.0, 2.0]))
    with refused("start of the loop differs"):
        resume_loop((0.1, [1.0]))
    with tenfold.checkpoint("fit.ckpt"):
        assert resume_loop((0.0, [1.0])) == (1, (0.5, [1.0, 2.0]))


def test_loop_left_by_an_error_does_not_hide_later_loops(monkeypatch):
    monkeypatch.setattr(replay, "_MAX_LOOP_BYTES", 0)
    with tenfold.checkpoint("fit.ckpt"):
        with suppress(ZeroDivisionError), monitor.monitor_fit("Toy"):
            resume_loop(0)
            opened().total(broken)
        assert active_monitor().recorder.depth == 0


def test_without_a_checkpoint_nothing_is_kept():
    assert resume_loop("state") == (0, "state")
    assert record_loop_state(1, lambda: "state") is None
    assert end_loop() is None
    assert record_value(lambda: 3) == 3
    assert active_monitor() is None


def test_remembered_seed_comes_back():
    draw = np.random.default_rng().integers
    with stopped():
        seeds = [record_value(lambda: draw(2**40)) for _ in range(3)]
    with tenfold.checkpoint("fit.ckpt"):
        assert [record_value(lambda: draw(2**40)) for _ in range(3)] == seeds
        assert record_value(lambda: "new") == "new"


# --- when and what is written


def test_saves_are_rare_when_they_are_slow(monkeypatch):
    clock = [5.0]

    def write_slowly(*_):
        clock[0] += 0.02

    monkeypatch.setattr(checkpoint_file, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(checkpoint_file, "_MIN_INTERVAL_PER_SAVE", 100)
    monkeypatch.setattr(checkpoint_file, "write_arrays", write_slowly)
    kept = checkpoint_file.CheckpointFile(Path("fit.ckpt"), every=0.1)
    kept.save(None)
    assert kept.due - clock[0] == pytest.approx(2)
    monkeypatch.setattr(checkpoint_file, "write_arrays", lambda *_: None)
    kept.save(None)
    assert kept.due - clock[0] == pytest.approx(0.1)


def test_full_disk_is_a_warning(monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint_file, "write_arrays", full)
    told = pytest.warns(RuntimeWarning, match=r"not saved: .*No space left")
    with told, tenfold.checkpoint("fit.ckpt", every=0):
        result = plain_fit(opened())
    assert np.array_equal(result, plain_fit(opened()))


def test_save_never_forgets_chunks_that_are_just_being_merged():
    rows, fuse["chunks"] = opened(chunks=4), 4
    with tenfold.threads(1), stopped(every=0):
        kept = active_monitor().recorder
        rows.total(crashing, np.zeros(3))
    assert kept.covered == 3
    before = Path("fit.ckpt").read_bytes()
    kept.current[1].nodes.popitem()  # as if a thread had taken it to merge it
    kept._save()
    assert Path("fit.ckpt").read_bytes() == before


if __name__ == "__main__":
    program(*sys.argv[1:])
