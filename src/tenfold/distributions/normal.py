"""The normal distribution, spherical, diagonal or full, and its conjugate priors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln, ndtr

from tenfold.distributions.base import (
    FittableDistribution,
    as_rows,
    as_weights,
    require_conjugate_prior,
    require_support,
)
from tenfold.stats.incomplete_scatters import (
    IncompleteScatters,
    complete_scatters,
    incomplete_scatters,
)
from tenfold.stats.missing_values import (
    ObservedMoments,
    marginal_log_densities,
    observed_moments,
)
from tenfold.stats.moments import ClassMoments, Moments

_COVARIANCE_KINDS = ("full", "diagonal", "spherical")
LOG_2_PI = 1.8378770664093453


@dataclass(frozen=True)
class Gaussian(FittableDistribution):
    r"""Normal distribution of rows.

    .. math:: \log \mathcal N(x; \mu, \Sigma) = -\tfrac12 \big[p \log 2\pi + \log \lvert\Sigma\rvert
              + (x - \mu)^\top \Sigma^{-1} (x - \mu)\big]

    The maximum-likelihood fit is the mean of the rows and their covariance with 1/n; for the
    spherical kind, the mean of the variances.

    Parameters
    ----------
    mean : float or (n_columns,) array
        The mean.
    covariance : float, (n_columns,) or (n_columns, n_columns) array
        One variance for all columns, one for each, or the covariance matrix.
    kind : {"full", "diagonal", "spherical"}
        Form of the covariance that a fit estimates.
    floor : float
        Added to fitted variances, for columns that do not vary.
    prior : Gaussian, NormalInverseWishart or NormalInverseGamma, optional
        A Gaussian is a prior of the mean, with known covariance. The others are priors of mean and
        covariance: of a full covariance, and of a diagonal one. `fit_statistic` then gives the
        posterior mode.

    Examples
    --------
    >>> g = Gaussian().fit([[1.0], [3.0]])
    >>> g.mean.tolist(), g.covariance.tolist(), g.log_density([2.0]).round(4).tolist()
    ([2.0], [[1.0]], [-0.9189])
    >>> known = Gaussian(0.0, 4.0, prior=Gaussian(0.0, 1.0)).update([2.0, 4.0, 6.0, 8.0])
    >>> known.prior.mean.tolist(), known.prior.covariance.tolist()
    ([2.5], [[0.5]])
    """

    mean: Any = 0.0
    covariance: Any = 1.0
    kind: str = "full"
    floor: float = 0.0
    prior: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kind not in _COVARIANCE_KINDS:
            raise ValueError(f"kind must be one of {_COVARIANCE_KINDS}, got {self.kind!r}")

    def is_conjugate(self, prior: Any) -> bool:
        """Whether this is a prior of the mean, or of mean and covariance."""
        return isinstance(prior, Gaussian | NormalInverseWishart | NormalInverseGamma)

    @property
    def center(self) -> np.ndarray:
        """The mean as a vector, (n_columns,)."""
        C = np.asarray(self.covariance, np.float64)
        return np.broadcast_to(np.asarray(self.mean, np.float64), self._size(C)).astype(np.float64)

    def _size(self, C: np.ndarray) -> int:
        return max(np.size(self.mean), C.shape[0] if C.ndim else 1)

    @property
    def covariance_matrix(self) -> np.ndarray:
        """The covariance as a matrix, (n_columns, n_columns)."""
        C = np.asarray(self.covariance, np.float64)
        return C if C.ndim == 2 else np.diag(np.broadcast_to(C, self._size(C)))

    @property
    def variance(self) -> np.ndarray:
        """Variance of each column, (n_columns,)."""
        C = np.asarray(self.covariance, np.float64)
        return C.diagonal() if C.ndim == 2 else np.broadcast_to(C, self._size(C)).copy()

    def log_density(self, X: Any) -> np.ndarray:
        D = as_rows(X) - self.center
        if np.ndim(self.covariance) == 2:
            root = self._root()
            Z = np.linalg.solve(root, D.T)
            return -0.5 * ((Z * Z).sum(axis=0) + D.shape[1] * LOG_2_PI) - _half_log_determinant(
                root
            )
        v = self.variance
        if not (v > 0).all():
            raise ValueError(f"a Gaussian with the variances {v} has no density: set floor=")
        return -0.5 * (D * D / v + np.log(v) + LOG_2_PI).sum(axis=1)

    def _root(self) -> np.ndarray:
        try:
            return np.linalg.cholesky(np.asarray(self.covariance, np.float64))
        except np.linalg.LinAlgError as error:
            raise ValueError(
                "a Gaussian with a singular covariance has no density: set floor="
            ) from error

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Draw n rows; the covariance may be singular."""
        mean = self.center
        draws = rng.standard_normal((n, len(mean)))
        if np.ndim(self.covariance) < 2:
            return mean + draws * np.sqrt(self.variance)
        values, V = np.linalg.eigh(self.covariance_matrix)
        return mean + draws @ (V * np.sqrt(np.maximum(values, 0))).T

    def statistic(self, X: Any, w: Any = None) -> Moments | ClassMoments:
        """Weight, mean and scatter of rows; variances alone unless the kind is full."""
        X, w = self.check_rows(X, w)
        X, w = X[w > 0], w[w > 0]
        n, origin = float(w.sum()), X[0] if len(X) else np.zeros(X.shape[1])
        D = X - origin
        shift = w @ D / (n or 1.0)
        D = (D - shift) * np.sqrt(w)[:, None]
        if self.kind == "full":
            return Moments(n, origin + shift, D.T @ D, len(X))
        squares = (D * D).sum(axis=0)
        return ClassMoments(np.array([n]), (origin + shift)[None], squares[None])

    def observed_log_density(self, X: Any) -> np.ndarray:
        """Log-density of the entries of each row that are not missing (NaN), (n_rows,)."""
        mean, C = self.center[None], self.covariance_matrix[None]
        return marginal_log_densities(as_rows(X), mean, C)[:, 0]

    def observed_statistic(self, X: Any, w: Any = None) -> IncompleteScatters | ObservedMoments:
        """Moments of rows with missing entries (NaN), for maximum likelihood."""
        if self.prior is not None:
            raise ValueError(
                "a Gaussian with a prior takes complete rows: leave the prior out, or impute"
            )
        X = as_rows(X)
        rows = _OneClass(X, np.zeros(len(X), np.int64), as_weights(X, w))
        inside = np.isnan(X) | np.isfinite(X)
        require_support(self, X, rows.w, inside)
        return (
            incomplete_scatters(rows, 1, True) if self.kind == "full" else observed_moments(rows, 1)
        )

    def fit_statistic(self, statistic: Any) -> Gaussian:
        n, mean, scatter = _unpack_moments(statistic)
        if self.prior is not None:
            return self.with_parameter(self.posterior(statistic).mode)
        if not n > 0:
            return self
        C = scatter / n
        if self.kind == "spherical":
            observed = getattr(statistic, "observed", None)  # with missing entries: all of them
            variance = C.mean() if observed is None else statistic.scatter.sum() / observed.sum()
            return replace(self, mean=mean, covariance=float(variance) + self.floor)
        ridge = self.floor * (np.eye(len(mean)) if self.kind == "full" else 1.0)
        return replace(self, mean=mean, covariance=C + ridge)

    def posterior(self, statistic: Moments | ClassMoments) -> Any:
        """Posterior of the mean, or of mean and covariance."""
        prior = require_conjugate_prior(self, "Gaussian(...) or NormalInverseWishart(...)")
        n, mean, scatter = _unpack_moments(statistic)
        if not isinstance(prior, Gaussian):
            return prior.update(n, mean, scatter, self.kind)
        data_precision = n * np.linalg.inv(replace(self, mean=mean).covariance_matrix)
        prior_mean = np.broadcast_to(prior.mean, mean.shape)
        precision = np.linalg.inv(replace(prior, mean=prior_mean).covariance_matrix)
        S = np.linalg.inv(precision + data_precision)
        return Gaussian(S @ (precision @ prior_mean + data_precision @ mean), S)

    def with_parameter(self, parameter: Any) -> Gaussian:
        """The distribution with another mean, or another (mean, covariance)."""
        if isinstance(parameter, tuple):
            return replace(self, mean=parameter[0], covariance=parameter[1])
        return replace(self, mean=np.ravel(parameter))

    def to_scipy(self) -> Any:
        """The same as a frozen distribution of scipy.stats."""
        from scipy.stats import multivariate_normal, norm

        if len(self.center) == 1:
            return norm(self.center[0], np.sqrt(self.variance[0]))
        covariance: Any = self.covariance_matrix
        return multivariate_normal(self.center, covariance, allow_singular=True)

    def cdf(self, X: Any) -> np.ndarray:
        """Joint distribution function at each row, (n_rows,)."""
        X = as_rows(X)
        if np.ndim(self.covariance) < 2 or len(self.center) == 1:
            return ndtr((X - self.center) / np.sqrt(self.variance)).prod(axis=1)
        return np.atleast_1d(self.to_scipy().cdf(X))

    @property
    def n_parameters(self) -> int:
        """Number of free parameters that a fit estimates, for AIC and BIC."""
        d = len(self.center)
        if isinstance(self.prior, Gaussian):
            return d
        return d + {"full": d * (d + 1) // 2, "diagonal": d, "spherical": 1}[self.kind]

    @property
    def mode(self) -> np.ndarray:
        return self.center

    def _interior_parameter(self, posterior: Any) -> Any:
        return posterior.mode


class _OneClass(NamedTuple):
    """Rows of a single class, as statistics of classes take them."""

    X: np.ndarray
    y: np.ndarray
    w: np.ndarray

    def weights(self) -> np.ndarray:
        """Weight of each row."""
        return self.w


def _unpack_moments(statistic: Any) -> tuple[float, np.ndarray, np.ndarray]:
    """Weight, mean and scatter; with missing entries those of maximum likelihood."""
    if isinstance(statistic, Moments):
        return statistic.n, statistic.mean, statistic.scatter
    if isinstance(statistic, IncompleteScatters):
        statistic = complete_scatters(statistic)[0]
    if isinstance(statistic, ObservedMoments):
        mean, variance = statistic.estimates()
        return float(statistic.n[0]), mean[0], statistic.n[0] * variance[0]
    return float(statistic.n[0]), statistic.mean[0], statistic.scatter[0]


def _half_log_determinant(root: np.ndarray) -> float:
    """Half the log-determinant of a matrix with this triangular root."""
    return float(np.log(root.diagonal()).sum())


class NormalParameters(NamedTuple):
    """Mean and covariance of a Gaussian; of many draws, with the draws as first axis."""

    mean: np.ndarray
    covariance: np.ndarray


@dataclass(frozen=True)
class NormalInverseWishart:
    r"""Conjugate prior of the mean and the full covariance of a Gaussian.

    .. math:: \Sigma \sim \mathrm{IW}(\Psi, \nu), \qquad
              \mu \mid \Sigma \sim \mathcal N(m, \Sigma / \kappa)

    After n rows with mean x and scatter S, kappa and nu grow by n, m becomes
    (kappa m + n x) / (kappa + n), and Psi grows by S and by
    :math:`\tfrac{\kappa n}{\kappa + n} (x - m)(x - m)^\top`.

    Parameters
    ----------
    center : (n_columns,) array
        m, the prior mean of the mean.
    strength : float
        kappa, the weight of the center in rows.
    degrees_of_freedom : float
        nu, above n_columns - 1: the weight of the scale in rows.
    scale : (n_columns, n_columns) array
        Psi, the scatter of those rows.

    Examples
    --------
    >>> from tenfold.distributions import Gaussian
    >>> prior = NormalInverseWishart(np.zeros(1), 1.0, 3.0, np.eye(1))
    >>> after = Gaussian(prior=prior).update([1.0, 3.0]).prior
    >>> after.center.round(4).tolist(), after.strength, after.degrees_of_freedom
    ([1.3333], 3.0, 5.0)
    >>> after.scale.round(4).tolist()
    [[5.6667]]
    """

    center: Any
    strength: float
    degrees_of_freedom: float
    scale: Any

    def update(
        self, n: float, mean: np.ndarray, scatter: np.ndarray, kind: str
    ) -> NormalInverseWishart:
        """The posterior after rows with this weight, mean and scatter."""
        if kind != "full":
            raise ValueError(f"this prior is of full covariances, not of {kind!r} ones")
        strength, shift = self.strength + n, mean - self.center
        center = self.center + n / strength * shift
        between = self.strength * n / strength * np.multiply.outer(shift, shift)
        return NormalInverseWishart(
            center, strength, self.degrees_of_freedom + n, self.scale + scatter + between
        )

    @property
    def mode(self) -> NormalParameters:
        """The joint mode of mean and covariance."""
        p = len(self.center)
        scale = np.asarray(self.scale, np.float64)
        return NormalParameters(self.center, scale / (self.degrees_of_freedom + p + 2))

    @property
    def mean(self) -> NormalParameters:
        """The expected mean and covariance; the latter needs degrees_of_freedom > n_columns + 1."""
        excess = self.degrees_of_freedom - len(self.center) - 1
        if excess <= 0:
            raise ValueError(
                f"the covariance has no mean with degrees_of_freedom={self.degrees_of_freedom}"
            )
        return NormalParameters(self.center, np.asarray(self.scale, np.float64) / excess)

    def log_density(self, parameters: tuple[np.ndarray, np.ndarray]) -> float:
        """Log-density of a mean and a covariance."""
        mu, S = parameters
        p, nu = len(self.center), self.degrees_of_freedom
        log_S, log_scale = np.linalg.slogdet(S)[1], np.linalg.slogdet(self.scale)[1]
        D = np.asarray(mu) - self.center
        wishart = 0.5 * nu * (log_scale - p * np.log(2)) - _multivariate_log_gamma(nu / 2, p)
        wishart -= 0.5 * ((nu + p + 1) * log_S + np.trace(np.linalg.solve(S, self.scale)))
        square = self.strength * D @ np.linalg.solve(S, D)
        normal = -0.5 * (p * (LOG_2_PI - np.log(self.strength)) + log_S + square)
        return float(wishart + normal)

    def sample(self, n: int, rng: np.random.Generator) -> NormalParameters:
        """Draws of mean (n, p) and covariance (n, p, p)."""
        from scipy.stats import invwishart

        p = len(self.center)
        S = np.reshape(invwishart(self.degrees_of_freedom, self.scale).rvs(n, rng), (n, p, p))
        draws = rng.standard_normal((n, p, 1))
        shift = (np.linalg.cholesky(S) @ draws)[:, :, 0] / np.sqrt(self.strength)
        return NormalParameters(self.center + shift, S)

    def predictive(self) -> Any:
        """Posterior predictive distribution: a multivariate t of scipy.stats."""
        from scipy.stats import multivariate_t

        df: Any = self.degrees_of_freedom - len(self.center) + 1
        shape: Any = np.asarray(self.scale) * (self.strength + 1) / (self.strength * df)
        return multivariate_t(self.center, shape, df=df)


def _multivariate_log_gamma(a: float, p: int) -> float:
    """Log of the multivariate gamma function in p dimensions."""
    return float(p * (p - 1) / 4 * np.log(np.pi) + gammaln(a - 0.5 * np.arange(p)).sum())


@dataclass(frozen=True)
class NormalInverseGamma:
    r"""Conjugate prior of the means and variances of a diagonal Gaussian.

    .. math:: \sigma_j^2 \sim \mathrm{IG}(a, b_j), \qquad
              \mu_j \mid \sigma_j^2 \sim \mathcal N(m_j, \sigma_j^2 / \kappa)

    Parameters
    ----------
    center : (n_columns,) array
        m, the prior mean of the means.
    strength : float
        kappa, the weight of the center in rows.
    shape : float
        a, half the weight of the scale in rows.
    scale : (n_columns,) array
        b, half the sums of squares of those rows.

    Examples
    --------
    >>> from tenfold.distributions import Gaussian
    >>> prior = NormalInverseGamma(np.zeros(1), 1.0, 1.5, np.array([0.5]))
    >>> after = Gaussian(kind="diagonal", prior=prior).update([1.0, 3.0]).prior
    >>> after.center.round(4).tolist(), after.shape, after.scale.round(4).tolist()
    ([1.3333], 2.5, [2.8333])
    """

    center: Any
    strength: float
    shape: float
    scale: Any

    def update(
        self, n: float, mean: np.ndarray, scatter: np.ndarray, kind: str
    ) -> NormalInverseGamma:
        """The posterior after rows with this weight, mean and sums of squares."""
        if kind != "diagonal":
            raise ValueError(f"this prior is of diagonal covariances, not of {kind!r} ones")
        strength, shift = self.strength + n, mean - self.center
        between = self.strength * n / strength * shift**2
        center = self.center + n / strength * shift
        scale = self.scale + 0.5 * (scatter + between)
        return NormalInverseGamma(center, strength, self.shape + 0.5 * n, scale)

    @property
    def mode(self) -> NormalParameters:
        """The joint mode of means and variances."""
        return NormalParameters(self.center, np.asarray(self.scale) / (self.shape + 1.5))

    @property
    def mean(self) -> NormalParameters:
        """The expected means and variances; the latter need shape > 1."""
        if self.shape <= 1:
            raise ValueError(f"the variances have no mean with shape={self.shape}")
        return NormalParameters(self.center, np.asarray(self.scale) / (self.shape - 1))

    def log_density(self, parameters: tuple[np.ndarray, np.ndarray]) -> float:
        """Log-density of means and variances."""
        mu, v = map(np.asarray, parameters)
        a, b = self.shape, np.asarray(self.scale, np.float64)
        gamma = a * np.log(b) - gammaln(a) - (a + 1) * np.log(v) - b / v
        square = self.strength * (mu - self.center) ** 2 / v
        return float((gamma - 0.5 * (LOG_2_PI + np.log(v / self.strength) + square)).sum())

    def sample(self, n: int, rng: np.random.Generator) -> NormalParameters:
        """Draws of means (n, p) and variances (n, p)."""
        v = np.asarray(self.scale) / rng.gamma(self.shape, size=(n, len(self.center)))
        draws = rng.standard_normal((n, len(self.center)))
        return NormalParameters(self.center + draws * np.sqrt(v / self.strength), v)
