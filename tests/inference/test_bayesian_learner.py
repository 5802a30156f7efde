"""One learner for any prior and likelihood: every method against the exact posterior."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, stats

from tenfold import Lasso, LogisticRegression, Ridge
from tenfold.distributions import (
    Bernoulli,
    Beta,
    Binomial,
    Categorical,
    Dirichlet,
    Exponential,
    FiniteDistribution,
    Gamma,
    Gaussian,
    NormalInverseGamma,
    Poisson,
    Uniform,
)
from tenfold.inference.bayesian_learner import BayesianLearner
from tenfold.math.links import log_sigmoid, sigmoid

FLIPS = np.repeat([1, 0], [7, 3])
RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 2)) @ [[1.0, 0.6], [0.0, 0.8]]
Y = X @ [1.0, -0.5] + 0.3 * RNG.normal(size=30)
NOISE = 0.09
TAU = 0.25  # prior variance of the weights


def noise_model(thetas, X, y):
    """Log-likelihood of a linear model with known noise, (m, n)."""
    return -0.5 * ((y - thetas @ X.T) ** 2 / NOISE + np.log(2 * np.pi * NOISE))


def weights():
    """Exact posterior of the weights, and log-evidence."""
    S = np.linalg.inv(np.eye(2) / TAU + X.T @ X / NOISE)
    wide = NOISE * np.eye(30) + TAU * X @ X.T
    evidence = stats.multivariate_normal(np.zeros(30), wide).logpdf(Y)
    return S @ X.T @ Y / NOISE, S, evidence


LINE = BayesianLearner(Gaussian(np.zeros(2), TAU * np.eye(2)), noise_model)
LOG_ODDS = BayesianLearner(  # a uniform prior of the share of heads, seen through its log-odds
    lambda t: log_sigmoid(t[:, 0]) + log_sigmoid(-t[:, 0]),
    lambda t, x: log_sigmoid(t * (2 * np.asarray(x) - 1)),
    start=np.zeros(1),
)


# ---------------------------------------------------------------------------------- exactly


def test_three_coins():  # [001, A.7]
    coins = FiniteDistribution([0.2, 0.5, 0.8])
    learner = BayesianLearner(coins, lambda t, x: stats.binom(10, t).logpmf(x))
    found = learner.posterior([7])
    assert_allclose(found.weights, [0.0025, 0.3670, 0.6305], atol=5e-5)
    assert_allclose(np.exp(found.log_evidence), 0.1064, atol=5e-5)
    assert_allclose(found.mode, [0.8])
    assert_allclose(found.mean, found.weights @ [0.2, 0.5, 0.8])
    by_hand = found.weights @ stats.binom(10, [0.2, 0.5, 0.8]).pmf(3)
    assert_allclose(np.exp(found.log_predictive([3])), by_hand)
    assert_allclose(found.log_density([[0.5]]), np.log(stats.binom(10, 0.5).pmf(7) / 3))
    assert_allclose(found.central_moment(2), found.covariance.ravel())
    density = BayesianLearner(coins, Binomial(10)).posterior([7])  # a density serves as well
    assert_allclose(density.weights, found.weights)


@pytest.mark.parametrize(
    ("prior", "likelihood", "data", "new"),
    [
        (Beta(2.0, 3.0), Bernoulli(), FLIPS, [0, 1]),
        (Beta(2.0, 3.0), Binomial(4), [1, 3, 2], [0, 4]),
        (Gamma(2.0, 1.0), Poisson(), [0, 3, 5], [0, 4]),
        (Gamma(2.0, 1.0), Exponential(), [0.4, 2.0], [0.1, 3.0]),
        (Gaussian(1.0, 4.0), Gaussian(0.0, 2.0), [3.0, 2.0], [0.0, 2.0]),
        (Dirichlet(np.array([1.0, 2.0, 3.0])), Categorical(np.ones(3) / 3), [0, 0, 1], [0, 1, 2]),
    ],
    ids=repr,
)
def test_conjugate_posteriors_are_exact(prior, likelihood, data, new):
    found = BayesianLearner(prior, likelihood).posterior(data)
    belief = found.distribution
    assert_allclose(found.mean, np.ravel(belief.mean))
    assert_allclose(found.weights @ found.points, np.ravel(belief.mean), rtol=1e-8)
    variance = np.ravel(belief.variance)
    assert_allclose(found.covariance.diagonal(), variance, rtol=1e-7)
    assert_allclose(found.central_moment(2), variance, rtol=1e-7)
    after = replace(likelihood, prior=belief)
    each = [after.log_evidence([row]) for row in new]  # the next row, whatever the parameter is
    assert_allclose(found.log_predictive(new), each, rtol=1e-6)
    theta = np.atleast_2d(belief.mean)
    bayes = found.log_density(theta) - found.log_evidence
    assert_allclose(bayes, belief.log_density(theta), rtol=1e-8)


def test_moments_of_a_coin():  # [000, 2.3.2: expectation and n-th central moments]
    found = BayesianLearner(Beta(1, 1), Bernoulli()).posterior(FLIPS)
    law = stats.beta(8, 4)
    for order in (2, 3, 4):
        exact = integrate.quad(lambda x, k=order: (x - law.mean()) ** k * law.pdf(x), 0, 1)[0]
        assert_allclose(found.central_moment(order), [exact], rtol=1e-6)
    assert_allclose(found.expectation(lambda t: t[:, 0] ** 2), law.moment(2))
    assert_allclose(found.mode, [0.7])
    drawn = found.sample(4000, np.random.default_rng(0))
    assert_allclose(drawn.mean(), 8 / 12, atol=0.01)


# -------------------------------------------------------------------- approximately, but Gaussian


@pytest.mark.parametrize("method", ["laplace", "variational", "mcmc"])
def test_a_gaussian_posterior_is_found_by_all(method):
    mean, S, evidence = weights()
    options = {"draws": 4000} if method == "mcmc" else {}
    found = LINE.posterior(X, Y, method=method, **options)
    noise = 0.1 if method == "mcmc" else 1e-4
    deviation = np.sqrt(S.diagonal())
    assert_allclose((found.mean - mean) / deviation, 0, atol=noise)
    assert_allclose(found.mode, mean, atol=1e-5)
    if method == "variational":  # independent entries: the precision keeps its diagonal
        assert_allclose(found.covariance, np.diag(1 / np.linalg.inv(S).diagonal()), rtol=1e-4)
        missing = 0.5 * (np.log(found.covariance.diagonal()).sum() - np.linalg.slogdet(S)[1])
        assert_allclose(found.log_evidence, evidence + missing, rtol=1e-6)  # KL is what it lacks
        assert missing < 0
        return
    assert_allclose(
        found.covariance / np.outer(deviation, deviation),
        S / np.outer(deviation, deviation),
        atol=2 * noise,
    )
    if method == "laplace":
        assert_allclose(found.log_evidence, evidence, rtol=1e-6)
    else:
        assert (found.report["r_hat"] < 1.05).all()


def test_predictive_of_a_line_is_wider_far_out():  # [000, 2.3; 001, 1.2]
    mean, S, _ = weights()
    far = np.array([[0.1, 0.0], [5.0, 3.0]])
    found = LINE.posterior(X, Y, method="laplace")
    y = np.array([0.2, 3.0])
    law = stats.norm(far @ mean, np.sqrt(NOISE + (far @ S * far).sum(axis=1)))
    assert_allclose(found.log_predictive(far, y), law.logpdf(y), rtol=1e-4)


# ------------------------------------------------------------------------ approximately, in truth


@pytest.mark.parametrize(
    ("method", "error"), [("laplace", 0.02), ("variational", 0.01), ("mcmc", 0.01)]
)
def test_a_coin_without_a_formula(method, error):
    options = {"draws": 3000} if method == "mcmc" else {}
    found = LOG_ODDS.posterior(FLIPS, method=method, **options)
    assert abs(found.expectation(sigmoid)[0] - 8 / 12) < error
    assert abs(np.exp(found.log_predictive([1])[0]) - 8 / 12) < error
    exact = np.log(stats.beta(8, 4).pdf(0.5))  # at log-odds 0 the slope of the share is 1/4
    log_density = found.log_density([[0.0]])[0] + np.log(11 * 120 * 4)
    assert_allclose(log_density, exact)
    if method == "variational":
        assert found.log_evidence <= -np.log(11 * 120)
        assert_allclose(found.log_evidence, -np.log(11 * 120), atol=0.02)
    if method == "laplace":
        assert_allclose(found.log_evidence, -np.log(11 * 120), atol=0.15)


def test_the_variational_gaussian_has_the_best_bound():
    found = LOG_ODDS.posterior(FLIPS, method="variational")
    f = LOG_ODDS.log_joint(FLIPS)

    def bound(m, s):
        z = np.linspace(-10, 10, 4001)
        w = stats.norm.pdf(z) / stats.norm.pdf(z).sum()
        return w @ f((m + s * z)[:, None]) + 0.5 * np.log(2 * np.pi * np.e * s**2)

    m, s = found.mean[0], np.sqrt(found.covariance[0, 0])
    assert_allclose(bound(m, s), found.log_evidence, atol=1e-6)
    for dm, ds in ((0.05, 1.0), (-0.05, 1.0), (0.0, 1.05), (0.0, 0.95)):
        assert bound(m + dm, s * ds) < bound(m, s)


def test_borders_are_for_chains():
    learner = BayesianLearner(Beta(2.0, 3.0), Bernoulli())
    drawn = learner.posterior(FLIPS, method="mcmc", draws=3000)
    exact = learner.posterior(FLIPS)
    assert_allclose(drawn.mean, exact.mean, atol=0.01)
    assert_allclose(drawn.covariance, exact.covariance, rtol=0.1)
    assert np.isnan(drawn.log_evidence)
    with pytest.raises(ValueError, match="impossible"):
        learner.posterior(FLIPS, method="variational")


def test_a_prior_that_is_not_conjugate():
    learner = BayesianLearner(Uniform(0.0, 1.0), Bernoulli())  # the same as Beta(1, 1)
    with pytest.raises(ValueError, match="neither finite nor conjugate"):
        learner.posterior(FLIPS, method="exact")
    drawn = learner.posterior(FLIPS, method="mcmc", draws=2000)
    assert_allclose(drawn.mean, 8 / 12, atol=0.01)
    near = learner.posterior(FLIPS)  # Laplace's: mode, curvature
    assert_allclose(near.mean, 0.7, atol=1e-5)
    assert_allclose(near.covariance, 0.7 * 0.3 / 10, rtol=1e-3)


def row_logs(D):
    return -0.5 * ((D**2).sum(axis=2) + D.shape[2] * np.log(2 * np.pi))


def test_more_parameters_than_a_grid_holds():
    mean = np.array([1.0, -1.0, 0.5, 2.0, 0.0])
    data = mean + np.random.default_rng(1).normal(size=(8, 5))
    learner = BayesianLearner(Gaussian(np.zeros(5), np.eye(5)), Gaussian(np.zeros(5), np.eye(5)))
    exact = learner.posterior(data)
    assert_allclose(exact.mean, data.sum(axis=0) / 9)
    plain = BayesianLearner(learner.prior, lambda t, X: row_logs(X[None] - t[:, None]))
    for method in ("laplace", "variational"):  # the truth has independent entries
        found = plain.posterior(data, method=method)
        assert_allclose(found.mean, exact.mean, atol=1e-4)
        assert_allclose(found.covariance, np.eye(5) / 9, atol=1e-4)
        assert_allclose(found.log_evidence, exact.log_evidence, rtol=1e-5)


# ------------------------------------------------------------------- P04: MAP = penalised MLE


def test_gaussian_prior_is_ridge():  # [000, 2.3; 001, 1.2; 002, 3.4; 004, 2.7]
    ridge = Ridge(alpha=NOISE / TAU, fit_intercept=False).fit(X, Y)
    assert_allclose(LINE.mode(X, Y), ridge.coef_, atol=1e-6)


def test_laplace_prior_is_lasso():
    scale = 0.02  # of the prior: a strong pull
    learner = BayesianLearner(
        lambda t: -np.abs(t / scale).sum(axis=1), noise_model, start=np.zeros(2)
    )
    alpha = NOISE / (scale * len(Y))  # Lasso takes the mean of half squares
    for columns in ([1.0, 1.0], [1.0, 0.05]):
        Z = X * columns
        lasso = Lasso(alpha=alpha, fit_intercept=False, tol=1e-12).fit(Z, Y)
        assert_allclose(learner.mode(Z, Y), lasso.coef_, atol=2e-6)
    assert lasso.coef_[1] == 0


def test_gaussian_prior_is_penalised_logistic_regression():
    y = (Y > 0).astype(int)
    prior = Gaussian(np.zeros(2), 0.5 * np.eye(2))
    learner = BayesianLearner(prior, lambda t, X, y: log_sigmoid(t @ X.T * (2 * y - 1)))
    model = LogisticRegression(C=0.5, fit_intercept=False, tol=1e-8).fit(X, y)
    assert_allclose(learner.mode(X, y), model.coef_[0], atol=1e-5)
    wide = BayesianLearner(Gaussian(np.zeros(2), 0.01 * np.eye(2)), learner.likelihood)
    assert np.linalg.norm(wide.mode(X, y)) < np.linalg.norm(learner.mode(X, y))


# ----------------------------------------------------------------------------------- mistakes


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="method must be one of"):
        LINE.posterior(X, Y, method="guess")
    with pytest.raises(ValueError, match="neither finite nor conjugate"):
        LINE.posterior(X, Y, method="exact")
    outside = BayesianLearner(
        lambda t: np.where(t[:, 0] > 0, 0.0, -np.inf), LOG_ODDS.likelihood, [-1.0]
    )
    with pytest.raises(ValueError, match="zero at the start"):
        outside.posterior(FLIPS)
    with pytest.raises(ValueError, match="give start="):
        BayesianLearner(lambda t: 0 * t[:, 0], LOG_ODDS.likelihood).mode(FLIPS)
    both = NormalInverseGamma(np.zeros(1), 1.0, 1.0, np.ones(1))
    with pytest.raises(TypeError, match="no parameter vector"):
        BayesianLearner(both, Gaussian(kind="diagonal")).posterior([1.0, 2.0])
    edge = BayesianLearner(
        lambda t: -100 * t[:, 0], lambda t, x: np.where(t < 0, -np.inf, x * t), [1.0]
    )
    with pytest.raises(ValueError, match="no smooth peak"):
        edge.posterior([0.0], method="laplace")
