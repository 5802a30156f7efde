"""Gaussian mixture models."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.mixture import _covariance_types
from tenfold.mixture._e_step import membership_probabilities
from tenfold.mixture._em import MIXTURE_CONSTRAINTS, BaseMixture, EMSolution
from tenfold.mixture._gaussian import GaussianFamily, GaussianParameters, gaussian_components
from tenfold.mixture._gradient_ascent import ascend_likelihood
from tenfold.mixture._init import InitialCenters
from tenfold.mixture._missing_values import MissingValueComponents


def _check_finite_means(means: np.ndarray) -> None:
    """Raise an error that names a column with an infinity in it."""
    bad = ~np.isfinite(means).all(axis=0)
    if bad.any():
        raise ValueError(
            f"Input X contains infinity, or numbers too large for a sum: column {np.argmax(bad)}. "
            "Write NaN where a value is missing."
        )


def _check_weights(weights: np.ndarray, k: int) -> np.ndarray:
    """Weights that a user gave."""
    if weights.shape != (k,):
        raise ValueError(
            f"The parameter 'weights' should have the shape of ({k},), but got {weights.shape}"
        )
    if (weights < 0).any() or (weights > 1).any():
        raise ValueError(
            "The parameter 'weights' should be in the range [0, 1], but got max value "
            f"{weights.min():.5f}, min value {weights.max():.5f}"
        )
    if not np.allclose(weights.sum(), 1.0, atol=1e-6):
        raise ValueError(
            "The parameter 'weights' should be normalized, but got sum(weights) = "
            f"{weights.sum():.5f}"
        )
    return weights


def _check_means(means: np.ndarray, wanted: tuple[int, int]) -> np.ndarray:
    """Means that a user gave."""
    if means.shape != wanted:
        raise ValueError(
            f"The parameter 'means' should have the shape of {wanted}, but got {means.shape}"
        )
    return means


class GaussianMixture(BaseMixture):
    r"""A mixture of Gaussians, learned by EM in one pass over the data a round.

    .. math:: \max_{\pi, \mu, \Sigma} \sum_i \omega_i \log \sum_k
              \pi_k \, \mathcal N(x_i; \mu_k, \Sigma_k)

    The E-step gives each row to the components by Bayes' rule, the M-step takes weighted moments;
    neither can lower the likelihood (`reg_covar` may, by a hair). Parameters and attributes up to
    `verbose` are those of `sklearn.mixture.GaussianMixture`. NaN is a missing entry: a
    row counts with those it has, and a row without any has the weights as its probabilities. (With
    "full" and "tied" covariances each set of missing columns takes a solution of its own.)
    [000, 4.2.1; 002, ch. 8; 003, unit 4 and project 4; 004, 9]

    Parameters
    ----------
    n_components : int
        Number of components.
    covariance_type : {"full", "tied", "diag", "spherical"}
        Any covariance for each component, or for all together; along the axes; the same in all
        directions.
    tol : float
        Converged when the mean log-likelihood changes by less than this.
    reg_covar : float
        Added to the variances.
    max_iter, n_init : int
        Most rounds of a start, and number of starts, of which the best is kept.
    init_params : {"kmeans", "k-means++", "random", "random_from_data"}
        Rows are given to the nearest of some centres: those of k-means, far-apart rows, any rows;
        or they are divided at random.
    weights_init, means_init, precisions_init : arrays, optional
        Where to start instead.
    random_state : int, optional
        Seed of the starts, and of `sample`.
    warm_start : bool
        Whether a further `fit` goes on where the last one ended.
    verbose : int
        Whether to show progress, as `tenfold.progress()` does.
    solver : {"em", "gradient"}
        EM, or L-BFGS with the slope that Fisher's identity makes of the same statistics.
    hard : bool
        Whether each row belongs wholly to its best component; `lower_bound_` is then the mean of
        log p(x, z). With equal weights and one small variance for all, this is k-means.
    observed_labels : bool
        Whether y holds the component of each row, -1 where it is unknown.
    min_variance : float
        Variances are not smaller than this.
    min_seen : float
        A mean moves in a column only if its component has seen this much weight there.

    Attributes
    ----------
    weights_, means_, covariances_ : of the components
    precisions_, precisions_cholesky_ : inverses of the covariances, and their factors
    lower_bound_ : mean log-likelihood before the last round
    lower_bounds_ : the same before each round of the best start
    n_iter_, converged_ : rounds of the best start, and whether it stood still
    history_ : minus the mean log-likelihood ("objective") before each round, and "seconds"

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.mixture.gaussian_mixture import GaussianMixture
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
        self.solver = solver
        self.hard = hard
        self.observed_labels = observed_labels
        self.min_variance = min_variance
        self.min_seen = min_seen

    def _family(self, rows: Rows) -> GaussianFamily:
        return GaussianFamily(
            self.covariance_type, self.reg_covar, self.min_variance, self.min_seen
        )

    def _goes_on(self, rows: Rows) -> bool:
        wanted = _covariance_types.covariance_shape(
            self.covariance_type, self.n_components, rows.n_features
        )
        there = self.means_.shape == (self.n_components, rows.n_features)
        return there and self.covariances_.shape == wanted

    def _start(
        self, rows: Rows, family: GaussianFamily, rng: np.random.Generator
    ) -> GaussianParameters:
        weights, means, covariances = self._given(rows.n_features)
        if weights is None or means is None or covariances is None:
            g = super()._start(rows, family, rng)
            _check_finite_means(g.means)
            weights = g.weights if weights is None else weights
            means = g.means if means is None else means
            covariances = g.covariances if covariances is None else covariances
        return GaussianParameters(weights, means, covariances)

    def _given(self, p: int) -> tuple[Any, Any, Any]:
        """What the user gave to start with; None for the rest."""
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

    def _centres(self, rows: Rows, rng: np.random.Generator) -> InitialCenters:
        start = super()._centres(rows, rng)
        means = self._given(rows.n_features)[1]
        return start if means is None else start._replace(centres=means)

    def _climb(
        self, rows: Rows, family: GaussianFamily, start: GaussianParameters, before: float
    ) -> EMSolution:
        if self.solver == "em":
            return super()._climb(rows, family, start, before)
        return EMSolution(*ascend_likelihood(rows, family, start, self))

    def _state(self) -> GaussianParameters:
        parts = self.weights_, self.means_, self.covariances_
        return GaussianParameters(*(part.astype(np.float64) for part in parts))

    def _finalize(self, g: GaussianParameters, dtype: np.dtype) -> dict[str, Any]:
        factors = _covariance_types.precision_factors(g.covariances, self.covariance_type)
        return {
            "weights_": g.weights.astype(dtype),
            "means_": g.means.astype(dtype),
            "covariances_": g.covariances.astype(dtype),
            "precisions_": _covariance_types.precisions_from_factors(
                factors, self.covariance_type
            ).astype(dtype),
            "precisions_cholesky_": factors.astype(dtype),
        }

    def _components(self) -> Any:
        parts = self.weights_, self.means_, self.precisions_cholesky_
        weights, means, factors = (np.asarray(part, np.float64) for part in parts)
        return gaussian_components(weights, means, factors, self.covariance_type)

    def _n_parameters(self) -> int:
        k, p = self.means_.shape
        return _covariance_types.n_covariance_parameters(self.covariance_type, k, p) + k * p + k - 1

    def _draw(self, k: int, n: int, rng: np.random.Generator) -> np.ndarray:
        means = self.means_
        matrices = _covariance_types.full_covariances(
            self.covariances_, self.covariance_type, *means.shape
        )
        steps = rng.normal(size=(n, means.shape[1]))
        return means[k] + steps @ np.linalg.cholesky(matrices[k].astype(np.float64)).T

    def impute(self, X: Any) -> np.ndarray:
        """Rows with the expected value in the place of each missing entry, given the others.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows; NaN where an entry is missing.
        """
        check_is_fitted(self)
        return self._each(X, _impute_chunk, self._components(), self.means_)


def _impute_chunk(chunk: Chunk, parts: Any, means: np.ndarray) -> np.ndarray:
    """Rows, filled in by sum_k p(k | row) E(entry | row, k); the mean of k if columns are apart."""
    gaps = np.isnan(chunk.X)
    if not gaps.any():
        return chunk.X.copy()
    R = membership_probabilities(chunk, parts)
    guess = R @ means
    if isinstance(parts, MissingValueComponents):
        guess = guess + np.einsum("nk,knp->np", R, parts.filled(chunk.X).D)
    return np.where(gaps, guess, chunk.X).astype(chunk.X.dtype)
