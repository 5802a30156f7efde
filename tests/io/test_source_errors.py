"""Data that are wrong: the error names file, row and column, and nothing is left behind."""

import errno
import gc
import gzip
import os
import re
import time
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import tenfold
from tenfold.engine.spool import has_room_for, spool_source

LINES = 1_000_002  # of numbers, below the names


def mean(chunk):
    return chunk.X.sum(axis=0), chunk.rows


def raises(*words):
    """An error that says these things, in this order."""
    return pytest.raises(ValueError, match=".*".join(map(re.escape, words)))


def open_files(folder):
    places = (os.path.realpath(link) for link in Path("/proc/self/fd").glob("*"))
    return [place for place in places if place.startswith(str(folder))]


@pytest.fixture(autouse=True)
def temporary(tmp_path_factory, monkeypatch):
    """Whatever happens, no file stays in the folder for temporary ones, and none stays open."""
    folder = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []
    deadline = time.monotonic() + 10  # a thread that wakes late lets go late
    while open_files(tmp_path_factory.getbasetemp()) and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.05)
    assert open_files(tmp_path_factory.getbasetemp()) == []


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    columns = {name: rng.normal(size=30_000) for name in ("price", "size", "label")}
    return pa.table(columns)


# -------------------------------------------------------------------------------------- Parquet
def test_parquet_cut_short(tmp_path, table):
    for i in range(2):
        pq.write_table(table, tmp_path / f"part-{i}.parquet")
    whole = (tmp_path / "part-1.parquet").read_bytes()
    for size in (0, 3, len(whole) // 2, len(whole) - 1):
        (tmp_path / "part-1.parquet").write_bytes(whole[:size])
        with raises(f"{tmp_path}/part-1.parquet cannot be read; it is cut short"):
            tenfold.open(tmp_path)


def test_damage_in_the_middle_of_a_parquet_file(tmp_path, table):
    file = tmp_path / "a.parquet"
    pq.write_table(table, file, row_group_size=10_000, use_dictionary=False)
    at = pq.read_metadata(file).row_group(1).column(1).data_page_offset
    with file.open("r+b") as bytes_:
        bytes_.seek(at)
        bytes_.write(b"\xff" * 1000)
    rows = tenfold.open(file, "label")
    for threads in (1, 2):
        with (
            tenfold.threads(threads),
            raises("a.parquet, row 10000 ", "(row group 1), column 'size'"),
        ):
            rows.total(mean)


def test_columns_that_the_second_file_lacks(tmp_path, table):
    writers = {
        "parquet": pq.write_table,
        "csv": pyarrow.csv.write_csv,
        "feather": pyarrow.feather.write_feather,
    }
    for end, write in writers.items():
        write(table, tmp_path / f"1.{end}")
        write(table.drop_columns("size"), tmp_path / f"2.{end}")
        with raises(f"{tmp_path}/2.{end} has no column 'size', but", f"1.{end} has it"):
            tenfold.open(f"{tmp_path}/*.{end}", "label")
        assert tenfold.open(f"{tmp_path}/*.{end}", columns=["price"]).n_rows == 60_000


def test_column_of_words_in_the_second_file(tmp_path, table):
    words = table.set_column(1, "size", pa.array(["wide"] * len(table)))
    pq.write_table(table, tmp_path / "1.parquet")
    pq.write_table(words, tmp_path / "2.parquet")
    with raises("2.parquet, column 'size' holds string, not numbers", "OneHotEncoder", "columns="):
        tenfold.open(tmp_path)
    with raises("the target columns hold 'double', 'string'"):
        tenfold.open(tmp_path, "size")


def test_ipc_that_is_none(tmp_path, table):
    pyarrow.feather.write_feather(table, tmp_path / "a.arrow")
    whole = (tmp_path / "a.arrow").read_bytes()
    (tmp_path / "a.arrow").write_bytes(whole[: len(whole) // 2])
    with raises("a.arrow cannot be read; it is cut short"):
        tenfold.open(tmp_path / "a.arrow")


# ------------------------------------------------------------------------------------------ CSV
def test_word_in_a_column_of_numbers_at_line_1000003(tmp_path):
    file = tmp_path / "big.csv"
    file.write_bytes(b"size,price\n" + b"1.5,2.5\n" * (LINES - 1) + b"1.5,cheap\n1,2\n")
    with raises("big.csv, line 1000003, column 'price': 'cheap' is not a number", "columns=["):
        tenfold.open(file).total(mean)
    rows = tenfold.open(file, columns=["size"])
    assert rows.total(mean)[1] == LINES + 1


def test_hole_in_a_column_of_numbers_at_line_1000003(tmp_path):
    file = tmp_path / "big.csv"
    file.write_bytes(b"size,price\n" + b"1.5,2.5\n" * (LINES - 1) + b"1.5,\n1,2\n")
    with raises("NaN: ", "big.csv, line 1000003, column 'price'"):
        tenfold.open(file).total(mean)
    with raises("big.csv, line 1000003, column 'price': the value is missing"):
        tenfold.open(file, target="price").total(mean)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\n1,2\n\n\n3,x\n", ("line 5, column 'b': 'x' is not a number",)),
        ("a,b\n1,2\n3\n", ("line 3: 1 fields, but there are 2 columns",)),
        ("a,b\n1,2\n3,4,5\n", ("line 3: 3 fields",)),
        ('a,"b\nb"\n1,2\n3,1_000\n', ("line 4, column 'b\\nb': '1_000' is not a number",)),
        ('a,b\n1,2\n3,"2020-01-01"\n', ("line 3, column 'b': '2020-01-01' is not a number",)),
        ("", ("is empty",)),
        ("1.5,2\n3,4\n", ("the first line holds numbers",)),
        ("a,a\n1,2\n", ("has two columns 'a'",)),
    ],
)
def test_text_that_is_wrong(tmp_path, text, words):
    (tmp_path / "a.csv").write_text(text)
    with raises("a.csv", *words):
        tenfold.open(tmp_path / "a.csv").total(mean)


def test_truth_values_that_turn_into_something_else_far_down(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("a,b\n" + "1.5,true\n" * 200_000 + "1.5,7\n")
    with raises("a.csv, line 200002, column 'b': '7' is not true or false"):
        tenfold.open(file).total(mean)


def test_the_wrong_line_of_the_second_packed_file(tmp_path):
    for name, last in (("1", "5"), ("2", "five")):
        with gzip.open(tmp_path / f"{name}.csv.gz", "wt") as file:
            file.write("a,b\n" + "1,2\n" * 300_000 + f"1,{last}\n")
    with raises("2.csv.gz, line 300002, column 'b': 'five'"):
        tenfold.open(tmp_path).total(mean)
    whole = (tmp_path / "2.csv.gz").read_bytes()
    (tmp_path / "2.csv.gz").write_bytes(whole[:-100])
    with raises("2.csv.gz"):
        tenfold.open(tmp_path).total(mean)


# ------------------------------------------------------------------------------------ raw files
def test_npy_cut_short(tmp_path):
    file = tmp_path / "x.npy"
    np.save(file, np.ones((1000, 8)))
    os.truncate(file, 128 + 64 * 523 + 5)
    with raises("x.npy is cut short", "1000 rows", "first missing row is row 523"):
        tenfold.open(file)


def test_npy_cut_while_it_is_read(tmp_path):
    file = tmp_path / "x.npy"
    np.save(file, np.ones((100_000, 8)))
    rows = tenfold.open(file)
    rows.total(mean)
    os.truncate(file, 128 + 64 * 52_300 + 5)
    with raises("x.npy, row 52300: the file ends here"):
        rows.total(mean)


def test_npy_that_holds_no_matrix_of_numbers(tmp_path):
    cases = {
        "two dimensions": np.ones(5),
        "not numbers": np.array([["a", "b"]]),
        "Python objects": np.array([[object()]]),
    }
    for words, array in cases.items():
        np.save(tmp_path / "x.npy", array, allow_pickle=True)
        with raises("x.npy", words):
            tenfold.open(tmp_path / "x.npy")
    (tmp_path / "x.npy").write_bytes(b"PK\x03\x04 something else")
    with raises("x.npy is no .npy file"):
        tenfold.open(tmp_path / "x.npy")


def test_npy_parts_of_different_width(tmp_path):
    np.save(tmp_path / "1.npy", np.ones((5, 3)))
    np.save(tmp_path / "2.npy", np.ones((5, 4)))
    with raises("2.npy has rows of shape (4,)"):
        tenfold.open(tmp_path)


# --------------------------------------------------------------- holes, wherever the rows lie
def with_hole(row):
    X = np.ones((30_000, 2))
    X[row, 1] = np.nan
    return X


def test_nan_is_found_in_its_file(tmp_path):
    X = with_hole(20_017)
    for i, part in enumerate((X[:20_000], X[20_000:])):
        pq.write_table(pa.table({"a": part[:, 0], "b": part[:, 1]}), tmp_path / f"{i}.parquet")
        np.save(tmp_path / f"{i}.npy", part)
    for end, column in (("parquet", "'b'"), ("npy", "1")):
        rows = tenfold.open(f"{tmp_path}/*.{end}")
        with raises(f"NaN: {tmp_path}/1.{end}, row 17, column {column}"):
            rows.total(mean)
        with raises(f"NaN: {tmp_path}/1.{end}, row 17, column {column}"):
            rows.spool()  # a copy speaks as its original
            rows.total(mean)


@pytest.mark.parametrize("make", [pa.table, pd.DataFrame, pl.DataFrame])
def test_hole_in_a_target(tmp_path, make):
    frame = make({"a": [1.0, 2, 3], "y": ["u", None, "v"]})
    with raises("row 1, column 'y': the value is missing"):
        tenfold.open(frame, "y")
    if make is pa.table:
        pq.write_table(frame, tmp_path / "a.parquet")
        with raises("a.parquet, row 1, column 'y': the value is missing"):
            tenfold.open(tmp_path / "a.parquet", "y").total(mean)


# -------------------------------------------------------------------- names that are not there
def test_columns_that_do_not_exist(tmp_path, table):
    pq.write_table(table, tmp_path / "a.parquet")
    with raises("a.parquet has no column 'prize'. Did you mean 'price'?"):
        tenfold.open(tmp_path / "a.parquet", target="prize")
    with raises("the table has no column 'zzz'. It has 'price', 'size', 'label'."):
        tenfold.open(table, columns=["price", "zzz"])
    with raises("the array has no column 3"):
        tenfold.open(np.eye(3), target=3)
    with raises("the array has no column 'price'. Its columns have numbers, 0 to 2."):
        tenfold.open(np.eye(3), target="price")
    with raises("no column is left for X"):
        tenfold.open(table, "price", columns=["price"])
    with raises("a column is named twice"):
        tenfold.open(table, columns=["price", "price"])
    with pytest.raises(TypeError, match="give a list of columns"):
        tenfold.open(table, columns="price")


def test_target_of_another_length(tmp_path, table):
    pq.write_table(table, tmp_path / "a.parquet")
    pyarrow.csv.write_csv(table, tmp_path / "a.csv")
    for where in (tmp_path / "a.parquet", tmp_path / "a.csv", table, np.ones((30_000, 2))):
        with raises("the target has shape (7,), the data have 30000 rows"):
            tenfold.open(where, target=np.ones(7)).total(mean)


def test_words_in_a_table():
    for frame in (pd.DataFrame({"a": ["x"]}), pl.DataFrame({"a": ["x"]}), pa.table({"a": ["x"]})):
        with raises("the table, column 'a' holds", "not numbers", "OneHotEncoder"):
            tenfold.open(frame)


def test_arrays_that_are_none():
    with raises("two dimensions"):
        tenfold.open(np.ones(3))
    with raises("not numbers"):
        tenfold.open(np.array([["a"]]))


def test_things_that_hold_no_rows():
    for thing in (42, pl.LazyFrame({"a": [1.0]})):
        with pytest.raises(TypeError, match=r"cannot open a .*\.(int|LazyFrame).*collect it first"):
            tenfold.open(thing)


def test_paths_that_do_not_exist(tmp_path):
    (tmp_path / "flowers.csv").write_text("a,b\n1,2\n")
    with pytest.raises(FileNotFoundError, match=r"does not exist. Did you mean '.*/flowers.csv'"):
        tenfold.open(tmp_path / "flower.csv")
    with pytest.raises(FileNotFoundError, match=r"There is no folder .*/data"):
        tenfold.open(tmp_path / "data" / "flowers.csv")
    with pytest.raises(FileNotFoundError, match=r"no file matches '.*/\*.parquet'"):
        tenfold.open(f"{tmp_path}/*.parquet")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match=r"empty holds no data files"):
        tenfold.open(tmp_path / "empty")


def test_files_of_several_kinds(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    np.save(tmp_path / "b.npy", np.eye(2))
    with raises("several kinds ('b.npy', 'a.csv')", "by a pattern"):
        tenfold.open(tmp_path)
    (tmp_path / "a.csv").rename(tmp_path / "a.xlsx")
    with raises("a.xlsx is of no known kind"):
        tenfold.open(tmp_path)


# -------------------------------------------------------------------------------- no room left
def test_full_disk(tmp_path, table, monkeypatch, temporary):
    pq.write_table(table, tmp_path / "a.parquet")
    source = tenfold.open(tmp_path / "a.parquet").source

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        with pytest.raises(OSError, match=f"no room in {temporary}.*set TMPDIR"):
            spool_source(source)
        patch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 1000}))
        assert not has_room_for(source)
