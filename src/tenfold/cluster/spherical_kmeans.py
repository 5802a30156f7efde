"""Spherical k-means: clusters of directions, by cosine similarity."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold._compiled.reductions import add_rows_by_label
from tenfold.base._sklearn import Interval, StrOptions
from tenfold.cluster._centroid_base import CentroidClusterer
from tenfold.cluster._lloyd import FarthestRows, FinalAssignment, KMeansSolution
from tenfold.cluster.initialization import INIT_METHODS
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.math.linalg import to_dense
from tenfold.optim.convergence import until_converged


class _DirectionSums(NamedTuple):
    """Weight and sum of the unit rows of each cluster, and the cost of the current centers."""

    weight: np.ndarray
    sums: np.ndarray
    cost: float


class SphericalKMeans(CentroidClusterer):
    r"""Spherical k-means: clusters by cosine similarity, whatever the lengths of the rows.

    .. math:: \min_{\lVert c_j \rVert = 1} \sum_i \omega_i \min_j
              \Bigl(1 - \frac{x_i \cdot c_j}{\lVert x_i \rVert}\Bigr)

    Each row is assigned to the center with the largest cosine (the first one on a tie), each center
    moves to the direction of the sum of its rows, scaled to length one. Half the squared distance
    of unit rows is one minus their cosine, so this is k-means on unit rows with unit centers. A row
    of zeros has the cosine 0 with all centers. Sparse rows stay sparse.

    Parameters
    ----------
    n_clusters : int
        Number of clusters.
    init : {"k-means++", "random", "farthest", "uniform"}, array or callable
        Initialization, as in `KMeans`, among the unit rows.
    n_init : int or "auto"
        Number of initializations, of which the best is kept; "auto" is 10 for "random",
        "uniform" and callables, otherwise 1.
    max_iter : int
        Maximum iterations.
    tol : float
        Converged when the squared moves of all centers sum to at most this.
    verbose : int
        Whether to show progress, as `tenfold.progress()` does.
    random_state : int, optional
        Seed of the initializations.

    Attributes
    ----------
    cluster_centers_ : (n_clusters, n_features) centers of length one
    labels_ : (n_samples,) cluster of each row
    inertia_ : weighted sum of one minus the cosine
    n_iter_, converged_ : iterations of the best initialization, and whether they converged
    history_ : cost ("objective") before each of these iterations, and "seconds"

    See Also
    --------
    KMeans : Clusters by Euclidean distance.

    References
    ----------
    I. S. Dhillon and D. S. Modha (2001), Concept decompositions for large sparse text data using
    clustering.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import SphericalKMeans
    >>> X = np.array([[1.0, 0], [9, 1], [0, 2], [0.1, 0.7]])
    >>> labels = SphericalKMeans(2, random_state=0).fit(X).labels_
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """

    _parameter_constraints = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "init": [StrOptions(set(INIT_METHODS)), callable, "array-like"],
        "n_init": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "k-means++",
        n_init: Any = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        self._check_row_count(rows)
        starts = (self._initial_centers(rows, rng) for _ in range(self._n_initializations()))
        solutions = (
            self._fit_from(rows, _normalize_rows(start.astype(np.float64))) for start in starts
        )
        best = min(solutions, key=lambda solution: solution.end.cost)
        self._warn_lost_clusters(best.end.labels)
        return {
            "cluster_centers_": best.centers.astype(rows.dtype),
            "labels_": best.end.labels,
            "inertia_": best.end.cost,
            **best.report,
        }

    def _init_candidates(self, rows: Rows, size: int, seed: int) -> tuple[Any, np.ndarray]:
        X, w = super()._init_candidates(rows, size, seed)
        nonzero = w * _has_direction(X)
        return _normalize_rows(X), nonzero if nonzero.any() else w

    def _fit_from(self, rows: Rows, start: np.ndarray) -> KMeansSolution:
        loop = until_converged(start, tol=self.tol, max_iter=self.max_iter)
        for directions in loop:
            updated, cost = _update_directions(rows, directions)
            loop.update(updated, objective=cost, change=((updated - directions) ** 2).sum())
        return KMeansSolution(
            loop.state, rows.total(_final_assignment, loop.state.astype(rows.dtype)), loop.report
        )

    def predict(self, X: Any) -> np.ndarray:
        """Number of the center with the largest cosine for each row, (n_samples,).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        return self._map_rows(X, _nearest_by_cosine, self.cluster_centers_)

    def transform(self, X: Any) -> np.ndarray:
        """One minus the cosine of each row and each center, (n_samples, n_clusters).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        return self._map_rows(X, _cosine_distances, self.cluster_centers_)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the weighted sum of one minus the cosine.

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
            return -rows.total(_final_assignment, self.cluster_centers_).cost


def _normalize_rows(X: Any) -> Any:
    """Rows of length one; zeros stay zeros."""
    if isinstance(X, np.ndarray):
        length = np.sqrt(np.einsum("ij,ij->i", X, X))
        return X / np.where(length > 0, length, 1)[:, None].astype(X.dtype)
    length = np.sqrt(X.power(2).sum(axis=1))
    scaled = X.copy()
    scaled.data /= np.repeat(np.where(length > 0, length, 1), np.diff(X.indptr)).astype(X.dtype)
    return scaled


def _has_direction(X: Any) -> np.ndarray:
    """Which rows are not all zeros."""
    return np.asarray(X.any(axis=1) if isinstance(X, np.ndarray) else np.diff(X.indptr) > 0)


def _cosine_similarities(chunk: Chunk, directions: np.ndarray) -> tuple[Any, np.ndarray]:
    """Unit rows, and their cosines with all centers."""
    U = _normalize_rows(chunk.X)
    return U, np.asarray(U @ directions.T)


def _cosine_distances(chunk: Chunk, directions: np.ndarray) -> np.ndarray:
    """One minus the cosine of each row and each center."""
    return 1 - _cosine_similarities(chunk, directions)[1]


def _nearest_by_cosine(chunk: Chunk, directions: np.ndarray) -> np.ndarray:
    """Number of the center with the largest cosine."""
    return _cosine_similarities(chunk, directions)[1].argmax(axis=1).astype(np.int32)


def _direction_sums(chunk: Chunk, directions: np.ndarray) -> _DirectionSums:
    """Weight and sum of the unit rows of each cluster, and their cost."""
    U, cosines = _cosine_similarities(chunk, directions)
    label, w = cosines.argmax(axis=1), chunk.weights()
    cost = float(w @ (1 - np.take_along_axis(cosines, label[:, None], axis=1)[:, 0]))
    k = len(directions)
    if isinstance(U, np.ndarray):
        weight, sums = np.zeros(k), np.zeros(directions.shape)
        add_rows_by_label(U, w, label, sums, weight)
        return _DirectionSums(weight, sums, cost)
    from scipy.sparse import csr_array

    one_hot = csr_array((w.astype(np.float64), label, np.arange(chunk.rows + 1)), (chunk.rows, k))
    return _DirectionSums(np.asarray(one_hot.sum(axis=0)), (one_hot.T @ U).toarray(), cost)


def _final_assignment(chunk: Chunk, directions: np.ndarray) -> FinalAssignment:
    """Cost and labels of a chunk."""
    cosines = _cosine_similarities(chunk, directions)[1]
    best = 1 - cosines.max(axis=1).astype(np.float64)
    return FinalAssignment(float(chunk.weights() @ best), cosines.argmax(axis=1).astype(np.int32))


def _farthest_by_cosine(chunk: Chunk, directions: np.ndarray, m: int) -> FarthestRows:
    """The m rows of a chunk with the smallest cosines to their centers."""
    U, cosines = _cosine_similarities(chunk, directions)
    distance = (1 - cosines.max(axis=1)) * (chunk.weights() > 0) * _has_direction(U)
    order = np.argsort(-distance, kind="stable")[:m]
    X = to_dense(U[order])
    label = cosines.argmax(axis=1)[order]
    return FarthestRows(distance[order], chunk.first + order, label, X, chunk.weights()[order])


def _update_directions(rows: Rows, directions: np.ndarray) -> tuple[np.ndarray, float]:
    """Directions of the sums of the rows of each cluster, and the cost of the current ones."""
    centers = directions.astype(rows.dtype)
    s = rows.total(_direction_sums, centers)
    sums, empty = s.sums, np.flatnonzero(s.weight == 0)
    if len(empty):
        far = rows.total(_farthest_by_cosine, centers, len(empty))
        sums = sums.copy()
        for target, old, x, w in zip(empty, far.label, far.X, far.w, strict=False):
            if s.weight[old] > w > 0 and x.any():
                sums[old] -= w * x
                sums[target] = w * x
    without_direction = ~sums.any(axis=1)
    return np.where(without_direction[:, None], directions, _normalize_rows(sums)), s.cost
