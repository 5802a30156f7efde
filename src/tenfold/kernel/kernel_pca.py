"""Kernel principal component analysis."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackError, eigsh
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.extmath import svd_flip
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions, check_psd_eigenvalues, randomized_eigsh
from tenfold.base.mixins import Transformer
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.kernel._block import gram_matrix, kernel_product
from tenfold.kernel._model_base import KERNEL_CONSTRAINTS, KernelParameters, kernel_scores
from tenfold.kernel.kernel_ridge import WeightedSystem
from tenfold.kernel.kernels import resolve_gamma
from tenfold.kernel.object_kernels import is_precomputed, takes_objects

_CURE = (
    "take Nystroem (kernel features of any number of rows, in passes) and then PCA or "
    "IncrementalPCA, or fewer rows"
)
_MIN_ARPACK_ROWS, _MAX_ARPACK_COMPONENTS = 200, 10  # scikit-learn's choice


class KernelPCA(KernelParameters, ClassNamePrefixFeaturesOutMixin, Transformer):
    r"""Principal components in the feature space of a kernel.

    .. math:: K_c = H K H, \quad H = I - \tfrac{1}{n} 1 1^T, \qquad K_c u_j = \lambda_j u_j, \qquad
              z_j(x) = \frac{1}{\sqrt{\lambda_j}} \sum_i u_{ij} \, k_c(x_i, x)

    With weights, means are weighted and :math:`\Omega^{1/2} K_c \Omega^{1/2}` is decomposed.
    Parameters and attributes are those of `sklearn.decomposition.KernelPCA`. Memory grows with the
    square of the rows; data that are too large are refused.

    Parameters
    ----------
    n_components : int, optional
        Number of components; None takes all whose eigenvalue is not 0.
    kernel, gamma, degree, coef0, kernel_params : Any
        The kernel, as in `KernelRidge`.
    alpha : float
        Penalty of the ridge regression that learns the way back.
    fit_inverse_transform : bool
        Whether to learn the way back, from components to rows.
    eigen_solver : {"auto", "dense", "arpack", "randomized"}
        All eigenvectors of a dense matrix, or a few by iteration; "auto" takes "arpack" for fewer
        than 10 components of more than 200 rows.
    tol, max_iter : float and int
        Of "arpack".
    iterated_power : int or "auto"
        Of "randomized".
    remove_zero_eig : bool
        Whether to leave out components whose eigenvalue is 0.
    random_state : int, optional
        Seed of "randomized", and of the start of "arpack", which is a fixed one by default.
    copy_X : bool
        Kept for compatibility: rows of the fit are copied where they could change later.
    n_jobs : int, optional
        Number of threads.

    Attributes
    ----------
    eigenvalues_ : (n_components,) eigenvalues of the centered kernel matrix, in descending order
    eigenvectors_ : (n_samples, n_components) its eigenvectors
    dual_coef_ : (n_samples, n_features) coefficients of the way back
    X_transformed_fit_ : (n_samples, n_components) components of the rows of the fit
    X_fit_ : (n_samples, n_features) the rows of the fit
    gamma_ : gamma as a number

    See Also
    --------
    PCA : With a linear kernel, the same components.
    Nystroem : Kernel features in passes over any number of rows.

    References
    ----------
    B. Schölkopf, A. Smola and K.-R. Müller (1998), Nonlinear component analysis as a kernel
    eigenvalue problem.

    G. H. Bakır, J. Weston and B. Schölkopf (2004), Learning to find pre-images.

    Examples
    --------
    Two rings are apart in the first component:

    >>> import numpy as np
    >>> from tenfold import KernelPCA
    >>> angle = np.linspace(0, 2 * np.pi, 30, endpoint=False)
    >>> ring = np.c_[np.cos(angle), np.sin(angle)]
    >>> z = KernelPCA(1, kernel="rbf", gamma=0.5).fit_transform(np.vstack([ring, 3 * ring]))[:, 0]
    >>> bool(z[:30].min() > z[30:].max() or z[:30].max() < z[30:].min())
    True
    """

    _sparse_ok = True
    _has_quadratic_time = True
    _law_rows = 600
    _law_params = {"n_components": 3}
    _chunk_rows = 512  # a chunk of queries meets all rows of the fit
    _learned_shapes = {
        "X_fit_": "n p",
        "X_transformed_fit_": "n m",
        "_kernel_means": "n",
        "_shares": "n",
        "dual_coef_": "n p",
        "eigenvalues_": "m",
        "eigenvectors_": "n m",
        "projection_": "n m",
    }
    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        **KERNEL_CONSTRAINTS,
        "alpha": [Interval(Real, 0, None, closed="left")],
        "fit_inverse_transform": ["boolean"],
        "eigen_solver": [StrOptions({"auto", "dense", "arpack", "randomized"})],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "iterated_power": [Interval(Integral, 0, None, closed="left"), StrOptions({"auto"})],
        "remove_zero_eig": ["boolean"],
        "random_state": ["random_state"],
        "copy_X": ["boolean"],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        kernel: Any = "linear",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        alpha: float = 1.0,
        fit_inverse_transform: bool = False,
        eigen_solver: str = "auto",
        tol: float = 0,
        max_iter: int | None = None,
        iterated_power: Any = "auto",
        remove_zero_eig: bool = False,
        random_state: Any = None,
        copy_X: bool = True,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.alpha = alpha
        self.fit_inverse_transform = fit_inverse_transform
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.max_iter = max_iter
        self.iterated_power = iterated_power
        self.remove_zero_eig = remove_zero_eig
        self.random_state = random_state
        self.copy_X = copy_X
        self.n_jobs = n_jobs

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        if self.fit_inverse_transform and (
            is_precomputed(self.kernel) or takes_objects(self.kernel)
        ):
            raise ValueError("Cannot fit_inverse_transform with a precomputed kernel.")
        train = self._gather_rows(rows, copies=3, cure=_CURE)
        K = train.gram()
        weights = np.ones(len(K)) if train.w is None else train.w
        shares = weights / weights.sum()
        means, roots = shares @ K, np.sqrt(weights)
        K -= (K @ shares)[:, None]  # the same means, but for rounding of a given matrix
        K -= means
        K += shares @ means
        K *= roots
        K *= roots[:, None]
        values, vectors = self._decompose(K, roots, rng)
        lengths = np.sqrt(np.where(values > 0, values, 1.0))
        projection = np.where(values > 0, vectors / lengths, 0.0) * roots[:, None]
        dtype = rows.dtype
        learned = {
            "eigenvalues_": values.astype(dtype),
            "eigenvectors_": vectors.astype(dtype),
            "projection_": projection.astype(dtype),
            "X_fit_": train.X,
            "gamma_": resolve_gamma(self.gamma, train.X),
            "_kernel_means": means,
            "_shares": shares,
        }
        if self.fit_inverse_transform:
            safe = np.where(roots > 0, roots, 1.0)[:, None]
            scores = vectors * np.sqrt(np.maximum(values, 0.0)) / safe
            learned |= self._learn_way_back(train.X, train.w, scores)
        return learned

    def _decompose(
        self, K: np.ndarray, roots: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues in descending order, and eigenvectors with fixed signs."""
        n = len(K)
        k = n if self.n_components is None else min(n, self.n_components)
        solver = self.eigen_solver
        if solver == "auto":
            few = n > _MIN_ARPACK_ROWS and k < _MAX_ARPACK_COMPONENTS
            solver = "arpack" if few else "dense"
        if solver == "arpack" and self.random_state is None:
            rng = np.random.default_rng(0)  # a start alone: every fit gives the same components
        values, vectors = _largest_eigenvectors(
            K, k, solver, self.tol, self.max_iter, self.iterated_power, rng
        )
        values = check_psd_eigenvalues(values, enable_warnings=False)
        safe = np.where(roots > 0, roots, np.inf)[:, None]  # signs by components of rows
        vectors = svd_flip(u=vectors / safe, v=None)[0] * roots[:, None]
        order = values.argsort()[::-1]
        values, vectors = values[order], vectors[:, order]
        if self.remove_zero_eig or self.n_components is None:
            values, vectors = values[values > 0], vectors[:, values > 0]
        return values, vectors

    def _learn_way_back(self, X: Any, w: np.ndarray | None, scores: np.ndarray) -> dict[str, Any]:
        """Kernel ridge regression of the rows on their components."""
        if hasattr(X, "tocsr"):
            raise NotImplementedError(
                "Inverse transform not implemented for sparse matrices!: give X.toarray()"
            )
        K = gram_matrix(scores, self._back_kernel(X.shape[1]))
        system = WeightedSystem.weigh(K, X.astype(np.float64), w)
        dual = system.solve(np.array([float(self.alpha)]))
        return {
            "dual_coef_": dual.astype(X.dtype),
            "X_transformed_fit_": scores.astype(X.dtype),
        }

    def _back_kernel(self, n_features: int) -> Any:
        """The kernel between components: the same, with the same gamma."""
        return self._kernel_object(n_features)

    def fit_transform(self, X: Any, y: Any = None, **params: Any) -> Any:
        """Fit, then the components of the same rows.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows; for a precomputed kernel the matrix of their values.
        y : None
            Not used.
        **params
            Further arguments of `fit`.
        """
        return self.fit(X, y, **params).transform(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def transform(self, X: Any) -> np.ndarray:
        """Components of rows, (n_rows, n_components).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows; for a precomputed kernel their values with the rows of the fit.
        """
        check_is_fitted(self)
        projection = self.projection_.astype(np.float64)
        sums = projection.sum(axis=0)
        offset = (self._shares @ self._kernel_means) * sums - self._kernel_means @ projection
        state = self._kernel_object(self.n_features_in_), self.X_fit_.astype(np.float64)
        dual = projection - self._shares[:, None] * sums
        return self._map_rows(X, _component_scores, *state, dual, offset)

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Rows whose components are given, (n_rows, n_features).

        Parameters
        ----------
        X : (n_rows, n_components) array
            Components.
        """
        if not self.fit_inverse_transform:
            raise NotFittedError(
                "The fit_inverse_transform parameter was not set to True when instantiating and "
                "hence the inverse transform is not available."
            )
        check_is_fitted(self)
        with self._work_context():
            Z = np.ascontiguousarray(np.asarray(X, np.float64))
            known = self.X_transformed_fit_.astype(np.float64)
            kernel = self._back_kernel(self.n_features_in_)
            values = kernel_product(Z, known, kernel, self.dual_coef_.astype(np.float64))
        return values.astype(self.dual_coef_.dtype)

    @property
    def _n_features_out(self) -> int:
        return self.eigenvalues_.shape[0]


def _largest_eigenvectors(
    K: np.ndarray,
    k: int,
    solver: str,
    tol: Any,
    max_iter: int | None,
    iterated_power: Any,
    rng: np.random.Generator,
) -> Any:
    """The k largest eigenvalues and their vectors, by all at once or by iteration."""
    n = len(K)
    if solver == "arpack" and k < n:
        start = rng.uniform(-1, 1, n)
        try:
            return eigsh(K, k, which="LA", tol=tol, maxiter=max_iter, v0=start)
        except ArpackError:  # a matrix of zeros, or too few iterations
            pass
    if solver == "randomized" and k < n:
        return randomized_eigsh(
            K,
            n_components=k,
            n_iter=iterated_power,
            random_state=int(rng.integers(2**31)),
            selection="module",
        )
    values, vectors = eigh(K, subset_by_index=(n - k, n - 1))
    if len(values) == k:
        return values, vectors
    values, vectors = eigh(K)  # equal eigenvalues: LAPACK finds none of them by their numbers
    return values[n - k :], vectors[:, n - k :]


def _component_scores(
    chunk: Chunk, kernel: Any, X_fit: Any, dual: np.ndarray, offset: np.ndarray
) -> np.ndarray:
    """Components of some rows; means of kernel values are taken out through `dual` and offset."""
    return kernel_scores(chunk, kernel, X_fit, dual) + offset.astype(chunk.X.dtype)
