"""Exact searches against brute force in NumPy: metrics, ties, duplicates, far and tiny rows."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics import DistanceMetric
from sklearn.metrics.pairwise import haversine_distances, nan_euclidean_distances

from tenfold import NearestNeighbors
from tenfold.engine.thread_pool import threads
from tenfold.neighbors._metric_tree import MetricTree
from tenfold.neighbors._packed_bits import BitSearch
from tenfold.neighbors._pairwise import PairwiseDistance, PairwiseSearch
from tenfold.neighbors._row_index import RowIndex
from tenfold.neighbors._thresholds import MAX_FUSED_COLUMNS

K = 9


def squared_distances(Q, X):
    """Squared distances in float64, summed in the order of columns."""
    total = np.zeros((len(Q), len(X)))
    for j in range(X.shape[1]):
        total += (Q[:, j : j + 1].astype(np.float64) - X[:, j].astype(np.float64)) ** 2
    return total


def smallest(D, k=K):
    """The k least of each row, ties by number."""
    order = np.lexsort((np.broadcast_to(np.arange(D.shape[1]), D.shape), D))[:, :k]
    return np.take_along_axis(D, order, axis=1), order


def datasets():
    """Names, rows and queries that are hard for a filter."""
    rng = np.random.default_rng(0)
    grid = rng.integers(0, 4, (900, 3)).astype(float)
    normal, queries = rng.normal(size=(1200, 7)), rng.normal(size=(150, 7))
    sizes = 10.0 ** rng.integers(-30, 30, (600, 1))
    outlier = np.vstack([normal, np.full((1, 7), 1e12)])
    near = 1 + 1e-9 * normal
    yield "grid", grid, grid[:100] + 0.0
    yield "normal", normal, queries
    yield "equal rows", np.ones((700, 4)), np.ones((20, 4))
    yield "shifted", normal + 1e7, queries + 1e7
    yield "all sizes", normal[:600] * sizes, normal[:100] * sizes[:100] * (1 + 1e-9)
    yield "an outlier", outlier, outlier[-50:]
    yield "tiny differences", near, near[:60] + 1e-12
    yield "far queries", normal, queries * 1e14
    yield "one column", rng.integers(0, 50, (400, 1)) / 7, rng.random((40, 1)) * 7
    yield "pixels", *(np.floor(rng.exponential(40, (n, 30)) * (rng.random((n, 30)) < 0.3))
                      for n in (500, 60))  # fmt: skip
    yield "wide", rng.normal(size=(300, 200)), rng.normal(size=(30, 200))
    columns = MAX_FUSED_COLUMNS + 3
    yield "very wide", rng.normal(size=(90, columns)), rng.normal(size=(7, columns))


@pytest.mark.parametrize(("X", "Q"), [pytest.param(X, Q, id=name) for name, X, Q in datasets()])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_all_algorithms_give_the_bits_of_brute_force(X, Q, dtype):
    with np.errstate(over="ignore"):
        X, Q = X.astype(dtype), Q.astype(dtype)
    D = squared_distances(Q, X)
    distances, rows = smallest(D)
    radius = float(np.sqrt(np.median(distances[:, -1])))
    near = np.sqrt(D) <= radius
    for algorithm in ("brute", "kd_tree", "ball_tree"):
        index = RowIndex(X, algorithm=algorithm)
        found = index.nearest(Q, K)
        assert np.array_equal(found.rows, rows), algorithm
        assert np.array_equal(found.distances, np.sqrt(distances)), algorithm
        lists = index.within(Q, radius)
        assert np.array_equal(np.diff(lists.starts), near.sum(axis=1)), algorithm
        assert np.array_equal(lists.rows, np.nonzero(near)[1]), algorithm
        assert np.array_equal(lists.distances, np.sqrt(D[near])), algorithm


def test_batch_threads_and_all_neighbors_do_not_matter():
    rng = np.random.default_rng(1)
    X, Q = rng.integers(0, 3, (700, 5)).astype(float), rng.integers(0, 3, (90, 5)).astype(float)
    distances, rows = smallest(squared_distances(Q, X), 700)
    for algorithm in ("brute", "kd_tree", "ball_tree"):
        index = RowIndex(X, algorithm=algorithm)
        found = index.nearest(Q, 700)
        assert np.array_equal(found.rows, rows)
        assert np.array_equal(found.distances, np.sqrt(distances))
        for i in (0, 17, 89):
            one = index.nearest(Q[i : i + 1], 11)
            assert np.array_equal(one.rows[0], rows[i, :11])
    big = rng.integers(0, 30, (30_000, 3)).astype(float)
    with threads(1):
        serial = RowIndex(big, algorithm="kd_tree").nearest(Q[:, :3], K)
    with threads(3):
        assert np.array_equal(RowIndex(big).nearest(Q[:, :3], K).rows, serial.rows)
    assert np.array_equal(RowIndex(big, algorithm="brute").nearest(Q[:, :3], K).rows, serial.rows)


def test_translation_by_a_power_of_two_changes_nothing():
    rng = np.random.default_rng(2)
    X, Q = (np.round(rng.normal(size=(n, 20)), 3) for n in (500, 60))
    X, Q = (np.round(part * 2**20) / 2**20 for part in (X, Q))  # so that sums are exact
    for algorithm in ("brute", "kd_tree", "ball_tree"):
        here = RowIndex(X, algorithm=algorithm).nearest(Q, K)
        there = RowIndex(X + 2.0**20, algorithm=algorithm).nearest(Q + 2.0**20, K)
        assert np.array_equal(here.rows, there.rows)
        assert np.array_equal(here.distances, there.distances)


def test_float32_rows_far_from_zero_keep_their_neighbors():
    rng = np.random.default_rng(3)
    X, Q = ((rng.normal(size=(n, 64)) + 1e4).astype(np.float32) for n in (3000, 40))
    products = (Q**2).sum(axis=1)[:, None] - 2 * Q @ X.T + (X**2).sum(axis=1)  # in float32
    _, rows = smallest(squared_distances(Q, X), 10)
    found = NearestNeighbors(n_neighbors=10).fit(X).kneighbors(Q, return_distance=False)
    assert np.array_equal(found, rows)
    assert (smallest(products, 10)[1] == rows).mean() < 0.5  # what a product alone would find


def test_rows_of_the_code_of_a_query_are_left_out():
    rng = np.random.default_rng(3)
    X, Q = rng.integers(0, 3, (500, 3)).astype(float), rng.integers(0, 3, (60, 3)).astype(float)
    codes, own = rng.integers(0, 4, 500), rng.integers(0, 5, 60)
    D = np.where(own[:, None] == codes, np.inf, squared_distances(Q, X))
    rows = smallest(D)[1]
    for metric, algorithm in (
        ("euclidean", "brute"),
        ("euclidean", "kd_tree"),
        ("euclidean", "ball_tree"),
        (cdist_one, "brute"),
        (cdist_one, "ball_tree"),
    ):
        index = RowIndex(X, metric, algorithm=algorithm)
        found = index.nearest(Q, K, codes, own)
        assert np.array_equal(found.rows, rows)
        lists = index.within(Q, 1.0, codes, own)
        assert np.array_equal(lists.rows, np.nonzero(D <= 1)[1])


def cdist_one(x, y):
    """A metric in Python."""
    return float(np.sqrt(((x - y) ** 2).sum()))


METRICS = [
    ("euclidean", {}),
    ("sqeuclidean", {}),
    ("cityblock", {}),
    ("chebyshev", {}),
    ("seuclidean", {"V": np.arange(1.0, 7.0)}),
    ("mahalanobis", {"VI": np.eye(6) + 0.3}),
    ("cosine", {}),
    ("correlation", {}),
    ("canberra", {}),
    ("braycurtis", {}),
    ("minkowski", {"p": 3}),
    ("minkowski", {"p": 1.5, "w": np.arange(1.0, 7.0)}),
    ("hamming", {}),
    ("jaccard", {}),
    ("dice", {}),
    ("rogerstanimoto", {}),
    ("russellrao", {}),
    ("sokalsneath", {}),
    ("yule", {}),
]
SETS = ("hamming", "jaccard", "dice", "rogerstanimoto", "russellrao", "sokalsneath", "yule")


@pytest.mark.parametrize(("metric", "params"), METRICS, ids=lambda value: str(value)[:20])
def test_metrics_agree_with_scipy(metric, params):
    rng = np.random.default_rng(4)
    X, Q = rng.normal(size=(300, 6)), rng.normal(size=(40, 6))
    if metric in SETS:
        X, Q = X > 0.3, Q > 0.3
    D = cdist(Q, X, metric, **params)
    D = np.where(np.isnan(D), 0.0 if metric != "yule" else np.inf, D)  # empty sets are equal
    distances, rows = smallest(D)
    X, Q = X.astype(float), Q.astype(float)
    whole = RowIndex(X, metric, params).nearest(Q, K)
    np.testing.assert_allclose(whole.distances, distances, rtol=1e-9, atol=1e-12)
    assert (whole.rows == rows).mean() > (0.98 if metric not in ("cosine", "correlation") else 0.95)
    parts = [RowIndex(X, metric, params).nearest(Q[i : i + 7], K) for i in range(0, 40, 7)]
    assert np.array_equal(np.vstack([part.distances for part in parts]), whole.distances)
    assert np.array_equal(np.vstack([part.rows for part in parts]), whole.rows)


def test_haversine_and_missing_values_agree_with_scikit_learn():
    rng = np.random.default_rng(5)
    X, Q = rng.normal(size=(300, 2)), rng.normal(size=(40, 2))
    distances, rows = smallest(haversine_distances(Q, X))
    found = RowIndex(X, "haversine").nearest(Q, K)
    np.testing.assert_allclose(found.distances, distances)
    assert np.array_equal(found.rows, rows)
    X, Q = (np.round(rng.normal(size=(n, 5)) * 2**20) / 2**20 + 2**13 for n in (700, 80))
    X[rng.random(X.shape) < 0.3] = np.nan
    Q[rng.random(Q.shape) < 0.3] = np.nan
    Q[3] = np.nan
    D = nan_euclidean_distances(Q - 2**13, X - 2**13)
    D = np.where(np.isnan(D), np.inf, D)
    distances, rows = smallest(D)
    index = RowIndex(X, "nan_euclidean")
    found = index.nearest(Q, K)
    np.testing.assert_allclose(found.distances, distances, rtol=1e-9)
    assert np.array_equal(found.rows, rows)
    assert np.array_equal(index.within(Q, 1.5).rows, np.nonzero(D <= 1.5)[1])


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
def test_sparse_rows_have_the_bits_of_dense_ones(metric):
    X = sparse.random(400, 60, 0.1, format="csr", random_state=0)
    Q = sparse.random(50, 60, 0.1, format="csr", random_state=1)
    X.data, Q.data = np.round(4 * X.data), np.round(4 * Q.data)  # zeros that are stored, too
    ours = RowIndex(X, metric).nearest(Q, K)
    dense = RowIndex(X.toarray(), metric, algorithm="brute").nearest(Q.toarray(), K)
    assert np.array_equal(ours.rows, dense.rows)
    assert np.array_equal(ours.distances, dense.distances)
    near, expected = (
        RowIndex(X, metric).within(Q, 1.0),
        RowIndex(X.toarray(), metric).within(Q, 1.0),
    )
    assert np.array_equal(near.rows, expected.rows)


TREE_METRICS = [
    ("minkowski", {"p": 3}),
    ("minkowski", {"p": 1.5, "w": np.array([0.0, 1.0, 5.0, 2.0])}),
    ("canberra", {}),
    ("manhattan", {}),
    ("chebyshev", {}),
    ("hamming", {}),
    ("seuclidean", {"V": np.arange(1.0, 5.0)}),
    ("jaccard", {}),
    ("sokalsneath", {}),
    ("russellrao", {}),
    (cdist_one, {}),
]


@pytest.mark.parametrize(("metric", "params"), TREE_METRICS, ids=lambda value: str(value)[:20])
def test_a_metric_tree_has_the_bits_of_brute_force_among_ties(metric, params):
    rng = np.random.default_rng(8)
    X, Q = (rng.integers(-1, 3, (n, 4)).astype(float) for n in (400, 50))
    brute, tree = (RowIndex(X, metric, params, name, 1) for name in ("brute", "ball_tree"))
    assert isinstance(tree.search, MetricTree)
    expected, found = brute.nearest(Q, K), tree.nearest(Q, K)
    assert np.array_equal(found.rows, expected.rows)
    assert np.array_equal(found.distances, expected.distances)
    radius = float(np.median(expected.distances[:, -1]))
    for ours, theirs in zip(tree.within(Q, radius), brute.within(Q, radius), strict=True):
        assert np.array_equal(ours, theirs)


def test_great_circles_and_powers_that_vanish_miss_no_neighbor_in_a_tree():
    rng = np.random.default_rng(9)
    X = np.vstack([rng.uniform(-1.6, 1.6, (300, 2)), 1e-9 * rng.normal(size=(300, 2))])
    Q = np.vstack([X[::20], X[::20] + np.array([0.0, np.pi]), -X[::20]])  # antipodes too
    for metric, params in (("haversine", {}), ("minkowski", {"p": 60.0})):
        tree = RowIndex(X, metric, params, "ball_tree", 10).nearest(Q, K)
        expected = RowIndex(X, metric, params, "brute").nearest(Q, K)
        assert np.array_equal(tree.rows, expected.rows), metric


@pytest.mark.parametrize(
    ("name", "params", "algorithm"),
    [
        ("euclidean", {}, "kd_tree"),
        ("chebyshev", {"dtype": np.float32}, "kd_tree"),
        ("minkowski", {"p": 3, "w": [1.0, 2.0]}, "ball_tree"),
        ("seuclidean", {"V": [1.0, 3.0]}, "kd_tree"),
        ("mahalanobis", {"VI": np.array([[2.0, 0.5], [0.5, 1.0]])}, "kd_tree"),
        ("haversine", {}, "ball_tree"),
        ("braycurtis", {}, "brute"),
        ("pyfunc", {"func": lambda a, b, s: s * abs(a - b).sum(), "s": 2.0}, "brute"),
    ],
)
def test_metric_objects_of_scikit_learn_are_searched_by_trees_too(name, params, algorithm):
    X, Q = (np.random.default_rng(n).uniform(-1, 1, (n, 2)) for n in (300, 25))
    metric = DistanceMetric.get_metric(name, **params)
    model = NearestNeighbors(n_neighbors=K, metric=metric).fit(X)
    assert model._fit_method == algorithm
    dtype = params.get("dtype", np.float64)
    distances, rows = smallest(metric.pairwise(Q.astype(dtype), X.astype(dtype)))
    found = model.kneighbors(Q)
    assert np.allclose(found[0], distances, rtol=1e-4 if dtype == np.float32 else 1e-12)
    assert dtype == np.float32 or np.array_equal(found[1], rows)
    assert model.effective_metric_ is metric
    tree = NearestNeighbors(n_neighbors=K, metric=metric, algorithm="ball_tree").fit(X)
    assert tree._fit_method == ("brute" if name == "braycurtis" else "ball_tree")
    assert all(np.array_equal(a, b) for a, b in zip(tree.kneighbors(Q), found, strict=True))


def test_what_is_no_metric_is_searched_by_brute_force():
    rng = np.random.default_rng(10)
    X, Q = rng.random((300, 3)), rng.random((20, 3))
    for metric in ("braycurtis", "dice"):
        assert RowIndex(X, metric, algorithm="ball_tree").algorithm == "brute"
    for function, problem in (
        (lambda x, y: float(((x - y) ** 2).sum()), "third row"),
        (lambda x, y: float((x - y).sum()), "negative"),
        (lambda x, y: float(np.abs(x - y).sum() + x[0]), "order"),
    ):
        with pytest.warns(UserWarning, match=problem):
            found = RowIndex(X, function, algorithm="ball_tree").nearest(Q, K)
        assert np.array_equal(found.rows, RowIndex(X, function).nearest(Q, K).rows)


@pytest.mark.parametrize("metric", [*SETS, "sokalmichener"])
@pytest.mark.parametrize("d", [3, 64, 130])
def test_packed_bits_give_the_bits_of_the_general_route(metric, d):
    rng = np.random.default_rng(11)
    X, Q = ((rng.random((n, d)) < 0.3).astype(float) for n in (1100, 30))
    X[5], Q[3] = 0.0, 0.0
    index = RowIndex(X, metric, algorithm="brute")
    assert isinstance(index.search, BitSearch)
    general = PairwiseSearch(X, PairwiseDistance(metric, {}, len(X)))
    codes, own = rng.integers(0, 4, 1100), rng.integers(0, 5, 30)
    found, expected = index.nearest(Q, K, codes, own), general.nearest(Q, K, codes, own)
    assert np.array_equal(found.rows, expected.rows)
    assert np.array_equal(found.distances, expected.distances)
    for ours, theirs in zip(index.within(Q, 0.4), general.within(Q, 0.4), strict=True):
        assert np.array_equal(ours, theirs)
    assert np.array_equal(index.nearest(sparse.csr_array(Q), K, codes, own).rows, found.rows)
    other = Q + 0.5 * (Q == 0)  # for Hamming's distance another number is a difference
    assert np.array_equal(index.nearest(other, K).rows, general.nearest(other, K).rows)


def test_cosine_of_a_row_of_zeros_is_one():
    X, Q = np.array([[1.0, 0.0], [0.0, 0.0], [-1.0, 0.0]]), np.zeros((1, 2))
    assert RowIndex(X, "cosine").nearest(Q, 3).distances.tolist() == [[1.0, 1.0, 1.0]]
    found = RowIndex(X, "cosine").nearest(np.array([[2.0, 0.0]]), 3)
    assert found.rows.tolist() == [[0, 1, 2]]
    assert found.distances.tolist() == [[0.0, 1.0, 2.0]]


def test_a_compiled_function_agrees_with_the_function_itself():
    rng = np.random.default_rng(6)
    X, Q = rng.normal(size=(2100, 4)), rng.normal(size=(10, 4))
    distances, rows = smallest(cdist(Q, X))
    for metric in (cdist_one, lambda x, y: float(np.linalg.norm(x - y, ord=None, axis=0))):
        found = RowIndex(X, metric).nearest(Q, K)
        np.testing.assert_allclose(found.distances, distances)
        assert np.array_equal(found.rows, rows)


def test_numbers_at_the_ends_of_the_range():
    rng = np.random.default_rng(7)
    X, Q = rng.normal(size=(300, 20)), rng.normal(size=(30, 20))
    plain = RowIndex(X).nearest(Q, K)
    for exponent in (530, -600):
        found = RowIndex(np.ldexp(X, exponent)).nearest(np.ldexp(Q, exponent), K)
        assert np.array_equal(found.rows, plain.rows)
        assert np.array_equal(found.distances, np.ldexp(plain.distances, exponent))
    with pytest.raises(ValueError, match="overflow"):
        RowIndex(X).nearest(1e200 * Q, K)
