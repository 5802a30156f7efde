"""Networks that tell classes apart, and networks that predict numbers."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from tenfold.estimator import Classifier, Regressor
from tenfold.estimator.labels import number_labels
from tenfold.neural.judging import chances, error_share, unexplained
from tenfold.neural.model import NetworkModel
from tenfold.rows import Rows


class NetworkClassifier(NetworkModel, Classifier):
    """A network that tells classes apart."""

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
        (n,) array of labels
        """
        best = self._said(X, chances).argmax(axis=1)
        return self.classes_[best]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class for each row, (n, k).

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
            return np.log(self.predict_proba(X))

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


class NetworkRegressor(NetworkModel, Regressor):
    """A network that predicts numbers."""

    _many_targets = True

    def _targets(self, rows: Rows) -> int:
        shape = rows.target_shape
        return shape[0] if shape else 1

    def _measure(self) -> Any:
        return unexplained

    def predict(self, X: Any) -> np.ndarray:
        """The predicted number of each row, or numbers, (n,) or (n, q).

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        said = self._said(X, chances)
        return said[:, 0] if said.shape[1] == 1 else said

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


def check_partial(model: Any) -> None:
    """Raise an error if the settings do not suit one epoch at a time."""
    model._validate_params()  # noqa: SLF001
    if getattr(model, "early_stopping", False):
        raise ValueError("partial_fit does not support early_stopping=True")
