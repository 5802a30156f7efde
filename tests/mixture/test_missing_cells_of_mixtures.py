"""Mixtures of discrete distributions with missing entries."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.stats import bernoulli, multinomial, poisson

from tenfold import BernoulliMixture, CategoricalMixture, MultinomialMixture, PoissonMixture

FAMILIES = [BernoulliMixture, CategoricalMixture, MultinomialMixture, PoissonMixture]


def rows(family, n=120, seed=0):
    rng = np.random.default_rng(seed)
    kind = np.arange(n) % 2
    if family is MultinomialMixture:
        p = np.array([[0.6, 0.2, 0.1, 0.1], [0.1, 0.2, 0.3, 0.4]])
        X = np.stack([rng.multinomial(12, p[c]) for c in kind])
    else:
        X = rng.poisson(np.array([[4, 1, 0.5, 2], [1, 3, 2, 0.3]])[kind])
    X = (np.minimum(X, 1) if family is BernoulliMixture else X).astype(float)
    holes = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    holes[3] = np.nan
    return X, holes


def log_marginal(model, component, x):
    """Log-probability of the observed entries of a row in a component."""
    o = np.flatnonzero(~np.isnan(x))
    if not len(o):
        return 0.0
    if isinstance(model, MultinomialMixture):
        p = model.probabilities_[component][o]
        return multinomial(int(x[o].sum()), p / p.sum()).logpmf(x[o])
    if isinstance(model, BernoulliMixture):
        return bernoulli(model.probabilities_[component][o]).logpmf(x[o]).sum()
    if isinstance(model, PoissonMixture):
        return poisson(model.rates_[component][o]).logpmf(x[o]).sum()
    return sum(np.log(model.tables()[j][component, int(x[j])]) for j in o)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_row_counts_with_its_observed_entries(family):
    X, holes = rows(family)
    model = family(2, random_state=0, alpha=0.1).fit(X)
    joint = np.array(
        [[np.log(model.weights_[c]) + log_marginal(model, c, x) for c in range(2)] for x in holes]
    )
    likelihood = np.logaddexp(*joint.T)
    assert_allclose(model.score_samples(holes), likelihood, rtol=1e-8, atol=1e-9)
    assert_allclose(model.predict_proba(holes), np.exp(joint - likelihood[:, None]), atol=1e-8)


@pytest.mark.parametrize("alpha", [0.0, 0.5])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_likelihood_never_falls(family, alpha):
    _, holes = rows(family)
    model = family(2, random_state=0, alpha=alpha, tol=1e-9, max_iter=300).fit(holes)
    assert (np.diff(model.history_["objective"]) <= 1e-12).all()
    assert np.isfinite(model.predict_proba(holes)).all()


@pytest.mark.parametrize("family", FAMILIES)
def test_one_component_is_the_maximum_of_the_likelihood(family):
    _, holes = rows(family)
    model = family(1, tol=1e-14, max_iter=2000).fit(holes)
    if family is MultinomialMixture:

        def cost(logits):
            model.probabilities_ = np.exp(logits - np.logaddexp.reduce(logits))[None]
            return -sum(log_marginal(model, 0, x) for x in holes)

        found = model.probabilities_[0].copy()
        best = minimize(cost, np.log(found), method="BFGS")
        assert_allclose(found, np.exp(best.x) / np.exp(best.x).sum(), atol=1e-4)
        assert cost(np.log(found)) <= best.fun + 1e-8
        return
    for j in range(4):
        there = holes[~np.isnan(holes[:, j]), j]
        if family is CategoricalMixture:
            shares = np.bincount(there.astype(int)) / len(there)
            assert_allclose(model.tables()[j][0], np.maximum(shares, 1e-10), atol=1e-9)
        else:
            rates = model.rates_ if family is PoissonMixture else model.probabilities_
            assert_allclose(rates[0, j], there.mean(), rtol=1e-9)


@pytest.mark.parametrize("family", FAMILIES)
def test_infinity_is_not_a_missing_value(family):
    X, _ = rows(family)
    X[3, 1] = np.inf
    with pytest.raises(ValueError, match=r"infinity|holds inf"):
        family(2, random_state=0).fit(X)
