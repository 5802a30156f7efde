"""Kinds of models: regressors, classifiers (with label encoding), transformers, clusterers."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import ClassifierMixin, ClusterMixin, RegressorMixin, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from tenfold.base.estimator import Estimator
from tenfold.base.input_errors import numeric_target
from tenfold.engine.arrays import ArraySource, SparseSource
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.math.links import log_softmax, softmax

_MAX_COUNTED_RANGE = 1000  # span of whole numbers that are counted rather than sorted


class LabelSet(NamedTuple):
    """The different labels of a chunk; two sets merge by union."""

    values: np.ndarray
    narrow = True  # labels keep their type: booleans are no numbers

    def merge(self, other: LabelSet) -> LabelSet:
        return LabelSet(np.union1d(self.values, other.values))


def chunk_labels(chunk: Chunk) -> LabelSet:
    """The different labels of a chunk."""
    return LabelSet(np.unique(chunk.y))


def encode_row_labels(rows: Rows, classes: np.ndarray | None = None) -> tuple[np.ndarray, Rows]:
    """The sorted classes, and the rows with labels as numbers into them."""
    if classes is None and (own := rows.label_encoding()) is not None:
        return own
    if not isinstance(rows.source, ArraySource | SparseSource) or classes is not None:
        known = rows.total(chunk_labels).values if classes is None else classes
        return known, rows.with_classes(known)
    if "labels" not in rows.derived:  # a copy: these rows may be used again, and keep their labels
        source = copy(rows.source)
        known, source.y = unique_labels(rows.source.y)
        rows.derived["labels"] = known, Rows(source, engine=rows.engine)
    known, encoded = rows.derived["labels"]
    encoded.allow_nan = rows.allow_nan
    return known, encoded


def unique_labels(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sorted labels and the number of each row's; numbers of a small range need no sorting."""
    if y.dtype.kind in "iu" and y.ndim == 1 and len(y):
        low, high = int(y.min()), int(y.max())
        if high - low < _MAX_COUNTED_RANGE:
            from_low = (y.astype(np.int64) if y.dtype.kind == "i" else y) - low  # may pass 127
            there = np.zeros(high - low + 1, bool)
            there[from_low] = True
            known = np.flatnonzero(there)
            codes = from_low if len(known) == len(there) else (np.cumsum(there) - 1)[from_low]
            labels = known.astype(y.dtype) + y.min()  # in the type of y: none is beyond its range
            return labels, codes.astype(np.int64, copy=False)
    check_classification_targets(y)
    return np.unique(y, return_inverse=True)


class Regressor(RegressorMixin, Estimator):
    """A model of a number (or several) per row."""

    _y_required = True

    def _y_options(self) -> dict[str, Any]:
        return {"y_numeric": True, "multi_output": self._multi_output}

    def _rows(self, X: Any, y: Any = None, w: Any = None, *, reset: bool = True) -> Rows:
        rows = super()._rows(X, numeric_target(y), w, reset=reset)
        if reset:
            require_target(self, rows)
        return rows


class Classifier(ClassifierMixin, Estimator):
    """A model of a label per row; `classes_` and `predict` are defined here."""

    _y_required = True
    _min_classes = 1

    def _training_rows(self, X: Any, y: Any, w: Any) -> Rows:
        rows = self._rows(X, y, w)
        require_target(self, rows)
        self.classes_, rows = encode_row_labels(rows)
        if len(self.classes_) < self._min_classes:
            raise ValueError(
                f"{type(self).__name__}: This solver needs samples of at least {self._min_classes} "
                "classes in the data, but the data contains only one class: "
                f"{self.classes_.tolist()[0]!r}"
            )
        return rows

    def predict(self, X: Any) -> np.ndarray:
        """The most probable label of each row.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.

        Returns
        -------
        (n,) array of labels
        """
        check_is_fitted(self)
        f, *state = self._scorer()
        return self.classes_[self._map_rows(X, argmax_scores, f, *state)]

    def _scorer(self) -> tuple:
        """A chunk function and its state: (n_rows, n_classes) scores, the largest for the best."""
        raise NotImplementedError(f"{type(self).__name__} has to define _scorer()")


class ProbabilisticClassifier(Classifier):
    """A classifier whose scores are log-probabilities up to a constant per row."""

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Log-probability of each class for each row, (n, k).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        return self._map_rows(X, log_probabilities, *self._scorer())

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class for each row, (n, k).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        return self._map_rows(X, probabilities, *self._scorer())


class Transformer(TransformerMixin, Estimator):
    """A model that maps rows to other rows."""


class Clusterer(ClusterMixin, Estimator):
    """A model that gives each row the number of a group."""


def argmax_scores(chunk: Chunk, f: Callable[..., np.ndarray], *state: Any) -> np.ndarray:
    """Number of the largest score of each row."""
    return f(chunk, *state).argmax(axis=1)


def probabilities(chunk: Chunk, f: Callable[..., np.ndarray], *state: Any) -> np.ndarray:
    """Softmax of the scores of each row."""
    return softmax(f(chunk, *state))


def log_probabilities(chunk: Chunk, f: Callable[..., np.ndarray], *state: Any) -> np.ndarray:
    """Log of the softmax of the scores of each row."""
    return log_softmax(f(chunk, *state))


def require_target(model: object, rows: Rows) -> None:
    """Raise an error if the rows came without a target."""
    if not rows.source.has_target:
        raise ValueError(
            f"{type(model).__name__} requires y to be passed, but the target y is None: give y, or "
            "name it: tenfold.open(..., target='column')"
        )
