"""Weights of models that are linear in encoded columns, or in features made of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.study.explaining.encoded_rows import EncodedRows, outputs_of
from tenfold.study.explaining.explanation import Weights
from tenfold.study.explaining.feature_names import feature_names


def linear_parts(model: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """Weights (p, outputs) and offsets of a model that is linear in its encoded columns.

    Regressions are given in units of the target (of its logarithm, if that was learned).
    """
    inner = model.model_
    if getattr(inner, "coef_", None) is None or hasattr(inner, "steps"):
        return None
    weights = _coefficients(model, inner)
    offset = np.atleast_1d(np.asarray(getattr(inner, "intercept_", 0.0), np.float64))
    if model.scale_ is not None:
        offset = offset * model.scale_.scale + model.scale_.mean
    return weights, offset


def weights_of(model: Any) -> Weights | None:
    """Weights by the names of what is weighed, the strongest first; None for other models.

    A column of numbers was divided by its standard deviation before, so its weight is what one
    such deviation adds; that of a level of a category is what the level adds.
    """
    features, inner = _features_and_linear(model.model_)
    names: Any = [str(name) for name in model.encoder_.get_feature_names_out()]
    if features is not None:
        names = feature_names(features, names)
    if names is None or getattr(inner, "coef_", None) is None:
        return None
    return _ordered(Weights(names, _coefficients(model, inner), outputs_of(model)))


def spread_weights(rows: EncodedRows) -> Weights | None:
    """The same, times the spread of what is weighed among some rows."""
    found = weights_of(rows.model)
    if found is None:
        return None
    features, _ = _features_and_linear(rows.model.model_)
    X = rows.X if features is None else np.asarray(features.transform(rows.X))
    spread = X.std(axis=0, dtype=np.float64)[found.places]
    return _ordered(Weights(found.names, found.values * spread[:, None], found.outputs))


def _features_and_linear(model: Any) -> tuple[Any, Any]:
    """The transformer that makes features, or None, and the model behind it."""
    if hasattr(model, "steps"):
        return model[:-1], model[-1]
    calibrated = getattr(model, "calibrated_classifiers_", None)
    return None, model if calibrated is None else calibrated[0].estimator


def _coefficients(model: Any, inner: Any) -> np.ndarray:
    weights = np.atleast_2d(np.asarray(inner.coef_, np.float64)).T
    return weights if model.scale_ is None else weights * model.scale_.scale


def _ordered(weights: Weights) -> Weights:
    order = np.argsort(-np.abs(weights.values).max(axis=1), kind="stable")
    names = [weights.names[i] for i in order]
    places = order if weights.places is None else weights.places[order]
    return Weights(names, weights.values[order], weights.outputs, places)
