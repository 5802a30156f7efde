"""Locally linear embedding, and its Hessian, modified and tangent-space forms."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, cast

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import eigsh
from sklearn.utils import check_random_state
from sklearn.utils.extmath import svd_flip
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.engine.rows import Rows
from tenfold.manifold._embedding import ManifoldModel, gather_rows
from tenfold.manifold._neighborhood_matrices import (
    Neighborhoods,
    barycenter_weights,
    hessian_matrix,
    modified_matrix,
    standard_matrix,
    tangent_matrix,
)
from tenfold.neighbors.nearest_neighbors import NearestNeighbors

_SHIFT = -1e-10  # of the mean of the diagonal
_MIN_ARPACK_ROWS, _MAX_ARPACK_VECTORS = 200, 10  # scikit-learn's choice


class LocallyLinearEmbedding(ManifoldModel):
    r"""Locally linear embedding: each point is the same mean of its neighbors as its row.

    .. math:: \min_{W 1 = 1} \sum_i \Big\lVert x_i - \sum_{j \in N_i} w_{ij} x_j \Big\rVert^2,
              \qquad \min_{Z^T Z = I, \, Z^T 1 = 0}
              \sum_i \Big\lVert z_i - \sum_j w_{ij} z_j \Big\rVert^2

    Parameters and attributes are those of `sklearn.manifold.LocallyLinearEmbedding`; the Hessian
    form uses the estimates of second derivatives alone, as in its paper.

    Parameters
    ----------
    n_neighbors : int
        Neighbors of each row.
    n_components : int
        Dimensions of the map.
    reg : float
        Regularization of the weights, times the trace of each local Gram matrix.
    eigen_solver : {"auto", "arpack", "dense"}
        How the eigenvectors are found: a few by iteration, or all.
    tol, max_iter : float and int
        Of "arpack".
    method : {"standard", "hessian", "modified", "ltsa"}
        Weights of neighbors; estimates of second derivatives; several weights of each row; local
        tangent coordinates.
    hessian_tol, modified_tol : float
        Below which sums and lengths count as 0 in these forms.
    neighbors_algorithm : {"auto", "brute", "kd_tree", "ball_tree"}
        How neighbors are searched; the result is the same.
    random_state : int, optional
        Seed of the start of "arpack", which is a fixed one by default.
    n_jobs : int, optional
        Number of threads; by default all.

    Attributes
    ----------
    embedding_ : (n_samples, n_components) the map
    reconstruction_error_ : sum of the eigenvalues of the map
    nbrs_ : the `NearestNeighbors` of the rows

    See Also
    --------
    SpectralEmbedding : Links in place of weights.

    References
    ----------
    S. T. Roweis and L. K. Saul (2000), Nonlinear dimensionality reduction by locally linear
    embedding.

    D. L. Donoho and C. Grimes (2003), Hessian eigenmaps.

    Z. Zhang and J. Wang (2007), MLLE: Modified locally linear embedding using multiple weights.

    Z. Zhang and H. Zha (2004), Principal manifolds and nonlinear dimensionality reduction via
    tangent space alignment.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import LocallyLinearEmbedding
    >>> t = np.linspace(0, 3, 50)
    >>> arc = np.c_[np.cos(t), np.sin(t)]
    >>> z = LocallyLinearEmbedding(n_neighbors=4, n_components=1).fit_transform(arc)[:, 0]
    >>> bool((np.diff(z) > 0).all() or (np.diff(z) < 0).all())
    True
    """

    _min_rows = 2
    _law_rows = 300
    _law_params = {"eigen_solver": "dense"}
    _learned_shapes = {"embedding_": "n m"}
    _parameter_constraints = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "reg": [Interval(Real, 0, None, closed="left")],
        "eigen_solver": [StrOptions({"auto", "arpack", "dense"})],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "method": [StrOptions({"standard", "hessian", "modified", "ltsa"})],
        "hessian_tol": [Interval(Real, 0, None, closed="left")],
        "modified_tol": [Interval(Real, 0, None, closed="left")],
        "neighbors_algorithm": [StrOptions({"auto", "brute", "kd_tree", "ball_tree"})],
        "random_state": ["random_state"],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        *,
        n_neighbors: int = 5,
        n_components: int = 2,
        reg: float = 1e-3,
        eigen_solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 100,
        method: str = "standard",
        hessian_tol: float = 1e-4,
        modified_tol: float = 1e-12,
        neighbors_algorithm: str = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.n_components = n_components
        self.reg = reg
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.max_iter = max_iter
        self.method = method
        self.hessian_tol = hessian_tol
        self.modified_tol = modified_tol
        self.neighbors_algorithm = neighbors_algorithm
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        n, p = rows.n_rows, rows.n_features
        if self.n_components > p:
            raise ValueError(
                "output dimension must be less than or equal to input dimension: n_components="
                f"{self.n_components}, and {p} columns"
            )
        if self.n_neighbors >= n:
            raise ValueError(
                f"Expected n_neighbors < n_samples, but n_samples = {n}, n_neighbors = "
                f"{self.n_neighbors}"
            )
        X = gather_rows(rows)
        index = NearestNeighbors(
            n_neighbors=self.n_neighbors, algorithm=self.neighbors_algorithm
        ).fit(X)
        data = Neighborhoods(X.astype(np.float64), index.kneighbors(return_distance=False))
        M = self._matrix(data)
        rng = np.random.default_rng(0) if self.random_state is None else rng
        values, vectors = self._lowest(M, rng)
        return {
            "embedding_": svd_flip(vectors, None)[0].astype(rows.dtype),
            "reconstruction_error_": float(values.sum()),
            "nbrs_": index,
        }

    def _matrix(self, data: Neighborhoods) -> Any:
        if self.method == "standard":
            return standard_matrix(data, self.reg)
        if self.method == "hessian":
            return hessian_matrix(data, self.n_components, self.hessian_tol)
        if self.method == "modified":
            return modified_matrix(data, self.n_components, self.modified_tol)
        return tangent_matrix(data, self.n_components)

    def _lowest(self, M: Any, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues and vectors after the first, which is constant."""
        n, k = M.shape[0], self.n_components + 1
        solver = self.eigen_solver
        if solver == "auto":
            few = n > _MIN_ARPACK_ROWS and k < _MAX_ARPACK_VECTORS
            solver = "arpack" if few else "dense"
        if solver == "dense" or k >= n:
            values, vectors = eigh(M.toarray(), subset_by_index=(0, min(k, n) - 1))
            return values[1:], vectors[:, 1:]
        start, tol = rng.uniform(-1, 1, n), cast("Any", self.tol)
        try:
            shift = _SHIFT * M.diagonal().mean()  # M has the eigenvalue 0: not inverted there
            values, vectors = eigsh(
                M.tocsc(), k, sigma=shift, tol=tol, maxiter=self.max_iter, v0=start
            )
        except RuntimeError as error:
            raise ValueError(
                f"Error in determining null-space with ARPACK. Error message: '{error}'. "
                "eigen_solver='arpack' can fail when the weight matrix is singular or otherwise "
                "ill-behaved. In that case, eigen_solver='dense' is recommended."
            ) from error
        order = np.argsort(np.abs(values), kind="stable")
        return values[order][1:], vectors[:, order][:, 1:]

    def transform(self, X: Any) -> np.ndarray:
        """Places of rows in the map: the same means of their neighbors as of rows.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        queries = self._rows(X, reset=False).gather().X
        rows = self.nbrs_.kneighbors(queries, return_distance=False)
        queries = queries.astype(np.float64)
        known = self.nbrs_.statistic_.X.astype(np.float64)
        with self._work_context():
            weights = barycenter_weights(queries, known, rows, self.reg)
            points = np.einsum("ij,ijd->id", weights, self.embedding_.astype(np.float64)[rows])
        return points.astype(self.embedding_.dtype)


def locally_linear_embedding(
    X: Any, *, n_neighbors: int, n_components: int, **params: Any
) -> tuple[np.ndarray, float]:
    """The map of `LocallyLinearEmbedding` and its reconstruction error, as a function.

    Parameters
    ----------
    X : (n, p) array or fitted `NearestNeighbors`
        The rows.
    n_neighbors, n_components : int
        Neighbors of each row, and dimensions of the map.
    **params
        Further parameters of `LocallyLinearEmbedding`.

    Examples
    --------
    >>> import numpy as np
    >>> t = np.linspace(0, 3, 50)
    >>> arc = np.c_[np.cos(t), np.sin(t)]
    >>> locally_linear_embedding(arc, n_neighbors=4, n_components=1)[0].shape
    (50, 1)
    """
    if isinstance(X, NearestNeighbors):
        X = X.statistic_.X
    if params.get("random_state") is not None:
        params["random_state"] = check_random_state(params["random_state"])
    model = LocallyLinearEmbedding(n_neighbors=n_neighbors, n_components=n_components, **params)
    model.fit(X)
    return model.embedding_, model.reconstruction_error_
