"""Learning curve of a fitted table model: the same settings on fewer rows."""

from __future__ import annotations

import warnings
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold

from tenfold.rows.cells import Cells
from tenfold.study.explaining.encoded_rows import truth_of
from tenfold.study.explaining.explanation import LearningCurve
from tenfold.study.scoring import Scoring, predictions_of

SIZES = 5
FOLDS = 3
LEAST = 30  # rows


def learning_curve(
    model: Any, cells: Cells, scoring: Scoring, *, seed: int, seconds: float = 10.0
) -> LearningCurve | None:
    """Fit the model anew on more and more rows; None if time allows fewer than two sizes.

    Columns stay encoded as they are for all training rows: settings of a model, such as the places
    of curves, are about these.

    Parameters
    ----------
    model : TableModel
        Whose settings are used; it stays as it is.
    cells : Cells
        Training rows with the target.
    scoring : Scoring
        The deciding score.
    seed : int
        Of the folds.
    seconds : float
        About how long this may take.
    """
    y = truth_of(model, cells[model.target_])
    known = np.isfinite(y) & (y >= 0 if model.classes_ else True)
    X, y = model.encode(cells[known]), y[known]
    sizes = _sizes(len(y))
    if len(sizes) < 2:
        return None
    begun, done = perf_counter(), []
    parts = _parts(model, y, seed)
    for size in sizes:
        if perf_counter() - begun > seconds / 2:  # the next size takes about twice as long
            break
        scores = [_one(model, X, y, learn[:size], test, scoring) for learn, test in parts]
        if None not in scores:
            done.append((size, scores))
    if len(done) < 2:
        return None
    both = np.array([scores for _, scores in done], float)
    return LearningCurve(np.array([size for size, _ in done]), both[..., 0], both[..., 1])


def _sizes(n: int) -> list[int]:
    most = n - -(-n // FOLDS)
    if most < 2 * LEAST:
        return []
    first = max(LEAST, most // 16)
    return np.unique(np.geomspace(first, most, SIZES).astype(int)).tolist()


def _parts(model: Any, y: np.ndarray, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    kind = KFold if model.classes_ is None else StratifiedKFold
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # classes with fewer rows than folds are rare here
        split = list(kind(FOLDS, shuffle=True, random_state=seed).split(y, y))
    rng = np.random.default_rng(seed)
    return [(rng.permutation(learn), test) for learn, test in split]


def _one(
    model: Any, X: Any, y: np.ndarray, learn: np.ndarray, test: np.ndarray, scoring: Scoring
) -> tuple[float, float] | None:
    """Score on the rows learned from and on others; None if they cannot be learned from."""
    if model.classes_ and len(np.unique(y[learn])) < len(model.classes_):
        return None
    scale = model.scale_
    target = y[learn] if scale is None else scale.forward(y[learn])
    fitted: Any = clone(model.model_)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # too few rows for these settings show in the score
            fitted.fit(X[learn], target)
    except ValueError:
        return None

    def score(rows: np.ndarray) -> float:
        said = predictions_of(fitted, X[rows], scoring.k)
        return scoring.score(y[rows], said if scale is None else scale.backward(said))

    return score(learn), score(test)
