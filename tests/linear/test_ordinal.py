"""Ordinal regression against statsmodels' numbers, brute force, and what its story claims."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy import optimize, sparse, stats
from sklearn.exceptions import ConvergenceWarning

from tenfold import LogisticRegression
from tenfold.engine import Chunk, Rows
from tenfold.engine.arrays import ArraySource
from tenfold.linear._cumulative_link import (
    INTERVAL_LOSSES,
    CumulativeLinkObjective,
    log_probabilities,
    logit_interval_loss,
    ordered_thresholds,
    probit_interval_loss,
    unconstrained_thresholds,
)
from tenfold.linear.ordinal import OrdinalRegression

LINKS = ["logit", "probit"]
SOLVERS = ["newton-cholesky", "lbfgs"]
CDF = {"logit": stats.logistic.cdf, "probit": stats.norm.cdf}
CALM = settings(max_examples=40, deadline=None)


def waves():
    """Rows that need no random numbers: four ordered classes of 10, 18, 16 and 16 rows."""
    i = np.arange(60)
    X = np.column_stack([np.sin(i * 1.7), np.cos(i * 0.9) * 2, (i % 7) / 3.0])
    score = X @ [1.0, -0.7, 0.5] + 1.3 * np.sin(i * 12.9898 + 0.3) * np.cos(i * 4.1)
    return X, np.digitize(score, [-1.0, 0.3, 1.5])


def story(link="logit", n=20_000, seed=0):
    """Rows as the model says they come about, with its coefficients and thresholds."""
    rng = np.random.default_rng(seed)
    X, w, t = rng.normal(size=(n, 3)), np.array([1.0, -2.0, 0.5]), np.array([-1.5, 0.0, 2.0])
    noise = rng.logistic(size=n) if link == "logit" else rng.normal(size=n)
    return X, np.digitize(X @ w + noise, t), w, t


# OrderedModel(y, X, distr=link).fit(method="bfgs", gtol=1e-10) of statsmodels 0.15.0 on `waves`
STATSMODELS = {
    "logit": (
        [2.88967993, -1.91498734, 1.34886766],
        [-2.85794409, 1.15567644, 4.11811834],
        -41.45510777649604,
        [7.25524050e-01, 2.67687029e-01, 6.43571098e-03, 3.53210529e-04],
    ),
    "probit": (
        [1.69818053, -1.12152601, 0.73310175],
        [-1.71886525, 0.58914627, 2.28795371],
        -40.918250520428316,
        [6.99925678e-01, 2.97762864e-01, 2.30852342e-03, 2.93517747e-06],
    ),
}


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("link", LINKS)
def test_statsmodels_says_the_same(link, solver):
    X, y = waves()
    coef, cuts, log_likelihood, first_row = STATSMODELS[link]
    model = OrdinalRegression(0, link=link, solver=solver, tol=1e-9).fit(X, y)
    assert_allclose(model.coef_, coef, atol=5e-8)
    assert_allclose(model.thresholds_, cuts, atol=5e-8)
    assert_allclose(model.predict_proba(X)[0], first_row, rtol=1e-6)
    log_p = np.log(model.predict_proba(X))[np.arange(60), y].sum()
    assert log_p == pytest.approx(log_likelihood, rel=1e-11)
    assert model.history_["objective"][-1] == pytest.approx(-log_likelihood / 60, rel=1e-11)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("link", LINKS)
def test_no_other_parameters_are_better(link, solver):
    X, y = waves()
    alpha, rng = 0.7, np.random.default_rng(1)
    w = rng.uniform(0, 2, 60)

    def direct(theta):
        edges = np.concatenate([[-np.inf], np.cumsum([theta[3], *np.exp(theta[4:])]), [np.inf]])
        z = X @ theta[:3]
        p = CDF[link](edges[y + 1] - z) - CDF[link](edges[y] - z)
        return -w @ np.log(np.maximum(p, 1e-300)) + alpha / 2 * theta[:3] @ theta[:3]

    model = OrdinalRegression(alpha, link=link, solver=solver, tol=1e-9).fit(X, y, w)
    t = model.thresholds_
    ours = np.concatenate([model.coef_, t[:1], np.log(np.diff(t))])
    found = optimize.minimize(direct, np.zeros(6), method="BFGS", options={"gtol": 1e-6})
    assert direct(ours) <= found.fun + 1e-9
    assert_allclose(ours, found.x, atol=1e-4)


@pytest.mark.parametrize("link", LINKS)
def test_the_story_comes_back(link):
    X, y, w, t = story(link)
    model = OrdinalRegression(link=link).fit(X, y)
    assert_allclose(model.coef_, w, atol=0.06)
    assert_allclose(model.thresholds_, t, atol=0.06)
    latent = CDF[link](model.thresholds_[0] - model.latent(X))
    assert_allclose(model.predict_proba(X)[:, 0], latent, rtol=1e-7)


def test_odds_are_proportional():
    X, y, *_ = story(n=500)
    model = OrdinalRegression().fit(X, y)
    below = model.predict_proba(X).cumsum(axis=1)[:, :-1]
    odds = np.log(below) - np.log1p(-below)
    assert_allclose(
        np.diff(odds, axis=1), np.diff(model.thresholds_)[None].repeat(500, 0), rtol=1e-6
    )


def test_two_classes_are_logistic_regression():
    X, y, *_ = story(n=800)
    y = (y > 1).astype(int)
    ours = OrdinalRegression(0.5, tol=1e-9).fit(X, y)
    theirs = LogisticRegression(C=2.0, tol=1e-9).fit(X, y)
    assert_allclose(ours.coef_, theirs.coef_[0], rtol=1e-6)
    assert_allclose(-ours.thresholds_, theirs.intercept_, rtol=1e-6)
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-6)
    assert_array_equal(ours.predict(X), ours.decision_function(X) > 0)


@pytest.mark.parametrize("link", LINKS)
def test_the_other_way_round(link):
    X, y = waves()
    up = OrdinalRegression(link=link, tol=1e-9).fit(X, y)
    down = OrdinalRegression(link=link, tol=1e-9).fit(X, 3 - y)
    assert_allclose(down.coef_, -up.coef_, atol=1e-7)
    assert_allclose(down.thresholds_, -up.thresholds_[::-1], atol=1e-7)


@pytest.mark.parametrize("link", LINKS)
def test_a_strong_penalty_leaves_the_shares(link):
    X, y = waves()
    model = OrdinalRegression(1e9, link=link, tol=1e-10).fit(X, y)
    assert_allclose(model.coef_, 0, atol=1e-7)
    assert_allclose(model.predict_proba(X), np.tile(np.bincount(y) / 60, (60, 1)), atol=1e-6)
    weaker = [OrdinalRegression(a, link=link).fit(X, y).coef_ for a in (0.1, 1, 10)]
    sizes = [np.linalg.norm(w) for w in weaker]
    assert sizes == sorted(sizes, reverse=True)


def test_labels_are_in_sorted_order():
    X, y = waves()
    names = np.array(["1 bad", "2 fair", "3 good", "4 best"])[y]
    named, plain = OrdinalRegression().fit(X, names), OrdinalRegression().fit(X, y * 10)
    assert_array_equal(named.classes_, np.unique(names))
    assert_array_equal(named.coef_, plain.coef_)
    assert_array_equal(plain.predict(X) // 10, np.searchsorted(named.classes_, named.predict(X)))
    assert_allclose(plain.decision_function(X), np.log(plain.predict_proba(X)), atol=1e-12)


def test_sparse_rows_are_the_same_rows():
    X, y = waves()
    X = np.where(np.abs(X) < 0.7, 0, X)
    dense = OrdinalRegression(tol=1e-9).fit(X, y)
    for solver in SOLVERS:
        thin = OrdinalRegression(tol=1e-9, solver=solver).fit(sparse.csr_array(X), y)
        assert_allclose(thin.coef_, dense.coef_, atol=1e-7)
        assert_allclose(thin.predict_proba(sparse.csr_array(X)), dense.predict_proba(X), atol=1e-7)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_columns_far_from_zero(link, solver):
    X, y = waves()
    plain = OrdinalRegression(0, link=link, solver=solver, tol=1e-8).fit(X, y)
    moved = OrdinalRegression(0, link=link, solver=solver, tol=1e-8, max_iter=300)
    moved.fit(X * [1, 1e3, 1e-3] + [1e3, 1e4, 0], y)
    assert_allclose(
        moved.predict_proba(X * [1, 1e3, 1e-3] + [1e3, 1e4, 0]), plain.predict_proba(X), atol=1e-3
    )


@pytest.mark.parametrize("link", LINKS)
def test_corners(link):
    x, y = np.arange(30.0)[:, None], np.arange(30) // 10
    with pytest.warns(ConvergenceWarning, match="separable"):
        split = OrdinalRegression(0, link=link).fit(x, y)  # no finite minimum
    assert split.score(x, y) == 1
    assert (np.diff(split.thresholds_) > 0).all()
    X, y = waves()
    without = OrdinalRegression(link=link).fit(X, y, sample_weight=(y != 2).astype(float))
    assert without.predict_proba(X)[:, 2].max() < 0.05  # a class of no weight has no room
    outlier = OrdinalRegression(link=link).fit(np.vstack([X, [1e3, 0, 0]]), np.append(y, 0))
    assert np.isfinite(outlier.coef_).all()
    far = outlier.predict_proba([[1e6, -1e6, 1e6], [-1e6, 1e6, -1e6]])
    assert_allclose(far.sum(axis=1), 1)
    with pytest.raises(ValueError, match="one class"):
        OrdinalRegression(link=link).fit(X, np.ones(60))


# --------------------------------------------------------------------------------- the parts


def pairs():
    centre = np.repeat([-6.0, -2.0, 0.0, 0.3, 5.0], 4)
    gap = np.tile([0.05, 0.7, 3.0, 9.0], 5)
    return centre + gap / 2, centre - gap / 2


@pytest.mark.parametrize("link", LINKS)
def test_slopes_of_an_interval(link):
    f, (a, b), h = INTERVAL_LOSSES[link], pairs(), 1e-5
    at = f(a, b)
    assert_allclose(np.exp(-at.loss), CDF[link](a) - CDF[link](b), rtol=1e-9)
    da = lambda name: (getattr(f(a + h, b), name) - getattr(f(a - h, b), name)) / (2 * h)  # noqa: E731
    db = lambda name: (getattr(f(a, b + h), name) - getattr(f(a, b - h), name)) / (2 * h)  # noqa: E731
    for got, numeric in [
        (at.a, da("loss")),
        (at.b, db("loss")),
        (at.aa, da("a")),
        (at.ab, da("b")),
        (at.ab, db("a")),
        (at.bb, db("b")),
    ]:
        assert_allclose(got, numeric, rtol=1e-5, atol=1e-7)
    assert (at.aa > 0).all()
    assert (at.aa * at.bb - at.ab**2 > -1e-6 * at.aa * at.bb).all()  # convex in both ends


def test_intervals_far_out():
    a, b = np.array([-999.0, 1000.0, np.inf, -1000.0]), np.array([-1000.0, 999.0, 1000.0, -np.inf])
    logit, probit = logit_interval_loss(a, b), probit_interval_loss(a, b)
    assert_allclose(logit.loss, [999 - np.log(1 - 1 / np.e)] * 2 + [1000, 1000], rtol=1e-12)
    tail = -stats.norm.logcdf([-999.0, -999.0, -1000, -1000])
    assert_allclose(probit.loss, tail, rtol=1e-12)
    assert_allclose(-(probit.a + probit.b)[2:], [-1000, 1000], rtol=1e-5)
    for part in (*logit, *probit):
        assert np.isfinite(part).all()


@CALM
@given(arrays(np.float64, st.integers(1, 6), elements=st.floats(-30, 30)))
def test_thresholds_are_ordered_and_come_back(u):
    t = ordered_thresholds(u)
    assert (np.diff(t) >= 0).all()
    if len(u) < 2 or u[1:].min() > -15:
        assert_allclose(unconstrained_thresholds(t), u, atol=1e-6)


@pytest.mark.parametrize("link", LINKS)
def test_objective_has_the_slope_it_says(link):
    X, y = waves()
    w = np.random.default_rng(0).uniform(0.5, 2, 60)
    f = CumulativeLinkObjective(Rows(ArraySource(X, y, w)), link, 4, 0.3, float(w.sum()))
    theta = np.array([0.4, -0.2, 0.1, -1.0, 0.3, -0.8])
    steps = 1e-6 * np.eye(6)
    numeric = [
        (f.value_and_gradient(theta + s)[0] - f.value_and_gradient(theta - s)[0]) / 2e-6
        for s in steps
    ]
    value, gradient, hessian = f.value_gradient_hessian(theta)
    assert_allclose(gradient, numeric, atol=1e-8)
    assert_allclose(f.value_and_gradient(theta)[1], gradient, rtol=1e-12)
    assert f.value_and_gradient(theta)[0] == value
    assert np.linalg.eigvalsh(hessian).min() > 0
    model = OrdinalRegression(0.3 * w.sum(), link=link, tol=1e-12).fit(X, y, w)
    best = np.append(
        model.coef_, unconstrained_thresholds(model.thresholds_)
    )  # there the Hessian is the whole one
    numeric = [
        (f.value_and_gradient(best + s)[1] - f.value_and_gradient(best - s)[1]) / 2e-6
        for s in steps
    ]
    assert_allclose(f.value_gradient_hessian(best)[2], numeric, atol=1e-7)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_probabilities_sum_to_one(link, dtype):
    X = np.array([[-1000.0], [-8], [0], [0.1], [8], [1000]], dtype)
    log_p = log_probabilities(Chunk(X), link, np.ones(1, dtype), np.array([-1.0, 0.5, 40.0]))
    assert log_p.dtype == dtype
    assert not np.isnan(log_p).any()
    assert_allclose(np.exp(log_p).sum(axis=1), 1, rtol=1e-6)


@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("partly", [False, True])
def test_separation_is_reported_without_a_penalty(link, partly):
    """Thresholds on the first column separate all classes, or the last one alone."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.repeat([0, 1, 2], 20)
    X[:, 0] = np.where(y == 2, 5.0, 0.0 if partly else 2.0 * y) + 0.1 * rng.normal(size=60)
    if partly:
        X[:, 0] = (y == 2).astype(float)
    with pytest.warns(ConvergenceWarning, match=r"linearly separable.*Set alpha"):
        model = OrdinalRegression(alpha=0, link=link).fit(X, y)
    assert model.converged_ is False
    assert OrdinalRegression(alpha=1.0, link=link).fit(X, y).converged_


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_classes_that_overlap_are_not_separated(link):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 3))
    y = np.digitize(X @ [1.0, 2.0, 0.0] + rng.normal(size=200), [-1.0, 1.0])
    assert OrdinalRegression(alpha=0, link=link).fit(X, y).converged_
