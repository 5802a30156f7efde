"""Explain a table model on rows that it has not seen."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.rows.cells import Cells
from tenfold.study.explaining.dependence import dependence
from tenfold.study.explaining.encoded_rows import EncodedRows, encoded_rows, truth_of
from tenfold.study.explaining.explanation import Dependence, Explanation, Importance
from tenfold.study.explaining.importance import importances
from tenfold.study.explaining.learning import learning_curve
from tenfold.study.explaining.mistakes import mistakes
from tenfold.study.explaining.weights import spread_weights
from tenfold.study.result import Study
from tenfold.study.scoring import Scoring, scoring_of

ROWS = 2000
CELLS = 2**25  # encoded cells that are held at once
COLUMNS = 6  # whose dependence is shown


def explain(
    model: Any,
    table: Any,
    y: Any = None,
    *,
    seed: int = 0,
    metric: str | None = None,
    train: Cells | None = None,
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
    cells, truth = _rows_and_truth(model, table, y)
    chosen = np.random.default_rng(seed).permutation(cells.n_rows)
    rows = encoded_rows(model, cells.take(np.sort(chosen[: _room(model, cells)])))
    if truth is None:
        return _without_truth(rows, metric)
    some = truth[np.sort(chosen[: len(rows.X)])]
    scoring = _scoring(model, some, metric)
    score, found = importances(rows, some, scoring, seed=seed)
    curve = None if train is None else learning_curve(model, train, scoring, seed=seed)
    return Explanation(
        metric=scoring.deciding,
        score=score,
        n_rows=len(some),
        importances=found,
        weights=spread_weights(rows),
        dependences=_dependences(rows, found),
        mistakes=mistakes(model, cells, truth, model.predict_cells(cells)),
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


def _rows_and_truth(model: Any, table: Any, y: Any) -> tuple[Cells, np.ndarray | None]:
    """Rows whose target is known, and that target; None where there is none at all."""
    cells = table if isinstance(table, Cells) else _opened(model, table)
    if y is None and model.target_ in cells.names:
        y = truth_of(model, cells[model.target_])
    if y is None:
        return cells, None
    y = np.asarray(y)
    known = np.flatnonzero(np.isfinite(y) if model.classes_ is None else y >= 0)
    return cells.take(known), y[known]


def _opened(model: Any, table: Any) -> Cells:
    from tenfold.rows.files.records import open_records
    from tenfold.study.matching import conformed

    records = open_records(table, styles=model.styles)
    cells = records.slice(0, min(records.n_rows, 5 * ROWS))
    known = conformed(cells, model.columns_, records, 0, model.styles)
    if model.target_ not in cells.names:
        return known
    columns = {**known.columns, model.target_: cells[model.target_]}
    return Cells(columns, {**known.types, model.target_: cells.types[model.target_]})


def _room(model: Any, cells: Cells) -> int:
    width = max(len(model.encoder_.origin_), 1)
    return int(min(ROWS, cells.n_rows, max(CELLS // width, 50)))


def _scoring(model: Any, y: np.ndarray, metric: str | None) -> Scoring:
    return scoring_of(model.task_, y, model.classes_ and len(model.classes_), metric)


def _without_truth(rows: EncodedRows, metric: str | None) -> Explanation:
    shown = [dependence(rows, name) for name in list(rows.places)[:COLUMNS]]
    known = [each for each in shown if each is not None]
    return Explanation(metric or "", None, len(rows.X), [], spread_weights(rows), known, [])


def _dependences(rows: EncodedRows, found: list[Importance]) -> list[Dependence]:
    """Of the most important columns that can be moved along a grid."""
    shown: list[Dependence] = []
    for each in found:
        if len(shown) == COLUMNS or (shown and each.drop <= 0):
            break
        moved = dependence(rows, each.column)
        if moved is not None:
            shown.append(moved)
    return shown
