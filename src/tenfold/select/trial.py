"""A trial: candidates, fitted and judged on every part of some splits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple, cast

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.metrics import get_scorer
from sklearn.model_selection import cross_validate as sklearn_cross_validate
from sklearn.pipeline import Pipeline
from sklearn.utils import indexable

from tenfold.metrics.metric import Metric, default_metric, metric
from tenfold.metrics.predicting import predictions
from tenfold.rows.blas import one_blas_thread
from tenfold.rows.watching.watch import watched
from tenfold.select.data import Data, anew, in_memory, is_ours, opened
from tenfold.select.fitting import Candidates, Fitted, fit_in_memory, fit_parts
from tenfold.select.judging import OwnScore, judge_parts
from tenfold.select.left_out import left_one_out
from tenfold.select.moment_pipelines import by_moments, fit_pipelines
from tenfold.select.splits import Split, leaves_one_out, make_splits


class Found(NamedTuple):
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


def joined(found: list[Found]) -> Found:
    """The parts of several splits one after the other."""
    if len(found) == 1:
        return found[0]
    seen = [f.train for f in found if f.train is not None]
    train = np.concatenate(seen) if seen else None
    return Found(
        np.concatenate([f.test for f in found]),
        train,
        [row for f in found for row in f.models],
        sum(f.fit_seconds for f in found),
        sum(f.score_seconds for f in found),
    )


class Trial(ABC):
    """Something that can judge candidates; `names` are those of the scores."""

    names: list[str]
    splits: list[Split]
    classifies: bool

    def run(self, candidates: Candidates, *, train: bool = False) -> Found:
        """Fit and judge every candidate on every part."""
        return joined([self.on_split(split, candidates, train=train) for split in self.splits])

    @abstractmethod
    def on_split(self, split: Split, candidates: Candidates, *, train: bool) -> Found:
        """Fit and judge on the parts of one split."""

    @abstractmethod
    def refit(self, settings: dict[str, Any]) -> Any:
        """The model with these settings, fitted on all rows."""


def trial_of(
    model: Any, X: Any, y: Any, *, folds: Any, scoring: Any, groups: Any, sample_weight: Any
) -> Trial:
    """The trial that suits a model."""
    own = isinstance(scoring, str | Metric) or scoring is None or _all_metrics(scoring)
    place = (X, y, sample_weight)
    if is_ours(model) and own:
        return OurTrial(model, *place, folds, scoring, groups)
    if own and isinstance(model, Pipeline) and by_moments(model):
        return PipelineTrial(model, *place, folds, scoring, groups)
    return OtherTrial(model, *place, folds, scoring, groups)


def _all_metrics(scoring: Any) -> bool:
    return isinstance(scoring, list | tuple) and all(isinstance(s, str | Metric) for s in scoring)


def metrics_of(scoring: Any, model: Any) -> list[Metric]:
    """The metrics that are asked for; by default what suits the model."""
    if scoring is None and not (is_classifier(model) or is_regressor(model)):
        return [OwnScore()]
    if scoring is None:
        return [default_metric(is_classifier(model))]
    wanted = scoring if isinstance(scoring, list | tuple) else [scoring]
    return [metric(each) for each in wanted]


class OurTrial(Trial):
    """A model of tenfold, on rows anywhere."""

    def __init__(
        self, model: Any, X: Any, y: Any, w: Any, folds: Any, scoring: Any, groups: Any
    ) -> None:
        self.model, self.place = model, (X, y, w)
        self.data = self._opened(X, y, w)
        self.classifies = is_classifier(model)
        self.metrics = metrics_of(scoring, model)
        self.names = [each.name for each in self.metrics]
        self.splits = make_splits(
            folds, self.data.rows.n_rows, self._looked_at(folds), groups, stratify=self.classifies
        )
        if any(leaves_one_out(split) for split in self.splits):
            _refuse_r2(self.names)

    def _opened(self, X: Any, y: Any, w: Any) -> Data:
        return opened(self.model, X, y, w)

    def _looked_at(self, folds: Any) -> np.ndarray | None:
        """What a splitter may look at: class numbers."""
        return self.data.codes

    def _fitted(self, split: Split, candidates: Candidates) -> Fitted:
        return fit_parts(self.data, split, candidates)

    def on_split(self, split: Split, candidates: Candidates, *, train: bool) -> Found:
        with one_blas_thread(), watched(f"{type(self.model).__name__} in parts"):
            start = perf_counter()
            closed = left_one_out(self.data, split, candidates, self.metrics)
            if closed is not None and not train:
                return Found(closed, None, [], perf_counter() - start, 0.0)
            fitted = self._fitted(split, candidates)
            middle = perf_counter()
            test = judge_parts(self.data, split, fitted, self.metrics)
            seen = None
            if train:
                seen = judge_parts(self.data, split, fitted, self.metrics, on="train")
        return Found(test, seen, fitted.models, middle - start, perf_counter() - middle)

    def refit(self, settings: dict[str, Any]) -> Any:
        X, y, w = self.place
        model = anew(self.model, settings)
        return model.fit(X, y) if w is None else model.fit(X, y, sample_weight=w)


def _refuse_r2(names: list[str]) -> None:
    if {"r2", "explained_variance"} & set(names):
        raise ValueError(
            "one row has no R^2: with folds='loo' choose scoring='neg_mean_squared_error'"
        )


class PipelineTrial(OurTrial):
    """A pipeline whose every step follows from the moments of the rows."""

    def _opened(self, X: Any, y: Any, w: Any) -> Data:
        return opened(self.model[-1], X, y, w)

    def _fitted(self, split: Split, candidates: Candidates) -> Fitted:
        found = fit_pipelines(self.data, self.model, split, candidates)
        return found or fit_in_memory(self.data, self.model, split, candidates)

    def refit(self, settings: dict[str, Any]) -> Any:
        X, y, w = in_memory(*self.place)
        weight = {} if w is None else {f"{self.model.steps[-1][0]}__sample_weight": w}
        return anew(self.model, settings).fit(X, y, **weight)


class OtherTrial(Trial):
    """A model that knows no rows, or a score that needs them all: in memory, by scikit-learn."""

    def __init__(
        self, model: Any, X: Any, y: Any, w: Any, folds: Any, scoring: Any, groups: Any
    ) -> None:
        self.model = model
        self.X, self.y, self.w = cast("tuple[Any, Any, Any]", indexable(*in_memory(X, y, w)))
        self.classifies = is_classifier(model)
        self.scorers = scorers_of(scoring, classifies=self.classifies)
        self.names = list(self.scorers)
        n = np.shape(self.X)[0] if hasattr(self.X, "shape") else len(self.X)
        target = None if self.y is None else np.asarray(self.y)
        self.splits = make_splits(folds, n, target, groups, stratify=self.classifies)

    def on_split(self, split: Split, candidates: Candidates, *, train: bool) -> Found:
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
        return Found(test, seen, models, *seconds)

    def _run(self, settings: dict[str, Any], pairs: list, *, train: bool) -> dict[str, Any]:
        return sklearn_cross_validate(
            anew(self.model, settings),
            self.X,
            self.y,
            cv=pairs,
            scoring=self.scorers,
            params=self._weights(),
            return_train_score=train,
            return_estimator=True,
            error_score=cast("Any", "raise"),
        )

    def _weights(self) -> dict[str, Any] | None:
        if self.w is None:
            return None
        last = self.model.steps[-1][0] + "__" if isinstance(self.model, Pipeline) else ""
        return {f"{last}sample_weight": self.w}

    def refit(self, settings: dict[str, Any]) -> Any:
        return anew(self.model, settings).fit(self.X, self.y, **self._weights() or {})


def scorers_of(scoring: Any, *, classifies: bool) -> dict[str, Any]:
    """Scorers by name, for models that know no rows."""
    if isinstance(scoring, dict):
        return {name: get_scorer(each) for name, each in scoring.items()}
    if scoring is None:
        return {default_metric(classifies).name: "accuracy" if classifies else "r2"}
    wanted = scoring if isinstance(scoring, list | tuple) else [scoring]
    return dict(_named(each) for each in wanted)


def _named(each: Any) -> tuple[str, Any]:
    if isinstance(each, Metric):
        return each.name, partial(_score, each)
    if callable(each):
        return getattr(each, "__name__", "score"), each
    return each, get_scorer(each)


def _score(each: Metric, model: Any, X: Any, y: Any) -> float:
    """A metric as scikit-learn calls a scorer."""
    classes = getattr(model, "classes_", None)
    codes = y if classes is None else np.searchsorted(classes, y)
    k = None if classes is None else len(classes)
    return each.value(each.part(codes, predictions(model, X, each.wants, classes), None, k))
