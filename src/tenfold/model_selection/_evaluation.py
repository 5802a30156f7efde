"""Evaluators: fit and score candidates on every fold of some splits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple, cast

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin, is_classifier, is_regressor
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.model_selection import cross_validate as sklearn_cross_validate
from sklearn.pipeline import Pipeline
from sklearn.utils import indexable

from tenfold.callbacks.monitor import monitor_fit
from tenfold.engine.blas_threads import one_blas_thread
from tenfold.metrics._predictions import predictions
from tenfold.metrics.base import Metric
from tenfold.metrics.registry import METRICS, default_metric, get_metric
from tenfold.model_selection._fold_models import (
    Candidates,
    FittedFolds,
    fit_folds,
    fit_in_memory,
    weight_kwargs,
)
from tenfold.model_selection._fold_scores import (
    ModelScore,
    leave_one_out_scores,
    out_of_fold_scores,
    score_folds,
)
from tenfold.model_selection._linear_pipelines import fit_pipelines, is_moment_pipeline
from tenfold.model_selection.cv_data import (
    CVData,
    clone_with_params,
    is_in_memory,
    is_native,
    load_in_memory,
    open_cv_data,
)
from tenfold.model_selection.group_columns import separate_groups
from tenfold.model_selection.splits import Split, is_leave_one_out, make_splits


class FoldScores(NamedTuple):
    """Scores (folds, candidates, metrics), the fitted models, and the time of both."""

    test: np.ndarray
    train: np.ndarray | None
    models: list[list[Any]]
    fit_seconds: float
    score_seconds: float

    @property
    def both(self) -> tuple[np.ndarray, np.ndarray]:
        """Scores on training and test rows; an error if the former were not computed."""
        if self.train is None:
            raise ValueError("scores on training rows were not computed")
        return self.train, self.test


def concatenate_splits(results: list[FoldScores]) -> FoldScores:
    """The folds of several splits."""
    if len(results) == 1:
        return results[0]
    train = [result.train for result in results if result.train is not None]
    return FoldScores(
        np.concatenate([result.test for result in results]),
        np.concatenate(train) if train else None,
        [models for result in results for models in result.models],
        sum(result.fit_seconds for result in results),
        sum(result.score_seconds for result in results),
    )


class Evaluator(ABC):
    """Fits and scores candidates; `names` are those of the metrics."""

    names: list[str]
    splits: list[Split]
    keeps_models = False  # whether the models of every fold are returned

    def run(self, candidates: Candidates, *, train: bool = False) -> FoldScores:
        """Fit and score every candidate on every fold."""
        return concatenate_splits(
            [self.on_split(split, candidates, train=train) for split in self.splits]
        )

    @abstractmethod
    def on_split(self, split: Split, candidates: Candidates, *, train: bool) -> FoldScores:
        """Fit and score every candidate on the folds of one split."""

    @abstractmethod
    def refit(self, params: dict[str, Any]) -> Any:
        """The model with these parameters, fitted on all rows."""


def make_evaluator(
    model: Any,
    X: Any,
    y: Any,
    *,
    folds: Any,
    scoring: Any,
    groups: Any,
    sample_weight: Any,
    grid: Any = None,
) -> Evaluator:
    """The evaluator for a model, all models that a grid makes of it, and the metrics."""
    *data, groups = separate_groups(X, y, sample_weight, groups)
    scoring = own_scoring(model) if scoring is None else scoring
    evaluator = _evaluator_class([model, *model_variants(model, grid)], scoring)
    return evaluator(model, *data, folds, scoring, groups)


def _evaluator_class(models: list[Any], scoring: Any) -> Any:
    is_one_kind = len({(is_classifier(model), is_regressor(model)) for model in models}) == 1
    if _is_mergeable(scoring) and is_one_kind:
        if all(is_native(model) for model in models):
            return RowsEvaluator
        if all(isinstance(model, Pipeline) and is_moment_pipeline(model) for model in models):
            return PipelineEvaluator
    return InMemoryEvaluator


def shares_passes(model: Any, scoring: Any) -> bool:
    """Whether the folds of a model share passes over the data."""
    scoring = own_scoring(model) if scoring is None else scoring
    return _evaluator_class([model], scoring) is not InMemoryEvaluator


def model_variants(model: Any, grid: Any) -> list[Any]:
    """The model with each estimator (or step of a pipeline) that a grid puts into it."""
    grids = [] if grid is None else [grid] if isinstance(grid, Mapping) else grid
    steps = {name for name, _ in model.steps} if isinstance(model, Pipeline) else set()
    return [
        clone_with_params(model, {name: value})
        for each in grids
        for name, values in each.items()
        if not hasattr(values, "rvs")
        for value in values
        if name in steps or hasattr(value, "fit")
    ]


def _is_mergeable(scoring: Any) -> bool:
    """Whether every metric can be merged; some of scikit-learn's need all rows at once."""
    if scoring is None or isinstance(scoring, Metric):
        return True
    if isinstance(scoring, str):
        if scoring not in METRICS and scoring not in get_scorer_names():
            get_metric(scoring)  # raises an error that lists the metrics
        return scoring in METRICS
    return isinstance(scoring, list | tuple) and all(_is_mergeable(each) for each in scoring)


def resolve_metrics(scoring: Any, model: Any) -> list[Metric]:
    """The metrics of `scoring`; by default what the model's `score` is."""
    if scoring is None and has_own_score(model):
        return [ModelScore()]
    if scoring is None:
        return [default_metric(is_classifier(model))]
    several = scoring if isinstance(scoring, list | tuple) else [scoring]
    return [get_metric(each) for each in several]


_STANDARD_SCORES = (ClassifierMixin.score, RegressorMixin.score)
_STANDARD_METRICS = ("accuracy_score", "r2_score")  # of networks, over rows or steps


def has_own_score(model: Any) -> bool:
    """Whether `score` is neither accuracy nor R^2: a cost, a deviance, a log-likelihood."""
    if isinstance(model, Pipeline):
        return not hasattr(model[-1], "fit") or has_own_score(model[-1])
    if not (is_classifier(model) or is_regressor(model)):
        return True
    if getattr(model, "_metric", None) in _STANDARD_METRICS:
        return False
    if getattr(model, "_is_search", False) and not has_own_score(model.model):
        return False
    return getattr(type(model), "score", None) not in _STANDARD_SCORES


def own_scoring(model: Any) -> Any:
    """The `scoring` of a search, which its `score` is; None for other models."""
    if not getattr(model, "_is_search", False):
        return None
    scoring = getattr(model, "scoring", None)
    if scoring is None:
        return own_scoring(model.model)
    if isinstance(scoring, Mapping):
        return next(iter(scoring.values()))
    return scoring[0] if isinstance(scoring, list | tuple) else scoring


class RowsEvaluator(Evaluator):
    """A model of tenfold, on rows in memory, in files or on a cluster."""

    def __init__(
        self, model: Any, X: Any, y: Any, w: Any, folds: Any, scoring: Any, groups: Any
    ) -> None:
        self.model, self.inputs = model, (X, y, w)
        self.data = self._open_data(X, y, w)
        self.metrics = resolve_metrics(scoring, model)
        self.names = [each.name for each in self.metrics]
        target = self.data.codes
        if target is None and y is not None and is_in_memory(X, y):
            target = np.asarray(y)
        self.splits = make_splits(
            folds,
            self.data.rows.n_rows,
            target,
            groups,
            stratify=is_classifier(model),
            X=X if is_in_memory(X, y) else None,
        )
        if any(is_leave_one_out(split) for split in self.splits):
            _refuse_r2(self.names)

    def _open_data(self, X: Any, y: Any, w: Any) -> CVData:
        return open_cv_data(self.model, X, y, w)

    def _closed_form_scores(self, split: Split, candidates: Candidates) -> np.ndarray | None:
        """Scores by a formula, without a fit of each fold; None if there is none."""
        scores = leave_one_out_scores(self.data, split, candidates, self.metrics)
        if scores is not None:
            return scores
        return out_of_fold_scores(self.data, split, candidates, self.metrics)

    def _fit_folds(self, data: CVData, split: Split, candidates: Candidates) -> FittedFolds:
        return fit_folds(data, split, candidates)

    def on_split(self, split: Split, candidates: Candidates, *, train: bool) -> FoldScores:
        with one_blas_thread(), monitor_fit(f"{type(self.model).__name__} in folds"):
            start = perf_counter()
            data = self.data.select(split.order)
            needs_models = train or self.keeps_models
            scores = None if needs_models else self._closed_form_scores(split, candidates)
            if scores is not None:
                return FoldScores(scores, None, [], perf_counter() - start, 0.0)
            fitted = self._fit_folds(data, split, candidates)
            fit_end = perf_counter()
            test = score_folds(data, split, fitted, self.metrics)
            train_scores = None
            if train:
                train_scores = score_folds(data, split, fitted, self.metrics, on="train")
        score_seconds = perf_counter() - fit_end
        return FoldScores(test, train_scores, fitted.models, fit_end - start, score_seconds)

    def refit(self, params: dict[str, Any]) -> Any:
        X, y, w = self.inputs
        model = clone_with_params(self.model, params)
        return model.fit(X, y) if w is None else model.fit(X, y, sample_weight=w)


def _refuse_r2(names: list[str]) -> None:
    if {"r2", "explained_variance"} & set(names):
        raise ValueError(
            "R^2 of one row is undefined: with folds='loo' use scoring='neg_mean_squared_error'"
        )


class PipelineEvaluator(RowsEvaluator):
    """A pipeline whose steps all follow from second moments."""

    def _open_data(self, X: Any, y: Any, w: Any) -> CVData:
        return open_cv_data(self.model[-1], X, y, w)

    def _closed_form_scores(self, split: Split, candidates: Candidates) -> None:
        """None: the formula of the last step ignores the steps before it."""

    def _fit_folds(self, data: CVData, split: Split, candidates: Candidates) -> FittedFolds:
        fitted = fit_pipelines(data, self.model, split, candidates)
        return fitted or fit_in_memory(data, self.model, split, candidates)

    def refit(self, params: dict[str, Any]) -> Any:
        X, y, w = load_in_memory(*self.inputs)
        return clone_with_params(self.model, params).fit(X, y, **weight_kwargs(self.model, w))


class InMemoryEvaluator(Evaluator):
    """A model of another library, or a metric that needs all rows: in memory, by scikit-learn."""

    def __init__(
        self, model: Any, X: Any, y: Any, w: Any, folds: Any, scoring: Any, groups: Any
    ) -> None:
        self.model = model
        self.X, self.y, self.w = cast("tuple[Any, Any, Any]", indexable(*load_in_memory(X, y, w)))
        self.scorers = resolve_scorers(scoring, model)
        self.names = list(self.scorers)
        n = np.shape(self.X)[0] if hasattr(self.X, "shape") else len(self.X)
        target = None if self.y is None else np.asarray(self.y)
        self.splits = make_splits(
            folds, n, target, groups, stratify=is_classifier(model), X=self.X, keep_order=True
        )

    def on_split(self, split: Split, candidates: Candidates, *, train: bool) -> FoldScores:
        pairs = [
            (split.rows(split.train[i]), split.rows(split.test[i])) for i in range(split.parts)
        ]
        runs = [self._run(params, pairs, train=train) for params in candidates]
        test = np.stack([[r[f"test_{m}"] for m in self.names] for r in runs]).transpose(2, 0, 1)
        train_scores = None
        if train:
            train_scores = np.stack([[r[f"train_{m}"] for m in self.names] for r in runs])
            train_scores = train_scores.transpose(2, 0, 1)
        models = [[r["estimator"][p] for r in runs] for p in range(split.parts)]
        seconds = [sum(r[key].sum() for r in runs) for key in ("fit_time", "score_time")]
        return FoldScores(test, train_scores, models, *seconds)

    def _run(self, params: dict[str, Any], pairs: list, *, train: bool) -> dict[str, Any]:
        return sklearn_cross_validate(
            clone_with_params(self.model, params),
            self.X,
            self.y,
            cv=pairs,
            scoring=self.scorers,
            params=weight_kwargs(self.model, self.w),
            return_train_score=train,
            return_estimator=True,
            error_score=cast("Any", "raise"),
        )

    def refit(self, params: dict[str, Any]) -> Any:
        weights = weight_kwargs(self.model, self.w)
        return clone_with_params(self.model, params).fit(self.X, self.y, **weights)


def resolve_scorers(scoring: Any, model: Any) -> dict[str, Any]:
    """Scorers of scikit-learn by name."""
    if isinstance(scoring, dict):
        return {name: get_scorer(each) for name, each in scoring.items()}
    if scoring is None:
        return {resolve_metrics(None, model)[0].name: _model_score}
    several = scoring if isinstance(scoring, list | tuple) else [scoring]
    return dict(_named_scorer(each) for each in several)


def _named_scorer(scorer: Any) -> tuple[str, Any]:
    if isinstance(scorer, Metric):
        return scorer.name, partial(_metric_scorer, scorer)
    if callable(scorer):
        return getattr(scorer, "__name__", "score"), scorer
    return scorer, get_scorer(scorer)


def _model_score(model: Any, X: Any, y: Any = None) -> float:
    return float(model.score(X) if y is None else model.score(X, y))


def _metric_scorer(metric: Metric, model: Any, X: Any, y: Any) -> float:
    """A metric with the signature of a scorer of scikit-learn."""
    classes = getattr(model, "classes_", None)
    codes = y if classes is None else np.searchsorted(classes, y)
    k = None if classes is None else len(classes)
    predicted = predictions(model, X, metric.wants, classes)
    return metric.value(metric.part(codes, predicted, None, k))
