"""Laws about numbers: `converged_` says what is so, and no result is infinite or NaN in silence."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.exceptions import ConvergenceWarning

from tenfold.base.numerical_errors import is_bare_linalg_error
from tenfold.testing.bitwise import flatten_value, learned_attributes, model_outputs
from tenfold.testing.instances import clone_model, make_dataset

_ROWS = 300
_STRICTER = 1e-2  # factor of the tolerance of the fit that judges another one
_MAX_REMAINING_DECREASE = 0.1  # of the decrease so far: a converged fit may leave so much
_MIN_SCORE = -10.0  # R^2; a constant has 0
_MAX_RELATIVE_GROWTH = 1.3  # of linear scores: those of a fit without a minimum grow for ever


def check_convergence_flag(model: Any) -> None:
    """`converged_` is True only if the stopping rule holds, evaluated anew at the result.

    The judge is a fit with a far smaller tolerance and more iterations: it finds nothing better
    than a fit that says that it has converged, be it after few iterations or after many, on
    ordinary rows, on separable classes and on columns of large numbers. A fit that has not
    converged says so in a `ConvergenceWarning`, unless all its iterations were asked for.
    """
    if "max_iter" not in model.get_params():
        return
    for variant, (X, y) in product(_variants(model), _datasets(model)):
        _check_flag(variant, X, y)


def _variants(model: Any) -> list[Any]:
    """The model, and the same without a penalty, where there may be no minimum."""
    params = model.get_params()
    unpenalized = {"C": np.inf, "penalty": None}
    changes = [{name: value} for name, value in unpenalized.items() if params.get(name) is not None]
    return [model, *(clone_model(model).set_params(**change) for change in changes)]


def _check_flag(model: Any, X: np.ndarray, y: Any) -> None:
    strict = _fit_quietly(_stricter(model), X, y)
    if strict is None or not hasattr(strict[0], "converged_"):
        return
    rounds = {}
    for limit in (1, model.max_iter):
        found = _fit_quietly(clone_model(model).set_params(max_iter=limit), X, y)
        if found is None:
            continue
        fitted, caught = found
        _check_finite(fitted)
        rounds[limit] = fitted.converged_, int(np.max(fitted.n_iter_))
        if fitted.converged_:
            _check_nothing_better(fitted, strict[0], X)
            assert not caught, f"converged, and yet: {caught[0]}"
            if is_regressor(model) and hasattr(fitted, "coef_"):
                assert fitted.score(X, y) > _MIN_SCORE, "converged, and far worse than a constant"
    if len(rounds) == 2 and rounds[1][0]:
        assert rounds[model.max_iter][1] <= 1, "converged, and yet more iterations were needed"


def _stricter(model: Any) -> Any:
    """The model with a smaller tolerance and more iterations, without patience for less."""
    params = model.get_params()
    strict = {"max_iter": 20 * (params["max_iter"] or 1)}
    if isinstance(params.get("tol"), float):
        strict["tol"] = _STRICTER * params["tol"]
    return clone_model(model).set_params(**strict)


def _datasets(model: Any) -> Iterator[tuple[np.ndarray, Any]]:
    X, y = make_dataset(model, rows=_ROWS)
    yield X, y
    yield 100 * X, y
    if is_classifier(model):
        order = np.argsort(X[:, 0])
        yield X[order], np.sort(y)  # the first column alone separates the classes


def _fit_quietly(model: Any, X: np.ndarray, y: Any) -> tuple[Any, list[str]] | None:
    """The fitted model and its convergence warnings; None if it refused the data in words."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            fitted = model.fit(X, y)
        except (ValueError, ArithmeticError) as error:
            _check_sentence(error)
            return None
    said = [str(w.message) for w in caught if issubclass(w.category, ConvergenceWarning)]
    return fitted, said


def _check_nothing_better(fitted: Any, strict: Any, X: np.ndarray) -> None:
    """The stricter fit has about the same objective, and linear scores of about the same size."""
    if not getattr(fitted, "_samples_rows", False) and len(fitted.history_["objective"]):
        ours, theirs = (m.history_["objective"] for m in (fitted, strict))
        decrease = max(ours[0] - ours[-1], 0.0) + 1e-6 * abs(ours[-1])
        rest = ours[-1] - theirs[-1]
        assert rest <= _MAX_REMAINING_DECREASE * decrease, f"{rest} of {decrease} was left"
    if hasattr(fitted, "coef_") and hasattr(fitted, "decision_function"):
        ours, theirs = (np.abs(m.decision_function(X)).mean() for m in (fitted, strict))
        assert theirs <= _MAX_RELATIVE_GROWTH * ours, "converged, and yet the scores grow on"


def _check_finite(fitted: Any) -> None:
    for name, value in learned_attributes(fitted).items():
        if isinstance(value, np.ndarray | float) and np.asarray(value).dtype.kind == "f":
            assert not np.isnan(value).any(), f"{name} is NaN"
            assert "log" in name or np.isfinite(value).all(), f"{name} is infinite"


def check_extreme_numbers(model: Any) -> None:
    """Numbers near the ends of the range give a finite answer, or a sentence that says what to do.

    A `LinAlgError` of NumPy, a division by zero, and NaN without a word are neither.
    """
    X, y = make_dataset(model, rows=_ROWS)
    one_column = np.append(1e160, np.ones(X.shape[1] - 1))
    for extreme in (1e160 * X, 1e-200 * X, one_column * X, (1e37 * X).astype(np.float32)):
        _check_answer_or_sentence(model, extreme, y)
    if y is not None and y.dtype.kind == "f":
        for size in (1e160, 1.7e308):
            _check_answer_or_sentence(model, X, size / np.abs(y).max() * y)


def _check_answer_or_sentence(model: Any, X: np.ndarray, y: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            fitted = clone_model(model).fit(X, y)
            _check_finite(fitted)
            outputs = model_outputs(fitted, X)
        except (ValueError, ArithmeticError) as error:
            _check_sentence(error)
            return
    for name, value in outputs.items():
        for part in flatten_value(value):
            assert part.dtype.kind != "f" or not np.isnan(part).any(), f"{name} gives NaN"


def _check_sentence(error: Exception) -> None:
    """An error names its cause in a sentence of our own."""
    bare = isinstance(error, ValueError) and is_bare_linalg_error(error)
    bare |= isinstance(error, ZeroDivisionError | OverflowError)
    assert not bare, f"a bare {type(error).__name__}: {error}"
    assert len(str(error)) > 30, f"no sentence: {error}"
