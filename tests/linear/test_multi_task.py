"""Multi-task elastic nets against scikit-learn, optimality conditions and paths."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn import linear_model

from tenfold import Lasso, MultiTaskElasticNet, MultiTaskLasso, enet_path, lasso_path

TIGHT = {"tol": 1e-10, "max_iter": 100_000}


def table(n=60, p=8, q=3, seed=0):
    rng = np.random.default_rng(seed)
    X, W = rng.normal(size=(n, p)) + 1, np.zeros((q, p))
    W[:, :4] = rng.normal(size=(q, 4))
    return X, X @ W.T + 0.3 * rng.normal(size=(n, q)), rng.uniform(0.5, 2.0, n)


@pytest.mark.parametrize("shape", [(60, 8, 3), (40, 600, 2)])
@pytest.mark.parametrize("selection", ["cyclic", "random"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_coefficients_are_those_of_scikit_learn(shape, selection, fit_intercept):
    X, Y, w = table(*shape)
    params = {"alpha": 0.1, "l1_ratio": 0.7, "fit_intercept": fit_intercept, **TIGHT}
    ours = MultiTaskElasticNet(selection=selection, random_state=0, **params).fit(X, Y, w)
    theirs = linear_model.MultiTaskElasticNet(**params).fit(X, Y, w)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-6)
    assert_allclose(ours.eps_, theirs.eps_)
    rows = MultiTaskElasticNet(**params).fit(sparse.csr_array(X), Y, w)
    assert_allclose(rows.coef_, ours.coef_, atol=1e-6)
    assert (ours.sparse_coef_.toarray() == ours.coef_).all()


def test_optimality_conditions_hold():
    X, Y, _ = table()
    model = MultiTaskLasso(0.2, **TIGHT).fit(X, Y)
    D = X - X.mean(axis=0)
    G = D.T @ (Y - model.predict(X)) / len(X)  # (p, q)
    norms = np.linalg.norm(model.coef_, axis=0)
    used = norms > 0
    assert 0 < used.sum() < len(used)
    assert (np.linalg.norm(G[~used], axis=1) <= 0.2 + 1e-6).all()
    assert_allclose(G[used], 0.2 * (model.coef_ / np.where(used, norms, 1))[:, used].T, atol=1e-6)


def test_one_target_is_the_lasso():
    X, Y, _ = table()
    one = MultiTaskLasso(0.1, **TIGHT).fit(X, Y[:, :1])
    assert_allclose(one.coef_[0], Lasso(0.1, **TIGHT).fit(X, Y[:, 0]).coef_, atol=1e-8)
    with pytest.raises(ValueError, match="For mono-task outputs, use Lasso"):
        MultiTaskLasso().fit(X, Y[:, 0])


@pytest.mark.parametrize("path", [lasso_path, enet_path])
def test_paths_of_several_targets_are_those_of_scikit_learn(path):
    X, Y, _ = table()
    ours, theirs = (f(X, Y, **TIGHT) for f in (path, getattr(linear_model, path.__name__)))
    assert_allclose(ours[0], theirs[0])
    assert ours[1].shape == theirs[1].shape == (3, 8, 100)
    assert_allclose(ours[1], theirs[1], atol=1e-6)


@pytest.mark.parametrize("sweeps", [1, 2, 1000])
def test_a_warning_comes_exactly_if_the_gap_is_too_large(sweeps):
    X, Y, _ = table()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = MultiTaskLasso(1e-3, tol=1e-8, max_iter=sweeps).fit(X, Y)
    assert bool(caught) == (model.dual_gap_ > 1e-8 * np.var(Y, axis=0).sum()) == (sweeps < 1000)


def test_warm_start_needs_no_sweeps():
    X, Y, _ = table()
    model = MultiTaskLasso(0.1, warm_start=True).fit(X, Y)
    assert model.n_iter_ > 1
    assert model.fit(X, Y).n_iter_ <= 1
