"""What models with centres share: where to start, and what they say about rows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from tenfold.cluster.lloyd import FAR, cost, label_rows
from tenfold.cluster.members import label_means, numbered_clusters
from tenfold.estimator import Clusterer
from tenfold.maths.distances import squared_distances
from tenfold.rows import Chunk, Rows
from tenfold.solve.spreading import STARTS, start_sample

START_ROWS = 20_000  # starts are chosen from this many rows (or 100 for each cluster)
AT_ONCE = 2**20  # labels that are looked at together
BLIND = {"random", "uniform"}  # starts that do not look where the other centres are


class Centred(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Clusterer):
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
            return blind if callable(self.init) or self.init in BLIND else 1
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
        for start in range(0, len(labels), AT_ONCE):  # an index is copied, twice as wide
            met[labels[start : start + AT_ONCE]] = True
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
        X, w = self._sample(rows, size or max(START_ROWS, 100 * k), seed)
        if callable(self.init):
            dense = X if isinstance(X, np.ndarray) else X.toarray()
            drawn = self.init(dense, k, random_state=np.random.RandomState(seed))
            return self._checked(np.asarray(drawn), rows)
        return STARTS[self.init](X, w, k, rng)

    def _sample(self, rows: Rows, size: int, seed: int) -> tuple[Any, np.ndarray]:
        """Rows to start from, and their weights."""
        return start_sample(rows, size, seed)

    def _given(self, start: np.ndarray, rows: Rows) -> np.ndarray:
        """Centres that were given, or the means of the rows with each given label."""
        if start.ndim == 1 and start.dtype.kind in "iu":
            labels = numbered_clusters(start, self.n_clusters, rows.n_rows)
            return label_means(rows, labels, self.n_clusters)
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
        return self._each(X, nearest_rows, self.cluster_centers_)

    def transform(self, X: Any) -> np.ndarray:
        """Distance of each row to each centre, (n, k).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        return self._each(X, distances, self.cluster_centers_)

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
        labels = numbered_clusters(X, len(self.cluster_centers_)) if coded else self.predict(X)
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
        with self._at_work():
            rows = self._rows(X, None, sample_weight, reset=False)
            return -rows.total(total_cost, self.cluster_centers_)


def about_centres(chunk: Chunk, centres: np.ndarray) -> tuple[Chunk, np.ndarray]:
    """Dense rows and centres about the middle of the centres, if that is far from zero."""
    middle = centres.mean(axis=0)
    near = np.abs(middle) <= FAR * np.abs(centres - middle).max(axis=0)
    if near.all() or not isinstance(chunk.X, np.ndarray):
        return chunk, centres
    return chunk._replace(X=chunk.X - middle), centres - middle


def nearest_rows(chunk: Chunk, centres: np.ndarray) -> np.ndarray:
    """Number of the nearest centre of each row."""
    return label_rows(*about_centres(chunk, centres), None)


def total_cost(chunk: Chunk, centres: np.ndarray) -> float:
    """Weighted sum of squared distances to the nearest centre."""
    return cost(*about_centres(chunk, centres), None)


def distances(chunk: Chunk, centres: np.ndarray) -> np.ndarray:
    """Euclidean distance of each row to each centre."""
    chunk, centres = about_centres(chunk, centres)
    X = chunk.X if isinstance(chunk.X, np.ndarray) else chunk.X.toarray()
    return np.sqrt(squared_distances(X, centres))
