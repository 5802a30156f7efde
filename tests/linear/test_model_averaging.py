"""Averages of many models, weighted by their evidence."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from tenfold.linear.bayesian.model_averaging import (
    BayesianModelAverage,
    WeightedModels,
    gibbs_weights,
    log_marginal,
    mixture_moments,
    model_posterior,
)
from tests.linear.bayesian_tables import cubic, known, table


def test_weights_of_models():  # 000, C5
    J = np.array([3.0, 1.0, 2.0, 1.0 + 1e-3])
    w = gibbs_weights(J)
    assert_allclose(w.sum(), 1)
    assert_array_equal(np.argsort(-w), np.argsort(J))
    assert_allclose(gibbs_weights(J + 1e6), w, rtol=1e-6)  # stable at any size
    assert_allclose(gibbs_weights([7.0]), [1.0])


@given(st.lists(st.floats(-1e4, 1e4), min_size=1, max_size=6))
def test_weights_sum_to_one_and_fall_with_the_cost(costs):
    w = gibbs_weights(costs)
    assert_allclose(w.sum(), 1)
    assert (w >= 0).all()
    assert w.argmax() == np.argmin(costs) or np.isclose(w.max(), w[np.argmin(costs)])


def test_best_mean_variance_and_top_of_many_machines():  # 000, C5
    machines = [lambda X, a=a: a * X for a in (1.0, 2.0, 4.0)]
    many = WeightedModels(machines, -np.log([0.2, 0.5, 0.3]))
    X = np.array([1.0, 2.0])
    assert many.best(1.0) == 2.0
    assert_allclose(many.mean(X), 2.4 * X)
    assert_allclose(many.variance(X), (0.2 * 1.4**2 + 0.5 * 0.4**2 + 0.3 * 1.6**2) * X**2)
    assert [m(1.0) for m, _ in many.top(2)] == [2.0, 4.0]
    assert_allclose(many.outputs(X, 2), [2 * X, 4 * X])
    with pytest.raises(ValueError, match="3 models have 2 costs"):
        WeightedModels(machines, [1.0, 2.0])


def test_a_grid_of_parameters_is_the_posterior():  # 000, L1188
    X, y = table(6, 1, shift=0.0)
    model = known(1.0, 0.5, fit_intercept=False).fit(X, y)
    grid = np.linspace(-8, 8, 4001)
    cost = 0.5 * grid**2 + ((y - grid[:, None] * X[:, 0]) ** 2).sum(axis=1) / 0.5
    many = WeightedModels(grid, cost, lambda w, X: w * X[:, 0])
    at = np.array([[2.0]])
    mean, std = model.predict(at, return_std=True)
    assert_allclose(many.mean(at), mean, rtol=1e-6)
    assert_allclose(many.variance(at), std**2 - 0.25, rtol=1e-5)
    assert_allclose(many.best, model.coef_[0], atol=4e-3)


def test_coins_and_models_by_hand():  # 004, 2-28; 001, A-26 and A-27
    evidence = np.log([0.125, 0.128])
    assert_allclose(model_posterior(evidence), [0.494071, 0.505929], atol=1e-6)
    assert_allclose(np.exp(log_marginal(evidence)), 0.1265)
    assert_array_equal(model_posterior([-5.0]), [1.0])
    theta = np.array([0.2, 0.5, 0.8])
    seven = model_posterior(stats.binom.logpmf(7, 10, theta))
    assert_allclose(seven, [0.00246, 0.36701, 0.63052], atol=1e-5)
    assert_allclose(np.exp(log_marginal(stats.binom.logpmf(7, 10, theta))), 0.1064, atol=5e-5)
    printed = [0.0025, 0.3670, 0.6305]  # the notes go on from rounded numbers
    then = model_posterior(stats.binom.logpmf(3, 10, theta), printed)
    assert_allclose(then, [0.0114, 0.9773, 0.0113], atol=5e-5)
    two = model_posterior(stats.binom.logpmf(2, 10, theta), printed)
    assert_allclose(two, [0.0446, 0.9527, 0.0027], atol=5e-5)
    assert_array_equal(model_posterior([-1e5, -1e5 - 1e4], [1, 0]), [1, 0])
    for bad in ([1.0], [0.0, 0.0], [2.0, -1.0]):
        with pytest.raises(ValueError, match="prior must hold 2"):
            model_posterior(evidence, bad)


def test_the_average_is_the_mixture_of_its_models():
    X, y = table()
    parts = [known(s, 0.5) for s in (0.1, 1.0, 10.0)]
    prior = np.array([1.0, 2.0, 1.0])
    average = BayesianModelAverage(parts, prior).fit(X, y)
    evidence = [known(s, 0.5).fit(X, y).log_evidence_ for s in (0.1, 1.0, 10.0)]
    assert_allclose(average.log_evidences_, evidence)
    assert_allclose(average.weights_, gibbs_weights(-(np.array(evidence) + np.log(prior))))
    mean, std = average.predict(X, return_std=True)
    said = [m.predict(X, return_std=True) for m in average.models_]
    want = sum(w * m for w, (m, _) in zip(average.weights_, said, strict=True))
    square = sum(w * (s**2 + m**2) for w, (m, s) in zip(average.weights_, said, strict=True))
    assert_allclose(mean, want)
    assert_allclose(std**2, square - want**2)
    one = BayesianModelAverage([known()]).fit(X, y)
    assert_array_equal(one.predict(X), known().fit(X, y).predict(X))
    with pytest.raises(ValueError, match="empty"):
        BayesianModelAverage([]).fit(X, y)


def test_the_true_degree_wins_the_posterior():
    _, X, y = cubic(100, 0.1)
    models = [known(1e-2, 0.1).fit(X[:, 1 : d + 1], y) for d in range(1, 8)]
    weights = model_posterior([m.log_evidence_ for m in models])
    assert weights.argmax() == 2  # the cubic
    assert_allclose(mixture_moments(weights, np.zeros((7, 1)), np.ones((7, 1)))[1], 1)
