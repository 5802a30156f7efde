"""Moments, factors, losses and distances against slow and certain ways to the same numbers."""

from functools import reduce
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse, special, stats
from scipy.spatial.distance import cdist

from tenfold._compiled.likelihoods import diagonal_gaussian_scores
from tenfold._compiled.reductions import add_rows_by_label
from tenfold.engine import Chunk, Rows
from tenfold.engine.arrays import ArraySource, SparseSource
from tenfold.engine.second_moments import second_moments
from tenfold.math.distances import nearest_centers, squared_distances
from tenfold.math.links import log_softmax, softmax
from tenfold.math.losses import LogisticLoss, SoftmaxLoss
from tenfold.stats.moments import Moments, TriangularFactor, class_moments

CALM = settings(max_examples=40, deadline=None)  # the first call may compile
TYPES = [np.float32, np.float64]
PLACES = {  # shift and scale of the columns
    "plain": (0.0, 1.0),
    "far": (1e6, 1.0),
    "tiny": (0.0, 1e-8),
    "mixed": (np.array([0, 1e6, -1e3, 1.0]), np.array([1e-8, 1.0, 10.0, 1e3])),
}


def data(n=700, place="plain", dtype=np.float64, seed=0):
    shift, scale = PLACES[place]
    X = np.random.default_rng(seed).normal(size=(n, 4)) @ np.triu(np.ones((4, 4)))
    return (X * scale + shift).astype(dtype)


def weights(n=700, seed=1):
    return np.random.default_rng(seed).integers(0, 4, n)


def exact(X, w=None):
    """Weight, mean and scatter in extended precision, in two passes."""
    X = X.astype(np.longdouble)
    w = np.ones(len(X), np.longdouble) if w is None else w.astype(np.longdouble)
    mean = (w[:, None] * X).sum(0) / max(w.sum(), 1)
    D = X - mean
    return float(w.sum()), mean, (w[:, None] * D).T @ D


def assert_scatter(got, expected, rtol):
    """Close in units of the spread of the columns, so that no small column hides."""
    size = np.sqrt(np.asarray(expected.diagonal(), float))
    assert_allclose(got / size / size[:, None], expected / size / size[:, None], atol=rtol)


def assert_moments(got, n, mean, scatter, rtol):
    assert got.n == pytest.approx(n, rel=1e-12)
    spread = np.sqrt(np.asarray(scatter.diagonal(), float) / n)
    assert_allclose((got.mean - mean) / spread, np.zeros(len(mean)), atol=rtol)
    assert_scatter(got.scatter, scatter, rtol)


# --------------------------------------------------------------------------------------- moments


def moments(X, w=None, Y=None, make=ArraySource):
    return second_moments(Rows(make(X, Y, w)), target=Y is not None)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("weighted", [False, True])
def test_moments_are_exact_to_the_last_digits(place, weighted):
    X, w = data(place=place), weights() if weighted else None
    assert_moments(moments(X, w), *exact(X, w), rtol=1e-9)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [700, 20_000])
def test_float32_moments_keep_the_digits_that_the_numbers_have(place, weighted, n):
    X, w = data(n, place, np.float32), weights(n).astype(np.float32) if weighted else None
    got = moments(X, w)
    assert got.mean.dtype == got.scatter.dtype == np.float64
    assert_moments(got, *exact(X, w), rtol=2e-4)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("head", [256, 1000, 8192])
def test_moments_do_not_trust_the_first_rows(dtype, head):
    """Sorted rows: the first ones lie elsewhere than the rest."""
    X = data(30_000, "far", dtype)
    X[:head] = data(head, dtype=dtype)
    assert_moments(moments(X), *exact(X), rtol=1e-9 if dtype == np.float64 else 2e-4)


@pytest.mark.parametrize("value", [0.0, 1.0, 1e6, -1e-9])
def test_a_constant_column_has_no_scatter(value):
    X = data()
    X[:, 1] = value
    got = moments(X)
    assert got.mean[1] == value
    assert not got.scatter[1].any()


@CALM
@given(st.lists(st.integers(1, 699), max_size=5), st.sampled_from(list(PLACES)), st.booleans())
def test_moments_of_any_parts_make_those_of_the_whole(cuts, place, weighted):
    X, w = data(place=place), weights() + 1 if weighted else None
    parts = [
        moments(X[a:b], None if w is None else w[a:b]) for a, b in pairwise(sorted({0, *cuts, 700}))
    ]
    whole = reduce(lambda a, b: a.merge(b), parts)
    assert_moments(whole, *exact(X, w), rtol=1e-9)
    assert whole.rows == 700


@CALM
@given(st.integers(1, 30), st.integers(1, 30), st.integers(1, 30), st.sampled_from(list(PLACES)))
def test_merging_moments_is_associative_to_rounding(i, j, k, place):
    X = data(i + j + k + 5, place)
    a, b, c = (lambda: moments(X[: i + 5])), (lambda: moments(X[i + 5 : -k])), moments(X[-k:])
    left, right = a().merge(b()).merge(c), a().merge(b().merge(c))
    n, mean, scatter = exact(X)
    assert_moments(left, n, mean, scatter, rtol=1e-8)
    assert_moments(right, n, mean, scatter, rtol=1e-8)


def test_merging_moments_leaves_the_other_side_and_what_is_read_only():
    a, b = moments(data(50)), moments(data(60, seed=2))
    a.scatter.flags.writeable = False
    before = [part.copy() for part in (a.mean, a.scatter, b.mean, b.scatter)]
    a.merge(b)
    for part, old in zip((a.mean, a.scatter, b.mean, b.scatter), before, strict=True):
        assert_array_equal(part, old)


def test_weights_are_repetitions():
    X, w = data(place="far"), weights()
    repeated = moments(np.repeat(X, w, axis=0))
    assert_moments(moments(X, w), repeated.n, repeated.mean, repeated.scatter, rtol=1e-9)


def test_moments_of_no_weight_change_nothing():
    nothing = Moments(0.0, np.zeros(4), np.zeros((4, 4)), 3)
    X = data(place="far")
    expected = moments(X)
    for both in (moments(X).merge(nothing), nothing.merge(moments(X))):
        assert (both.n, both.rows) == (700, 703)
        assert_array_equal(both.mean, expected.mean)
        assert_array_equal(both.scatter, expected.scatter)
    assert not nothing.merge(nothing).mean.any()


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("dtype", TYPES)
def test_moments_with_targets_are_those_of_the_joined_columns(place, dtype):
    X, Y = data(dtype=dtype), data(place=place, seed=4)[:, :2]
    got = moments(X, weights(), Y)
    rtol = 1e-9 if dtype == np.float64 else 2e-4
    assert_moments(got, *exact(np.hstack([X, Y]), weights()), rtol=rtol)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", TYPES)
def test_sparse_moments_are_dense_moments(weighted, dtype):
    X = data(9000, dtype=dtype) * (data(9000, seed=3) > 0.5)
    Y, w = data(9000, seed=5)[:, :1], weights(9000) if weighted else None
    got = moments(sparse.csr_array(X), w, Y, SparseSource)
    rtol = 1e-9 if dtype == np.float64 else 2e-5
    assert_moments(got, *exact(np.hstack([X, Y]), w), rtol=rtol)
    assert got.rows == 9000


# --------------------------------------------------------------------------- moments of classes


def in_classes(X, y, w, k):
    return class_moments(Chunk(X, y, w), k)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("weighted", [False, True])
def test_class_moments_are_the_moments_of_each_class(place, dtype, weighted):
    X, y = data(place=place, dtype=dtype), np.arange(700) % 3
    w = weights().astype(dtype) if weighted else None
    got = in_classes(X, y, w, 4)
    for c in range(3):
        n, mean, scatter = exact(X[y == c], None if w is None else w[y == c])
        assert got.n[c] == n
        spread = np.sqrt(np.asarray(scatter.diagonal(), float))
        rtol = 1e-9 if dtype == np.float64 else 1e-3
        assert_allclose((got.mean[c] - mean) / spread, np.zeros(4), atol=rtol)
        assert_allclose(got.scatter[c] / spread**2, np.ones(4), rtol=rtol)
    assert got.n[3] == 0
    assert not got.mean[3].any()
    assert not got.scatter[3].any()


@CALM
@given(st.integers(0, 200), st.integers(0, 200), st.integers(1, 5), st.sampled_from(list(PLACES)))
def test_class_moments_of_parts_make_those_of_the_whole(i, j, k, place):
    X, y, w = data(200, place), np.random.default_rng(i).integers(0, k, 200), weights(200)
    i, j = sorted((i, j))
    a, b, c = (in_classes(X[s], y[s], w[s], k) for s in np.split(np.arange(200), [i, j]))
    whole = in_classes(X, y, w, k)
    for merged in (a.merge(b).merge(c), a.merge(b.merge(c))):
        assert_array_equal(merged.n, whole.n)
        assert_allclose(merged.mean, whole.mean, rtol=1e-10, atol=1e-17)
        assert_allclose(merged.scatter, whole.scatter, rtol=1e-8, atol=1e-25)


def test_weights_are_repetitions_in_classes():
    X, y, w = data(place="far"), np.arange(700) % 3, weights()
    once = in_classes(X, y, w, 3)
    repeated = in_classes(np.repeat(X, w, axis=0), np.repeat(y, w), None, 3)
    for a, b in zip(once, repeated, strict=True):
        assert_allclose(a, b, rtol=1e-9)


def test_spread_puts_classes_in_their_places():
    few = in_classes(data(), np.arange(700) % 2, None, 2)
    many = few.expand_to_classes(np.array([1, 3]), 4)
    assert many.n.tolist() == [0, 350, 0, 350]
    assert_array_equal(many.mean[[1, 3]], few.mean)
    assert_array_equal(many.scatter[[0, 2]], np.zeros((2, 4)))


# -------------------------------------------------------------------------------- the triangle


@CALM
@given(st.lists(st.integers(0, 90), max_size=4), st.booleans())
def test_triangles_of_parts_keep_the_condition_of_the_whole(cuts, weighted):
    Z = data(90)
    Z[:, 3] = Z[:, 2] + 1e-9 * Z[:, 1]  # second moments would lose this column
    w = weights(90) if weighted else None
    edges = [0, *sorted(cuts), 90]
    parts = [TriangularFactor.of(Z[a:b], None if w is None else w[a:b]) for a, b in pairwise(edges)]
    R = reduce(lambda a, b: a.merge(b), parts).R
    A = Z if w is None else np.repeat(Z, w, axis=0)
    assert_allclose(np.tril(R, -1), 0)
    assert_allclose(R.T @ R, A.T @ A, rtol=1e-12)
    sizes = np.linalg.svd(A, compute_uv=False)
    assert_allclose(np.linalg.svd(R, compute_uv=False), sizes, rtol=1e-12, atol=1e-13)


def test_a_triangle_is_in_float64():
    assert TriangularFactor.of(data(30, dtype=np.float32), None).R.dtype == np.float64


# ------------------------------------------------------------------------------ links and losses


@pytest.mark.parametrize("dtype", TYPES)
def test_softmax_of_scores_of_any_size(dtype):
    Z = np.array([[1000, -1000, 999], [-1000, -1000, -1000], [0, -np.inf, 1]], dtype)
    expected = special.log_softmax(Z.astype(float), axis=1)
    before = Z.copy()
    assert_allclose(log_softmax(Z), expected, rtol=1e-5 if dtype == np.float32 else 1e-14)
    assert_allclose(softmax(Z), np.exp(expected), rtol=1e-5 if dtype == np.float32 else 1e-14)
    assert_array_equal(Z, before)
    assert log_softmax(Z).dtype == softmax(Z).dtype == dtype


def test_softmax_of_an_impossible_row_spoils_no_other_and_warns_of_nothing():
    Z = np.array([[-np.inf, -np.inf], [0.0, np.log(3)]])
    assert_allclose(log_softmax(Z)[1], np.log([0.25, 0.75]))
    assert_allclose(softmax(Z)[1], [0.25, 0.75])
    assert_allclose(np.exp(log_softmax(Z)), softmax(Z))


@CALM
@given(st.lists(st.floats(-50, 50), min_size=1, max_size=6), st.floats(-1e5, 1e5))
def test_softmax_is_a_distribution_that_no_shift_changes(scores, shift):
    Z = np.array([scores])
    assert softmax(Z).sum() == pytest.approx(1, rel=1e-14)
    assert_allclose(softmax(Z + shift), softmax(Z), rtol=1e-9)
    assert_allclose(np.exp(log_softmax(Z)), softmax(Z), rtol=1e-12)


def slopes_by_differences(f, Z, e=1e-6):
    """Central differences of the sum of the losses, entry by entry."""
    slope = np.empty_like(Z)
    for at in np.ndindex(Z.shape):
        up, down = Z.copy(), Z.copy()
        up[at] += e
        down[at] -= e
        slope[at] = (f(up)[0].sum() - f(down)[0].sum()) / (2 * e)
    return slope


@pytest.mark.parametrize("k", [1, 2, 3, 7])
@pytest.mark.parametrize("size", [0.1, 1.0, 20.0])
def test_the_slope_of_softmax_loss_is_its_derivative(k, size):
    rng = np.random.default_rng(k)
    Z, y = rng.normal(size=(k, 9)) * size, rng.integers(0, k, 9)
    loss, slope = SoftmaxLoss().value_and_gradient(Z.copy(), y)
    differences = slopes_by_differences(lambda Z: SoftmaxLoss().value_and_gradient(Z, y), Z)
    assert_allclose(slope, differences, rtol=1e-5, atol=1e-7)
    assert_allclose(loss, -special.log_softmax(Z, axis=0)[y, np.arange(9)], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("size", [0.1, 1.0, 20.0])
def test_the_slope_of_logistic_loss_is_its_derivative(size):
    rng = np.random.default_rng(0)
    z, y = rng.normal(size=30) * size, rng.integers(0, 2, 30)
    loss, slope = LogisticLoss().value_and_gradient(z, 2 * y - 1)
    differences = slopes_by_differences(
        lambda z: LogisticLoss().value_and_gradient(z, 2 * y - 1), z
    )
    assert_allclose(slope, differences, rtol=1e-5, atol=1e-7)
    assert_allclose(loss, np.logaddexp(0, np.where(y == 1, -z, z)), rtol=1e-13)


@CALM
@given(st.lists(st.tuples(st.floats(-1e4, 1e4), st.integers(0, 1)), min_size=1, max_size=9))
def test_softmax_of_two_classes_is_logistic(pairs):
    z, y = np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs])
    loss, slope = SoftmaxLoss().value_and_gradient(np.vstack([np.zeros_like(z), z]), y)
    expected_loss, expected_slope = LogisticLoss().value_and_gradient(z, 2 * y - 1)
    assert_allclose(loss, expected_loss, rtol=1e-12, atol=1e-15)
    assert_allclose(slope[1], expected_slope, rtol=1e-12, atol=1e-15)
    assert_allclose(slope.sum(axis=0), 0, atol=1e-15)


@pytest.mark.parametrize("dtype", TYPES)
def test_losses_of_huge_scores(dtype):
    z, y = np.array([1e4, -1e4, 1e4, -1e4], dtype), np.array([0, 0, 1, 1])
    loss, slope = LogisticLoss().value_and_gradient(z, 2 * y - 1)
    assert loss.tolist() == [1e4, 0, 0, 1e4]
    assert slope.tolist() == [1, 0, 0, -1]
    Z = np.array([[1e4, 1e4], [-1e4, -1e4], [0, 0]], dtype)
    losses, slopes = SoftmaxLoss().value_and_gradient(Z, np.array([0, 1]))
    assert losses.tolist() == [0, 2e4]
    assert slopes.T.tolist() == [[0, 0, 0], [1, -1, 0]]
    assert {a.dtype for a in (loss, slope, losses, slopes)} == {np.dtype(dtype)}


# ------------------------------------------------------------------------ distances and densities


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shift", [0, 10, 1e3, 1e5])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0])
def test_squared_distances_keep_three_digits_anywhere(dtype, shift, scale):
    rng = np.random.default_rng(0)
    X, C = ((rng.normal(size=(n, 8)) * scale + shift).astype(dtype) for n in (200, 15))
    expected = cdist(X.astype(float), C.astype(float), "sqeuclidean")
    got = squared_distances(X, C)
    assert got.dtype == dtype
    assert_allclose(got, expected, rtol=2e-3)
    if shift == 0:
        assert_allclose(got, expected, rtol=1e-5 if dtype == np.float32 else 1e-13)


def test_distances_of_nearly_equal_points_far_from_zero_are_exact():
    C = np.full((3, 5), 1e6) + np.arange(3)[:, None]
    X = np.vstack([C, C + 2.0**-20, C - 2.0**-10])
    got, expected = squared_distances(X, C), cdist(X, C, "sqeuclidean")
    assert_array_equal(got[expected < 1], expected[expected < 1])
    assert (expected < 1).sum() == 9
    assert_array_equal(squared_distances(C, C).diagonal(), np.zeros(3))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("k", [1, 2, 40])
@pytest.mark.parametrize("n", [0, 1, 5000])
def test_the_nearest_centre_is_that_of_all_distances(dtype, k, n):
    rng = np.random.default_rng(k)
    X, C = rng.normal(size=(n, 6)).astype(dtype), rng.normal(size=(k, 6)).astype(dtype)
    squares = cdist(X.astype(float), C.astype(float), "sqeuclidean")
    labels = nearest_centers(X, C)
    assert_array_equal(labels, nearest_centers(sparse.csr_array(X), C))
    chosen = squares[np.arange(n), labels]
    assert_allclose(chosen, squares.min(axis=1, initial=np.inf), rtol=1e-4)  # ties to rounding
    assert (labels == squares.argmin(axis=1)).mean() > 0.999 if n else len(labels) == 0


@CALM
@given(st.integers(1, 60), st.integers(1, 9), st.integers(0, 2**31))
def test_of_equally_near_centres_the_first_is_taken(n, k, seed):
    rng = np.random.default_rng(seed)  # small whole numbers: many ties, no rounding
    X, C = (rng.integers(-2, 3, (m, 2)).astype(float) for m in (n, k))
    assert_array_equal(nearest_centers(X, C), cdist(X, C, "sqeuclidean").argmin(axis=1))


@pytest.mark.parametrize("dtype", TYPES)
def test_gaussian_scores_are_log_densities(dtype):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)).astype(dtype) * 3
    mean, sd, prior = (
        rng.normal(size=(4, 3)),
        rng.uniform(0.1, 5, (4, 3)),
        rng.dirichlet(np.ones(4)),
    )
    offset = np.log(prior) - np.log(sd).sum(axis=1) - 1.5 * np.log(2 * np.pi)
    got = diagonal_gaussian_scores(X, offset, mean.T.copy(), (sd**-2).T.copy())
    expected = stats.norm.logpdf(X[:, None].astype(float), mean, sd).sum(axis=2) + np.log(prior)
    assert got.dtype == dtype
    assert_allclose(got, expected, rtol=1e-6 if dtype == np.float32 else 1e-12)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_are_added_to_the_sum_of_their_label(dtype, weighted):
    X, label = data(dtype=dtype), (np.arange(700) % 3).astype(np.int32)
    w = weights().astype(dtype) if weighted else np.empty(0, dtype)
    sums, weight = np.ones((4, 4)), np.ones(4)
    add_rows_by_label(X, w, label, sums, weight)
    use = w if weighted else np.ones(700)
    for c in range(4):
        assert weight[c] == 1 + use[label == c].sum()
        expected = 1 + (use[label == c, None] * X[label == c].astype(float)).sum(0)
        assert_allclose(sums[c], expected, rtol=1e-6 if dtype == np.float32 else 1e-12)


def test_softmax_of_infinite_scores():
    """Scores of +inf share all mass, those of -inf have none; all -inf share it equally."""
    inf = np.inf
    rows = [[inf, 0.0, -inf], [inf, 3.0, inf], [-inf, -inf, -inf], [-inf, 2.0, 2.0]]
    wanted = [[1, 0, 0], [0.5, 0, 0.5], [1 / 3, 1 / 3, 1 / 3], [0, 0.5, 0.5]]
    assert_allclose(softmax(rows), wanted)
    assert_allclose(softmax(rows, temperature=2.0), wanted)
    assert softmax(np.float32(rows)).dtype == np.float32
    with np.errstate(divide="ignore"):
        assert_allclose(log_softmax(rows), np.log(wanted))
