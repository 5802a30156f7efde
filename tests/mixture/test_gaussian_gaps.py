"""Gaussian mixtures of rows with missing entries, by brute force and by numbers of the courses."""

import os

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.exceptions import ConvergenceWarning

import tenfold
from tenfold.datasets import fetch_netflix_ratings
from tenfold.mixture._covariance_types import COVARIANCE_TYPES
from tenfold.mixture._gaussian import GaussianParameters
from tenfold.mixture.gaussian_mixture import GaussianMixture
from tenfold.teaching.em_steps import e_step, m_step
from tests.mixture.gaussian_cases import clouds, start_of

needs_data = pytest.mark.skipif("TENFOLD_DATA" not in os.environ, reason="TENFOLD_DATA is not set")


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
