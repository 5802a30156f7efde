"""Contributions of features in trees, forests and boosted trees: they add up to the score."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

from tenfold import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    Ridge,
    feature_contributions,
    shap_values,
)

FEW = {"n_estimators": 8, "max_depth": 6, "random_state": 0}


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeRegressor(max_depth=5),
        RandomForestRegressor(**FEW),
        ExtraTreesRegressor(**FEW),
        HistGradientBoostingRegressor(max_iter=20),
    ],
    ids=lambda model: type(model).__name__,
)
def test_they_add_up_to_the_prediction(model):
    X, y = load_diabetes(return_X_y=True)
    model.fit(X, y)
    found = shap_values(model, X)
    np.testing.assert_allclose(found.base_values + found.values.sum(axis=1), model.predict(X))
    one = feature_contributions(model, X[3])
    np.testing.assert_allclose(one.contributions[0], found.values[3], atol=1e-10)
    assert one.scores[0] == pytest.approx(model.predict(X[3:4])[0])


@pytest.mark.parametrize(
    "model", [DecisionTreeClassifier(max_depth=4), RandomForestClassifier(**FEW)]
)
def test_those_of_trees_and_forests_add_up_to_probabilities(model):
    X, y = load_iris(return_X_y=True)
    model.fit(X, y)
    found = shap_values(model, X)
    whole = found.base_values + found.values.sum(axis=1)
    np.testing.assert_allclose(whole, model.predict_proba(X), atol=1e-12)
    assert found.values.shape == (150, 4, 3)


def test_those_of_boosted_classes_add_up_to_scores():
    X, y = load_iris(return_X_y=True)
    model = HistGradientBoostingClassifier(max_iter=10).fit(X, y)
    found = shap_values(model, X)
    np.testing.assert_allclose(
        found.base_values + found.values.sum(axis=1), model.decision_function(X)
    )
    X, y = load_breast_cancer(return_X_y=True)
    model.fit(X, y)
    one = feature_contributions(model, X[0])
    assert one.outputs == [1]
    assert one.scores[0] == pytest.approx(model.decision_function(X[:1])[0])


def test_a_log_link_explains_the_logarithm():
    X, y = load_diabetes(return_X_y=True)
    model = HistGradientBoostingRegressor(loss="poisson", max_iter=10).fit(X, y)
    one = feature_contributions(model, X[0])
    assert one.outputs == ["log of prediction"]
    assert np.exp(one.scores[0]) == pytest.approx(model.predict(X[:1])[0])


def test_missing_values_and_files_are_explained(tmp_path):
    X, y = load_diabetes(return_X_y=True)
    X[::7, 2] = np.nan
    model = HistGradientBoostingRegressor(max_iter=10).fit(X, y)
    np.save(tmp_path / "rows.npy", X)
    found = shap_values(model, tmp_path / "rows.npy")
    assert np.array_equal(found.values, shap_values(model, X).values)
    np.testing.assert_allclose(found.base_values + found.values.sum(axis=1), model.predict(X))


def test_what_has_no_trees_is_refused_by_name():
    X, y = load_diabetes(return_X_y=True)
    with pytest.raises(TypeError, match="Ridge is no model of trees"):
        shap_values(Ridge().fit(X, y), X)
    with pytest.raises(TypeError, match="2 outputs"):
        shap_values(DecisionTreeRegressor().fit(X, np.column_stack([y, y])), X)


def test_a_row_of_a_table_with_categories_is_explained():
    rng = np.random.default_rng(0)
    town = rng.choice(["a", "b", "c"], 300)
    table = pd.DataFrame({"town": pd.Categorical(town), "size": rng.normal(size=300)})
    model = HistGradientBoostingRegressor(max_iter=5).fit(table, table["size"] + (town == "b"))
    for i in range(4):
        found = feature_contributions(model, table[i : i + 1])
        assert found.names.tolist() == ["town", "size"]
        assert found.scores[0] == pytest.approx(model.predict(table[i : i + 1])[0])
        expected = shap_values(model, table[i : i + 1]).values
        np.testing.assert_allclose(found.contributions, expected, atol=1e-12)
