"""Least squares and ridge against exact arithmetic."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn import linear_model
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import tenfold
from tenfold import LinearRegression, Ridge
from tenfold.datasets import load_iris
from tests.linear.exact_solutions import exact, weights

SHAPES = [(50, 3, ()), (50, 3, (2,)), (4, 9, ()), (4, 9, (2,)), (5, 5, ()), (1, 1, ()), (1, 3, ())]


SHAPES += [(2, 1, ()), (9, 1, (1,)), (6, 5, ()), (5, 6, ()), (20_000, 4, (3,))]


def table(n, p, targets=(), seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, p)), rng.normal(size=(n, *targets))


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
