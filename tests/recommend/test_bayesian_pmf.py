"""Gibbs sampling: the posterior of a model that is known in closed form, and its error bars."""

import numpy as np
from numpy.testing import assert_allclose

from tenfold import ALS, BayesianPMF
from tenfold.recommend.bayesian_pmf import _draw_prior, _draw_wishart
from tests.recommend.conftest import make_ratings


def test_held_out_ratings_are_predicted_without_a_penalty_to_choose(small):
    X, y = small
    held = np.arange(len(y)) % 5 == 0
    model = BayesianPMF(2, random_state=0).fit(X[~held], y[~held])
    rmse = np.sqrt(np.mean((model.predict(X[held]) - y[held]) ** 2))
    plain = ALS(2, random_state=0).fit(X[~held], y[~held])
    assert rmse < np.sqrt(np.mean((plain.predict(X[held]) - y[held]) ** 2))
    assert rmse < 0.3 * y.std()


def test_error_bars_cover_what_they_promise():
    X, y = make_ratings(2, 80, 60, share=0.3)
    y += 0.5 * np.random.default_rng(0).normal(size=len(y))
    held = np.arange(len(y)) % 5 == 0
    model = BayesianPMF(3, clip=False, random_state=0).fit(X[~held], y[~held])
    mean, std = model.predict(X[held], return_std=True)
    inside = np.mean(np.abs(mean - y[held]) < 1.96 * std)
    assert 0.9 < inside < 0.99


def test_draws_of_a_wishart_distribution_have_its_mean():
    rng = np.random.default_rng(0)
    scale = np.array([[2.0, 0.5], [0.5, 1.0]])
    draws = [_draw_wishart(scale, 7, rng) for _ in range(4000)]
    assert_allclose(np.mean(draws, axis=0), 7 * scale, rtol=0.05)


def test_many_vectors_determine_the_prior():
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(20_000, 2)) @ np.diag([2.0, 0.5]) + [1, -1]
    prior = _draw_prior(vectors, rng)
    assert_allclose(prior.mean, [1, -1], atol=0.05)
    assert_allclose(np.linalg.inv(prior.precision), np.diag([4, 0.25]), atol=0.1)


def test_the_noise_is_found():
    X, y = make_ratings(4, 100, 60, share=0.5)
    model = BayesianPMF(2, random_state=0).fit(X, y + np.random.default_rng(0).normal(size=len(y)))
    assert_allclose(model.noise_variance_, 1.01, rtol=0.1)


def test_reasons_add_up_and_new_users_are_placed(small):
    X, y = small
    model = BayesianPMF(2, n_samples=10, random_state=0).fit(X, y)
    best = model.recommend(5, 1)
    found = model.explain(5, best.items[0])
    total = found.base + found.rest + sum(r.contribution for r in found.reasons)
    assert_allclose(total, best.scores[0], rtol=1e-8)
    own = X[:, 0] == 5
    larger = model.fold_in(np.column_stack([np.full(own.sum(), 77), X[own, 1]]), y[own])
    pairs = np.column_stack([np.full(25, 77), np.arange(25)])
    same = np.column_stack([np.full(25, 5), np.arange(25)])
    assert_allclose(larger.predict(pairs), model.predict(same), atol=0.3)
