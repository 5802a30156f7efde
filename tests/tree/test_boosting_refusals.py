"""Gradient boosting: wrong settings and rows are refused in words that say what to do."""

from copy import deepcopy

import numpy as np
import pandas as pd
import pytest

from tenfold import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from tenfold.math.losses import Loss


@pytest.mark.parametrize("levels", [[], [0.9, 0.1], [0.5, 0.5]])
def test_levels_that_are_none_or_not_ascending_are_refused(levels):
    with pytest.raises(ValueError, match=r"levels lie between|different levels, the lowest first"):
        HistGradientBoostingRegressor("quantile", quantile=levels).fit([[0.0], [1.0]], [0.0, 1.0])


def test_a_warm_start_with_other_scores_or_columns_is_refused():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), rng.poisson(2.0, size=200)
    options = {"max_iter": 2, "warm_start": True}
    fitted = [
        HistGradientBoostingRegressor(**options).fit(X, y),
        HistGradientBoostingClassifier(**options).fit(X, y > 1),
    ]
    changes = [
        (0, {}, X[:, :2], y),
        (0, {}, X, np.column_stack([y, y])),
        (0, {"loss": "poisson"}, X, y),
        (0, {"loss": "quantile", "quantile": [0.1, 0.9]}, X, y),
        (1, {}, X, np.minimum(y, 2)),
    ]
    for number, params, rows, target in changes:
        model = deepcopy(fitted[number]).set_params(max_iter=4, **params)
        with pytest.raises(ValueError, match="fit a new model, or set warm_start=False"):
            model.fit(rows, target)


def test_wrong_losses_and_columns_are_told_with_the_cure(tmp_path):
    X, y = np.arange(80.0).reshape(40, 2), np.arange(40.0)
    with pytest.raises(TypeError, match=r"FunctionLoss\(function\)"):
        HistGradientBoostingRegressor(lambda z, y: (z - y) ** 2).fit(X, y)

    class Unfinished(Loss):
        def value(self, z, y):
            return (z - y) ** 2

    with pytest.raises(TypeError, match=r"Unfinished has no method gradient\(z, y\)"):
        HistGradientBoostingRegressor(Unfinished()).fit(X, y)
    table = pd.DataFrame({"a": X[:, 0], "town": ["x", "y"] * 20, "kind": ["u", "v"] * 20})
    table["kind"] = table["kind"].astype("category")
    with pytest.raises(ValueError, match="name columns of text in categorical_features"):
        HistGradientBoostingRegressor().fit(table, y)
    table[["a"]].assign(y=y).to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(ValueError, match="there is no column 'b'"):
        HistGradientBoostingRegressor(categorical_features=["b"]).fit(
            tmp_path / "rows.parquet", "y"
        )


def test_rows_are_left_to_learn_from():
    X, y = np.arange(50.0)[:, None], np.arange(50.0)
    model = HistGradientBoostingRegressor(early_stopping=True, validation_fraction=50)
    with pytest.raises(ValueError, match="validation_fraction=50 holds out all of the 50 rows"):
        model.fit(X, y)
    model.set_params(validation_fraction=49, min_samples_leaf=1, max_iter=3).fit(X, y)
