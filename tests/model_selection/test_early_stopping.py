"""Early stopping keeps the best iteration."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression as SklearnLogisticRegression
from sklearn.linear_model import Perceptron as SklearnPerceptron
from sklearn.linear_model import SGDClassifier as SklearnSGDClassifier
from sklearn.linear_model import SGDRegressor as SklearnSGDRegressor
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from tenfold import GaussianNB, LogisticRegression, Perceptron, SGDClassifier, SGDRegressor
from tenfold.model_selection.early_stopping import EarlyStopping


@pytest.fixture(scope="module")
def noisy():
    """Few rows, many columns, wrong labels: training on goes astray."""
    return make_classification(
        240, 40, n_informative=5, n_redundant=0, flip_y=0.2, random_state=0, class_sep=0.7
    )


ROUNDS = [
    SGDClassifier(random_state=0, loss="log_loss"),
    Perceptron(random_state=0),
    LogisticRegression(C=1e6),
    SklearnSGDClassifier(random_state=0),
    SklearnPerceptron(random_state=0),
    SklearnLogisticRegression(C=1e6),
]


@pytest.mark.parametrize("inner", ROUNDS, ids=lambda model: f"{type(model).__module__}")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_what_is_kept_is_the_round_with_the_best_score_held_out(noisy, inner):
    """[000, C21] The kept model's own score on those rows is the best of the curve."""
    X, y = noisy
    model = EarlyStopping(inner, validation=0.3, patience=4, max_rounds=60).fit(X, y)
    curve, held = model.history_["validation"], model.validation_rows_
    assert model.best_round_ == 1 + int(curve.argmax())
    assert model.best_score_ == curve.max() >= curve[-1]
    assert accuracy_score(y[held], model.predict(X[held])) == pytest.approx(model.best_score_)
    learned = np.setdiff1d(np.arange(len(y)), held)
    at_best = model.history_["train"][model.best_round_ - 1]
    assert accuracy_score(y[learned], model.predict(X[learned])) == pytest.approx(at_best)
    assert model.n_rounds_ in {model.best_round_ + 4, 60}
    assert (np.diff(model.history_["seconds"]) >= 0).all()
    assert_allclose(y[held].mean(), y.mean(), atol=0.02)


def test_rounds_by_partial_fit_are_the_epochs_of_the_model_itself(noisy):
    X, y = noisy
    model = EarlyStopping(SklearnSGDClassifier(random_state=0), patience=3).fit(X, y)
    learned = np.setdiff1d(np.arange(len(y)), model.validation_rows_)
    by_hand = SklearnSGDClassifier(random_state=0)
    for _ in range(model.best_round_):
        by_hand.partial_fit(X[learned], y[learned], classes=[0, 1])
    assert_array_equal(by_hand.coef_, model.estimator_.coef_)
    assert_array_equal(model.decision_function(X), by_hand.decision_function(X))


@pytest.mark.parametrize(
    "inner", [SGDRegressor(random_state=0), SklearnSGDRegressor(random_state=0)]
)
def test_regressors_stop_early_in_a_pipeline_and_under_a_search(inner):
    X, y = make_regression(300, 5, noise=20, random_state=0)
    stopping = EarlyStopping(inner, scoring="neg_mean_squared_error", patience=3)
    model = make_pipeline(StandardScaler(), stopping)
    grid = {"earlystopping__model__alpha": [1e-4, 1e-1]}
    found = GridSearchCV(model, grid, cv=3).fit(X, y)
    assert found.best_params_ == {"earlystopping__model__alpha": 1e-4}
    assert found.score(X, y) > 0.9
    last = found.best_estimator_[-1]
    assert last.best_score_ == last.history_["validation"].max() < 0


def test_weights_of_zero_are_rows_left_out(noisy):
    X, y = noisy
    rng = np.random.default_rng(0)
    weights = rng.integers(0, 2, len(y)).astype(float)
    model = EarlyStopping(SklearnSGDClassifier(random_state=0), patience=2)
    model.fit(X, y, sample_weight=weights)
    held = model.validation_rows_[weights[model.validation_rows_] > 0]
    assert model.score(X[held], y[held]) == pytest.approx(model.best_score_)


def test_early_stopping_follows_scikit_learns_rules():
    model = EarlyStopping(SklearnSGDClassifier(random_state=0), validation=0.3, max_rounds=9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        results = check_estimator(model, on_fail=None, on_skip=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    drawn = "check_sample_weight_equivalence_on_"  # a row twice may be held out once
    assert not {name: why for name, why in failed.items() if not name.startswith(drawn)}


def test_rounds_that_do_not_suffice_are_warned_of(noisy):
    model = EarlyStopping(SklearnSGDClassifier(random_state=0), max_rounds=2)
    with pytest.warns(ConvergenceWarning, match="increase max_rounds"):
        model.fit(*noisy)


def test_models_without_rounds_are_refused(noisy):
    with pytest.raises(TypeError, match="one pass"):
        EarlyStopping(GaussianNB()).fit(*noisy)
    with pytest.raises(TypeError, match="wrap the last step"):
        EarlyStopping(make_pipeline(StandardScaler(), SGDClassifier())).fit(*noisy)
    with pytest.raises(TypeError, match="counts further rounds"):
        EarlyStopping(HistGradientBoostingClassifier()).fit(*noisy)
    with pytest.raises(ValueError, match="not finite in 5 rounds"):
        EarlyStopping(SklearnPerceptron(), scoring=lambda *_: np.nan).fit(*noisy)
