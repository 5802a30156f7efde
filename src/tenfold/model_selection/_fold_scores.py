"""Scores of all folds in one pass; leave-one-out scores in closed form."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any, cast

import numpy as np

from tenfold.base.mixins import ProbabilisticClassifier, probabilities
from tenfold.base.one_pass import OnePass
from tenfold.base.protocols import SupportsFoldPredictions, SupportsLeaveOneOut
from tenfold.engine.chunk import Chunk
from tenfold.engine.lockstep import LaneJob, run_in_lockstep
from tenfold.engine.merge_tree import to_accumulator
from tenfold.engine.rows import Rows
from tenfold.engine.subset import RowSelection
from tenfold.metrics._predictions import predictions
from tenfold.metrics.base import Metric
from tenfold.model_selection._fold_models import Candidates, FittedFolds
from tenfold.model_selection._linear_pipelines import linear_coefficients
from tenfold.model_selection.cv_data import CVData
from tenfold.model_selection.splits import Split, is_leave_one_out
from tenfold.stats.moments import Moments

_MIN_RESIDUAL_SHARE = 1e-5  # of the target's sum of squares: smaller residuals are lost to rounding
_SQUARED_ERROR_METRICS = ("r2", "neg_mean_squared_error", "neg_root_mean_squared_error")


def score_folds(
    data: CVData, split: Split, fitted: FittedFolds, metrics: list[Metric], *, on: str = "test"
) -> np.ndarray:
    """Scores (folds, candidates, metrics) of the models of each fold on its test (or train) rows.

    Squared errors of linear models follow from second moments; all other scores share one pass.
    """
    if on == "test" and (scores := _score_from_moments(data, fitted, metrics)) is not None:
        return scores
    if isinstance(metrics[0], ModelScore):
        return _score_by_model(data, split, fitted, on)
    cells = getattr(split, on)
    sets = [
        RowSelection.of(split.cell, cells[i], data.rows.source.grid) for i in range(split.parts)
    ]
    with (
        warnings.catch_warnings()
    ):  # here, not in the chunk function: filters are shared by threads
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        parts = data.rows.total(fold_statistics, sets, fitted.models, metrics, data.classes)
    scores = np.empty((split.parts, len(fitted.models[0]), len(metrics)))
    for (p, c, m), _ in np.ndenumerate(scores):
        if parts[p][c][m] is None:
            raise ValueError(f"fold {p} has no test rows: use fewer folds")
        scores[p, c, m] = metrics[m].value(parts[p][c][m])
    return scores


class ModelScore(Metric):
    """The model's own `score`: of components, clusters, densities."""

    name, wants = "score", "rows"


def _score_by_model(data: CVData, split: Split, fitted: FittedFolds, on: str) -> np.ndarray:
    """Scores (folds, candidates, 1) by the models' own `score`."""
    cells = getattr(split, on)
    jobs = [LaneJob(cells[p], partial(_model_scores, fitted.models[p])) for p in range(split.parts)]
    return np.array(run_in_lockstep(data.rows, split.cell, jobs, data.class_counts(split)))[
        :, :, None
    ]


def _model_scores(models: list[Any], rows: Rows) -> list[float]:
    return [float(model.score(rows)) for model in models]


def _score_from_moments(
    data: CVData, fitted: FittedFolds, metrics: list[Metric]
) -> np.ndarray | None:
    """Scores from the moments of the test rows, if these are precise enough."""
    names = [metric.name for metric in metrics]
    is_linear = data.model._fits_from_moments and data.rows.dtype == np.float64
    if (
        fitted.test_statistics is None
        or not is_linear
        or not all(name in _SQUARED_ERROR_METRICS for name in names)
    ):
        return None
    scores = np.empty((len(fitted.models), len(fitted.models[0]), len(names)))
    for p, (models, s) in enumerate(zip(fitted.models, fitted.test_statistics, strict=True)):
        for c, model in enumerate(models):
            residual, total = residual_squares(s, *linear_coefficients(model))
            if not (residual > _MIN_RESIDUAL_SHARE * total).all() or not (total > 0).all():
                return None
            scores[p, c] = [_score_from_squares(name, residual, total, s.n) for name in names]
    return scores


def residual_squares(
    s: Moments, coef: np.ndarray, intercept: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Sums of squares of the residuals, and of the targets about their means, from moments."""
    E = np.hstack([-coef, np.eye(len(coef))])
    bias = E @ s.mean - intercept
    residual = ((E @ s.scatter) * E).sum(axis=1) + s.n * bias**2
    return residual, s.scatter.diagonal()[coef.shape[1] :]


def _score_from_squares(name: str, residual: np.ndarray, total: np.ndarray, n: float) -> float:
    if name == "r2":
        return float((1 - residual / total).mean())
    mean = residual / n
    return -float((mean if name == "neg_mean_squared_error" else np.sqrt(mean)).mean())


def fold_statistics(
    chunk: Chunk,
    sets: list[RowSelection],
    models: list[list[Any]],
    metrics: list[Metric],
    classes: np.ndarray | None,
) -> list[list[list[Any]]]:
    """Statistics of every metric of every model on its rows of a chunk."""
    parts = [selection.part(chunk) for selection in sets]
    return [
        [_metric_statistics(part, model, metrics, classes) for model in row]
        for part, row in zip(parts, models, strict=True)
    ]


def _metric_statistics(
    part: Chunk | None, model: Any, metrics: list[Metric], classes: np.ndarray | None
) -> list[Any]:
    if part is None:
        return [None] * len(metrics)
    kinds = {metric.wants for metric in metrics}
    predicted = {kind: _predict_chunk(model, part.X, kind, classes) for kind in kinds}
    k = None if classes is None else len(classes)
    return [
        to_accumulator(metric.part(part.y, predicted[metric.wants], part.w, k))
        for metric in metrics
    ]


def _predict_chunk(model: Any, X: Any, wants: str, classes: np.ndarray | None) -> np.ndarray:
    """Predictions for validated rows: the chunk function of the model, without its validation."""
    is_default = (
        getattr(type(model), "predict_proba", None) is ProbabilisticClassifier.predict_proba
    )
    if not is_default or wants != "probabilities" or classes is None:
        return predictions(model, X, wants, classes)
    if not np.array_equal(model.classes_, classes):
        return predictions(model, X, wants, classes)
    return probabilities(Chunk(X), *model._scorer())


_ROW_LOSSES = {
    "neg_mean_squared_error": np.square,
    "neg_root_mean_squared_error": np.abs,
    "neg_mean_absolute_error": np.abs,
    "neg_max_error": np.abs,
}


def leave_one_out_scores(
    data: CVData, split: Split, candidates: Candidates, metrics: list[Metric]
) -> np.ndarray | None:
    """Scores (rows, candidates, metrics) without refits; None if there is no closed form."""
    model = data.model
    names = [metric.name for metric in metrics]
    if not (is_leave_one_out(split) and all(name in _ROW_LOSSES for name in names)):
        return None
    if not isinstance(model, OnePass) or not isinstance(model, SupportsLeaveOneOut):
        return None
    s = model._statistic(data.rows)
    if not model._statistic_suffices(s, data.rows.n_rows - 1, data.rows.dtype, candidates):
        return None
    y = data.rows.each(chunk_target)
    scores = np.empty((len(y), len(candidates), len(metrics)))
    for c, candidate in enumerate(model._models_from_statistic(s, data.rows.dtype, candidates)):
        prediction = candidate._leave_one_out(s)
        if prediction is None:
            return None
        errors = y - data.rows.each(*prediction).reshape(y.shape)
        if not np.isfinite(errors).all():  # a row with leverage 1
            return None
        for m, name in enumerate(names):
            losses = _ROW_LOSSES[name](errors)
            scores[:, c, m] = -(losses if losses.ndim == 1 else losses.mean(axis=1))
    return scores


def out_of_fold_scores(
    data: CVData, split: Split, candidates: Candidates, metrics: list[Metric]
) -> np.ndarray | None:
    """Scores (folds, candidates, metrics) of a model that predicts all folds at once.

    None if it cannot, or if the folds do not learn from all rows that they are not tested on.
    """
    model, fold = data.model, fold_of_rows(split)
    if fold is None or not isinstance(model, SupportsFoldPredictions):
        return None
    kinds = {metric.wants for metric in metrics}
    predicted = {k: model._predict_folds(data.rows, fold, candidates, k) for k in kinds}
    if any(found is None for found in predicted.values()):
        return None
    y = data.codes if data.codes is not None else data.rows.each(chunk_target)
    k = None if data.classes is None else len(data.classes)
    scores = np.empty((split.parts, len(candidates), len(metrics)))
    order = np.argsort(fold, kind="stable")
    places = np.split(order, np.cumsum(np.bincount(fold, minlength=split.parts))[:-1])
    for (p, c, m), _ in np.ndenumerate(scores):
        values = cast("Any", predicted[metrics[m].wants])[c][places[p]]
        scores[p, c, m] = metrics[m].value(
            to_accumulator(metrics[m].part(y[places[p]].astype(y.dtype), values, None, k))
        )
    return scores


def fold_of_rows(split: Split) -> np.ndarray | None:
    """The fold that each row is tested in, if it learns from all rows of other folds; else None."""
    if split.order is not None:
        return None
    if is_leave_one_out(split):
        return split.cell.astype(np.int64)
    test, train = np.asarray(split.test, bool), np.asarray(split.train, bool)
    if not np.array_equal(test, ~train) or not (test.sum(axis=0) == 1).all():
        return None
    return test.argmax(axis=0)[split.cell]


def chunk_target(chunk: Chunk) -> np.ndarray:
    """The target of a chunk."""
    return chunk.y.astype(np.float64)
