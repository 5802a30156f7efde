"""Learned attributes and outputs of models, compared bit by bit."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from tenfold.base.estimator import Estimator
from tenfold.engine.merge_tree import flatten_statistic

# times in seconds differ from run to run
_NOT_COMPARED = {"history_", "dtype_", "cv_results_", "refit_time_"}
_OUTPUT_METHODS = ("predict", "predict_proba", "decision_function", "transform", "score_samples")


def learned_attributes(model: Any) -> dict[str, Any]:
    """The learned attributes that are compared; those of inner models by dotted names."""
    names = (name for name in vars(model) if name.endswith("_") and name not in _NOT_COMPARED)
    values = {name: getattr(model, name) for name in names if name != "feature_names_in_"}
    models = {name: value for name, value in values.items() if isinstance(value, Estimator)}
    return {name: v for name, v in values.items() if name not in models} | {
        f"{name}.{inner}": v
        for name, value in models.items()
        for inner, v in learned_attributes(value).items()
    }


def model_outputs(model: Any, X: Any) -> dict[str, np.ndarray]:
    """The outputs for rows of every prediction method that the model has."""
    return {name: getattr(model, name)(X) for name in _OUTPUT_METHODS if hasattr(model, name)}


def is_bitwise_equal(a: Any, b: Any) -> bool:
    """Whether two values are equal to the last bit, dtypes included."""
    first, second = flatten_value(a), flatten_value(b)
    return len(first) == len(second) and all(map(_is_leaf_equal, first, second))


def flatten_value(value: Any) -> list:
    """The numbers and arrays of a learned value; of a dataclass, those of its fields.

    A sparse matrix counts as its stored entries, their columns and where rows begin.
    """
    parts = []
    for leaf in flatten_statistic(value):
        if issparse(leaf):
            rows = leaf.tocsr()
            parts += [rows.data, rows.indices, rows.indptr]
            continue
        nested = is_dataclass(leaf) and not isinstance(leaf, type)
        parts += flatten_value([getattr(leaf, f.name) for f in fields(leaf)]) if nested else [leaf]
    return parts


def _is_leaf_equal(a: Any, b: Any) -> bool:
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    return bool((a == b).all()) if a.dtype.kind in "OU" else a.tobytes() == b.tobytes()


def assert_bitwise_equal(a: Any, b: Any, what: str) -> None:
    """Raise an error that names the first attribute that differs."""
    others = learned_attributes(b)
    for name, value in learned_attributes(a).items():
        assert is_bitwise_equal(value, others.get(name)), f"{what}: {name} differs"
