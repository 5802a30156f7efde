"""Linear scores of rows, and what models with nothing else to say about them share."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.estimator import Classifier, Regressor
from tenfold.rows import Chunk


class LinearRegressor(Regressor):
    """A regressor that predicts x·w + b, from `coef_` and `intercept_`."""

    def predict(self, X: Any) -> np.ndarray:
        """Predicted target of each row.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.

        Returns
        -------
        (n,) or (n, q) array
        """
        check_is_fitted(self)
        return self._each(X, linear_score, self.coef_, self.intercept_)


class LinearClassifier(Classifier):
    """A classifier by the largest of linear scores; two classes share one row of `coef_`."""

    def _scorer(self) -> tuple:
        return class_scores, self.coef_, self.intercept_

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of each row: (n,) for the second of two classes, else (n, k).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        Z = self._each(X, row_scores, self.coef_, self.intercept_)
        return Z[:, 0] if len(self.coef_) == 1 else Z


def linear_score(chunk: Chunk, coef: np.ndarray, intercept: np.ndarray) -> np.ndarray:
    """X w + b."""
    return chunk.X @ coef.T + intercept


def row_scores(chunk: Chunk, W: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Scores (n, m)."""
    return chunk.X @ W.T + b


def class_scores(chunk: Chunk, W: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Scores (n, k), with a column of zeros for the first of two classes."""
    Z = row_scores(chunk, W, b)
    return np.hstack([np.zeros_like(Z), Z]) if len(W) == 1 else Z
