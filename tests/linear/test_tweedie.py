"""Gamma and Tweedie regression against scikit-learn, deviances by brute force."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.optimize import minimize
from sklearn import linear_model
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import d2_tweedie_score, mean_tweedie_deviance

from tenfold import GammaRegressor, PoissonRegressor, TweedieRegressor
from tenfold.math.deviances import TweedieLoss

CASES = [
    (0.0, "auto"),
    (0.0, "log"),
    (-1.0, "log"),
    (-1.5, "identity"),
    (1.0, "log"),
    (1.0, "identity"),
    (1.5, "auto"),
    (2.0, "auto"),
    (2.0, "identity"),
    (3.0, "auto"),
]


def table(n=200):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, 3 + rng.gamma(2.0, np.exp(X @ [0.5, -0.3, 0.2]) / 2)


@pytest.mark.parametrize("solver", ["auto", "lbfgs", "newton-cg"])
@pytest.mark.parametrize(("power", "link"), CASES)
def test_coefficients_and_score_are_those_of_scikit_learn(power, link, solver):
    X, y = table()
    w = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    params = {"power": power, "link": link, "alpha": 0.1, "tol": 1e-9, "max_iter": 1000}
    ours = TweedieRegressor(solver=solver, **params).fit(X, y, sample_weight=w)
    theirs = linear_model.TweedieRegressor(**params).fit(X, y, sample_weight=w)
    assert ours.converged_
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-6)
    assert_allclose(ours.score(X, y, w), theirs.score(X, y, w), atol=1e-8)
    if power <= 0 or link != "identity":
        assert_allclose(ours.score(X, y), d2_tweedie_score(y, ours.predict(X), power=power))


@pytest.mark.parametrize(("power", "link"), CASES)
def test_losses_are_half_deviances_with_their_derivatives(power, link):
    auto = "log" if power > 0 else "identity"
    loss = TweedieLoss(power, auto if link == "auto" else link)
    y, mean = np.array([0.5, 2.0, 3.0]), np.array([1.0, 2.5, 0.7])
    z = np.array([loss.score_of_mean(m) for m in mean])
    deviances = [mean_tweedie_deviance([a], [b], power=power) for a, b in zip(y, mean, strict=True)]
    assert_allclose(2 * (loss.value(z, y) - loss.minimum(y)), deviances, atol=1e-12)
    slope = (loss.value(z + 1e-6, y) - loss.value(z - 1e-6, y)) / 2e-6
    assert_allclose(loss.gradient(z, y), slope, rtol=1e-6, atol=1e-8)
    here = np.array(
        [loss.score_of_mean(v) for v in y]
    )  # the curvature is exact where y is the mean
    bend = (loss.gradient(here + 1e-6, y) - loss.gradient(here - 1e-6, y)) / 2e-6
    assert_allclose(loss.curvature(here, y), bend, rtol=1e-6)


def test_gamma_and_poisson_are_powers_of_tweedie():
    X, y = table()
    pairs = [(GammaRegressor, 2.0), (PoissonRegressor, 1.0)]
    for model, power in pairs:
        named = model(alpha=0.3, tol=1e-9).fit(X, y)
        general = TweedieRegressor(power=power, alpha=0.3, tol=1e-9).fit(X, y)
        assert_allclose(named.coef_, general.coef_, atol=1e-9)


def test_gamma_is_the_minimum_of_its_objective():
    X, y = table(60)

    def objective(theta):
        z = X @ theta[:3] + theta[3]
        return np.mean(z + y * np.exp(-z)) + 0.1 * theta[:3] @ theta[:3]

    theta = minimize(objective, np.zeros(4), method="BFGS", options={"gtol": 1e-9}).x
    model = GammaRegressor(alpha=0.2, tol=1e-9).fit(X, y)
    assert_allclose(np.append(model.coef_, model.intercept_), theta, atol=1e-6)
    rows = GammaRegressor(alpha=0.2, tol=1e-9).fit(sparse.csr_array(X), y)
    assert_allclose(rows.coef_, model.coef_, atol=1e-9)


def test_impossible_targets_are_refused():
    X, y = table(20)
    y[3] = 0.0
    TweedieRegressor(power=1.5).fit(X, y)
    with pytest.raises(ValueError, match=r"out of the valid range.*positive"):
        GammaRegressor().fit(X, y)
    with pytest.raises(ValueError, match="out of the valid range"):
        TweedieRegressor(power=1.2).fit(X, y - 10)
    with pytest.raises(ValueError, match="link='log'"):
        TweedieRegressor(power=2.0, link="identity", fit_intercept=False).fit(X, y + 1)


def test_zeros_that_a_column_separates_are_reported():
    X = np.repeat([[0.0], [1.0]], 10, axis=0)
    y = np.r_[np.ones(10), np.zeros(10)]
    with pytest.warns(ConvergenceWarning, match="no maximum"):
        model = TweedieRegressor(power=1.5, alpha=0).fit(X, y)
    assert not model.converged_
