"""Pipelines of affine transforms and least squares, cross-validated from second moments alone.

Each step before the last is a map z = (x - shift) A, under which moments map as well. So the
moments of [X y] in each cell, from one walk, are enough to fit every pipeline on every part.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from tenfold.model_selection._fold_models import Candidates, FittedFolds, merge_cells
from tenfold.model_selection.cv_data import CVData, clone_with_params
from tenfold.model_selection.splits import Split
from tenfold.stats.moments import Moments


def is_moment_pipeline(pipeline: Pipeline) -> bool:
    """Whether every step of a pipeline follows from moments."""
    *maps, last = (step for _, step in pipeline.steps)
    return getattr(last, "_of_moments", False) and all(_is_affine(step) for step in maps)


def _is_affine(step: Any) -> bool:
    return isinstance(step, str) or type(step) is StandardScaler or hasattr(step, "_affine")


def fit_pipelines(
    data: CVData, pipeline: Pipeline, split: Split, candidates: Candidates
) -> FittedFolds | None:
    """Fit every candidate on every part; None where moments do not hold enough digits."""
    cells = merge_cells(data, split, data.model)
    groups = _group_by_transform(pipeline, candidates)
    models: list[list[Any]] = []
    for n_rows, s in zip(cells.sizes, cells.learned, strict=True):
        made: list[Any] = [None] * len(candidates)
        for numbers in groups:
            settings = [candidates[i] for i in numbers]
            found = _fit_group(
                pipeline, settings, StepInput(cells.model, s, n_rows, data.rows.dtype)
            )
            if found is None:
                return None
            for i, model in zip(numbers, found, strict=True):
                made[i] = model
        models.append(made)
    return FittedFolds(models, cells.held)


def _group_by_transform(pipeline: Pipeline, candidates: Candidates) -> list[list[int]]:
    """Numbers of the candidates that differ in the last step alone."""
    last = pipeline.steps[-1][0] + "__"
    groups: dict[str, list[int]] = {}
    for i, settings in enumerate(candidates):
        key = repr(sorted((k, v) for k, v in settings.items() if not k.startswith(last)))
        groups.setdefault(key, []).append(i)
    return list(groups.values())


class StepInput(NamedTuple):
    """What a step sees: a model that knows columns and target, moments, and how many rows."""

    model: Any
    s: Moments
    n_rows: int
    dtype: np.dtype


def _fit_group(pipeline: Pipeline, settings: Candidates, seen: StepInput) -> list[Pipeline] | None:
    """Pipelines that differ in the last step; their maps are fitted once."""
    first = clone_with_params(pipeline, settings[0])
    steps: list[tuple[str, Any]] = []
    for name, step in first.steps[:-1]:
        if not isinstance(step, str):
            step = _fit_step(step, seen)
            if step is None:
                return None
            seen = seen._replace(
                s=transform_moments(seen.s, *affine_map(step)),
                model=_model_after_step(seen.model, step),
            )
        steps.append((name, step))
    name, last = first.steps[-1]
    last._validate_params()
    vars(last).update(_input_attributes(seen.model))
    own = [_step_params(each, name) for each in settings]
    if not last._statistic_suffices(seen.s, seen.n_rows, seen.dtype, own):
        return None
    return [
        Pipeline([*steps, (name, m)]) for m in last._models_from_statistic(seen.s, seen.dtype, own)
    ]


def _step_params(settings: dict[str, Any], name: str) -> dict[str, Any]:
    """The parameters of one step."""
    start = name + "__"
    return {key.removeprefix(start): v for key, v in settings.items() if key.startswith(start)}


def _model_after_step(model: Any, step: Any) -> Any:
    """The model as it sees the columns that a step makes."""
    model = copy(model)
    model.n_features_in_ = affine_map(step)[1].shape[1]
    return model


def _input_attributes(opened: Any) -> dict[str, Any]:
    """What a model has seen of its columns and target."""
    names = ("n_features_in_", "_target_shape")
    return {name: vars(opened)[name] for name in names}


def _fit_step(step: Any, seen: StepInput) -> Any:
    """A fitted map; None if the moments do not suffice."""
    s = feature_moments(seen.s, seen.model.n_features_in_)
    if type(step) is StandardScaler:
        return _fit_scaler(step, s)
    step._validate_params()
    step.n_features_in_ = len(s.mean)
    if not step._statistic_suffices(s, seen.n_rows, seen.dtype, [{}]):
        return None
    return step._models_from_statistic(s, seen.dtype, [{}])[0]


def _fit_scaler(step: Any, s: Moments) -> Any:
    """A scaler that scikit-learn would have fitted."""
    variance = s.scatter.diagonal() / s.n
    rounding = np.finfo(np.float64).eps * s.n
    constant = variance <= rounding * variance + (rounding * s.mean) ** 2
    step.n_features_in_, step.n_samples_seen_ = len(s.mean), s.rows
    step.mean_ = s.mean
    step.var_ = variance if step.with_std else None
    step.scale_ = np.where(constant, 1.0, np.sqrt(variance)) if step.with_std else None
    return step


def affine_map(step: Any) -> tuple[np.ndarray, np.ndarray]:
    """The fitted map z = (x - shift) A."""
    if hasattr(step, "_affine"):
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
    """Coefficients (q, p) and constants (q,) in the columns of the data."""
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
