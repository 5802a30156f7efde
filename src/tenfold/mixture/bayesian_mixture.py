"""Gaussian mixtures with a variational posterior."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.mixture import _covariance_types
from tenfold.mixture._base import MIXTURE_CONSTRAINTS
from tenfold.mixture._covariance_types import DIAGONAL_TYPES
from tenfold.mixture._gaussian import DiagonalComponents
from tenfold.mixture._gaussian_base import BaseGaussianMixture, check_finite_means
from tenfold.mixture._missing_values import MissingValueComponents
from tenfold.mixture._protocols import MixtureFamily
from tenfold.mixture._variational import (
    DIRICHLET_DISTRIBUTION,
    DIRICHLET_PROCESS,
    VariationalFamily,
    VariationalParameters,
    VariationalPriors,
)
from tenfold.stats.class_moments import ClassScatters, class_scatters
from tenfold.stats.incomplete_scatters import (
    IncompleteScatters,
    complete_scatters,
    incomplete_scatters,
)
from tenfold.stats.missing_values import ObservedMoments, observed_moments

_POSITIVE = Interval(Real, 0.0, None, closed="neither")


class _RowMoments(NamedTuple):
    """Mean (p,) and unbiased covariance of all rows, (p, p), or (p,) along the axes."""

    mean: np.ndarray
    covariance: np.ndarray


class BayesianGaussianMixture(BaseGaussianMixture):
    r"""Gaussian mixture with priors, learned by variational Bayes, a pass per iteration.

    .. math:: \log p(X) \ge \mathbb E_q \log p(X, z, \pi, \mu, \Lambda)
              - \mathbb E_q \log q(z)\, q(\pi)\, q(\mu, \Lambda)

    with a Normal-Wishart prior of means and precisions, and of the weights a symmetric Dirichlet
    distribution or a Dirichlet process, a stick of which each component breaks a Beta-distributed
    share. Components that the rows do not need keep little weight, so that `n_components` is an
    upper limit. Each update maximizes the bound, which never decreases (`reg_covar` may lower it,
    slightly). Parameters, defaults and attributes are those of
    `sklearn.mixture.BayesianGaussianMixture`; from the same responsibilities the updates are its
    own. NaN is a missing entry, a latent variable like the component.

    Parameters
    ----------
    n_components : int
        Largest number of components.
    covariance_type : {"full", "tied", "diag", "spherical"}
        As in `GaussianMixture`.
    tol : float
        Converged when the bound changes by less than this.
    reg_covar : float
        Added to the variances of the rows of a component.
    max_iter, n_init : int
        Maximum iterations, and number of initializations, of which the best is kept.
    init_params : {"kmeans", "k-means++", "random", "random_from_data"}
        The first responsibilities, as in `GaussianMixture`.
    weight_concentration_prior_type : {"dirichlet_process", "dirichlet_distribution"}
        Prior of the weights.
    weight_concentration_prior : float, optional
        Its concentration: the larger, the more components are used; 1 / `n_components` by default.
    mean_precision_prior : float, optional
        Weight of the prior mean in rows; 1 by default.
    mean_prior : (n_features,) array, optional
        Prior mean of the means; the mean of the rows by default.
    degrees_of_freedom_prior : float, optional
        Degrees of freedom of the Wishart prior, above n_features - 1; n_features by default.
    covariance_prior : float, (n_features,) or (n_features, n_features) array, optional
        Inverse scale of the Wishart prior, by `covariance_type`; the covariance of the rows by
        default.
    random_state : int, optional
        Seed of the initializations, and of `sample`.
    warm_start : bool
        Whether a further `fit` continues from the last solution.
    verbose : int
        Whether to show progress, as `tenfold.progress()` does.
    verbose_interval : int
        Ignored: progress is shown by time, not by iterations.

    Attributes
    ----------
    weights_ : (n_components,) expected weights
    means_ : (n_components, n_features) expected means
    covariances_, precisions_, precisions_cholesky_ : inverses of the expected precisions, these,
        and their triangular factors; shapes as in `GaussianMixture`
    weight_concentration_ : (n_components,); for a process two of them, the Beta parameters
    mean_precision_, degrees_of_freedom_ : (n_components,); a number if "tied"
    weight_concentration_prior_, mean_precision_prior_ : parameters of the priors
    mean_prior_, degrees_of_freedom_prior_, covariance_prior_ : the others
    lower_bound_ : bound of the log evidence after the last iteration, up to a constant
    lower_bounds_ : the same after each iteration of the best initialization
    n_iter_, converged_ : iterations of the best initialization, and whether they converged
    history_ : minus the bound ("objective") after each iteration, and "seconds"

    See Also
    --------
    GaussianMixture : Maximum likelihood.
    choose_components : Choose the number of components of other mixtures.

    References
    ----------
    H. Attias (2000), A variational Bayesian framework for graphical models.

    C. M. Bishop (2006), Pattern Recognition and Machine Learning, section 10.2.

    D. M. Blei and M. I. Jordan (2006), Variational inference for Dirichlet process mixtures.

    Examples
    --------
    Two clusters, and room for five:

    >>> import numpy as np
    >>> from tenfold import BayesianGaussianMixture
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(size=(200, 2)), rng.normal(size=(200, 2)) + 8])
    >>> model = BayesianGaussianMixture(
    ...     n_components=5, weight_concentration_prior=1e-3, max_iter=500, random_state=0
    ... ).fit(X)
    >>> int((model.weights_ > 0.01).sum())
    2
    """

    hard, observed_labels = False, False  # what BaseMixture asks of every mixture
    _parameter_constraints: dict[str, Any] = {
        **{name: c for name, c in MIXTURE_CONSTRAINTS.items() if name[:4] not in ("hard", "obse")},
        "covariance_type": [StrOptions(set(_covariance_types.COVARIANCE_TYPES))],
        "reg_covar": [Interval(Real, 0.0, None, closed="left")],
        "weight_concentration_prior_type": [
            StrOptions({DIRICHLET_PROCESS, DIRICHLET_DISTRIBUTION})
        ],
        "weight_concentration_prior": [None, _POSITIVE],
        "mean_precision_prior": [None, _POSITIVE],
        "mean_prior": [None, "array-like"],
        "degrees_of_freedom_prior": [None, _POSITIVE],
        "covariance_prior": [None, "array-like", _POSITIVE],
        "verbose_interval": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        *,
        n_components: int = 1,
        covariance_type: str = "full",
        tol: float = 1e-3,
        reg_covar: float = 1e-6,
        max_iter: int = 100,
        n_init: int = 1,
        init_params: str = "kmeans",
        weight_concentration_prior_type: str = "dirichlet_process",
        weight_concentration_prior: float | None = None,
        mean_precision_prior: float | None = None,
        mean_prior: Any = None,
        degrees_of_freedom_prior: float | None = None,
        covariance_prior: Any = None,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        verbose_interval: int = 10,
    ) -> None:
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.tol = tol
        self.reg_covar = reg_covar
        self.max_iter = max_iter
        self.n_init = n_init
        self.init_params = init_params
        self.weight_concentration_prior_type = weight_concentration_prior_type
        self.weight_concentration_prior = weight_concentration_prior
        self.mean_precision_prior = mean_precision_prior
        self.mean_prior = mean_prior
        self.degrees_of_freedom_prior = degrees_of_freedom_prior
        self.covariance_prior = covariance_prior
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.verbose_interval = verbose_interval

    def _family(self, rows: Rows) -> VariationalFamily:
        return self._make_family(self._priors(rows))

    def _make_family(self, priors: VariationalPriors) -> VariationalFamily:
        prior_type = self.weight_concentration_prior_type
        return VariationalFamily(self.covariance_type, self.reg_covar, prior_type, priors)

    def _priors(self, rows: Rows) -> VariationalPriors:
        """Parameters of the priors, by default from the rows."""
        p = rows.n_features
        mean, covariance = self._given_mean(p), self._given_covariance(p)
        degrees = self.degrees_of_freedom_prior
        if degrees is not None and degrees <= p - 1:
            raise ValueError(
                "The parameter 'degrees_of_freedom_prior' should be greater than "
                f"{p - 1}, but got {degrees:.3f}."
            )
        if mean is None or covariance is None:
            own = _row_moments(rows, self.covariance_type)
            check_finite_means(own.mean[None])
            spherical = self.covariance_type == "spherical"
            fitted = float(own.covariance.mean()) if spherical else own.covariance
            mean = own.mean if mean is None else mean
            covariance = fitted if covariance is None else covariance
        given, strength = self.weight_concentration_prior, self.mean_precision_prior
        return VariationalPriors(
            1.0 / self.n_components if given is None else given,
            1.0 if strength is None else strength,
            mean,
            p if degrees is None else degrees,
            covariance,
        )

    def _given_mean(self, p: int) -> np.ndarray | None:
        if self.mean_prior is None:
            return None
        mean = np.array(self.mean_prior, np.float64)
        if mean.shape != (p,):
            raise ValueError(
                f"The parameter 'means' should have the shape of {(p,)}, but got {mean.shape}"
            )
        return mean

    def _given_covariance(self, p: int) -> Any:
        if self.covariance_prior is None:
            return None
        kind = self.covariance_type
        if kind == "spherical":
            if np.ndim(self.covariance_prior):
                raise ValueError("a spherical covariance_prior is one number")
            return float(self.covariance_prior)
        given = np.array(self.covariance_prior, np.float64)
        if kind == "diag":
            return _covariance_types.check_precisions(given[None], kind, 1, p)[0]
        return _covariance_types.check_precisions(given, "tied", 1, p)

    def _initialize(
        self, rows: Rows, family: MixtureFamily, rng: np.random.Generator
    ) -> VariationalParameters:
        state = super()._initialize(rows, family, rng)
        check_finite_means(state.means)
        return state

    def _bound(self, family: Any, state: Any, updated: Any, s: Any) -> float:
        return family.lower_bound(state, updated, s)

    def _finalize(self, state: VariationalParameters, dtype: np.dtype) -> dict[str, Any]:
        tied = self.covariance_type == "tied"
        concentrations = tuple(state.concentrations.astype(dtype))
        nu = state.degrees_of_freedom.astype(dtype)
        return {
            **self._gaussian_attributes(
                state.expected_weights(), state.means, state.covariances, dtype
            ),
            "weight_concentration_": concentrations
            if len(concentrations) == 2
            else concentrations[0],
            "mean_precision_": state.mean_precisions.astype(dtype),
            "degrees_of_freedom_": nu[0] if tied else nu,
        }

    def _prior_attributes(self, family: Any, dtype: np.dtype) -> dict[str, Any]:
        prior = family.priors
        covariance = prior.covariance
        return {
            "weight_concentration_prior_": prior.concentration,
            "mean_precision_prior_": prior.mean_precision,
            "mean_prior_": prior.mean.astype(dtype),
            "degrees_of_freedom_prior_": prior.degrees_of_freedom,
            "covariance_prior_": (
                covariance if np.ndim(covariance) == 0 else covariance.astype(dtype)
            ),
        }

    def _state(self) -> VariationalParameters:
        process = self.weight_concentration_prior_type == DIRICHLET_PROCESS
        given = self.weight_concentration_
        parts = (
            np.stack(given) if process else given[None],
            self.mean_precision_,
            self.means_,
            np.broadcast_to(self.degrees_of_freedom_, len(self.means_)),
            self.covariances_,
        )
        return VariationalParameters(*(np.asarray(part, np.float64) for part in parts))

    def _components(self) -> DiagonalComponents | MissingValueComponents:
        priors = VariationalPriors(
            self.weight_concentration_prior_,
            self.mean_precision_prior_,
            self.mean_prior_,
            self.degrees_of_freedom_prior_,
            self.covariance_prior_,
        )
        return self._make_family(priors).components(self._state())


def _row_moments(rows: Rows, kind: str) -> _RowMoments:
    """Mean and unbiased covariance of the rows, in one pass; a second if entries are missing."""
    s = rows.total(_one_class_moments, kind in DIAGONAL_TYPES)
    if isinstance(s, ObservedMoments):
        n = s.observed[0]
        mean, variance = s.estimates()
        return _RowMoments(mean[0], variance[0] * n / np.maximum(n - 1, 1))
    if not np.isfinite(s.scatter).all():
        s = complete_scatters(rows.total(_one_class_incomplete))[0]
    n = s.n[0]
    return _RowMoments(s.mean[0], s.scatter[0] / max(n - 1, 1))


def _one_class_moments(chunk: Chunk, diagonal: bool) -> ObservedMoments | ClassScatters:
    """Moments of all rows of a chunk."""
    rows = chunk._replace(y=np.zeros(chunk.rows, np.int64))
    return observed_moments(rows, 1) if diagonal else class_scatters(rows, 1, True)


def _one_class_incomplete(chunk: Chunk) -> IncompleteScatters:
    """Moments of all rows of a chunk, of which some have missing entries."""
    return incomplete_scatters(chunk._replace(y=np.zeros(chunk.rows, np.int64)), 1, True)
