"""The best of many is too good; memory is no learning."""

from math import sqrt

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from sklearn.utils.estimator_checks import check_estimator

from tenfold import LinearRegression
from tenfold.datasets import make_sine, make_three_clouds
from tenfold.model_selection.selection_bias import (
    ChosenOnTrainingWarning,
    expected_maximum,
    simulate_best_of,
    training_choice,
    warn_if_chosen_on_training,
)
from tenfold.teaching.learning_theory.lookup_classifier import MemorizingClassifier


def test_the_best_of_many_normal_numbers():
    """[002, E35] The best of 100 equally good tries is about 2.5 standard errors too good."""
    assert expected_maximum(100) == pytest.approx(2.50759, abs=1e-5)
    assert expected_maximum(2) == pytest.approx(1 / sqrt(np.pi))
    assert expected_maximum(3) == pytest.approx(1.5 / sqrt(np.pi))
    assert expected_maximum(1) == 0
    drawn = np.random.default_rng(0).normal(size=(4000, 1000)).max(axis=1)
    assert expected_maximum(1000) == pytest.approx(drawn.mean(), abs=5 * drawn.std() / sqrt(4000))


def test_the_best_of_100_is_too_good_and_fresh_rows_are_not():
    found = simulate_best_of(100, rows=500, accuracy=0.7)
    assert found.optimism == pytest.approx(found.expected, rel=0.05)
    spread = sqrt(0.21 / 500)
    assert found.optimism == pytest.approx(2.5 * spread, rel=0.07)
    assert found.fresh.mean() == pytest.approx(0.7, abs=5 * spread / sqrt(2000))
    assert simulate_best_of(1, accuracy=0.7).optimism == pytest.approx(0, abs=0.002)
    with pytest.raises(ValueError, match="accuracy=80"):
        simulate_best_of(accuracy=80)


def test_the_training_score_takes_the_largest_degree():
    """[000, C20; 002, E35]"""
    X, y = make_sine(15, random_state=1)
    X_new, y_new = make_sine(500, random_state=2)
    degrees, scores = list(range(1, 10)), []
    for degree in degrees:
        model = make_pipeline(PolynomialFeatures(degree), LinearRegression()).fit(X, y)
        scores.append([-((model.predict(a) - b) ** 2).mean() for a, b in [(X, y), (X_new, y_new)]])
    found = training_choice(degrees, *np.transpose(scores))
    assert found.on_training == 9
    assert 3 <= found.on_held_out <= 5
    assert found.loss > 0
    assert "chooses 9, the validation score" in str(found)
    assert "agree on 1" in str(training_choice([1, 2], [1, 0], [1, 0]))


def test_judging_by_learned_rows_is_warned_of():
    X = np.random.default_rng(0).normal(size=(50, 3))
    with pytest.warns(ChosenOnTrainingWarning, match="10 of the 30 rows"):
        assert warn_if_chosen_on_training(X[:30], X[20:]) == 10
    assert warn_if_chosen_on_training(X[:30], X[30:]) == 0
    with pytest.warns(ChosenOnTrainingWarning):
        warn_if_chosen_on_training([[0.0]], [[-0.0]])


def test_the_memorising_classifier_knows_its_rows_and_nothing_else():
    """[003, A017] Training error 0; every other row is -1; with a radius it starts to learn."""
    X, y = make_three_clouds(200, random_state=0)
    X_new, y_new = make_three_clouds(400, random_state=1)
    signs, signs_new = 2 * y - 1, 2 * y_new - 1
    model = MemorizingClassifier().fit(X, signs)
    assert model.score(X, signs) == 1
    assert (model.predict(X + 1e-9) == -1).all()
    assert model.score(X_new, signs_new) == (signs_new == -1).mean()
    assert clone(model).set_params(radius=np.inf).fit(X, signs).score(X_new, signs_new) > 0.97


def test_memory_is_at_chance_on_balanced_noise():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 4)), rng.integers(0, 2, 400)
    model = MemorizingClassifier().fit(X[:200], y[:200])
    assert model.score(X[:200], y[:200]) == 1
    assert abs(model.score(X[200:], y[200:]) - 0.5) < 0.12


def test_memory_follows_scikit_learns_rules():
    check_estimator(MemorizingClassifier(radius=np.inf), on_skip=None)
