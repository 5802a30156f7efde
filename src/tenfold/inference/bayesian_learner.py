"""Posteriors of any prior and likelihood: exact where possible, otherwise approximate.

Every method returns weighted points in the space of the parameters, with mean, covariance, mode and
(a bound of) the evidence.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from tenfold.distributions.base import ColumnwiseDistribution, as_parameter_row, as_rows
from tenfold.distributions.finite import FiniteDistribution
from tenfold.distributions.quadrature import quadrature_nodes
from tenfold.inference.posterior_approximation import find_mode, laplace, mcmc, variational
from tenfold.math.links import log_sum_exp

_APPROXIMATIONS = {"laplace": laplace, "mcmc": mcmc, "variational": variational}
_POSTERIOR_METHODS = ("exact", *_APPROXIMATIONS)
LogDensity = Callable[[np.ndarray], np.ndarray]


class WeightedPosterior(NamedTuple):
    """A posterior distribution of parameters, as weighted points.

    Attributes
    ----------
    points : (m, d) points; the support of a finite prior, quadrature nodes, or draws
    weights : (m,) their probabilities
    mean, covariance : (d,) and (d, d)
    mode : (d,) the most probable parameters
    log_evidence : log-probability of the data; a lower bound if "variational", NaN if "mcmc"
    log_joint : log of prior times likelihood, as a function of points (m, d)
    likelihood : log-likelihood of each new row, as a function of points and data
    distribution : the posterior as a density or measure, where there is one
    report : diagnostics of the method
    """

    points: np.ndarray
    weights: np.ndarray
    mean: np.ndarray
    covariance: np.ndarray
    mode: np.ndarray
    log_evidence: float
    log_joint: LogDensity
    likelihood: Callable[..., np.ndarray]
    distribution: Any
    report: dict[str, Any]

    def log_density(self, thetas: Any) -> np.ndarray:
        """Log of the unnormalized posterior, prior times likelihood, at points (m, d)."""
        return self.log_joint(as_parameter_row(thetas))

    def expectation(self, f: Callable[[np.ndarray], Any]) -> Any:
        """Mean of f, a function of points (m, d) that returns a value or a row for each."""
        return self.weights @ np.asarray(f(self.points))

    def central_moment(self, order: int) -> np.ndarray:
        """Mean of (theta - mean)^order, entry by entry, (d,)."""
        return self.expectation(lambda thetas: (thetas - self.mean) ** order)

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Draw n parameters (n, d) from the posterior distribution.

        Where there is none (method="mcmc"), from the draws of the chains.
        """
        if self.distribution is None or isinstance(self.distribution, FiniteDistribution):
            return self.points[rng.choice(len(self.points), n, p=self.weights)]
        return self.distribution.sample(n, rng)

    def log_predictive(self, *data: Any) -> np.ndarray:
        r"""Log of the posterior predictive probability of each new row, (n,).

        .. math:: \log p(x^* \mid D) = \log \int p(x^* \mid \theta)\, p(\theta \mid D)\, d\theta
        """
        with np.errstate(divide="ignore"):
            logs = np.log(self.weights)
        return log_sum_exp(self.likelihood(self.points, *data).T + logs)


@dataclass(frozen=True)
class BayesianLearner:
    r"""Bayesian learning with any prior and any likelihood.

    .. math:: p(\theta \mid D) = p(D \mid \theta)\, p(\theta) / p(D)

    The posterior is exact if the prior is finite or conjugate to the likelihood. Else it is a
    Gaussian about the mode (Laplace), draws of an affine-invariant ensemble (MCMC), or the closest
    Gaussian with independent entries (variational: the evidence lower bound
    :math:`E_q \log p(D, \theta) + H(q)` is maximized).

    Parameters
    ----------
    prior : FiniteMeasure, density, or callable
        A measure of possible parameters (numbers or tuples); a density of `tenfold.distributions`
        with parameters as rows; or the log-density of points (m, d), (m,), up to a constant.
    likelihood : density or callable
        A density that the prior is conjugate to, such as `Bernoulli()`; or a function of points
        (m, d) and data that returns the log-likelihood of each row at each point, (m, n).
    start : (d,) array, optional
        Initial point of the search for the mode; by default the mean of the prior.

    See Also
    --------
    BayesianLinearRegression, BayesianLogisticRegression : Posteriors of linear models.

    References
    ----------
    D. J. C. MacKay (2003), Information Theory, Inference, and Learning Algorithms, chapters 27-33.

    J. Goodman and J. Weare (2010), Ensemble samplers with affine invariance.

    Examples
    --------
    The probability of heads, by conjugacy and by sampling its log-odds:

    >>> from tenfold.distributions import Bernoulli, Beta
    >>> from tenfold.math.links import log_sigmoid
    >>> flips = np.array([1, 1, 1, 0, 1, 1, 0, 1, 0, 1])
    >>> exact = BayesianLearner(Beta(1, 1), Bernoulli()).posterior(flips)
    >>> exact.mean.round(4).tolist(), exact.mode.round(4).tolist()
    ([0.6667], [0.7])
    >>> float(np.exp(exact.log_predictive([1])[0]).round(4))
    0.6667
    >>> free = BayesianLearner(  # the log-odds of heads, with the same prior
    ...     lambda t: log_sigmoid(t[:, 0]) + log_sigmoid(-t[:, 0]),
    ...     lambda t, x: log_sigmoid(t * (2 * x - 1)),
    ...     start=np.zeros(1),
    ... )
    >>> drawn = free.posterior(flips, method="mcmc", draws=2000)
    >>> bool(abs(drawn.expectation(lambda t: 1 / (1 + np.exp(-t)))[0] - 2 / 3) < 0.01)
    True
    """

    prior: Any
    likelihood: Any
    start: Any = None

    def posterior(self, *data: Any, method: str | None = None, **options: Any) -> WeightedPosterior:
        """The posterior given the data.

        Parameters
        ----------
        *data : arrays
            Arguments of the likelihood: rows X, or X and targets y.
        method : {"exact", "laplace", "mcmc", "variational"}, optional
            By default "exact" where possible, otherwise "laplace".
        **options :
            Of the method. "exact", "laplace", "variational": `nodes` of the quadrature; `draws` and
            their `seed`, for more parameters than a grid of nodes holds. "mcmc": `draws`,
            `warmup`, `walkers`, `seed`.

        Returns
        -------
        Posterior
        """
        method = method or ("exact" if self._is_exact() else "laplace")
        if method not in _POSTERIOR_METHODS:
            raise ValueError(f"method must be one of {_POSTERIOR_METHODS}, got {method!r}")
        if method != "exact":
            return _APPROXIMATIONS[method](self, data, **options)
        if not self._is_exact():
            raise ValueError("no exact posterior: the prior is neither finite nor conjugate")
        if not self._is_finite():
            return self._conjugate(data, **options)
        unknown = sorted(set(options) - {"nodes", "draws", "seed"})
        if unknown:
            raise TypeError(f"the exact posterior of a finite prior has no option {unknown}")
        return self._finite(data)

    def mode(self, *data: Any) -> np.ndarray:
        """The most probable parameters, (d,)."""
        return self.posterior(*data).mode if self._is_exact() else find_mode(self, data)

    def log_joint(self, *data: Any) -> LogDensity:
        """Log of prior times likelihood of the data, a function of points (m, d)."""

        def log_joint(thetas: np.ndarray) -> np.ndarray:
            log_prior = self.log_prior(thetas)
            possible = log_prior > -np.inf  # the likelihood may be undefined elsewhere
            total = np.full(len(thetas), -np.inf)
            if possible.any():
                log_likelihood = self.log_likelihood(thetas[possible], *data)
                total[possible] = log_prior[possible] + log_likelihood.sum(axis=1)
            return np.where(np.isnan(total), -np.inf, total)

        return log_joint

    def log_prior(self, thetas: np.ndarray) -> np.ndarray:
        """Log of the prior at points (m, d)."""
        if self._is_finite():
            with np.errstate(divide="ignore"):
                return np.log([self.prior.pmf(_as_outcome(theta)) for theta in thetas])
        if hasattr(self.prior, "log_density"):
            return self.prior.log_density(thetas)
        return np.asarray(self.prior(thetas), np.float64)

    def log_likelihood(self, thetas: np.ndarray, *data: Any) -> np.ndarray:
        """Log-likelihood of each row at each point, (m, n)."""
        data = tuple(np.asarray(part) if isinstance(part, list) else part for part in data)
        if not hasattr(self.likelihood, "log_density"):
            return np.asarray(self.likelihood(thetas, *data), np.float64)
        if isinstance(self.likelihood, ColumnwiseDistribution) and thetas.shape[1] == 1:
            return (
                self.likelihood.with_parameter(thetas[:, 0]).log_density_entries(as_rows(*data)).T
            )
        at = [self.likelihood.with_parameter(theta) for theta in thetas]
        return np.stack([density.log_density(*data) for density in at])

    def _is_finite(self) -> bool:
        return isinstance(self.prior, FiniteDistribution)

    def _is_exact(self) -> bool:
        conjugate = getattr(self.likelihood, "is_conjugate", None)
        return self._is_finite() or (conjugate is not None and conjugate(self.prior))

    def _finite(self, data: tuple) -> WeightedPosterior:
        points = self.prior.values.astype(np.float64).reshape(len(self.prior.p), -1)
        update = self.prior.update(self.log_likelihood(points, *data).sum(axis=1))
        p = update.posterior.p
        return self.summarize(
            data, points, p, points[p.argmax()], update.log_evidence, update.posterior
        )

    def _conjugate(
        self, data: tuple, nodes: int = 64, draws: int = 20000, seed: int = 0
    ) -> WeightedPosterior:
        density = replace(self.likelihood, prior=self.prior)
        distribution = density.posterior(density.statistic(*data))
        if isinstance(distribution.mode, tuple):
            raise TypeError(
                "a prior of mean and covariance has no parameter vector: use "
                "Gaussian(prior=...).update(X)"
            )
        points, p = quadrature_nodes(distribution, nodes, draws, seed)
        mode, evidence = np.atleast_1d(distribution.mode), density.log_evidence(*data)
        summary = self.summarize(data, points, p, mode, evidence, distribution)
        C = (
            distribution.covariance
            if np.ndim(getattr(distribution, "covariance", 0)) == 2
            else None
        )
        exact = summary.covariance if C is None else C
        return summary._replace(mean=np.atleast_1d(distribution.mean), covariance=exact)

    def summarize(
        self,
        data: tuple,
        points: np.ndarray,
        p: np.ndarray,
        mode: np.ndarray,
        log_evidence: float,
        distribution: Any = None,
        report: dict[str, Any] | None = None,
    ) -> WeightedPosterior:
        """A posterior from weighted points."""
        mean = p @ points
        covariance = (points - mean).T * p @ (points - mean)
        f, likelihood = self.log_joint(*data), self.log_likelihood
        return WeightedPosterior(
            points,
            p,
            mean,
            covariance,
            mode,
            log_evidence,
            f,
            likelihood,
            distribution,
            report or {},
        )


def _as_outcome(theta: np.ndarray) -> Any:
    """A point as an outcome of a finite measure: a number, or a tuple of them."""
    return theta.item() if len(theta) == 1 else tuple(theta.tolist())
