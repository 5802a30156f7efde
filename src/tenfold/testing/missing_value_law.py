"""The law of missing values: what a model says about NaN holds at fit and at prediction alike."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.testing import assert_allclose
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import get_tags

from tenfold.base.bayes_rule import BayesRuleClassifier
from tenfold.base.one_pass import OnePass, merge
from tenfold.engine.thread_pool import threads
from tenfold.testing.bitwise import assert_bitwise_equal, is_bitwise_equal, model_outputs
from tenfold.testing.instances import clone_model, make_dataset, traits_of

_SHARE = 0.15  # of the entries are missing
_METHODS = ("predict", "predict_proba", "decision_function", "transform", "score_samples")


def check_missing_values(model: Any) -> None:
    """A model with the tag `allow_nan` leaves missing values out at fit and at prediction alike.

    Outputs are numbers; threads, files with nulls and arrays give the same bits; a row of weight 2
    counts twice; parts merge into the whole; complete rows are predicted as among complete rows;
    a row without any value has the prior probabilities of a generative model.
    """
    if not get_tags(model).input_tags.allow_nan:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of fits to few rows
        X, y = make_dataset(model, rows=3000)
        holes = _with_holes(X)
        fitted = clone_model(model).fit(holes, y)
        outputs = _outputs(fitted, holes)
        for name, value in outputs.items():
            assert value.dtype.kind != "f" or not np.isnan(value).any(), f"{name} gives NaN"
        _check_places(model, fitted, outputs, holes, y)
        _check_complete_rows(model, X, y, holes)
        _check_parts(model, fitted, holes, y)
        _check_weights(model, holes, y)
        _check_priors(fitted, X.shape[1])


def _with_holes(X: np.ndarray) -> np.ndarray:
    """Rows with missing entries; one row has no entry at all."""
    holes = np.where(np.random.default_rng(3).random(X.shape) < _SHARE, np.nan, X)
    holes[5] = np.nan
    return holes


def _outputs(fitted: Any, X: Any) -> dict[str, np.ndarray]:
    """The outputs for rows with missing entries; some methods may refuse these in words."""
    outputs = {}
    for name in _METHODS:
        if not hasattr(fitted, name):
            continue
        refusal = ""
        try:
            outputs[name] = getattr(fitted, name)(X)
        except ValueError as error:
            refusal = str(error)
        assert not refusal or "NaN" in refusal, f"{name} does not name the reason: {refusal}"
    assert outputs, "no output for rows with missing entries"
    return outputs


def _check_places(
    model: Any, fitted: Any, outputs: dict[str, np.ndarray], X: np.ndarray, y: Any
) -> None:
    """Nulls of a Parquet file, and another number of threads, give the same bits."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {f"x{j}": pa.array(X[:, j], from_pandas=True) for j in range(X.shape[1])}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        target = {} if y is None else {"target": y}
        pq.write_table(pa.table(columns | target), path, row_group_size=777)
        stored = clone_model(model).fit(path, None if y is None else "target")
        assert_bitwise_equal(fitted, stored, "file with nulls")
        pq.write_table(pa.table(columns), path)
        for name, value in outputs.items():
            assert is_bitwise_equal(value, getattr(stored, name)(path)), f"nulls: {name}"
    with threads(3):
        assert_bitwise_equal(fitted, clone_model(model).fit(X, y), "3 threads")


def _check_complete_rows(model: Any, X: np.ndarray, y: Any, holes: np.ndarray) -> None:
    """A model of complete rows predicts complete rows alike, whatever lies beside them."""
    fitted = clone_model(model).fit(X, y)
    complete = ~np.isnan(holes).any(axis=1)
    alone, among = model_outputs(fitted, X), _outputs(fitted, holes)
    for name, value in among.items():
        assert_allclose(value[complete], alone[name][complete], rtol=1e-9, atol=1e-9, err_msg=name)


def _check_parts(model: Any, fitted: Any, X: np.ndarray, y: Any, cut: int = 1700) -> None:
    """Models of parts, one of which is complete or not, merge into that of the whole."""
    if not isinstance(model, OnePass) or getattr(fitted, "statistic_", None) is None:
        return
    complete = ~np.isnan(X).any(axis=1)
    parts = [np.arange(cut), np.arange(cut, len(X))]
    for first, second in (parts, (np.flatnonzero(complete), np.flatnonzero(~complete))):
        order = np.append(first, second)
        a, b = (
            clone_model(model).fit(X[rows], None if y is None else y[rows])
            for rows in (first, second)
        )
        whole = clone_model(model).fit(X[order], None if y is None else y[order])
        for other in (merge(a, b), _fit_in_parts(model, X, y, first, second)):
            for name, value in _outputs(whole, X).items():
                assert_allclose(_outputs(other, X)[name], value, rtol=1e-5, atol=1e-6, err_msg=name)


def _fit_in_parts(model: Any, X: np.ndarray, y: Any, first: np.ndarray, second: np.ndarray) -> Any:
    """The model after two calls of `partial_fit`."""
    updated = clone_model(model)
    classes = {"classes": np.unique(y)} if is_classifier(model) else {}
    updated.partial_fit(X[first], None if y is None else y[first], **classes)
    return updated.partial_fit(X[second], None if y is None else y[second])


def _check_weights(model: Any, X: np.ndarray, y: Any) -> None:
    """A row of weight 2 counts as two rows, a row of weight 0 as none."""
    if traits_of(model)._samples_rows or "sample_weight" not in model.fit.__code__.co_varnames:
        return
    w = np.random.default_rng(1).integers(0, 3, len(X))
    if {"tol", "max_iter"} <= model.get_params().keys():  # the two may begin at other places
        model = clone_model(model).set_params(tol=1e-12, max_iter=1000)
    weighted = clone_model(model).fit(X, y, sample_weight=w.astype(float))
    repeated = clone_model(model).fit(
        np.repeat(X, w, axis=0), None if y is None else np.repeat(y, w)
    )
    expected = _outputs(repeated, X)
    for name, value in _outputs(weighted, X).items():
        assert_allclose(value, expected[name], rtol=1e-5, atol=1e-6, err_msg=name)


def _check_priors(fitted: Any, n_features: int) -> None:
    """A row without any value has the prior probabilities."""
    nothing = np.full((1, n_features), np.nan)
    if isinstance(fitted, BayesRuleClassifier) and hasattr(fitted, "sample"):
        prior = fitted._class_probabilities()
    elif hasattr(fitted, "weights_") and hasattr(fitted, "bic"):  # maximum likelihood
        prior = fitted.weights_
    else:
        return
    assert_allclose(fitted.predict_proba(nothing)[0], prior / prior.sum(), rtol=1e-6)
