"""Mixtures of counts, categories and of any density: oracles, and what EM promises."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import logsumexp
from scipy.stats import bernoulli, multinomial, poisson

from tenfold import testing
from tenfold.distributions import Gaussian
from tenfold.mixture.discrete import (
    BernoulliMixture,
    CategoricalMixture,
    MultinomialMixture,
    PoissonMixture,
)
from tenfold.mixture.gaussian_mixture import GaussianMixture
from tenfold.mixture.mixture_model import MixtureModel
from tenfold.mixture.n_components import choose_components

COUNTS = (BernoulliMixture, MultinomialMixture, PoissonMixture, CategoricalMixture)


def counts(n=400, p=5, k=3, seed=0, rate=4.0):
    rng = np.random.default_rng(seed)
    rates = rng.gamma(0.7, rate, (k, p))
    y = rng.integers(k, size=n)
    return rng.poisson(rates[y]).astype(float), y


def table_for(model, seed=0):
    X, _ = counts(seed=seed)
    if isinstance(model, BernoulliMixture):
        return (X > 2).astype(float)
    return np.minimum(X, 4) if isinstance(model, CategoricalMixture) else X


def brute(model, X):
    """Scores from scipy, component by component."""
    logs = []
    for k, weight in enumerate(model.weights_):
        if isinstance(model, BernoulliMixture):
            each = bernoulli(model.probabilities_[k]).logpmf(X).sum(axis=1)
        elif isinstance(model, PoissonMixture):
            each = poisson(model.rates_[k]).logpmf(X).sum(axis=1)
        elif isinstance(model, MultinomialMixture):
            p = model.probabilities_[k] / model.probabilities_[k].sum()
            each = multinomial.logpmf(X, X.sum(axis=1).astype(int), p)
        else:
            tables = [np.log(table[k]) for table in model.tables()]
            each = sum(t[X[:, j].astype(int)] for j, t in enumerate(tables))
        logs.append(np.log(weight) + each)
    return np.stack(logs, axis=1)


@pytest.mark.parametrize("kind", COUNTS)
def test_scores_are_those_of_scipy(kind):
    model = kind(3, random_state=0, max_iter=500)
    X = table_for(model)
    model.fit(X)
    scores = brute(model, X)
    assert np.allclose(model.score_samples(X), logsumexp(scores, axis=1))
    assert np.allclose(model.predict_proba(X), np.exp(scores - logsumexp(scores, 1)[:, None]))
    assert np.array_equal(model.predict(X), model.predict_proba(X).argmax(axis=1))


@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 500),
    kind=st.sampled_from(COUNTS),
    alpha=st.sampled_from([0.0, 0.5]),
    hard=st.booleans(),
    how=st.sampled_from(["kmeans", "random", "random_from_data"]),
)
def test_what_em_climbs_never_falls(seed, kind, alpha, hard, how):
    model = kind(3, alpha=alpha, hard=hard, init_params=how, random_state=seed, max_iter=3000)
    bounds = np.array(model.set_params(tol=1e-4).fit(table_for(model, seed)).lower_bounds_)
    assert (np.diff(bounds) >= -1e-7 * np.abs(bounds).max()).all()


def test_one_round_on_dice():
    """theta_k = sum q / N, pi_k = sum q x / (c sum q) [004, 9.3: dice, ten rolls each]."""
    X = np.array([[9.0, 1, 0], [7, 2, 1], [1, 4, 5], [0, 3, 7]])
    model = MultinomialMixture(2, random_state=0, tol=1e-13, max_iter=1000).fit(X)
    q = model.predict_proba(X)
    assert np.allclose(model.weights_, q.sum(axis=0) / 4)
    assert np.allclose(model.probabilities_, q.T @ X / (10 * q.sum(axis=0)[:, None]), atol=1e-9)


@pytest.mark.parametrize("kind", COUNTS)
def test_one_component_counts(kind):
    model = kind()
    X = table_for(model)
    model.fit(X)
    mean = X.mean(axis=0)
    if kind is PoissonMixture:
        assert np.allclose(model.rates_[0], mean)
    elif kind is BernoulliMixture:
        assert np.allclose(model.probabilities_[0], mean)
    elif kind is MultinomialMixture:
        assert np.allclose(model.probabilities_[0], mean / mean.sum())
        assert np.isclose(model.lengths_[0], X.sum(axis=1).mean())
    else:
        for j, table in enumerate(model.tables()):
            assert np.allclose(table[0], np.bincount(X[:, j].astype(int)) / len(X), atol=1e-9)


@pytest.mark.parametrize("kind", COUNTS)
def test_samples_lead_back_to_the_mixture(kind):
    model = kind(2, random_state=0, max_iter=500)
    model.fit(table_for(model))
    X, y = model.sample(20_000)
    again = kind(2, observed_labels=True, random_state=0).fit(X, y)
    assert np.allclose(again.weights_, model.weights_, atol=0.02)
    name = "rates_" if kind is PoissonMixture else "probabilities_"
    close = {"atol": 0.03 if kind is not PoissonMixture else 0.15}
    assert np.allclose(getattr(again, name), getattr(model, name), **close)


@pytest.mark.parametrize("kind", [BernoulliMixture, MultinomialMixture, PoissonMixture])
def test_sparse_rows_say_the_same(kind):
    X = table_for(kind())
    dense = kind(3, random_state=0, max_iter=500).fit(X)
    thin = kind(3, random_state=0, max_iter=500).fit(sparse.csr_array(X))
    assert np.isclose(dense.lower_bound_, thin.lower_bound_)
    assert np.allclose(dense.predict_proba(X), thin.predict_proba(sparse.csr_array(X)), atol=1e-8)


def test_a_category_that_was_not_seen_says_nothing():
    model = CategoricalMixture(2, random_state=0).fit([[0, 0], [0, 0], [1, 1], [1, 1]])
    assert np.allclose(model.predict_proba([[9, 9]]), model.weights_)
    assert np.allclose(model.predict_proba([[0, 9]]).max(), 1)


def test_bad_numbers_are_named():
    with pytest.raises(ValueError, match="Negative values in data passed to PoissonMixture"):
        PoissonMixture().fit([[1.0], [-1.0]])
    with pytest.raises(ValueError, match="set binarize"):
        BernoulliMixture(binarize=None).fit([[1.0], [2.0]])
    with pytest.raises(ValueError, match="Negative values"):
        CategoricalMixture().fit([[0.0], [-1.0]])


def test_free_numbers_are_counted():
    X = np.minimum(counts()[0], 4)
    sizes = X.max(axis=0) + 1
    wanted = {
        BernoulliMixture: 2 * 5, PoissonMixture: 2 * 5, MultinomialMixture: 2 * 4,
        CategoricalMixture: 2 * int((sizes - 1).sum()),
    }  # fmt: skip
    for kind, numbers in wanted.items():
        model = kind(2, random_state=0, max_iter=500).fit(X)
        assert model._n_parameters() == numbers + 1
        assert np.isclose(model.aic(X), -2 * model.score(X) * len(X) + 2 * (numbers + 1))


def test_bic_finds_the_number_of_dice():
    rng = np.random.default_rng(0)
    dice = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    X = np.concatenate([rng.multinomial(20, p, 150) for p in dice]).astype(float)
    found = choose_components(MultinomialMixture(random_state=0, n_init=3), X, range(1, 6))
    assert found.n_components == 3


# ------------------------------------------------------------------------------ any density


def test_any_density_of_gaussians_is_the_gaussian_mixture():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(200, 2)) * s + 6 * s for s in (1, 2, 3)])
    options = {"n_components": 3, "random_state": 0, "tol": 1e-8, "max_iter": 2000}
    ours = MixtureModel(Gaussian(floor=1e-6), **options).fit(X)
    fast = GaussianMixture(**options).fit(X)
    assert np.isclose(ours.lower_bound_, fast.lower_bound_)
    assert np.allclose(ours.predict_proba(X), fast.predict_proba(X), atol=1e-4)
    Z, y = ours.sample(3000)
    assert Z.shape == (3000, 2)
    assert np.allclose(np.bincount(y) / 3000, ours.weights_, atol=0.05)
    assert np.isclose(ours.bic(X), fast.bic(X))


@pytest.mark.parametrize(
    ("density", "model"),
    [("Bernoulli", BernoulliMixture), ("Poisson", PoissonMixture)],
)
def test_densities_of_the_toolbox_give_the_named_mixtures(density, model):
    densities = pytest.importorskip("tenfold.distributions")
    options = {"n_components": 2, "random_state": 0, "tol": 1e-9, "max_iter": 2000}
    X = table_for(model())
    named = model(**options).fit(X)
    generic = MixtureModel(getattr(densities, density)(), **options).fit(X)
    assert np.isclose(named.lower_bound_, generic.lower_bound_)
    assert np.allclose(named.predict_proba(X), generic.predict_proba(X), atol=1e-4)


def test_brute_force_over_all_assignments():
    """Hard EM from every start ends at or below the best of all assignments of six rows."""
    X = np.array([[0.0], [1.0], [1.0], [9.0], [11.0], [10.0]])
    best = -np.inf
    for y in itertools.product(range(2), repeat=6):
        y = np.array(y)
        if 0 < y.sum() < 6:
            rates = np.array([max(X[y == c].mean(), 1e-10) for c in range(2)])
            shares = np.bincount(y) / 6
            best = max(best, (np.log(shares[y]) + poisson(rates[y]).logpmf(X[:, 0])).mean())
    found = PoissonMixture(2, hard=True, n_init=5, random_state=0, tol=1e-12).fit(X)
    assert np.isclose(found.lower_bound_, best)


# ------------------------------------------------------------------------------------ the laws

ONCE = {
    testing.check_scikit_learn_contract,
    testing.check_save_and_load,
    testing.check_storage_invariance,
}
SEVERAL = [kind(n_components=3, random_state=0, tol=0.02) for kind in (*COUNTS, MixtureModel)]


@pytest.mark.parametrize("law", [law for law in testing.LAWS if law not in ONCE])
@pytest.mark.parametrize("model", SEVERAL, ids=lambda model: type(model).__name__)
def test_laws_with_several_components(model, law):
    law(testing.clone_model(model).set_params(max_iter=500))


@pytest.mark.parametrize("model", SEVERAL, ids=lambda model: type(model).__name__)
def test_files_give_the_same_bits(model):
    testing.check_storage_invariance(
        testing.clone_model(model).set_params(max_iter=500), only=("in_parquet",)
    )
