"""The normal distribution, spherical, diagonal or full, and its conjugate priors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from tenfold.distributions.base import (
    FittableDistribution,
    as_rows,
    as_weights,
    require_conjugate_prior,
)
from tenfold.stats.moments import ClassMoments, Moments

_COVARIANCE_KINDS = ("full", "diagonal", "spherical")
LOG_2_PI = 1.8378770664093453


@dataclass(frozen=True)
class Gaussian(FittableDistribution):
    r"""The normal density of rows.

    .. math:: \log \mathcal N(x; \mu, \Sigma) = -\tfrac12 \big[p \log 2\pi + \log \lvert\Sigma\rvert
              + (x - \mu)^\top \Sigma^{-1} (x - \mu)\big]

    Most likely are the mean of the rows and their covariance with 1/n; of the spherical density,
    the mean of the variances. [000, 2.2; 001, 3.2 and A.6; 002, 8.1; 003, unit 4]

    Parameters
    ----------
    mean : float or (p,) array
        Centre.
    covariance : float, (p,) or (p, p) array
        A number is the variance of each column, a vector has one for each, a matrix is itself.
    kind : {"full", "diagonal", "spherical"}
        The covariance that is fitted.
    floor : float
        Added to fitted variances, for columns that do not vary.
    prior : Gaussian, NormalInverseWishart or NormalInverseGamma, optional
        A Gaussian is the belief about the mean, and the covariance is known. The others are beliefs
        about both: for a full covariance, and for a diagonal one. Then `fitted` is the mode of the
        posterior.

    Examples
    --------
    >>> g = Gaussian().fit([[1.0], [3.0]])
    >>> g.mean.tolist(), g.covariance.tolist(), g.log_density([2.0]).round(4).tolist()
    ([2.0], [[1.0]], [-0.9189])
    >>> known = Gaussian(0.0, 4.0, prior=Gaussian(0.0, 1.0)).learned([2.0, 4.0, 6.0, 8.0])
    >>> known.prior.mean.tolist(), known.prior.covariance.tolist()
    ([2.5], [[0.5]])
    """

    mean: Any = 0.0
    covariance: Any = 1.0
    kind: str = "full"
    floor: float = 0.0
    prior: Any = None

    def __post_init__(self) -> None:
        if self.kind not in _COVARIANCE_KINDS:
            raise ValueError(f"kind must be one of {_COVARIANCE_KINDS}, got {self.kind!r}")

    def is_conjugate(self, prior: Any) -> bool:
        """Whether this is a belief about the mean, or about mean and covariance."""
        return isinstance(prior, Gaussian) or hasattr(prior, "updated")

    @property
    def centre(self) -> np.ndarray:
        """The mean as a vector, (p,)."""
        C = np.asarray(self.covariance, np.float64)
        return np.broadcast_to(np.asarray(self.mean, np.float64), self._size(C)).astype(np.float64)

    def _size(self, C: np.ndarray) -> int:
        return max(np.size(self.mean), C.shape[0] if C.ndim else 1)

    @property
    def matrix(self) -> np.ndarray:
        """The covariance as a matrix, (p, p)."""
        C = np.asarray(self.covariance, np.float64)
        return C if C.ndim == 2 else np.diag(np.broadcast_to(C, self._size(C)))

    @property
    def variance(self) -> np.ndarray:
        """Variance of each column, (p,)."""
        C = np.asarray(self.covariance, np.float64)
        return C.diagonal() if C.ndim == 2 else np.broadcast_to(C, self._size(C)).copy()

    def log_density(self, X: Any) -> np.ndarray:
        D = as_rows(X) - self.centre
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
        """Draw n rows; a singular covariance is no obstacle."""
        mean = self.centre
        steps = rng.standard_normal((n, len(mean)))
        if np.ndim(self.covariance) < 2:
            return mean + steps * np.sqrt(self.variance)
        values, V = np.linalg.eigh(self.matrix)
        return mean + steps @ (V * np.sqrt(np.maximum(values, 0))).T

    def statistic(self, X: Any, w: Any = None) -> Moments | ClassMoments:
        """Weight, mean and scatter of rows; without products of columns if not needed."""
        X = as_rows(X)
        w = as_weights(X, w)
        X, w = X[w > 0], w[w > 0]
        n, origin = float(w.sum()), X[0] if len(X) else np.zeros(X.shape[1])
        D = X - origin
        shift = w @ D / (n or 1.0)
        D = (D - shift) * np.sqrt(w)[:, None]
        if self.kind == "full":
            return Moments(n, origin + shift, D.T @ D, len(X))
        squares = (D * D).sum(axis=0)
        return ClassMoments(np.array([n]), (origin + shift)[None], squares[None])

    def fitted(self, statistic: Moments | ClassMoments) -> Gaussian:
        n, mean, scatter = _unpack_moments(statistic)
        if self.prior is not None:
            return self.at(self.posterior(statistic).mode)
        if not n > 0:
            return self
        C = scatter / n
        if self.kind == "spherical":
            return replace(self, mean=mean, covariance=float(C.mean()) + self.floor)
        ridge = self.floor * (np.eye(len(mean)) if self.kind == "full" else 1.0)
        return replace(self, mean=mean, covariance=C + ridge)

    def posterior(self, statistic: Moments | ClassMoments) -> Any:
        """Belief about the mean, or about mean and covariance, after the data."""
        prior = require_conjugate_prior(self, "Gaussian(...) or NormalInverseWishart(...)")
        n, mean, scatter = _unpack_moments(statistic)
        if not isinstance(prior, Gaussian):
            return prior.updated(n, mean, scatter, self.kind)
        rows = n * np.linalg.inv(replace(self, mean=mean).matrix)
        before = np.linalg.inv(replace(prior, mean=np.broadcast_to(prior.mean, mean.shape)).matrix)
        S = np.linalg.inv(before + rows)
        return Gaussian(S @ (before @ np.broadcast_to(prior.mean, mean.shape) + rows @ mean), S)

    def at(self, parameter: Any) -> Gaussian:
        """The density with another mean, or another (mean, covariance)."""
        if isinstance(parameter, tuple):
            return replace(self, mean=parameter[0], covariance=parameter[1])
        return replace(self, mean=np.ravel(parameter))

    @property
    def mode(self) -> np.ndarray:
        return self.centre

    def _inside(self, posterior: Any) -> Any:
        return posterior.mode


def _unpack_moments(statistic: Moments | ClassMoments) -> tuple[float, np.ndarray, np.ndarray]:
    """Weight, mean and scatter."""
    if isinstance(statistic, Moments):
        return statistic.n, statistic.mean, statistic.scatter
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
    r"""Belief about mean and full covariance of a Gaussian in p dimensions.

    .. math:: \Sigma \sim \mathrm{IW}(\Psi, \nu), \qquad
              \mu \mid \Sigma \sim \mathcal N(m, \Sigma / \kappa)

    After n rows with mean x and scatter S about it, kappa and nu grow by n, m moves to
    (kappa m + n x) / (kappa + n), and Psi grows by S and by
    :math:`\tfrac{\kappa n}{\kappa + n} (x - m)(x - m)^\top`.

    Parameters
    ----------
    centre : (p,) array
        m, the expected mean.
    strength : float
        kappa: how many rows the belief in the centre is worth.
    freedom : float
        nu, above p - 1: how many rows the belief in the covariance is worth.
    scale : (p, p) array
        Psi: scatter of those rows.

    Examples
    --------
    >>> from tenfold.distributions import Gaussian
    >>> belief = NormalInverseWishart(np.zeros(1), 1.0, 3.0, np.eye(1))
    >>> after = Gaussian(prior=belief).learned([1.0, 3.0]).prior
    >>> after.centre.round(4).tolist(), after.strength, after.freedom, after.scale.round(4).tolist()
    ([1.3333], 3.0, 5.0, [[5.6667]])
    """

    centre: Any
    strength: float
    freedom: float
    scale: Any

    def updated(
        self, n: float, mean: np.ndarray, scatter: np.ndarray, kind: str
    ) -> NormalInverseWishart:
        """The belief after rows with this weight, mean and scatter."""
        if kind != "full":
            raise ValueError(f"this belief is about full covariances, not {kind!r} ones")
        strength, moved = self.strength + n, mean - self.centre
        centre = self.centre + n / strength * moved
        between = self.strength * n / strength * np.multiply.outer(moved, moved)
        return NormalInverseWishart(
            centre, strength, self.freedom + n, self.scale + scatter + between
        )

    @property
    def mode(self) -> NormalParameters:
        """The most probable mean and covariance together."""
        p = len(self.centre)
        return NormalParameters(self.centre, self.scale / (self.freedom + p + 2))

    @property
    def mean(self) -> NormalParameters:
        """The expected mean and covariance; the latter needs freedom > p + 1."""
        spare = self.freedom - len(self.centre) - 1
        if spare <= 0:
            raise ValueError(f"the covariance has no mean with freedom={self.freedom}")
        return NormalParameters(self.centre, self.scale / spare)

    def log_density(self, parameters: tuple[np.ndarray, np.ndarray]) -> float:
        """Log-density of a mean and a covariance."""
        mu, S = parameters
        p, nu = len(self.centre), self.freedom
        log_S, log_scale = np.linalg.slogdet(S)[1], np.linalg.slogdet(self.scale)[1]
        D = np.asarray(mu) - self.centre
        wishart = 0.5 * nu * (log_scale - p * np.log(2)) - _multivariate_log_gamma(nu / 2, p)
        wishart -= 0.5 * ((nu + p + 1) * log_S + np.trace(np.linalg.solve(S, self.scale)))
        square = self.strength * D @ np.linalg.solve(S, D)
        normal = -0.5 * (p * (LOG_2_PI - np.log(self.strength)) + log_S + square)
        return float(wishart + normal)

    def sample(self, n: int, rng: np.random.Generator) -> NormalParameters:
        """Draws of mean (n, p) and covariance (n, p, p)."""
        from scipy.stats import invwishart

        p = len(self.centre)
        S = np.reshape(invwishart(self.freedom, self.scale).rvs(n, rng), (n, p, p))
        steps = rng.standard_normal((n, p, 1))
        moved = (np.linalg.cholesky(S) @ steps)[:, :, 0] / np.sqrt(self.strength)
        return NormalParameters(self.centre + moved, S)

    def predictive(self) -> Any:
        """Density of the next row: a multivariate t of scipy.stats."""
        from scipy.stats import multivariate_t

        freedom: Any = self.freedom - len(self.centre) + 1
        shape: Any = np.asarray(self.scale) * (self.strength + 1) / (self.strength * freedom)
        return multivariate_t(self.centre, shape, df=freedom)


def _multivariate_log_gamma(a: float, p: int) -> float:
    """Log of the Gamma function of p dimensions."""
    return float(p * (p - 1) / 4 * np.log(np.pi) + gammaln(a - 0.5 * np.arange(p)).sum())


@dataclass(frozen=True)
class NormalInverseGamma:
    r"""Belief about mean and variance of each column of a diagonal Gaussian.

    .. math:: \sigma_j^2 \sim \mathrm{IG}(a, b_j), \qquad
              \mu_j \mid \sigma_j^2 \sim \mathcal N(m_j, \sigma_j^2 / \kappa)

    Parameters
    ----------
    centre : (p,) array
        m, the expected means.
    strength : float
        kappa: how many rows the belief in the centre is worth.
    shape : float
        a: half the number of rows that the belief in the variances is worth.
    scale : (p,) array
        b: half the sums of squares of those rows.

    Examples
    --------
    >>> from tenfold.distributions import Gaussian
    >>> belief = NormalInverseGamma(np.zeros(1), 1.0, 1.5, np.array([0.5]))
    >>> after = Gaussian(kind="diagonal", prior=belief).learned([1.0, 3.0]).prior
    >>> after.centre.round(4).tolist(), after.shape, after.scale.round(4).tolist()
    ([1.3333], 2.5, [2.8333])
    """

    centre: Any
    strength: float
    shape: float
    scale: Any

    def updated(
        self, n: float, mean: np.ndarray, scatter: np.ndarray, kind: str
    ) -> NormalInverseGamma:
        """The belief after rows with this weight, mean and sums of squares."""
        if kind != "diagonal":
            raise ValueError(f"this belief is about diagonal covariances, not {kind!r} ones")
        strength, moved = self.strength + n, mean - self.centre
        between = self.strength * n / strength * moved**2
        centre = self.centre + n / strength * moved
        scale = self.scale + 0.5 * (scatter + between)
        return NormalInverseGamma(centre, strength, self.shape + 0.5 * n, scale)

    @property
    def mode(self) -> NormalParameters:
        """The most probable means and variances together."""
        return NormalParameters(self.centre, np.asarray(self.scale) / (self.shape + 1.5))

    @property
    def mean(self) -> NormalParameters:
        """The expected means and variances; the latter need shape > 1."""
        if self.shape <= 1:
            raise ValueError(f"the variances have no mean with shape={self.shape}")
        return NormalParameters(self.centre, np.asarray(self.scale) / (self.shape - 1))

    def log_density(self, parameters: tuple[np.ndarray, np.ndarray]) -> float:
        """Log-density of means and variances."""
        mu, v = map(np.asarray, parameters)
        a, b = self.shape, np.asarray(self.scale, np.float64)
        gamma = a * np.log(b) - gammaln(a) - (a + 1) * np.log(v) - b / v
        square = self.strength * (mu - self.centre) ** 2 / v
        return float((gamma - 0.5 * (LOG_2_PI + np.log(v / self.strength) + square)).sum())

    def sample(self, n: int, rng: np.random.Generator) -> NormalParameters:
        """Draws of means (n, p) and variances (n, p)."""
        v = self.scale / rng.gamma(self.shape, size=(n, len(self.centre)))
        steps = rng.standard_normal((n, len(self.centre)))
        return NormalParameters(self.centre + steps * np.sqrt(v / self.strength), v)
