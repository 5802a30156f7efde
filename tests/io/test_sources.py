"""The place of the rows does not matter: every source gives the bits of arrays in memory."""

import pickle
from itertools import pairwise
from typing import NamedTuple

import dask.array
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

import tenfold
from tenfold.engine import Rows, chunk
from tenfold.engine.arrays import ArraySource, SparseSource
from tenfold.engine.spool import MatrixFileSource, has_room_for, spool_source
from tenfold.io import arrow, opener
from tenfold.io.column_roles import ColumnRoles
from tenfold.io.parquet import ParquetSource


class Sums(NamedTuple):
    squares: np.ndarray
    products: np.ndarray
    weight: np.ndarray


def sums(chunk):
    return Sums(chunk.X.T @ chunk.X, chunk.X.T @ chunk.y, chunk.weights().sum(dtype="f8"))


def scores(chunk):
    return chunk.X @ np.linspace(-1, 1, chunk.X.shape[1], dtype=chunk.X.dtype) + chunk.first


def assert_same_bits(rows, X, y, w):
    """`total` and `each` of these rows, on 1 and 2 threads, against arrays on one thread."""
    assert rows.dtype == (np.float32 if X.dtype == np.float32 else np.float64)
    plain = Rows(ArraySource(np.ascontiguousarray(X), y, w))
    with tenfold.threads(1):
        total, each = plain.total(sums), plain.each(scores)
    for n in (1, 2):
        with tenfold.threads(n):
            assert all(map(np.array_equal, rows.total(sums), total))
            assert np.array_equal(rows.each(scores), each)


# ------------------------------------------------------------------------------- all the places
def table(X, y, w):
    columns = {f"x{j}": np.ascontiguousarray(X[:, j]) for j in range(X.shape[1])}
    return pa.table({**columns, "y": y, "w": w})


def parquet(path, X, y, w):
    pq.write_table(table(X, y, w), path / "a.parquet", row_group_size=777)
    return tenfold.open(path / "a.parquet", "y", "w")


def one_row_group(path, X, y, w):
    pq.write_table(table(X, y, w), path / "a.parquet", compression="none", use_dictionary=False)
    return tenfold.open(str(path / "a.parquet"), "y", "w")


def folder(path, X, y, w):
    for i, (low, high) in enumerate(pairwise([0, len(X) // 3, len(X) // 3, len(X)])):
        rows = table(X, y, w).slice(low, high - low)
        pq.write_table(rows, path / f"part-{i}.parquet", row_group_size=5000)
    (path / "_SUCCESS").touch()
    (path / ".part-0.crc").write_bytes(b"1")
    return tenfold.open(path, "y", "w")


def pattern(path, X, y, w):
    folder(path, X, y, w)
    (path / "notes.txt").touch()
    return tenfold.open(f"{path}/part-*.parquet", "y", "w")


def listed(path, X, y, w):
    folder(path, X, y, w)
    return tenfold.open(sorted(path.glob("part*")), "y", "w")


def ipc(path, X, y, w):
    with pa.ipc.new_file(path / "a.arrow", table(X, y, w).schema) as file:
        file.write_table(table(X, y, w), max_chunksize=5003)
    return tenfold.open(path / "a.arrow", "y", "w")


def feather(path, X, y, w):
    pyarrow.feather.write_feather(table(X, y, w), path / "a.feather")
    return tenfold.open(path / "a.feather", "y", "w")


def npy(path, X, y, w):
    for name, array in (("x", X), ("y", y), ("w", w)):
        np.save(path / f"{name}.npy", array)
    return tenfold.open(path / "x.npy", path / "y.npy", str(path / "w.npy"))


def npy_of_columns(path, X, y, w):
    np.save(path / "x.npy", np.asfortranarray(X))
    return tenfold.open(path / "x.npy", y, w)


def npy_parts(path, X, y, w):
    parts = np.array_split(X, [len(X) // 7, len(X) // 7, len(X) // 2])
    for i, rows in enumerate(parts):
        np.save(path / f"{i}.npy", rows)
    return tenfold.open(path, y, w)


def memory_map(path, X, y, w):
    np.save(path / "x.npy", X)
    return tenfold.open(np.load(path / "x.npy", mmap_mode="r"), y, w)


def read_only(_path, X, y, w):
    X = X.copy()
    X.setflags(write=False)
    return tenfold.open(X, y, w)


def strided(_path, X, y, w):
    wide = np.zeros((2 * len(X), 2 * X.shape[1] + 1), X.dtype)
    wide[::2, 1::2] = X
    return tenfold.open(wide[::2, 1::2], y, w)


PLACES = {
    "array": lambda _path, *rows: tenfold.open(*rows),
    "fortran": lambda _path, X, y, w: tenfold.open(np.asfortranarray(X), y, w),
    "pandas": lambda _path, *rows: tenfold.open(table(*rows).to_pandas(), "y", "w"),
    "polars": lambda _path, *rows: tenfold.open(pl.from_arrow(table(*rows)), "y", "w"),
    "arrow": lambda _path, *rows: tenfold.open(table(*rows), "y", "w"),
} | {
    f.__name__: f
    for f in [
        *(parquet, one_row_group, folder, pattern, listed, ipc, feather),
        *(npy, npy_of_columns, npy_parts, memory_map, read_only, strided),
    ]
}


def drawn(n, width, dtype, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, width)) * 50
    X = X.astype(dtype) if np.dtype(dtype).kind == "f" else np.abs(X).astype(dtype)
    return X, rng.normal(size=n), rng.uniform(0.5, 2, n)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    ("n", "width", "dtype"),
    [
        (1, 3, "f4"),
        (100, 5, "f8"),
        (25_001, 3, "f8"),
        (20_011, 40, "f4"),
        (9_000, 7, "u1"),
        (9_000, 7, "i8"),
    ],
)
def test_same_bits_in_every_place(tmp_path, place, n, width, dtype):
    X, y, w = drawn(n, width, dtype)
    assert_same_bits(PLACES[place](tmp_path, X, y, w), X, y, w)


@pytest.mark.parametrize("end", ["csv", "tsv", "csv.gz"])
def test_same_bits_from_text(tmp_path, end):
    X, y, w = drawn(20_011, 6, "f8")
    option = pyarrow.csv.WriteOptions(delimiter="\t" if end == "tsv" else ",")
    for name, low, high in (("a", 0, 9_000), ("b", 9_000, 20_011)):
        rows = table(X, y, w).slice(low, high - low)
        with pa.output_stream(tmp_path / f"{name}.{end}") as file:  # writes 17 digits, packs .gz
            pyarrow.csv.write_csv(rows, file, option)
    assert_same_bits(tenfold.open(tmp_path, "y", "w"), X, y, w)


def test_text_of_float32_is_computed_in_float64(tmp_path):
    X, y, _ = drawn(50, 2, "f4")
    pyarrow.csv.write_csv(table(X, y, y), tmp_path / "a.csv")
    assert tenfold.open(tmp_path / "a.csv", "y").dtype == np.float64


def test_sparse_rows_stay_sparse():
    X = sparse.random_array((9_000, 30), density=0.1, rng=0, format="csc")
    rows, plain = tenfold.open(X, target=-1), Rows(SparseSource(X.tocsr()[:, :-1]))
    assert np.array_equal(rows.gather().y, X.toarray()[:, -1])
    assert np.array_equal(rows.each(scores), plain.each(scores))


# ----------------------------------------------------------------------------- any layout at all
@pytest.fixture
def small_chunks(monkeypatch):
    """Chunks of 42 rows of three float64: a small file has many."""
    monkeypatch.setattr(chunk, "CHUNK_BYTES", 1024)


def written(path, X, y, w, layout):
    """Parquet files with these row groups; the rest of the rows in a last one."""
    at, rows = 0, table(X, y, w)
    for i, groups in enumerate([*layout, [len(X)]]):
        with pq.ParquetWriter(path / f"{i:03}.parquet", rows.schema) as file:
            for size in groups:
                if at < len(X):
                    file.write_table(rows.slice(at, size))
                at += size
    return path


LAYOUTS = st.lists(st.lists(st.sampled_from([1, 7, 41, 42, 43, 200, 777]), max_size=5), max_size=4)


@pytest.mark.usefixtures("small_chunks")
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(layout=LAYOUTS, n=st.integers(1, 1500), at=st.tuples(st.floats(0, 1), st.floats(0, 1)))
def test_row_groups_and_files_leave_no_trace(tmp_path_factory, layout, n, at):
    X, y, w = drawn(n, 3, "f8", seed=n)
    path = written(tmp_path_factory.mktemp("layout"), X, y, w, layout)
    rows = tenfold.open(path, "y", "w")
    assert_same_bits(rows, X, y, w)
    source = ParquetSource(sorted(path.iterdir()), ColumnRoles("y", "w"))
    assert [number for run in source.runs() for number in run] == list(range(-(-n // 42)))
    low, high = sorted(int(share * -(-n // 42)) for share in at)
    whole = list(ArraySource(X, y, w).chunks(range(low, high)))
    for part, expected in zip(source.chunks(range(low, high)), whole, strict=True):
        assert part.first == expected.first
        assert all(map(np.array_equal, part[:3], expected[:3]))


@pytest.mark.parametrize("size", [1, 7, 777, 50_000])
def test_row_group_size_leaves_no_trace(tmp_path, size):
    X, y, w = drawn({1: 8_200, 7: 17_000}.get(size, 120_001), 2, "f4")
    pq.write_table(table(X, y, w), tmp_path / "a.parquet", row_group_size=size)
    assert_same_bits(tenfold.open(tmp_path / "a.parquet", "y", "w"), X, y, w)


@pytest.mark.usefixtures("small_chunks")
def test_take_finds_rows_by_their_number(tmp_path):
    X, y, w = drawn(1000, 3, "f8")
    wanted = np.array([0, 41, 42, 300, 301, 999])
    for place in PLACES:
        (tmp_path / place).mkdir()
        part = PLACES[place](tmp_path / place, X, y, w).take(wanted)
        assert all(map(np.array_equal, part[:3], (X[wanted], y[wanted], w[wanted]))), place


@pytest.mark.usefixtures("small_chunks")
def test_few_readers_and_few_columns_at_a_time_change_no_bits(tmp_path, monkeypatch):
    X, y, w = drawn(3000, 3, "f8")
    pq.write_table(table(X, y, w), tmp_path / "a.parquet", row_group_size=400)
    source = tenfold.open(tmp_path / "a.parquet", "y", "w").source
    cost = sum(source.buffer_bytes.values())
    for room, kind, n_runs in ((cost, ParquetSource, 1), (cost - 1, MatrixFileSource, 72)):
        monkeypatch.setattr(arrow, "READING_BYTES", room)
        monkeypatch.setattr("tenfold.io.parquet.READING_BYTES", room)
        rows = tenfold.open(tmp_path / "a.parquet", "y", "w")
        assert isinstance(rows.source, kind)
        assert len(list(rows.source.runs())) == n_runs
        assert_same_bits(rows, X, y, w)


# ------------------------------------------------------------------------------------ the spool
def test_spool_is_the_source_over_again(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temp"))
    (tmp_path / "temp").mkdir()
    X, y, w = drawn(20_000, 5, "f4")
    source = folder(tmp_path, X, y, w).source
    copy = spool_source(source)
    assert list((tmp_path / "temp").iterdir()) == []  # it has no name
    assert (copy.names, copy.dtype, copy.finite) == (source.names, source.dtype, source.finite)
    assert copy.where(7000) == source.where(7000) == f"{tmp_path}/part-2.parquet, row 334"
    assert not copy.shippable
    assert has_room_for(source)
    assert_same_bits(Rows(copy), X, y, w)


def test_many_passes_over_a_stream_end_in_a_spool(tmp_path):
    X, y, w = drawn(9_000, 3, "f8")
    rows = parquet(tmp_path, X, y, w)
    for _ in range(6):
        rows.total(sums)
    assert isinstance(rows.source, MatrixFileSource)
    assert_same_bits(rows, X, y, w)


@pytest.mark.parametrize("place", [parquet, folder, ipc, npy, npy_parts])
def test_files_go_to_another_process_by_name(tmp_path, place):
    X, y, w = drawn(9_000, 3, "f8")
    source = place(tmp_path, X, y, w).source
    assert source.shippable
    sum(len(part.X) for part in source.chunks(range(2)))  # open files stay behind
    assert_same_bits(Rows(pickle.loads(pickle.dumps(source))), X, y, w)


# ------------------------------------------------------------------- target, weight and columns
WORDS = ["iris", "rose", "lily of the valley"]


@pytest.fixture
def flowers():
    rng = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "size": rng.normal(size=9_000),
            "kind": rng.choice(WORDS, 9_000),
            "count": rng.integers(0, 9, 9_000),
            "height": rng.normal(size=9_000),
            "wet": rng.random(9_000) < 0.5,
        }
    )


def saved_as(end, path, frame):
    file = path / f"flowers.{end}"
    {"csv": frame.to_csv, "parquet": frame.to_parquet, "feather": frame.to_feather}[end](
        file, **({"index": False} if end != "feather" else {})
    )
    return file


@pytest.mark.parametrize("end", ["csv", "parquet", "feather"])
def test_words_are_labels(tmp_path, flowers, end):
    for frame in (flowers, flowers.astype({"kind": "category"})):
        rows = tenfold.open(saved_as(end, tmp_path, frame), target="kind")
        assert rows.names == ["size", "count", "height", "wet"]
        chunk = rows.gather()
        assert np.array_equal(chunk.y, flowers["kind"].to_numpy(str))
        assert np.array_equal(chunk.X, flowers[rows.names].to_numpy(float))
        rows.spool()
        assert np.array_equal(rows.gather().y, chunk.y)
        assert np.array_equal(
            rows.with_classes(np.sort(WORDS)).take(np.array([5])).y,
            [sorted(WORDS).index(flowers["kind"][5])],
        )


@pytest.mark.parametrize("end", ["csv", "parquet", "feather"])
def test_whole_numbers_and_truths_stay_what_they_are(tmp_path, flowers, end):
    file = saved_as(end, tmp_path, flowers)
    for name in ("count", "wet"):
        y = tenfold.open(file, target=name, columns=["size"]).gather().y
        assert np.array_equal(y, flowers[name])
        assert y.dtype == flowers[name].dtype


def test_a_whole_number_column_with_one_fraction_far_down_is_a_float(tmp_path):
    lines = ["x,y", *["1.5,2"] * 300_000, "1.5,2.5"]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    y = tenfold.open(tmp_path / "a.csv", target="y").gather().y
    assert (y.dtype, y[0], y[-1]) == (np.float64, 2, 2.5)


@pytest.mark.parametrize("end", ["csv", "parquet", "feather"])
def test_several_targets_stand_side_by_side(tmp_path, flowers, end):
    rows = tenfold.open(saved_as(end, tmp_path, flowers), ["count", "size"], "wet", ["height"])
    chunk = rows.gather()
    assert np.array_equal(chunk.X, flowers[["height"]])
    assert np.array_equal(chunk.y, flowers[["count", "size"]])
    assert np.array_equal(chunk.w, flowers["wet"])
    assert chunk.w.dtype == np.float64


def test_several_targets_leave_x():
    frame = pd.DataFrame({"a": [1.0, 2], "b": [3.0, 4], "c": [5.0, 6]})
    rows = tenfold.open(frame, ["c", "a"])
    assert rows.names == ["b"]
    assert rows.gather().y.tolist() == [[5, 1], [6, 2]]


def test_columns_keep_the_order_they_were_asked_in(tmp_path, flowers):
    for end in ("csv", "parquet", "feather"):
        file = saved_as(end, tmp_path, flowers)
        rows = tenfold.open(file, columns=["count", "size"])
        assert rows.names == ["count", "size"]
        assert np.array_equal(rows.gather().X, flowers[["count", "size"]])
    X = np.arange(12.0).reshape(4, 3)
    np.save(tmp_path / "x.npy", X)
    for columns in ([2, 0], [2, 0, 1]):
        for where in (X, tmp_path / "x.npy", sparse.csr_array(X), pd.DataFrame(X)):
            chunk = tenfold.open(where, columns=columns).gather()
            dense = chunk.X if isinstance(chunk.X, np.ndarray) else chunk.X.toarray()
            assert np.array_equal(dense, X[:, columns])


def test_columns_may_stand_elsewhere_in_the_next_file(tmp_path):
    for end, write in (("parquet", pq.write_table), ("csv", pyarrow.csv.write_csv)):
        write(pa.table({"a": [1.0, 2], "b": [3.0, 4]}), tmp_path / f"1.{end}")
        write(pa.table({"b": [5.0], "c": ["x"], "a": [6.0]}), tmp_path / f"2.{end}")
        rows = tenfold.open(f"{tmp_path}/*.{end}")
        assert rows.gather().X.tolist() == [[1, 3], [2, 4], [6, 5]]


@pytest.mark.parametrize("place", ["array", "npy"])
def test_columns_of_an_array_have_numbers(tmp_path, place):
    X = np.arange(24.0).reshape(4, 6)
    np.save(tmp_path / "x.npy", X)
    where = X if place == "array" else tmp_path / "x.npy"
    chunk = tenfold.open(where, target=-1, weight=2).gather()
    assert np.array_equal(chunk.X, X[:, [0, 1, 3, 4]])
    assert np.array_equal(chunk.y, X[:, 5])
    assert np.array_equal(chunk.w, X[:, 2])


def test_labels_from_elsewhere(tmp_path, flowers):
    np.save(tmp_path / "kind.npy", flowers["kind"].to_numpy(str))
    file = saved_as("parquet", tmp_path, flowers[["size"]])
    given_ways = (
        flowers["kind"],
        pl.Series(flowers["kind"].tolist()),
        flowers["kind"].to_numpy(str),
        tmp_path / "kind.npy",
    )
    for target in given_ways:
        y = tenfold.open(file, target).gather().y
        assert np.array_equal(y.astype(str), flowers["kind"].to_numpy(str))
    assert tenfold.open([[1.0], [2.0]], target=["b", "a"]).gather().y.tolist() == ["b", "a"]


def test_missing_numbers_are_nan(tmp_path):
    whole = pa.table({"a": pa.array([1.5, None], "f4"), "b": pa.array([None, 2], "i8")})
    pq.write_table(whole, tmp_path / "a.parquet")
    (tmp_path / "a.csv").write_text("a,b\n1.5,\n,2\n")
    frames = [whole, pl.from_arrow(whole), whole.to_pandas(), whole.to_pandas().convert_dtypes()]
    for where in [tmp_path / "a.parquet", tmp_path / "a.csv", *frames]:
        rows = tenfold.open(where)
        rows.allow_nan = True
        assert np.array_equal(rows.gather().X, [[1.5, np.nan], [np.nan, 2]], equal_nan=True)


def test_the_index_that_pandas_wrote_is_no_column(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2]}, index=pd.Index([7, 9], name="id"))
    frame.to_parquet(tmp_path / "a.parquet")
    assert tenfold.open(tmp_path / "a.parquet").names == ["a"]


def test_empty_lines_and_quotes_in_text(tmp_path):
    (tmp_path / "a.csv").write_bytes(b'\xef\xbb\xbfa;"b c"\r\n\r\n1;" 2 "\r\n\r\n3;inf\r\n')
    rows = tenfold.open(tmp_path / "a.csv")
    rows.allow_nan = True
    assert rows.names == ["a", "b c"]
    assert rows.gather().X.tolist() == [[1, 2], [3, np.inf]]
    assert [rows.source.where(i) for i in (0, 1)] == [f"{tmp_path}/a.csv, line {k}" for k in (3, 5)]


def test_other_doors_lead_here_too():
    X = np.arange(30.0).reshape(10, 3)
    lazy = tenfold.open(dask.array.from_array(X, chunks=4), target=X[:, 0])
    assert np.array_equal(lazy.gather().X, X)
    assert tenfold.open([X[:4], X[4:]]).n_rows == 2
    with pytest.raises(ValueError, match="sequences have no columns"):
        tenfold.open([X[:4], X[4:]], columns=[0])


def test_open_rows_are_returned():
    rows = tenfold.open(np.eye(3))
    assert tenfold.open(rows) is rows
    with pytest.raises(ValueError, match="these rows are open"):
        tenfold.open(rows, target=0)


def test_what_goes_to_open_and_what_to_scikit_learn(tmp_path):
    X = np.eye(3)
    for here in (X, X.tolist(), sparse.csr_array(X), pd.DataFrame(X), pl.DataFrame(X), [], None):
        assert not opener.is_rows_like(here)
    for there in ("a.csv", tmp_path, [tmp_path], tenfold.open(X), pa.table({"a": [1]}), [X, X]):
        assert opener.is_rows_like(there)
