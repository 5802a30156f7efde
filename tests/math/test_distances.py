"""Distances, similarities and partitions: axioms, scipy, brute force, and the notes."""

from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from tenfold.math.distances import (
    cosine_distances,
    cosine_similarities,
    gower,
    hamming_distances,
    jaccard_distances,
    minkowski_distances,
    normalize_rows,
    pairwise_distances,
    pairwise_squared_distances,
)
from tenfold.math.partitions import (
    count_partitions,
    enumerate_partitions,
    group_indices,
    is_partition,
    stirling_number,
)

METRICS = {
    "L1": lambda X, Y: minkowski_distances(X, Y, 1),
    "Euclidean": minkowski_distances,
    "L4": lambda X, Y: minkowski_distances(X, Y, 4),
    "largest": lambda X, Y: minkowski_distances(X, Y, np.inf),
    "Hamming": hamming_distances,
    "Gower": lambda X, Y: gower(X, Y, categorical=[1], ranges=[10, 1, 10]),
}
tables = arrays(float, (5, 3), elements=st.integers(-5, 5).map(float))


def rows(n=20, p=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, p))


# ----------------------------------------------------------------------------------- distances


@pytest.mark.parametrize("metric", METRICS)
@settings(max_examples=40, deadline=None)
@given(X=tables)
def test_metrics_obey_the_axioms(metric, X):
    D = METRICS[metric](X, X)
    same = (X[:, None] == X).all(axis=2)
    assert (D >= 0).all()
    assert_array_equal(D == 0, same)
    assert_array_equal(D, D.T)
    assert (D[:, :, None] <= D[:, None, :] + D.T[None, :, :] + 1e-9).all()  # triangles


@pytest.mark.parametrize(
    ("ours", "theirs", "options"),
    [
        (minkowski_distances, "euclidean", {}),
        (METRICS["L1"], "cityblock", {}),
        (METRICS["L4"], "minkowski", {"p": 4}),
        (METRICS["largest"], "chebyshev", {}),
        (cosine_distances, "cosine", {}),
    ],
)
def test_distances_are_scipys(ours, theirs, options):
    X, Y = rows(), rows(7, seed=1)
    assert_allclose(ours(X, Y), cdist(X, Y, theirs, **options), atol=1e-12)
    assert_allclose(
        pairwise_distances(X, Y, theirs, **options), cdist(X, Y, theirs, **options), atol=1e-12
    )


def test_sets_and_categories_are_scipys():
    rng = np.random.default_rng(0)
    A, B = rng.integers(0, 2, (9, 6)), rng.integers(0, 2, (4, 6))
    A[0] = B[0] = 0  # two empty sets are equal
    assert_allclose(jaccard_distances(A, B), cdist(A.astype(bool), B.astype(bool), "jaccard"))
    assert_allclose(hamming_distances(A, B), cdist(A, B, "hamming"))


def test_p_below_one_is_refused():
    with pytest.raises(ValueError, match="p >= 1"):
        minkowski_distances(rows(2), rows(2), 0.5)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("p", [1, 2, 5, 32, 33, 100])
def test_all_pairs_are_exactly_symmetric_and_zero_to_themselves(p, dtype):
    X = rows(150, p).astype(dtype)
    X[7] = X[3]
    squares = pairwise_squared_distances(X)
    assert squares.dtype == dtype
    assert_array_equal(squares, squares.T)
    assert_array_equal(np.diag(squares), 0)
    assert squares[7, 3] == 0
    assert_allclose(squares, cdist(X, X, "sqeuclidean"), rtol=1e-4 if dtype == np.float32 else 1e-9)


@pytest.mark.parametrize("p", [3, 60])
def test_close_pairs_far_from_zero_keep_their_digits(p):
    X = 1e6 + np.round(rows(40, p), 3)
    assert_allclose(pairwise_distances(X), cdist(X, X), rtol=1e-5)


def test_own_functions_and_given_matrices_pass():
    X = rows(6)
    assert_allclose(
        pairwise_distances(X, metric=lambda a, b: abs(a - b).sum()), cdist(X, X, "cityblock")
    )
    D = pairwise_distances(X)
    assert pairwise_distances(D, metric="precomputed") is D


# ------------------------------------------------------------------------- the notes [003, 13.6]


@settings(max_examples=40, deadline=None)
@given(scale=st.floats(0.01, 100))
def test_cosine_does_not_see_lengths_and_euclid_does(scale):
    """A story told at greater length is the same story."""
    X, Y = rows(4), rows(5, seed=1)
    assert_allclose(cosine_similarities(scale * X, Y), cosine_similarities(X, Y), atol=1e-12)
    if not 0.9 < scale < 1.1:
        assert not np.allclose(minkowski_distances(scale * X, Y), minkowski_distances(X, Y))


def test_squares_of_unit_rows_are_twice_the_cosine_distance():
    X, Y = rows(6), rows(6, seed=1)
    squares = cdist(normalize_rows(X), normalize_rows(Y), "sqeuclidean")
    assert_allclose(squares, 2 * cosine_distances(X, Y), atol=1e-12)
    order = np.argsort(squares, axis=1)
    assert_array_equal(order, np.argsort(-cosine_similarities(X, Y), axis=1))


def test_rows_of_zeros_have_no_direction():
    assert_array_equal(cosine_similarities(np.zeros((1, 3)), rows(2)), 0)


def test_gower_leaves_out_what_is_missing():
    X = np.array([[0.0, 1, np.nan], [10.0, 1, 3], [5.0, np.nan, np.nan]])
    D = gower(X, categorical=[1])
    assert_allclose(D[0], [0, 0.5, 0.5])
    assert_allclose(D[1, 2], 0.5)
    assert np.isnan(gower(np.array([[np.nan]]))).all()


# ---------------------------------------------------------------------------------- partitions


def test_stirling_numbers_of_the_notes():
    assert stirling_number(3, 2) == 3
    assert f"{float(stirling_number(100, 3)):.4e}" == "8.5896e+46"  # the notes cut it to 8.58
    assert stirling_number(100, 3) == (3**99 - 2**100 + 1) // 2


@pytest.mark.parametrize("n", range(1, 8))
def test_stirling_numbers_count_partitions(n):
    for k in range(1, n + 1):
        by_force = {
            tuple(np.unique(labels, return_index=True)[1][np.array(labels)])
            for labels in product(range(k), repeat=n)
            if len(set(labels)) == k
        }
        found = [tuple(labels) for labels in enumerate_partitions(n, k)]
        assert len(set(found)) == len(found) == len(by_force) == stirling_number(n, k)
    assert count_partitions(n + 1) == sum(comb(n, i) * count_partitions(i) for i in range(n + 1))


@settings(max_examples=50, deadline=None)
@given(n=st.integers(1, 60), k=st.integers(1, 60))
def test_stirling_numbers_obey_their_recurrence(n, k):
    assert stirling_number(n + 1, k) == k * stirling_number(n, k) + stirling_number(n, k - 1)


def test_corners_of_stirling_numbers():
    assert (
        stirling_number(0, 0),
        stirling_number(5, 0),
        stirling_number(3, 5),
        stirling_number(7, 7),
    ) == (1, 0, 0, 1)
    assert count_partitions(10, 1) == 1
    with pytest.raises(ValueError, match="negative"):
        stirling_number(-1, 2)


@settings(max_examples=50, deadline=None)
@given(labels=st.lists(st.integers(0, 4), min_size=1, max_size=20))
def test_labels_always_make_a_partition(labels):
    assert is_partition(group_indices(labels), len(labels))


@pytest.mark.parametrize(
    ("parts", "n"),
    [
        ([[0, 1], [1, 2], [0, 2]], 3),  # no row is in all parts, and yet they overlap
        ([[0], [1]], 3),  # a row is missing
        ([[0, 1, 2], []], 3),  # a part is empty
        ([[0, 1], [3]], 3),  # a row that does not exist
        ([[0, 0], [1]], 3),
        ([], 1),
    ],
)
def test_what_is_no_partition(parts, n):
    assert not is_partition(parts, n)
