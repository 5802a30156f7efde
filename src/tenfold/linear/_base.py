"""Base classes of linear models, their scores, and the values from which a fit starts."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from tenfold.base.mixins import Classifier, Regressor
from tenfold.engine.arrays import ArraySource, SparseSource
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.linear._thresholds import INITIAL_SAMPLE_ROWS


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
        (n_rows,) or (n_rows, n_targets) array
        """
        check_is_fitted(self)
        values = self._map_rows(X, linear_score, self.coef_, self.intercept_)
        return values[:, 0] if sparse.issparse(self.coef_) else values


class LinearClassifier(Classifier):
    """A classifier by the largest of linear scores; two classes share one row of `coef_`."""

    def _scorer(self) -> tuple:
        return class_scores, self.coef_, self.intercept_

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of each row: (n_rows,) for the second of two classes, else (n_rows, n_classes).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        Z = self._map_rows(X, linear_score, self.coef_, self.intercept_)
        return Z[:, 0] if self.coef_.shape[0] == 1 else Z


class SparseCoefMixin:
    """Coefficients that may be kept in a sparse matrix, where most of them are zero."""

    coef_: Any

    def sparsify(self) -> Self:
        """Keep the coefficients as a sparse matrix: smaller and faster where most are zero.

        Call `densify` before further training.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        self.coef_ = sparse.csr_matrix(self.coef_)
        return self

    def densify(self) -> Self:
        """Keep the coefficients as an array again.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        if sparse.issparse(self.coef_):
            coef = self.coef_.toarray()
            self.coef_ = coef if is_classifier(self) else coef[0]
        return self


def linear_score(chunk: Chunk, coef: Any, intercept: np.ndarray) -> np.ndarray:
    """X w + b: (n,) for coefficients (p,), (n, m) for coefficients (m, p), perhaps sparse."""
    Z = chunk.X @ coef.T
    return (Z.toarray() if sparse.issparse(Z) else Z) + intercept


def class_scores(chunk: Chunk, coef: Any, intercept: np.ndarray) -> np.ndarray:
    """Scores (n, k), with a column of zeros for the first of two classes."""
    Z = linear_score(chunk, coef, intercept)
    return np.hstack([np.zeros_like(Z), Z]) if coef.shape[0] == 1 else Z


def warm_start_parameters(model: Any) -> np.ndarray | None:
    """Coefficients and intercept [w b] of the last fit, if `warm_start` is set and they fit."""
    coef = np.ravel(getattr(model, "coef_", ()))
    if not model.warm_start or len(coef) != model.n_features_in_:
        return None
    intercept = model.intercept_ if model.fit_intercept else 0.0
    return np.append(coef, intercept).astype(np.float64)


def sample_rows(rows: Rows, k: int, seed: int) -> Rows:
    """A sample of k rows, without replacement, in memory."""
    sample = rows.sample(k, seed)
    source = SparseSource if rows.sparse else ArraySource
    return Rows(source(sample.X, sample.y, sample.w, finite=True))


def median_and_deviation(rows: Rows, *, centered: bool) -> tuple[float, float]:
    """Median of the target (0 if not centered) and median absolute deviation, on a sample.

    Where the latter is 0 the mean absolute deviation takes its place, and 1 where that is 0 too.
    """
    sample = rows.sample(5 * INITIAL_SAMPLE_ROWS, seed=0)
    y = sample.y[sample.weights() > 0].astype(np.float64)
    median = float(np.median(y)) if centered and len(y) else 0.0
    deviations = np.abs(y - median)
    scales = (float(average(deviations)) for average in (np.median, np.mean) if len(deviations))
    return median, next((scale for scale in scales if scale > 0), 1.0)


def chunk_weight(chunk: Chunk) -> float:
    """Total weight of a chunk."""
    return chunk.weight
