"""Isomap, locally linear and spectral embedding, and trustworthiness."""

import numpy as np
import pytest
import sklearn.manifold
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial import procrustes
from scipy.spatial.distance import pdist, squareform
from sklearn.datasets import make_swiss_roll

import tenfold
from tenfold import (
    ClassicalMDS,
    Isomap,
    LocallyLinearEmbedding,
    SpectralEmbedding,
    spectral_embedding,
    trustworthiness,
)


@pytest.fixture(scope="module")
def roll():
    X, t = make_swiss_roll(600, random_state=0)
    return X, t


def up_to_signs(a, b):
    signs = np.sign((a * b).sum(axis=0))
    return a * signs, b


def test_isomap_is_that_of_scikit_learn(roll):
    X, t = roll
    ours, theirs = Isomap(n_neighbors=6).fit(X), sklearn.manifold.Isomap(n_neighbors=6).fit(X)
    assert_allclose(ours.dist_matrix_, theirs.dist_matrix_, rtol=1e-10)
    assert_allclose(*up_to_signs(ours.embedding_, theirs.embedding_), atol=1e-6)
    assert_allclose(ours.reconstruction_error(), theirs.reconstruction_error(), rtol=1e-6)
    new = X[:20] + 0.05
    assert_allclose(*up_to_signs(ours.transform(new), theirs.transform(new)), atol=1e-6)
    assert abs(np.corrcoef(ours.embedding_[:, 0], t)[0, 1]) > 0.95  # the roll is unrolled


def test_isomap_of_all_neighbors_is_classical_scaling():
    X = np.random.default_rng(0).normal(size=(30, 3))
    a = Isomap(n_neighbors=29, n_components=3).fit_transform(X)
    b = ClassicalMDS(3).fit_transform(X)
    assert_allclose(*up_to_signs(a, b), atol=1e-8)


def test_parts_of_a_graph_are_joined_by_their_shortest_edge():
    X = np.array([0, 1, 2, 5, 6, 7.0])[:, None]
    with pytest.warns(UserWarning, match="connected components"):
        model = Isomap(n_neighbors=2, n_components=1).fit(X)
    assert_allclose(model.dist_matrix_, squareform(pdist(X)))


def test_a_row_far_from_all_is_named_by_isomap():
    X = np.random.default_rng(0).normal(size=(30, 2))
    model = Isomap(n_neighbors=None, radius=9.0).fit(X)
    with pytest.raises(ValueError, match="row 1 has no row of the fit within radius"):
        model.transform(np.array([[0.0, 0], [99, 99]]))


@pytest.mark.parametrize("method", ["standard", "modified", "ltsa"])
@pytest.mark.parametrize("solver", ["dense", "arpack"])
def test_locally_linear_maps_are_those_of_scikit_learn(roll, method, solver):
    X = roll[0][:250]
    params = {"n_neighbors": 12, "method": method, "eigen_solver": solver, "random_state": 0}
    ours = LocallyLinearEmbedding(**params, tol=1e-10).fit(X)
    theirs = sklearn.manifold.LocallyLinearEmbedding(**params, tol=1e-10).fit(X)
    assert_allclose(*up_to_signs(ours.embedding_, theirs.embedding_), atol=1e-5)
    assert_allclose(ours.reconstruction_error_, theirs.reconstruction_error_, rtol=1e-4, atol=1e-9)
    new = X[:15] + 0.01
    assert_allclose(*up_to_signs(ours.transform(new), theirs.transform(new)), atol=1e-4)


def test_the_hessian_form_recovers_an_isometric_plane():
    """Of a surface that is bent without stretching: coordinates up to an affine map."""
    rng = np.random.default_rng(0)
    t, h = rng.uniform(0, 3, 500), rng.uniform(0, 2, 500)
    X = np.c_[np.cos(t), np.sin(t), h]
    Z = LocallyLinearEmbedding(
        n_neighbors=12, method="hessian", eigen_solver="dense"
    ).fit_transform(X)
    plane = np.c_[t, h]
    A = np.c_[np.ones(500), Z]
    rest = plane - A @ np.linalg.lstsq(A, plane, rcond=None)[0]
    assert np.abs(rest).max() < 0.02


def test_barycenter_weights_add_up_and_rebuild_rows_of_a_plane():
    from tenfold.manifold._neighborhood_matrices import barycenter_weights

    X = np.random.default_rng(0).normal(size=(40, 2))
    rows = tenfold.NearestNeighbors(n_neighbors=6).fit(X).kneighbors()[1]
    weights = barycenter_weights(X, X, rows, 1e-10)
    assert_allclose(weights.sum(axis=1), 1)
    assert_allclose(np.einsum("ij,ijd->id", weights, X[rows]), X, atol=1e-6)


def test_too_many_neighbors_or_components_are_refused():
    X = np.random.default_rng(0).normal(size=(10, 2))
    with pytest.raises(ValueError, match="n_neighbors < n_samples"):
        LocallyLinearEmbedding(n_neighbors=10).fit(X)
    with pytest.raises(ValueError, match="output dimension"):
        LocallyLinearEmbedding(n_components=3).fit(X)
    with pytest.raises(ValueError, match="greater than"):
        LocallyLinearEmbedding(n_neighbors=5, method="hessian").fit(X)


@pytest.mark.parametrize("affinity", ["rbf", "nearest_neighbors"])
def test_spectral_embedding_is_that_of_scikit_learn(roll, affinity):
    X = roll[0][:200]
    params = {"affinity": affinity, "random_state": 0, "n_neighbors": 20, "gamma": 0.02}
    ours = SpectralEmbedding(**params).fit(X)
    theirs = sklearn.manifold.SpectralEmbedding(**params).fit(X)
    assert_allclose(*up_to_signs(ours.embedding_, theirs.embedding_), atol=1e-7)
    assert_allclose(
        np.asarray(abs(ours.affinity_matrix_ - theirs.affinity_matrix_).max()), 0, atol=1e-12
    )


@pytest.mark.parametrize("solver", ["arpack", "lobpcg"])
def test_eigenvectors_of_a_path_are_cosines(solver):
    n = 40
    A = np.diag(np.ones(n - 1), 1) + np.diag(np.ones(n - 1), -1)
    Z = spectral_embedding(A, n_components=2, norm_laplacian=False, eigen_solver=solver)
    for k in (1, 2):
        wave = np.cos(np.pi * k * (np.arange(n) + 0.5) / n)
        assert abs(np.corrcoef(Z[:, k - 1], wave)[0, 1]) > 1 - 1e-6


def test_parts_that_are_not_linked_are_warned_of():
    A = np.kron(np.eye(2), np.ones((5, 5)))
    with pytest.warns(UserWarning, match="not fully connected"):
        SpectralEmbedding(affinity="precomputed").fit(A)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "precomputed"])
def test_trustworthiness_is_scikit_learns(metric):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(120, 6)), rng.normal(size=(120, 2))
    X = squareform(pdist(X)) if metric == "precomputed" else X
    for k in (1, 5, 30):
        assert_allclose(
            trustworthiness(X, Y, n_neighbors=k, metric=metric),
            sklearn.manifold.trustworthiness(X, Y, n_neighbors=k, metric=metric),
        )


def test_a_rigid_motion_is_fully_trusted():
    X = np.random.default_rng(0).normal(size=(80, 2))
    angle = 0.7
    R = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    assert trustworthiness(X, 3 + X @ R / 10) == 1.0
    assert procrustes(X, X @ R)[2] < 1e-12


@pytest.mark.parametrize(
    "model",
    [
        Isomap(n_neighbors=10),
        LocallyLinearEmbedding(n_neighbors=10),
        SpectralEmbedding(n_neighbors=15),
    ],
    ids=lambda model: type(model).__name__,
)
def test_threads_change_no_bit_of_a_graph_map(model, roll):
    with tenfold.threads(1):
        one = model.fit(roll[0]).embedding_
    with tenfold.threads(3):
        assert_array_equal(model.fit(roll[0]).embedding_, one)


@pytest.mark.parametrize("model", [Isomap(n_neighbors=5), LocallyLinearEmbedding(n_neighbors=5)])
def test_new_rows_of_another_width_are_refused_in_the_name_of_the_model(model):
    X = np.random.default_rng(0).normal(size=(40, 4))
    name = type(model).__name__
    with pytest.raises(ValueError, match=f"3 features, but {name} is expecting 4"):
        model.fit(X).transform(X[:, :3])


def test_distances_of_new_rows_are_placed_by_isomap_as_the_rows_are():
    X = np.random.default_rng(0).normal(size=(40, 4))
    D = squareform(pdist(X))
    given = Isomap(n_neighbors=6, metric="precomputed").fit(D)
    rows = Isomap(n_neighbors=6).fit(X)
    assert_allclose(*up_to_signs(given.transform(D[:5]), rows.transform(X[:5])), atol=1e-6)
    with pytest.raises(ValueError, match="39 features, but Isomap is expecting 40"):
        given.transform(D[:5, :39])
