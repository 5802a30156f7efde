"""Sparse principal components against scikit-learn, PCA and planted parts."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import decomposition as theirs

import tenfold
from tenfold import PCA, MiniBatchSparsePCA, SparsePCA

PARTS = np.repeat(np.eye(3), 4, axis=1)


@pytest.fixture(scope="module")
def planted():
    rng = np.random.default_rng(0)
    return rng.normal(size=(150, 3)) * [3, 2, 1] @ PARTS + 0.1 * rng.normal(size=(150, 12)) + 5


def quietly(model, X, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, **kwargs)


@pytest.mark.parametrize("method", ["lars", "cd"])
def test_the_objective_is_that_of_scikit_learn(planted, method):
    ours = SparsePCA(3, alpha=2, method=method, tol=1e-10).fit(planted)
    peer = quietly(theirs.SparsePCA(3, alpha=2, method="lars", tol=1e-10), planted)
    assert_allclose(ours.error_[-1], peer.error_[-1], rtol=1e-6)
    order = np.argmax(np.abs(ours.components_ @ peer.components_.T), axis=1)
    assert_allclose(np.abs(ours.components_), np.abs(peer.components_[order]), atol=1e-4)
    assert (np.diff(ours.error_) <= 1e-9 * ours.error_[0]).all()


@pytest.mark.parametrize(
    "model", [SparsePCA(3, alpha=2), MiniBatchSparsePCA(3, alpha=2, max_iter=100, random_state=0)]
)
def test_planted_parts_are_found(planted, model):
    found = quietly(model, planted).components_ != 0
    assert sorted(found.tolist()) == sorted((PARTS != 0).tolist())
    assert_allclose(np.linalg.norm(model.components_, axis=1), 1)
    back = model.inverse_transform(model.transform(planted))
    assert np.square(back - planted).mean() < 0.05


def test_without_a_penalty_the_components_span_those_of_pca(planted):
    sparse = quietly(SparsePCA(3, alpha=1e-9, max_iter=3), planted).components_
    axes = PCA(3).fit(planted).components_
    assert_allclose(np.linalg.norm(sparse @ axes.T, axis=1), 1, rtol=1e-6)


def test_scores_are_ridge_regressions_on_the_components(planted):
    model = SparsePCA(3, alpha=2, ridge_alpha=0.5).fit(planted)
    C, centered = model.components_, planted - planted.mean(axis=0)
    expected = np.linalg.solve(C @ C.T + 0.5 * np.eye(3), C @ centered.T).T
    assert_allclose(model.transform(planted), expected, atol=1e-10)


def test_parts_of_the_rows_merge_to_the_whole(planted):
    whole = SparsePCA(2, alpha=2).fit(planted)
    parts = [SparsePCA(2, alpha=2).fit(part) for part in (planted[:50], planted[50:])]
    assert_allclose(tenfold.merge(*parts).components_, whole.components_, atol=1e-7)


def test_a_start_from_given_components_ends_where_they_are_best(planted):
    first = SparsePCA(3, alpha=2).fit(planted)
    again = SparsePCA(3, alpha=2, V_init=first.components_).fit(planted)
    assert_allclose(again.error_[-1], first.error_[-1], rtol=1e-6)
    with pytest.raises(ValueError, match="give 12 columns"):
        SparsePCA(3, V_init=np.ones((3, 2))).fit(planted)


def test_a_start_that_has_no_effect_is_told(planted):
    with pytest.warns(UserWarning, match="U_init has no effect"):
        SparsePCA(3, alpha=2, U_init=np.ones((150, 3))).fit(planted)


def test_a_penalty_that_is_too_large_and_constant_rows_give_zeros(planted):
    assert not quietly(SparsePCA(2, alpha=1e6), planted).components_.any()
    model = quietly(SparsePCA(2), np.ones((10, 3)))
    assert_array_equal(model.transform(np.ones((2, 3))), np.zeros((2, 2)))


def test_more_components_than_rows_are_allowed():
    X = np.random.default_rng(1).normal(size=(5, 8))
    assert quietly(SparsePCA(7, alpha=0.1, max_iter=5), X).transform(X).shape == (5, 7)
