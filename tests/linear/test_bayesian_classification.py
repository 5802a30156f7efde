"""Bayesian classification: Laplace and MCMC against quadrature."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.integrate import quad
from scipy.special import expit, ndtr

from tenfold import LogisticRegression
from tenfold.engine.arrays import ArraySource
from tenfold.engine.rows import Rows
from tenfold.linear.bayesian._laplace import ClassifierLogPosterior, link_loss
from tenfold.linear.bayesian.bayesian_linear import BayesianLinearRegression
from tenfold.linear.bayesian.bayesian_logistic import BayesianLogisticRegression
from tenfold.linear.bayesian.model_averaging import (
    BayesianModelAverage,
    WeightedModels,
    model_posterior,
)
from tenfold.linear.bayesian.prior import gaussian_prior


def labels(n=40, p=2, seed=0, k=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + 1
    score = X @ rng.normal(size=(p, k)) + rng.gumbel(size=(n, k))
    return X, score.argmax(axis=1)


def by_quadrature(X, y, link, at):
    """Predictive probability and evidence for one coefficient with a standard normal prior."""
    cdf = expit if link == "logit" else ndtr
    signs = 2 * y - 1

    def joint(w):
        return stats.norm.pdf(w) * cdf(signs * w * X[:, 0]).prod()

    evidence = quad(joint, -8, 8, epsabs=1e-15)[0]
    return quad(lambda w: cdf(w * at) * joint(w), -8, 8, epsabs=1e-15)[0] / evidence, evidence


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_laplace_and_mcmc_against_quadrature(link):
    X, y = labels(25, 1)
    plain = {"link": link, "fit_intercept": False, "random_state": 0}
    model = BayesianLogisticRegression(**plain).fit(X, y)
    chains = BayesianLogisticRegression(posterior="mcmc", n_draws=2000, **plain).fit(X, y)
    drawn = BayesianLogisticRegression(predictive="monte-carlo", n_draws=4000, **plain).fit(X, y)
    assert (chains.r_hat_ < 1.02).all()
    for at in (-3.0, 0.5, 6.0):
        want, evidence = by_quadrature(X, y, link, at)
        assert_allclose(model.predict_proba([[at]])[0, 1], want, atol=0.03)
        assert_allclose(chains.predict_proba([[at]])[0, 1], want, atol=0.01)
        assert_allclose(drawn.predict_proba([[at]])[0, 1], want, atol=0.02)
        assert_allclose(model.log_evidence_, np.log(evidence), atol=0.02)


def test_probit_predictions_are_exact_under_the_gaussian():
    X, y = labels()
    model = BayesianLogisticRegression(link="probit", intercept_precision=0.5).fit(X, y)
    for x in ([3.0, -1.0], [0.0, 0.0]):
        a = np.append(x, 1.0)
        mean = a @ np.append(model.coef_, model.intercept_)
        spread = np.sqrt(a @ model.covariance_ @ a)
        want = quad(lambda z: ndtr(mean + spread * z) * stats.norm.pdf(z), -9, 9)[0]  # noqa: B023
        assert_allclose(model.predict_proba([x])[0, 1], want, rtol=1e-7)


@pytest.mark.parametrize("intercept", [True, False])
def test_the_mode_is_penalised_logistic_regression(intercept):
    X, y = labels(200)
    mode = BayesianLogisticRegression(prior_precision=2.0, fit_intercept=intercept).fit(X, y)
    ridge = LogisticRegression(C=0.5, tol=1e-9, fit_intercept=intercept).fit(X, y)
    assert_allclose(mode.coef_, ridge.coef_, rtol=1e-5)
    assert_allclose(mode.intercept_, ridge.intercept_, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("link", ["logit", "probit", "softmax"])
def test_slopes_and_curves_by_finite_differences(link):
    k = 3 if link == "softmax" else 2
    X, y = labels(50, 2, k=k)
    A = np.array([[2.0, 0.7], [0.7, 1.0]])
    rows = Rows(ArraySource(X, y)).with_classes(np.arange(k))
    loss = link_loss("logit" if link == "softmax" else link, k)
    f = ClassifierLogPosterior(
        rows, loss, (k - 1, 3), gaussian_prior([0.5, -1], A, None, 2), 0.3, 50.0
    )
    theta = np.random.default_rng(1).normal(size=3 * (k - 1))
    value, gradient, H = f.value_gradient_hessian(theta)
    h, E = 1e-5, np.eye(len(theta))
    ahead, behind = ([f.value_gradient_hessian(theta + s * h * e) for e in E] for s in (1, -1))
    numeric = [(a[0] - b[0]) / (2 * h) for a, b in zip(ahead, behind, strict=True)]
    assert_allclose(gradient, numeric, atol=1e-8)
    numeric = [(a[1] - b[1]) / (2 * h) for a, b in zip(ahead, behind, strict=True)]
    assert_allclose(H, numeric, atol=1e-8)
    log_density, slope = f.evaluate_points(np.stack([theta, theta]))
    assert_allclose(log_density, -50 * value)
    assert_allclose(slope[1], -50 * gradient)


def test_any_prior_of_a_classifier():
    X, y = labels(60)
    A = np.array([[3.0, 1.0], [1.0, 2.0]])
    more = {"prior_mean": [1.0, -1.0], "tol": 1e-10}
    full = BayesianLogisticRegression(prior_precision=A, **more).fit(X, y)
    same = BayesianLogisticRegression(prior_covariance=np.linalg.inv(A), **more)
    assert_allclose(same.fit(X, y).coef_, full.coef_, rtol=1e-7)
    assert_allclose(same.covariance_, full.covariance_, rtol=1e-6)
    assert_allclose(same.log_evidence_, full.log_evidence_, rtol=1e-9)
    z = X @ full.coef_[0] + full.intercept_[0]
    gradient = X.T @ (y - expit(z)) - A @ (full.coef_[0] - [1.0, -1.0])
    assert_allclose(gradient, 0, atol=1e-5)
    diagonal = BayesianLogisticRegression(prior_precision=[3.0, 3.0]).fit(X, y)
    number = BayesianLogisticRegression(prior_precision=3.0).fit(X, y)
    assert_allclose(diagonal.covariance_, number.covariance_, rtol=1e-6)
    assert_allclose(diagonal.log_evidence_, number.log_evidence_, rtol=1e-9)


def test_two_classes_are_a_softmax_of_two():
    X, y = labels(80)
    pair = BayesianLogisticRegression().fit(X, y)
    three = BayesianLogisticRegression().fit(np.vstack([X, X[:1]]), np.append(y, 2))
    assert three.coef_.shape == (2, 2)
    assert_allclose(three.coef_[0], pair.coef_[0], atol=0.2)
    P = three.predict_proba(X)
    assert_allclose(P.sum(axis=1), 1)
    assert (P[:, 2] < 0.5).all()


def test_softmax_draws_agree_with_mcmc():
    X, y = labels(60, 2, k=3)
    a = BayesianLogisticRegression(random_state=0, n_draws=1000).fit(X, y)
    b = BayesianLogisticRegression(random_state=0, n_draws=1000, posterior="mcmc").fit(X, y)
    assert (b.r_hat_ < 1.05).all()
    assert_allclose(a.predict_proba(X), b.predict_proba(X), atol=0.05)
    draws = a.sample_posterior(20_000, random_state=1)
    flat = np.concatenate([draws.coef, draws.intercept[:, :, None]], axis=2).reshape(20_000, -1)
    assert_allclose(np.cov(flat, rowvar=False), a.covariance_, atol=0.05 * a.covariance_.max())


def test_confidence_fades_away_from_the_data():  # 000, E3
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(-1, 0.5, size=(5, 2)), rng.normal(1, 0.5, size=(5, 2))])
    y = np.repeat([0, 1], 5)
    model = BayesianLogisticRegression().fit(X, y)
    w, b = model.coef_[0], model.intercept_[0]
    along = np.array([-w[1], w[0]]) / np.linalg.norm(w)
    across = w / (w @ w)
    foot = -b * across
    near, far = foot + across, foot + across + 20 * along  # the same score, 20 away
    p = model.predict_proba([foot, near, far])[:, 1]
    assert_allclose(p[0], 0.5, atol=1e-6)  # on the boundary
    assert p[1] > p[2] > 0.5  # unsure where there are no data
    sure = expit(X @ w + b)
    assert (np.abs(model.predict_proba(X)[:, 1] - 0.5) < np.abs(sure - 0.5)).all()


def test_many_classifiers_at_once():
    X, y = labels(60)
    models = [BayesianLogisticRegression(prior_precision=s).fit(X, y) for s in (0.1, 1.0, 10.0)]
    weights = model_posterior([m.log_evidence_ for m in models])
    costs = [-m.log_evidence_ for m in models]
    many = WeightedModels(models, costs, lambda m, X: m.predict_proba(X))
    want = sum(w * m.predict_proba(X) for w, m in zip(weights, models, strict=True))
    assert_allclose(many.mean(X), want)


def test_probit_is_for_two_classes():
    with pytest.raises(ValueError, match="two classes, not 3"):
        BayesianLogisticRegression(link="probit").fit(*labels(k=3))


def test_pipelines_are_averaged_too():  # degrees of a polynomial [004, 2.8]
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures

    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(-1, 1, 30))[:, None]
    y = 2 * x[:, 0] ** 3 - x[:, 0] + 0.1 * rng.normal(size=30)
    last = BayesianLinearRegression(prior_precision=1.0, noise=0.1)
    degrees = [PolynomialFeatures(d, include_bias=False) for d in (1, 3, 6)]
    average = BayesianModelAverage([make_pipeline(d, last) for d in degrees]).fit(x, y)
    alone = [BayesianModelAverage([last]).fit(d.fit_transform(x), y) for d in degrees]
    assert_allclose(average.log_evidences_, [m.log_evidence_ for m in alone])
    assert average.weights_.argmax() == 1
    mean = sum(w * m.predict(x) for w, m in zip(average.weights_, average.models_, strict=True))
    assert_allclose(average.predict(x), mean)
    with pytest.raises(ValueError, match="pipeline"):
        average.fit(x, y, sample_weight=np.ones(30))
