"""Base class of centroid models: initialization, validation of given centers or labels, and predictions."""

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


class _ClusterSums(NamedTuple):
    """Weight and sum of the rows with each label."""

    weight: np.ndarray  # (k,)
    sums: np.ndarray  # (k, p)


def _cluster_sums(chunk: Chunk, labels: np.ndarray, k: int) -> _ClusterSums:
    """Weight and sum of the rows of a chunk with each label; labels are those of all rows."""
    own, w = labels[chunk.first : chunk.first + chunk.rows], chunk.weights().astype(np.float64)
    if isinstance(chunk.X, np.ndarray):
        return _ClusterSums(*class_sums(chunk.X, own, w, k))
    from scipy.sparse import csr_array

    hot = csr_array((w, own, np.arange(chunk.rows + 1)), shape=(chunk.rows, k))
    return _ClusterSums(np.asarray(hot.sum(axis=0)), (hot.T @ chunk.X).toarray())


def _cluster_means(rows: Rows, labels: np.ndarray, k: int) -> np.ndarray:
    """Mean of the rows with each label; that of all rows for a label that none has, (k, p)."""
    m = rows.total(_cluster_sums, labels, k)
    means = m.sums / np.where(m.weight > 0, m.weight, 1.0)[:, None]
    everybody = m.sums.sum(axis=0) / m.weight.sum()
    return np.where(m.weight[:, None] > 0, means, everybody)


def check_cluster_labels(labels: np.ndarray, k: int, n: int | None = None) -> np.ndarray:
    """Labels as 32-bit numbers of k clusters; an error if they are not, or not one for each row."""
    if n is not None and len(labels) != n:
        raise ValueError(f"init has {len(labels)} labels, but there are {n} rows: give each one")
    if len(labels) and (labels.min() < 0 or labels.max() >= k):
        wrong = int(np.argmax((labels < 0) | (labels >= k)))
        raise ValueError(f"label {labels[wrong]} of row {wrong} is none of 0, ..., {k - 1}")
    return labels.astype(np.int32)


_INIT_ROWS = 20_000  # starts are chosen from this many rows (or 100 for each cluster)
_LABELS_PER_BLOCK = 2**20  # labels that are looked at together
_INDEPENDENT_INITS = {"random", "uniform"}  # starts that do not look where the other centres are


class CentroidClusterer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Clusterer):
    """A model with `n_clusters`, `init` and `n_init` that learns `cluster_centers_`."""

    _sparse_ok = True
    _draws = True

    def _enough(self, rows: Rows) -> None:
        if rows.n_rows < self.n_clusters:
            raise ValueError(f"n_samples={rows.n_rows} should be >= n_clusters={self.n_clusters}.")

    def _starts(self, blind: int = 10) -> int:
        """Number of starts; of those that look at nothing, "auto" takes `blind`."""
        if not (isinstance(self.init, str) or callable(self.init)):
            self._warn_of_one_start()
            return 1  # the same start would lead to the same end
        if self.n_init == "auto":
            return blind if callable(self.init) or self.init in _INDEPENDENT_INITS else 1
        return self.n_init

    def _warn_of_one_start(self) -> None:
        if self.n_init not in {"auto", 1}:
            warnings.warn(
                "Explicit initial center position passed: performing only one init in "
                f"{type(self).__name__} instead of n_init={self.n_init}.",
                RuntimeWarning,
                stacklevel=5,
            )

    def _warn_of_lost_clusters(self, labels: np.ndarray) -> None:
        met = np.zeros(self.n_clusters, bool)
        for start in range(0, len(labels), _LABELS_PER_BLOCK):  # an index is copied, twice as wide
            met[labels[start : start + _LABELS_PER_BLOCK]] = True
        found = np.count_nonzero(met)
        if found < self.n_clusters:
            warnings.warn(
                f"Number of distinct clusters ({found}) found smaller than n_clusters "
                f"({self.n_clusters}). Possibly due to duplicate points in X.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _start(self, rows: Rows, rng: np.random.Generator, size: int | None = None) -> np.ndarray:
        """First centres, in the coordinates of the data."""
        k, seed = self.n_clusters, int(rng.integers(2**31))
        if not (isinstance(self.init, str) or callable(self.init)):
            return self._given(np.asarray(self.init), rows)
        X, w = self._sample(rows, size or max(_INIT_ROWS, 100 * k), seed)
        if callable(self.init):
            dense = X if isinstance(X, np.ndarray) else X.toarray()
            drawn = self.init(dense, k, random_state=np.random.RandomState(seed))
            return self._checked(np.asarray(drawn), rows)
        return INIT_METHODS[self.init](X, w, k, rng)

    def _sample(self, rows: Rows, size: int, seed: int) -> tuple[Any, np.ndarray]:
        """Rows to start from, and their weights."""
        return sample_candidates(rows, size, seed)

    def _given(self, start: np.ndarray, rows: Rows) -> np.ndarray:
        """Centres that were given, or the means of the rows with each given label."""
        if start.ndim == 1 and start.dtype.kind in "iu":
            labels = check_cluster_labels(start, self.n_clusters, rows.n_rows)
            return _cluster_means(rows, labels, self.n_clusters)
        return self._checked(start, rows)

    def _checked(self, start: np.ndarray, rows: Rows) -> np.ndarray:
        wanted = (self.n_clusters, rows.n_features)
        if start.shape != wanted:
            rows_differ = start.ndim != 2 or len(start) != self.n_clusters
            what = "clusters" if rows_differ else "features of the data"
            raise ValueError(
                f"The shape of the initial centers {start.shape} does not match the number of "
                f"{what}: init has the shape {start.shape}; {wanted} centres are needed"
            )
        if not np.isfinite(start).all():
            raise ValueError("init contains NaN or infinity")
        return start

    @property
    def _n_features_out(self) -> int:
        return self.n_clusters

    def predict(self, X: Any) -> np.ndarray:
        """Number of the nearest centre of each row, (n,).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        return self._each(X, _predict_chunk, self.cluster_centers_)

    def transform(self, X: Any) -> np.ndarray:
        """Distance of each row to each centre, (n, k).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        return self._each(X, _transform_chunk, self.cluster_centers_)

    def reconstruct(self, X: Any) -> np.ndarray:
        """The centre of each row in its place, (n, p): what is left of the rows.

        With the labels as one-hot codes Z and the centres as C, this is Z C: k-means is the
        factorisation X ~ Z C whose codes are one-hot. [000, 4.1; 002, 7.3]

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows; or (n,) whole numbers, the labels that `predict` gave them.
        """
        check_is_fitted(self)
        coded = isinstance(X, np.ndarray) and X.ndim == 1 and X.dtype.kind in "iu"
        labels = check_cluster_labels(X, len(self.cluster_centers_)) if coded else self.predict(X)
        return np.take(self.cluster_centers_, labels, axis=0)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the cost of the rows.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        y : None
            Not used; there so that pipelines can pass it.
        sample_weight : array, optional
            Weight of each row.
        """
        check_is_fitted(self)
        with self._work_context():
            rows = self._rows(X, None, sample_weight, reset=False)
            return -rows.total(_chunk_cost, self.cluster_centers_)


def _shift_to_centers(chunk: Chunk, centres: np.ndarray) -> tuple[Chunk, np.ndarray]:
    """Dense rows and centres about the middle of the centres, if that is far from zero."""
    middle = centres.mean(axis=0)
    near = np.abs(middle) <= MAX_MEAN_IN_DEVIATIONS * np.abs(centres - middle).max(axis=0)
    if near.all() or not isinstance(chunk.X, np.ndarray):
        return chunk, centres
    return chunk._replace(X=chunk.X - middle), centres - middle


def _predict_chunk(chunk: Chunk, centres: np.ndarray) -> np.ndarray:
    """Number of the nearest centre of each row."""
    return label_chunk(*_shift_to_centers(chunk, centres), None)


def _chunk_cost(chunk: Chunk, centres: np.ndarray) -> float:
    """Weighted sum of squared distances to the nearest centre."""
    return inertia(*_shift_to_centers(chunk, centres), None)


def _transform_chunk(chunk: Chunk, centres: np.ndarray) -> np.ndarray:
    """Euclidean distance of each row to each centre."""
    chunk, centres = _shift_to_centers(chunk, centres)
    X = chunk.X if isinstance(chunk.X, np.ndarray) else chunk.X.toarray()
    return np.sqrt(squared_distances(X, centres))
