"""The law of explanations: contributions add up to the score, sensitivities are derivatives."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.testing import assert_allclose
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import get_tags

from tenfold.inspection.contributions import feature_contributions, sensitivity, top_weights
from tenfold.testing.instances import clone_model, make_dataset

_ADDITIVE_FAMILIES = ("tenfold.linear.", "tenfold.naive_bayes.")
_NOT_ADDITIVE = {  # of those families: averages of many linear models, terms of two features
    "BayesianLogisticRegression",
    "BayesianModelAverage",
    "TANClassifier",
}
_UNSEEN_CATEGORY = 99.0
_STEP = 1e-4  # of the differences with which sensitivities are compared


def check_explanations(model: Any) -> None:
    """Contributions add up to the model's own score, sensitivities equal finite differences.

    A model that cannot be explained is refused by an error that names it. Missing values and
    unseen categories are explained where the model takes them.
    """
    X, y = make_dataset(model, rows=600)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of fits to few rows
        fitted = clone_model(model).fit(X, y)
    tags = get_tags(fitted).input_tags
    rows = [X[3], X[-1]]
    if tags.allow_nan:
        rows.append(np.where(np.arange(X.shape[1]) == 1, np.nan, X[3]))
    if tags.categorical:
        rows.append(np.where(np.arange(X.shape[1]) == 0, _UNSEEN_CATEGORY, X[3]))
    for x in rows:
        _check_contributions(fitted, x)
        _check_sensitivity(fitted, x)
    _check_top_weights(fitted, X[3])


def _unless_refused(model: Any, explain: Callable[..., Any], *args: Any) -> Any:
    """The explanation, or None if it is refused by an error that names the model."""
    refusal = ""
    try:
        return explain(model, *args)
    except TypeError as error:
        refusal = str(error)
    assert type(model).__name__ in refusal, f"does not name the model: {refusal}"
    return None


def _check_contributions(model: Any, x: np.ndarray) -> None:
    why = _unless_refused(model, feature_contributions, x)
    kind = type(model)
    if why is None:
        additive = kind.__module__.startswith(_ADDITIVE_FAMILIES)
        assert not additive or kind.__name__ in _NOT_ADDITIVE, "a sum of terms is not explained"
        return
    assert why.contributions.shape == (len(why.outputs), len(x))
    assert_allclose(why.contributions.sum(axis=1) + why.baselines, why.scores, atol=1e-9)
    size = 1 + np.abs(why.contributions).sum(axis=1).max()
    assert_allclose(why.scores, _own_score(model, x, why.outputs), rtol=1e-7, atol=1e-9 * size)


def _own_score(model: Any, x: np.ndarray, outputs: list[Any]) -> np.ndarray:
    """What the model itself gives, in the order of the outputs of the explanation."""
    if outputs == ["latent score"]:
        return model.latent(x[None])
    if hasattr(model, "decision_function"):
        return np.ravel(model.decision_function(x[None]))
    if is_classifier(model) and hasattr(model, "tables_"):  # trees: shares of the classes
        return model.predict_proba(x[None])[0]
    if is_classifier(model):
        log_p = model.predict_log_proba(x[None])[0]
        return np.diff(log_p) if len(log_p) == 2 else log_p - log_p.mean()
    prediction = np.ravel(model.predict(x[None]))
    return np.log(prediction) if outputs == ["log of prediction"] else prediction


def _check_sensitivity(model: Any, x: np.ndarray) -> None:
    found = _unless_refused(model, sensitivity, x)
    if found is None:
        return
    names = ("decision_function", "predict_proba", "predict")
    f = getattr(model, next(name for name in names if hasattr(model, name)))
    step = np.diag(np.full(len(x), _STEP))
    below = np.maximum(x - step, 0) if get_tags(model).input_tags.positive_only else x - step
    width = (x + step - below).diagonal()
    here, up, down = (np.asarray(f(rows), np.float64) for rows in (x[None], x + step, below))
    differences = ((up - down).T / width).reshape(found.shape)
    assert (np.isnan(found) == np.isnan(x)).all(), "NaN where a derivative exists, or reverse"
    rounding = np.finfo(f(x[None]).dtype).eps * np.abs(here).max() / _STEP
    atol = 1e-3 * np.nanmax(np.abs(differences)) + 10 * rounding + 1e-12
    assert_allclose(found, differences, rtol=1e-2, atol=atol)


def _check_top_weights(model: Any, x: np.ndarray) -> None:
    """A weight is the change of the score as its feature goes from 0 to 1."""
    ranked = _unless_refused(model, lambda m: top_weights(m, list(range(len(x)))))
    if ranked is None:
        return
    for number, (names, weights) in enumerate(zip(ranked.names, ranked.weights, strict=True)):
        assert (np.diff(np.abs(weights)) <= 0).all(), "weights are not ranked"
        for name, weight in zip(names[:1], weights[:1], strict=True):
            without, having = x.copy(), x.copy()
            without[int(name)], having[int(name)] = 0.0, 1.0
            before, after = (feature_contributions(model, row).scores for row in (without, having))
            change = after - before
            assert_allclose(weight, change[number if len(change) > 1 else 0], rtol=1e-6)
