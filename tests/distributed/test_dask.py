"""Two worker processes compute the bits of one thread, whatever happens to them."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from typing import NamedTuple

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask.delayed import delayed
from distributed import CancelledError, Client, LocalCluster
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import tenfold
from tenfold.distributed import DaskEngine, current_client
from tenfold.distributed.blocks import (
    BlockLayout,
    BlockSource,
    plan_worker_runs,
    realign,
    realign_chunk,
    scatter_blocks,
)
from tenfold.distributed.dask import _compared, warn_of_differences
from tenfold.engine import Chunk, Rows
from tenfold.engine.arrays import ArraySource, SparseSource
from tenfold.engine.context import current_engine
from tenfold.engine.fold import fold
from tenfold.engine.merge_tree import MergeTree, upcast
from tenfold.io import Ragged
from tenfold.io.sequences import from_sequences

# What distributed says about its own affairs: arrays that the tests put into the graph, a worker
# that takes its time.
pytestmark = pytest.mark.filterwarnings("default:::distributed", "ignore:Sending large graph")

ROWS, WIDTH, GRID = 65_011, 64, 4096  # 16 chunks, the last one short
CUTS = (15_000, 3, 4096, 0, 29_007, 16_905)  # lengths of partitions: far from the grid
LABELS = np.array(["ape", "bee", "cat"])


class Sums(NamedTuple):
    n: float
    xy: np.ndarray
    gram: np.ndarray  # float32 products: other bits if a chunk begins elsewhere


def sums(chunk: Chunk, shift: np.ndarray) -> Sums:
    Z = chunk.X - shift
    y = np.zeros(chunk.rows) if chunk.y is None else chunk.y
    return Sums(chunk.weight, y.astype(Z.dtype) @ Z, Z.T @ Z)


def slow_sums(chunk: Chunk, shift: np.ndarray) -> Sums:
    time.sleep(0.08)
    return sums(chunk, shift)


def scores(chunk: Chunk, shift: np.ndarray) -> np.ndarray:
    return chunk.X @ shift + chunk.first


def fail(chunk: Chunk, at: tuple) -> np.ndarray:
    time.sleep(0.2 if chunk.first == at[0] else 0)  # the first problem is the last to be reported
    if chunk.first in at:
        raise KeyError(f"chunk at {chunk.first}")
    return np.ones(chunk.rows)


class Sealed(Exception):  # noqa: N818
    def __init__(self, a: int, b: int) -> None:
        super().__init__(f"{a} and {b}")


def fail_sealed(chunk: Chunk) -> int:
    raise Sealed(chunk.first, 2)


def overflow(chunk: Chunk) -> np.ndarray:
    return np.exp(chunk.X[:1] * 1e6)


def assert_same(found, expected):
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert a.dtype == b.dtype
        assert a.tobytes() == b.tobytes()


@pytest.fixture(scope="module")
def client(two_workers):
    return two_workers


@pytest.fixture
def mortal(tmp_path):
    """A client of two workers of which one may die; whether another one comes is not our affair."""
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", local_directory=str(tmp_path)
    )
    with cluster, Client(cluster, set_as_default=False) as client:
        yield client


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, WIDTH)).astype(np.float32)
    return X, rng.integers(0, 3, ROWS), rng.random(ROWS).astype(np.float32)


@pytest.fixture(scope="module")
def shift():
    return np.random.default_rng(1).normal(size=WIDTH).astype(np.float32)


@pytest.fixture(scope="module")
def here(data, shift):
    """What one thread of this process makes of the data."""
    with tenfold.threads(1):
        rows = Rows(ArraySource(*data))
        assert rows.source.grid == GRID
        return rows.total(sums, shift), rows.each(scores, shift), rows.sample(50, 3)


def frame(X, y, w):
    table = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    return table.assign(target=y, weight=w)


def pieces(*arrays):
    ends = np.cumsum(CUTS)
    return zip(*(np.split(array, ends[:-1]) for array in arrays), strict=True)


def dask_frame(X, y, w):
    return dd.from_map(frame, *zip(*pieces(X, y, w), strict=True))


def write_npy(X, y, w, folder):
    for name, array in (("X", X), ("y", y), ("w", w)):
        np.save(folder / f"{name}.npy", array)
    return folder / "X.npy", folder / "y.npy", folder / "w.npy"


def write_parquet(X, y, w, folder):
    frame(X, y, w).to_parquet(folder / "rows.parquet", row_group_size=9_007)
    return folder / "rows.parquet", "target", "weight"


PLACES = {
    "memory": lambda X, y, w, _: (X, y, w),
    "fortran": lambda X, y, w, _: (np.asfortranarray(X), y, w),
    "table": lambda X, y, w, _: (frame(X, y, w), "target", "weight"),
    "npy": write_npy,
    "parquet": write_parquet,
    "dask array": lambda X, y, w, _: (
        da.from_array(X, chunks=(CUTS[:3] + CUTS[4:], 23)),
        da.from_array(y, chunks=10_001),
        w,
    ),
    "dask array, unknown sizes": lambda X, y, w, _: (
        dask_frame(X, y, w)[[f"x{j}" for j in range(WIDTH)]].to_dask_array(),
        dask_frame(X, y, w)["target"].to_dask_array(),
        dask_frame(X, y, w)["weight"],
    ),
    "dask frame": lambda X, y, w, _: (dask_frame(X, y, w), "target", "weight"),
    "delayed arrays": lambda X, y, w, _: tuple(
        [delayed(part) for part in parts] for parts in zip(*pieces(X, y, w), strict=True)
    ),
    "delayed frames": lambda X, y, w, _: (
        [delayed(frame)(*parts) for parts in pieces(X, y, w)],
        "target",
        "weight",
    ),
}


@pytest.fixture(scope="module", params=PLACES)
def opened(request, client, data, tmp_path_factory):
    place = PLACES[request.param](*data, tmp_path_factory.mktemp("place"))
    with tenfold.on(client):
        return tenfold.open(*place)


def test_the_place_of_the_rows_changes_no_bit(opened, here, shift):
    total, each, sample = here
    for _ in range(2):  # in many runs, then, as it was quick, in one per worker
        assert_same(opened.total(sums, shift), total)
    assert opened.each(scores, shift).tobytes() == each.tobytes()
    assert_same(opened.sample(50, 3)[:3], sample[:3])
    assert opened.dtype == np.float32


def test_batches_are_the_same_everywhere(opened, data):
    batches = zip(opened.batches(9000, 5), Rows(ArraySource(*data)).batches(9000, 5), strict=True)
    for found, expected in batches:
        assert_same(found[:3], expected[:3])


@pytest.mark.parametrize("place", ["dask array", "dask frame", "delayed arrays"])
def test_dask_without_a_client_is_computed_here(place, data, here, shift, tmp_path):
    assert current_client() is None
    rows = tenfold.open(*PLACES[place](*data, tmp_path))
    for _ in range(6):  # after some passes the blocks are kept in a file
        assert_same(rows.total(sums, shift), here[0])
    assert rows.each(scores, shift).tobytes() == here[1].tobytes()


def test_dask_uses_its_current_client(client, data, here, shift):
    with client.as_current():
        rows = tenfold.open(da.from_array(data[0], chunks=(14_000, -1)), data[1], data[2])
    assert rows.engine.client is client
    assert_same(rows.total(sums, shift), here[0])


def test_csv_is_spread_over_the_workers(client, data, tmp_path):
    X = data[0][:, :6].astype(np.float64)
    pd.DataFrame(X).add_prefix("c").to_csv(tmp_path / "rows.csv", index=False)
    with tenfold.on(client):
        rows = tenfold.open(tmp_path / "rows.csv")
    assert_same(rows.total(sums, np.ones(6)), Rows(ArraySource(X)).total(sums, np.ones(6)))


@pytest.mark.parametrize("kind", ["memory", "dask array", "delayed"])
def test_sparse_rows(client, kind):
    rng = np.random.default_rng(2)
    X = sparse.random_array((20_000, 300), density=0.01, format="csr", dtype=np.float32, rng=rng)
    parts = [X[:7001], X[7001:7002], X[7002:]]
    places = {
        "memory": X,
        "delayed": [delayed(part) for part in parts],
        "dask array": da.concatenate(
            [da.from_delayed(delayed(p), p.shape, meta=X[:0]) for p in parts]
        ),
    }
    W = rng.normal(size=(300, 4)).astype(np.float32)
    with tenfold.on(client):
        rows = tenfold.open(places[kind])
    expected = Rows(SparseSource(X))
    assert rows.sparse
    assert_same(rows.total(products, W), expected.total(products, W))
    assert abs(rows.sample(99, 1).X - expected.sample(99, 1).X).max() == 0


def products(chunk: Chunk, W: np.ndarray) -> tuple[np.ndarray]:
    Z = chunk.X @ W
    return (Z.T @ Z,)


def test_sequences(client):
    rng = np.random.default_rng(3)
    words = from_sequences([rng.normal(size=(n, 5)) for n in rng.integers(1, 900, 300)])
    rows = Rows(words.source, engine=DaskEngine(client))
    assert_same(rows.total(steps), words.total(steps))


def steps(chunk: Chunk) -> tuple[np.ndarray, int]:
    return chunk.X.values.T @ chunk.X.values, chunk.rows


def test_labels_are_numbered_on_the_workers(client, data):
    words = LABELS[data[1]]
    with tenfold.on(client):
        rows = tenfold.open(dask_frame(data[0][:, :4], words, data[2]), "target", "weight")
    assert_same([rows.with_classes(LABELS).each(targets)], [data[1]])
    at = int(np.argmax(words == "cat"))
    with pytest.raises(ValueError, match=f"row {at}: label .*'cat'.* is not among the classes"):
        rows.with_classes(LABELS[:2]).total(targets)


def targets(chunk: Chunk) -> np.ndarray:
    return chunk.y


def test_outputs_go_to_a_file(client, data, here, shift, tmp_path):
    with tenfold.on(client):
        found = tenfold.open(data[0]).each(scores, shift, into=tmp_path / "scores.npy")
    assert found.tobytes() == here[1].tobytes()
    assert [file.name for file in tmp_path.iterdir()] == ["scores.npy"]


def test_a_large_state_is_sent_once_and_never_stale(client, data):
    table = np.ones((WIDTH, 9000), np.float32)  # 2 MB
    with tenfold.on(client):
        rows = tenfold.open(data[0])
    for factor in (1, 1, 2):
        expected = Rows(ArraySource(data[0])).total(last_column, factor * table)
        assert_same(rows.total(last_column, factor * table), expected)


def last_column(chunk: Chunk, table: np.ndarray) -> tuple[np.ndarray]:
    return ((chunk.X @ table[:, -1:]).sum(axis=0),)


def test_a_resumed_tree_is_completed(client, data, here, shift):
    whole = MergeTree()
    task = Rows(ArraySource(*data))._task(sums, (shift,))
    fold(task, whole)
    half = {(3, 0): tree_of(task, range(8)), (0, 9): tree_of(task, range(9, 10))}
    tree, told = MergeTree(half), []
    DaskEngine(client).total(task, tree, told.append)
    assert_same(tree.close(), here[0])
    assert sum(chunk.rows for chunk in told) == ROWS - 9 * GRID
    assert {chunk.first // GRID for chunk in told}.isdisjoint({*range(8), 9})


def tree_of(task, run):
    tree = MergeTree()
    for chunk in task.source.chunks(run):
        tree.add((0, chunk.first // GRID), upcast(task.result(chunk)))
    return tree.close()


# ------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize("place", ["memory", "npy", "parquet", "dask array", "delayed frames"])
def test_a_nan_is_named_as_it_is_without_a_cluster(client, data, shift, place, tmp_path):
    X = data[0].copy()
    X[[39_017, 57_000], [3, 5]] = np.nan
    where = PLACES[place](X, *data[1:], tmp_path)
    with tenfold.on(client):
        rows = tenfold.open(*where)
    with pytest.raises(ValueError, match=r"Input X contains NaN: .*row 39017, column .*3") as there:
        rows.total(sums, shift)
    if "d" not in place:
        with pytest.raises(ValueError) as here:
            tenfold.open(*where).total(sums, shift)
        assert str(there.value) == str(here.value)


def test_the_first_problem_wins(client, data):
    with tenfold.on(client):
        rows = tenfold.open(data[0])
    with pytest.raises(KeyError, match=f"chunk at {3 * GRID}"):
        rows.each(fail, (3 * GRID, 4 * GRID, 14 * GRID))
    with pytest.raises(KeyError, match=f"chunk at {15 * GRID}"):
        rows.total(fail, (15 * GRID,))


def test_an_error_that_cannot_travel_keeps_its_words(client, data):
    with tenfold.on(client):
        rows = tenfold.open(data[0])
    with pytest.raises(RuntimeError, match="Sealed: 0 and 2"):
        rows.total(fail_sealed)


def test_errstate_of_the_caller_holds_on_the_workers(client, data):
    with tenfold.on(client):
        rows = tenfold.open(data[0])
    with np.errstate(over="raise"), pytest.raises(FloatingPointError, match="overflow"):
        rows.total(overflow)
    with np.errstate(over="ignore"):
        assert np.isposinf(rows.total(overflow)).any()


def test_a_file_that_workers_cannot_reach(client, data, tmp_path):
    np.save(tmp_path / "X.npy", data[0])
    with tenfold.on(client):
        rows = tenfold.open(tmp_path / "X.npy")
    (tmp_path / "X.npy").unlink()
    with pytest.raises(FileNotFoundError, match=r"X\.npy") as caught:
        rows.total(sums, np.zeros(WIDTH, np.float32))
    assert "all workers reach" in caught.value.__notes__[0]


@pytest.mark.parametrize(
    ("where", "target", "message"),
    [
        ([delayed(np.ones((3, 2))), delayed(np.ones((3, 1)))], None, "partition 1 has 1 columns"),
        ([delayed(frame)(np.ones((2, 2)), ["a", "b"], 1)], None, "partition 0: .*'target'"),
        ([delayed(np.ones((3, 2)))], "age", "partition 0: the array has no column 'age'"),
        ([delayed(np.ones((3, 2)))], [delayed(np.ones(4))], "partition 0: .*(4,).* 3 rows"),
        ([delayed(np.ones((3, 2)))], [delayed(np.ones(1))] * 2, "2 partitions of the target"),
        (da.ones((4, 2)), da.ones(5), "5 entries of the target, but 4 rows"),
        (da.ones((4, 2)), np.ones(5), "target has shape .* 4 rows"),
        (da.ones(4), None, "X has 1 dimensions"),
    ],
)
def test_partitions_that_do_not_fit(client, where, target, message):
    with tenfold.on(client), pytest.raises(ValueError, match=message):
        tenfold.open(where, target).total(len)


# ------------------------------------------------------------------------------ dying workers


@pytest.mark.parametrize("place", ["memory", "dask array", "parquet"])
def test_a_killed_worker_costs_no_bit(mortal, place, opener, here, shift):
    with tenfold.on(mortal):
        rows = opener(place)
    rows.total(sums, shift)
    workers = mortal.run(os.getpid)
    timer = threading.Timer(0.3, os.kill, (min(workers.values()), signal.SIGKILL))
    timer.start()
    assert_same(rows.total(slow_sums, shift), here[0])
    timer.join()
    assert set(mortal.nthreads()) != set(workers), "no worker died"
    assert rows.each(scores, shift).tobytes() == here[1].tobytes()
    assert_same(rows.sample(50, 3)[:3], here[2][:3])


def test_blocks_for_a_worker_that_has_just_died_go_to_another(data):
    class MortalClient:
        """Lists a worker that is no more when blocks are sent."""

        def nthreads(self):
            return {"gone": 1, "here": 1}

        def scatter(self, blocks, workers=None, **_):
            if workers == ["gone"]:
                raise KeyError("gone")
            return list(blocks)

    X = np.repeat(data[0], 10, axis=0)
    source = ArraySource(X)
    held = BlockSource(BlockLayout.of(source))
    blocks = scatter_blocks(source, held, MortalClient(), list(held.numbers))
    assert np.array_equal(np.concatenate([block.X for block in blocks]), X)


@pytest.fixture
def opener(data, tmp_path):
    return lambda place: tenfold.open(*PLACES[place](*data, tmp_path))


def test_workers_that_always_die_are_reported(client, data, shift, monkeypatch):
    def lose(*_):
        raise CancelledError

    monkeypatch.setattr(DaskEngine, "_results", lose)
    with tenfold.on(client):
        rows = tenfold.open(data[0])
    with pytest.raises(RuntimeError, match="workers died in 4 attempts at a pass"):
        rows.total(sums, shift)


# ------------------------------------------------------------------------- nothing left behind


def tasks(client):
    return client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.tasks))


@pytest.mark.parametrize("place", ["memory", "npy", "dask array", "delayed frames"])
def test_a_pass_leaves_nothing_behind(client, opener, shift, place):
    gc.collect()
    old = set(tasks(client))
    new = lambda: set(tasks(client)) - old  # noqa: E731
    with tenfold.on(client):
        rows = opener(place)
    rows.total(sums, shift)
    blocks = 0 if place == "npy" else 8
    settled(lambda: len(set(client.futures) - old) == blocks)
    for _ in range(3):
        rows.total(sums, shift)
        rows.each(scores, shift)
        rows.take(np.arange(5))
    settled(lambda: len(set(client.futures) - old) == blocks)
    settled(lambda: not any("tenfold" in key or "pick" in key for key in map(str, new())))
    del rows
    gc.collect()
    settled(lambda: not new())


def settled(condition):
    """Releasing is a message to the scheduler: it takes a moment."""
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_partitions_are_computed_once(client, data, shift, tmp_path):
    parts = [delayed(noted)(part, tmp_path) for part, *_ in pieces(*data)]
    with tenfold.on(client):
        rows = tenfold.open(parts)
    for _ in range(2):
        rows.total(sums, shift)
    assert len(list(tmp_path.iterdir())) == len(CUTS)


def noted(part, folder):
    (folder / str(time.monotonic_ns())).touch()
    return part


# ------------------------------------------------------------------------------------ the scope


def test_scope(client):
    assert current_engine() is None
    with tenfold.on(client):
        outer = current_engine()
        with tenfold.on(client):
            assert current_engine() is not outer
        assert current_engine() is outer
        assert current_client() is client
        seen = []
        thread = threading.Thread(target=lambda: seen.append(current_engine()))
        thread.start()
        thread.join()
        assert seen == [None], "another thread has its own scope"
    assert current_engine() is None
    for wrong in ("tcp://here:8786", client.cluster):
        with pytest.raises(TypeError, match="synchronous"), tenfold.on(wrong):
            pass


def test_importing_rows_imports_no_dask():
    code = (
        "import sys, tenfold.engine.rows, tenfold.io.opener; "
        "print([m for m in sys.modules if m in ('dask', 'distributed')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_workers_of_another_kind_are_named_once(client, monkeypatch):
    import scipy

    workers = set(client.nthreads())
    there = scipy.__version__
    monkeypatch.setattr(scipy, "__version__", "0.1")
    _compared.clear()
    with pytest.warns(UserWarning, match=f"scipy: 0.1 here, {there} on a worker"):
        warn_of_differences(client, workers)
    warn_of_differences(client, workers)


# ---------------------------------------------------------------------------- arrays that travel


def askew(array):
    """The same array at an odd address, as out of a network buffer."""
    raw = np.frombuffer(bytearray(b"." + array.tobytes()), np.uint8)[1:]
    return raw.view(array.dtype).reshape(array.shape)


def test_arrays_from_a_wire_are_aligned(data):
    X = data[0][:1000]
    chunks = [
        Chunk(askew(X), askew(X[:, 0]), askew(X[:, 1]), 7),
        Chunk(Ragged(askew(X), np.array([0, 1000])), first=7),
        Chunk(sparse.csr_array((askew(X[:, 0]), np.arange(1000), np.arange(1001))), first=7),
    ]
    for chunk in map(realign_chunk, chunks):
        parts = [chunk.X, chunk.y, chunk.w, *(getattr(chunk.X, n, 0) for n in ("values", "data"))]
        assert all(part.flags.aligned for part in parts if isinstance(part, np.ndarray))
        assert chunk.first == 7
    assert realign_chunk(chunks[0]).X.tobytes() == X.tobytes()
    kept = Sums(1, X[0], X)
    assert realign(kept)[2] is X
    assert realign({"a": [askew(X)]})["a"][0].flags.aligned


# ----------------------------------------------------------------------------------------- runs


@given(st.integers(1, 3000), st.integers(1, 200), st.sampled_from([1, 2, 8]))
def test_runs_cover_every_chunk_once_and_close_their_nodes(n, pieces, size):
    layout = BlockLayout(n * 10, 1, np.dtype(float), 10, 8, None, False, False, False, size)
    runs = plan_worker_runs(BlockSource(layout), pieces, size)
    assert [number for run in runs for number in run] == list(range(n))
    assert len(runs) <= pieces
    assert all(run.start % size == 0 for run in runs)
    for run in runs:
        tree = MergeTree()
        for number in run:
            tree.add((0, number), 1)
        assert len(tree.nodes) <= 5 + run.stop.bit_length() * (run.stop == n)


def test_a_cluster_without_workers_is_named():
    none = LocalCluster(n_workers=0, processes=False, dashboard_address=":0")
    with none, Client(none, timeout="1s") as client, tenfold.on(client):
        with pytest.raises(RuntimeError, match=r"no workers.*cluster\.scale"):
            tenfold.Ridge().fit(np.ones((10, 2)), np.arange(10))
        with pytest.raises(RuntimeError, match="no workers"):
            Rows(ArraySource(np.ones((20_000, 2))), engine=current_engine()).each(first_column)


def first_column(chunk):
    return chunk.X[:, 0]
