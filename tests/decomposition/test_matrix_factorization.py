"""The frame of matrix factorizations: each choice of sets is the method that it should be."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning

from tenfold import NMF, PCA, KMeans, MatrixFactorization
from tenfold.decomposition._factor_sets import CODE_SETS, DICTIONARY_SETS, project_rows
from tenfold.optim import projections


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    return np.abs(rng.normal(size=(150, 4)) @ rng.normal(size=(4, 9)))


def fit(X, k=3, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return MatrixFactorization(k, **kwargs).fit(X)


@pytest.mark.parametrize("dictionary", ["free", "orthonormal"])
@pytest.mark.parametrize("init", ["svd", "random"])
def test_free_factors_are_the_truncated_singular_vectors(rows, dictionary, init):
    model = fit(rows, dictionary_set=dictionary, init=init, tol=1e-12, random_state=0)
    left = np.linalg.svd(rows, compute_uv=False)[3:]
    assert_allclose(model.reconstruction_err_, np.linalg.norm(left), rtol=1e-5)


def test_orthonormal_atoms_of_centered_rows_are_principal_components(rows):
    X = rows - rows.mean(axis=0)
    model, pca = fit(X, dictionary_set="orthonormal", tol=1e-13), PCA(3).fit(X)
    D = model.components_
    assert_allclose(D @ D.T, np.eye(3), atol=1e-10)
    assert_allclose(D.T @ D, pca.components_.T @ pca.components_, atol=1e-5)


def test_one_hot_codes_are_k_means(rows):
    start = rows[:3]
    model = fit(rows, code_set="one_hot", init=start, tol=0)
    means = KMeans(3, init=start, n_init=1, max_iter=500, tol=0).fit(rows)
    assert_allclose(model.reconstruction_err_**2, means.inertia_, rtol=1e-9)
    assert_allclose(model.components_, means.cluster_centers_, rtol=1e-9)
    assert (model.transform(rows).argmax(axis=1) == means.labels_).all()


def test_non_negative_factors_are_nmf(rows):
    model = fit(rows, code_set="nonnegative", dictionary_set="nonnegative", tol=1e-9, max_iter=2000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        other = NMF(3, tol=1e-7, max_iter=2000).fit(rows)
    assert_allclose(model.reconstruction_err_, other.reconstruction_err_, rtol=1e-2)
    assert (model.components_ >= 0).all()


def test_k_sparse_codes_use_k_atoms(rows):
    model = fit(rows, k=6, code_set="k_sparse", n_nonzero_coefs=2)
    assert ((model.transform(rows) != 0).sum(axis=1) <= 2).all()


@pytest.mark.parametrize("codes", [s for s in CODE_SETS if s != "k_sparse"])
@pytest.mark.parametrize("dictionary", DICTIONARY_SETS)
def test_the_objective_never_increases_and_factors_stay_in_their_sets(rows, codes, dictionary):
    model = fit(rows, code_set=codes, dictionary_set=dictionary, max_iter=15)
    history = model.history_["objective"]
    assert (np.diff(history) <= 1e-7 * history[0]).all()
    Z, D = model.transform(rows), model.components_
    if codes != "one_hot":
        assert_allclose(project_rows(Z, codes), Z, atol=1e-9)
    if dictionary != "orthonormal":
        assert_allclose(project_rows(D, dictionary), D, atol=1e-9)


@pytest.mark.parametrize("steps", [1, 5])
def test_inexact_sub_steps_never_increase_the_objective_either(rows, steps):
    model = fit(
        rows, code_set="nonnegative", dictionary_set="nonnegative", inner_iter=steps, max_iter=60
    )
    assert (np.diff(model.history_["objective"]) <= 1e-9).all()


def test_a_projection_of_ones_own_is_a_set(rows):
    half = projections.half_space(np.ones(9), 4.0)
    model = fit(rows, dictionary_set=half, code_set=projections.non_negative, max_iter=8)
    assert (model.components_.sum(axis=1) <= 4 + 1e-9).all()
    named = fit(rows, dictionary_set=half, code_set="nonnegative", max_iter=8)
    assert_allclose(model.reconstruction_err_, named.reconstruction_err_, rtol=0.02)


def test_rows_are_projected_as_vectors_are():
    V = np.random.default_rng(1).normal(size=(20, 5))
    for kind, project in (("simplex", projections.simplex()), ("ball", projections.ball(1.0))):
        assert_allclose(project_rows(V, kind), [project(v) for v in V], atol=1e-12)


def test_codes_of_known_atoms_are_ridge_regressions(rows):
    model = fit(rows, l2_codes=0.7)
    D = model.components_
    expected = rows @ D.T @ np.linalg.inv(D @ D.T + 0.7 * np.eye(3))
    assert_allclose(model.transform(rows), expected, rtol=1e-8)


def test_l1_codes_fulfil_the_conditions_of_a_minimum(rows):
    """(245) and (246) of 001: non-negative codes with L1 and squared L2 penalties."""
    model = fit(rows, code_set="nonnegative", l1_codes=0.5, l2_codes=0.2, max_iter=10)
    Z, D = model.transform(rows), model.components_
    gradient = (Z @ D - rows) @ D.T + 0.5 + 0.2 * Z
    assert_allclose(gradient[Z > 0], 0, atol=1e-6)
    assert (gradient[Z == 0] >= -1e-6).all()


def test_l1_on_the_dictionary_zeroes_atoms_and_l2_does_not(rows):
    sets = {"code_set": "nonnegative", "dictionary_set": "nonnegative", "max_iter": 300}
    plain = fit(rows, k=6, **sets)
    absolute = fit(rows, k=6, l2_codes=0.1, l1_dictionary=30.0, **sets)
    squared = fit(rows, k=6, l2_codes=0.1, l2_dictionary=10.0, **sets)
    zeros = [(m.components_ == 0).mean() for m in (plain, absolute, squared)]
    assert zeros[1] > zeros[0]
    assert zeros[1] > zeros[2]


def test_mixed_factors_have_the_same_product(rows):
    model = fit(rows)
    Z = model.transform(rows)
    C = np.random.default_rng(2).normal(size=(3, 3))
    codes, atoms = model.equivalent_factors(Z, C)
    assert_allclose(codes @ atoms, Z @ model.components_, atol=1e-9)
    with pytest.raises(ValueError, match="invertible"):
        model.equivalent_factors(Z, np.ones((3, 3)))


def test_usage_adds_up_the_codes(rows):
    for codes in ("nonnegative", "box", "k_sparse", "one_hot"):
        for inner in (None, 2):
            model = fit(rows, code_set=codes, tol=0, max_iter=3, inner_iter=inner)
            Z = model.transform(rows)
            assert_allclose(model.usage_, np.abs(Z).sum(axis=0), rtol=1e-4, atol=1e-9)
            error = np.linalg.norm(rows - Z @ model.components_)
            assert_allclose(model.reconstruction_err_, error, rtol=1e-6)


def test_settings_that_contradict_each_other_are_refused(rows):
    with pytest.raises(ValueError, match="goes with the sets"):
        fit(rows, code_set="simplex", l1_codes=1.0)
    with pytest.raises(ValueError, match="take fewer atoms"):
        fit(rows, k=20, dictionary_set="orthonormal")
    with pytest.raises(ValueError, match="give 3 atoms"):
        fit(rows, init=np.ones((2, 9)))
