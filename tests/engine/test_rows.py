"""The verbs of rows: total, each, batches, sample; draws by row; outputs to a file."""

from contextlib import suppress
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse, stats

import tenfold
from tenfold.engine import Chunk, Rows, normals, uniforms
from tenfold.engine.arrays import ArraySource, SparseSource
from tests.engine.fold_data import CALM, GRID, LeafError


def numbered(n, make=ArraySource, dtype=np.float64):
    """Rows that carry their own number in X, y and w."""
    X = np.column_stack([np.arange(1, n + 1), np.arange(n) % 7])
    X = X.astype(dtype) if make is ArraySource else sparse.csr_array(X.astype(dtype))
    return Rows(make(X, np.arange(n) * 2, np.arange(n) / 4))


def numbers_of(chunk):
    """The numbers of the rows of a chunk; X, y and w must agree on them."""
    X = chunk.X.toarray() if sparse.issparse(chunk.X) else chunk.X
    rows = X[:, 0].astype(int) - 1
    assert_array_equal(X[:, 1], rows % 7)
    assert_array_equal(chunk.y, rows * 2)
    assert_array_equal(chunk.w, rows / 4)
    return rows


@pytest.mark.parametrize("make", [ArraySource, SparseSource])
@pytest.mark.parametrize("n", [1, 4096, 8192, 8193, 30_001])
def test_total_and_each_see_every_row_once(make, n):
    rows = numbered(n, make)
    assert rows.total(lambda chunk: numbers_of(chunk).sum()) == n * (n - 1) // 2
    assert_array_equal(rows.each(numbers_of), np.arange(n))
    assert rows.total(lambda chunk: chunk.weight) == pytest.approx(n * (n - 1) / 8)
    assert len(rows) == n


@pytest.mark.parametrize("n", [10, 3 * GRID])
@pytest.mark.parametrize("dtype", [np.float32, np.bool_, np.int8, np.dtype("U3")])
def test_each_keeps_shape_and_type(n, dtype):
    rows = numbered(n)
    flat_rows = rows.each(lambda chunk: (numbers_of(chunk) % 5).astype(dtype))
    assert flat_rows.dtype == dtype
    assert_array_equal(flat_rows, (np.arange(n) % 5).astype(dtype))
    wide = rows.each(lambda chunk: np.ones((chunk.rows, 2, 3), dtype))
    assert (wide.shape, wide.dtype) == ((n, 2, 3), dtype)


def test_each_refuses_an_output_of_another_length():
    with pytest.raises(ValueError, match="one output per row"):
        numbered(3 * GRID).each(lambda chunk: chunk.X[:5, 0])


def test_each_never_cuts_outputs_to_the_type_of_the_first():
    with suppress(TypeError, ValueError):
        words = numbered(3 * GRID).each(
            lambda chunk: np.full(chunk.rows, "a" * (1 + chunk.first // GRID))
        )
        assert set(words.tolist()) == {"a", "aa", "aaa"}


def test_each_of_no_rows_is_an_array_of_no_rows():
    with suppress(ValueError):
        assert len(numbered(0).each(lambda chunk: chunk.X[:, 0])) == 0


def test_total_of_no_rows_is_an_error():
    with pytest.raises(ValueError, match="no rows"):
        numbered(0).total(lambda chunk: chunk.rows)


@pytest.mark.parametrize("make", [ArraySource, SparseSource])
@pytest.mark.parametrize("held", [2**26, 2 * 8192 * 16])
@pytest.mark.parametrize(("n", "size"), [(30_001, 1000), (30_001, 9000), (500, 64), (500, 9999)])
def test_batches_hold_every_row_once(make, held, n, size, monkeypatch):
    monkeypatch.setattr("tenfold.engine.rows.SHUFFLE_BYTES", held)
    batches = [numbers_of(batch) for batch in numbered(n, make).batches(size, seed=3)]
    assert [len(batch) for batch in batches[:-1]] == [size] * ((n - 1) // size)
    assert len(batches[-1]) == n - size * ((n - 1) // size)
    assert_array_equal(np.sort(np.concatenate(batches)), np.arange(n))


@pytest.mark.parametrize("held", [2**26, 2 * 8192 * 16])
def test_batches_follow_the_seed_and_nothing_else(held, monkeypatch):
    monkeypatch.setattr("tenfold.engine.rows.SHUFFLE_BYTES", held)

    def order(rows, seed=3):
        return np.concatenate([numbers_of(batch) for batch in rows.batches(700, seed)])

    rows = numbered(30_001)
    expected = order(rows)
    F = ArraySource(np.asfortranarray(rows.source.X), rows.source.y, rows.source.w)
    assert_array_equal(order(rows), expected)
    assert_array_equal(order(Rows(F)), expected)
    with tenfold.threads(1):
        assert_array_equal(order(numbered(30_001, dtype=np.int32)), expected)
    assert (order(rows, seed=4) != expected).mean() > 0.9
    assert (np.diff(expected) == 1).mean() < 0.01


def test_batches_of_sparse_rows_are_those_of_dense_rows_on_the_same_grid():
    dense, csr = (
        [numbers_of(batch) for batch in numbered(4000, make).batches(300, seed=8)]
        for make in (ArraySource, SparseSource)
    )
    assert all(np.array_equal(a, b) for a, b in zip(dense, csr, strict=True))


@CALM
@given(st.integers(1, 300), st.integers(1, 300), st.integers(0, 2**32))
def test_a_sample_is_distinct_ascending_and_the_same_everywhere(n, k, seed):
    drawn = numbers_of(numbered(n).sample(k, seed))
    assert len(drawn) == min(k, n)
    assert (np.diff(drawn) > 0).all()
    assert_array_equal(numbers_of(numbered(n, SparseSource).sample(k, seed)), drawn)
    assert_array_equal(numbers_of(numbered(n, dtype=np.float32).sample(k, seed)), drawn)


def test_samples_are_fair():
    rows = numbered(50)
    drawn = np.concatenate([numbers_of(rows.sample(10, seed)) for seed in range(500)])
    assert stats.chisquare(np.bincount(drawn, minlength=50)).pvalue > 1e-3


@pytest.mark.parametrize("make", [ArraySource, SparseSource])
def test_take_and_gather(make):
    rows = numbered(20_000, make)
    wanted = np.array([0, 4095, 4096, 8191, 8192, 19_999])
    assert_array_equal(numbers_of(rows.take(wanted)), wanted)
    assert_array_equal(numbers_of(rows.gather()), np.arange(20_000))
    taken = rows.take(wanted)
    assert taken.X.dtype == np.float64
    taken.y[:] = 0  # a copy: the rows stay as they are
    assert_array_equal(rows.source.y, np.arange(20_000) * 2)


def test_a_label_is_its_number_among_the_classes():
    words = np.array(["cat", "ant", "bee"])[np.arange(20_000) % 3]
    rows = Rows(ArraySource(np.zeros((20_000, 2)), words)).with_classes(
        np.array(["ant", "bee", "cat"])
    )
    assert_array_equal(rows.each(lambda chunk: chunk.y), np.array([2, 0, 1])[np.arange(20_000) % 3])
    assert rows.take(np.array([1, 2, 3])).y.tolist() == [0, 1, 2]


def test_a_chunk_weighs_what_its_rows_weigh():
    X = np.zeros((3, 1), np.float32)
    assert Chunk(X).weight == 3.0
    assert Chunk(X).weights().tolist() == [1, 1, 1]
    assert Chunk(X).weights().dtype == np.float32
    assert Chunk(X, w=np.array([0.5, 0, 2])).weight == 2.5


# ------------------------------------------------------------------------------- randomness


@CALM
@given(
    st.integers(0, 2**64),
    st.integers(1, 6),
    st.lists(st.integers(0, 50), max_size=4),
    st.integers(0, 10**9),
)
def test_a_row_draws_the_same_numbers_at_any_cut(seed, k, cuts, first):
    whole = normals(seed, first, 50, k)
    edges = [0, *sorted(cuts), 50]
    parts = [normals(seed, first + a, b - a, k) for a, b in pairwise(edges)]
    assert_array_equal(np.concatenate(parts), whole)
    u = uniforms(seed, first, 50, k)
    assert ((u > 0) & (u < 1)).all()
    assert np.isfinite(whole).all()


def test_draws_have_their_distribution_and_differ_by_seed_row_and_column():
    u = uniforms(11, 0, 5000, 6)
    assert stats.kstest(u.ravel(), "uniform").pvalue > 1e-3
    assert stats.kstest(normals(11, 0, 5000, 6).ravel(), "norm").pvalue > 1e-3
    assert len(np.unique(u)) == u.size
    assert np.abs(np.corrcoef(u.T) - np.eye(6)).max() < 0.06
    assert not np.isin(uniforms(12, 0, 100, 6), u).any()


# -------------------------------------------------------------------------------- each to a file


@pytest.mark.parametrize("n", [100, 5 * GRID])
def test_outputs_go_to_a_file_that_appears_when_it_is_whole(n, tmp_path):
    path, seen = tmp_path / "out.npy", []

    def leaf(chunk):
        seen.append(path.exists())
        return np.sqrt(chunk.X).astype(np.float32)

    rows = numbered(n)
    mapped = rows.each(leaf, into=path)
    assert not any(seen)
    assert list(tmp_path.iterdir()) == [path]
    assert_array_equal(mapped, rows.each(leaf))
    assert_array_equal(np.load(path), mapped)
    assert (mapped.dtype, mapped.flags.writeable) == (np.float32, False)
    rows.each(lambda chunk: -chunk.X, into=str(path))
    assert_array_equal(np.load(path), -rows.source.X)


@pytest.mark.parametrize("problem", [LeafError, KeyboardInterrupt])
@pytest.mark.parametrize("at", [0, 3])
def test_a_failed_pass_leaves_the_folder_as_it_was(problem, at, tmp_path):
    def leaf(chunk):
        if chunk.first // GRID == at:
            raise problem
        return chunk.X

    for before in ({}, {"out.npy": b"from last week"}):
        for name, content in before.items():
            (tmp_path / name).write_bytes(content)
        with pytest.raises(problem):
            numbered(5 * GRID).each(leaf, into=tmp_path / "out.npy")
        assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before
