"""A pass that leaves columns for the next: a memo that may be lost, or a result that may not.

Run as a script, this file is the program that gets killed.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import tenfold
from tenfold.engine import Rows, carried_columns
from tenfold.engine.arrays import ArraySource
from tenfold.engine.carried_columns import CarriedColumns, ColumnPass, Hint
from tenfold.engine.lockstep import LaneJob, run_in_lockstep
from tenfold.stats.decorators import columns_only, on_runs

N, P, VALUES, ROUNDS = 40_000, 5, 8, 12


class Stump(NamedTuple):
    """One label up to a threshold, one above it."""

    column: int
    threshold: float
    left: int
    right: int
    alpha: float  # weight of its vote

    def predict(self, X):
        return np.where(X[:, self.column] > self.threshold, self.right, self.left)


def table(n=N, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(VALUES, size=(n, P)).astype(float)
    score = X @ rng.normal(size=P) + (X[:, 0] > 3) * X[:, 1] + rng.normal(size=n)
    return X, (score > np.median(score)).astype(int)


def weighted_counts(chunk, columns, stumps):
    """Weight of the rows of each class by column and value; the log-weights are carried."""
    count_down_to_death()
    todo = stumps if columns is None else stumps[-1:]
    log_weight = np.zeros(chunk.rows) if columns is None else columns[0]
    for stump in todo:
        wrong = stump.predict(chunk.X) != chunk.y
        log_weight = log_weight + stump.alpha * wrong
    weight = np.exp(log_weight)
    counts = np.zeros((P, VALUES, 2))
    for j in range(P):
        np.add.at(counts[j], (chunk.X[:, j].astype(int), chunk.y.astype(int)), weight)
    return counts, (log_weight,)


CHUNKS_LEFT = [0]  # until the program kills itself; 0: never


def count_down_to_death():
    if CHUNKS_LEFT[0]:
        CHUNKS_LEFT[0] -= 1
        if not CHUNKS_LEFT[0]:
            os.kill(os.getpid(), signal.SIGKILL)


def best_stump(counts):
    """The split of the least weighted Gini impurity, as scikit-learn's trees choose it."""
    best = (np.inf,)
    for j in range(P):
        left = np.cumsum(counts[j], axis=0)[:-1]
        right = counts[j].sum(axis=0) - left
        for v in range(VALUES - 1):
            sides = left[v], right[v]
            gini = sum(side.sum() - (side**2).sum() / side.sum() for side in sides)
            if gini < best[0] - 1e-9:
                best = gini, j, v + 0.5, *sides
    _, j, threshold, *sides = best
    error = sum(side.min() for side in sides) / counts[0].sum()
    labels = (int(side.argmax()) for side in sides)
    return Stump(j, threshold, *labels, float(np.log((1 - error) / error)))


def boosted(rows, rounds=ROUNDS):
    stumps, columns = [], None
    for _ in range(rounds):
        counts, columns = rows.carry(weighted_counts, columns, stumps)
        stumps.append(best_stump(counts))
    return stumps


def opened(X, y, place, folder):
    if place == "array":
        return tenfold.open(X, target=y)
    if place == "npy":
        np.save(folder / "X.npy", X)
        return tenfold.open(folder / "X.npy", target=y)
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {f"x{j}": X[:, j] for j in range(P)} | {"y": y}
    pq.write_table(pa.table(columns), folder / "X.parquet", row_group_size=3777)
    return tenfold.open(folder / "X.parquet", target="y")


@pytest.fixture(scope="module")
def expected():
    return boosted(tenfold.open(table()[0], target=table()[1]))


def test_boosted_stumps_are_scikit_learns(expected):
    from sklearn.ensemble import AdaBoostClassifier
    from sklearn.tree import DecisionTreeClassifier

    X, y = table()
    model = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=ROUNDS)
    model.fit(X, y)
    trees = [estimator.tree_ for estimator in model.estimators_]
    assert [(t.feature[0], t.threshold[0]) for t in trees] == [s[:2] for s in expected]
    assert_allclose(model.estimator_weights_, [s.alpha for s in expected], rtol=1e-9)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("place", ["array", "npy", "parquet"])
def test_the_same_bits_on_any_number_of_threads_and_in_files(tmp_path, expected, threads, place):
    X, y = table()
    with tenfold.threads(threads):
        assert boosted(opened(X, y, place, tmp_path)) == expected


@pytest.mark.parametrize("place", ["array", "npy", "dask"])
def test_the_same_bits_on_a_cluster(tmp_path, two_workers, expected, place):
    import dask.array as da

    X, y = table()
    with tenfold.on(two_workers):
        if place == "dask":
            step = 7_001
            rows = tenfold.open(da.from_array(X, chunks=(step, -1)), da.from_array(y, chunks=step))
        else:
            rows = opened(X, y, place, tmp_path)
        assert boosted(rows) == expected


def stored():
    """Passes that this worker holds columns of."""
    from tenfold.distributed.worker_columns import _store

    return {key: sorted(versions) for key, versions in _store.items()}


def drop_all():
    from tenfold.distributed.worker_columns import _store

    _store.clear()


def test_workers_keep_two_passes_and_may_lose_them(two_workers, expected):
    X, y = table()
    with tenfold.on(two_workers):
        rows = tenfold.open(X, target=y)
        stumps, columns = [], None
        for number in range(ROUNDS):
            if number % 3 == 2:
                two_workers.run(drop_all)
            counts, columns = rows.carry(weighted_counts, columns, stumps)
            stumps.append(best_stump(counts))
            key = columns.storage.key
            held = [own[key] for own in two_workers.run(stored).values() if key in own]
            assert held
            assert all(len(versions) <= 2 and max(versions) == number + 1 for versions in held)
        assert stumps == expected
        columns.close()
        assert not any(key in own for own in two_workers.run(stored).values())


def test_columns_are_used_on_workers(two_workers):
    X, _ = table()
    with tenfold.on(two_workers):
        rows = tenfold.open(X)
        _, columns = rows.carry(count_columns, None)
        total, _ = rows.carry(count_columns, columns)
    assert total[0] > 0.5 * N, "most runs are folded where their columns are"


def count_columns(chunk, columns):
    """Not pure, in order to see whether columns came: rows that had some."""
    return np.array([0 if columns is None else chunk.rows]), (np.zeros(chunk.rows),)


def test_columns_dropped_at_random_cost_time_and_no_bits(monkeypatch, expected):
    rng, read = np.random.default_rng(0), ColumnPass.read
    monkeypatch.setattr(
        ColumnPass, "read", lambda own, chunk: None if rng.random() < 0.3 else read(own, chunk)
    )
    X, y = table()
    with tenfold.threads(2):
        assert boosted(tenfold.open(X, target=y)) == expected


def killed_program(folder):
    return subprocess.run(
        [sys.executable, __file__, str(folder)], capture_output=True, text=True, check=False
    )


def test_killed_and_resumed_it_ends_with_the_same_bits(tmp_path, expected):
    (tmp_path / "left").write_text("2")  # times to be killed
    outcomes = [killed_program(tmp_path) for _ in range(3)]
    assert [o.returncode for o in outcomes] == [-signal.SIGKILL] * 2 + [0], outcomes[-1].stderr
    assert outcomes[-1].stdout.strip() == repr(expected)


def program(folder):
    """Boost under a checkpoint; die in the middle of a pass as often as the file says."""
    left = Path(folder, "left")
    deaths = int(left.read_text())
    left.write_text(str(max(deaths - 1, 0)))
    CHUNKS_LEFT[0] = 18 if deaths else 0  # a pass has five chunks
    X, y = table()
    rows, stumps, columns = tenfold.open(X, target=y), [], None
    with tenfold.checkpoint(Path(folder, "fit.ckpt"), every=0.0):
        for _ in range(ROUNDS):
            counts, columns = rows.carry(weighted_counts, columns, stumps)
            stumps.append(best_stump(counts))
    sys.stdout.write(repr(stumps))


def test_folds_of_a_cross_validation_fall_back_to_totals():
    X, y = table()
    cell = np.arange(N) % 3
    jobs = [LaneJob(np.arange(3) != k, boosted) for k in range(3)]
    lanes = run_in_lockstep(tenfold.open(X, target=y), cell, jobs, None)
    for k, stumps in enumerate(lanes):
        alone = boosted(tenfold.open(X[cell != k], target=y[cell != k]))
        assert [s[:4] for s in stumps] == [s[:4] for s in alone]
        assert_allclose([s.alpha for s in stumps], [s.alpha for s in alone], rtol=1e-9)


def running(chunk, columns, step):
    """Each row's own sum of the steps, and the sum over all rows."""
    values = chunk.X[:, 0] * 0.0 if columns is None else columns[0]
    values = values + step * chunk.X[:, 0]
    return values.sum(), (values,)


@pytest.mark.parametrize("engine", ["threads", "one chunk", "workers"])
def test_durable_columns_are_results(two_workers, engine):
    X = np.arange(100.0 if engine == "one chunk" else 30_000.0)[:, None]
    context = tenfold.on(two_workers) if engine == "workers" else tenfold.threads(2)
    with context:
        rows, columns = tenfold.open(X), None
        for step in (1.0, 2.0, 4.0):
            total, columns = rows.carry(running, columns, step, durable=True)
    assert_array_equal(columns.array(0), 7 * X[:, 0])
    assert total == 7 * X.sum()


def test_durable_columns_go_to_a_file_and_come_back_from_a_checkpoint(tmp_path):
    X = np.arange(30_000.0)[:, None]
    for stop in (True, False):
        try:
            with tenfold.checkpoint(tmp_path / "fit.ckpt", every=0.0):
                rows, columns = Rows(ArraySource(X)), None
                for step in (1.0, 2.0, 4.0):
                    if stop and step == 4.0:
                        raise InterruptedError
                    _, columns = rows.carry(running, columns, step, durable=True)
        except InterruptedError:
            assert stop
    assert_array_equal(columns.into(tmp_path / "c.npy"), 7 * X[:, 0])
    assert_array_equal(np.load(tmp_path / "c.npy"), 7 * X[:, 0])


@columns_only
def doubled(chunk, columns):
    if columns is None:
        return chunk.X.sum(), (chunk.X[:, 0],)
    assert chunk.X.shape[1] == 0
    return 2 * columns[0].sum(), (2 * columns[0],)


@pytest.mark.parametrize("engine", ["threads", "workers"])
def test_a_pass_over_columns_alone_reads_no_rows(two_workers, engine, monkeypatch):
    X = np.arange(30_000.0)[:, None]
    with tenfold.on(two_workers) if engine == "workers" else tenfold.threads(2):
        rows = tenfold.open(X)
        first, columns = rows.carry(doubled, None)
        if engine == "threads":
            monkeypatch.setattr(ArraySource, "between", None)
            monkeypatch.setattr(ArraySource, "chunks", None)
        second, _ = rows.carry(doubled, columns)
    assert second == 2 * first


def test_an_older_handle_gives_nothing():
    log = []

    def numbered(chunk, columns):
        log.append(None if columns is None else columns[0][0])
        if columns is not None:
            assert not columns[0].flags.writeable
        return 0.0, (np.full(chunk.rows, len(log)),)

    rows = tenfold.open(np.ones((10, 1)))
    _, first = rows.carry(numbered, None)
    _, second = rows.carry(numbered, first)
    rows.carry(numbered, first)  # of two passes ago: its memory was written over
    rows.carry(numbered, second)
    assert log == [None, 1, None, None]


def test_columns_must_have_an_entry_per_row_and_one_kind():
    rows = tenfold.open(np.ones((30_000, 1)))
    with pytest.raises(ValueError, match="one entry per row"):
        rows.carry(lambda *_: (0.0, (np.zeros(3),)), None)
    with pytest.raises(ValueError, match="of one kind"), tenfold.threads(1):
        rows.carry(
            lambda chunk, _: (0.0, (np.zeros(chunk.rows, "f4" if chunk.first else "f8"),)), None
        )
    with pytest.raises(ValueError, match="durable"):
        CarriedColumns.empty(3).array(0)


def test_large_columns_lie_in_a_file(monkeypatch):
    monkeypatch.setattr(carried_columns, "MAX_MEMORY_BYTES", 1000)
    rows, columns = tenfold.open(np.arange(30_000.0)[:, None]), None
    for step in (1.0, 2.0):
        _, columns = rows.carry(running, columns, step, durable=True)
    assert isinstance(columns.storage.buffers[0][0], np.memmap)
    assert_array_equal(columns.array(0), 3 * np.arange(30_000.0))


def in_runs(run, *_):
    return float(run.rows), (np.full(run.rows, run.rows),)


@on_runs(in_runs)
def chunk_by_chunk(chunk, *_):
    return float(chunk.rows), (np.full(chunk.rows, chunk.rows),)


def test_runs_of_chunks_have_columns_too():
    with tenfold.threads(2):
        rows = tenfold.open(np.ones((300_000, 4)))
        rows.total(
            lambda chunk: chunk.X.sum()
        )  # rows that are not known to be finite go one by one
        total, columns = rows.carry(chunk_by_chunk, None, Hint(1), durable=True)
    assert total == 300_000
    assert columns.array(0).max() > rows.source.grid


def test_a_hint_may_differ_when_a_fit_is_resumed(tmp_path):
    for hint in (1, 2):
        try:
            with tenfold.checkpoint(tmp_path / "fit.ckpt", every=0.0):
                rows = Rows(ArraySource(np.ones((30_000, 4))))
                total, _ = rows.carry(chunk_by_chunk, None, Hint(hint))
                if hint == 1:
                    raise InterruptedError
        except InterruptedError:
            pass
    assert total == 30_000


if __name__ == "__main__":
    program(sys.argv[1])
