"""How predictions are judged: one deciding score per task, and others beside it.

Predictions are values (regression) or probabilities of all classes; all scores are computed from
them, so that every model is judged by the same numbers that the report shows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.metrics.metric import METRICS, metric

REGRESSION, TWO_CLASS, MULTI_CLASS, CLUSTERS = "regression", "two-class", "multi-class", "clusters"
TASKS = (REGRESSION, TWO_CLASS, MULTI_CLASS, CLUSTERS)
REPORTED = {
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
UNBALANCED = 0.8  # share of the larger of two classes beyond which accuracy says little
ONLY_TWO = ("roc_auc", "f1", "precision", "recall", "informedness", "average_precision")


class Scoring(NamedTuple):
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
        one = metric(name or self.deciding)
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
        return "neg_log_loss" if metric(self.deciding).wants == "labels" else self.deciding


def scoring_of(task: str, y: np.ndarray, k: int | None, asked: str | None) -> Scoring:
    """The scores of a task.

    By default R² decides a regression, accuracy a choice of classes; the area under the ROC curve
    where the larger of two classes has more than 80 % of the rows.
    """
    name = asked or _default(task, y)
    if name not in METRICS:
        raise ValueError(f"there is no metric {name!r}; for this task there are {_fitting(task)}")
    if name not in _fitting(task):
        raise ValueError(f"metric {name!r} does not suit {task}: there are {_fitting(task)}")
    others = (each for each in REPORTED[task] if each != name)
    return Scoring(name, (name, *others), k)


def _default(task: str, y: np.ndarray) -> str:
    if task == REGRESSION:
        return "r2"
    largest = np.bincount(y).max() / len(y)
    return "roc_auc" if task == TWO_CLASS and largest > UNBALANCED else "accuracy"


def _fitting(task: str) -> list[str]:
    """Names of the metrics that suit a task."""
    values = task == REGRESSION
    names = [name for name, each in METRICS.items() if (each.wants == "values") == values]
    return names if task != MULTI_CLASS else [name for name in names if name not in ONLY_TWO]


def predictions_of(model: Any, X: Any, k: int | None) -> np.ndarray:
    """Values of a regressor as float64, or probabilities of all k classes."""
    if k is None:
        return np.asarray(model.predict(X), np.float64)
    return np.asarray(model.predict_proba(X), np.float64)
