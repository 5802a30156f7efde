"""The law of labels: whatever names the classes, the model is the same."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning

from tenfold.testing.bitwise import is_bitwise_equal, model_outputs
from tenfold.testing.instances import clone_model, make_dataset

_ROWS = 300
_NAMES = ("low", "medium", "vast")  # in alphabetical order
_GRADES = ("poor", "fair", "good")  # not in alphabetical order


def label_kinds(k: int) -> Iterator[tuple[str, np.ndarray]]:
    """Names of kinds of labels, and k labels of each kind in ascending order."""
    words = np.array(_NAMES[:k])
    yield "signs", np.array([-1, 0, 1] if k == 3 else [-1, 1])
    yield "counted from nine", np.arange(9, 9 + k)  # as text, 10 comes before 9
    yield "floats", np.array([2.0, 10.0, 3000.0])[:k]
    yield "words", words
    yield "objects", words.astype(object)
    yield "beyond 2^53", 2**53 + 1 + np.arange(k)
    yield "beyond 2^63", np.uint64(2**64 - 1) - np.arange(k, dtype=np.uint64)[::-1]
    yield "the whole range", np.array([-(2**63), 0, 2**63 - 1])[-k:]
    yield "bytes", np.array([-128, 0, 127], np.int8)[-k:]
    if k == 2:
        yield "booleans", np.array([False, True])


def check_labels(model: Any) -> None:
    """Labels of every kind give the same classifier; classes are told apart and keep their type.

    Numbers of every size, words, booleans and categoricals; classes without weight; one class.
    """
    if not is_classifier(model):
        return
    X, codes = make_dataset(model, rows=_ROWS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of fits to few rows
        _check_kinds(model, X, codes)
        if codes.max() > 1:
            _check_kinds(model, X, np.minimum(codes, 1))
    _check_one_class(model, X)
    if "sample_weight" in model.fit.__code__.co_varnames:
        _check_class_without_weight(model, X, codes)


def _check_kinds(model: Any, X: np.ndarray, codes: np.ndarray) -> None:
    reference = model_outputs(clone_model(model).fit(X, codes), X)
    for kind, labels in label_kinds(int(codes.max()) + 1):
        _check_same_model(model, X, labels[codes], labels, reference, kind)
    _check_categorical(model, X, codes, reference)


def _check_same_model(
    model: Any, X: np.ndarray, y: Any, labels: np.ndarray, reference: dict[str, Any], kind: str
) -> None:
    fitted = clone_model(model).fit(X, y)
    assert np.array_equal(fitted.classes_, labels), f"{kind}: classes_ are {fitted.classes_}"
    assert fitted.classes_.dtype == labels.dtype, f"{kind}: {fitted.classes_.dtype} labels"
    for name, value in model_outputs(fitted, X).items():
        expected = labels[reference[name]] if name == "predict" else reference[name]
        assert is_bitwise_equal(value, expected), f"{kind}: {name} differs"


def _check_categorical(
    model: Any, X: np.ndarray, codes: np.ndarray, reference: dict[str, Any]
) -> None:
    """An ordered categorical is taken in its own order, or as the words that it holds."""
    import pandas as pd

    grades = np.array(_GRADES[: codes.max() + 1])
    index = np.arange(len(X)) + 5
    y = pd.Series(pd.Categorical(grades[codes], list(grades), ordered=True), index=index)
    fitted = clone_model(model).fit(X, y)
    if np.array_equal(fitted.classes_, grades):
        expected = {**reference, "predict": grades[reference["predict"]]}
    else:
        assert not hasattr(fitted, "thresholds_"), f"classes_ are {fitted.classes_}, not {grades}"
        expected = model_outputs(clone_model(model).fit(X, grades[codes]), X)
    for name, value in model_outputs(fitted, X).items():
        same = np.array_equal if name == "predict" else is_bitwise_equal
        assert same(value, expected[name]), f"ordered categorical: {name} differs"


def _fit_or_refusal(model: Any, X: np.ndarray, y: np.ndarray, **weights: Any) -> tuple[Any, str]:
    """The fitted model and no words, or None and the words of the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of convergence: the classes that are left may separate
        try:
            return clone_model(model).fit(X, y, **weights), ""
        except ValueError as error:
            return None, str(error)


def _check_one_class(model: Any, X: np.ndarray) -> None:
    """One class is refused by a sentence that names it, or is certain."""
    fitted, refusal = _fit_or_refusal(model, X, np.full(len(X), "only"))
    if fitted is None:
        assert "class" in refusal, f"one class: {refusal}"
        assert "'only'" in refusal, f"the class is not named: {refusal}"
        return
    assert (fitted.predict(X) == "only").all()
    if hasattr(fitted, "predict_proba"):
        assert (fitted.predict_proba(X) == 1).all(), "one class, but not certain"


def _check_class_without_weight(model: Any, X: np.ndarray, codes: np.ndarray) -> None:
    """A class whose rows have no weight is refused by a sentence, or never predicted."""
    for label in range(codes.max() + 1):
        weights = (codes != label).astype(np.float64)
        fitted, refusal = _fit_or_refusal(model, X, codes, sample_weight=weights)
        if fitted is None:
            assert "class" in refusal, f"a class without weight: {refusal}"
            assert "weight" in refusal, f"a class without weight: {refusal}"
            continue
        outputs = model_outputs(fitted, X)
        assert (outputs["predict"] != label).all(), "a class without weight is predicted"
        assert not any(np.isnan(v).any() for v in outputs.values()), "NaN of no weight"
