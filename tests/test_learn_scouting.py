"""Features are compared on few rows by a shortcut, which must say what the models would say."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.model_selection import KFold, StratifiedKFold
from threadpoolctl import threadpool_info

import tenfold
from tenfold.select.search import Search
from tenfold.study import tuning
from tenfold.study.facts import Facts
from tenfold.study.recipes import Recipe, radial, splines
from tenfold.study.scouting import best_score
from tenfold.study.tuning import Problem, tuned

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
    assert best_score(X, y, ALPHAS, "neg_log_loss", folds.split(X, y)) == search.best_score_


@pytest.mark.parametrize("p", [8, 90])
@pytest.mark.parametrize("scoring", ["r2", "neg_mean_absolute_error"])
def test_values_are_judged_as_by_ridge(scoring: str, p: int) -> None:
    rng = np.random.default_rng(p)
    X = rng.normal(size=(120, p)) - 3
    y = X[:, :5].sum(axis=1) + rng.normal(size=120)
    folds = KFold(3, shuffle=True, random_state=0)
    search = Search(tenfold.Ridge(), {"alpha": ALPHAS}, folds=folds, scoring=scoring).fit(X, y)
    assert_allclose(best_score(X, y, ALPHAS, scoring, folds.split(X)), search.best_score_)


def a_problem(rows: int) -> Problem:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(rows, 4))
    y = (np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=rows) > 0).astype(int)
    return Problem(X, y, "neg_log_loss", 0)


@pytest.mark.parametrize("make", [radial, splines])
def test_the_shortcut_chooses_the_features_that_the_search_chooses(
    make: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = a_problem(150)
    recipes: list[Recipe] = make(Facts(problem.X, "two-class", 2, 0))  # type: ignore[operator]
    quick = tuned(recipes, problem)
    monkeypatch.setattr(tuning, "FEW_ROWS", 0)
    assert tuned(recipes, problem).said == quick.said


def test_small_tables_are_tuned_in_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def looking(*given: object) -> object:
        seen.extend(each["num_threads"] for each in threadpool_info())
        return searched(*given)  # type: ignore[arg-type]

    searched = tuning._searched
    monkeypatch.setattr(tuning, "_searched", looking)
    problem = a_problem(150)
    tuned(splines(Facts(problem.X, "two-class", 2, 0)), problem)
    assert set(seen) == {1}
