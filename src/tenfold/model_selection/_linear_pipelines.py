"""Pipelines of affine transforms and least squares, cross-validated from second moments alone.

Each step before the last is a map z = (x - shift) A, and moments are transformed by it as well. So
the moments of [X y] in each cell, from one pass, are enough to fit every pipeline on every fold.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from tenfold.base.estimator import Estimator
from tenfold.base.protocols import SupportsAffineMap
from tenfold.model_selection._fold_models import (
    Candidates,
    FittedFolds,
    merge_cells,
    parameter_key,
)
from tenfold.model_selection.cv_data import CVData, clone_with_params
from tenfold.model_selection.splits import Split
from tenfold.stats.moments import Moments


def is_moment_pipeline(pipeline: Pipeline) -> bool:
    """Whether every step of a pipeline follows from second moments."""
    *transforms, last = (step for _, step in pipeline.steps)
    return (
        isinstance(last, Estimator)
        and last._fits_from_moments
        and all(_is_affine(step) for step in transforms)
    )


def _is_affine(step: Any) -> bool:
    return (
        isinstance(step, str) or type(step) is StandardScaler or isinstance(step, SupportsAffineMap)
    )


def fit_pipelines(
    data: CVData, pipeline: Pipeline, split: Split, candidates: Candidates
) -> FittedFolds | None:
    """Fit every candidate on every fold; None if moments are not precise enough."""
    cells = merge_cells(data, split, data.model)
    groups = _group_by_transform(pipeline, candidates)
    models: list[list[Any]] = []
    for n_rows, s in zip(cells.sizes, cells.train_statistics, strict=True):
        inputs = StepInput(cells.model, s, n_rows, data.rows.dtype)
        fold_models: list[Any] = [None] * len(candidates)
        for indices in groups:
            fitted = _fit_group(pipeline, [candidates[i] for i in indices], inputs)
            if fitted is None:
                return None
            for i, model in zip(indices, fitted, strict=True):
                fold_models[i] = model
        models.append(fold_models)
    return FittedFolds(models, cells.test_statistics)


def _group_by_transform(pipeline: Pipeline, candidates: Candidates) -> list[list[int]]:
    """Indices of the candidates that differ in the last step only."""
    last = pipeline.steps[-1][0] + "__"
    groups: dict[Any, list[int]] = {}
    for i, params in enumerate(candidates):
        key = parameter_key({k: v for k, v in params.items() if not k.startswith(last)})
        groups.setdefault(key, []).append(i)
    return list(groups.values())


class StepInput(NamedTuple):
    """Input of a step: a model with attributes of its columns and target, moments, row count."""

    model: Any
    s: Moments
    n_rows: int
    dtype: np.dtype


def _fit_group(pipeline: Pipeline, group: Candidates, inputs: StepInput) -> list[Pipeline] | None:
    """Pipelines that differ in the last step; the steps before it are fitted once."""
    first = clone_with_params(pipeline, group[0])
    steps: list[tuple[str, Any]] = []
    for name, step in first.steps[:-1]:
        if not isinstance(step, str):
            step = _fit_step(step, inputs)
            if step is None:
                return None
            inputs = inputs._replace(
                s=transform_moments(inputs.s, *affine_map(step)),
                model=_model_after_step(inputs.model, step),
            )
        steps.append((name, step))
    name, last = first.steps[-1]
    last._validate_params()
    vars(last).update(_input_attributes(inputs.model))
    params = [_step_params(each, name) for each in group]
    if not last._statistic_suffices(inputs.s, inputs.n_rows, inputs.dtype, params):
        return None
    models = last._models_from_statistic(inputs.s, inputs.dtype, params)
    return [Pipeline([*steps, (name, model)]) for model in models]


def _step_params(params: dict[str, Any], name: str) -> dict[str, Any]:
    """The parameters of one step."""
    prefix = name + "__"
    return {key.removeprefix(prefix): v for key, v in params.items() if key.startswith(prefix)}


def _model_after_step(model: Any, step: Any) -> Any:
    """The model with the number of columns that a step returns."""
    model = copy(model)
    model.n_features_in_ = affine_map(step)[1].shape[1]
    return model


def _input_attributes(model: Any) -> dict[str, Any]:
    """Attributes that describe columns and target."""
    names = ("n_features_in_", "_target_shape")
    return {name: vars(model)[name] for name in names}


def _fit_step(step: Any, inputs: StepInput) -> Any:
    """A fitted transform; None if the moments do not suffice."""
    s = feature_moments(inputs.s, inputs.model.n_features_in_)
    if type(step) is StandardScaler:
        return _fit_scaler(step, s)
    step._validate_params()
    step.n_features_in_ = len(s.mean)
    if not step._statistic_suffices(s, inputs.n_rows, inputs.dtype, [{}]):
        return None
    return step._models_from_statistic(s, inputs.dtype, [{}])[0]


def _fit_scaler(step: Any, s: Moments) -> Any:
    """A scaler as scikit-learn would fit it."""
    variance = s.scatter.diagonal() / s.n
    rounding = np.finfo(np.float64).eps * s.n
    is_constant = variance <= rounding * variance + (rounding * s.mean) ** 2
    step.n_features_in_, step.n_samples_seen_ = len(s.mean), s.rows
    step.mean_ = s.mean
    step.var_ = variance if step.with_std else None
    step.scale_ = np.where(is_constant, 1.0, np.sqrt(variance)) if step.with_std else None
    return step


def affine_map(step: Any) -> tuple[np.ndarray, np.ndarray]:
    """The fitted map z = (x - shift) A."""
    if isinstance(step, SupportsAffineMap):
        return step._affine()
    p = step.n_features_in_
    shift = step.mean_ if step.with_mean else np.zeros(p)
    return shift, np.diag(np.ones(p) if step.scale_ is None else 1 / step.scale_)


def feature_moments(s: Moments, p: int) -> Moments:
    """Moments of X alone."""
    return Moments(s.n, s.mean[:p], s.scatter[:p, :p], s.rows)


def transform_moments(s: Moments, shift: np.ndarray, A: np.ndarray) -> Moments:
    """Moments of [z y] from those of [x y]."""
    p, q = len(shift), len(s.mean) - len(shift)
    T = np.zeros((p + q, A.shape[1] + q))
    T[:p, : A.shape[1]], T[p:, A.shape[1] :] = A, np.eye(q)
    mean = (s.mean - np.append(shift, np.zeros(q))) @ T
    return Moments(s.n, mean, T.T @ s.scatter @ T, s.rows)


def linear_coefficients(model: Any) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients (n_targets, n_features) and intercepts in the columns of the data."""
    last: Any = model[-1] if isinstance(model, Pipeline) else model
    coef = np.atleast_2d(last.coef_).astype(np.float64)
    intercept = np.atleast_1d(last.intercept_).astype(np.float64)
    for step in _reversed_steps(model):
        shift, A = affine_map(step)
        coef = coef @ A.T
        intercept = intercept - coef @ shift
    return coef, intercept


def _reversed_steps(model: Any) -> Iterator[Any]:
    if isinstance(model, Pipeline):
        yield from (step for _, step in reversed(model.steps[:-1]) if not isinstance(step, str))
