"""t-SNE: perplexity, gradients, three ways to repel, threads, new points, refusals."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits

import tenfold
from tenfold import TSNE, NearestNeighbors, trustworthiness
from tenfold.manifold._similarities import (
    all_similarities,
    neighbor_similarities,
    row_probabilities,
)
from tenfold.manifold._t_sne_descent import Divergence

REFERENCE = 0.44416  # of the map of scikit-learn 1.9.1, with the same parameters


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:600], y[:600]


@pytest.fixture(scope="module")
def fitted(digits):
    return TSNE(max_iter=750).fit(digits[0])


def similarities(n, perplexity=10):
    X = np.random.default_rng(0).normal(size=(n, 5))
    return neighbor_similarities(NearestNeighbors().fit(X), X, perplexity, n)


def brute_force(P, Y, freedom=1.0):
    """Divergence and gradient by numpy, in float64."""
    from scipy.sparse import csr_matrix

    n = len(Y)
    P = csr_matrix((P.values, P.columns, P.starts), shape=(n, n)).toarray().astype(np.float64)
    gaps = Y[:, None].astype(np.float64) - Y
    u = 1 / (1 + (gaps**2).sum(axis=2) / freedom)
    w = u ** ((freedom + 1) / 2)
    np.fill_diagonal(w, 0)
    Q = w / w.sum()
    some = P > 0
    value = (P[some] * np.log(P[some] / Q[some])).sum()
    slope = 2 * (freedom + 1) / freedom * (((P - Q) * u)[:, :, None] * gaps).sum(axis=1)
    return value, slope


def test_every_row_has_the_perplexity_that_was_asked_for():
    squares = np.random.default_rng(0).normal(size=(200, 90)) ** 2 * 30
    P = row_probabilities(squares, 25.0)
    assert_allclose(P.sum(axis=1), 1)
    entropy = -(P * np.log(np.maximum(P, 1e-300))).sum(axis=1)
    assert_allclose(np.exp(entropy), 25, rtol=1e-8)


def test_far_rows_do_not_underflow():
    squares = np.random.default_rng(1).normal(size=(1, 90)) + 1e6
    P = row_probabilities(squares, 30.0)
    assert_allclose(np.exp(-(P * np.log(P)).sum()), 30, rtol=1e-6)


def test_equal_distances_give_equal_probabilities():
    assert_allclose(row_probabilities(np.ones((3, 8)), 2.0), 1 / 8)


@pytest.mark.parametrize("components", [1, 2, 3])
@pytest.mark.parametrize("freedom", [0.5, 1.0, 2.0])
def test_the_gradient_is_that_of_brute_force(components, freedom):
    P = similarities(70)
    Y = np.random.default_rng(1).normal(size=(70, components)).astype(np.float32) * 2
    value, slope = brute_force(P, Y, freedom)
    for repulsion, angle, tol in (("pairs", 0.5, 2e-6), ("barnes_hut", 0.0, 2e-6)):
        divergence = Divergence(P, freedom, repulsion, angle)
        assert_allclose(divergence.gradient(Y, 1.0)[0], slope, atol=tol * np.abs(slope).max())
        assert_allclose(divergence.value(Y), value, rtol=1e-6)


def test_the_gradient_is_the_derivative_of_the_divergence():
    P = similarities(40)
    Y = np.random.default_rng(2).normal(size=(40, 2))
    _, slope = brute_force(P, Y)
    step = np.zeros_like(Y)
    step[3, 1] = 1e-5
    change = brute_force(P, Y + step)[0] - brute_force(P, Y - step)[0]
    assert_allclose(change / 2e-5, slope[3, 1], rtol=1e-6)


@pytest.mark.parametrize("scale", [1e-4, 1.0, 8.0, 40.0])
@pytest.mark.parametrize("freedom", [0.7, 1.0])
def test_grid_and_tree_are_close_to_all_pairs(scale, freedom):
    P = similarities(900)
    Y = (np.random.default_rng(3).normal(size=(900, 2)) * scale).astype(np.float32)
    exact, mass = Divergence(P, freedom, "pairs", 0.5)._repel(Y)
    for repulsion, tol in (("interpolation", 0.03), ("barnes_hut", 0.05)):
        force, total = Divergence(P, freedom, repulsion, 0.5)._repel(Y)
        assert np.abs(force - exact).max() < tol * np.abs(exact).max(), repulsion
        assert_allclose(total, mass, rtol=0.02)


def test_points_in_one_place_do_not_break_the_tree():
    P = similarities(50)
    Y = np.zeros((50, 2), np.float32)
    Y[25:] = 1.0
    exact = Divergence(P, 1.0, "pairs", 0.5)._repel(Y)
    tree = Divergence(P, 1.0, "barnes_hut", 0.0)._repel(Y)
    assert_allclose(tree[0], exact[0], atol=1e-5)
    assert_allclose(tree[1], exact[1], rtol=1e-6)


def test_the_gradient_of_all_pairs_is_scikit_learns():
    from sklearn.manifold._t_sne import _joint_probabilities, _kl_divergence

    X = np.random.default_rng(0).normal(size=(80, 4))
    Y = np.random.default_rng(1).normal(size=(80, 2)).astype(np.float32)
    D = np.linalg.norm(X[:, None] - X, axis=2)
    value, slope = _kl_divergence(Y.ravel(), _joint_probabilities(D**2, 8, 0), 1, 80, 2)
    ours = Divergence(all_similarities(D, 8), 1.0, "pairs", 0.5)
    assert_allclose(ours.gradient(Y, 1.0)[0].ravel(), slope, rtol=1e-3, atol=1e-6)
    assert_allclose(ours.value(Y), value, rtol=1e-4)


def test_the_divergence_is_no_larger_than_scikit_learns(digits, fitted):
    """REFERENCE is that of the map of scikit-learn, with the same parameters."""
    assert fitted.kl_divergence_ <= 1.01 * REFERENCE
    P = neighbor_similarities(NearestNeighbors().fit(digits[0]), digits[0], 30, 600)
    value = Divergence(P, 1.0, "pairs", 0.5).value(fitted.embedding_)
    assert_allclose(value, fitted.kl_divergence_)


def test_digits_have_their_neighbors(digits, fitted):
    X, y = digits
    assert trustworthiness(X, fitted.embedding_) > 0.97
    nearest = NearestNeighbors(n_neighbors=1).fit(fitted.embedding_).kneighbors()[1][:, 0]
    assert (y[nearest] == y).mean() > 0.93
    assert fitted.n_iter_ == 750
    assert fitted.history_["objective"][-1] == fitted.kl_divergence_
    assert fitted.embedding_.dtype == np.float32


@pytest.mark.parametrize("method", ["auto", "barnes_hut", "interpolation", "exact"])
def test_the_number_of_threads_changes_no_bit(digits, method):
    X = digits[0][:150]
    maps = []
    for n in (1, 2, 3):
        with tenfold.threads(n):
            model = TSNE(method=method, max_iter=250, perplexity=12).fit(X)
            maps.append((model.embedding_, model.transform(X[:9] + 0.5)))
    for points, placed in maps[1:]:
        assert_array_equal(points, maps[0][0])
        assert_array_equal(placed, maps[0][1])


def test_a_pca_start_needs_no_seed(digits):
    X = digits[0][:100]
    a, b = (TSNE(max_iter=250, perplexity=5, random_state=s).fit_transform(X) for s in (0, 1))
    assert_array_equal(a, b)


def test_new_rows_fall_among_their_kind(digits, fitted):
    X, y = load_digits(return_X_y=True)
    new, labels = X[600:900], y[600:900]
    placed = fitted.transform(new)
    nearest = NearestNeighbors(n_neighbors=1).fit(fitted.embedding_).kneighbors(placed)[1][:, 0]
    assert (digits[1][nearest] == labels).mean() > 0.9
    assert_array_equal(fitted.transform(new[:7]), placed[:7])  # each by itself
    assert_array_equal(fitted.transform(digits[0]), fitted.embedding_)


def test_new_rows_of_another_width_are_refused_in_the_name_of_the_model(fitted, digits):
    with pytest.raises(ValueError, match="63 features, but TSNE is expecting 64"):
        fitted.transform(digits[0][:3, :63])


def test_distances_and_sparse_graphs_of_them_give_maps(digits):
    X = digits[0][:150]
    D = np.linalg.norm(X[:, None] - X, axis=2)
    params = {"metric": "precomputed", "init": "random", "random_state": 0, "perplexity": 8}
    dense = TSNE(max_iter=300, **params).fit(D)
    graph = NearestNeighbors(n_neighbors=60).fit(X).kneighbors_graph(X, mode="distance")
    sparse = TSNE(max_iter=300, **params).fit(graph)
    assert trustworthiness(X, dense.embedding_) > 0.9
    assert trustworthiness(X, sparse.embedding_) > 0.9
    assert_array_equal(dense.transform(D[:4]), dense.embedding_[:4])


def test_a_fit_says_how_it_ended():
    X = np.random.default_rng(0).normal(size=(60, 3))
    whole = TSNE(perplexity=5, max_iter=400).fit(X)
    assert not whole.converged_
    early = TSNE(perplexity=5, min_grad_norm=10.0).fit(X)
    assert early.converged_
    assert early.n_iter_ == 300  # exaggeration is not cut short


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"perplexity": 20}, r"perplexity \(20\) must be less than n_samples \(20\)"),
        ({"n_components": 4, "method": "barnes_hut"}, "inferior to 4"),
        ({"n_components": 3, "method": "interpolation"}, "n_components=2"),
        ({"n_components": 5}, "init='random'"),
        ({"init": np.zeros((3, 2))}, "init has shape"),
        ({"init": np.where(np.arange(40) == 7, np.nan, 0.1).reshape(20, 2)}, "infinity in row 3"),
        ({"metric": "precomputed"}, "cannot be used with metric"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(params, message):
    X = np.random.default_rng(0).normal(size=(20, 3))
    with pytest.raises(ValueError, match=message):
        TSNE(**{"perplexity": 5, **params}).fit(X)


def test_a_rate_that_is_too_large_is_named():
    X = np.random.default_rng(0).normal(size=(40, 3))
    with pytest.raises(ValueError, match="learning_rate=1e\\+300: lower it"):
        TSNE(perplexity=5, learning_rate=1e300).fit(X)


def test_many_neighbors_do_not_draw_the_map_into_a_point_or_a_line():
    """Exaggeration does, unless the map is widened again; scikit-learn 1.9.1 ends at 0.35."""
    X = load_digits().data[::3]
    model = TSNE(perplexity=150).fit(X)
    assert model.embedding_.std(axis=0).min() > 2
    assert model.kl_divergence_ < 0.38


def test_a_start_without_width_in_a_direction_unfolds():
    X = np.outer(np.linspace(0, 1, 60), [1.0, 2, 3])  # one dimension of variance
    model = TSNE(perplexity=8, max_iter=500).fit(X)
    assert np.isfinite(model.embedding_).all()
    assert trustworthiness(X, model.embedding_) > 0.95
