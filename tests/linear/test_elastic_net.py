"""Lasso and elastic net against their optimality conditions, closed forms and scikit-learn."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import linear_model
from sklearn.exceptions import ConvergenceWarning

from tenfold import ElasticNet, Lasso, LinearRegression, Ridge, enet_path, lasso_path, threads
from tenfold.linear import _lasso_gram
from tests.linear.lasso_tables import TIGHT, table


def largest(X, y):
    """The least alpha of a lasso with a constant for which all coefficients are zero."""
    return np.abs((X - X.mean(axis=0)).T @ (y - y.mean())).max() / len(y)


def subgradient(model, X, y, w=None):
    """The shortest subgradient of the objective at the model, with respect to the coefficients."""
    w = np.ones(len(y)) if w is None else w
    rest = y - X @ model.coef_ - model.intercept_
    l1, l2 = model.alpha * model.l1_ratio, model.alpha * (1 - model.l1_ratio)
    fall = X.T @ (w * rest) / w.sum() - l2 * model.coef_
    at_zero = np.maximum((fall if model.positive else np.abs(fall)) - l1, 0.0)
    return np.where(model.coef_ == 0, at_zero, np.abs(fall - l1 * np.sign(model.coef_)))


@pytest.fixture(params=["lines", "rest", "square"])
def lazily(request, monkeypatch):
    """Columns enter two or three at a time: as lines, with the rest at once, as a square alone."""
    monkeypatch.setattr(_lasso_gram, "FULL_GRAM_MAX_COLUMNS", 0)
    monkeypatch.setattr(_lasso_gram, "MIN_BATCH_COLUMNS", 2)
    monkeypatch.setattr("tenfold.linear._lasso_working_set.MIN_BATCH_COLUMNS", 2)
    monkeypatch.setattr(_lasso_gram, "FULL_GRAM_DIVISOR", 2 if request.param == "rest" else 0)
    if request.param == "square":
        monkeypatch.setattr(
            _lasso_gram.LazyGram, "_enter_cross_products", _no_room_for_cross_products
        )
    return request.param


def _no_room_for_cross_products(gram, _, batch):
    gram.cross_products = None
    gram._enter_block(batch)


# --------------------------------------------------------------------------- optimality, oracles


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(3, 40),
    p=st.integers(1, 30),
    seed=st.integers(0, 99),
    share=st.floats(1e-3, 1.2),
    l1_ratio=st.sampled_from([1.0, 0.7, 0.05]),
    positive=st.booleans(),
    weighted=st.booleans(),
)
def test_the_subgradient_is_zero_and_so_is_the_gap(n, p, seed, share, l1_ratio, positive, weighted):
    X, y = table(n, p, seed, informative=min(p, 3))
    w = np.random.default_rng(seed).integers(1, 4, n).astype(float) if weighted else None
    model = ElasticNet(share * largest(X, y), l1_ratio=l1_ratio, positive=positive, **TIGHT)
    model.fit(X, y, w)
    scale = X.std() * y.std() + 1e-9
    assert subgradient(model, X, y, w).max() < 1e-7 * scale
    assert_allclose(np.average(y - model.predict(X), weights=w), 0, atol=1e-9)
    assert model.dual_gap_ <= 1.1e-13 * np.average((y - np.average(y, weights=w)) ** 2, weights=w)
    assert not positive or (model.coef_ >= 0).all()


@pytest.mark.parametrize("settings", [{}, {"positive": True}, {"fit_intercept": False}])
@pytest.mark.parametrize("l1_ratio", [1.0, 0.5])
@pytest.mark.parametrize(("n", "p"), [(200, 20), (40, 60), (80, 600)])
def test_coefficients_are_scikit_learns(n, p, l1_ratio, settings):
    X, y = table(n, p, shift=0.3)
    for alpha in (0.5, 0.1):
        parameters = {"alpha": alpha, "l1_ratio": l1_ratio, **settings, **TIGHT}
        ours = ElasticNet(**parameters).fit(X, y)
        theirs = linear_model.ElasticNet(**parameters).fit(X, y)
        assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8, atol=1e-8)
        assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-8, atol=1e-8)
        assert_array_equal(ours.coef_ == 0, theirs.coef_ == 0)


@given(strength=st.floats(0.0, 20.0))
@example(strength=1e-10)  # hardly above rounding: no gap is ever small enough
@example(strength=1e-13)
@settings(max_examples=20, deadline=None)
def test_orthonormal_columns_are_shrunk_by_half_of_lambda(strength):
    """004, 2-21: with the penalty lambda/2 |w|_1 on half the sum of squares; inventory L03."""
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.normal(size=(30, 5)))[0]
    y = 4 * rng.normal(size=30)
    z = Q.T @ y
    model = Lasso(strength / (2 * 30), fit_intercept=False, **TIGHT).fit(Q, y)
    assert_allclose(model.coef_, np.sign(z) * np.maximum(np.abs(z) - strength / 2, 0), atol=1e-9)
    zeros = Lasso(np.abs(z).max() / 30, fit_intercept=False).fit(Q, y)
    assert not zeros.coef_.any()


def test_elastic_net_is_the_lasso_of_augmented_rows():
    X, y = table(50, 8, shift=0)
    alpha, l1_ratio, (n, p) = 0.3, 0.4, (50, 8)
    net = ElasticNet(alpha, l1_ratio=l1_ratio, fit_intercept=False, **TIGHT).fit(X, y)
    more = np.sqrt(n * alpha * (1 - l1_ratio)) * np.eye(p)
    lasso = Lasso(alpha * l1_ratio * n / (n + p), fit_intercept=False, **TIGHT)
    lasso.fit(np.vstack([X, more]), np.append(y, np.zeros(p)))
    assert_allclose(net.coef_, lasso.coef_, atol=1e-9)


def test_the_ends_of_the_elastic_net_are_lasso_ridge_and_least_squares():
    """004, 2-22 and 002, E41."""
    X, y = table(60, 5)
    assert_array_equal(ElasticNet(0.2, l1_ratio=1.0).fit(X, y).coef_, Lasso(0.2).fit(X, y).coef_)
    ridge = Ridge(0.2 * 60).fit(X, y)
    assert_allclose(ElasticNet(0.2, l1_ratio=0.0, **TIGHT).fit(X, y).coef_, ridge.coef_, rtol=1e-7)
    plain = LinearRegression().fit(X, y)
    assert_allclose(Lasso(0.0, **TIGHT).fit(X, y).coef_, plain.coef_, rtol=1e-6)


def test_the_penalty_trades_fit_for_size():
    """004, 2-18; 001, 1-10: zeros appear, and all are zero in the end."""
    X, y = table(80, 12)
    fits = [Lasso(a, **TIGHT).fit(X, y) for a in np.geomspace(1e-3, 1.001, 12) * largest(X, y)]
    squares = [((y - m.predict(X)) ** 2).mean() for m in fits]
    sizes = [np.abs(m.coef_).sum() for m in fits]
    assert (np.diff(squares) >= -1e-12).all()
    assert (np.diff(sizes) <= 1e-12).all()
    assert np.count_nonzero(fits[0].coef_) > np.count_nonzero(fits[8].coef_) > 0
    assert not fits[-1].coef_.any()


def test_largest_alpha_gives_zeros_and_a_little_less_does_not():
    X, y = table(70, 9)
    at = largest(X, y)
    assert not Lasso(at).fit(X, y).coef_.any()
    assert np.count_nonzero(Lasso(0.999 * at, tol=1e-9).fit(X, y).coef_) == 1
    assert_allclose(Lasso(at).fit(X, y).intercept_, y.mean())


# ------------------------------------------------------------------------------------ hard tables


def test_columns_that_are_equal_share_a_weight_and_reach_the_minimum():
    X, y = table(60, 4)
    once, twice = Lasso(0.1, **TIGHT).fit(X, y), Lasso(0.1, **TIGHT).fit(np.hstack([X, X]), y)
    assert_allclose(twice.coef_[:4] + twice.coef_[4:], once.coef_, atol=1e-8)
    net = ElasticNet(0.1, **TIGHT).fit(np.hstack([X, X]), y)
    assert_allclose(net.coef_[:4], net.coef_[4:], atol=1e-8)


@pytest.mark.usefixtures("lazily")
@pytest.mark.parametrize("value", [0.0, 3.0, 1e6, 0.1])
def test_constant_columns_have_no_weight(value):
    X, y = table(300, 6)
    C = np.column_stack([np.full(300, value), X, np.full(300, value)])
    model = Lasso(0.05, **TIGHT).fit(C, y)
    assert model.coef_[0] == model.coef_[-1] == 0
    assert_allclose(model.coef_[1:-1], Lasso(0.05, **TIGHT).fit(X, y).coef_, atol=1e-9)


def test_a_constant_target_has_zero_weights():
    X, _ = table(50, 5)
    model = Lasso(0.1).fit(X, np.full(50, 3.5))
    assert not model.coef_.any()
    assert model.intercept_ == 3.5


@pytest.mark.usefixtures("lazily")
def test_columns_far_from_zero_lose_no_digits():
    X, y = table(3000, 6, shift=0.0)
    near, far = Lasso(0.05, **TIGHT).fit(X, y), Lasso(0.05, **TIGHT).fit(X + 1e6, y)
    assert_allclose(far.coef_, near.coef_, atol=1e-7)


def test_nearly_dependent_columns_converge_in_few_sweeps():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 1)) + 0.01 * rng.normal(size=(400, 100))
    y = X[:, :10] @ rng.normal(size=10) + 0.1 * rng.normal(size=400)
    alpha = 1e-4 * largest(X, y)
    model = Lasso(alpha, tol=1e-12).fit(X, y)
    assert model.n_iter_ < 1000  # plain coordinate descent needs hundreds of thousands
    assert subgradient(model, X, y).max() < 1e-9


def test_more_columns_than_rows():
    X, y = table(25, 200)
    model = Lasso(0.01, **TIGHT).fit(X, y)
    assert subgradient(model, X, y).max() < 1e-8
    assert np.count_nonzero(model.coef_) <= 25


# ----------------------------------------------------------------------- columns that enter lazily


@pytest.mark.usefixtures("lazily")
@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("intercept", [True, False])
def test_columns_that_enter_lazily_give_the_same(form, intercept, monkeypatch):
    X, y = table(3000, 16, shift=2.0 * intercept)
    y -= 0 if intercept else 5
    X *= np.random.default_rng(1).random(X.shape) < 0.7
    X = sparse.csr_array(X) if form == "sparse" else X
    w = np.random.default_rng(2).integers(0, 3, 3000).astype(float)
    models = ElasticNet(0.5, l1_ratio=0.8, fit_intercept=intercept, **TIGHT)
    slow = models.fit(X, y, w).coef_
    monkeypatch.setattr(_lasso_gram, "FULL_GRAM_MAX_COLUMNS", 512)
    fast = models.fit(X, y, w).coef_
    assert 0 < np.count_nonzero(fast) < 16
    assert_allclose(slow, fast, atol=1e-9)
    assert_array_equal(slow == 0, fast == 0)


@pytest.mark.usefixtures("lazily")
def test_a_path_that_enters_lazily_is_the_same(monkeypatch):
    X, y = table(2000, 12, shift=0.0)
    slow = lasso_path(X, y, alphas=15, **TIGHT)
    monkeypatch.setattr(_lasso_gram, "FULL_GRAM_MAX_COLUMNS", 512)
    fast = lasso_path(X, y, alphas=15, **TIGHT)
    assert_allclose(slow[0], fast[0], rtol=1e-12)
    assert_allclose(slow[1], fast[1], atol=1e-9)


def test_few_columns_enter_where_few_matter(monkeypatch):
    X, y = table(500, 700, shift=0.0)
    entered = []
    enter = _lasso_gram.LazyGram.enter
    monkeypatch.setattr(
        _lasso_gram.LazyGram,
        "enter",
        lambda gram, columns: entered.append(enter(gram, columns)) or None,
    )
    Lasso(0.5).fit(X, y)
    assert len(entered) == 1  # 64 of 700 columns, one pass


def test_very_wide_sparse_rows_need_no_square_of_all_columns():
    rng = np.random.default_rng(0)
    X = sparse.random_array((400, 20_000), density=0.01, rng=rng, format="csr")
    y = X[:, :50] @ rng.normal(size=50) + 0.01 * rng.normal(size=400)
    alpha = 0.1 * np.abs(X.T @ (y - y.mean())).max() / 400
    ours = Lasso(alpha, **TIGHT).fit(X, y)
    theirs = linear_model.Lasso(alpha, **TIGHT).fit(X, y)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-8)


@pytest.mark.usefixtures("lazily")
def test_threads_and_files_give_the_same_bits(tmp_path):
    X, y = table(20_000, 10)
    with threads(1):
        here = Lasso(0.01).fit(X, y)
    np.save(tmp_path / "X.npy", X)
    with threads(3):
        there = Lasso(0.01).fit(str(tmp_path / "X.npy"), y)
    assert_array_equal(here.coef_, there.coef_)
    assert here.n_iter_ == there.n_iter_


def test_too_many_columns_are_refused(monkeypatch, lazily):
    if lazily != "square":
        pytest.skip("only the square has such a limit")
    monkeypatch.setattr(_lasso_gram, "MAX_GRAM_BYTES", 8 * 5**2)
    X, y = table(100, 20, informative=10)
    with pytest.raises(ValueError, match="more than 4 coefficients differ from zero"):
        Lasso(1e-3).fit(X, y)


# -------------------------------------------------------------------------------------- the model


@pytest.mark.parametrize("model", [Lasso(0.1, **TIGHT), ElasticNet(0.1, **TIGHT)])
def test_weights_are_repetitions_and_sparse_rows_are_rows(model):
    X, y = table(120, 7)
    w = np.random.default_rng(3).integers(0, 3, 120)
    weighed = model.fit(X, y, w.astype(float)).coef_
    assert_allclose(weighed, model.fit(X, y, 5.0 * w).coef_, rtol=1e-10)
    repeated = model.fit(np.repeat(X, w, axis=0), np.repeat(y, w)).coef_
    assert_allclose(weighed, repeated, rtol=1e-9, atol=1e-11)
    X = X * (X > 1)
    dense = model.fit(X, y).coef_
    assert_allclose(model.fit(sparse.csc_matrix(X), y).coef_, dense, rtol=1e-8, atol=1e-10)


def test_several_targets_are_fitted_one_by_one():
    X, y = table(90, 6)
    Y = np.column_stack([y, -2 * y + X[:, 5], np.ones(90)])
    model = Lasso(0.1).fit(X, Y)
    assert model.coef_.shape == model.sparse_coef_.shape == (3, 6)
    assert model.intercept_.shape == model.dual_gap_.shape == (3,)
    for t in range(3):
        one = Lasso(0.1).fit(X, Y[:, t])
        assert_allclose(model.coef_[t], one.coef_, rtol=1e-12)
        assert model.n_iter_[t] == one.n_iter_
    assert model.predict(X).shape == Y.shape
    single = Lasso(0.1).fit(X, y[:, None])
    assert single.coef_.shape == (6,)
    assert single.intercept_.shape == (1,)


@pytest.mark.parametrize("p", [8, 600])
def test_float32_is_learned_in_float32(p):
    X, y = table(1500, p, shift=0.5)
    wide = Lasso(0.1).fit(X, y)
    narrow = Lasso(0.1).fit(X.astype(np.float32), y.astype(np.float32))
    assert narrow.coef_.dtype == narrow.predict(X.astype(np.float32)).dtype == np.float32
    assert_allclose(narrow.coef_, wide.coef_, atol=2e-4)


def test_a_random_order_leads_to_the_same_minimum():
    X, y = table(100, 10)
    cyclic = Lasso(0.05, **TIGHT).fit(X, y)
    random = [Lasso(0.05, selection="random", random_state=s, **TIGHT).fit(X, y) for s in (0, 0, 1)]
    assert_array_equal(random[0].coef_, random[1].coef_)
    for model in random:
        assert_allclose(model.coef_, cyclic.coef_, atol=1e-9)


@pytest.mark.usefixtures("lazily")
def test_a_warm_start_at_the_minimum_needs_no_sweep():
    X, y = table(500, 9)
    model = Lasso(0.05, warm_start=True, tol=1e-8).fit(X, y)
    first, coef = model.n_iter_, model.coef_
    assert model.fit(X, y).n_iter_ == 0 < first
    assert_array_equal(model.coef_, coef)


@pytest.mark.parametrize("intercept", [True, False])
def test_a_given_gram_matrix_is_used(intercept):
    X, y = table(200, 6)
    D = X - X.mean(axis=0)
    free = Lasso(0.1, fit_intercept=intercept, **TIGHT).fit(X, y)
    for XX in (D.T @ D, X.T @ X) if intercept else (X.T @ X,):
        model = Lasso(0.1, fit_intercept=intercept, precompute=XX, **TIGHT).fit(X, y)
        assert_allclose(model.coef_, free.coef_, atol=1e-9)
    with pytest.raises(ValueError, match="it is not X'X of these rows, column 0"):
        Lasso(0.1, precompute=2 * D.T @ D + np.eye(6)).fit(X, y)
    with pytest.raises(ValueError, match="shape"):
        Lasso(0.1, precompute=np.eye(5)).fit(X, y)


def test_errors_and_warnings_say_what_to_do():
    X, y = table(50, 5)
    with pytest.warns(ConvergenceWarning, match="Raise max_iter"):
        Lasso(1e-3, tol=1e-12, max_iter=1).fit(X, y)
    with pytest.raises(ValueError, match="overflow"):
        Lasso().fit(X * 1e200, y)
    with pytest.raises(ValueError, match="Please supply a grid"):
        enet_path(X, y, l1_ratio=0.0)
