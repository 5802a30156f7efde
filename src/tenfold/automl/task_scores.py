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
_UNBALANCED_SHARE = 0.8  # share of the larger of two classes beyond which accuracy says little
_BINARY_METRICS = ("roc_auc", "f1", "precision", "recall", "informedness", "average_precision")


class TaskScoring(NamedTuple):
    """The deciding score, and the others that are reported beside it.

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
        one = get_metric(name or self.deciding)
        return float(one.value(one.part(y, self._as_wanted(predicted, one.wants), None, self.k)))

    def scores(self, y: np.ndarray, predicted: np.ndarray) -> dict[str, float]:
        """All scores by name."""
        return {name: self.score(y, predicted, name) for name in self.names}

    def _as_wanted(self, predicted: np.ndarray, wants: str) -> np.ndarray:
        if wants == "labels":
            return predicted.argmax(axis=1)
        return predicted[:, 1] if wants == "scores" and self.k == 2 else predicted

    @property
    def tuning(self) -> str:
        """By which score settings are chosen: log loss where labels alone would be too coarse."""
        return "neg_log_loss" if get_metric(self.deciding).wants == "labels" else self.deciding


def make_scoring(task: str, y: np.ndarray, k: int | None, asked: str | None) -> TaskScoring:
    """The scores of a task.

    By default R² decides a regression, accuracy a choice of classes; the area under the ROC curve
    where the larger of two classes has more than 80 % of the rows.
    """
    name = asked or _default_metric(task, y)
    if name not in METRICS:
        raise ValueError(
            f"there is no metric {name!r}; for this task there are {_metrics_for_task(task)}"
        )
    if name not in _metrics_for_task(task):
        raise ValueError(
            f"metric {name!r} does not suit {task}: there are {_metrics_for_task(task)}"
        )
    others = (each for each in _REPORTED_METRICS[task] if each != name)
    return TaskScoring(name, (name, *others), k)


def _default_metric(task: str, y: np.ndarray) -> str:
    if task == REGRESSION:
        return "r2"
    largest = np.bincount(y).max() / len(y)
    return "roc_auc" if task == TWO_CLASS and largest > _UNBALANCED_SHARE else "accuracy"


def _metrics_for_task(task: str) -> list[str]:
    """Names of the metrics that suit a task."""
    values = task == REGRESSION
    names = [name for name, each in METRICS.items() if (each.wants == "values") == values]
    return names if task != MULTI_CLASS else [name for name in names if name not in _BINARY_METRICS]


def predict_outputs(model: Any, X: Any, k: int | None) -> np.ndarray:
    """Values of a regressor as float64, or probabilities of all k classes."""
    if k is None:
        return np.asarray(model.predict(X), np.float64)
    return np.asarray(model.predict_proba(X), np.float64)


_BOOTSTRAP_DRAWS = 300
_MAX_BOOTSTRAP_ROWS = (
    20_000  # beyond it, the spread is that of scores of parts, brought to the whole
)
_SUBSAMPLE_ROWS = 5_000
_N_SUBSAMPLES = 40


def evaluate_predictions(
    y: np.ndarray, said: np.ndarray, scoring: TaskScoring, seed: int
) -> HoldoutEvaluation:
    """Scores of predictions with their intervals.

    Parameters
    ----------
    y : (n,) array
        Values, or class numbers.
    said : (n,) or (n, k) array
        Predicted values, or probabilities.
    scoring : Scoring
        The scores.
    seed : int
        Of the draws.
    """
    scores = scoring.scores(y, said)
    intervals = {
        name: _score_interval(name, score, y, said, scoring, seed) for name, score in scores.items()
    }
    if scoring.k is None:
        return HoldoutEvaluation(y, said, None, scores, intervals)
    return HoldoutEvaluation(y, said.argmax(axis=1), said, scores, intervals)


def _score_interval(
    name: str, score: float, y: np.ndarray, said: np.ndarray, scoring: TaskScoring, seed: int
) -> tuple[float, float]:
    """95 % interval: Wilson's for accuracy, else by drawing rows again."""
    if name == "accuracy":
        at = error_interval(round((1 - score) * len(y)), len(y))
        return 1 - at.high, 1 - at.low

    def measure(true: np.ndarray, predicted: np.ndarray) -> float:
        return scoring.score(true, predicted, name)

    if len(y) > _MAX_BOOTSTRAP_ROWS:
        return _subsample_interval(measure, score, y, said, seed)
    try:
        at = bootstrap_interval(
            measure, y, said, method="percentile", draws=_BOOTSTRAP_DRAWS, seed=seed
        )
    except ValueError:  # some draw lacks a class, say
        return score, score
    return at.low, at.high


def _subsample_interval(
    measure: Callable[..., float], score: float, y: np.ndarray, said: np.ndarray, seed: int
) -> tuple[float, float]:
    """The spread of scores of many rows, from that of scores of fewer."""
    rng = np.random.default_rng(seed)
    parts = (np.sort(rng.integers(len(y), size=_SUBSAMPLE_ROWS)) for _ in range(_N_SUBSAMPLES))
    spread = float(np.std([measure(y[rows], said[rows]) for rows in parts], ddof=1))
    half = 1.96 * spread * sqrt(_SUBSAMPLE_ROWS / len(y))
    return score - half, score + half
