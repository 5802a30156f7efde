"""Gaussian mixture models."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.engine.rows import Rows
from tenfold.mixture import _covariance_types
from tenfold.mixture._base import MIXTURE_CONSTRAINTS, EMSolution
from tenfold.mixture._gaussian import (
    DiagonalComponents,
    GaussianFamily,
    GaussianParameters,
    gaussian_components,
)
from tenfold.mixture._gaussian_base import BaseGaussianMixture, check_finite_means
from tenfold.mixture._gradient_ascent import ascend_likelihood
from tenfold.mixture._init import InitialCenters
from tenfold.mixture._missing_values import MissingValueComponents
from tenfold.mixture._protocols import MixtureFamily


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


class GaussianMixture(BaseGaussianMixture):
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
        `lower_bound_` is then the mean of log p(x, z). With `fixed_weights`, `fixed_covariances`
        and "spherical" covariances this is k-means.
    observed_labels : bool
        Whether y holds the component of each row, -1 where it is unknown.
    min_variance : float
        Lower bound of the variances.
    min_seen : float
        A mean moves in a column only if its component has observed this much weight there.
    fixed_weights : bool
        Whether the weights stay as they begin: `weights_init`, by default equal.
    fixed_covariances : bool
        Whether the covariances stay as they begin: `precisions_init`, by default the identity.
    initial_covariances : {"components", "global"}
        First covariances: those of the rows of each component, or that of all rows for each.

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
        "fixed_weights": ["boolean"],
        "fixed_covariances": ["boolean"],
        "initial_covariances": [StrOptions({"components", "global"})],
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
        fixed_weights: bool = False,
        fixed_covariances: bool = False,
        initial_covariances: str = "components",
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
        self.fixed_weights = fixed_weights
        self.fixed_covariances = fixed_covariances
        self.initial_covariances = initial_covariances

    def _family(self, rows: Rows) -> GaussianFamily:
        return GaussianFamily(
            self.covariance_type,
            self.reg_covar,
            self.min_variance,
            self.min_seen,
            self.fixed_weights,
            self.fixed_covariances,
        )

    def _initialize(
        self, rows: Rows, family: MixtureFamily, rng: np.random.Generator
    ) -> GaussianParameters:
        weights, means, covariances = self._given_parameters(rows.n_features)
        if weights is None or means is None or covariances is None:
            g = super()._initialize(rows, family, rng)
            check_finite_means(g.means)
            if self.initial_covariances == "global" and not self.fixed_covariances:
                g = g._replace(
                    covariances=_covariance_types.global_covariances(*g, self.covariance_type)
                )
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
        return self._gaussian_attributes(g.weights, g.means, g.covariances, dtype)

    def _components(self) -> DiagonalComponents | MissingValueComponents:
        parts = self.weights_, self.means_, self.precisions_cholesky_
        weights, means, factors = (np.asarray(part, np.float64) for part in parts)
        return gaussian_components(weights, means, factors, self.covariance_type)

    def _n_parameters(self) -> int:
        k, p = self.means_.shape
        n = _covariance_types.n_covariance_parameters(self.covariance_type, k, p)
        return k * p + n * (not self.fixed_covariances) + (k - 1) * (not self.fixed_weights)
