"""Gaussian mixtures: against brute force, against scikit-learn, and what EM promises."""

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn import mixture as peer
from sklearn.exceptions import ConvergenceWarning

import tenfold
from tenfold import KMeans, testing
from tenfold.datasets import fetch_netflix_ratings
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

needs_data = pytest.mark.skipif("TENFOLD_DATA" not in os.environ, reason="TENFOLD_DATA is not set")


def clouds(n=300, p=3, k=4, seed=0, spacing=4.0):
    rng = np.random.default_rng(seed)
    turns, centers = rng.normal(size=(k, p, p)), spacing * rng.normal(size=(k, p))
    y = rng.integers(k, size=n)
    return centers[y] + np.einsum("nij,nj->ni", turns[y], rng.normal(size=(n, p))), y


def start_of(X, k, kind, seed=0):
    means = X[np.random.default_rng(seed).choice(len(X), k, replace=False)]
    precisions = unit_covariances(kind, k, X.shape[1])
    return {
        "covariance_type": kind,
        "means_init": means,
        "weights_init": np.full(k, 1 / k),
        "precisions_init": precisions,
    }


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


# -------------------------------------------------------------------------------- missing entries


def brute_masked(X, g):
    """Scores of [003, project 4], row by row."""
    scores = np.empty((len(X), len(g.weights)))
    for i, x in enumerate(X):
        there = ~np.isnan(x)
        for k, (w, mean, v) in enumerate(zip(*g, strict=True)):
            squares = ((x - mean)[there] ** 2).sum()
            scores[i, k] = np.log(w) - squares / (2 * v) - there.sum() / 2 * np.log(2 * np.pi * v)
    return scores


def test_masked_rounds_by_brute_force():
    X, _ = clouds(40, 5, 2, 0)
    rng = np.random.default_rng(0)
    X[rng.random(X.shape) < 0.4] = np.nan
    X[7] = np.nan
    g = GaussianParameters(np.array([0.3, 0.7]), np.nan_to_num(X[:2]), np.array([2.0, 3.0]))
    R, heights = e_step(X, g, "spherical")
    scores = brute_masked(X, g)
    assert np.allclose(heights, logsumexp(scores, axis=1))
    assert np.allclose(R[7], g.weights)  # a row without entries
    after = m_step(X, R, g, "spherical")
    seen = R.T @ ~np.isnan(X)
    assert np.allclose(after.means, R.T @ np.nan_to_num(X) / seen)
    squares = [np.nansum(R[:, [k]] * (X - after.means[k]) ** 2) for k in range(2)]
    assert np.allclose(after.covariances, squares / seen.sum(axis=1))
    kept = m_step(X, R, g, "spherical", min_seen=1e9)
    assert np.array_equal(kept.means, g.means)
    assert (m_step(X, R, g, "spherical", min_variance=99.0).covariances == 99.0).all()


def test_no_gaps_is_the_plain_mixture():
    X, _ = clouds(500, 3, 3, 2)
    start = start_of(X, 3, "diag") | {"tol": 1e-10, "max_iter": 2000}
    plain = GaussianMixture(3, **start).fit(X)
    X2 = np.vstack([X, np.full((1, 3), np.nan)])
    gaps = GaussianMixture(3, **start).fit(X2)
    assert np.allclose(plain.means_, gaps.means_)
    assert np.allclose(gaps.predict_proba(X2)[-1], gaps.weights_)
    assert np.allclose(gaps.impute(X2)[-1], gaps.weights_ @ gaps.means_)
    assert np.array_equal(gaps.impute(X2)[:-1], X)


@pytest.mark.parametrize("kind", COVARIANCE_TYPES)
def test_infinity_is_no_gap(kind):
    X = np.array([[1.0, np.inf], [2.0, 3.0], [4.0, 5.0]])
    with pytest.raises(ValueError, match="infinity"):
        GaussianMixture(covariance_type=kind).fit(X)


def brute_correlated(X, g):
    """Scores, expected rows (k, n, p) and expected squares about zero (k, n, p, p), row by row."""
    (n, p), k = X.shape, len(g.weights)
    scores, E, S = np.empty((n, k)), np.empty((k, n, p)), np.zeros((k, n, p, p))
    for i, x in enumerate(X):
        o, m = np.flatnonzero(~np.isnan(x)), np.flatnonzero(np.isnan(x))
        for c, (w, mean, C) in enumerate(zip(*g, strict=True)):
            back = C[np.ix_(m, o)] @ np.linalg.inv(C[np.ix_(o, o)])
            E[c, i, o], E[c, i, m] = x[o], mean[m] + back @ (x[o] - mean[o])
            S[c, i] = np.outer(E[c, i], E[c, i])
            S[c, i][np.ix_(m, m)] += C[np.ix_(m, m)] - back @ C[np.ix_(o, m)]
            there = multivariate_normal(mean[o], C[np.ix_(o, o)]).logpdf(x[o]) if len(o) else 0.0
            scores[i, c] = np.log(w) + there
    return scores, E, S


@pytest.mark.parametrize("shift", [0.0, 1e5])  # far away: summed separately
@pytest.mark.parametrize("kind", ["full", "tied"])
def test_masked_rounds_with_correlations_by_brute_force(kind, shift):
    X, _ = clouds(40, 4, 2, 0)
    rng = np.random.default_rng(0)
    X[rng.random(X.shape) < 0.3] = np.nan
    X[7] = np.nan
    turns = rng.normal(size=(2, 4, 4))
    each = turns @ np.swapaxes(turns, 1, 2) + 0.5 * np.eye(4)
    each = np.stack([each[0]] * 2) if kind == "tied" else each
    means = rng.normal(size=(2, 4)) * [[1.0], [shift]] + shift
    X += shift
    g = GaussianParameters(np.array([0.3, 0.7]), means, each)
    given = g._replace(covariances=each[0]) if kind == "tied" else g
    scores, E, S = brute_correlated(X, g)
    R, heights = e_step(X, given, kind)
    assert np.allclose(heights, logsumexp(scores, axis=1), rtol=1e-6)
    assert np.allclose(R[7], g.weights)  # a row without entries
    R = rng.dirichlet(np.ones(2), len(X))
    after, n = m_step(X, R, given, kind), R.sum(axis=0)
    expected = np.einsum("nk,knp->kp", R, E) / n[:, None]
    assert np.allclose(after.means, expected)
    if shift == 0:
        squares = np.einsum("nk,knpq->kpq", R, S)
        squares -= n[:, None, None] * expected[:, :, None] * expected[:, None, :]
        wanted = squares.sum(axis=0) / n.sum() if kind == "tied" else squares / n[:, None, None]
        assert np.allclose(after.covariances, wanted)


def test_gaps_are_filled_from_what_goes_with_them():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=3000)
    Z = rng.normal(size=(3000, 3))
    Z[:, 1] = Z[:, 0] + 0.2 * Z[:, 1]  # the second column follows the first
    truth = Z + 6.0 * y[:, None]
    X = np.where(rng.random(truth.shape) < 0.25, np.nan, truth)
    full = GaussianMixture(2, random_state=0, max_iter=500).fit(X)
    diagonal = GaussianMixture(2, covariance_type="diag", random_state=0, max_iter=500).fit(X)
    order = full.means_[:, 0].argsort()
    assert np.allclose(full.covariances_[order], np.cov(Z.T), atol=0.12)
    gaps = np.isnan(X[:, 1]) & ~np.isnan(X[:, 0])
    miss = [np.sqrt(((m.impute(X) - truth)[gaps, 1] ** 2).mean()) for m in (full, diagonal)]
    assert miss[0] < 0.25
    assert miss[1] > 0.8
    assert np.array_equal(full.impute(X)[~np.isnan(X)], X[~np.isnan(X)])
    gradient = GaussianMixture(2, solver="gradient", random_state=0).fit(X[:600])
    assert gradient.score(X[:600]) > full.score(X[:600]) - 0.01


@pytest.mark.parametrize("kind", ["full", "tied"])
def test_rows_with_gaps_have_the_same_bits_everywhere(kind, tmp_path):
    X, _ = clouds(30_000, 3, 3, 1)
    X[::7, 1] = np.nan
    X[10_000:, 2] = np.where(np.random.default_rng(0).random(20_000) < 0.1, np.nan, X[10_000:, 2])
    np.save(tmp_path / "rows.npy", X)
    model = GaussianMixture(3, covariance_type=kind, random_state=0, max_iter=20, tol=1e-2)
    plain = model.fit(X).covariances_
    assert np.array_equal(model.fit(tmp_path / "rows.npy").covariances_, plain)
    with tenfold.threads(1):
        assert np.array_equal(model.fit(X).covariances_, plain)


def course_start(X, k, seed):
    """The start of project 4: missing ratings count as 0 there."""
    Z = np.nan_to_num(X)
    means = Z[np.random.RandomState(seed).choice(len(Z), k, replace=False)]
    variances = np.array([((Z - mean) ** 2).mean() for mean in means])
    return {
        "weights_init": np.full(k, 1 / k), "means_init": means, "precisions_init": 1 / variances,
        "covariance_type": "spherical", "reg_covar": 0.0, "min_variance": 0.25, "min_seen": 1.0,
    }  # fmt: skip


@needs_data
def test_small_ratings_are_those_of_the_course():
    X = fetch_netflix_ratings("small", return_X_y=True)[0]
    start = course_start(X, 4, 0)
    with pytest.warns(ConvergenceWarning):
        once = GaussianMixture(4, max_iter=1, **start).fit(X)
    assert np.isclose(once.lower_bound_ * 20, -152.16319226209848)
    assert np.allclose(once.covariances_, [0.71489705, 0.64830186, 0.73650336, 0.85722393])
    assert np.allclose(once.weights_, [0.13810266, 0.17175435, 0.46575794, 0.22438505])
    model = GaussianMixture(4, tol=1e-6 * 85 / 20, max_iter=500, **start).fit(X)
    assert np.isclose(model.lower_bound_ * 20, -84.98451993042474, rtol=1e-6)
    assert np.allclose(model.covariances_, [0.25, 0.25, 0.44961685, 0.27930039], atol=1e-5)


@needs_data
@pytest.mark.parametrize(
    ("k", "seed", "height", "error"),
    [(1, 0, -1521060.954, None), (12, 1, -1390234.422, 0.4805)],
)
def test_films_by_masked_em_as_in_project_4(k, seed, height, error):
    X, gold = fetch_netflix_ratings(return_X_y=True)
    stop = 1e-6 * abs(height) / len(X)  # the course stops at a millionth of the log-likelihood
    model = GaussianMixture(k, tol=stop, max_iter=500, **course_start(X, k, seed)).fit(X)
    assert np.isclose(model.lower_bound_ * len(X), height, rtol=0, atol=1e-3)
    if error is not None:
        misses = model.impute(X) - np.nan_to_num(gold)
        assert np.isclose(np.sqrt((misses**2).mean()), error, atol=5e-5)


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
