"""A resumed fit is one of the same data: a change of one cell anywhere is refused."""

import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import tenfold
from tenfold._compiled.checksums import checksum
from tenfold.callbacks import checkpoint_file, row_digest
from tenfold.callbacks.fingerprint import digest
from tenfold.callbacks.replay import CheckpointMismatchError
from tenfold.callbacks.row_digest import RowDigests, digest_file
from tenfold.engine import Rows
from tenfold.engine.arrays import ArraySource, SparseSource
from tenfold.engine.context import current_engine
from tenfold.engine.subset import RowSelection, SubsetSource
from tenfold.io.sequences import from_sequences
from tenfold.io.table_opener import open_table

N = 3 * 8192 - 11  # three chunks of a narrow array, the last one shorter
PLACES = [0, 8191, 8192, 12_345, N - 1]


class Stop(BaseException):
    """The end of a run."""


@pytest.fixture(autouse=True)
def _saved_at_once(monkeypatch, tmp_path):
    monkeypatch.setattr(checkpoint_file, "_MIN_INTERVAL_PER_SAVE", 0)
    monkeypatch.setattr(os, "fsync", lambda _: None)
    monkeypatch.chdir(tmp_path)


def arrays():
    rng = np.random.default_rng(0)
    return rng.normal(size=(N, 3)), rng.integers(0, 3, N), rng.random(N)


# ------------------------------------------------------------------- checksums
@settings(max_examples=200, deadline=None)
@given(st.binary(min_size=1, max_size=200), st.data())
def test_a_checksum_sees_every_byte_and_the_length(content, draw):
    array = np.frombuffer(content, np.uint8)
    other = array.copy()
    other[draw.draw(st.integers(0, len(content) - 1))] ^= draw.draw(st.integers(1, 255))
    assert checksum(array) == checksum(array.copy())
    assert checksum(array) != checksum(other)
    assert checksum(array) != checksum(np.append(array, np.uint8(0)))


def test_a_checksum_takes_any_layout():
    a = np.arange(24.0).reshape(4, 6)
    assert checksum(a[:, ::2]) == checksum(a[:, ::2].copy())
    assert checksum(np.frombuffer(bytes(33), np.uint8)[1:]) == checksum(np.zeros(4))
    assert checksum(a) != checksum(a.T)


# ------------------------------------------------------------------- digests of sources
def digest_of(source):
    return RowDigests().of(source)


@pytest.mark.parametrize("row", PLACES)
@pytest.mark.parametrize("part", ["X", "y", "w"])
@pytest.mark.parametrize("layout", ["C", "F", "float32", "int", "sparse"])
def test_one_changed_number_is_another_digest(layout, part, row):
    X, y, w = arrays()
    kind = {"float32": np.float32, "int": np.int32}.get(layout, np.float64)
    values = np.array(100 * X, kind, order="F" if layout == "F" else "C")
    other, y2, w2 = values.copy(order="K"), y.copy(), w.copy()
    if part == "X":
        other[row, 2] += 1
    elif part == "y":
        y2[row] += 1
    else:
        w2[row] = np.nextafter(w2[row], 2)
    wrap = SparseSource if layout == "sparse" else ArraySource
    form = sparse.csr_array if layout == "sparse" else np.asarray
    one = digest_of(wrap(form(values), y, w))
    assert digest_of(wrap(form(values.copy(order="K")), y.copy(), w.copy())) == one
    assert digest_of(wrap(form(other), y2, w2)) != one


def test_whole_numbers_beyond_two_to_the_53_and_words_are_told_apart():
    X = arrays()[0]
    y = np.full(N, 2**53)
    words = np.array(["a", "b"] * N)[:N]
    big, other = y.copy(), words.astype(object)
    big[N // 2] += 1
    other[N - 5] = "c"
    found = {digest_of(ArraySource(X, target)) for target in (y, big, words, other, None)}
    assert len(found) == 5
    assert digest_of(ArraySource(X, words)) == digest_of(ArraySource(X, words.astype(object)))


def test_rows_in_another_order_are_other_rows():
    X, y, _ = arrays()
    swap = np.arange(N)
    swap[:8192], swap[8192:16384] = np.arange(8192, 16384), np.arange(8192)
    assert digest_of(ArraySource(X, y)) != digest_of(ArraySource(X[swap], y[swap]))


def test_sequences_tables_and_subsets():
    steps = [np.arange(5.0), np.arange(3.0)]
    one = digest_of(from_sequences(steps).source)
    assert one != digest_of(from_sequences([np.arange(5.0), np.array([0, 1, 7.0])]).source)
    assert one != digest_of(from_sequences([np.arange(4.0), np.array([4, 0, 1, 2.0])]).source)
    X, y, _ = arrays()
    cell = np.arange(N) % 3
    chosen = [RowSelection.of(cell, np.arange(3) != k, 8192) for k in (0, 1)]
    source = ArraySource(X, y)
    assert digest_of(SubsetSource(source, chosen[0])) != digest_of(SubsetSource(source, chosen[1]))


@pytest.mark.parametrize("column", ["number", "word", "day", "flag"])
def test_one_changed_cell_of_a_table_is_another_digest(column):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "number": rng.normal(size=20_000),
            "word": rng.choice(["red", "blue"], 20_000),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 9, 20_000), "D"),
            "flag": rng.random(20_000) < 0.5,
        }
    )
    one = digest_of(open_table(table))
    assert digest_of(open_table(table.copy())) == one
    other = table.copy()
    value = other.loc[11_111, column]
    new = {"number": 1.0, "word": "green", "day": pd.Timestamp("2021-01-01"), "flag": not value}
    other.loc[11_111, column] = new[column]
    assert digest_of(open_table(other)) != one


# ------------------------------------------------------------------- fits
def first_run(model, X, y):
    """A fit that is complete in a block that is not."""
    with suppress(Stop), tenfold.checkpoint("fit.ckpt"):
        model.fit(X, y)
        raise Stop
    assert Path("fit.ckpt").exists()


MODELS = [
    tenfold.Ridge(),
    tenfold.LogisticRegression(max_iter=3, tol=1.0),
    tenfold.KMeans(3, n_init=1, max_iter=2, tol=1.0, random_state=0),
    tenfold.GaussianNB(),
    tenfold.MLPClassifier((3,), max_iter=1, random_state=0),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("changed", ["X", "y"])
def test_a_fit_refuses_other_rows_far_behind(model, changed):
    X, y, _ = arrays()
    first_run(model, X, y)
    with tenfold.checkpoint("fit.ckpt"):  # the same rows elsewhere in memory go on
        model.fit(X.copy(), y.copy())
    if changed == "y" and isinstance(model, tenfold.KMeans):
        return
    first_run(model, X, y)
    X, y = X.copy(), y.copy()
    if changed == "X":
        X[N - 2, 1] += 1e-9
    else:
        y[N - 2] = (y[N - 2] + 1) % 3
    with (
        pytest.raises(CheckpointMismatchError, match=r"fit\.ckpt belongs to another fit \(data"),
        tenfold.checkpoint("fit.ckpt"),
    ):
        model.fit(X, y)


def test_weights_belong_to_the_data():
    X, y, w = arrays()
    with suppress(Stop), tenfold.checkpoint("fit.ckpt"):
        tenfold.Ridge().fit(X, y, w)
        raise Stop
    w[20_000] *= 2
    with pytest.raises(ValueError, match="data differs"), tenfold.checkpoint("fit.ckpt"):
        tenfold.Ridge().fit(X, y, w)


def test_rows_on_a_cluster():
    import dask.array as da
    from distributed import Client

    X, y, _ = arrays()
    other = X.copy()
    other[N - 3, 0] += 1

    def fit(values):
        tenfold.Ridge().fit(da.from_array(values, (5000, 3)), da.from_array(y, 5000))

    small = {"processes": False, "n_workers": 1, "threads_per_worker": 2}
    with Client(**small, dashboard_address=":0") as client, tenfold.on(client):
        with suppress(Stop), tenfold.checkpoint("fit.ckpt"):
            fit(X)
            raise Stop
        with pytest.raises(ValueError, match="data differs"), tenfold.checkpoint("fit.ckpt"):
            fit(other)
        with tenfold.checkpoint("fit.ckpt"):
            fit(X)
        rows = Rows(ArraySource(X, y), engine=current_engine())
        there = RowDigests().of(rows.source, rows.engine)
    assert there == digest_of(ArraySource(X, y))


# ------------------------------------------------------------------- files
def write_file(kind, X, y):
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y)
    if kind == "csv":
        table.to_csv("data.csv", index=False)
    elif kind == "parquet":
        table.to_parquet("data.parquet", row_group_size=4000)
    else:
        np.save("data.npy", np.column_stack([X, y]))


def fit_file(kind):
    return tenfold.Ridge().fit(f"data.{kind}", 3 if kind == "npy" else "y").coef_


@pytest.mark.parametrize("kind", ["csv", "parquet", "npy"])
def test_a_touched_file_goes_on_and_a_changed_one_is_named(kind):
    X, y, _ = arrays()
    write_file(kind, X, y)
    expected = fit_file(kind)
    with suppress(Stop), tenfold.checkpoint("fit.ckpt"):
        fit_file(kind)
        raise Stop
    os.utime(f"data.{kind}")
    with suppress(Stop), tenfold.checkpoint("fit.ckpt"):
        assert np.array_equal(fit_file(kind), expected)
        raise Stop
    kept = Path(f"data.{kind}").stat()
    X[N - 2, 1] = -X[N - 2, 1]
    write_file(kind, X, y)
    os.utime(f"data.{kind}", ns=(kept.st_atime_ns, kept.st_mtime_ns))
    with (
        pytest.raises(CheckpointMismatchError, match=rf"data\.{kind}: not the file that it was"),
        tenfold.checkpoint("fit.ckpt"),
    ):
        fit_file(kind)


def test_a_file_of_the_same_size_and_times_is_not_read_again(monkeypatch):
    monkeypatch.setattr(row_digest, "_SETTLED_SECONDS", 0.0)
    Path("x").write_bytes(b"some bytes")
    time.sleep(0.02)
    first = RowDigests()
    value = first.of_file("x")
    monkeypatch.setattr(row_digest, "digest_file", lambda _: pytest.fail("read again"))
    assert RowDigests(first.files).of_file("x") == value


def test_times_of_a_young_file_are_not_trusted():
    Path("x").write_bytes(b"some bytes")
    first = RowDigests()
    first.of_file("x")
    Path("x").write_bytes(b"SOME bytes")
    second = RowDigests(first.files)
    assert second.of_file("x") == digest_file("x") != first.of_file("x")
    assert second.describe_changed_files() == "x: not the file that it was"


def test_another_column_of_the_same_file_is_refused():
    X, y, _ = arrays()
    X[:8192, 2] = y[:8192]  # equal in the first chunk
    write_file("npy", X, y)
    with suppress(Stop), tenfold.checkpoint("fit.ckpt"):
        tenfold.Ridge().fit("data.npy", 3)
        raise Stop
    with pytest.raises(ValueError, match="data differs"), tenfold.checkpoint("fit.ckpt"):
        tenfold.Ridge().fit("data.npy", 2)


def test_without_a_checkpoint_no_digest_is_made(monkeypatch):
    monkeypatch.setattr(RowDigests, "of", lambda *_: pytest.fail("a digest was made"))
    X, y, _ = arrays()
    tenfold.Ridge().fit(X, y)
    with tenfold.progress():
        tenfold.LogisticRegression().fit(X, y)


@dataclass(frozen=True, eq=False)
class Settings:
    """Something that a pass is given, as boosting gives its bins."""

    numbers: np.ndarray
    name: str = "a"


def test_arrays_inside_of_settings_are_digested_in_full():
    numbers = np.arange(5000.0)
    other = numbers.copy()
    other[2500] += 1  # a text would cut it
    assert digest(Settings(numbers)) == digest(Settings(numbers.copy()))
    assert digest(Settings(numbers)) != digest(Settings(other))
    assert digest(Settings(numbers)) != digest(Settings(numbers, "b"))
    whole = digest(Settings(numbers))
    with np.printoptions(precision=2, threshold=3):
        assert digest(Settings(numbers)) == whole
