"""Judge many models in one walk: each on the rows of its own part."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np

from tenfold.estimator import ProbabilisticClassifier
from tenfold.estimator.families import probabilities
from tenfold.maths.moments import Moments
from tenfold.metrics.metric import Metric
from tenfold.metrics.predicting import predictions
from tenfold.rows import Chunk, Rows
from tenfold.rows.subset import Chosen
from tenfold.rows.tree import taken_in
from tenfold.select.data import Data
from tenfold.select.fitting import Fitted
from tenfold.select.lanes import Job, in_step
from tenfold.select.moment_pipelines import line_of
from tenfold.select.splits import Split

FINEST = 1e-5  # of the target's squares: smaller residuals lose digits in moments
BY_SQUARES = ("r2", "neg_mean_squared_error", "neg_root_mean_squared_error")


def judge_parts(
    data: Data, split: Split, fitted: Fitted, metrics: list[Metric], *, on: str = "test"
) -> np.ndarray:
    """Scores (parts, candidates, metrics) of the models of each part on its test (or train) rows.

    Squared errors of linear models follow from the moments of the rows; all else shares one walk.
    """
    if on == "test" and (known := _by_moments(data, fitted, metrics)) is not None:
        return known
    if isinstance(metrics[0], OwnScore):
        return _by_own_scores(data, split, fitted, on)
    cells = getattr(split, on)
    sets = [Chosen.of(split.cell, cells[i], data.rows.source.grid) for i in range(split.parts)]
    with warnings.catch_warnings():  # here, not in the leaf: filters belong to all threads
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        parts = data.rows.total(judged, sets, fitted.models, metrics, data.classes)
    scores = np.empty((split.parts, len(fitted.models[0]), len(metrics)))
    for (p, c, m), _ in np.ndenumerate(scores):
        if parts[p][c][m] is None:
            raise ValueError(f"part {p} has no rows to be judged on: use fewer folds")
        scores[p, c, m] = metrics[m].value(parts[p][c][m])
    return scores


class OwnScore(Metric):
    """What the model's own `score` says of rows: of components, clusters, densities."""

    name, wants = "score", "rows"


def _by_own_scores(data: Data, split: Split, fitted: Fitted, on: str) -> np.ndarray:
    """Scores (parts, candidates, 1) by the models' own method."""
    cells = getattr(split, on)
    jobs = [Job(cells[p], partial(_own_scores, fitted.models[p])) for p in range(split.parts)]
    return np.array(in_step(data.rows, split.cell, jobs, data.labels(split)))[:, :, None]


def _own_scores(models: list[Any], rows: Rows) -> list[float]:
    return [float(model.score(rows)) for model in models]


def _by_moments(data: Data, fitted: Fitted, metrics: list[Metric]) -> np.ndarray | None:
    """Scores from the moments of the test rows, if they hold enough digits."""
    asked = [metric.name for metric in metrics]
    known = getattr(data.model, "_of_moments", False) and data.rows.dtype == np.float64
    if fitted.held is None or not known or not all(name in BY_SQUARES for name in asked):
        return None
    scores = np.empty((len(fitted.models), len(fitted.models[0]), len(asked)))
    for p, (models, s) in enumerate(zip(fitted.models, fitted.held, strict=True)):
        for c, model in enumerate(models):
            left, total = squares_left(s, *line_of(model))
            if not (left > FINEST * total).all() or not (total > 0).all():
                return None
            scores[p, c] = [_score(name, left, total, s.n) for name in asked]
    return scores


def squares_left(
    s: Moments, coef: np.ndarray, intercept: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Sums of squares of the residuals, and of the targets about their means, from moments."""
    E = np.hstack([-coef, np.eye(len(coef))])
    bias = E @ s.mean - intercept
    left = ((E @ s.scatter) * E).sum(axis=1) + s.n * bias**2
    return left, s.scatter.diagonal()[coef.shape[1] :]


def _score(name: str, left: np.ndarray, total: np.ndarray, n: float) -> float:
    if name == "r2":
        return float((1 - left / total).mean())
    mean = left / n
    return -float((mean if name == "neg_mean_squared_error" else np.sqrt(mean)).mean())


def judged(
    chunk: Chunk,
    sets: list[Chosen],
    models: list[list[Any]],
    metrics: list[Metric],
    classes: np.ndarray | None,
) -> list[list[list[Any]]]:
    """Statistics of every metric of every model on its rows of a chunk."""
    parts = [chosen.part(chunk) for chosen in sets]
    return [
        [_statistics(part, model, metrics, classes) for model in row]
        for part, row in zip(parts, models, strict=True)
    ]


def _statistics(
    part: Chunk | None, model: Any, metrics: list[Metric], classes: np.ndarray | None
) -> list[Any]:
    if part is None:
        return [None] * len(metrics)
    wanted = {metric.wants for metric in metrics}
    said = {wants: _said(model, part.X, wants, classes) for wants in wanted}
    k = None if classes is None else len(classes)
    return [taken_in(metric.part(part.y, said[metric.wants], part.w, k)) for metric in metrics]


def _said(model: Any, X: Any, wants: str, classes: np.ndarray | None) -> np.ndarray:
    """What a model says of rows that were checked: its leaf, without the checks around it."""
    usual = getattr(type(model), "predict_proba", None) is ProbabilisticClassifier.predict_proba
    if not usual or wants != "probabilities" or classes is None:
        return predictions(model, X, wants, classes)
    if not np.array_equal(model.classes_, classes):
        return predictions(model, X, wants, classes)
    return probabilities(Chunk(X), *model._scorer())
