"""Fit every candidate on the training rows of every fold, with as few passes over the data as possible.

One-pass models: a statistic per cell, from one walk; the statistic of a part is the merge of its
cells, and all candidates are made from it. Other models: ordinary fits that walk in step. Along the
candidates, those that can start from the last one's coefficients do; but where reading is what
costs (files that are decoded), all candidates walk at once instead.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from functools import partial, reduce
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline

from tenfold.base.one_pass import OnePass
from tenfold.engine.lockstep import LaneJob, run_in_lockstep
from tenfold.engine.merge_tree import merge
from tenfold.engine.rows import Rows
from tenfold.model_selection.cv_data import CVData, clone_with_params
from tenfold.model_selection.splits import Split

_MAX_CELLS = 1000  # statistics that are kept at once

Candidates = list[dict[str, Any]]


class FittedFolds(NamedTuple):
    """Models of every part and candidate, and what is known of the rows they are judged on.

    Attributes
    ----------
    models : one list per part, with a model for each candidate
    held : statistic of the test rows of each part, where one walk made all models
    """

    models: list[list[Any]]
    held: list[Any] | None = None


def fit_folds(data: CVData, split: Split, candidates: Candidates) -> FittedFolds:
    """Fit every candidate on the training rows of every part."""
    model, few = data.model, len(split.train[0]) <= _MAX_CELLS
    if isinstance(model, OnePass) and few and model._has_statistic(data.rows):
        groups = _group_by_statistic(data.model, candidates)
        found = [_fit_from_statistics(data, split, [candidates[i] for i in g]) for g in groups]
        made = [part for part in found if part is not None]
        if len(made) == len(groups):
            models = _restore_order([f.models for f in made], groups, split.parts, len(candidates))
            return FittedFolds(models, made[0].held)
    return FittedFolds(_fit_in_lanes(data, split, candidates))


def _group_by_statistic(model: OnePass, candidates: Candidates) -> list[list[int]]:
    """Numbers of the candidates that can be made from one statistic."""
    groups: dict[str, list[int]] = {}
    for i, settings in enumerate(candidates):
        key = repr({name: settings.get(name) for name in model._statistic_depends_on})
        groups.setdefault(key, []).append(i)
    return list(groups.values())


def _restore_order(found: list, groups: list[list[int]], parts: int, n: int) -> list[list[Any]]:
    models: list[list[Any]] = [[None] * n for _ in range(parts)]
    for made, group in zip(found, groups, strict=True):
        for part in range(parts):
            for i, model in zip(group, made[part], strict=True):
                models[part][i] = model
    return models


def _fit_from_statistics(data: CVData, split: Split, candidates: Candidates) -> FittedFolds | None:
    """Models from one walk; None if a statistic does not say enough for some part."""
    cells = merge_cells(data, split, copy_with_params(data.model, candidates[0]))
    models = []
    for n_rows, statistic in zip(cells.sizes, cells.learned, strict=True):
        if not cells.model._statistic_suffices(statistic, n_rows, data.rows.dtype, candidates):
            return None
        models.append(cells.model._models_from_statistic(statistic, data.rows.dtype, candidates))
    return FittedFolds(models, cells.held)


class MergedStatistics(NamedTuple):
    """Statistics of every part, from one walk.

    Attributes
    ----------
    model : a model that knows columns and target
    learned, held : statistic of the training and of the test rows of each part
    sizes : number of training rows of each part
    """

    model: Any
    learned: Iterable[Any]
    held: list[Any]
    sizes: list[int]


def merge_cells(data: CVData, split: Split, model: OnePass) -> MergedStatistics:
    """A statistic per cell in one walk, merged for every part."""
    cells = np.eye(len(split.train[0]), dtype=bool)
    sizes = np.bincount(split.cell, minlength=len(cells))
    used = np.flatnonzero(sizes)
    jobs = [LaneJob(cells[c], partial(_cell_statistic, model)) for c in used]
    answers = run_in_lockstep(data.rows, split.cell, jobs, None)
    made = {int(c): statistic for c, (statistic, _) in zip(used, answers, strict=True)}
    held = [reduce(merge, [made[c] for c in made if test[c]]) for test in split.test]
    learned = [int(sizes[train].sum()) for train in split.train]
    return MergedStatistics(answers[0][1], _training_statistics(made, split), held, learned)


def _training_statistics(made: dict[int, Any], split: Split) -> Iterator[Any]:
    """The merged statistic of the training cells of each part.

    Where each part leaves out its own cell, from what lies before and after it: 3k merges, not k^2.
    """
    each_its_own = split.parts == len(split.train[0]) == len(made)
    if not each_its_own or not all(split.test[i][i] for i in range(split.parts)):
        for train in split.train:
            yield reduce(merge, [made[c] for c in made if train[c]])
        return
    statistics = [made[c] for c in range(split.parts)]
    after = [*list(accumulate(reversed(statistics[1:]), lambda a, b: merge(b, a)))[::-1], None]
    before = None
    for own, rest in zip(statistics, after, strict=True):
        yield merge(before, rest)
        before = merge(before, own)


def _cell_statistic(model: OnePass, rows: Rows) -> tuple[Any, Any]:
    model = copy.copy(model)
    return model._statistic(rows), model


def copy_with_params(model: Any, settings: dict[str, Any]) -> Any:
    """A copy of a model that knows its columns, with other parameters."""
    other = copy.copy(model)
    other.set_params(**settings)
    other._validate_params()
    return other


def _fit_in_lanes(data: CVData, split: Split, candidates: Candidates) -> list[list[Any]]:
    together = [[settings] for settings in candidates]
    lanes = together if data.rows.source.streams else [candidates]
    jobs = [
        LaneJob(train, partial(fit_path, data.model, settings))
        for train in split.train
        for settings in lanes
    ]
    made = run_in_lockstep(data.rows, split.cell, jobs, data.labels(split))
    each = len(lanes)
    return [
        [model for models in made[p * each : (p + 1) * each] for model in models]
        for p in range(split.parts)
    ]


def fit_path(model: Any, candidates: Candidates, rows: Rows) -> list[Any]:
    """Fit one candidate after the other, each from the last one's result if it can use it."""
    if len(candidates) > 1 and hasattr(model, "_fit_along"):
        at_once = model._fit_along(rows, candidates)
        if at_once is not None:
            return at_once
    warm = getattr(model, "warm_start", None) is False and not getattr(model, "_draws", False)
    if not warm or len(candidates) == 1:
        return [clone_with_params(model, settings).fit(rows) for settings in candidates]
    rows.along_a_path = True
    fitted: list[Any] = []
    for settings in candidates:
        fresh = clone_with_params(model, settings)
        own = fresh.get_params(deep=False)
        start = copy.deepcopy(fitted[-1]).set_params(**own) if fitted else fresh
        start.set_params(warm_start=True).fit(rows)
        fitted.append(start.set_params(**own))
    return fitted


def fit_in_memory(data: CVData, model: Any, split: Split, candidates: Candidates) -> FittedFolds:
    """Fit a model that knows no `Rows` on each part, gathered in memory."""
    jobs = [LaneJob(train, partial(_fit_gathered, model, candidates)) for train in split.train]
    return FittedFolds(run_in_lockstep(data.rows, split.cell, jobs, data.labels(split)))


def _fit_gathered(model: Any, candidates: Candidates, rows: Rows) -> list[Any]:
    whole = rows.gather()
    more = weight_kwargs(model, whole.w)
    return [clone_with_params(model, each).fit(whole.X, whole.y, **more) for each in candidates]


def weight_kwargs(model: Any, w: Any) -> dict[str, Any]:
    """Weights as `fit` takes them; those of a pipeline are for its last step."""
    last = f"{model.steps[-1][0]}__" if isinstance(model, Pipeline) else ""
    return {} if w is None else {f"{last}sample_weight": w}
