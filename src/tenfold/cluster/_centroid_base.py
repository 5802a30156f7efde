"""Base class of centroid models: initialization, given centers or labels, and predictions.

Shapes use k clusters and p features.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from tenfold._compiled.reductions import class_sums
from tenfold.base.mixins import Clusterer
from tenfold.cluster._lloyd import MAX_MEAN_IN_DEVIATIONS, inertia, label_chunk
from tenfold.cluster.initialization import INIT_METHODS, sample_candidates
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.math.distances import squared_distances
from tenfold.math.linalg import to_dense

# Rows of the sample that initial centers are drawn from; not swept.
INIT_ROWS = 20_000
INIT_ROWS_PER_CLUSTER = 100  # at least this many for each cluster
# Labels of a block in the search for empty clusters: indexing copies them as int64. Not swept.
LABELS_PER_BLOCK = 2**20


class _ClusterSums(NamedTuple):
    """Weight and sum of the rows with each label."""

    weight: np.ndarray  # (k,)
    sums: np.ndarray  # (k, p)


def _cluster_sums(chunk: Chunk, labels: np.ndarray, k: int) -> _ClusterSums:
    """Weight and sum of the rows of a chunk with each label; labels are those of all rows."""
    part = labels[chunk.first : chunk.first + chunk.rows]
    w = chunk.weights().astype(np.float64)
    if isinstance(chunk.X, np.ndarray):
        return _ClusterSums(*class_sums(chunk.X, part, w, k))
    from scipy.sparse import csr_array

    one_hot = csr_array((w, part, np.arange(chunk.rows + 1)), shape=(chunk.rows, k))
    return _ClusterSums(np.asarray(one_hot.sum(axis=0)), (one_hot.T @ chunk.X).toarray())


def _cluster_means(rows: Rows, labels: np.ndarray, k: int) -> np.ndarray:
    """Mean of the rows with each label, (k, p); of all rows for a label without rows."""
    s = rows.total(_cluster_sums, labels, k)
    means = s.sums / np.where(s.weight > 0, s.weight, 1.0)[:, None]
    overall = s.sums.sum(axis=0) / s.weight.sum()
    return np.where(s.weight[:, None] > 0, means, overall)


def check_cluster_labels(labels: np.ndarray, k: int, n: int | None = None) -> np.ndarray:
    """Labels as 32-bit integers from 0 to k - 1, one for each of n rows; an error otherwise."""
    if n is not None and len(labels) != n:
        raise ValueError(
            f"init has {len(labels)} labels, but there are {n} rows: give one label for each"
        )
    if len(labels) and (labels.min() < 0 or labels.max() >= k):
        row = int(np.argmax((labels < 0) | (labels >= k)))
        raise ValueError(f"label {labels[row]} of row {row} is none of 0, ..., {k - 1}")
    return labels.astype(np.int32)


_INDEPENDENT_INITS = {"random", "uniform"}  # inits that ignore the centers drawn before


class CentroidClusterer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Clusterer):
    """A model with `n_clusters`, `init` and `n_init` that learns `cluster_centers_`."""

    _sparse_ok = True
    _samples_rows = True

    def _check_row_count(self, rows: Rows) -> None:
        if rows.n_rows < self.n_clusters:
            raise ValueError(f"n_samples={rows.n_rows} should be >= n_clusters={self.n_clusters}.")

    def _n_initializations(self, independent: int = 10) -> int:
        """Number of initializations; "auto" is `independent` for `_INDEPENDENT_INITS`, else 1."""
        if not (isinstance(self.init, str) or callable(self.init)):
            self._warn_single_init()
            return 1  # equal initial centers give equal results
        if self.n_init == "auto":
            return independent if callable(self.init) or self.init in _INDEPENDENT_INITS else 1
        return self.n_init

    def _warn_single_init(self) -> None:
        if self.n_init not in {"auto", 1}:
            warnings.warn(
                "Explicit initial center position passed: performing only one init in "
                f"{type(self).__name__} instead of n_init={self.n_init}.",
                RuntimeWarning,
                stacklevel=5,
            )

    def _warn_lost_clusters(self, labels: np.ndarray) -> None:
        nonempty = np.zeros(self.n_clusters, bool)
        for start in range(0, len(labels), LABELS_PER_BLOCK):  # indexing copies the labels as int64
            nonempty[labels[start : start + LABELS_PER_BLOCK]] = True
        n_found = np.count_nonzero(nonempty)
        if n_found < self.n_clusters:
            warnings.warn(
                f"Number of distinct clusters ({n_found}) found smaller than n_clusters "
                f"({self.n_clusters}). Possibly due to duplicate points in X.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _initial_centers(
        self, rows: Rows, rng: np.random.Generator, size: int | None = None
    ) -> np.ndarray:
        """Initial centers, in the coordinates of the data."""
        k, seed = self.n_clusters, int(rng.integers(2**31))
        if not (isinstance(self.init, str) or callable(self.init)):
            return self._given_centers(np.asarray(self.init), rows)
        X, w = self._init_candidates(rows, size or max(INIT_ROWS, INIT_ROWS_PER_CLUSTER * k), seed)
        if callable(self.init):
            drawn = self.init(to_dense(X), k, random_state=np.random.RandomState(seed))
            return self._check_centers(np.asarray(drawn), rows)
        return INIT_METHODS[self.init](X, w, k, rng)

    def _init_candidates(self, rows: Rows, size: int, seed: int) -> tuple[Any, np.ndarray]:
        """Candidate rows for initial centers, and their weights."""
        return sample_candidates(rows, size, seed)

    def _given_centers(self, start: np.ndarray, rows: Rows) -> np.ndarray:
        """Given centers, or the means of the rows with each given label."""
        if start.ndim == 1 and start.dtype.kind in "iu":
            labels = check_cluster_labels(start, self.n_clusters, rows.n_rows)
            return _cluster_means(rows, labels, self.n_clusters)
        return self._check_centers(start, rows)

    def _check_centers(self, start: np.ndarray, rows: Rows) -> np.ndarray:
        shape = (self.n_clusters, rows.n_features)
        if start.shape != shape:
            rows_differ = start.ndim != 2 or len(start) != self.n_clusters
            what = "clusters" if rows_differ else "features of the data"
            raise ValueError(
                f"The shape of the initial centers {start.shape} does not match the number of "
                f"{what}: init has the shape {start.shape}; {shape} is needed"
            )
        if not np.isfinite(start).all():
            raise ValueError("init contains NaN or infinity")
        return start

    @property
    def _n_features_out(self) -> int:
        return self.n_clusters

    def fit_predict(  # pyright: ignore[reportIncompatibleMethodOverride] - scikit-learn's order
        self, X: Any, y: Any = None, sample_weight: Any = None
    ) -> np.ndarray:
        """Fit, and return the number of the nearest center of each row, (n_samples,).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        y : None
            Ignored; present for API consistency.
        sample_weight : array or column name, optional
            Weight of each row.
        """
        return self.fit(X, sample_weight=sample_weight).labels_

    def fit_transform(  # pyright: ignore[reportIncompatibleMethodOverride] - scikit-learn's order
        self, X: Any, y: Any = None, sample_weight: Any = None
    ) -> np.ndarray:
        """Fit, and return the distance of each row to each center, (n_samples, n_clusters).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        y : None
            Ignored; present for API consistency.
        sample_weight : array or column name, optional
            Weight of each row.
        """
        return self.fit(X, sample_weight=sample_weight).transform(X)

    def predict(self, X: Any) -> np.ndarray:
        """Number of the nearest center of each row, (n_samples,).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        return self._map_rows(X, _predict_chunk, self.cluster_centers_)

    def transform(self, X: Any) -> np.ndarray:
        """Distance of each row to each center, (n_samples, n_clusters).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        return self._map_rows(X, _transform_chunk, self.cluster_centers_)

    def reconstruct(self, X: Any) -> np.ndarray:
        """The nearest center of each row, (n_samples, n_features).

        With one-hot labels Z and centers C this is Z C: k-means is the matrix factorization
        X ~ Z C with one-hot Z (vector quantization).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows; or (n_samples,) integers, their labels from `predict`.
        """
        check_is_fitted(self)
        are_labels = isinstance(X, np.ndarray) and X.ndim == 1 and X.dtype.kind in "iu"
        labels = (
            check_cluster_labels(X, len(self.cluster_centers_)) if are_labels else self.predict(X)
        )
        return np.take(self.cluster_centers_, labels, axis=0)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the inertia of the rows.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        y : None
            Ignored; present for API consistency.
        sample_weight : array, optional
            Weight of each row.
        """
        check_is_fitted(self)
        with self._work_context():
            rows = self._rows(X, None, sample_weight, reset=False)
            return -rows.total(_chunk_cost, self.cluster_centers_)


def _shift_to_centers(chunk: Chunk, centers: np.ndarray) -> tuple[Chunk, np.ndarray]:
    """Dense rows and centers relative to the mean of the centers, if that is far from zero."""
    origin = centers.mean(axis=0)
    near = np.abs(origin) <= MAX_MEAN_IN_DEVIATIONS * np.abs(centers - origin).max(axis=0)
    if near.all() or not isinstance(chunk.X, np.ndarray):
        return chunk, centers
    return chunk._replace(X=chunk.X - origin), centers - origin


def _predict_chunk(chunk: Chunk, centers: np.ndarray) -> np.ndarray:
    """Number of the nearest center of each row."""
    return label_chunk(*_shift_to_centers(chunk, centers), None)


def _chunk_cost(chunk: Chunk, centers: np.ndarray) -> float:
    """Weighted sum of squared distances to the nearest center."""
    return inertia(*_shift_to_centers(chunk, centers), None)


def _transform_chunk(chunk: Chunk, centers: np.ndarray) -> np.ndarray:
    """Euclidean distance of each row to each center."""
    chunk, centers = _shift_to_centers(chunk, centers)
    return np.sqrt(squared_distances(to_dense(chunk.X), centers))
