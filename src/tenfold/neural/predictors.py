"""Networks that tell classes apart, and networks that predict numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from tenfold.estimator import Classifier, Regressor
from tenfold.estimator.labels import number_labels
from tenfold.neural.judging import chances, error_share, unexplained
from tenfold.neural.model import NetworkModel
from tenfold.rows import Rows


class Scoring:
    """How good the predictions for rows are, or for the steps of all sequences."""

    _metric: str  # of sklearn.metrics
    predict: Callable[[Any], Any]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy of labels, or R^2 of numbers: over rows, or over the steps of all sequences.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        y : array, or list of arrays
            Their labels or targets.
        sample_weight : array, optional
            Their weights.
        """
        from sklearn import metrics

        y, said, w = pooled(y, self.predict(X), sample_weight)
        return float(getattr(metrics, self._metric)(y, said, sample_weight=w))


class NetworkClassifier(Scoring, NetworkModel, Classifier):
    """A network that tells classes apart."""

    _metric = "accuracy_score"
    classes_: Any  # sorted labels

    def _training_rows(self, X: Any, y: Any, w: Any) -> Rows:
        warm = getattr(self, "warm_start", False) and hasattr(self, "classes_")
        before = self.classes_ if warm else None
        rows = super()._training_rows(X, y, w)
        if before is not None and not np.array_equal(before, self.classes_):
            now, self.classes_ = self.classes_, before
            raise ValueError(
                "warm_start can only be used where `y` has the same classes as in the previous "
                f"call to fit. Previously got {before}, `y` has {now}"
            )
        return rows

    def _targets(self, rows: Rows) -> int:
        return len(self.classes_)

    def _measure(self) -> Any:
        return error_share

    def predict(self, X: Any) -> np.ndarray:
        """The most probable label of each row.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.

        Returns
        -------
        (n,) array of labels; where steps have labels, a list with an array for each sequence
        """
        return each(lambda p: self.classes_[p.argmax(axis=1)], self._said(X, chances))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class for each row, (n, k), or for each step, a list of arrays.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        return self._said(X, chances)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Log of `predict_proba`.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        with np.errstate(divide="ignore"):
            return each(np.log, self.predict_proba(X))

    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, classes: Any = None
    ) -> Self:
        """One epoch over further rows, from where the model stands.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The further rows.
        y : array or column name
            Their labels.
        sample_weight : array or column name, optional
            Their weights.
        classes : array, optional
            All labels there are; needed at the first call.

        Returns
        -------
        self
        """
        check_partial(self)
        first = not hasattr(self, "params_")
        if first and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        with self._at_work():
            rows = self._rows(X, y, sample_weight, reset=first)
            known = np.unique(classes) if first else self.classes_
            self.classes_, rows = number_labels(rows, known)
            self._more(rows)
        return self


class NetworkRegressor(Scoring, NetworkModel, Regressor):
    """A network that predicts numbers."""

    _metric = "r2_score"
    _many_targets = True

    def _targets(self, rows: Rows) -> int:
        shape = rows.target_shape
        return shape[0] if shape else 1

    def _measure(self) -> Any:
        return unexplained

    def predict(self, X: Any) -> np.ndarray:
        """The predicted number of each row, or numbers, (n,) or (n, q); of steps, a list of them.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        said = self._said(X, chances)
        return each(lambda numbers: numbers[:, 0] if numbers.shape[1] == 1 else numbers, said)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """One epoch over further rows, from where the model stands.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The further rows.
        y : array or column name
            Their targets.
        sample_weight : array or column name, optional
            Their weights.

        Returns
        -------
        self
        """
        check_partial(self)
        with self._at_work():
            self._more(self._rows(X, y, sample_weight, reset=not hasattr(self, "params_")))
        return self


def each(f: Callable[[np.ndarray], np.ndarray], said: Any) -> Any:
    """A function of what is said of all rows, or of the steps of each sequence."""
    return [f(part) for part in said] if isinstance(said, list) else f(said)


def pooled(y: Any, said: Any, w: Any) -> tuple[Any, Any, Any]:
    """Truth, predictions and weights; the steps of all sequences one after the other."""
    if not isinstance(said, list):
        return y, said, w
    w = None if w is None else np.repeat(w, [len(part) for part in said])
    return np.concatenate(list(y)), np.concatenate(said), w


def check_partial(model: Any) -> None:
    """Raise an error if the settings do not suit one epoch at a time."""
    model._validate_params()  # noqa: SLF001
    if getattr(model, "early_stopping", False):
        raise ValueError("partial_fit does not support early_stopping=True")
