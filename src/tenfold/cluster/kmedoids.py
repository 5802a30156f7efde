"""k-medoids clustering for any distance: PAM, FasterPAM, alternate and CLARA."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.base.mixins import Clusterer
from tenfold.cluster._lloyd import FinalAssignment
from tenfold.cluster._object_rows import check_objects, holds_objects
from tenfold.cluster._pam import MEDOID_INITS, MedoidSolution, find_medoids
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.math.distances import pairwise_distances
from tenfold.math.linalg import to_dense

# Rows up to which "auto" holds all distances in memory (10,000 rows: 800 MB). Not swept.
MAX_ROWS_WITH_ALL_PAIRS = 10_000


def _chunk_rows(chunk: Chunk) -> np.ndarray:
    """The rows of a chunk."""
    return chunk.X


def _medoid_distances(chunk: Chunk, medoids: np.ndarray, metric: Any, params: dict) -> np.ndarray:
    """Distance of each row to each medoid; for precomputed distances medoids are column numbers."""
    if isinstance(metric, str) and metric == "precomputed":
        return np.take(chunk.X, medoids, axis=1)
    return pairwise_distances(chunk.X, medoids, metric, **params)


def _nearest_medoid(chunk: Chunk, medoids: np.ndarray, metric: Any, params: dict) -> np.ndarray:
    """Number of the nearest medoid of each row, the first one on a tie."""
    return _medoid_distances(chunk, medoids, metric, params).argmin(axis=1).astype(np.int32)


def _total_distance(chunk: Chunk, medoids: np.ndarray, metric: Any, params: dict) -> float:
    """Sum of the distances to the nearest medoid."""
    return float(
        _medoid_distances(chunk, medoids, metric, params).min(axis=1).sum(dtype=np.float64)
    )


def _final_assignment(
    chunk: Chunk, medoids: np.ndarray, metric: Any, params: dict
) -> FinalAssignment:
    """Cost and labels of a chunk."""
    D = _medoid_distances(chunk, medoids, metric, params)
    return FinalAssignment(
        float(D.min(axis=1).sum(dtype=np.float64)), D.argmin(axis=1).astype(np.int32)
    )


def _check_symmetric(D: np.ndarray) -> None:
    """Raise an error if two entries across the diagonal differ by more than rounding."""
    largest = np.abs(D).max(initial=0.0)
    for i in range(len(D)):
        gap = np.abs(D[i, :i] - D[:i, i])
        if gap.max(initial=0.0) > _SYMMETRY_TOLERANCE[D.dtype.itemsize] * largest:
            j = int(gap.argmax())
            raise ValueError(
                f"precomputed distances must be symmetric, but entry ({i}, {j}) is {D[i, j]:g} and "
                f"entry ({j}, {i}) is {D[j, i]:g}: give (D + D.T) / 2, or np.maximum(D, D.T)"
            )


_SYMMETRY_TOLERANCE = {4: 1e-4, 8: 1e-8}  # by bytes of a number
_CLARA_SAMPLES = 5  # the number of Kaufman and Rousseeuw (1990)


class KMedoids(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Clusterer):
    r"""k-medoids clustering: clusters about k of the rows, for any distance.

    .. math:: \min_{m_1, \dots, m_k \in \{1, \dots, n\}} \sum_i \min_j d(x_i, x_{m_j})

    "fasterpam" evaluates a row in place of all medoids at once and swaps as soon as the cost falls;
    it ends where no swap of one medoid for one row lowers the cost. "pam" makes the best swap in
    each iteration. "alternate" assigns rows, then takes the member with the least sum of distances
    of each cluster; it is faster and its optima are worse. These three hold the distances of all
    pairs. "clara" searches in samples, keeps the medoids that are best for all rows, and takes any
    number of rows.

    Parameters
    ----------
    n_clusters : int
        Number of clusters.
    metric : str or callable
        Any of `tenfold.math.distances.pairwise_distances`: names of scikit-learn and scipy, or
        `f(a, b)`; "precomputed" if X holds the (symmetric) distances. A function and "hamming" take
        rows of text or other objects too, in memory; a function gets them as tuples.
    metric_params : dict, optional
        Parameters of the metric.
    method : {"auto", "fasterpam", "pam", "alternate", "clara"}
        "auto" is "fasterpam" up to 10,000 rows and "clara" beyond.
    init : {"k-medoids++", "random", "build"} or (n_clusters,) array
        Initial medoids: drawn by distance, random rows, the greedy BUILD of PAM, or row numbers.
    n_init : int
        Number of initializations, of which the best is kept.
    max_iter : int
        Maximum iterations.
    sample_rows : int, optional
        Rows of each of the 5 samples of "clara": 1,000, or 40 for each cluster if that is more.
    random_state : int, optional
        Seed of initializations and samples.

    Attributes
    ----------
    medoid_indices_ : (n_clusters,) row numbers of the medoids
    cluster_centers_ : (n_clusters, n_features) medoids; for "precomputed" their distances to all
        rows
    labels_ : (n_samples,) cluster of each row
    inertia_ : sum of the distances to the nearest medoid
    n_iter_, converged_ : iterations of the best initialization, and whether they converged
    history_ : cost ("objective") before each of these iterations, and "seconds"

    See Also
    --------
    KMeans : Clusters about means.
    AgglomerativeClustering : A tree of clusters for any distance.

    References
    ----------
    L. Kaufman and P. J. Rousseeuw (1990), Finding Groups in Data.

    E. Schubert and P. J. Rousseeuw (2021), Fast and eager k-medoids clustering.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import KMedoids
    >>> X = np.array([[1.0, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> model = KMedoids(n_clusters=2, metric="manhattan", random_state=0).fit(X)
    >>> sorted(model.cluster_centers_.tolist()), model.inertia_
    ([[1.0, 2.0], [10.0, 2.0]], 8.0)
    >>> shapes = [["red", "round"], ["red", "oval"], ["blue", "long"], ["blue", "tall"]]
    >>> KMedoids(2, metric="hamming", random_state=0).fit(shapes).labels_.tolist()
    [0, 0, 1, 1]
    """

    _sparse_ok = True
    _samples_rows = _has_quadratic_time = True
    _law_rows = 1500
    _parameter_constraints = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "metric": [str, callable],
        "metric_params": [dict, None],
        "method": [StrOptions({"auto", "fasterpam", "pam", "alternate", "clara"})],
        "init": [StrOptions(set(MEDOID_INITS)), "array-like"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "sample_rows": [Interval(Integral, 1, None, closed="left"), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        metric: Any = "euclidean",
        metric_params: dict[str, Any] | None = None,
        method: str = "auto",
        init: Any = "k-medoids++",
        n_init: int = 1,
        max_iter: int = 300,
        sample_rows: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.metric_params = metric_params
        self.method = method
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.sample_rows = sample_rows
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Find the medoids of rows.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows; all distances for the metric "precomputed".
        y : None
            Ignored; present for API consistency.
        """
        return self._fit_objects(X) if holds_objects(X, self.metric) else super().fit(X)

    def _fit_objects(self, X: Any) -> Self:
        """Fit to rows that are not numbers: all distances are held."""
        self._validate_params()
        rows = check_objects(self, X, reset=True)
        method = "fasterpam" if self.method == "auto" else self.method
        if method == "clara":
            raise ValueError("method='clara' needs rows of numbers: take method='fasterpam'")
        if len(rows) < self.n_clusters:
            raise ValueError(f"n_samples={len(rows)} should be >= n_clusters={self.n_clusters}.")
        with self._work_context():
            D = self._distances(rows)
            best = self._fit_best(D, method, self._rng())
            to_medoids = D[:, best.medoids]
            learned = {
                "medoid_indices_": best.medoids,
                "cluster_centers_": rows[best.medoids],
                "labels_": to_medoids.argmin(axis=1).astype(np.int32),
                "inertia_": float(to_medoids.min(axis=1).sum()),
                **best.report,
            }
            self._warn_equal_medoids(to_medoids[best.medoids], 4)
            self._set_learned(learned)
        return self

    def _warn_equal_medoids(self, D: np.ndarray, stacklevel: int) -> None:
        """Warn if medoids, whose distances D are, coincide: fewer different rows than clusters."""
        n_found = len(np.unique(D <= 0, axis=0))
        if n_found < self.n_clusters:
            warnings.warn(
                f"Number of distinct clusters ({n_found}) found smaller than n_clusters "
                f"({self.n_clusters}). Possibly due to duplicate points in X.",
                ConvergenceWarning,
                stacklevel=stacklevel,
            )

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        self._check_parameters(rows)
        if self._method(rows) == "clara":
            medoids, centers, report = self._clara(rows, rng)
        else:
            X = rows.each(_chunk_rows)
            if self._is_precomputed():
                _check_symmetric(X)
            best = self._fit_best(self._distances(X), self._method(rows), rng)
            medoids, centers, report = best.medoids, to_dense(X[best.medoids]), best.report
        self._warn_equal_medoids(
            centers[:, medoids] if self._is_precomputed() else self._distances(centers), 5
        )
        end = rows.total(_final_assignment, *self._distance_arguments(medoids, centers))
        return {
            "medoid_indices_": medoids,
            "cluster_centers_": centers,
            "labels_": end.labels,
            "inertia_": end.cost,
            **report,
        }

    def _check_parameters(self, rows: Rows) -> None:
        """Raise errors for parameters that contradict each other or the rows."""
        n = rows.n_rows
        if n < self.n_clusters:
            raise ValueError(f"n_samples={n} should be >= n_clusters={self.n_clusters}.")
        if self.metric == "precomputed" and n != rows.n_features:
            raise ValueError(
                f"precomputed distances must be square, not of shape ({n}, {rows.n_features})"
            )
        if self._is_precomputed() and rows.sparse:
            raise ValueError("precomputed distances must be dense: give D.toarray()")
        if self.metric == "precomputed" and self.method == "clara":
            raise ValueError("precomputed distances are all there: use method='fasterpam'")
        if self._given_medoids() is not None and self._method(rows) == "clara":
            raise ValueError("init must be a name for method='clara', which draws its own rows")

    def _method(self, rows: Rows) -> str:
        if self.method != "auto":
            return self.method
        return (
            "fasterpam"
            if rows.n_rows <= MAX_ROWS_WITH_ALL_PAIRS or self._is_precomputed()
            else "clara"
        )

    def _is_precomputed(self) -> bool:
        return isinstance(self.metric, str) and self.metric == "precomputed"

    def _given_medoids(self) -> np.ndarray | None:
        """Initial row numbers, if `init` holds them."""
        return None if isinstance(self.init, str) else np.asarray(self.init)

    def _distances(self, X: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(
            pairwise_distances(X, metric=self.metric, **(self.metric_params or {}))
        )

    def _fit_best(self, D: np.ndarray, method: str, rng: np.random.Generator) -> MedoidSolution:
        """The best solution of all initializations."""
        given = self._given_medoids()
        if given is not None:
            starts = [self._check_medoids(given, len(D))]
        else:
            deterministic = self.init == "build"
            tries = range(1 if deterministic else self.n_init)
            starts = (MEDOID_INITS[self.init](D, self.n_clusters, rng) for _ in tries)
        solutions = (find_medoids(D, start, method, self.max_iter) for start in starts)
        return min(solutions, key=lambda solution: solution.cost)

    def _check_medoids(self, start: np.ndarray, n: int) -> np.ndarray:
        k = self.n_clusters
        distinct = start.dtype.kind in "iu" and start.shape == (k,) and len(np.unique(start)) == k
        if not distinct or start.min() < 0 or start.max() >= n:
            raise ValueError(f"init must hold {k} different row numbers from 0 to {n - 1}")
        return start

    def _clara(self, rows: Rows, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, dict]:
        """Medoids of the sample whose medoids are best for all rows."""
        size = min(self.sample_rows or max(1000, 40 * self.n_clusters), rows.n_rows)
        if size < self.n_clusters:
            raise ValueError(f"sample_rows={size} must not be below {self.n_clusters} clusters")
        best, least = None, np.inf
        for _ in range(_CLARA_SAMPLES):
            drawn = np.sort(rng.choice(rows.n_rows, size, replace=False, shuffle=False))
            X = rows.take(drawn).X
            solution = self._fit_best(self._distances(X), "fasterpam", rng)
            centers = to_dense(X[solution.medoids])
            cost = rows.total(
                _total_distance, *self._distance_arguments(drawn[solution.medoids], centers)
            )
            if cost < least:
                best, least = (drawn[solution.medoids], centers, solution.report), cost
        if best is None:
            raise ValueError("the metric gives no finite cost: check it on a few rows")
        return best

    def _distance_arguments(self, medoids: np.ndarray, centers: np.ndarray) -> tuple[Any, ...]:
        """Arguments of `_medoid_distances` after the chunk."""
        if self._is_precomputed():
            return medoids, "precomputed", {}
        return centers, self.metric, self.metric_params or {}

    @property
    def _n_features_out(self) -> int:
        return self.n_clusters

    def predict(self, X: Any) -> np.ndarray:
        """Number of the nearest medoid of each row, (n_samples,).

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows; for "precomputed" their distances to the rows of the fit.
        """
        check_is_fitted(self)
        if holds_objects(X, self.metric):
            return self.transform(X).argmin(axis=1).astype(np.int32)
        return self._map_rows(
            X,
            _nearest_medoid,
            *self._distance_arguments(self.medoid_indices_, self.cluster_centers_),
        )

    def transform(self, X: Any) -> np.ndarray:
        """Distance of each row to each medoid, (n_samples, n_clusters).

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows; for "precomputed" their distances to the rows of the fit.
        """
        check_is_fitted(self)
        if holds_objects(X, self.metric):
            rows = check_objects(self, X, reset=False)
            params = self.metric_params or {}
            return pairwise_distances(rows, self.cluster_centers_, self.metric, **params)
        state = self._distance_arguments(self.medoid_indices_, self.cluster_centers_)
        return self._map_rows(X, _medoid_distances, *state)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed()
        return tags
