"""Evaluate a fitted model on rows of any kind in one pass."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.engine.merge_tree import to_accumulator, upcast
from tenfold.engine.rows import Rows
from tenfold.io.opener import has_names, is_rows_like
from tenfold.io.opener import open as open_rows
from tenfold.metrics._predictions import accepts_rows, class_indices, predictions
from tenfold.metrics.base import Metric
from tenfold.metrics.confusion import ConfusionCounts, ConfusionMatrix
from tenfold.metrics.registry import default_metric, get_metric

_NO_TARGET_MESSAGE = "there is no truth to compare with: give y, or tenfold.open(..., target=)"


def evaluate(
    model: Any, X: Any, y: Any = None, *, metrics: Any = None, sample_weight: Any = None
) -> dict[str, float]:
    """What metrics say of a fitted model, from one pass over the rows.

    Parameters
    ----------
    model : fitted classifier or regressor
        Of tenfold, scikit-learn, or any with their methods.
    X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
        The rows. Only a chunk of them is looked at at a time; but a model of scikit-learn that was
        fitted on a table gets a table whole, as it is.
    y : array or column name, optional
        The truth: targets, or labels. A label that the model never saw is a mistake (and costs a
        second pass, since the classes were others than thought).
    metrics : name, Metric or list of them, optional
        See `tenfold.metrics.METRICS`; accuracy or R^2 by default.
    sample_weight : array or column name, optional
        Weights.

    Returns
    -------
    dict
        From the name of each metric to its value; greater is better.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import GaussianNB
    >>> X, y = np.array([[0.0], [1.0], [5.0], [6.0]]), np.array(["a", "a", "b", "b"])
    >>> evaluate(GaussianNB().fit(X, y), X, y, metrics=["accuracy", "roc_auc"])
    {'accuracy': 1.0, 'roc_auc': 1.0}
    """
    if metrics is None:
        metrics = default_metric(hasattr(model, "classes_"))
    asked = metrics if isinstance(metrics, list | tuple) else [metrics]
    wanted = [get_metric(which) for which in asked]
    _, statistics = collect_statistics(model, X, y, wanted, sample_weight)
    return {
        one.name: float(one.value(statistic))
        for one, statistic in zip(wanted, statistics, strict=True)
    }


def confusion_matrix(
    model: Any, X: Any, y: Any = None, *, sample_weight: Any = None, positive: Any = None
) -> ConfusionMatrix:
    """The confusion matrix of a fitted classifier, from one pass over the rows.

    Parameters
    ----------
    model : fitted classifier
        Of tenfold or scikit-learn.
    X, y, sample_weight :
        Rows of any kind, their labels and weights, as `evaluate` takes them.
    positive : label, optional
        The class that measures are of; by default the second of two.

    Returns
    -------
    Confusion

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import GaussianNB
    >>> X, y = np.array([[0.0], [1.0], [5.0], [6.0], [7.0]]), np.array([0, 0, 1, 1, 0])
    >>> confusion_matrix(GaussianNB().fit(X[:4], y[:4]), X, y).counts.tolist()
    [[2.0, 1.0], [0.0, 2.0]]
    """
    classes, [counts] = collect_statistics(model, X, y, [ConfusionCounts()], sample_weight)
    return ConfusionMatrix(counts, classes, positive)


def collect_statistics(
    model: Any, X: Any, y: Any, metrics: Sequence[Metric], sample_weight: Any = None
) -> tuple[np.ndarray | None, list[Any]]:
    """Classes (None for a regressor), and the merged statistic of each metric."""
    whole = _is_named_table(model, X)
    rows = (
        _SingleTable.of(model, X, y, sample_weight)
        if whole
        else open_evaluation_rows(model, X, y, sample_weight)
    )
    classes = np.asarray(model.classes_) if hasattr(model, "classes_") else None
    with _ignore_feature_name_warnings(model):
        found = rows.total(_chunk_statistics, model, metrics, classes)
        if classes is not None and len(found.unseen.labels):
            classes = np.concatenate([classes, found.unseen.labels])
            found = rows.total(_chunk_statistics, model, metrics, classes)
    return classes, found.parts


@contextmanager
def _ignore_feature_name_warnings(model: Any) -> Iterator[None]:
    """A model of scikit-learn that knows names of columns does not mind a chunk without them."""
    if accepts_rows(model) or getattr(model, "feature_names_in_", None) is None:
        yield
        return
    with warnings.catch_warnings():  # here, not in the leaf: filters belong to all threads
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        yield


class _SingleTable(NamedTuple):
    """A table as the only chunk, for a model that knows its columns by name and kind."""

    chunk: Chunk

    @classmethod
    def of(cls, model: Any, X: Any, y: Any, w: Any) -> _SingleTable:
        """Target and weights may be columns of the table."""
        if y is None:
            raise ValueError(_NO_TARGET_MESSAGE)
        y, w = (X[side] if isinstance(side, str) else side for side in (y, w))
        y, w = np.asarray(y), None if w is None else np.asarray(w)
        return cls(Chunk(X[list(model.feature_names_in_)], y, w))

    def total(self, f: Callable[..., Any], *state: Any) -> Any:
        return upcast(f(self.chunk, *state))


def _is_named_table(model: Any, X: Any) -> bool:
    """Whether X is a table in memory, and the model wants it as such."""
    named = getattr(model, "feature_names_in_", None) is not None and hasattr(X, "columns")
    return named and not accepts_rows(model) and not is_rows_like(X)


class UnseenLabels(NamedTuple):
    """Labels that are none of the classes; two sets merge by union."""

    labels: np.ndarray

    def merge(self, other: UnseenLabels) -> UnseenLabels:
        return UnseenLabels(np.union1d(self.labels, other.labels))


class EvaluationStatistic(NamedTuple):
    """What a chunk says of a model: labels that were not expected, or the metrics' statistics."""

    unseen: UnseenLabels
    parts: list[Any] | None


def _chunk_statistics(
    chunk: Chunk, model: Any, metrics: Sequence[Metric], classes: np.ndarray | None
) -> EvaluationStatistic:
    """Statistics of every metric of a chunk; none if it holds labels that are no classes."""
    truth = chunk.y if classes is None else class_indices(chunk.y, classes)
    said = {
        wants: predictions(model, chunk.X, wants, classes)
        for wants in {metric.wants for metric in metrics}
    }
    unseen = (
        UnseenLabels(np.empty(0)) if classes is None else _unseen_labels(chunk, model, truth, said)
    )
    if len(unseen.labels):
        return EvaluationStatistic(unseen, None)
    k = None if classes is None else len(classes)
    parts = [
        metric.part(chunk.y if metric.wants == "values" else truth, said[metric.wants], chunk.w, k)
        for metric in metrics
    ]
    return EvaluationStatistic(unseen, [to_accumulator(part) for part in parts])


def _unseen_labels(
    chunk: Chunk, model: Any, truth: np.ndarray, said: dict[str, np.ndarray]
) -> UnseenLabels:
    """Labels of a chunk, true or predicted, that are none of the classes."""
    unseen = UnseenLabels(np.unique(chunk.y[truth < 0]))
    if "labels" in said and (said["labels"] < 0).any():
        predicted = np.asarray(model.predict(chunk.X))
        unseen = unseen.merge(UnseenLabels(predicted[said["labels"] < 0]))
    return unseen


def open_evaluation_rows(model: Any, X: Any, y: Any, w: Any) -> Rows:
    """Rows with a target; those of the columns that the model knows, if they have names."""
    if isinstance(y, list) and not is_rows_like(X):
        y = np.asarray(y)  # labels, not names of columns
    names = getattr(model, "feature_names_in_", None)
    if isinstance(X, Rows) or names is None or not has_names(X):
        rows = open_rows(X, target=y, weight=w)
    else:
        rows = open_rows(X, target=y, weight=w, columns=list(names))
    if not rows.source.has_target:
        raise ValueError(_NO_TARGET_MESSAGE)
    if names is not None and rows.names and list(names) != list(rows.names):
        raise ValueError(
            f"the columns {rows.names} are not those of the fit, {list(names)}: "
            "choose them with tenfold.open(..., columns=[...])"
        )
    known = getattr(model, "n_features_in_", rows.n_features)
    if known != rows.n_features:
        raise ValueError(
            f"X has {rows.n_features} features, but {type(model).__name__} is expecting {known} "
            "features as input"
        )
    rows.allow_nan |= _allows_nan(model)
    return rows


def _allows_nan(model: Any) -> bool:
    from sklearn.utils import get_tags

    return hasattr(model, "__sklearn_tags__") and get_tags(model).input_tags.allow_nan


__all__ = ["collect_statistics", "confusion_matrix", "evaluate", "predictions"]
