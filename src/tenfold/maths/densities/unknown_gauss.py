"""Beliefs about the mean and the covariance of a Gaussian together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from tenfold.maths.densities.gauss import LOG_2_PI


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
    >>> from tenfold.maths.densities import Gaussian
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
        wishart = 0.5 * nu * (log_scale - p * np.log(2)) - log_gamma(nu / 2, p)
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


def log_gamma(a: float, p: int) -> float:
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
    >>> from tenfold.maths.densities import Gaussian
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
