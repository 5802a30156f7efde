"""Probabilistic principal component analysis: closed form, EM, and rows with missing entries."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, RealNotInt, StrOptions
from tenfold.decomposition._eigensolvers import (
    PrincipalAxes,
    axes_from_moments,
    axes_from_rows,
    centered_sums,
    fix_signs,
    multiply_scatter,
    select_n_components,
    subspace_iteration,
)
from tenfold.decomposition._em_pca import CovarianceProduct, principal_directions, run_em_pca
from tenfold.decomposition._latent_base import LatentGaussianModel
from tenfold.decomposition._latent_gaussian import (
    LatentGaussian,
    imputed_moments,
    observe_columns,
    run_em,
)
from tenfold.decomposition.n_components import cross_validate_components
from tenfold.engine.rows import Rows
from tenfold.engine.second_moments import second_moments
from tenfold.stats.moments import Moments

_MAX_COVARIANCE_COLUMNS = 5000  # columns up to which the covariance is computed
_SUBSPACE_ITERATIONS = 7
_OVERSAMPLES = 10
_TINY = float(np.finfo(np.float64).tiny)  # noise of rows that are all equal


class ProbabilisticPCA(LatentGaussianModel):
    r"""Probabilistic principal component analysis, also of rows with missing entries.

    .. math:: x = \mu + W z + \varepsilon, \qquad z \sim N(0, I), \qquad
              \varepsilon \sim N(0, \sigma^2 I)

    A density over rows: their likelihood, the posterior of the latent variables z, and expected
    values of missing entries (NaN), with covariance. Of complete rows the maximum likelihood is a
    closed form of the eigenvalues :math:`\lambda` and eigenvectors U of the covariance (over n),

    .. math:: \sigma^2 = \frac{1}{p - k} \sum_{j > k} \lambda_j, \qquad
              W = U_k (\Lambda_k - \sigma^2 I)^{1/2}

    and comes from one pass, so that parts merge. EM finds the same; without noise it is Roweis' EM
    for PCA. With missing entries EM takes a pass for each iteration.

    Parameters
    ----------
    n_components : int, float, "mle", "elbow", "cv" or None
        Number k of latent variables, or how `PCA` would choose it; None for one less than columns.
        With missing entries a number is needed.
    algorithm : {"auto", "closed_form", "em"}
        "auto" is the closed form, and EM where entries are missing.
    noise_variance : float, optional
        A known noise variance; 0 is the limit without noise, in which `transform` is the projection
        on the principal components. By default it is estimated.
    tol : float
        EM has converged when an iteration gains at most this log-likelihood per row (without noise:
        decreases the reconstruction error by at most this share of the variance).
    max_iter, n_init : int
        Maximum number of iterations of EM, and random initializations, of which the best is kept.
        With missing entries the first one is PCA of the rows imputed by column means.
    random_state : int, optional
        Seed of the initializations, of subspace iteration and of `sample`.

    Attributes
    ----------
    components_ : (n_components, n_features) principal axes: orthonormal, the largest variance
        first, the largest entry of each positive
    loadings_ : (n_components, n_features) W', whose rows are multiples of the components
    explained_variance_ : (n_components,) variance of the model along each component (over n)
    explained_variance_ratio_ : (n_components,) its share of the variance of the model
    noise_variance_ : float
    mean_ : (n_features,)
    log_likelihood_ : mean log-likelihood of the training rows, of EM before the last iteration;
        minus the mean squared reconstruction error in the limit without noise
    n_components_, n_samples_ : numbers of components and rows
    n_iter_, converged_, history_ : iterations of EM (1 for the closed form), whether they
        converged, minus the mean log-likelihood of each
    statistic_ : the moments of the rows; None if entries are missing or columns outnumber the rows

    See Also
    --------
    PCA : The components alone.
    FactorAnalysis : A noise variance for each column.
    GaussianMixture : Several Gaussian components, also of rows with missing entries.

    References
    ----------
    M. E. Tipping and C. M. Bishop (1999), Probabilistic principal component analysis.

    S. Roweis (1998), EM algorithms for PCA and SPCA.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from tenfold import ProbabilisticPCA
    >>> X, _ = load_iris(return_X_y=True)
    >>> model = ProbabilisticPCA(2).fit(X)
    >>> round(model.noise_variance_, 4), round(model.score(X), 3)
    (0.0507, -2.7)
    >>> X[3, 1] = np.nan
    >>> ProbabilisticPCA(2).fit(X).impute(X)[3].round(2).tolist()
    [4.6, 3.11, 1.5, 0.2]
    """

    _column_matrices = 2
    _law_params = {"n_components": 2}
    _learned_shapes = {"loadings_": "m p", "mean_": "p", "noise_variance_": "()"}
    _parameter_constraints = {
        "n_components": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="neither"),
            StrOptions({"mle", "elbow", "cv"}),
            None,
        ],
        "algorithm": [StrOptions({"auto", "closed_form", "em"})],
        "noise_variance": [Interval(Real, 0.0, None, closed="left"), None],
        "tol": [Interval(Real, 0.0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components: Any = None,
        *,
        algorithm: str = "auto",
        noise_variance: float | None = None,
        tol: float = 1e-6,
        max_iter: int = 1000,
        n_init: int = 1,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.algorithm = algorithm
        self.noise_variance = noise_variance
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.random_state = random_state

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        n, p = rows.n_rows, rows.n_features
        k = cross_validate_components(rows).n_components if self.n_components == "cv" else None
        if p <= _MAX_COVARIANCE_COLUMNS and n >= p:
            s = second_moments(rows)
            if not (np.isfinite(s.mean).all() and np.isfinite(s.scatter).all()):
                return self._fit_incomplete(rows, rng)
            learned = self._learn_from_moments(s, rows.dtype, rng, k)
            return {**learned, "statistic_": s, "dtype_": rows.dtype}
        wide = rows.total(centered_sums, np.zeros(p))
        if not np.isfinite(wide.squares):
            return self._fit_incomplete(rows, rng)
        learned = self._learn_from_wide_rows(rows, wide.x / wide.n, rng, k)
        return {**learned, "statistic_": None, "dtype_": rows.dtype}

    def _finalize(self, s: Moments, dtype: np.dtype) -> dict[str, Any]:
        if self.n_components == "cv":
            raise ValueError(
                "n_components='cv' needs all rows at once: use `fit`, or give a number"
            )
        return self._learn_from_moments(s, dtype, self._rng(), None)

    def _learn_from_moments(
        self, s: Moments, dtype: np.dtype, rng: np.random.Generator, k: int | None
    ) -> dict[str, Any]:
        axes = axes_from_moments(s)
        axes = axes._replace(variances=axes.variances * max(s.n - 1, 1) / s.n)
        axes = axes._replace(total=s.scatter.trace() / s.n)
        C = s.scatter / s.n
        product = CovarianceProduct(lambda V: C @ V, float(C.trace()), len(C))
        return self._learn(axes, product, s.rows, dtype, rng, k)

    def _learn_from_wide_rows(
        self, rows: Rows, mean: np.ndarray, rng: np.random.Generator, k: int | None
    ) -> dict[str, Any]:
        if rows.n_rows < rows.n_features and rows.n_rows <= _MAX_COVARIANCE_COLUMNS:
            axes = axes_from_rows(rows)
        else:
            wanted = self.n_components if isinstance(self.n_components, Integral) else k
            if wanted is None:
                raise ValueError(
                    f"n_components={self.n_components!r} of {rows.n_features:,} columns: give a "
                    "number of components"
                )
            size = min(int(wanted) + _OVERSAMPLES, rows.n_features, rows.n_rows)
            axes = subspace_iteration(rows, size, _SUBSPACE_ITERATIONS, rng)
        share = max(axes.n - 1, 1) / axes.n
        axes = axes._replace(variances=axes.variances * share, total=axes.total * share, mean=mean)
        center = mean.astype(rows.dtype)
        product = CovarianceProduct(
            lambda V: rows.total(multiply_scatter, V.astype(rows.dtype), center) / axes.n,
            float(axes.total),
            rows.n_features,
        )
        return self._learn(axes, product, rows.n_rows, rows.dtype, rng, k)

    def _learn(
        self,
        axes: PrincipalAxes,
        C: CovarianceProduct,
        n_rows: int,
        dtype: np.dtype,
        rng: np.random.Generator,
        k: int | None,
    ) -> dict[str, Any]:
        k = self._count_components(axes, C.n_features, n_rows) if k is None else k
        if self.algorithm == "em" and C.trace > 0:  # rows that are all alike leave EM nothing
            W, noise, objective, report = self._run_em(C, k, rng)
            directions, variances = principal_directions(W, C, noise)
        else:
            directions, eigenvalues = axes.directions[:k], axes.variances[:k]
            noise = self._closed_form_noise(eigenvalues, C)
            variances = np.maximum(eigenvalues, noise)
            objective = _objective(eigenvalues, noise, C)
            report = _closed_form_report(objective)
        found = _Solution(axes.mean, directions, variances, noise, -objective, n_rows)
        return self._attributes(found, report, dtype)

    def _run_em(self, C: CovarianceProduct, k: int, rng: np.random.Generator) -> Any:
        """The best of `n_init` runs."""
        scale = np.sqrt(C.trace / C.n_features)
        runs = [
            run_em_pca(
                C,
                rng.normal(size=(C.n_features, k)) * scale,
                self.noise_variance,
                self.tol,
                self.max_iter,
            )
            for _ in range(self.n_init)
        ]
        return min(runs, key=lambda run: run[2])

    def _closed_form_noise(self, variances: np.ndarray, C: CovarianceProduct) -> float:
        if self.noise_variance is not None:
            return float(self.noise_variance)
        left = C.n_features - len(variances)
        noise = max(C.trace - variances.sum(), 0.0) / left if left else 0.0
        return max(noise, np.finfo(np.float64).eps * C.trace / C.n_features, _TINY)

    def _count_components(self, axes: PrincipalAxes, p: int, n_rows: int) -> int:
        k = self.n_components
        if isinstance(k, Integral) and int(k) > min(p, n_rows):
            raise ValueError(
                f"n_components={k} must be at most min(n_samples, n_features)={min(p, n_rows)}"
            )
        if k is None:
            return max(min(p - 1, n_rows - 1, len(axes.variances)), 1)
        return max(select_n_components(axes, k, n_rows), 1)

    def _fit_incomplete(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        """EM with a pass for each iteration."""
        mean, variance = observe_columns(rows, type(self).__name__)
        if self.noise_variance == 0 or self.algorithm == "closed_form":
            what = "noise_variance=0" if self.noise_variance == 0 else "algorithm='closed_form'"
            raise ValueError(f"{what} needs rows without missing entries (NaN)")
        p = len(mean)
        if self.n_components is not None and not isinstance(self.n_components, Integral):
            raise ValueError(
                f"n_components={self.n_components!r} needs rows without missing entries (NaN): "
                "give a number"
            )
        k = max(p - 1, 1) if self.n_components is None else int(self.n_components)
        if k > p:
            raise ValueError(f"n_components={k} must be at most the number of columns, {p}")
        update = CommonNoise(
            self.noise_variance, np.finfo(np.float64).eps * variance.mean() + _TINY
        )
        runs = [
            run_em(rows, start, mean, update, self.tol, self.max_iter)
            for start in self._initial_models(rows, mean, variance, k, rng)
        ]
        g, log_likelihood, report = max(runs, key=lambda run: run[1])
        U, s, _ = np.linalg.svd(g.loadings, full_matrices=False)
        noise = float(g.noise[0])
        found = _Solution(g.mean, U.T, s**2 + noise, noise, log_likelihood, rows.n_rows)
        learned = self._attributes(found, report, rows.dtype)
        return {**learned, "statistic_": None, "dtype_": rows.dtype}

    def _initial_models(
        self, rows: Rows, mean: np.ndarray, variance: np.ndarray, k: int, rng: np.random.Generator
    ) -> list[LatentGaussian]:
        """PCA of the rows imputed by column means, then random loadings."""
        p = len(mean)
        given = self.noise_variance
        noise = np.full(p, variance.mean() / 2 if given is None else given)
        smallest = np.finfo(np.float64).eps * variance.mean() + _TINY
        noise = np.maximum(noise, smallest)
        starts = []
        if p <= _MAX_COVARIANCE_COLUMNS:
            axes = axes_from_moments(rows.total(imputed_moments, mean), k)
            spread = np.maximum(axes.variances[:k] - noise[0], 1e-3 * variance.mean() + smallest)
            starts = [LatentGaussian(mean, axes.directions[:k].T * np.sqrt(spread), noise)]
        scale = np.sqrt(variance / (2 * k))[:, None]
        while len(starts) < self.n_init:
            starts.append(LatentGaussian(mean, rng.normal(size=(p, k)) * scale, noise))
        return starts

    def _attributes(
        self, found: _Solution, report: dict[str, Any], dtype: np.dtype
    ) -> dict[str, Any]:
        k, p = found.directions.shape
        components = fix_signs(found.directions)
        excess = np.maximum(found.variances - found.noise, 0.0)
        total = found.variances.sum() + (p - k) * found.noise
        return {
            "components_": components.astype(dtype),
            "loadings_": (np.sqrt(excess)[:, None] * components).astype(dtype),
            "explained_variance_": found.variances.astype(dtype),
            "explained_variance_ratio_": (found.variances / (total or 1.0)).astype(dtype),
            "noise_variance_": float(found.noise),
            "mean_": found.mean.astype(dtype),
            "log_likelihood_": float(found.log_likelihood),
            "n_components_": k,
            "n_samples_": found.n_rows,
            **report,
        }

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def _model(self) -> tuple[LatentGaussian, np.ndarray]:
        """The model in float64; noise of the size of rounding takes the place of none."""
        W = self.loadings_.T.astype(np.float64)
        rounding = float((W * W).sum(axis=0).max(initial=0.0)) * np.finfo(self.loadings_.dtype).eps
        noise = max(float(self.noise_variance_), rounding, _TINY)
        g = LatentGaussian(self.mean_.astype(np.float64), W, np.full(len(W), noise))
        return g, np.eye(W.shape[1])

    def inverse_transform(self, X: np.ndarray) -> np.ndarray:
        """Rows without noise of these latent variables, (n_rows, n_features).

        Parameters
        ----------
        X : (n_rows, n_components) array
            Latent variables, as `transform` returns them.
        """
        check_is_fitted(self)
        return np.asarray(X) @ self.loadings_ + self.mean_

    def get_covariance(self) -> np.ndarray:
        """Covariance of the model, (n_features, n_features): W W' plus noise."""
        check_is_fitted(self)
        W = self.loadings_
        return W.T @ W + self.noise_variance_ * np.eye(W.shape[1], dtype=W.dtype)


class _Solution(NamedTuple):
    """Mean, principal axes (k, p), variances of the model along them, noise, and what they fit."""

    mean: np.ndarray
    directions: np.ndarray
    variances: np.ndarray
    noise: float
    log_likelihood: float
    n_rows: int


class CommonNoise(NamedTuple):
    """One noise variance for all columns: given, or from all squared residuals."""

    given: float | None
    smallest: float

    def __call__(self, squares: np.ndarray, n: np.ndarray) -> np.ndarray:
        noise = squares.sum() / n.sum() if self.given is None else self.given
        return np.full(len(n), max(noise, self.smallest))


def _objective(eigenvalues: np.ndarray, noise: float, C: CovarianceProduct) -> float:
    """Minus the mean log-likelihood of principal axes; the reconstruction error without noise."""
    rest = max(C.trace - eigenvalues.sum(), 0.0)
    if noise == 0:
        return rest
    p, k = C.n_features, len(eigenvalues)
    variances = np.maximum(eigenvalues, noise)
    logs = np.log(variances).sum() + (p - k) * np.log(noise) + p * np.log(2 * np.pi)
    return 0.5 * (logs + (eigenvalues / variances).sum() + rest / noise)


def _closed_form_report(objective: float) -> dict[str, Any]:
    history = {"objective": np.array([objective]), "seconds": np.zeros(1)}
    return {"n_iter_": 1, "converged_": True, "history_": history}
