"""Weights of linear models, and contributions of columns to the prediction of one row."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from tenfold.automl.explanation import EncodedRows, LinearWeights, encode_rows, output_names
from tenfold.base.protocols import SupportsTreeScores
from tenfold.inspection.shap import shap_values
from tenfold.io.columnar import ColumnBatch

_TERM_PATTERN = re.compile(r"__c(\d+)(?:_sp_(\d+))?(\^2)?(?= |$)")


def derived_feature_names(features: Any, names: list[str]) -> list[str] | None:
    """Readable names of derived features; None if they belong to no column.

    Parameters
    ----------
    features : transformer
        Of `tenfold.automl.feature_maps`.
    names : list of str
        Names of the encoded columns. They may hold any text, so the transformer gets generic ones.
    """
    generic = features.get_feature_names_out([f"c{j}" for j in range(len(names))])
    factors = [_TERM_PATTERN.findall(name) for name in generic]
    if not all(factors):  # kernel features belong to no column
        return None
    n_splines = Counter(
        column
        for term in factors
        if len(term) == 1
        for column, spline, square in term
        if spline and not square
    )
    return [" × ".join(_term_name(f, names, n_splines) for f in term) for term in factors]


def _term_name(factor: tuple[str, str, str], names: list[str], n_splines: Counter) -> str:
    column, spline, square = factor
    name = names[int(column)]
    if spline and n_splines[column] > 1:
        name = f"{name} (spline {int(spline) + 1} of {n_splines[column]})"
    return f"{name}²" if square else name


def encoded_coefficients(model: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """Weights (n_encoded, n_outputs) and intercepts of a model that is linear in encoded columns.

    Those of regressions are in units of the target (of its logarithm, if that was fitted).
    """
    inner = model.model_
    if not _has_weights(inner) or hasattr(inner, "steps"):
        return None
    weights = _coefficients(model, inner)
    intercept = np.atleast_1d(np.asarray(getattr(inner, "intercept_", 0.0), np.float64))
    if model.scale_ is not None:
        intercept = intercept * model.scale_.scale + model.scale_.mean
    return weights, intercept


def linear_weights(model: Any) -> LinearWeights | None:
    """Weights with the names of features, the strongest first; None for models without weights.

    Numeric columns are standardized, so a weight is the effect of one standard deviation; that of a
    level of a category is the effect of the level.
    """
    features, inner = _features_and_estimator(model.model_)
    names: Any = [str(name) for name in model.encoder_.get_feature_names_out()]
    if features is not None:
        names = derived_feature_names(features, names)
    if names is None or not _has_weights(inner):
        return None
    return _sort_by_strength(LinearWeights(names, _coefficients(model, inner), output_names(model)))


def standardized_weights(rows: EncodedRows) -> LinearWeights | None:
    """Weights times the standard deviations of their features among some rows."""
    weights = linear_weights(rows.model)
    if weights is None:
        return None
    features, _ = _features_and_estimator(rows.model.model_)
    X = rows.X if features is None else np.asarray(features.transform(rows.X))
    deviations = X.std(axis=0, dtype=np.float64)[weights.positions]
    values = weights.values * deviations[:, None]
    return _sort_by_strength(LinearWeights(weights.names, values, weights.outputs))


def _has_weights(model: Any) -> bool:
    """Whether a model is linear; naive Bayes of counts is explained by its probabilities."""
    return getattr(model, "coef_", None) is not None and not hasattr(model, "class_log_prior_")


def _features_and_estimator(model: Any) -> tuple[Any, Any]:
    """The feature transformer, or None, and the model after it."""
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
    positions = order if weights.positions is None else weights.positions[order]
    return LinearWeights(names, weights.values[order], weights.outputs, positions)


_BACKGROUND_ROWS = 100  # rows whose values replace those of a hidden column


class Contribution(NamedTuple):
    """Contribution of one column of the table."""

    column: str
    value: Any
    adds: float


class RowExplanation(NamedTuple):
    """Explanation of the prediction of one row.

    Attributes
    ----------
    predicted : label or value
    output : name of the explained output: the target, or the predicted class
    unit : "value", "logarithm", "log-odds" or "probability"
    base : score of a typical row
    score : score of this row
    contributions : of all columns, the strongest first
    exact : whether base and contributions add up to the score, as for linear models and trees
    """

    predicted: Any
    output: str
    unit: str
    base: float
    score: float
    contributions: list[Contribution]
    exact: bool


def explain_row(model: Any, row: Any, *, background: Any = None) -> RowExplanation:
    """Contributions of the columns of the table to the prediction of one row.

    Those of a linear model, and Shapley values of trees, are exact: base plus contributions is the
    score. For other models each column in turn is replaced by the values of other rows (occlusion),
    and the contribution is the change of the score.

    Parameters
    ----------
    model : TableModel
        The model.
    row : dict, or table of one row
        The cells by column.
    background : table, optional
        Typical rows; by default encoded columns are set to zero, which is the mean of a number, and
        no level of a category.
    """
    rows = encode_rows(model, read_cells(model, row).take(np.array([0])))
    predictions = rows.predict(rows.X)
    which = None if predictions.ndim == 1 else int(predictions[0].argmax())
    predicted = float(predictions[0]) if which is None else model.classes_[which]
    parts = encoded_coefficients(model)
    typical = None
    if background is not None:
        typical = encode_rows(model, read_cells(model, background)).first(_BACKGROUND_ROWS).X
    is_exact = True
    if parts is not None:
        base, score, adds, unit = _linear_contributions(rows, parts, which, typical)
    elif isinstance(model.model_, SupportsTreeScores):
        base, score, adds, unit = _tree_contributions(rows, model.model_, which)
    else:
        base, score, adds, unit = _occlusion_contributions(rows, which, typical)
        is_exact = False
    cells = rows.cells.row(0)
    contributions = [Contribution(name, cells[name], adds[name]) for name in adds]
    contributions.sort(key=lambda contribution: -abs(contribution.adds))
    output = str(model.target_ if which is None else predicted)
    return RowExplanation(predicted, output, unit, base, score, contributions, is_exact)


def read_cells(model: Any, table: Any) -> ColumnBatch:
    """All rows of a table in the types of the training data."""
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
    weights, intercept = _output_weights(parts, which)
    center = np.zeros(rows.X.shape[1]) if typical is None else typical.mean(axis=0)
    terms = weights * (rows.X[0] - center)
    base = float(intercept + weights @ center)
    adds = {name: float(terms[positions].sum()) for name, positions in rows.positions.items()}
    scale = rows.model.scale_
    unit = "log-odds" if which is not None else "logarithm" if scale and scale.log else "value"
    return base, base + float(terms.sum()), adds, unit


def _tree_contributions(
    rows: EncodedRows, trees: Any, which: int | None
) -> tuple[float, float, dict[str, float], str]:
    """Shapley values, which add up to the score; of two classes, the first has opposite signs."""
    found = shap_values(trees, rows.X)
    values, base = found.values[0], np.atleast_1d(found.base_values)
    if values.ndim == 1:
        terms, start = values, float(base[0])
    else:
        terms, start = values[:, which], float(base[which])
    if which is None:
        scale = rows.model.scale_
        terms, start = terms * scale.scale, start * scale.scale + scale.mean
        unit = "logarithm" if scale.log else "value"
    else:
        unit = "log-odds" if hasattr(trees, "decision_function") else "probability"
        if values.ndim == 1 and which == 0:
            terms, start = -terms, -start
    adds = {name: float(terms[positions].sum()) for name, positions in rows.positions.items()}
    return start, start + float(terms.sum()), adds, unit


def _output_weights(
    parts: tuple[np.ndarray, np.ndarray], which: int | None
) -> tuple[np.ndarray, float]:
    """Weights and intercept of one output; of two classes, the first has opposite signs."""
    weights, intercept = parts
    if which is None:
        return weights[:, 0], float(intercept[0])
    if weights.shape[1] == 1:
        sign = 1.0 if which == 1 else -1.0
        return sign * weights[:, 0], sign * float(intercept[0])
    return weights[:, which], float(intercept[which])


def _occlusion_contributions(
    rows: EncodedRows, which: int | None, typical: np.ndarray | None
) -> tuple[float, float, dict[str, float], str]:
    others = np.zeros((1, rows.X.shape[1]), rows.X.dtype) if typical is None else typical
    score = float(_output_column(rows.predict(rows.X), which)[0])
    base = float(_output_column(rows.predict(others), which).mean())
    adds = {}
    for name, positions in rows.positions.items():
        stack = np.tile(rows.X, (len(others), 1))
        stack[:, positions] = others[:, positions]
        adds[name] = score - float(_output_column(rows.predict(stack), which).mean())
    return base, score, adds, "value" if which is None else "probability"


def _output_column(predictions: np.ndarray, which: int | None) -> np.ndarray:
    return predictions if which is None else predictions[:, which]
