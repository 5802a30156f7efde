"""Statistics of other kinds than sums, and sums of integers, are the same in every engine."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import tenfold
from tenfold.engine import Rows, merge
from tenfold.engine.arrays import ArraySource
from tenfold.engine.statistics import SmallestK, SortedCounts, SparseColumnSum

N = 40_000
X = np.random.default_rng(0).integers(50, size=(N, 3)).astype(float)


def everywhere(f, *state, folder, client):
    """The total on threads, from a file and from workers."""
    np.save(folder / "X.npy", X)
    for threads in (1, 2, 3):
        with tenfold.threads(threads):
            yield Rows(ArraySource(X)).total(f, *state)
    yield tenfold.open(folder / "X.npy").total(f, *state)
    with tenfold.on(client):
        yield tenfold.open(folder / "X.npy").total(f, *state)
        yield tenfold.open(X).total(f, *state)


def one_hot_sums(chunk):
    columns, counts = np.unique(chunk.X[:, 0].astype(int) * 97, return_counts=True)
    return SparseColumnSum.of(5000, columns, counts)


def smallest(chunk, k):
    values = (chunk.X[:, 0] * 31 + chunk.X[:, 1]) % 17
    return SmallestK.of(k, values, chunk.first + np.arange(chunk.rows), chunk.X)


def counts(chunk):
    return SortedCounts.of(chunk.X[:, 2].astype(np.int16))


def integers(chunk):
    return {"rows": np.int32(chunk.rows), "sums": chunk.X.astype(np.int32).sum(0, dtype=np.int32)}


def test_sums_of_few_columns(tmp_path, two_workers):
    want = np.bincount(X[:, 0].astype(int) * 97, minlength=5000)
    for total in everywhere(one_hot_sums, folder=tmp_path, client=two_workers):
        assert_array_equal(total.dense(), want)
        assert total.block.dtype == np.int64
        assert total.columns is not None


def test_smallest_values_with_ties_by_row_number(tmp_path, two_workers):
    values = (X[:, 0] * 31 + X[:, 1]) % 17
    want = np.lexsort((np.arange(N), values))[:100]
    for total in everywhere(smallest, 100, folder=tmp_path, client=two_workers):
        assert_array_equal(total.rows, want)
        assert_array_equal(total.values, values[want])
        assert_array_equal(total.payload, X[want])


def test_counts_of_keys(tmp_path, two_workers):
    want = sorted(Counter(X[:, 2].astype(int).tolist()).items())
    for total in everywhere(counts, folder=tmp_path, client=two_workers):
        assert list(zip(total.keys.tolist(), total.counts.tolist(), strict=True)) == want
        assert (total.keys.dtype, total.counts.dtype) == (np.int16, np.int64)


def test_sums_of_integers_stay_integers(tmp_path, two_workers):
    for total in everywhere(integers, folder=tmp_path, client=two_workers):
        assert (total["rows"], total["rows"].dtype) == (N, np.int64)
        assert_array_equal(total["sums"], X.sum(axis=0).astype(int))
        assert total["sums"].dtype == np.int64


def large(_):
    return np.array([2**62, 0])


def test_an_overflow_is_an_error(tmp_path, two_workers):
    np.save(tmp_path / "X.npy", X)
    with pytest.raises(OverflowError, match="int64"):
        Rows(ArraySource(X)).total(large)
    with tenfold.on(two_workers), pytest.raises(OverflowError, match="int64"):
        tenfold.open(tmp_path / "X.npy").total(large)


@given(
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=4),
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=4, max_size=4),
)
def test_merged_integers_are_exact_or_refused(a, b):
    b = b[: len(a)]
    want = [x + y for x, y in zip(a, b, strict=True)]
    if all(-(2**63) <= x < 2**63 for x in want):
        assert merge(np.array(a, np.int64), np.array(b, np.int64)).tolist() == want
        assert merge(np.int64(a[0]), np.int64(b[0])) == want[0]
    else:
        with pytest.raises(OverflowError):
            merge(np.array(a, np.int64), np.array(b, np.int64))


def test_integers_do_not_become_floats():
    assert merge(np.array([2**64 - 3], np.uint64), np.array([2], np.uint64)) == [2**64 - 1]
    with pytest.raises(OverflowError):
        merge(np.array([2**64 - 3], np.uint64), np.array([3], np.uint64))
    with pytest.raises(TypeError, match="no common type"):
        merge(np.array([1]), np.array([1], np.uint64))


columns = st.dictionaries(st.integers(0, 19), st.integers(-9, 9), max_size=6)


@given(st.lists(columns, min_size=1, max_size=6))
def test_sparse_sums_in_any_grouping(parts):
    sums = [SparseColumnSum.of(20, sorted(p), [p[key] for key in sorted(p)]) for p in parts]
    want = np.zeros(20)
    for part in parts:
        for key, value in part.items():
            want[key] += value
    left, right = sums[0], sums[-1]
    for one in sums[1:]:
        left = left.merge(one)
    for one in sums[-2::-1]:
        right = one.merge(right)
    assert_array_equal(left.dense(), want)
    assert_array_equal(right.dense(), want)


def test_rows_of_blocks_may_be_sparse_in_columns():
    a = SparseColumnSum.of(40, [3, 7], np.ones((2, 2), np.float32))
    b = SparseColumnSum.of(40, [7, 9], np.ones((2, 2), np.float32))
    both = a.merge(b)
    assert both.columns.tolist() == [3, 7, 9]
    assert_array_equal(both.block, [[1, 2, 1]] * 2)
    assert both.block.dtype == np.float64
