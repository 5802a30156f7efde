"""Explain a table model on held-out rows: importance, partial dependence, worst errors, learning curve."""

from __future__ import annotations

import warnings
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold

from tenfold.automl.column_effects import partial_dependence, permutation_importances
from tenfold.automl.contributions import standardized_weights
from tenfold.automl.explanation import (
    ColumnImportance,
    EncodedRows,
    Explanation,
    LearningCurve,
    PartialDependence,
    WorstError,
    encode_rows,
    target_values,
)
from tenfold.automl.result import Study
from tenfold.automl.task_scores import TaskScoring, make_scoring, predict_outputs
from tenfold.io.columnar import ColumnBatch

_N_SIZES = 5
_CURVE_FOLDS = 3
_MIN_CURVE_ROWS = 30  # rows


def table_learning_curve(
    model: Any, cells: ColumnBatch, scoring: TaskScoring, *, seed: int, seconds: float = 10.0
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
    y = target_values(model, cells[model.target_])
    known = np.isfinite(y) & (y >= 0 if model.classes_ else True)
    X, y = model.encode(cells[known]), y[known]
    sizes = _curve_sizes(len(y))
    if len(sizes) < 2:
        return None
    begun, done = perf_counter(), []
    parts = _curve_folds(model, y, seed)
    for size in sizes:
        if perf_counter() - begun > seconds / 2:  # the next size takes about twice as long
            break
        scores = [_fit_and_score(model, X, y, learn[:size], test, scoring) for learn, test in parts]
        if None not in scores:
            done.append((size, scores))
    if len(done) < 2:
        return None
    both = np.array([scores for _, scores in done], float)
    return LearningCurve(np.array([size for size, _ in done]), both[..., 0], both[..., 1])


def _curve_sizes(n: int) -> list[int]:
    most = n - -(-n // _CURVE_FOLDS)
    if most < 2 * _MIN_CURVE_ROWS:
        return []
    first = max(_MIN_CURVE_ROWS, most // 16)
    return np.unique(np.geomspace(first, most, _N_SIZES).astype(int)).tolist()


def _curve_folds(model: Any, y: np.ndarray, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    kind = KFold if model.classes_ is None else StratifiedKFold
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # classes with fewer rows than folds are rare here
        split = list(kind(_CURVE_FOLDS, shuffle=True, random_state=seed).split(y, y))
    rng = np.random.default_rng(seed)
    return [(rng.permutation(learn), test) for learn, test in split]


def _fit_and_score(
    model: Any, X: Any, y: np.ndarray, learn: np.ndarray, test: np.ndarray, scoring: TaskScoring
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
        said = predict_outputs(fitted, X[rows], scoring.k)
        return scoring.score(y[rows], said if scale is None else scale.backward(said))

    return score(learn), score(test)


_MAX_ERRORS = 12


def worst_errors(
    model: Any, cells: ColumnBatch, y: np.ndarray, said: np.ndarray
) -> list[WorstError]:
    """Largest errors of a regression; wrong classes by the probability that was given to the truth.

    Parameters
    ----------
    model : TableModel
        Whose predictions they are.
    cells : Cells
        The rows.
    y : (n,) array
        Truth: values, or class numbers.
    said : (n,) or (n, k) array
        Values, or probabilities.
    """
    inputs = cells.select([name for name in cells.names if name != model.target_])
    if model.classes_ is None:
        loss = np.abs(y - said)
        return [
            WorstError(i, inputs.row(i), float(y[i]), float(said[i]), float(loss[i]))
            for i in _largest_losses(loss)
        ]
    given = np.maximum(said[np.arange(len(y)), y], 1e-300)
    loss = np.where(said.argmax(axis=1) == y, -np.inf, -np.log(given))
    return [_misclassified_row(model, inputs, y, said, loss, i) for i in _largest_losses(loss)]


def _largest_losses(loss: np.ndarray) -> list[int]:
    order = np.argsort(-loss, kind="stable")[:_MAX_ERRORS]
    return [int(i) for i in order if loss[i] > 0]


def _misclassified_row(
    model: Any, cells: ColumnBatch, y: np.ndarray, said: np.ndarray, loss: np.ndarray, i: int
) -> WorstError:
    guess = int(said[i].argmax())
    truth, predicted = model.classes_[int(y[i])], model.classes_[guess]
    return WorstError(i, cells.row(i), truth, predicted, float(loss[i]), float(said[i, guess]))


_MAX_ROWS = 2000
_MAX_CELLS = 2**25  # encoded cells that are held at once
_MAX_COLUMNS = 6  # whose dependence is shown


def explain(
    model: Any,
    table: Any,
    y: Any = None,
    *,
    seed: int = 0,
    metric: str | None = None,
    train: ColumnBatch | None = None,
) -> Explanation:
    """Which columns matter to a model, how they act, and where it is wrong.

    Parameters
    ----------
    model : TableModel
        From `tenfold.learn`.
    table : Cells, path, DataFrame or dict of columns
        Rows that the model has not learned from, best with the target column.
    y : (n,) array, optional
        The truth, values or class numbers, if the table has no target column.
    seed : int
        Of shuffles and samples.
    metric : str, optional
        Name of the deciding score; by default that of the task.
    train : Cells, optional
        Training rows with the target, for a learning curve.

    Returns
    -------
    Explanation
    """
    cells, truth = _rows_and_target(model, table, y)
    chosen = np.random.default_rng(seed).permutation(cells.n_rows)
    rows = encode_rows(model, cells.take(np.sort(chosen[: _sample_size(model, cells)])))
    if truth is None:
        return _explain_without_target(rows, metric)
    some = truth[np.sort(chosen[: len(rows.X)])]
    scoring = _resolve_scoring(model, some, metric)
    score, found = permutation_importances(rows, some, scoring, seed=seed)
    curve = None if train is None else table_learning_curve(model, train, scoring, seed=seed)
    return Explanation(
        metric=scoring.deciding,
        score=score,
        n_rows=len(some),
        importances=found,
        weights=standardized_weights(rows),
        dependences=_partial_dependences(rows, found),
        mistakes=worst_errors(model, cells, truth, model.predict_cells(cells)),
        curve=curve,
    )


def explain_study(study: Study) -> Explanation:
    """Explain the chosen model of a study on its test rows, with a learning curve.

    Parameters
    ----------
    study : Study
        What `tenfold.learn` returned.
    """
    return explain(
        study.model, study.test_rows, seed=study.seed, metric=study.metric, train=study.train_rows
    )


def _rows_and_target(model: Any, table: Any, y: Any) -> tuple[ColumnBatch, np.ndarray | None]:
    """Rows whose target is known, and that target; None where there is none at all."""
    cells = table if isinstance(table, ColumnBatch) else _open_table(model, table)
    if y is None and model.target_ in cells.names:
        y = target_values(model, cells[model.target_])
    if y is None:
        return cells, None
    y = np.asarray(y)
    known = np.flatnonzero(np.isfinite(y) if model.classes_ is None else y >= 0)
    return cells.take(known), y[known]


def _open_table(model: Any, table: Any) -> ColumnBatch:
    from tenfold.automl.schema import conform_cells
    from tenfold.io.table_opener import open_table

    records = open_table(table, styles=model.styles)
    cells = records.slice(0, min(records.n_rows, 5 * _MAX_ROWS))
    known = conform_cells(cells, model.columns_, records, 0, model.styles)
    if model.target_ not in cells.names:
        return known
    columns = {**known.columns, model.target_: cells[model.target_]}
    return ColumnBatch(columns, {**known.types, model.target_: cells.types[model.target_]})


def _sample_size(model: Any, cells: ColumnBatch) -> int:
    width = max(len(model.encoder_.origin_), 1)
    return int(min(_MAX_ROWS, cells.n_rows, max(_MAX_CELLS // width, 50)))


def _resolve_scoring(model: Any, y: np.ndarray, metric: str | None) -> TaskScoring:
    return make_scoring(model.task_, y, model.classes_ and len(model.classes_), metric)


def _explain_without_target(rows: EncodedRows, metric: str | None) -> Explanation:
    shown = [partial_dependence(rows, name) for name in list(rows.places)[:_MAX_COLUMNS]]
    known = [each for each in shown if each is not None]
    return Explanation(metric or "", None, len(rows.X), [], standardized_weights(rows), known, [])


def _partial_dependences(
    rows: EncodedRows, found: list[ColumnImportance]
) -> list[PartialDependence]:
    """Of the most important columns that can be moved along a grid."""
    shown: list[PartialDependence] = []
    for each in found:
        if len(shown) == _MAX_COLUMNS or (shown and each.drop <= 0):
            break
        moved = partial_dependence(rows, each.column)
        if moved is not None:
            shown.append(moved)
    return shown
