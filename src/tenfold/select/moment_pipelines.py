"""Pipelines that follow from the moments of the rows: scaling, components, then least squares.

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

from tenfold.maths.moments import Moments
from tenfold.select.data import Data, anew
from tenfold.select.fitting import Candidates, Fitted, merged_cells
from tenfold.select.splits import Split


def by_moments(pipeline: Pipeline) -> bool:
    """Whether every step of a pipeline follows from moments."""
    *maps, last = (step for _, step in pipeline.steps)
    return getattr(last, "_of_moments", False) and all(_maps(step) for step in maps)


def _maps(step: Any) -> bool:
    return isinstance(step, str) or type(step) is StandardScaler or hasattr(step, "_affine")


def fit_pipelines(
    data: Data, pipeline: Pipeline, split: Split, candidates: Candidates
) -> Fitted | None:
    """Fit every candidate on every part; None where moments do not hold enough digits."""
    cells = merged_cells(data, split, data.model)
    groups = _same_maps(pipeline, candidates)
    models: list[list[Any]] = []
    for n_rows, s in zip(cells.sizes, cells.learned, strict=True):
        made: list[Any] = [None] * len(candidates)
        for numbers in groups:
            settings = [candidates[i] for i in numbers]
            found = _fitted(pipeline, settings, Seen(cells.model, s, n_rows, data.rows.dtype))
            if found is None:
                return None
            for i, model in zip(numbers, found, strict=True):
                made[i] = model
        models.append(made)
    return Fitted(models, cells.held)


def _same_maps(pipeline: Pipeline, candidates: Candidates) -> list[list[int]]:
    """Numbers of the candidates that differ in the last step alone."""
    last = pipeline.steps[-1][0] + "__"
    groups: dict[str, list[int]] = {}
    for i, settings in enumerate(candidates):
        key = repr(sorted((k, v) for k, v in settings.items() if not k.startswith(last)))
        groups.setdefault(key, []).append(i)
    return list(groups.values())


class Seen(NamedTuple):
    """What a step sees: a model that knows columns and target, moments, and how many rows."""

    model: Any
    s: Moments
    n_rows: int
    dtype: np.dtype


def _fitted(pipeline: Pipeline, settings: Candidates, seen: Seen) -> list[Pipeline] | None:
    """Pipelines that differ in the last step; their maps are fitted once."""
    first = anew(pipeline, settings[0])
    steps: list[tuple[str, Any]] = []
    for name, step in first.steps[:-1]:
        if not isinstance(step, str):
            step = _from_moments(step, seen)
            if step is None:
                return None
            seen = seen._replace(s=mapped(seen.s, *affine(step)), model=_behind(seen.model, step))
        steps.append((name, step))
    name, last = first.steps[-1]
    last._validate_params()
    vars(last).update(_known(seen.model))
    own = [_of_step(each, name) for each in settings]
    if not last._suffices(seen.s, seen.n_rows, seen.dtype, own):
        return None
    return [Pipeline([*steps, (name, m)]) for m in last._made_from(seen.s, seen.dtype, own)]


def _of_step(settings: dict[str, Any], name: str) -> dict[str, Any]:
    """The parameters of one step."""
    start = name + "__"
    return {key.removeprefix(start): v for key, v in settings.items() if key.startswith(start)}


def _behind(model: Any, step: Any) -> Any:
    """The model as it sees the columns that a step makes."""
    model = copy(model)
    model.n_features_in_ = affine(step)[1].shape[1]
    return model


def _known(opened: Any) -> dict[str, Any]:
    """What a model has seen of its columns and target."""
    names = ("n_features_in_", "_target_shape")
    return {name: vars(opened)[name] for name in names}


def _from_moments(step: Any, seen: Seen) -> Any:
    """A fitted map; None if the moments do not suffice."""
    s = of_columns(seen.s, seen.model.n_features_in_)
    if type(step) is StandardScaler:
        return _scaler(step, s)
    step._validate_params()
    step.n_features_in_ = len(s.mean)
    if not step._suffices(s, seen.n_rows, seen.dtype, [{}]):
        return None
    return step._made_from(s, seen.dtype, [{}])[0]


def _scaler(step: Any, s: Moments) -> Any:
    """A scaler that scikit-learn would have fitted."""
    variance = s.scatter.diagonal() / s.n
    rounding = np.finfo(np.float64).eps * s.n
    constant = variance <= rounding * variance + (rounding * s.mean) ** 2
    step.n_features_in_, step.n_samples_seen_ = len(s.mean), s.rows
    step.mean_ = s.mean
    step.var_ = variance if step.with_std else None
    step.scale_ = np.where(constant, 1.0, np.sqrt(variance)) if step.with_std else None
    return step


def affine(step: Any) -> tuple[np.ndarray, np.ndarray]:
    """The fitted map z = (x - shift) A."""
    if hasattr(step, "_affine"):
        return step._affine()
    p = step.n_features_in_
    shift = step.mean_ if step.with_mean else np.zeros(p)
    return shift, np.diag(np.ones(p) if step.scale_ is None else 1 / step.scale_)


def of_columns(s: Moments, p: int) -> Moments:
    """Moments of X alone."""
    return Moments(s.n, s.mean[:p], s.scatter[:p, :p], s.rows)


def mapped(s: Moments, shift: np.ndarray, A: np.ndarray) -> Moments:
    """Moments of [z y] from those of [x y]."""
    p, q = len(shift), len(s.mean) - len(shift)
    T = np.zeros((p + q, A.shape[1] + q))
    T[:p, : A.shape[1]], T[p:, A.shape[1] :] = A, np.eye(q)
    mean = (s.mean - np.append(shift, np.zeros(q))) @ T
    return Moments(s.n, mean, T.T @ s.scatter @ T, s.rows)


def line_of(model: Any) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients (q, p) and constants (q,) in the columns of the data."""
    last: Any = model[-1] if isinstance(model, Pipeline) else model
    coef = np.atleast_2d(last.coef_).astype(np.float64)
    intercept = np.atleast_1d(last.intercept_).astype(np.float64)
    for step in _steps_backwards(model):
        shift, A = affine(step)
        coef = coef @ A.T
        intercept = intercept - coef @ shift
    return coef, intercept


def _steps_backwards(model: Any) -> Iterator[Any]:
    if isinstance(model, Pipeline):
        yield from (step for _, step in reversed(model.steps[:-1]) if not isinstance(step, str))
