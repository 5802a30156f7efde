"""Regression by the mean of neighbors."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.base.docstrings import inherit_descriptions
from tenfold.base.mixins import Regressor
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.neighbors._base import (
    K_CONSTRAINT,
    KEEP_CONSTRAINT,
    NEIGHBOR_CONSTRAINTS,
)
from tenfold.neighbors._fold_predictions import neighbors_by_fold
from tenfold.neighbors._searches import KNeighborsSearch
from tenfold.neighbors._stored_rows import NeighborRows
from tenfold.neighbors._targets import WEIGHTS_CONSTRAINT, SupervisedNeighbors
from tenfold.neighbors._votes import (
    NeighborSearch,
    vote_weights,
    weigh_found,
    weighted_means,
)


class NeighborsRegressor(SupervisedNeighbors, Regressor):
    """A regressor whose statistic are the training rows; one or several outputs."""

    def _statistic(self, rows: Rows) -> NeighborRows:
        s = super()._statistic(rows)
        if s.y.dtype.kind not in "fiub":
            s = s._replace(y=np.asarray(s.y).astype(np.float64))  # "could not convert string ..."
        if s.y.dtype.kind == "f" and not np.isfinite(s.y).all():
            raise ValueError("Input y contains NaN or infinity: leave such rows out")
        return s

    def predict(self, X: Any = None, *, groups: Any = None) -> np.ndarray:
        """The mean target of the neighbors of each row.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`, optional
            The rows; by default the training rows, none of which is its own neighbor.
        groups : array, optional
            Group of each row: training rows of the same group are left out.

        Returns
        -------
        (n,) or (n, n_outputs) array
        """
        check_is_fitted(self)
        return self._shape_outputs(self._predict_means(X, groups))

    def _predict_means(self, X: Any, groups: Any) -> np.ndarray:
        raise NotImplementedError

    def _shape_outputs(self, means: np.ndarray) -> np.ndarray:
        """Means in the type of targets and in their number of dimensions."""
        if self._is_elsewhere:
            return means[:, 0] if means.shape[1] == 1 else means
        y = self.statistic_.y
        means = means.astype(y.dtype if y.dtype == np.float32 else np.float64, copy=False)
        return means[:, 0] if y.ndim == 1 else means


@inherit_descriptions
class KNeighborsRegressor(KNeighborsSearch, NeighborsRegressor):
    r"""Predict the mean target of the k nearest training rows.

    .. math:: \hat y(q) = \frac{\sum_{i \in N_k(q)} v_i y_i}{\sum_{i \in N_k(q)} v_i}

    with weights :math:`v_i = 1`, or the inverse distances. Of rows at the same distance the one
    with the smaller number is nearer. Parameters are those of
    `sklearn.neighbors.KNeighborsRegressor`.

    Parameters
    ----------
    n_neighbors : int
        Number k of neighbors. All rows give the mean of the targets.

    Notes
    -----
    Weights count as in `KNeighborsClassifier`: a row of weight 2 is two neighbors.

    See Also
    --------
    RadiusNeighborsRegressor : The mean of all rows within a radius.

    References
    ----------
    T. Hastie, R. Tibshirani and J. Friedman (2009), The elements of statistical learning, chapter
    13.

    Examples
    --------
    >>> from tenfold import KNeighborsRegressor
    >>> model = KNeighborsRegressor(2).fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 0.0, 1.0, 1.0])
    >>> model.predict([[1.5]]).tolist()
    [0.5]
    """

    _parameter_constraints = {
        **K_CONSTRAINT,
        **NEIGHBOR_CONSTRAINTS,
        **WEIGHTS_CONSTRAINT,
        **KEEP_CONSTRAINT,
    }

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        weights: Any = "uniform",
        algorithm: str = "auto",
        leaf_size: int = 30,
        p: float = 2,
        metric: Any = "minkowski",
        metric_params: dict | None = None,
        n_jobs: int | None = None,
        keep_rows: str = "auto",
    ) -> None:
        super().__init__(algorithm, leaf_size, p, metric, metric_params, n_jobs)
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.keep_rows = keep_rows

    def _predict_folds(
        self, rows: Rows, fold: np.ndarray, settings: list[dict], wants: str
    ) -> list[np.ndarray] | None:
        """Predictions of each row by the rows of other folds, for all candidates."""
        if wants != "values" or rows.source.has_weight:
            return None
        s = self._statistic(rows)
        found = neighbors_by_fold(self, rows, s, fold, settings)
        if found is None:
            return None
        y = s.y.reshape(s.n_rows, -1)
        means = [
            weighted_means(y[near.rows], vote_weights(near, model.weights)) for model, near in found
        ]
        return [mean[:, 0] if s.y.ndim == 1 else mean for mean in means]

    def _predict_means(self, X: Any, groups: Any) -> np.ndarray:
        self._check_k(self.n_neighbors, X)
        if self._is_elsewhere:
            found = self._search_elsewhere(X, self.n_neighbors, groups)
            weights = vote_weights(weigh_found(found, self.n_neighbors), self.weights)
            return weighted_means(cast("Any", found.y), weights)
        s = self.statistic_
        search = NeighborSearch(self._index, self.n_neighbors, w=s.w, **self._left_out(X, groups))
        y = s.y.reshape(s.n_rows, -1)
        return self._map_queries(X, means_of_chunk, search, y, self.weights)


def means_of_chunk(chunk: Chunk, search: NeighborSearch, y: np.ndarray, weights: Any) -> np.ndarray:
    """Means (m, n_outputs) of the targets of the neighbors of queries."""
    found = search.nearest(chunk.X, chunk.first)
    return weighted_means(y[found.rows], vote_weights(found, weights, chunk.first))
