"""Huber and quantile regression against scikit-learn, linear programming and the notes."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import linear_model
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model._huber import _huber_loss_and_gradient

from tenfold import LinearRegression
from tenfold.engine import Chunk, Rows, merge
from tenfold.engine.arrays import ArraySource
from tenfold.linear._quantile_lp import pinball_pieces
from tenfold.linear.huber import HuberObjective, HuberRegressor
from tenfold.linear.quantile import QuantileRegressor

# scikit-learn 1.9, which stops after about five digits: constant, coefficients, scale
HUBER = [0.4371008, 1.1478085, -0.5214764, 0.3213389, 0.9322321]
HUBER_RIDGE = [0.4325363, 1.1239075, -0.5109858, 0.3159664, 0.9370273]  # alpha=0.5
# scikit-learn 1.9 by HiGHS, quantile=0.3: constant and coefficients
QUANTILE = [-0.4828738832306475, 1.0167038862264974, -0.47756180432552664, 0.5046580837956687]
LASSO = [-0.3352819554872646, 0.731192404789379, -0.24146166459094812, 0.30935027763043843]  # 0.05


def table():
    """60 rows with heavy tails."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 3))
    z = X @ [1.0, -0.5, 0.25] + 0.3
    rng.normal(size=60), rng.poisson(np.exp(z))  # drawn here, used in another test file
    return X, z + rng.standard_t(2, size=60)


def noisy(n, p, seed=0):
    """Rows on several scales, shifted, with heavy and uneven noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * np.logspace(-1, 1, p) + 1
    return X, X @ rng.normal(size=p) + rng.standard_t(2, size=n) * (1 + np.abs(X[:, 0]) / 2) + 5


def line(model):
    return np.append(model.intercept_, model.coef_)


# ------------------------------------------------------------------------------------------ Huber


def huber_slope(model, X, y, w=None):
    """Objective and gradient at a fitted model, by scikit-learn's function."""
    theta = np.concatenate([model.coef_, [model.intercept_], [model.scale_]])
    w = np.ones(len(y)) if w is None else w
    return _huber_loss_and_gradient(theta, X, y, model.epsilon, model.alpha, w)


def test_huber_is_scikit_learns():
    X, y = table()
    for alpha, wanted in [(0.0, HUBER), (0.5, HUBER_RIDGE)]:
        model = HuberRegressor(alpha=alpha).fit(X, y)
        assert_allclose(np.append(line(model), model.scale_), wanted, rtol=1e-4)


@pytest.mark.parametrize("alpha", [0.0, 1e-4, 1.0])
@pytest.mark.parametrize("epsilon", [1.1, 1.35, 3.0])
def test_huber_has_no_slope_left_and_beats_scikit_learn(alpha, epsilon):
    X, y = noisy(400, 4)
    ours = HuberRegressor(alpha=alpha, epsilon=epsilon, tol=1e-8).fit(X, y)
    value, slope = huber_slope(ours, X, y)
    assert_allclose(slope, 0, atol=1e-6)
    theirs = linear_model.HuberRegressor(alpha=alpha, epsilon=epsilon, max_iter=10_000).fit(X, y)
    assert value <= huber_slope(theirs, X, y)[0] * (1 + 1e-12)
    assert ours.history_["objective"][-1] == pytest.approx(value, rel=1e-12)
    off = np.abs(y - ours.predict(X)) > epsilon * ours.scale_
    assert_array_equal(ours.outliers_, off)


def test_huber_from_a_sample_of_many_rows():
    X, y = noisy(40_000, 3)
    model = HuberRegressor(tol=1e-5).fit(X, y)
    assert np.abs(huber_slope(model, X, y)[1]).max() / len(X) < 1e-6
    assert model.n_iter_ <= 6


def test_huber_weights_sparse_and_scales():
    X, y = table()
    w = np.random.default_rng(1).integers(0, 3, len(X))
    weighed = HuberRegressor().fit(X, y, w)
    repeated = HuberRegressor().fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    assert_allclose(line(weighed), line(repeated), rtol=1e-6)
    assert_allclose(weighed.scale_, repeated.scale_, rtol=1e-6)
    assert_allclose(huber_slope(weighed, X, y, w)[1], 0, atol=1e-5)
    assert_allclose(line(HuberRegressor().fit(sparse.csr_array(X), y, w)), line(weighed), rtol=1e-9)
    plain = HuberRegressor(alpha=0).fit(X, y)
    for factor in (1e-8, 1e8):  # the scale goes along, the same rows are outliers
        scaled = HuberRegressor(alpha=0, tol=0.0).fit(X, factor * y)
        assert_allclose(line(scaled), factor * line(plain), rtol=1e-6)
        assert scaled.scale_ == pytest.approx(factor * plain.scale_, rel=1e-6)
        assert_array_equal(scaled.outliers_, plain.outliers_)


def test_huber_outliers_count_little():
    """004, 2.5: squares are not robust. One wild row moves one fit and not the other."""
    X, y = noisy(200, 2)
    y[0] += 1e6
    truth = HuberRegressor(alpha=0).fit(X[1:], y[1:])
    assert_allclose(line(HuberRegressor(alpha=0).fit(X, y)), line(truth), atol=0.1)
    assert np.abs(line(LinearRegression().fit(X, y)) - line(truth)).max() > 1000


def test_huber_of_a_huge_epsilon_is_least_squares():
    X, y = table()
    huber, squares = HuberRegressor(epsilon=1e3, alpha=0).fit(X, y), LinearRegression().fit(X, y)
    assert_allclose(line(huber), line(squares), rtol=1e-6)
    assert huber.scale_ == pytest.approx(np.sqrt(np.mean((y - squares.predict(X)) ** 2)), rel=1e-8)


@pytest.mark.parametrize("shape", [(100, 3), (5, 20), (30, 30)])
def test_huber_of_an_exact_plane(shape):
    X = np.random.default_rng(0).normal(size=shape)
    y = X @ np.arange(1.0, shape[1] + 1) + 7
    model = HuberRegressor(alpha=0).fit(X, y)
    assert_allclose(model.predict(X), y, atol=1e-8)
    assert 0 < model.scale_ < 1e-10
    if shape[0] > shape[1]:
        assert_allclose(line(model), [7, 1, 2, 3], rtol=1e-9)


def test_huber_where_most_rows_are_fitted_exactly():
    """With ties at the bottom of the scale, the objective is that of absolute deviations."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    y = np.where(rng.random(500) < 0.7, 2.0, rng.exponential(size=500) + 2)
    model = HuberRegressor(alpha=0).fit(X, y)
    assert_allclose(line(model), [2, 0, 0], atol=1e-8)
    assert model.scale_ < 1e-8


def test_huber_of_more_columns_than_a_hessian_suits():
    rng = np.random.default_rng(0)
    X = sparse.random_array((400, 2100), density=0.01, rng=rng, format="csr")
    y = X @ rng.normal(size=2100) + 0.1 * rng.standard_t(2, size=400)
    model = HuberRegressor(alpha=10.0, tol=1e-4, max_iter=1000).fit(X, y)
    assert_allclose(huber_slope(model, X, y)[1], 0, atol=1e-3)


def test_huber_starts_from_the_last_fit_and_says_when_it_stops_short():
    X, y = table()
    model = HuberRegressor(warm_start=True).fit(X, y)
    before = line(model)
    assert model.fit(X, y).n_iter_ == 0
    assert_array_equal(line(model), before)
    with pytest.warns(ConvergenceWarning, match="max_iter=1 iterations"):
        HuberRegressor(max_iter=1).fit(X, y)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.floats(-3, 3), min_size=10, max_size=10).map(np.array),
    st.floats(0.05, 5),
    st.floats(0.05, 5),
)
def test_huber_is_convex_in_coefficients_and_scale_together(both, first, second):
    X, y = table()
    f = HuberObjective(Rows(ArraySource(X, y, None)), 1.35, 0.1, 60.0, 1e-12, True)
    a, b = np.insert(both[:4], 3, first), np.insert(both[5:9], 3, second)
    (u, slope, H), v = f.value_gradient_hessian(a), f.value_gradient_hessian(b)[0]
    middle = f.value_gradient_hessian((a + b) / 2)[0]
    assert middle <= (u + v) / 2 + 1e-9 * (u + v)
    assert v >= u + slope @ (b - a) - 1e-9 * (u + v)
    assert np.linalg.eigvalsh(H).min() > -1e-9 * np.abs(H).max()
    steps = 1e-6 * np.eye(5)
    differences = [
        (f.value_and_gradient(a + s)[0] - f.value_and_gradient(a - s)[0]) / 2e-6 for s in steps
    ]
    assert_allclose(slope, differences, rtol=1e-4, atol=1e-4 * np.abs(slope).max())


# --------------------------------------------------------------------------------------- quantile


def pinball(model, X, y, w=None):
    r = y - model.predict(X)
    each = np.maximum(model.quantile * r, (model.quantile - 1) * r)
    return np.average(each, weights=w) + model.alpha * np.abs(model.coef_).sum()


@pytest.mark.parametrize("solver", ["auto", "highs", "highs-ds", "highs-ipm"])
def test_quantile_is_scikit_learns(solver):
    X, y = table()
    for alpha, wanted in [(0, QUANTILE), (0.05, LASSO)]:
        model = QuantileRegressor(quantile=0.3, alpha=alpha, solver=solver).fit(X, y)
        assert_allclose(line(model), wanted, rtol=1e-9)
        assert 0 <= model.gap_ <= 1e-12


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("alpha", [0.0, 0.01, 1.0])
@pytest.mark.parametrize("quantile", [0.5, 0.1])
def test_quantile_over_folds_is_the_linear_program_of_all_rows(quantile, alpha, intercept):
    X, y = noisy(1500, 4)
    settings = {"quantile": quantile, "alpha": alpha, "fit_intercept": intercept}
    folds = QuantileRegressor(**settings).fit(X, y)
    theirs = linear_model.QuantileRegressor(**settings).fit(X, y)
    assert_allclose(line(folds), line(theirs), rtol=1e-7, atol=1e-9)
    assert pinball(folds, X, y) == pytest.approx(pinball(theirs, X, y), rel=1e-10)
    assert_array_equal(folds.coef_ == 0, np.abs(theirs.coef_) < 1e-12)
    assert folds.n_iter_ > 1  # it did take the long way


def test_quantile_gap_bounds_the_minimum():
    X, y = noisy(5000, 3)
    model = QuantileRegressor(alpha=0.01, quantile=0.8).fit(X, y)
    assert model.converged_
    assert model.gap_ <= 1e-8 * pinball(model, X, y)
    rng = np.random.default_rng(0)
    least = pinball(model, X, y) - model.gap_ - 1e-12
    for size in np.logspace(-8, 0, 50):
        model.coef_ = model.coef_ + size * rng.normal(size=3)
        model.intercept_ += size * rng.normal()
        assert pinball(model, X, y) >= least
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        QuantileRegressor(alpha=0, max_iter=1, tol=0.0).fit(X, y)


def test_quantile_leaves_its_share_below():
    """Rows below are at most nq, rows below or on the plane at least nq, for any data."""
    for q in (0.05, 0.5, 0.9):
        X, y = noisy(3000, 5)
        r = y - QuantileRegressor(quantile=q, alpha=0).fit(X, y).predict(X)
        assert (r < -1e-9).sum() <= q * len(y) <= (r < 1e-9).sum()
        assert (np.abs(r) < 1e-9).sum() == 6  # a corner: as many rows as parameters


def tied(kind, X, rng):
    plane, n = X @ [1.0, 2.0, 3.0], len(X)
    return {
        "constant": np.ones(n),
        "exact": plane + 4,
        "whole numbers": np.round(plane),
        "two values": (rng.random(n) < 0.3) * 1.0,
        "mostly zero": np.where(rng.random(n) < 0.6, 0, rng.exponential(size=n)),
        "wild": plane + 1000 * rng.standard_cauchy(n),
    }[kind]


@pytest.mark.parametrize("alpha", [0.0, 0.01])
@pytest.mark.parametrize(
    "kind", ["constant", "exact", "whole numbers", "two values", "mostly zero", "wild"]
)
def test_quantile_of_ties(kind, alpha):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    y = tied(kind, X, rng)
    folds = QuantileRegressor(alpha=alpha).fit(X, y)
    program = QuantileRegressor(alpha=alpha, solver="highs").fit(X, y)
    assert pinball(folds, X, y) == pytest.approx(pinball(program, X, y), rel=1e-8, abs=1e-12)


def test_quantile_with_far_more_ties_than_the_program_takes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 3))
    y = np.where(rng.random(len(X)) < 0.7, 0, rng.exponential(size=len(X)))
    model = QuantileRegressor(alpha=0).fit(X, y)
    assert_allclose(line(model), 0, atol=1e-12)
    assert model.gap_ <= 1e-8 * pinball(model, X, y)


def test_quantile_weights_columns_and_sparse():
    X, y = noisy(1500, 3)
    w = np.random.default_rng(1).integers(0, 3, len(X))
    weighed = QuantileRegressor(alpha=0.01).fit(X, y, w)
    repeated = QuantileRegressor(alpha=0.01).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    assert pinball(weighed, X, y, w) == pytest.approx(pinball(repeated, X, y, w), rel=1e-12)
    assert_allclose(line(weighed), line(repeated), rtol=1e-9)
    from_sparse = QuantileRegressor(alpha=0.01).fit(sparse.csr_array(X), y, w)
    assert_allclose(line(from_sparse), line(weighed), rtol=1e-9)
    twice = np.column_stack([X, X[:, :1], np.ones(len(X)), np.zeros(len(X))])
    dependent = QuantileRegressor(alpha=0).fit(twice, y)
    plain = QuantileRegressor(alpha=0).fit(X, y)
    assert_allclose(dependent.predict(twice), plain.predict(X), rtol=1e-7)
    single = QuantileRegressor(alpha=0).fit(X.astype(np.float32), y.astype(np.float32))
    assert single.coef_.dtype == np.float32
    assert pinball(single, X, y) == pytest.approx(pinball(plain, X, y), rel=1e-6)


def test_near_rows_of_parts_are_those_of_the_whole():
    X, y = noisy(300, 2)
    y[50:150] = X[50:150] @ [1.0, 2.0]  # on the plane: all of them are kept
    state = (np.array([1.0, 2.0]), np.zeros(1), 0.3, 40, 0.0)
    whole = pinball_pieces(Chunk(X, y), *state)
    parts = [
        pinball_pieces(Chunk(X[a:b], y[a:b], None, a), *state) for a, b in [(0, 77), (77, 300)]
    ]
    joint = merge(*parts)
    assert_array_equal(joint.numbers, whole.numbers)
    assert set(range(50, 150)) <= {*whole.numbers}
    assert_allclose(joint.gradient, whole.gradient)
    assert joint.loss == pytest.approx(whole.loss)


@settings(max_examples=25, deadline=None)
@given(
    st.integers(1, 12),
    st.integers(1, 3),
    st.floats(0.05, 0.95),
    st.sampled_from([0.0, 0.1]),
    st.integers(0, 10**6),
)
def test_quantile_of_a_few_whole_numbers(n, p, q, alpha, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(-2, 3, size=(n, p)).astype(float), rng.integers(-3, 4, n).astype(float)
    ours = QuantileRegressor(quantile=q, alpha=alpha).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = linear_model.QuantileRegressor(quantile=q, alpha=alpha).fit(X, y)
    assert pinball(ours, X, y) == pytest.approx(pinball(theirs, X, y), rel=1e-6, abs=1e-9)


# --------------------------------------------------- absolute deviations, as the notes know them


def deviations(X, y, **options):
    """Least absolute deviations."""
    return QuantileRegressor(quantile=0.5, alpha=0, **options).fit(X, y)


def test_an_even_number_of_points_has_an_interval_of_minimisers():
    """004, 2-10: y = {0, 1} costs 1 anywhere between; what is returned is an end."""
    ones = np.ones((2, 1))
    w = deviations(ones, [0.0, 1.0], fit_intercept=False).coef_[0]
    assert w in (pytest.approx(0), pytest.approx(1))
    y = np.array([1.0, 2.0, 5.0, 9.0])
    model = deviations(np.zeros((4, 1)), y)
    assert 2 - 1e-9 <= model.intercept_ <= 5 + 1e-9
    cost = {c: np.abs(y - c).sum() for c in (2.0, 3.0, 4.99, 5.0, float(model.intercept_))}
    assert_allclose(list(cost.values()), 11)
    assert np.abs(y - 5.01).sum() > 11
    # an odd number has one minimiser, the median
    assert deviations(np.zeros((5, 1)), [1.0, 2, 5, 9, 100]).intercept_ == pytest.approx(5)


def test_a_small_change_of_the_data_makes_the_line_jump():
    """004, 2-10: from 10 to 0, where squares move from 5.05 to 4.95."""
    lines = []
    for x in (1.01, 0.99):
        X, y = np.array([[1.0], [x]]), np.array([0.0, 10 * x])
        squares = LinearRegression(fit_intercept=False).fit(X, y)
        lines += [deviations(X, y, fit_intercept=False).coef_[0], squares.coef_[0]]
    assert_allclose(lines, [10, 5.0498, 0, 4.9498], atol=1e-4)


def test_an_outlier_moves_the_mean_and_not_the_median():
    """004, 2-10."""
    X, y = np.zeros((5, 1)), np.array([0.0, 0, 0, 0, 100])
    assert deviations(X, y).intercept_ == pytest.approx(0, abs=1e-12)
    assert LinearRegression().fit(X, y).intercept_ == pytest.approx(20)


def test_absolute_loss_of_a_line():
    """003, unit 1: the sum of |theta_1 x + theta_2 - y|, least over a grid."""
    X, y = table()
    x = X[:, :1]
    model = deviations(x, y)
    cost = np.abs(y - model.predict(x)).sum()
    assert cost / 2 / len(y) == pytest.approx(pinball(model, x, y), rel=1e-12)
    slopes, constants = np.meshgrid(np.linspace(-1, 3, 81), np.linspace(-2, 2, 81))
    grid = np.abs(y - slopes[..., None] * x[:, 0] - constants[..., None]).sum(axis=-1)
    assert cost <= grid.min()
