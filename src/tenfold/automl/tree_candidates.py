"""Configurations of trees, forests and boosted trees for `tenfold.learn`."""

from __future__ import annotations

from typing import Any

import tenfold
from tenfold.automl.feature_maps import EncodedTable
from tenfold.automl.model_config import HyperparameterRange, ModelConfig

_MIN_STOPPING_ROWS = 2_000  # rows from which on held-out rows decide when boosting stops
_MAX_ROUNDS = 2_000  # of boosting that stops early
_MANY_TUNED_ROWS = 5_000  # rows beyond which the size of boosted trees is not tuned
_TUNING_TREES = 50  # trees of a forest from which its smallest leaf is tuned
_MANY_ROWS = 50_000  # rows beyond which forests have fewer trees


def tree_configs(encoded: EncodedTable) -> list[ModelConfig]:
    """One decision tree: its number of leaves is tuned."""
    model = _make("DecisionTree", encoded, min_samples_leaf=10)
    # One row in a leaf that was pure costs more log loss than all others gain.
    scoring = "accuracy" if encoded.classifies else None
    return [ModelConfig(model, {"max_leaf_nodes": [2, 4, 8, 16, 64, 256]}, scoring=scoring)]


def forest_configs(encoded: EncodedTable) -> list[ModelConfig]:
    """A random forest: the smallest leaf is tuned."""
    trees = 100 if encoded.n > _MANY_ROWS else 300
    shares = ["sqrt"] if encoded.classifies else [0.33]
    model = _make("RandomForest", encoded, n_estimators=trees, max_features=shares[0])
    grid = {"min_samples_leaf": [1, 3, 10]}
    return [ModelConfig(model, grid, while_tuning={"n_estimators": _TUNING_TREES})]


def boosting_configs(encoded: EncodedTable) -> list[ModelConfig]:
    """Gradient-boosted trees: held-out rows decide on the number of rounds; few rows tune sizes."""
    if encoded.n_training < _MIN_STOPPING_ROWS:
        model = _make(
            "HistGradientBoosting", encoded, learning_rate=0.05, max_iter=150, early_stopping=False
        )
        return [ModelConfig(model, {"max_leaf_nodes": [4, 16], "min_samples_leaf": [3, 10]})]
    model = _make(
        "HistGradientBoosting",
        encoded,
        learning_rate=0.06,
        max_iter=_MAX_ROUNDS,
        early_stopping=True,
        n_iter_no_change=20,
    )
    return [ModelConfig(model, {"max_leaf_nodes": [8, 31]} if encoded.n < _MANY_TUNED_ROWS else {})]


def forest_ranges(_: EncodedTable) -> dict[str, HyperparameterRange]:
    """Columns that a split may use, and the smallest leaf."""
    return {
        "max_features": HyperparameterRange(0.05, 1.0),
        "min_samples_leaf": HyperparameterRange(1, 20, whole=True),
    }


def boosting_ranges(encoded: EncodedTable) -> dict[str, HyperparameterRange]:
    """Step size, sizes of trees, penalty, and shares of rows and columns."""
    ranges = {
        "learning_rate": HyperparameterRange(0.02, 0.2),
        "max_leaf_nodes": HyperparameterRange(4, 64, whole=True),
        "min_samples_leaf": HyperparameterRange(2, 50, whole=True),
        "l2_regularization": HyperparameterRange(1e-3, 10.0),
        "max_features": HyperparameterRange(0.2, 1.0),
        "subsample": HyperparameterRange(0.5, 1.0),
    }
    if encoded.n_training < _MIN_STOPPING_ROWS:
        ranges["max_iter"] = HyperparameterRange(50, 500, whole=True)
    return ranges


def _make(name: str, encoded: EncodedTable, **settings: Any) -> Any:
    kind = "Classifier" if encoded.classifies else "Regressor"
    return getattr(tenfold, name + kind)(random_state=encoded.seed, **settings)
