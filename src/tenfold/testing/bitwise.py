"""Learned attributes and outputs of models, compared bit by bit."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from tenfold.base.estimator import Estimator
from tenfold.engine.merge_tree import flatten_statistic

_NOT_COMPARED = {
    "history_",
    "dtype_",
    "cv_results_",
    "refit_time_",
}  # seconds differ from run to run
_OUTPUT_METHODS = ("predict", "predict_proba", "decision_function", "transform", "score_samples")


def learned_attributes(model: Any) -> dict[str, Any]:
    """The learned attributes whose bits count."""
    names = (name for name in vars(model) if name.endswith("_") and name not in _NOT_COMPARED)
    found = {name: getattr(model, name) for name in names if name != "feature_names_in_"}
    inner = {name: value for name, value in found.items() if isinstance(value, Estimator)}
    return {name: v for name, v in found.items() if name not in inner} | {
        f"{name}.{own}": v
        for name, value in inner.items()
        for own, v in learned_attributes(value).items()
    }


def model_outputs(model: Any, X: Any) -> dict[str, np.ndarray]:
    """What the model says about rows, by every method it has for it."""
    return {name: getattr(model, name)(X) for name in _OUTPUT_METHODS if hasattr(model, name)}


def is_bitwise_equal(a: Any, b: Any) -> bool:
    """Whether two results are equal to the last bit, types included."""
    first, second = flatten_value(a), flatten_value(b)
    return len(first) == len(second) and all(map(_is_leaf_equal, first, second))


def flatten_value(value: Any) -> list:
    """The numbers and arrays of a learned value; those of a dataclass (a density) too."""
    parts = []
    for leaf in flatten_statistic(value):
        whole = is_dataclass(leaf) and not isinstance(leaf, type)
        parts += flatten_value([getattr(leaf, f.name) for f in fields(leaf)]) if whole else [leaf]
    return parts


def _is_leaf_equal(a: Any, b: Any) -> bool:
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    return bool((a == b).all()) if a.dtype.kind in "OU" else a.tobytes() == b.tobytes()


def assert_bitwise_equal(a: Any, b: Any, what: str) -> None:
    """Raise an error that names what differs."""
    others = learned_attributes(b)
    for name, value in learned_attributes(a).items():
        assert is_bitwise_equal(value, others.get(name)), f"{what}: {name} has other bits"
