"""Explainable boosting: its tables are the boosted trees, and what is edited is predicted."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import tenfold
from tenfold import (
    ExplainableBoostingClassifier,
    ExplainableBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    feature_contributions,
)

SETTINGS = {"learning_rate": 0.1, "max_iter": 40, "max_leaf_nodes": 6, "random_state": 0}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(1_500, 4))
    y = np.sin(6 * X[:, 0]) + (X[:, 1] > 0.5) + 3 * X[:, 2] * X[:, 3]
    X[::17, 0] = np.nan
    return X, y + 0.1 * rng.normal(size=len(X))


def look_up(term, X, k=0):
    """Values of a term for rows, from its table alone."""
    index = []
    for j, edges, categorical in zip(term.columns, term.edges, term.is_categorical, strict=True):
        x = X[:, j]
        if categorical:
            place = np.minimum(np.searchsorted(edges, x), len(edges) - 1)
            bins = np.where(edges[place] == x, place, len(edges))
        else:
            bins = np.where(np.isnan(x), len(edges) + 1, np.searchsorted(edges, x, side="left"))
        index.append(bins.astype(int))
    return term.values[(*index, k)]


@pytest.mark.parametrize("interactions", [0, [(2, 3)]])
def test_the_tables_give_the_predictions(rows, interactions):
    X, y = rows
    model = ExplainableBoostingRegressor(interactions=interactions, **SETTINGS).fit(X, y)
    total = model.intercept_[0] + sum(look_up(term, X) for term in model.terms_)
    np.testing.assert_allclose(model.predict(X), total, rtol=0, atol=1e-12)


def test_single_columns_are_boosting_without_interactions(rows):
    X, y = rows
    ours = ExplainableBoostingRegressor(**SETTINGS).fit(X, y)
    plain = HistGradientBoostingRegressor(interaction_cst="no_interactions", **SETTINGS).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), plain.predict(X), rtol=0, atol=1e-12)
    assert len(ours.trees_) == 4
    assert ours.term_names_ == ["x0", "x1", "x2", "x3"]


def test_effects_have_mean_zero_and_weights_count_rows(rows):
    X, y = rows
    model = ExplainableBoostingRegressor(interactions=1, **SETTINGS).fit(X, y)
    for term in model.terms_:
        assert term.weights.sum() == len(X)
        assert abs((term.values[..., 0] * term.weights).sum()) < 1e-8 * len(X)
    assert model.intercept_[0] == pytest.approx(model.predict(X).mean())
    first = model.terms_[0]
    assert first.weights[-1] == np.isnan(X[:, 0]).sum()


def test_the_pair_that_matters_is_found(rows):
    X, y = rows
    alone = ExplainableBoostingRegressor(**SETTINGS).fit(X, y)
    paired = ExplainableBoostingRegressor(interactions=1, **SETTINGS).fit(X, y)
    assert paired.term_names_[-1] == "x2 x x3"
    assert paired.score(X, y) > alone.score(X, y) + 0.02


@pytest.mark.parametrize("interactions", [[(0, 1), (1, 2), (2, 3)], 6])
def test_pairs_that_share_a_column_are_terms_of_two_columns(rows, interactions):
    X, y = rows
    X = np.column_stack([np.round(8 * X[:, 0]), X[:, 1:]])
    kinds = {"categorical_features": [0]}
    model = ExplainableBoostingRegressor(interactions=interactions, **SETTINGS, **kinds).fit(X, y)
    assert max(len(term.columns) for term in model.terms_) == 2
    score = model.intercept_[0] + sum(look_up(term, X) for term in model.terms_)
    np.testing.assert_allclose(model.predict(X), score, atol=1e-12)
    pairs = ExplainableBoostingRegressor(**SETTINGS, **kinds)
    boosted = HistGradientBoostingRegressor.predict
    assert model.score(X, y) > pairs.fit(X, y).score(X, y)
    assert np.array_equal(boosted(model, X), model.predict(X))


def test_pairs_may_be_named_and_what_is_no_pair_is_refused(rows):
    X, y = rows
    table = pd.DataFrame(X, columns=list("abcd"))
    settings = SETTINGS | {"max_iter": 5}
    named = ExplainableBoostingRegressor(interactions=[("c", "d")], **settings).fit(table, y)
    assert "c x d" in named.term_names_
    for wrong in ([(0, 4)], [(1, 1)], [(0, 1, 2)], [("a", "z")]):
        with pytest.raises(ValueError, match="is no pair of two columns"):
            ExplainableBoostingRegressor(interactions=wrong, **settings).fit(X, y)


def test_importances_of_columns_are_those_of_their_terms(rows):
    X, y = rows
    model = ExplainableBoostingRegressor(interactions=[(2, 3)], **SETTINGS).fit(X, y)
    one, two, three, four, pair = model.term_importances_
    expected = np.array([one, two, three + pair / 2, four + pair / 2])
    np.testing.assert_allclose(model.feature_importances_, expected / expected.sum())
    with pytest.raises(AttributeError, match="merged from all rounds"):
        next(model.staged_predict(X))
    with pytest.raises(ValueError, match="there is no term 'x9': the terms are"):
        model.edit_term("x9", np.zeros(3))


def test_an_edited_effect_is_predicted_and_explained(rows):
    X, y = rows
    model = ExplainableBoostingRegressor(**SETTINGS).fit(X, y)
    before, term = model.predict(X), model.terms_[1]
    effect = look_up(term, X)
    model.edit_term("x1", np.zeros(term.values.shape[:-1]))
    np.testing.assert_allclose(model.predict(X), before - effect, rtol=0, atol=1e-12)
    assert feature_contributions(model, X[1]).contributions[0, 1] == 0
    with pytest.raises(ValueError, match="'x1' must be finite and of shape"):
        model.edit_term("x1", [1.0])
    with pytest.raises(ValueError, match="x9"):
        model.edit_term("x9", [1.0])


def test_contributions_are_the_entries_of_the_tables(rows):
    X, y = rows
    model = ExplainableBoostingRegressor(**SETTINGS).fit(X, y)
    found = feature_contributions(model, X[1])
    wanted = [look_up(term, X[1:2])[0] for term in model.terms_]
    np.testing.assert_allclose(found.contributions[0], wanted, rtol=0, atol=1e-10)


def test_classes_have_an_effect_each():
    X, y = load_iris(return_X_y=True)
    model = ExplainableBoostingClassifier(**SETTINGS).fit(X, y)
    plain = HistGradientBoostingClassifier(interaction_cst="no_interactions", **SETTINGS).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X), atol=1e-12)
    assert model.terms_[0].values.shape[-1] == 3


def test_categories_of_a_table(rows):
    X, y = rows
    town = np.array(["Bonn", "Köln", "Ulm"])[np.random.default_rng(1).integers(0, 3, len(y))]
    table = pd.DataFrame({"size": X[:, 1], "town": pd.Categorical(town)})
    target = y + 2.0 * (town == "Ulm")
    model = ExplainableBoostingRegressor(**SETTINGS).fit(table, target)
    plain = HistGradientBoostingRegressor(interaction_cst="no_interactions", **SETTINGS)
    np.testing.assert_allclose(
        model.predict(table), plain.fit(table, target).predict(table), rtol=0, atol=1e-12
    )
    assert model.term_names_ == ["size", "town"]
    effect = model.terms_[1]
    assert effect.is_categorical == (True,)
    assert effect.values[2, 0] - effect.values[0, 0] == pytest.approx(2.0, abs=0.2)


def test_it_can_be_saved(rows, tmp_path):
    X, y = rows
    for model in (
        ExplainableBoostingRegressor(interactions=1, **SETTINGS).fit(X, y),
        ExplainableBoostingClassifier(**SETTINGS).fit(X, np.digitize(y, [0.5, 2])),
    ):
        model.save(tmp_path / "model.tenfold")
        loaded = tenfold.load(tmp_path / "model.tenfold")
        assert np.array_equal(loaded.predict(X), model.predict(X))
        assert loaded.term_names_ == model.term_names_


def test_a_constant_target_has_no_terms():
    X = np.random.default_rng(0).normal(size=(50, 2))
    model = ExplainableBoostingRegressor(max_iter=5).fit(X, np.full(50, 3.0))
    assert model.terms_ == []
    assert np.allclose(model.predict(X), 3.0)


def test_terms_are_drawn(rows):
    import matplotlib as mpl

    mpl.use("Agg")
    from tenfold.plot import additive_terms

    X, y = rows
    model = ExplainableBoostingRegressor(interactions=1, **SETTINGS).fit(X, y)
    panels = additive_terms(model, 5)
    assert panels.shape == (2, 3)
    assert {panel.get_title() for panel in panels.ravel()[:5]} == set(model.term_names_)
    assert not panels[1, 2].get_visible()


def test_categories_are_drawn_by_their_names(rows):
    import matplotlib as mpl

    mpl.use("agg")
    from tenfold.plot import additive_terms

    X, y = rows
    town = np.array(["Bonn", "Jena", "Ulm"])[np.arange(len(X)) % 3]
    table = pd.DataFrame({"size": X[:, 1], "town": pd.Categorical(town)})
    model = ExplainableBoostingRegressor(interactions=[(0, 1)], **SETTINGS)
    model.fit(table, y + 2 * (town == "Ulm"))
    assert model.category_names(1) == ["Bonn", "Jena", "Ulm"]
    with pytest.raises(ValueError, match="column 0 holds numbers"):
        model.category_names(0)
    panels = {panel.get_title(): panel for panel in additive_terms(model).ravel()}
    bars = [text.get_text() for text in panels["town"].get_xticklabels()]
    assert bars == ["Bonn", "Jena", "Ulm", "missing"]
    pair = [text.get_text() for text in panels["size x town"].get_yticklabels()]
    assert pair == ["Bonn", "Jena", "Ulm"]
    plain = ExplainableBoostingRegressor(categorical_features=[0], **SETTINGS)
    plain.fit(np.column_stack([np.arange(len(X)) % 3 * 10.0 - 7, X[:, 1]]), y)
    assert plain.category_names(0) == [-7, 3, 13]
