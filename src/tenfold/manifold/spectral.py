"""Spectral embedding: the lowest eigenvectors of the Laplacian of a graph."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csr_matrix, issparse
from scipy.sparse.csgraph import connected_components, laplacian
from scipy.sparse.linalg import eigsh, lobpcg
from sklearn.utils import check_array, check_symmetric

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.engine.blas_threads import one_blas_thread
from tenfold.engine.rows import Rows
from tenfold.kernel._block import gram_matrix
from tenfold.kernel.kernels import resolve_kernel
from tenfold.manifold._embedding import (
    ManifoldModel,
    check_distance_memory,
    check_square,
    gather_rows,
)
from tenfold.math.linalg import to_dense
from tenfold.neighbors.nearest_neighbors import NearestNeighbors

_SHIFT = -1e-5  # a Laplacian has the eigenvalue 0: it is not inverted there
_MIN_NODES_PER_VECTOR = 5  # below which all eigenvectors are found at once
_MAX_LOBPCG_ITER = 2000
_PRECOMPUTED = ("precomputed", "precomputed_nearest_neighbors")


class SpectralEmbedding(ManifoldModel):
    r"""Spectral embedding (Laplacian eigenmaps): nodes that are linked lie close together.

    .. math:: \min_{Z^T D Z = I} \; \tfrac12 \sum_{ij} a_{ij} \lVert z_i - z_j \rVert^2, \qquad
              L z = \lambda D z, \quad L = D - A, \quad D = \operatorname{diag}(A 1)

    The eigenvector of the eigenvalue 0, a constant, is left out. Parameters and attributes are
    those of `sklearn.manifold.SpectralEmbedding`.

    Parameters
    ----------
    n_components : int
        Dimensions of the map.
    affinity : str or callable
        The graph: "nearest_neighbors", values of an RBF kernel ("rbf"), X itself ("precomputed"),
        neighbors by the distances X ("precomputed_nearest_neighbors"), or what a function of X
        returns.
    gamma : float, optional
        Of the RBF kernel; 1 / n_features by default.
    random_state : int, optional
        Seed of the start of "lobpcg"; "arpack" has a fixed one by default.
    eigen_solver : {"arpack", "lobpcg", "amg"}, optional
        "arpack" by default; "amg" needs the package pyamg, whose preconditioner "lobpcg" then uses.
    eigen_tol : float or "auto"
        Tolerance of the eigenvectors.
    n_neighbors : int, optional
        A tenth of the rows by default.
    n_jobs : int, optional
        Number of threads; by default all.

    Attributes
    ----------
    embedding_ : (n_samples, n_components) the map
    affinity_matrix_ : (n_samples, n_samples) the graph
    n_neighbors_ : neighbors used, with "nearest_neighbors"
    gamma_ : gamma used, with "rbf"

    See Also
    --------
    Isomap : Keeps lengths of paths.

    References
    ----------
    M. Belkin and P. Niyogi (2003), Laplacian eigenmaps for dimensionality reduction and data
    representation.

    U. von Luxburg (2007), A tutorial on spectral clustering.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import SpectralEmbedding
    >>> path = np.diag(np.ones(7), 1) + np.diag(np.ones(7), -1)  # nodes in a line
    >>> z = SpectralEmbedding(1, affinity="precomputed").fit_transform(path)[:, 0]
    >>> bool((np.diff(z) > 0).all() or (np.diff(z) < 0).all())
    True
    """

    _sparse_ok = True
    _min_rows = 2
    _law_rows = 300
    _law_params = {"affinity": "rbf", "gamma": 0.1}
    _learned_shapes = {"embedding_": "n m"}
    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "affinity": [StrOptions({"nearest_neighbors", "rbf", *_PRECOMPUTED}), callable],
        "gamma": [Interval(Real, 0, None, closed="left"), None],
        "random_state": ["random_state"],
        "eigen_solver": [StrOptions({"arpack", "lobpcg", "amg"}), None],
        "eigen_tol": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), None],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        affinity: Any = "nearest_neighbors",
        gamma: float | None = None,
        random_state: Any = None,
        eigen_solver: str | None = None,
        eigen_tol: Any = "auto",
        n_neighbors: int | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.affinity = affinity
        self.gamma = gamma
        self.random_state = random_state
        self.eigen_solver = eigen_solver
        self.eigen_tol = eigen_tol
        self.n_neighbors = n_neighbors
        self.n_jobs = n_jobs

    def _map_columns(self) -> int:
        return self.embedding_.shape[1]  # nothing is computed from it

    def _is_precomputed(self) -> bool:
        return isinstance(self.affinity, str) and self.affinity in _PRECOMPUTED

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        X = gather_rows(rows)
        learned = self._graph(X, rows)
        A = learned["affinity_matrix_"]
        start = rng if self.random_state is not None else np.random.default_rng(0)
        solver = self.eigen_solver or "arpack"
        points = lowest_eigenvectors(A, self.n_components, solver, self.eigen_tol, start)
        return {"embedding_": points.astype(rows.dtype), **learned}

    def _graph(self, X: Any, rows: Rows) -> dict[str, Any]:
        """The graph, and what it was made with."""
        n, dtype = rows.n_rows, rows.dtype
        if self.affinity == "precomputed":
            check_square(rows)
            return {"affinity_matrix_": X}
        if self.affinity == "rbf":
            check_distance_memory(n, 3.0, type(self).__name__, "take affinity='nearest_neighbors'")
            gamma = 1.0 / X.shape[1] if self.gamma is None else float(self.gamma)
            dense = to_dense(X).astype(np.float64)
            kernel = resolve_kernel("rbf", gamma=gamma, X=dense[:0])
            A = gram_matrix(dense, kernel).astype(dtype)
            return {"affinity_matrix_": A, "gamma_": gamma}
        if callable(self.affinity):
            return {"affinity_matrix_": self.affinity(X)}
        if self.affinity == "precomputed_nearest_neighbors":
            check_square(rows)
            k = 5 if self.n_neighbors is None else self.n_neighbors
            index = NearestNeighbors(n_neighbors=k, metric="precomputed").fit(X)
            links, extra = index.kneighbors_graph(X), {}
        else:
            k = max(n // 10, 1) if self.n_neighbors is None else self.n_neighbors
            index = NearestNeighbors(n_neighbors=min(k, n)).fit(X)
            links, extra = index.kneighbors_graph(X), {"n_neighbors_": k}
        return {"affinity_matrix_": csr_matrix(0.5 * (links + links.T)).astype(dtype), **extra}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed()
        return tags


def spectral_embedding(
    adjacency: Any,
    *,
    n_components: int = 8,
    eigen_solver: str | None = None,
    random_state: Any = None,
    eigen_tol: Any = "auto",
    norm_laplacian: bool = True,
    drop_first: bool = True,
) -> np.ndarray:
    """Lowest eigenvectors of the Laplacian of a graph: see `SpectralEmbedding`.

    Parameters
    ----------
    adjacency : (n, n) array or sparse matrix
        Symmetric weights of the edges.
    n_components : int
        Number of eigenvectors.
    eigen_solver, random_state, eigen_tol : Any
        As in `SpectralEmbedding`.
    norm_laplacian : bool
        Whether the Laplacian is normalized by the degrees.
    drop_first : bool
        Whether the constant eigenvector is left out.

    Examples
    --------
    >>> import numpy as np
    >>> A = np.ones((4, 4)) - np.eye(4)
    >>> spectral_embedding(A, n_components=2).shape
    (4, 2)
    """
    from sklearn.utils import check_random_state

    seed = 0 if random_state is None else int(check_random_state(random_state).randint(2**31 - 1))
    check: Any = check_array
    A = check(adjacency, accept_sparse="csr", dtype=[np.float64, np.float32])
    with one_blas_thread():
        return lowest_eigenvectors(
            A,
            n_components,
            eigen_solver or "arpack",
            eigen_tol,
            np.random.default_rng(seed),
            normalized=norm_laplacian,
            drop_first=drop_first,
        )


def lowest_eigenvectors(
    A: Any,
    n_components: int,
    solver: str,
    tol: Any,
    rng: np.random.Generator,
    *,
    normalized: bool = True,
    drop_first: bool = True,
) -> np.ndarray:
    """Eigenvectors of the smallest eigenvalues of a Laplacian, (n, n_components), signs fixed."""
    A = check_symmetric(A)
    if connected_components(csr_matrix(A), directed=False)[0] > 1:
        warnings.warn(
            "Graph is not fully connected, spectral embedding may not work as expected.",
            stacklevel=5,
        )
    L, roots = laplacian(A, normed=normalized, return_diag=True)
    n, k = L.shape[0], n_components + bool(drop_first)
    if k > n:
        raise ValueError(f"n_components={n_components} needs at least {k} rows, not {n}")
    if normalized:  # also of nodes without edges
        L = _set_diagonal(L)
    preconditioner = None
    if solver == "amg":
        preconditioner, solver = _multigrid(L, k)
    if k >= n or (solver == "lobpcg" and n < _MIN_NODES_PER_VECTOR * k + 1):
        vectors = eigh(to_dense(L), subset_by_index=(0, k - 1))[1]
    elif solver == "arpack":
        start = rng.uniform(-1, 1, n)
        vectors = eigsh(L, k, sigma=_SHIFT, which="LM", tol=0 if tol == "auto" else tol, v0=start)
        vectors = vectors[1][:, np.argsort(vectors[0], kind="stable")]
    else:
        start = rng.normal(size=(n, k + 1)).astype(L.dtype)
        start[:, 0] = roots
        limit = None if tol == "auto" else tol
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of an accuracy beyond rounding
            vectors = lobpcg(
                L, start, M=preconditioner, tol=limit, largest=False, maxiter=_MAX_LOBPCG_ITER
            )[1]
    points = vectors[:, :k] / roots[:, None] if normalized else vectors[:, :k]
    largest = np.abs(points).argmax(axis=0)
    points = points * np.sign(points[largest, np.arange(points.shape[1])])
    return points[:, 1:] if drop_first else points


def _set_diagonal(L: Any) -> Any:
    if not issparse(L):
        np.fill_diagonal(L, 1.0)
        return L
    L = L.tolil()
    L.setdiag(1.0)
    return L.tocsc()


def _multigrid(L: Any, k: int) -> tuple[Any, str]:
    """The preconditioner of pyamg for "lobpcg"; "arpack" for what it is not for."""
    try:
        from pyamg import smoothed_aggregation_solver  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise ValueError(
            "The eigen_solver was set to 'amg', but pyamg is not available."
        ) from error
    reason = ""
    if L.shape[0] < _MIN_NODES_PER_VECTOR * k:
        reason = "small graphs"
    elif not issparse(L):
        reason = "dense matrices"
    if reason:
        warnings.warn(
            f"AMG solver does not work well with {reason}, using ARPACK instead.",
            RuntimeWarning,
            stacklevel=6,
        )
        return None, "arpack"
    from scipy.sparse import eye

    shifted = (L + 1e-5 * eye(L.shape[0])).tocsr()
    return smoothed_aggregation_solver(shifted).aspreconditioner(), "lobpcg"
