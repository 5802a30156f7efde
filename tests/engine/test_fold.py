"""The fold engine: one grid, one tree, and the same bits whoever does the work, in any order."""

import contextvars
import gc
import os
import subprocess
import sys
import threading
import time
import weakref
from contextlib import suppress
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse, stats

import tenfold
from tenfold.engine import Chunk, Rows, chunk_rows, merge, n_threads, normals, uniforms
from tenfold.engine.arrays import ArraySource, SparseSource
from tenfold.engine.chunk import chunk_numbers
from tenfold.engine.fold import OutputArray, _plan_runs, fold, map_rows
from tenfold.engine.merge_tree import MergeTree, upcast
from tenfold.engine.task import FoldTask, make_contiguous
from tenfold.engine.thread_pool import _default_threads, is_inside_fold
from tenfold.stats.decorators import propagates_nan
from tenfold.stats.moments import Moments

GRID = 8192  # rows in a chunk of two float64 columns
CALM = settings(max_examples=40, deadline=None)  # busy machines are slow now and then
PATIENCE = 30  # seconds after which a thread that waits has waited in vain


# ------------------------------------------------------------------------------------ the grid


@pytest.mark.parametrize(
    ("width", "dtype", "rows"),
    [
        (0, "f8", 8192),
        (1, "f4", 8192),
        (16, "f8", 8192),
        (17, "f8", 7710),
        (32, "f4", 8192),
        (33, "f4", 7943),
        (361, "f8", 363),
        (363, "f8", 363),
        (511, "f4", 513),
        (784, "f4", 784),
        (784, "f8", 784),
        (1024, "f8", 1024),
        (2000, "f4", 1024),
        (8192, "f8", 1024),
        (8193, "f8", 1023),
        (100_000, "f4", 167),
        (10**8, "f4", 1),
    ],
)
def test_chunk_rows_by_hand(width, dtype, rows):
    assert chunk_rows(width, np.dtype(dtype)) == rows


@CALM
@given(st.integers(1, 10**6), st.sampled_from(["f4", "f8"]))
def test_a_chunk_fits_its_bounds(width, dtype):
    rows, row = chunk_rows(width, np.dtype(dtype)), width * np.dtype(dtype).itemsize
    assert 1 <= rows <= 8192
    assert rows * row <= max(2**26, row)
    assert rows in {8192, 2**20 // row, 2**26 // row, min(width, 1024)}


@CALM
@given(st.integers(0, 40_000), st.integers(1, 200), st.sampled_from([np.float32, np.uint8]))
def test_the_grid_covers_every_row_once(n, width, dtype):
    source = ArraySource(np.broadcast_to(dtype(1), (n, width)))
    cuts = [source.span(number) for number in chunk_numbers(n, source.grid)]
    assert [first for first, _ in cuts] + [n] == [0] + [end for _, end in cuts]
    assert all(0 < end - first <= source.grid for first, end in cuts)
    assert source.grid == chunk_rows(width, np.dtype("f4" if dtype == np.float32 else "f8"))


# ------------------------------------------------------------------------------------ the tree


class Word(NamedTuple):
    """A statistic whose total spells the tree that made it."""

    text: str

    def merge(self, other):
        return Word(f"({self.text}{other.text})")


def reference(parts, combine):
    """The fixed tree, said another way: cut at the largest power of two below the length."""
    if len(parts) == 1:
        return parts[0]
    left = 1 << (len(parts) - 1).bit_length() - 1
    return combine(reference(parts[:left], combine), reference(parts[left:], combine))


def closed(parts, order):
    tree = MergeTree()
    for number in order:
        tree.add((0, number), parts[number])
    return tree.close()


def test_the_tree_of_seven_chunks():
    words = [Word(c) for c in "abcdefg"]
    assert closed(words, range(7)).text == "(((ab)(cd))((ef)g))"


@CALM
@given(st.integers(1, 70), st.randoms(use_true_random=False))
def test_any_order_of_arrival_makes_the_same_tree(n, random):
    words = [Word(f"{i},") for i in range(n)]
    order = random.sample(range(n), n)
    assert closed(words, order) == reference(words, Word.merge)


@CALM
@given(st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=40), st.randoms())
def test_any_order_of_arrival_gives_the_same_bits(values, random):
    order = random.sample(range(len(values)), len(values))
    total = closed([np.array([v, -v / 3]) for v in values], order)
    expected = reference([np.array([v, -v / 3]) for v in values], np.add)
    assert_array_equal(total, expected)


def test_threads_that_add_at_once_build_one_tree():
    n, workers = 600, 4
    words = [Word(f"{i},") for i in range(n)]
    order = np.random.default_rng(0).permutation(n)
    tree, start = MergeTree(), threading.Barrier(workers)

    def add(worker):
        start.wait(PATIENCE)
        for number in order[worker::workers].tolist():
            tree.add((0, number), words[number])

    run_threads(workers, add)
    assert tree.close() == reference(words, Word.merge)


@CALM
@given(st.integers(1, 40), st.data())
def test_pending_nodes_say_which_chunks_they_hold(n, data):
    added = data.draw(st.sets(st.integers(0, n - 1)))
    tree = MergeTree()
    for number in added:
        tree.add((0, number), 1.0)
    assert {number for number in range(n) if tree.covers(number)} == added


def test_a_tree_without_chunks_is_no_total():
    with pytest.raises(ValueError, match="no rows"):
        MergeTree().close()


# ---------------------------------------------------------------------------------- statistics


class Parts(NamedTuple):
    """Every kind of part, nested."""

    array: np.ndarray
    pair: tuple
    table: dict
    count: int
    nothing: None = None


class Gradient(NamedTuple):
    """A statistic that wants to stay float32."""

    values: np.ndarray
    narrow = True


class NotATuple:
    """A statistic that knows nothing but how to merge."""

    def __init__(self, members):
        self.members = members

    def merge(self, other):
        return NotATuple(self.members | other.members)


def test_merge_goes_part_by_part_and_keeps_the_kind():
    a = Parts(np.array([1, 2]), (1.5, [2**60]), {"x": 1, "a": 2}, 2**60)
    b = Parts(np.array([10, 20]), (0.25, [1]), {"a": 5, "b": 7}, 1)
    total = merge(a, b)
    assert type(total) is Parts
    assert total.array.tolist() == [11, 22]
    assert total.pair == (1.75, [2**60 + 1])
    assert total.table == {"x": 1, "a": 7, "b": 7}
    assert (total.count, total.nothing) == (2**60 + 1, None)


def test_parts_of_different_number_do_not_merge():
    with pytest.raises(ValueError, match="shorter"):
        merge((1, 2), (1,))


def test_a_part_that_one_side_lacks_is_not_dropped():
    with suppress(TypeError, ValueError):
        assert merge(None, 3.0) == 3.0


def test_merge_never_writes_to_its_right_side_nor_to_what_is_read_only():
    a, b = np.ones(3), np.full(3, 2.0)
    a.flags.writeable = False
    assert merge(a, b).tolist() == [3, 3, 3]
    merge(np.zeros(3), b)
    assert (a.tolist(), b.tolist()) == ([1, 1, 1], [2, 2, 2])


def test_merge_does_not_round_into_the_left_side():
    assert merge(np.array([1, 2]), np.array([0.5, 0.5])).tolist() == [1.5, 2.5]
    assert merge(np.zeros(1, np.float32), np.array([0.1])).dtype == np.float64


def big_first(chunk):
    return Parts(
        np.full(2, 2.0**24 if chunk.first == 0 else 1.0, np.float32),
        (np.float32(chunk.first == 0) * np.float32(2**24), 1.5),
        {"n": np.ones(1, np.float32)},
        chunk.rows,
    )


@pytest.mark.parametrize("n", [100, 5 * GRID])
def test_float32_statistics_are_summed_in_float64(n):
    total = Rows(ArraySource(np.zeros((n, 2), np.float32))).total(big_first)
    chunks = -(-n // GRID)
    assert total.array.tolist() == [2.0**24 + chunks - 1] * 2  # float32 would lose the ones
    assert total.array.dtype == np.asarray(total.pair[0]).dtype == np.float64
    assert total.table["n"].dtype == np.float64
    assert type(total) is Parts
    assert total.count == n


@pytest.mark.parametrize("n", [100, 3 * GRID])
def test_a_statistic_may_decline_to_be_widened(n):
    rows = Rows(ArraySource(np.ones((n, 2), np.float32)))
    total = rows.total(lambda chunk: Gradient(chunk.X.sum(0)))
    assert total.values.dtype == np.float32
    assert total.values.tolist() == [n, n]


@pytest.mark.parametrize("n", [100, 3 * GRID])
def test_any_object_with_merge_is_a_statistic(n):
    total = Rows(ArraySource(np.zeros((n, 2)))).total(lambda chunk: NotATuple({chunk.first}))
    assert total.members == set(range(0, n, GRID))


def test_widening_leaves_other_numbers_alone():
    kept = (3, 2**70, np.int64(4), np.arange(2), "word", None, True)
    assert all(a is b for a, b in zip(upcast(kept), kept, strict=True))


# ----------------------------------------------------------------- leaves that return what lives


def test_the_same_array_twice_in_a_statistic_counts_once():
    X = np.ones((4 * GRID, 2))

    def twice(chunk):
        total = chunk.X.sum(0)
        return total, total

    first, second = Rows(ArraySource(X)).total(twice)
    assert first.tolist() == second.tolist() == [4 * GRID] * 2


def test_a_leaf_that_returns_its_state_does_not_change_it():
    state = np.ones(3)
    total = Rows(ArraySource(np.ones((4 * GRID, 2)))).total(lambda _, s: s, state)
    assert state.tolist() == [1, 1, 1]
    assert total.tolist() == [4, 4, 4]


def test_a_leaf_that_returns_a_piece_of_its_chunk_does_not_change_the_data():
    X = np.arange(8.0 * GRID).reshape(-1, 2)
    total = Rows(ArraySource(X)).total(lambda chunk: chunk.X[0])
    assert_array_equal(X, np.arange(8.0 * GRID).reshape(-1, 2))
    assert total.tolist() == X[::GRID].sum(0).tolist()


# ----------------------------------------------------------------- the same bits in any placement

WIDTH = 24
BYTES = np.random.default_rng(5).integers(0, 256, (9 * 5461 - 700, WIDTH)).astype(np.uint8)
TARGET = (BYTES[:, 0] % 3).astype(np.int64)
WEIGHT = np.random.default_rng(6).random(len(BYTES))


def strided(X):
    wide = np.zeros((2 * len(X), WIDTH + 3), X.dtype)
    wide[::2, 3:] = X
    return wide[::2, 3:]


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


DENSE = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "strided": strided,
    "backwards": lambda X: X[::-1].copy()[::-1],
    "read-only": read_only,
}
KINDS = {
    **{f"float64 {name}": (f, np.float64) for name, f in DENSE.items()},
    **{f"float32 {name}": (f, np.float32) for name, f in DENSE.items()},
    "uint8": (np.ascontiguousarray, np.uint8),
    "int64 F": (np.asfortranarray, np.int64),
    "float16": (np.ascontiguousarray, np.float16),
    "big-endian": (np.ascontiguousarray, np.dtype(">f8")),
}


def products(chunk, M):
    Z = np.tanh(chunk.X @ M / 500)
    return Parts(
        Z.T @ (chunk.X * chunk.w[:, None]),
        (chunk.w.sum(), np.log1p(Z**2).sum(0)),
        {int(c): Z[chunk.y == c].sum(0) for c in np.unique(chunk.y)},
        chunk.rows,
    )


def mixing(dtype=np.float64):
    return np.random.default_rng(7).normal(size=(WIDTH, 5)).astype(dtype)


def flat(statistic):
    return np.concatenate(
        [
            np.ravel(part)
            for part in (
                statistic.array,
                *statistic.pair,
                *[statistic.table[k] for k in sorted(statistic.table)],
                statistic.count,
            )
        ]
    )


def opened(kind):
    make, dtype = KINDS[kind]
    return Rows(ArraySource(make(BYTES.astype(dtype)), TARGET, WEIGHT))


@pytest.fixture(scope="module")
def one_thread():
    """What one thread makes of plain arrays."""
    with tenfold.threads(1):
        return {
            dtype: flat(opened(f"{dtype} C").total(products, mixing(dtype)))
            for dtype in ("float32", "float64")
        }


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_layout_and_threads_change_no_bit(kind, threads, one_thread):
    dtype = "float32" if kind.startswith("float32") else "float64"
    rows = opened(kind)
    before = rows.source.X.copy()
    with tenfold.threads(threads):
        assert_array_equal(flat(rows.total(products, mixing(dtype))), one_thread[dtype])
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
def test_chunks_that_finish_in_another_order_change_no_bit(threads, one_thread):
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
    assert_array_equal(flat(total), one_thread["float64"])


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


def test_layout_of_the_state_changes_no_bit(one_thread):
    total = opened("float64 C").total(products, np.asfortranarray(mixing()))
    assert_array_equal(flat(total), one_thread["float64"])


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


# ------------------------------------------------------------------------------- the four verbs


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


# ------------------------------------------------------------------------- threads and the pool


def run_threads(n, f):
    """Call f(0), ..., f(n - 1) at once; errors and threads that hang arrive here."""
    problems = []

    def guarded(i):
        try:
            f(i)
        except BaseException as problem:  # noqa: BLE001
            problems.append(problem)

    started = [threading.Thread(target=guarded, args=(i,), daemon=True) for i in range(n)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join(PATIENCE)
    assert not any(thread.is_alive() for thread in started), "a thread hangs"
    if problems:
        raise problems[0]


def meeting(n):
    """A leaf's way to be sure that n threads are at work: chunks 1 to n meet."""
    barrier = threading.Barrier(n)

    def meet(chunk):
        if chunk.first == 0:
            time.sleep(0.002)  # enough work in sight to wake the helpers
        if 1 <= chunk.first // GRID <= n:
            barrier.wait(PATIENCE)

    return meet


def chunks(n):
    """Rows of which every chunk is read, and handed out, by itself."""
    return Rows(ArraySource(np.ones((n * GRID, 2), order="F")))


@pytest.mark.parametrize("threads", [1, 2, 3, 5])
def test_as_many_threads_work_as_were_asked_for(threads):
    seen, meet = set(), meeting(threads)

    def leaf(chunk):
        meet(chunk)
        assert is_inside_fold()
        seen.add(threading.get_ident())
        return chunk.rows

    with tenfold.threads(threads):
        assert chunks(7).total(leaf) == 7 * GRID
    assert len(seen) == threads
    assert threading.get_ident() in seen
    assert not is_inside_fold()


def test_more_threads_than_chunks():
    with tenfold.threads(50):
        assert chunks(3).total(lambda chunk: chunk.rows) == 3 * GRID


def test_a_fold_within_a_fold_runs_inline_and_gives_the_same():
    outer, inner = chunks(5), opened("float64 C")
    expected = flat(inner.total(products, mixing()))
    meet, agreed = meeting(3), []

    def leaf(chunk):
        meet(chunk)
        here, ran = threading.get_ident(), set()

        def inside(part, M):
            ran.add(threading.get_ident())
            return products(part, M)

        assert n_threads() == 1
        agreed.append(np.array_equal(flat(inner.total(inside, mixing())), expected))
        assert ran == {here}
        return inner.each(lambda part: part.X[:, 0]).sum()

    with tenfold.threads(3):
        total = outer.total(leaf)
    assert agreed == [True] * 5
    assert total == 5 * BYTES[:, 0].astype(float).sum()


def test_three_levels_of_folds_from_several_user_threads_do_not_deadlock():
    rows = chunks(3)

    def leaf(chunk, depth):
        return chunk.rows if depth == 0 else rows.total(leaf, depth - 1)

    def fold_here(_):
        with tenfold.threads(2):
            assert rows.total(leaf, 2) == 9 * 3 * GRID

    run_threads(3, fold_here)


def test_user_threads_that_fold_at_once_do_not_mix_their_rows(one_thread):
    def fold_here(i):
        dtype = ("float64", "float32")[i % 2]
        with tenfold.threads(2):
            for _ in range(4):
                total = opened(f"{dtype} C").total(products, mixing(dtype))
                assert_array_equal(flat(total), one_thread[dtype])

    run_threads(4, fold_here)


def test_a_finished_fold_lets_go_of_its_rows():
    rows, meet = chunks(4), meeting(2)
    source = weakref.ref(rows.source)
    with tenfold.threads(2):
        rows.total(lambda chunk: meet(chunk) or chunk.rows)
    del rows
    for _ in range(100):  # a helper may still be on its way out of the job
        gc.collect()
        if source() is None:
            break
        threading.Event().wait(0.01)
    assert source() is None


def test_leaves_see_the_context_of_the_caller():
    asked = contextvars.ContextVar("asked", default="nothing")
    seen, meet = [], meeting(2)

    def leaf(chunk):
        meet(chunk)
        seen.append((threading.get_ident(), asked.get(), np.geterr()["over"]))
        return 0

    asked.set("by the caller")
    with np.errstate(over="call", call=lambda *_: None), tenfold.threads(2):
        chunks(3).total(leaf)
    by_helpers = {entry[1:] for entry in seen if entry[0] != threading.get_ident()}
    assert by_helpers == {("by the caller", "call")}


class LeafError(Exception):
    """What a leaf may raise."""


def test_the_first_error_by_chunk_number_wins_and_the_others_stop():
    failed, calls = threading.Event(), []
    early = LeafError("chunk 1")

    def leaf(chunk):
        number = chunk.first // GRID
        calls.append(number)
        if number == 0:
            time.sleep(0.002)
        if number == 2:
            failed.set()
            raise LeafError("chunk 2")
        if number == 1:
            assert failed.wait(PATIENCE)
            raise early
        return chunk.rows

    for verb in ("total", "each"):
        failed.clear()
        calls.clear()
        with tenfold.threads(2), pytest.raises(LeafError) as caught:
            getattr(chunks(40), verb)(lambda chunk: np.zeros(leaf(chunk)))
        assert caught.value is early
        assert sorted(calls) == [0, 1, 2]
    meet = meeting(2)
    with tenfold.threads(2):  # the pool works as before
        assert chunks(4).total(lambda chunk: meet(chunk) or chunk.rows) == 4 * GRID


@pytest.mark.parametrize("at", [0, 1, 5])
def test_an_error_arrives_as_it_is_also_on_one_thread(at):
    problem = LeafError(at)

    def leaf(chunk):
        if chunk.first // GRID == at:
            raise problem
        return 0

    for threads in (1, 3):
        with tenfold.threads(threads), pytest.raises(LeafError) as caught:
            chunks(6).total(leaf)
        assert caught.value is problem
    assert not is_inside_fold()


def test_an_error_in_the_only_chunk():
    def leaf(_):
        raise LeafError

    with pytest.raises(LeafError):
        chunks(1).total(leaf)
    assert chunks(1).total(lambda chunk: chunk.rows) == GRID


@pytest.mark.parametrize("who", ["caller", "helper"])
def test_an_interrupt_in_any_thread_reaches_the_caller(who):
    caller, calls, interrupted = threading.get_ident(), [], threading.Event()
    meet = meeting(2)

    def leaf(chunk):
        calls.append(chunk.first // GRID)
        meet(chunk)
        if chunk.first and (threading.get_ident() == caller) == (who == "caller"):
            interrupted.set()
            raise KeyboardInterrupt
        if chunk.first:
            assert interrupted.wait(PATIENCE)
        return 0

    with tenfold.threads(2), pytest.raises(KeyboardInterrupt):
        chunks(50).total(leaf)
    assert len(calls) <= 5
    assert chunks(4).total(lambda chunk: chunk.rows) == 4 * GRID


@pytest.mark.parametrize("n", [0, -3])
def test_fewer_than_one_thread_is_refused(n):
    with pytest.raises(ValueError, match=rf"threads\({n}\).*at least one"), tenfold.threads(n):
        pass


def test_threads_nest_and_end():
    before = n_threads()
    with tenfold.threads(3):
        with tenfold.threads(1):
            assert n_threads() == 1
        with tenfold.threads(None):
            assert n_threads() == 3
        with suppress(LeafError), tenfold.threads(7):
            raise LeafError
        assert n_threads() == 3
    assert n_threads() == before


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5", "1e1", "²"])
def test_a_wrong_environment_is_named(text, monkeypatch):
    monkeypatch.setenv("TENFOLD_THREADS", text)
    with pytest.raises(ValueError, match=r"TENFOLD_THREADS=.*whole number") as caught:
        _default_threads.__wrapped__()
    assert repr(text) in str(caught.value)


def python(code, **environment):
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **environment},
        check=False,
    )
    return done.stdout.split(), done.stderr


def test_the_environment_sets_the_number_of_threads():
    code = "from tenfold.engine import n_threads; print(n_threads())"
    assert python(code, TENFOLD_THREADS=" 3 ")[0] == ["3"]
    out, problem = python(code, TENFOLD_THREADS="lots")
    assert not out
    assert "ValueError: TENFOLD_THREADS='lots': give a whole number" in problem


FORK = """
import multiprocessing, os, signal, threading, time
import numpy as np, tenfold
from tenfold.engine import Rows
from tenfold.engine.arrays import ArraySource

signal.alarm(40)
rows = Rows(ArraySource(np.random.default_rng(0).normal(size=(50_000, 20))))

def folded(_=None):
    seen = set()
    def leaf(chunk):
        seen.add(threading.get_ident())
        time.sleep(0.002)
        return chunk.X.T @ chunk.X
    with tenfold.threads(2):
        return rows.total(leaf).tobytes(), len(seen)

def exit_code_of_child():
    pid = os.fork()
    if pid == 0:
        os._exit(0 if folded()[0] == expected[0] else 1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

expected = folded()
print(expected[1], exit_code_of_child())
with multiprocessing.get_context("fork").Pool(2) as pool:
    print(pool.map(folded, range(2)) == [expected] * 2, folded() == expected)
with tenfold.threads(2):
    print(rows.total(lambda chunk: exit_code_of_child()))  # fork in the middle of a fold
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_folds_with_threads_of_its_own():
    out, problem = python(FORK)
    assert out == ["2", "0", "True", "True", "0"], problem


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
