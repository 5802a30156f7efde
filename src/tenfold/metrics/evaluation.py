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
    """Evaluate a fitted model by metrics, in one pass over the rows.

    Parameters
    ----------
    model : fitted classifier or regressor
        Of tenfold, scikit-learn, or any with their methods.
    X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
        The rows, read chunk by chunk; but a scikit-learn model that was fitted on a table gets a
        table as a whole.
    y : array or column name, optional
        Targets or labels. A label that the model does not know counts as an error (and costs a
        second pass with the extended classes).
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
        The positive class of the measures; by default the second of two.

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
    is_table = _is_named_table(model, X)
    rows = (
        _SingleTable.of(model, X, y, sample_weight)
        if is_table
        else open_evaluation_rows(model, X, y, sample_weight)
    )
    classes = np.asarray(model.classes_) if hasattr(model, "classes_") else None
    labels = None
    if classes is not None and isinstance(rows, Rows):
        encoding = rows.label_encoding()  # rows of a fold hold numbers of labels
        labels, rows = (None, rows) if encoding is None else encoding
    with _ignore_feature_name_warnings(model):
        statistic = rows.total(_chunk_statistics, model, metrics, classes, labels)
        if classes is not None and len(statistic.unseen.labels):
            classes = np.concatenate([classes, statistic.unseen.labels])
            statistic = rows.total(_chunk_statistics, model, metrics, classes, labels)
    return classes, statistic.parts


@contextmanager
def _ignore_feature_name_warnings(model: Any) -> Iterator[None]:
    """Silence scikit-learn's warning about chunks without feature names."""
    if accepts_rows(model) or getattr(model, "feature_names_in_", None) is None:
        yield
        return
    with warnings.catch_warnings():  # here, not in the leaf: filters are global to all threads
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        yield


class _SingleTable(NamedTuple):
    """A table as the only chunk, for a model that selects columns by name and type."""

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
    """Whether X is a table in memory and the model needs it as such."""
    named = getattr(model, "feature_names_in_", None) is not None and hasattr(X, "columns")
    return named and not accepts_rows(model) and not is_rows_like(X)


class UnseenLabels(NamedTuple):
    """Labels that are none of the classes; two sets merge by union."""

    labels: np.ndarray

    def merge(self, other: UnseenLabels) -> UnseenLabels:
        return UnseenLabels(np.union1d(self.labels, other.labels))


class EvaluationStatistic(NamedTuple):
    """Unknown labels of a chunk, or the statistics of the metrics if there are none."""

    unseen: UnseenLabels
    parts: list[Any] | None


def _chunk_statistics(
    chunk: Chunk,
    model: Any,
    metrics: Sequence[Metric],
    classes: np.ndarray | None,
    labels: np.ndarray | None,
) -> EvaluationStatistic:
    """Statistics of all metrics on a chunk; none if it holds unknown labels.

    With `labels`, the target of the chunk holds numbers into them.
    """
    if labels is not None:
        chunk = chunk._replace(y=labels[chunk.y])
    target = chunk.y if classes is None else class_indices(chunk.y, classes)
    predicted = {
        wants: predictions(model, chunk.X, wants, classes)
        for wants in {metric.wants for metric in metrics}
    }
    unseen = (
        UnseenLabels(np.empty(0))
        if classes is None
        else _unseen_labels(chunk, model, target, predicted)
    )
    if len(unseen.labels):
        return EvaluationStatistic(unseen, None)
    k = None if classes is None else len(classes)
    parts = [
        metric.part(
            chunk.y if metric.wants == "values" else target, predicted[metric.wants], chunk.w, k
        )
        for metric in metrics
    ]
    return EvaluationStatistic(unseen, [to_accumulator(part) for part in parts])


def _unseen_labels(
    chunk: Chunk, model: Any, target: np.ndarray, predictions_by_kind: dict[str, np.ndarray]
) -> UnseenLabels:
    """Labels of a chunk, true or predicted, that are none of the classes."""
    unseen = UnseenLabels(np.unique(chunk.y[target < 0]))
    if "labels" in predictions_by_kind and (predictions_by_kind["labels"] < 0).any():
        predicted = np.asarray(model.predict(chunk.X))
        unseen = unseen.merge(UnseenLabels(predicted[predictions_by_kind["labels"] < 0]))
    return unseen


def open_evaluation_rows(model: Any, X: Any, y: Any, w: Any) -> Rows:
    """Open rows with a target, restricted to the feature names of the model if it has some."""
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
    expected = getattr(model, "n_features_in_", rows.n_features)
    if expected != rows.n_features:
        raise ValueError(
            f"X has {rows.n_features} features, but {type(model).__name__} is expecting {expected} "
            "features as input"
        )
    rows.allow_nan |= _allows_nan(model)
    return rows


def _allows_nan(model: Any) -> bool:
    from sklearn.utils import get_tags

    return hasattr(model, "__sklearn_tags__") and get_tags(model).input_tags.allow_nan


__all__ = ["collect_statistics", "confusion_matrix", "evaluate", "predictions"]
