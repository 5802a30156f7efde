"""The same bits whoever does the work, in any order; errors name the row."""

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse

import tenfold
from tenfold.engine import Rows
from tenfold.engine.arrays import ArraySource, SparseSource
from tenfold.engine.fold import OutputArray, _plan_runs, fold, map_rows
from tenfold.engine.merge_tree import MergeTree
from tenfold.engine.task import FoldTask, make_contiguous
from tenfold.stats.decorators import propagates_nan
from tenfold.stats.moments import Moments
from tests.engine.fold_data import (
    BYTES,
    CALM,
    GRID,
    KINDS,
    PATIENCE,
    TARGET,
    WEIGHT,
    flat,
    mixing,
    one_thread,
    opened,
    products,
    reference,
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_layout_and_threads_change_no_bit(kind, threads):
    dtype = "float32" if kind.startswith("float32") else "float64"
    rows = opened(kind)
    before = rows.source.X.copy()
    with tenfold.threads(threads):
        assert_array_equal(flat(rows.total(products, mixing(dtype))), one_thread()[dtype])
    assert_array_equal(rows.source.X, before)


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_change_no_bit_of_sparse_rows(threads):
    X = BYTES * (BYTES % 5 == 0)
    rows = Rows(SparseSource(sparse.csr_matrix(X), TARGET, WEIGHT))
    with tenfold.threads(1):
        expected = flat(rows.total(sparse_products, mixing()))
    with tenfold.threads(threads):
        assert_array_equal(flat(rows.total(sparse_products, mixing())), expected)
    dense = flat(Rows(ArraySource(X, TARGET, WEIGHT)).total(products, mixing()))
    np.testing.assert_allclose(expected, dense, rtol=1e-9)


def sparse_products(chunk, M):
    return products(chunk._replace(X=chunk.X.toarray()), M)


@pytest.mark.parametrize("threads", [2, 3])
def test_chunks_that_finish_in_another_order_change_no_bit(threads):
    finished, done = [], {number: threading.Event() for number in range(10)}

    def late(chunk, M):
        number = chunk.first // 5461
        if number % 2 == 1:  # odd chunks let the next one overtake them
            assert done[number + 1].wait(PATIENCE)
        result = products(chunk, M)
        finished.append(number)
        done[number].set()
        return result

    with tenfold.threads(threads):
        total = opened("float64 F").total(late, mixing())
    assert all(finished.index(number + 1) < finished.index(number) for number in (1, 3, 5, 7))
    assert sorted(finished) == list(range(9))
    assert_array_equal(flat(total), one_thread()["float64"])


@pytest.mark.parametrize("threads", [1, 2, 3, 20])
@pytest.mark.parametrize("n", [*range(1, 20), 31, 32, 33, 100, 1000])
def test_long_runs_are_nodes_of_the_tree_and_cover_all_chunks(n, threads):
    with tenfold.threads(threads):
        runs = list(_plan_runs(n))
    assert [number for run in runs for number in run] == list(range(n))
    for run in runs:
        size = 1 << (len(run) - 1).bit_length()
        assert run.start % size == 0
        assert len(run) == size or run.stop == n  # whole, or the last


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 21, 64, 77])
def test_runs_of_chunks_have_the_bits_of_single_ones(n, threads):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n * GRID - 5, 2)) * 10.0 ** rng.integers(-6, 6, (n * GRID - 5, 1))
    alone, together = Rows(ArraySource(np.asfortranarray(X))), Rows(ArraySource(X))
    assert together.source.direct
    assert not alone.source.direct
    with tenfold.threads(threads):
        for leaf in (column_sums, moments_of):
            for ours, theirs in zip(together.total(leaf), alone.total(leaf), strict=True):
                assert_array_equal(ours, theirs)


def column_sums(chunk):
    return chunk.X.sum(axis=0), float(chunk.X[0, 0])


def moments_of(chunk):
    mean = chunk.X.mean(axis=0)
    return Moments(float(chunk.rows), mean, (chunk.X - mean).T @ (chunk.X - mean), chunk.rows)


def test_nan_in_a_run_is_found_where_it_is():
    X = np.ones((40 * GRID, 2))
    X[29 * GRID + 17, 1] = np.nan
    X[31 * GRID, 0] = np.inf
    for leaf in (column_sums, propagates_nan(lambda chunk: chunk.X.sum(axis=0))):
        with pytest.raises(ValueError, match=f"NaN: row {29 * GRID + 17}, column 1"):
            Rows(ArraySource(X)).total(leaf)


def test_layout_of_the_state_changes_no_bit():
    total = opened("float64 C").total(products, np.asfortranarray(mixing()))
    assert_array_equal(flat(total), one_thread()["float64"])


def test_state_arrives_contiguous_and_with_its_shape():
    F = np.asfortranarray(np.ones((3, 4)))
    given_state = (F, {"a": F.T[1:]}, [np.array(2.0)], "word", None)
    seen = make_contiguous(given_state)
    assert seen[0].flags.c_contiguous
    assert seen[1]["a"].flags.c_contiguous
    assert seen[2][0].shape == ()
    assert seen[3:] == ("word", None)


@pytest.mark.parametrize("kind", KINDS)
def test_chunks_are_contiguous_and_in_the_compute_type(kind):
    source = opened(kind).source
    for chunk in source.chunks(range(7, 9)):
        assert chunk.X.flags.c_contiguous
        assert chunk.X.dtype == source.dtype
        assert_array_equal(chunk.X, BYTES[chunk.first : chunk.first + chunk.rows])
        assert_array_equal(chunk.y, TARGET[chunk.first : chunk.first + chunk.rows])
        assert_array_equal(chunk.w, WEIGHT[chunk.first : chunk.first + chunk.rows])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_short_way_of_one_chunk_is_the_long_way(dtype):
    X = BYTES[:5000].astype(dtype)
    rows = Rows(ArraySource(X, TARGET[:5000], WEIGHT[:5000]))
    M, tree = mixing(dtype), MergeTree()
    fold(FoldTask(rows.source, products, (M,)), tree)
    assert_array_equal(flat(rows.total(products, M)), flat(tree.close()))
    output = OutputArray(5000)
    map_rows(FoldTask(rows.source, tanh, (M,)), output)
    short = rows.each(tanh, M)
    assert short.dtype == output.array.dtype == dtype
    assert_array_equal(short, output.array)


def tanh(chunk, M):
    return np.tanh(chunk.X @ M / 500)


@CALM
@given(st.sets(st.integers(0, 8)), st.integers(1, 3))
def test_a_fold_goes_on_from_the_chunks_that_a_tree_holds(known, threads):
    source, tree, calls = ArraySource(BYTES), MergeTree(), []

    def sums(chunk):
        calls.append(chunk.first // source.grid)
        return np.tanh(chunk.X / 99).sum(0)

    task = FoldTask(source, sums, ())
    for number in known:
        tree.add((0, number), sums(next(source.chunks(range(number, number + 1)))))
    calls.clear()
    with tenfold.threads(threads):
        fold(task, tree)
    assert sorted(calls) == sorted(set(range(9)) - known)
    parts = [np.tanh(chunk.X / 99).sum(0) for chunk in source.chunks(range(9))]
    assert_array_equal(tree.close(), reference(parts, np.add))


# ----------------------------------------------------------------------------- what is wrong where


@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "inf"), (-np.inf, "inf")])
@pytest.mark.parametrize("make", [ArraySource, SparseSource])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_first_bad_number_is_named(value, word, make, dtype):
    X = np.zeros((30_000, 3), dtype)
    X[::5, 0] = 1
    X[[20_000, 29_000, 20_001], [2, 0, 0]] = value
    rows = Rows(make(X if make is ArraySource else sparse.csr_array(X)))
    for threads in (1, 3):
        with (
            tenfold.threads(threads),
            pytest.raises(ValueError, match=rf"{word}.*row 20000, column 2\b.*Imputer"),
        ):
            rows.total(lambda chunk: chunk.rows)
    with pytest.raises(ValueError, match="row 20000"):
        list(rows.batches(100, seed=0))


def test_a_bad_number_in_taken_rows_is_named_by_its_own_row():
    X = np.zeros((9001, 2))
    X[9000, 1] = np.nan
    with pytest.raises(ValueError, match="row 9000, column 1"):
        Rows(ArraySource(X)).take(np.array([5, 9000]))


def test_columns_are_called_by_their_names():
    source = ArraySource(np.array([[0.0, np.nan]]))
    source.names = ["age", "height"]
    with pytest.raises(ValueError, match="row 0, column 'height'"):
        Rows(source).each(lambda chunk: chunk.X[:, 0])


@pytest.mark.parametrize(("dtype", "huge"), [(np.float64, 1e200), (np.float32, 1e30)])
def test_huge_numbers_are_fine_numbers(dtype, huge):
    X = np.full((9000, 2), huge, dtype)
    assert Rows(ArraySource(X)).total(lambda chunk: chunk.rows) == 9000
    assert Rows(SparseSource(sparse.csr_array(X))).total(lambda chunk: chunk.rows) == 9000
    X[8999, 1] = np.nan
    with pytest.raises(ValueError, match="row 8999, column 1"):
        Rows(ArraySource(X)).total(lambda chunk: chunk.rows)


def test_missing_numbers_may_be_allowed():
    X = np.full((9000, 2), np.nan)
    assert (
        Rows(ArraySource(X), allow_nan=True).total(lambda chunk: np.isnan(chunk.X).sum()) == 18_000
    )
    with pytest.raises(ValueError, match="NaN"):  # and another reader of the same still looks
        Rows(ArraySource(X)).total(lambda chunk: chunk.rows)


def test_an_unknown_label_is_named_with_its_row():
    y = np.arange(20_000) % 2
    y[12_345] = 7
    rows = Rows(ArraySource(np.zeros((20_000, 2)), y)).with_classes(np.array([0, 1]))
    with pytest.raises(ValueError, match=r"row 12345: label .*7.* not among .*\[0, 1\]"):
        rows.total(lambda chunk: chunk.rows)


def test_an_unknown_label_of_taken_rows_is_named_with_its_own_row():
    rows = Rows(ArraySource(np.zeros((300, 2)), np.arange(300) // 100)).with_classes(
        np.array([0, 1])
    )
    with pytest.raises(ValueError, match="row 250: label"):
        rows.take(np.array([3, 250]))
