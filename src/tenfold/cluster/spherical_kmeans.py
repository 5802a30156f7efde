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
from tenfold.optim.convergence import until_converged


class _DirectionSums(NamedTuple):
    """Weight and sum of the unit rows of each cluster, and the cost of the directions so far."""

    weight: np.ndarray
    sums: np.ndarray
    cost: float


class SphericalKMeans(CentroidClusterer):
    r"""k-means of directions: rows count by their angle, not by their length.

    .. math:: \min_{\lVert c_j \rVert = 1} \sum_i \omega_i \min_j
              \Bigl(1 - \frac{x_i \cdot c_j}{\lVert x_i \rVert}\Bigr)

    Each row goes to the centre with the largest cosine (the first one on a tie), each centre to
    the direction of the sum of its rows, scaled to length one. Half the squared distance of unit
    rows is one minus their cosine, so this is k-means on unit rows with unit centres. A row of
    zeros has the cosine 0 to all centres. Made for sparse rows. [003, unit 4; 000, 4.1]

    Parameters
    ----------
    n_clusters : int
        Number of clusters.
    init : {"k-means++", "random", "farthest", "uniform"}, (k, p) or (n,) array, or callable
        Where to start, as in `KMeans`, among the unit rows.
    n_init : int or "auto"
        Number of starts, of which the best is kept; "auto" is 10 for "random",
        "uniform" and functions, else 1.
    max_iter : int
        Most rounds of a start.
    tol : float
        Converged when the squared moves of the centres add up to this at most.
    verbose : int
        Whether to show progress, as `tenfold.progress()` does.
    random_state : int, optional
        Seed of the starts.

    Attributes
    ----------
    cluster_centers_ : (k, p) centres of length one
    labels_ : (n,) number of the cluster of each row
    inertia_ : weighted sum of one minus the cosine
    n_iter_, converged_ : rounds of the best start, and whether it stood still
    history_ : cost ("objective") before each of these rounds, and "seconds"

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.cluster.spherical_kmeans import SphericalKMeans
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
        self._enough(rows)
        starts = (self._start(rows, rng) for _ in range(self._starts()))
        found = (self._descend(rows, _normalize_rows(start.astype(np.float64))) for start in starts)
        best = min(found, key=lambda each: each.end.cost)
        self._warn_of_lost_clusters(best.end.labels)
        return {
            "cluster_centers_": best.centres.astype(rows.dtype),
            "labels_": best.end.labels,
            "inertia_": best.end.cost,
            **best.report,
        }

    def _sample(self, rows: Rows, size: int, seed: int) -> tuple[Any, np.ndarray]:
        X, w = super()._sample(rows, size, seed)
        seen = w * _has_direction(X)
        return _normalize_rows(X), seen if seen.any() else w

    def _descend(self, rows: Rows, start: np.ndarray) -> KMeansSolution:
        loop = until_converged(start, tol=self.tol, max_iter=self.max_iter)
        for directions in loop:
            turned, before = _update_directions(rows, directions)
            loop.update(turned, objective=before, change=((turned - directions) ** 2).sum())
        return KMeansSolution(
            loop.state, rows.total(_final_assignment, loop.state.astype(rows.dtype)), loop.report
        )

    def predict(self, X: Any) -> np.ndarray:
        """Number of the centre with the largest cosine of each row, (n,).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        return self._each(X, _nearest_by_cosine, self.cluster_centers_)

    def transform(self, X: Any) -> np.ndarray:
        """One minus the cosine of each row and each centre, (n, k).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        return self._each(X, _cosine_distances, self.cluster_centers_)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the weighted sum of one minus the cosine.

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
    """Which rows have a direction: those that are not all zeros."""
    return np.asarray(X.any(axis=1) if isinstance(X, np.ndarray) else np.diff(X.indptr) > 0)


def _cosine_similarities(chunk: Chunk, directions: np.ndarray) -> tuple[Any, np.ndarray]:
    """Unit rows, and their cosines with all centres."""
    U = _normalize_rows(chunk.X)
    return U, np.asarray(U @ directions.T)


def _cosine_distances(chunk: Chunk, directions: np.ndarray) -> np.ndarray:
    """One minus the cosine of each row and each centre."""
    return 1 - _cosine_similarities(chunk, directions)[1]


def _nearest_by_cosine(chunk: Chunk, directions: np.ndarray) -> np.ndarray:
    """Number of the centre with the largest cosine."""
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

    hot = csr_array((w.astype(np.float64), label, np.arange(chunk.rows + 1)), (chunk.rows, k))
    return _DirectionSums(np.asarray(hot.sum(axis=0)), (hot.T @ U).toarray(), cost)


def _final_assignment(chunk: Chunk, directions: np.ndarray) -> FinalAssignment:
    """Cost and labels of a chunk."""
    cosines = _cosine_similarities(chunk, directions)[1]
    best = 1 - cosines.max(axis=1).astype(np.float64)
    return FinalAssignment(float(chunk.weights() @ best), cosines.argmax(axis=1).astype(np.int32))


def _farthest_by_cosine(chunk: Chunk, directions: np.ndarray, m: int) -> FarthestRows:
    """The m rows of a chunk that are least like their centres."""
    U, cosines = _cosine_similarities(chunk, directions)
    distance = (1 - cosines.max(axis=1)) * (chunk.weights() > 0) * _has_direction(U)
    order = np.argsort(-distance, kind="stable")[:m]
    X = U[order] if isinstance(U, np.ndarray) else U[order].toarray()
    label = cosines.argmax(axis=1)[order]
    return FarthestRows(distance[order], chunk.first + order, label, X, chunk.weights()[order])


def _update_directions(rows: Rows, directions: np.ndarray) -> tuple[np.ndarray, float]:
    """The directions of the rows nearest to each, and the cost of those so far."""
    known = directions.astype(rows.dtype)
    s = rows.total(_direction_sums, known)
    sums, empty = s.sums, np.flatnonzero(s.weight == 0)
    if len(empty):
        far = rows.total(_farthest_by_cosine, known, len(empty))
        sums = sums.copy()
        for target, old, x, w in zip(empty, far.label, far.X, far.w, strict=False):
            if s.weight[old] > w > 0 and x.any():
                sums[old] -= w * x
                sums[target] = w * x
    lost = ~sums.any(axis=1)
    return np.where(lost[:, None], directions, _normalize_rows(sums)), s.cost
