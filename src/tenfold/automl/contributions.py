"""Weights of linear models, and what each column contributes to the prediction of one row."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from tenfold.automl.explanation import EncodedRows, LinearWeights, encode_rows, output_names
from tenfold.io.columnar import ColumnBatch

_TERM_PATTERN = re.compile(r"__c(\d+)(?:_sp_(\d+))?(\^2)?(?= |$)")


def derived_feature_names(features: Any, names: list[str]) -> list[str] | None:
    """What people call the features that a fitted transformer makes; None if they have no names.

    Parameters
    ----------
    features : transformer
        Of `tenfold.automl.feature_maps`.
    names : list of str
        Of the encoded columns. They may hold anything, so the transformer is given other ones.
    """
    made = features.get_feature_names_out([f"c{j}" for j in range(len(names))])
    pieces = [_TERM_PATTERN.findall(name) for name in made]
    if not all(pieces):  # bumps around rows belong to no column
        return None
    bends = Counter(column for one in pieces if len(one) == 1 for column, bend, square in one
                    if bend and not square)  # fmt: skip
    return [" × ".join(_term_name(piece, names, bends) for piece in one) for one in pieces]


def _term_name(piece: tuple[str, str, str], names: list[str], bends: Counter) -> str:
    column, bend, square = piece
    name = names[int(column)]
    if bend and bends[column] > 1:
        name = f"{name} (bend {int(bend) + 1} of {bends[column]})"
    return f"{name}²" if square else name


def encoded_coefficients(model: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """Weights (p, outputs) and offsets of a model that is linear in its encoded columns.

    Regressions are given in units of the target (of its logarithm, if that was learned).
    """
    inner = model.model_
    if getattr(inner, "coef_", None) is None or hasattr(inner, "steps"):
        return None
    weights = _coefficients(model, inner)
    offset = np.atleast_1d(np.asarray(getattr(inner, "intercept_", 0.0), np.float64))
    if model.scale_ is not None:
        offset = offset * model.scale_.scale + model.scale_.mean
    return weights, offset


def linear_weights(model: Any) -> LinearWeights | None:
    """Weights by the names of what is weighed, the strongest first; None for other models.

    A column of numbers was divided by its standard deviation before, so its weight is what one
    such deviation adds; that of a level of a category is what the level adds.
    """
    features, inner = _features_and_estimator(model.model_)
    names: Any = [str(name) for name in model.encoder_.get_feature_names_out()]
    if features is not None:
        names = derived_feature_names(features, names)
    if names is None or getattr(inner, "coef_", None) is None:
        return None
    return _sort_by_strength(LinearWeights(names, _coefficients(model, inner), output_names(model)))


def standardized_weights(rows: EncodedRows) -> LinearWeights | None:
    """The same, times the spread of what is weighed among some rows."""
    found = linear_weights(rows.model)
    if found is None:
        return None
    features, _ = _features_and_estimator(rows.model.model_)
    X = rows.X if features is None else np.asarray(features.transform(rows.X))
    spread = X.std(axis=0, dtype=np.float64)[found.places]
    return _sort_by_strength(
        LinearWeights(found.names, found.values * spread[:, None], found.outputs)
    )


def _features_and_estimator(model: Any) -> tuple[Any, Any]:
    """The transformer that makes features, or None, and the model behind it."""
    if hasattr(model, "steps"):
        return model[:-1], model[-1]
    calibrated = getattr(model, "calibrated_classifiers_", None)
    return None, model if calibrated is None else calibrated[0].estimator


def _coefficients(model: Any, inner: Any) -> np.ndarray:
    weights = np.atleast_2d(np.asarray(inner.coef_, np.float64)).T
    return weights if model.scale_ is None else weights * model.scale_.scale


def _sort_by_strength(weights: LinearWeights) -> LinearWeights:
    order = np.argsort(-np.abs(weights.values).max(axis=1), kind="stable")
    names = [weights.names[i] for i in order]
    places = order if weights.places is None else weights.places[order]
    return LinearWeights(names, weights.values[order], weights.outputs, places)


_BACKGROUND_ROWS = 100  # rows that stand for a column that is hidden


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
    rows = encode_rows(model, read_cells(model, row).take(np.array([0])))
    said = rows.predict(rows.X)
    which = None if said.ndim == 1 else int(said[0].argmax())
    predicted = float(said[0]) if which is None else model.classes_[which]
    parts = encoded_coefficients(model)
    typical = None
    if background is not None:
        typical = encode_rows(model, read_cells(model, background)).first(_BACKGROUND_ROWS).X
    if parts is None:
        base, score, adds, unit = _occlusion_contributions(rows, which, typical)
    else:
        base, score, adds, unit = _linear_contributions(rows, parts, which, typical)
    cells = rows.cells.row(0)
    told = [Contribution(name, cells[name], adds[name]) for name in adds]
    told.sort(key=lambda each: -abs(each.adds))
    output = str(model.target_ if which is None else predicted)
    return RowExplanation(predicted, output, unit, base, score, told, parts is not None)


def read_cells(model: Any, table: Any) -> ColumnBatch:
    """All rows of a table in the types that the model learned from."""
    from tenfold.automl.schema import conform_cells
    from tenfold.io.table_opener import open_table

    if isinstance(table, ColumnBatch):
        return table
    if isinstance(table, dict) and all(np.ndim(value) == 0 for value in table.values()):
        table = [table]
    records = open_table(table, styles=model.styles)
    return conform_cells(records.slice(0, records.n_rows), model.columns_, records, 0, model.styles)


def _linear_contributions(
    rows: EncodedRows,
    parts: tuple[np.ndarray, np.ndarray],
    which: int | None,
    typical: np.ndarray | None,
) -> tuple[float, float, dict[str, float], str]:
    weights, offset = _output_weights(parts, which)
    centre = np.zeros(rows.X.shape[1]) if typical is None else typical.mean(axis=0)
    pieces = weights * (rows.X[0] - centre)
    base = float(offset + weights @ centre)
    adds = {name: float(pieces[places].sum()) for name, places in rows.places.items()}
    scale = rows.model.scale_
    unit = "log-odds" if which is not None else "logarithm" if scale and scale.log else "value"
    return base, base + float(pieces.sum()), adds, unit


def _output_weights(
    parts: tuple[np.ndarray, np.ndarray], which: int | None
) -> tuple[np.ndarray, float]:
    """Weights and offset of one output; of two classes the first is the second's opposite."""
    weights, offset = parts
    if which is None:
        return weights[:, 0], float(offset[0])
    if weights.shape[1] == 1:
        sign = 1.0 if which == 1 else -1.0
        return sign * weights[:, 0], sign * float(offset[0])
    return weights[:, which], float(offset[which])


def _occlusion_contributions(
    rows: EncodedRows, which: int | None, typical: np.ndarray | None
) -> tuple[float, float, dict[str, float], str]:
    others = np.zeros((1, rows.X.shape[1]), rows.X.dtype) if typical is None else typical
    score = float(_output_column(rows.predict(rows.X), which)[0])
    base = float(_output_column(rows.predict(others), which).mean())
    adds = {}
    for name, places in rows.places.items():
        stack = np.tile(rows.X, (len(others), 1))
        stack[:, places] = others[:, places]
        adds[name] = score - float(_output_column(rows.predict(stack), which).mean())
    return base, score, adds, "value" if which is None else "probability"


def _output_column(said: np.ndarray, which: int | None) -> np.ndarray:
    return said if which is None else said[:, which]
