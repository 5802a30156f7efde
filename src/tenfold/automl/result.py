"""Results of `tenfold.learn`, and their form as JSON."""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from tenfold.engine.atomic import write_atomic
from tenfold.model_selection.confidence_intervals import ConfidenceInterval, fold_interval
from tenfold.model_selection.cross_validation import format_leaderboard


@dataclass(frozen=True)
class Finding:
    """A diagnostic message about data or models.

    Attributes
    ----------
    kind : short name, such as "leak" or "duplicates"
    severity : "note", "warning" or "alarm"
    text : the message
    columns : names of the columns concerned
    """

    kind: str
    severity: str
    text: str
    columns: tuple[str, ...] = ()


@dataclass
class Attempt:
    """Cross-validation of a candidate model.

    Attributes
    ----------
    key, title : short name and title of the candidate
    params : hyperparameters: of the chosen model those of the final fit, else those of most folds
    scores : (n_folds,) deciding score of each fold, larger is better
    others : all scores by name, (n_folds,) each
    train : (n_folds,) deciding score on the training rows
    seconds : time of all folds
    eligible : whether it can be chosen
    simplicity : rank in the order of simplicity, 0 for the simplest
    note : why it was skipped, stopped or failed; None if it was finished
    predictions : out-of-fold, of the selection rows: values, or (n_rows, n_classes) probabilities
    fold_params : hyperparameters that each fold chose
    is_reference : whether it is evaluated for comparison only
    """

    key: str
    title: str
    params: dict[str, Any]
    scores: np.ndarray
    others: dict[str, np.ndarray] = field(repr=False)
    train: np.ndarray = field(repr=False)
    seconds: float
    eligible: bool
    simplicity: int
    note: str | None = None
    predictions: np.ndarray | None = field(default=None, repr=False)
    fold_params: list[dict[str, Any]] = field(default_factory=list, repr=False)
    is_reference: bool = False

    @property
    def is_finished(self) -> bool:
        """Whether all folds were evaluated."""
        return self.note is None

    @property
    def resumable(self) -> bool:
        """Whether only time was missing, so that a resumed study may finish it."""
        return self.note is not None and self.note.startswith(("skipped", "stopped"))

    @property
    def mean(self) -> float:
        """Mean deciding score over the evaluated folds; NaN if there is none."""
        return float(np.mean(self.scores)) if len(self.scores) else float("nan")

    @property
    def error(self) -> float:
        """Standard error of the mean, computed as if folds were independent."""
        n = len(self.scores)
        return float(np.std(self.scores, ddof=1) / np.sqrt(n)) if n > 1 else float("nan")

    def interval(self, level: float = 0.95) -> ConfidenceInterval:
        """Interval of the mean score, corrected for folds that share training rows."""
        return fold_interval(self.scores, level=level)


@dataclass
class HoldoutEvaluation:
    """Evaluation of the chosen model on the test rows.

    Attributes
    ----------
    y : (n_rows,) true values, or class indices
    predicted : (n_rows,) values, or class indices
    probabilities : (n_rows, n_classes), None for regression
    scores : by the names of metrics, larger is better
    intervals : 95 % confidence interval (low, high) of each score
    """

    y: np.ndarray = field(repr=False)
    predicted: np.ndarray = field(repr=False)
    probabilities: np.ndarray | None = field(repr=False)
    scores: dict[str, float]
    intervals: dict[str, tuple[float, float]]


@dataclass
class NeighborMap:
    """A map of rows that keeps their neighbors.

    Attributes
    ----------
    points : (n_points, 2) t-SNE of the rows
    labels : (n_points,) their clusters
    trust : trustworthiness of the map
    """

    points: np.ndarray = field(repr=False)
    labels: np.ndarray = field(repr=False)
    trust: float


@dataclass
class ClusterSummary:
    """Result of a study without a target.

    Attributes
    ----------
    sizes : (n_clusters,) rows of each cluster
    labels : (n_rows,) cluster of each row
    profiles : for each cluster, traits (column, in words, strength), the strongest first
    points : (n_points, 2) first two principal components of at most 5,000 rows
    point_labels : (n_points,) their clusters
    variance : explained variance ratio of each principal component
    names : names of the encoded columns
    loadings : of the first two components, pairs of a column and its weight, the largest first
    map : t-SNE of at most 1,500 rows, None where two components say all
    """

    sizes: np.ndarray
    labels: np.ndarray = field(repr=False)
    profiles: list[list[tuple[str, str, float]]]
    points: np.ndarray = field(repr=False)
    point_labels: np.ndarray = field(repr=False)
    variance: np.ndarray
    names: list[str]
    loadings: list[list[tuple[str, float]]] = field(default_factory=list)
    map: NeighborMap | None = None


@dataclass(repr=False)
class Study:
    """Result of `tenfold.learn`.

    Printed, it is the leaderboard and the test of the chosen model.

    Attributes
    ----------
    shown : description of the data source
    n_rows : rows of the table
    kinds : `ColumnKind` of each column
    notes : how the table was read
    said : messages about what was inferred and decided
    target, task, classes : target column; classes in their own type, None for regression
    metric : name of the deciding score
    folds, seed : of the cross-validation
    n_train, n_test, n_choosing : numbers of training, test and selection rows
    attempts : all candidates, in order of simplicity
    skipped : attempts that were not finished
    best, chosen : the highest mean score; the simplest within one standard error of it
    test : evaluation on the test rows
    test_rows, train_rows : at most 5,000 rows of each part, with the target
    choosing_y : (n_choosing,) target of the selection rows, see `Attempt.predictions`
    choosing_fold : (n_choosing,) the fold in which each was held out
    warnings : findings
    model : the chosen model, fitted on all training rows
    clusters : result of clustering, without a target
    seconds : time of the whole study
    settings : arguments of `learn`
    """

    shown: str
    n_rows: int
    kinds: dict[str, Any]
    notes: list[str]
    said: list[str]
    target: str | None
    task: str
    classes: list[Any] | None
    metric: str
    folds: int
    seed: int
    n_train: int
    n_test: int
    n_choosing: int
    attempts: list[Attempt]
    best: Attempt
    chosen: Attempt
    test: HoldoutEvaluation | None
    test_rows: Any
    train_rows: Any
    choosing_y: np.ndarray | None
    choosing_fold: np.ndarray | None
    warnings: list[Finding]
    model: Any
    seconds: float
    settings: dict[str, Any]
    clusters: ClusterSummary | None = None

    def __repr__(self) -> str:
        return f"<Study of {self.shown}: {self._describe_choice()}>"

    def __str__(self) -> str:
        return f"{self.leaderboard()}\n\n{self._describe_choice()}"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def _describe_choice(self) -> str:
        """The chosen model and its score on the test rows; without a target the clusters."""
        if self.test is None:
            sizes = [] if self.clusters is None else [f"{size:,}" for size in self.clusters.sizes]
            return f"{self.chosen.title}, of {' and '.join(sizes)} rows"
        score, (low, high) = self.test.scores[self.metric], self.test.intervals[self.metric]
        on = f"on {len(self.test.y):,} test rows"
        return f"{self.chosen.title} {on}: {self.metric} {score:.4f} ({low:.4f} to {high:.4f})"

    @property
    def skipped(self) -> list[Attempt]:
        """Attempts that were skipped, stopped, or failed."""
        return [attempt for attempt in self.attempts if not attempt.is_finished]

    @cached_property
    def ranking(self) -> list[Attempt]:
        """Attempts that were finished, the best first."""
        done = [attempt for attempt in self.attempts if attempt.is_finished]
        return sorted(done, key=lambda attempt: -attempt.mean)

    def attempt(self, key: str) -> Attempt:
        """The attempt of a candidate.

        Parameters
        ----------
        key : str
            Key of the candidate.
        """
        return next(attempt for attempt in self.attempts if attempt.key == key)

    def leaderboard(self) -> str:
        """The finished attempts as a table of text, the best first; the chosen one is marked."""
        rows = [
            (
                f"{'*' if attempt is self.chosen else ' '} {attempt.title}",
                attempt.mean,
                attempt.interval() if len(attempt.scores) > 1 else None,
                attempt.seconds,
            )
            for attempt in self.ranking
        ]
        return format_leaderboard(self.metric, rows)

    def metrics(self) -> dict[str, Any]:
        """All results in types that JSON has."""
        return study_to_dict(self)

    def save(self, folder: str | os.PathLike[str]) -> dict[str, Path]:
        """Write `model.tenfold` and `metrics.json`, each complete or not at all.

        Parameters
        ----------
        folder : path
            Created if it does not exist.

        Returns
        -------
        dict
            Path of each file by "model" and "metrics".
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        paths = {"model": folder / "model.tenfold", "metrics": folder / "metrics.json"}
        self.model.save(paths["model"])
        write_atomic(paths["metrics"], json.dumps(self.metrics(), indent=2, allow_nan=False) + "\n")
        return paths


def study_to_dict(study: Study) -> dict[str, Any]:
    """Contents of `metrics.json`."""
    return to_json_types(
        {
            "data": study.shown,
            "rows": study.n_rows,
            "columns": {name: _column_to_dict(kind) for name, kind in study.kinds.items()},
            "target": study.target,
            "task": study.task,
            "classes": study.classes,
            "metric": study.metric,
            "folds": study.folds,
            "seed": study.seed,
            "rows_train": study.n_train,
            "rows_test": study.n_test,
            "rows_choosing": study.n_choosing,
            "best": study.best.key,
            "chosen": study.chosen.key,
            "models": [_attempt_to_dict(attempt) for attempt in study.attempts],
            "test": None if study.test is None else _evaluation_to_dict(study.test),
            "clusters": None if study.clusters is None else _clusters_to_dict(study.clusters),
            "warnings": [vars(finding) for finding in study.warnings],
            "notes": study.notes,
            "said": study.said,
            "seconds": study.seconds,
            "settings": study.settings,
        }
    )


def _attempt_to_dict(attempt: Attempt) -> dict[str, Any]:
    ends = attempt.interval()[1:3] if len(attempt.scores) > 1 else None
    return {
        "key": attempt.key,
        "title": attempt.title,
        "mean": attempt.mean,
        "interval": ends,
        "scores": attempt.scores,
        "train_scores": attempt.train,
        "others": {name: np.mean(scores) for name, scores in attempt.others.items() if len(scores)},
        "params": attempt.params,
        "seconds": attempt.seconds,
        "eligible": attempt.eligible,
        "reference": attempt.is_reference,
        "note": attempt.note,
    }


def _evaluation_to_dict(test: HoldoutEvaluation) -> dict[str, Any]:
    return {"rows": len(test.y), "scores": test.scores, "intervals": test.intervals}


def _clusters_to_dict(clusters: ClusterSummary) -> dict[str, Any]:
    return {
        "sizes": clusters.sizes,
        "profiles": clusters.profiles,
        "variance": clusters.variance,
    }


def _column_to_dict(kind: Any) -> dict[str, Any]:
    names = ("kind", "missing", "distinct", "why", "low", "high", "mean")
    return {name: getattr(kind, name, None) for name in names}


def model_to_dict(model: Any) -> dict[str, Any]:
    """Description of a `TableModel` and its input columns."""
    last = model.model_[-1] if hasattr(model.model_, "steps") else model.model_
    return to_json_types(
        {
            "title": model.title_,
            "model": type(last).__name__,
            "task": model.task_,
            "target": model.target_,
            "classes": model.classes_,
            "columns": {name: column._asdict() for name, column in model.columns_.items()},
            "scores": model.scores_,
            "created": model.created_,
            "versions": model.versions_,
        }
    )


def to_json_types(value: Any) -> Any:
    """The same in types that JSON has; NaN and infinities become null.

    Examples
    --------
    >>> to_json_types({"a": np.float32(0.5), "b": (np.nan, np.arange(2))})
    {'a': 0.5, 'b': [None, [0, 1]]}
    """
    if isinstance(value, dict):
        return {str(key): to_json_types(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return to_json_types(value.tolist())
    if isinstance(value, np.generic):
        return to_json_types(value.item())
    if isinstance(value, list | tuple | set | frozenset):
        return [to_json_types(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    return str(value)
