"""AdaBoost: scikit-learn's numbers, the bound of the training error, worked by hand."""

import numpy as np
import pytest
from sklearn import ensemble
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

import tenfold
from tenfold import AdaBoostClassifier, AdaBoostRegressor, DecisionTreeClassifier, GaussianNB


@pytest.mark.parametrize("load", [load_breast_cancer, load_wine])
def test_members_and_weights_are_those_of_scikit_learn(load):
    X, y = load(return_X_y=True)
    ours = AdaBoostClassifier(n_estimators=15, random_state=0).fit(X, y)
    theirs = ensemble.AdaBoostClassifier(n_estimators=15, random_state=0).fit(X, y)
    np.testing.assert_allclose(ours.estimator_weights_, theirs.estimator_weights_, rtol=1e-4)
    assert np.array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-4)


def test_the_training_error_keeps_its_bound():
    X, y = load_breast_cancer(return_X_y=True)
    model = AdaBoostClassifier(n_estimators=30).fit(X, y)
    bound = np.cumprod(2 * np.sqrt(model.estimator_errors_ * (1 - model.estimator_errors_)))
    errors = [(labels != y).mean() for labels in model.staged_predict(X)]
    assert all(error <= limit + 1e-12 for error, limit in zip(errors, bound, strict=True))


def test_one_round_by_hand():
    """Six points: the stump errs on one, whose weight becomes half of all."""
    X = np.arange(6.0)[:, None]
    y = np.array([0, 0, 0, 1, 1, 0])
    model = AdaBoostClassifier(n_estimators=2).fit(X, y)
    assert model.estimator_errors_[0] == pytest.approx(1 / 6, rel=1e-3)
    assert model.estimator_weights_[0] == pytest.approx(np.log(5), rel=1e-3)
    w = np.where(np.arange(6) == 5, 0.5, 0.1)
    again = DecisionTreeClassifier(max_depth=1).fit(X, y, sample_weight=w)
    assert np.array_equal(model.estimators_[1].predict(X), again.predict(X))


def test_regressors_draw_as_scikit_learn_does():
    X, y = load_diabetes(return_X_y=True)
    ours = AdaBoostRegressor(n_estimators=5, random_state=0).fit(X, y)
    theirs = ensemble.AdaBoostRegressor(n_estimators=5, random_state=0).fit(X, y)
    assert abs(ours.score(X, y) - theirs.score(X, y)) < 0.02


def test_any_model_that_takes_weights_can_be_boosted():
    X, y = load_wine(return_X_y=True)
    ours = AdaBoostClassifier(GaussianNB(), n_estimators=5).fit(X, y)
    theirs = ensemble.AdaBoostClassifier(GaussianNB(), n_estimators=5).fit(X, y)
    assert np.array_equal(ours.predict(X), theirs.predict(X))


def test_it_can_be_saved_and_read_from_a_file(tmp_path):
    X, y = load_wine(return_X_y=True)
    np.save(tmp_path / "rows.npy", np.column_stack([X, y]))
    rows = tenfold.open(tmp_path / "rows.npy", target=13)
    from_file = AdaBoostClassifier(n_estimators=5).fit(rows)
    from_array = AdaBoostClassifier(n_estimators=5).fit(X, y.astype(float))
    assert np.array_equal(from_file.decision_function(X), from_array.decision_function(X))
    from_array.save(tmp_path / "model.tenfold")
    loaded = tenfold.load(tmp_path / "model.tenfold")
    assert np.array_equal(loaded.predict(X), from_array.predict(X))
