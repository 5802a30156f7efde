"""Arguments of scikit-learn for `cross_validate`, `learning_curve` and `validation_curve`.

With one of them, a function returns what scikit-learn's returns. Models whose folds share passes
are still fitted that way; everything else is handed over to scikit-learn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tenfold.model_selection._evaluation import shares_passes
from tenfold.model_selection._fold_models import weight_kwargs
from tenfold.model_selection.cv_data import is_in_memory, load_in_memory
from tenfold.model_selection.group_columns import separate_groups

_OWN_FOLDS = 10
_SKLEARN_FOLDS = 5
_SHARED = ("estimator", "cv", "n_jobs", "verbose", "params", "pre_dispatch", "error_score")
SKLEARN_ARGUMENTS = {
    "cross_validate": (*_SHARED, "return_indices"),
    "learning_curve": (
        *_SHARED,
        "train_sizes",
        "exploit_incremental_learning",
        "shuffle",
        "return_times",
        "fit_params",
    ),
    "validation_curve": (*_SHARED, "param_name", "param_range", "fit_params"),
}
_NEEDS_SKLEARN = {"params", "fit_params", "error_score", "return_indices"}


def check_arguments(function: str, model: Any, folds: Any, options: dict[str, Any]) -> Any:
    """The model; an error for names that neither tenfold nor scikit-learn has."""
    unknown = [name for name in options if name not in SKLEARN_ARGUMENTS[function]]
    if unknown:
        raise TypeError(f"{function}() has no argument {unknown[0]!r}")
    if folds is not None and "cv" in options:
        raise TypeError(f"{function}(): folds and cv are the same; give one of them")
    if model is not None and "estimator" in options:
        raise TypeError(f"{function}(): the model is given twice, and once as estimator")
    model = options.get("estimator", model)
    if model is None:
        raise TypeError(f"{function}() needs a model: give it as the first argument")
    return model


def number_of_folds(folds: Any, options: dict[str, Any]) -> Any:
    """`folds` or `cv`; by default 10, and with arguments of scikit-learn its 5."""
    given = options.get("cv", folds)
    if given is None:
        return _SKLEARN_FOLDS if options else _OWN_FOLDS
    return given


def is_shared(model: Any, scoring: Any, options: dict[str, Any]) -> bool:
    """Whether fits that share passes give what scikit-learn gives."""
    return not _NEEDS_SKLEARN & set(options) and shares_passes(model, scoring)


def call_sklearn(
    function: Callable[..., Any],
    model: Any,
    data: tuple[Any, Any, Any, Any],
    cv: Any,
    options: dict[str, Any],
) -> Any:
    """Scikit-learn's function, on (X, y, sample_weight, groups) in memory."""
    X, y, w, groups = separate_groups(*data)
    if not is_in_memory(X, y, w):
        X, y, w = load_in_memory(X, y, w)
    options = {name: value for name, value in options.items() if name not in ("estimator", "cv")}
    if w is not None:
        options["params"] = weight_kwargs(model, w) | (options.get("params") or {})
    return function(model, X, y, groups=groups, cv=_sklearn_folds(cv), **options)


def _sklearn_folds(cv: Any) -> Any:
    if isinstance(cv, str) and cv == "loo":
        from sklearn.model_selection import LeaveOneOut

        return LeaveOneOut()
    return cv
