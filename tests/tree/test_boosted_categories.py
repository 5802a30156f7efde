"""Boosted trees of many categories: predictions take the ways that the rows took in the fit."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tenfold import ExplainableBoostingRegressor, HistGradientBoostingRegressor

SETTINGS = {"categorical_features": [0], "early_stopping": False, "random_state": 0}


def categories(n, levels):
    """Rows of a column of categories and one of numbers; an effect for each category."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, levels, n), rng.normal(size=n)]).astype(float)
    return X, rng.normal(size=levels)[X[:, 0].astype(int)] + 0.1 * rng.normal(size=n)


@pytest.mark.parametrize("levels", [40, 200, 700])
@pytest.mark.parametrize("family", [HistGradientBoostingRegressor, ExplainableBoostingRegressor])
def test_the_loss_of_the_predictions_is_that_of_the_fit(family, levels):
    """Beyond 64 categories a set has several words, some of which may be empty."""
    X, y = categories(4_000, levels)
    options = SETTINGS | {"early_stopping": True, "validation_fraction": 0.5, "max_iter": 12}
    model = family(n_iter_no_change=99, **options)
    if family is HistGradientBoostingRegressor:
        model.set_params(validation_fraction=None)  # all rows are training rows
    model.fit(X, y)
    if family is HistGradientBoostingRegressor:
        loss = ((y - model.predict(X)) ** 2).mean() / 2
        assert loss == pytest.approx(-model.train_score_[-1], rel=1e-9)
    else:
        boosted = HistGradientBoostingRegressor(
            max_leaf_nodes=8, learning_rate=0.05, interaction_cst="no_interactions", **options
        )
        boosted.set_params(n_iter_no_change=99)
        np.testing.assert_allclose(model.predict(X), boosted.fit(X, y).predict(X), atol=1e-12)


def test_a_warm_start_continues_the_fit_and_keeps_each_set_once():
    X, y = categories(4_000, 200)
    model = HistGradientBoostingRegressor(max_iter=4, warm_start=True, **SETTINGS).fit(X, y)
    model.set_params(max_iter=9).fit(X, y)
    whole = HistGradientBoostingRegressor(max_iter=9, **SETTINGS).fit(X, y)
    for name in ("words", "values", "bitsets"):
        assert_array_equal(getattr(model.trees_, name), getattr(whole.trees_, name))
