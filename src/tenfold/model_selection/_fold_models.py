"""Fit every candidate on the training rows of every fold, in few passes over the data.

One-pass models: one pass gives a statistic per cell; the statistic of a fold is the merge of its
training cells, and all candidates are made from it. Other models: ordinary fits in lockstep, which
share their passes. Candidates are fitted one after the other, with warm starts where the model has
them; where reading dominates (files that are decoded), all candidates share the passes instead.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from functools import partial, reduce
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.pipeline import Pipeline

from tenfold.base.estimator import Estimator
from tenfold.base.one_pass import OnePass
from tenfold.base.protocols import SupportsPath
from tenfold.engine.context import FitContext
from tenfold.engine.lockstep import LaneJob, run_in_lockstep
from tenfold.engine.merge_tree import merge
from tenfold.engine.rows import Rows
from tenfold.model_selection.cv_data import CVData, clone_with_params
from tenfold.model_selection.splits import Split

_MAX_CELLS = 1000  # statistics in memory at once

Candidates = list[dict[str, Any]]


class FittedFolds(NamedTuple):
    """Models of every fold and candidate, and statistics of the test rows.

    Attributes
    ----------
    models : a list per fold, with a model for each candidate
    test_statistics : of the test rows of each fold, if all models were made from statistics
    """

    models: list[list[Any]]
    test_statistics: list[Any] | None = None


def fit_folds(data: CVData, split: Split, candidates: Candidates) -> FittedFolds:
    """Fit every candidate on the training rows of every fold."""
    model, is_small = data.model, len(split.train[0]) <= _MAX_CELLS
    if isinstance(model, OnePass) and is_small and _have_statistics(data, candidates):
        groups = _group_by_statistic(data.model, candidates)
        results = [_fit_from_statistics(data, split, [candidates[i] for i in g]) for g in groups]
        fits = [fit for fit in results if fit is not None]
        if len(fits) == len(groups):
            models = _restore_order([fit.models for fit in fits], groups, len(candidates))
            return FittedFolds(models, fits[0].test_statistics)
    return FittedFolds(_fit_in_lanes(data, split, candidates, separate=data.rows.source.streams))


def fit_folds_along_path(data: CVData, split: Split, candidates: Candidates) -> FittedFolds:
    """Fit candidates one after the other, wherever the rows lie: warm starts are in the results."""
    return FittedFolds(_fit_in_lanes(data, split, candidates, separate=False))


def _have_statistics(data: CVData, candidates: Candidates) -> bool:
    """Whether every candidate follows from a statistic; some do so for some parameters only."""
    models = (copy.copy(data.model).set_params(**params) for params in candidates)
    return all(model._has_statistic(data.rows) for model in models)


def parameter_key(value: Any) -> Any:
    """A key that is equal only for equal values; texts of long arrays and of objects are cut."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, dict):
        return tuple((str(name), parameter_key(each)) for name, each in sorted(value.items()))
    if isinstance(value, list | tuple):
        return tuple(parameter_key(each) for each in value)
    is_plain = value is None or isinstance(value, bool | int | float | str | np.generic)
    return (type(value).__name__, repr(value)) if is_plain else id(value)


def _group_by_statistic(model: OnePass, candidates: Candidates) -> list[list[int]]:
    """Indices of the candidates that can be made from one statistic."""
    groups: dict[Any, list[int]] = {}
    for i, params in enumerate(candidates):
        key = parameter_key({name: params.get(name) for name in model._statistic_depends_on})
        groups.setdefault(key, []).append(i)
    return list(groups.values())


def _restore_order(
    models_of_groups: list[list[list[Any]]], groups: list[list[int]], n_candidates: int
) -> list[list[Any]]:
    """The models of each fold in the order of the candidates."""
    models: list[list[Any]] = [[None] * n_candidates for _ in models_of_groups[0]]
    for group_models, group in zip(models_of_groups, groups, strict=True):
        for fold_models, row in zip(group_models, models, strict=True):
            for i, model in zip(group, fold_models, strict=True):
                row[i] = model
    return models


def _fit_from_statistics(data: CVData, split: Split, candidates: Candidates) -> FittedFolds | None:
    """Models from one pass; None if a statistic does not suffice for some fold."""
    cells = merge_cells(data, split, copy_with_params(data.model, candidates[0]))
    models = []
    for n_rows, statistic in zip(cells.sizes, cells.train_statistics, strict=True):
        if not cells.model._statistic_suffices(statistic, n_rows, data.rows.dtype, candidates):
            return None
        models.append(cells.model._models_from_statistic(statistic, data.rows.dtype, candidates))
    return FittedFolds(models, cells.test_statistics)


class MergedStatistics(NamedTuple):
    """Statistics of every fold, from one pass.

    Attributes
    ----------
    model : a model with the attributes of columns and target
    train_statistics, test_statistics : of the training and the test rows of each fold
    sizes : number of training rows of each fold
    """

    model: Any
    train_statistics: Iterable[Any]
    test_statistics: list[Any]
    sizes: list[int]


def merge_cells(data: CVData, split: Split, model: OnePass) -> MergedStatistics:
    """A statistic per cell in one pass, merged for every fold."""
    cells = np.eye(len(split.train[0]), dtype=bool)
    sizes = np.bincount(split.cell, minlength=len(cells))
    used = np.flatnonzero(sizes)
    jobs = [LaneJob(cells[c], partial(_cell_statistic, model)) for c in used]
    results = run_in_lockstep(data.rows, split.cell, jobs, None)
    by_cell = {int(c): statistic for c, (statistic, _) in zip(used, results, strict=True)}
    for kind, parts in (("training", split.train), ("test", split.test)):
        for i, part in enumerate(parts):
            if not sizes[part].any():
                raise ValueError(f"fold {i} has no {kind} rows: use fewer folds, or larger shares")
    test = [reduce(merge, [by_cell[c] for c in by_cell if cells[c]]) for cells in split.test]
    n_train = [int(sizes[train].sum()) for train in split.train]
    return MergedStatistics(results[0][1], _training_statistics(by_cell, split), test, n_train)


def _training_statistics(by_cell: dict[int, Any], split: Split) -> Iterator[Any]:
    """The merged statistic of the training cells of each fold.

    In k-fold cross-validation, prefix and suffix merges are shared: 3k merges instead of k^2.
    """
    is_k_fold = split.parts == len(split.train[0]) == len(by_cell)
    if not is_k_fold or not all(split.test[i][i] for i in range(split.parts)):
        for train in split.train:
            yield reduce(merge, [by_cell[c] for c in by_cell if train[c]])
        return
    statistics = [by_cell[c] for c in range(split.parts)]
    suffixes = [*list(accumulate(reversed(statistics[1:]), lambda a, b: merge(b, a)))[::-1], None]
    prefix = None
    for statistic, suffix in zip(statistics, suffixes, strict=True):
        yield merge(prefix, suffix)
        prefix = merge(prefix, statistic)


def _cell_statistic(model: OnePass, rows: Rows) -> tuple[Any, Any]:
    model = copy.copy(model)
    return model._statistic(rows), model


def copy_with_params(model: Any, params: dict[str, Any]) -> Any:
    """A copy of a model with its column attributes and other parameters."""
    other = copy.copy(model)
    other.set_params(**params)
    other._validate_params()
    return other


def _fit_in_lanes(
    data: CVData, split: Split, candidates: Candidates, *, separate: bool
) -> list[list[Any]]:
    """Models of every fold: a lane for each fold, or for each of its candidates."""
    paths = [[params] for params in candidates] if separate else [candidates]
    jobs = [
        LaneJob(train, partial(fit_path, data.model, path))
        for train in split.train
        for path in paths
    ]
    results = run_in_lockstep(data.rows, split.cell, jobs, data.class_counts(split))
    n = len(paths)
    return [
        [model for models in results[fold * n : (fold + 1) * n] for model in models]
        for fold in range(split.parts)
    ]


def fit_path(model: Estimator, candidates: Candidates, rows: Rows) -> list[Any]:
    """Fit candidates one after the other, with warm starts if the model has them."""
    if len(candidates) > 1 and isinstance(model, SupportsPath):
        models = model._fit_path(rows, candidates)
        if models is not None:
            return models
    if len(candidates) == 1 or not _has_one_optimum(model):
        return [clone_with_params(model, params).fit(rows) for params in candidates]
    rows.context = FitContext(is_path=True)
    fitted: list[Any] = []
    for candidate in candidates:
        unfitted = clone_with_params(model, candidate)
        params = unfitted.get_params(deep=False)
        is_near = bool(fitted) and _differ_in_numbers(fitted[-1].get_params(deep=False), params)
        start = copy.deepcopy(fitted[-1]).set_params(**params) if is_near else unfitted
        start.set_params(warm_start=True).fit(rows)
        fitted.append(start.set_params(**params))
    return fitted


def _has_one_optimum(model: Any) -> bool:
    """Whether fits from other starts end in the same place: not those of mixtures, for example."""
    is_supervised = is_classifier(model) or is_regressor(model)
    can_warm_start = model.get_params(deep=False).get("warm_start") is False
    return can_warm_start and is_supervised and not model._samples_rows


def _differ_in_numbers(a: dict[str, Any], b: dict[str, Any]) -> bool:
    """Whether only numbers change, such as a penalty: other parameters change the problem."""
    changed = [name for name in a if parameter_key(a[name]) != parameter_key(b[name])]
    numbers = (int, float, np.integer, np.floating)
    return all(
        isinstance(each[name], numbers) and not isinstance(each[name], bool)
        for name in changed
        for each in (a, b)
    )


def fit_in_memory(data: CVData, model: Any, split: Split, candidates: Candidates) -> FittedFolds:
    """Fit a model that is not fitted on `Rows`: each training part is gathered in memory."""
    jobs = [LaneJob(train, partial(_fit_gathered, model, candidates)) for train in split.train]
    return FittedFolds(run_in_lockstep(data.rows, split.cell, jobs, data.class_counts(split)))


def _fit_gathered(model: Any, candidates: Candidates, rows: Rows) -> list[Any]:
    data = rows.gather()
    weights = weight_kwargs(model, data.w)
    return [clone_with_params(model, each).fit(data.X, data.y, **weights) for each in candidates]


def weight_kwargs(model: Any, w: Any) -> dict[str, Any]:
    """Keyword argument of `fit` for weights; those of a pipeline go to its last step."""
    last = f"{model.steps[-1][0]}__" if isinstance(model, Pipeline) else ""
    return {} if w is None else {f"{last}sample_weight": w}
