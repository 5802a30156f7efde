"""Gaussian mixture models."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.mixture import _covariance_types
from tenfold.mixture._base import MIXTURE_CONSTRAINTS, BaseMixture, EMSolution
from tenfold.mixture._e_step import membership_probabilities
from tenfold.mixture._gaussian import (
    DiagonalComponents,
    GaussianFamily,
    GaussianParameters,
    gaussian_components,
)
from tenfold.mixture._gradient_ascent import ascend_likelihood
from tenfold.mixture._init import InitialCenters
from tenfold.mixture._missing_values import MissingValueComponents
from tenfold.mixture._protocols import MixtureFamily


def _check_finite_means(means: np.ndarray) -> None:
    """Raise an error that names a column with an infinite value."""
    bad = ~np.isfinite(means).all(axis=0)
    if bad.any():
        raise ValueError(
            f"Input X contains infinity, or numbers too large for a sum: column {np.argmax(bad)}. "
            "Write NaN where a value is missing."
        )


def _check_weights(weights: np.ndarray, k: int) -> np.ndarray:
    """Given weights; an error if they are no probabilities."""
    if weights.shape != (k,):
        raise ValueError(
            f"The parameter 'weights' should have the shape of ({k},), but got {weights.shape}"
        )
    if (weights < 0).any() or (weights > 1).any():
        raise ValueError(
            "The parameter 'weights' should be in the range [0, 1], but got max value "
            f"{weights.max():.5f}, min value {weights.min():.5f}"
        )
    if not np.allclose(weights.sum(), 1.0, atol=1e-6):
        raise ValueError(
            "The parameter 'weights' should be normalized, but got sum(weights) = "
            f"{weights.sum():.5f}"
        )
    return weights


def _check_means(means: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Given means; an error if they have another shape."""
    if means.shape != shape:
        raise ValueError(
            f"The parameter 'means' should have the shape of {shape}, but got {means.shape}"
        )
    return means


class GaussianMixture(BaseMixture):
    r"""Gaussian mixture, learned by EM with one pass over the data per iteration.

    .. math:: \max_{\pi, \mu, \Sigma} \sum_i \omega_i \log \sum_k
              \pi_k \, \mathcal N(x_i; \mu_k, \Sigma_k)

    The E-step computes responsibilities by Bayes' rule, the M-step weighted moments; neither lowers
    the likelihood (`reg_covar` may, slightly). Parameters and attributes up to `verbose_interval`
    are those of `sklearn.mixture.GaussianMixture`. NaN is a missing entry: a row contributes its
    observed entries, and a row without any has the weights as its probabilities. With "full" and
    "tied" covariances each distinct set of missing columns takes one more linear solve per
    component.

    Parameters
    ----------
    n_components : int
        Number of components.
    covariance_type : {"full", "tied", "diag", "spherical"}
        Any covariance for each component; one for all components; variances along the axes; one
        variance for each component.
    tol : float
        Converged when the mean log-likelihood changes by less than this.
    reg_covar : float
        Added to the variances.
    max_iter, n_init : int
        Maximum iterations of EM, and number of initializations, of which the best is kept.
    init_params : {"kmeans", "k-means++", "random", "random_from_data"}
        The first responsibilities: each row to the nearest center of k-means, of k-means++ or of
        random rows ("random_from_data"); or random ones ("random").
    weights_init, means_init, precisions_init : arrays, optional
        Initial parameters, instead.
    random_state : int, optional
        Seed of the initializations, and of `sample`.
    warm_start : bool
        Whether a further `fit` continues from the last solution.
    verbose : int
        Whether to show progress, as `tenfold.progress()` does.
    verbose_interval : int
        Ignored: progress is shown by time, not by iterations.
    solver : {"em", "gradient"}
        EM, or L-BFGS with the gradient that Fisher's identity gives from the same statistics.
    hard : bool
        Whether each row belongs entirely to its most probable component (classification EM);
        `lower_bound_` is then the mean of log p(x, z). With equal weights and one small variance
        for all, this is k-means.
    observed_labels : bool
        Whether y holds the component of each row, -1 where it is unknown.
    min_variance : float
        Lower bound of the variances.
    min_seen : float
        A mean moves in a column only if its component has observed this much weight there.

    Attributes
    ----------
    weights_ : (n_components,)
    means_ : (n_components, n_features)
    covariances_ : (n_components, n_features, n_features), (n_features, n_features),
        (n_components, n_features) or (n_components,), by `covariance_type`
    precisions_, precisions_cholesky_ : inverses of the covariances, and their triangular factors
    lower_bound_ : mean log-likelihood before the last iteration
    lower_bounds_ : the same before each iteration of the best initialization
    n_iter_, converged_ : iterations of the best initialization, and whether they converged
    history_ : minus the mean log-likelihood ("objective") before each iteration, and "seconds"

    See Also
    --------
    MixtureModel : A mixture of any density.
    KMeans : Clusters by distance alone.
    choose_components : Choose the number of components.

    References
    ----------
    A. P. Dempster, N. M. Laird and D. B. Rubin (1977), Maximum likelihood from incomplete data via
    the EM algorithm.

    C. M. Bishop (2006), Pattern Recognition and Machine Learning, chapter 9.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import GaussianMixture
    >>> X = np.array([[1.0, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> model = GaussianMixture(2, random_state=0).fit(X)
    >>> sorted(model.means_.round(6).tolist()), model.weights_.tolist()
    ([[1.0, 2.0], [10.0, 2.0]], [0.5, 0.5])
    """

    _nan_ok = True
    _parameter_constraints: dict[str, Any] = {
        **MIXTURE_CONSTRAINTS,
        "covariance_type": [StrOptions(set(_covariance_types.COVARIANCE_TYPES))],
        "reg_covar": [Interval(Real, 0.0, None, closed="left")],
        "weights_init": ["array-like", None],
        "means_init": ["array-like", None],
        "precisions_init": ["array-like", None],
        "verbose_interval": [Interval(Integral, 1, None, closed="left")],
        "solver": [StrOptions({"em", "gradient"})],
        "min_variance": [Interval(Real, 0.0, None, closed="left")],
        "min_seen": [Interval(Real, 0.0, None, closed="left")],
    }

    def __init__(
        self,
        n_components: int = 1,
        *,
        covariance_type: str = "full",
        tol: float = 1e-3,
        reg_covar: float = 1e-6,
        max_iter: int = 100,
        n_init: int = 1,
        init_params: str = "kmeans",
        weights_init: Any = None,
        means_init: Any = None,
        precisions_init: Any = None,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        verbose_interval: int = 10,
        solver: str = "em",
        hard: bool = False,
        observed_labels: bool = False,
        min_variance: float = 0.0,
        min_seen: float = 0.0,
    ) -> None:
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.tol = tol
        self.reg_covar = reg_covar
        self.max_iter = max_iter
        self.n_init = n_init
        self.init_params = init_params
        self.weights_init = weights_init
        self.means_init = means_init
        self.precisions_init = precisions_init
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.verbose_interval = verbose_interval
        self.solver = solver
        self.hard = hard
        self.observed_labels = observed_labels
        self.min_variance = min_variance
        self.min_seen = min_seen

    @property
    def _column_matrices(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return {"full": 4 + 2 * self.n_components, "tied": 6}.get(self.covariance_type, 0)

    def _family(self, rows: Rows) -> GaussianFamily:
        return GaussianFamily(
            self.covariance_type, self.reg_covar, self.min_variance, self.min_seen
        )

    def _can_warm_start(self, rows: Rows) -> bool:
        shape = self.n_components, rows.n_features
        covariance_shape = _covariance_types.covariance_shape(self.covariance_type, *shape)
        return self.means_.shape == shape and self.covariances_.shape == covariance_shape

    def _initialize(
        self, rows: Rows, family: MixtureFamily, rng: np.random.Generator
    ) -> GaussianParameters:
        weights, means, covariances = self._given_parameters(rows.n_features)
        if weights is None or means is None or covariances is None:
            g = super()._initialize(rows, family, rng)
            _check_finite_means(g.means)
            weights = g.weights if weights is None else weights
            means = g.means if means is None else means
            covariances = g.covariances if covariances is None else covariances
        return GaussianParameters(weights, means, covariances)

    def _given_parameters(self, p: int) -> tuple[Any, Any, Any]:
        """Given weights, means and covariances; None for those that are not given."""
        k, kind = self.n_components, self.covariance_type
        weights, means, covariances = self.weights_init, self.means_init, self.precisions_init
        if weights is not None:
            weights = _check_weights(np.array(weights, dtype=np.float64), k)
        if means is not None:
            means = _check_means(np.array(means, dtype=np.float64), (k, p))
        if covariances is not None:
            precisions = _covariance_types.check_precisions(covariances, kind, k, p)
            covariances = _covariance_types.invert_matrices(precisions, kind)
        return weights, means, covariances

    def _initial_centers(self, rows: Rows, rng: np.random.Generator) -> InitialCenters:
        drawn = super()._initial_centers(rows, rng)
        means = self._given_parameters(rows.n_features)[1]
        return drawn if means is None else drawn._replace(centers=means)

    def _run_em(
        self, rows: Rows, family: MixtureFamily, initial: GaussianParameters, log_likelihood: float
    ) -> EMSolution:
        if self.solver == "em":
            return super()._run_em(rows, family, initial, log_likelihood)
        return EMSolution(*ascend_likelihood(rows, self._family(rows), initial, self))

    def _state(self) -> GaussianParameters:
        parts = self.weights_, self.means_, self.covariances_
        return GaussianParameters(*(part.astype(np.float64) for part in parts))

    def _finalize(self, g: GaussianParameters, dtype: np.dtype) -> dict[str, Any]:
        factors = _covariance_types.precision_factors(g.covariances, self.covariance_type)
        precisions = _covariance_types.precisions_from_factors(factors, self.covariance_type)
        return {
            "weights_": g.weights.astype(dtype),
            "means_": g.means.astype(dtype),
            "covariances_": g.covariances.astype(dtype),
            "precisions_": precisions.astype(dtype),
            "precisions_cholesky_": factors.astype(dtype),
        }

    def _components(self) -> DiagonalComponents | MissingValueComponents:
        parts = self.weights_, self.means_, self.precisions_cholesky_
        weights, means, factors = (np.asarray(part, np.float64) for part in parts)
        return gaussian_components(weights, means, factors, self.covariance_type)

    def _n_parameters(self) -> int:
        k, p = self.means_.shape
        return _covariance_types.n_covariance_parameters(self.covariance_type, k, p) + k * p + k - 1

    def _draw(self, component: int, n: int, rng: np.random.Generator) -> np.ndarray:
        means = self.means_
        matrices = _covariance_types.full_covariances(
            self.covariances_, self.covariance_type, *means.shape
        )
        normals = rng.normal(size=(n, means.shape[1]))
        factor = np.linalg.cholesky(matrices[component].astype(np.float64))
        return means[component] + normals @ factor.T

    def impute(self, X: Any) -> np.ndarray:
        """Rows with the conditional mean in place of each missing entry, (n_samples, n_features).

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows; NaN where an entry is missing.
        """
        check_is_fitted(self)
        return self._map_rows(X, _impute_chunk, self._components(), self.means_)


def _impute_chunk(
    chunk: Chunk, components: DiagonalComponents | MissingValueComponents, means: np.ndarray
) -> np.ndarray:
    """Rows with sum_k p(k | row) E(entry | row, k) for missing entries.

    With independent columns E(entry | row, k) is the mean of component k.
    """
    missing = np.isnan(chunk.X)
    if not missing.any():
        return chunk.X.copy()
    R = membership_probabilities(chunk, components)
    imputed = R @ means
    if isinstance(components, MissingValueComponents):
        imputed = imputed + np.einsum("nk,knp->np", R, components.impute(chunk.X).D)
    return np.where(missing, imputed, chunk.X).astype(chunk.X.dtype)
