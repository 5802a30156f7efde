"""Variational mixtures against scikit-learn from the same start; the bound by its definition."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import digamma, gammaln
from scipy.stats import multivariate_normal, wishart
from sklearn.mixture import BayesianGaussianMixture as Theirs

from tenfold import BayesianGaussianMixture, choose_components, testing

KINDS = ["full", "tied", "diag", "spherical"]
PRIORS = ["dirichlet_process", "dirichlet_distribution"]
ATTRIBUTES = [
    "weights_",
    "means_",
    "covariances_",
    "precisions_",
    "precisions_cholesky_",
    "mean_precision_",
    "degrees_of_freedom_",
    "mean_prior_",
    "mean_precision_prior_",
    "degrees_of_freedom_prior_",
    "covariance_prior_",
    "weight_concentration_prior_",
    "weight_concentration_",
]


def rows(n=240, p=3, seed=0):
    rng = np.random.default_rng(seed)
    centers = 5 * rng.normal(size=(4, p))
    return centers[np.arange(n) % 4] + rng.normal(size=(n, p)) @ rng.normal(size=(p, p)) + 50


def responsibilities(n, k, seed=1):
    return np.random.default_rng(seed).dirichlet(np.full(k, 0.3), n)


class OursFrom(BayesianGaussianMixture):
    """Starts from given responsibilities."""

    R = None

    def _initialize(self, rows, family, rng):
        chunk = rows.gather()
        state = family.initial_state(np.tile(np.nanmean(chunk.X, axis=0), (self.n_components, 1)))
        components = family.components(state)
        statistic = components.statistic(components.prepare(chunk.X), self.R.T.copy())
        return family.m_step(state, statistic)


class TheirsFrom(Theirs):
    """The same of scikit-learn."""

    R = None

    def _initialize_parameters(self, X, random_state, xp=None):
        self._initialize(X, self.R)


def both(X, k, **options):
    ours, theirs = OursFrom(n_components=k, **options), TheirsFrom(n_components=k, **options)
    ours.R = theirs.R = responsibilities(len(X), k)
    return ours.fit(X), theirs.fit(X)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("prior", PRIORS)
def test_from_one_start_it_is_scikit_learns(kind, prior):
    X = rows(120)
    options = {"covariance_type": kind, "weight_concentration_prior_type": prior}
    ours, theirs = both(X, 4, max_iter=300, tol=0.01, **options)
    assert (ours.n_iter_, ours.converged_) == (theirs.n_iter_, theirs.converged_)
    for name in ATTRIBUTES:
        for a, b in zip(
            np.atleast_1d(getattr(ours, name)), np.atleast_1d(getattr(theirs, name)), strict=True
        ):
            assert_allclose(a, b, rtol=1e-6, atol=1e-8, err_msg=name)
    assert_allclose(ours.lower_bound_, theirs.lower_bound_, rtol=1e-9)
    assert_allclose(ours.lower_bounds_, np.ravel(theirs.lower_bounds_), rtol=1e-9)
    assert_allclose(ours.score_samples(X), theirs.score_samples(X), rtol=1e-6)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-7)
    assert (ours.predict(X) == theirs.predict(X)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_given_priors_are_scikit_learns(kind):
    X = rows(100, 2)
    given = {"full": np.eye(2), "tied": np.eye(2), "diag": np.ones(2), "spherical": 1.5}[kind]
    options = {
        "covariance_type": kind,
        "covariance_prior": given,
        "mean_prior": [49.0, 51.0],
        "mean_precision_prior": 0.1,
        "degrees_of_freedom_prior": 4.5,
        "weight_concentration_prior": 10.0,
        "max_iter": 400,
    }
    ours, theirs = both(X, 3, **options)
    assert_allclose(ours.means_, theirs.means_, rtol=1e-6)
    assert_allclose(ours.lower_bound_, theirs.lower_bound_, rtol=1e-9)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("share", [0.0, 0.3])
def test_the_bound_never_falls(kind, prior, share):
    X = rows(120)
    X[np.random.default_rng(2).random(X.shape) < share] = np.nan
    model = BayesianGaussianMixture(
        n_components=5,
        covariance_type=kind,
        weight_concentration_prior_type=prior,
        reg_covar=0,
        tol=1e-6,
        max_iter=500,
        random_state=0,
    ).fit(X)
    bound = np.array(model.lower_bounds_)
    assert (np.diff(bound) >= -1e-9 * np.abs(bound).max()).all()
    assert len(bound) == model.n_iter_
    assert model.converged_


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_bound_is_that_of_its_definition():
    """E log p(x, z, pi, mu, Lambda) - E log q, by draws of q; the constant is the same for all."""
    X = rows(40, 2)
    ours, theirs = [], []
    for rounds in (2, 9):
        before, model = (
            BayesianGaussianMixture(
                n_components=2,
                weight_concentration_prior_type="dirichlet_distribution",
                reg_covar=0,
                max_iter=number,
                tol=0,
                random_state=0,
                init_params="random",
            ).fit(X)
            for number in (rounds - 1, rounds)
        )
        ours.append(model.lower_bound_)
        theirs.append(sampled_bound(model, X, before.predict_proba(X)))
    assert_allclose(np.diff(ours), np.diff(theirs), atol=0.3)
    assert np.diff(ours) > 3


def sampled_bound(model, X, R, draws=3000):
    """The bound for responsibilities R, from draws of the parameters."""
    rng = np.random.default_rng(0)
    k, p = model.means_.shape
    value, entropy = 0.0, -np.sum(R * np.log(np.maximum(R, 1e-300)))
    a, a0 = model.weight_concentration_, model.weight_concentration_prior_
    pi = rng.dirichlet(a, draws)
    value += entropy + (np.log(pi) @ R.sum(axis=0)).mean()
    value += ((a0 - 1) * np.log(pi).sum(axis=1)).mean() - k * gammaln(a0) + gammaln(k * a0)
    value -= ((np.log(pi) @ (a - 1)) - gammaln(a).sum() + gammaln(a.sum())).mean()
    for c in range(k):
        nu, kappa = model.degrees_of_freedom_[c], model.mean_precision_[c]
        W = np.linalg.inv(model.covariances_[c] * nu)
        W0 = np.linalg.inv(model.covariance_prior_)
        L = wishart(nu, W).rvs(draws, random_state=c)
        roots = np.linalg.cholesky(np.linalg.inv(L))
        z = rng.normal(size=(draws, p))
        shift = (roots @ z[:, :, None])[:, :, 0]
        mu = model.means_[c] + shift / np.sqrt(kappa)
        D = X[None] - mu[:, None]
        quadratic = np.einsum("sni,sij,snj->sn", D, L, D)
        logdet = np.linalg.slogdet(L)[1]
        value += (
            (0.5 * logdet[:, None] - 0.5 * quadratic - p / 2 * np.log(2 * np.pi)) @ R[:, c]
        ).mean()
        d0 = mu - model.mean_prior_
        k0 = model.mean_precision_prior_
        value += (
            0.5 * p * np.log(k0)
            - 0.5 * k0 * np.einsum("si,sij,sj->s", d0, L, d0)
            - 0.5 * p * np.log(kappa)
            + 0.5 * (z**2).sum(axis=1)
        ).mean()
        nu0 = model.degrees_of_freedom_prior_
        value += (
            wishart(nu0, W0).logpdf(L.transpose(1, 2, 0))
            - wishart(nu, W).logpdf(L.transpose(1, 2, 0))
        ).mean()
    return value


def test_expected_log_densities_are_those_of_the_posterior():
    X = rows(60, 2)
    model = BayesianGaussianMixture(n_components=2, random_state=0, max_iter=300).fit(X)
    x, c, rng = X[0], 1, np.random.default_rng(0)
    nu, W = (
        model.degrees_of_freedom_[c],
        np.linalg.inv(model.covariances_[c]) / model.degrees_of_freedom_[c],
    )
    L = wishart(nu, W).rvs(20_000, random_state=0)
    shift = (np.linalg.cholesky(np.linalg.inv(L)) @ rng.normal(size=(20_000, 2, 1)))[:, :, 0]
    D = x - model.means_[c] - shift / np.sqrt(model.mean_precision_[c])
    quadratic = np.einsum("si,sij,sj->s", D, L, D)
    sampled = (0.5 * np.linalg.slogdet(L)[1] - 0.5 * quadratic).mean() - np.log(2 * np.pi)
    corrected = (
        multivariate_normal(model.means_[c], model.covariances_[c]).logpdf(x)
        + 0.5 * (digamma(0.5 * (nu - np.arange(2))).sum() + 2 * np.log(2) - 2 * np.log(nu))
        - 1 / model.mean_precision_[c]
    )
    assert_allclose(corrected, sampled, rtol=0.02)
    state = model._state()
    components = model._components()
    joint = components.log_joint(components.prepare(x[None]))[c, 0]
    assert_allclose(joint - state.expected_log_weights()[c], corrected, rtol=1e-9)


def test_superfluous_components_lose_their_weight():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(150, 2)), rng.normal(size=(150, 2)) + 8])
    model = BayesianGaussianMixture(
        n_components=8, weight_concentration_prior=1e-3, max_iter=1000, random_state=0
    ).fit(X)
    assert (model.weights_ > 0.01).sum() == 2
    drawn, component = model.sample(500)
    assert drawn.shape == (500, 2)
    assert set(np.unique(component)) <= set(np.flatnonzero(model.weights_ > 1e-4))


@pytest.mark.parametrize("kind", KINDS)
def test_missing_entries_are_latent(kind):
    X = rows(400)
    holes = X.copy()
    holes[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    options = {"n_components": 4, "covariance_type": kind, "tol": 1.0, "random_state": 0}
    whole, model = (BayesianGaussianMixture(**options).fit(data) for data in (X, holes))
    assert whole.score(X) - model.score(X) < 0.5
    filled = model.impute(holes)
    assert np.isfinite(filled).all()
    gaps = np.isnan(holes)
    misses = np.abs(filled - X)[gaps].mean()
    assert misses < np.abs(X - np.nanmean(holes, axis=0))[gaps].mean()


def test_parameters_that_make_no_sense_are_refused():
    X = rows(20, 2)
    for options, message in [
        ({"degrees_of_freedom_prior": 1.0}, "should be greater than 1, but got 1.000"),
        ({"mean_prior": [1.0]}, "'means' should have the shape"),
        ({"covariance_prior": np.eye(3)}, "should have the shape"),
        ({"covariance_prior": -np.eye(2)}, "positive-definite"),
        ({"covariance_type": "diag", "covariance_prior": [1.0, -1.0]}, "positive"),
        ({"covariance_type": "spherical", "covariance_prior": [1.0, 2.0]}, "one number"),
        ({"weight_concentration_prior": 0.0}, "weight_concentration_prior"),
    ]:
        with pytest.raises(ValueError, match=message):
            BayesianGaussianMixture(**options).fit(X)
    assert not hasattr(BayesianGaussianMixture().fit(X), "bic")
    with pytest.raises(TypeError, match="has no bic: use criterion='held-out'"):
        choose_components(BayesianGaussianMixture(), X)
    chosen = choose_components(
        BayesianGaussianMixture(random_state=0), X, [1, 2], criterion="held-out"
    )
    assert chosen.n_components in (1, 2)
    bad = X.copy()
    bad[3, 1] = np.inf
    with pytest.raises(ValueError, match="column 1"):
        BayesianGaussianMixture().fit(bad)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_warm_start_goes_on(kind, prior):
    X = rows()
    options = {
        "n_components": 5,
        "covariance_type": kind,
        "weight_concentration_prior_type": prior,
        "random_state": 0,
    }
    whole = BayesianGaussianMixture(max_iter=12, tol=0, **options)
    parts = BayesianGaussianMixture(max_iter=6, tol=0, warm_start=True, **options)
    whole.fit(X)
    parts.fit(X).fit(X)
    assert_allclose(parts.means_, whole.means_, rtol=1e-9)
    assert_allclose(parts.lower_bound_, whole.lower_bound_, rtol=1e-12)


LAWS = [
    testing.check_storage_invariance,
    testing.check_thread_invariance,
    testing.check_checkpoint_resume,
    testing.check_missing_values,
    testing.check_save_and_load,
    testing.check_float32,
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("law", LAWS)
def test_laws_with_several_components(law):
    law(BayesianGaussianMixture(n_components=3, covariance_type="diag", max_iter=8, random_state=0))
