"""Shapes of learned arrays, checked against each other when a model is loaded.

Compiled prediction trusts that `theta_` has a column for each column of X; a file may say
otherwise. So every array that predictions use has an entry here, and a file whose arrays do not fit
each other is refused. A model with arrays of other names declares them in a class attribute
`_learned_shapes`, and relations that shapes cannot express in a method `_check_learned()` that
raises a ValueError.

An entry is a shape in symbols, or several with ``|`` between them:

========  ==================================================================================
``p``     `n_features_in_`
``k``     number of classes
``K``     rows of scores of a classifier: k, or 1 for two classes
``j``     k - 1
``_``     any length; ``+`` any but 0
other     a length that must be the same wherever the model has this letter
``h``     `n_outputs_`, 1 where a model does not have it
``b``     `n_trees_per_iteration_`
``d``     coefficients of a score: p, and 1 if there is an intercept
``a*b``   a product
``()``    a number
``q=1``   no length, but what a symbol must be if this alternative is the one
========  ==================================================================================

``k * p _`` is a list of k arrays of shape (p, _), or one such array. A word after a colon says
what the array holds: numbers (the default), ``float`` (32 or 64 bits), ``label``
(anything), ``index p`` (whole numbers from 0 below p), ``count`` (whole numbers of at least 1) or
``flag`` (truth values).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

_COVARIANCES = {
    "full": "m p p",
    "tied": "p p",
    "diag": "m p",
    "diagonal": "m p",
    "spherical": "m",
}
# Of every model that has such an attribute.
_ALWAYS = {
    "X_offset_": "p",
    "_bin_mapper.n_bins": "p : count",
    "_bin_mapper.thresholds": "p _",
    "X_scale_": "p",
    "centers_": "m p",
    "cluster_centers_": "m p",
    "components_": "m p",
    "counts_": "m",
    "densities_[].covariance": "p p | p | ()",
    "densities_[].mean": "p",
    "dual_coef_": "m n",
    "feature_all_": "p",
    "half_squares_": "m",
    "landmarks_": "n p",
    "lengths_": "m",
    "log_evidences_": "m",
    "medoid_indices_": "m : index",
    "n_categories_": "p : count",
    "objects_fit_": "p : label",  # of kernel machines, whose rows are values with them
    "period_": "p",
    "rates_": "m p",
    "sigma_": "p p",
    "singular_values_": "m",
    "span_.high": "p",
    "span_.low": "p",
    "trees_.values": "_ 1",
    "weights_": "m",
    "within_class_std_dev_": "p",
    "xbar_": "p",
}
_WITH_CLASSES = {
    "_start": "K",
    "tables_.trees.values": "_ k",
    "_log_absent": "k",
    "_log_odds": "k p",
    "_required": "k p | 0 0",
    "centroids_": "k p",
    "class_count_": "k",
    "class_log_prior_": "k",
    "class_prior_": "k",
    "coef_": "K p",
    "covariance_": "p p",
    "deviations_": "k p",
    "feature_count_": "k p",
    "feature_log_prob_": "k p",
    "intercept_": "K | ()",
    "mean_": "k p",
    "means_": "k p",
    "priors_": "k",
    "rate_": "k p",
    "scores_.average_offset": "K _",
    "scores_.l1_paid": "K _",
    "scores_.scalars": "K 10",
    "scores_.v": "K p",
    "statistic_.categories.counts": "k _",
    "statistic_.categories.n": "k",
    "statistic_.mean": "k p",
    "statistic_.moments.mean": "p",
    "statistic_.moments.scatter": "p p",
    "statistic_.n": "k",
    "statistic_.parts[].mean": "p",
    "statistic_.parts[].scatter": "p p | p",
    "statistic_.numbers.mean": "k p",
    "statistic_.numbers.n": "k",
    "statistic_.numbers.observed": "k p",
    "statistic_.numbers.scatter": "k p",
    "statistic_.observed": "k p",
    "statistic_.rows": "k",
    "statistic_.scatter": "k p p | k p",
    "statistic_.sums": "k p",
    "theta_": "k p",
    "thresholds_": "j",
    "var_": "k p",
}
_WITHOUT_CLASSES = {
    "_start": "b",
    "tables_.trees.values": "_ h",
    "coef_": "p q=1 | q p",
    "explained_variance_": "m",
    "explained_variance_ratio_": "m",
    "intercept_": "q | () q=1 | ()",
    "mean_": "p",
    "means_": "m p",
    "probabilities_": "m p",
    "scores_.average_offset": "q _",
    "scores_.l1_paid": "q _",
    "scores_.scalars": "q 10",
    "scores_.v": "q p",
    "statistic_.factor": "_ p",
    "statistic_.mean": "e",
    "statistic_.parts[].mean": "p",
    "statistic_.parts[].scatter": "p p | p",
    "statistic_.scatter": "e e",
    "var_": "p",
}
_BY_MODEL: dict[str, dict[str, str]] = {
    "ARDRegression": {"sigma_": "s s", "lambda_": "p"},
    "KMedoids": {"cluster_centers_": "m p : label"},  # rows may be words
    "BayesianLogisticRegression": {
        "coef_": "j p",
        "covariance_": "j*d j*d",
        "draws_": "+ j d",
        "intercept_": "j | ()",
    },
    "BayesianGaussianMixture": {
        "covariance_prior_": "p p | p | ()",
        "degrees_of_freedom_": "m",
        "mean_precision_": "m",
        "mean_prior_": "p",
        "weight_concentration_": "_ * m",
    },
    "BayesianModelAverage": {"_parts": "m * model"},
    "CategoricalMixture": {"probabilities_": "m t"},
    "CategoricalNB": {
        "category_count_": "p * k _",
        "feature_log_prob_": "p * k _",
        "statistic_.counts": "k t",
        "statistic_.sizes": "p : count",
    },
    "GenerativeClassifier": {"densities_": "k * model"},
    "IncrementalPCA": {"statistic_.mean": "p"},
    "IndicatorFeatures": {
        "categories_": "c * _ : label",
        "columns_": "c : index p",
        "pooled_": "c : flag",
    },
    "LinearDiscriminantAnalysis": {
        "scalings_": "p _",
        "statistic_.scatter": "k p p | 1 p p | k p",
    },
    "LocalOutlierFactor": {"negative_outlier_factor_": "n", "statistic_.X": "n p"},
    "MixedNB": {"feature_log_prob_": "_ * k _"},
    "MixtureModel": {"densities_": "m * model"},
    "NystroemRidge": {"statistic_.gram.products": "e e", "statistic_.landmarks": "m p"},
    "OrdinalRegression": {"coef_": "p"},
    "QuadraticDiscriminantAnalysis": {
        "covariance_": "k * p p",
        "rotations_": "k * p p",
        "scalings_": "k * p",
    },
    "RbfNetwork": {"coef_": "K m", "widths_": "m | ()"},
    "RidgeClassifier": {"coef_": "K p | p K=1"},
    "RidgeClassifierCV": {"coef_": "K p | p K=1"},
    "SparseGaussianProcessRegressor": {
        "_noise_factor": "e e",
        "_prior_factor": "e e",
        "_weights": "e q",
        "_y_train_mean": "q",
        "_y_train_std": "q",
        "alpha_": "e q=1 | e q",
        "inducing_points_": "e p",
        "statistic_.a": "e",
        "statistic_.center": "q",
        "statistic_.phi": "e e",
        "statistic_.psi": "e q",
        "statistic_.yy": "q",
    },
}
# Models within models, which must be for the same columns.
_INNER_MODELS = ("clusterer_", "best_estimator_", "_parts[]")
_NUMBER_KINDS = "fiu"
_ANY, _SCALAR, _SCORE_ROWS = ("_", "+"), ("()",), "K"


def check_learned_shapes(model: Any) -> None:
    """Raise a ValueError that names an attribute of a loaded model that does not fit the others."""
    symbols = _known_lengths(model)
    for path, spec in learned_shapes(model).items():
        for name, value in _find_values(model, path):
            _check_value(name, value, spec, symbols)
    for path in _INNER_MODELS:
        for name, inner in _find_values(model, path):
            _check_inner_columns(name, inner, symbols.get("p"))
    if hasattr(model, "n_categories_") and isinstance(getattr(model, "feature_log_prob_", 0), list):
        _check_widths(model.feature_log_prob_, model.n_categories_)
    check = getattr(model, "_check_learned", None)
    if check is None or not any(name.endswith("_") for name in vars(model)):  # not fitted
        return
    try:
        check()
    except AttributeError as problem:
        raise ValueError(f"it lacks {problem.name}") from problem


def learned_shapes(model: Any) -> dict[str, str]:
    """The entries for a model, those of fixed lengths first."""
    usual = _WITH_CLASSES if hasattr(model, "classes_") else _WITHOUT_CLASSES
    own = _BY_MODEL.get(type(model).__name__, {}) | getattr(model, "_learned_shapes", {})
    if getattr(model, "_has_many_labels", False):  # a score for each column of the target
        own = own | {"coef_": "q p", "intercept_": "q | ()"}
    return _ALWAYS | _covariance_shapes(model) | usual | own


def _covariance_shapes(model: Any) -> dict[str, str]:
    """Shapes of covariances, by the parameter that says which kind they are."""
    kind = getattr(model, "covariance_type", getattr(model, "covariance", None))
    shape = _COVARIANCES.get(kind) if isinstance(kind, str) else None
    if shape is None:
        return {}
    shape = shape.replace("m", "k") if hasattr(model, "classes_") else shape
    return dict.fromkeys(("covariances_", "precisions_", "precisions_cholesky_"), shape)


def _known_lengths(model: Any) -> dict[str, int]:
    symbols: dict[str, int] = {}
    columns = vars(model).get("n_features_in_")
    if "n_features_in_" in vars(model):
        if not isinstance(columns, int | np.integer) or columns < 1:
            raise ValueError(f"n_features_in_ is {columns!r}, not a number of columns")
        symbols["p"] = int(columns)
        symbols["d"] = int(columns) + bool(getattr(model, "fit_intercept", True))
    parts = getattr(model, "n_components_", None)
    if hasattr(model, "cluster_centers_"):
        parts = getattr(model, "n_clusters", None)
    if type(parts) is int:
        symbols["m"] = parts
    symbols["h"] = getattr(model, "n_outputs_", 1)
    if hasattr(model, "n_trees_per_iteration_"):
        symbols["b"] = model.n_trees_per_iteration_
    sizes = getattr(model, "n_categories_", None)
    if isinstance(sizes, np.ndarray) and sizes.dtype.kind in "iu":
        symbols["t"] = int(sizes.sum())
    names = getattr(model, "feature_names_in_", None)
    if names is not None and np.shape(names) != (columns,):
        raise ValueError(f"feature_names_in_ has shape {np.shape(names)} for {columns} columns")
    classes = getattr(model, "classes_", None)
    if isinstance(classes, np.ndarray):
        _check_classes(classes, getattr(model, "_min_classes", 1))
        symbols |= {"k": len(classes), "j": len(classes) - 1}
    return symbols


def _check_classes(classes: np.ndarray, least: int) -> None:
    if classes.ndim != 1 or len(classes) < least:
        raise ValueError(f"classes_ has shape {classes.shape}, not ({least} or more)")
    if len(set(classes.tolist())) < len(classes):
        raise ValueError("classes_ holds a label twice")


def _find_values(model: Any, path: str) -> list[tuple[str, Any]]:
    """Named values of a path such as `coef_`, `span_.low` or `densities_[].mean`, if there."""
    first, *rest = path.split(".")
    found = _find_entries(first, vars(model).get(first.removesuffix("[]")))
    for step in rest:
        parts = [(f"{name}.{step}", _get_part(part, step)) for name, part in found]
        found = [entry for name, value in parts for entry in _find_entries(name, value)]
    return found


def _get_part(value: Any, step: str) -> Any:
    return getattr(value, step.removesuffix("[]"), None)


def _find_entries(name: str, value: Any) -> list[tuple[str, Any]]:
    """The value with its name, or the entries of a list where the name ends with brackets."""
    if value is None:
        return []
    if not name.endswith("[]"):
        return [(name, value)]
    if not isinstance(value, list | tuple):
        problem = f"{name[:-2]} is a {type(value).__name__}, not a list"
        raise ValueError(problem)  # noqa: TRY004 - as of all that does not fit
    return [(f"{name[:-1]}{i}]", part) for i, part in enumerate(value)]


def _check_value(name: str, value: Any, spec: str, symbols: dict[str, int]) -> None:
    shapes, _, content = spec.partition(":")
    count, star, each = shapes.rpartition("*") if " * " in shapes else ("", "", shapes)
    if not star or isinstance(value, np.ndarray):
        _check_array(name, value, each, content.split(), symbols)
        return
    if not isinstance(value, list | tuple):
        raise TypeError(f"{name} is a {type(value).__name__}, not a list")
    if not _matches((len(value),), count.split(), symbols):
        raise ValueError(f"{name} has {len(value)} entries, {_expectation(count, symbols)}")
    for i, part in enumerate(value):
        if each.strip() != "model":
            _check_array(f"{name}[{i}]", part, each, content.split(), symbols)


def _check_array(
    name: str, value: Any, shapes: str, content: list[str], symbols: dict[str, int]
) -> None:
    numbers: Any = value
    if issparse(value):  # coefficients after `sparsify`
        numbers = value.data
    elif not isinstance(value, np.ndarray | np.generic | int | float):
        raise ValueError(f"{name} is a {type(value).__name__}, not an array of numbers")
    shape = np.shape(value)
    if not any(_matches(shape, option.split(), symbols) for option in shapes.split("|")):
        raise ValueError(f"{name} has shape {shape}, {_expectation(shapes, symbols)}")
    _check_content(name, np.asarray(numbers), content, symbols)


def _matches(shape: tuple[int, ...], tokens: list[str], symbols: dict[str, int]) -> bool:
    """Whether a shape is one in symbols; new symbols get their values then."""
    given = [token for token in tokens if "=" in token]
    lengths = [token for token in tokens if "=" not in token and token not in _SCALAR]
    if len(lengths) != len(shape):
        return False
    trial = dict(symbols)
    pairs = [*zip(lengths, shape, strict=True)]
    pairs += [(symbol, int(value)) for symbol, value in (token.split("=") for token in given)]
    if not all(_unify(token, length, trial) for token, length in pairs):
        return False
    symbols |= trial
    return True


def _unify(token: str, length: int, symbols: dict[str, int]) -> bool:
    if token in _ANY:
        return length > 0 or token == _ANY[0]
    if token.isdecimal():
        return length == int(token)
    if "*" in token:
        return length == np.prod([symbols.get(factor, -1) for factor in token.split("*")])
    if token == _SCORE_ROWS and token not in symbols and "k" in symbols:
        k = symbols["k"]
        if length != k and not (k == 2 and length == 1):
            return False
    return symbols.setdefault(token, length) == length


def _expectation(shapes: str, symbols: dict[str, int]) -> str:
    known = {token for token in shapes.replace("*", " ").split() if token in symbols}
    where = ", ".join(f"{token} = {symbols[token]}" for token in sorted(known))
    options = " or ".join(f"({', '.join(option.split())})" for option in shapes.split("|"))
    return f"not {options.replace('(())', '()')}" + (f" with {where}" if where else "")


def _check_content(name: str, array: np.ndarray, content: list[str], symbols: dict) -> None:
    kind = content[0] if content else "numbers"
    whole = kind in ("index", "count")
    usual = "iu" if whole else _NUMBER_KINDS
    allowed = {"label": "biufUSOmM", "flag": "b", "float": "f"}.get(kind, usual)
    if array.dtype.kind not in allowed or array.dtype == np.float16:
        raise ValueError(f"{name} holds {array.dtype}, not {kind}")
    if whole and array.size:
        least = 1 if kind == "count" else 0
        below = symbols.get(content[1]) if len(content) > 1 else None
        if array.min() < least or (below is not None and array.max() >= below):
            raise ValueError(f"{name} holds numbers outside of its range")


def _check_widths(tables: list[np.ndarray], widths: np.ndarray) -> None:
    """A table of a column must have an entry for each of its categories."""
    for i, (table, width) in enumerate(zip(tables, widths, strict=True)):
        if table.shape[1] != width:
            raise ValueError(
                f"feature_log_prob_[{i}] is for {table.shape[1]} categories of {width}"
            )


def _check_inner_columns(name: str, inner: Any, columns: int | None) -> None:
    own = getattr(inner, "n_features_in_", columns)
    if columns is not None and own != columns:
        raise ValueError(f"{name} is for {own} columns, the model for {columns}")
