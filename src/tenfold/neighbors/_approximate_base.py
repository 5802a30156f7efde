"""What approximate indexes share: queries, graphs, the transformer, checks of the parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils.validation import check_is_fitted

from tenfold.base.mixins import Transformer
from tenfold.engine.arrays import ArraySource
from tenfold.engine.rows import Rows
from tenfold.neighbors._file_rows import search_rows

_ROUNDING = 1e-9  # relative difference of distances that are equal but for rounding
RECALL_QUERIES = 256  # rows whose exact neighbors are searched for the estimate of the recall


def answer_type(k: int) -> np.dtype:
    """Record of a query: its k neighbors, and whether they are proven to be the nearest."""
    return np.dtype([("distance", np.float64, (k,)), ("number", np.int64, (k,)), ("proven", bool)])


class ApproximateNeighbors(ClassNamePrefixFeaturesOutMixin, Transformer):
    """An index with `n_neighbors` that answers queries by `_answers`."""

    _samples_rows = True

    def fit(self, X: Any, y: Any = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Build the index.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        y : None
            Ignored; present for API consistency.

        Returns
        -------
        self
        """
        return super().fit(X)

    def kneighbors(
        self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> Any:
        """Neighbors of each row, the nearest first, equally far ones by row number.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`, optional
            The queries. Without it, the rows of the fit, none of which is its own neighbor.
        n_neighbors : int, optional
            Number of neighbors; by default the parameter of this name.
        return_distance : bool
            Whether distances come with the numbers.

        Returns
        -------
        distances : (n_queries, n_neighbors) float64 array, if `return_distance`
            Euclidean distances from differences in float64, exact up to rounding.
        numbers : (n_queries, n_neighbors) int64 array of row numbers
        """
        answers = self._query(X, n_neighbors)
        if not return_distance:
            return answers["number"]
        return answers["distance"], answers["number"]

    def kneighbors_graph(
        self, X: Any = None, n_neighbors: int | None = None, mode: str = "connectivity"
    ) -> Any:
        """Sparse matrix of neighbors, (n_queries, n_rows).

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`, optional
            The queries; see `kneighbors`.
        n_neighbors : int, optional
            Number of neighbors.
        mode : {"connectivity", "distance"}
            Whether entries are ones or distances.
        """
        if mode not in {"connectivity", "distance"}:
            raise ValueError(f'mode={mode!r} is unknown: take "connectivity" or "distance"')
        answers = self._query(X, n_neighbors)
        n, k = answers["number"].shape
        entries = answers["distance"].ravel() if mode == "distance" else np.ones(n * k)
        places = np.arange(0, n * k + 1, k)
        numbers = answers["number"].ravel()
        return csr_matrix((entries, numbers, places), shape=(n, self.n_samples_fit_))

    def transform(self, X: Any) -> Any:
        """Sparse matrix of distances to the neighbors, (n_queries, n_rows).

        A row of the fit is its own first neighbor; so there is one neighbor more than
        `n_neighbors`, as models with ``metric="precomputed"`` expect it of
        `sklearn.neighbors.KNeighborsTransformer`.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The queries.
        """
        check_is_fitted(self)
        k = min(self.n_neighbors + 1, self.n_samples_fit_)
        return self.kneighbors_graph(X, k, mode="distance")

    def measure_recall(self, X: Any, n_neighbors: int | None = None) -> np.ndarray:
        """Share of the true neighbors in the answer to each query, (n_queries,).

        All rows are searched exactly, in blocks, which takes as long as that. A row that is as near
        as the last of the true neighbors counts as one of them.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The queries.
        n_neighbors : int, optional
            Number of neighbors; by default the parameter of this name.
        """
        answers = self._query(X, n_neighbors)
        with self._work_context():
            Q = self._rows(X, reset=False).gather().X
            farthest = kth_distances(self.rows_, Q, answers["distance"].shape[1])
        return reached_shares(answers["distance"], farthest)

    @property
    def _n_features_out(self) -> int:
        return self.n_samples_fit_

    def _query(self, X: Any, n_neighbors: int | None) -> np.ndarray:
        """Records of `answer_type` for queries, or for the rows of the fit."""
        check_is_fitted(self)
        k = self._check_n_neighbors(n_neighbors, self.n_samples_fit_ - (X is None))
        if X is None:
            answers = self._answers_without_self(k)
        else:
            with self._work_context():
                rows = self._rows(X, reset=False)
                answers = self._answers(rows, k, np.full(rows.n_rows, -1))
        if not np.isfinite(answers["distance"]).all():
            raise ValueError(
                f"{type(self).__name__}: squared distances leave the range of float64; divide the "
                "rows by a constant"
            )
        return answers

    def _check_n_neighbors(self, k: int | None, n: int) -> int:
        k = self.n_neighbors if k is None else k
        if not isinstance(k, int | np.integer):
            raise TypeError(f"n_neighbors={k!r} must be a whole number")
        if k < 1:
            raise ValueError(f"n_neighbors={k}: Expected n_neighbors > 0")
        if k > n:
            raise ValueError(
                f"Expected n_neighbors <= n_samples_fit, but n_neighbors = {k}, n_samples_fit = "
                f"{n}: ask for fewer neighbors, or fit on more rows"
            )
        return int(k)

    def _answers(self, rows: Rows, k: int, excluded: np.ndarray) -> np.ndarray:
        """Answers for rows; the row of the fit with the number `excluded[i]` is none of row i's."""
        raise NotImplementedError

    def _answers_without_self(self, k: int) -> np.ndarray:
        """Answers for the rows of the fit."""
        raise NotImplementedError


def gather_rows(rows: Rows) -> np.ndarray:
    """All rows as one C-contiguous array; that of the caller where it is one."""
    source = rows.source
    if isinstance(source, ArraySource) and source.X.dtype.kind == "f" and rows.source.finite:
        return np.ascontiguousarray(source.X)
    return rows.gather().X


def kth_distances(X: np.ndarray, Q: np.ndarray, k: int) -> np.ndarray:
    """Distance of each query to its k-th nearest row, by an exact search in bounded memory."""
    rows = Rows(ArraySource(X, finite=True))
    return search_rows(rows, Q, k, "euclidean", {}).distances[:, -1]


def reached_shares(found: np.ndarray, farthest: np.ndarray) -> np.ndarray:
    """Share of the distances found (m, k) that are at most the true k-th, for each query.

    Examples
    --------
    >>> reached_shares(np.array([[0.0, 1.0], [0.5, 3.0]]), np.array([1.0, 2.0]))
    array([1. , 0.5])
    """
    return (found <= farthest[:, None] * (1.0 + _ROUNDING)).mean(axis=1)


def found_share(found: np.ndarray, truth: np.ndarray) -> float:
    """Share of the true neighbors (m, k) that are among those found (m, k).

    Examples
    --------
    >>> found_share(np.array([[3, 1], [2, 0]]), np.array([[1, 3], [2, 5]]))
    0.75
    """
    return float((found[:, :, None] == truth[:, None, :]).any(axis=1).mean())
