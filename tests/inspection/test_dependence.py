"""Partial dependence by trees: scikit-learn's recursion, and the game of Shapley values."""

from itertools import combinations
from math import factorial

import numpy as np
import pandas as pd
import pytest
import sklearn.ensemble
import sklearn.inspection
import sklearn.tree

from tenfold import (
    DecisionTreeRegressor,
    ExplainableBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    Ridge,
    shap_values,
    tree_partial_dependence,
)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    return X, X[:, 0] * X[:, 1] + np.abs(X[:, 2]) + 0.1 * rng.normal(size=400)


@pytest.mark.parametrize("columns", [[0], [1, 2]])
def test_the_recursion_of_scikit_learn_finds_the_same(columns, rows):
    X, y = rows
    pairs = [
        (
            DecisionTreeRegressor(min_samples_leaf=15),
            sklearn.tree.DecisionTreeRegressor(min_samples_leaf=15),
        ),
        (
            HistGradientBoostingRegressor(max_iter=20),
            sklearn.ensemble.HistGradientBoostingRegressor(max_iter=20),
        ),
    ]
    for ours, theirs in pairs:
        options = {"method": "recursion", "kind": "average", "grid_resolution": 9}
        found = sklearn.inspection.partial_dependence(theirs.fit(X, y), X, columns, **options)
        grid = np.stack(np.meshgrid(*found["grid_values"], indexing="ij"), axis=-1)
        values = np.full((grid[..., 0].size, 4), np.nan)
        values[:, columns] = grid.reshape(-1, len(columns))
        mean = tree_partial_dependence(ours.fit(X, y), values, columns)
        expected = found["average"][0].ravel()
        shift = mean - expected  # scikit-learn may leave out where boosting starts
        np.testing.assert_allclose(shift, shift[0], atol=1e-6)
        assert abs(shift[0]) < 1e-9 or abs(shift[0] - y.mean()) < 1e-9


def test_they_are_the_game_of_which_shapley_values_are_the_solution(rows):
    X, y = rows
    model, found = HistGradientBoostingRegressor("poisson", max_iter=9), np.zeros((5, 4))
    model.fit(X, np.exp(y))
    for j in range(4):
        others = [k for k in range(4) if k != j]
        for size in range(4):
            weight = factorial(size) * factorial(3 - size) / factorial(4)
            for known in combinations(others, size):
                more = tree_partial_dependence(model, X[:5], [*known, j])
                found[:, j] += weight * (more - tree_partial_dependence(model, X[:5], list(known)))
    expected = shap_values(model, X[:5])
    np.testing.assert_allclose(found, expected.values, atol=1e-12)
    np.testing.assert_allclose(tree_partial_dependence(model, X[:5], []), expected.base_values)
    whole = tree_partial_dependence(model, X[:5], range(4))
    np.testing.assert_allclose(np.exp(whole), model.predict(X[:5]))


def test_categories_missing_values_and_names_of_a_table(rows):
    X, _ = rows
    rng = np.random.default_rng(1)
    town = rng.choice(["a", "b", "c"], 400)
    table = pd.DataFrame({"town": pd.Categorical(town), "size": X[:, 0]})
    table.loc[rng.random(400) < 0.2, "size"] = np.nan
    y = np.where(town == "b", 5.0, 0.0) + np.where(table["size"].isna(), 2.0, 0.0)
    model = ExplainableBoostingRegressor(random_state=0).fit(table, y)
    mean = tree_partial_dependence(model, table, "town")
    assert np.ptp(mean[town == "b"]) == 0
    assert mean[town == "b"][0] - mean[town == "a"][0] == pytest.approx(5, abs=0.2)
    np.testing.assert_array_equal(tree_partial_dependence(model, table, 0), mean)
    missing = tree_partial_dependence(model, table, ["size"])[table["size"].isna()]
    assert np.ptp(missing) == 0
    assert missing[0] - y.mean() == pytest.approx(2 * (1 - table["size"].isna().mean()), abs=0.2)


def test_several_classes_have_a_curve_each_and_files_the_same(rows, tmp_path):
    X, y = rows
    label = np.digitize(y, [-0.2, 0.9])
    np.save(tmp_path / "rows.npy", X)
    forest = RandomForestClassifier(5, max_depth=5, random_state=0).fit(X, label)
    found = tree_partial_dependence(forest, X, 2)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    np.testing.assert_array_equal(tree_partial_dependence(forest, tmp_path / "rows.npy", 2), found)
    boosted = HistGradientBoostingClassifier(max_iter=3).fit(X, label)
    assert tree_partial_dependence(boosted, X[:7], 0).shape == (7, 3)


def test_what_has_no_curve_is_refused(rows):
    X, y = rows
    model = DecisionTreeRegressor(max_depth=2).fit(X, y)
    for column in (4, "age", 0.5, [0, 9]):
        with pytest.raises(ValueError, match="there is no column"):
            tree_partial_dependence(model, X, column)
    with pytest.raises(TypeError, match="no model of trees"):
        tree_partial_dependence(Ridge().fit(X, y), X, 0)
