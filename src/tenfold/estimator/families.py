"""What kinds of models there are: regressors, classifiers, transformers, clusterers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, ClusterMixin, RegressorMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from tenfold.estimator.base import Estimator
from tenfold.estimator.labels import number_labels
from tenfold.maths.links import log_softmax, softmax
from tenfold.rows import Chunk, Rows


class Regressor(RegressorMixin, Estimator):
    """A model of a number (or several) per row."""

    _y_required = True

    def _y_options(self) -> dict[str, Any]:
        return {"y_numeric": True, "multi_output": self._many_targets}

    def _rows(self, X: Any, y: Any = None, w: Any = None, *, reset: bool = True) -> Rows:
        rows = super()._rows(X, y, w, reset=reset)
        if reset:
            require_target(self, rows)
        return rows


class Classifier(ClassifierMixin, Estimator):
    """A model of a label per row; `classes_` and `predict` are made here."""

    _y_required = True
    _min_classes = 1

    def _training_rows(self, X: Any, y: Any, w: Any) -> Rows:
        rows = self._rows(X, y, w)
        require_target(self, rows)
        self.classes_, rows = number_labels(rows)
        if len(self.classes_) < self._min_classes:
            raise ValueError(
                f"{type(self).__name__} needs samples of at least {self._min_classes} classes in "
                f"the data, but the data contains only one class: {self.classes_[0]!r}"
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
        return self.classes_[self._each(X, best, f, *state)]

    def _scorer(self) -> tuple:
        """A leaf and its state that give (n, k) scores, the best one the largest."""
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
        return self._each(X, log_probabilities, *self._scorer())

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class for each row, (n, k).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        return self._each(X, probabilities, *self._scorer())


class Transformer(TransformerMixin, Estimator):
    """A model that maps rows to other rows."""


class Clusterer(ClusterMixin, Estimator):
    """A model that gives each row the number of a group."""


def best(chunk: Chunk, f: Callable[..., np.ndarray], *state: Any) -> np.ndarray:
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
