"""Kernels in registers against NumPy: every width, every remainder, every order of merging."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from numpy.testing import assert_allclose, assert_array_equal

from tenfold._compiled.gram import augmented_gram
from tenfold._compiled.near_scores import QUERIES_PER_BLOCK, first_bit, pad_queries, score_tile
from tenfold._compiled.reductions import label_sums
from tenfold._compiled.simd import aligned_zeros
from tenfold._compiled.two_nearest import (
    CENTERS_PER_BLOCK,
    TILE_ROWS,
    pack_centers,
    transpose_rows,
    two_nearest,
)
from tenfold.engine.merge_tree import merge_in_order

CALM = settings(max_examples=60, deadline=None)


def drawn(seed, *shape, dtype=np.float64):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


@CALM
@given(st.integers(1, 70), st.integers(1, TILE_ROWS), st.sampled_from(["f4", "f8"]))
def test_rows_come_to_their_lanes(d, count, dtype):
    X = drawn(d, 100, d, dtype=dtype)
    rows = np.random.default_rng(count).permutation(100)
    columns = aligned_zeros((d, TILE_ROWS), np.float32)
    start = 100 - TILE_ROWS if count == TILE_ROWS else 3
    transpose_rows(X, rows, start, count, columns)
    assert_array_equal(columns[:, :count], X[rows[start : start + count]].T.astype(np.float32))
    assert not columns[:, count:].any()  # and nowhere else


@njit
def scores_of_block(columns, terms, negative, first, thresholds, scores, hits):
    return score_tile(columns, terms, negative, first, thresholds, scores, hits)


@njit
def listed_bits(word, places):
    n = 0
    while word != 0:
        places[n] = first_bit(word)
        word &= word - np.uint64(1)
        n += 1
    return n


@CALM
@given(st.integers(1, 40), st.integers(0, 2))
def test_scores_at_most_the_threshold_are_hits(d, block):
    m = 2 * QUERIES_PER_BLOCK + 1
    X, Q = drawn(d, TILE_ROWS, d, dtype=np.float32), drawn(block, m, d, dtype=np.float32)
    columns = aligned_zeros((d, TILE_ROWS), np.float32)
    columns[:] = X.T
    terms, negative = drawn(7, TILE_ROWS, dtype=np.float32), pad_queries(Q)
    thresholds = drawn(8, len(negative), dtype=np.float32) - 1
    scores, hits = np.empty((QUERIES_PER_BLOCK, TILE_ROWS), np.float32), np.empty(6, np.uint64)
    first = block * QUERIES_PER_BLOCK
    found = scores_of_block(columns, terms, negative, first, thresholds, scores, hits)
    part = slice(first, first + QUERIES_PER_BLOCK)
    expected = terms + negative[part].astype(np.float64) @ X.T
    assert_allclose(scores, expected, atol=1e-5 * (1 + np.abs(expected).max()))
    near, places = scores <= thresholds[part, None], np.empty(64, np.int64)
    assert found == near.any()
    for word, wanted in zip(hits, near, strict=True):
        assert_array_equal(places[: listed_bits(word, places)], np.flatnonzero(wanted))


@CALM
@given(st.integers(1, 23), st.integers(1, 40))
def test_the_two_least_scores_of_each_lane(k, d):
    X, C = drawn(d, TILE_ROWS, d, dtype=np.float32), drawn(k, k, d, dtype=np.float32)
    half = (C.astype(np.float64) ** 2).sum(axis=1).astype(np.float32) / 2
    columns = aligned_zeros((d, TILE_ROWS), np.float32)
    columns[:] = X.T
    best, second = np.empty((2, TILE_ROWS), np.float32)
    near = np.empty(TILE_ROWS, np.int32)
    two_nearest(columns, *pack_centers(C, half), best, second, near)
    scores = half - X.astype(np.float64) @ C.T
    order = np.sort(scores, axis=1)
    rounding = 1e-5 * (1 + np.abs(scores).max())
    assert_allclose(best, order[:, 0], atol=rounding)
    assert_allclose(second, order[:, 1] if k > 1 else np.inf, atol=rounding)
    assert_allclose(scores[np.arange(TILE_ROWS), near], order[:, 0], atol=rounding)


def test_equal_scores_go_to_the_first_and_padding_is_never_near():
    C = np.zeros((CENTERS_PER_BLOCK + 1, 3), np.float32)
    columns, near = aligned_zeros((3, TILE_ROWS), np.float32), np.empty(TILE_ROWS, np.int32)
    columns[:] = 1e30  # products with padding are zero, its offset is infinite
    best, second = np.empty((2, TILE_ROWS), np.float32)
    two_nearest(columns, *pack_centers(C, np.zeros(len(C), np.float32)), best, second, near)
    assert not near.any()
    assert not best.any()
    assert not second.any()


def test_nan_is_near_to_nothing():
    C = drawn(0, 6, 2, dtype=np.float32)
    columns, near = aligned_zeros((2, TILE_ROWS), np.float32), np.empty(TILE_ROWS, np.int32)
    columns[0, 5] = np.nan
    best, second = np.empty((2, TILE_ROWS), np.float32)
    two_nearest(columns, *pack_centers(C, np.ones(6, np.float32)), best, second, near)
    assert np.isinf([best[5], second[5]]).all()
    assert np.isfinite(np.delete(best, 5)).all()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shifted", [False, True])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("q", [0, 1, 3])
@pytest.mark.parametrize("p", [1, 2, 13, 14, 15, 16, 31, 64, 65, 100, 200])
def test_squares_of_all_columns(p, q, dtype, shifted, weighted):
    rng = np.random.default_rng(p)
    X, Y = drawn(p, 333, p, dtype=dtype), drawn(q, 333, q, dtype=dtype)
    origin = rng.normal(size=p + q).astype(dtype) if shifted else None
    w = rng.random(333).astype(dtype) if weighted else None
    Z = np.hstack([X, Y]).astype(np.float64) - (0 if origin is None else origin)
    Z = np.hstack([Z, np.ones((333, 1))])
    want = (Z.T * (1 if w is None else w)) @ Z
    found = augmented_gram(X, Y, w, origin, 100)
    assert_allclose(found, want, atol=333 * (2e-6 if dtype == "f4" else 1e-14))
    assert_array_equal(found, found.T)


@CALM
@given(st.integers(1, 600), st.integers(1, 64), st.sampled_from(["f4", "f8"]))
def test_a_run_of_chunks_has_the_bits_of_its_chunks(n, grid, dtype):
    X, Y = drawn(n, n, 5, dtype=dtype), drawn(n, n, 1, dtype=dtype)
    w = np.random.default_rng(grid).random(n).astype(dtype)
    parts = [slice(i, i + grid) for i in range(0, n, grid)]
    single = (augmented_gram(X[s], Y[s], w[s], None, grid) for s in parts)
    assert_array_equal(augmented_gram(X, Y, w, None, grid), merge_in_order(single))
    label = np.random.default_rng(n).integers(4, size=n).astype(np.int32)
    for weights in (w, w[:0]):
        found = label_sums(X, weights, label, 4, grid)
        single = (labelled(X[s], weights[s], label[s]) for s in parts)
        for ours, want in zip(found, merge_in_order(single), strict=True):
            assert_array_equal(ours, want)


def labelled(X, w, label):
    """The same by NumPy, which adds one row after the other too."""
    own = w if len(w) else np.ones(len(X), X.dtype)
    weight, sums = np.zeros(4), np.zeros((4, X.shape[1]))
    np.add.at(weight, label, own)
    np.add.at(sums, label, own[:, None] * X)
    return weight, sums


def test_float32_rows_keep_digits_over_many_rows():
    X = np.full((200_000, 3), 0.1, np.float32)
    found = augmented_gram(X, X[:, :0], None, None, 200_000)[0, 0]
    assert_allclose(found, 200_000 * float(np.float32(0.1)) ** 2, rtol=128 * 2.0**-24)


def test_nan_and_infinity_show():
    for bad in (np.nan, np.inf, -np.inf):
        X = np.ones((50, 20))
        X[17, 11] = bad
        assert not np.isfinite(augmented_gram(X, X[:, :0], None, None, 10)[11, 11])
