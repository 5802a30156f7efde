"""Lasso and elastic net: the conditions of a minimum, scikit-learn's numbers, paths, corners."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn import linear_model

from tenfold import ElasticNet, Lasso, Ridge, enet_path, lasso_path

CALM = settings(deadline=None, max_examples=25)


def plane(n=120, p=15, seed=0, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) @ (np.eye(p) + 0.3 * rng.normal(size=(p, p)))
    w = np.where(np.arange(p) < 4, rng.normal(size=p) * 3, 0.0)
    return X, X @ w + 2 + noise * rng.normal(size=n)


def assert_minimum(model, X, y, alpha, ratio, w=None, tol=1e-7):
    """The subgradient of the objective contains zero."""
    w = np.ones(len(y)) if w is None else w
    residual = y - X @ model.coef_ - model.intercept_
    slope = X.T @ (w * residual) / w.sum() - alpha * (1 - ratio) * model.coef_
    used = model.coef_ != 0
    assert_allclose(slope[used], alpha * ratio * np.sign(model.coef_[used]), atol=tol)
    assert (np.abs(slope[~used]) <= alpha * ratio + tol).all()
    assert_allclose((w * residual).sum() / w.sum(), 0, atol=tol)


@pytest.mark.parametrize("ratio", [0.3, 1.0])
@pytest.mark.parametrize("alpha", [0.01, 0.3, 2.0])
@pytest.mark.parametrize("weighed", [False, True])
def test_zero_is_among_the_subgradients(alpha, ratio, weighed):
    X, y = plane()
    w = np.random.default_rng(1).uniform(0.2, 3, len(y)) if weighed else None
    model = ElasticNet(alpha=alpha, l1_ratio=ratio, tol=1e-12, max_iter=10_000)
    model.fit(X, y, sample_weight=w)
    assert_minimum(model, X, y, alpha, ratio, w)


@pytest.mark.parametrize("n", [120, 12])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("sparsely", [False, True])
def test_as_scikit_learn(n, intercept, positive, sparsely):
    X, y = plane(n)
    settings = {"alpha": 0.2, "fit_intercept": intercept, "positive": positive, "tol": 1e-12}
    theirs = linear_model.Lasso(**settings, max_iter=10**6).fit(X, y)
    ours = Lasso(**settings, max_iter=10**6).fit(sparse.csr_array(X) if sparsely else X, y)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-7)
    assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-7)
    assert ((ours.coef_ == 0) == (theirs.coef_ == 0)).all()
    assert ours.sparse_coef_.shape == (1, 15)


@pytest.mark.parametrize("selection", ["cyclic", "random"])
@pytest.mark.parametrize("precompute", [False, True])
def test_every_way_gives_the_same(selection, precompute):
    X, y = plane()
    model = Lasso(0.1, selection=selection, precompute=precompute, tol=1e-12, random_state=0)
    assert_allclose(model.fit(X, y).coef_, Lasso(0.1, tol=1e-12).fit(X, y).coef_, atol=1e-8)


def test_orthogonal_columns_have_a_closed_form():  # L03: the soft threshold
    Q, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(50, 6)))
    X, y = Q * np.sqrt(50), np.random.default_rng(1).normal(size=50)
    plain = X.T @ y / 50
    found = Lasso(0.1, fit_intercept=False, tol=1e-12).fit(X, y).coef_
    assert_allclose(found, np.sign(plain) * np.maximum(np.abs(plain) - 0.1, 0), atol=1e-10)


def test_the_elastic_net_is_a_lasso_on_more_rows():  # [004, 2.6]
    X, y = plane()
    n, p = X.shape
    alpha, ratio = 0.3, 0.4
    more = np.sqrt(n * alpha * (1 - ratio)) * np.eye(p)
    A, b = np.vstack([X, more]), np.append(y, np.zeros(p))
    net = ElasticNet(alpha=alpha, l1_ratio=ratio, fit_intercept=False, tol=1e-12).fit(X, y)
    lasso = Lasso(alpha * ratio * n / (n + p), fit_intercept=False, tol=1e-12).fit(A, b)
    assert_allclose(net.coef_, lasso.coef_, atol=1e-7)


def test_without_l1_it_is_ridge():
    X, y = plane()
    net = ElasticNet(alpha=0.5, l1_ratio=0.0, tol=1e-13, max_iter=50_000).fit(X, y)
    assert_allclose(net.coef_, Ridge(alpha=0.5 * len(X)).fit(X, y).coef_, atol=1e-6)


@pytest.mark.parametrize("ratio", [1.0, 0.5])
def test_a_path_is_the_separate_fits(ratio):
    X, y = plane()
    y = y - y.mean()
    X = X - X.mean(axis=0)
    alphas, coefs, gaps = enet_path(X, y, l1_ratio=ratio, alphas=20, tol=1e-10)
    assert coefs.shape == (15, 20)
    assert (np.diff(alphas) < 0).all()
    assert not coefs[:, 0].any()  # the first penalty is the least that leaves nothing
    assert coefs[:, 1].any()
    assert (gaps >= -1e-9).all()
    for alpha, coef in zip(alphas, coefs.T, strict=True):
        alone = ElasticNet(alpha=alpha, l1_ratio=ratio, fit_intercept=False, tol=1e-10).fit(X, y)
        assert_allclose(coef, alone.coef_, atol=1e-5)


def test_lasso_path_as_scikit_learn():
    X, y = plane()
    more = {"tol": 1e-9, "max_iter": 10**5}
    ours, theirs = lasso_path(X, y, **more), linear_model.lasso_path(X, y, **more)
    assert_allclose(ours[0], theirs[0])
    assert_allclose(ours[1], theirs[1], atol=1e-6)


def test_only_the_columns_that_are_needed_are_multiplied():
    """Wide rows: a Gram matrix that is made as columns come in gives the same."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 900))
    y = X[:, :5] @ [3.0, -2, 1, 1, 4] + rng.normal(size=300)
    lazy = Lasso(0.2, precompute=False, tol=1e-10).fit(X, y)
    whole = Lasso(0.2, precompute=True, tol=1e-10).fit(X, y)
    assert_allclose(lazy.coef_, whole.coef_, atol=1e-8)
    assert_minimum(lazy, X, y, 0.2, 1.0, tol=1e-6)


def test_several_targets_are_fitted_one_by_one():
    X, y = plane()
    Y = np.column_stack([y, -2 * y + X[:, 5]])
    model = Lasso(0.1, tol=1e-10).fit(X, Y)
    for j in range(2):
        assert_allclose(model.coef_[j], Lasso(0.1, tol=1e-10).fit(X, Y[:, j]).coef_, atol=1e-8)


def test_constant_and_repeated_columns():
    X, y = plane()
    wide = np.column_stack([X, np.full(len(X), 7.0), X[:, 0]])
    model = Lasso(0.1, tol=1e-10).fit(wide, y)
    assert model.coef_[15] == 0
    assert_minimum(model, wide, y, 0.1, 1.0)
    assert_allclose(model.predict(wide), Lasso(0.1, tol=1e-10).fit(X, y).predict(X), atol=1e-6)


def test_warm_starts_go_on():
    X, y = plane()
    model = Lasso(0.1, tol=1e-10, warm_start=True).fit(X, y)
    first = model.n_iter_
    assert model.fit(X, y).n_iter_ <= max(first // 2, 1)


@CALM
@given(st.integers(2, 40), st.integers(1, 12), st.integers(0, 10**6), st.floats(0.01, 3))
def test_any_shape_meets_the_conditions(n, p, seed, alpha):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, p)), rng.normal(size=n)
    model = Lasso(alpha, tol=1e-12, max_iter=10**6).fit(X, y)
    assert_minimum(model, X, y, alpha, 1.0, tol=1e-6)
    assert model.dual_gap_ <= 1e-8 * max(float(y @ y), 1)
