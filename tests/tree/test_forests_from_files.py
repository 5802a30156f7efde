"""Trees and forests on rows from files and clusters, whose codes and lists of rows lie in files."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tenfold
from tenfold.testing.bitwise import assert_bitwise_equal
from tenfold.tree import _cart_grower, _forest_base, _large_arrays, _rank_codes

N, P = 900, 6
MODELS = {
    "forest": (tenfold.RandomForestClassifier, {"n_estimators": 3, "oob_score": True}),
    "regression": (tenfold.RandomForestRegressor, {"n_estimators": 2, "keep_targets": True}),
    "extra": (tenfold.ExtraTreesRegressor, {"n_estimators": 2, "max_features": 2}),
    "entropy": (tenfold.DecisionTreeClassifier, {"criterion": "entropy", "max_features": 3}),
    "medians": (tenfold.DecisionTreeRegressor, {"criterion": "absolute_error", "max_depth": 5}),
    "best-first": (tenfold.RandomForestRegressor, {"n_estimators": 2, "max_leaf_nodes": 20}),
    "monotone": (tenfold.DecisionTreeRegressor, {"monotonic_cst": [1, 0, -1, 0, 0, 0]}),
}


def table(dtype):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, P)).astype(dtype)
    X[:, 1] = rng.integers(0, 5, N)
    X[rng.random(X.shape) < 0.05] = np.nan
    z = np.nan_to_num(X)
    score = z[:, 0] * z[:, 1] + z[:, 2] - z[:, 3] ** 2 + 0.3 * rng.normal(size=N)
    return X, score


def fit(name, rows, y, **places):
    model, params = MODELS[name]
    target = y > 0 if name in ("forest", "entropy") and not isinstance(y, str) else y
    return model(**params, random_state=0).fit(rows, target, **places)


@pytest.fixture
def in_files(monkeypatch):
    """All that has an entry for each row lies in files; nodes of few rows are copied to memory."""
    opened = []
    make = _large_arrays.map_array

    def map_array(shape, dtype):
        opened.append(shape)
        return make(shape, dtype)

    monkeypatch.setattr(_large_arrays, "map_array", map_array)
    monkeypatch.setattr(_large_arrays, "_MAX_MEMORY_BYTES", 0)
    monkeypatch.setattr(_large_arrays, "_MIN_MAPPED_BYTES", 0)
    monkeypatch.setattr(_cart_grower, "_BLOCK_BYTES", 100 * (_cart_grower._WORK_BYTES + 4 * P))
    monkeypatch.setattr(_cart_grower, "_LOCAL_ROWS", 40)
    monkeypatch.setattr(_rank_codes, "_BLOCK_BYTES", 16 * N)  # two columns at a time
    return opened


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", MODELS)
def test_files_grow_the_trees_of_memory(name, dtype, tmp_path, request):
    X, y = table(dtype)
    expected = fit(name, X, y)
    opened = request.getfixturevalue("in_files")
    np.save(tmp_path / "x.npy", X)
    found = fit(name, str(tmp_path / "x.npy"), y)
    assert len(opened) > 5  # codes, tables, lists of rows, keys
    assert_bitwise_equal(expected, found, f"{name} from .npy")
    with tenfold.threads(8):
        assert_bitwise_equal(expected, fit(name, str(tmp_path / "x.npy"), y), "eight threads")


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
@pytest.mark.parametrize("name", ["forest", "extra"])
def test_parquet_and_dask_grow_the_trees_of_memory(name, tmp_path, request):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    da = pytest.importorskip("dask.array")
    X, y = table(np.float32)
    y = (y > 0).astype(np.int64) if name == "forest" else y
    w = np.random.default_rng(1).integers(0, 4, N).astype(float)
    model, params = MODELS[name]
    expected = model(**params, random_state=0).fit(X, y, sample_weight=w)
    columns = {f"x{j}": X[:, j] for j in range(P)} | {"y": y, "w": w}
    pq.write_table(pa.table(columns), tmp_path / "x.parquet", row_group_size=200)
    opened = request.getfixturevalue("in_files")
    path = str(tmp_path / "x.parquet")
    found = model(**params, random_state=0).fit(path, "y", sample_weight="w")
    assert_bitwise_equal(expected.tables_, found.tables_, "Parquet")
    blocks = da.from_array(X, chunks=(250, P))
    parts = [da.from_array(column, chunks=250) for column in (y, w)]
    other = model(**params, random_state=0).fit(blocks, parts[0], sample_weight=parts[1])
    assert_bitwise_equal(expected, other, "Dask")
    assert opened


def test_arrays_use_files_where_memory_is_short(monkeypatch, request):
    X, y = table(np.float64)
    expected = fit("regression", X, y)
    opened = request.getfixturevalue("in_files")
    assert_bitwise_equal(expected, fit("regression", X, y), "in memory")
    assert not opened
    monkeypatch.setattr(_large_arrays, "_MIN_FILE_BYTES", 0)
    monkeypatch.setattr(_large_arrays, "available_memory", lambda: 0.0)
    assert_bitwise_equal(expected, fit("regression", X, y), "in files")
    assert opened


@pytest.mark.usefixtures("in_files")
def test_a_column_without_values_and_infinity_are_seen_in_files(tmp_path):
    X, y = table(np.float32)
    X[:, 2] = np.nan
    np.save(tmp_path / "x.npy", X)
    assert tenfold.DecisionTreeRegressor().fit(str(tmp_path / "x.npy"), y).tree_.node_count > 50
    X[5, 3] = -np.inf
    np.save(tmp_path / "x.npy", X)
    with pytest.raises(ValueError, match="infinity: column"):
        tenfold.DecisionTreeRegressor().fit(str(tmp_path / "x.npy"), y)


# memory, in a process of its own


LARGE_ROWS, COLUMNS = 400_000, 10
MEMORY_LIMIT = 150_000_000  # bytes beyond what the imports have taken


def write_large(path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(LARGE_ROWS, COLUMNS)).astype(np.float32)
    np.save(path / "x.npy", X)
    np.save(path / "y.npy", X[:, 0] * X[:, 1] + rng.normal(size=LARGE_ROWS))


def fit_large(rows, y):
    model = tenfold.RandomForestRegressor(2, max_features=0.4, min_samples_leaf=200, random_state=0)
    with tenfold.threads(1):
        return model.fit(rows, y)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
def test_a_forest_of_a_file_takes_little_memory_and_is_that_of_memory(tmp_path):
    write_large(tmp_path)
    command = [sys.executable, __file__, "memory", str(tmp_path)]
    subprocess.run(command, check=True)
    found = tenfold.load(tmp_path / "forest")
    expected = fit_large(np.load(tmp_path / "x.npy"), np.load(tmp_path / "y.npy"))
    assert_bitwise_equal(expected.tables_, found.tables_, "in little memory")


def run_in_little_memory(path):
    """Fit under a limit of the system on memory that no file stands behind."""
    _large_arrays._MAX_MEMORY_BYTES = 2**22
    _cart_grower._BLOCK_BYTES = 2**22
    np.save(path / "small.npy", np.load(path / "x.npy", mmap_mode="r")[:50_000])
    y = np.load(path / "y.npy")
    fit_large(str(path / "small.npy"), y[:50_000])  # compiled code comes from the cache
    status = Path("/proc/self/status").read_text().splitlines()
    taken = 1024 * next(int(line.split()[1]) for line in status if line.startswith("VmData"))
    resource.setrlimit(resource.RLIMIT_DATA, (taken + MEMORY_LIMIT, taken + MEMORY_LIMIT))
    fit_large(str(path / "x.npy"), y).save(path / "forest")


# kill -9


def fit_killed():
    X, y = table(np.float64)
    return tenfold.RandomForestRegressor(30, random_state=0, max_depth=4).fit(X, y)


def test_a_killed_forest_goes_on_with_the_trees_that_were_grown(tmp_path, monkeypatch):
    path = tmp_path / "fit.ckpt"
    command = [sys.executable, __file__, "kill", str(path)]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    grown = []
    grow = _forest_base.ForestModel._grow_one
    monkeypatch.setattr(
        _forest_base.ForestModel,
        "_grow_one",
        lambda self, *args: grown.append(1) or grow(self, *args),
    )
    expected = fit_killed()
    assert len(grown) == 30
    with tenfold.checkpoint(path, every=0):
        assert_bitwise_equal(expected, fit_killed(), "after kill -9")
    assert len(grown) < 60


def run_until_killed(path):
    grow, grown = _forest_base.ForestModel._grow_one, []

    def grow_one(self, *args):
        grown.append(1)
        if len(grown) == 20:
            os.kill(os.getpid(), signal.SIGKILL)
        return grow(self, *args)

    _forest_base.ForestModel._grow_one = grow_one
    with tenfold.checkpoint(path, every=0):
        fit_killed()


if __name__ == "__main__":
    work = {"memory": run_in_little_memory, "kill": run_until_killed}[sys.argv[1]]
    work(Path(sys.argv[2]))
