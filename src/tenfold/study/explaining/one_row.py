"""Why one row was predicted as it was: what each column adds."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.rows.cells import Cells
from tenfold.study.explaining.encoded_rows import EncodedRows, encoded_rows
from tenfold.study.explaining.weights import linear_parts

BACKGROUND = 100  # rows that stand for a column that is hidden


class Contribution(NamedTuple):
    """What one column of the table adds."""

    column: str
    value: Any
    adds: float


class RowExplanation(NamedTuple):
    """Why one row was predicted as it was.

    Attributes
    ----------
    predicted : label or value
    output : what the score is of: the target, or the predicted class
    unit : "value", "logarithm", "log-odds" or "probability"
    base : score of a typical row; plus all contributions it is `score` where `exact`
    score : of this row
    contributions : of all columns, the strongest first
    exact : whether base and contributions add up to the score, as for linear models
    """

    predicted: Any
    output: str
    unit: str
    base: float
    score: float
    contributions: list[Contribution]
    exact: bool


def explain_row(model: Any, row: Any, *, background: Any = None) -> RowExplanation:
    """What each column of the table adds to the prediction of one row.

    A linear model is taken apart exactly: offset plus contributions is its score. Of any other
    model each column is hidden in turn, by the values of other rows, and the change is told.

    Parameters
    ----------
    model : TableModel
        The model.
    row : dict, or table of one row
        The cells by column.
    background : table, optional
        Rows that stand for what is typical; by default encoded columns are set to zero, which is
        the mean of a number, and no level of a category.
    """
    rows = encoded_rows(model, cells_of(model, row).take(np.array([0])))
    said = rows.predict(rows.X)
    which = None if said.ndim == 1 else int(said[0].argmax())
    predicted = float(said[0]) if which is None else model.classes_[which]
    parts = linear_parts(model)
    typical = None
    if background is not None:
        typical = encoded_rows(model, cells_of(model, background)).first(BACKGROUND).X
    if parts is None:
        base, score, adds, unit = _hidden(rows, which, typical)
    else:
        base, score, adds, unit = _linear(rows, parts, which, typical)
    cells = rows.cells.row(0)
    told = [Contribution(name, cells[name], adds[name]) for name in adds]
    told.sort(key=lambda each: -abs(each.adds))
    output = str(model.target_ if which is None else predicted)
    return RowExplanation(predicted, output, unit, base, score, told, parts is not None)


def cells_of(model: Any, table: Any) -> Cells:
    """All rows of a table in the types that the model learned from."""
    from tenfold.rows.files.records import open_records
    from tenfold.study.matching import conformed

    if isinstance(table, Cells):
        return table
    if isinstance(table, dict) and all(np.ndim(value) == 0 for value in table.values()):
        table = [table]
    records = open_records(table, styles=model.styles)
    return conformed(records.slice(0, records.n_rows), model.columns_, records, 0, model.styles)


def _linear(
    rows: EncodedRows,
    parts: tuple[np.ndarray, np.ndarray],
    which: int | None,
    typical: np.ndarray | None,
) -> tuple[float, float, dict[str, float], str]:
    weights, offset = _of_output(parts, which)
    centre = np.zeros(rows.X.shape[1]) if typical is None else typical.mean(axis=0)
    pieces = weights * (rows.X[0] - centre)
    base = float(offset + weights @ centre)
    adds = {name: float(pieces[places].sum()) for name, places in rows.places.items()}
    scale = rows.model.scale_
    unit = "log-odds" if which is not None else "logarithm" if scale and scale.log else "value"
    return base, base + float(pieces.sum()), adds, unit


def _of_output(parts: tuple[np.ndarray, np.ndarray], which: int | None) -> tuple[np.ndarray, float]:
    """Weights and offset of one output; of two classes the first is the second's opposite."""
    weights, offset = parts
    if which is None:
        return weights[:, 0], float(offset[0])
    if weights.shape[1] == 1:
        sign = 1.0 if which == 1 else -1.0
        return sign * weights[:, 0], sign * float(offset[0])
    return weights[:, which], float(offset[which])


def _hidden(
    rows: EncodedRows, which: int | None, typical: np.ndarray | None
) -> tuple[float, float, dict[str, float], str]:
    others = np.zeros((1, rows.X.shape[1]), rows.X.dtype) if typical is None else typical
    score = float(_output(rows.predict(rows.X), which)[0])
    base = float(_output(rows.predict(others), which).mean())
    adds = {}
    for name, places in rows.places.items():
        stack = np.tile(rows.X, (len(others), 1))
        stack[:, places] = others[:, places]
        adds[name] = score - float(_output(rows.predict(stack), which).mean())
    return base, score, adds, "value" if which is None else "probability"


def _output(said: np.ndarray, which: int | None) -> np.ndarray:
    return said if which is None else said[:, which]
