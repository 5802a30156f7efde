r"""Variational posterior of a Gaussian mixture: expected log-densities, updates and the bound.

.. math:: q(\pi, \mu, \Lambda) = q(\pi) \prod_k \mathcal N(\mu_k; m_k, (\kappa_k \Lambda_k)^{-1})
          \, \mathcal W(\Lambda_k; W_k, \nu_k)

The weights have a Dirichlet posterior, or Beta posteriors of the breaks of a stick. The expected
log-density of a row is that of a Gaussian with the precision :math:`\nu_k W_k` and a constant for
each component, so that E-step and statistics are those of `GaussianMixture`; missing entries are
latent variables like the components. Shapes use k components and p features.

References
----------
C. M. Bishop (2006), Pattern Recognition and Machine Learning, section 10.2.

D. M. Blei and M. I. Jordan (2006), Variational inference for Dirichlet process mixtures.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaln, digamma, gammaln

from tenfold.mixture import _covariance_types
from tenfold.mixture._covariance_types import DIAGONAL_TYPES, log_det_factors
from tenfold.mixture._e_step import EStepResult
from tenfold.mixture._gaussian import (
    EMPTY_WEIGHT,
    DiagonalComponents,
    GaussianFamily,
    GaussianParameters,
    gaussian_components,
)
from tenfold.mixture._missing_values import MissingValueComponents
from tenfold.mixture._moments import (
    LOG_2PI,
    ComponentMoments,
    DiagonalMoments,
    moments_about_means,
    repeat_weights,
)

DIRICHLET_PROCESS, DIRICHLET_DISTRIBUTION = "dirichlet_process", "dirichlet_distribution"


class VariationalParameters(NamedTuple):
    """Parameters of the variational posterior.

    Attributes
    ----------
    concentrations : (2, k) Beta parameters of the breaks of a stick, or (1, k) of a Dirichlet
    mean_precisions : (k,), kappa
    means : (k, p)
    degrees_of_freedom : (k,), nu; all equal if the covariance is tied
    covariances : inverses of the expected precisions nu W, in the shape of their type
    """

    concentrations: np.ndarray
    mean_precisions: np.ndarray
    means: np.ndarray
    degrees_of_freedom: np.ndarray
    covariances: np.ndarray

    @property
    def gaussians(self) -> GaussianParameters:
        """Means and expected precisions; the weights only choose an origin of sums."""
        k = len(self.means)
        return GaussianParameters(np.full(k, 1 / k), self.means, self.covariances)

    def expected_weights(self) -> np.ndarray:
        """Expected weights of the components, scaled to sum 1, (k,)."""
        if len(self.concentrations) == 1:
            return self.concentrations[0] / self.concentrations[0].sum()
        a, b = self.concentrations
        weights = a / (a + b) * np.append(1.0, np.cumprod((b / (a + b))[:-1]))
        return weights / weights.sum()

    def expected_log_weights(self) -> np.ndarray:
        """Expected logarithms of the weights, (k,)."""
        if len(self.concentrations) == 1:
            return digamma(self.concentrations[0]) - digamma(self.concentrations[0].sum())
        a, b = self.concentrations
        total = digamma(a + b)
        rest = np.append(0.0, np.cumsum(digamma(b) - total)[:-1])
        return digamma(a) - total + rest

    def log_corrections(self) -> np.ndarray:
        """Expected log-density less that of a Gaussian with the expected precision, (k,)."""
        p, nu = self.means.shape[1], self.degrees_of_freedom
        log_lambda = p * np.log(2.0) + digamma(0.5 * (nu - np.arange(p)[:, None])).sum(axis=0)
        return 0.5 * (log_lambda - p * np.log(nu) - p / self.mean_precisions)


class VariationalPriors(NamedTuple):
    """Parameters of the prior.

    Attributes
    ----------
    concentration : of the weights
    mean_precision, mean : kappa, and (p,) mean of the means
    degrees_of_freedom, covariance : nu, and inverse of the scale W of the precisions, in the shape
        of one component
    """

    concentration: float
    mean_precision: float
    mean: np.ndarray
    degrees_of_freedom: float
    covariance: Any


class VariationalFamily(NamedTuple):
    """The `MixtureFamily` of Gaussian components with a variational posterior."""

    kind: str
    reg_covar: float
    weight_prior: str
    priors: VariationalPriors

    def initial_state(self, centers: np.ndarray) -> VariationalParameters:
        """Components at the centers with the variances of the prior."""
        k, p = centers.shape
        prior = np.asarray(self.priors.covariance, np.float64)
        variances = np.broadcast_to(np.diagonal(prior) if prior.ndim == 2 else prior, p)
        variances = np.where(variances > 0, variances, 1.0)
        covariances = {
            "full": np.broadcast_to(np.diag(variances), (k, p, p)),
            "tied": np.diag(variances),
            "diag": np.tile(variances, (k, 1)),
            "spherical": np.full(k, variances.mean()),
        }[self.kind]
        ones = np.ones(k)
        return VariationalParameters(ones[None], ones, centers, p * ones, covariances)

    def components(
        self, state: VariationalParameters
    ) -> DiagonalComponents | MissingValueComponents:
        """Components whose log-densities are expected ones."""
        g = state.gaussians
        factors = _covariance_types.precision_factors(g.covariances, self.kind)
        components = gaussian_components(g.weights, g.means, factors, self.kind)
        expected = state.expected_log_weights() + state.log_corrections()
        return components.subtract(np.log(g.weights) - expected)

    def log_prior(self, state: VariationalParameters) -> float:
        """Zero: the prior is part of `lower_bound`."""
        return 0.0

    def m_step(self, state: VariationalParameters, statistic: Any) -> VariationalParameters:
        """The posterior for the responsibilities of the E-step."""
        statistic = self._fill_in(state, statistic)
        family = GaussianFamily(self.kind, self.reg_covar)
        _, means, covariances = family.m_step(state.gaussians, statistic)
        n, prior = statistic.n + EMPTY_WEIGHT, self.priors
        kappa = prior.mean_precision + n
        updated_means = prior.mean_precision * prior.mean + n[:, None] * means
        nu, updated = self._update_covariances(n, kappa, means - prior.mean, covariances)
        return VariationalParameters(
            self._update_concentrations(n), kappa, updated_means / kappa[:, None], nu, updated
        )

    def _fill_in(self, state: VariationalParameters, statistic: Any) -> Any:
        """Moments along the axes with the expected ones of missing entries; others have them."""
        if not isinstance(statistic, DiagonalMoments):
            return statistic
        n, observed, (sums, squares) = statistic
        p = sums.shape[1]
        C = state.covariances
        variances = C if self.kind == "diag" else repeat_weights(C, p)
        missing = repeat_weights(n, p) - observed
        return DiagonalMoments(
            n, repeat_weights(n, p), np.stack([sums, squares + missing * variances])
        )

    def _update_concentrations(self, n: np.ndarray) -> np.ndarray:
        prior = self.priors.concentration
        if self.weight_prior == DIRICHLET_DISTRIBUTION:
            return (prior + n)[None]
        following = np.append(np.cumsum(n[::-1])[-2::-1], 0.0)
        return np.stack([1.0 + n, prior + following])

    def _update_covariances(
        self, n: np.ndarray, kappa: np.ndarray, shift: np.ndarray, S: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Degrees of freedom, and inverses of the expected precisions.

        `shift` are the means of the rows less the prior mean, S their covariances.
        """
        prior, k = self.priors, len(n)
        ratio = prior.mean_precision / kappa
        if self.kind == "tied":
            nu = np.full(k, prior.degrees_of_freedom + n.sum() / k)
            between = ((n * ratio)[:, None] * shift).T @ shift / k
            return nu, (prior.covariance + S * (n.sum() / k) + between) / nu[0]
        nu = prior.degrees_of_freedom + n
        if self.kind == "full":
            between = ratio[:, None, None] * shift[:, :, None] * shift[:, None, :]
            scatter = n[:, None, None] * (S + between)
            return nu, (prior.covariance + scatter) / nu[:, None, None]
        if self.kind == "diag":
            scatter = n[:, None] * (S + ratio[:, None] * shift**2)
            return nu, (prior.covariance + scatter) / nu[:, None]
        return nu, (prior.covariance + n * (S + ratio * (shift**2).mean(axis=1))) / nu

    def lower_bound(
        self, state: VariationalParameters, updated: VariationalParameters, s: EStepResult
    ) -> float:
        """Bound of the evidence for the responsibilities of the E-step and the updated posterior.

        Up to a constant of priors and rows. The entropy of the responsibilities is the log
        normalizers less the expected log-densities, which the statistic determines.
        """
        entropy = s.log_likelihood - self._expected_log_density(state, s.statistic)
        k, p = updated.means.shape
        factors = _covariance_types.precision_factors(updated.covariances, self.kind)
        nu = updated.degrees_of_freedom
        log_det = np.broadcast_to(log_det_factors(factors, self.kind, p), k) - 0.5 * p * np.log(nu)
        log_wishart = -(nu * log_det + 0.5 * nu * p * np.log(2.0))
        log_wishart -= gammaln(0.5 * (nu - np.arange(p)[:, None])).sum(axis=0)
        if len(updated.concentrations) == 2:
            log_weights = -betaln(*updated.concentrations).sum()
        else:
            a = updated.concentrations[0]
            log_weights = gammaln(a.sum()) - gammaln(a).sum()
        kappa = 0.5 * p * np.log(updated.mean_precisions).sum()
        return float(entropy - log_wishart.sum() - log_weights - kappa)

    def _expected_log_density(self, state: VariationalParameters, statistic: Any) -> float:
        """Sum of the log-densities of the E-step, weighted by the responsibilities."""
        g = state.gaussians
        s = moments_about_means(self._fill_in(state, statistic), g.weights, g.means)
        factors = _covariance_types.precision_factors(g.covariances, self.kind)
        p = g.means.shape[1]
        constants = state.expected_log_weights() + state.log_corrections() - 0.5 * p * LOG_2PI
        constants = constants + log_det_factors(factors, self.kind, p)
        return float(s.n @ constants - 0.5 * self._mahalanobis(s, factors))

    def _mahalanobis(self, s: ComponentMoments, factors: np.ndarray) -> float:
        """Sum of the squared distances of the rows from the means, weighted."""
        if self.kind in DIAGONAL_TYPES:
            precisions = factors**2 if self.kind == "diag" else factors[:, None] ** 2
            return float((s.squares * precisions).sum())
        pooled = self.kind == "tied" and s.squares.ndim == 3
        squares = s.squares.sum(axis=0) if pooled else s.squares
        return float((squares * (factors @ np.swapaxes(factors, -1, -2))).sum())
