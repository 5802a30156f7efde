"""Redundant columns and what they leave open (L22); least squares as a projection (L01)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.preprocessing import OneHotEncoder

import tenfold
from tenfold import LinearRegression, Ridge
from tenfold.inspection.collinearity import equivalent_coefficients, find_redundant_columns
from tenfold.inspection.leverage import hat_matrix, leverages, regression_diagnostics


def columns(n=60, seed=0):
    return np.random.default_rng(seed).normal(size=(4, n))


def test_every_kind_is_found_and_told():
    a, b, c, _ = columns() + 5
    z = np.arange(60) % 3
    X = np.column_stack(
        [a, b, a, 3 * a - 2, a - 2 * b + 4, np.full(60, 7.0), z == 0, z == 1, z == 2, c]
    )
    found = find_redundant_columns(X)
    assert [(d.column, d.kind, d.exact) for d in found.dependences] == [
        (2, "duplicate", True),
        (3, "multiple", True),
        (4, "combination", True),
        (5, "constant", True),
        (8, "one-hot", True),
    ]
    assert found.independent.tolist() == [0, 1, 6, 7, 9]
    assert found.rank == 5 == np.linalg.matrix_rank(X - X.mean(axis=0))
    assert found.condition == np.inf
    for d in found.dependences:
        assert_allclose(X @ d.weights + d.constant, X[:, d.column], atol=1e-10)
    report = str(found)
    assert "x2 is a duplicate of x0" in report
    assert "x3 = +3 x0 -2" in report
    assert "x8 is one-hot with x6, x7: they sum to 1" in report
    assert "<pre>" in found._repr_html_()


def test_nothing_redundant_is_said_plainly():
    X = columns().T
    found = find_redundant_columns(X, names=list("abcd"))
    assert str(found).startswith("0 of 4 columns redundant, rank 4, condition ")
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    assert found.condition == pytest.approx(np.linalg.cond(Z))
    assert found.null_space.shape == (5, 0)


def test_a_near_duplicate_is_near_not_exact():
    """[002, E45] Almost identical columns: nothing is free, yet one more row turns the weights."""
    a, b, c, _ = columns()
    X = np.column_stack([a, b, a + 1e-4 * c])
    found = find_redundant_columns(X)
    (d,) = found.dependences
    assert (d.column, d.kind, d.exact) == (2, "duplicate", False)
    assert 0.5e-4 < d.residual_share < 2e-4
    assert found.null_space.shape[1] == 0
    assert 1e4 < found.condition < 1e5
    y = a + 0.01 * b
    before = LinearRegression().fit(X, y).coef_
    more = LinearRegression().fit(np.vstack([X, [1, 0, 1.001]]), np.append(y, 2)).coef_
    assert np.abs(more - before).max() > 10
    calm = [
        Ridge(1.0).fit(*data).coef_
        for data in ((X, y), (np.vstack([X, [1, 0, 1.001]]), np.append(y, 2)))
    ]
    assert np.abs(calm[1] - calm[0]).max() < 0.1


def test_one_hot_is_redundant_beside_a_constant_only():
    """[002, E13] One column of indicators too many, whether the constant is implied or given."""
    X = OneHotEncoder(sparse_output=False).fit_transform(np.arange(30)[:, None] % 4)
    assert [d.kind for d in find_redundant_columns(X).dependences] == ["one-hot"]
    assert find_redundant_columns(X, intercept=False).rank == 4
    given_too = np.column_stack([np.ones(30), X])
    (d,) = find_redundant_columns(given_too, intercept=False).dependences
    assert_allclose(d.weights, [1, -1, -1, -1, 0], atol=1e-12)


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.booleans())
def test_null_space_changes_no_prediction(seed, extra, intercept):
    rng = np.random.default_rng(seed)
    base = rng.normal(size=(40, 3)) + rng.normal(size=3)
    X = np.column_stack([base, base @ rng.integers(-3, 4, size=(3, extra)) + intercept * 2.0])
    found = find_redundant_columns(X, intercept=intercept)
    N = found.null_space
    assert N.shape == (X.shape[1] + intercept, extra)
    assert np.linalg.matrix_rank(N) == extra
    Z = np.column_stack([X, np.ones(40)]) if intercept else X
    w = rng.normal(size=len(N))
    other = equivalent_coefficients(w, N, rng.normal(size=extra))
    assert_allclose(Z @ other, Z @ w, atol=1e-9)


def test_two_equal_columns_leave_their_difference_free():
    """[002, E45] v = e_i - e_j; the fit takes the shortest of all solutions."""
    a, b, *_ = columns()
    X = np.column_stack([a, b, a])
    y = 3 * a - b
    model = LinearRegression().fit(X, y)
    found = find_redundant_columns(X)
    assert_allclose(found.null_space.ravel(), [-1, 0, 1, 0], atol=1e-12)
    w = np.append(model.coef_, model.intercept_)
    assert_allclose(w, [1.5, -1, 1.5, 0], atol=1e-12)
    wild = equivalent_coefficients(w, found.null_space, 1e3)
    assert_allclose(X @ wild[:3] + wild[3], y, atol=1e-9)
    assert np.linalg.norm(wild) > np.linalg.norm(w)
    with pytest.raises(ValueError, match="append"):
        equivalent_coefficients(model.coef_, found.null_space, 1.0)


def test_fewer_rows_than_columns():
    """[002, E44] n rows leave p + 1 - n directions free."""
    X = np.random.default_rng(0).normal(size=(6, 10))
    found = find_redundant_columns(X)
    assert found.rank == 5
    assert found.null_space.shape == (11, 5)
    assert "... " not in str(found)
    assert_allclose(np.column_stack([X, np.ones(6)]) @ found.null_space, 0, atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_any_rows_tell_the_same(tmp_path, dtype):
    a, b, _, _ = columns(20_000)
    X = np.column_stack([a, b + 3, a, 2 * a - b, np.ones_like(a)]).astype(dtype)
    np.save(tmp_path / "X.npy", X)
    here = find_redundant_columns(X)
    assert [d.kind for d in here.dependences] == ["duplicate", "combination", "constant"]
    there = find_redundant_columns(tmp_path / "X.npy")
    assert_array_equal(here.null_space, there.null_space)
    thin = find_redundant_columns(sparse.csr_array(X))
    assert str(thin) == str(here)


def test_corners():
    assert find_redundant_columns(np.full((5, 2), 3.0)).rank == 0
    assert (
        find_redundant_columns(np.zeros((5, 1)), intercept=False).dependences[0].kind == "constant"
    )
    with pytest.raises(ValueError, match="too many"):
        find_redundant_columns(np.zeros((2, 6000)))


# -------------------------------------------------------------------------------- projection
def wide_and_tall():
    rng = np.random.default_rng(1)
    return rng.normal(size=(30, 4)) + 2, rng.normal(size=30), rng.uniform(0.5, 2, 30)


def test_hat_matrix_is_the_projection_on_the_columns():
    """[004, 2-15] Symmetric, idempotent, H y the fit; residuals orthogonal to every column."""
    X, y, _ = wide_and_tall()
    H = hat_matrix(X)
    assert_allclose(H, H.T, atol=1e-12)
    assert_allclose(H @ H, H, atol=1e-12)
    assert np.trace(H) == pytest.approx(5)
    assert_allclose(H @ y, LinearRegression().fit(X, y).predict(X))
    assert_allclose(np.column_stack([X, np.ones(30)]).T @ (y - H @ y), 0, atol=1e-10)
    assert_allclose(hat_matrix(X, intercept=False), X @ np.linalg.pinv(X), atol=1e-12)


def test_hat_matrix_with_weights_penalty_and_dependent_columns():
    X, y, w = wide_and_tall()
    H = hat_matrix(X, w)
    assert_allclose(H @ y, LinearRegression().fit(X, y, w).predict(X))
    assert_allclose(H @ H, H, atol=1e-12)
    ridge = hat_matrix(X, w, alpha=3.0)
    assert_allclose(ridge @ y, Ridge(3.0).fit(X, y, w).predict(X))
    assert np.trace(ridge) < 5
    twice = np.column_stack([X, X[:, 0]])
    assert_allclose(hat_matrix(twice), hat_matrix(X), atol=1e-9)


def test_leverages_are_the_diagonal_wherever_the_rows_lie(tmp_path):
    X, y, w = wide_and_tall()
    assert_allclose(leverages(X, weights=w), np.diag(hat_matrix(X, w)), atol=1e-13)
    for model in (LinearRegression(), Ridge(2.0), LinearRegression(fit_intercept=False)):
        alpha = getattr(model, "alpha", 0.0)
        full = hat_matrix(X, intercept=model.fit_intercept, alpha=alpha)
        assert_allclose(leverages(X, model.fit(X, y)), np.diag(full), atol=1e-12)
    big = np.random.default_rng(0).normal(size=(20_000, 5))
    np.save(tmp_path / "X.npy", big)
    h = leverages(tmp_path / "X.npy")
    assert h.sum() == pytest.approx(6)
    assert_array_equal(h, leverages(big))


@pytest.mark.parametrize("model", [LinearRegression(), Ridge(0.7), Ridge(0.7, fit_intercept=False)])
def test_leave_one_out_residuals_are_those_of_refits(model):
    X, y, w = wide_and_tall()
    seen = regression_diagnostics(model.fit(X, y, w), X, y, w)
    for i in (0, 11, 29):
        rest = np.arange(30) != i
        alone = model.__class__(**model.get_params()).fit(X[rest], y[rest], w[rest])
        assert seen.leave_one_out[i] == pytest.approx(y[i] - alone.predict(X[[i]])[0])


def test_facts_of_the_worked_example():
    """[004, 2-12, 2-14] Line 0.7 + 2.2 x; half the squared residuals is 0.9, beta = 4 / 1.8."""
    X, y = np.arange(4.0)[:, None], np.array([1.0, 3.0, 4.0, 8.0])
    model = LinearRegression().fit(X, y)
    seen = regression_diagnostics(model, X, y)
    assert_allclose([model.intercept_, *model.coef_], [0.7, 2.2])
    assert_allclose(seen.residuals, [0.3, 0.1, -1.1, 0.7])
    assert (seen.residuals**2).sum() / 2 == pytest.approx(0.9)
    assert len(y) / (seen.residuals**2).sum() == pytest.approx(2.2222, abs=1e-4)
    assert seen.degrees == pytest.approx(2)
    assert seen.noise == pytest.approx(0.9)
    assert seen.orthogonality < 1e-14
    assert seen.r2 == pytest.approx(model.score(X, y))
    assert_allclose(seen.fitted + seen.residuals, y)


def test_a_row_that_alone_fixes_a_coefficient_has_leverage_one():
    X = np.array([[0.0], [0.0], [0.0], [5.0]])
    y = np.array([1.0, 2.0, 3.0, 7.0])
    seen = regression_diagnostics(LinearRegression().fit(X, y), X, y)
    assert seen.leverages[3] == pytest.approx(1)
    assert np.isnan(seen.leave_one_out[3])
    assert_allclose(seen.leave_one_out[:3], [-1.5, 0, 1.5], atol=1e-12)
    opened = tenfold.open(np.column_stack([X, y]), target=-1)
    assert opened.n_features == 1
