"""Inverted lists and proximity graphs against brute force in float64."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

import tenfold
from tenfold import GraphNearestNeighbors, IVFNearestNeighbors, NearestNeighbors
from tenfold._compiled.squared_distance import pad_columns
from tenfold.neighbors._list_search_numba import kth_smallest

MODELS = (IVFNearestNeighbors, GraphNearestNeighbors)


def brute_force(X, Q, k, excluded=None):
    """Distances summed column by column, and numbers; equal distances by number."""
    squares = np.zeros((len(Q), len(X)))
    for x, q in zip(X.T.astype(float), Q.T.astype(float), strict=True):
        squares += (q[:, None] - x) ** 2
    if excluded is not None:
        squares[np.arange(len(Q)), excluded] = np.inf
    numbers = np.argsort(squares, axis=1, kind="stable")[:, :k]
    return np.sqrt(np.take_along_axis(squares, numbers, axis=1)), numbers


def clusters(n, d, dtype: Any = np.float32, seed=0):
    rng = np.random.default_rng(seed)
    centers = 4 * rng.normal(size=(20, d))
    return (centers[rng.integers(20, size=n)] + rng.normal(size=(n, d))).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shift", [0.0, 2.0**20])
def test_exact_probes_have_the_bits_of_brute_force_on_a_grid_of_ties(dtype, shift):
    X = np.random.default_rng(0).integers(0, 4, (900, 5)).astype(dtype) + dtype(shift)
    model = IVFNearestNeighbors(7, n_probe="exact", random_state=0).fit(X)
    for got, want in zip(model.kneighbors(X[:150]), brute_force(X, X[:150], 7), strict=True):
        assert_array_equal(got, want)
    others = brute_force(X, X, 7, np.arange(len(X)))
    for got, want in zip(model.kneighbors(), others, strict=True):
        assert_array_equal(got, want)
    assert model.recall_ == model.certified_ == 1.0


@pytest.mark.parametrize("scale", [1.0, 2.0**-90, 2.0**70])
@pytest.mark.parametrize("n_probe", [1, 4, "exact"])
def test_a_certificate_is_never_wrong(scale, n_probe):
    X, Q = clusters(1500, 3, np.float64) * scale, clusters(300, 3, np.float64, 0)[:200] * scale
    model = IVFNearestNeighbors(4, n_probe=n_probe, random_state=0).fit(X)
    distances, numbers = model.kneighbors(Q)
    want = brute_force(X, Q, 4)
    proven = model.certify(Q)
    assert proven.any()
    assert_array_equal(numbers[proven], want[1][proven])
    assert_array_equal(distances[proven], want[0][proven])
    assert proven.all() == (n_probe == "exact")


@pytest.mark.parametrize("shift", [0.0, 1e4])
def test_exact_probes_have_the_bits_of_the_exact_search(shift):
    X, Q = clusters(2000, 12) + np.float32(shift), clusters(100, 12, seed=0) + np.float32(shift)
    exact = NearestNeighbors(n_neighbors=6, algorithm="brute").fit(X)
    model = IVFNearestNeighbors(6, n_probe="exact", random_state=0).fit(X)
    for got, want in zip(model.kneighbors(Q), exact.kneighbors(Q), strict=True):
        assert_array_equal(got, want)


def test_duplicates_and_rows_beyond_the_filter_are_ordered_by_number():
    X = np.repeat(clusters(5, 6, np.float64), 200, axis=0)
    model = IVFNearestNeighbors(150, n_lists=3, n_probe="exact", random_state=0).fit(X)
    assert_array_equal(model.kneighbors(X[::200])[1], brute_force(X, X[::200], 150)[1])


def test_automatic_probes_reach_the_recall_on_new_queries():
    X, Q = clusters(6000, 16), clusters(6300, 16)[6000:]
    model = IVFNearestNeighbors(10, recall=0.95, random_state=0).fit(X)
    truth = brute_force(X, Q, 10)[1]
    found = model.kneighbors(Q, return_distance=False)
    assert np.mean((found[:, :, None] == truth[:, None]).any(axis=1)) > 0.93
    assert model.recall_ >= 0.95
    assert model.n_probe_ < len(model.radii_)
    assert (np.diff(model.recall_curve_) >= 0).all()
    assert model.recall_curve_[-1] == 1.0


def test_answers_do_not_depend_on_the_other_queries():
    X, Q = clusters(3000, 8), clusters(64, 8)
    model = IVFNearestNeighbors(5, n_probe=2, random_state=0).fit(X)
    alone = np.concatenate([model.kneighbors(q[None])[0] for q in Q])
    assert_array_equal(alone, model.kneighbors(Q)[0])


def test_few_rows_in_the_lists_that_are_read_make_a_query_read_more():
    X = clusters(300, 4)
    model = IVFNearestNeighbors(3, n_lists=100, n_probe=1, random_state=0).fit(X)
    distances, numbers = model.kneighbors(X[:20], 60)
    assert numbers.shape == (20, 60)
    assert all(len(set(row)) == 60 for row in numbers.tolist())
    assert (np.diff(distances) >= 0).all()


def test_merge_and_partial_fit_equal_a_fit_on_all_rows():
    X = clusters(1000, 6)
    settings = {"n_probe": 3, "centers": X[::50], "random_state": 0}
    whole = IVFNearestNeighbors(5, **settings).fit(X)
    a, b = (IVFNearestNeighbors(5, **settings).fit(part) for part in (X[:400], X[400:]))
    added = IVFNearestNeighbors(5, **settings).fit(X[:400]).partial_fit(X[400:])
    for other in (a.merge(b), added):
        assert_array_equal(other.rows_, whole.rows_)
        assert_array_equal(other.row_numbers_, whole.row_numbers_)
        assert_array_equal(other.radii_, whole.radii_)
        for got, want in zip(other.kneighbors(X), whole.kneighbors(X), strict=True):
            assert_array_equal(got, want)
    assert a.n_samples_fit_ == 400
    with pytest.raises(ValueError, match="same centers"):
        a.merge(IVFNearestNeighbors(5, random_state=0).fit(X))


def test_rows_in_a_file_give_the_same_answers(tmp_path):
    X = clusters(2000, 6)
    np.save(tmp_path / "X.npy", X)
    settings = {"n_neighbors": 5, "random_state": 0}
    held = IVFNearestNeighbors(**settings).fit(X)
    for rows in (X, tmp_path / "X.npy"):
        filed = IVFNearestNeighbors(path=tmp_path / "lists.npy", **settings).fit(rows)
        assert_array_equal(np.load(tmp_path / "lists.npy"), held.rows_)
        for got, want in zip(filed.kneighbors(X), held.kneighbors(X), strict=True):
            assert_array_equal(got, want)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["X.npy", "lists.npy"]


def test_the_graph_finds_neighbors_in_clusters_that_lie_apart():
    X, Q = clusters(5000, 24), clusters(5300, 24)[5000:]
    model = GraphNearestNeighbors(10, random_state=0).fit(100 + 5 * X)
    distances, numbers = model.kneighbors(100 + 5 * Q)
    want = brute_force(100 + 5 * X, 100 + 5 * Q, 10)
    hits = numbers[:, :, None] == want[1][:, None]
    assert hits.any(axis=1).mean() > 0.97
    assert model.recall_ > 0.97
    assert 0 < model.exact_share_ <= 1
    for i, j in zip(*np.nonzero(numbers == want[1]), strict=True):
        assert distances[i, j] == want[0][i, j]


def test_the_graph_has_the_same_bits_on_any_number_of_threads():
    X = clusters(3000, 8)
    graphs = []
    for n in (1, 2, 5):
        with tenfold.threads(n):
            graphs.append(GraphNearestNeighbors(3, degree=8, random_state=0).fit(X))
    for other in graphs[1:]:
        assert_array_equal(other.edges_, graphs[0].edges_)
        assert_array_equal(other.degrees_, graphs[0].degrees_)


def test_edges_obey_degree_and_no_node_points_to_itself():
    X = clusters(2000, 6)
    model = GraphNearestNeighbors(3, degree=10, random_state=0).fit(X)
    assert model.degrees_.max() <= 10
    assert model.degrees_.min() >= 1
    for node, degree in enumerate(model.degrees_):
        edges = model.edges_[node, :degree].tolist()
        assert node not in edges
        assert len(set(edges)) == degree


@pytest.mark.parametrize("model", MODELS)
def test_all_rows_as_neighbors_are_those_of_brute_force(model):
    X = clusters(150, 5, np.float64)
    fitted = model(150, random_state=0).fit(X)
    for got, want in zip(fitted.kneighbors(X), brute_force(X, X, 150), strict=True):
        assert_array_equal(got, want)


@pytest.mark.parametrize("model", MODELS)
def test_a_pipeline_takes_the_graph_of_distances(model):
    X = clusters(600, 5)
    y = (X[:, 0] > 0).astype(int)
    index = model(5, random_state=0)
    voter = KNeighborsClassifier(5, metric="precomputed")
    assert make_pipeline(index, voter).fit(X, y).score(X, y) > 0.9
    graph = index.fit(X).kneighbors_graph()
    assert graph.shape == (600, 600)
    assert graph.diagonal().sum() == 0
    assert graph.sum() == 3000


@pytest.mark.parametrize("model", MODELS)
def test_wrong_requests_are_refused_by_name(model):
    fitted = model(3, random_state=0).fit(clusters(50, 4))
    with pytest.raises(ValueError, match="n_samples_fit = 50"):
        fitted.kneighbors(clusters(5, 4), 51)
    with pytest.raises(ValueError, match="n_neighbors > 0"):
        fitted.kneighbors(clusters(5, 4), 0)
    with pytest.raises(ValueError, match="connectivity"):
        fitted.kneighbors_graph(mode="other")
    with pytest.raises(ValueError, match="range of float64"):
        model(3, random_state=0).fit(1e200 * clusters(50, 4, np.float64))


def test_the_smallest_of_a_rank_is_that_of_sorting():
    rng = np.random.default_rng(0)
    for n in (1, 2, 7, 50):
        values = rng.integers(0, 9, n).astype(float)
        for k in range(n):
            assert kth_smallest(values.copy(), n, k) == np.sort(values)[k]


def test_padded_columns_are_zero():
    padded = pad_columns(np.ones((3, 5)))
    assert padded.shape == (3, 32)
    assert padded.sum() == 15


@pytest.mark.parametrize("model", MODELS)
def test_what_does_not_fit_into_memory_is_refused_with_a_substitute(model, monkeypatch):
    monkeypatch.setattr("tenfold.engine.memory.available_memory", lambda: 1000)
    monkeypatch.setattr("tenfold.engine.memory._GIB", 1)
    with pytest.raises(MemoryError, match=r"500 rows.*path="):
        model(3).fit(clusters(500, 4))


@pytest.mark.parametrize(
    "model", [IVFNearestNeighbors(4, n_probe=2), GraphNearestNeighbors(4, beam=5, degree=4)]
)
def test_each_answer_has_a_recall_and_certified_ones_miss_nothing(model):
    rng = np.random.default_rng(5)
    X, Q = rng.normal(size=(1500, 8)), rng.normal(size=(80, 8))
    model.set_params(random_state=0).fit(X)
    truth = NearestNeighbors(n_neighbors=4).fit(X).kneighbors(Q, return_distance=False)
    found = model.kneighbors(Q, return_distance=False)
    shares = np.array([len(set(a) & set(b)) / 4 for a, b in zip(found, truth, strict=True)])
    assert 0 < shares.min() < 1 or 0 in shares
    assert np.array_equal(model.measure_recall(Q), shares)
    proven = model.certify(Q)
    assert (shares[proven] == 1).all()
    if isinstance(model, GraphNearestNeighbors):
        assert np.array_equal(proven, shares == 1)
    assert 0 <= model.certified_ <= 1
