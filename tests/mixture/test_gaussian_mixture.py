"""Gaussian mixtures: against brute force, against scikit-learn, and what EM promises."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn import mixture as peer
from sklearn.exceptions import ConvergenceWarning

from tenfold import KMeans, testing
from tenfold.mixture._covariance_types import (
    COVARIANCE_TYPES,
    full_covariances,
    precision_factors,
    unit_covariances,
)
from tenfold.mixture._gaussian import (
    GaussianFamily,
    GaussianParameters,
    PackedComponents,
    SeparateComponents,
)
from tenfold.mixture._gradient_ascent import Parametrization
from tenfold.mixture._moments import moments_about_means
from tenfold.mixture.gaussian_mixture import GaussianMixture
from tenfold.mixture.n_components import choose_components
from tenfold.teaching.em_steps import e_step, m_step
from tests.mixture.gaussian_cases import clouds, start_of


def brute_scores(X, model):
    matrices = full_covariances(model.covariances_, model.covariance_type, *model.means_.shape)
    parts = zip(model.weights_, model.means_, matrices, strict=True)
    return np.stack([np.log(w) + multivariate_normal(m, C).logpdf(X) for w, m, C in parts], 1)


# ---------------------------------------------------------------------------------------- oracles


@pytest.mark.parametrize("kind", COVARIANCE_TYPES)
def test_probabilities_are_bayes_rule_by_brute_force(kind):
    X, _ = clouds()
    model = GaussianMixture(4, covariance_type=kind, random_state=0, max_iter=300).fit(X)
    scores = brute_scores(X, model)
    height = logsumexp(scores, axis=1)
    assert np.allclose(model.score_samples(X), height)
    assert np.allclose(model.predict_proba(X), np.exp(scores - height[:, None]))
    assert np.array_equal(model.predict(X), scores.argmax(axis=1))
    assert np.isclose(model.score(X), height.mean())


@pytest.mark.parametrize("kind", COVARIANCE_TYPES)
def test_every_round_is_that_of_scikit_learn(kind):
    X, _ = clouds(600, 5, 4, 1)
    same = start_of(X, 4, kind) | {"tol": 0.0, "max_iter": 15}
    with pytest.warns(ConvergenceWarning):
        ours = GaussianMixture(4, **same).fit(X)
    with pytest.warns(ConvergenceWarning):
        theirs = peer.GaussianMixture(4, **same).fit(X)
    assert np.allclose(ours.lower_bounds_, theirs.lower_bounds_, rtol=1e-12)
    for name in ("weights_", "means_", "covariances_", "precisions_", "precisions_cholesky_"):
        assert np.allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-8, atol=1e-10), name
    assert np.isclose(ours.bic(X), theirs.bic(X))
    assert np.isclose(ours.aic(X), theirs.aic(X))


def test_components_far_from_the_origin_lose_no_digits():
    """Packed sums would lose them: then differences are taken."""
    rng = np.random.default_rng(0)
    tight = rng.normal(size=(400, 3)) * 1e-4
    tight[:, 1] += tight[:, 0]
    X = np.concatenate([tight, tight + 1000.0])
    model = GaussianMixture(2, reg_covar=0.0, random_state=0).fit(X)
    assert isinstance(model._components().complete, SeparateComponents)
    want = np.cov(tight.T, bias=True)
    for covariance in model.covariances_:
        assert np.allclose(covariance, want, rtol=1e-6, atol=1e-16)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000), p=st.integers(1, 6), k=st.integers(1, 4))
def test_both_ways_to_sum_agree(seed, p, k):
    X, _ = clouds(50, p, k, seed)
    state = GaussianParameters(
        *(a.copy() for a in GaussianFamily("full", 1e-3).initial_state(X[:k] + 0.1))
    )
    packed = GaussianFamily("full").components(state).complete
    separate = SeparateComponents(
        packed.offsets + 0.5 * ((state.means - packed.origin) ** 2).sum(axis=1),
        state.means,
        precision_factors(state.covariances, "full"),
    )
    assert isinstance(packed, PackedComponents)
    assert np.allclose(packed.log_joint(packed.prepare(X)), separate.log_joint(X))
    R = np.random.default_rng(seed).dirichlet(np.ones(k), len(X)).T.copy()
    one = moments_about_means(packed.statistic(packed.prepare(X), R), state.weights, state.means)
    two = moments_about_means(separate.statistic(X, R), state.weights, state.means)
    for a, b in zip(one, two, strict=True):
        assert a is b is None or np.allclose(a, b)


def test_wide_rows():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(300, 50)), rng.normal(size=(300, 50)) + 3])
    model = GaussianMixture(2, random_state=0).fit(X)
    scores = brute_scores(X, model)
    assert np.allclose(model.score_samples(X), logsumexp(scores, axis=1))
    assert np.allclose(np.sort(model.weights_), 0.5, atol=1e-6)


# ----------------------------------------------------------------------------- what EM promises


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 1000), kind=st.sampled_from(COVARIANCE_TYPES), gaps=st.booleans())
def test_likelihood_never_falls(seed, kind, gaps):
    X, _ = clouds(120, 2, 3, seed, spacing=1.5)
    if gaps:
        X[np.random.default_rng(seed).random(X.shape) < 0.3] = np.nan
    model = GaussianMixture(
        3, covariance_type=kind, reg_covar=0.0, min_variance=1e-3, tol=1e-4, max_iter=1000,
        random_state=seed, init_params="random_from_data",
    )  # fmt: skip
    bounds = np.array(model.fit(X).lower_bounds_)
    assert (np.diff(bounds) >= -1e-9 * np.abs(bounds).max()).all()


@pytest.mark.parametrize("kind", COVARIANCE_TYPES)
def test_hard_em_climbs_too_and_stands_still(kind):
    X, _ = clouds(400, 2, 3, 5)
    model = GaussianMixture(3, covariance_type=kind, hard=True, reg_covar=0.0, random_state=1)
    bounds = np.array(model.fit(X).lower_bounds_)
    assert (np.diff(bounds) >= -1e-9).all()
    assert np.isclose(model.lower_bound_, brute_scores(X, model).max(axis=1).mean(), atol=1e-3)


def test_fixed_point_maximises_the_likelihood():
    X, _ = clouds(300, 2, 2, 3)
    model = GaussianMixture(2, tol=1e-12, reg_covar=0.0, max_iter=2000, random_state=0).fit(X)
    R, _ = e_step(X, model._state())
    again = m_step(X, R, model._state())
    assert np.allclose(again.means, model.means_, atol=1e-5)
    assert np.allclose(again.covariances, model.covariances_, atol=1e-4)


def test_one_component_is_the_gaussian_itself():
    X, _ = clouds()
    model = GaussianMixture(reg_covar=0.0).fit(X)
    assert np.allclose(model.means_[0], X.mean(axis=0))
    assert np.allclose(model.covariances_[0], np.cov(X.T, bias=True))
    assert model.weights_.tolist() == [1.0]


def test_names_of_components_do_not_matter():
    X, _ = clouds(200, 2, 3, 7)
    start, order = start_of(X, 3, "full"), np.array([2, 0, 1])
    turned = start | {name: start[name][order] for name in ("means_init", "precisions_init")}
    a = GaussianMixture(3, max_iter=500, **start).fit(X)
    b = GaussianMixture(3, max_iter=500, **turned).fit(X)
    assert np.isclose(a.lower_bound_, b.lower_bound_)
    assert np.allclose(a.means_[order], b.means_)
    assert np.allclose(a.predict_proba(X)[:, order], b.predict_proba(X))


def test_k_means_is_the_limit_of_small_equal_variances():
    """Equal weights and one small variance for all; rows belong to the nearest mean [002, 8.4]."""
    X, _ = clouds(300, 2, 4, 2)
    means = X[:4].copy()
    lloyd = KMeans(4, init=means, n_init=1, tol=0.0).fit(X)
    g = GaussianParameters(np.full(4, 0.25), means, np.full(4, 1e-6))
    for _ in range(lloyd.n_iter_ + 1):
        R, _ = e_step(X, g, "spherical")
        g = g._replace(means=m_step(X, R, g, "spherical").means)
    assert np.allclose(g.means, lloyd.cluster_centers_)
    assert np.array_equal(R.argmax(axis=1), lloyd.labels_)
    assert np.isin(R.round(9), (0, 1)).all()


@pytest.mark.parametrize("kind", COVARIANCE_TYPES)
def test_fishers_identity(kind):
    """The gradient of log p is the expected gradient of log p(x, z): against differences."""
    X, _ = clouds(60, 2, 3, 4, spacing=1.0)
    start = GaussianParameters(np.array([0.2, 0.3, 0.5]), X[:3], unit_covariances(kind, 3, 2) * 1.3)
    parametrization = Parametrization(start, precision_factors(start.covariances, kind), kind)

    def height(theta):
        g, factors = parametrization.at(theta)
        matrices = full_covariances(factors, "full" if kind == "full" else kind, 3, 2)
        logs = []
        for w, m, P in zip(g.weights, g.means, matrices, strict=True):
            logs.append(np.log(w) + multivariate_normal(m, np.linalg.inv(P @ P.T)).logpdf(X))
        return logsumexp(logs, axis=0).sum()

    rng = np.random.default_rng(0)
    theta = 0.1 * rng.normal(size=parametrization.size)
    g, factors = parametrization.at(theta)
    from tenfold.engine import Chunk
    from tenfold.mixture._e_step import e_step
    from tenfold.mixture._gaussian import gaussian_components

    parts = gaussian_components(g.weights, g.means, factors, kind)
    s = e_step(Chunk(X), parts, False, False)
    gradient = parametrization.gradient(
        theta, moments_about_means(s.statistic, g.weights, g.means), 0.0
    )
    assert np.isclose(s.log_likelihood, height(theta))
    for _ in range(5):
        way = rng.normal(size=parametrization.size)
        rise = (height(theta + 1e-5 * way) - height(theta - 1e-5 * way)) / 2e-5
        assert np.isclose(rise, gradient @ way, rtol=1e-5)


@pytest.mark.parametrize("kind", COVARIANCE_TYPES)
def test_gradient_fit_reaches_what_em_reaches(kind):
    X, _ = clouds(400, 2, 3, 2, spacing=8.0)
    em = GaussianMixture(3, covariance_type=kind, tol=1e-10, max_iter=3000, random_state=0).fit(X)
    climb = GaussianMixture(
        3, covariance_type=kind, solver="gradient", tol=1e-6, max_iter=2000, random_state=0
    ).fit(X)
    assert np.isclose(climb.score(X), em.score(X), atol=1e-5)
    assert (np.diff(climb.history_["objective"]) <= 1e-12).all()
    with pytest.raises(ValueError, match="solver='em'"):
        GaussianMixture(solver="gradient", hard=True).fit(X)


# --------------------------------------------------------------------------------- what is known


def test_known_labels_give_each_component_its_own_moments():
    """The observed case [003, 16.4]: means and variances class by class, no rounds needed."""
    X, y = clouds(200, 2, 3, 1)
    model = GaussianMixture(3, observed_labels=True, reg_covar=0.0, random_state=0).fit(X, y)
    assert model.n_iter_ <= 2
    for c in range(3):
        assert np.allclose(model.means_[c], X[y == c].mean(axis=0))
        assert np.allclose(model.covariances_[c], np.cov(X[y == c].T, bias=True))
        assert np.isclose(model.weights_[c], (y == c).mean())


def test_a_few_known_labels_name_the_components():
    X, y = clouds(600, 2, 3, 8, spacing=6.0)
    partly = np.full(600, -1)
    for c in range(3):
        partly[np.flatnonzero(y == c)[:3]] = c
    model = GaussianMixture(3, observed_labels=True, random_state=0).fit(X, partly)
    assert (model.predict(X) == y).mean() > 0.95
    bounds = model.lower_bounds_
    assert (np.diff(bounds) >= -1e-6).all()
    with pytest.raises(ValueError, match="none of the 2 components"):
        GaussianMixture(2, observed_labels=True).fit(X, y)
    with pytest.raises(ValueError, match="needs y"):
        GaussianMixture(2, observed_labels=True).fit(X)


# ------------------------------------------------------------------------------------- the rest


def test_starts():
    X, _ = clouds(500, 2, 4, 6, spacing=8.0)
    for how in ("kmeans", "k-means++", "random", "random_from_data"):
        first = GaussianMixture(4, init_params=how, random_state=3, max_iter=0).fit(X)
        assert first.n_iter_ == 0
        assert np.isclose(first.weights_.sum(), 1)
        model = GaussianMixture(4, init_params=how, random_state=3, max_iter=1000).fit(X)
        assert model.score(X) >= first.score(X)
    few = GaussianMixture(4, init_params="random_from_data", random_state=0, max_iter=1000).fit(X)
    many = few.__class__(**{**few.get_params(), "n_init": 8}).fit(X)
    assert many.lower_bound_ >= few.lower_bound_


def test_samples_have_the_moments_of_the_mixture():
    X, _ = clouds(2000, 2, 3, 2)
    model = GaussianMixture(3, random_state=0).fit(X)
    Z, y = model.sample(200_000)
    assert np.allclose(np.bincount(y) / len(y), model.weights_, atol=0.01)
    for c in range(3):
        assert np.allclose(Z[y == c].mean(axis=0), model.means_[c], atol=0.05)
        assert np.allclose(np.cov(Z[y == c].T), model.covariances_[c], rtol=0.1, atol=0.1)


@pytest.mark.parametrize("criterion", ["bic", "aic", "held-out"])
def test_the_number_of_components_is_found(criterion):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(150, 2)) + c for c in ([0, 0], [9, 0], [0, 9])])
    model = GaussianMixture(covariance_type="spherical", random_state=0, n_init=3, max_iter=1000)
    found = choose_components(model, X, range(1, 6), criterion=criterion)
    assert found.n_components == 3 == found.model.n_components
    assert found.costs.argmin() == 2


def test_search_scores_by_likelihood():
    from tenfold import search

    X, _ = clouds(300, 2, 3, 0, spacing=9.0)
    found = search(GaussianMixture(random_state=0), {"n_components": [1, 3]}, X, folds=3)
    assert found.best_params_ == {"n_components": 3}


THREE = GaussianMixture(3, random_state=0, tol=0.02, max_iter=300)


ONCE = {
    testing.check_scikit_learn_contract,
    testing.check_save_and_load,
    testing.check_storage_invariance,
}


@pytest.mark.parametrize("law", [law for law in testing.LAWS if law not in ONCE])
@pytest.mark.parametrize("kind", ["full", "tied", "spherical"])
def test_laws_with_several_components(law, kind):
    law(testing.clone_model(THREE).set_params(covariance_type=kind))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_place_does_not_matter_with_several_components(dtype):
    some = ("in_fortran_order", "in_npy", "in_parquet", "in_dask")
    testing.check_storage_invariance(THREE, only=some, dtypes=(dtype,))


def test_weights_outside_the_unit_interval_are_reported_with_their_range():
    X, _ = clouds(60, 2, 2)
    with pytest.raises(ValueError, match=r"max value 1\.50000, min value -0\.50000"):
        GaussianMixture(2, weights_init=[1.5, -0.5]).fit(X)


@pytest.mark.parametrize("seed", range(3))
def test_hard_em_with_fixed_weights_and_variances_is_kmeans(seed):
    rng = np.random.default_rng(seed)
    X = np.concatenate([1.5 * rng.normal(size=(200, 2)), 0.5 * rng.normal(size=(20, 2)) + [3, 0]])
    start = X[[0, 205]]
    options = {"covariance_type": "spherical", "hard": True, "tol": 0, "max_iter": 500}
    model = GaussianMixture(
        2, means_init=start, fixed_weights=True, fixed_covariances=True, **options
    ).fit(X)
    kmeans = KMeans(2, init=start, n_init=1, tol=0, max_iter=500).fit(X)
    assert np.allclose(model.means_, kmeans.cluster_centers_, rtol=1e-12)
    assert np.array_equal(model.predict(X), kmeans.labels_)
    assert np.array_equal(model.weights_, [0.5, 0.5])
    assert np.array_equal(model.covariances_, [1.0, 1.0])
    # the bound is minus half the inertia, up to a constant
    constant = np.log(0.5) - np.log(2 * np.pi)
    assert np.isclose(model.lower_bound_, constant - 0.5 * kmeans.inertia_ / len(X))
    free = GaussianMixture(2, means_init=start, random_state=0, **options).fit(X)
    assert not np.allclose(free.weights_, 0.5)


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_given_weights_and_covariances_stay(kind):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(60, 2)), rng.normal(size=(30, 2)) + 6])
    C = {"full": np.stack([np.eye(2), 2 * np.eye(2)]), "tied": 2 * np.eye(2)}
    C |= {"diag": np.array([[1.0, 2.0], [3.0, 4.0]]), "spherical": np.array([2.0, 3.0])}
    P = 1 / C[kind] if kind in ("diag", "spherical") else np.linalg.inv(C[kind])
    model = GaussianMixture(
        2,
        covariance_type=kind,
        weights_init=[0.3, 0.7],
        precisions_init=P,
        fixed_weights=True,
        fixed_covariances=True,
        random_state=0,
        tol=1e-8,
        max_iter=500,
    ).fit(X)
    assert np.allclose(model.covariances_, C[kind])
    assert np.array_equal(model.weights_, [0.3, 0.7])
    assert (np.diff(model.history_["objective"]) <= 1e-12).all()
    assert np.isclose(model.aic(X), -2 * model.score(X) * len(X) + 2 * 4)
    with pytest.raises(ValueError, match="fixed_weights"):
        GaussianMixture(2, solver="gradient", fixed_weights=True).fit(X)


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_components_may_begin_with_the_variance_of_all_rows(kind):  # [003, lecture 16]
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(60, 2)) * [1, 2], rng.normal(size=(30, 2)) + 6])
    options = {"covariance_type": kind, "random_state": 0, "reg_covar": 0, "max_iter": 0}
    model = GaussianMixture(2, initial_covariances="global", **options).fit(X)
    S = np.cov(X.T, bias=True)
    each = {"full": S, "diag": S.diagonal(), "spherical": S.diagonal().mean()}
    expected = S if kind == "tied" else np.stack([each[kind]] * 2)
    assert np.allclose(model.covariances_, expected)
    labels = KMeans(2, n_init=10, random_state=0).fit(X).labels_
    assert np.allclose(np.sort(model.weights_), np.sort(np.bincount(labels) / len(X)))
    plain = GaussianMixture(2, **options).fit(X)
    assert np.allclose(model.means_, plain.means_)
