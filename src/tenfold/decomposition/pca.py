"""Principal component analysis."""

from __future__ import annotations

from copy import copy
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, RealNotInt, StrOptions
from tenfold.base.mixins import Transformer
from tenfold.base.one_pass import OnePass
from tenfold.decomposition._eigensolvers import (
    PrincipalAxes,
    axes_from_moments,
    axes_from_qr,
    axes_from_rows,
    fix_signs,
    select_n_components,
    subspace_iteration,
)
from tenfold.decomposition.n_components import cross_validate_components
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.engine.second_moments import second_moments
from tenfold.math.linalg import to_dense
from tenfold.stats.moments import MIN_RECIPROCAL_CONDITION, Moments

# columns up to which the covariance is computed (200 MB of float64); subspace iteration beyond
_MAX_COVARIANCE_COLUMNS = 5000
_ARPACK_POWER = 30  # iterations of the subspace iteration in the place of Lanczos'
_SMALL_SIDE = 500  # rows and columns up to which "auto" is exact, as in scikit-learn


class PCA(ClassNamePrefixFeaturesOutMixin, OnePass, Transformer):
    r"""Principal component analysis.

    .. math:: \max_{W^\top W = I} \operatorname{tr}(W^\top C W)
              \;=\; \min_{W^\top W = I} \tfrac1n \sum_i \lVert \bar x_i - W W^\top \bar x_i \rVert^2
              \text{ up to a constant}

    The directions of largest variance are those of least reconstruction error. One pass over the
    data (the covariance C), unless the requested components are so small that the covariance does
    not resolve them. Parameters and attributes are those of `sklearn.decomposition.PCA`.

    Parameters
    ----------
    n_components : int, float, "mle", "elbow", "cv" or None
        Number of components; a share of the variance to keep, in (0, 1); the maximum-likelihood
        estimate of Minka (2000); the knee of the variance that is left out; the largest likelihood
        of held-out rows (`cross_validate_components`, one more pass); or all.
    copy : bool
        X is never overwritten, whatever is given here.
    whiten : bool
        Whether transformed columns have variance one.
    svd_solver : {"auto", "full", "covariance_eigh", "randomized", "arpack"}
        "covariance_eigh" is one pass; "full" uses the triangular factor of the rows and is the most
        accurate; "randomized" is subspace iteration for wide data. "auto" is "covariance_eigh"
        where that is accurate, else "full"; if fewer than 80 % of the components are requested, it
        is "randomized" for more than 5000 columns and for more columns than rows (beyond 500).
        "arpack", for fewer components than rows and columns, is "full" unless both exceed 5000;
        then it is the subspace iteration, with 30 iterations.
    tol : float
        Ignored: no solver stops by a tolerance.
    iterated_power : int or "auto"
        Iterations of the subspace iteration, a pass each; "auto" is 7, or 4 for many components.
    n_oversamples : int
        Dimensions of the subspace beyond the components.
    power_iteration_normalizer : {"auto", "QR", "LU", "none"}
        Ignored: each iteration is normalized by QR, the most accurate of them.
    random_state : int, optional
        Seed of the subspace iteration.

    Attributes
    ----------
    components_ : (n_components, n_features) orthonormal directions; the largest entry of each is
        positive
    explained_variance_, explained_variance_ratio_ : (n_components,) variance along each, and its
        share of the total
    singular_values_ : (n_components,) of the centered rows
    mean_ : (n_features,) mean of the rows
    n_components_, n_samples_ : numbers of components and rows
    noise_variance_ : mean variance along the other directions
    statistic_ : the moments of the rows; None if the rows themselves were decomposed

    See Also
    --------
    IncrementalPCA : as accurate as "full" in batches.
    ProbabilisticPCA : a density over rows; EM, missing entries.
    cross_validate_components : the number of components by held-out rows.
    TruncatedSVD : without centering, for sparse rows.
    LinearDiscriminantAnalysis : directions that separate classes.

    References
    ----------
    K. Pearson (1901), On lines and planes of closest fit to systems of points in space.
    N. Halko, P.-G. Martinsson and J. Tropp (2011), Finding structure with randomness.
    T. Minka (2000), Automatic choice of dimensionality for PCA.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tenfold import PCA
    >>> X, _ = load_iris(return_X_y=True)
    >>> PCA(n_components=2).fit(X).explained_variance_ratio_.round(4).tolist()
    [0.9246, 0.0531]
    """

    _sparse_ok = True
    _parameter_constraints = {
        "n_components": [
            Interval(Integral, 0, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="neither"),
            StrOptions({"mle", "elbow", "cv"}),
            None,
        ],
        "copy": ["boolean"],
        "whiten": ["boolean"],
        "svd_solver": [StrOptions({"auto", "full", "covariance_eigh", "randomized", "arpack"})],
        "tol": [Interval(Real, 0, None, closed="left")],
        "iterated_power": [StrOptions({"auto"}), Interval(Integral, 0, None, closed="left")],
        "n_oversamples": [Interval(Integral, 1, None, closed="left")],
        "power_iteration_normalizer": [StrOptions({"auto", "QR", "LU", "none"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components: Any = None,
        *,
        copy: bool = True,
        whiten: bool = False,
        svd_solver: str = "auto",
        tol: float = 0.0,
        iterated_power: Any = "auto",
        n_oversamples: int = 10,
        power_iteration_normalizer: str = "auto",
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.copy = copy
        self.whiten = whiten
        self.svd_solver = svd_solver
        self.tol = tol
        self.iterated_power = iterated_power
        self.n_oversamples = n_oversamples
        self.power_iteration_normalizer = power_iteration_normalizer
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the components.

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
        if self.n_components == "cv":
            chosen = copy(self).set_params(
                n_components=cross_validate_components(rows).n_components
            )
            return chosen._fit(rows, rng)
        self._check_n_components(rows.n_rows, rows.n_features)
        solver = self._choose_solver(rows)
        if solver == "randomized":
            return self._attributes(self._subspace(rows, rng), rows.n_rows, rows.dtype)
        if solver == "rows":
            return self._attributes(axes_from_rows(rows), rows.n_rows, rows.dtype)
        s = self._statistic(rows)
        axes = axes_from_moments(s, self._fixed_n_components())
        inaccurate = solver == "auto" and not self._resolves(axes, s, rows.dtype)
        if (solver == "full" or inaccurate) and not rows.sparse:
            axes = axes_from_qr(rows, s)
        return {**self._attributes(axes, rows.n_rows, rows.dtype), "statistic_": s}

    def _statistic(self, rows: Rows) -> Moments:
        return second_moments(rows)

    def _finalize(self, s: Moments, dtype: np.dtype) -> dict[str, Any]:
        if self.n_components == "cv":
            raise ValueError(
                "n_components='cv' needs all rows at once: use `fit`, or give a number"
            )
        self._check_n_components(s.rows, len(s.mean))
        return self._attributes(axes_from_moments(s, self._fixed_n_components()), s.rows, dtype)

    def _statistic_suffices(
        self, s: Moments, n_rows: int, dtype: np.dtype, settings: list[dict]
    ) -> bool:
        if any(params.get("n_components", self.n_components) == "cv" for params in settings):
            return False
        if n_rows < self.n_features_in_ or self.svd_solver not in ("auto", "covariance_eigh"):
            return False
        models: list[Any] = [copy(self).set_params(**params) for params in settings]
        return all(
            m._resolves(axes_from_moments(s, m._fixed_n_components()), s, dtype) for m in models
        )

    def _affine(self) -> tuple[np.ndarray, np.ndarray]:
        """`transform` as (x - shift) A: shift (n_features,) and A (n_features, n_components)."""
        return self.mean_.astype(np.float64), self.components_.T / self._scale()

    def _choose_solver(self, rows: Rows) -> str:
        n, p = rows.n_rows, rows.n_features
        if self.svd_solver != "auto":
            solver = self.svd_solver
            if solver == "arpack":
                solver = "full" if min(n, p) <= _MAX_COVARIANCE_COLUMNS else "randomized"
            return "rows" if solver == "full" and n < p else solver
        k = self._fixed_n_components()
        few = k is not None and k < 0.8 * min(n, p)
        if max(n, p) > _SMALL_SIDE and few and (n < p or p > _MAX_COVARIANCE_COLUMNS):
            return "randomized"
        return "rows" if n < p else "auto"

    def _fixed_n_components(self) -> int | None:
        """The number of components, if it is known before the fit."""
        return int(self.n_components) if isinstance(self.n_components, Integral) else None

    def _check_n_components(self, n: int, p: int) -> None:
        k = self._fixed_n_components()
        solver = "full" if self.svd_solver == "auto" else self.svd_solver
        if k is not None and k > min(n, p):
            raise ValueError(
                f"n_components={k} must be between 0 and min(n_samples, n_features)={min(n, p)} "
                f"with svd_solver={solver!r}"
            )
        if self.n_components == "mle" and self.svd_solver == "arpack":
            raise ValueError(
                "n_components='mle' cannot be a string with svd_solver='arpack': take "
                "svd_solver='full'"
            )
        if self.n_components == "mle" and n < p:
            raise ValueError("n_components='mle' is only supported if n_samples >= n_features")
        whole = k is not None or self.n_components is None
        if self.svd_solver == "arpack" and not (whole and (k is None or k < min(n, p))):
            raise ValueError(
                f"n_components={self.n_components!r} must be strictly less than min(n_samples, "
                f"n_features)={min(n, p)} with svd_solver='arpack': take svd_solver='full'"
            )

    def _resolves(self, axes: PrincipalAxes, s: Moments, dtype: np.dtype) -> bool:
        """Whether the covariance resolves the requested components; constant columns have none."""
        varying = int((s.scatter.diagonal() > 0).sum())
        k = min(select_n_components(axes, self.n_components, s.rows), varying)
        variances = axes.variances[:k]
        smallest = MIN_RECIPROCAL_CONDITION[dtype.itemsize]
        return k == 0 or variances[-1] > smallest * variances[0]

    def _subspace(self, rows: Rows, rng: np.random.Generator) -> PrincipalAxes:
        limit = min(rows.n_rows, rows.n_features)
        k = self._fixed_n_components()
        k = limit if k is None else k
        n_iter = self.iterated_power
        if self.svd_solver == "arpack":
            n_iter = _ARPACK_POWER
        elif n_iter == "auto":
            n_iter = 7 if k < 0.1 * limit else 4
        return subspace_iteration(rows, min(k + self.n_oversamples, limit), n_iter, rng)

    def _attributes(self, axes: PrincipalAxes, rows: int, dtype: np.dtype) -> dict[str, Any]:
        k = select_n_components(axes, self.n_components, rows)
        if self.svd_solver == "arpack":  # never all of them
            k = min(k, max(min(rows, len(axes.mean)) - 1, 0))
        W = axes.directions[:k]
        variances = axes.variances[:k]
        discarded = min(rows, len(axes.mean)) - k
        noise = max(axes.total - variances.sum(), 0.0) / discarded if discarded > 0 else 0.0
        share = variances / axes.total if axes.total > 0 else np.zeros(k)
        return {
            "components_": fix_signs(W).astype(dtype),
            "explained_variance_": variances.astype(dtype),
            "explained_variance_ratio_": share.astype(dtype),
            "singular_values_": np.sqrt(variances * max(axes.n - 1, 1)).astype(dtype),
            "mean_": axes.mean.astype(dtype),
            "n_components_": k,
            "n_samples_": rows,
            "noise_variance_": noise,
            "statistic_": None,
            "dtype_": dtype,
        }

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

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
        W = self.components_.T / self._scale()
        return self._map_rows(X, project_rows, W, self.mean_)

    def inverse_transform(self, X: np.ndarray) -> np.ndarray:
        """Rows with these coordinates, (n_rows, n_features).

        Parameters
        ----------
        X : (n_rows, n_components) array
            Coordinates, as `transform` returns them.
        """
        check_is_fitted(self)
        return X * self._scale() @ self.components_ + self.mean_

    def _scale(self) -> np.ndarray:
        scale = np.ones(len(self.components_), self.components_.dtype)
        if self.whiten:
            smallest = np.finfo(scale.dtype).eps  # directions without variance stay finite
            scale = np.maximum(np.sqrt(self.explained_variance_), smallest)
        return scale

    def get_covariance(self) -> np.ndarray:
        """Covariance of the model, (n_features, n_features): components plus isotropic noise."""
        check_is_fitted(self)
        excess = np.maximum(self.explained_variance_ - self.noise_variance_, 0)
        W = self.components_
        return (W.T * excess) @ W + self.noise_variance_ * np.eye(W.shape[1], dtype=W.dtype)

    def get_precision(self) -> np.ndarray:
        """Inverse of the covariance of the model, (n_features, n_features).

        Where there is no noise, or a component without variance, the covariance has no inverse; the
        rounding of the largest variance takes the place of the zeros then.
        """
        covariance = self.get_covariance()
        regular = self._regular_spectrum()
        if regular is None:
            return np.linalg.inv(covariance)
        variances, noise = regular
        W = self.components_
        excess = (1 / variances - 1 / noise).astype(W.dtype)
        return (W.T * excess) @ W + np.eye(W.shape[1], dtype=W.dtype) / W.dtype.type(noise)

    def _regular_spectrum(self) -> tuple[np.ndarray, float] | None:
        """Variances and noise, all positive; None if they are so by themselves."""
        variances, noise = self.explained_variance_.astype(np.float64), float(self.noise_variance_)
        has_noise = self.components_.shape[1] > len(variances)
        largest = max(float(variances.max(initial=noise)), np.finfo(np.float64).tiny)
        floor = largest * np.finfo(self.components_.dtype).eps
        smallest = np.maximum(variances, noise).min(initial=noise if has_noise else np.inf)
        if min(smallest, noise if has_noise else np.inf) > floor:
            return None
        return np.maximum(np.maximum(variances, noise), floor), max(noise, floor)

    def score_samples(self, X: Any) -> np.ndarray:
        """Log-likelihood of each row under the model, (n_rows,).

        Where the model has no noise, rows off the components would have none; it is finite, and
        very small, with the rounding of the largest variance as noise (see `get_precision`).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        regular = self._regular_spectrum()
        if regular is None:
            L = np.linalg.cholesky(self.get_covariance().astype(np.float64))
            return self._map_rows(X, gaussian_log_density, self.mean_, L)
        return self._map_rows(X, spectral_log_density, self.mean_, self.components_, *regular)

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-likelihood of the rows under the model.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        y : None
            Not used; there so that pipelines can pass it.
        """
        return float(self.score_samples(X).mean())


def project_rows(chunk: Chunk, W: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """(X - mean) W."""
    return (to_dense(chunk.X) - mean) @ W


def gaussian_log_density(chunk: Chunk, mean: np.ndarray, L: np.ndarray) -> np.ndarray:
    """Log-density of N(mean, L L') at each row."""
    Z = np.linalg.solve(L, (to_dense(chunk.X) - mean).T)
    constant = len(L) * np.log(2 * np.pi) + 2 * np.log(L.diagonal()).sum()
    return -0.5 * ((Z * Z).sum(axis=0) + constant)


def spectral_log_density(
    chunk: Chunk, mean: np.ndarray, W: np.ndarray, variances: np.ndarray, noise: float
) -> np.ndarray:
    """Log-density of a normal distribution: variances along the rows of W, noise elsewhere."""
    D = (to_dense(chunk.X) - mean).astype(np.float64)
    Z = D @ W.T
    rest = np.maximum((D * D).sum(axis=1) - (Z * Z).sum(axis=1), 0.0)
    p, k = W.shape[1], len(variances)
    constant = p * np.log(2 * np.pi) + np.log(variances).sum() + (p - k) * np.log(noise)
    return -0.5 * ((Z * Z / variances).sum(axis=1) + rest / noise + constant)
