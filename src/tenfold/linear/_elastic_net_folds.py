"""Elastic nets of all penalties and folds: one Gram matrix per fold, a path of solutions on it."""

from __future__ import annotations

from copy import copy
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np
from scipy import sparse

from tenfold.base.one_pass import OnePass
from tenfold.engine.lockstep import LaneJob, run_in_lockstep
from tenfold.engine.rows import Rows
from tenfold.engine.second_moments import second_moments
from tenfold.linear._lasso_gram import FullGram, GramMatrix, make_gram
from tenfold.linear._thresholds import FULL_GRAM_MAX_COLUMNS
from tenfold.linear.elastic_net import ElasticNet
from tenfold.linear.multi_task import MultiTaskElasticNet
from tenfold.model_selection._fold_models import FittedFolds, fit_folds
from tenfold.model_selection.cv_data import CVData
from tenfold.model_selection.splits import Split
from tenfold.stats.moments import Moments


class PenaltyPath(OnePass):
    """Elastic nets with many penalties on the same rows, from the moments of few columns."""

    _fits_from_moments = True

    def _has_statistic(self, rows: Rows) -> bool:
        return rows.n_features <= FULL_GRAM_MAX_COLUMNS or self.precompute is True

    def _statistic(self, rows: Rows) -> Moments:
        self._target_shape = rows.target_shape
        return second_moments(rows, target=True)

    def _models_from_statistic(
        self, statistic: Moments, dtype: np.dtype, settings: list[dict]
    ) -> list[Any]:
        p = self.n_features_in_
        gram = FullGram(statistic, p, dtype, intercept=self.fit_intercept)
        return self._models_on_path(gram, dtype, settings)

    def fit_path(self, candidates: list[dict], rows: Rows) -> list[Any]:
        """The models of all candidates, fitted to rows of many columns."""
        self._target_shape = rows.target_shape
        gram = make_gram(rows, intercept=self.fit_intercept)
        return self._models_on_path(gram, rows.dtype, candidates)

    def _models_on_path(self, gram: GramMatrix, dtype: np.dtype, settings: list[dict]) -> list[Any]:
        """A model for each setting; those of one `l1_ratio` follow each other on a path."""
        models, rng = [], self._rng()
        for l1_ratio, group in groupby(settings, key=lambda each: each["l1_ratio"]):
            first = copy(self).set_params(l1_ratio=l1_ratio)
            alphas = [each["alpha"] for each in group]
            penalties = [first._penalty(alpha) for alpha in alphas]
            solutions = first._follow(gram, penalties, None, first._settings(rng))
            for alpha, solution in zip(alphas, solutions, strict=True):
                model = copy(first).set_params(alpha=alpha)
                learned = model._shape_attributes([solution], gram, dtype, self._target_shape)
                if len(gram.xy) > FULL_GRAM_MAX_COLUMNS:
                    learned["coef_"] = sparse.csr_array(np.atleast_2d(learned["coef_"]))
                model._set_learned({**learned, "_solution": solution._replace(w=solution.w[:0])})
                models.append(model)
        return models


class ElasticNetFold(ElasticNet, PenaltyPath):
    """The elastic nets of a fold."""

    _multi_output = False


class MultiTaskFold(MultiTaskElasticNet, PenaltyPath):
    """The multi-task elastic nets of a fold."""


def fit_paths(data: CVData, split: Split, candidates: list[dict[str, Any]]) -> FittedFolds:
    """Fit every candidate on every fold, along a path in each."""
    if data.model._has_statistic(data.rows):
        return fit_folds(data, split, candidates)
    path = partial(_fit_path, data.model, candidates)
    jobs = [LaneJob(train, path) for train in split.train]
    return FittedFolds(run_in_lockstep(data.rows, split.cell, jobs, None))


def _fit_path(model: PenaltyPath, candidates: list[dict], rows: Rows) -> list[Any]:
    return copy(model).fit_path(candidates, rows)
