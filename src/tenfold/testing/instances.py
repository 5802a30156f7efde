"""Instances of every public model, and datasets that suit them."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from inspect import signature
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils import get_tags

import tenfold
from tenfold.base.estimator import Estimator


def all_models() -> Iterator[Estimator]:
    """An instance of every public model, with a fixed seed."""
    for name, module in sorted(tenfold._WHERE.items()):
        value = getattr(import_module(module), name)
        if isinstance(value, type) and issubclass(value, Estimator):
            yield set_seed(make_model(value))


def make_model(model: type) -> Any:
    """An instance of a model; a meta-estimator gets a model.

    Models with long fits may give parameters for a short one: `_law_params`.
    """
    if "model" not in signature(model).parameters:
        return model(**traits_of(model)._law_params)
    from tenfold.linear.ridge import Ridge

    return model(Ridge(), {"alpha": [0.1, 10.0]}, folds=3)


def traits_of(model: Any) -> Any:
    """What declares the traits of a model or a class: itself, or the defaults if it is foreign."""
    own = issubclass(model, Estimator) if isinstance(model, type) else isinstance(model, Estimator)
    return model if own else Estimator


def clone_model(model: Any) -> Any:
    """An unfitted model with the same parameters."""
    return clone(model)


def set_seed(model: Any, seed: int = 0) -> Any:
    """The model with a seed, if it takes one."""
    return model.set_params(random_state=seed) if "random_state" in model.get_params() else model


def make_dataset(
    model: Any, dtype: type = np.float64, rows: int = 20_000
) -> tuple[np.ndarray, Any]:
    """Shifted and correlated rows of several chunks, with a target that suits the model."""
    rng = np.random.default_rng(7)
    rows = min(rows, 9_000) if traits_of(model)._has_quadratic_time else rows
    X = rng.normal(size=(rows, 6)) @ rng.normal(size=(6, 6)) + 3
    score = X @ rng.normal(size=6) + rng.normal(size=rows)
    y, tags = None, get_tags(model)
    if is_classifier(model):
        multi_class = tags.classifier_tags is None or tags.classifier_tags.multi_class
        cuts = [0.3, 0.7] if multi_class else [0.4]
        y = np.digitize(score, np.quantile(score, cuts))
        X += y[:, None]
    elif is_regressor(model):
        counts = tags.target_tags.positive_only
        y = (np.floor(np.abs(score)) + 1 if counts else score).astype(dtype)
        y = y if tags.target_tags.single_output else np.column_stack([y, X[:, 0] - y])
    return (np.abs(X) if tags.input_tags.positive_only else X).astype(dtype), y
