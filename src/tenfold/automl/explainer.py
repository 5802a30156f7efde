"""Explanation of a table model: importance, partial dependence, worst errors, learning curve."""

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

_N_SIZES = 5  # points of a learning curve
_CURVE_FOLDS = 3
_MIN_CURVE_ROWS = 30  # training rows of its first point


def table_learning_curve(
    model: Any, cells: ColumnBatch, scoring: TaskScoring, *, seed: int, seconds: float = 10.0
) -> LearningCurve | None:
    """Learning curve by refits on more and more rows; None if time allows fewer than two sizes.

    The encoder is that of all training rows, because parameters of the model, such as knots of
    splines, depend on it.

    Parameters
    ----------
    model : TableModel
        Whose hyperparameters are used; not changed.
    cells : ColumnBatch
        Training rows with the target.
    scoring : TaskScoring
        The deciding score.
    seed : int
        Seed of the folds.
    seconds : float
        Approximate time limit.
    """
    y = target_values(model, cells[model.target_])
    is_known = np.isfinite(y) & (y >= 0 if model.classes_ else True)
    X, y = model.encode(cells[is_known]), y[is_known]
    sizes = _curve_sizes(len(y))
    if len(sizes) < 2:
        return None
    start, done = perf_counter(), []
    parts = _curve_folds(model, y, seed)
    for size in sizes:
        if perf_counter() - start > seconds / 2:  # the next size takes about twice as long
            break
        scores = [_fit_and_score(model, X, y, train[:size], test, scoring) for train, test in parts]
        if None not in scores:
            done.append((size, scores))
    if len(done) < 2:
        return None
    both = np.array([scores for _, scores in done], float)
    return LearningCurve(np.array([size for size, _ in done]), both[..., 0], both[..., 1])


def _curve_sizes(n: int) -> list[int]:
    largest = n - -(-n // _CURVE_FOLDS)
    if largest < 2 * _MIN_CURVE_ROWS:
        return []
    smallest = max(_MIN_CURVE_ROWS, largest // 16)
    return np.unique(np.geomspace(smallest, largest, _N_SIZES).astype(int)).tolist()


def _curve_folds(model: Any, y: np.ndarray, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    kind = KFold if model.classes_ is None else StratifiedKFold
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # classes with fewer rows than folds are rare here
        split = list(kind(_CURVE_FOLDS, shuffle=True, random_state=seed).split(y, y))
    rng = np.random.default_rng(seed)
    return [(rng.permutation(train), test) for train, test in split]


def _fit_and_score(
    model: Any, X: Any, y: np.ndarray, train: np.ndarray, test: np.ndarray, scoring: TaskScoring
) -> tuple[float, float] | None:
    """Scores on training and test rows; None if the model cannot be fitted."""
    if model.classes_ and len(np.unique(y[train])) < len(model.classes_):
        return None
    scale = model.scale_
    target = y[train] if scale is None else scale.forward(y[train])
    fitted: Any = clone(model.model_)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the score shows if there are too few rows
            fitted.fit(X[train], target)
    except ValueError:
        return None

    def score(rows: np.ndarray) -> float:
        outputs = predict_outputs(fitted, X[rows], scoring.k)
        return scoring.score(y[rows], outputs if scale is None else scale.backward(outputs))

    return score(train), score(test)


_MAX_ERRORS = 12


def worst_errors(
    model: Any, cells: ColumnBatch, y: np.ndarray, predictions: np.ndarray
) -> list[WorstError]:
    """Largest errors of a regression; misclassified rows with the largest log loss.

    Parameters
    ----------
    model : TableModel
        The model.
    cells : ColumnBatch
        The rows.
    y : (n_rows,) array
        Target: values, or class indices.
    predictions : (n_rows,) or (n_rows, n_classes) array
        Values, or probabilities.
    """
    inputs = cells.select([name for name in cells.names if name != model.target_])
    if model.classes_ is None:
        loss = np.abs(y - predictions)
        return [
            WorstError(i, inputs.row(i), float(y[i]), float(predictions[i]), float(loss[i]))
            for i in _largest_losses(loss)
        ]
    of_truth = np.maximum(predictions[np.arange(len(y)), y], 1e-300)
    loss = np.where(predictions.argmax(axis=1) == y, -np.inf, -np.log(of_truth))
    return [
        _misclassified_row(model, inputs, y, predictions, loss, i) for i in _largest_losses(loss)
    ]


def _largest_losses(loss: np.ndarray) -> list[int]:
    order = np.argsort(-loss, kind="stable")[:_MAX_ERRORS]
    return [int(i) for i in order if loss[i] > 0]


def _misclassified_row(
    model: Any, cells: ColumnBatch, y: np.ndarray, predictions: np.ndarray, loss: np.ndarray, i: int
) -> WorstError:
    top = int(predictions[i].argmax())
    truth, predicted = model.classes_[int(y[i])], model.classes_[top]
    return WorstError(i, cells.row(i), truth, predicted, float(loss[i]), float(predictions[i, top]))


_MAX_ROWS = 2000
_MAX_CELLS = 2**25  # encoded cells in memory
_MAX_COLUMNS = 6  # columns with partial dependence


def explain(
    model: Any,
    table: Any,
    y: Any = None,
    *,
    seed: int = 0,
    metric: str | None = None,
    train: ColumnBatch | None = None,
) -> Explanation:
    """Importance and partial dependence of columns, weights, and largest errors of a model.

    Parameters
    ----------
    model : TableModel
        From `tenfold.learn`.
    table : ColumnBatch, path, DataFrame or dict of columns
        Rows that were not used in training, preferably with the target column.
    y : (n_rows,) array, optional
        Target values or class indices, if the table has no target column.
    seed : int
        Seed of shuffles and samples.
    metric : str, optional
        Name of the deciding score; by default that of the task.
    train : ColumnBatch, optional
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
    sample = truth[np.sort(chosen[: len(rows.X)])]
    scoring = _resolve_scoring(model, sample, metric)
    score, importances = permutation_importances(rows, sample, scoring, seed=seed)
    curve = None if train is None else table_learning_curve(model, train, scoring, seed=seed)
    return Explanation(
        metric=scoring.deciding,
        score=score,
        n_rows=len(sample),
        importances=importances,
        weights=standardized_weights(rows),
        dependences=_partial_dependences(rows, importances),
        mistakes=worst_errors(model, cells, truth, model.predict_cells(cells)),
        curve=curve,
    )


def explain_study(study: Study) -> Explanation:
    """Explain the chosen model of a study on its test rows, with a learning curve.

    Parameters
    ----------
    study : Study
        Result of `tenfold.learn`.
    """
    return explain(
        study.model, study.test_rows, seed=study.seed, metric=study.metric, train=study.train_rows
    )


def _rows_and_target(model: Any, table: Any, y: Any) -> tuple[ColumnBatch, np.ndarray | None]:
    """Rows with a target, and the target; all rows and None if there is no target column."""
    cells = table if isinstance(table, ColumnBatch) else _open_table(model, table)
    if y is None and model.target_ in cells.names:
        y = target_values(model, cells[model.target_])
    if y is None:
        return cells, None
    y = np.asarray(y)
    rows = np.flatnonzero(np.isfinite(y) if model.classes_ is None else y >= 0)
    return cells.take(rows), y[rows]


def _open_table(model: Any, table: Any) -> ColumnBatch:
    from tenfold.automl.schema import conform_cells
    from tenfold.io.table_opener import open_table

    records = open_table(table, styles=model.styles)
    cells = records.slice(0, min(records.n_rows, 5 * _MAX_ROWS))
    inputs = conform_cells(cells, model.columns_, records, 0, model.styles)
    if model.target_ not in cells.names:
        return inputs
    columns = {**inputs.columns, model.target_: cells[model.target_]}
    return ColumnBatch(columns, {**inputs.types, model.target_: cells.types[model.target_]})


def _sample_size(model: Any, cells: ColumnBatch) -> int:
    width = max(len(model.encoder_.origin_), 1)
    return int(min(_MAX_ROWS, cells.n_rows, max(_MAX_CELLS // width, 50)))


def _resolve_scoring(model: Any, y: np.ndarray, metric: str | None) -> TaskScoring:
    return make_scoring(model.task_, y, model.classes_ and len(model.classes_), metric)


def _explain_without_target(rows: EncodedRows, metric: str | None) -> Explanation:
    columns = list(rows.positions)[:_MAX_COLUMNS]
    curves = [c for name in columns if (c := partial_dependence(rows, name)) is not None]
    return Explanation(metric or "", None, len(rows.X), [], standardized_weights(rows), curves, [])


def _partial_dependences(
    rows: EncodedRows, importances: list[ColumnImportance]
) -> list[PartialDependence]:
    """Partial dependence of the most important columns that are not text."""
    curves: list[PartialDependence] = []
    for importance in importances:
        if len(curves) == _MAX_COLUMNS or (curves and importance.drop <= 0):
            break
        curve = partial_dependence(rows, importance.column)
        if curve is not None:
            curves.append(curve)
    return curves
