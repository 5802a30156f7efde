"""Conjugate priors: sequential updates, modes, evidence, predictions."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import integrate, special, stats

from tenfold.distributions import (
    Bernoulli,
    Beta,
    Binomial,
    Categorical,
    Dirichlet,
    Exponential,
    Gamma,
    Gaussian,
    Multinomial,
    NormalInverseGamma,
    NormalInverseWishart,
    Poisson,
)
from tests.distributions.cases import CALM, MEAN, WORDS, C, draws, nudged, total

CONJUGATE = [
    Bernoulli(prior=Beta(2.0, 3.0)),
    Bernoulli(np.full(3, 0.5), prior=Beta(np.array([1.0, 2.0, 3.0]), np.ones(3))),
    Binomial(9, prior=Beta(2.0, 3.0)),
    Categorical(WORDS, prior=Dirichlet(np.array([1.0, 2.0, 3.0]))),
    Multinomial(WORDS, trials=5, prior=Dirichlet(np.array([1.0, 2.0, 3.0]))),
    Poisson(2.0, prior=Gamma(3.0, 2.0)),
    Exponential(2.0, prior=Gamma(3.0, 2.0)),
    Gaussian(MEAN, C, prior=Gaussian(np.zeros(3), np.eye(3) + 0.2)),
    Gaussian(MEAN, 0.5, "spherical", prior=Gaussian(np.zeros(3), 2.0)),
    Gaussian(MEAN, C, prior=NormalInverseWishart(np.zeros(3), 2.0, 5.0, np.eye(3))),
    Gaussian(
        MEAN, C.diagonal(), "diagonal", prior=NormalInverseGamma(np.zeros(3), 2.0, 2.0, np.ones(3))
    ),
]


def beliefs(prior):
    return np.concatenate(
        [np.ravel(v) for v in vars(prior).values() if isinstance(v, float | np.ndarray)]
    )


@pytest.mark.parametrize("density", CONJUGATE, ids=repr)
def test_sequential_updates_are_the_batch_update(density):  # [001, A.7; 004, 2.7]
    X = draws(density, 30)
    batch = density.update(X)
    steps = density.update(X[:7]).update(X[7:8]).update(X[8:])
    assert_allclose(beliefs(steps.prior), beliefs(batch.prior), rtol=1e-10)
    together = density.log_evidence(X)
    apart = density.log_evidence(X[:7]) + density.update(X[:7]).log_evidence(X[7:])
    assert_allclose(apart, together, rtol=1e-10)
    assert_allclose(density.log_evidence(X, np.zeros(30)), 0, atol=1e-9)


@pytest.mark.parametrize("density", CONJUGATE, ids=repr)
def test_map_is_the_top_of_the_posterior(density):
    X = draws(density, 30)
    best = density.fit(X)
    prior = density.prior

    def height(one):
        theta = parameter(one, prior)
        return total(one, X) + np.sum(prior.log_density(theta))

    rng = np.random.default_rng(3)
    for _ in range(20):
        assert height(nudged_parameter(best, prior, rng)) <= height(best) + 1e-9


def parameter(density, prior):
    if isinstance(density, Gaussian):
        known = isinstance(prior, Gaussian)
        return density.mean[None] if known else (density.mean, density.covariance)
    value = density.rate if hasattr(density, "rate") else density.p
    return np.atleast_2d(value)


def nudged_parameter(density, prior, rng):
    if isinstance(density, Gaussian) and isinstance(prior, Gaussian):
        return replace(density, mean=density.mean + 0.05 * rng.normal(size=3))
    return nudged(density, rng)


def test_evidence_is_the_integral():
    x = [1, 0, 1, 1]
    exact = integrate.quad(
        lambda p: np.exp(total(Bernoulli(p), x)) * stats.beta(2, 3).pdf(p), 0, 1
    )[0]
    assert_allclose(np.exp(Bernoulli(prior=Beta(2, 3)).log_evidence(x)), exact)
    exact = integrate.quad(
        lambda r: np.exp(total(Poisson(r), x)) * stats.gamma(3, scale=0.5).pdf(r), 0, 60
    )[0]
    assert_allclose(np.exp(Poisson(prior=Gamma(3, 2)).log_evidence(x)), exact)
    t = [0.4, 2.0]
    exact = integrate.quad(
        lambda r: np.exp(total(Exponential(r), t)) * stats.gamma(3, scale=0.5).pdf(r), 0, 60
    )[0]
    assert_allclose(np.exp(Exponential(prior=Gamma(3, 2)).log_evidence(t)), exact)
    X = draws(Gaussian(MEAN, C), 4)
    prior = Gaussian(np.zeros(3), np.eye(3) + 0.2)
    wide = np.kron(np.eye(4), C) + np.kron(np.ones((4, 4)), prior.covariance)
    joint = stats.multivariate_normal(np.zeros(12), wide).logpdf(X.ravel())
    assert_allclose(Gaussian(MEAN, C, prior=prior).log_evidence(X), joint)


def test_next_row_of_an_unknown_gaussian_is_a_t():
    belief = NormalInverseWishart(np.zeros(3), 2.0, 5.0, np.eye(3))
    known = Gaussian(MEAN, C, prior=belief).update(draws(Gaussian(MEAN, C), 9))
    row = np.array([[0.3, -1.0, 1.0]])
    assert_allclose(known.log_evidence(row), known.prior.predictive().logpdf(row[0]))
    law = stats.invwishart(5.0, np.eye(3)).logpdf(C) + stats.multivariate_normal(
        np.zeros(3), C / 2
    ).logpdf(MEAN)
    assert_allclose(belief.log_density((MEAN, C)), law)
    means, covariances = belief.sample(4000, np.random.default_rng(0))
    assert_allclose(covariances.mean(axis=0), belief.mean.covariance, atol=0.2)
    assert_allclose(means.mean(axis=0), 0, atol=0.1)
    one = NormalInverseGamma(np.zeros(1), 2.0, 2.5, np.array([0.5]))
    wishart = NormalInverseWishart(np.zeros(1), 2.0, 5.0, np.eye(1))  # the same in one dimension
    x = np.array([[0.3], [1.0]])
    both = [
        Gaussian(kind=k, prior=b).log_evidence(x) for k, b in (("diagonal", one), ("full", wishart))
    ]
    assert_allclose(*both)
    drawn = one.sample(20000, np.random.default_rng(0))
    assert_allclose(drawn.covariance.mean(), one.mean.covariance[0], rtol=0.05)
    with pytest.raises(ValueError, match="no mean"):
        _ = NormalInverseGamma(np.zeros(1), 1.0, 0.5, np.ones(1)).mean
    with pytest.raises(ValueError, match="full covariances"):
        Gaussian(kind="diagonal", prior=wishart).fit(x)


def test_belief_about_a_coin():  # [001, A.7]
    flips = np.repeat([1, 0], [7, 3])
    flat_prior = Bernoulli(prior=Beta(1, 1)).update(flips)
    assert (flat_prior.prior.a, flat_prior.prior.b) == (8, 4)
    assert_allclose(np.exp(Binomial(10, prior=Beta(1, 1)).log_evidence([7])), 1 / 11)
    assert_allclose(
        np.exp(Bernoulli(prior=Beta(1, 1)).log_evidence(flips)), 1 / (special.comb(10, 7) * 11)
    )
    a, b = 2.0, 5.0
    after = Bernoulli(prior=Beta(a, b)).update(flips).prior
    assert_allclose(after.mean, (a + 7) / (a + b + 10))  # the best guess of p
    assert_allclose(after.variance, 9 * 8 / (17**2 * 18))
    assert_allclose(Bernoulli(prior=Beta(1, 1)).fit(flips).p, 0.7)  # a flat prior: most likely
    assert Beta(0.5, 0.5).mode == 0.5
    assert Beta(0.5, 2.0).mode == 0.0


@CALM
@given(st.integers(0, 30), st.integers(0, 30))
def test_flips_of_an_unknown_coin_are_uniform(n, k):  # [001, A.7: A_{n,k} and its recursion]
    n, k = max(n, k), min(n, k)
    unknown = Binomial(n, prior=Beta(1.0, 1.0))
    assert_allclose(np.exp(unknown.log_evidence([k])), 1 / (n + 1), rtol=1e-9)
    A = [special.beta(j + 1, n - j + 1) for j in range(n + 1)]
    assert_allclose(A[k], 1 / (special.comb(n, k) * (n + 1)))
    if k:
        assert_allclose(A[k], k / (n - k + 1) * A[k - 1])
