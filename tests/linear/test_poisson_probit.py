"""Poisson and probit regression against statsmodels, scikit-learn and the notes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import ndtr
from scipy.stats import norm
from sklearn import linear_model
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import d2_tweedie_score
from sklearn.multiclass import OneVsRestClassifier

from tenfold.engine import Rows
from tenfold.engine.arrays import ArraySource
from tenfold.linear._objective import LinearObjective
from tenfold.linear.logistic import LogisticRegression
from tenfold.linear.poisson import PoissonRegressor
from tenfold.linear.probit import ProbitRegression
from tenfold.math.losses import PoissonLoss, ProbitLoss
from tenfold.optim.convergence import DivergenceError
from tenfold.optim.schedules import ConstantRate, LogOverSqrt, PowerDecay

# statsmodels 0.14, Newton to the last digit: constant and coefficients
PROBIT = [0.4905783939801606, 0.7914526155066731, -0.2180065793178753, -0.05005275290304141]
PROBIT_LOG_LIKELIHOOD = -30.97722966986506
POISSON = [0.2194977884949992, 1.0760963820835934, -0.6359390139993377, 0.26197897255715796]
POISSON_DEVIANCES = 56.00568732695798, 221.6392254105797  # of the model, of a constant
# scikit-learn 1.9, newton-cholesky, alpha=0.5
POISSON_RIDGE = [0.4736650730731323, 0.8268106061499119, -0.460701205511767, 0.2213207350000036]

WAYS = ["auto", "lbfgs", "newton-cholesky", "newton-cg"]


def table():
    """60 rows, a label and a count for each."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 3))
    z = X @ [1.0, -0.5, 0.25] + 0.3
    return X, (z + rng.normal(size=60) > 0).astype(int), rng.poisson(np.exp(z))


def line(model):
    return np.append(model.intercept_, model.coef_)


def objective(loss, y):
    """The mean loss with a little ridge, as solvers see it."""
    X = table()[0]
    ridge = np.array([0.1, 0.2, 0.3, 0.0])
    return LinearObjective(Rows(ArraySource(X, y, None)), loss, (1, 4), ridge, float(len(X)))


# ----------------------------------------------------------------------------------------- probit


@pytest.mark.parametrize("solver", WAYS)
def test_probit_is_statsmodels(solver):
    X, y, _ = table()
    model = ProbitRegression(C=np.inf, tol=1e-9, solver=solver).fit(X, y)
    assert_allclose(line(model), PROBIT, rtol=1e-6, atol=1e-8)
    assert model.history_["objective"][-1] == pytest.approx(-PROBIT_LOG_LIKELIHOOD / 60, rel=1e-12)
    assert model.coef_.shape == (1, 3)
    assert model.intercept_.shape == (1,)


# 001, exercise 2.6.1 and O01: every schedule leads down, those that fall fast lead there slowly
SCHEDULES = {
    "backtracking": ("backtracking", 1e-9),
    "constant": (ConstantRate(1.0), 1e-9),
    "number": (1.0, 1e-9),
    "1/t": (PowerDecay(gamma=2.0), 1e-2),
    "1/(1+t)": (PowerDecay(gamma=2.0, shift=1.0), 1e-2),
    "gamma t^-delta": (PowerDecay(gamma=1.0, delta=0.3), 1e-8),
    "log t / sqrt t": (LogOverSqrt(1.0), 1e-9),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_probit_by_gradient_descent_with_every_schedule(name):
    X, y, _ = table()
    rate, short = SCHEDULES[name]
    model = ProbitRegression(C=np.inf, tol=1e-7, solver="gd", learning_rate=rate, max_iter=1000)
    if short == 1e-2:
        with pytest.warns(ConvergenceWarning):
            model.fit(X, y)
    else:
        model.fit(X, y)
    best = -PROBIT_LOG_LIKELIHOOD / 60
    assert -1e-12 <= model.history_["objective"][-1] - best <= short
    assert model.converged_ == (short != 1e-2)


def test_probit_descent_that_diverges_names_a_rate_that_works():
    X, y, _ = table()
    with pytest.raises(DivergenceError, match="try the learning rate ") as told:
        ProbitRegression(C=np.inf, solver="gd", learning_rate=lambda t: 3.0**t).fit(X, y)
    calm = ProbitRegression(
        C=np.inf, solver="gd", learning_rate=told.value.rate, max_iter=1000, tol=1e-6
    )
    assert calm.fit(X, y).converged_


def test_probit_slope_and_curvature_are_those_of_the_note():
    """001, (116)-(122), with the sign of the printed hint put right (ERR-14)."""
    z = np.linspace(-5, 5, 41)
    psi, Psi = norm.pdf(z), norm.cdf(z)
    up, down = np.ones_like(z), -np.ones_like(z)
    assert_allclose(ProbitLoss().gradient(z, up), -psi / Psi, rtol=1e-12)
    assert_allclose(ProbitLoss().gradient(z, down), psi / ndtr(-z), rtol=1e-12)
    assert_allclose(ProbitLoss().curvature(z, up), psi * (z * Psi + psi) / Psi**2, rtol=1e-9)
    below = psi * (-z * ndtr(-z) + psi) / ndtr(-z) ** 2
    assert_allclose(ProbitLoss().curvature(z, down), below, rtol=1e-9)
    value, slope, curvature = ProbitLoss().value_gradient_curvature(z, up)
    assert_allclose(value, -norm.logcdf(z), rtol=1e-13)
    assert_array_equal(slope, ProbitLoss().gradient(z, up))
    assert_array_equal(curvature, ProbitLoss().curvature(z, up))


@pytest.mark.parametrize(("loss", "target"), [(ProbitLoss(), 1), (PoissonLoss(), 2)])
@settings(max_examples=20, deadline=None)
@given(theta=st.lists(st.floats(-2, 2), min_size=4, max_size=4).map(np.array))
def test_gradient_and_hessian_by_finite_differences(loss, target, theta):
    f = objective(loss, table()[target])
    value, slope, H = f.value_gradient_hessian(theta)
    steps = 1e-6 * np.eye(4)
    ahead, behind = (
        [f.value_and_gradient(theta + s) for s in steps],
        [f.value_and_gradient(theta - s) for s in steps],
    )
    differences = [(a[0] - b[0]) / 2e-6 for a, b in zip(ahead, behind, strict=True)]
    assert f.value_and_gradient(theta)[0] == pytest.approx(value, rel=1e-12)
    scale = max(1.0, np.abs(H).max())
    assert_allclose(slope, differences, atol=1e-7 * scale * max(1.0, abs(value)))
    bends = [(a[1] - b[1]) / 2e-6 for a, b in zip(ahead, behind, strict=True)]
    assert_allclose(H, bends, atol=1e-7 * scale)
    assert np.linalg.eigvalsh(H).min() > 0


def test_probit_beside_logistic():
    """Nearly the same probabilities, from scores 1.6 to 1.85 times smaller."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 3))
    y = rng.normal(size=len(X)) < X @ [0.5, -1.0, 0.3]
    probit = ProbitRegression(C=np.inf, tol=1e-8).fit(X, y)
    logistic = LogisticRegression(C=np.inf, tol=1e-8).fit(X, y)
    ratio = logistic.coef_ / probit.coef_
    assert ((ratio > 1.6) & (ratio < 1.85)).all()
    assert np.abs(probit.predict_proba(X) - logistic.predict_proba(X)).max() < 0.03
    assert (probit.predict(X) == logistic.predict(X)).mean() > 0.99
    # the story: the score against a normal threshold; standard errors are about 0.015
    assert_allclose(probit.coef_[0], [0.5, -1.0, 0.3], atol=0.06)
    # 001, 2.5: the same score says more here, Phi(2) = .9772 and sigma(2) = .8808
    for model, wanted in [(probit, 0.9772), (logistic, 0.8808)]:
        model.coef_, model.intercept_ = np.array([[1.0, 0.0, 0.0]]), np.zeros(1)
        assert model.predict_proba([[2.0, 0.0, 0.0]])[0, 1] == pytest.approx(wanted, abs=5e-5)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_probit_probabilities_are_safe_at_scores_of_a_thousand(dtype):
    X, y, _ = table()
    model = ProbitRegression().fit(X.astype(dtype), y)
    model.coef_, model.intercept_ = np.array([[1, 0, 0]], dtype), np.zeros(1, dtype)
    rows = np.zeros((3, 3), dtype)
    rows[:, 0] = -1000, 0, 1000
    logs = model.predict_log_proba(rows)
    far = -500007.8266948121  # log Phi(-1000)
    assert_allclose(logs, [[0, far], [np.log(0.5)] * 2, [far, 0]], rtol=1e-6)
    assert_allclose(model.predict_proba(rows), [[1, 0], [0.5, 0.5], [0, 1]], rtol=1e-6)
    assert logs.dtype == dtype
    assert_array_equal(model.decision_function(rows), rows[:, 0])


def test_probit_fits_from_hopeless_scores():
    X, y, _ = table()
    model = ProbitRegression(C=np.inf, tol=1e-9, warm_start=True).fit(X, y)
    best = line(model)
    model.coef_, model.intercept_ = np.array([[-900.0, 700.0, 800.0]]), np.array([1000.0])
    model.set_params(max_iter=1000).fit(X, y)
    assert_allclose(line(model), best, rtol=1e-6, atol=1e-8)


def test_probit_reports_separable_classes():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 0, 1, 1]
    with pytest.warns(ConvergenceWarning, match="linearly separable"):
        ProbitRegression(C=np.inf).fit(X, y)
    ProbitRegression(C=1.0).fit(X, y)  # a penalty makes a best
    ProbitRegression(C=np.inf).fit(X, [0, 1, 0, 1])  # and so do classes that overlap
    with pytest.warns(ConvergenceWarning, match="linearly separable"):  # rows that do not count
        ProbitRegression(C=np.inf).fit(np.vstack([X, [[4.0]]]), [*y, 0], [1, 1, 1, 1, 0])


def test_probit_weights_penalty_and_sparse():
    X, y, _ = table()
    settings = {"tol": 1e-10, "C": 0.7}
    w = np.random.default_rng(1).integers(0, 3, len(X))
    weighed = ProbitRegression(**settings).fit(X, y, w)
    repeated = ProbitRegression(**settings).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    assert_allclose(line(weighed), line(repeated), rtol=1e-8)
    assert_allclose(
        line(ProbitRegression(**settings).fit(sparse.csr_array(X), y, w)), line(weighed)
    )
    balanced = ProbitRegression(class_weight="balanced", **settings).fit(X, y)
    by_hand = ProbitRegression(**settings).fit(X, y, (30 / np.bincount(y))[y])
    assert_allclose(line(balanced), line(by_hand), rtol=1e-8)
    named = ProbitRegression(class_weight={1: 3.0}, **settings).fit(X, y)
    assert_allclose(line(named), line(ProbitRegression(**settings).fit(X, y, 1 + 2 * y)), rtol=1e-8)
    # C weighs the sum of losses against half the square: the slope vanishes
    plain = ProbitRegression(**settings).fit(X, y)
    slope = ProbitLoss().gradient(plain.decision_function(X), 2.0 * y - 1)
    assert_allclose(0.7 * slope @ X + plain.coef_[0], 0, atol=1e-7)
    assert slope.sum() == pytest.approx(0, abs=1e-7)


def test_probit_without_a_constant_and_with_many_classes():
    X, y, _ = table()
    model = ProbitRegression(fit_intercept=False, C=np.inf, tol=1e-10).fit(X, y)
    assert_array_equal(model.intercept_, 0)
    assert_allclose(ProbitLoss().gradient(X @ model.coef_[0], 2.0 * y - 1) @ X, 0, atol=1e-6)
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="OneVsRestClassifier"):
        ProbitRegression().fit(X, y)
    assert OneVsRestClassifier(ProbitRegression(C=10.0)).fit(X, y).score(X, y) > 0.9


# ---------------------------------------------------------------------------------------- Poisson


@pytest.mark.parametrize("solver", WAYS)
def test_poisson_is_statsmodels_and_scikit_learn(solver):
    X, _, y = table()
    model = PoissonRegressor(alpha=0, tol=1e-9, solver=solver).fit(X, y)
    assert_allclose(line(model), POISSON, rtol=1e-6)
    ours, constant = POISSON_DEVIANCES
    assert model.score(X, y) == pytest.approx(1 - ours / constant, rel=1e-10)
    ridge = PoissonRegressor(alpha=0.5, tol=1e-9, solver=solver).fit(X, y)
    assert_allclose(line(ridge), POISSON_RIDGE, rtol=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [True, False])
def test_poisson_beside_scikit_learn(intercept, weighted):
    X, _, y = table()
    w = np.random.default_rng(1).random(len(X)) if weighted else None
    settings = {"alpha": 0.01, "fit_intercept": intercept, "solver": "newton-cholesky", "tol": 1e-9}
    ours = PoissonRegressor(**settings).fit(X, y, w)
    theirs = linear_model.PoissonRegressor(**settings).fit(X, y, w)
    assert_allclose(line(ours), line(theirs), rtol=1e-7, atol=1e-9)
    assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-7)
    assert ours.score(X, y, w) == pytest.approx(theirs.score(X, y, w), rel=1e-9)
    wanted = d2_tweedie_score(y, ours.predict(X), power=1, sample_weight=w)
    assert ours.score(X, y, w) == pytest.approx(wanted, rel=1e-9)


def test_poisson_with_a_column_per_group_gives_the_means_of_the_groups():
    group = np.repeat([0, 1, 2], [3, 4, 5])
    y = np.array([1, 2, 3, 0, 0, 1, 3, 10, 20, 30, 40, 50])
    model = PoissonRegressor(alpha=0, fit_intercept=False, tol=1e-10).fit(np.eye(3)[group], y)
    assert_allclose(model.predict(np.eye(3)), [2, 1, 30], rtol=1e-9)
    # the score equations: errors are orthogonal to the columns
    X, _, y = table()
    model = PoissonRegressor(alpha=0, tol=1e-10).fit(X, y)
    error = y - model.predict(X)
    assert_allclose(np.append(error @ X, error.sum()), 0, atol=1e-7)


def test_poisson_weights_sparse_and_warm_start():
    X, _, y = table()
    w = np.random.default_rng(1).integers(0, 3, len(X))
    weighed = PoissonRegressor(tol=1e-10).fit(X, y, w)
    repeated = PoissonRegressor(tol=1e-10).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    assert_allclose(line(weighed), line(repeated), rtol=1e-8)
    assert_allclose(line(PoissonRegressor(tol=1e-10).fit(sparse.csr_array(X), y, w)), line(weighed))
    again = PoissonRegressor(tol=1e-10, warm_start=True, solver="lbfgs").fit(X, y)
    assert again.fit(X, y).n_iter_ <= 1


def test_poisson_refuses_what_is_no_count():
    X, _, y = table()
    with pytest.raises(ValueError, match="counts must not be negative"):
        PoissonRegressor().fit(X, y - 1)
    model = PoissonRegressor().fit(X, y)
    with pytest.raises(ValueError, match="counts must not be negative"):
        model.score(X, y - 1)
    with pytest.warns(ConvergenceWarning, match="max_iter=1 iterations"):
        PoissonRegressor(max_iter=1, tol=1e-9).fit(X, y)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("solver", ["lbfgs", "newton-cholesky"])
def test_poisson_comes_back_from_steps_that_overflow(solver, dtype):
    """Heavy tails: the first steps lead to exp(1000)."""
    rng = np.random.default_rng(0)
    X = (100 * rng.standard_cauchy(size=(5000, 3))).astype(dtype)
    y = rng.poisson(np.exp(np.clip(X @ [0.003, -0.003, 0.0015] + 1, -20, 12))).astype(dtype)
    model = PoissonRegressor(alpha=1e-3, solver=solver, tol=1e-3, max_iter=300).fit(X, y)
    w = np.append(model.coef_, model.intercept_).astype(float)
    z = X.astype(float) @ w[:-1] + w[-1]
    value = PoissonLoss().value(z, y.astype(float)).mean()
    best = PoissonRegressor(alpha=1e-3, tol=1e-8, max_iter=300).fit(X.astype(float), y)
    least = PoissonLoss().value(X.astype(float) @ best.coef_ + best.intercept_, y).mean()
    assert value == pytest.approx(least, rel=1e-6)
    assert np.isinf(model.predict(np.full((1, 3), np.sign(model.coef_) * 1e30, dtype))).all()


def test_poisson_of_zeros_only():
    model = PoissonRegressor().fit(np.arange(5.0)[:, None], np.zeros(5))
    assert model.predict(np.zeros((1, 1)))[0] < 1e-3
