"""Evaluators: fit and score candidates on every part of some splits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple, cast

import numpy as np
from sklearn.base import is_classifier, is_regressor
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
from tenfold.model_selection._fold_scores import ModelScore, leave_one_out_scores, score_folds
from tenfold.model_selection._linear_pipelines import fit_pipelines, is_moment_pipeline
from tenfold.model_selection.cv_data import (
    CVData,
    clone_with_params,
    is_native,
    load_in_memory,
    open_cv_data,
)
from tenfold.model_selection.splits import Split, is_leave_one_out, make_splits


class FoldScores(NamedTuple):
    """Scores (parts, candidates, metrics), the fitted models, and the time it took."""

    test: np.ndarray
    train: np.ndarray | None
    models: list[list[Any]]
    fit_seconds: float
    score_seconds: float

    @property
    def both(self) -> tuple[np.ndarray, np.ndarray]:
        """Scores on training and test rows, where both were asked for."""
        if self.train is None:
            raise ValueError("the training rows were not judged")
        return self.train, self.test


def concatenate_splits(found: list[FoldScores]) -> FoldScores:
    """The parts of several splits one after the other."""
    if len(found) == 1:
        return found[0]
    seen = [f.train for f in found if f.train is not None]
    train = np.concatenate(seen) if seen else None
    return FoldScores(
        np.concatenate([f.test for f in found]),
        train,
        [row for f in found for row in f.models],
        sum(f.fit_seconds for f in found),
        sum(f.score_seconds for f in found),
    )


class Evaluator(ABC):
    """Something that can judge candidates; `names` are those of the scores."""

    names: list[str]
    splits: list[Split]
    keeps_models = False  # whether the models of every part are wanted, too

    def run(self, candidates: Candidates, *, train: bool = False) -> FoldScores:
        """Fit and judge every candidate on every part."""
        return concatenate_splits(
            [self.on_split(split, candidates, train=train) for split in self.splits]
        )

    @abstractmethod
    def on_split(self, split: Split, candidates: Candidates, *, train: bool) -> FoldScores:
        """Fit and judge on the parts of one split."""

    @abstractmethod
    def refit(self, settings: dict[str, Any]) -> Any:
        """The model with these settings, fitted on all rows."""


def make_evaluator(
    model: Any, X: Any, y: Any, *, folds: Any, scoring: Any, groups: Any, sample_weight: Any
) -> Evaluator:
    """The trial that suits a model."""
    own = _is_mergeable(scoring)
    place = (X, y, sample_weight)
    if is_native(model) and own:
        return RowsEvaluator(model, *place, folds, scoring, groups)
    if own and isinstance(model, Pipeline) and is_moment_pipeline(model):
        return PipelineEvaluator(model, *place, folds, scoring, groups)
    return InMemoryEvaluator(model, *place, folds, scoring, groups)


def _is_mergeable(scoring: Any) -> bool:
    """Whether every score is a metric that merges; some of scikit-learn's need all rows at once."""
    if scoring is None or isinstance(scoring, Metric):
        return True
    if isinstance(scoring, str):
        if scoring not in METRICS and scoring not in get_scorer_names():
            get_metric(scoring)  # says what there is
        return scoring in METRICS
    return isinstance(scoring, list | tuple) and all(_is_mergeable(each) for each in scoring)


def resolve_metrics(scoring: Any, model: Any) -> list[Metric]:
    """The metrics that are asked for; by default what suits the model."""
    if scoring is None and not (is_classifier(model) or is_regressor(model)):
        return [ModelScore()]
    if scoring is None:
        return [default_metric(is_classifier(model))]
    wanted = scoring if isinstance(scoring, list | tuple) else [scoring]
    return [get_metric(each) for each in wanted]


class RowsEvaluator(Evaluator):
    """A model of tenfold, on rows anywhere."""

    def __init__(
        self, model: Any, X: Any, y: Any, w: Any, folds: Any, scoring: Any, groups: Any
    ) -> None:
        self.model, self.place = model, (X, y, w)
        self.data = self._opened(X, y, w)
        self.metrics = resolve_metrics(scoring, model)
        self.names = [each.name for each in self.metrics]
        self.splits = make_splits(
            folds, self.data.rows.n_rows, self.data.codes, groups, stratify=is_classifier(model)
        )
        if any(is_leave_one_out(split) for split in self.splits):
            _refuse_r2(self.names)

    def _opened(self, X: Any, y: Any, w: Any) -> CVData:
        return open_cv_data(self.model, X, y, w)

    def _closed(self, split: Split, candidates: Candidates) -> np.ndarray | None:
        """Scores that need no fit of each part, where there is a formula."""
        return leave_one_out_scores(self.data, split, candidates, self.metrics)

    def _fitted(self, split: Split, candidates: Candidates) -> FittedFolds:
        return fit_folds(self.data, split, candidates)

    def on_split(self, split: Split, candidates: Candidates, *, train: bool) -> FoldScores:
        with one_blas_thread(), monitor_fit(f"{type(self.model).__name__} in parts"):
            start = perf_counter()
            fits = train or self.keeps_models
            closed = None if fits else self._closed(split, candidates)
            if closed is not None:
                return FoldScores(closed, None, [], perf_counter() - start, 0.0)
            fitted = self._fitted(split, candidates)
            middle = perf_counter()
            test = score_folds(self.data, split, fitted, self.metrics)
            seen = None
            if train:
                seen = score_folds(self.data, split, fitted, self.metrics, on="train")
        return FoldScores(test, seen, fitted.models, middle - start, perf_counter() - middle)

    def refit(self, settings: dict[str, Any]) -> Any:
        X, y, w = self.place
        model = clone_with_params(self.model, settings)
        return model.fit(X, y) if w is None else model.fit(X, y, sample_weight=w)


def _refuse_r2(names: list[str]) -> None:
    if {"r2", "explained_variance"} & set(names):
        raise ValueError(
            "one row has no R^2: with folds='loo' choose scoring='neg_mean_squared_error'"
        )


class PipelineEvaluator(RowsEvaluator):
    """A pipeline whose every step follows from the moments of the rows."""

    def _opened(self, X: Any, y: Any, w: Any) -> CVData:
        return open_cv_data(self.model[-1], X, y, w)

    def _closed(self, split: Split, candidates: Candidates) -> None:
        """The last step's formula knows nothing of the steps before it."""

    def _fitted(self, split: Split, candidates: Candidates) -> FittedFolds:
        found = fit_pipelines(self.data, self.model, split, candidates)
        return found or fit_in_memory(self.data, self.model, split, candidates)

    def refit(self, settings: dict[str, Any]) -> Any:
        X, y, w = load_in_memory(*self.place)
        return clone_with_params(self.model, settings).fit(X, y, **weight_kwargs(self.model, w))


class InMemoryEvaluator(Evaluator):
    """A model that knows no rows, or a score that needs them all: in memory, by scikit-learn."""

    def __init__(
        self, model: Any, X: Any, y: Any, w: Any, folds: Any, scoring: Any, groups: Any
    ) -> None:
        self.model = model
        self.X, self.y, self.w = cast("tuple[Any, Any, Any]", indexable(*load_in_memory(X, y, w)))
        self.scorers = resolve_scorers(scoring, model)
        self.names = list(self.scorers)
        n = np.shape(self.X)[0] if hasattr(self.X, "shape") else len(self.X)
        target = None if self.y is None else np.asarray(self.y)
        self.splits = make_splits(folds, n, target, groups, stratify=is_classifier(model))

    def on_split(self, split: Split, candidates: Candidates, *, train: bool) -> FoldScores:
        pairs = [
            (split.rows(split.train[i]), split.rows(split.test[i])) for i in range(split.parts)
        ]
        runs = [self._run(settings, pairs, train=train) for settings in candidates]
        test = np.stack([[r[f"test_{m}"] for m in self.names] for r in runs]).transpose(2, 0, 1)
        seen = None
        if train:
            seen = np.stack([[r[f"train_{m}"] for m in self.names] for r in runs])
            seen = seen.transpose(2, 0, 1)
        models = [[r["estimator"][p] for r in runs] for p in range(split.parts)]
        seconds = [sum(r[key].sum() for r in runs) for key in ("fit_time", "score_time")]
        return FoldScores(test, seen, models, *seconds)

    def _run(self, settings: dict[str, Any], pairs: list, *, train: bool) -> dict[str, Any]:
        return sklearn_cross_validate(
            clone_with_params(self.model, settings),
            self.X,
            self.y,
            cv=pairs,
            scoring=self.scorers,
            params=weight_kwargs(self.model, self.w),
            return_train_score=train,
            return_estimator=True,
            error_score=cast("Any", "raise"),
        )

    def refit(self, settings: dict[str, Any]) -> Any:
        more = weight_kwargs(self.model, self.w)
        return clone_with_params(self.model, settings).fit(self.X, self.y, **more)


def resolve_scorers(scoring: Any, model: Any) -> dict[str, Any]:
    """Scorers by name, for models that know no rows."""
    if isinstance(scoring, dict):
        return {name: get_scorer(each) for name, each in scoring.items()}
    if scoring is None:
        [wanted] = resolve_metrics(None, model)
        return {wanted.name: _model_score if isinstance(wanted, ModelScore) else wanted.name}
    wanted = scoring if isinstance(scoring, list | tuple) else [scoring]
    return dict(_named_scorer(each) for each in wanted)


def _named_scorer(each: Any) -> tuple[str, Any]:
    if isinstance(each, Metric):
        return each.name, partial(_metric_scorer, each)
    if callable(each):
        return getattr(each, "__name__", "score"), each
    return each, get_scorer(each)


def _model_score(model: Any, X: Any, y: Any = None) -> float:
    return float(model.score(X, y))


def _metric_scorer(each: Metric, model: Any, X: Any, y: Any) -> float:
    """A metric as scikit-learn calls a scorer."""
    classes = getattr(model, "classes_", None)
    codes = y if classes is None else np.searchsorted(classes, y)
    k = None if classes is None else len(classes)
    return each.value(each.part(codes, predictions(model, X, each.wants, classes), None, k))
