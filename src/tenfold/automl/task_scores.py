"""Metrics of each task, and scores of predictions with their confidence intervals."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from tenfold.automl.result import HoldoutEvaluation
from tenfold.metrics.registry import METRICS, get_metric
from tenfold.model_selection.confidence_intervals import bootstrap_interval, error_interval

REGRESSION, TWO_CLASS, MULTI_CLASS, CLUSTERS = "regression", "two-class", "multi-class", "clusters"
RECOMMENDATION = "recommendation"
TASKS = (REGRESSION, TWO_CLASS, MULTI_CLASS, CLUSTERS)
_REPORTED_METRICS = {
    REGRESSION: ("r2", "neg_root_mean_squared_error", "neg_mean_absolute_error"),
    TWO_CLASS: (
        "accuracy",
        "roc_auc",
        "average_precision",
        "balanced_accuracy",
        "f1",
        "neg_log_loss",
        "neg_brier_score",
    ),
    MULTI_CLASS: ("accuracy", "balanced_accuracy", "f1_macro", "roc_auc_ovr", "neg_log_loss"),
}
_UNBALANCED_SHARE = 0.8  # fraction of the larger of two classes beyond which ROC AUC decides
_BINARY_METRICS = ("roc_auc", "f1", "precision", "recall", "informedness", "average_precision")


class TaskScoring(NamedTuple):
    """The deciding score, and the other reported scores.

    Attributes
    ----------
    deciding : name of the deciding score
    names : names of all scores, the deciding one first
    k : number of classes; None for regression
    """

    deciding: str
    names: tuple[str, ...]
    k: int | None

    def score(self, y: np.ndarray, predicted: np.ndarray, name: str | None = None) -> float:
        """A score of predictions; the deciding one by default."""
        metric = get_metric(name or self.deciding)
        inputs = self._metric_input(predicted, metric.wants)
        return float(metric.value(metric.part(y, inputs, None, self.k)))

    def scores(self, y: np.ndarray, predicted: np.ndarray) -> dict[str, float]:
        """All scores by name."""
        return {name: self.score(y, predicted, name) for name in self.names}

    def _metric_input(self, predicted: np.ndarray, wants: str) -> np.ndarray:
        if wants == "labels":
            return predicted.argmax(axis=1)
        return predicted[:, 1] if wants == "scores" and self.k == 2 else predicted

    @property
    def tuning(self) -> str:
        """Score for hyperparameters: log loss where the deciding score uses labels alone."""
        return "neg_log_loss" if get_metric(self.deciding).wants == "labels" else self.deciding


def make_scoring(task: str, y: np.ndarray, k: int | None, metric: str | None) -> TaskScoring:
    """The scores of a task.

    By default R² decides for regression, accuracy for classification, and the area under the ROC
    curve where the larger of two classes has more than 80 % of the rows.
    """
    name = metric or _default_metric(task, y)
    if name not in METRICS:
        raise ValueError(
            f"there is no metric {name!r}; for this task there are {_metrics_for_task(task)}"
        )
    if name not in _metrics_for_task(task):
        raise ValueError(
            f"metric {name!r} does not suit {task}: there are {_metrics_for_task(task)}"
        )
    others = (other for other in _REPORTED_METRICS[task] if other != name)
    return TaskScoring(name, (name, *others), k)


def _default_metric(task: str, y: np.ndarray) -> str:
    if task == REGRESSION:
        return "r2"
    largest = np.bincount(y).max() / len(y)
    return "roc_auc" if task == TWO_CLASS and largest > _UNBALANCED_SHARE else "accuracy"


def _metrics_for_task(task: str) -> list[str]:
    """Names of the metrics that suit a task."""
    values = task == REGRESSION
    names = [name for name, metric in METRICS.items() if (metric.wants == "values") == values]
    return names if task != MULTI_CLASS else [name for name in names if name not in _BINARY_METRICS]


def predict_outputs(model: Any, X: Any, k: int | None) -> np.ndarray:
    """Values of a regressor as float64, or probabilities of all k classes."""
    if k is None:
        return np.asarray(model.predict(X), np.float64)
    return np.asarray(model.predict_proba(X), np.float64)


_BOOTSTRAP_DRAWS = 300
_MAX_BOOTSTRAP_ROWS = 20_000  # with more rows, the standard error is scaled up from subsamples
_SUBSAMPLE_ROWS = 5_000
_N_SUBSAMPLES = 40


def evaluate_predictions(
    y: np.ndarray, predictions: np.ndarray, scoring: TaskScoring, seed: int
) -> HoldoutEvaluation:
    """Scores of predictions with confidence intervals.

    Parameters
    ----------
    y : (n_rows,) array
        Values, or class indices.
    predictions : (n_rows,) or (n_rows, n_classes) array
        Predicted values, or probabilities.
    scoring : TaskScoring
        The scores.
    seed : int
        Seed of the bootstrap.
    """
    scores = scoring.scores(y, predictions)
    intervals = {
        name: _score_interval(name, score, y, predictions, scoring, seed)
        for name, score in scores.items()
    }
    if scoring.k is None:
        return HoldoutEvaluation(y, predictions, None, scores, intervals)
    return HoldoutEvaluation(y, predictions.argmax(axis=1), predictions, scores, intervals)


def _score_interval(
    name: str, score: float, y: np.ndarray, predictions: np.ndarray, scoring: TaskScoring, seed: int
) -> tuple[float, float]:
    """95 % interval: Wilson's for accuracy, else by the bootstrap."""
    if name == "accuracy":
        interval = error_interval(round((1 - score) * len(y)), len(y))
        return 1 - interval.high, 1 - interval.low

    def measure(true: np.ndarray, predicted: np.ndarray) -> float:
        return scoring.score(true, predicted, name)

    if len(y) > _MAX_BOOTSTRAP_ROWS:
        return _subsample_interval(measure, score, y, predictions, seed)
    try:
        interval = bootstrap_interval(
            measure, y, predictions, method="percentile", draws=_BOOTSTRAP_DRAWS, seed=seed
        )
    except ValueError:  # a bootstrap sample may lack a class
        return score, score
    return interval.low, interval.high


def _subsample_interval(
    measure: Callable[..., float], score: float, y: np.ndarray, predictions: np.ndarray, seed: int
) -> tuple[float, float]:
    """Normal interval, with a standard error scaled from scores of subsamples."""
    rng = np.random.default_rng(seed)
    parts = (np.sort(rng.integers(len(y), size=_SUBSAMPLE_ROWS)) for _ in range(_N_SUBSAMPLES))
    deviation = float(np.std([measure(y[rows], predictions[rows]) for rows in parts], ddof=1))
    half = 1.96 * deviation * sqrt(_SUBSAMPLE_ROWS / len(y))
    return score - half, score + half
