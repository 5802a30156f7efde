"""Predictions of a model in the form a metric needs."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.engine.arrays import ArraySource, SparseSource
from tenfold.engine.protocols import RowModel
from tenfold.engine.rows import Rows

_NUMERIC_KINDS = "biuf"


def predictions(model: Any, X: Any, wants: str, classes: np.ndarray | None = None) -> np.ndarray:
    """Predictions of a model for rows in memory, in terms of the given classes.

    Parameters
    ----------
    model : fitted model
        Of tenfold, scikit-learn, or any with their methods.
    X : (n, d) array or CSR matrix
        The rows.
    wants : {"values", "labels", "probabilities", "scores"}
        As `Metric.wants`.
    classes : (k,) array, optional
        The classes; those of the model by default. A class unknown to the model has probability 0
        and the lowest score; a label that is none of the classes has the index -1.

    Returns
    -------
    array
        Values (n_rows,) or (n_rows, n_targets); class indices (n_rows,); probabilities (n_rows,
        n_classes); scores (n_rows,) of the second of two classes, else (n_rows, n_classes).

    Examples
    --------
    >>> from tenfold import GaussianNB
    >>> model = GaussianNB().fit([[0.0], [1.0], [5.0], [6.0]], ["b", "b", "c", "c"])
    >>> predictions(model, np.array([[0.0], [6.0]]), "labels", np.array(["a", "b", "c"])).tolist()
    [1, 2]
    """
    X = _as_model_input(model, X)
    if wants == "values":
        return np.asarray(model.predict(X))
    classes = _model_classes(model) if classes is None else np.asarray(classes)
    if wants == "labels":
        return class_indices(np.asarray(model.predict(X)), classes)
    if wants == "probabilities":
        return _align_to_classes(_probabilities(model, X), model, classes, 0.0)
    if wants == "scores":
        return _scores(model, X, classes)
    raise ValueError(
        f"wants={wants!r}: a metric needs 'values', 'labels', 'probabilities' or 'scores'"
    )


def class_indices(labels: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Indices of labels among classes in any order; -1 for a label that is none of them.

    Examples
    --------
    >>> class_indices(np.array(["dog", "cow", "cat"]), np.array(["dog", "cat"])).tolist()
    [0, -1, 1]
    """
    labels = np.asarray(labels)
    if (labels.dtype.kind in _NUMERIC_KINDS) != (classes.dtype.kind in _NUMERIC_KINDS):
        raise ValueError(
            f"labels such as {labels.ravel()[:1].tolist()} are of another type than the classes "
            f"{classes[:3].tolist()} ...: numbers are not names"
        )
    order = np.argsort(classes, kind="stable")
    position = np.minimum(np.searchsorted(classes, labels, sorter=order), len(classes) - 1)
    index = np.take(order, position)
    return np.where(np.take(classes, index) == labels, index, -1)


def positive_class(positive: Any, classes: np.ndarray) -> Any:
    """The positive class: the one asked for, or the second of two."""
    if positive is None:
        if len(classes) > 2:
            raise ValueError(f"which of the classes {classes.tolist()} is positive? positive=")
        return classes[-1]
    if positive not in classes.tolist():
        raise ValueError(f"positive={positive!r} is none of the classes {classes.tolist()}")
    return positive


def accepts_rows(model: Any) -> bool:
    """Whether a model accepts Rows: a tenfold model that does not opt out."""
    return isinstance(model, RowModel) and model._learns_from_rows  # noqa: SLF001 - declared in the protocol


def _as_model_input(model: Any, X: Any) -> Any:
    """A chunk as model input: Rows for tenfold models, which then check no column names."""
    if not accepts_rows(model) or isinstance(X, Rows):
        return X
    if isinstance(X, np.ndarray):
        return Rows(ArraySource(X))
    return Rows(SparseSource(X)) if hasattr(X, "tocsr") else X


def _model_classes(model: Any) -> np.ndarray:
    if not hasattr(model, "classes_"):
        raise TypeError(f"{type(model).__name__} has no classes_: it is not a fitted classifier")
    return np.asarray(model.classes_)


def _probabilities(model: Any, X: Any) -> np.ndarray:
    if not hasattr(model, "predict_proba"):
        raise TypeError(
            f"{type(model).__name__} has no predict_proba, and this metric needs probabilities: "
            "choose one of labels or scores, or wrap the model in "
            "sklearn.calibration.CalibratedClassifierCV"
        )
    return np.asarray(model.predict_proba(X))


def _scores(model: Any, X: Any, classes: np.ndarray) -> np.ndarray:
    """Decision function, else probabilities; (n,) for two classes."""
    if hasattr(model, "decision_function"):
        scores, lowest = np.asarray(model.decision_function(X)), -np.inf
    else:
        scores, lowest = _probabilities(model, X), 0.0
    model_classes = _model_classes(model)
    if scores.ndim == 1 and len(model_classes) == 2:
        if len(classes) == 2 and np.array_equal(model_classes, classes):
            return scores
        scores = np.column_stack([-scores, scores])
    scores = _align_to_classes(scores.reshape(len(scores), -1), model, classes, lowest)
    return scores[:, 1] if len(classes) == 2 else scores


def _align_to_classes(
    columns: np.ndarray, model: Any, classes: np.ndarray, absent: float
) -> np.ndarray:
    """Columns of the classes of the model, reordered to all classes."""
    model_classes = _model_classes(model)
    if np.array_equal(model_classes, classes):
        return columns
    if columns.shape[1] != len(model_classes):
        raise ValueError(
            f"{type(model).__name__} gives {columns.shape[1]} columns for {len(model_classes)} "
            "classes: one for each is needed"
        )
    aligned = np.full((len(columns), len(classes)), absent, columns.dtype)
    indices = class_indices(model_classes, classes)
    aligned[:, indices[indices >= 0]] = columns[:, indices >= 0]
    return aligned
