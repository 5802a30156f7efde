"""Reptile finds initial parameters from which few steps learn a new task."""

import numpy as np
import pytest

from tenfold import MLPRegressor
from tenfold.teaching import reptile

NETWORK = MLPRegressor(
    hidden_layer_sizes=(32,),
    activation="tanh",
    solver="sgd",
    momentum=0.0,
    learning_rate_init=0.05,
    random_state=0,
)


def draw_wave(rng, n=20):
    """A sine wave of random height and place."""
    height, phase = rng.uniform(0.5, 2), rng.uniform(0, 0.8)
    X = rng.uniform(-3, 3, (n, 1))
    return X, height * np.sin(X[:, 0] + phase)


def adapt(model, X, y, n_steps=10):
    for _ in range(n_steps):
        model.partial_fit(X, y)
    return model


def test_a_new_task_is_learned_in_few_steps():
    start = reptile(NETWORK, draw_wave, n_tasks=100, n_epochs=10)
    found, plain = [], []
    for seed in range(5):
        X, y = draw_wave(np.random.default_rng(1000 + seed), 200)
        near = reptile(NETWORK, draw_wave, n_tasks=0)  # parameters of one task, as the yardstick
        for model, errors in ((start, found), (near, plain)):
            copy = reptile(NETWORK, draw_wave, n_tasks=0)
            copy.coefs_, copy.intercepts_ = model.coefs_, model.intercepts_
            errors.append(np.mean((adapt(copy, X[:10], y[:10]).predict(X) - y) ** 2))
    assert np.mean(found) < 0.5 * np.mean(plain)


def test_the_same_seed_finds_the_same_parameters():
    found = [reptile(NETWORK, draw_wave, n_tasks=5).coefs_ for _ in range(2)]
    assert all(map(np.array_equal, *found))


def test_a_step_beyond_the_task_is_refused():
    with pytest.raises(ValueError, match="step=2"):
        reptile(NETWORK, draw_wave, step=2)
