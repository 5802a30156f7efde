"""Truncated singular value decomposition: the largest singular vectors, without centering."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils.validation import check_array, check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.base.mixins import Transformer
from tenfold.decomposition._eigensolvers import (
    SingularVectors,
    fix_signs,
    iterate_singular_vectors,
    singular_vectors_from_qr,
)
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.stats.moments import ClassMoments

_SMALL_SIDE = 500  # rows or columns up to which dense rows are decomposed exactly
_MAX_EXACT_SIDE = 5000  # the same, in the place of Lanczos' method
_MAX_ARPACK_ITER = 300
_ARPACK_TOL = 1e-10  # for tol=0; residuals below are rounding


class TruncatedSVD(ClassNamePrefixFeaturesOutMixin, Transformer):
    r"""Truncated singular value decomposition, also called latent semantic analysis.

    .. math:: X \approx U \Sigma V^\top, \qquad
              \min_{V^\top V = I} \lVert X - X V V^\top \rVert_F^2

    The rows are not centered, so that sparse rows stay sparse. Parameters and attributes are those
    of `sklearn.decomposition.TruncatedSVD`. Dense rows of few columns are decomposed exactly, by
    one pass that keeps their triangular factor; others by subspace iteration, one pass for each
    iteration and two more.

    Parameters
    ----------
    n_components : int
        Number of components.
    algorithm : {"randomized", "arpack"}
        "randomized" iterates `n_iter` times. "arpack" is exact: the triangular factor of dense rows
        with up to 5000 rows or columns, else a subspace iteration until the residuals are below
        `tol`; it needs fewer components than rows and columns.
    n_iter : int
        Iterations of "randomized".
    n_oversamples : int
        Dimensions of the subspace beyond the components.
    power_iteration_normalizer : {"auto", "QR", "LU", "none"}
        Ignored: each iteration is normalized by QR, the most accurate of them.
    random_state : int, optional
        Seed of the first subspace.
    tol : float
        Largest residual of "arpack" relative to the largest squared singular value; 0 for
        the limit of rounding.

    Attributes
    ----------
    components_ : (n_components, n_features) right singular vectors; the largest entry of each is
        positive
    singular_values_ : (n_components,) descending
    explained_variance_, explained_variance_ratio_ : (n_components,) variance of the transformed
        columns (over n), and its share of the variance of all columns

    See Also
    --------
    PCA : The same of centered rows.
    TfIdf : Documents as sparse rows.

    References
    ----------
    N. Halko, P.-G. Martinsson and J. Tropp (2011), Finding structure with randomness.
    S. Deerwester et al. (1990), Indexing by latent semantic analysis.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from tenfold import TruncatedSVD
    >>> X = csr_array(np.diag([5.0, 4.0, 3.0, 2.0, 1.0]))
    >>> TruncatedSVD(n_components=2, random_state=0).fit(X).singular_values_.round(6).tolist()
    [5.0, 4.0]
    """

    _sparse_ok = True
    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "algorithm": [StrOptions({"arpack", "randomized"})],
        "n_iter": [Interval(Integral, 0, None, closed="left")],
        "n_oversamples": [Interval(Integral, 1, None, closed="left")],
        "power_iteration_normalizer": [StrOptions({"auto", "QR", "LU", "none"})],
        "random_state": ["random_state"],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        algorithm: str = "randomized",
        n_iter: int = 5,
        n_oversamples: int = 10,
        power_iteration_normalizer: str = "auto",
        random_state: Any = None,
        tol: float = 0.0,
    ) -> None:
        self.n_components = n_components
        self.algorithm = algorithm
        self.n_iter = n_iter
        self.n_oversamples = n_oversamples
        self.power_iteration_normalizer = power_iteration_normalizer
        self.random_state = random_state
        self.tol = tol

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the largest singular vectors.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        y : None
            Not used; there so that pipelines can pass it.
        sample_weight : array or column name, optional
            Weight of each row; a weight of two is the row twice.

        Returns
        -------
        self
        """
        return super().fit(X, None, sample_weight)

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        self._check_n_components(rows.n_rows, rows.n_features)
        found = self._decompose(rows, rng)
        k = min(self.n_components, len(found.values))
        W = fix_signs(found.directions[:k]).astype(rows.dtype)
        s = rows.total(projected_moments, np.ascontiguousarray(W.T))
        variances = s.scatter[0] / s.n[0]
        explained, total = variances[:k], variances[k:].sum()
        share = explained / total if total > 0 else np.zeros(k)
        return {
            "components_": W,
            "singular_values_": found.values[:k].astype(rows.dtype),
            "explained_variance_": explained.astype(rows.dtype),
            "explained_variance_ratio_": share.astype(rows.dtype),
        }

    def _check_n_components(self, n: int, p: int) -> None:
        if p < 2:
            raise ValueError(
                f"Found array with {p} feature(s) while a minimum of 2 is required by TruncatedSVD."
            )
        k = self.n_components
        if self.algorithm == "arpack" and k >= min(n, p):
            raise ValueError(
                f"n_components({k}) must be < min(n_samples, n_features)={min(n, p)} with "
                "algorithm='arpack': take algorithm='randomized'"
            )
        if k > p:
            raise ValueError(f"n_components({k}) must be <= n_features({p}).")

    def _decompose(self, rows: Rows, rng: np.random.Generator) -> SingularVectors:
        side, k = min(rows.n_rows, rows.n_features), self.n_components
        arpack = self.algorithm == "arpack"
        passes = (k + self.n_oversamples) * (self.n_iter + 1)  # products for each entry
        most = _MAX_EXACT_SIDE if arpack else max(_SMALL_SIDE, passes)
        if not rows.sparse and side <= most:
            return singular_vectors_from_qr(rows)
        if not arpack:
            return iterate_singular_vectors(rows, k, self.n_oversamples, self.n_iter, rng)
        tol = max(self.tol, _ARPACK_TOL if rows.dtype == np.float64 else 1e-5)
        extra = max(self.n_oversamples, k)
        return iterate_singular_vectors(rows, k, extra, _MAX_ARPACK_ITER, rng, tol)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def transform(self, X: Any) -> np.ndarray:
        """Coordinates of each row along the components, (n_rows, n_components).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        return self._map_rows(X, multiply_rows, np.ascontiguousarray(self.components_.T))

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Rows with these coordinates, (n_rows, n_features).

        Parameters
        ----------
        X : (n_rows, n_components) array
            Coordinates, as `transform` returns them.
        """
        check_is_fitted(self)
        return check_array(X) @ self.components_


def multiply_rows(chunk: Chunk, W: np.ndarray) -> np.ndarray:
    """X W."""
    return np.asarray(chunk.X @ W.astype(chunk.X.dtype, copy=False))


def projected_moments(chunk: Chunk, W: np.ndarray) -> ClassMoments:
    """Moments of each column of X W and of X, as those of one class."""
    w = chunk.weights().astype(np.float64)
    n = w.sum()
    Z = np.asarray(chunk.X @ W, np.float64)
    means, scatters = zip(*(_column_moments(part, w, n) for part in (Z, chunk.X)), strict=True)
    return ClassMoments(np.array([n]), np.hstack(means)[None], np.hstack(scatters)[None])


def _column_moments(X: Any, w: np.ndarray, n: float) -> tuple[np.ndarray, np.ndarray]:
    """Weighted mean and sum of squares about it, of each column of a dense or CSR matrix."""
    scale = n or 1.0
    if isinstance(X, np.ndarray):
        mean = (w @ X) / scale
        D = X - mean
        return mean, np.einsum("i,ij,ij->j", w, D, D)
    X = X.astype(np.float64)
    mean = np.asarray(X.T @ w) / scale
    squares = np.asarray(X.power(2).T @ w)
    return mean, np.maximum(squares - n * mean**2, 0.0)
