"""The grid, the tree of merges and the merging of statistics."""

import threading
from contextlib import suppress
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from tenfold.engine import Rows, chunk_rows, merge
from tenfold.engine.arrays import ArraySource
from tenfold.engine.chunk import chunk_numbers
from tenfold.engine.merge_tree import MergeTree, upcast
from tests.engine.fold_data import CALM, GRID, PATIENCE, Parts, reference, run_threads


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
