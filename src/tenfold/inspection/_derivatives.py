"""Numerical derivatives of the outputs of models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier, is_clusterer
from sklearn.utils import get_tags

from tenfold.inspection._additive_terms import with_names

_OUTPUTS = ("decision_function", "predict_proba", "predict")
_OTHER_OUTPUTS = ("transform", "score_samples")
_REFINEMENT = 8  # the second step is so many times smaller; a jump stays as large
_MAX_ROUNDING = 1e3  # in units of eps; a smaller difference of outputs is no jump
_MAX_BLOCK = 256  # features that are moved in one call


class OutputFunction(NamedTuple):
    """A function of (n, p) arrays to be differentiated, and the domain of its inputs."""

    values: Callable[[np.ndarray], Any]
    positive_only: bool


def output_function(model: Any, method: str | None) -> OutputFunction:
    """The output of a model that is differentiated; an error names what has no derivatives."""
    name = next((n for n in ([method] if method else _OUTPUTS) if hasattr(model, n)), None)
    if name is None and method is None and callable(model):
        return OutputFunction(model, False)
    kind, others = type(model).__name__, [n for n in _OTHER_OUTPUTS if hasattr(model, n)]
    cure = f": differentiate method={others[0]!r}" if others else ""
    if name is None:
        raise TypeError(f"{kind} has no method {method or 'predict'}{cure}")
    if name == "predict" and (is_classifier(model) or is_clusterer(model)):
        raise TypeError(f"{kind} predicts labels, which have no derivatives{cure}")
    tags = get_tags(model).input_tags if hasattr(model, "__sklearn_tags__") else None
    if tags is not None and tags.categorical:
        raise TypeError(f"{kind} takes categories, which have no derivatives")
    bound = getattr(model, name)
    values = lambda X: bound(with_names(model, X))  # noqa: E731
    return OutputFunction(values, tags is not None and tags.positive_only)


def differentiate(f: OutputFunction, x: np.ndarray) -> np.ndarray:
    """Derivatives (n_features,) or (n_outputs, n_features); NaN where there is none."""
    here = np.asarray(f.values(x[None]))
    eps = np.finfo(here.dtype if here.dtype == np.float32 else np.float64).eps
    size = np.abs(here[0].astype(np.float64))
    blocks = np.split(np.arange(len(x)), range(_MAX_BLOCK, len(x), _MAX_BLOCK))
    return np.concatenate([_differentiate_block(f, x, b, size, eps) for b in blocks], axis=-1)


def _differentiate_block(
    f: OutputFunction, x: np.ndarray, columns: np.ndarray, size: np.ndarray, eps: float
) -> np.ndarray:
    """Derivatives by some features; outputs are of this size and precision."""
    step = np.cbrt(eps) * np.maximum(1.0, np.abs(x))
    slope, change = _stencil(f, x, step, columns)
    _, small_change = _stencil(f, x, step / _REFINEMENT, columns)
    noise = _MAX_ROUNDING * eps * np.maximum(size, 1.0)[..., None]
    jumps = (small_change > 0.5 * change) & (small_change > noise)
    return np.where(jumps, np.nan, slope)


def _stencil(
    f: OutputFunction, x: np.ndarray, step: np.ndarray, columns: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Difference quotients of second order, and the largest change of the outputs."""
    one_sided = f.positive_only & (x[columns] < step[columns])
    offsets = np.where(one_sided, [[0.0], [1.0], [2.0]], [[-1.0], [0.0], [1.0]])
    weights = np.where(one_sided, [[-1.5], [2.0], [-0.5]], [[-0.5], [0.0], [0.5]])
    values = []
    for offset in offsets:
        points = np.repeat(x[None], len(columns), axis=0)
        points[np.arange(len(columns)), columns] += offset * step[columns]
        values.append(np.moveaxis(np.asarray(f.values(points), np.float64), 0, -1))
    h = _exact_steps(x[columns], step[columns], one_sided)
    low, middle, high = values
    slope = (weights[0] * low + weights[1] * middle + weights[2] * high) / h
    return slope, np.maximum(np.abs(high - middle), np.abs(middle - low))


def _exact_steps(x: np.ndarray, step: np.ndarray, one_sided: np.ndarray) -> np.ndarray:
    """Half the distance of the outer points, after rounding."""
    return np.where(one_sided, ((x + 2 * step) - x) / 2, ((x + step) - (x - step)) / 2)
