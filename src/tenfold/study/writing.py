"""A study as JSON: numbers, text, lists and dictionaries, and nothing that is no number."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tenfold.study.result import Attempt, Clusters, Judged, Study


def as_json(study: Study) -> dict[str, Any]:
    """What `metrics.json` holds."""
    return plain(
        {
            "data": study.shown,
            "rows": study.n_rows,
            "columns": {name: _kind(kind) for name, kind in study.kinds.items()},
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
            "models": [_attempt(attempt) for attempt in study.attempts],
            "test": None if study.test is None else _judged(study.test),
            "clusters": None if study.clusters is None else _clusters(study.clusters),
            "warnings": [vars(finding) for finding in study.warnings],
            "notes": study.notes,
            "said": study.said,
            "seconds": study.seconds,
            "settings": study.settings,
        }
    )


def _attempt(attempt: Attempt) -> dict[str, Any]:
    ends = attempt.interval()[1:3] if len(attempt.scores) > 1 else None
    return {
        "key": attempt.key,
        "title": attempt.title,
        "mean": attempt.mean,
        "interval": ends,
        "scores": attempt.scores,
        "train_scores": attempt.train,
        "others": {name: np.mean(each) for name, each in attempt.others.items() if len(each)},
        "params": attempt.params,
        "seconds": attempt.seconds,
        "eligible": attempt.eligible,
        "yardstick": attempt.yardstick,
        "note": attempt.note,
    }


def _judged(judged: Judged) -> dict[str, Any]:
    return {"rows": len(judged.y), "scores": judged.scores, "intervals": judged.intervals}


def _clusters(clusters: Clusters) -> dict[str, Any]:
    return {
        "sizes": clusters.sizes,
        "profiles": clusters.profiles,
        "variance": clusters.variance,
    }


def _kind(kind: Any) -> dict[str, Any]:
    names = ("kind", "missing", "distinct", "why", "low", "high", "mean")
    return {name: getattr(kind, name, None) for name in names}


def of_model(model: Any) -> dict[str, Any]:
    """What a model of tables is, and what it needs."""
    last = model.model_[-1] if hasattr(model.model_, "steps") else model.model_
    return plain(
        {
            "title": model.title_,
            "model": type(last).__name__,
            "task": model.task_,
            "target": model.target_,
            "classes": model.classes_,
            "columns": {name: want._asdict() for name, want in model.columns_.items()},
            "scores": model.scores_,
            "created": model.created_,
            "versions": model.versions_,
        }
    )


def plain(value: Any) -> Any:
    """The same in types that JSON has; a number that is none becomes null.

    Examples
    --------
    >>> plain({"a": np.float32(0.5), "b": (np.nan, np.arange(2))})
    {'a': 0.5, 'b': [None, [0, 1]]}
    """
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(each) for each in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    return str(value)
