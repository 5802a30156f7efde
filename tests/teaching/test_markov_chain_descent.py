"""Gradient descent on rows that a Markov chain visits."""

import numpy as np
import pytest

from tenfold import HistGradientBoostingRegressor
from tenfold.math.links import normal_cdf
from tenfold.math.losses import ProbitLoss
from tenfold.optim.convergence import DivergenceError
from tenfold.teaching import markov_chain_gradient_descent


def stationary(P):
    values, vectors = np.linalg.eig(P.T)
    vector = vectors[:, np.argmax(values.real)].real
    return vector / vector.sum()


def test_the_mean_goes_to_the_minimum_under_the_stationary_distribution():
    rng = np.random.default_rng(0)
    A, b = rng.normal(size=(6, 2)), rng.normal(size=6)
    P = rng.dirichlet(np.full(6, 0.5), size=6)
    weights = stationary(P)
    exact = np.linalg.lstsq(A * np.sqrt(weights)[:, None], b * np.sqrt(weights), rcond=None)[0]
    found = markov_chain_gradient_descent(
        lambda x, i: A[i] * (A[i] @ x - b[i]), np.zeros(2), P, n_steps=40_000, average_from=4_000
    )
    uniform = np.linalg.lstsq(A, b, rcond=None)[0]
    assert np.linalg.norm(found.x - exact) < 0.1
    assert np.linalg.norm(found.x - exact) < 0.3 * np.linalg.norm(uniform - exact)


def test_equal_rows_of_transitions_are_independent_draws():
    numbers = np.array([0.0, 1.0, 5.0])
    visited = []

    def gradient(x, i):
        visited.append(i)
        return x - numbers[i]

    shares = np.array([0.2, 0.3, 0.5])
    found = markov_chain_gradient_descent(gradient, [0.0], np.tile(shares, (3, 1)), n_steps=20_000)
    assert abs(found.x[0] - shares @ numbers) < 0.1
    np.testing.assert_allclose(np.bincount(visited) / 20_000, shares, atol=0.02)
    assert not found.report["converged_"]


def test_bad_chains_and_rates_are_refused():
    with pytest.raises(ValueError, match="row 1 of transitions is no distribution"):
        markov_chain_gradient_descent(lambda x, _: x, [1.0], [[1.0, 0.0], [0.5, 0.6]])
    with pytest.raises(DivergenceError, match="not finite"):
        markov_chain_gradient_descent(
            lambda x, _: -x, [1.0], [[1.0]], learning_rate=1e9, n_steps=100
        )


def test_functional_gradients_of_the_probit_loss_fit_a_curved_boundary():
    """Trees are gradient steps in the space of functions; the loss is that of probit regression."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (3000, 2))
    p = normal_cdf(2 * (X[:, 0] ** 2 + X[:, 1] - 1))
    y = np.where(rng.random(3000) < p, 1.0, -1.0)
    model = HistGradientBoostingRegressor(ProbitLoss(), max_iter=60, early_stopping=False).fit(X, y)
    losses = [ProbitLoss().value(z.ravel(), y).mean() for z in list(model._staged_scores(X))[::10]]
    assert (np.diff(losses) < 0).all()
    assert np.mean((normal_cdf(model.predict(X)) - p) ** 2) < 0.01
