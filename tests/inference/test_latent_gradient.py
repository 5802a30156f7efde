"""Fisher's identity against differences, and gradient ascent against EM."""

import numpy as np
from numpy.testing import assert_allclose
from scipy.special import logsumexp

from tenfold import BernoulliMixture, GaussianMixture, PoissonMixture
from tenfold.inference import fisher_gradient, maximize_marginal_likelihood


def mixture_joint(X, k, log_density):
    """Log joint and gradients of a mixture whose first parameters are logits of the weights."""

    def joint(theta):
        logits, rest = theta[:k], theta[k:].reshape(k, -1)
        log_weights = logits - logsumexp(logits)
        logs, slopes = log_density(X, rest)
        gradients = np.zeros((len(X), k, len(theta)))
        gradients[:, :, :k] = np.eye(k) - np.exp(log_weights)
        for c in range(k):
            q = rest.shape[1]
            gradients[:, c, k + c * q : k + (c + 1) * q] = slopes[:, c]
        return log_weights + logs, gradients

    return joint


def poisson(X, log_rates):
    logs = X @ log_rates.T - np.exp(log_rates).sum(axis=1)
    return logs, X[:, None] - np.exp(log_rates)


def gaussian(X, parameters):  # means and log standard deviations
    m, s = np.split(parameters, 2, axis=1)
    Z = (X[:, None] - m) / np.exp(s)
    logs = (-0.5 * Z**2 - s - 0.5 * np.log(2 * np.pi)).sum(axis=2)
    return logs, np.concatenate([Z / np.exp(s), Z**2 - 1], axis=2)


def counts(n=200):
    rng = np.random.default_rng(0)
    return rng.poisson(np.array([[1.0, 6.0], [7.0, 2.0]])[np.arange(n) % 2]).astype(float)


def test_the_gradient_is_that_of_the_marginal_likelihood():
    rng = np.random.default_rng(1)
    for density, q in ((poisson, 2), (gaussian, 4)):
        joint = mixture_joint(counts(), 2, density)
        theta = 0.3 * rng.normal(size=2 + 2 * q)
        likelihood = lambda t, f=joint: logsumexp(f(t)[0], axis=1).sum()  # noqa: E731
        step = 1e-5 * np.eye(len(theta))
        differences = [(likelihood(theta + e) - likelihood(theta - e)) / 2e-5 for e in step]
        assert_allclose(fisher_gradient(*joint(theta)), differences, rtol=1e-6, atol=1e-4)


def test_it_is_zero_where_em_stands_still():
    X = counts()
    em = PoissonMixture(2, random_state=0, tol=1e-15, max_iter=2000).fit(X)
    theta = np.concatenate([np.log(em.weights_), np.log(em.rates_).ravel()])
    gradient = fisher_gradient(*mixture_joint(X, 2, poisson)(theta))
    assert_allclose(gradient / len(X), 0, atol=1e-6)


def test_gradient_ascent_finds_the_maximum_of_em():
    X = counts()
    start = np.array([0, 0, 0.5, 1.0, 1.0, 0.5])
    found = maximize_marginal_likelihood(mixture_joint(X, 2, poisson), start, tol=1e-8)
    em = PoissonMixture(2, random_state=0, tol=1e-15, max_iter=2000).fit(X)
    rates = np.exp(found.parameters[2:].reshape(2, 2))
    order = np.argsort(em.rates_[:, 0])
    assert_allclose(rates[np.argsort(rates[:, 0])], em.rates_[order], rtol=1e-5)
    assert found.report["converged_"]
    assert_allclose(found.expectations.sum(axis=1), 1)

    start = np.concatenate([[0, 0], [1.0, 6.0, 0.5, 0.5], [7.0, 2.0, 0.5, 0.5]])
    found = maximize_marginal_likelihood(mixture_joint(X, 2, gaussian), start, tol=1e-7)
    em = GaussianMixture(
        2,
        covariance_type="diag",
        means_init=[[1, 6], [7, 2]],
        reg_covar=0,
        tol=1e-14,
        max_iter=2000,
    ).fit(X)
    assert_allclose(found.log_likelihood / len(X), em.score(X), rtol=1e-9)


def test_discrete_mixtures_have_the_same_gradient():
    X = (counts() > 3).astype(float)
    em = BernoulliMixture(2, random_state=0, tol=1e-15, max_iter=3000).fit(X)
    p = np.clip(em.probabilities_, 1e-6, 1 - 1e-6)

    def bernoulli(X, log_odds):
        logs = X @ log_odds.T - np.logaddexp(0, log_odds).sum(axis=1)
        return logs, X[:, None] - 1 / (1 + np.exp(-log_odds))

    theta = np.concatenate([np.log(em.weights_), np.log(p / (1 - p)).ravel()])
    gradient = fisher_gradient(*mixture_joint(X, 2, bernoulli)(theta))
    assert_allclose(gradient / len(X), 0, atol=1e-4)
