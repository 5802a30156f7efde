"""Isomap: classical scaling of distances along a graph of neighbors."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse
from scipy.sparse.csgraph import connected_components, shortest_path
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.engine.rows import Rows
from tenfold.kernel.kernel_pca import KernelPCA
from tenfold.manifold._embedding import ManifoldModel, check_distance_memory, gather_rows
from tenfold.math.distances import pairwise_distances
from tenfold.neighbors.nearest_neighbors import NearestNeighbors

_QUERIES_AT_A_TIME = 256


class Isomap(ManifoldModel):
    r"""Isomap: a map that keeps distances along the manifold on which the rows lie.

    .. math:: d_{ij} = \text{length of the shortest path from } i \text{ to } j
              \text{ in the graph of neighbors}, \qquad Z = \text{classical MDS of } d

    Parameters and attributes are those of `sklearn.manifold.Isomap`.

    Parameters
    ----------
    n_neighbors : int or None
        Neighbors of each row; None with `radius`.
    radius : float, optional
        Neighbors are the rows within this distance; `n_neighbors` must be None.
    n_components : int
        Dimensions of the map.
    eigen_solver : {"auto", "arpack", "dense"}
        How the eigenvectors are found; see `KernelPCA`.
    tol, max_iter : float and int
        Of "arpack".
    path_method : {"auto", "FW", "D"}
        Shortest paths by Floyd and Warshall ("FW") or by Dijkstra ("D").
    neighbors_algorithm : {"auto", "brute", "kd_tree", "ball_tree"}
        How neighbors are searched; the result is the same.
    n_jobs : int, optional
        Number of threads; by default all.
    metric : str or callable
        As in `NearestNeighbors`; "precomputed" if X holds distances, or a sparse graph of them.
    p : float
        Power of the Minkowski metric.
    metric_params : dict, optional
        Parameters of the metric.

    Attributes
    ----------
    embedding_ : (n_samples, n_components) the map
    dist_matrix_ : (n_samples, n_samples) lengths of the shortest paths
    kernel_pca_ : the `KernelPCA` of these distances
    nbrs_ : the `NearestNeighbors` of the rows

    See Also
    --------
    ClassicalMDS : The same with distances through space.

    References
    ----------
    J. B. Tenenbaum, V. de Silva and J. C. Langford (2000), A global geometric framework for
    nonlinear dimensionality reduction.

    Examples
    --------
    A spiral is unrolled: the map is the position along it.

    >>> import numpy as np
    >>> from tenfold import Isomap
    >>> t = np.linspace(1, 10, 60)
    >>> spiral = np.c_[t * np.cos(t), t * np.sin(t)]
    >>> z = Isomap(n_neighbors=2, n_components=1).fit_transform(spiral)[:, 0]
    >>> bool((np.diff(z) > 0).all() or (np.diff(z) < 0).all())
    True
    """

    _sparse_ok = True
    _law_rows = 300
    _law_params = {"n_neighbors": None, "radius": 1e6}  # few rows in several parts otherwise
    _float64_learned = (
        "kernel_pca_.X_fit_",
        "kernel_pca_.eigenvectors_",
        "kernel_pca_.projection_",
    )
    _learned_shapes = {"embedding_": "n m", "dist_matrix_": "n n"}
    _parameter_constraints = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), None],
        "radius": [Interval(Real, 0, None, closed="both"), None],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "eigen_solver": [StrOptions({"auto", "arpack", "dense"})],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "path_method": [StrOptions({"auto", "FW", "D"})],
        "neighbors_algorithm": [StrOptions({"auto", "brute", "kd_tree", "ball_tree"})],
        "n_jobs": [Integral, None],
        "metric": [str, callable],
        "p": [Interval(Real, 1, None, closed="left")],
        "metric_params": [dict, None],
    }

    def __init__(
        self,
        *,
        n_neighbors: int | None = 5,
        radius: float | None = None,
        n_components: int = 2,
        eigen_solver: str = "auto",
        tol: float = 0,
        max_iter: int | None = None,
        path_method: str = "auto",
        neighbors_algorithm: str = "auto",
        n_jobs: int | None = None,
        metric: Any = "minkowski",
        p: float = 2,
        metric_params: dict[str, Any] | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.n_components = n_components
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.max_iter = max_iter
        self.path_method = path_method
        self.neighbors_algorithm = neighbors_algorithm
        self.n_jobs = n_jobs
        self.metric = metric
        self.p = p
        self.metric_params = metric_params

    def _training_rows(self, X: Any, y: Any, w: Any) -> Rows:
        if isinstance(X, NearestNeighbors):
            check_is_fitted(X)
            X = X.statistic_.X
        return super()._training_rows(X, y, w)

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        if (self.n_neighbors is None) == (self.radius is None):
            raise ValueError(
                "Both n_neighbors and radius are provided. Use Isomap(radius="
                f"{self.radius}, n_neighbors=None) if intended to use radius-based neighbors"
                if self.radius is not None
                else "n_neighbors and radius are None: give one of them"
            )
        check_distance_memory(rows.n_rows, 4.0, type(self).__name__)
        X = gather_rows(rows)
        index = NearestNeighbors(
            n_neighbors=5 if self.n_neighbors is None else self.n_neighbors,
            radius=1.0 if self.radius is None else self.radius,
            algorithm=self.neighbors_algorithm,
            metric=self.metric,
            p=self.p,
            metric_params=self.metric_params,
        ).fit(X)
        if self.radius is None:
            graph = index.kneighbors_graph(mode="distance")
        else:
            graph = index.radius_neighbors_graph(mode="distance")
        paths = self._shortest_paths(self._connect(graph, X, index)).astype(rows.dtype)
        pca = KernelPCA(
            n_components=self.n_components,
            kernel="precomputed",
            eigen_solver=self.eigen_solver,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        products = -0.5 * np.square(paths, dtype=np.float64)
        points = pca.set_output(transform="default").fit_transform(products)
        return {
            "embedding_": np.asarray(points).astype(rows.dtype),
            "dist_matrix_": paths,
            "kernel_pca_": pca,
            "nbrs_": index,
        }

    def _map_columns(self) -> int:
        return self.kernel_pca_.eigenvalues_.shape[0]

    def _shortest_paths(self, graph: csr_matrix) -> np.ndarray:
        paths = shortest_path(graph, method=self.path_method, directed=False)
        return np.minimum(paths, paths.T)  # sums of the same edges in two orders

    def _connect(self, graph: csr_matrix, X: Any, index: NearestNeighbors) -> csr_matrix:
        """The graph, with the shortest edge between each two of its parts if it has several."""
        parts, labels = connected_components(graph, directed=False)
        if parts == 1:
            return graph
        message = f"The number of connected components of the neighbors graph is {parts} > 1. "
        if self._is_precomputed() and issparse(X):
            raise RuntimeError(
                f"{message}The graph cannot be completed with metric='precomputed', and Isomap "
                "cannot be fitted. Increase the number of neighbors to avoid this issue, or "
                "precompute the full distance matrix instead of passing a sparse neighbors graph."
            )
        warnings.warn(
            f"{message}Completing the graph to fit Isomap might be slow. Increase the number of "
            "neighbors to avoid this issue.",
            stacklevel=4,
        )
        edges = graph.tolil()
        members = [np.flatnonzero(labels == part) for part in range(parts)]
        for a in range(parts):
            for b in range(a):
                D = self._distances_between(X, members[a], members[b], index)
                i, j = np.unravel_index(int(D.argmin()), D.shape)
                edges[members[a][i], members[b][j]] = D[i, j]
        return csr_matrix(edges)

    def _distances_between(
        self, X: Any, a: np.ndarray, b: np.ndarray, index: NearestNeighbors
    ) -> np.ndarray:
        if self._is_precomputed():
            return X[np.ix_(a, b)]
        params = index.effective_metric_params_
        return pairwise_distances(X[a], X[b], metric=index.effective_metric_, **params)

    def reconstruction_error(self) -> float:
        """Frobenius norm of the difference between products of paths and of the map, over n."""
        check_is_fitted(self)
        G = -0.5 * np.square(self.dist_matrix_, dtype=np.float64)
        G -= G.mean(axis=0)
        G -= G.mean(axis=1, keepdims=True)
        values = self.kernel_pca_.eigenvalues_.astype(np.float64)
        rest = float((G**2).sum() - (values**2).sum())
        return float(np.sqrt(max(rest, 0.0))) / len(G)

    def transform(self, X: Any) -> np.ndarray:
        """Places of rows in the map, by the paths that lead to them over their neighbors.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows; for "precomputed" their distances to the rows of the fit.
        """
        check_is_fitted(self)
        search = self.nbrs_.kneighbors if self.radius is None else self.nbrs_.radius_neighbors
        distances, rows = search(self._queries(X))
        lonely = [i for i, found in enumerate(rows) if len(found) == 0]
        if lonely:
            raise ValueError(f"row {lonely[0]} has no row of the fit within radius={self.radius}")
        parts = []
        for first in range(0, len(rows), _QUERIES_AT_A_TIME):
            queries = range(first, min(first + _QUERIES_AT_A_TIME, len(rows)))
            paths = [
                (self.dist_matrix_[rows[i]] + distances[i][:, None]).min(axis=0) for i in queries
            ]
            products = -0.5 * np.square(np.array(paths), dtype=np.float64)
            parts.append(self.kernel_pca_.transform(products))
        return np.concatenate(parts).astype(self.embedding_.dtype)
