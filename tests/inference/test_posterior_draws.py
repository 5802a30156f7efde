"""Draws of posteriors are draws, not quadrature nodes; chains start where the posterior is."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstest

from tenfold.distributions import (
    Bernoulli,
    Beta,
    Categorical,
    Dirichlet,
    Exponential,
    FiniteDistribution,
    Gamma,
    Gaussian,
    Poisson,
    Uniform,
)
from tenfold.inference.bayesian_learner import BayesianLearner
from tenfold.math.links import log_sigmoid

CONJUGATE = [
    (Beta(1, 1), Bernoulli(), [1, 1, 0]),
    (Gamma(2, 1), Poisson(), [3, 0, 2]),
    (Gamma(2, 1), Exponential(), [0.3, 1.0]),
    (Gaussian(0.0, 4.0), Gaussian(0.0, 1.0), [1.0, 2.0]),
    (Dirichlet([1.0, 2.0, 1.0]), Categorical([0.2, 0.3, 0.5]), [0, 2, 2]),
]


@pytest.mark.parametrize(("prior", "likelihood", "data"), CONJUGATE)
def test_draws_are_from_the_posterior_itself(prior, likelihood, data):
    posterior = BayesianLearner(prior, likelihood).posterior(data)
    draws = posterior.sample(20_000, np.random.default_rng(0))
    assert draws.shape == (20_000, posterior.mean.size)
    assert len(np.unique(draws, axis=0)) == 20_000
    np.testing.assert_allclose(draws.mean(axis=0), posterior.mean, rtol=0.05)
    if draws.shape[1] == 1:
        assert kstest(draws[:, 0], posterior.distribution.to_scipy().cdf).pvalue > 1e-3


@pytest.mark.parametrize("method", ["laplace", "variational"])
def test_draws_of_gaussian_approximations(method):
    learner = BayesianLearner(
        lambda t: log_sigmoid(t[:, 0]) + log_sigmoid(-t[:, 0]),
        lambda t, x: log_sigmoid(t * (2 * x - 1)),
        start=[0.0],
    )
    posterior = learner.posterior([1, 1, 0, 1], method=method, seed=3)
    draws = posterior.sample(20_000, np.random.default_rng(0))
    assert len(np.unique(draws)) == 20_000
    assert kstest(draws[:, 0], posterior.distribution.to_scipy().cdf).pvalue > 1e-3


def test_draws_of_finite_posteriors_are_its_outcomes():
    posterior = BayesianLearner(FiniteDistribution([0.2, 0.5, 0.8]), Bernoulli()).posterior([1, 1])
    draws = posterior.sample(1000, np.random.default_rng(0))
    assert set(draws[:, 0]) == {0.2, 0.5, 0.8}


def test_the_seed_of_draws_is_an_option_of_every_method():
    d = 5  # more than a grid holds
    data = np.random.default_rng(1).normal(size=(8, d))
    gaussian = BayesianLearner(Gaussian(np.zeros(d), np.eye(d)), Gaussian(np.zeros(d), np.eye(d)))
    plain = BayesianLearner(
        gaussian.prior, lambda t, X: -0.5 * ((X[None] - t[:, None]) ** 2).sum(axis=2)
    )
    for learner, method in [(gaussian, "exact"), (plain, "laplace"), (plain, "variational")]:
        a, b, c = (learner.posterior(data, method=method, seed=s).points for s in (0, 0, 1))
        assert np.array_equal(a, b)
        assert not np.array_equal(a, c)
    finite = BayesianLearner(FiniteDistribution([0.2, 0.8]), Bernoulli())
    assert finite.posterior([1], seed=1).mean > 0.5
    with pytest.raises(TypeError, match="walkers"):
        finite.posterior([1], walkers=3)


@pytest.mark.parametrize(
    ("prior", "likelihood", "data", "mean"),
    [
        (Beta(1, 1), Bernoulli(), np.ones(5), 6 / 7),
        (Beta(1, 1), Bernoulli(), np.zeros(5), 1 / 7),
        (Uniform(0.0, 1.0), Bernoulli(), np.ones(5), 6 / 7),
        (Beta(0.5, 0.5), Bernoulli(), np.ones(5), 5.5 / 6),  # the density is infinite at its mode
        (Gamma(1, 1), Poisson(), np.zeros(5), 1 / 6),
    ],
)
def test_chains_start_inside_of_a_mode_on_the_border(prior, likelihood, data, mean):
    posterior = BayesianLearner(prior, likelihood).posterior(data, method="mcmc", draws=3000)
    np.testing.assert_allclose(posterior.mean, mean, atol=0.015)


def test_chains_start_in_a_corner_of_many_parameters():
    def log_prior(t):
        return np.where(((t >= 0) & (t <= 1)).all(axis=1), 0.0, -np.inf)

    def log_likelihood(t, X):
        return (X[None] * np.log(t)[:, None]).sum(axis=2)

    learner = BayesianLearner(log_prior, log_likelihood, start=np.full(4, 0.5))
    posterior = learner.posterior(np.ones((3, 4)), method="mcmc", draws=3000)
    np.testing.assert_allclose(posterior.mean, 4 / 5, atol=0.03)


def test_an_impossible_prior_mean_is_replaced_by_draws_of_the_prior():
    def log_likelihood(t, x):  # uniform up to theta: theta is at least the largest number
        return np.where(x[None] <= t, -np.log(t), -np.inf)

    learner = BayesianLearner(Gamma(2, 0.5), log_likelihood)
    assert Gamma(2, 0.5).mean < 7
    posterior = learner.posterior(np.array([1.0, 7.0, 5.0]), method="mcmc", draws=3000)
    t = np.linspace(7, 100, 200_001)
    p = np.exp(-0.5 * t) / t**2
    np.testing.assert_allclose(posterior.mean, (t * p).sum() / p.sum(), rtol=0.02)
    with pytest.raises(ValueError, match="zero at the start"):
        BayesianLearner(Gamma(2, 0.5), log_likelihood, start=[4.0]).mode(np.array([1.0, 7.0]))


def test_laplace_refuses_a_kink():
    learner = BayesianLearner(
        lambda t: -np.abs(t[:, 0]), lambda t, x: -0.5 * (x[None] - t) ** 2, start=[0.0]
    )
    with pytest.raises(ValueError, match="no smooth peak"):
        learner.posterior([0.1, -0.2], method="laplace")
    assert abs(learner.mode([0.1, -0.2])[0]) < 1e-6
    away = learner.posterior([3.0, 2.0], method="laplace")  # the mode is off the kink
    np.testing.assert_allclose(away.covariance, 0.5, rtol=1e-4)
