"""Base classes of linear models, their scores, and the values from which a fit starts."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.base.mixins import Classifier, Regressor
from tenfold.engine.arrays import ArraySource, SparseSource
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows


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


INITIAL_SAMPLE_ROWS = 2_000  # rows


def warm_start_parameters(model: Any) -> np.ndarray | None:
    """Coefficients and constant [w b] of the last fit, if the model asks for them and has them."""
    coef = np.ravel(getattr(model, "coef_", ()))
    if not model.warm_start or len(coef) != model.n_features_in_:
        return None
    constant = model.intercept_ if model.fit_intercept else 0.0
    return np.append(coef, constant).astype(np.float64)


def sample_rows(rows: Rows, k: int, seed: int) -> Rows:
    """So many of the rows, drawn by their numbers, in memory."""
    part = rows.sample(k, seed)
    place = SparseSource if rows.sparse else ArraySource
    return Rows(place(part.X, part.y, part.w, finite=True))


def median_and_deviation(rows: Rows, *, centered: bool) -> tuple[float, float]:
    """Median of the target (0 if not centred) and of its distance from there, on a sample."""
    part = rows.sample(5 * INITIAL_SAMPLE_ROWS, seed=0)
    y = part.y[part.weights() > 0].astype(np.float64)
    middle = float(np.median(y)) if centered and len(y) else 0.0
    off = np.abs(y - middle)
    sizes = (float(size(off)) for size in (np.median, np.mean) if len(off))
    return middle, next((size for size in sizes if size > 0), 1.0)


def chunk_weight(chunk: Chunk) -> float:
    """Total weight of a chunk."""
    return chunk.weight
