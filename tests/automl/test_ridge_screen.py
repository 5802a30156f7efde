"""Features are compared on few rows by a shortcut, which must say what the models would say."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.model_selection import KFold, StratifiedKFold
from threadpoolctl import threadpool_info

import tenfold
from tenfold.automl import hyperparameter_tuner as tuner
from tenfold.automl.candidates import kernel_configs, spline_configs
from tenfold.automl.feature_maps import EncodedTable
from tenfold.automl.hyperparameter_tuner import TuningProblem, best_ridge_score, tune_models
from tenfold.automl.model_config import ModelConfig
from tenfold.model_selection.parameter_search import Search

ALPHAS = [0.001, 0.1, 10.0]


@pytest.mark.parametrize("p", [8, 90])
@pytest.mark.parametrize("k", [2, 4])
def test_classes_are_judged_as_by_least_squares_classifiers(k: int, p: int) -> None:
    rng = np.random.default_rng(k + p)
    X = rng.normal(size=(120, p)) + 5
    y = np.argmax(X[:, :k] + rng.normal(size=(120, k)), axis=1)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    search = Search(tenfold.LeastSquaresClassifier(), {"alpha": ALPHAS}, folds=folds,
                    scoring="accuracy").fit(X, y)  # fmt: skip
    assert best_ridge_score(X, y, ALPHAS, "neg_log_loss", folds.split(X, y)) == search.best_score_


@pytest.mark.parametrize("p", [8, 90])
@pytest.mark.parametrize("scoring", ["r2", "neg_mean_absolute_error"])
def test_values_are_judged_as_by_ridge(scoring: str, p: int) -> None:
    rng = np.random.default_rng(p)
    X = rng.normal(size=(120, p)) - 3
    y = X[:, :5].sum(axis=1) + rng.normal(size=120)
    folds = KFold(3, shuffle=True, random_state=0)
    search = Search(tenfold.Ridge(), {"alpha": ALPHAS}, folds=folds, scoring=scoring).fit(X, y)
    assert_allclose(best_ridge_score(X, y, ALPHAS, scoring, folds.split(X)), search.best_score_)


def a_problem(rows: int) -> TuningProblem:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(rows, 4))
    y = (np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=rows) > 0).astype(int)
    return TuningProblem(X, y, "neg_log_loss", 0)


@pytest.mark.parametrize("make", [kernel_configs, spline_configs])
def test_the_shortcut_chooses_the_features_that_the_search_chooses(
    make: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = a_problem(150)
    recipes: list[ModelConfig] = make(EncodedTable(problem.X, "two-class", 2, 0))  # type: ignore[operator]
    quick = tune_models(recipes, problem)
    monkeypatch.setattr(tuner, "_FEW_ROWS", 0)
    assert tune_models(recipes, problem).description == quick.description


def test_small_tables_are_tuned_in_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def looking(*given: object) -> object:
        seen.extend(each["num_threads"] for each in threadpool_info())
        return searched(*given)  # type: ignore[arg-type]

    searched = tuner._search_params
    monkeypatch.setattr(tuner, "_search_params", looking)
    problem = a_problem(150)
    tune_models(spline_configs(EncodedTable(problem.X, "two-class", 2, 0)), problem)
    assert set(seen) == {1}
