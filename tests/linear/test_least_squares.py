"""Least squares and logistic regression against exact arithmetic, scikit-learn and the notes."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import log_softmax, logsumexp
from sklearn import linear_model
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import tenfold
from tenfold import LinearRegression, LogisticRegression, Ridge
from tenfold.datasets import load_iris

SHAPES = [(50, 3, ()), (50, 3, (2,)), (4, 9, ()), (4, 9, (2,)), (5, 5, ()), (1, 1, ()), (1, 3, ())]
SHAPES += [(2, 1, ()), (9, 1, (1,)), (6, 5, ()), (5, 6, ()), (20_000, 4, (3,))]


def table(n, p, targets=(), seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, p)), rng.normal(size=(n, *targets))


def weights(n, seed=1):
    w = np.random.default_rng(seed).integers(0, 3, n).astype(float)
    w[0] = 1.0
    return w


def exact(X, y, alpha=0.0):
    """Coefficients of ridge regression with a constant, in whole numbers and fractions."""
    Z = np.array([[int(Fraction(v) * 2**120) for v in row] for row in np.column_stack([X, y])], "O")
    S = len(Z) * (Z.T @ Z) - np.multiply.outer(Z.sum(axis=0), Z.sum(axis=0))
    p = X.shape[1]
    A = [[Fraction(v) for v in row] for row in S[:p]]
    for i in range(p):
        A[i][i] += len(Z) * Fraction(alpha) * 2**240
    for i in range(p):
        for k in [k for k in range(p) if k != i]:
            A[k] = [a - A[k][i] / A[i][i] * b for a, b in zip(A[k], A[i], strict=True)]
    return np.array([float(A[i][p] / A[i][i]) for i in range(p)])


def worst(found, true):
    return np.abs(found - true).max() / np.abs(true).max()


def same_line(a, b, rtol=1e-9, atol=1e-11):
    """Equal coefficients and constants, of equal shapes."""
    assert np.shape(a.coef_) == np.shape(b.coef_)
    assert np.shape(a.intercept_) == np.shape(b.intercept_)
    assert_allclose(a.coef_, b.coef_, rtol=rtol, atol=atol)
    assert_allclose(a.intercept_, b.intercept_, rtol=rtol, atol=atol)


# ------------------------------------------------------------------------------- least squares


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("n", "p", "targets"), SHAPES)
def test_linear_regression_is_scikit_learns_and_lstsqs(n, p, targets, intercept, weighted):
    X, y = table(n, p, targets)
    w = weights(n) if weighted else None
    ours = LinearRegression(fit_intercept=intercept).fit(X, y, w)
    theirs = linear_model.LinearRegression(fit_intercept=intercept).fit(X, y, w)
    same_line(ours, theirs)
    assert ours.rank_ == theirs.rank_
    assert_allclose(ours.singular_[: ours.rank_], theirs.singular_[: ours.rank_], rtol=1e-9)
    assert ours.predict(X).shape == y.shape
    root = np.sqrt(np.ones(n) if w is None else w)[:, None]
    mean = np.average(np.column_stack([X, y]), axis=0, weights=w) * intercept
    A, B = X - mean[:p], y.reshape(n, -1) - mean[p:]
    assert_allclose(np.atleast_2d(ours.coef_).T, np.linalg.lstsq(A * root, B * root)[0], atol=1e-11)


@pytest.mark.parametrize("alpha", [0.0, 1e-12, 0.5, 1e6])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("n", "p", "targets"), SHAPES)
def test_ridge_is_scikit_learns(n, p, targets, intercept, alpha):
    X, y = table(n, p, targets)
    w = weights(n)
    ours = Ridge(alpha, fit_intercept=intercept).fit(X, y, w)
    theirs = linear_model.Ridge(alpha, fit_intercept=intercept, solver="svd").fit(X, y, w)
    same_line(ours, theirs, rtol=1e-7)
    assert ours.predict(X).shape == theirs.predict(X).shape


@pytest.mark.parametrize(("n", "p"), [(60, 4), (4, 9)])
def test_each_target_may_have_its_own_penalty(n, p):
    X, y = table(n, p, (3,))
    together = Ridge([0.0, 0.3, 40.0]).fit(X, y)
    for alpha, t in ((0.0, 0), (0.3, 1), (40.0, 2)):
        assert_allclose(together.coef_[t], Ridge(alpha).fit(X, y[:, t]).coef_, atol=1e-12)
    with pytest.raises(ValueError, match="2 != 3"):
        Ridge([1.0, 2.0]).fit(X, y)
    with pytest.raises(ValueError, match="negative"):
        Ridge([1.0, -2.0, 1.0]).fit(X, y)


@pytest.mark.parametrize("solver", ["auto", "cholesky", "svd"])
def test_solvers_of_ridge_agree(solver):
    X, y = table(200, 6)
    model = Ridge(0.7, solver=solver).fit(X, y)
    assert_allclose(model.coef_, exact(X, y, 0.7), rtol=1e-12)
    assert model.solver_ == ("svd" if solver == "svd" else "cholesky")


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 40), st.integers(1, 12), st.booleans())
def test_positive_coefficients_meet_the_conditions_of_kuhn_and_tucker(seed, n, p, intercept):
    X, y = table(n, p, seed=seed)
    for alpha in (0.0, 0.4):
        model = Ridge(alpha, positive=True, fit_intercept=intercept).fit(X, y)
        slope = X.T @ (model.predict(X) - y) + alpha * model.coef_
        assert (model.coef_ >= 0).all()
        assert (slope >= -1e-8).all()
        assert_allclose(slope * model.coef_, 0, atol=1e-8)


def test_positive_linear_regression_is_scikit_learns():
    X, y = table(50, 6, (2,))
    theirs = linear_model.LinearRegression(positive=True).fit(X, y, weights(50))
    same_line(LinearRegression(positive=True).fit(X, y, weights(50)), theirs)


# ------------------------------------------------------------------------------------ accuracy


@pytest.mark.parametrize("shift", [0, 1e3, 1e6])
@pytest.mark.parametrize("gap", [1.0, 1e-3, 1e-5, 1e-6, 1e-7])
def test_shifted_and_nearly_collinear_columns_lose_no_more_than_lstsq(shift, gap):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 3))
    X[:, 1] = X[:, 0] + gap * X[:, 1]
    X += shift
    y = X @ [1, 2, 3] + rng.normal(size=200)
    true = exact(X, y)
    limit = max(10 * worst(np.linalg.lstsq(X - X.mean(axis=0), y - y.mean())[0], true), 1e-8)
    for model in (LinearRegression(), Ridge(0.0), Ridge(0.0, solver="svd")):
        assert worst(model.fit(X, y).coef_, true) <= limit
    assert LinearRegression().fit(X, y).rank_ == 3
    assert worst(Ridge(1e-3).fit(X, y).coef_, exact(X, y, 1e-3)) < 1e-8


def test_accuracy_holds_over_many_chunks():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(20_000, 2))
    X[:, 1] = X[:, 0] + 1e-6 * X[:, 1]
    X += 1e6
    y = X @ [1, 2] + rng.normal(size=20_000)
    true = exact(X, y)
    limit = 10 * worst(np.linalg.lstsq(X - X.mean(axis=0), y - y.mean())[0], true)
    assert worst(LinearRegression().fit(X, y).coef_, true) <= limit


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_first_rows_may_be_unlike_the_rest(dtype):
    X, y = (a.astype(dtype) for a in table(900, 3))
    X[600:] += dtype(1e6 if dtype == np.float64 else 1e3)
    w = np.repeat([0.0, 1.0], [600, 300])
    model = LinearRegression().fit(X, y, w)
    true = exact(X[600:].astype(float), y[600:].astype(float))
    assert worst(model.coef_, true) < (1e-9 if dtype == np.float64 else 1e-5)


@pytest.mark.parametrize("p", [3, 5, 6, 8])
def test_hilbert_matrices(p):
    X = 1 / (np.arange(p + 4)[:, None] + np.arange(p) + 1.0)
    y = np.random.default_rng(p).normal(size=p + 4)
    true = exact(X, y)
    limit = max(10 * worst(np.linalg.lstsq(X - X.mean(axis=0), y - y.mean())[0], true), 1e-9)
    model = LinearRegression().fit(X, y)
    assert worst(model.coef_, true) <= limit
    assert model.rank_ == p


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e-150, 1e150, 1e200, 1e300])
@pytest.mark.parametrize("n", [60, 2])
def test_huge_and_tiny_numbers_only_scale_the_solution(n, scale):
    X, y = table(n, 3)
    plain = LinearRegression().fit(X, y).coef_
    assert_allclose(LinearRegression().fit(X * scale, y).coef_ * scale, plain, rtol=1e-10)
    assert_allclose(LinearRegression().fit(X, y * scale).coef_ / scale, plain, rtol=1e-10)
    assert_allclose(Ridge(0.0).fit(X * scale, y).coef_ * scale, plain, rtol=1e-10)


@pytest.mark.parametrize("scale", [1e-25, 1e20])
def test_float32_squares_may_leave_the_range(scale):
    X, y = (a.astype(np.float32) for a in table(60, 3))
    plain = LinearRegression().fit(X, y).coef_
    assert_allclose(
        LinearRegression().fit(X * np.float32(scale), y).coef_ * scale, plain, rtol=1e-4
    )


def test_squares_that_overflow_in_a_statistic_are_an_error():
    X, y = table(60, 3)
    with pytest.raises(ValueError, match="overflow"):
        LinearRegression().partial_fit(X * 1e200, y)


def test_columns_of_very_different_scales():
    X, y = table(60, 3)
    scale = np.array([1e-100, 1.0, 1e100])
    model = LinearRegression().fit(X * scale, y)
    assert_allclose(model.coef_ * scale, LinearRegression().fit(X, y).coef_, rtol=1e-10)
    assert model.rank_ == 3


@pytest.mark.parametrize("shift", [0, 1e2, 1e4])
@pytest.mark.parametrize("copies", [1, 30])
def test_float32_is_as_good_as_its_numbers(shift, copies):
    X, y = table(500, 5)
    X = np.tile(X + shift, (copies, 1)).astype(np.float32)
    y = np.tile(y, copies).astype(np.float32)
    true = linear_model.LinearRegression().fit(X.astype(float), y.astype(float))
    model = LinearRegression().fit(X, y)
    assert model.coef_.dtype == model.predict(X).dtype == np.float32
    assert_allclose(model.coef_, true.coef_, atol=1e-5)


# ------------------------------------------------------------------- dependent and flat columns


@pytest.mark.parametrize("how", ["fit", "partial_fit", "two parts", "sparse"])
def test_dependent_columns_give_the_shortest_solution(how):
    X, y = table(60, 4)
    X = np.column_stack([X, X[:, 0] + X[:, 1], X[:, 2]])
    model = {
        "fit": lambda: LinearRegression().fit(X, y),
        "partial_fit": lambda: LinearRegression().partial_fit(X, y),
        "two parts": lambda: LinearRegression().partial_fit(X[:9], y[:9]).partial_fit(X[9:], y[9:]),
        "sparse": lambda: LinearRegression().fit(sparse.csr_array(X), y),
    }[how]()
    D = X - X.mean(axis=0)
    assert_allclose(model.coef_, np.linalg.pinv(D, rcond=1e-10) @ y, atol=1e-10)
    assert model.rank_ == 4


@pytest.mark.parametrize("n", [2, 60, 500])
def test_in_float32_a_column_may_be_dependent_but_for_rounding(n):
    X, y = table(n, 4)
    X = np.column_stack([X, X[:, 0] + X[:, 1]])
    true = LinearRegression().fit(X, y)
    X, y = X.astype(np.float32), y.astype(np.float32)
    for model in (LinearRegression().fit(X, y), LinearRegression().partial_fit(X, y)):
        assert model.rank_ == true.rank_
        assert_allclose(model.coef_, true.coef_, atol=1e-5)


def test_more_columns_than_rows_interpolate_unless_equal_rows_disagree():  # [002, 4.2]
    X, y = table(5, 12)
    model = LinearRegression(fit_intercept=False).fit(X, y)
    assert_allclose(model.predict(X), y)
    assert_allclose(model.coef_, np.linalg.pinv(X) @ y)
    another = model.coef_ + np.linalg.svd(X)[2][-1]
    assert_allclose(X @ another, y)
    assert np.linalg.norm(model.coef_) < np.linalg.norm(another)
    X[1] = X[0]
    assert_allclose(LinearRegression().fit(X, y).predict(X)[:2], y[:2].mean())


def test_a_column_given_twice_shares_its_coefficient():  # [002, 4.2]
    X, y = table(40, 3)
    once = LinearRegression().fit(X, y)
    twice = LinearRegression().fit(np.column_stack([X, X[:, 0]]), y)
    assert_allclose(twice.coef_, once.coef_[[0, 1, 2, 0]] * [0.5, 1, 1, 0.5])
    assert_allclose(twice.predict(np.column_stack([X, X[:, 0]])), once.predict(X))


@pytest.mark.parametrize("value", [0.0, 0.1, 7.3, 1e6])
@pytest.mark.parametrize("n", [2, 60, 20_000])
@pytest.mark.parametrize("model", [LinearRegression(), Ridge(0.0), Ridge(1.0)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_constant_column_counts_for_nothing(model, n, value, dtype):
    X, y = (a.astype(dtype) for a in table(n, 3))
    X[:, 1] = value
    rtol = 1e-4 if dtype == np.float32 else 1e-9
    alone = clone(model).fit(X[:, [0, 2]], y)
    for fitted in (clone(model).fit(X, y), clone(model).partial_fit(X, y)):
        assert abs(fitted.coef_[1]) < 1e-12
        assert_allclose(fitted.coef_[[0, 2]], alone.coef_, rtol=rtol, atol=rtol)


def test_a_constant_target_is_the_constant():
    X, _ = table(60, 3)
    X[:, 1] = 0.1
    model = LinearRegression().fit(X, np.full(60, 0.1))
    assert_allclose(model.coef_, 0, atol=1e-15)
    assert_allclose(model.intercept_, 0.1, rtol=1e-15)
    outlier = LinearRegression().fit(np.full((5, 1), 0.1), [0, 0, 0, 0, 100])  # [004, 2.5]
    assert_allclose([outlier.coef_[0], outlier.intercept_, outlier.rank_], [0, 20, 0])


# ----------------------------------------------------------------------- properties of the notes


def test_worked_examples():
    X, y = np.arange(4.0)[:, None], np.array([1.0, 3, 4, 8])  # [004, 2.6]
    model = LinearRegression().fit(X, y)
    assert_allclose([model.intercept_, *model.coef_], [0.7, 2.2])
    assert_allclose(y - model.predict(X), [0.3, 0.1, -1.1, 0.7])
    model = Ridge(1.0).fit(X, y)  # [004, 2.7], the constant free and penalised
    assert_allclose([model.intercept_, *model.coef_], [1.25, 11 / 6])
    ones = np.column_stack([np.ones(4), X])
    assert_allclose(Ridge(1.0, fit_intercept=False).fit(ones, y).coef_, [10 / 13, 79 / 39])
    model = LinearRegression().fit([[0.0], [1], [2]], [1, 2, 4])  # [002, 1.2]
    assert_allclose([*model.coef_, model.intercept_], [1.5, 5 / 6])


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 60), st.integers(1, 8), st.floats(-1e4, 1e4))
def test_residuals_stand_on_the_columns(seed, n, p, shift):  # [002, 4.1; 004, 2.6]
    X, y = table(n, p, seed=seed)
    X += shift
    model = LinearRegression().fit(X, y)
    fitted = model.predict(X)
    left = y - fitted
    assert_allclose(left.sum(), 0, atol=1e-8)
    assert_allclose((X - X.mean(axis=0)).T @ left, 0, atol=1e-7)
    again = LinearRegression().fit(X, fitted)  # a projection: twice is once
    assert_allclose(again.predict(X), fitted, atol=1e-7)


def test_constants_are_a_column_of_ones():  # [002, 1.2; 004, 2.4]
    X, y = table(40, 3)
    model = LinearRegression().fit(X, y)
    ones = LinearRegression(fit_intercept=False).fit(np.column_stack([X, np.ones(40)]), y)
    assert_allclose([*model.coef_, model.intercept_], ones.coef_)
    centred = LinearRegression().fit(X - X.mean(axis=0), y - y.mean())  # [004, 2.3]
    assert_allclose(centred.intercept_, 0, atol=1e-15)


def test_polynomials():  # [001, 1.2]
    x = np.sort(np.random.default_rng(0).uniform(-1, 1, 8))
    y = np.sin(2 * np.pi * x)
    losses = []
    for degree in range(1, 8):
        X = x[:, None] ** np.arange(1, degree + 1)
        losses.append(np.mean((LinearRegression().fit(X, y).predict(X) - y) ** 2))
        exact_y = (X * np.arange(1, degree + 1)).sum(axis=1) - 3
        assert_allclose(LinearRegression().fit(X, exact_y).coef_, np.arange(1, degree + 1), 1e-7)
    assert (np.diff(losses) <= 1e-15).all()
    assert losses[-1] < 1e-20  # as many coefficients as points


def test_shrinkage():  # [001, 1.2; 003, unit 2; 004, 2.7]
    X, y = table(60, 5)
    alphas = np.logspace(-8, 8, 17)
    models = [Ridge(a).fit(X, y) for a in alphas]
    sizes = [np.linalg.norm(m.coef_) for m in models]
    errors = [np.sum((m.predict(X) - y) ** 2) for m in models]
    assert (np.diff(sizes) < 0).all()
    assert (np.diff(errors) >= -1e-9).all()
    assert_allclose(models[0].coef_, LinearRegression().fit(X, y).coef_, rtol=1e-8)
    assert sizes[-1] < 1e-5
    assert (np.abs(models[8].coef_) > 0).all()  # small, never exactly nothing [002, 3.4]


@pytest.mark.parametrize("lam", [0.01, 1.0, 30.0])
def test_penalties_of_means_sums_and_priors(lam):  # [002, 3.4; 003, unit 2; 001, 1.2]
    X, y = table(40, 3)
    X, y, n = X - X.mean(axis=0), y - y.mean(), 40
    mean_loss = np.linalg.solve(X.T @ X / n + lam * np.eye(3), X.T @ y / n)
    assert_allclose(Ridge(n * lam).fit(X, y).coef_, mean_loss)
    sum_loss = np.linalg.solve(X.T @ X + lam * np.eye(3), X.T @ y)
    assert_allclose(Ridge(lam).fit(X, y).coef_, sum_loss)
    noise, prior = 0.7, 0.7 / np.sqrt(lam)  # a Gaussian prior: alpha = (noise / prior)^2
    posterior = np.linalg.solve(np.eye(3) / prior**2 + X.T @ X / noise**2, X.T @ y / noise**2)
    assert_allclose(Ridge((noise / prior) ** 2).fit(X, y).coef_, posterior)
    twice = Ridge(2 * lam).fit(np.vstack([X, X]), np.append(y, y))
    assert_allclose(twice.coef_, sum_loss)


def test_least_squares_on_one_hot_labels_sums_to_one():  # [004, 3.5]
    X, y = load_iris(return_X_y=True)
    model = LinearRegression().fit(X, np.eye(3)[y])
    assert_allclose(model.predict(X).sum(axis=1), 1)


# ------------------------------------------------------------------- sparse rows, parts, merging


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("model", [LinearRegression(), Ridge(0.1), Ridge(0.1, positive=True)])
@pytest.mark.parametrize(("n", "p"), [(300, 40), (30, 60)])
def test_sparse_is_dense(model, intercept, n, p):
    X = sparse.random_array((n, p), density=0.2, rng=np.random.default_rng(0), format="csr")
    _, y = table(n, 1, (2,))
    model.set_params(fit_intercept=intercept)
    coef = model.fit(X.toarray(), y, weights(n)).coef_.copy()
    assert_allclose(model.fit(X, y, weights(n)).coef_, coef, atol=1e-9)
    assert_allclose(model.predict(X), model.predict(X.toarray()), atol=1e-12)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
def test_many_sparse_columns_go_to_conjugate_gradients(intercept, weighted):
    X = sparse.random_array((200, 5000), density=0.01, rng=np.random.default_rng(0), format="csr")
    _, y = table(200, 1, (2,))
    w = weights(200) if weighted else None
    options = {"alpha": [0.1, 30.0], "fit_intercept": intercept}
    ours = Ridge(**options, tol=1e-10).fit(X, y, w)
    same_line(
        ours, linear_model.Ridge(**options, tol=1e-12, solver="sparse_cg").fit(X, y, w), atol=1e-9
    )
    assert ours.solver_ == "sparse_cg"
    assert ours.n_iter_ == len(ours.history_["objective"]) > 1
    assert (np.diff(ours.history_["objective"]) <= 1e-12).all()
    ours = LinearRegression(fit_intercept=intercept, tol=1e-10).fit(X, y, w)
    theirs = linear_model.LinearRegression(fit_intercept=intercept, tol=1e-12).fit(X, y, w)
    same_line(ours, theirs, atol=1e-9)


def test_limits_of_conjugate_gradients():
    X = sparse.random_array((50, 4097), density=0.01, rng=np.random.default_rng(0), format="csr")
    _, y = table(50, 1)
    with pytest.warns(ConvergenceWarning, match="max_iter=1 "):
        Ridge(max_iter=1).fit(X, y)
    with pytest.raises(ValueError, match="4096"):
        Ridge(positive=True).fit(X, y)
    with pytest.raises(ValueError, match="4096"):
        Ridge().partial_fit(X, y)
    assert_allclose(Ridge().fit(X, np.full(50, 2.0)).coef_, 0, atol=1e-12)
    few = X[:, :30]
    cholesky = Ridge().fit(few, y)
    assert_allclose(Ridge(solver="sparse_cg", tol=1e-12).fit(few, y).coef_, cholesky.coef_)


@pytest.mark.parametrize("model", [LinearRegression(), Ridge(0.3), Ridge(0.3, positive=True)])
@pytest.mark.parametrize("cuts", [[45], [7, 60], [1, 2, 3], range(1, 90)])
def test_parts_merge_into_the_whole(model, cuts):
    X, y = table(90, 4, (2,))
    X += 1e3
    w = weights(90) + 0.5
    whole = model.fit(X, y, w)
    same = (whole.coef_.copy(), whole.intercept_.copy())
    parts = np.split(np.arange(90), cuts)
    learner = clone(model)
    merged = None
    for part in parts:
        learner.partial_fit(X[part], y[part], w[part])
        alone = clone(model).partial_fit(X[part], y[part], w[part])
        merged = alone if merged is None else tenfold.merge(merged, alone)
    for joined in (learner, merged):
        assert_allclose(joined.coef_, same[0], rtol=1e-8, atol=1e-11)
        assert_allclose(joined.intercept_, same[1], rtol=1e-8)
        assert joined.statistic_.rows == 90
        assert_allclose(joined.statistic_.n, w.sum())


def test_the_statistic_holds_the_moments_of_rows_and_targets():
    X, y = table(90, 4, (2,))
    Z = np.column_stack([X, y])
    s = Ridge().fit(X, y).statistic_
    assert_allclose(s.mean, Z.mean(axis=0))
    assert_allclose(s.scatter, np.cov(Z.T) * 89)


def test_what_cannot_merge_says_so():
    X, y = table(30, 4)
    wide = Ridge().fit(X[:3], y[:3])  # fewer rows than columns: there is no statistic
    with pytest.raises(TypeError, match="partial_fit"):
        wide.partial_fit(X, y)
    with pytest.raises(TypeError, match="statistic"):
        tenfold.merge(wide, wide)
    with pytest.raises(ValueError, match="equal parameters"):
        tenfold.merge(Ridge(1.0).fit(X, y), Ridge(2.0).fit(X, y))
    with pytest.raises(ValueError, match="columns"):
        tenfold.merge(Ridge().fit(X, y), Ridge().fit(X[:, :3], y))
    frame = pd.DataFrame(X, columns=list("abcd"))
    with pytest.raises(ValueError, match="order"):
        tenfold.merge(Ridge().fit(frame, y), Ridge().fit(frame[list("badc")], y))


# ------------------------------------------------------------------------- logistic regression


def votes(k, n=300, p=4, seed=0):
    """Rows whose labels come from a softmax model."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, (X @ rng.normal(size=(p, k)) + rng.gumbel(size=(n, k))).argmax(axis=1)


def objective(theta, X, y, C=1.0, w=None, *, intercept=True):
    """C times the weighted loss + |coefficients|^2 / 2, over the weight; the notes' formula."""
    w = np.ones(len(y)) if w is None else w
    scores = X @ theta[:, :-1].T + theta[:, -1] * intercept
    scores = np.hstack([0 * scores, scores]) if len(theta) == 1 else scores
    loss = logsumexp(scores, axis=1) - scores[np.arange(len(y)), y]
    penalty = 0.0 if np.isinf(C) else np.sum(theta[:, :-1] ** 2) / (2 * C)
    return (w @ loss + penalty) / w.sum()


def theta_of(model):
    return np.column_stack([model.coef_, np.broadcast_to(model.intercept_, len(model.coef_))])


def slope_of(f, theta, e=1e-5):
    """Gradient by central differences."""
    steps = e * np.eye(theta.size).reshape(-1, *theta.shape)
    return np.array([(f(theta + s) - f(theta - s)) / (2 * e) for s in steps])


@pytest.mark.parametrize("solver", ["newton-cholesky", "lbfgs"])
@pytest.mark.parametrize("C", [1e-4, 1e-2, 1.0, 1e2, 1e4, np.inf])
@pytest.mark.parametrize("k", [2, 3, 5])
def test_objective_is_at_most_scikit_learns(k, C, solver):
    X, y = votes(k)
    w = weights(300)
    for options in ({}, {"fit_intercept": False}):
        both = {"C": C, "tol": 1e-9, "max_iter": 1000, **options}
        ours = LogisticRegression(solver=solver, **both).fit(X, y, w)
        theirs = linear_model.LogisticRegression(solver="newton-cholesky", **both).fit(X, y, w)
        f = objective(theta_of(ours), X, y, C, w)
        assert f <= objective(theta_of(theirs), X, y, C, w) * (1 + 1e-9)
        assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)
        assert_allclose(ours.coef_, theirs.coef_, atol=1e-5 * np.abs(theirs.coef_).max())
        assert_allclose(ours.history_["objective"][-1], f, rtol=1e-12)
        assert (np.diff(ours.history_["objective"]) <= 1e-13).all()


@pytest.mark.parametrize("class_weight", ["balanced", {0: 3.0, 1: 0.5}])
@pytest.mark.parametrize("k", [2, 3])
def test_class_weights_are_scikit_learns(k, class_weight):
    X, y = votes(k)
    both = {"class_weight": class_weight, "tol": 1e-9, "solver": "newton-cholesky"}
    for w in (None, weights(300)):
        ours = LogisticRegression(**both).fit(X, y, w)
        theirs = linear_model.LogisticRegression(**both).fit(X, y, w)
        assert_allclose(ours.coef_, theirs.coef_, atol=1e-7)
    with pytest.raises(ValueError, match="no labels"):
        LogisticRegression(class_weight={7: 1.0}).fit(X, y)


@pytest.mark.parametrize("solver", ["newton-cholesky", "lbfgs"])
@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("sparsely", [False, True])
def test_the_slope_at_the_solution_is_nothing(k, solver, sparsely):
    X, y = votes(k)
    model = LogisticRegression(C=0.5, solver=solver, tol=1e-8)
    model.fit(sparse.csr_array(X) if sparsely else X, y)
    slope = slope_of(lambda t: objective(t, X, y, 0.5), theta_of(model))
    assert_allclose(slope, 0, atol=1e-6)
    if k > 2:  # the penalty picks the coefficients that sum to nothing
        assert_allclose(model.coef_.sum(axis=0), 0, atol=1e-9)


def test_no_point_nearby_is_better():  # the objective is convex [002, 2.3]
    X, y = votes(3)
    best = theta_of(LogisticRegression(tol=1e-9).fit(X, y))
    f = objective(best, X, y)
    for step in np.random.default_rng(0).normal(size=(50, *best.shape)):
        for size in (1e-3, 0.1, 3.0):
            assert objective(best + size * step, X, y) > f


def test_two_classes_are_softmax_with_two_rows():  # [002, 2.3; 000, 1.5]
    X, y = votes(2)
    model = LogisticRegression(C=2.0, tol=1e-10).fit(X, y)
    halves = np.stack([-theta_of(model)[0], theta_of(model)[0]]) / 2
    scores = X @ halves[:, :-1].T + halves[:, -1]
    assert_allclose(model.predict_log_proba(X), log_softmax(scores, axis=1), atol=1e-12)
    # two rows w/2 and -w/2 have half the squared length of w: the same with half of C
    slope = slope_of(lambda t: objective(t, X, y, 1.0), halves)
    assert_allclose(slope, 0, atol=1e-8)


def test_softmax_of_the_notes():  # [002, 2.3; 003, unit 2; 004, 3.6]
    X, y = votes(3)
    model = LogisticRegression().fit(X, y)
    cases = {(2, 1, -3): (0.72748, 0.26762, 0.00490), (1, 2, 3): (0.0900, 0.2447, 0.6652)}
    cases |= {(4, 1, 7): (0.047, 0.002, 0.950), (0.1, 0.2, 0.3): (0.3006, 0.3322, 0.3672)}
    for logits, p in cases.items():
        model.coef_, model.intercept_ = np.zeros((3, 4)), np.array(logits, dtype=float)
        assert_allclose(model.predict_proba(X[:1])[0], p, atol=6e-4)
        model.intercept_ += 1000  # a shift of all scores changes nothing
        assert_allclose(model.predict_proba(X[:1])[0], p, atol=6e-4)
        assert model.predict(X[:1])[0] == np.argmax(logits)


def test_at_zero_the_loss_is_the_log_of_the_number_of_classes():
    X, y = votes(5)
    with pytest.warns(ConvergenceWarning, match="max_iter=0 "):
        model = LogisticRegression(max_iter=0).fit(X, y)
    assert_allclose(model.predict_log_proba(X), -np.log(5))


@pytest.mark.parametrize("k", [2, 3])
def test_log_probabilities_at_extreme_scores(k):
    X, y = votes(k)
    model = LogisticRegression().fit(X, y)
    for size in (1.0, 1e4, 1e100, 1e300):
        logs, p = model.predict_log_proba(X * size), model.predict_proba(X * size)
        assert np.isfinite(logs).all()
        assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
        assert_allclose(p, np.exp(logs), rtol=1e-9, atol=1e-300)
        assert_array_equal(model.predict(X * size), p.argmax(axis=1))
    scores = model.decision_function(X)
    assert scores.shape == ((300,) if k == 2 else (300, 3))
    assert_array_equal(model.predict(X), scores > 0 if k == 2 else scores.argmax(axis=1))


@pytest.mark.parametrize("solver", ["newton-cholesky", "lbfgs"])
def test_unscaled_columns_need_few_rounds(solver):
    rng = np.random.default_rng(0)
    scale = 10.0 ** np.linspace(-3, 3, 7)
    X = (rng.normal(size=(500, 7)) + rng.normal(size=7)) * scale
    y = (X / scale) @ rng.normal(size=7) + rng.logistic(size=500) > 0
    ours = LogisticRegression(C=100.0, solver=solver).fit(X, y)
    theirs = linear_model.LogisticRegression(C=100.0, max_iter=3000).fit(X, y)
    assert 5 * ours.n_iter_[0] < theirs.n_iter_[0]
    f = objective(theta_of(ours), X, y.astype(int), 100.0)
    assert f <= objective(theta_of(theirs), X, y.astype(int), 100.0) * (1 + 1e-9)


@pytest.mark.parametrize("solver", ["newton-cholesky", "lbfgs"])
@pytest.mark.parametrize("shift", [10.0, 1e3, 1e5, 1e6])
def test_a_shift_of_the_columns_only_moves_the_constant(solver, shift):
    X, y = votes(2)
    near = LogisticRegression(tol=1e-9).fit(X, y)
    far = LogisticRegression(solver=solver).fit(X + shift, y)
    assert_allclose(far.coef_, near.coef_, atol=1e-4)
    assert_allclose(far.predict_proba(X + shift), near.predict_proba(X), atol=1e-4)


@pytest.mark.parametrize("solver", ["newton-cholesky", "lbfgs"])
@pytest.mark.parametrize("k", [2, 3])
def test_separable_rows_end_with_finite_coefficients(solver, k):
    X, _ = votes(k)
    y = np.digitize(X[:, 0], [0.0, 1.0][: k - 1])
    with pytest.warns(ConvergenceWarning, match="separable"):
        model = LogisticRegression(C=np.inf, solver=solver, max_iter=500).fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert not model.converged_
    assert model.score(X, y) == 1.0
    small = LogisticRegression(C=1.0, solver=solver).fit(X, y)
    assert np.abs(small.coef_).max() < np.abs(model.coef_).max()  # [000, 1.4]


@pytest.mark.parametrize("solver", ["newton-cholesky", "lbfgs"])
def test_warm_start_takes_fewer_rounds(solver):
    X, y = votes(3)
    model = LogisticRegression(warm_start=True, solver=solver, tol=1e-6).fit(X, y)
    first, coef = model.n_iter_[0], model.coef_.copy()
    assert model.fit(X, y).n_iter_[0] <= 1 < first
    assert_allclose(model.coef_, coef, atol=1e-5)
    assert model.set_params(C=1.1).fit(X, y).n_iter_[0] < first
    assert model.fit(X[:, :2], y).coef_.shape == (3, 2)  # another width starts afresh


@pytest.mark.parametrize("solver", ["auto", "newton-cholesky", "lbfgs"])
def test_too_few_rounds_warn(solver):
    X, y = votes(3)
    with pytest.warns(ConvergenceWarning, match="max_iter=1 "):
        model = LogisticRegression(max_iter=1, solver=solver).fit(X, y)
    assert not model.converged_
    assert model.n_iter_ == [1]
    assert len(model.history_["objective"]) == 1


@pytest.mark.parametrize(
    "labels", [["b", "a"], [True, False], [-1, 1], [2.0, 7.0], np.array(["b", "aa"], dtype=object)]
)
def test_labels_of_any_type(labels):
    X, y = votes(2)
    y = np.asarray(labels)[y]
    ours = LogisticRegression(tol=1e-9).fit(X, y)
    theirs = linear_model.LogisticRegression(tol=1e-9, solver="newton-cholesky").fit(X, y)
    assert_array_equal(ours.classes_, theirs.classes_)
    assert_array_equal(ours.predict(X), theirs.predict(X))
    assert ours.predict(X).dtype == theirs.predict(X).dtype
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-7)


def test_labels_that_cannot_be_learned():
    X, y = votes(2)
    with pytest.raises(ValueError, match="one class"):
        LogisticRegression().fit(X, np.zeros(300))
    with pytest.raises(ValueError, match="continuous"):
        LogisticRegression().fit(X, X[:, 0])
    with pytest.raises(ValueError, match="C"):
        LogisticRegression(C=0.0).fit(X, y)


@pytest.mark.parametrize("solver", ["newton-cholesky", "lbfgs"])
def test_float32_logistic(solver):
    X, y = votes(3)
    model = LogisticRegression(solver=solver).fit(X.astype(np.float32), y)
    assert model.coef_.dtype == model.predict_proba(X.astype(np.float32)).dtype == np.float32
    assert_allclose(model.coef_, LogisticRegression(tol=1e-9).fit(X, y).coef_, atol=2e-3)


def test_wide_rows():
    X, y = votes(3, n=40, p=400)
    for rows in (X, sparse.csr_array(X)):
        ours = LogisticRegression(tol=1e-8, max_iter=500).fit(rows, y)
        slope = slope_of(lambda t: objective(t, X, y), theta_of(ours), 1e-4)
        assert_allclose(slope, 0, atol=1e-6)


def test_conjugate_gradients_solve_dense_problems_too():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(300, 12)) + 1
    y = X @ rng.normal(size=12) + rng.normal(size=300)
    exact = Ridge(alpha=2.0).fit(X, y)
    iterated = Ridge(alpha=2.0, solver="sparse_cg", tol=1e-12).fit(X, y)
    assert iterated.n_iter_ > 1
    np.testing.assert_allclose(iterated.coef_, exact.coef_, rtol=1e-8)
    np.testing.assert_allclose(iterated.intercept_, exact.intercept_, rtol=1e-8)
